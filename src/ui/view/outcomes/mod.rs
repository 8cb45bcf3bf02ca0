//! The screen of many runs of one variant, races or every order: how far they are, what came of them, and beside that
//! the races with the chosen outcome or the shortest order that goes wrong. It must not know how a run is made.

mod exploration;
pub(crate) mod histogram;
mod layout;
mod races;
mod single;

pub use single::{SingleRace, SingleRun};

use ratatui::{
    buffer::Buffer,
    layout::Rect,
    style::{Modifier, Style},
    text::{Line, Span},
};

use histogram::{Row, percent, words_of};
use layout::Areas;

use super::{
    Context,
    header::{self, Title},
    paragraph, strip,
};
use crate::{
    clock::ClockKind,
    ui::{
        keys::Place,
        state::{
            catalogue::CatalogueEntry,
            outcomes::{Outcomes, Phase, Source},
        },
        theme::{Role, glyphs, text},
        words,
    },
};

/// The longest progress bar, in cells.
const BAR: usize = 30;

#[derive(Debug, Clone, Copy)]
pub struct OutcomesView<'a> {
    pub entry: &'a CatalogueEntry,
    pub variant: usize,
    pub outcomes: &'a Outcomes,
    pub context: Context<'a>,
}

/// What is at a place of the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutcomesHit {
    /// Nothing that can be clicked.
    Nothing,
    /// An outcome, by its place.
    Outcome(usize),
    /// One of the chosen outcome's races, by its place.
    Race(usize),
}

impl OutcomesView<'_> {
    fn style(&self, role: Role) -> Style {
        self.context.theme.style(role)
    }

    pub(crate) fn place(&self) -> Place {
        match &self.outcomes.source {
            Source::Races(_) => Place::Races,
            Source::Exploration(_) => Place::Exploration,
        }
    }

    fn areas(&self, area: Rect) -> Areas {
        let summary = self.summary(area.width).len();
        let below = match &self.outcomes.source {
            Source::Races(_) => races::BELOW,
            Source::Exploration(_) => exploration::BELOW,
        };
        Areas::of(area, (summary, self.outcomes.seen().len()), below)
    }

    /// What a click at a place is about.
    pub fn hit(&self, area: Rect, at: (u16, u16)) -> OutcomesHit {
        let areas = self.areas(area);
        let place = if areas.outcomes.contains(at.into()) {
            histogram::at(&self.rows(), self.context.theme, areas.outcomes, at.1).map(OutcomesHit::Outcome)
        } else if areas.details.contains(at.into()) {
            races::at(self, areas.details, at.1).map(OutcomesHit::Race)
        } else {
            None
        };
        place.unwrap_or(OutcomesHit::Nothing)
    }

    pub(crate) fn draw(&self, area: Rect, buf: &mut Buffer) {
        let areas = self.areas(area);
        self.draw_header(areas.header, buf);
        let summary = self.summary(area.width);
        paragraph::draw(&summary, 0, areas.summary, buf);
        let focused = self.outcomes.race.is_none();
        let nothing = match &self.outcomes.source {
            Source::Races(_) => words::NOTHING_YET,
            Source::Exploration(_) => exploration::nothing(self),
        };
        histogram::draw(&self.rows(), self.context, (focused, nothing), areas.outcomes, buf);
        match &self.outcomes.source {
            Source::Races(races) => races::draw(self, races, areas.details, buf),
            Source::Exploration(exploration) => exploration::draw(self, exploration, areas.details, buf),
        }
        let width = areas.hints.width;
        let hints = strip::hints(self.context, self.place(), width);
        buf.set_line(areas.hints.x, areas.hints.y, &hints, width);
    }

    fn rows(&self) -> Vec<Row> {
        let (seen, chosen) = (self.outcomes.seen(), self.outcomes.chosen());
        let all = seen.iter().map(|seen| seen.runs).sum();
        let rows = seen.iter().map(|seen| Row {
            broke: seen.violates,
            count: seen.runs,
            words: text::clean(&words_of(seen.outcome, self.context.lang)).into_owned(),
            percent: percent(seen.runs, all),
            beside: seen
                .seed
                .map_or_else(String::new, |seed| words::SEED.with(self.context.lang, &[&seed.to_string()])),
            chosen: Some(seen.outcome) == chosen,
        });
        rows.collect()
    }

    fn draw_header(&self, area: Rect, buf: &mut Buffer) {
        let phase = self.outcomes.phase();
        let (glyph, role) = match phase {
            Phase::Booting => ("   ", Role::Warning),
            Phase::Running => (" ▶ ", Role::Good),
            Phase::Paused | Phase::Stopping | Phase::Stopped => (" ▮▮", Role::Warning),
            Phase::Complete => (" ✓ ", Role::Good),
            Phase::Failed(_) => (" ✗ ", Role::Danger),
        };
        let (what, running, complete) = match &self.outcomes.source {
            Source::Races(_) => (words::RACES, words::RACES_GOING, words::RACES_DONE),
            Source::Exploration(_) => (words::EVERY_ORDER, words::SEARCHING, words::SEARCHED),
        };
        let doing = match phase {
            Phase::Booting => words::BOOTING,
            Phase::Running => running,
            Phase::Paused => words::RACES_PAUSED,
            Phase::Stopping => words::STOPPING,
            Phase::Stopped => words::STOPPED,
            Phase::Complete => complete,
            Phase::Failed(_) => words::RACES_FAILED,
        };
        let mut right = vec![Span::styled(
            format!(" {} ", doing.get(self.context.lang)),
            self.style(role).remove_modifier(Modifier::BOLD),
        )];
        let info = self.outcomes.races().and_then(|races| races.info.as_ref());
        if info.is_some_and(|info| info.clock == ClockKind::Wall) {
            right.push(Span::styled(
                format!(" {} ", words::WALL.get(self.context.lang)),
                self.style(Role::Warning),
            ));
        }
        let title = Title {
            glyph: (glyph, role),
            entry: self.entry,
            variant: self.variant,
            what: Some(what.get(self.context.lang)),
            context: self.context,
        };
        header::draw_ends(|room| title.line(room), right, area, buf);
    }

    /// How far the runs are, how many went wrong, and what they are.
    fn summary(&self, width: u16) -> Vec<Line<'static>> {
        let columns = usize::from(width).saturating_sub(4);
        let mut summary = Summary { view: self, columns, lines: Vec::new() };
        match &self.outcomes.source {
            Source::Races(races) => races::summarize(races, &mut summary),
            Source::Exploration(exploration) => exploration::summarize(exploration, &mut summary),
        }
        summary.lines
    }
}

/// The lines above the outcomes, as they are written.
struct Summary<'a> {
    view: &'a OutcomesView<'a>,
    columns: usize,
    lines: Vec<Line<'static>>,
}

impl Summary<'_> {
    fn say(&mut self, words: &str, role: Role) {
        let lines = paragraph::plain(words, self.columns, self.view.style(role));
        self.lines.extend(paragraph::hang(Span::raw("  "), lines));
    }

    /// A bar of which some cells are full, how many runs, how fast.
    fn bar(&mut self, (full, cells): (usize, usize), count: &str, pace: Option<String>) {
        let style = |role| self.view.style(role);
        let mut spans = vec![
            Span::raw("  "),
            Span::styled(glyphs::BAR_DONE.repeat(full), style(Role::Good)),
            Span::styled(glyphs::BAR_LEFT.repeat(cells - full), style(Role::Chrome)),
            Span::styled(format!("  {count}"), style(Role::Fresh)),
        ];
        spans.extend(pace.map(|pace| Span::styled(format!("  {pace}"), style(Role::Chrome))));
        self.lines.push(Line::from(spans));
    }
}

/// The first line in sight of a list in which one is chosen: that one stays there, with one before and one after it.
fn first_in_sight(chosen: usize, count: usize, height: u16) -> usize {
    let height = usize::from(height);
    (chosen + 2).saturating_sub(height).min(count.saturating_sub(height))
}
