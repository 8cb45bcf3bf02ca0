//! The help: the keys of what has the focus, then the rest of the screen's, then how to read the lanes, then the other
//! screens' keys. All of them come from the table of actions.

use super::{
    overlay::{Page, Paragraph},
    prelude::*,
};
use crate::ui::keys::{KeyMap, Place, TABLE};

/// Columns of the keys.
const KEYS: usize = 18;

/// The page, on a screen where these places are live, the nearest first.
pub fn page<'a>(context: Context<'a>, places: &[Place]) -> Page<'a> {
    let mut listed = vec![false; TABLE.len()];
    let mut paragraphs = Vec::new();
    // Who is in free play takes no steps: how to read the lanes comes before those keys.
    let free = places.iter().position(|place| *place == Place::Free);
    let before = free.map_or(places.len(), |free| free + 1);
    for place in &places[..before] {
        paragraphs.extend(section(context, *place, &mut listed));
    }
    paragraphs.extend(legend(context));
    for place in &places[before..] {
        paragraphs.push(Paragraph::Gap);
        paragraphs.extend(section(context, *place, &mut listed));
        paragraphs.pop();
    }
    for place in Place::ALL {
        let others = section(context, place, &mut listed);
        if !others.is_empty() {
            paragraphs.push(Paragraph::Gap);
            paragraphs.extend(others);
            paragraphs.pop();
        }
    }
    Page { title: words::HELP.get(context.lang).to_owned(), paragraphs, context }
}

/// A place's actions that were not told of yet: a heading, a row for each, a gap. Nothing where there are none.
fn section(context: Context<'_>, place: Place, listed: &mut [bool]) -> Vec<Paragraph> {
    let Context { keys, theme, lang } = context;
    let mut rows = Vec::new();
    let mut n = 0;
    while let Some(row) = TABLE.get(n) {
        let (more, words) = row.fold.unwrap_or((0, row.name));
        if row.places.contains(&place) && !listed[n] {
            listed[n..=n + more].fill(true);
            rows.push(Paragraph::Row(
                (labels(keys, n, more), theme.style(Role::Code)),
                KEYS,
                words.get(lang).to_owned(),
            ));
        }
        n += 1 + more;
    }
    if rows.is_empty() {
        return rows;
    }
    let title = words::place(place).get(lang).to_owned();
    let heading = Paragraph::Words(title, 0, theme.style(Role::Accent));
    [heading].into_iter().chain(rows).chain([Paragraph::Gap]).collect()
}

/// The keys of a row and of so many after it: all of them where there is room, else the first of each.
fn labels(keys: &KeyMap, row: usize, more: usize) -> String {
    let labels = |most: usize| {
        let rows = (row..=row + more).flat_map(|n| keys.keys(n).iter().take(most));
        rows.map(|chord| chord.label()).collect::<Vec<_>>().join(" ")
    };
    let fitting = (1..=4).rev().map(labels).find(|labels| text::width(labels) < KEYS);
    match fitting.unwrap_or_else(|| labels(1)) {
        none if none.is_empty() => format!(":{}", TABLE[row].id),
        labels => labels,
    }
}

fn legend(Context { theme, lang, .. }: Context<'_>) -> Vec<Paragraph> {
    let title = words::LEGEND.get(lang).to_owned();
    let mut paragraphs = vec![Paragraph::Words(title, 0, theme.style(Role::Accent))];
    for (glyph, what) in words::LEGEND_ROWS {
        let (glyph, style) = match *glyph {
            glyphs::CLASH => theme.clash(),
            glyphs::KILLED => (glyphs::KILLED, theme.style(Role::Danger)),
            glyph => (glyph, theme.style(Role::Text)),
        };
        paragraphs.push(Paragraph::Row((glyph.to_owned(), style), KEYS, what.get(lang).to_owned()));
    }
    let axis = words::LEGEND_AXIS.get(lang).to_owned();
    paragraphs.push(Paragraph::Words(axis, 0, theme.style(Role::Chrome)));
    paragraphs
}
