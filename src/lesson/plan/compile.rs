//! Compiles steps to instructions: flattens recipes and repetitions, checks names, compiles templates.

mod checks;
mod codes;
mod repeat;
mod verbs;

use std::{
    cell::RefCell,
    collections::{BTreeSet, HashMap},
    sync::Arc,
};

use indexmap::IndexMap;

pub(crate) use checks::slots_doubt;
use codes::check_codes;

use super::{
    super::{
        LabKind, PRIMARY,
        duration::{check_unit, parse_written},
        error::{Mistake, MistakeSpan, Path},
        expr::{Expr, Mentions, Template},
        kata::Hole,
        model::{Params, Recipe, Recipes},
        step::{Operation, Step, Verb},
    },
    constants::{Constants, values},
    doubts::{self, Answer},
    names::{self, Named},
    program::{BUILTINS, Instruction, PlannedOperation, PlannedVerb, Program},
    releases,
    setup::server_of,
    {doubled_unit, foreign, template},
};
use crate::{
    log::{Flock, Product},
    text::both,
};

/// The deepest nesting of `use`.
const DEEPEST: usize = 8;

/// The largest number of instructions in a program. Recipes that use recipes multiply.
const MOST_INSTRUCTIONS: usize = 5_000;

pub(crate) struct Compiler<'a> {
    pub programs: &'a IndexMap<String, Vec<Step>>,
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
    watches: Vec<String>,
    /// Whether the steps so far have opened a Redis transaction.
    in_multi: bool,
    /// The path of an expression that uses the number of a sequential znode.
    asks_suffix: Option<Path>,
    /// The error codes that conditions compare with, with their paths, and the operation right before if that does not
    /// allow the error. An empty code stands for any, in an `until`.
    asked_errors: Vec<(String, Path, Option<String>)>,
    /// For each belief: the index of its instruction, the lock's name as far as it is known, and the parameters that
    /// the name depends on.
    locks: Vec<(usize, String, BTreeSet<String>)>,
}

impl Compiler<'_> {
    /// Compiles the program of the lesson at `path`. `extra` are the parameters in a client's `with`.
    pub(crate) fn compile(
        &self,
        (name, named_at): (&str, &Path),
        path: &Path,
        extra: &Params,
    ) -> Result<Program, Mistake> {
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
        let mut known: BTreeSet<String> = BUILTINS.into_iter().map(str::to_owned).collect();
        known.extend(self.params.keys().cloned());
        known.extend(extra.keys().cloned());
        let mut given = values(self.params);
        given.extend(values(extra));
        let mut draft = self.draft(name, known, given);
        draft.steps(steps, path)?;
        draft.constants.verify()?;
        draft.check_takes();
        draft.name_locks();
        draft.program.instructions.push(Instruction::Stop);
        draft.check_endless();
        draft.check_unlocks();
        draft.check_asked_errors();
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
            in_recipe: false,
            depth: 0,
            using: vec![name.to_owned()],
            labelled: BTreeSet::new(),
            takes: Vec::new(),
            endless: Vec::new(),
            listens_to: Vec::new(),
            watches: Vec::new(),
            in_multi: false,
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

    fn push(&mut self, instruction: Instruction) {
        self.program.instructions.push(instruction);
    }

    fn expr(&mut self, source: &str, path: &Path) -> Result<Expr, Mistake> {
        let expr = Expr::parse(source).map_err(|error| Mistake::new(path, error))?;
        Mistake::unless_known(path, both!("name", "名字"), &expr.names(), self.known.iter())
            .map_err(|mistake| self.named_later(&expr.names(), mistake))?;
        self.doubt_fields(source, path);
        if ["|before(", "|by_suffix", "|suffix"].iter().any(|filter| source.contains(filter))
            && !self.in_recipe
        {
            self.asks_suffix.get_or_insert_with(|| path.clone());
        }
        Ok(expr)
    }

    /// Whether a `let` assigns another value to this label's name.
    fn is_set(&self, label: &str) -> bool {
        let sets =
            |instruction: &Instruction| matches!(instruction, Instruction::Set { name, .. } if name == label);
        self.program.instructions.iter().any(sets)
    }

    /// Reports a reply's field or column that does not exist, and arithmetic on a text.
    fn doubt_fields(&mut self, source: &str, path: &Path) {
        self.doubt_words(source, path);
        if ["].", ".what", "|length"].iter().any(|part| source.contains(part)) && !self.in_recipe {
            self.program.asked.push((source.to_owned(), path.clone()));
        }
        let doubt = doubts::field_doubt(
            source,
            |label| self.program.answer_of(label).filter(|_| !self.is_set(label)),
            |label| self.program.columns_of(label).filter(|_| !self.is_set(label)),
        );
        let beyond = || {
            doubts::items::beyond(source, |label| {
                self.program.items_of(label).filter(|_| !self.is_set(label))
            })
        };
        let of_text = || {
            doubts::arithmetic_doubt(source, |label| {
                self.program.answer_of(label).filter(|_| !self.is_set(label))
            })
        };
        if let Some((message, help)) = doubt.or_else(beyond).or_else(of_text).filter(|_| !self.in_recipe) {
            self.doubt(path, message, help);
        }
    }

    /// Reports a comparison of an answer with a value it never has. `own`: the operation whose reply the expression is
    /// about.
    fn doubt_comparison(&mut self, source: &str, own: Option<&PlannedVerb>, path: &Path) {
        let doubt = doubts::doubt(source, |name| match (name, own) {
            ("reply", Some(verb)) => Answer::of(verb),
            ("reply", None) => match self.program.instructions.last() {
                Some(Instruction::Operate(operation)) => operation.answer(),
                _ => None,
            },
            (label, _) => self.program.answer_of(label).filter(|_| !self.is_set(label)),
        });
        let doubt = doubt.or_else(|| doubts::name_doubt(source)).or_else(|| doubts::decided(source));
        let doubt = doubt.or_else(|| doubts::event_doubt(source, self.compiler.lab));
        let doubt = doubt.or_else(|| self.nil_doubt(source)).or_else(|| self.lost_doubt(source));
        for code in doubts::errors_asked(source).map(str::to_owned) {
            let before = if own.is_some() || self.in_recipe { None } else { self.never_before(&code) };
            self.asked_errors.push((code, path.clone(), before));
        }
        // An operation that is tried again until there is no error has to allow that error.
        if own.is_some() && Mentions::of(source).names("error") {
            self.asked_errors.push((String::new(), path.clone(), None));
        }
        let is_reply = |name: &str| name == "reply" || self.program.answer_of(name).is_some();
        let doubt =
            doubt.or_else(|| doubts::error_doubt(source, is_reply, self.compiler.lab.has(Product::Mariadb)));
        let of_size = doubts::size_doubt(source, self.compiler.params).filter(|_| doubt.is_none());
        if let Some((name, (message, help))) = of_size {
            return self.doubt(&(self.compiler.param_path)(name), message, help);
        }
        if let Some((message, help)) = doubt.filter(|_| !self.in_recipe) {
            self.program.doubts.push(Mistake::new(path, message).help(help));
        }
    }

    fn template(&mut self, source: &str, path: &Path) -> Result<Template, Mistake> {
        // In a cluster `{lock}` is a hash tag.
        let is_whole = source.starts_with('{') && source.ends_with('}') && !self.compiler.lab.is_cluster();
        foreign(source, path, &self.known.iter(), is_whole)?;
        let template =
            template(source, path, both!("name", "名字"), self.known.iter()).map_err(|mistake| {
                let names = Template::parse(source).map(|template| template.names()).unwrap_or_default();
                self.named_later(&names, mistake)
            })?;
        for source in template.sources() {
            self.doubt_fields(&source, path);
        }
        Ok(template)
    }

    fn duration(&mut self, source: &str, path: &Path) -> Result<Template, Mistake> {
        let template = self.template(source, path)?;
        if template.names().is_empty() {
            parse_written(source).map_err(|error| {
                let mistake = Mistake::new(path, error);
                let is_name = self.known.contains(source) || self.program.labels.contains(source);
                if is_name {
                    mistake.help(both!(
                        "write `\"${{{source}}}\"` for its value",
                        "取它的值请写 `\"${{{source}}}\"`"
                    ))
                } else {
                    mistake
                }
            })?;
        }
        doubled_unit(source, self.compiler.params, path)?;
        self.doubt_duration(&template, path);
        let name = source.strip_prefix("${").and_then(|rest| rest.strip_suffix('}')).unwrap_or_default();
        // A small number without a unit would be a few milliseconds, which the author hardly meant.
        if let Some(super::super::model::Param::Number(few @ 1..=30)) = self.compiler.params.get(name.trim())
            && !self.in_recipe
        {
            self.doubt(
                path,
                both!("`{source}` is {few} ms here", "`{source}` 在这里只有 {few} 毫秒"),
                both!(
                    "give the parameter a unit: `{name}: {few}s`, or `{name}: {few}ms`",
                    "请给参数带上单位：`{name}: {few}s` 或 `{name}: {few}ms`"
                ),
            );
        }
        Ok(template)
    }

    fn templates(&mut self, sources: &[String], path: &Path) -> Result<Vec<Template>, Mistake> {
        sources.iter().map(|source| self.template(source, path)).collect()
    }

    fn steps(&mut self, steps: &[Step], path: &Path) -> Result<(), Mistake> {
        let ends = steps.iter().position(|step| matches!(step, Step::Stop));
        if let Some(n) = ends.map(|n| n + 1).filter(|n| *n < steps.len() && !self.in_recipe) {
            self.doubt(
                &path.index(n),
                both!("nothing comes here: the program has stopped", "执行不到这里：程序已经停止"),
                both!(
                    "leave `stop` out, or write it into a `then` or an `else`",
                    "请去掉 `stop`，或者把它写进 `then` 或 `else`"
                ),
            );
        }
        steps.iter().enumerate().try_for_each(|(n, step)| self.step(step, &path.index(n)))
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
                if let Some((name, from)) = self.constants.text(&lock) {
                    self.locks.push((self.here(), name, from));
                }
                if !self.in_recipe {
                    self.program.believes.push((self.here(), path.clone()));
                }
                self.push(Instruction::Believe { lock, belief: *belief });
                Ok(())
            }
            Step::Count { counter } => {
                let at = path.key("count");
                names::check(counter, Named::Counter, &at)
                    .map_err(|mistake| Mistake { span: MistakeSpan::Value, ..mistake })?;
                if self.compiler.params.contains_key(counter) {
                    let message = both!("`{counter}` is a parameter already", "`{counter}` 已经是参数");
                    return Err(Mistake::new(&at, message).help(both!(
                        "name what is counted, such as `count: sold`",
                        "请写被计数的事物，例如 `count: sold`"
                    )));
                }
                self.program.counters.insert(counter.clone());
                self.push(Instruction::Count { counter: counter.clone() });
                Ok(())
            }
            Step::Let { values } => {
                for (name, source) in values {
                    names::check(name, Named::Value, &path.key("let").key(name))?;
                    self.doubt_quoted(source, &path.key("let").key(name));
                    let value = self.expr(source, &path.key("let").key(name))?;
                    self.known.insert(name.clone());
                    self.constants.changes(name);
                    self.locate(self.here(), path.key("let").key(name));
                    self.push(Instruction::Set { name: name.clone(), value });
                }
                Ok(())
            }
            Step::If { condition, then, otherwise } => {
                self.doubt_comparison(condition, None, &path.key("if"));
                let condition = self.expr(condition, &path.key("if"))?;
                if condition.names().is_empty() && !self.in_recipe {
                    self.doubt(
                        &path.key("if"),
                        both!("this condition is always the same", "这个条件的结果总是一样"),
                        both!(
                            "ask for a reply, such as `reply == 'OK'`, or write its steps without `if`",
                            "请用回复来判断，例如 `reply == 'OK'`；或者去掉 `if`，直接写这些步骤"
                        ),
                    );
                }
                let test = self.here();
                self.locate(test, path.key("if"));
                self.push(Instruction::Stop);
                // Only one of the branches is executed, so they may share labels.
                let before = self.labelled.clone();
                let open = self.in_multi;
                self.steps(then, &path.key("then"))?;
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

    /// Notes where the author wrote the expression of an instruction.
    fn locate(&mut self, at: usize, path: Path) {
        if !self.in_recipe {
            self.program.conditions.push((at, path));
        }
    }

    fn use_program(
        &mut self,
        program: &str,
        with: &IndexMap<String, String>,
        path: &Path,
    ) -> Result<(), Mistake> {
        if self.depth >= DEEPEST {
            let message = both!(
                "`use: {program}` nests more than {DEEPEST} deep",
                "`use: {program}` 嵌套超过 {DEEPEST} 层"
            );
            return Err(
                Mistake::new(path, message).help(both!("a program cannot use itself", "程序不能使用它自己"))
            );
        }
        let compiler = self.compiler;
        if self.using.iter().any(|outer| outer == program) {
            let message = both!("`{program}` uses itself", "`{program}` 使用了它自己");
            return Err(Mistake::new(&path.key("use"), message).help(both!(
                "a program cannot use itself: `repeat` makes steps again",
                "程序不能使用它自己：要重复请用 `repeat`"
            )));
        }
        compiler.used.borrow_mut().insert(program.to_owned());
        if let Some(steps) = compiler.programs.get(program)
            && compiler.holes.is_some_and(|holes| holes.contains_key(program))
        {
            return self.fill_hole(program, steps, with, path);
        }
        let values: Vec<(String, Template)> = with
            .iter()
            .map(|(name, source)| Ok((name.clone(), self.template(source, &path.key("with").key(name))?)))
            .collect::<Result<_, Mistake>>()?;
        if let Some((name, source)) = with.iter().find(|(_, source)| is_negative_duration(source)) {
            let message = both!("`{source}`: time cannot run backward", "`{source}`：时间不能倒流");
            return Err(Mistake::new(&path.key("with").key(name), message)
                .help(both!("write it like 3s or 200ms", "请写成 3s 或 200ms 这样")));
        }
        let names: BTreeSet<String> = with.keys().cloned().collect();
        for name in with.keys() {
            names::check(name, Named::Value, &path.key("with").key(name))?;
        }
        let outside = self.constants.enter(&values, !compiler.programs.contains_key(program));
        let at = (!self.in_recipe).then(|| path.clone());
        self.push(Instruction::Enter { program: program.to_owned(), with: values, path: at });
        self.depth += 1;
        self.using.push(program.to_owned());
        let before = (self.known.clone(), self.name.clone(), self.in_recipe);
        let labelled = std::mem::take(&mut self.labelled);
        if let Some(steps) = compiler.programs.get(program) {
            self.known.extend(names);
            program.clone_into(&mut self.name);
            self.steps(steps, &Path::root().key("programs").key(program))?;
        } else if let Some(recipe) = compiler.recipes.programs.get(program) {
            let wanted: BTreeSet<String> = recipe.params.iter().cloned().collect();
            if let Some(extra) = names.difference(&wanted).next() {
                let known = recipe.params.iter().map(String::as_str);
                return Err(Mistake::unknown(
                    &path.key("with").key(extra),
                    both!("parameter", "参数"),
                    extra,
                    known,
                ));
            }
            if let Some(missing) = wanted.difference(&names).next() {
                let message =
                    both!("the recipe `{program}` needs `{missing}`", "配方 `{program}` 还需要 `{missing}`");
                return Err(Mistake::new(path, message).help(format!("with: {{ {missing}: … }}")));
            }
            self.doubt_units(with, path);
            self.known = BUILTINS.into_iter().map(str::to_owned).chain(wanted).collect();
            program.clone_into(&mut self.name);
            if compiler.recipes.beside.contains(program) {
                self.in_recipe = false;
                self.steps(&recipe.steps, &Recipe::path(program))?;
            } else {
                self.in_recipe = true;
                let doubts = self.program.doubts.len();
                self.steps(&recipe.steps, path).map_err(|mistake| at_given(mistake, with, path))?;
                for doubt in &mut self.program.doubts[doubts..] {
                    *doubt = at_given(doubt.clone(), with, path);
                }
            }
        } else {
            let known = compiler.programs.keys().chain(compiler.recipes.programs.keys());
            return Err(Mistake::unknown(
                &path.key("use"),
                both!("program or recipe", "程序或配方"),
                program,
                known.map(String::as_str),
            ));
        }
        let labels = self.program.labels.clone();
        (self.known, self.name, self.in_recipe) = before;
        self.constants.leave(outside);
        self.labelled = labelled;
        self.known.extend(labels);
        self.depth -= 1;
        self.using.pop();
        self.push(Instruction::Leave);
        Ok(())
    }

    /// Doubts durations of a recipe that have no unit.
    fn doubt_units(&mut self, with: &IndexMap<String, String>, path: &Path) {
        for (name, source) in with {
            if ["lease", "every", "retry", "drift", "work", "patience", "within"].contains(&name.as_str())
                    && !source.starts_with('-') // a negative duration means: no limit
                    && let Err(why) = check_unit(source)
            {
                self.program.doubts.push(Mistake::new(&path.key("with").key(name), why));
            }
        }
    }

    /// Compiles the learner's steps as if they were written here, without a frame: the names that they set are the
    /// answer.
    fn fill_hole(
        &mut self,
        program: &str,
        steps: &[Step],
        with: &IndexMap<String, String>,
        path: &Path,
    ) -> Result<(), Mistake> {
        if let Some(name) = with.keys().next() {
            let message = both!(
                "`{program}` is what the learner writes, and is given nothing",
                "`{program}` 由学员来写，不能传参数"
            );
            return Err(Mistake::new(&path.key("with").key(name), message).help(both!(
                "leave `with` out: it reads the names that are known here",
                "请去掉 `with`：它可以直接用这里已有的名字"
            )));
        }
        let reads = self.compiler.holes.and_then(|holes| holes.get(program)).map(|hole| &hole.reads);
        let mut reads = reads.into_iter().flatten().enumerate();
        if let Some((n, name)) = reads.find(|(_, name)| !self.known.contains(*name)) {
            let at = Path::root().key("kata").key("programs").key(program).key("reads").index(n);
            let known = self.known.iter().map(String::as_str);
            return Err(Mistake::unknown(&at, both!("name", "名字"), name, known));
        }
        let name = std::mem::replace(&mut self.name, program.to_owned());
        let labelled = std::mem::take(&mut self.labelled);
        self.depth += 1;
        self.steps(steps, &Path::root().key("programs").key(program))?;
        self.depth -= 1;
        (self.name, self.labelled) = (name, labelled);
        Ok(())
    }

    /// Refuses a second operation with the same label, because stories and claims could not tell them apart. `work` and
    /// `wait` are not labels that an author chose.
    fn check_label_is_new(&mut self, label: &str, path: &Path) -> Result<(), Mistake> {
        if matches!(label, "work" | "wait") || self.labelled.insert(label.to_owned()) {
            return Ok(());
        }
        let message = both!(
            "two operations of this program are called `{label}`",
            "这个程序里有两个操作都叫 `{label}`"
        );
        Err(Mistake::new(&path.key(label), message).help(both!(
            "give each a label of its own; only one of `then` and `else` happens, so they may share it",
            "请给每个操作各自的名字；`then` 和 `else` 只会执行一个，可以同名"
        )))
    }

    fn operation(&mut self, label: &str, operation: &Operation, path: &Path) -> Result<(), Mistake> {
        if super::super::step::KEYWORDS.contains(&label) {
            return Err(Mistake::new(
                path,
                both!(
                    "`{label}` is a word of the grammar and cannot be a label",
                    "`{label}` 是语法用词，不能作操作名"
                ),
            ));
        }
        names::check(label, Named::Operation, &path.key(label))?;
        let replaced = format!("{}.{label}", self.name);
        let (operation, path) = match self.compiler.replace.get(&replaced) {
            Some(other) => (other, self.compiler.replace_path.key(&replaced)),
            None => (operation, path.key(label)),
        };
        // An operation's own reply may be used by its `until`.
        self.known.insert(label.to_owned());
        self.constants.changes(label);
        let verb = self.verb(&operation.verb, &path)?;
        let named = operation.on.as_ref().filter(|_| !self.compiler.unused);
        let named = named.map(|on| self.server(on, &path.key("on"))).transpose()?;
        let allow = self.allowed(&operation.allow, &path.key("allow"))?;
        let product = match &operation.verb {
            Verb::Redis(_) | Verb::Script { .. } => Some(Product::Redis),
            Verb::Call(product, _) => Some(*product),
            Verb::Local(_) | Verb::Flock(_) | Verb::Wait(_) | Verb::Take(_) => None,
        };
        let on = match product {
            Some(product) => server_of(product, named.as_deref(), self.compiler.lab, &path)?,
            None => named,
        };
        // A program that allows `ERR` may want to show a malformed command.
        if let PlannedVerb::Redis(words) = &verb
            && !allow.iter().any(|code| code == "ERR")
        {
            self.constants.check_form(words, &path.key("redis"))?;
        }
        check_codes(&operation.allow, &verb, &path.key("allow"))?;
        let until = operation.until.as_ref().map(|s| self.expr(s, &path.key("until"))).transpose()?;
        if let Some(source) = &operation.until {
            self.doubt_comparison(source, Some(&verb), &path.key("until"));
            self.doubt_until(label, until.as_ref(), &path.key("until"));
            let fails = matches!(&verb, PlannedVerb::Flock { call: Flock::Try, .. });
            if fails && !allow.iter().any(|code| code == "EWOULDBLOCK") {
                self.doubt(
                    &path.key("flock"),
                    both!(
                        "`flock -n` fails where somebody has locked the file, and the run ends before `until` is asked",
                        "文件被锁时 `flock -n` 会失败，还没判断 `until` 运行就结束了"
                    ),
                    both!("let it `allow: [EWOULDBLOCK]`", "请写上 `allow: [EWOULDBLOCK]`"),
                );
            }
        }
        let every = operation.every.as_ref().map(|s| self.duration(s, &path.key("every"))).transpose()?;
        if operation.every.as_ref().is_some_and(|every| parse_written(every) == Ok(0)) {
            let message = both!("asking again after no time never ends", "间隔为零，会永远重试下去");
            let help = both!(
                "write how long it waits before it asks again: every: 100ms",
                "请写每次重试前等多久：every: 100ms"
            );
            return Err(Mistake::new(&path.key("every"), message).help(help));
        }
        self.doubt_slots(&verb, &allow, &path);
        self.doubt_list(&verb, &path);
        let queued = self.queues(&verb, &path);
        self.program.labels.insert(label.to_owned());
        let operation = PlannedOperation {
            label: label.to_owned(),
            verb,
            on,
            until,
            every,
            allow,
            releases: Vec::new(),
            queued,
            path: (!self.in_recipe).then_some(path),
        };
        self.push(Instruction::Operate(Arc::new(operation)));
        Ok(())
    }

    /// The server of an operation: a server of the lab, or `primary` with Sentinels.
    fn server(&mut self, on: &str, path: &Path) -> Result<String, Mistake> {
        let lab = self.compiler.lab;
        let on = self.settled_text(on, path)?;
        if let (true, [first, second, third, ..]) =
            (lab.part_of(&on).is_ensemble(), lab.part_of(&on).servers())
        {
            let message = both!(
                "an operation on an ensemble goes to the server that its client is connected to, not to `{on}`",
                "集群上的操作发给客户端所连的服务器，不能指定 `{on}`"
            );
            return Err(Mistake::new(path, message).help(both!(
                "leave `on` out: the first client is connected to {first}, the second to {second}, the third to {third}, and \
                 so on",
                "去掉 `on`：第一个客户端连 {first}，第二个连 {second}，第三个连 {third}，依次类推"
            )));
        }
        match lab.server_named(&on) {
            Some(server) if lab.servers().contains(&server) => return Ok(server.to_owned()),
            None if on == PRIMARY && lab.has_sentinels() => return Ok(on),
            _ => {}
        }
        let primary = Some(PRIMARY).filter(|_| !lab.sentinels().is_empty());
        let known = lab.servers().iter().copied().chain(primary);
        Err(Mistake::unknown(path, both!("server", "服务器"), &on, known))
    }

    /// The error codes that an operation allows. A parameter may contain several codes, or none.
    fn allowed(&mut self, codes: &[String], path: &Path) -> Result<Vec<String>, Mistake> {
        let mut allowed = Vec::new();
        for code in codes.iter().filter(|code| !(self.compiler.unused && code.contains("${"))) {
            let text = self.settled_text(code, path)?;
            allowed.extend(text.split([' ', ',']).filter(|code| !code.is_empty()).map(str::to_owned));
        }
        Ok(allowed)
    }

    /// The text of a template that may only use parameters that the program never changes.
    fn settled_text(&mut self, source: &str, path: &Path) -> Result<String, Mistake> {
        let template = self.template(source, path)?;
        self.constants.known(&template, path).ok_or_else(|| {
            let message =
                both!("what `{source}` is, is known only when it is sent", "`{source}` 的值要到发送时才知道");
            Mistake::new(path, message).help(both!(
                "write it out, or use a parameter that nothing in the program gives another value",
                "请直接写出来，或者用一个程序里不会改变的参数"
            ))
        })
    }
}

/// A mistake in a recipe, placed at the parameter whose value the message names.
fn at_given(mistake: Mistake, with: &IndexMap<String, String>, path: &Path) -> Mistake {
    let names = |value: &&String| !value.is_empty() && mistake.message.en.contains(&format!("`{value}"));
    match with.iter().find(|(_, value)| names(value)) {
        Some((name, _)) => Mistake { path: path.key("with").key(name), ..mistake },
        None => mistake,
    }
}

/// Whether the text is a negative duration such as `-200ms`; a negative number without a unit may be something else.
fn is_negative_duration(source: &str) -> bool {
    source.strip_prefix('-').is_some_and(|rest| rest.parse::<i64>().is_err() && parse_written(rest).is_ok())
}
