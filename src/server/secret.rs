//! The secret of a lab: the password of its servers.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};

use crate::lesson::LabKind;
use crate::log::Product;
use crate::process::LabError;
use crate::process::workspace::Workspace;

/// The workspace file with the secret.
const FILE: &str = "secret";

/// The secret of one run, and whether every client needs it.
pub(crate) struct Secret {
    secret: String,
    /// Whether servers listen on ports, which all users of this machine can reach.
    ports: bool,
}

impl Secret {
    /// Creates a new secret, and writes it into the workspace of a lab with Redis servers.
    pub fn create(workspace: &Workspace, lab: LabKind) -> Result<Self, LabError> {
        let secret = draw().map_err(|source| LabError::Workspace {
            action: "draw a secret from /dev/urandom for its servers",
            dir: workspace.path().to_path_buf(),
            source,
        })?;
        if lab.has(Product::Redis) {
            workspace.write(FILE, &secret)?;
        }
        // Servers that have to find each other need ports instead of Unix sockets.
        Ok(Self { secret, ports: lab.is_replicated() })
    }

    pub fn secret(&self) -> &str {
        &self.secret
    }

    /// The password that every client needs. Without ports no password is needed: the sockets are in a directory that
    /// no other user may open.
    pub fn password(&self) -> Option<&str> {
        self.ports.then_some(self.secret.as_str())
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Secret").field("ports", &self.ports).finish_non_exhaustive()
    }
}

/// 96 random bits, as 24 characters that can be typed.
fn draw() -> io::Result<String> {
    let mut bytes = [0; 16];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(format!("{:024x}", u128::from_ne_bytes(bytes) >> 32))
}
