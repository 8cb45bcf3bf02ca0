//! Exercises: lessons of which a part, the hole, is left to the learner. This module checks what may be in the hole,
//! and builds the lesson with an answer in its place. It does not judge which orders break an answer.

mod answer;

use std::sync::Arc;

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    LessonError, Loaded, Params, Scenario, Source, Variant,
    error::{Mistake, Path, did_you_mean},
    expr::within_allowance,
    plan::{commands::is_known, unused::uses},
    step::Step,
};
use crate::{
    log::Product,
    text::{Text, both},
};

/// What may happen between two moves of an order that breaks an answer: the names by which hints refer to it.
pub const CAUSES: [&str; 19] = [
    "check_then_act",
    "both_looked",
    "not_its_own",
    "interleaved",
    "interfered",
    "lease_ended",
    "frozen",
    "clock_set",
    "late_reply",
    "deleted",
    "let_go",
    "failover",
    "session_ended",
    "restarted",
    "other_process",
    "crashed",
    "kept_alive",
    "herd",
    "reply_lost",
];

/// `kata:`: an exercise. The lesson's variants are the rounds in which an answer is judged, the cheapest first.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Kata {
    /// The learner's task.
    pub task: Text,
    /// What is given: who calls the hole, and how long things take.
    pub given: Text,
    /// The programs that the learner writes, by name. The lesson's programs `use` them.
    #[serde(default)]
    pub programs: IndexMap<String, Hole>,
    /// The Lua scripts that the learner writes, and what each has to do.
    #[serde(default)]
    pub scripts: IndexMap<String, Text>,
    /// The initial content of the learner's file, below the comments.
    pub start: String,
    /// The reference solution, as a learner would write it.
    pub solution: String,
    /// A discussion for after the exercise is solved, including who else solves it this way.
    pub discussion: Text,
    /// Hints, the weakest first: `any`; or the name of a round that the answer failed in (`paused`), of what happened
    /// between two moves there (`lease_ended`), or `stuck`, if an actor did not reach the end.
    #[serde(default)]
    pub hints: IndexMap<String, Vec<Text>>,
    /// Correct answers, by name.
    #[serde(default)]
    pub right: IndexMap<String, String>,
    /// Wrong answers, by name.
    #[serde(default)]
    pub wrong: IndexMap<String, WrongAnswer>,
}

/// A program that the learner writes.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Hole {
    /// What the program has to do.
    pub about: Text,
    /// The names that the program may read, beside `reply`, `error` and its own.
    #[serde(default)]
    pub reads: Vec<String>,
    /// The names that the program must set, with `let` or as the label of an operation.
    #[serde(default)]
    pub sets: Vec<String>,
    /// What the program may use: commands and calls such as `SET` or `create`, `script`, `wait`, `take`.
    pub uses: Vec<String>,
    /// The keys, paths and channels that the program may name. One that ends in `*` stands for all with that prefix.
    #[serde(default)]
    pub keys: Vec<String>,
}

/// A wrong answer.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WrongAnswer {
    /// The first round in which the answer fails.
    pub fails: String,
    /// The answer.
    pub answer: String,
}

/// An answer, as the learner writes it.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Answer {
    /// The id of the exercise.
    #[serde(default)]
    pub kata: Option<String>,
    /// The programs, by name.
    #[serde(default)]
    pub programs: IndexMap<String, Vec<Step>>,
    /// Lua scripts, by name.
    #[serde(default)]
    pub scripts: IndexMap<String, String>,
}

impl Loaded {
    /// Returns the lesson with an answer in place of its hole. Names are checked when its rounds are planned.
    ///
    /// # Errors
    /// The mistake in the answer, with its place in the answer's own file.
    pub fn with_answer(&self, text: &Source) -> Result<Arc<Self>, LessonError> {
        let Some(kata) = &self.lesson.kata else {
            let id = &self.lesson.id;
            return Err(LessonError::of_file(
                &text.file,
                both!("`{id}` is no exercise", "`{id}` 不是练习"),
                None,
            ));
        };
        let answer = text.answer()?;
        within_allowance(|| self.check_answer(kata, &answer)).map_err(|mistake| text.place(&mistake))?;
        let mut loaded = self.clone();
        let programs = answer.programs.keys().map(|name| Path::root().key("programs").key(name));
        let scripts = answer.scripts.keys().map(|name| Path::root().key("scripts").key(name));
        loaded.source = self.source.with_parts_of(text, programs.chain(scripts).collect());
        let lesson = Arc::make_mut(&mut loaded.lesson);
        lesson.programs.extend(answer.programs);
        lesson.scripts.extend(answer.scripts);
        Ok(Arc::new(loaded))
    }

    /// Puts the exercise's own solution into the hole, so that it can be run like any other lesson.
    pub(super) fn solved(self) -> Result<Self, LessonError> {
        let Some(kata) = &self.lesson.kata else { return Ok(self) };
        self.with_answer(&self.part(&kata.solution, "kata.solution")).map(Arc::unwrap_or_clone)
    }

    /// A source for a text inside the exercise's file. `place` is the path that errors give for it.
    pub fn part(&self, text: &str, place: &str) -> Source {
        Source::new(format!("{}: {place}", self.source.file), text)
    }

    /// All answers whose result is known, including the learner's initial file, each with the round in which it must
    /// fail: `None` if the answer is right, an empty name if any round will do.
    pub fn known_answers(&self) -> Vec<(Source, Option<&str>)> {
        let Some(kata) = &self.lesson.kata else { return Vec::new() };
        let right = [("kata.solution".to_owned(), &kata.solution)].into_iter();
        let right = right.chain(kata.right.iter().map(|(name, text)| (format!("kata.right.{name}"), text)));
        let right = right.map(|(place, text)| (self.part(text, &place), None));
        let start = [(self.part(&kata.start, "kata.start"), Some(""))];
        let wrong = kata.wrong.iter().map(|(name, wrong)| {
            (self.part(&wrong.answer, &format!("kata.wrong.{name}")), Some(wrong.fails.as_str()))
        });
        right.chain(start).chain(wrong).collect()
    }

    /// Checks what can be checked without a server: that the known answers can be planned, and that all rounds named
    /// exist.
    pub(super) fn check_kata(&self) -> Result<(), LessonError> {
        let Some(kata) = &self.lesson.kata else { return Ok(()) };
        let at = Path::root().key("kata");
        let rounds = || self.lesson.variants.keys();
        let is_round = |name: &str, path: &Path, also: &[&str]| {
            if also.contains(&name) || rounds().any(|round| round == name) {
                return Ok(());
            }
            Err(self.source.place(&Mistake::unknown(
                path,
                both!("round", "轮次"),
                name,
                rounds().map(String::as_str).chain(also.iter().copied()),
            )))
        };
        for name in kata.hints.keys() {
            is_round(name, &at.key("hints").key(name), &[&["any", "stuck"], &CAUSES[..]].concat())?;
        }
        for (name, wrong) in &kata.wrong {
            is_round(&wrong.fails, &at.key("wrong").key(name).key("fails"), &[])?;
        }
        if let Some(round) = self.lesson.variants.iter().find(|(_, variant)| variant.explore.is_none()) {
            let path = Path::root().key("variants").key(round.0);
            let message = both!("a round must say what exploring finds", "每一轮都要写明探索的预期");
            let mistake =
                Mistake::new(&path, message).help("explore: { expect: none, ends: all, moves: 40 }");
            return Err(self.source.place(&mistake));
        }
        let is_other = |variant: &Variant| {
            variant.explore.as_ref().is_some_and(|explore| !explore.expect.is_about_invariants())
        };
        if let Some(round) = self.lesson.variants.iter().find(|(_, variant)| is_other(variant)) {
            let path = Path::root().key("variants").key(round.0).key("explore").key("expect");
            let message = both!("an answer is judged by invariants", "答案是按不变式来判的");
            let help = both!(
                "write `expect: none` or `expect: violated`",
                "请写 `expect: none` 或 `expect: violated`"
            );
            return Err(self.source.place(&Mistake::new(&path, message).help(help)));
        }
        self.check_uses(kata).map_err(|mistake| self.source.place(&mistake))?;
        let programs = || self.lesson.all_programs().flat_map(|(programs, _)| programs.values());
        let is_used = |name: &String| programs().any(|steps| uses(steps).any(|used| used == name));
        if let Some(name) = kata.programs.keys().find(|name| !is_used(name)) {
            let message = both!("no program uses `{name}`", "没有程序用到 `{name}`");
            let mistake = Mistake::new(&at.key("programs").key(name), message);
            return Err(self.source.place(&mistake.help(both!(
                "write `- use: {name}` where the learner's steps are to stand",
                "请在学员要写的步骤处写 `- use: {name}`"
            ))));
        }
        for (text, _) in self.known_answers() {
            self.with_answer(&text)?.rounds()?;
        }
        Ok(())
    }

    /// Checks that the commands and calls that a hole may use exist.
    fn check_uses(&self, kata: &Kata) -> Result<(), Mistake> {
        let lab = self.lesson.lab;
        let calls = || {
            let products = lab.parts().iter().map(|part| part.product());
            products.flat_map(|product| product.traits().calls).filter_map(|form| form.split(' ').next())
        };
        let others = ["script", "wait", "take", "local", "flock"];
        for (hole, given) in &kata.programs {
            for (n, name) in given.uses.iter().enumerate() {
                if is_known(name) && lab.has(Product::Redis)
                    || others.contains(&name.as_str())
                    || calls().any(|known| known == name)
                {
                    continue;
                }
                let at = Path::root().key("kata").key("programs").key(hole).key("uses").index(n);
                let message =
                    both!("no server here has the command `{name}`", "这里没有服务器有 `{name}` 这个命令");
                let upper = name.to_ascii_uppercase();
                let help = if is_known(&upper) {
                    did_you_mean(&upper)
                } else {
                    both!(
                        "commands such as `SET`, calls such as `create`, or `script`, `wait`, `take`, `local`, `flock`",
                        "可以写 `SET` 这样的命令、`create` 这样的调用，或者 `script`、`wait`、`take`、`local`、`flock`"
                    )
                };
                return Err(Mistake::new(&at, message).help(help));
            }
        }
        Ok(())
    }

    /// Plans the rounds in which an answer is judged.
    pub fn rounds(self: &Arc<Self>) -> Result<Vec<Scenario>, LessonError> {
        let names = self.lesson.variants.keys();
        names.map(|name| Scenario::plan(self, name, &Params::new())).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crate::{
        lesson::{LessonError, Loaded, Source, library},
        text::Lang,
    };

    fn exercise() -> Arc<Loaded> {
        let all = library::exercises().expect("they can be read");
        all.into_iter().find(|loaded| loaded.lesson.id == "take-the-lock").expect("it is carried")
    }

    fn judged(text: &str) -> Result<Arc<Loaded>, LessonError> {
        let loaded = exercise().with_answer(&Source::new("mine.yaml", text))?;
        loaded.rounds().map(|_| loaded)
    }

    fn wrong(text: &str) -> String {
        judged(text).expect_err("it is wrong").in_lang(Lang::En)
    }

    #[test]
    fn mistakes_in_answers_are_located_in_the_learners_file() {
        let answer = |acquire: &str| {
            format!("programs:\n  acquire:\n{acquire}\n  release:\n    - release: {{ redis: DEL lock }}\n")
        };
        let cases = [
            ("    - granted: { redis: SETT lock 1 }", "mine.yaml:3:25: `SETT` cannot be used"),
            ("    - granted: { redis: SET other 1 NX }", "mine.yaml:3:29: `other` is no key"),
            ("    - granted: { redis: \"SET lock ${tokn} NX\" }", "mine.yaml:3:37: unknown name `tokn`"),
            ("    - got: { redis: SET lock 1 NX }", "mine.yaml:3:5: `acquire` must set `granted`"),
            ("    - holds: lock", "cannot stand in an answer"),
            ("    - granted: { redis: SET lock 1 NY }", "mine.yaml:3:"),
            ("    - granted: { rdis: GET lock }", "mine.yaml:3:"),
            ("    - granted: { redis: SETT lock 1 }", "did you mean `SET`"),
            ("    - granted: { redis: EVAL x 0 }", "write it at the margin, `scripts:"),
            ("    - granted: { redis: SET lock token NX }", "`token` is plain text here"),
            ("    - granted: { redis: \"SET lock {token} NX\" }", "`{token}` is plain text here"),
            ("    - granted: { redis: SET lock $token NX }", "write `\"${token}\"` for its value"),
            ("    - let: { granted: token != null }", "did you mean `none`?"),
            ("    - granted: { script: return 1 }", "a script is called by its name"),
            ("    - granted: SETNX lock 1", "write `- granted: { redis: SETNX lock 1 }`"),
            ("    - granted = true", "write `- let: { granted: true }`"),
            ("    - granted: true", "write `- let: { granted: true }`"),
            ("    - SETNX lock 1", "write `- got: { redis: SETNX lock 1 }`"),
            ("    - scripts: { x: return 1 }", "beside `programs:`"),
            ("    - granted: { redis: \"SET lock ${token} NX\"", "is not closed"),
        ];
        for (acquire, said) in cases {
            let words = wrong(&answer(acquire));
            assert!(words.contains(said), "{acquire}: {words}");
        }
        assert!(wrong("programs: {}\n").contains("`acquire` is missing"));
        assert!(judged(&answer("    - granted: { redis: \"SET lock ${token} NX\" }")).is_ok());
    }

    #[test]
    fn every_exercise_is_complete_and_its_known_answers_parse() {
        let exercises = library::exercises().expect("they can be read");
        assert!(!exercises.is_empty());
        for loaded in exercises {
            loaded.check().unwrap_or_else(|error| panic!("{error}"));
            loaded.source.check_languages(false).unwrap_or_else(|error| panic!("{error}"));
            let kata = loaded.lesson.kata.as_ref().expect("it is an exercise");
            let id = &loaded.lesson.id;
            assert!(!kata.right.is_empty() && kata.wrong.len() >= 2, "{id}: 1 right and 2 wrong answers");
            assert_eq!(kata.hints.get("any").map(Vec::len), Some(3), "{id}: hints of three strengths");
        }
    }
}
