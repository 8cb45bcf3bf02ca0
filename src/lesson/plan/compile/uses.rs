//! Compiles the use of a program, of a recipe, or of what a learner writes.

use std::collections::BTreeSet;

use indexmap::IndexMap;

use super::{
    super::{
        names::{self, Named},
        program::{BUILTINS, Instruction},
        templates::only_expression,
    },
    Draft,
    names_in_use::NO_DURATIONS,
};
use crate::{
    lesson::{
        duration::{check_unit, parse_millis, parse_written},
        error::{Mistake, Path, finding},
        expr::Template,
        model::{Param, Recipe},
        step::Step,
    },
    text::both,
};

/// The deepest nesting of `use`.
const DEEPEST: usize = 8;

impl Draft<'_> {
    pub(super) fn use_program(
        &mut self,
        program: &str,
        with: &IndexMap<String, String>,
        path: &Path,
    ) -> Result<(), Mistake> {
        if self.depth >= DEEPEST {
            return Err(path.mistake(finding!(
                "`use: {program}` nests more than {DEEPEST} deep",
                "`use: {program}` 嵌套超过 {DEEPEST} 层",
                "a program cannot use itself",
                "程序不能使用它自己"
            )));
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
        // A recipe has its own parameters, and any other is reported with them.
        let is_program = compiler.programs.contains_key(program);
        for name in with.keys().filter(|_| is_program) {
            names::check(name, Named::Value, &path.key("with").key(name))?;
        }
        let outside = self.constants.enter(&values, !is_program);
        let at = (!self.in_recipe).then(|| path.clone());
        self.push(Instruction::Enter { program: program.to_owned(), with: values, path: at });
        self.depth += 1;
        self.using.push(program.to_owned());
        let before = (self.known.clone(), self.name.clone(), self.in_recipe);
        let labelled = std::mem::take(&mut self.labelled);
        if let Some(steps) = compiler.programs.get(program) {
            self.known.extend(names);
            program.clone_into(&mut self.name);
            self.steps(steps, &(compiler.program_path)(program))?;
        } else if let Some(recipe) = compiler.recipes.programs.get(program) {
            let wanted: BTreeSet<String> = recipe.params.iter().cloned().collect();
            if let Some(extra) = names.difference(&wanted).next() {
                let known = recipe.params.iter().map(String::as_str);
                let at = path.key("with").key(extra);
                let mistake = Mistake::unknown(&at, both!("parameter", "参数"), extra, known);
                // With one missing, it is that one under another name.
                if !wanted.is_subset(&names) {
                    return Err(mistake);
                }
                let params = recipe.params.join("`, `");
                return Err(mistake.help(both!(
                    "leave `{extra}` out: the recipe `{program}` takes `{params}`",
                    "请去掉 `{extra}`：配方 `{program}` 的参数有 `{params}`"
                )));
            }
            if let Some(missing) = wanted.difference(&names).next() {
                let message =
                    both!("the recipe `{program}` needs `{missing}`", "配方 `{program}` 还需要 `{missing}`");
                return Err(Mistake::new(path, message).help(format!("with: {{ {missing}: … }}")));
            }
            self.lint_units(with, path);
            self.known = BUILTINS.into_iter().map(str::to_owned).chain(wanted).collect();
            program.clone_into(&mut self.name);
            if compiler.recipes.local.contains(program) {
                self.in_recipe = false;
                self.steps(&recipe.steps, &Recipe::path(program))?;
            } else {
                self.in_recipe = true;
                let lints = self.program.findings.len();
                self.steps(&recipe.steps, path).map_err(|mistake| at_given(mistake, with, path))?;
                for lint in &mut self.program.findings[lints..] {
                    *lint = at_given(lint.clone(), with, path);
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

    /// Reports durations of a recipe that have no unit.
    fn lint_units(&mut self, with: &IndexMap<String, String>, path: &Path) {
        for (name, source) in with {
            if ["lease", "every", "retry", "drift", "work", "patience", "within"].contains(&name.as_str())
                    && !source.starts_with('-') // a negative duration means: no limit
                    && let Err(why) = check_unit(source)
            {
                self.report(Mistake::new(&path.key("with").key(name), why));
            }
            let is_time = ["lease", "every", "retry", "work", "patience", "within"].contains(&name.as_str());
            if is_time && NO_DURATIONS.contains(&source.as_str()) {
                self.report(path.key("with").key(name).mistake(finding!(
                    "`{source}` is no duration",
                    "`{source}` 不是时长",
                    "write it like 3s, or name a parameter such as `${{lease}}`",
                    "请写成 3s 这样，或者写参数，例如 `${{lease}}`"
                )));
            }
            let given = only_expression(source).unwrap_or_default();
            let given = self.extra.get(given).or_else(|| self.compiler.params.get(given));
            let is_duration = matches!(given, Some(Param::Word(word)) if parse_millis(word).is_ok());
            if ["owner", "token", "key", "lock"].contains(&name.as_str()) && is_duration {
                self.report(path.key("with").key(name).mistake(finding!(
                    "`{source}` is a duration, and here belongs a name",
                    "`{source}` 是时长，这里要写名字",
                    "such as `{name}: \"${{self}}\"`",
                    "例如 `{name}: \"${{self}}\"`"
                )));
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
            return Err(path.key("with").key(name).mistake(finding!(
                "`{program}` is what the learner writes, and is given nothing",
                "`{program}` 由学员来写，不能传参数",
                "leave `with` out: it reads the names that are known here",
                "请去掉 `with`：它可以直接用这里已有的名字"
            )));
        }
        let reads = self.compiler.holes.and_then(|holes| holes.get(program)).map(|hole| &hole.reads);
        let mut reads = reads.into_iter().flatten().enumerate();
        if let Some((n, name)) = reads.find(|(_, name)| !self.known.contains(*name)) {
            let at = Path::root().key("kata").key("programs").key(program).key("reads").index(n);
            let known = self.known.iter().map(String::as_str);
            return Err(Mistake::unknown(&at, both!("name", "变量"), name, known));
        }
        let name = std::mem::replace(&mut self.name, program.to_owned());
        let labelled = std::mem::take(&mut self.labelled);
        self.depth += 1;
        self.steps(steps, &(self.compiler.program_path)(program))?;
        self.depth -= 1;
        (self.name, self.labelled) = (name, labelled);
        Ok(())
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
