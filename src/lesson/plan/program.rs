//! Programs as instructions: steps, recipes and repetitions flattened so that a client's place in its program is one
//! number.

use std::{collections::BTreeSet, sync::Arc};

use super::{
    super::{
        error::{Mistake, Path},
        expr::{Expr, Template},
    },
    call::PlannedCall,
    doubts::{Answer, Doubt},
    sql,
};
#[cfg(doc)]
use crate::log::ANY;
use crate::log::{Belief, Command, Flock};

#[derive(Debug, Clone)]
pub enum Instruction {
    /// Carry out an operation: the only instruction that takes a move.
    Operate(Arc<PlannedOperation>),
    Believe {
        /// Its name: a template.
        lock: Template,
        belief: Belief,
    },
    Count {
        counter: String,
    },
    Set {
        name: String,
        value: Expr,
    },
    JumpUnless {
        condition: Expr,
        to: usize,
    },
    Jump {
        to: usize,
    },
    RepeatBegin {
        /// How often: a template that gives a number.
        bound: Template,
    },
    /// Begin the next round or leave the repetition.
    RepeatNext {
        /// The condition of a `while`. Reaching the bound with it still true is an error; without one the
        /// bound is the number of rounds.
        condition: Option<Expr>,
        exit: usize,
    },
    /// Open a frame of parameters: from here on to its [`Instruction::Leave`] these are the steps of a program or recipe.
    Enter {
        program: String,
        with: Vec<(String, Template)>,
        /// Where it stands in the lesson, `None` in a recipe.
        path: Option<Path>,
    },
    Leave,
    Stop,
}

#[derive(Debug, Clone)]
pub struct PlannedOperation {
    pub label: String,
    pub verb: PlannedVerb,
    /// The server; the lab's first where it is `None`.
    pub on: Option<String>,
    /// Try again until this is true.
    pub until: Option<Expr>,
    /// How long to wait between tries.
    pub every: Option<Template>,
    /// Error codes that the program copes with.
    pub allow: Vec<String>,
    /// The locks whose release it asks for: whoever sends it holds them no longer.
    pub releases: Vec<Template>,
    /// Whether a transaction of Redis is open when it is sent, as far as the order of the program tells.
    pub queued: bool,
    /// Where it stands in the lesson, `None` in a recipe.
    pub path: Option<Path>,
}

#[derive(Debug, Clone)]
pub enum PlannedVerb {
    Redis(Vec<Template>),
    Script {
        name: String,
        source: Arc<str>,
        keys: Vec<Template>,
        args: Vec<Template>,
    },
    Call(PlannedCall),
    /// A mutex inside the client's process.
    Local {
        lock: bool,
        name: Template,
    },
    /// A file is locked or unlocked.
    Flock {
        call: Flock,
        path: Template,
    },
    Wait(Template),
    /// What a program outside sends, as it is.
    Given(Command),
    /// A notification is taken.
    Take(TakePlan),
}

#[derive(Debug, Clone)]
pub struct TakePlan {
    /// What about: paths, channels or `any`.
    pub from: Vec<Template>,
    /// How long it is waited for: a duration.
    pub within: Option<Template>,
}

#[derive(Debug, Clone, Default)]
#[expect(clippy::struct_excessive_bools, reason = "what is known of a program, each by itself")]
pub struct Program {
    pub instructions: Vec<Instruction>,
    /// The labels of its operations, those of recipes included.
    pub labels: BTreeSet<String>,
    pub counters: BTreeSet<String>,
    /// The locks that it may have beliefs about. What of a name is known only when it runs is [`ANY`] text.
    pub locks: BTreeSet<String>,
    /// Which instructions are beliefs that the author wrote, and where.
    pub believes: Vec<(usize, Path)>,
    /// Whether it subscribes to channels, or waits for what becomes of its session.
    pub listens: bool,
    /// Whether it locks files.
    pub locks_files: bool,
    /// Whether its operations come from a program that a user brought: it has no instructions of its own.
    pub outside: bool,
    /// What its expressions ask of rows, and where.
    pub asked_rows: Vec<(String, Path)>,
    /// What `check` refuses although a run lets it pass.
    pub doubts: Vec<Mistake>,
    /// Whether it reads `'Lost'` as a reply that was lost, as claims do. In `format: 1` it reads `none`.
    pub reads_lost: bool,
}

impl PlannedOperation {
    pub(crate) fn answer(&self) -> Option<Answer> {
        if self.queued { Some(Answer::Queued) } else { Answer::of(&self.verb) }
    }
}

impl Program {
    fn operations(&self) -> impl Iterator<Item = &Arc<PlannedOperation>> {
        self.instructions.iter().filter_map(|instruction| match instruction {
            Instruction::Operate(operation) => Some(operation),
            _ => None,
        })
    }

    /// What an operation answers, where all that have this label answer the same.
    pub(crate) fn answer_of(&self, label: &str) -> Option<Answer> {
        let mut answers = self
            .operations()
            .filter(|operation| operation.label == label)
            .map(|operation| operation.answer());
        let first = answers.next()??;
        answers.all(|other| other == Some(first)).then_some(first)
    }

    /// The columns of the rows that an operation answers, where all that have this label answer the same.
    pub(crate) fn columns_of(&self, label: &str) -> Option<Vec<String>> {
        let mut answers = self.operations().filter(|operation| operation.label == label).map(|operation| {
            let PlannedVerb::Call(call) = &operation.verb else { return None };
            let text: String = call.operands("TEXT").map(Template::pattern).collect();
            sql::selected(&text)
        });
        let first = answers.next()??;
        answers.all(|other| other.as_ref() == Some(&first)).then_some(first)
    }

    /// How often it counts something at most; `None` where that is in a repetition.
    pub(crate) fn counts(&self, counter: &str) -> Option<usize> {
        let places = self.instructions.iter().enumerate().filter(
            |(_, instruction)| matches!(instruction, Instruction::Count { counter: other } if other == counter),
        );
        let repeats = |at: usize| {
            let mut later = self.instructions.iter().skip(at);
            later.any(|instruction| matches!(instruction, Instruction::Jump { to } if *to <= at))
        };
        places.map(|(at, _)| (!repeats(at)).then_some(1)).sum()
    }

    /// The SQL statement of a label, where there is one.
    pub(crate) fn statement_of(&self, label: &str) -> Option<String> {
        let mut texts = self.operations().filter(|operation| operation.label == label).map(|operation| {
            let PlannedVerb::Call(call) = &operation.verb else { return None };
            Some(call.operands("TEXT").map(Template::pattern).collect::<String>())
        });
        let first = texts.next()??;
        let is_set = self
            .instructions
            .iter()
            .any(|instruction| matches!(instruction, Instruction::Set { name, .. } if name == label));
        (!is_set && texts.all(|other| other.as_ref() == Some(&first))).then_some(first)
    }

    /// What is wrong with asking whether an operation answers nothing, where it always answers.
    pub(crate) fn nil_doubt(&self, label: &str, name: &str) -> Option<Doubt> {
        let mut named = self.operations().filter(|operation| operation.label == label);
        let operation = named.next().filter(|operation| operation.allow.iter().all(|code| code == "Lost"))?;
        Answer::nil_doubt(&operation.verb, name).filter(|_| named.next().is_none())
    }

    /// Whether an operation copes with an error.
    pub(crate) fn allows(&self, label: &str, code: &str) -> bool {
        self.operations()
            .any(|operation| operation.label == label && operation.allow.iter().any(|known| known == code))
    }

    /// Whether all that is sent under a label is this command of Redis.
    pub(crate) fn only_sends(&self, label: &str, command: &str) -> bool {
        let mut named = self.operations().filter(|operation| operation.label == label).peekable();
        let is_it = |verb: &PlannedVerb| match verb {
            PlannedVerb::Redis(words) => words[0].pattern().eq_ignore_ascii_case(command),
            _ => false,
        };
        named.peek().is_some() && named.all(|operation| is_it(&operation.verb))
    }

    /// Whether nothing is sent under a label, and time passes.
    pub(crate) fn only_waits(&self, label: &str) -> bool {
        let mut named = self.operations().filter(|operation| operation.label == label).peekable();
        named.peek().is_some() && named.all(|operation| matches!(operation.verb, PlannedVerb::Wait(_)))
    }

    /// The locks whose release an operation asks for, by its label, as far as their names are known before it runs.
    pub fn released_by(&self, label: &str) -> Vec<String> {
        let found =
            self.operations().find(|operation| operation.label == label && !operation.releases.is_empty());
        let releases = found.iter().flat_map(|operation| &operation.releases);
        releases.filter(|lock| lock.is_literal()).map(ToString::to_string).collect()
    }
}

/// Names that every program may use: who it is (`self`, `client`, `index` in its group from 1), its owner
/// token for the next acquisition (`token`), the last reply (`reply`) or its error code (`error`), and the time
/// on its own clock (`now`, milliseconds since the lesson began).
pub const BUILTINS: [&str; 7] = ["self", "client", "index", "token", "reply", "error", "now"];
