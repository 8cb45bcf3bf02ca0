//! Where the two runs part, in words. It must not know how that was found.

use ratatui::{
    buffer::Buffer,
    layout::Rect,
    style::Modifier,
    text::{Line, Span},
    widgets::Widget,
};

use super::{CompareStage, CompareView, text, time, words};
use crate::view::theme::Role;
use crate::{
    compare::{Consequence, Move, What},
    log::Reply,
};

/// The lines of the pane.
pub fn lines(view: &CompareView<'_>, width: u16) -> Vec<Line<'static>> {
    let width = usize::from(width);
    let plain = |words: &str, role: Role| {
        let rows = text::wrap(words, width).into_iter();
        rows.map(|row| Line::styled(row, view.theme.style(role)))
            .collect()
    };
    let failed = |stage: &CompareStage<'_>| matches!(stage, CompareStage::Failed { .. });
    if view.sides.iter().any(|side| failed(&side.stage)) {
        return plain(words::NOTHING_TO_COMPARE.get(view.lang), Role::Danger);
    }
    if !view.is_whole() {
        return plain(words::COMPARING.get(view.lang), Role::Chrome);
    }
    let Some(difference) = view.difference else {
        return plain(words::NO_DIFFERENCE.get(view.lang), Role::Text);
    };
    let sides = difference.moves.iter().enumerate();
    sides
        .flat_map(|(side, made)| line(view, side, made.as_ref(), difference.what, width))
        .collect()
}

/// One run's part of the difference: what it is called, when, who, what, and the reply.
fn line(
    view: &CompareView<'_>,
    side: usize,
    made: Option<&Move>,
    what: What,
    width: usize,
) -> Vec<Line<'static>> {
    let (called, role) = view.called(side);
    let widest = [0, 1].map(|side| text::width(view.called(side).0));
    let called = text::pad(called, widest[0].max(widest[1]));
    let indent = text::width(&called) + 2;
    let said = match made {
        None => words::NO_SUCH_MOVE.get(view.lang).to_owned(),
        Some(made) => sentence(view, made, what),
    };
    let mut first = Span::styled(
        format!("{called}  "),
        view.theme.style(role).add_modifier(Modifier::BOLD),
    );
    let mut lines = Vec::new();
    for row in text::wrap(&said, width.saturating_sub(indent)) {
        lines.push(Line::from(vec![first, Span::raw(row)]));
        first = Span::raw(" ".repeat(indent));
    }
    lines
}

fn sentence(view: &CompareView<'_>, made: &Move, what: What) -> String {
    /// A reply's end tells less than its beginning.
    const REPLY: usize = 60;
    let reply = match &made.reply {
        Some(reply @ Reply::Lost(_)) => text::fit(&reply.to_string(), REPLY).into_owned(),
        Some(reply) => text::fit(&reply.to_string(), REPLY).into_owned(),
        None => String::new(),
    };
    let who = format!("{}.{}", made.who, made.label);
    let at = time::moment(made.at);
    let mut said = if made.reply.is_none() {
        words::TAKES.with(view.lang, &[&at, &who, &text::clean(&made.wire)])
    } else {
        words::SENDS.with(view.lang, &[&at, &who, &text::clean(&made.wire), &reply])
    };
    if what == What::Outcome {
        let came: Vec<String> = made
            .outcome
            .iter()
            .map(|outcome| came_of_it(view, outcome))
            .collect();
        let came = if came.is_empty() {
            words::NO_CONSEQUENCE.get(view.lang).to_owned()
        } else {
            came.join(", ")
        };
        said.push_str(&words::AND_THEN.with(view.lang, &[&came]));
    }
    said
}

fn came_of_it(view: &CompareView<'_>, outcome: &Consequence) -> String {
    match outcome {
        Consequence::Believes(lock, belief) => format!("{lock}: {}", words::belief(*belief).get(view.lang)),
        Consequence::Counted(counter, by) => format!("{counter} {by:+}"),
    }
}

/// Draws the pane.
pub fn draw(view: &CompareView<'_>, area: Rect, buf: &mut Buffer) {
    let mut title = format!(" {} ", words::FIRST_DIFFERENCE.get(view.lang));
    if let Some(difference) = view.difference {
        let what = match (difference.what, &difference.moves) {
            (What::Command, _) => words::OTHER_COMMAND,
            (What::Reply, _) => words::OTHER_REPLY,
            (What::Outcome, _) => words::OTHER_OUTCOME,
            (What::Extra, [Some(_), _]) => words::ONLY_BEFORE,
            (What::Extra, _) => words::ONLY_AFTER,
        };
        title = format!(
            " ◆ {}: {} ",
            words::FIRST_DIFFERENCE.get(view.lang),
            what.get(view.lang)
        );
    }
    let style = view.theme.style(Role::Warning);
    let block = view
        .theme
        .pane(false)
        .border_style(style)
        .title(Span::styled(title, style.add_modifier(Modifier::BOLD)));
    let inner = block.inner(area);
    block.render(area, buf);
    let lines = lines(view, area.width.saturating_sub(4));
    for (y, line) in (inner.top()..inner.bottom()).zip(&lines) {
        buf.set_line(inner.x + 1, y, line, inner.width.saturating_sub(2));
    }
}
