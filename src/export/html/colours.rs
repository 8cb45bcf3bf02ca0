//! The themes' colours as CSS variables.

use std::fmt::Write as _;

use ratatui::{buffer::Buffer, layout::Rect, style::Color};

use crate::ui::{
    theme::{Environment, Role, Theme, ThemeName},
    view::svg::ink::colour as hex,
};

/// The number of clients with colours of their own.
const CLIENTS: usize = 8;

/// The variables of one theme, or of both the dark and the light one, between which the reader's preference decides.
pub(crate) fn variables(theme: ThemeName) -> String {
    if theme != ThemeName::Auto {
        return format!(":root {{ {} }}", of(theme));
    }
    format!(
        ":root {{ {} }}\n@media (prefers-color-scheme: light) {{ :root {{ {} }} }}",
        of(ThemeName::Dark),
        of(ThemeName::Light)
    )
}

pub(crate) fn of(name: ThemeName) -> String {
    let theme = Theme::new(name, Environment::default());
    let area = Rect::new(0, 0, 1, 1);
    let mut plain = Buffer::empty(area);
    let mut alarmed = Buffer::empty(area);
    theme.alarm(area, &mut alarmed);
    theme.finish(&mut plain);
    let (ground, text) = (plain.content[0].bg, plain.content[0].fg);
    let scheme = if name == ThemeName::Light { "light" } else { "dark" };
    // Text in a client's colour must be readable on the ground, so on a light one it is darkened.
    let share = if name == ThemeName::Light { 62 } else { 100 };
    let mut css = format!("color-scheme: {scheme}; --ink: {share}%;");
    let mut variable = |name: &str, colour: Option<Color>| {
        // Writing to a String cannot fail.
        let _ = write!(css, " --{name}: {};", hex(colour.unwrap_or(text), "#808080"));
    };
    variable("ground", Some(ground));
    variable("text", Some(text));
    variable("alarm", Some(alarmed.content[0].bg));
    let roles = [
        ("chrome", Role::Chrome),
        ("accent", Role::Accent),
        ("good", Role::Good),
        ("warning", Role::Warning),
        ("danger", Role::Danger),
    ];
    for (name, role) in roles {
        variable(name, theme.style(role).fg);
    }
    for client in 0..CLIENTS {
        variable(&format!("c{client}"), theme.client(client).fg);
    }
    css
}
