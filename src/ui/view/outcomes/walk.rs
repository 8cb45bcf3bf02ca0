//! A state of a small search, the steps that lead on, and the path to it.

use super::OutcomesView;
use crate::{
    run::explore::{ClientPlace, StateGraph, StateNode, Whereabouts},
    ui::{
        state::walk::Walk,
        view::{paragraph, prelude::*, redis},
    },
};

/// The maximum rows of the path.
const WAY: usize = 3;

pub(super) fn draw(view: &OutcomesView<'_>, graph: &StateGraph, walk: &Walk, area: Rect, buf: &mut Buffer) {
    let Some(state) = walk.here(graph) else { return };
    let lang = view.context.lang;
    let count = graph.states.len().to_string();
    let title = words::STATE_OF.with(lang, &[&(walk.at + 1).to_string(), &count]);
    let width = area.width.saturating_sub(4).into();
    let mut contents = contents(view, state, width);
    let counted = view.outcomes.exploration().and_then(|exploration| exploration.found.as_ref());
    let counted = counted.map_or(0, |found| found.explored.space.states);
    if counted != graph.states.len() as u64 {
        let words = words::TOLD_APART.with(lang, &[&count, &counted.to_string()]);
        contents.push(Line::default());
        contents.extend(paragraph::plain(&words, width, view.style(Role::Chrome)));
    }
    let rows = |count: usize| u16::try_from(count).unwrap_or(u16::MAX);
    let steps = state.steps.len().max(1);
    let [above, below] = Layout::vertical([
        Constraint::Min(4),
        Constraint::Length(rows(steps + WAY + 2).min(area.height / 2)),
    ])
    .areas(area);
    let inner = paragraph::text_area(paragraph::pane(view.context, &title, false, above, buf));
    paragraph::draw_with_more(&contents, 0, view.context, inner, buf);
    let inner = paragraph::pane(view.context, words::STEPS_FROM_HERE.get(lang), true, below, buf);
    let way = way(view, graph, walk, usize::from(inner.width).saturating_sub(2));
    let [list, foot] =
        Layout::vertical([Constraint::Min(1), Constraint::Length(rows(way.len()))]).areas(inner);
    if state.steps.is_empty() {
        let line = Line::styled(format!("  {}", words::ORDERS_END_HERE.get(lang)), view.style(Role::Chrome));
        buf.set_line(list.x, list.y, &line, list.width);
    }
    let from = paragraph::start((walk.chosen, 1), state.steps.len(), list.height);
    for (y, (n, step)) in (list.top()..list.bottom()).zip(state.steps.iter().enumerate().skip(from)) {
        let mark = if n == walk.chosen { "▸" } else { " " };
        let to = words::TO_STATE.with(lang, &[&(step.to + 1).to_string()]);
        let broken = graph.states.get(step.to).is_some_and(|state| !state.broken.is_empty());
        let line = Line::from(vec![
            Span::styled(format!("{mark} "), view.style(Role::Accent)),
            Span::styled(format!("{}  ", text::clean(&step.words)), view.style(Role::Text)),
            Span::styled(to, view.style(Role::Chrome)),
            Span::styled(
                if broken { format!("  {}", glyphs::CUT) } else { String::new() },
                view.style(Role::Danger),
            ),
        ]);
        buf.set_line(list.x, y, &line, list.width);
        if n == walk.chosen {
            view.context.theme.choose(Rect { y, height: 1, ..list }, buf);
        }
    }
    paragraph::draw(&way, 0, paragraph::text_area(foot), buf);
}

/// The contents of the servers, the state and the beliefs of every client, and what is broken.
fn contents(view: &OutcomesView<'_>, state: &StateNode, width: usize) -> Vec<Line<'static>> {
    let lang = view.context.lang;
    let mut lines = Vec::new();
    for server in &state.servers {
        // Of several servers, those that hold nothing are omitted.
        if server.keys.is_empty() && state.servers.len() > 1 {
            continue;
        }
        let mut name = format!("{}  ", server.name);
        if server.keys.is_empty() {
            let words = format!("{name}{}", words::NO_KEYS.get(lang));
            lines.push(Line::styled(words, view.style(Role::Chrome)));
        }
        for (key, value, left) in &server.keys {
            let left = left.map_or_else(String::new, |left| format!("  {}", time::stretch(left)));
            let words = format!("{key}  {}{left}", redis::value(value));
            let words = text::clean(&words).into_owned();
            // The name stands before the server's first key.
            let indent = " ".repeat(text::width(&name));
            let mark = Span::styled(std::mem::replace(&mut name, indent), view.style(Role::Chrome));
            lines.extend(paragraph::hang(mark, paragraph::plain(&words, width, view.style(Role::Code))));
        }
    }
    lines.push(Line::default());
    let names = state.clients.iter().map(|client| text::width(&client.name)).max().unwrap_or(0);
    for (n, client) in state.clients.iter().enumerate() {
        let mut line = Line::styled(
            format!("{} {}", glyphs::client(n), text::pad(&client.name, names + 2)),
            view.style(Role::Accent),
        );
        line.push_span(Span::styled(standing(client, lang), view.style(Role::Text)));
        for lock in &client.holds {
            let words = words::BELIEVES_HOLDS.with(lang, &[lock]);
            line.push_span(Span::styled(format!("  {} {words}", glyphs::HOLDING), view.style(Role::Good)));
        }
        lines.push(line);
    }
    if !state.broken.is_empty() {
        lines.push(Line::default());
    }
    for invariant in &state.broken {
        let says = view.outcomes.wording().invariants.get(*invariant).map(|known| known.says.get(lang));
        let words = format!("{} {}", glyphs::CUT, says.unwrap_or_default());
        lines.extend(paragraph::plain(&words, width, view.style(Role::Danger)));
    }
    lines
}

fn standing(client: &ClientPlace, lang: Lang) -> String {
    let place = match &client.place {
        Whereabouts::Before(label) => words::STANDS_BEFORE.with(lang, &[label]),
        Whereabouts::Waits(left) => {
            let left = time::amount(u64::try_from(left.as_millis()).unwrap_or(u64::MAX));
            words::STANDS_WAITING.with(lang, &[&time::said(&left, lang)])
        }
        Whereabouts::Finished => words::STANDS_AT_END.get(lang).to_owned(),
        Whereabouts::Dead => words::STANDS_DEAD.get(lang).to_owned(),
    };
    if client.frozen { words::STANDS_FROZEN.with(lang, &[&place]) } else { place }
}

/// The steps taken; only the last ones if not all fit.
fn way(view: &OutcomesView<'_>, graph: &StateGraph, walk: &Walk, width: usize) -> Vec<Line<'static>> {
    let taken = walk.way().iter().filter_map(|(state, step)| graph.states.get(*state)?.steps.get(*step));
    let taken: Vec<&str> = taken.map(|step| step.words.as_str()).collect();
    let words = if taken.is_empty() {
        words::AT_THE_BEGINNING.get(view.context.lang).to_owned()
    } else {
        text::clean(&taken.join(" → ")).into_owned()
    };
    let mut lines = paragraph::plain(&words, width, view.style(Role::Chrome));
    lines.drain(..lines.len().saturating_sub(WAY));
    lines
}
