//! Values that are known before anything runs: parameters that the program never changes.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use minijinja::Value;

use super::{
    super::{
        error::{Mistake, Path, finding},
        expr::{Scope, Template, json_value},
        model::Params,
    },
    commands,
    lints::Kind,
    program::BUILTINS,
};

#[derive(Debug)]
pub(crate) struct Constants {
    values: HashMap<String, Constant>,
    /// Names that the program changes at run time.
    changed: BTreeSet<String>,
    /// Names whose values have been used, with the paths of the uses.
    relied_on: Vec<(String, Path)>,
}

/// A known value, and the parameters that it was computed from.
#[derive(Debug, Clone)]
pub(crate) struct Constant {
    value: Value,
    from: BTreeSet<String>,
}

/// Converts parameters to values for expressions; durations become milliseconds.
pub(crate) fn values(params: &Params) -> HashMap<String, Value> {
    params.iter().map(|(name, param)| (name.clone(), json_value(&serde_json::Value::from(param)))).collect()
}

/// The value that a program or recipe gets for the text in a `with`: a number stays a number, and a duration becomes
/// milliseconds.
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

    /// Records that the program changes a name at run time.
    pub(crate) fn changes(&mut self, name: &str) {
        self.changed.insert(name.to_owned());
    }

    /// Opens the frame of a `use`, and returns the values known outside. `alone`: these are not visible inside.
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

    /// The values known now, to be restored with [`Constants::leave`].
    pub(crate) fn known_values(&self) -> HashMap<String, Constant> {
        self.values.clone()
    }

    /// Binds a name to this number until [`Constants::leave`], whatever its value is elsewhere.
    pub(crate) fn settle(&mut self, name: &str, number: u32) {
        let known = Constant { value: Value::from(number), from: BTreeSet::new() };
        self.values.insert(name.to_owned(), known);
    }

    pub(crate) fn leave(&mut self, outside: HashMap<String, Constant>) {
        self.values = outside;
    }

    /// Checks a Redis command, and replaces the templates that this depends on by their values.
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

    /// Checks the syntax of a Redis command, as far as its words are known.
    pub(crate) fn check_form(&self, words: &[Template], path: &Path) -> Result<(), Mistake> {
        let stays = |word: &Template| {
            // The value of such a name is known only at run time, but it is neither a number nor an option.
            let written = word.to_string();
            if ["${self}", "${client}", "${token}"].contains(&written.as_str()) {
                return Some(written);
            }
            self.settled(word)
        };
        commands::check_form(&words.iter().map(stays).collect::<Vec<_>>(), path)
    }

    /// Whether a name stands for a number or a text; `None` if that is known only at run time.
    pub(crate) fn kind_of(&self, name: &str) -> Option<Kind> {
        let known = self.values.get(name).filter(|known| self.stay(&known.from))?;
        Kind::of_value(&known.value)
    }

    /// The text that a name stands for, if the program never changes it.
    pub(crate) fn text_of(&self, name: &str) -> Option<String> {
        let known = self.values.get(name).filter(|known| self.stay(&known.from))?;
        known.value.as_str().map(str::to_owned)
    }

    /// The value of a template that has to be known before anything runs; `None` if it is known only at run time.
    pub(crate) fn known(&mut self, template: &Template, path: &Path) -> Option<String> {
        let (text, from) = self.text(template)?;
        self.relied_on.extend(from.into_iter().map(|name| (name, path.clone())));
        Some(text)
    }

    /// The text of a template of which the program changes nothing so far.
    pub(crate) fn settled(&self, template: &Template) -> Option<String> {
        self.text(template).filter(|(_, from)| self.stay(from)).map(|(text, _)| text)
    }

    /// Checks that the program changes none of the names that were used.
    pub(crate) fn verify(&self) -> Result<(), Mistake> {
        match self.relied_on.iter().find(|(name, _)| self.changed.contains(name)) {
            None => Ok(()),
            Some((name, path)) => Err(path.mistake(finding!(
                "what is sent where hangs on `{name}`, which the program changes",
                "发送什么、发到哪里取决于 `{name}`，而程序会改变它",
                "write the command out, or give the parameter a name that no `let` and no operation has",
                "请把命令直接写出来，或者给参数起一个 `let` 和操作都没用的名字"
            ))),
        }
    }

    /// Whether the program changes none of these names.
    pub(crate) fn stay(&self, names: &BTreeSet<String>) -> bool {
        self.changed.is_disjoint(names)
    }

    /// The text of a template and the parameters that it was computed from; `None` if it is not known.
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
    fn unchanged_parameters_are_replaced_by_their_values() {
        let mut constants = constants();
        let mut words = templates("${command} ${lock}");
        constants.command(&mut words, &Path::root()).expect("GET is harmless");
        assert!(words[0].names().is_empty() && words[1].names().len() == 1);
        constants.verify().expect("nothing changes it");
        constants.changes("command");
        assert!(constants.verify().expect_err("it changes").message.en.contains("`command`"));
    }

    #[test]
    fn arguments_of_recipes_are_constants() {
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
    fn builtins_are_never_constants() {
        assert!(constants().command(&mut templates("${token} k"), &Path::root()).is_err());
    }
}
