//! The lesson screen at a moment, as SVG.

use super::{Finished, Look, moment::ResolvedMoment, screen::Renderer};
use crate::ui::{state::screen::Motion, view::svg};

/// Part of every picture. It tells that Lockstep wrote the file, and may overwrite it.
pub const MARK: &str = svg::FONTS;

pub fn picture(run: &Finished, moment: ResolvedMoment, look: &Look) -> String {
    let buffer = Renderer::new(run, look).draw(moment, Motion::Paused, None);
    svg::picture(&buffer, run.title().get(look.lang))
}
