//! The tree of branches in free play, over the lesson screen: where each branch begins and what was done in it.

use super::{LessonView, overlay, paragraph, prelude::*};
use crate::{
    log::{Choice, HistoryEntry, Log, Steps},
    ui::{keys::KeyScope, state::branches::Row as BranchRow, words::fault},
};

pub fn draw(view: &LessonView<'_>, chosen: usize, area: Rect, buf: &mut Buffer) {
    let scene = &view.scene;
    let Some(free) = view.free else { return };
    let rows = free.branches.rows(scene.log);
    let wanted = u16::try_from(rows.len().max(2) + 2).unwrap_or(u16::MAX);
    let (width, height) = (area.width.saturating_sub(4).min(110), wanted.min(area.height.saturating_sub(2)));
    let frame = area.centered(width.into(), height.into());
    let title = words::TREE.get(scene.lang);
    let inner = overlay::popup(scene.context(), title, KeyScope::Branches, frame, buf);
    if rows.is_empty() {
        let inner = paragraph::text_area(inner);
        let words = words::NO_BRANCHES.get(scene.lang);
        let lines = paragraph::plain(words, inner.width.into(), scene.style(Role::Chrome));
        paragraph::draw(&lines, 0, inner, buf);
        return;
    }
    let start = paragraph::start((chosen, 0), rows.len(), inner.height);
    for (y, (n, row)) in (inner.top()..inner.bottom()).zip(rows.iter().enumerate().skip(start)) {
        let line = line(view, row, n == chosen, inner.width.into());
        buf.set_line(inner.x, y, &line, inner.width);
    }
}

fn line(view: &LessonView<'_>, row: &BranchRow<'_>, chosen: bool, width: usize) -> Line<'static> {
    let (scene, lang) = (&view.scene, view.scene.lang);
    let base = scene.style(if chosen { Role::Selected } else { Role::Text });
    let dim = if chosen { base } else { scene.style(Role::Chrome) };
    let stem = match row.depth {
        0 => String::new(),
        depth => format!("{}└─ ", "   ".repeat(depth - 1)),
    };
    let here = if row.current { glyphs::KNOB } else { "·" };
    let from = match row.depth {
        0 => words::TRUNK.get(lang).to_owned(),
        _ => words::GOES_OFF.with(lang, &[&row.shared.to_string()]),
    };
    let broken = row.log.events().iter().any(|event| matches!(event.kind, EventKind::Breached { .. }));
    let mark = if broken { format!(" {} ", glyphs::CUT) } else { String::new() };
    let head = format!(" {stem}{here} {}  {from}: ", row.branch + 1);
    let own = summary(row.log, row.shared, lang);
    let room = width.saturating_sub(text::width(&head) + text::width(&mark) + 1);
    let own = text::pad(&text::fit(&own, room), room);
    let danger = if chosen { base } else { scene.style(Role::Danger) };
    Line::from(vec![
        Span::styled(head, dim),
        Span::styled(own, base),
        Span::styled(mark, danger),
        Span::styled(" ".to_owned(), base),
    ])
}

/// What was done in a run after the first `shared` entries of its history: `A.check → B.check → +1s`.
fn summary(log: &Log, shared: usize, lang: Lang) -> String {
    let history = log.history(log.len());
    let lines = history.iter().skip(shared).filter(|entry| **entry == HistoryEntry::Line).count();
    let mut parts = Vec::new();
    if lines > 0 {
        parts.push(words::STORY_LINES.with(lang, &[&lines.to_string()]));
    }
    let story = history.iter().filter(|entry| **entry == HistoryEntry::Line).count();
    let choices = choices(log, log.len(), lang);
    parts.extend(choices.into_iter().skip(shared.saturating_sub(story)));
    if parts.is_empty() {
        return words::NOTHING_CHOSEN.get(lang).to_owned();
    }
    parts.join(" → ")
}

/// The choices made before a position of the log, each in a word or two.
pub(crate) fn choices(log: &Log, position: usize, lang: Lang) -> Vec<String> {
    let steps = Steps::of(log);
    let mut parts = Vec::new();
    for (n, event) in log.events().iter().enumerate().take(position) {
        let EventKind::Chose(choice) = &event.kind else { continue };
        parts.push(match choice {
            Choice::Move { actor } => {
                let end = steps.after(n).first().map_or(log.len(), |step| step.position);
                let label = log.events()[n..end].iter().find_map(|event| match &event.kind {
                    EventKind::Sent { actor: who, label, .. } | EventKind::Took { actor: who, label, .. }
                        if who == actor =>
                    {
                        Some(label.as_str())
                    }
                    _ => None,
                });
                let name = log.called(*actor);
                format!("{name}.{}", label.unwrap_or("…"))
            }
            Choice::Timer => {
                let end = steps.after(n).first().map_or(log.len(), |step| step.position);
                format!("+{}", time::stretch(log.time_at(end).since(event.at)))
            }
            Choice::Pass { millis } => format!("+{}", time::amount(*millis)),
            Choice::Inject(fault) => fault::to_do(lang, fault),
        });
    }
    parts
}
