//! The time axis between the two runs.

use super::{CompareView, time};
use crate::ui::view::prelude::*;

const BETWEEN_TIMES: u32 = 12;

pub fn draw(view: &CompareView<'_>, area: Rect, buf: &mut Buffer) {
    if area.is_empty() {
        return;
    }
    let plot = view.plot(area, 0);
    let chrome = view.context.theme.style(Role::Chrome);
    plot.fill((area.x, area.right()), area.y, "─", chrome, buf);
    let marks = view.marks();
    let mut column = plot.left;
    while let Some((x, at)) = view.pair.time_at(column, view.slots) {
        let Some(screen) = plot.screen(x).filter(|_| x + BETWEEN_TIMES <= plot.head) else { break };
        column = x + BETWEEN_TIMES;
        // The words of a mark are not to be cut by another time.
        if marks.iter().any(|(mark, _)| x.abs_diff(*mark) < BETWEEN_TIMES) {
            column = x + 1;
            continue;
        }
        let words = format!("┼{} ", time::moment(at));
        plot.write((screen, area.y), &words, area.right(), chrome, buf);
    }
    for (x, at) in marks {
        if let Some(screen) = plot.screen(x) {
            // Right before the playhead there is room for its own time only, and the words below say this one.
            let words = if plot.head.abs_diff(x) < BETWEEN_TIMES {
                glyphs::DIFFERENCE.to_owned()
            } else {
                format!("{}{} ", glyphs::DIFFERENCE, time::moment(at))
            };
            let style = view.context.theme.style(Role::Warning).add_modifier(Modifier::BOLD);
            plot.write((screen, area.y), &words, area.right(), style, buf);
        }
    }
    if let Some(x) = plot.screen(plot.head) {
        let words = format!("▲ {} ", time::moment(view.now()));
        // At the right edge the words stand left of the playhead.
        let needs = u16::try_from(words.len()).unwrap_or(area.width);
        let x = x.min(area.right().saturating_sub(needs)).max(area.x);
        plot.write((x, area.y), &words, area.right(), view.context.theme.style(Role::Accent), buf);
    }
}
