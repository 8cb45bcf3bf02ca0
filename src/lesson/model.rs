//! The grammar of a lesson: the types that an author's file is parsed into. Plain data with `serde` and a JSON Schema.

use std::collections::BTreeSet;

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    LabKind, Path,
    explore::Explore,
    invariant::Invariant,
    kata::Kata,
    lab_kind::OneOrSeveral,
    settings::Settings,
    step::{Setup, Step},
    story::{MoveRef, StoryItem},
    table::Table,
};
use crate::{log::Product, text::Text};

/// The newest version of the grammar; older versions can still be read. docs/lessons.md lists what each version
/// changed.
pub const FORMAT: u32 = 2;

/// A lesson, as its author wrote it.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Lesson {
    /// The version of the grammar: 1 or 2.
    pub format: u32,
    /// The lesson's name on the command line: lower-case words joined by hyphens.
    pub id: String,
    /// The track of the catalogue that lists the lesson.
    pub track: Track,
    /// The lesson's title.
    pub title: Text,
    /// What the lesson shows, in one line of the catalogue.
    pub summary: Text,
    /// What to know before the first move. Shown while the servers start.
    pub intro: Text,
    /// How long a learner needs, in minutes.
    pub minutes: u32,
    /// Whether interviewers often ask about the subject.
    #[serde(default)]
    pub starred: bool,
    /// Lessons that a learner should have played before, by their ids.
    #[serde(default)]
    pub after: Vec<String>,
    /// Former ids, which still open the lesson.
    #[serde(default)]
    pub formerly: Vec<String>,
    /// Notes for a teacher: what to ask the class, where to stop, how long the lesson takes.
    #[serde(default)]
    pub notes: Option<Text>,
    /// The servers that the lesson runs on: one kind, or a list of kinds of different products. A variant may replace
    /// it.
    #[schemars(with = "OneOrSeveral")]
    pub lab: LabKind,
    /// How the servers are configured. A variant may override single values.
    #[serde(default)]
    pub settings: Settings,
    /// Values that the rest of the lesson uses as `${name}`, and that `--set name=value` changes.
    #[serde(default)]
    pub params: Params,
    /// Commands that Lockstep sends before the clients start.
    #[serde(default)]
    pub setup: Vec<Setup>,
    /// The locks of the lesson: their titles on the screen, and how many clients may hold each. A lock that is not
    /// listed may be held by one client, or shared by any number.
    #[serde(default)]
    pub locks: IndexMap<String, LockSpec>,
    /// The titles of counters on the screen. A counter that is not listed is shown by its name.
    #[serde(default)]
    pub counters: IndexMap<String, CounterSpec>,
    /// Lua scripts for Redis, by name. The scripts of the recipes can be used without being repeated here.
    #[serde(default)]
    pub scripts: IndexMap<String, String>,
    /// The server's own counters that claims read, by the name that the server gives them (a line of ZooKeeper's
    /// `mntr`, a field of Redis' `INFO`).
    #[serde(default)]
    pub metrics: Vec<String>,
    /// Libraries that the clients' programs need, by language and name, each with its version: `{ python: { redis:
    /// 8.1.0 } }`.
    #[serde(default)]
    pub libraries: Libraries,
    /// Names for the Lua scripts that libraries send, each with the beginning of the script's SHA-1, of at least eight
    /// digits: `{ acquire: "96da70f7" }`.
    #[serde(default)]
    pub library_scripts: IndexMap<String, String>,
    /// The clients that take part.
    pub clients: IndexMap<String, Client>,
    /// The programs that clients run, by name.
    #[serde(default)]
    pub programs: IndexMap<String, Vec<Step>>,
    /// The moves and faults in their order. A variant may replace the story.
    #[serde(default)]
    pub story: Vec<StoryItem>,
    /// Conditions that must hold in every order of moves. A variant may replace them. If there are none, no lock may
    /// have more holders than `locks` allows, which is one for a lock that is not listed.
    #[serde(default)]
    pub invariants: Option<Vec<Invariant>>,
    /// Makes the lesson an exercise: the part that the learner writes. The variants are the rounds in which it is
    /// judged.
    #[serde(default)]
    pub kata: Option<Kata>,
    /// The variants of the lesson, the failure first.
    pub variants: IndexMap<String, Variant>,
    /// Shows the variants as the cells of a table.
    #[serde(default)]
    pub table: Option<Table>,
    /// Interview questions with their answers.
    #[serde(default)]
    pub interview: Vec<Card>,
    /// The sources of the facts.
    #[serde(default)]
    pub sources: Vec<String>,
}

impl Lesson {
    /// Returns the lab of a variant: its own, or else the lesson's.
    pub fn lab_of(&self, variant: &Variant) -> LabKind {
        variant.lab.unwrap_or(self.lab)
    }

    /// The name of the variant that is meant. A variant that has become a lesson gave it its name; there the first one is
    /// meant.
    pub fn variant_called(&self, name: &str) -> Option<&String> {
        let first = || self.variants.keys().next().filter(|_| name == self.id);
        self.variants.get_key_value(name).map(|(name, _)| name).or_else(first)
    }

    /// The clients of the lesson, and those that variants have instead, with their paths.
    pub(crate) fn all_clients(&self) -> impl Iterator<Item = (&IndexMap<String, Client>, Path)> {
        let own = self.variants.iter().filter_map(|(name, variant)| {
            Some((variant.clients.as_ref()?, Path::of_variant(name).key("clients")))
        });
        std::iter::once((&self.clients, Path::root().key("clients"))).chain(own)
    }

    /// The programs of the lesson, and those that variants add or replace, with their paths.
    pub(crate) fn all_programs(&self) -> impl Iterator<Item = (&IndexMap<String, Vec<Step>>, Path)> {
        let own = self
            .variants
            .iter()
            .map(|(name, variant)| (&variant.programs, Path::of_variant(name).key("programs")));
        std::iter::once((&self.programs, Path::root().key("programs"))).chain(own)
    }
}

/// Parameters by name. A value such as `3s` or `200ms` is a duration and counts in milliseconds.
pub type Params = IndexMap<String, Param>;

/// The value of a parameter.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Param {
    /// `true` or `false`.
    Flag(bool),
    /// A number.
    Number(i64),
    /// A word, or a duration such as `3s`.
    Word(String),
}

impl From<&Param> for serde_json::Value {
    fn from(param: &Param) -> Self {
        match param {
            Param::Flag(flag) => (*flag).into(),
            Param::Number(number) => (*number).into(),
            Param::Word(word) => match super::duration::parse_millis(word) {
                Ok(millis) if word.parse::<i64>().is_err() => millis.into(),
                _ => word.clone().into(),
            },
        }
    }
}

/// The tracks of the catalogue, in the order in which it lists them.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Track {
    /// Why locks are needed at all.
    #[default]
    Basics,
    /// Locks on one Redis key, and Redis deployments.
    Redis,
    /// The locks of Redisson.
    Redisson,
    /// Locks on ZooKeeper, and the locks of Curator.
    Zookeeper,
    /// Locks in databases.
    Database,
    /// The locks of client libraries as they are published.
    Libraries,
    /// Which lock to choose.
    Choosing,
}

/// A client: one operating-system process, or several that run the same program.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Client {
    /// The program that the client's thread, or each of its threads, runs.
    #[serde(default)]
    pub runs: Option<String>,
    /// Threads with names and programs of their own, instead of `runs`: `{ worker: work, watchdog: renew }`.
    #[serde(default)]
    pub named_threads: IndexMap<String, String>,
    /// How many processes there are, named `P1`, `P2`, …: a number or `${…}`. If left out, there is one, named `P`.
    #[serde(default)]
    pub processes: Option<Count>,
    /// How many threads each process has, named `P.1`, `P.2`, …: a number or `${…}`.
    #[serde(default)]
    pub threads: Option<Count>,
    /// How many members of a crowd share one process, named `W1`, `W2`, …, each with its own connection and session: a
    /// number or `${…}`.
    #[serde(default)]
    pub crowd: Option<Count>,
    /// Parameters that have other values for this client.
    #[serde(default)]
    pub with: Params,
    /// An external program, instead of `runs`: the command and its arguments, in which `${…}` stands for parameters. It
    /// runs in the lesson's directory with the user's permissions, so such a lesson has to be allowed with `lockstep
    /// trust`.
    #[serde(default)]
    pub exec: Vec<String>,
    /// The protocol that the external program speaks.
    #[serde(default)]
    pub speaks: Option<Speaks>,
    /// The commands of the external program that stories and claims can name as moves, such as `SET`, `EVAL` or
    /// `create`.
    #[serde(default)]
    pub moves: Vec<String>,
    /// The commands of the external program that are forwarded without waiting for a move, instead of the default ones.
    #[serde(default)]
    pub passes: Option<Vec<String>>,
    /// The locks that the external program reports with `HOLDS lock` on its standard output.
    #[serde(default)]
    pub locks: Vec<String>,
}

/// Libraries by language and name, each with its version.
pub type Libraries = IndexMap<Language, IndexMap<String, String>>;

/// A language of external programs for which Lockstep can install libraries.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
    clap::ValueEnum,
)]
#[serde(rename_all = "lowercase")]
pub enum Language {
    /// Packages from `PyPI`.
    Python,
    /// Packages from npm.
    Node,
    /// Jars from Debian's packages.
    Java,
}

impl Language {
    /// The name in lessons and on the command line.
    pub fn id(self) -> &'static str {
        match self {
            Self::Python => "python",
            Self::Node => "node",
            Self::Java => "java",
        }
    }
}

/// The protocol that an external program speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Speaks {
    /// Redis' protocol (RESP). The program finds the server's address in `REDIS_URL`, `REDIS_HOST` and `REDIS_PORT`;
    /// the addresses of several servers are in `REDIS_URLS`, separated by commas.
    Redis,
    /// ZooKeeper's protocol. The program finds the server's address in `ZOOKEEPER`, as host and port.
    Zookeeper,
}

impl Speaks {
    pub fn product(self) -> Product {
        match self {
            Self::Redis => Product::Redis,
            Self::Zookeeper => Product::Zookeeper,
        }
    }
}

/// A lock's title, and how many clients may hold it.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LockSpec {
    /// The title on the screen, in place of the lock's name.
    #[serde(default)]
    pub title: Option<Text>,
    /// How many clients may hold it at the same time, as with a semaphore: a number or `${…}`. Default: 1.
    #[serde(default)]
    pub holders: Option<Count>,
}

/// A counter's title.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CounterSpec {
    /// The title on the screen, in place of the counter's name.
    pub title: Text,
}

/// A number, or a `${…}` that evaluates to one.
#[derive(Debug, Clone, PartialEq, JsonSchema)]
#[schemars(untagged)]
pub enum Count {
    /// A number.
    Number(u32),
    /// An expression inside `${…}`.
    Template(String),
}

/// A variant: the lesson's story with settings of its own.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Variant {
    /// The variant's title.
    pub title: Text,
    /// Whether the claims show the failure, or that it is prevented. Default: prevented with `fixes`, otherwise shown.
    #[serde(default)]
    pub expect: Option<Expect>,
    /// The variant whose failure this one prevents while all else is equal: the two are compared by default.
    #[serde(default)]
    pub fixes: Option<String>,
    /// What the learner should take away when the claims hold.
    pub lesson: Text,
    /// The servers that the variant runs on, instead of the lesson's.
    #[serde(default)]
    #[schemars(with = "Option<OneOrSeveral>")]
    pub lab: Option<LabKind>,
    /// Settings that override the lesson's.
    #[serde(default)]
    pub settings: Settings,
    /// Parameters that override the lesson's.
    #[serde(default)]
    pub params: Params,
    /// Commands to send before the clients start, instead of the lesson's.
    #[serde(default)]
    pub setup: Option<Vec<Setup>>,
    /// Clients, instead of the lesson's.
    #[serde(default)]
    pub clients: Option<IndexMap<String, Client>>,
    /// Programs that are added, or replace those of the same name.
    #[serde(default)]
    pub programs: IndexMap<String, Vec<Step>>,
    /// Single operations to replace, by `program.label`.
    #[serde(default)]
    pub replace: IndexMap<String, super::step::Operation>,
    /// The moves and faults in their order, instead of the lesson's story.
    #[serde(default)]
    pub story: Option<Vec<StoryItem>>,
    /// Conditions that must hold in every order of moves, instead of the lesson's invariants.
    #[serde(default)]
    pub invariants: Option<Vec<Invariant>>,
    /// What exploring every order of moves must find. `lockstep run` checks it.
    #[serde(default)]
    pub explore: Option<Explore>,
    /// What must be observed.
    pub claims: Vec<Claim>,
}

impl Variant {
    /// What it means when all claims hold: whoever names the failure that it fixes need not say that it prevents it.
    pub fn expects(&self) -> Expect {
        self.expect.unwrap_or(if self.fixes.is_some() { Expect::Prevented } else { Expect::Shown })
    }
}

/// What it means when all claims of a variant hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Expect {
    /// The failure happens.
    Shown,
    /// The failure does not happen although the same moves were tried.
    Prevented,
}

/// Something that must be observed, and a sentence that tells the learner what it means.
#[derive(Debug, Clone, PartialEq, JsonSchema)]
#[schemars(untagged, deny_unknown_fields)]
pub enum Claim {
    /// An expression over the run, such as `sold == 10` or `A.release == 1`, without a sentence.
    Bare(String),
    /// An expression.
    That {
        /// The expression.
        that: String,
        /// What it means.
        says: Option<Text>,
    },
    /// At some moment more clients believed that they held the lock than may: at least two, unless `locks` says
    /// otherwise.
    Overlap {
        /// The lock.
        overlap: String,
        /// What it means.
        says: Option<Text>,
    },
    /// At no moment did more clients believe that they held the lock than may, and at least one did hold it.
    Exclusive {
        /// The lock.
        exclusive: String,
        /// What it means.
        says: Option<Text>,
    },
}

impl Claim {
    /// The expression, if it is one.
    pub fn source(&self) -> Option<&str> {
        match self {
            Self::Bare(that) | Self::That { that, .. } => Some(that),
            Self::Overlap { .. } | Self::Exclusive { .. } => None,
        }
    }

    /// The sentence that tells what the claim means, if its author wrote one.
    pub fn says(&self) -> Option<&Text> {
        match self {
            Self::Bare(_) => None,
            Self::That { says, .. } | Self::Overlap { says, .. } | Self::Exclusive { says, .. } => {
                says.as_ref()
            }
        }
    }
}

/// An interview question.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Card {
    /// The question.
    pub q: Text,
    /// The answer, as one would say it aloud.
    pub a: Text,
    /// A question that a good interviewer asks next.
    #[serde(default)]
    pub follow_up: Option<FollowUp>,
    /// The articles that ask the question, such as `S3`.
    #[serde(default)]
    pub from: Vec<String>,
    /// The step of a variant that demonstrates the answer.
    #[serde(default)]
    pub shown: Option<Shown>,
}

/// A question that follows an answer.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FollowUp {
    /// The question.
    pub q: Text,
    /// The answer.
    pub a: Text,
}

/// A step of a variant that demonstrates an answer.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Shown {
    /// The variant.
    pub variant: String,
    /// The move of the variant's story, such as `A.release`. Default: the end of the story.
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    pub at: Option<MoveRef>,
}

/// The contents of `lessons/recipes.yaml`: programs and scripts that lessons use by name, so that each lock is written
/// once.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Recipes {
    /// The version of the grammar: 1 or 2.
    pub format: u32,
    /// Lua scripts, by name.
    #[serde(default)]
    pub scripts: IndexMap<String, String>,
    /// Programs, by name, used with `use:`.
    #[serde(default)]
    pub programs: IndexMap<String, Recipe>,
    /// The names of recipes that come from the file beside the lesson, rather than from Lockstep's own.
    #[serde(skip)]
    pub local: BTreeSet<String>,
}

/// A program that lessons use by name.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Recipe {
    /// What the program does.
    pub about: Text,
    /// The parameters that `with:` must give.
    #[serde(default)]
    pub params: Vec<String>,
    /// The program's steps.
    pub steps: Vec<Step>,
}

impl Recipe {
    /// The path of a recipe's steps in its file.
    pub(crate) fn path(name: &str) -> Path {
        Path::root().key("programs").key(name).key("steps")
    }
}
