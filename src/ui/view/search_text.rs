//! Texts with their matching letters highlighted, and the search field.

use super::prelude::*;

const PROMPT_COLUMNS: u16 = 3;

/// A text in at most `columns` columns, with its matching characters highlighted and, if it is cut, visible.
pub fn marked(
    words: &str,
    marks: &[usize],
    columns: usize,
    style: Style,
    theme: Theme,
) -> Vec<Span<'static>> {
    let words = text::clean(words);
    let chars: Vec<char> = words.chars().collect();
    let wide = |from: usize, to: usize| text::width(&chars[from..to].iter().collect::<String>());
    let mut start = 0;
    if let (Some(first), Some(last)) = (marks.first(), marks.last())
        && wide(0, chars.len()) > columns
    {
        // Includes as much before the first match as leaves the last one visible, with `…` at both ends.
        let end = (*last + 1).min(chars.len());
        let first = (*first).min(end);
        let fits = |start: &usize| usize::from(*start > 0) + wide(*start, end) < columns;
        start = (0..first).find(fits).unwrap_or(first);
    }
    let mut spans = Vec::new();
    let mut room = columns;
    if start > 0 {
        spans.push(Span::styled("…", style));
        room = room.saturating_sub(1);
    }
    let shown: String = chars[start..].iter().collect();
    let shown = text::fit(&shown, room);
    let is_lit = |at: usize, c: char| marks.binary_search(&at).is_ok() && chars.get(at) == Some(&c);
    let shown: Vec<(char, bool)> = (start..).zip(shown.chars()).map(|(at, c)| (c, is_lit(at, c))).collect();
    for run in shown.chunk_by(|(_, one), (_, next)| one == next) {
        let words: String = run.iter().map(|(c, _)| c).collect();
        spans.push(Span::styled(words, if run[0].1 { lit_up(style, theme) } else { style }));
    }
    spans
}

/// Assigns the matches of a text to the rows into which it was wrapped. Spaces at the ends of rows are gone.
pub fn by_row(words: &str, rows: &[String], marks: &[usize]) -> Vec<Vec<usize>> {
    let mut chars = words.chars().enumerate();
    let row = |row: &String| {
        let places = row.chars().enumerate();
        let marked = places.filter_map(|(at, c)| {
            let (was, _) = chars.find(|(_, char)| *char == c)?;
            marks.binary_search(&was).is_ok().then_some(at)
        });
        marked.collect()
    };
    rows.iter().map(row).collect()
}

/// Both colour and underline, because on the background of a selected line the colour alone would not be visible.
fn lit_up(style: Style, theme: Theme) -> Style {
    let lit = style.add_modifier(Modifier::UNDERLINED | Modifier::BOLD);
    match (style.bg, theme.style(Role::Fresh).fg) {
        (None, Some(ink)) => lit.fg(ink),
        _ => lit,
    }
}

/// Draws the text field: a sign, the end of the text that fits, and a word at its right.
pub fn field(typed: &str, sign: &str, beside: &str, theme: Theme, area: Rect, buf: &mut Buffer) {
    let (shown, room) = (tail(typed, area, beside), area.width);
    buf.set_stringn(area.x + 1, area.y, sign, 1, theme.style(Role::Accent));
    buf.set_stringn(area.x + PROMPT_COLUMNS, area.y, &shown, room.into(), theme.style(Role::Text));
    let columns = u16::try_from(text::width(beside)).unwrap_or(room).min(room);
    let at = area.right() - columns;
    buf.set_stringn(at, area.y, beside, columns.into(), theme.style(Role::Chrome));
    // The cursor is also drawn, because not every terminal shows its own.
    if let Some(cell) = buf.cell_mut(cursor(typed, beside, area)) {
        cell.modifier |= Modifier::REVERSED;
    }
}

pub fn cursor(typed: &str, beside: &str, area: Rect) -> Position {
    let columns = u16::try_from(text::width(&tail(typed, area, beside))).unwrap_or(0);
    Position::new(area.x + PROMPT_COLUMNS + columns, area.y)
}

/// The end of the typed text that fits, leaving room for the cursor.
fn tail(typed: &str, area: Rect, beside: &str) -> String {
    let room = usize::from(area.width.saturating_sub(PROMPT_COLUMNS + 2)).saturating_sub(text::width(beside));
    let clean = text::clean(typed);
    if text::width(&clean) <= room {
        return clean.into_owned();
    }
    let mut chars: Vec<char> = clean.chars().collect();
    while !chars.is_empty() && text::width(&chars.iter().collect::<String>()) + 1 > room {
        chars.remove(0);
    }
    format!("…{}", chars.iter().collect::<String>())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use ratatui::style::{Modifier, Style};

    use super::{by_row, marked};
    use crate::ui::theme::Theme;
    use crate::ui::theme::text::{width, wrap};

    fn lit(words: &str, marks: &[usize], columns: usize) -> (String, String) {
        let spans = marked(words, marks, columns, Style::new(), Theme::default());
        let all = spans.iter().map(|span| span.content.as_ref()).collect();
        let lit = spans.iter().filter(|span| span.style.add_modifier.contains(Modifier::UNDERLINED));
        (all, lit.map(|span| span.content.as_ref()).collect())
    }

    #[test]
    fn matches_are_highlighted_and_visible() {
        assert_eq!(lit("误删别人的锁", &[0, 5], 20), ("误删别人的锁".into(), "误锁".into()));
        assert_eq!(lit("the lock", &[], 20).1, "");
        let (all, marks) = lit("A takes the lock and keeps it for ever and a day", &[39, 40, 41], 12);
        assert_eq!((all.as_str(), marks.as_str()), ("…r ever and…", "and"));
    }

    #[test]
    fn marks_move_to_the_next_row_with_their_words() {
        let title = "Unlocking someone else's lock";
        let rows = wrap(title, 17);
        assert_eq!(rows, ["Unlocking someone", "else's lock"]);
        assert_eq!(by_row(title, &rows, &[0, 10, 18, 25]), [vec![0, 10], vec![0, 7]]);
    }

    proptest! {
        #[test]
        fn no_text_is_too_wide(words in any::<String>(), marks in proptest::collection::btree_set(0usize..40, 0..4), columns in 2usize..30) {
            let marks: Vec<usize> = marks.into_iter().collect();
            prop_assert!(width(&lit(&words, &marks, columns).0) <= columns);
        }
    }
}
