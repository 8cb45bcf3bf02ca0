//! Finds redis-server and redis-sentinel.

use std::path::PathBuf;

use crate::process::LabError;
use crate::process::programs::Search;

/// Names another `redis-server`.
pub const REDIS_SERVER: &str = "LOCKSTEP_REDIS_SERVER";
/// Names another `redis-sentinel`.
pub const REDIS_SENTINEL: &str = "LOCKSTEP_REDIS_SENTINEL";
impl Search {
    /// Finds `redis-server`.
    ///
    /// # Errors
    /// Where there is none.
    pub fn redis_server(&self) -> Result<PathBuf, LabError> {
        self.program("redis-server", REDIS_SERVER)
    }

    /// Finds `redis-sentinel`.
    ///
    /// # Errors
    /// Where there is none.
    pub fn redis_sentinel(&self) -> Result<PathBuf, LabError> {
        self.program("redis-sentinel", REDIS_SENTINEL)
    }
}
