//! Programs as instructions: steps, recipes and repetitions are flattened, so that a position in a program is one
//! number.

use std::{collections::BTreeSet, sync::Arc};

use super::{
    super::{
        error::{Finding, Mistake, Path},
        expr::{Expr, Mentions, Template},
    },
    call::PlannedCall,
    lints::{Answer, items},
    sql,
};
#[cfg(doc)]
use crate::log::ANY;
use crate::log::{Belief, Command, Flock};

#[derive(Debug, Clone)]
pub enum Instruction {
    /// Performs an operation: the only instruction that takes a move.
    Operate(Arc<PlannedOperation>),
    Believe {
        /// The lock's name: a template.
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
        /// The number of rounds: a template that renders to a number.
        bound: Template,
    },
    /// Begins the next round or leaves the repetition.
    RepeatNext {
        /// The condition of a `while`. If it is still true when the bound is reached, that is an error; without a
        /// condition the bound is the number of rounds.
        condition: Option<Expr>,
        exit: usize,
    },
    /// Opens a frame of parameters: the instructions up to the matching [`Instruction::Leave`] are the steps of a
    /// program or recipe.
    Enter {
        program: String,
        with: Vec<(String, Template)>,
        /// The path of the `use` in the lesson; `None` in a recipe.
        path: Option<Path>,
    },
    Leave,
    Stop,
}

#[derive(Debug, Clone)]
pub struct PlannedOperation {
    pub label: String,
    pub verb: PlannedVerb,
    /// The server; the lab's first if `None`.
    pub on: Option<String>,
    /// Retries the operation until this expression is true.
    pub until: Option<Expr>,
    /// How long to wait between tries.
    pub every: Option<Template>,
    /// Error codes that the program handles.
    pub allow: Vec<String>,
    /// The locks that the operation releases: its client does not hold them any more once it is sent.
    pub releases: Vec<Template>,
    /// Whether a Redis transaction is open when the operation is sent, judged by the order of the steps.
    pub queued: bool,
    /// The path of the operation in the lesson; `None` in a recipe.
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
    /// Locks or unlocks a mutex inside the client's process.
    Local {
        lock: bool,
        name: Template,
    },
    /// Locks or unlocks a file.
    Flock {
        call: Flock,
        path: Template,
    },
    Wait(Template),
    /// A command of an external program, sent unchanged.
    Given(Command),
    /// Takes a notification.
    Take(TakePlan),
}

#[derive(Debug, Clone)]
pub struct TakePlan {
    /// The subjects to accept: paths, channels or `any`.
    pub from: Vec<Template>,
    /// How long to wait at most: a duration.
    pub within: Option<Template>,
}

#[derive(Debug, Clone, Default)]
#[expect(clippy::struct_excessive_bools, reason = "what is known of a program, each by itself")]
pub struct Program {
    pub instructions: Vec<Instruction>,
    /// The labels of the program's operations, including those of recipes.
    pub labels: BTreeSet<String>,
    pub counters: BTreeSet<String>,
    /// The locks that the program may have beliefs about. Parts of a name that are known only at run time are replaced
    /// by [`ANY`].
    pub locks: BTreeSet<String>,
    /// The indices of the beliefs that the author wrote, with their paths.
    pub believes: Vec<(usize, Path)>,
    /// The indices of the `let`, `if` and `while` that the author wrote, with their paths.
    pub conditions: Vec<(usize, Path)>,
    /// Whether the program subscribes to channels, or waits for events of its session.
    pub listens: bool,
    /// Whether the program locks files.
    pub locks_files: bool,
    /// Whether this stands for an external program, which has no instructions here.
    pub outside: bool,
    /// Expressions that read columns of rows or messages, with their paths.
    pub asked: Vec<(String, Path)>,
    /// Mistakes that `check` reports although a run goes on with them.
    pub findings: Vec<Mistake>,
    /// Whether the program sees a lost reply as `'Lost'`, as claims do. In `format: 1` it sees `none`.
    pub reads_lost: bool,
}

impl Instruction {
    pub(crate) fn operation(&self) -> Option<&Arc<PlannedOperation>> {
        match self {
            Self::Operate(operation) => Some(operation),
            _ => None,
        }
    }
}

impl PlannedVerb {
    /// Whether it is sent to a server.
    pub(crate) fn is_sent(&self) -> bool {
        matches!(self, Self::Redis(_) | Self::Script { .. } | Self::Call(_) | Self::Given(_))
    }

    /// What is sent, key by key and word by word, or how long it waits.
    pub(crate) fn templates(&self) -> Vec<&Template> {
        match self {
            Self::Redis(words) => words.iter().collect(),
            Self::Script { keys, args, .. } => keys.iter().chain(args).collect(),
            Self::Call(call) => call.all_operands().collect(),
            Self::Local { name: one, .. } | Self::Flock { path: one, .. } | Self::Wait(one) => vec![one],
            Self::Take(TakePlan { from, within }) => from.iter().chain(within).collect(),
            Self::Given(_) => Vec::new(),
        }
    }
}

impl PlannedOperation {
    /// The sources of its expressions.
    fn expressions(&self) -> Vec<String> {
        let templates = self.verb.templates().into_iter().chain(&self.every).chain(&self.releases);
        let until = self.until.iter().map(|until| until.source().to_owned());
        templates.flat_map(Template::sources).chain(until).collect()
    }

    /// Whether the program handles this error of the server.
    pub(crate) fn allows(&self, code: &str) -> bool {
        self.allow.iter().any(|known| known == code)
    }

    pub(crate) fn answer(&self) -> Option<Answer> {
        if self.queued { Some(Answer::Queued) } else { Answer::of(&self.verb) }
    }
}

/// The parameters of a program or recipe, and the path of its `use`.
pub(crate) type Frame<'s> = (&'s [(String, Template)], Option<&'s Path>);

impl Program {
    /// The operations, each with the programs and recipes that it stands in, outermost first.
    pub(crate) fn operations_in_frames(&self) -> Vec<(&PlannedOperation, Vec<Frame<'_>>)> {
        let (mut found, mut frames) = (Vec::new(), Vec::<Frame<'_>>::new());
        for instruction in &self.instructions {
            match instruction {
                Instruction::Enter { with, path, .. } => frames.push((with, path.as_ref())),
                Instruction::Leave => drop(frames.pop()),
                Instruction::Operate(operation) => found.push((&**operation, frames.clone())),
                _ => {}
            }
        }
        found
    }

    /// The sources of all expressions, those in templates included.
    pub(crate) fn expressions(&self) -> Vec<String> {
        let of = |expr: &Expr| vec![expr.source().to_owned()];
        let each = self.instructions.iter().flat_map(|instruction| match instruction {
            Instruction::Operate(operation) => operation.expressions(),
            Instruction::Believe { lock, .. } => lock.sources(),
            Instruction::Set { value, .. } => of(value),
            Instruction::JumpUnless { condition, .. } => of(condition),
            Instruction::RepeatBegin { bound } => bound.sources(),
            Instruction::RepeatNext { condition, .. } => condition.iter().flat_map(of).collect(),
            Instruction::Enter { with, .. } => with.iter().flat_map(|(_, value)| value.sources()).collect(),
            Instruction::Count { .. } | Instruction::Jump { .. } | Instruction::Leave | Instruction::Stop => {
                Vec::new()
            }
        });
        each.collect()
    }

    /// Whether every way from the beginning to the instruction `to` leads over the instruction `over`.
    pub(crate) fn passes(&self, over: usize, to: usize) -> bool {
        let (mut open, mut seen) = (vec![0], BTreeSet::new());
        while let Some(at) = open.pop() {
            if at == to && at != over {
                return false;
            }
            if at == over || !seen.insert(at) {
                continue;
            }
            open.extend(self.after(at));
        }
        over != to
    }

    /// The instructions that may come directly after the one at this index.
    pub(crate) fn after(&self, at: usize) -> impl Iterator<Item = usize> + use<> {
        let (next, other) = match self.instructions.get(at) {
            None | Some(Instruction::Stop) => (None, None),
            Some(Instruction::Jump { to }) => (Some(*to), None),
            Some(Instruction::JumpUnless { to, .. } | Instruction::RepeatNext { exit: to, .. }) => {
                (Some(*to), Some(at + 1))
            }
            Some(_) => (Some(at + 1), None),
        };
        next.into_iter().chain(other)
    }

    pub(crate) fn operations(&self) -> impl DoubleEndedIterator<Item = &Arc<PlannedOperation>> {
        self.instructions.iter().filter_map(Instruction::operation)
    }

    /// The operations with this label: the branches of an `if`, and the rounds of a repetition, share labels.
    fn named<'p>(&'p self, label: &str) -> impl Iterator<Item = &'p Arc<PlannedOperation>> + Clone {
        self.instructions
            .iter()
            .filter_map(Instruction::operation)
            .filter(move |operation| operation.label == label)
    }

    /// Whether the program may decide anything by what operations with this label answered: also if it has none, as a
    /// program from outside.
    pub(crate) fn reads_reply_of(&self, label: &str) -> bool {
        let mut named = self.named(label).peekable();
        named.peek().is_none()
            || named.any(|operation| operation.until.is_some())
            || self.expressions().iter().any(|source| Mentions::of(source).names(label))
    }

    /// The operation with this label, if there is only one.
    pub(crate) fn only_named(&self, label: &str) -> Option<&PlannedOperation> {
        let mut named = self.named(label);
        named.next().filter(|_| named.next().is_none()).map(|operation| &**operation)
    }

    /// What the operations with this label answer; `None` if unknown or if they differ.
    pub(crate) fn answer_of(&self, label: &str) -> Option<Answer> {
        if let Some((list, index)) = label.strip_suffix(']').and_then(|label| label.split_once('[')) {
            return self.item_of(list, index.parse().ok()?);
        }
        let mut answers = self.named(label).map(|operation| operation.answer());
        let first = answers.next()??;
        answers.all(|other| other == Some(first)).then_some(first)
    }

    /// The kind of an item in the list that an operation returns.
    fn item_of(&self, label: &str, index: usize) -> Option<Answer> {
        let mut named = self.named(label).peekable();
        if named.peek().is_some() && named.all(|operation| items::lists_names(&operation.verb)) {
            return Some(Answer::Name);
        }
        let mut parts = self.named(label);
        if let Some(first) = parts.next()
            && let Some(answer) = items::of_part(&first.verb, index)
        {
            return parts.all(|other| items::of_part(&other.verb, index) == Some(answer)).then_some(answer);
        }
        *self.queued_for(label)?.get(index)?
    }

    /// The most items in the reply to operations with this label; `None` if it is unknown for one of them.
    pub(crate) fn items_of(&self, label: &str) -> Option<usize> {
        if let Some(queued) = self.queued_for(label) {
            return Some(queued.len());
        }
        let answered = self.named(label).map(|operation| items::answered(&operation.verb));
        answered.collect::<Option<Vec<_>>>()?.into_iter().max()
    }

    /// How many items every reply to operations with this label has; `None` if that may differ.
    pub(crate) fn length_of(&self, label: &str) -> Option<usize> {
        let mut lengths = self.named(label).map(|operation| items::length(&operation.verb));
        let first = lengths.next()??;
        lengths.all(|other| other == Some(first)).then_some(first)
    }

    /// The kinds of replies in an `EXEC`; `None` if the queued commands depend on a condition.
    fn queued_for(&self, label: &str) -> Option<Vec<Option<Answer>>> {
        let mut execs = self.instructions.iter().enumerate().filter(|(_, instruction)| {
            matches!(instruction, Instruction::Operate(operation) if operation.label == label)
        });
        let (end, Instruction::Operate(exec)) = execs.next()? else { return None };
        let is = |operation: &PlannedOperation, name: &str| matches!(&operation.verb, PlannedVerb::Redis(words) if items::is_word(&words[0], name));
        if execs.next().is_some() || !is(exec, "EXEC") {
            return None;
        }
        let mut queued = Vec::new();
        for instruction in self.instructions[..end].iter().rev() {
            match instruction {
                Instruction::Operate(operation) if is(operation, "MULTI") => {
                    queued.reverse();
                    return Some(queued);
                }
                Instruction::Operate(operation) if operation.queued => {
                    queued.push(Answer::of(&operation.verb));
                }
                Instruction::Operate(_) | Instruction::Believe { .. } | Instruction::Count { .. } => {}
                _ => return None,
            }
        }
        None
    }

    /// The most times that a move with this label is made; `None` if it is repeated or unknown.
    pub(crate) fn moves_of(&self, label: &str) -> Option<usize> {
        let is_it = |instruction: &Instruction| matches!(instruction, Instruction::Operate(operation) if operation.label == label);
        let repeats = self.outside || self.named(label).any(|operation| operation.until.is_some());
        self.at_most(is_it).filter(|_| !repeats)
    }

    /// The columns of the rows that the operations with this label answer; `None` if unknown or if they differ.
    pub(crate) fn columns_of(&self, label: &str) -> Option<Vec<String>> {
        let mut answers = self.named(label).map(|operation| {
            let PlannedVerb::Call(call) = &operation.verb else { return None };
            let text: String = call.operands("TEXT").map(Template::pattern).collect();
            sql::selected(&text)
        });
        let first = answers.next()??;
        answers.all(|other| other.as_ref() == Some(&first)).then_some(first)
    }

    /// How many times the program increments a counter at most; `None` if it does so in a repetition
    /// without a bound that is written out.
    pub(crate) fn counts(&self, counter: &str) -> Option<usize> {
        self.at_most(
            |instruction| matches!(instruction, Instruction::Count { counter: other } if other == counter),
        )
    }

    /// The most such instructions that are carried out; `None` if one of them is in a repetition without a bound that is
    /// written out.
    pub(crate) fn at_most(&self, such: impl Fn(&Instruction) -> bool) -> Option<usize> {
        let places = self.instructions.iter().enumerate().filter(|(_, instruction)| such(instruction));
        places.map(|(at, _)| self.rounds_around(at)).sum()
    }

    /// How often the repetitions around an instruction carry it out at most.
    pub(crate) fn rounds_around(&self, at: usize) -> Option<usize> {
        let backward = self.instructions.iter().skip(at).filter_map(|instruction| match instruction {
            Instruction::Jump { to } if *to <= at => Some(*to),
            _ => None,
        });
        let mut rounds = backward.map(|to| match self.instructions.get(to.checked_sub(1)?)? {
            Instruction::RepeatBegin { bound } if bound.is_literal() => bound.to_string().trim().parse().ok(),
            _ => None,
        });
        rounds.try_fold(1_usize, |product, rounds: Option<usize>| product.checked_mul(rounds?))
    }

    /// The SQL statement with this label; `None` if there is none, or several, or if a `let` sets the same name.
    pub(crate) fn statement_of(&self, label: &str) -> Option<String> {
        let mut texts = self.named(label).map(|operation| {
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

    /// The finding about a claim that an operation's answer is nil, if the operation always answers. In claims an error
    /// is its code.
    pub(crate) fn nil_lint(&self, label: &str, name: &str) -> Option<Finding> {
        Answer::nil_lint(&self.only_named(label)?.verb, name)
    }

    /// Whether an operation with this label allows the error code.
    pub(crate) fn allows(&self, label: &str, code: &str) -> bool {
        self.named(label).any(|operation| operation.allows(code))
    }

    /// Whether all operations with this label are this Redis command.
    pub(crate) fn only_sends(&self, label: &str, command: &str) -> bool {
        let mut named = self.named(label).peekable();
        let is_it = |verb: &PlannedVerb| match verb {
            PlannedVerb::Redis(words) => words[0].pattern().eq_ignore_ascii_case(command),
            _ => false,
        };
        named.peek().is_some() && named.all(|operation| is_it(&operation.verb))
    }

    /// Whether all operations with this label are waits.
    pub(crate) fn only_waits(&self, label: &str) -> bool {
        let mut named = self.named(label).peekable();
        named.peek().is_some() && named.all(|operation| matches!(operation.verb, PlannedVerb::Wait(_)))
    }

    /// The locks that the operation with this label releases, as far as their names are known before it runs.
    pub fn released_by(&self, label: &str) -> Vec<String> {
        let found = self.named(label).find(|operation| !operation.releases.is_empty());
        let releases = found.iter().flat_map(|operation| &operation.releases);
        releases.filter(|lock| lock.is_literal()).map(ToString::to_string).collect()
    }
}

/// Names that every program may use: its identity (`self`, `client`, `index` in its group from 1), its owner token for
/// the next acquisition (`token`), the last reply (`reply`) or its error code (`error`), and the time on its own clock
/// (`now`, milliseconds since the lesson began).
pub const BUILTINS: [&str; 7] = ["self", "client", "index", "token", "reply", "error", "now"];
