//! Describes the first difference between two runs.

use super::{CompareView, text, time, words};
use crate::{
    ui::{
        state::screen::ComparePhase,
        view::{paragraph, prelude::*},
    },
    verdict::compare::{Consequence, Difference, Move, What},
};

/// Encloses a command within a sentence, and takes no column.
const COMMAND: char = '\u{2060}';

pub fn lines(view: &CompareView<'_>, width: u16) -> Vec<Line<'static>> {
    let width = usize::from(width);
    let plain = |words: &str, role: Role| paragraph::plain(words, width, view.context.theme.style(role));
    if view.sides.iter().any(|side| matches!(side.phase, ComparePhase::Failed(_))) {
        return plain(words::NOTHING_TO_COMPARE.get(view.context.lang), Role::Danger);
    }
    if !view.is_whole() {
        return plain(words::COMPARING.get(view.context.lang), Role::Chrome);
    }
    let Some(difference) = view.difference else {
        return plain(words::NO_DIFFERENCE.get(view.context.lang), Role::Text);
    };
    [0, 1].into_iter().flat_map(|side| line(view, side, difference, width)).collect()
}

/// One run's part of the difference: its name, and what it does.
fn line(view: &CompareView<'_>, side: usize, difference: &Difference, width: usize) -> Vec<Line<'static>> {
    let (called, role) = view.called(side);
    let widest = [0, 1].map(|side| text::width(view.called(side).0));
    let called = text::pad(called, widest[0].max(widest[1]));
    let indent = text::width(&called) + 2;
    let said = match &difference.moves[side] {
        None => words::NO_SUCH_MOVE.get(view.context.lang).to_owned(),
        Some(made) => sentence(view, made, difference.next[side].as_ref(), difference.what),
    };
    let mut first =
        Span::styled(format!("{called}  "), view.context.theme.style(role).add_modifier(Modifier::BOLD));
    let (mut lines, mut code) = (Vec::new(), false);
    for row in text::wrap_clean(&said, width.saturating_sub(indent)) {
        let mut spans = vec![first];
        for (n, part) in row.split(COMMAND).enumerate() {
            code ^= n > 0;
            let role = if code { Role::Code } else { Role::Text };
            spans.push(Span::styled(part.to_owned(), view.context.theme.style(role)));
        }
        lines.push(Line::from(spans));
        first = Span::raw(" ".repeat(indent));
    }
    lines
}

/// Time, actor, command and reply; and the consequence, if that is the difference.
fn sentence(view: &CompareView<'_>, made: &Move, next: Option<&Move>, what: What) -> String {
    let at = time::moment(made.at);
    let mut said = words::AT.with(view.context.lang, &[&at, &does(view, made)]);
    if what == What::Outcome {
        let outcome: Vec<String> = made.outcome.iter().map(|outcome| consequence(view, outcome)).collect();
        let outcome = match next {
            _ if !outcome.is_empty() => outcome.join(", "),
            Some(next) => does(view, next),
            None => words::NO_CONSEQUENCE.get(view.context.lang).to_owned(),
        };
        said.push_str(&words::AND_THEN.with(view.context.lang, &[&outcome]));
    }
    said
}

fn does(view: &CompareView<'_>, made: &Move) -> String {
    /// Longer replies are cut: their beginning says most.
    const REPLY: usize = 60;
    let who = text::clean(&format!("{}.{}", made.who, made.label)).into_owned();
    let wire = format!("{COMMAND}{}{COMMAND}", text::clean(&made.wire));
    match &made.reply {
        Some(reply) => {
            let reply = text::fit(&reply.to_string(), REPLY).into_owned();
            words::SENDS.with(view.context.lang, &[&who, &wire, &reply])
        }
        None => words::TAKES.with(view.context.lang, &[&who, &wire]),
    }
}

fn consequence(view: &CompareView<'_>, consequence: &Consequence) -> String {
    match consequence {
        Consequence::Believes(lock, belief) => {
            words::believes(*belief).with(view.context.lang, &[&text::clean(lock)])
        }
        Consequence::Counted(counter, by) => {
            let log = view.sides[0].log;
            let counter = log.map_or(&**counter, |log| words::named(log, counter, view.context.lang));
            format!("{} {by:+}", text::clean(counter))
        }
    }
}

pub fn draw(view: &CompareView<'_>, area: Rect, buf: &mut Buffer) {
    let mut title = format!(" {} ", words::FIRST_DIFFERENCE.get(view.context.lang));
    if let Some(difference) = view.difference {
        let what = match (difference.what, &difference.moves) {
            (What::Command, _) => words::OTHER_COMMAND,
            (What::Reply, _) => words::OTHER_REPLY,
            (What::Outcome, _) => words::OTHER_OUTCOME,
            (What::Extra, [Some(_), _]) if view.is_fix() => words::ONLY_BEFORE,
            (What::Extra, [Some(_), _]) => words::ONLY_ONE,
            (What::Extra, _) if view.is_fix() => words::ONLY_AFTER,
            (What::Extra, _) => words::ONLY_OTHER,
        };
        let first = words::FIRST_DIFFERENCE.get(view.context.lang);
        let about = words::ABOUT.with(view.context.lang, &[first, what.get(view.context.lang)]);
        title = format!(" {} {about} ", glyphs::DIFFERENCE);
    }
    let style = view.context.theme.style(Role::Warning);
    let title = Span::styled(title, style.add_modifier(Modifier::BOLD));
    let block = view.context.theme.pane(false).border_style(style).title(title);
    let inner = paragraph::text_area(paragraph::frame(block, area, buf));
    paragraph::draw(&lines(view, inner.width), 0, inner, buf);
}
