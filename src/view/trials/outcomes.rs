//! The histogram: a row for each outcome with its bar, how often it was seen, and the first seed that led to it. It
//! must not know how outcomes are read off a race.

use ratatui::{
    buffer::Buffer,
    layout::Rect,
    text::{Line, Span},
    widgets::Widget,
};

use super::{TrialsView, first_in_sight, percent};
use crate::{
    lesson::Lang,
    race::Outcome,
    view::{
        text,
        theme::{Role, glyphs},
        words,
    },
};

/// The shortest bar worth drawing.
const BAR: usize = 6;
/// What a bar is made of.
const CELL: &str = "█";

/// An outcome in words.
pub fn words_of(outcome: &Outcome, lang: Lang) -> String {
    let locks = outcome.locks.iter();
    let locks = locks.map(|(lock, fate)| words::fate(*fate).with(lang, &[lock]));
    let counters = outcome.counters.iter();
    let counters = counters.map(|(counter, count)| words::COUNTED.with(lang, &[counter, &count.to_string()]));
    let values = outcome.values.iter();
    let values = values.map(|(key, value)| format!("{key} = {}", value.as_deref().unwrap_or("nil")));
    let unfinished =
        (outcome.unfinished > 0).then(|| words::UNFINISHED.with(lang, &[&outcome.unfinished.to_string()]));
    let parts: Vec<String> = locks.chain(counters).chain(values).chain(unfinished).collect();
    if parts.is_empty() {
        return words::ALL_FINISHED.get(lang).to_owned();
    }
    parts.join(words::AND.get(lang))
}

/// A row of the histogram.
struct Row<'a> {
    outcome: &'a Outcome,
    count: u64,
    words: String,
    percent: String,
    seed: String,
    chosen: bool,
}

fn rows<'a>(view: &TrialsView<'a>) -> Vec<Row<'a>> {
    let kept = view.trials.kept();
    let chosen = view.trials.chosen().map(|(outcome, _)| outcome);
    let outcomes = kept.outcomes().into_iter();
    let row = |(outcome, kind): (&'a Outcome, &crate::race::Kind)| {
        let first = kind.numbers().first().copied().unwrap_or(0);
        Row {
            outcome,
            count: kind.count(),
            words: text::clean(&words_of(outcome, view.lang)).into_owned(),
            percent: percent(kind.count(), kept.races()),
            seed: words::SEED.with(view.lang, &[&view.trials.seed(first).to_string()]),
            chosen: Some(outcome) == chosen,
        }
    };
    outcomes.map(row).collect()
}

/// The first row in sight.
fn start(rows: &[Row<'_>], height: u16) -> usize {
    let chosen = rows.iter().position(|row| row.chosen).unwrap_or(0);
    first_in_sight(chosen, rows.len(), height)
}

/// The outcome on a row of the screen, by its place.
pub(super) fn at(view: &TrialsView<'_>, area: Rect, y: u16) -> Option<usize> {
    let inner = view.theme.pane(true).inner(area);
    let rows = rows(view);
    let place = start(&rows, inner.height) + usize::from(y.checked_sub(inner.y)?);
    (y < inner.bottom() && place < rows.len()).then_some(place)
}

/// Draws the histogram.
pub(super) fn draw(view: &TrialsView<'_>, area: Rect, buf: &mut Buffer) {
    let focused = view.trials.chosen_race().is_none();
    let role = if focused { Role::Accent } else { Role::Chrome };
    let rows = rows(view);
    let title = format!(" {} ", words::OUTCOMES.get(view.lang));
    let block = view
        .theme
        .pane(focused)
        .title(Span::styled(title, view.style(role)));
    let inner = block.inner(area);
    block.render(area, buf);
    if rows.is_empty() {
        let words = format!(" {}", words::NOTHING_YET.get(view.lang));
        buf.set_stringn(
            inner.x,
            inner.y,
            words,
            inner.width.into(),
            view.style(Role::Chrome),
        );
        return;
    }
    let columns = Columns::of(&rows, inner.width.into());
    let from = start(&rows, inner.height);
    for (y, row) in (inner.top()..inner.bottom()).zip(rows.iter().skip(from)) {
        buf.set_line(inner.x, y, &line(view, row, &columns), inner.width);
        if row.chosen && focused {
            // The bar keeps its colour.
            let words = u16::try_from(columns.words + 5).unwrap_or(inner.width);
            let named = Rect::new(inner.x, y, words.min(inner.width), 1);
            view.theme.choose(named, buf);
        }
    }
}

/// How wide everything is, the same for all rows.
struct Columns {
    words: usize,
    bar: usize,
    count: usize,
    percent: usize,
    seed: usize,
    most: u64,
}

impl Columns {
    fn of(rows: &[Row<'_>], width: usize) -> Self {
        let widest = |column: &dyn Fn(&Row<'_>) -> usize| rows.iter().map(column).max().unwrap_or(0);
        let count = widest(&|row| row.count.to_string().len());
        let percent = widest(&|row| row.percent.len());
        let seed = widest(&|row| text::width(&row.seed));
        // Mark and glyph before, gaps between, one column after.
        let fixed = 4 + 2 + count + 2 + percent + 1;
        let wanted = widest(&|row| text::width(&row.words));
        let room = width.saturating_sub(fixed);
        // Where there is too little room the seed goes first; the races below tell it, too.
        let seed = if room >= wanted.min(width / 2) + 2 + BAR + 2 + seed {
            seed
        } else {
            0
        };
        let room = room.saturating_sub(if seed > 0 { seed + 2 } else { 0 });
        let words = wanted.min(room.saturating_sub(BAR + 2));
        Self {
            words,
            bar: room.saturating_sub(words + 2),
            count,
            percent,
            seed,
            most: rows.iter().map(|row| row.count).max().unwrap_or(1),
        }
    }
}

fn line(view: &TrialsView<'_>, row: &Row<'_>, columns: &Columns) -> Line<'static> {
    let broke = row.outcome.is_violated();
    let (glyph, role) = if broke {
        (glyphs::CUT, Role::Danger)
    } else {
        (" ", Role::Text)
    };
    let cells = u128::from(row.count) * columns.bar as u128;
    let cells = usize::try_from(cells.div_ceil(u128::from(columns.most.max(1)))).unwrap_or(0);
    let bar = if broke { Role::Danger } else { Role::Accent };
    let mark = if row.chosen { "▸" } else { " " };
    let mut spans = vec![
        Span::styled(format!("{mark} "), view.style(Role::Accent)),
        Span::styled(format!("{glyph} "), view.style(role)),
        Span::styled(text::pad(&row.words, columns.words), view.style(role)),
        Span::raw("  "),
        Span::styled(text::pad(&CELL.repeat(cells), columns.bar), view.style(bar)),
        Span::styled(
            format!("  {:>1$}", row.count, columns.count),
            view.style(Role::Text),
        ),
        Span::styled(
            format!("  {:>1$}", row.percent, columns.percent),
            view.style(Role::Chrome),
        ),
    ];
    if columns.seed > 0 {
        let seed = text::pad(&row.seed, columns.seed);
        spans.push(Span::styled(format!("  {seed}"), view.style(Role::Chrome)));
    }
    Line::from(spans)
}
