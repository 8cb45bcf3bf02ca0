//! The screen of races and explorations of a variant: the progress, the outcomes, and beside them the races with the
//! selected outcome or the shortest order that goes wrong. It must not know how a run is made.

mod exploration;
mod growth;
pub(crate) mod histogram;
mod order;
mod races;
mod single;
mod walk;

pub use single::{SingleRace, SingleRun};

use histogram::{Row, percent, words_of};

use super::{header, key_hints, paragraph, prelude::*};
use crate::{
    clock::ClockKind,
    ui::{
        keys::KeyScope,
        state::{
            catalogue::CatalogueEntry,
            outcomes::{Exploration, Outcomes, Phase, Source},
        },
    },
};

/// The maximum length of a progress bar, in cells, and the minimum length beside which the pace is shown.
const BAR: usize = 30;
const SHORTEST_BAR: usize = 4;

/// Wider screens show the details beside the outcomes.
const WIDE: u16 = 130;
/// The minimum part of the outcomes that stays visible above the details: half, or five rows including their frame.
const HALF: MinRows = MinRows { share: 2, rows: 0 };
const FEWEST: MinRows = MinRows { share: u16::MAX, rows: 5 };
/// The number of outcomes for which room is reserved, so that the first ones do not move anything.
const FEW: usize = 6;

#[derive(Debug, Clone, Copy)]
pub struct OutcomesView<'a> {
    pub entry: &'a CatalogueEntry,
    pub variant: usize,
    pub outcomes: &'a Outcomes,
    pub context: Context<'a>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutcomesHit {
    Nothing,
    Outcome(usize),
    Race(usize),
}

impl OutcomesView<'_> {
    fn style(&self, role: Role) -> Style {
        self.context.theme.style(role)
    }

    pub(crate) fn place(&self) -> KeyScope {
        match &self.outcomes.source {
            Source::Races(_) => KeyScope::Races,
            Source::Exploration(Exploration { walk: Some(_), .. }) => KeyScope::States,
            Source::Exploration(_) => KeyScope::Exploration,
        }
    }

    fn areas(&self, area: Rect) -> Areas {
        let summary = self.summary(area.width).len();
        let below = match &self.outcomes.source {
            Source::Races(_) => (races::BELOW, HALF),
            Source::Exploration(exploration) => (exploration::rows(self, exploration, area), FEWEST),
        };
        Areas::of(area, (summary, self.outcomes.seen().len()), below)
    }

    pub fn hit(&self, area: Rect, at: (u16, u16)) -> OutcomesHit {
        if self.place() == KeyScope::States {
            return OutcomesHit::Nothing;
        }
        let areas = self.areas(area);
        let place = if areas.outcomes.contains(at.into()) {
            let list = histogram::list(&self.rows(), self.context.theme, areas.outcomes);
            list.at(at.1).map(OutcomesHit::Outcome)
        } else if areas.details.contains(at.into()) {
            races::list(self, areas.details).and_then(|list| list.at(at.1)).map(OutcomesHit::Race)
        } else {
            None
        };
        place.unwrap_or(OutcomesHit::Nothing)
    }

    pub(crate) fn draw(&self, area: Rect, buf: &mut Buffer) {
        let areas = self.areas(area);
        self.draw_header(areas.header, buf);
        if let Source::Exploration(exploration) = &self.outcomes.source
            && let (Some(graph), Some(walk)) = (exploration.graph(), &exploration.walk)
        {
            let body = Rect {
                y: areas.header.bottom(),
                height: areas.hints.y.saturating_sub(areas.header.bottom()),
                ..area
            };
            walk::draw(self, graph, walk, body, buf);
            key_hints::draw(self.context, self.place(), &[], areas.hints, buf);
            return;
        }
        let summary = self.summary(area.width);
        paragraph::draw(&summary, 0, areas.summary, buf);
        let nothing = match &self.outcomes.source {
            Source::Races(_) => words::NOTHING_YET,
            Source::Exploration(_) => exploration::nothing(self),
        };
        match &self.outcomes.source {
            Source::Exploration(Exploration { progress, found: None, .. }) if !progress.layers.is_empty() => {
                growth::draw(self, &progress.layers, areas.outcomes, buf);
            }
            _ => histogram::draw(self, nothing, areas.outcomes, buf),
        }
        match &self.outcomes.source {
            Source::Races(races) => races::draw(self, races, areas.details, buf),
            Source::Exploration(exploration) => exploration::draw(self, exploration, areas.details, buf),
        }
        // If nothing goes wrong, there is nothing to step through.
        let idle: &[&str] = match &self.outcomes.source {
            Source::Exploration(exploration) if exploration.breaking().is_none() => {
                &["open-order", "next-broken"]
            }
            _ => &[],
        };
        key_hints::draw(self.context, self.place(), idle, areas.hints, buf);
    }

    fn rows(&self) -> Vec<Row> {
        let (seen, chosen) = (self.outcomes.seen(), self.outcomes.chosen());
        let all = seen.iter().map(|seen| seen.runs).sum();
        let label = |number: u64| words::SEED.with(self.context.lang, &[&number.to_string()]);
        let rows = seen.iter().map(|seen| Row {
            broke: seen.violates,
            count: seen.runs,
            words: text::clean(&words_of(seen.outcome, self.outcomes.wording(), self.context.lang))
                .into_owned(),
            percent: percent(seen.runs, all),
            beside: seen.seed.map(label).unwrap_or_default(),
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
            Phase::Complete if self.outcomes.went_wrong() => (" ✗ ", Role::Danger),
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
        let doing = format!(" {} ", doing.get(self.context.lang));
        let mut right = vec![Span::styled(doing, self.style(role).remove_modifier(Modifier::BOLD))];
        let info = self.outcomes.races().and_then(|races| races.info.as_ref());
        if info.is_some_and(|info| info.clock == ClockKind::Wall) {
            let clock = format!(" {} ", words::WALL.get(self.context.lang));
            right.push(Span::styled(clock, self.style(Role::Warning)));
        }
        let title = header::Title {
            glyph: (glyph, role),
            entry: self.entry,
            variant: self.variant,
            what: Some(what.get(self.context.lang)),
            elsewhere: false,
            context: self.context,
        };
        header::draw_ends(|room| title.line(room), right, area, buf);
    }

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

    /// A progress bar, with the number of runs and the pace.
    fn bar(&mut self, (full, cells): (usize, usize), count: &str, pace: Option<String>) {
        let style = |role| self.view.style(role);
        // The figures take precedence: the bar is shortened, and if that is not enough, the pace is dropped.
        let taken =
            |pace: Option<&str>| text::width(count) + 2 + pace.map_or(0, |pace| text::width(pace) + 2);
        let pace = pace.filter(|pace| taken(Some(pace)) + SHORTEST_BAR <= self.columns);
        let room = cells.min(self.columns.saturating_sub(taken(pace.as_deref())));
        let (full, cells) = (full * room / cells.max(1), room);
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

/// The visible part of a framed list with a selection.
struct List {
    inner: Rect,
    from: usize,
    count: usize,
}

impl List {
    fn new(theme: Theme, area: Rect, chosen: Option<usize>, count: usize) -> Self {
        let inner = theme.pane(true).inner(area);
        Self { inner, from: paragraph::start((chosen.unwrap_or(0), 1), count, inner.height), count }
    }

    /// The index of the line at a row of the screen.
    fn at(&self, y: u16) -> Option<usize> {
        let place = self.from + usize::from(y.checked_sub(self.inner.y)?);
        (y < self.inner.bottom() && place < self.count).then_some(place)
    }
}

/// The minimum part of a body to keep: one of `share` parts, or `rows` rows.
#[derive(Debug, Clone, Copy)]
struct MinRows {
    share: u16,
    rows: u16,
}

#[derive(Debug, Clone, Copy)]
pub struct Areas {
    pub header: Rect,
    pub summary: Rect,
    pub outcomes: Rect,
    pub details: Rect,
    pub hints: Rect,
}

impl Areas {
    /// Divides the screen for that many lines of summary and that many outcomes. The details have at least `below` rows
    /// including their frame, unless they are beside the outcomes.
    fn of(area: Rect, (summary, outcomes): (usize, usize), (below, least): (u16, MinRows)) -> Self {
        let rows = |count: usize| u16::try_from(count).unwrap_or(u16::MAX);
        let [header, summary, body, hints] = Layout::vertical([
            Constraint::Length(1),
            Constraint::Length(rows(summary).min(area.height / 2)),
            Constraint::Min(1),
            Constraint::Length(1),
        ])
        .areas(area);
        let [outcomes, details] = if area.width >= WIDE {
            Layout::horizontal([Constraint::Percentage(66), Constraint::Min(1)]).areas(body)
        } else {
            // The histogram takes what it needs, and leaves some of the details visible.
            let least = (body.height / least.share).max(least.rows).min(body.height);
            let most = body.height.saturating_sub(below).max(least);
            let wanted = rows(outcomes.max(FEW) + 2).min(most);
            Layout::vertical([Constraint::Length(wanted), Constraint::Min(0)]).areas(body)
        };
        Self { header, summary, outcomes, details, hints }
    }
}
