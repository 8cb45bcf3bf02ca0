//! The states found by a search: a column per number of steps from the beginning, a mark per state or per several
//! states.

use super::OutcomesView;
use crate::{
    run::explore::Layer,
    ui::view::{paragraph, prelude::*},
};

pub(super) fn draw(view: &OutcomesView<'_>, layers: &[Layer], area: Rect, buf: &mut Buffer) {
    let lang = view.context.lang;
    let most = layers.iter().map(|layer| layer.states).max().unwrap_or(0);
    // The frame takes two rows.
    let each = most.div_ceil(u64::from(area.height.saturating_sub(2).max(1))).max(1);
    let title = match each {
        1 => words::GROWS_ONE.get(lang).to_owned(),
        many => words::GROWS.with(lang, &[&many.to_string()]),
    };
    let inner = paragraph::text_area(paragraph::pane(view.context, &title, false, area, buf));
    // If there are more layers than columns, the latest are shown, because the search is working on them.
    let from = layers.len().saturating_sub(inner.width.into());
    for (x, layer) in (inner.left()..inner.right()).zip(&layers[from..]) {
        let (marks, broken) = (layer.states.div_ceil(each), layer.broken.div_ceil(each));
        for (n, y) in (0..marks).zip((inner.top()..inner.bottom()).rev()) {
            let (glyph, role) =
                if n < broken { (glyphs::CUT, Role::Danger) } else { (glyphs::BAR_DONE, Role::Good) };
            buf.set_string(x, y, glyph, view.style(role));
        }
    }
}
