//! A histogram of outcomes: for each a row with its bar, its count, its share, and a remark.

use super::{List, OutcomesView};
use crate::{
    log::{is_any, stands_for},
    run::race::{LockFate, Outcome, Wording},
    ui::view::{paragraph, prelude::*},
};

/// The minimum length of a bar.
const BAR: usize = 6;
const BAR_CELL: &str = "█";

/// An outcome in words: its figures, and what was broken in the lesson's words.
pub fn words_of(outcome: &Outcome, wording: &Wording, lang: Lang) -> String {
    let broken = wording.broken(outcome).map(|says| says.get(lang).trim_end_matches(['.', '。']).to_owned());
    // That a lock had too many holders is said already if that is an invariant.
    let locks = outcome.locks.iter().filter(|(lock, fate)| {
        **fate != LockFate::Violated
            || !outcome
                .broken
                .iter()
                .any(|never| never.strip_prefix("overlap: ").is_some_and(|known| stands_for(known, lock)))
    });
    let locks = locks.map(|(lock, fate)| {
        // A placeholder for all locks is used only if none of them was held.
        if is_any(lock) {
            return words::NO_LOCK_HELD.get(lang).to_owned();
        }
        let known = wording.locks.iter().find(|known| known.name == *lock);
        let title = known.and_then(|known| known.title.as_ref());
        words::fate(*fate).with(lang, &[title.map_or(lock, |title| title.get(lang))])
    });
    let counters = outcome.counters.iter().map(|(counter, count)| {
        let known = wording.counters.iter().find(|known| known.name == *counter);
        let name = known.map_or_else(|| words::label(counter, lang), |known| known.title.get(lang));
        words::counted(name, *count, lang)
    });
    let values = outcome.values.iter();
    let values = values.map(|(key, value)| match value {
        Some(value) => words::VALUE_IS.with(lang, &[key, value]),
        None => words::VALUE_GONE.with(lang, &[key]),
    });
    let unfinished =
        (outcome.unfinished > 0).then(|| words::UNFINISHED.with(lang, &[&outcome.unfinished.to_string()]));
    let figures: Vec<String> = locks.chain(counters).chain(values).chain(unfinished).collect();
    let figures = Some(figures.join(words::AND.get(lang))).filter(|figures| !figures.is_empty());
    let parts: Vec<String> = figures.into_iter().chain(broken).collect();
    if parts.is_empty() {
        return words::ALL_FINISHED.get(lang).to_owned();
    }
    parts.join(" · ")
}

/// A percentage: `41.2%`.
pub fn percent(part: u128, whole: u128) -> String {
    let tenths = (part.saturating_mul(2000) / whole.max(1)).div_ceil(2);
    // A share above zero is not shown as zero.
    if part > 0 && tenths == 0 { "<0.1%".to_owned() } else { format!("{}.{}%", tenths / 10, tenths % 10) }
}

/// A count with separators: `1,234,567`.
pub fn grouped(count: u128) -> String {
    let digits = count.to_string();
    let mut grouped = String::new();
    for (n, digit) in digits.chars().enumerate() {
        if n > 0 && (digits.len() - n).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

#[derive(Debug)]
pub struct Row {
    pub broke: bool,
    pub count: u128,
    pub words: String,
    pub percent: String,
    /// A remark that is shown if there is room.
    pub beside: String,
    pub chosen: bool,
}

pub(super) fn list(rows: &[Row], theme: Theme, area: Rect) -> List {
    List::new(theme, area, rows.iter().position(|row| row.chosen), rows.len())
}

/// Draws the histogram, or the text `nothing` if there are no rows.
pub(super) fn draw(view: &OutcomesView<'_>, nothing: words::Words, area: Rect, buf: &mut Buffer) {
    let (rows, Context { theme, lang, .. }) = (&view.rows(), view.context);
    let focused = view.outcomes.race.is_none();
    let inner = paragraph::pane(view.context, words::OUTCOMES.get(lang), focused, area, buf);
    if rows.is_empty() {
        let words = format!(" {}", nothing.get(lang));
        let style = theme.style(Role::Chrome);
        buf.set_stringn(inner.x, inner.y, words, inner.width.into(), style);
        return;
    }
    let columns = Columns::of(rows, inner.width.into());
    let from = list(rows, theme, area).from;
    for (y, row) in (inner.top()..inner.bottom()).zip(rows.iter().skip(from)) {
        buf.set_line(inner.x, y, &line(theme, row, &columns), inner.width);
        if row.chosen && focused {
            // The bar keeps its colour.
            let words = u16::try_from(columns.words + 5).unwrap_or(inner.width);
            let named = Rect::new(inner.x, y, words.min(inner.width), 1);
            theme.choose(named, buf);
        }
    }
}

/// The widths of the columns, the same for all rows.
struct Columns {
    words: usize,
    bar: usize,
    count: usize,
    percent: usize,
    beside: usize,
    most: u128,
}

impl Columns {
    fn of(rows: &[Row], width: usize) -> Self {
        let widest = |column: &dyn Fn(&Row) -> usize| rows.iter().map(column).max().unwrap_or(0);
        let count = widest(&|row| grouped(row.count).len());
        let percent = widest(&|row| row.percent.len());
        let beside = widest(&|row| text::width(&row.beside));
        // Mark and glyph before, gaps in between, one column after.
        let fixed = 4 + 2 + count + 2 + percent + 1;
        let wanted = widest(&|row| text::width(&row.words));
        let room = width.saturating_sub(fixed);
        // If space is short, the remark is dropped first.
        let fits = beside > 0 && room >= wanted.min(width / 2) + 2 + BAR + 2 + beside;
        let beside = if fits { beside } else { 0 };
        let room = room.saturating_sub(if fits { beside + 2 } else { 0 });
        let words = wanted.min(room.saturating_sub(BAR + 2));
        Self {
            words,
            bar: room.saturating_sub(words + 2),
            count,
            percent,
            beside,
            most: rows.iter().map(|row| row.count).max().unwrap_or(1),
        }
    }
}

fn line(theme: Theme, row: &Row, columns: &Columns) -> Line<'static> {
    let style = |role| theme.style(role);
    let (glyph, role) = if row.broke { (glyphs::CUT, Role::Danger) } else { (" ", Role::Text) };
    let cells = row.count.saturating_mul(columns.bar as u128);
    let cells = usize::try_from(cells.div_ceil(columns.most.max(1))).unwrap_or(0);
    let bar = if row.broke { Role::Danger } else { Role::Accent };
    let mark = if row.chosen { "▸" } else { " " };
    let mut spans = vec![
        Span::styled(format!("{mark} "), style(Role::Accent)),
        Span::styled(format!("{glyph} "), style(role)),
        Span::styled(text::pad(&row.words, columns.words), style(role)),
        Span::raw("  "),
        Span::styled(text::pad(&BAR_CELL.repeat(cells), columns.bar), style(bar)),
        Span::styled(format!("  {:>1$}", grouped(row.count), columns.count), style(Role::Text)),
        Span::styled(format!("  {:>1$}", row.percent, columns.percent), style(Role::Chrome)),
    ];
    if columns.beside > 0 {
        let beside = text::pad(&row.beside, columns.beside);
        spans.push(Span::styled(format!("  {beside}"), style(Role::Chrome)));
    }
    Line::from(spans)
}

#[cfg(test)]
mod tests {
    use super::{grouped, percent, words_of};
    use crate::{
        log::CounterInfo,
        run::race::{Invariant, LockFate, Outcome, Wording},
        text::{Lang, Text},
    };

    #[test]
    fn what_was_broken_is_said_in_the_lessons_words() {
        let invariant =
            |name: &str, en: &str, zh: &str| Invariant { name: name.into(), says: Text::new(en, zh) };
        let wording = Wording {
            invariants: vec![
                invariant("overlap: lock", "Two clients hold it.", "两个客户端同时持有。"),
                invariant("refused > 1", "Too many were turned away.", "拒绝太多。"),
            ],
            counters: vec![CounterInfo {
                name: "refused".into(),
                title: Text::new("turned away", "被拒订单"),
            }],
            ..Wording::none()
        };
        let outcome = |fate: LockFate, broken: &[&str]| Outcome {
            locks: [("lock".to_owned(), fate)].into(),
            counters: [("refused".to_owned(), 2)].into(),
            broken: broken.iter().map(|never| (*never).to_owned()).collect(),
            ..Outcome::default()
        };
        let both = |outcome: Outcome| [Lang::En, Lang::Zh].map(|lang| words_of(&outcome, &wording, lang));
        assert_eq!(
            both(outcome(LockFate::Violated, &["overlap: lock", "refused > 1"])),
            [
                "2 turned away · Two clients hold it · Too many were turned away",
                "被拒订单 2 · 两个客户端同时持有 · 拒绝太多"
            ]
        );
        // Where only the damage is an invariant, the lock is named all the same.
        assert_eq!(
            both(outcome(LockFate::Violated, &[])),
            ["lock had too many holders, 2 turned away", "lock 持有者过多，被拒订单 2"]
        );
    }

    #[test]
    fn counts_and_shares_can_be_read() {
        let counts = [0, 12, 999, 1_000, 12_345, 1_234_567].map(grouped);
        assert_eq!(counts, ["0", "12", "999", "1,000", "12,345", "1,234,567"]);
        let shares = [(0, 0), (5, 12), (1, 3), (1, 2_000), (1, 3_000), (7, 7)]
            .map(|(part, whole)| percent(part, whole));
        assert_eq!(shares, ["0.0%", "41.7%", "33.3%", "0.1%", "<0.1%", "100.0%"]);
    }
}
