//! The screens. Each is drawn from what it is given and from nothing else.
//!
//! **Architecture Invariant:** views are functions of `(&World, playhead, area)` with the log, the lesson's
//! text and the language beside them. They change nothing and do no I/O, and nothing outside this module, the
//! loop in [`crate::app`] and the pictures of [`crate::export`] imports `ratatui`. They must not know the engine or the
//! lab.

mod air;
mod band;
mod branches;
mod cards;
mod catalogue;
pub mod chart;
mod compare;
mod covered;
mod detail;
mod failure;
pub(crate) mod fault;
mod found;
mod free;
mod header;
mod help;
mod lane;
mod lanes;
mod layout;
mod lens;
mod lesson;
mod listing;
mod narration;
mod notice;
mod orders;
mod overlay;
mod palette;
mod places;
mod plot;
mod question;
mod redis;
mod scene;
mod scrubber;
mod selection;
pub mod sequence;
mod servers;
mod strip;
pub mod svg;
pub(crate) mod text;
pub mod theme;
pub(crate) mod time;
mod trials;
mod truth;
mod verdict;
mod wire;
pub(crate) mod words;
mod zookeeper;

pub use catalogue::CatalogueView;
pub use compare::{CompareSide, CompareStage, CompareView, room as compare_room};
pub use covered::empty_covered_cells;
pub use free::{FreeView, choice};
pub use layout::Form;
pub use lens::Lens;
pub use lesson::{Hit, LessonView, Motion, Pane, Scrolls, Stage};
pub use notice::{Notice, draw as notice};
pub use orders::OrdersView;
pub use palette::PaletteView;
pub use question::Asking;
pub use scene::Scene;
pub use text::{common, fit, pad, width, wrap};
pub use time::{left, rate};
pub use trials::{RaceTold, SingleTold, TrialsHit, TrialsView};

use ratatui::{buffer::Buffer, layout::Rect};
use theme::{Role, Theme};

use crate::{
    app::keys::{KeyMap, Place},
    lesson::Lang,
    printable::is_harmless,
};

/// The smallest screen that anything but an apology fits on.
pub const SMALLEST: (u16, u16) = (60, 16);

/// A screen.
#[derive(Debug, Clone, Copy)]
pub enum Screen<'a> {
    /// The catalogue.
    Catalogue(CatalogueView<'a>),
    /// A lesson.
    Lesson(LessonView<'a>),
    /// Two runs of a lesson beside each other.
    Compare(CompareView<'a>),
    /// Many races of a variant.
    Trials(TrialsView<'a>),
    /// Every order of a variant's moves.
    Orders(OrdersView<'a>),
}

/// What lies over a screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Overlay {
    /// Nothing.
    #[default]
    Nothing,
    /// The help, scrolled by so many lines.
    Help(u16),
    /// The interview cards, scrolled by so many lines.
    Cards(u16),
    /// The tree of branches, with the chosen line.
    Branches(usize),
    /// The command palette, which is drawn by its own view.
    Palette,
}

/// Draws everything.
pub fn draw(
    screen: &Screen<'_>,
    overlay: Overlay,
    (lang, theme): (Lang, Theme),
    area: Rect,
    buf: &mut Buffer,
) {
    let area = area.intersection(buf.area);
    if area.is_empty() {
        return;
    }
    if area.width < SMALLEST.0 || area.height < SMALLEST.1 {
        too_small(screen.keys(), (lang, theme), area, buf);
    } else {
        match screen {
            Screen::Catalogue(view) => view.draw(area, buf),
            Screen::Lesson(view) => view.draw(area, buf),
            Screen::Compare(view) => view.draw(area, buf),
            Screen::Trials(view) => view.draw(area, buf),
            Screen::Orders(view) => view.draw(area, buf),
        }
        match overlay {
            Overlay::Nothing | Overlay::Palette => {}
            Overlay::Branches(row) => {
                if let Screen::Lesson(view) = screen {
                    branches::draw(view, row, area, buf);
                }
            }
            Overlay::Help(scroll) => {
                let page = help::page(screen.keys(), &screen.places(), lang, theme);
                overlay::draw(&page, screen.keys(), scroll, area, buf);
            }
            Overlay::Cards(scroll) => {
                if let Some(entry) = screen.entry() {
                    let page = cards::page(entry, lang, theme);
                    overlay::draw(&page, screen.keys(), scroll, area, buf);
                }
            }
        }
    }
    theme.finish(buf);
    harmless(buf);
}

/// **Architecture Invariant:** whatever a lesson or a server says, no cell of a screen holds a character that acts on a
/// terminal. Texts are cleaned before they are fitted; here is what somebody forgot.
fn harmless(buf: &mut Buffer) {
    for cell in &mut buf.content {
        if cell.symbol().chars().all(is_harmless) {
            continue;
        }
        let kept: String = cell.symbol().chars().filter(|c| is_harmless(*c)).collect();
        cell.set_symbol(if kept.is_empty() { "·" } else { &kept });
    }
}

impl<'a> Screen<'a> {
    fn entry(&self) -> Option<&'a crate::app::CatalogueEntry> {
        match self {
            Self::Catalogue(view) => view.selected(),
            Self::Lesson(view) => Some(view.entry),
            Self::Compare(view) => Some(view.entry),
            Self::Trials(view) => Some(view.entry),
            Self::Orders(view) => Some(view.entry),
        }
    }

    /// Which keys do what.
    fn keys(&self) -> &'a KeyMap {
        match self {
            Self::Catalogue(view) => view.keys,
            Self::Lesson(view) => view.scene.keys,
            Self::Compare(view) => view.keys,
            Self::Trials(view) => view.keys,
            Self::Orders(view) => view.keys,
        }
    }

    /// The places whose keys are live on it, the nearest first: what has the focus, the screen, everywhere.
    #[must_use]
    pub fn places(&self) -> Vec<Place> {
        match self {
            Self::Catalogue(view) => vec![view.place(), Place::Everywhere],
            Self::Lesson(view) => {
                let pane = view.focus.into();
                match view.place() {
                    Place::Single => vec![pane, Place::Single, Place::Everywhere],
                    // Whoever plays freely means a client with its number; whoever follows the story, an answer.
                    Place::Free => vec![pane, Place::Free, Place::Lesson, Place::Everywhere],
                    place if pane == Place::Story => vec![pane, Place::Asked, place, Place::Everywhere],
                    place => vec![pane, place, Place::Asked, Place::Everywhere],
                }
            }
            Self::Compare(_) => vec![Place::Comparison, Place::Everywhere],
            Self::Trials(_) => vec![Place::Trials, Place::Everywhere],
            Self::Orders(_) => vec![Place::Orders, Place::Everywhere],
        }
    }

    /// How far an overlay over this screen can be scrolled.
    #[must_use]
    pub fn overlay_reach(&self, overlay: Overlay, (lang, theme): (Lang, Theme), area: Rect) -> u16 {
        let page = match overlay {
            Overlay::Nothing | Overlay::Palette | Overlay::Branches(_) => return 0,
            Overlay::Help(_) => help::page(self.keys(), &self.places(), lang, theme),
            Overlay::Cards(_) => match self.entry() {
                Some(entry) => cards::page(entry, lang, theme),
                None => return 0,
            },
        };
        overlay::reach(&page, area)
    }
}

fn too_small(keys: &KeyMap, (lang, theme): (Lang, Theme), area: Rect, buf: &mut Buffer) {
    let size = format!("{}x{}", area.width, area.height);
    let lines = [
        (words::TOO_SMALL.get(lang).to_owned(), Role::Warning),
        (words::NEEDS_SIZE.with(lang, &[&size]), Role::Text),
        (words::QUIT_HINT.with(lang, &[&keys.label("leave")]), Role::Chrome),
    ];
    let rows = lines.iter().flat_map(|(line, role)| {
        wrap(line, usize::from(area.width))
            .into_iter()
            .map(|row| (row, *role))
    });
    for (y, (row, role)) in (area.top()..area.bottom()).zip(rows) {
        buf.set_stringn(area.x, y, row, usize::from(area.width), theme.style(role));
    }
}
