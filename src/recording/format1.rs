//! Reads format 1, in which commands were text alone and operations could share a number.

use std::collections::HashMap;

use serde_json::Value;

use crate::log::{Command, Event, Product};

/// Converts the events of one recording of format 1, in order.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    zookeepers: Vec<Value>,
    /// Maps the old number of each operation to its new one.
    ops: HashMap<u64, u64>,
    sent: u64,
}

impl Reader {
    pub(crate) fn event(&mut self, line: &str) -> serde_json::Result<Event> {
        let mut event: Value = serde_json::from_str(line)?;
        match event["event"].as_str() {
            Some("lab_ready") => {
                let servers = event["servers"].as_array().into_iter().flatten();
                let zookeepers =
                    servers.filter(|server| server["product"] == Product::Zookeeper.traits().name);
                self.zookeepers = zookeepers.map(|server| server["name"].clone()).collect();
            }
            Some("sent") => {
                let text = event["wire"].as_str().unwrap_or_default();
                let command = match &event["server"] {
                    server if server == "local" => Command::local_from_text(text),
                    server if self.zookeepers.contains(server) => {
                        Command::from_text(text, Product::Zookeeper)
                    }
                    _ => Command::from_text(text, Product::Redis),
                };
                event["command"] = serde_json::to_value(command)?;
                self.sent += 1;
                if let Some(op) = event["op"].as_u64() {
                    self.ops.insert(op, self.sent);
                    event["op"] = self.sent.into();
                }
            }
            Some("replied") => {
                if let Some(now) = event["op"].as_u64().and_then(|op| self.ops.get(&op)) {
                    event["op"] = (*now).into();
                }
            }
            _ => {}
        }
        serde_json::from_value(event)
    }
}
