//! Who may do what on the lab's Redis servers, in the words of Redis' ACL.
//!
//! **Architecture Invariant:** a lesson's commands reach the keys of its lab's servers and nothing else. Which commands
//! a lesson may send is decided when it is planned (`crate::lesson`); what stands here holds for its scripts, too.
//!
//! Everybody is the user `default`, who has no more rights than a lesson. So the commands that no ACL can refuse (`AUTH`,
//! `HELLO`, `RESET`) gain nothing.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};

use super::error::LabError;
use super::workspace::Workspace;
use crate::lesson::LabKind;

/// The user that replicas and Sentinels are, and people who know the secret may be: it may do everything.
pub(crate) const KEEPER: &str = "lockstep";

/// The file of the workspace that the secret is in.
const FILE: &str = "secret";

/// What a lesson may do. Commands that start processes, reach other servers, load code or change the server's own
/// files are in Redis' category `@dangerous`, together with harmless ones, which are given back by name.
const RIGHTS: &str = "~* -@all +@read +@write +@keyspace +@connection +@transaction +@scripting +@pubsub +@blocking \
    +time +lolwut -@admin -@dangerous -script|debug -client|reply -asking \
    +info +keys +sort +sort_ro +restore +flushall +flushdb +swapdb +role +save +lastsave \
    +config|get +config|set +config|resetstat +config|help +client|list +client|kill +client|pause +client|unpause \
    +client|unblock +client|no-evict +slowlog +latency +memory +pubsub +xinfo +xgroup";

const CHANNELS: &str = "&*";

/// Every channel but those whose names begin with `__s`: Sentinels believe what `__sentinel__:hello` says, and would
/// follow it to servers outside the lab.
const CHANNELS_BESIDE_SENTINEL: &str = "&[^_]* &_[^_]* &__[^s]*";

/// The most that a server keeps to send to one client: it closes the connection rather than send a longer reply.
const LONGEST_OUTPUT: &str = "32mb";

/// A secret of one run, and whether everybody needs it.
pub(crate) struct Access {
    secret: String,
    /// Whether servers listen on ports, which all users of this machine can reach.
    ports: bool,
}

impl Access {
    /// A new secret, written into the workspace of a lab with Redis servers.
    pub fn create(workspace: &Workspace, lab: LabKind) -> Result<Self, LabError> {
        let secret = draw().map_err(|source| LabError::Workspace {
            action: "draw a secret from /dev/urandom for its servers",
            dir: workspace.path().to_path_buf(),
            source,
        })?;
        if lab.is_redis() {
            workspace.write(FILE, &secret)?;
        }
        // Servers that have to find each other cannot do so on Unix sockets.
        let ports = lab.has_sentinels();
        Ok(Self { secret, ports })
    }

    /// The secret of the run.
    pub fn secret(&self) -> &str {
        &self.secret
    }

    /// What the user `default` has to say. Without ports, whoever can reach the sockets needs to say nothing: they are
    /// in a directory that nobody else may open.
    pub fn password(&self) -> Option<&str> {
        self.ports.then_some(self.secret.as_str())
    }

    /// The users, as lines of a server's configuration.
    pub fn users(&self) -> String {
        let (password, channels) = if self.ports {
            (format!(">{}", self.secret), CHANNELS_BESIDE_SENTINEL)
        } else {
            ("nopass".to_owned(), CHANNELS)
        };
        // A stranger's RESTORE is looked through before it is unpacked.
        format!(
            "user default on {password} sanitize-payload {RIGHTS} resetchannels {channels}\n\
             user {KEEPER} on >{} ~* &* +@all\n\
             sanitize-dump-payload clients\nclient-output-buffer-limit normal {LONGEST_OUTPUT} 0 0\n",
            self.secret
        )
    }
}

impl fmt::Debug for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Access").field("ports", &self.ports).finish_non_exhaustive()
    }
}

/// 96 bits that nobody can guess, as 24 characters that can be typed.
fn draw() -> io::Result<String> {
    let mut bytes = [0; 16];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(format!("{:024x}", u128::from_ne_bytes(bytes) >> 32))
}
