//! A story as a script for a teacher: what happens in each step, with the teacher's notes.

use serde::{Deserialize, Serialize};

use super::{Act, PlannedMove, Scenario, StoryLine, TextPlan};
use crate::{
    lesson::{
        Lesson,
        error::{Mistake, Path, did_you_mean},
        expr::{Expr, Template, within_allowance},
    },
    log::{ActorId, Target},
    text::{Text, both},
};

/// One step of the script.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScriptLine {
    /// The narration or question, or who does what.
    pub says: Text,
    /// Notes for a teacher.
    pub notes: Option<Text>,
}

/// Reports a name in backticks that is almost that of a variant, and would be shown as it stands.
pub(crate) fn check(lesson: &Lesson) -> Result<(), Mistake> {
    let Some(notes) = &lesson.notes else { return Ok(()) };
    for (lang, text) in [("en", &notes.en), ("zh", &notes.zh)] {
        // Names of other things rarely have a hyphen.
        let is_name = |word: &str| super::is_well_formed(word) && word.contains('-');
        let mut named = text.split('`').skip(1).step_by(2);
        let almost = named.find_map(|word| {
            let mut variants = lesson.variants.keys();
            let is_near = |known: &&String| {
                is_name(word) && strsim::osa_distance(known, word) <= 2 || **known == word.replace('_', "-")
            };
            let near = variants.clone().find(is_near)?;
            variants.all(|known| known != word).then_some((word, near))
        });
        if let Some((word, near)) = almost.filter(|(word, _)| *word != lesson.id) {
            let message = both!("no variant is called `{word}`", "没有名为 `{word}` 的方案");
            return Err(Mistake::new(&Path::root().key("notes").key(lang), message).help(did_you_mean(near)));
        }
    }
    Ok(())
}

impl Scenario {
    /// Every step in order, with the values that are known before the run filled into its texts.
    pub fn script(&self) -> Vec<ScriptLine> {
        let line = |line: &StoryLine| ScriptLine {
            says: self.says(&line.act),
            notes: line.notes.as_ref().map(|notes| self.written(notes)),
        };
        within_allowance(|| self.story.iter().map(line).collect())
    }

    /// The author's notes for teachers about the whole lesson. Variants named in backticks are replaced by their
    /// titles, as screens show them.
    pub fn notes(&self) -> Option<Text> {
        let lesson = &self.loaded.lesson;
        let mut notes = self.fill(lesson.notes.as_ref()?);
        for (name, variant) in &lesson.variants {
            let (named, title) = (format!("`{name}`"), self.fill(&variant.title));
            notes.en = notes.en.replace(&named, &format!("“{}”", title.en));
            notes.zh = notes.zh.replace(&named, &format!("“{}”", title.zh));
        }
        Some(notes)
    }

    fn written(&self, plan: &TextPlan) -> Text {
        let names = self.scope.value();
        // A value that only the run determines, such as a counter, is shown as an ellipsis.
        let known = |expr: &Expr| {
            let value = expr.eval(names.clone()).ok().filter(|value| !value.is_undefined());
            Some(value.map_or_else(|| "…".to_owned(), |value| value.to_string()))
        };
        let fill = |template: &Template| template.filled(known);
        Text { en: fill(&plan.en), zh: fill(&plan.zh) }
    }

    fn name(&self, actor: ActorId) -> &str {
        self.actors.get(actor.0 as usize).map_or("?", |plan| plan.actor.name.as_str())
    }

    fn says(&self, act: &Act) -> Text {
        let turn = |turn: &PlannedMove| format!("{}.{}", self.name(turn.actor), turn.label);
        match act {
            Act::Say(text) => self.written(text),
            Act::Ask(ask) => self.written(&ask.q),
            Act::Each(_) | Act::Together(_) | Act::Send(_) => {
                act.moves().iter().map(turn).collect::<Vec<_>>().join(", ").into()
            }
            Act::Finish(actors) => {
                let names: Vec<&str> = actors.iter().map(|actor| self.name(*actor)).collect();
                let names = names.join(", ");
                both!("{names}: to the end", "{names}：执行到底")
            }
            Act::Pass(_) | Act::Await(_) => both!("time passes", "时间流逝"),
            Act::Faults(faults) => {
                let names = faults.iter().map(|fault| match fault.target() {
                    Target::Client(name) | Target::Server(name) => name.to_owned(),
                    Target::Link(link) => link.to_string(),
                });
                let names = names.collect::<Vec<_>>().join(", ");
                both!("a fault: {names}", "故障：{names}")
            }
        }
    }
}
