//! Settings of a lab's servers. They are written to a server's configuration or command line, so they hold from its
//! first start on and survive a restart.

use std::ops::RangeInclusive;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de::Error};

use super::{
    LabKind,
    error::{Mistake, Path, marked},
    model::Param,
    parse_millis,
};
use crate::{log::Product, text::both};

/// How the lab's servers are configured. A setting that is left out keeps the lab's default.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Redis: whether every write goes into a file that a restart reads, and when that file is synced to the disk.
    /// Default: `no`, so a restarted server is empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub appendonly: Option<Appendonly>,
    /// MariaDB: the isolation level of transactions. Default: `repeatable-read`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub isolation: Option<Isolation>,
    /// MariaDB: how long a statement waits for a row that another transaction has locked, in whole seconds. Default:
    /// `50s`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lock_wait_timeout: Option<Seconds>,
    /// ZooKeeper: how long a session lives after its client's last message, from 1 s to 60 s. Default: 10 s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_timeout: Option<Millis>,
}

/// A duration as authors write it: `10s`, `500ms`, or a number of milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(with = "Param")]
#[serde(transparent)]
pub struct Millis(pub u64);

impl<'de> Deserialize<'de> for Millis {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let none = |given: &str| {
            let given = given.to_owned();
            marked(&both!("`{given}` is not a duration such as 10s", "`{given}` 不是时长，例如 10s"))
        };
        let millis = match Param::deserialize(deserializer)? {
            Param::Number(number) => number,
            Param::Word(word) => parse_millis(&word).map_err(|why| Error::custom(marked(&why)))?,
            Param::Flag(flag) => return Err(Error::custom(none(&flag.to_string()))),
        };
        u64::try_from(millis).map(Self).map_err(|_| Error::custom(none(&millis.to_string())))
    }
}

/// The session timeouts that ZooKeeper grants, in milliseconds.
const SESSION_TIMEOUTS: RangeInclusive<u64> = 1_000..=60_000;

/// When Redis syncs its writes to the disk (`appendfsync`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Appendonly {
    /// Before each reply.
    Always,
    /// Within about a second.
    Everysec,
    /// Never: Redis writes no file.
    No,
}

/// The isolation level: which changes of other transactions a transaction sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Isolation {
    /// Also changes that are not committed yet.
    ReadUncommitted,
    /// Changes that were committed before each statement.
    ReadCommitted,
    /// Changes that were committed before the transaction's first read.
    RepeatableRead,
    /// As `repeatable-read`, and every row that the transaction reads stays locked.
    Serializable,
}

/// A duration of whole seconds: `3s`, `1m`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub struct Seconds(u32);

impl Seconds {
    pub(crate) fn count(self) -> u32 {
        self.0
    }
}

impl TryFrom<String> for Seconds {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let millis = parse_millis(&text).map_err(|why| marked(&why))?;
        let seconds = u32::try_from(millis / 1000).ok().filter(|seconds| *seconds > 0 && millis % 1000 == 0);
        seconds.map(Self).ok_or_else(|| {
            marked(&both!("`{text}`: write whole seconds, such as 3s", "`{text}`：请写整秒数，例如 3s"))
        })
    }
}

impl From<Seconds> for String {
    fn from(Seconds(seconds): Seconds) -> Self {
        format!("{seconds}s")
    }
}

impl Settings {
    /// The settings that are given, by name, with the product that they belong to.
    fn given(&self) -> impl Iterator<Item = (&'static str, Product)> {
        [
            ("appendonly", Product::Redis, self.appendonly.is_some()),
            ("isolation", Product::Mariadb, self.isolation.is_some()),
            ("session_timeout", Product::Zookeeper, self.session_timeout.is_some()),
            ("lock_wait_timeout", Product::Mariadb, self.lock_wait_timeout.is_some()),
        ]
        .into_iter()
        .filter_map(|(name, product, given)| given.then_some((name, product)))
    }

    /// These settings, overridden by those that `own` gives.
    pub(crate) fn overlaid(&self, own: &Self) -> Self {
        Self {
            appendonly: own.appendonly.or(self.appendonly),
            isolation: own.isolation.or(self.isolation),
            lock_wait_timeout: own.lock_wait_timeout.or(self.lock_wait_timeout),
            session_timeout: own.session_timeout.or(self.session_timeout),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Refuses settings of products that the lab does not have.
    pub(crate) fn check(&self, lab: LabKind, path: &Path) -> Result<(), Mistake> {
        if let Some(Millis(timeout)) = self.session_timeout.filter(|time| !SESSION_TIMEOUTS.contains(&time.0))
        {
            let message =
                both!("a session cannot time out after {timeout} ms", "会话的超时时间不能是 {timeout} ms");
            return Err(Mistake::new(&path.key("session_timeout"), message)
                .help(both!("give from 1s to 60s", "请写 1s 到 60s 之间的时间")));
        }
        match self.given().find(|(_, product)| !lab.has(*product)) {
            None => Ok(()),
            Some((name, product)) => {
                let product = product.traits().name;
                let message = both!(
                    "`{name}` is a setting of {product}, and this lab has no server of it",
                    "`{name}` 是 {product} 的设置，而这个 lab 里没有它的服务器"
                );
                Err(Mistake::new(&path.key(name), message)
                    .help(both!("leave it out, or choose another `lab`", "请去掉它，或者换一个 `lab`")))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::lesson::{
        Appendonly,
        library::from_text,
        testing::{NEW_LESSON, scenario},
    };

    /// The new-lesson template with settings for the lesson and for one variant.
    fn lesson(own: &str, variant: &str) -> String {
        NEW_LESSON.replacen("lab: redis\n", &format!("lab: redis\n{own}"), 1).replacen(
            "  blind-del:\n",
            &format!("  blind-del:\n{variant}"),
            1,
        )
    }

    #[test]
    fn variants_override_settings_and_recordings_without_settings_stay_valid() {
        let set = lesson("settings: { appendonly: always }\n", "    settings: { appendonly: no }\n");
        let appendonly = |variant: &str| scenario(&set, variant).settings().appendonly;
        assert_eq!(appendonly("blind-del"), Some(Appendonly::No));
        assert_eq!(appendonly("owner-check"), Some(Appendonly::Always));
        let fingerprint = |lesson: &str| scenario(lesson, "blind-del").fingerprint();
        assert_ne!(fingerprint(&set), fingerprint(NEW_LESSON));
        assert_eq!(fingerprint(&lesson("settings: {}\n", "")), fingerprint(NEW_LESSON));
    }

    #[test]
    fn settings_of_missing_products_are_refused_at_their_place() {
        for (own, variant, why) in [
            ("settings: { appendonly: sometimes }\n", "", "`appendonly` cannot be `sometimes`"),
            ("settings: { dir: / }\n", "", "`dir`"),
            ("settings: { lock_wait_timeout: 1500ms }\n", "", "whole seconds"),
            ("settings: { lock_wait_timeout: 3s }\n", "", "a setting of MariaDB"),
        ] {
            let checked = from_text("tried.yaml", &lesson(own, variant)).and_then(|loaded| loaded.check());
            let message = checked.expect_err(why).to_string();
            assert!(message.contains(why) && message.starts_with("tried.yaml:"), "{message}");
        }
    }
}
