//! Redis commands that some supported server versions do not have.

use super::{
    super::{
        Loaded,
        error::{Mistake, Path},
        lua,
    },
    PlannedSetup, PlannedVerb, Scenario,
};
use crate::{
    lesson::{LessonError, expr::Template},
    text::both,
};

/// A major and a minor version.
pub type Since = (u32, u32);

/// Commands, or options of commands, and the version of Redis that introduced them.
const NEWER: &[(&[&str], Since)] = &[
    (&["WAITAOF"], (7, 2)),
    (
        &[
            "HEXPIRE",
            "HPEXPIRE",
            "HEXPIREAT",
            "HPEXPIREAT",
            "HEXPIRETIME",
            "HPEXPIRETIME",
            "HPERSIST",
            "HTTL",
            "HPTTL",
        ],
        (7, 4),
    ),
    (&["HGETDEL", "HGETEX", "HSETEX"], (8, 0)),
    (&["XACKDEL", "XDELEX"], (8, 2)),
    (&["DELEX", "DIGEST", "MSETEX", "SET IFEQ", "SET IFNE", "SET IFDEQ", "SET IFDNE"], (8, 4)),
];

/// The newest feature that a command uses, and the version that introduced it.
fn newest(words: &[Option<String>]) -> Option<(&'static str, Since)> {
    let word = |n: usize| words.get(n)?.as_ref().map(|word| word.to_ascii_uppercase());
    let name = word(0)?;
    let has = |known: &str| match known.split_once(' ') {
        None => known == name,
        Some((command, option)) => {
            command == name && (3..words.len()).any(|n| word(n).is_some_and(|word| word == option))
        }
    };
    NEWER.iter().find_map(|(all, since)| all.iter().find(|known| has(known)).map(|known| (*known, *since)))
}

fn known(words: &[Template]) -> Vec<Option<String>> {
    words.iter().map(|word| word.is_literal().then(|| word.to_string())).collect()
}

/// Checks that a server of this version has the command.
fn check(words: &[Option<String>], server: Since, path: &Path) -> Result<(), Mistake> {
    let Some((what, since)) = newest(words).filter(|(_, since)| server < *since) else { return Ok(()) };
    let [since, here] = [since, server].map(|(major, minor)| format!("{major}.{minor}"));
    let message = both!(
        "`{what}` is there since Redis {since}, and this is for Redis {here}",
        "`{what}` 从 Redis {since} 起才有，而这里是 Redis {here}"
    );
    Err(Mistake::new(path, message).help(if what.starts_with("DELEX") || what.starts_with("SET IF") {
        both!(
            "a script compares and changes in one step on every server: `script: release_if_owner`",
            "脚本在任何版本上都能一步完成比较和修改：`script: release_if_owner`"
        )
    } else {
        both!("use what older servers have, too", "请改用旧版本也有的命令")
    }))
}

fn check_verb(verb: &PlannedVerb, server: Since, path: &Path) -> Result<(), Mistake> {
    match verb {
        PlannedVerb::Redis(words) => check(&known(words), server, path),
        PlannedVerb::Script { source, .. } => {
            let calls = lua::read(source).map(|lua| lua.calls).unwrap_or_default();
            calls.iter().try_for_each(|call| check(&call.words, server, path))
        }
        _ => Ok(()),
    }
}

impl Loaded {
    /// Checks that a Redis server of this version has every command of the lesson. An operation that allows `ERR` may
    /// send an unknown command.
    ///
    /// # Errors
    /// The first command that the server does not have, with its place.
    pub fn check_redis(&self, scenarios: &[Scenario], server: Since) -> Result<(), LessonError> {
        let root = Path::root();
        for scenario in scenarios {
            let at = scenario.setup_path();
            let mut setup = scenario.setup.iter().enumerate();
            let mut operations = scenario.operations().filter(|operation| !operation.allows("ERR"));
            setup
                .try_for_each(|(n, PlannedSetup { verb, .. })| check_verb(verb, server, &at.index(n)))
                .and_then(|()| {
                    operations.try_for_each(|operation| {
                        check_verb(&operation.verb, server, operation.path.as_ref().unwrap_or(&root))
                    })
                })
                .map_err(|mistake| self.source.place(&mistake))?;
        }
        Ok(())
    }
}
