//! The help: first the keys of the focused pane, then those of the rest of the screen, how to read the lanes and the
//! programs, and the other screens' keys. All keys come from the table of actions.

use super::paragraph::{hang, plain, prose};
use super::{overlay::Page, prelude::*};
use crate::ui::keys::{KeyMap, KeyScope, TABLE};

const KEYS: usize = 18;

/// The page for a screen with these active scopes, innermost first.
pub fn page(context: Context<'_>, scopes: &[KeyScope], width: usize) -> Page {
    let mut listed = vec![false; TABLE.len()];
    // Free play takes no steps: how to read the lanes comes before those keys.
    let free = scopes.iter().position(|place| *place == KeyScope::Free);
    let (before, after) = scopes.split_at(free.map_or(scopes.len(), |free| free + 1));
    let mut lines = Vec::new();
    for place in before {
        let section = section(context, *place, &mut listed, width);
        if !section.is_empty() {
            lines.extend(section);
            lines.push(Line::default());
        }
    }
    // The legend may begin several pages below the keys.
    let hint = words::LEGEND_BELOW.with(context.lang, &[&context.keys.label("page-down")]);
    lines.splice(
        ..0,
        [
            Line::styled(text::fit(&hint, width).into_owned(), context.theme.style(Role::Fresh)),
            Line::default(),
        ],
    );
    lines.extend(legend(context, width));
    for place in after.iter().copied().chain(KeyScope::ALL) {
        let section = section(context, place, &mut listed, width);
        if !section.is_empty() {
            lines.push(Line::default());
            lines.extend(section);
        }
    }
    Page { title: words::HELP.get(context.lang).to_owned(), lines }
}

fn row(first: &str, style: Style, words: &str, width: usize) -> Vec<Line<'static>> {
    let words = plain(words, width.saturating_sub(KEYS), Style::new());
    let gap = KEYS.saturating_sub(text::width(first)).max(1);
    let mut lines = hang(Span::raw(" ".repeat(KEYS)), words);
    // The background of a glyph is no wider than the glyph.
    if let Some(indent) = lines.first_mut().and_then(|line| line.spans.first_mut()) {
        *indent = Span::raw(" ".repeat(gap));
    }
    if let Some(line) = lines.first_mut() {
        line.spans.insert(0, Span::styled(first.to_owned(), style));
    }
    lines
}

/// The actions of a scope that were not listed yet: a heading, and a row for each. Empty if there are none.
fn section(context: Context<'_>, place: KeyScope, listed: &mut [bool], width: usize) -> Vec<Line<'static>> {
    let Context { keys, theme, lang } = context;
    let mut lines = Vec::new();
    let mut n = 0;
    while let Some(action) = TABLE.get(n) {
        let (more, words) = action.fold.unwrap_or((0, action.name));
        // A language that the terminal cannot show cannot be chosen.
        let other = lang.other();
        let is_idle = action.id == "language" && theme.readable(other) != other;
        if action.scopes.contains(&place) && !listed[n] && !is_idle {
            listed[n..=n + more].fill(true);
            lines.extend(row(&labels(keys, n, more), theme.style(Role::Code), words.get(lang), width));
        }
        n += 1 + more;
    }
    if !lines.is_empty() {
        lines.splice(..0, prose(words::place(place).get(lang), width, theme.style(Role::Accent), theme));
    }
    lines
}

/// The keys of a row and of the `more` rows after it: as many per row as fit, at least the first one.
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

fn legend(Context { theme, lang, .. }: Context<'_>, width: usize) -> Vec<Line<'static>> {
    let mut lines = prose(words::LEGEND.get(lang), width, theme.style(Role::Accent), theme);
    for (glyph, what) in words::LEGEND_ROWS {
        let (glyph, style) = match *glyph {
            glyphs::CLASHING => theme.clashing(theme.client(0)),
            glyphs::KILLED => (glyphs::KILLED, theme.style(Role::Danger)),
            glyph => (glyph, theme.style(Role::Text)),
        };
        lines.extend(row(glyph, style, what.get(lang), width));
    }
    lines.extend(prose(words::LEGEND_AXIS.get(lang), width, theme.style(Role::Chrome), theme));
    lines.push(Line::default());
    lines.extend(prose(words::PROGRAMS.get(lang), width, theme.style(Role::Accent), theme));
    for (sign, what) in words::PROGRAM_ROWS {
        lines.extend(row(sign, theme.style(Role::Text), what.get(lang), width));
    }
    lines
}
