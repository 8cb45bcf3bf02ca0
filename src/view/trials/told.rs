//! What stands in the story's place while one of many races is stepped through: which it is, and what came of it. It
//! must not know what happens in it.

use ratatui::text::Line;

use super::outcomes;
use crate::{
    race::Outcome,
    view::{Scene, text, theme::Role, words},
};

/// One of many races.
#[derive(Debug, Clone, Copy)]
pub struct RaceTold<'a> {
    /// Which it is: 0 was the first.
    pub number: u32,
    /// How many there are by now.
    pub races: u64,
    /// Its seed.
    pub seed: u64,
    /// What came of it.
    pub outcome: &'a Outcome,
}

impl RaceTold<'_> {
    /// The wrapped lines of the pane.
    pub(in crate::view) fn lines(&self, scene: &Scene<'_>, width: u16) -> Vec<Line<'static>> {
        let (lang, columns) = (scene.lang, usize::from(width));
        let number = (u64::from(self.number) + 1).to_string();
        let which = words::WHICH_RACE.with(lang, &[&number, &self.races.to_string(), &self.seed.to_string()]);
        let broke = self.outcome.is_violated();
        let role = if broke { Role::Danger } else { Role::Text };
        let mut what = String::new();
        if broke {
            what.push_str("✗ ");
        }
        what.push_str(&outcomes::words_of(self.outcome, lang));
        let mut lines = Vec::new();
        let both = format!("{which} {what}");
        let mut tell = |words: &str, role: Role| {
            let rows = text::wrap(words, columns).into_iter();
            lines.extend(rows.map(|row| Line::styled(row, scene.style(role))));
        };
        if text::width(&both) <= columns {
            tell(&both, role);
        } else {
            tell(&which, Role::Text);
            tell(&what, role);
        }
        if broke {
            let key = scene.keys.label("next-mark");
            tell(&words::GO_TO_VIOLATION.with(lang, &[&key]), Role::Accent);
        } else if scene.chart.beats.iter().any(|beat| beat.clash) {
            tell(words::LATE_REPLY.get(lang), Role::Warning);
        }
        tell(words::NO_STORY.get(lang), Role::Chrome);
        lines
    }
}
