//! The bottom line: hints for keys, from the table of actions.

use super::prelude::*;
use crate::{
    text::Words,
    ui::{
        keys::{Hint, KeyScope, TABLE},
        state::catalogue::CatalogueEntry,
    },
};

/// The names of the actions that are impossible in a lesson: one that plays only from its recording can be neither
/// raced nor explored.
pub fn idle_in(entry: &CatalogueEntry) -> &'static [&'static str] {
    if entry.recorded { &["race", "explore"] } else { &[] }
}

/// As many hints for a scope as fit, most important first, without actions that have no key or are in `idle`.
pub fn hints(context: Context<'_>, place: KeyScope, idle: &[&str], width: u16) -> Line<'static> {
    let mut hints: Vec<(u8, usize, &Hint)> = Vec::new();
    let other = context.lang.other();
    let is_idle =
        |id: &str| idle.contains(&id) || (id == "language" && context.theme.readable(other) != other);
    for (n, row) in TABLE.iter().enumerate().filter(|(_, row)| !is_idle(row.id)) {
        let here = row.hints.iter().filter(|hint| hint.place == place);
        hints.extend(here.map(|hint| (hint.rank, n, hint)));
    }
    hints.sort_by_key(|(rank, n, _)| (*rank, *n));
    let named = hints.into_iter().filter_map(|(_, n, hint)| {
        let rows = n..=n + usize::from(hint.pair);
        let labels = rows.map(|n| context.keys.keys(n).first().map(|chord| chord.label()));
        Some((joined(&labels.collect::<Option<Vec<_>>>()?), hint.words))
    });
    line(named, context, width)
}

pub fn draw(context: Context<'_>, place: KeyScope, idle: &[&str], area: Rect, buf: &mut Buffer) {
    buf.set_line(area.x, area.y, &hints(context, place, idle, area.width), area.width);
}

/// A sentence for a newcomer, with as many hints beside it as fit.
pub fn tell(
    context: Context<'_>,
    (place, idle): (KeyScope, &[&str]),
    words: &str,
    area: Rect,
    buf: &mut Buffer,
) {
    let words = format!(" {words} ");
    let (x, _) = buf.set_stringn(area.x, area.y, words, area.width.into(), context.theme.style(Role::Fresh));
    let rest = Rect { x, width: area.right().saturating_sub(x), ..area };
    draw(context, place, idle, rest, buf);
}

/// Hints for actions given by name, with texts of their own.
pub fn named(context: Context<'_>, hints: &[(&[&str], Words)], width: u16) -> Line<'static> {
    let named = hints.iter().map(|(ids, words)| {
        let labels: Vec<String> = ids.iter().map(|id| context.keys.label(id)).collect();
        (joined(&labels), *words)
    });
    line(named, context, width)
}

/// Joins key labels: arrows and signs touch; letters would read as a word and are separated.
fn joined(labels: &[String]) -> String {
    let short = labels.iter().all(|label| text::width(label) == 1);
    let letters = labels.iter().any(|label| label.chars().all(char::is_alphanumeric));
    labels.join(match (short, letters) {
        (true, true) => "/",
        (true, false) => "",
        (false, _) => " ",
    })
}

fn line(hints: impl Iterator<Item = (String, Words)>, context: Context<'_>, width: u16) -> Line<'static> {
    let mut left = usize::from(width);
    let mut spans = Vec::new();
    for (key, what) in hints {
        let what = what.get(context.lang);
        let needs = text::width(&key) + text::width(what) + 3;
        if needs > left {
            break;
        }
        left -= needs;
        spans.push(Span::styled(format!(" {key}"), context.theme.style(Role::Code)));
        spans.push(Span::styled(format!(" {what} "), context.theme.style(Role::Chrome)));
    }
    Line::from(spans)
}
