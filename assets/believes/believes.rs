use std::io::Write;
fn believes(what: &str, lock: &str) { let _ = std::io::stdout().write_all(format!("{what} {lock}\n").as_bytes()); } // "HOLDS", "SHARES", "WAITS" or "DROPS"
