//! The step of a story that demonstrates the answer to an interview question.

use super::{
    super::{
        Lesson,
        error::{Mistake, Path, finding},
        expr::Template,
        story::MoveRef,
    },
    PlannedMove, Scenario,
};
use crate::text::both;

impl Scenario {
    /// The first step of the story that makes this move, numbered as in `StoryLine::item`.
    pub fn step_of(&self, MoveRef { who, label }: &MoveRef) -> Option<usize> {
        let makes = |turn: &PlannedMove| turn.label == *label && self.actor(turn.actor).actor.name == *who;
        let line = self.story.iter().find(|line| line.act.moves().iter().any(makes));
        line.map(|line| line.item)
    }
}

/// Checks that the moves that cards refer to are in the stories.
/// Checks that texts into which nothing is inserted do not name a parameter or a counter.
fn check_bare(lesson: &Lesson, scenarios: &[Scenario]) -> Result<(), Mistake> {
    let root = Path::root();
    let mut texts = vec![(root.key("title"), &lesson.title)];
    for (n, card) in lesson.interview.iter().enumerate() {
        let path = root.key("interview").index(n);
        texts.extend([(path.key("q"), &card.q), (path.key("a"), &card.a)]);
        let next = card.follow_up.iter().flat_map(|next| [("q", &next.q), ("a", &next.a)]);
        texts.extend(next.map(|(field, text)| (path.key("follow_up").key(field), text)));
    }
    if let Some(table) = &lesson.table {
        let path = root.key("table");
        texts.push((path.key("legend"), &table.legend));
        for (field, titles) in [("rows", &table.rows), ("columns", &table.columns)] {
            texts.extend(titles.iter().map(|(name, title)| (path.key(field).key(name), title)));
        }
    }
    let is_known = |name: &String| {
        scenarios.iter().any(|known| known.scope.get(name).is_some() || known.counters.contains(name))
    };
    for (path, text) in texts {
        for (lang, words) in [("en", &text.en), ("zh", &text.zh)] {
            let names = Template::parse(words).map(|template| template.names()).unwrap_or_default();
            if let Some(name) = names.iter().find(|name| is_known(name)) {
                return Err(path.key(lang).mistake(finding!(
                    "nothing is inserted into this text: learners read `${{{name}}}` as it stands",
                    "这段文字里不会填入任何值：学员看到的就是 `${{{name}}}`",
                    "write the value itself; `summary`, `intro` and the story insert values",
                    "请直接写出值；`summary`、`intro` 和剧情里才会填入"
                )));
            }
        }
    }
    Ok(())
}

pub(crate) fn check(lesson: &Lesson, scenarios: &[Scenario]) -> Result<(), Mistake> {
    check_bare(lesson, scenarios)?;
    for (n, card) in lesson.interview.iter().enumerate() {
        let path = Path::root().key("interview").index(n);
        for (name, text) in [("q", &card.q), ("a", &card.a)] {
            for (lang, words) in [("en", &text.en), ("zh", &text.zh)] {
                if words.trim().is_empty() {
                    let message = both!("an empty text", "文字是空的");
                    return Err(Mistake::new(&path.key(name).key(lang), message)
                        .help(both!("every text is written in both languages", "每段文字都要写两种语言")));
                }
            }
        }
        let Some(shown) = &card.shown else { continue };
        let path = Path::root().key("interview").index(n).key("shown");
        let Some(scenario) = scenarios.iter().find(|scenario| scenario.variant == shown.variant) else {
            let known = lesson.variants.keys().map(String::as_str);
            return Err(Mistake::unknown(
                &path.key("variant"),
                both!("variant", "方案"),
                &shown.variant,
                known,
            ));
        };
        let Some(at) = shown.at.as_ref().filter(|at| scenario.step_of(at).is_none()) else { continue };
        let (who, label, variant) = (&at.who, &at.label, &shown.variant);
        return Err(path.key("at").mistake(finding!(
            "the story of `{variant}` has no move `{who}.{label}`",
            "`{variant}` 的剧情里没有 `{who}.{label}` 这一步",
            "name a move as it stands there, or leave `at` out for its end",
            "请照剧情里的写法，或者省略 `at` 表示结尾"
        )));
    }
    Ok(())
}
