//! Rows without an arrow: text beside a lifeline, marks of faults, lines across all columns.

use super::{arrow, layout::Layout, write};
use crate::ui::{
    chart::sequence::Row,
    view::{cells, prelude::*},
    words::fault,
};

/// Draws text beside a lifeline: at its right, or at its left if there is more room.
pub(crate) fn label_lifeline(
    layout: &Layout,
    (column, y): (usize, u16),
    words: &arrow::Words,
    buf: &mut Buffer,
) {
    let plot = layout.window.plot;
    let width = u16::try_from(arrow::width(words)).unwrap_or(plot.width);
    let Some(x) = layout.window.line(column) else {
        write(words, (plot.x, y), plot.right(), buf);
        return;
    };
    let right = plot.right().saturating_sub(x + 2);
    let left = x.saturating_sub(plot.x + 1);
    if width <= right || right >= left {
        write(words, (x + 2, y), plot.right(), buf);
    } else {
        let words = arrow::fitted(words, left.into());
        let width = u16::try_from(arrow::width(&words)).unwrap_or(left);
        write(&words, (x - 1 - width, y), x - 1, buf);
    }
}

pub(crate) fn draw_fault(
    scene: &Scene<'_>,
    layout: &Layout,
    (row, columns, y): (&Row, &[usize], u16),
    buf: &mut Buffer,
) {
    let Some(event) = scene.log.events().get(row.event) else { return };
    let (glyph, words) = match &event.kind {
        EventKind::Fault(fault) => {
            let words = format!("{} {}", fault.target(), fault::done(scene.lang, fault));
            let glyph = fault::glyph(fault);
            (glyph, words)
        }
        EventKind::ServerDied { server, .. } => {
            let words = words::SERVER_DIED.get(scene.lang);
            (glyphs::CUT, format!("{server}: {words}"))
        }
        _ => return,
    };
    let style = scene.style(Role::Danger);
    for x in columns.iter().filter_map(|column| layout.window.line(*column)) {
        cells::put(buf, (x, y), glyph, style);
    }
    // Drawn after the marks, so that no mark covers the text.
    if let Some(last) = columns.last() {
        label_lifeline(layout, (*last, y), &vec![(words, style)], buf);
    }
}

pub(crate) fn draw_link(
    scene: &Scene<'_>,
    layout: &Layout,
    (row, ends, y): (&Row, &[(usize, usize, usize)], u16),
    buf: &mut Buffer,
) {
    let position = scene.world.position;
    let Some(first) = scene.fault(row.event) else { return };
    let glyph = fault::glyph(first);
    let links = std::iter::once(row.event)
        .chain(row.more.iter().copied())
        .filter(|event| *event < position)
        .filter_map(|event| Some(scene.fault(event)?.target().to_string()));
    let links = links.collect::<Vec<_>>().join(words::LISTED.get(scene.lang));
    let words = format!(" {glyph} {}{}{links} ", fault::done(scene.lang, first), scene.lang.colon());
    let style = scene.style(Role::Danger);
    draw_gap(scene, layout, (&words, y), buf);
    let seen = ends.iter().filter(|(_, _, event)| *event < position);
    for (from, to, _) in seen {
        cells::put(buf, (layout.window.middle(*from, *to), y), glyph, style);
    }
    // Drawn after the marks, so that no mark covers the text.
    draw_words(layout, (&words, y), style, buf);
}

/// Draws a line across all columns.
pub(crate) fn draw_gap(scene: &Scene<'_>, layout: &Layout, (words, y): (&str, u16), buf: &mut Buffer) {
    let plot = layout.window.plot;
    let lines: Vec<u16> = layout.window.lines().map(|(_, x)| x).collect();
    for x in (plot.x..plot.right()).filter(|x| !lines.contains(x)) {
        cells::put(buf, (x, y), "┈", scene.style(Role::Chrome));
    }
    draw_words(layout, (words, y), scene.style(Role::Chrome), buf);
}

/// Draws text between two lifelines: the first two with enough room, or from the first lifeline on.
fn draw_words(layout: &Layout, (words, y): (&str, u16), style: Style, buf: &mut Buffer) {
    let plot = layout.window.plot;
    let words = text::fit(words, plot.width.into()).into_owned();
    let width = u16::try_from(text::width(&words)).unwrap_or(plot.width);
    let lines: Vec<u16> = layout.window.lines().map(|(_, x)| x).collect();
    let room = |pair: &&[u16]| pair[1] > pair[0] + width;
    let before = lines.windows(2).find(room).map(|pair| pair[0]);
    let before = before.or(lines.first().copied()).unwrap_or(plot.x);
    let x = (before + 1).min(plot.right() - width).max(plot.x);
    // A little further to the right if there is room.
    let next = lines.iter().find(|line| **line > before).copied().unwrap_or(plot.right());
    let x = if x + width + 2 < next { x + 2 } else { x };
    write(&vec![(words, style)], (x, y), plot.right(), buf);
}
