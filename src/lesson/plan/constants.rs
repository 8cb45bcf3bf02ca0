//! What is known of a command's words before anything runs: what a parameter stands for that nothing gives another
//! value later.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use minijinja::Value;

use super::{
    super::{
        error::{Mistake, Path},
        expr::{Scope, Template, json_value},
        model::Params,
    },
    commands,
    program::BUILTINS,
};
use crate::text::both;

#[derive(Debug)]
pub(crate) struct Constants {
    values: HashMap<String, Constant>,
    /// Names that the program gives other values while it runs.
    changed: BTreeSet<String>,
    /// Names that have been relied on, and where.
    relied_on: Vec<(String, Path)>,
}

/// A value that is known, and the names that it came from.
#[derive(Debug, Clone)]
pub(crate) struct Constant {
    value: Value,
    from: BTreeSet<String>,
}

/// Parameters as values for expressions: durations in milliseconds.
pub(crate) fn values(params: &Params) -> HashMap<String, Value> {
    params.iter().map(|(name, param)| (name.clone(), json_value(&serde_json::Value::from(param)))).collect()
}

/// What a program or recipe gets for the text of a `with`: a figure stays a figure, and a duration is one.
pub fn passed(text: String) -> Value {
    let figure = text.parse::<i64>().ok().or_else(|| super::super::parse_millis(&text).ok());
    figure.map_or_else(|| Value::from(text), Value::from)
}

impl Constants {
    pub(crate) fn new(values: HashMap<String, Value>) -> Self {
        let mut constants = Self { values: HashMap::new(), changed: BTreeSet::new(), relied_on: Vec::new() };
        for (name, value) in values {
            constants.insert(name, value, BTreeSet::new());
        }
        constants
    }

    fn insert(&mut self, name: String, value: Value, mut from: BTreeSet<String>) {
        if !BUILTINS.contains(&name.as_str()) {
            from.insert(name.clone());
            self.values.insert(name, Constant { value, from });
        }
    }

    /// A name gets another value at some time.
    pub(crate) fn changes(&mut self, name: &str) {
        self.changed.insert(name.to_owned());
    }

    /// Opens the frame of a `use`, and gives what was known outside. `alone`: nothing of that is seen in it.
    pub(crate) fn enter(&mut self, with: &[(String, Template)], alone: bool) -> HashMap<String, Constant> {
        let known: Vec<_> = with.iter().map(|(name, template)| (name.clone(), self.text(template))).collect();
        let outside = self.values.clone();
        if alone {
            self.values.clear();
        }
        for (name, known) in known {
            self.values.remove(&name);
            if let Some((text, from)) = known {
                self.insert(name, passed(text), from);
            }
        }
        outside
    }

    /// What is known now, to be given to [`Constants::leave`].
    pub(crate) fn known_values(&self) -> HashMap<String, Constant> {
        self.values.clone()
    }

    /// A name stands for this number from here on, until [`Constants::leave`], whatever it stands for elsewhere.
    pub(crate) fn settle(&mut self, name: &str, number: u32) {
        let known = Constant { value: Value::from(number), from: BTreeSet::new() };
        self.values.insert(name.to_owned(), known);
    }

    pub(crate) fn leave(&mut self, outside: HashMap<String, Constant>) {
        self.values = outside;
    }

    /// Checks a Redis command, and writes out the words that make it harmless.
    pub(crate) fn command(&mut self, words: &mut [Template], path: &Path) -> Result<(), Mistake> {
        let mut known = BTreeMap::new();
        let word = |n: usize| {
            let (text, from) = self.text(&words[n])?;
            known.insert(n, (text.clone(), from));
            Some(text)
        };
        commands::check(words.len(), word, path)?;
        for (n, (text, from)) in known {
            words[n] = Template::literal(text);
            let from = from.into_iter().map(|name| (name, path.clone()));
            self.relied_on.extend(from);
        }
        Ok(())
    }

    /// Checks how a Redis command is written, as far as its words are known.
    pub(crate) fn check_form(&self, words: &[Template], path: &Path) -> Result<(), Mistake> {
        let stays = |word: &Template| {
            // A name is not known before it runs, and neither a number nor an option.
            let written = word.to_string();
            if ["${self}", "${client}", "${token}"].contains(&written.as_str()) {
                return Some(written);
            }
            self.text(word).filter(|(_, from)| from.is_disjoint(&self.changed)).map(|(text, _)| text)
        };
        commands::check_form(&words.iter().map(stays).collect::<Vec<_>>(), path)
    }

    /// What a name stands for, where that is a text that stays.
    pub(crate) fn text_of(&self, name: &str) -> Option<String> {
        let known = self.values.get(name).filter(|known| self.stay(&known.from))?;
        known.value.as_str().map(str::to_owned)
    }

    /// A text that has to be known before anything runs. None where it is known only when it is sent.
    pub(crate) fn known(&mut self, template: &Template, path: &Path) -> Option<String> {
        let (text, from) = self.text(template)?;
        self.relied_on.extend(from.into_iter().map(|name| (name, path.clone())));
        Some(text)
    }

    /// Whether everything that was relied on stays as it is.
    pub(crate) fn verify(&self) -> Result<(), Mistake> {
        match self.relied_on.iter().find(|(name, _)| self.changed.contains(name)) {
            None => Ok(()),
            Some((name, path)) => Err(Mistake::new(
                path,
                both!(
                    "what is sent where hangs on `{name}`, which the program changes",
                    "发送什么、发到哪里取决于 `{name}`，而程序会改变它"
                ),
            )
            .help(both!(
                "write the command out, or give the parameter a name that no `let` and no operation has",
                "请把命令直接写出来，或者给参数起一个 `let` 和操作都没用的名字"
            ))),
        }
    }

    /// Whether the program gives none of these names another value.
    pub(crate) fn stay(&self, names: &BTreeSet<String>) -> bool {
        self.changed.is_disjoint(names)
    }

    /// A word's text, where it is known, and the names that it came from.
    pub(crate) fn text(&self, template: &Template) -> Option<(String, BTreeSet<String>)> {
        let mut from = BTreeSet::new();
        for name in template.names() {
            from.extend(self.values.get(&name)?.from.iter().cloned());
        }
        let values = self.values.iter();
        let values = values.map(|(name, known)| (name.clone(), known.value.clone()));
        let names = Scope::new(values.collect()).value();
        Some((template.render(&names).ok()?, from))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn templates(command: &str) -> Vec<Template> {
        command.split(' ').map(|word| Template::parse(word).expect("a template")).collect()
    }

    fn constants() -> Constants {
        Constants::new(HashMap::from([
            ("command".to_owned(), Value::from("GET")),
            ("token".to_owned(), Value::from("GET")),
        ]))
    }

    #[test]
    fn a_parameter_that_stays_is_written_out() {
        let mut constants = constants();
        let mut words = templates("${command} ${lock}");
        constants.command(&mut words, &Path::root()).expect("GET is harmless");
        assert!(words[0].names().is_empty() && words[1].names().len() == 1);
        constants.verify().expect("nothing changes it");
        constants.changes("command");
        assert!(constants.verify().expect_err("it changes").message.en.contains("`command`"));
    }

    #[test]
    fn what_a_recipe_is_given_is_known_in_it() {
        let mut constants = constants();
        let with = [("it".to_owned(), Template::parse("BG${'SAVE'}").expect("a template"))];
        let outside = constants.enter(&with, true);
        let mut command = |words: &str| constants.command(&mut templates(words), &Path::root());
        assert!(command("${it}").expect_err("refused").message.en.contains("`BGSAVE`"));
        assert!(command("${command} k").is_err(), "it is not seen in a recipe");
        constants.leave(outside);
        constants.command(&mut templates("${command} k"), &Path::root()).expect("it is seen again");
    }

    #[test]
    fn a_name_that_every_program_has_is_never_known() {
        assert!(constants().command(&mut templates("${token} k"), &Path::root()).is_err());
    }
}
