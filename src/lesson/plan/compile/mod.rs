//! Compiles steps to instructions: flattens recipes and repetitions, checks names, compiles templates.

mod codes;
mod errors;
mod expressions;
mod names_in_use;
mod notifications;
mod operands;
mod operations;
mod redis_commands;
mod repeat;
mod replies;
mod statements;
mod unlocks;
mod uses;
mod variables;
mod verbs;

use std::{
    cell::RefCell,
    collections::{BTreeSet, HashMap},
};

use indexmap::IndexMap;

pub(crate) use operands::wants_seconds;
pub(crate) use redis_commands::slots_lint;

use super::{
    super::{
        LabKind,
        error::{Mistake, MistakeSpan, Mistakes, Path, finding},
        expr::Template,
        kata::Hole,
        model::{Params, Recipes},
        step::{Operation, Step},
    },
    constants::{Constants, values},
    lints::required,
    names::{self, Named},
    program::{BUILTINS, Instruction, Program},
    releases,
};
use crate::text::both;

/// The largest number of instructions in a program. Recipes that use recipes multiply.
const MOST_INSTRUCTIONS: usize = 5_000;

pub(crate) struct Compiler<'a> {
    pub programs: &'a IndexMap<String, Vec<Step>>,
    /// The place of a program: in the variant or in the lesson.
    pub program_path: &'a dyn Fn(&str) -> Path,
    pub replace: &'a IndexMap<String, Operation>,
    pub replace_path: Path,
    pub scripts: &'a IndexMap<String, String>,
    pub recipes: &'a Recipes,
    pub params: &'a Params,
    /// The place of a parameter's value.
    pub param_path: &'a dyn Fn(&str) -> Path,
    /// The locks for which the lesson gives a number of holders.
    pub counted: &'a [String],
    /// The programs that a learner writes.
    pub holes: Option<&'a IndexMap<String, Hole>>,
    pub lab: LabKind,
    /// See [`Program::reads_lost`].
    pub reads_lost: bool,
    /// The programs that have been used so far.
    pub used: RefCell<BTreeSet<String>>,
    /// Whether the compiled steps are unused, so that the values of their parameters are not known.
    pub unused: bool,
}

struct Draft<'a> {
    compiler: &'a Compiler<'a>,
    program: Program,
    /// The name under which `replace` knows the steps being compiled.
    name: String,
    known: BTreeSet<String>,
    constants: Constants,
    /// The parameters in the client's `with`.
    extra: Params,
    in_recipe: bool,
    depth: usize,
    /// The programs and recipes around the steps being compiled.
    using: Vec<String>,
    /// The labels of the steps so far on this path, to detect a second operation with the same label. Other programs
    /// and recipes have labels of their own.
    labelled: BTreeSet<String>,
    /// The subjects of the `take` operations, with their paths.
    takes: Vec<(Vec<Template>, Path)>,
    /// Repetitions whose condition nothing in them changes: the index of their end, the path of the condition, and
    /// whether the program sets one of its names before.
    endless: Vec<(usize, Path, bool)>,
    /// The channels that the program subscribes to; `None` stands for any channel.
    listens_to: Vec<Option<String>>,
    /// The znodes on which the program leaves a watch.
    watches: Vec<Template>,
    /// The durations so far, with their paths.
    durations: Vec<(String, Path)>,
    /// Whether the steps so far have opened a Redis transaction.
    in_multi: bool,
    /// The comparisons so far, with their paths.
    compared: Vec<(String, Path)>,
    /// The operations that are tried until they have no answer.
    emptied: BTreeSet<String>,
    /// The names that a condition around the steps being compiled requires to be `none`.
    none_here: BTreeSet<String>,
    /// The path of an expression that uses the number of a sequential znode.
    asks_suffix: Option<Path>,
    /// The error codes that conditions compare with, with their paths, and the operation right before if that does not
    /// allow the error. An empty code stands for any, in an `until`.
    asked_errors: Vec<(String, Path, Option<String>)>,
    /// For each belief: the index of its instruction, the lock's name as far as it is known, and the parameters that
    /// the name depends on.
    locks: Vec<(usize, String, BTreeSet<String>)>,
}

/// How often a program with mistakes is compiled to find further ones.
const MOST_ATTEMPTS: usize = 20;

impl Compiler<'_> {
    /// Compiles a program of the lesson. `extra` are the parameters in a client's `with`.
    pub(crate) fn compile(
        &self,
        (name, named_at): (&str, &Path),
        extra: &Params,
    ) -> Result<Program, Mistakes> {
        self.used.borrow_mut().insert(name.to_owned());
        let steps = self.programs.get(name).ok_or_else(|| {
            let known = self.programs.keys().map(String::as_str);
            let mistake = Mistake::unknown(named_at, both!("program", "程序"), name, known);
            if !self.recipes.programs.contains_key(name) {
                return mistake;
            }
            mistake.help(both!(
                "`{name}` is a recipe: write a program with the step `- use: {name}`",
                "`{name}` 是配方：请写一个程序，在里面用 `- use: {name}`"
            ))
        })?;
        let path = &(self.program_path)(name);
        let (mut steps, mut found, mut given) = (steps.clone(), Mistakes::default(), BTreeSet::new());
        for _ in 0..MOST_ATTEMPTS {
            let (mistake, at) = match self.attempt(name, (&steps, path), extra, &given) {
                Ok(program) => return found.or(program),
                Err(failed) => failed,
            };
            found.extend(mistake);
            let Some(step) = at.and_then(|n| steps.get_mut(n)) else { break };
            // To find further mistakes, the step is left out, and what it gives a value has one.
            let wrong = std::mem::replace(step, Step::Let { values: IndexMap::new() });
            let Some(names) = self.names_of(&[wrong]) else { break };
            given.extend(names);
        }
        Err(found)
    }

    /// The names to which steps give values; `None` if they use what does not exist.
    fn names_of(&self, steps: &[Step]) -> Option<BTreeSet<String>> {
        let (mut names, mut used, mut left) = (BTreeSet::new(), BTreeSet::new(), vec![steps]);
        while let Some(steps) = left.pop() {
            for step in Step::each(steps) {
                match step {
                    Step::Operation { label, .. } => names.extend([label.clone()]),
                    Step::Let { values } => names.extend(values.keys().cloned()),
                    Step::Use { program, .. } if used.insert(program) => {
                        let recipe = || self.recipes.programs.get(program).map(|recipe| &recipe.steps);
                        left.push(self.programs.get(program).or_else(recipe)?);
                    }
                    _ => {}
                }
            }
        }
        Some(names)
    }

    /// Compiles the steps up to the first mistake, which is returned with the index of its step.
    fn attempt(
        &self,
        name: &str,
        (steps, path): (&[Step], &Path),
        extra: &Params,
        more: &BTreeSet<String>,
    ) -> Result<Program, (Mistake, Option<usize>)> {
        let mut known: BTreeSet<String> = BUILTINS.into_iter().map(str::to_owned).collect();
        known.extend(more.iter().cloned());
        known.extend(self.params.keys().cloned());
        known.extend(extra.keys().cloned());
        let mut given = values(self.params);
        given.extend(values(extra));
        let mut draft = self.draft(name, known, given);
        draft.extra.clone_from(extra);
        draft.check_stop(steps, path);
        for (n, step) in steps.iter().enumerate() {
            draft.step(step, &path.index(n)).map_err(|mistake| (mistake, Some(n)))?;
        }
        draft.constants.verify().map_err(|mistake| (mistake, None))?;
        draft.check_takes();
        draft.name_locks();
        draft.program.instructions.push(Instruction::Stop);
        draft.check_endless();
        draft.check_unlocks();
        draft.check_asked_errors();
        draft.check_compared();
        draft.check_durations();
        draft.check_flags();
        draft.check_stream_ids();
        draft.check_znodes();
        draft.check_compared_znodes();
        draft.check_numbered();
        releases::mark(&mut draft.program.instructions, self.counted);
        Ok(draft.program)
    }

    fn draft(
        &self,
        name: &str,
        known: BTreeSet<String>,
        given: HashMap<String, minijinja::Value>,
    ) -> Draft<'_> {
        Draft {
            compiler: self,
            program: Program { reads_lost: self.reads_lost, ..Program::default() },
            name: name.to_owned(),
            known,
            constants: Constants::new(given),
            extra: Params::new(),
            in_recipe: false,
            depth: 0,
            using: vec![name.to_owned()],
            labelled: BTreeSet::new(),
            takes: Vec::new(),
            endless: Vec::new(),
            listens_to: Vec::new(),
            watches: Vec::new(),
            durations: Vec::new(),
            in_multi: false,
            compared: Vec::new(),
            emptied: BTreeSet::new(),
            none_here: BTreeSet::new(),
            asks_suffix: None,
            asked_errors: Vec::new(),
            locks: Vec::new(),
        }
    }

    /// Checks unused steps, for which only the names of the parameters are known.
    pub(crate) fn check_unused(
        &self,
        name: &str,
        (steps, path): (&[Step], &Path),
        params: impl Iterator<Item = String>,
    ) -> Result<(), Mistake> {
        let known = BUILTINS.into_iter().map(str::to_owned).chain(params).collect();
        self.draft(name, known, HashMap::new()).steps(steps, path)
    }
}

/// The names that a condition requires to be `none`.
fn empty_by(condition: &str) -> Vec<String> {
    let name = |part: &str| {
        let name = part.strip_suffix(" is none").or_else(|| part.strip_suffix(" == none"))?.trim();
        (name != "reply" && name != "error" && name.chars().all(|c| c.is_alphanumeric() || c == '_'))
            .then(|| name.to_owned())
    };
    required(condition).into_iter().filter_map(name).collect()
}

impl Draft<'_> {
    fn here(&self) -> usize {
        self.program.instructions.len()
    }

    /// Replaces the names of locks by their values if no statement of the program changes these.
    fn name_locks(&mut self) {
        for (at, name, from) in std::mem::take(&mut self.locks) {
            if let Instruction::Believe { lock, .. } = &mut self.program.instructions[at]
                && self.constants.stay(&from)
            {
                *lock = Template::literal(name);
            }
        }
        let names = self.program.instructions.iter().filter_map(|instruction| match instruction {
            Instruction::Believe { lock, .. } => Some(lock.pattern()),
            _ => None,
        });
        self.program.locks = names.collect();
    }

    fn report(&mut self, mistake: Mistake) {
        self.program.findings.push(mistake);
    }

    fn push(&mut self, instruction: Instruction) {
        self.program.instructions.push(instruction);
    }

    fn steps(&mut self, steps: &[Step], path: &Path) -> Result<(), Mistake> {
        self.check_stop(steps, path);
        steps.iter().enumerate().try_for_each(|(n, step)| self.step(step, &path.index(n)))
    }

    fn check_stop(&mut self, steps: &[Step], path: &Path) {
        let ends = steps.iter().position(|step| matches!(step, Step::Stop));
        if let Some(n) = ends.map(|n| n + 1).filter(|n| *n < steps.len() && !self.in_recipe) {
            self.report(path.index(n).mistake(finding!(
                "nothing comes here: the program has stopped",
                "执行不到这里：程序已经停止",
                "leave `stop` out, or write it into a `then` or an `else`",
                "请去掉 `stop`，或者把它写进 `then` 或 `else`"
            )));
        }
    }

    fn step(&mut self, step: &Step, path: &Path) -> Result<(), Mistake> {
        if self.here() > MOST_INSTRUCTIONS {
            let message = both!(
                "a program may have at most {MOST_INSTRUCTIONS} steps, those that it uses included",
                "一个程序连同它用到的程序，最多有 {MOST_INSTRUCTIONS} 步"
            );
            return Err(Mistake::new(path, message)
                .help(both!("use fewer recipes, or `repeat`", "请少用一些配方，或者改用 `repeat`")));
        }
        match step {
            Step::Operation { label, operation } => {
                self.check_label_is_new(label, path)?;
                self.operation(label, operation, path)
            }
            Step::Believe { lock, belief } => {
                let lock = self.template(lock, path)?;
                if lock.is_literal() && lock.to_string().contains(", ") {
                    let written = lock.to_string();
                    return Err(path.mistake(finding!(
                        "`{written}` is not the name of one lock",
                        "`{written}` 不是一把锁的名字",
                        "a mode stands beside the lock: `holds: {{ lock: book, mode: shared }}`; of several locks each has a step of its own",
                        "模式要写在锁旁边：`holds: {{ lock: book, mode: shared }}`；有多把锁时，每把各写一步"
                    )));
                }
                if let Some((name, from)) = self.constants.text(&lock) {
                    self.locks.push((self.here(), name, from));
                }
                if !self.in_recipe {
                    self.program.believes.push((self.here(), path.clone()));
                }
                self.push(Instruction::Believe { lock, belief: *belief });
                Ok(())
            }
            Step::Count { counter } => self.count(counter, &path.key("count")),
            Step::Let { values } => {
                for (name, source) in values {
                    names::check(name, Named::Value, &path.key("let").key(name))?;
                    self.lint_quoted(source, &path.key("let").key(name));
                    self.lint_comparison(source, None, &path.key("let").key(name));
                    let value = self.expr(source, &path.key("let").key(name))?;
                    self.none_here.remove(name);
                    self.known.insert(name.clone());
                    self.constants.changes(name);
                    self.locate(self.here(), path.key("let").key(name));
                    self.push(Instruction::Set { name: name.clone(), value });
                }
                Ok(())
            }
            Step::If { condition, then, otherwise } => {
                self.lint_comparison(condition, None, &path.key("if"));
                let empty = empty_by(condition);
                let condition = self.expr(condition, &path.key("if"))?;
                if condition.names().is_empty() && !self.in_recipe {
                    self.report(path.key("if").mistake(finding!(
                        "this condition is always the same",
                        "这个条件的结果总是一样",
                        "ask for a reply, such as `reply == 'OK'`, or write its steps without `if`",
                        "请用回复来判断，例如 `reply == 'OK'`；或者去掉 `if`，直接写这些步骤"
                    )));
                }
                let test = self.here();
                self.locate(test, path.key("if"));
                self.push(Instruction::Stop);
                // Only one of the branches is executed, so they may share labels.
                let before = self.labelled.clone();
                let open = self.in_multi;
                let outside = self.none_here.clone();
                self.none_here.extend(empty);
                self.steps(then, &path.key("then"))?;
                self.none_here = outside;
                let open_then = std::mem::replace(&mut self.in_multi, open);
                let after = std::mem::replace(&mut self.labelled, before);
                let skip = self.here();
                if !otherwise.is_empty() {
                    self.push(Instruction::Stop);
                }
                let to = self.here();
                self.program.instructions[test] = Instruction::JumpUnless { condition, to };
                if !otherwise.is_empty() {
                    self.steps(otherwise, &path.key("else"))?;
                    let to = self.here();
                    self.program.instructions[skip] = Instruction::Jump { to };
                }
                self.labelled.extend(after);
                self.in_multi |= open_then;
                Ok(())
            }
            Step::Repeat { steps, times, condition, at_most, number } => {
                self.repeat(steps, times.as_ref(), condition.as_deref(), *at_most, number.as_deref(), path)
            }
            Step::Use { program, with } => self.use_program(program, with, path),
            Step::Stop => {
                self.push(Instruction::Stop);
                Ok(())
            }
        }
    }

    fn count(&mut self, counter: &str, at: &Path) -> Result<(), Mistake> {
        names::check(counter, Named::Counter, at)
            .map_err(|mistake| Mistake { span: MistakeSpan::Value, ..mistake })?;
        if self.compiler.params.contains_key(counter) {
            let message = both!("`{counter}` is a parameter already", "`{counter}` 已经是参数");
            return Err(Mistake::new(at, message).help(both!(
                "name what is counted, such as `count: sold`",
                "请写被计数的事物，例如 `count: sold`"
            )));
        }
        self.program.counters.insert(counter.to_owned());
        self.push(Instruction::Count { counter: counter.to_owned() });
        Ok(())
    }

    /// Notes where the author wrote the expression of an instruction.
    fn locate(&mut self, at: usize, path: Path) {
        if !self.in_recipe {
            self.program.conditions.push((at, path));
        }
    }
}
