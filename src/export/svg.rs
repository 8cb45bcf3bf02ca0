//! The lesson screen at one moment, as a drawing.

use super::{Finished, Look, moment::Found, screen::Renderer};
use crate::ui::{state::screen::Motion, view::svg};

/// What every drawing has in it.
pub const MARK: &str = svg::FONTS;

pub fn picture(run: &Finished, moment: Found, look: &Look) -> String {
    let buffer = Renderer::new(run, look).draw(moment, Motion::Paused, None);
    svg::titled(&buffer, run.title().get(look.lang))
}
