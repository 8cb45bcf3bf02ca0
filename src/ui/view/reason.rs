//! What is wrong, in the largest empty part of the stretch in which it is: in words, since when, and what proves it.

use super::{banner, cells, plot::Plot, prelude::*, scene::Alarm};
use crate::{ui::chart::OverlapSpan, verdict::evidence};

/// The minimum columns and rows of the text.
const LEAST: (u16, u16) = (20, 2);
/// The maximum columns of the text, for reading.
const WIDEST: u16 = 60;
/// The minimum rows and the minimum share of a stretch that are empty if bars in it say what is wrong, too.
const LEAST_BESIDE: (u16, (u32, u32)) = (4, (1, 3));
const MOST_EVIDENCE: usize = 3;

/// Writes what is wrong into `rows` of the plot, those of the actors, if much of them is empty there.
pub fn draw(scene: &Scene<'_>, plot: &Plot, rows: Rect, buf: &mut Buffer) {
    let Some(Reason { span, has_bars, words, since, proof }) = reason(scene) else { return };
    let Some((from, to)) = plot.stretch(span.from, span.to) else { return };
    // Beside the edges.
    let stretch = Rect { x: from + 1, width: (to - from).saturating_sub(2), ..rows }.intersection(buf.area);
    let room = largest_empty(stretch, buf);
    let (least, (part, whole)) = LEAST_BESIDE;
    let is_scarce = room.height < least || room.area() * whole < stretch.area() * part;
    if room.is_empty() || (has_bars && is_scarce) {
        return;
    }
    let width = usize::from((room.width - 2).min(WIDEST));
    let mut lines = text::wrap(&text::clean(&words), width);
    if lines.len() > room.height.into() {
        return;
    }
    let headline = lines.len();
    lines.extend(since);
    // A selection of many would leave the reader to guess.
    let proof = if proof.len() > MOST_EVIDENCE { &[] } else { proof };
    let proof = evidence(scene.log, "", proof, MOST_EVIDENCE);
    for line in proof {
        let wrapped = text::wrap(&text::clean(line.get(scene.lang)), width);
        if lines.len() + wrapped.len() <= room.height.into() {
            lines.extend(wrapped);
        }
    }
    lines.truncate(room.height.into());
    let widest = lines.iter().map(|line| text::width(line)).max().and_then(|most| u16::try_from(most).ok());
    let high = u16::try_from(lines.len()).unwrap_or(room.height);
    let place = room.centered(widest.unwrap_or(room.width).into(), high.into());
    let style = scene.style(Role::Text);
    for (n, (y, line)) in (place.y..).zip(&lines).enumerate() {
        let style = if n < headline { style.add_modifier(Modifier::BOLD) } else { style };
        // Commands of a lane may stand left of it in the same row.
        cells::put(buf, (place.x - 1, y), glyphs::PLAYHEAD, scene.style(Role::Danger));
        plot.write((place.x, y), line, room.right(), style, buf);
    }
}

struct Reason<'a> {
    /// The stretch that the banner is about.
    span: &'a OverlapSpan,
    /// Whether bars in it say what is wrong, too.
    has_bars: bool,
    words: String,
    /// Since when, unless the words tell.
    since: Option<String>,
    /// The events that prove it.
    proof: &'a [usize],
}

fn reason<'a>(scene: &Scene<'a>) -> Option<Reason<'a>> {
    let event = match scene.alarm() {
        Some(Alarm::Broken(_, event)) => Some(event),
        Some(Alarm::Oversold(_)) => Some(scene.chart.oversold.as_ref()?.0.from.1),
        _ => None,
    };
    if let Some(event) = event {
        let span = scene.chart.other_alarms().find(|span| span.from.1 == event)?;
        let (begun, proof) = match scene.event(event)? {
            EventKind::Breached { evidence, since, .. } => (since.unwrap_or(event), &evidence[..]),
            _ => (event, &[][..]),
        };
        // Only time passes before the answer to a question or a look at a server: it came about before, and is seen then.
        let is_action = !matches!(
            scene.event(begun)?,
            EventKind::Decided { .. } | EventKind::Breached { .. } | EventKind::State(_)
        );
        let said = if is_action { words::SINCE } else { words::SEEN_AT };
        let begun = time::moment(scene.log.events().get(begun)?.at);
        let words = banner::harm(scene)?.replace('`', "");
        let since = Some(said.with(scene.lang, &[&begun]));
        let has_bars = matches!(scene.alarm(), Some(Alarm::Oversold(_)));
        return Some(Reason { span, has_bars, words, since, proof });
    }
    let lasting = scene.world.holding.overlaps().iter().rev().find(|overlap| overlap.end.is_none());
    let overlap = scene.recent_overlap().or(lasting)?;
    let span = scene.chart.overlap_span_of(overlap.event)?;
    let words = banner::overlap_sentence(scene, overlap);
    Some(Reason { span, has_bars: true, words, since: None, proof: &overlap.evidence })
}

/// The largest rectangle of empty cells of at least the minimum size; the line of the playhead counts as empty.
fn largest_empty(area: Rect, buf: &Buffer) -> Rect {
    let mut largest = Rect::default();
    // For each column, how many cells upwards from the row are empty.
    let mut heights = vec![0u16; area.width.into()];
    for y in area.rows().map(|row| row.y) {
        for (x, height) in (area.x..).zip(&mut heights) {
            let is_empty =
                matches!(buf[(x, y)].symbol(), " " | glyphs::PLAYHEAD) && !cells::is_second_half(buf, (x, y));
            *height = if is_empty { *height + 1 } else { 0 };
        }
        for (from, height) in (0..).zip(&heights).filter(|(_, height)| **height >= LEAST.1) {
            // Only where the rectangle of this height begins.
            if from > 0 && heights[usize::from(from) - 1] >= *height {
                continue;
            }
            let reach = heights[from.into()..].iter().take_while(|other| *other >= height).count();
            let width = u16::try_from(reach).unwrap_or_default();
            let found = Rect::new(area.x + from, y + 1 - height, width, *height);
            if width >= LEAST.0 && found.area() > largest.area() {
                largest = found;
            }
        }
    }
    largest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_empty_rectangle_is_found() {
        let blank = " ".repeat(30);
        let cut = format!("x{}", " ".repeat(29));
        let buf = Buffer::with_lines([cut.as_str(), &blank, &cut, &"x".repeat(30), &blank, &blank]);
        assert_eq!(largest_empty(buf.area, &buf), Rect::new(1, 0, 29, 3));
        let buf = Buffer::with_lines([blank.as_str(), &"x".repeat(30), &blank]);
        assert_eq!(largest_empty(buf.area, &buf), Rect::default());
    }
}
