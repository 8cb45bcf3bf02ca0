//! Error codes that operations may allow.

use super::super::{
    super::{
        error::{Mistake, Path, did_you_mean, nearest, suggestion},
        expr::Template,
        has_word,
    },
    call::PlannedCall,
    program::PlannedVerb,
};
use crate::{log::Product, text::both};

/// Error codes of servers, apart from those of an author's own scripts.
const CODES: &str = "
    Lost ERR WRONGTYPE NOSCRIPT NOREPLICAS READONLY LOADING MASTERDOWN OOM EXECABORT MOVED ASK TRYAGAIN CROSSSLOT
    CLUSTERDOWN BUSY BUSYKEY BUSYGROUP NOGROUP MISCONF NOAUTH NOPERM WRONGPASS NOPROTO NOTBUSY UNKILLABLE UNBLOCKED
    NOMASTERLINK INPROG NOGOODSLAVE NOQUORUM IOERR DENIED NodeExists NoNode NotEmpty BadVersion
    EWOULDBLOCK KeyExists LeaseNotFound LeaseExists Unavailable NoChildrenForEphemerals SessionExpired ConnectionLoss QuotaExceeded
    Unimplemented OperationTimeout BadArguments NoAuth InvalidAcl AuthFailed SessionMoved
";

/// Error codes that only one product uses.
const FOREIGN: [(Product, &str); 3] = [
    (
        Product::Redis,
        "ERR WRONGTYPE NOSCRIPT NOREPLICAS READONLY MASTERDOWN MOVED TRYAGAIN CROSSSLOT CLUSTERDOWN",
    ),
    (
        Product::Zookeeper,
        "NodeExists NoNode NotEmpty BadVersion NoChildrenForEphemerals SessionExpired ConnectionLoss",
    ),
    (Product::Etcd, "KeyExists LeaseNotFound LeaseExists"),
];

/// The codes of [`FOREIGN`] that single requests answer. What is not listed here may answer any.
const OF_CALL: [(Product, &str, &str); 15] = [
    (Product::Zookeeper, "create", "NodeExists NoNode NoChildrenForEphemerals"),
    (Product::Zookeeper, "delete", "NoNode NotEmpty BadVersion"),
    (Product::Zookeeper, "set", "NoNode BadVersion"),
    (Product::Zookeeper, "get", "NoNode"),
    (Product::Zookeeper, "ls", "NoNode"),
    (Product::Etcd, "grant", "LeaseExists"),
    (Product::Etcd, "revoke", "LeaseNotFound"),
    (Product::Etcd, "put", "LeaseNotFound"),
    (Product::Etcd, "create", "KeyExists LeaseNotFound"),
    (Product::Etcd, "put-if", ""),
    (Product::Etcd, "get", ""),
    (Product::Etcd, "ls", ""),
    (Product::Etcd, "before", ""),
    (Product::Etcd, "delete", ""),
    (Product::Etcd, "watch", ""),
];

/// Refuses an error that this request never answers, although others to the same product do.
fn check_call(code: &str, call: &PlannedCall, path: &Path) -> Result<(), Mistake> {
    let (product, name) = (call.product(), call.name());
    let own = FOREIGN.iter().find(|(of, _)| *of == product).map_or("", |(_, codes)| *codes);
    let of_session = ["SessionExpired", "ConnectionLoss"].contains(&code);
    let answered = OF_CALL.iter().find(|(of, call, _)| *of == product && *call == name);
    let Some((.., answered)) =
        answered.filter(|(.., answered)| has_word(own, code) && !of_session && !has_word(answered, code))
    else {
        return Ok(());
    };
    let message = both!("`{name}` never answers `{code}`", "`{name}` 不会返回错误 `{code}`");
    let answered = answered.split_ascii_whitespace().collect::<Vec<_>>().join("`, `");
    Err(Mistake::new(path, message).help(if answered.is_empty() {
        both!("leave it out", "请去掉它")
    } else {
        both!("it may answer `{answered}`", "它可能返回 `{answered}`")
    }))
}

/// Whether a command may answer with an error code of the author's own script.
fn runs_script(words: &[Template]) -> bool {
    let name = words.first().map(|word| word.pattern().to_ascii_uppercase()).unwrap_or_default();
    ["EVAL", "FCALL", "EXEC"].iter().any(|script| name.starts_with(script))
}

/// Refuses codes that are misspelt or that the product does not have.
pub(super) fn check_codes(codes: &[String], verb: &PlannedVerb, path: &Path) -> Result<(), Mistake> {
    let is_sql = matches!(verb, PlannedVerb::Call(call) if call.product() == Product::Mariadb);
    let known = || CODES.split_ascii_whitespace();
    for (n, code) in codes.iter().enumerate() {
        // The value that a recipe is given is known only where the recipe is used.
        if code.contains("${") {
            continue;
        }
        let is_number = code.len() == 4 && code.bytes().all(|byte| byte.is_ascii_digit());
        if is_sql && !is_number && code != "Lost" {
            let message = both!("MariaDB has no error `{code}`", "MariaDB 没有错误 `{code}`");
            return Err(Mistake::new(&path.index(n), message).help(both!(
                "its errors are numbers: '1213' is a deadlock, '1205' a lock wait timeout, '1062' a duplicate key",
                "它的错误是数字：'1213' 是死锁，'1205' 是等锁超时，'1062' 是键重复"
            )));
        }
        // An error code of another product never occurs.
        let product = match verb {
            PlannedVerb::Call(call) => Some(call.product()),
            PlannedVerb::Redis(_) => Some(Product::Redis),
            _ => None,
        };
        let foreign = FOREIGN.iter().find(|(_, codes)| has_word(codes, code));
        if let (Some(product), Some((own, _))) = (product, foreign)
            && product != *own
        {
            let (name, other) = (product.traits().name, own.traits().name);
            let message = both!(
                "`{code}` is an error of {other}, and this is for {name}",
                "`{code}` 是 {other} 的错误，而这是发给 {name} 的"
            );
            let known = FOREIGN.iter().find(|(own, _)| *own == product).map_or("Lost", |(_, codes)| *codes);
            let known = known.split_ascii_whitespace().take(4).collect::<Vec<_>>().join(", ");
            return Err(Mistake::new(&path.index(n), message).help(both!("such as {known}", "例如 {known}")));
        }
        if let PlannedVerb::Call(call) = verb {
            check_call(code, call, &path.index(n))?;
        }
        // `NoNodeException` is Java's name for `NoNode`.
        let is_longer = |known: &&str| {
            code.strip_prefix(known).is_some_and(|rest| ["Exception", "Error"].contains(&rest))
        };
        if let Some(known) = known().find(is_longer) {
            let message = both!("unknown error code `{code}`", "没有名为 `{code}` 的错误码");
            return Err(Mistake::new(&path.index(n), message).help(did_you_mean(known)));
        }
        if known().any(|known| known == code) || is_number {
            continue;
        }
        let near = nearest(code, known(), 0.9);
        // A script may answer with a code of its own.
        let own = match verb {
            PlannedVerb::Redis(words) if !runs_script(words) => {
                Some("Lost, WRONGTYPE, READONLY, NOREPLICAS, BUSYGROUP, MOVED")
            }
            PlannedVerb::Flock { .. } => Some("EWOULDBLOCK"),
            PlannedVerb::Call(call) => match call.product() {
                Product::Zookeeper if !code.starts_with("Error") => {
                    Some("NodeExists, NoNode, BadVersion, NotEmpty")
                }
                Product::Etcd => Some("KeyExists, LeaseNotFound, LeaseExists, Unavailable"),
                _ => None,
            },
            _ => None,
        };
        if near.is_some() || own.is_some() {
            let message = both!("unknown error code `{code}`", "没有名为 `{code}` 的错误码");
            let help = suggestion(near, || {
                let own = own.unwrap_or_default();
                both!("such as {own}", "例如 {own}")
            });
            return Err(Mistake::new(&path.index(n), message).help(help));
        }
    }
    Ok(())
}
