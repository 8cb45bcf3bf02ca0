//! The screen of all orders of a variant's moves: how far the search is, what was found, the shortest order that goes
//! wrong. It divides the screen and must not know how an order is tried.

use ratatui::{
    buffer::Buffer,
    layout::Rect,
    style::{Modifier, Style},
    text::{Line, Span},
    widgets::Widget,
};

use super::{
    narration, strip,
    trials::{
        histogram::{self, Row, grouped, percent, words_of},
        layout::{Areas, BAR},
    },
};
use crate::ui::{
    theme::{Role, Theme, glyphs, text, time},
    words,
};
use crate::{
    run::explore::{Explored, Failing},
    text::Lang,
    ui::{
        keys::{KeyMap, Place},
        state::{
            catalogue::CatalogueEntry,
            exploration::{Exploration, Search as Exploring},
        },
    },
};

/// Rows of the shortest order below the outcomes, with its frame.
const BELOW: u16 = 7;

/// What the screen shows.
#[derive(Debug, Clone, Copy)]
pub struct OrdersView<'a> {
    /// The lesson.
    pub entry: &'a CatalogueEntry,
    pub variant: usize,
    /// The search.
    pub exploration: &'a Exploration,
    pub keys: &'a KeyMap,
    /// Colours.
    pub theme: Theme,
    pub lang: Lang,
}

impl OrdersView<'_> {
    fn style(&self, role: Role) -> Style {
        self.theme.style(role)
    }

    fn areas(&self, area: Rect) -> Areas {
        let summary = self.summary(area.width).len();
        Areas::of(area, (summary, self.rows().len()), BELOW)
    }

    /// The outcome at a place of the screen.
    pub fn outcome_at(&self, area: Rect, at: (u16, u16)) -> Option<usize> {
        let area = self.areas(area).outcomes;
        let inside = area.contains(at.into());
        inside.then(|| histogram::at(&self.rows(), self.theme, area, at.1)).flatten()
    }

    fn rows(&self) -> Vec<Row> {
        let Some(found) = self.exploration.found() else {
            return Vec::new();
        };
        let outcomes = &found.explored.outcomes;
        let all = outcomes.iter().map(|seen| seen.orders).sum();
        let rows = outcomes.iter().enumerate().map(|(n, seen)| Row {
            broke: seen.violates,
            count: seen.orders,
            words: text::clean(&words_of(&seen.outcome, self.lang)).into_owned(),
            percent: percent(seen.orders, all),
            beside: String::new(),
            chosen: n == self.exploration.chosen(),
        });
        rows.collect()
    }

    pub(crate) fn draw(&self, area: Rect, buf: &mut Buffer) {
        let areas = self.areas(area);
        self.draw_header(areas.header, buf);
        let summary = self.summary(area.width);
        for (y, line) in (areas.summary.top()..areas.summary.bottom()).zip(&summary) {
            buf.set_line(areas.summary.x, y, line, areas.summary.width);
        }
        histogram::draw(&self.rows(), (self.theme, self.lang), (true, self.nothing()), areas.outcomes, buf);
        self.draw_shortest(areas.details, buf);
        let width = areas.hints.width;
        let hints = strip::hints(self.keys, Place::Orders, self.lang, self.theme, width);
        buf.set_line(areas.hints.x, areas.hints.y, &hints, width);
    }

    fn draw_header(&self, area: Rect, buf: &mut Buffer) {
        let (glyph, words, role) = match self.exploration.search() {
            Exploring::Booting => ("   ", words::BOOTING, Role::Warning),
            Exploring::Searching => (" ▶ ", words::SEARCHING, Role::Good),
            Exploring::Stopping => (" ▮▮", words::STOPPING, Role::Warning),
            Exploring::Found(found) if found.explored.complete => (" ✓ ", words::SEARCHED, Role::Good),
            Exploring::Found(_) => (" ▮▮", words::STOPPED, Role::Warning),
            Exploring::Failed { .. } => (" ✗ ", words::RACES_FAILED, Role::Danger),
        };
        let right = Line::styled(
            format!(" {} ", words.get(self.lang)),
            self.style(role).remove_modifier(Modifier::BOLD),
        );
        let taken = u16::try_from(right.width()).unwrap_or(area.width).min(area.width);
        let what = format!(" · {}", words::EVERY_ORDER.get(self.lang));
        let variants = &self.entry.variants;
        let count = format!(" {}/{}", self.variant + 1, variants.len());
        let room = usize::from(area.width - taken);
        let room = room.saturating_sub(5 + text::width(&what) + text::width(&count));
        let variant = variants.get(self.variant).map_or("", |variant| variant.title.get(self.lang));
        // The title gives way first: the variant is what is explored.
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

    /// How far the search is, how many orders go wrong, and what is searched.
    fn summary(&self, width: u16) -> Vec<Line<'static>> {
        let columns = usize::from(width).saturating_sub(4);
        let mut lines = Vec::new();
        let mut tell = |words: &str, role: Role| {
            let rows = text::wrap(words, columns).into_iter();
            lines.extend(rows.map(|row| Line::styled(format!("  {row}"), self.style(role))));
        };
        if let Exploring::Failed { message, server } = self.exploration.search() {
            let title = if *server { words::LAB_FAILED } else { words::NOT_EXPLORED };
            tell(&format!("✗ {}", title.get(self.lang)), Role::Danger);
            tell(message.get(self.lang), Role::Text);
        } else {
            let (violations, role) = self.violations();
            tell(&violations, role);
            for (orders, says) in self.broken() {
                let words = words::ORDERS_BROKE.with(self.lang, &[&grouped(orders), says]);
                tell(&format!("  {words}"), Role::Text);
            }
        }
        if let Some(cut) = self.explored().map(|found| found.cut).filter(|cut| *cut > 0) {
            let moves = self.exploration.wanted().moves.to_string();
            let longer = self.keys.label("more-moves");
            let words = words::CUT_ORDERS.with(self.lang, &[&grouped(cut), &moves, &longer]);
            tell(&words, Role::Warning);
        }
        tell(&self.wanted(), Role::Chrome);
        if !matches!(self.exploration.search(), Exploring::Failed { .. }) {
            lines.insert(0, self.progress(columns));
        }
        lines
    }

    /// A bar, how many were tried and left out, how many there are about, how fast, how long still.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "a share from 0 to 1 of a few columns, and figures for people to read"
    )]
    fn progress(&self, columns: usize) -> Line<'static> {
        let progress = self.exploration.progress();
        let found = self.explored();
        let over = found.is_some_and(|found| found.complete);
        let share = if over { 1.0 } else { progress.done.clamp(0.0, 1.0) };
        let cells = BAR.min(columns / 4);
        let full = ((share * cells as f64) as usize).min(cells);
        let (tried, pruned) =
            found.map_or((progress.tried, progress.pruned), |found| (found.tried, found.pruned));
        let count = words::TRIED.with(self.lang, &[&grouped(tried.into()), &grouped(pruned)]);
        let pace = match found {
            Some(found) => {
                let spent = found.searching;
                let rate = found.tried as f64 / spent.as_secs_f64().max(0.001);
                let rate = time::rate(Some(rate));
                words::RATE_AND_TIME.with(self.lang, &[&rate, &time::stretch(spent)])
            }
            None if tried == 0 => String::new(),
            None => words::OF_ABOUT.with(
                self.lang,
                &[
                    &grouped(progress.total() as u128),
                    &time::rate(Some(progress.rate())),
                    &time::left(progress.left()),
                ],
            ),
        };
        Line::from(vec![
            Span::raw("  "),
            Span::styled(glyphs::BAR_DONE.repeat(full), self.style(Role::Good)),
            Span::styled(glyphs::BAR_LEFT.repeat(cells - full), self.style(Role::Chrome)),
            Span::styled(format!("  {count}"), self.style(Role::Fresh)),
            Span::styled(format!("  {pace}"), self.style(Role::Chrome)),
        ])
    }

    fn explored(&self) -> Option<&Explored> {
        self.exploration.found().map(|found| &found.explored)
    }

    /// What was broken: by how many orders, and what that means.
    fn broken(&self) -> Vec<(u128, &str)> {
        let Some(found) = self.exploration.found() else {
            return Vec::new();
        };
        let says = |name: &'_ String| {
            let known = found.invariants.iter().find(|invariant| invariant.name == *name);
            known.map(|invariant| invariant.says.get(self.lang))
        };
        let broken = found.explored.broken.iter();
        broken.map(|(name, orders)| (*orders, says(name).unwrap_or(name))).collect()
    }

    /// How many orders go wrong, in words.
    fn violations(&self) -> (String, Role) {
        let found = self.explored();
        let violations = found.map_or(self.exploration.progress().violations, |found| found.violations);
        if violations > 0 {
            let words = words::GO_WRONG.with(self.lang, &[&grouped(violations)]);
            return (format!("{} {words}", glyphs::CUT), Role::Danger);
        }
        match found {
            Some(found) if found.complete => {
                let words = words::NONE_GOES_WRONG.get(self.lang);
                // What was not seen to its end is not known to be right.
                let role = if found.cut == 0 { Role::Good } else { Role::Warning };
                (format!("{} {words}", glyphs::DONE), role)
            }
            _ => (words::NONE_SO_FAR.get(self.lang).to_owned(), Role::Chrome),
        }
    }

    /// What is searched, and how that is changed.
    fn wanted(&self) -> String {
        let wanted = self.exploration.wanted();
        let fault = match wanted.fault {
            None => words::NO_FAULT,
            Some(Failing::Crash) => words::ONE_CRASH,
            Some(Failing::Freeze) => words::ONE_FREEZE,
        };
        let prune = if wanted.prune { words::PRUNED } else { words::NOT_PRUNED };
        words::WITHIN
            .with(self.lang, &[&wanted.moves.to_string(), fault.get(self.lang), prune.get(self.lang)])
    }

    /// What is said where nothing is known.
    fn nothing(&self) -> words::Words {
        match self.exploration.search() {
            Exploring::Searching | Exploring::Stopping => words::TOLD_AT_THE_END,
            _ => words::NOTHING_YET,
        }
    }

    fn draw_shortest(&self, area: Rect, buf: &mut Buffer) {
        if area.height < 2 || area.width < 4 {
            return;
        }
        let title = format!(" {} ", words::SHORTEST.get(self.lang));
        let block = self.theme.pane(false).title(Span::styled(title, self.style(Role::Chrome)));
        let inner = block.inner(area);
        block.render(area, buf);
        let inner = Rect { x: inner.x + 1, width: inner.width.saturating_sub(2), ..inner };
        let found = self.explored();
        let shortest = found.and_then(|found| found.shortest.as_ref());
        let (words, role) = match (shortest, found) {
            (Some(shortest), _) => (shortest.moves.join(" → "), Role::Danger),
            (None, None) => (self.nothing().get(self.lang).to_owned(), Role::Chrome),
            (None, Some(_)) => (words::NO_ORDER.get(self.lang).to_owned(), Role::Chrome),
        };
        let rows = text::wrap(&words, inner.width.into()).into_iter();
        let mut lines: Vec<Line<'_>> = rows.map(|row| Line::styled(row, self.style(role))).collect();
        if let Some(why) = self.exploration.found().and_then(|found| found.why.as_ref()) {
            lines.push(Line::default());
            let rows = text::wrap(why.get(self.lang), inner.width.into()).into_iter();
            lines.extend(rows.map(|row| Line::styled(row, self.style(Role::Text))));
        }
        narration::draw(&lines, 0, (self.theme, words::MORE.get(self.lang)), inner, buf);
    }
}
