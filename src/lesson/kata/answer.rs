//! Checks that an answer uses only what its exercise allows: the names that it sets and reads, the commands and the
//! keys.

use std::collections::BTreeSet;

use super::{Answer, Hole, Kata};
use crate::{
    lesson::{
        Loaded,
        error::{ALIKE, Mistake, Path, did_you_mean, nearest},
        expr::{Expr, Template, mentions::beginning, split_words},
        plan::{
            BUILTINS,
            names::{self, Named},
        },
        step::{Operation, Step, Verb},
    },
    log::Command,
    text::{Text, Words, both},
};

/// Labels of operations whose reply is not stored under a name.
const UNNAMED: [&str; 2] = ["wait", "work"];

/// How other languages spell `none`.
const NULLS: [&str; 7] = ["null", "nil", "Null", "NULL", "Nil", "undefined", "nothing"];

const SCRIPTS: Words = Words::new(
    "write it at the margin, `scripts: { NAME: \"return …\" }`, and call it with `{ script: NAME, keys: [KEY], args: [\"…\"] }`",
    "把脚本顶格写在 `scripts: { 名字: \"return …\" }` 里，再用 `{ script: 名字, keys: [键], args: [\"…\"] }` 调用",
);

impl Loaded {
    pub(super) fn check_answer(&self, kata: &Kata, answer: &Answer) -> Result<(), Mistake> {
        let (root, id) = (Path::root(), &self.lesson.id);
        if let Some(other) = answer.kata.as_ref().filter(|other| *other != id) {
            return Err(Mistake::new(
                &root.key("kata"),
                both!("this answers `{other}`, not `{id}`", "这是 `{other}` 的答案，不是 `{id}` 的"),
            ));
        }
        let given = kata.programs.keys().filter(|name| !answer.programs.contains_key(*name));
        let given = given.chain(kata.scripts.keys().filter(|name| !answer.scripts.contains_key(*name)));
        if let Some(missing) = given.into_iter().next() {
            let kind = if kata.scripts.contains_key(missing) { "scripts" } else { "programs" };
            let mistake = Mistake::new(&root, both!("`{missing}` is missing", "缺少 `{missing}`"));
            return Err(mistake.help(format!("{kind}: {{ {missing}: … }}")));
        }
        let fixed = self.reserved_names(kata);
        for (name, steps) in &answer.programs {
            let path = root.key("programs").key(name);
            let Some(hole) = kata.programs.get(name) else {
                let known = kata.programs.keys().map(String::as_str);
                return Err(Mistake::unknown(&path, both!("program", "程序"), name, known));
            };
            let mut checker =
                AnswerChecker { hole, answer, fixed: &fixed, steps, own: BTreeSet::new(), kata };
            checker.collect(steps);
            checker.steps(steps, &path)?;
            if let Some(missing) = hole.sets.iter().find(|name| !checker.own.contains(*name)) {
                let message = both!("`{name}` must set `{missing}`", "`{name}` 必须设置 `{missing}`");
                return Err(Mistake::new(&path, message).help(both!(
                    "as the label of an operation, `- {missing}: {{ … }}`, or with `- let: {{ {missing}: … }}`",
                    "可以作为操作名 `- {missing}: {{ … }}`，也可以写 `- let: {{ {missing}: … }}`"
                )));
            }
        }
        Ok(())
    }

    /// Names that the lesson's own programs depend on, so an answer cannot set them.
    fn reserved_names(&self, kata: &Kata) -> BTreeSet<String> {
        let mut names: BTreeSet<String> = BUILTINS.into_iter().map(str::to_owned).collect();
        names.extend(self.lesson.params.keys().cloned());
        names.extend(self.lesson.clients.values().flat_map(|client| client.with.keys().cloned()));
        let programs = self.lesson.programs.iter().filter(|(name, _)| !kata.programs.contains_key(*name));
        for (_, steps) in programs {
            set_by(steps, &mut names);
        }
        names
    }
}

fn set_by(steps: &[Step], names: &mut BTreeSet<String>) {
    for step in Step::each(steps) {
        match step {
            Step::Operation { label, .. } => drop(names.insert(label.clone())),
            Step::Let { values } => names.extend(values.keys().cloned()),
            Step::Repeat { number, .. } => names.extend(number.clone()),
            _ => {}
        }
    }
}

/// Checks one program of an answer against what its hole allows.
struct AnswerChecker<'a> {
    kata: &'a Kata,
    hole: &'a Hole,
    answer: &'a Answer,
    fixed: &'a BTreeSet<String>,
    steps: &'a [Step],
    /// The names that the program itself sets.
    own: BTreeSet<String>,
}

impl AnswerChecker<'_> {
    fn collect(&mut self, steps: &[Step]) {
        set_by(steps, &mut self.own);
    }

    fn steps(&self, steps: &[Step], path: &Path) -> Result<(), Mistake> {
        steps.iter().enumerate().try_for_each(|(n, step)| self.step(step, &path.index(n)))
    }

    fn step(&self, step: &Step, path: &Path) -> Result<(), Mistake> {
        match step {
            Step::Operation { label, operation } => {
                if !UNNAMED.contains(&label.as_str()) {
                    self.may_set(label, path)?;
                }
                self.operation(operation, &path.key(label))
            }
            Step::Let { values } => values.iter().try_for_each(|(name, source)| {
                let path = path.key("let").key(name);
                names::check(name, Named::Value, &path)?;
                self.may_set(name, &path).and_then(|()| self.expr(source, &path))
            }),
            Step::If { condition, then, otherwise } => {
                self.expr(condition, &path.key("if"))?;
                self.steps(then, &path.key("then"))?;
                self.steps(otherwise, &path.key("else"))
            }
            Step::Repeat { steps, condition, number, .. } => {
                number.iter().try_for_each(|name| self.may_set(name, &path.key("as")))?;
                condition.iter().try_for_each(|source| self.expr(source, &path.key("while")))?;
                self.steps(steps, &path.key("repeat"))
            }
            Step::Believe { .. } => Err(not_allowed(path, "holds, waits, unsure, drops")),
            Step::Count { .. } => Err(not_allowed(path, "count")),
            Step::Use { .. } => Err(not_allowed(path, "use")),
            Step::Stop => Err(not_allowed(path, "stop")),
        }
    }

    fn may_set(&self, name: &str, path: &Path) -> Result<(), Mistake> {
        if self.hole.sets.iter().any(|set| set == name) || !self.fixed.contains(name) {
            return Ok(());
        }
        Err(Mistake::new(path, both!("`{name}` is the client's own", "`{name}` 属于外围的客户端程序"))
            .help(both!("choose another name", "请换一个名字")))
    }

    fn expr(&self, source: &str, path: &Path) -> Result<(), Mistake> {
        let names = Expr::parse(source).map_err(|error| Mistake::new(path, error))?.names();
        self.names(names, path)
    }

    fn template(&self, source: &str, path: &Path) -> Result<Template, Mistake> {
        let template = Template::parse(source).map_err(|error| Mistake::new(path, error))?;
        self.names(template.names(), path)?;
        Ok(template)
    }

    fn names(&self, names: BTreeSet<String>, path: &Path) -> Result<(), Mistake> {
        let own = self.hole.reads.iter().chain(&self.hole.sets).chain(&self.own).map(String::as_str);
        let known: BTreeSet<&str> = own.filter(|name| !UNNAMED.contains(name)).chain(["reply"]).collect();
        let may = |name: &str| known.contains(name) || ["error", "range"].contains(&name);
        match names.into_iter().find(|name| !may(name)) {
            None => Ok(()),
            Some(name) if NULLS.contains(&name.as_str()) => {
                Err(Mistake::new(path, both!("unknown name `{name}`", "没有名为 `{name}` 的变量")).help(
                    both!(
                        "did you mean `none`? Write `left is none`, or `left is not none`",
                        "是不是想写 `none`？请写 `left is none` 或 `left is not none`"
                    ),
                ))
            }
            Some(name) => {
                let known: Vec<String> = known.into_iter().map(str::to_owned).collect();
                Mistake::unless_known(path, both!("name", "变量"), &[name].into(), known.iter())
            }
        }
    }

    /// Refuses a word that is sent literally but is spelled like a name that the hole reads: `token`, `{token}`,
    /// `$token`.
    fn check_no_bare_name(&self, word: &str, path: &Path) -> Result<(), Mistake> {
        let name =
            if word.contains("${") { word } else { word.trim_matches(|sign| "${}()<>".contains(sign)) };
        if !self.hole.reads.iter().any(|known| known == name) || self.is_key(word) {
            return Ok(());
        }
        Err(Mistake::new(path, both!("`{word}` is plain text here", "`{word}` 在这里只是普通文字"))
            .help(both!("write `\"${{{name}}}\"` for its value", "要用它的值，请写 `\"${{{name}}}\"`")))
    }

    fn operation(&self, operation: &Operation, path: &Path) -> Result<(), Mistake> {
        let exprs = operation.until.iter().map(|source| (source, "until"));
        exprs.into_iter().try_for_each(|(source, key)| self.expr(source, &path.key(key)))?;
        if let Some(every) = &operation.every {
            self.template(every, &path.key("every"))?;
        }
        let words = |text: &str, path: &Path| {
            let words = split_words(text).map_err(|error| Mistake::new(path, error))?;
            words.iter().try_for_each(|word| self.template(word, path).map(drop))?;
            words.iter().skip(1).try_for_each(|word| self.check_no_bare_name(word, path))?;
            Ok::<_, Mistake>(words)
        };
        match &operation.verb {
            Verb::Redis(text) => {
                let path = path.key("redis");
                let words = words(text, &path)?;
                let name = words.first().map(|name| name.to_ascii_uppercase()).unwrap_or_default();
                self.may_use(&name, &path)?;
                let channel = matches!(name.as_str(), "PUBLISH" | "SUBSCRIBE");
                let command = Command::Redis(words.clone());
                let key = if channel { words.get(1).map(String::as_str) } else { command.first_key() };
                let several = matches!(name.as_str(), "DEL" | "UNLINK" | "EXISTS" | "MGET" | "SUBSCRIBE");
                let others = words.iter().skip(2).filter(|_| several).map(String::as_str);
                key.into_iter().chain(others).try_for_each(|key| self.may_name(key, &path))
            }
            Verb::Script { name, keys, args } => {
                let path = path.key("script");
                self.may_use("script", &path)?;
                if name.contains(char::is_whitespace) {
                    let message = both!("a script is called by its name", "脚本要用名字调用");
                    return Err(Mistake::new(&path, message).help(SCRIPTS.text(&[])));
                }
                if !self.answer.scripts.contains_key(name) {
                    let known = self.answer.scripts.keys().chain(self.kata.scripts.keys());
                    let known = known.map(String::as_str);
                    return Err(Mistake::unknown(&path, both!("script", "脚本"), name, known));
                }
                args.iter().chain(keys).try_for_each(|word| self.template(word, &path).map(drop))?;
                args.iter().try_for_each(|word| self.check_no_bare_name(word, &path))?;
                keys.iter().try_for_each(|key| self.may_name(key, &path))
            }
            Verb::Call(product, text) => {
                let path = path.key(product.traits().key);
                let words = words(text, &path)?;
                self.may_use(words.first().map_or("", String::as_str), &path)?;
                let named = words.iter().filter(|word| word.starts_with('/') || word.starts_with("${"));
                named.take(1).try_for_each(|name| self.may_name(name, &path))
            }
            Verb::Wait(duration) => {
                self.may_use("wait", path).and_then(|()| self.template(duration, path).map(drop))
            }
            Verb::Take(take) => {
                let path = path.key("take");
                self.may_use("take", &path)?;
                take.from.iter().chain(&take.within).try_for_each(|text| self.template(text, &path).map(drop))
            }
            Verb::Local(_) => self.may_use("local", path),
            Verb::Flock(_) => self.may_use("flock", path),
        }
    }

    fn may_use(&self, name: &str, path: &Path) -> Result<(), Mistake> {
        if self.hole.uses.iter().any(|known| known == name) {
            return Ok(());
        }
        let known = self.hole.uses.join(", ");
        let uses = || self.hole.uses.iter().map(String::as_str);
        let mut help = both!("this exercise is done with {known}", "本练习可以用：{known}");
        if name.starts_with("EVAL") && uses().any(|known| known == "script") {
            help = SCRIPTS.text(&[]);
        } else if let Some(near) = nearest(name, uses(), ALIKE) {
            help = Text::join(&[did_you_mean(near), help], " ", "");
        }
        let message = both!("`{name}` cannot be used here", "这里不能使用 `{name}`");
        Err(Mistake::new(path, message).help(help))
    }

    fn is_key(&self, name: &str) -> bool {
        self.hole.keys.iter().any(|known| match known.strip_suffix('*') {
            Some(begin) => name.starts_with(begin),
            None => known == name,
        })
    }

    /// Whether the key is `${name}`, and the program sets that name only to values that begin with an allowed key, to
    /// `none` or to an empty text.
    fn is_set_to_keys(&self, key: &str) -> bool {
        let name = key.strip_prefix("${").and_then(|rest| rest.strip_suffix('}'));
        let values = Step::each(self.steps).filter_map(|step| match step {
            Step::Let { values } => values.get(name?.trim()),
            _ => None,
        });
        let begins = values.filter(|value| *value != "none").map(|value| beginning(value));
        let mut begins = begins.filter(|begin| begin.as_deref() != Some("")).peekable();
        begins.peek().is_some() && begins.all(|begin| begin.is_some_and(|begin| self.is_key(&begin)))
    }

    fn may_name(&self, key: &str, path: &Path) -> Result<(), Mistake> {
        if self.is_key(key) || self.is_set_to_keys(key) {
            return Ok(());
        }
        let known = self.hole.keys.join(", ");
        Err(Mistake::new(path, both!("`{key}` is no key of this exercise", "`{key}` 不是本练习的键"))
            .help(both!("its keys are {known}", "本练习的键：{known}")))
    }
}

/// The mistake of a step that only the client around the hole may contain.
fn not_allowed(path: &Path, what: &str) -> Mistake {
    Mistake::new(path, both!("`{what}` cannot stand in an answer", "答案里不能写 `{what}`")).help(both!(
        "what the client believes and counts is fixed; an answer has operations, `let`, `if` and `repeat`",
        "客户端的判断和计数是固定的；答案里可以写操作、`let`、`if` 和 `repeat`"
    ))
}
