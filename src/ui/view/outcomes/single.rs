//! The text in the story's place while a single run is stepped through: which run it is, and its outcome.

use super::histogram::words_of;
use crate::{
    run::race::{Outcome, Wording},
    text::Text,
    ui::{
        state::{exam::ExamQuestion, kata::FailureRow, outcomes::Exploration},
        view::{paragraph, prelude::*},
    },
};

#[derive(Debug, Clone, Copy)]
pub struct SingleRace<'a> {
    /// The number of the race, counted from 0.
    pub number: u32,
    /// The number of races so far.
    pub races: u64,
    pub seed: u64,
    pub outcome: &'a Outcome,
    pub wording: &'a Wording,
    /// Why it went wrong, if its log says so.
    pub why: Option<&'a Text>,
}

#[derive(Debug, Clone, Copy)]
pub enum SingleRun<'a> {
    Race(SingleRace<'a>),
    /// An order that goes wrong.
    Order(&'a Exploration),
    /// The order that broke the answer to an exercise.
    Answer(&'a FailureRow),
    /// The order that an exam asked about.
    Examined(&'a ExamQuestion),
}

impl SingleRun<'_> {
    pub(crate) fn title(&self) -> words::Words {
        match self {
            Self::Race(_) => words::THIS_RACE,
            Self::Order(_) | Self::Answer(_) => words::THIS_ORDER,
            Self::Examined(_) => words::EXAMINED_ORDER,
        }
    }

    pub(crate) fn lines(&self, scene: &Scene<'_>, width: u16) -> Vec<Line<'static>> {
        match self {
            Self::Race(race) => race.lines(scene, width),
            Self::Order(exploration) => order(exploration, scene, width),
            Self::Answer(failure) => answer(failure, scene, width),
            Self::Examined(question) => examined(question, scene, width),
        }
    }
}

fn answer(failure: &FailureRow, scene: &Scene<'_>, width: u16) -> Vec<Line<'static>> {
    let (lang, columns) = (scene.lang, usize::from(width));
    let mut lines = Vec::new();
    let mut tell = |words: &str, role: Role| {
        lines.extend(paragraph::prose(words, columns, scene.style(role), scene.theme));
    };
    if scene.world.position == scene.log.len() {
        tell(words::ANSWER_BREAKS.get(lang), Role::Danger);
    }
    tell(failure.says.get(lang), Role::Danger);
    if let Some(why) = &failure.why {
        tell(why.get(lang), Role::Text);
    }
    if let Some(order) = &failure.order {
        tell(order.get(lang), Role::Chrome);
    }
    lines
}

fn examined(question: &ExamQuestion, scene: &Scene<'_>, width: u16) -> Vec<Line<'static>> {
    let (lang, columns) = (scene.lang, usize::from(width));
    let (was, role) =
        if question.safe { (words::EXAM_WAS_SAFE, Role::Good) } else { (words::EXAM_WAS_NOT, Role::Danger) };
    let mut lines = paragraph::prose(was.get(lang), columns, scene.style(role), scene.theme);
    if let Some(why) = &question.why {
        lines.extend(paragraph::prose(why.get(lang), columns, scene.style(Role::Text), scene.theme));
    }
    lines
}

fn order(exploration: &Exploration, scene: &Scene<'_>, width: u16) -> Vec<Line<'static>> {
    let Some(found) = &exploration.found else { return Vec::new() };
    let (lang, columns) = (scene.lang, usize::from(width));
    let mut lines = Vec::new();
    let mut tell = |words: &str, role: Role| {
        lines.extend(paragraph::plain(words, columns, scene.style(role)));
    };
    if let Some(breaking) = exploration.breaking() {
        let moves = breaking.order.moves.len().to_string();
        let words = if found.explored.complete { words::SHORTEST_OF } else { words::SHORTEST_SO_FAR };
        match breaking.says.filter(|_| !breaking.shortest) {
            Some(says) => tell(says.get(lang), Role::Text),
            None => tell(&words.with(lang, &[&moves]), Role::Text),
        }
        tell(&format!("✗ {}", breaking.moves_text().get(lang)), Role::Danger);
        if let Some(why) = breaking.why {
            tell(why.get(lang), Role::Text);
        }
    }
    if scene.chart.story_marks.iter().any(|mark| mark.overlap_span) {
        let key = scene.keys.label("next-mark");
        tell(&words::GO_TO_VIOLATION.with(lang, &[&key]), Role::Accent);
    }
    lines
}

impl SingleRace<'_> {
    fn lines(&self, scene: &Scene<'_>, width: u16) -> Vec<Line<'static>> {
        let (lang, columns) = (scene.lang, usize::from(width));
        let number = (u64::from(self.number) + 1).to_string();
        let which = words::WHICH_RACE.with(lang, &[&number, &self.races.to_string(), &self.seed.to_string()]);
        let broke = self.outcome.is_violated();
        let role = if broke { Role::Danger } else { Role::Text };
        let mut what = String::new();
        if broke {
            what.push_str("✗ ");
        }
        what.push_str(&words_of(self.outcome, self.wording, lang));
        let mut lines = Vec::new();
        let both = format!("{which}{}{what}", lang.colon());
        let mut tell = |words: &str, role: Role| {
            lines.extend(paragraph::plain(words, columns, scene.style(role)));
        };
        if text::width(&both) <= columns {
            tell(&both, role);
        } else {
            tell(&format!("{which}{}", lang.colon().trim_end()), Role::Text);
            tell(&what, role);
        }
        if let Some(why) = self.why {
            tell(why.get(lang), Role::Text);
        }
        let overlap_span = scene.chart.story_marks.iter().any(|mark| mark.overlap_span);
        if overlap_span && self.outcome.has_too_many_holders() {
            let key = scene.keys.label("next-mark");
            tell(&words::GO_TO_VIOLATION.with(lang, &[&key]), Role::Accent);
        } else if overlap_span {
            tell(words::LATE_REPLY.get(lang), Role::Warning);
        }
        tell(words::NO_STORY.get(lang), Role::Chrome);
        lines
    }
}
