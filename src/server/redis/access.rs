//! The permissions on the lab's Redis servers, as Redis ACLs.
//!
//! **Architecture Invariant:** a lesson's commands reach the keys of its lab's servers and nothing else. Which commands
//! a lesson may send is decided when it is planned (`crate::lesson`); the rules here hold for its scripts, too.
//!
//! Every client is the user `default`, who has no more rights than a lesson. So the commands that no ACL can refuse
//! (`AUTH`, `HELLO`, `RESET`) gain nothing.

use crate::server::secret::Secret;

/// The user of replicas and Sentinels, and of people who know the secret: it may do everything.
pub(crate) const ADMIN: &str = "lockstep";

/// The rights of a lesson. Commands that start processes, reach other servers, load code or change the server's own
/// files are in Redis' category `@dangerous`, together with harmless ones, which are granted by name.
const RIGHTS: &str = "~* -@all +@read +@write +@keyspace +@connection +@transaction +@scripting +@pubsub +@blocking \
    +time +lolwut -@admin -@dangerous -script|debug -client|reply \
    +info +keys +sort +sort_ro +restore +flushall +flushdb +swapdb +role +save +lastsave \
    +config|get +config|set +config|resetstat +config|help +client|list +client|kill +client|pause +client|unpause \
    +client|unblock +cluster|info +cluster|keyslot +cluster|countkeysinslot +cluster|getkeysinslot +cluster|myid \
    +cluster|nodes +cluster|replicas +cluster|shards +cluster|slots +cluster|links +cluster|help +client|no-evict +slowlog +latency +memory +pubsub +xinfo +xgroup";

const CHANNELS: &str = "&*";

/// Every channel except those whose names begin with `__s`: Sentinels trust messages on `__sentinel__:hello`, and would
/// follow them to servers outside the lab.
const CHANNELS_BESIDE_SENTINEL: &str = "&[^_]* &_[^_]* &__[^s]*";

/// The most that a server buffers for one client: it closes the connection rather than send a longer reply.
const LONGEST_OUTPUT: &str = "256mb";

/// The users, as lines of a server's configuration.
pub(crate) fn users(secret: &Secret) -> String {
    let (password, channels) = match secret.password() {
        Some(password) => (format!(">{password}"), CHANNELS_BESIDE_SENTINEL),
        None => ("nopass".to_owned(), CHANNELS),
    };
    // The payload of a user's RESTORE is checked before it is unpacked.
    format!(
        "user default on {password} sanitize-payload {RIGHTS} resetchannels {channels}\n\
         user {ADMIN} on >{} ~* &* +@all\n\
         sanitize-dump-payload clients\nclient-output-buffer-limit normal {LONGEST_OUTPUT} 0 0\n",
        secret.secret()
    )
}
