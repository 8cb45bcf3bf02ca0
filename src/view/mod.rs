//! The screens. Each is drawn from what it is given and from nothing else.
//!
//! **Architecture Invariant:** views are functions of `(&World, playhead, area)` with the log, the lesson's
//! text and the language beside them. They change nothing and do no I/O, and nothing outside this module, the
//! loop in [`crate::app`] and the pictures of [`crate::export`] imports `ratatui`. They must not know the engine or the
//! lab.

mod air;
mod band;
mod cards;
mod catalogue;
pub mod chart;
mod compare;
mod detail;
mod failure;
pub(crate) mod fault;
mod header;
mod help;
mod lane;
mod lanes;
mod layout;
mod lens;
mod lesson;
mod narration;
mod notice;
mod overlay;
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
mod truth;
mod verdict;
mod wire;
pub(crate) mod words;
mod zookeeper;

pub use catalogue::CatalogueView;
pub use compare::{CompareSide, CompareStage, CompareView, room as compare_room};
pub use layout::Form;
pub use lens::Lens;
pub use lesson::{Hit, LessonView, Motion, Pane, Scrolls, Stage};
pub use notice::{Notice, draw as notice};
pub use question::Asking;
pub use scene::Scene;
pub use text::{fit, pad, width, wrap};

use ratatui::{buffer::Buffer, layout::Rect};
use theme::{Role, Theme};

use crate::lesson::Lang;

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
        too_small((lang, theme), area, buf);
    } else {
        match screen {
            Screen::Catalogue(view) => view.draw(area, buf),
            Screen::Lesson(view) => view.draw(area, buf),
            Screen::Compare(view) => view.draw(area, buf),
        }
        match overlay {
            Overlay::Nothing => {}
            Overlay::Help(scroll) => overlay::draw(&help::page(lang, theme), scroll, area, buf),
            Overlay::Cards(scroll) => {
                if let Some(entry) = screen.entry() {
                    overlay::draw(&cards::page(entry, lang, theme), scroll, area, buf);
                }
            }
        }
    }
    theme.finish(buf);
}

impl<'a> Screen<'a> {
    fn entry(&self) -> Option<&'a crate::app::CatalogueEntry> {
        match self {
            Self::Catalogue(view) => view.selected(),
            Self::Lesson(view) => Some(view.entry),
            Self::Compare(view) => Some(view.entry),
        }
    }

    /// How far an overlay over this screen can be scrolled.
    #[must_use]
    pub fn overlay_reach(&self, overlay: Overlay, (lang, theme): (Lang, Theme), area: Rect) -> u16 {
        let page = match overlay {
            Overlay::Nothing => return 0,
            Overlay::Help(_) => help::page(lang, theme),
            Overlay::Cards(_) => match self.entry() {
                Some(entry) => cards::page(entry, lang, theme),
                None => return 0,
            },
        };
        overlay::reach(&page, area)
    }
}

fn too_small((lang, theme): (Lang, Theme), area: Rect, buf: &mut Buffer) {
    let size = format!("{}x{}", area.width, area.height);
    let lines = [
        (words::TOO_SMALL.get(lang).to_owned(), Role::Warning),
        (words::NEEDS_SIZE.with(lang, &[&size]), Role::Text),
        (words::QUIT_HINT.get(lang).to_owned(), Role::Chrome),
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
