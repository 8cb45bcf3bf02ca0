//! The screens. Each is drawn from its arguments and nothing else.
//!
//! **Architecture Invariant:** views are functions of `(&World, playhead, area)` with the log, the lesson's text and
//! the language beside them. They change nothing and do no I/O, and nothing outside this module, the themes, the loop in
//! [`crate::ui::app`] and the pictures of [`crate::export`] imports `ratatui`. They must not know live runs or the lab.

pub(crate) mod band;
pub(crate) mod banner;
pub(crate) mod branches;
pub(crate) mod catalogue;
mod cells;
pub(crate) mod compare;
pub(crate) mod detail;
mod diagram;
mod exam;
pub(crate) mod failure;
pub(crate) mod free;
pub(crate) mod header;
pub(crate) mod help;
pub(crate) mod in_flight;
pub(crate) mod interview;
pub(crate) mod joining;
pub(crate) mod kata;
pub(crate) mod key_hints;
pub(crate) mod lane;
pub(crate) mod lanes;
pub(crate) mod layout;
pub(crate) mod lesson;
pub(crate) mod listing;
pub mod measured;
pub(crate) mod notes;
pub(crate) mod notice;
pub(crate) mod outcomes;
pub(crate) mod overlay;
pub(crate) mod palette;
pub(crate) mod paragraph;
pub(crate) mod plot;
mod prelude;
pub(crate) mod program;
pub(crate) mod question;
mod reason;
pub(crate) mod redis;
pub(crate) mod scene;
pub(crate) mod scrubber;
pub(crate) mod search_text;
pub(crate) mod selection;
pub(crate) mod sequence;
pub(crate) mod servers;
pub(crate) mod story;
pub mod svg;
pub(crate) mod table;
pub(crate) mod tree;
pub(crate) mod truth;
pub(crate) mod verdict;
pub(crate) mod voting;
pub(crate) mod wide_cells;
pub(crate) mod wire;

pub(crate) use banner::harm;
pub(crate) use catalogue::CatalogueView;
pub(crate) use compare::{CompareView, room as compare_room};
pub(crate) use free::{FreeView, choice};
pub(crate) use wide_cells::empty_covered_cells;

pub(crate) use interview::InterviewView;
pub(crate) use joining::JoiningView;
pub(crate) use kata::KataView;
pub(crate) use lesson::{Hit, LessonView};
pub(crate) use notes::NotesView;
pub(crate) use notice::{Notice, draw as notice};
pub(crate) use outcomes::{OutcomesHit, OutcomesView, SingleRace, SingleRun};
pub(crate) use palette::PaletteView;

pub(crate) use scene::Scene;

use prelude::*;

use super::{
    keys::{KeyMap, KeyScope},
    state::{measuring::Measurement, screen::Overlay},
    theme::text::wrap,
};
use crate::printable::is_harmless;

/// The minimum size of a screen; on a smaller one only a message is shown.
pub const SMALLEST: (u16, u16) = (60, 16);

/// Whether a terminal of this size shows only that it is too small. One that has not told its size yet is not.
pub fn is_too_small(area: Rect) -> bool {
    !area.is_empty() && (area.width < SMALLEST.0 || area.height < SMALLEST.1)
}

#[derive(Debug, Clone, Copy)]
pub struct Context<'a> {
    pub keys: &'a KeyMap,
    pub theme: Theme,
    pub lang: Lang,
}

#[derive(Debug, Clone, Copy)]
pub enum Screen<'a> {
    Catalogue(CatalogueView<'a>),
    Lesson(LessonView<'a>),
    Compare(CompareView<'a>),
    Outcomes(OutcomesView<'a>),
    Interview(InterviewView<'a>),
}

pub fn draw(screen: &Screen<'_>, overlay: Overlay, area: Rect, buf: &mut Buffer) {
    let context = screen.context();
    let area = area.intersection(buf.area);
    if area.is_empty() {
        return;
    }
    if is_too_small(area) {
        too_small(context, area, buf);
    } else {
        match screen {
            Screen::Catalogue(view) => view.draw(area, buf),
            Screen::Lesson(view) => view.draw(area, buf),
            Screen::Compare(view) => view.draw(area, buf),
            Screen::Outcomes(view) => view.draw(area, buf),
            Screen::Interview(view) => view.draw(area, buf),
        }
        match overlay {
            Overlay::Nothing | Overlay::Palette | Overlay::Joining | Overlay::Measured(_) => {}
            Overlay::Branches(row) => {
                if let Screen::Lesson(view) = screen {
                    branches::draw(view, row, area, buf);
                }
            }
            Overlay::Help(scroll) => {
                if let Some(page) = screen.page(overlay, area) {
                    overlay::draw(&page, context, scroll, area, buf);
                }
            }
        }
    }
    context.theme.finish(buf);
    harmless(buf);
}

/// **Architecture Invariant:** whatever a lesson or a server says, no cell of a screen holds a character that acts on a
/// terminal. Texts are cleaned before they are fitted; this is the last check.
fn harmless(buf: &mut Buffer) {
    for cell in &mut buf.content {
        // A fast path for nearly every cell: printable ASCII, and box-drawing and block characters (U+2500 to U+25FF).
        let is_usual = matches!(cell.symbol().as_bytes(), [b' '..=b'~'] | [0xe2, 0x94..=0x97, _]);
        if is_usual || cell.symbol().chars().all(is_harmless) {
            continue;
        }
        let kept: String = cell.symbol().chars().filter(|c| is_harmless(*c)).collect();
        cell.set_symbol(if kept.is_empty() { "·" } else { &kept });
    }
}

impl<'a> Screen<'a> {
    fn context(&self) -> Context<'a> {
        match self {
            Self::Catalogue(view) => view.context,
            Self::Lesson(view) => view.scene.context(),
            Self::Compare(view) => view.context,
            Self::Outcomes(view) => view.context,
            Self::Interview(view) => view.context,
        }
    }

    /// The active key scopes, innermost first: the focused pane, the screen, everywhere.
    pub fn key_scopes(&self) -> Vec<KeyScope> {
        match self {
            Self::Catalogue(view) => vec![view.place(), KeyScope::Everywhere],
            Self::Lesson(view) => {
                let pane = view.focus.into();
                match view.place() {
                    KeyScope::Single => vec![pane, KeyScope::Single, KeyScope::Everywhere],
                    // A digit chooses a client in free play, and an answer in a story.
                    KeyScope::Free => vec![pane, KeyScope::Free, KeyScope::Lesson, KeyScope::Everywhere],
                    place if pane == KeyScope::Story => {
                        vec![pane, KeyScope::Asked, place, KeyScope::Everywhere]
                    }
                    place => vec![pane, place, KeyScope::Asked, KeyScope::Everywhere],
                }
            }
            Self::Compare(_) => vec![KeyScope::Comparison, KeyScope::Everywhere],
            Self::Outcomes(view) => vec![view.place(), KeyScope::Everywhere],
            Self::Interview(view) => vec![view.place(), KeyScope::Everywhere],
        }
    }

    fn page(&self, overlay: Overlay, area: Rect) -> Option<overlay::Page> {
        let (context, width) = (self.context(), overlay::columns(area));
        match overlay {
            Overlay::Help(_) => Some(help::page(context, &self.key_scopes(), width)),
            _ => None,
        }
    }

    pub fn overlay_reach(&self, overlay: Overlay, area: Rect) -> u16 {
        self.page(overlay, area).map_or(0, |page| overlay::reach(&page, area))
    }
}

/// Draws the lock measurement over the catalogue.
pub fn draw_measured(
    measurement: &Measurement,
    context: Context<'_>,
    scroll: u16,
    area: Rect,
    buf: &mut Buffer,
) {
    let page = measured::page(measurement, context, overlay::columns(area));
    overlay::draw(&page, context, scroll, area, buf);
    context.theme.finish(buf);
    harmless(buf);
}

/// The maximum scroll position of that page.
pub fn measured_reach(measurement: &Measurement, context: Context<'_>, area: Rect) -> u16 {
    overlay::reach(&measured::page(measurement, context, overlay::columns(area)), area)
}

fn too_small(Context { keys, theme, lang }: Context<'_>, area: Rect, buf: &mut Buffer) {
    let size = format!("{}x{}", area.width, area.height);
    let lines = [
        (words::TOO_SMALL.get(lang).to_owned(), Role::Warning),
        (words::NEEDS_SIZE.with(lang, &[&size]), Role::Text),
        (words::QUIT_HINT.with(lang, &[&keys.label("quit")]), Role::Chrome),
    ];
    let rows = lines
        .iter()
        .flat_map(|(line, role)| wrap(line, usize::from(area.width)).into_iter().map(|row| (row, *role)));
    for (y, (row, role)) in (area.top()..area.bottom()).zip(rows) {
        buf.set_stringn(area.x, y, row, usize::from(area.width), theme.style(role));
    }
}
