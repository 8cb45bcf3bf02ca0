//! Fitting text into columns: measuring, cutting and wrapping text with double-width characters.

use std::borrow::Cow;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// A text on one line, without characters that move the cursor or have no width. Replies come from untrusted servers.
pub use crate::printable::line as clean;

/// The number of columns of a text.
pub fn width(text: &str) -> usize {
    // A fast path: almost all texts are printable ASCII, and each frame measures hundreds of them.
    let is_plain = text.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    if is_plain { text.len() } else { UnicodeWidthStr::width(text) }
}

/// The indivisible pieces of a text (a character and the marks that join it), each with its columns.
fn clusters(text: &str) -> impl Iterator<Item = (&str, usize)> {
    const JOINER: char = '\u{200d}';
    let mut rest = text;
    std::iter::from_fn(move || {
        let mut chars = rest.char_indices();
        let (_, mut before) = chars.next()?;
        let end = chars
            .find(|(_, c)| {
                let joined = before == JOINER || c.width().unwrap_or(0) == 0;
                before = *c;
                !joined
            })
            .map_or(rest.len(), |(at, _)| at);
        let (cluster, tail) = rest.split_at(end);
        rest = tail;
        Some((cluster, width(cluster)))
    })
}

/// Cuts a text to at most `max` columns, with `…` at the end of a cut text.
pub fn fit(text: &str, max: usize) -> Cow<'_, str> {
    fit_clean(clean(text), max)
}

fn fit_clean(text: Cow<'_, str>, max: usize) -> Cow<'_, str> {
    if width(&text) <= max {
        return text;
    }
    let Some(room) = max.checked_sub(1) else { return Cow::Borrowed("") };
    let mut taken = 0;
    let fitting = clusters(&text).take_while(|(_, columns)| {
        taken += columns;
        taken <= room
    });
    let mut cut: String = fitting.map(|(cluster, _)| cluster).collect();
    // A text that was cut before keeps its one ellipsis.
    cut.truncate(cut.trim_end_matches('…').len());
    cut.push('…');
    Cow::Owned(cut)
}

/// Cuts a text in its middle, because generated names often differ at their ends.
pub fn fit_middle(text: &str, max: usize) -> Cow<'_, str> {
    let text = clean(text);
    if width(&text) <= max || max < 3 {
        return fit_clean(text, max);
    }
    let mut end = String::new();
    for (cluster, _) in clusters(&text).collect::<Vec<_>>().into_iter().rev() {
        if width(&end) + width(cluster) > max / 2 {
            break;
        }
        end.insert_str(0, cluster);
    }
    let begin = fit_clean(text, max - width(&end));
    Cow::Owned(format!("{begin}{end}"))
}

/// The text in at most `max` columns, cut in the beginning that it shares with one of the others, so that the difference
/// stays visible.
pub fn fit_apart<'a>(text: &'a str, others: &[&str], max: usize) -> Cow<'a, str> {
    if width(&clean(text)) <= max {
        return clean(text);
    }
    let alike = |other: &&str| -> usize {
        text.chars()
            .zip(other.chars())
            .take_while(|(one, other)| one == other)
            .map(|(c, _)| c.len_utf8())
            .sum()
    };
    let alike = others.iter().filter(|other| **other != text).map(alike).max().unwrap_or(0);
    // A word whose beginning is shared is kept whole.
    let begin = text[..alike].rfind(|c: char| !c.is_alphanumeric()).map_or(0, |at| at + 1);
    let rest = text.get(begin..).unwrap_or(text);
    let Some(room) = max.checked_sub(width(&clean(rest)) + 1).filter(|room| *room > 0 && alike > 0) else {
        return fit_middle(text, max);
    };
    let begin = fit_clean(clean(text), room + 1);
    Cow::Owned(format!("{begin}{}", clean(rest)))
}

/// The common part of several texts, with `…` where they differ: `get /n-…` for `get /n-01` and `get /n-02`. A number
/// that differs is left out as a whole.
pub fn common<'a>(texts: impl IntoIterator<Item = &'a str>) -> Cow<'a, str> {
    let mut texts = texts.into_iter();
    let Some(first) = texts.next() else { return Cow::Borrowed("") };
    let length = |same: &mut dyn Iterator<Item = (char, char)>| -> usize {
        let same = same.take_while(|(one, other)| one == other);
        same.map(|(c, _)| c.len_utf8()).sum()
    };
    // The lengths in bytes of the common beginning and end so far.
    let (mut start, mut end) = (first.len(), first.len());
    let mut differ = false;
    for text in texts.filter(|text| *text != first) {
        differ = true;
        start = start.min(length(&mut first.chars().zip(text.chars())));
        end = end.min(length(&mut first.chars().rev().zip(text.chars().rev())));
    }
    if !differ {
        return Cow::Borrowed(first);
    }
    end = end.min(first.len() - start);
    let digit = |c: char| c.is_ascii_digit();
    let head = first[..start].trim_end_matches(digit);
    let tail = first[first.len() - end..].trim_start_matches(digit);
    Cow::Owned(format!("{head}…{tail}"))
}

/// Cuts a text to exactly `columns` columns, or fills it with spaces.
pub fn pad(text: &str, columns: usize) -> String {
    let fitted = fit(text, columns);
    let missing = columns.saturating_sub(width(&fitted));
    format!("{fitted}{}", " ".repeat(missing))
}

/// Characters that must not begin a line in Chinese typesetting.
const NOT_FIRST: &str = "，。、；：！？）】》」』”’…—～％,.;:!?)]}%";
/// Characters that must not end a line.
const NOT_LAST: &str = "（【《「『“‘([{";

/// Breaks a text into lines of at most `columns` columns: between words in scripts with spaces, between characters in
/// others, and if possible never before closing punctuation. Ideographs are kept together where that takes no more
/// lines. Line feeds break, too.
pub fn wrap(text: &str, columns: usize) -> Vec<String> {
    let paragraphs: Vec<_> = text.trim_end().split('\n').map(clean).collect();
    wrap_clean(&paragraphs.join("\n"), columns)
}

/// Like [`wrap`], for text that is already [`clean`].
pub fn wrap_clean(text: &str, columns: usize) -> Vec<String> {
    if columns == 0 {
        return Vec::new();
    }
    text.split('\n').flat_map(|line| wrap_line(line, columns, false)).collect()
}

/// Like [`wrap`], for code: the rest of a broken comment (`# …`) is a comment, too.
pub fn wrap_code(text: &str, columns: usize) -> Vec<String> {
    if columns == 0 {
        return Vec::new();
    }
    text.trim_end().split('\n').flat_map(|line| wrap_line(&clean(line), columns, true)).collect()
}

/// Wraps a line. What does not fit keeps the line's indent.
fn wrap_line(text: &str, columns: usize, is_code: bool) -> Vec<String> {
    const COMMENT: &str = "# ";
    let indent = &text[..text.len() - text.trim_start().len()];
    let without_indent = wrap_paragraph(text, columns);
    // In a narrow column the text needs all the room.
    let is_narrow = (indent.len() + COMMENT.len()) * 2 > columns;
    if without_indent.len() < 2 || is_narrow || (indent.is_empty() && !is_code) {
        return without_indent;
    }
    let (mut lines, mut rest, mut begin) = (Vec::new(), text, String::new());
    while !rest.is_empty() {
        let line = wrap_paragraph(rest, columns - begin.len()).swap_remove(0);
        let line = line.strip_suffix(" #").filter(|_| is_code).unwrap_or(&line).trim_end();
        // If the first word alone is too long, nothing is left of the indent; and what is wider than a line is not shown.
        let Some(left) = rest.strip_prefix(line).filter(|_| !line.is_empty()) else { return without_indent };
        rest = left.trim_start();
        lines.push(format!("{begin}{line}"));
        let in_comment = |line: &String| line.trim_start().starts_with(COMMENT) || line.contains(" # ");
        let comment = if is_code && lines.last().is_some_and(in_comment) { COMMENT } else { "" };
        begin = format!("{indent}{comment}");
    }
    lines
}

fn wrap_paragraph(text: &str, columns: usize) -> Vec<String> {
    let lines = wrap_greedily(text, columns);
    if lines.len() < 2 || text.is_ascii() {
        return lines;
    }
    wrap_between_words(text, columns).filter(|kinder| kinder.len() == lines.len()).unwrap_or(lines)
}

/// Of all ways to break a text into as few lines as possible, the one with the fewest breaks between two ideographs,
/// each of which may be inside a word. Among equals, the first lines are the longest. `None` if a word is wider than a
/// line.
fn wrap_between_words(text: &str, columns: usize) -> Option<Vec<String>> {
    let pieces = pieces(text);
    // For each piece, if a line begins with it: the lines and costly breaks from there on, and where the next one begins.
    let mut best = vec![Some((0, 0, pieces.len())); pieces.len() + 1];
    for begin in (0..pieces.len()).rev() {
        let (mut chosen, mut taken) = (None, 0);
        for end in begin + 1..=pieces.len() {
            let last = pieces[end - 1];
            if taken + width(last.trim_end()) > columns {
                break;
            }
            taken += width(last);
            let Some((lines, breaks, _)) = best[end] else { continue };
            let is_costly = pieces.get(end).is_some_and(|next| is_in_word(last, next));
            let way = (lines + 1, breaks + usize::from(is_costly), end);
            if chosen.is_none_or(|(lines, breaks, _)| (way.0, way.1) <= (lines, breaks)) {
                chosen = Some(way);
            }
        }
        best[begin] = chosen;
    }
    let (mut lines, mut begin) = (Vec::new(), 0);
    while begin < pieces.len() {
        let (_, _, end) = best[begin]?;
        let line = pieces[begin..end].concat().trim_end().to_owned();
        // Joining two pieces may change their width.
        lines.push(Some(line).filter(|line| width(line) <= columns)?);
        begin = end;
    }
    Some(lines)
}

/// Whether a break between two pieces is one between two ideographs.
fn is_in_word(before: &str, after: &str) -> bool {
    let ideograph = |c: Option<char>| c.is_some_and(|c| c.is_alphabetic() && c.width() == Some(2));
    ideograph(before.chars().last()) && ideograph(after.chars().next())
}

fn wrap_greedily(text: &str, columns: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    for piece in pieces(text) {
        let fits = fits_with(&line, piece, columns);
        if fits && (line.len() + piece.len() <= columns || width(&line) + width(piece) <= columns) {
            line.push_str(piece);
            continue;
        }
        let word = piece.trim_end();
        if fits_with(&line, word, columns) {
            // Only the trailing space does not fit, and a line needs none at its end.
            line.push_str(word);
            flush(&mut lines, &mut line);
            continue;
        }
        if !line.trim_end().is_empty() {
            flush(&mut lines, &mut line);
        }
        line.clear();
        for (cluster, _) in clusters(piece) {
            if !fits_with(&line, cluster, columns) {
                flush(&mut lines, &mut line);
            }
            // A cluster wider than the line cannot be shown at all.
            if width(cluster) <= columns {
                line.push_str(cluster);
            }
        }
    }
    if !line.trim_end().is_empty() || lines.is_empty() {
        flush(&mut lines, &mut line);
    }
    lines
}

fn fits_with(line: &str, piece: &str, columns: usize) -> bool {
    // Measured together, because joining two texts may change their width. The length in bytes is an upper bound of the
    // width.
    line.len() + piece.len() <= columns || width(&format!("{line}{piece}")) <= columns
}

fn flush(lines: &mut Vec<String>, line: &mut String) {
    lines.push(line.trim_end().to_owned());
    line.clear();
}

/// The pieces between which a line may be broken.
fn pieces(text: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let (mut start, mut at) = (0, 0);
    let mut before: Option<&str> = None;
    for (cluster, _) in clusters(text) {
        if before.is_some_and(|before| may_break(before, cluster)) {
            pieces.push(&text[start..at]);
            start = at;
        }
        before = Some(cluster);
        at += cluster.len();
    }
    if start < text.len() {
        pieces.push(&text[start..]);
    }
    pieces
}

fn may_break(before: &str, after: &str) -> bool {
    let first = |cluster: &str| cluster.chars().next().unwrap_or(' ');
    let (last, next) = (first(before), first(after));
    if NOT_FIRST.contains(next) || NOT_LAST.contains(last) || next == ' ' {
        return false;
    }
    last == ' ' || is_wide(before) || is_wide(after)
}

fn is_wide(cluster: &str) -> bool {
    width(cluster) >= 2
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{common, fit, fit_apart, fit_middle, pad, width, wrap, wrap_code};

    #[test]
    fn common_text_leaves_out_differing_numbers() {
        let watches = ["exists -w /l/n-0000000001", "exists -w /l/n-0000000012", "exists -w /l/n-0000000002"];
        assert_eq!(common(watches), "exists -w /l/n-…");
        assert_eq!(common(["SET k a1 NX", "SET k a23 NX"]), "SET k a… NX");
        assert_eq!(common(["same", "same"]), "same");
        assert_eq!(common(["甲的锁", "乙的锁"]), "…的锁");
        assert_eq!(common(["aa", "aaa"]), "aa…");
        assert_eq!(common([]), "");
    }

    #[test]
    fn a_name_keeps_both_its_ends() {
        assert_eq!(fit_middle("_c_953b0c8b-lock-0000000001", 17), "_c_953b0…00000001");
        assert_eq!(fit_middle("short", 17), "short");
        assert_eq!(fit_middle("锁的名字很长很长", 9), "锁的…很长");
        assert_eq!(fit_middle("abcdef", 1), "…");
        let names = ["redisson_lock__queue:{l}", "redisson_lock__timeout:{l}", "lock"];
        assert_eq!(fit_apart(names[0], &names, 16), "rediss…queue:{l}");
        assert_eq!(fit_apart(names[1], &names, 16), "redi…timeout:{l}");
        assert_eq!(fit_apart(names[2], &names, 16), "lock");
        assert_eq!(fit_apart("redisson_lock", &["redisson_lock"], 9), "redi…lock");
    }

    #[test]
    fn words_stay_whole() {
        assert_eq!(wrap("A takes the lock", 8), ["A takes", "the lock"]);
        assert_eq!(wrap("ab cd", 5), ["ab cd"]);
        assert_eq!(wrap("abcdefgh", 3), ["abc", "def", "gh"]);
        assert_eq!(wrap("one\n\ntwo", 9), ["one", "", "two"]);
    }

    #[test]
    fn a_broken_line_keeps_its_indent_and_its_comment() {
        assert_eq!(wrap("  may use: GET SET", 12), ["  may use:", "  GET SET"]);
        assert_eq!(wrap("  可以使用的命令", 10), ["  可以使用", "  的命令"]);
        assert_eq!(wrap("      narrow", 9), ["narrow"]);
        assert_eq!(wrap_code("# EXISTS DEL UNLINK", 12), ["# EXISTS DEL", "# UNLINK"]);
        assert_eq!(wrap_code("  if: turn # gone, so look", 16), ["  if: turn", "  # gone, so", "  # look"]);
        assert_eq!(wrap_code("  let: { n: '#' } x", 14), ["  let: { n:", "  '#' } x"]);
        assert_eq!(wrap("# EXISTS DEL UNLINK", 12), ["# EXISTS DEL", "UNLINK"]);
    }

    #[test]
    fn chinese_breaks_anywhere_but_before_its_punctuation() {
        assert_eq!(wrap("甲拿到了锁", 4), ["甲拿", "到了", "锁"]);
        assert_eq!(wrap("甲拿锁。乙等", 6), ["甲拿", "锁。", "乙等"]);
        assert_eq!(wrap("唤醒 9 个等待者，只有 1 个拿到锁", 20), ["唤醒 9 个等待者，", "只有 1 个拿到锁"]);
        assert_eq!(wrap("用 SET NX 加锁", 7), ["用 SET", "NX 加锁"]);
    }

    #[test]
    fn a_cut_is_marked_and_never_splits_a_character() {
        assert_eq!(fit("分布式锁", 5), "分布…");
        assert_eq!(fit("分布式锁", 4), "分…");
        assert_eq!(fit("committ… · work", 9), "committ…");
        assert_eq!(fit("lock", 4), "lock");
        assert_eq!(fit("lock", 0), "");
        assert_eq!(fit("a\nb", 3), "a·b");
        assert_eq!(width(&pad("锁", 5)), 5);
    }

    proptest! {
        #[test]
        fn no_line_is_too_wide(text in "[a-z #，。锁（）“”😀é\u{301}\u{200d}\n`]{0,80}", columns in 1usize..40) {
            for line in wrap(&text, columns).into_iter().chain(wrap_code(&text, columns)) {
                prop_assert!(width(&line) <= columns, "{line:?}");
            }
            prop_assert!(width(&fit(&text, columns)) <= columns);
            prop_assert_eq!(width(&pad(&text, columns)), columns);
        }

        #[test]
        fn wrapping_loses_no_text(text in "[a-z ，。锁（）\n]{0,80}", columns in 2usize..40) {
            let kept: String = wrap(&text, columns).concat().split_whitespace().collect();
            let wanted: String = text.split_whitespace().collect();
            prop_assert_eq!(kept, wanted);
        }

        #[test]
        fn any_text_can_be_fitted(text in any::<String>(), columns in 0usize..30) {
            for line in wrap(&text, columns).into_iter().chain(wrap_code(&text, columns)) {
                prop_assert!(width(&line) <= columns, "{line:?}");
            }
            prop_assert!(width(&fit(&text, columns)) <= columns);
        }
    }
}
