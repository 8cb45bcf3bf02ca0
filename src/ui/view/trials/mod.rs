//! The screen of many races of one variant: how far they have come, what came of them, and which races those were.
//! It divides the screen and must not know how a race is run.

pub(crate) mod histogram;
pub(crate) mod layout;
pub(crate) mod outcomes;
pub(crate) mod races;
pub(crate) mod told;

pub use told::{RaceTold, SingleTold};

use ratatui::{
    buffer::Buffer,
    layout::Rect,
    style::{Modifier, Style},
    text::{Line, Span},
};

use histogram::percent;
use layout::{Areas, BAR};

use super::strip;
use crate::ui::{
    theme::{Role, Theme, glyphs, text, time},
    words,
};
use crate::{
    text::Lang,
    ui::{
        keys::{KeyMap, Place},
        state::{
            catalogue::CatalogueEntry,
            trials::{Course, Trials},
        },
    },
};

/// Rows of the races below the outcomes at least, with their frame.
const BELOW: u16 = 8;

/// What the screen shows.
#[derive(Debug, Clone, Copy)]
pub struct TrialsView<'a> {
    /// The lesson.
    pub entry: &'a CatalogueEntry,
    pub variant: usize,
    /// The races.
    pub trials: &'a Trials,
    pub keys: &'a KeyMap,
    /// Colours.
    pub theme: Theme,
    pub lang: Lang,
}

/// What is at a place of the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrialsHit {
    /// Nothing that can be clicked.
    Nothing,
    /// An outcome, by its place.
    Outcome(usize),
    /// One of the chosen outcome's races, by its place.
    Race(usize),
}

impl TrialsView<'_> {
    fn style(&self, role: Role) -> Style {
        self.theme.style(role)
    }

    fn areas(&self, area: Rect) -> Areas {
        let summary = self.summary(area.width).len();
        Areas::of(area, (summary, self.trials.kept().outcomes().len()), BELOW)
    }

    /// What a click at a place is about.
    pub fn hit(&self, area: Rect, at: (u16, u16)) -> TrialsHit {
        let areas = self.areas(area);
        if areas.outcomes.contains(at.into()) {
            let place = outcomes::at(self, areas.outcomes, at.1);
            return place.map_or(TrialsHit::Nothing, TrialsHit::Outcome);
        }
        if areas.details.contains(at.into()) {
            let place = races::at(self, areas.details, at.1);
            return place.map_or(TrialsHit::Nothing, TrialsHit::Race);
        }
        TrialsHit::Nothing
    }

    pub(crate) fn draw(&self, area: Rect, buf: &mut Buffer) {
        let areas = self.areas(area);
        self.draw_header(areas.header, buf);
        let summary = self.summary(area.width);
        for (y, line) in (areas.summary.top()..areas.summary.bottom()).zip(&summary) {
            buf.set_line(areas.summary.x, y, line, areas.summary.width);
        }
        outcomes::draw(self, areas.outcomes, buf);
        races::draw(self, areas.details, buf);
        let width = areas.hints.width;
        let hints = strip::hints(self.keys, Place::Trials, self.lang, self.theme, width);
        buf.set_line(areas.hints.x, areas.hints.y, &hints, width);
    }

    fn draw_header(&self, area: Rect, buf: &mut Buffer) {
        let trials = self.trials;
        let (glyph, words, role) = match trials.course() {
            Course::Booting => ("   ", words::BOOTING, Role::Warning),
            Course::Failed { .. } => (" ✗ ", words::RACES_FAILED, Role::Danger),
            Course::Ready if trials.is_over() => (" ✓ ", words::RACES_DONE, Role::Good),
            Course::Ready if trials.is_paused() => (" ▮▮", words::RACES_PAUSED, Role::Warning),
            Course::Ready => (" ▶ ", words::RACES_GOING, Role::Good),
        };
        let mut right = vec![Span::styled(
            format!(" {} ", words.get(self.lang)),
            self.style(role).remove_modifier(Modifier::BOLD),
        )];
        if trials.field().is_some_and(|field| field.clock == crate::clock::ClockKind::Wall) {
            right.push(Span::styled(format!(" {} ", words::WALL.get(self.lang)), self.style(Role::Warning)));
        }
        let right = Line::from(right);
        let taken = u16::try_from(right.width()).unwrap_or(area.width).min(area.width);
        let what = format!(" · {}", words::RACES.get(self.lang));
        let variants = &self.entry.variants;
        let count = format!(" {}/{}", self.variant + 1, variants.len());
        let room = usize::from(area.width - taken);
        let room = room.saturating_sub(5 + text::width(&what) + text::width(&count));
        let variant = variants.get(self.variant).map_or("", |variant| variant.title.get(self.lang));
        // The title gives way first: the variant is what is raced.
        let title = self.entry.title.get(self.lang);
        let title = text::fit(title, room.saturating_sub(text::width(variant) + 3).max(room / 2));
        let variant = text::fit(variant, room.saturating_sub(text::width(&title) + 3));
        let left = Line::from(vec![
            Span::styled(format!("{glyph} "), self.style(role)),
            Span::styled(title, self.style(Role::Accent)),
            Span::styled(" · ", self.style(Role::Chrome)),
            Span::styled(variant, self.style(Role::Text).add_modifier(Modifier::BOLD)),
            Span::styled(count, self.style(Role::Chrome)),
            Span::styled(what, self.style(Role::Chrome)),
        ]);
        buf.set_line(area.x, area.y, &left, area.width - taken);
        buf.set_line(area.right() - taken, area.y, &right, taken);
    }

    /// How far the races have come, how many broke a lock, and what they are.
    fn summary(&self, width: u16) -> Vec<Line<'static>> {
        let columns = usize::from(width).saturating_sub(4);
        let trials = self.trials;
        let mut lines = Vec::new();
        let wrapped = |words: &str, style: Style| -> Vec<Line<'static>> {
            let rows = text::wrap(words, columns).into_iter();
            rows.map(|row| Line::styled(format!("  {row}"), style)).collect()
        };
        if let Course::Failed { message, server } = trials.course() {
            let title = if *server { words::LAB_FAILED } else { words::LESSON_FAILED };
            let title = format!("✗ {}", title.get(self.lang));
            lines.extend(wrapped(&title, self.style(Role::Danger)));
            lines.extend(wrapped(message.get(self.lang), self.style(Role::Text)));
            let again = words::RACE_AGAIN.with(self.lang, &[&self.keys.label("restart")]);
            lines.extend(wrapped(&again, self.style(Role::Chrome)));
            if trials.kept().races() == 0 {
                return lines;
            }
        } else {
            lines.push(self.progress(columns));
        }
        let (words, role) = self.broken();
        lines.extend(wrapped(&words, self.style(role)));
        for (broke, says) in self.broken_invariants() {
            let words = words::BROKE_THIS.with(self.lang, &[&broke.to_string(), says]);
            lines.extend(wrapped(&format!("  {words}"), self.style(Role::Text)));
        }
        if let Some(field) = trials.field() {
            let words = words::ALL_AT_ONCE.with(self.lang, &[&field.actors.to_string()]);
            lines.extend(wrapped(&words, self.style(Role::Chrome)));
            if field.faults_left_out {
                let words = words::FAULTS_LEFT_OUT.get(self.lang);
                lines.extend(wrapped(words, self.style(Role::Warning)));
            }
        }
        lines
    }

    /// A bar, how many of how many, how fast, how long still.
    fn progress(&self, columns: usize) -> Line<'static> {
        let pace = self.trials.pace();
        let cells = BAR.min(columns / 3);
        let share = u128::from(pace.done.min(pace.of)) * cells as u128 / u128::from(pace.of.max(1));
        let full = usize::try_from(share).unwrap_or(cells);
        let count = words::RACED_OF.with(self.lang, &[&pace.done.to_string(), &pace.of.to_string()]);
        let mut spans = vec![
            Span::raw("  "),
            Span::styled(glyphs::BAR_DONE.repeat(full), self.style(Role::Good)),
            Span::styled(glyphs::BAR_LEFT.repeat(cells - full), self.style(Role::Chrome)),
            Span::styled(format!("  {count}"), self.style(Role::Fresh)),
        ];
        if pace.done > 0 {
            let rate = time::rate(pace.per_second());
            let words = if self.trials.is_over() {
                words::RATE_AND_TIME.with(self.lang, &[&rate, &time::stretch(pace.spent)])
            } else {
                words::RATE_AND_LEFT.with(self.lang, &[&rate, &time::left(pace.left())])
            };
            spans.push(Span::styled(format!("  {words}"), self.style(Role::Chrome)));
        }
        Line::from(spans)
    }

    /// How many races broke something, in words.
    fn broken(&self) -> (String, Role) {
        let kept = self.trials.kept();
        let races = kept.races().to_string();
        match kept.violated() {
            0 if kept.races() == 0 => (words::NOTHING_YET.get(self.lang).to_owned(), Role::Chrome),
            0 => {
                let words = words::BROKE_NONE.with(self.lang, &[&races]);
                (format!("{} {words}", glyphs::DONE), Role::Good)
            }
            broke => {
                let share = percent(broke.into(), kept.races().into());
                let words = words::BROKE.with(self.lang, &[&broke.to_string(), &races, &share]);
                (format!("{} {words}", glyphs::CUT), Role::Danger)
            }
        }
    }

    /// The invariants that were broken: in how many races, and what that means.
    fn broken_invariants(&self) -> Vec<(u64, &str)> {
        let invariants = self.trials.field().map_or(&[][..], |field| &field.invariants);
        let broke = |invariant: &crate::run::race::Invariant| self.trials.kept().broke(&invariant.name);
        let told = invariants.iter().map(|invariant| (broke(invariant), invariant.says.get(self.lang)));
        told.filter(|(broke, _)| *broke > 0).collect()
    }
}

/// The first line in sight of a list in which one is chosen: that one stays there, with one before and one after it.
fn first_in_sight(chosen: usize, count: usize, height: u16) -> usize {
    let height = usize::from(height);
    (chosen + 2).saturating_sub(height).min(count.saturating_sub(height))
}
