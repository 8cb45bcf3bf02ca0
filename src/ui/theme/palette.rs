//! The colours of the themes.
//!
//! All of them are among the 216 colours and 24 greys that every 256-colour terminal shows alike; the sixteen named
//! ones depend on the user's terminal. The tests in `contrast.rs` check that every text is readable on its ground (WCAG
//! 2.2, 1.4.3) and that clients stay distinguishable for colour-blind eyes.

use ratatui::style::Color;

use super::Role;

/// Colours as indices into the 256.
#[derive(Debug, PartialEq, Eq)]
pub struct Palette {
    pub ground: u8,
    pub text: u8,
    chrome: u8,
    accent: u8,
    good: u8,
    warning: u8,
    danger: u8,
    /// The ground of the screen while two clients hold one lock.
    pub alarm: u8,
    /// The ground of the bars and the banner of these holders.
    pub overlap_span: u8,
    /// The ink of text on a client's colour while the ground is that of `alarm`.
    pub on_client: u8,
    /// The ground and the ink of the selected line.
    pub selected: (u8, u8),
    /// The clients' colours in the order of assignment; the first four differ most. The hues are the same in all
    /// themes: orange, blue, green, yellow, purple, teal, pink, brown.
    pub clients: [u8; 8],
}

pub(crate) const DARK: Palette = Palette {
    ground: 234,
    text: 253,
    chrome: 245,
    accent: 79,
    good: 77,
    warning: 179,
    danger: 203,
    alarm: 52,
    on_client: 52,
    overlap_span: 124,
    selected: (24, 231),
    clients: [214, 75, 157, 228, 135, 50, 168, 136],
};

pub(crate) const LIGHT: Palette = Palette {
    ground: 255,
    text: 234,
    chrome: 242,
    accent: 24,
    good: 22,
    warning: 94,
    danger: 124,
    alarm: 224,
    on_client: 231,
    overlap_span: 124,
    selected: (24, 231),
    clients: [166, 27, 22, 101, 91, 31, 199, 95],
};

/// For projectors and tired eyes: black and white with strong colours.
pub(crate) const CONTRAST: Palette = Palette {
    ground: 16,
    text: 231,
    chrome: 250,
    accent: 123,
    good: 120,
    warning: 221,
    danger: 210,
    alarm: 88,
    on_client: 16,
    overlap_span: 124,
    selected: (231, 16),
    clients: [214, 75, 157, 228, 135, 50, 168, 136],
};

impl Default for &Palette {
    fn default() -> Self {
        &DARK
    }
}

impl Palette {
    /// The ink of a role; `None` stands for the default ink.
    pub const fn ink(&self, role: Role) -> Option<u8> {
        Some(match role {
            Role::Text | Role::Fresh => return None,
            Role::Chrome => self.chrome,
            Role::Accent | Role::Code => self.accent,
            Role::Good => self.good,
            Role::Warning => self.warning,
            Role::Danger => self.danger,
            Role::Selected => self.selected.1,
        })
    }
}

/// The ink of a role on a terminal of sixteen colours.
pub(crate) const fn sixteen(role: Role) -> Option<Color> {
    Some(match role {
        Role::Text | Role::Fresh | Role::Selected => return None,
        Role::Chrome => Color::DarkGray,
        Role::Accent | Role::Code => Color::Cyan,
        Role::Good => Color::Green,
        Role::Warning => Color::Yellow,
        Role::Danger => Color::LightRed,
    })
}

/// The clients' colours on a terminal of sixteen colours. Red means danger only. After six clients the colours repeat,
/// and the glyphs distinguish them.
pub(crate) const CLIENTS_OF_SIXTEEN: [Color; 6] = [
    Color::LightYellow,
    Color::LightBlue,
    Color::LightGreen,
    Color::LightMagenta,
    Color::LightCyan,
    Color::Blue,
];
