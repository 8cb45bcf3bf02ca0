//! The votes of a class: the turnout and, once decided, a bar for each choice.

use super::{Context, paragraph, prelude::*};

/// The maximum length of a bar, in columns.
const LONGEST: usize = 24;
/// The columns of the figures beside a bar.
const FIGURES: usize = 12;

/// How many of those present have voted.
pub fn turnout(context: Context<'_>, voted: usize, joined: usize, width: usize) -> Line<'static> {
    // Participants who voted and left are still counted.
    let joined = joined.max(voted);
    let words = words::VOTED.with(context.lang, &[&voted.to_string(), &joined.to_string()]);
    let room = width.saturating_sub(text::width(&words) + 3).min(LONGEST);
    let done = (room * voted).checked_div(joined).unwrap_or(0);
    let bar = format!("{}{}", glyphs::BAR_DONE.repeat(done), glyphs::BAR_LEFT.repeat(room - done));
    let style = |role| context.theme.style(role);
    Line::from(vec![
        Span::styled(format!(" {bar}  "), style(Role::Accent)),
        Span::styled(words, style(Role::Text).add_modifier(Modifier::BOLD)),
    ])
}

/// A bar for each choice, with the right ones marked.
pub fn bars<'c>(
    context: Context<'_>,
    choices: impl Iterator<Item = (&'c str, usize)>,
    right: &[usize],
    width: usize,
) -> Vec<Line<'static>> {
    let choices: Vec<(&str, usize)> = choices.collect();
    let all: usize = choices.iter().map(|(_, votes)| votes).sum();
    let widest = choices.iter().map(|(says, _)| text::width(says)).max().unwrap_or(0);
    let longest = LONGEST.min(width / 3);
    let room = widest.min(width.saturating_sub(longest + FIGURES + 4)).max(8);
    let mut lines = Vec::new();
    for (n, (says, votes)) in choices.into_iter().enumerate() {
        let (mark, role) = if right.contains(&n) { (glyphs::DONE, Role::Good) } else { ("·", Role::Chrome) };
        let style = context.theme.style(role);
        let words = if right.contains(&n) { style } else { context.theme.style(Role::Text) };
        let mut rows = paragraph::prose(says, room, words, context.theme);
        let share = |whole: usize| (votes * whole + all / 2).checked_div(all).unwrap_or(0);
        let bar = glyphs::FULL.repeat(share(longest).max(usize::from(votes > 0)));
        if let Some(first) = rows.first_mut() {
            let gap = " ".repeat((room + 1).saturating_sub(first.width()));
            first.spans.push(Span::raw(gap));
            first.spans.push(Span::styled(bar, style));
            first.spans.push(Span::styled(format!(" {votes} · {} %", share(100)), words));
        }
        lines.extend(paragraph::hang(Span::styled(format!("{mark} "), style), rows));
    }
    lines
}
