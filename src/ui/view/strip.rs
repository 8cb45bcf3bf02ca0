//! The bottom line: which keys do what, from the table of actions.

use ratatui::text::{Line, Span};

use crate::ui::theme::{Role, Theme, text};
use crate::{
    text::{Lang, Words},
    ui::keys::{Hint, KeyMap, Place, TABLE},
};

/// As many hints for a place as fit, the most needed first. What has no key is left out.
pub fn hints(keys: &KeyMap, place: Place, lang: Lang, theme: Theme, width: u16) -> Line<'static> {
    hints_but(keys, place, &[], (lang, theme), width)
}

/// The same without some actions, by name: what would do nothing now.
pub fn hints_but(
    keys: &KeyMap,
    place: Place,
    idle: &[&str],
    (lang, theme): (Lang, Theme),
    width: u16,
) -> Line<'static> {
    let mut hints: Vec<(u8, usize, &Hint)> = Vec::new();
    for (n, row) in TABLE.iter().enumerate().filter(|(_, row)| !idle.contains(&row.id)) {
        let here = row.hints.iter().filter(|hint| hint.place == place);
        hints.extend(here.map(|hint| (hint.rank, n, hint)));
    }
    hints.sort_by_key(|(rank, n, _)| (*rank, *n));
    let named = hints.into_iter().filter_map(|(_, n, hint)| {
        let rows = n..=n + usize::from(hint.pair);
        let labels = rows.map(|n| keys.keys(n).first().map(|chord| chord.label()));
        Some((joined(&labels.collect::<Option<Vec<_>>>()?), hint.words))
    });
    line(named, lang, theme, width)
}

/// These actions, by name, with words of their own.
pub fn named(
    keys: &KeyMap,
    hints: &[(&[&str], Words)],
    (lang, theme): (Lang, Theme),
    width: u16,
) -> Line<'static> {
    let named = hints.iter().map(|(ids, words)| {
        let labels: Vec<String> = ids.iter().map(|id| keys.label(id)).collect();
        (joined(&labels), *words)
    });
    line(named, lang, theme, width)
}

/// Keys side by side: arrows and signs touch, words do not.
fn joined(labels: &[String]) -> String {
    let short = labels.iter().all(|label| text::width(label) == 1);
    labels.join(if short { "" } else { " " })
}

fn line(hints: impl Iterator<Item = (String, Words)>, lang: Lang, theme: Theme, width: u16) -> Line<'static> {
    let mut left = usize::from(width);
    let mut spans = Vec::new();
    for (key, what) in hints {
        let what = what.get(lang);
        let needs = text::width(&key) + text::width(what) + 3;
        if needs > left {
            break;
        }
        left -= needs;
        spans.push(Span::styled(format!(" {key}"), theme.style(Role::Code)));
        spans.push(Span::styled(format!(" {what} "), theme.style(Role::Chrome)));
    }
    Line::from(spans)
}
