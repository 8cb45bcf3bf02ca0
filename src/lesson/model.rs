//! The grammar of a lesson: the types that an author's file becomes. Plain data with `serde` and a JSON Schema.

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

/// The newest version of the grammar; older ones are read, too. What a version changes is in docs/lessons.md.
pub const FORMAT: u32 = 2;

/// A lesson, as its author wrote it.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Lesson {
    /// The version of the grammar: 1 or 2.
    pub format: u32,
    /// The lesson's name on the command line: lower-case words joined by hyphens.
    pub id: String,
    /// The track of the catalogue that it belongs to.
    pub track: Track,
    /// Its title.
    pub title: Text,
    /// What it shows, in one line of the catalogue.
    pub summary: Text,
    /// What to know before the first move. Read while the servers start.
    pub intro: Text,
    /// How long a learner needs, in minutes.
    pub minutes: u32,
    /// Whether interviewers like to ask about it.
    #[serde(default)]
    pub starred: bool,
    /// Lessons that a learner should have played before, by their ids.
    #[serde(default)]
    pub after: Vec<String>,
    /// Former ids, which still open it.
    #[serde(default)]
    pub formerly: Vec<String>,
    /// For the teacher: what to ask the class, where to stop, how long it takes.
    #[serde(default)]
    pub notes: Option<Text>,
    /// The servers that it runs on: one kind, or a list of kinds of different products. A variant may have its own.
    #[schemars(with = "OneOrSeveral")]
    pub lab: LabKind,
    /// How the servers are configured. A variant may give other values.
    #[serde(default)]
    pub settings: Settings,
    /// Figures that the rest of the lesson uses as `${name}`, and that `--set name=value` changes.
    #[serde(default)]
    pub params: Params,
    /// Commands that Lockstep sends before the clients start.
    #[serde(default)]
    pub setup: Vec<Setup>,
    /// What its locks are: what they are called on the screen, and how many may hold one. Of a lock that is not here, one
    /// may, or any number that share it.
    #[serde(default)]
    pub locks: IndexMap<String, LockSpec>,
    /// Lua scripts for Redis, by name. The recipes' scripts can be used without being repeated here.
    #[serde(default)]
    pub scripts: IndexMap<String, String>,
    /// The server's own counters that claims ask about, by the name that the server gives them (a line of
    /// ZooKeeper's `mntr`, a field of Redis' `INFO`).
    #[serde(default)]
    pub metrics: Vec<String>,
    /// Libraries that the programs of its clients need, by their language and name, each with its version:
    /// `{ python: { redis: 8.1.0 } }`.
    #[serde(default)]
    pub libraries: Libraries,
    /// Who takes part.
    pub clients: IndexMap<String, Client>,
    /// What they do.
    #[serde(default)]
    pub programs: IndexMap<String, Vec<Step>>,
    /// What happens, in order. A variant may have its own.
    #[serde(default)]
    pub story: Vec<StoryItem>,
    /// What must never be so, whoever moves when. A variant may have its own; without any, no lock may have more
    /// holders than `locks` says, which is one where it says nothing.
    #[serde(default)]
    pub invariants: Option<Vec<Invariant>>,
    /// An exercise: what of this lesson the learner writes. The variants are the rounds in which it is judged.
    #[serde(default)]
    pub kata: Option<Kata>,
    /// The ways to do it, the failure first.
    pub variants: IndexMap<String, Variant>,
    /// The variants as the cells of a table.
    #[serde(default)]
    pub table: Option<Table>,
    /// Questions that interviewers ask, with answers.
    #[serde(default)]
    pub interview: Vec<Card>,
    /// Where the facts come from.
    #[serde(default)]
    pub sources: Vec<String>,
}

impl Lesson {
    /// The servers that one of its variants runs on: the variant's own, or the lesson's.
    pub fn lab_of(&self, variant: &Variant) -> LabKind {
        variant.lab.unwrap_or(self.lab)
    }
}

/// Named figures. A value such as `3s` or `200ms` is a duration and counts in milliseconds.
pub type Params = IndexMap<String, Param>;

/// The value of a parameter.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Param {
    /// Yes or no.
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

/// Parts of the catalogue, in the order in which it lists them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Track {
    /// Why locks are needed at all.
    Basics,
    /// Locks on one Redis key, and Redis deployments.
    Redis,
    /// The locks of Redisson.
    Redisson,
    /// Locks on ZooKeeper, and those of Curator.
    Zookeeper,
    /// Locks in databases.
    Database,
    /// Locks of libraries as people install them.
    Libraries,
    /// Which lock to choose.
    Choosing,
}

/// A client: an operating-system process of its own, or several alike.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Client {
    /// The program that its thread, or each of its threads, runs.
    #[serde(default)]
    pub runs: Option<String>,
    /// Threads with names and programs of their own, instead of `runs`: `{ worker: work, watchdog: renew }`.
    #[serde(default)]
    pub named_threads: IndexMap<String, String>,
    /// How many processes, named `P1`, `P2`, …: a number or `${…}`. Without it there is one, named `P`.
    #[serde(default)]
    pub processes: Option<Count>,
    /// How many threads each process has, named `P.1`, `P.2`, …: a number or `${…}`.
    #[serde(default)]
    pub threads: Option<Count>,
    /// How many members of a crowd share one process, named `W1`, `W2`, …, each with its own connection and
    /// session: a number or `${…}`.
    #[serde(default)]
    pub crowd: Option<Count>,
    /// Parameters that differ for this client.
    #[serde(default)]
    pub with: Params,
    /// A program of its own, in place of `runs`: the command and its arguments, in which `${…}` stands for parameters. It is
    /// started in the lesson's directory, as the user: a lesson with one has to be allowed with `lockstep trust`.
    #[serde(default)]
    pub exec: Vec<String>,
    /// The protocol of that program.
    #[serde(default)]
    pub speaks: Option<Speaks>,
    /// The moves of that program which stories and claims name: its commands' names, such as `SET` and `EVAL`, or `create`.
    #[serde(default)]
    pub moves: Vec<String>,
    /// The commands of that program that pass by themselves, in place of those that usually do.
    #[serde(default)]
    pub passes: Option<Vec<String>>,
    /// The locks that it says it holds, with `HOLDS lock` on its standard output.
    #[serde(default)]
    pub locks: Vec<String>,
}

/// Libraries by language and name, each with its version.
pub type Libraries = IndexMap<Language, IndexMap<String, String>>;

/// A language of programs that lessons bring along, whose libraries Lockstep can install.
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
    /// Packages of `PyPI`.
    Python,
    /// Packages of npm.
    Node,
    /// Jars, from Debian's packages.
    Java,
}

impl Language {
    pub fn name(self) -> &'static str {
        match self {
            Self::Python => "Python",
            Self::Node => "Node",
            Self::Java => "Java",
        }
    }

    /// As it is written in lessons and on the command line.
    pub fn id(self) -> &'static str {
        match self {
            Self::Python => "python",
            Self::Node => "node",
            Self::Java => "java",
        }
    }
}

/// What a program speaks that a lesson brings along.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Speaks {
    /// Redis' protocol (RESP). The server's address is in `REDIS_URL`, `REDIS_HOST` and `REDIS_PORT`; those of several are in
    /// `REDIS_URLS`, separated by commas.
    Redis,
    /// ZooKeeper's protocol. The server's address is in `ZOOKEEPER`, as host and port.
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

/// What a lock is called on the screen, and how many may hold it.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LockSpec {
    /// What it is called on the screen, in place of its name.
    #[serde(default)]
    pub title: Option<Text>,
    /// How many may hold it at one time, as of a semaphore: a number or `${…}`; 1 where it is left out.
    #[serde(default)]
    pub holders: Option<Count>,
}

/// A number, or `${…}` that gives one.
#[derive(Debug, Clone, PartialEq, JsonSchema)]
#[schemars(untagged)]
pub enum Count {
    /// A number.
    Number(u32),
    /// An expression inside `${…}`.
    Template(String),
}

/// One way to do it.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Variant {
    /// Its title.
    pub title: Text,
    /// Whether its claims show the failure or that it is prevented.
    pub expect: Expect,
    /// The variant whose failure this one prevents, all else being equal: the two are compared by default.
    #[serde(default)]
    pub fixes: Option<String>,
    /// What the learner should take away when its claims hold.
    pub lesson: Text,
    /// The servers that it runs on, instead of the lesson's.
    #[serde(default)]
    #[schemars(with = "Option<OneOrSeveral>")]
    pub lab: Option<LabKind>,
    /// How the servers are configured, where that differs.
    #[serde(default)]
    pub settings: Settings,
    /// Parameters that differ.
    #[serde(default)]
    pub params: Params,
    /// Commands to send before the clients start, instead of the lesson's.
    #[serde(default)]
    pub setup: Option<Vec<Setup>>,
    /// Clients, instead of the lesson's.
    #[serde(default)]
    pub clients: Option<IndexMap<String, Client>>,
    /// Programs that replace those of the same name, or are added.
    #[serde(default)]
    pub programs: IndexMap<String, Vec<Step>>,
    /// Single operations that differ, by `program.label`.
    #[serde(default)]
    pub replace: IndexMap<String, super::step::Operation>,
    /// What happens, instead of the lesson's story.
    #[serde(default)]
    pub story: Option<Vec<StoryItem>>,
    /// What must never be so, instead of the lesson's invariants.
    #[serde(default)]
    pub invariants: Option<Vec<Invariant>>,
    /// What trying every order of the moves must find. `lockstep run` proves it.
    #[serde(default)]
    pub explore: Option<Explore>,
    /// What must be observed.
    pub claims: Vec<Claim>,
}

/// What a variant's claims, when all hold, amount to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Expect {
    /// The failure happens.
    Shown,
    /// The failure does not happen although the same was tried.
    Prevented,
}

/// Something that must be observed, and a sentence that tells the learner what it means.
#[derive(Debug, Clone, PartialEq, JsonSchema)]
#[schemars(untagged, deny_unknown_fields)]
pub enum Claim {
    /// An expression over what happened, such as `sold == 10` or `A.release == 1`, without a sentence.
    Bare(String),
    /// An expression.
    That {
        /// The expression.
        that: String,
        /// What it means.
        says: Option<Text>,
    },
    /// At some moment more believed to hold a lock than may: two clients, where `locks` says nothing else.
    Overlap {
        /// The lock.
        overlap: String,
        /// What it means.
        says: Option<Text>,
    },
    /// At no moment more believed to hold a lock than may, and somebody did hold it.
    Exclusive {
        /// The lock.
        exclusive: String,
        /// What it means.
        says: Option<Text>,
    },
}

impl Claim {
    /// What it means, in a sentence, where its author wrote one.
    pub fn says(&self) -> Option<&Text> {
        match self {
            Self::Bare(_) => None,
            Self::That { says, .. } | Self::Overlap { says, .. } | Self::Exclusive { says, .. } => {
                says.as_ref()
            }
        }
    }
}

/// A question that interviewers ask.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Card {
    /// The question.
    pub q: Text,
    /// The answer, as one would speak it.
    pub a: Text,
    /// What a good interviewer asks next.
    #[serde(default)]
    pub follow_up: Option<FollowUp>,
    /// The articles in which it is asked, such as `S3`.
    #[serde(default)]
    pub from: Vec<String>,
    /// The step of a variant that shows it.
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

/// The step of a variant that shows what an answer says.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Shown {
    /// The variant.
    pub variant: String,
    /// The move of its story, such as `A.release`; its end, where it is left out.
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    pub at: Option<MoveRef>,
}

/// What `lessons/recipes.yaml` holds: programs and scripts that lessons use by name, so that each lock is
/// written once.
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
    /// Those of them that stand in the file beside the lesson, rather than in Lockstep's own.
    #[serde(skip)]
    pub beside: BTreeSet<String>,
}

/// A program that lessons use by name.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Recipe {
    /// What it does.
    pub about: Text,
    /// The parameters that `with:` must give it.
    #[serde(default)]
    pub params: Vec<String>,
    /// Its steps.
    pub steps: Vec<Step>,
}

impl Recipe {
    /// Where the steps of a recipe stand in its file.
    pub(crate) fn path(name: &str) -> Path {
        Path::root().key("programs").key(name).key("steps")
    }
}
