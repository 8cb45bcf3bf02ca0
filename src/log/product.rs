//! The products of servers that labs are made of.

use serde::{Deserialize, Serialize};

/// A product of servers, and so a protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Product {
    Redis,
    Zookeeper,
}

impl Product {
    /// As [`ServerInfo::product`](super::ServerInfo::product) has it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Redis => "Redis",
            Self::Zookeeper => "ZooKeeper",
        }
    }
}
