//! The visual language in one place: what each colour and glyph means. It must not know what is drawn with them.
//!
//! - A client has one colour and one glyph, the same in every pane.
//! - Holding is solid, waiting hatched, uncertainty faint, death struck through.
//! - A lease drains: its bar falls from full to nothing.
//! - Red means danger only. Two holders are solid red, the ground behind them turns red too, and words say it.
//! - Every meaning has a glyph or an attribute besides its colour, so that it survives colour-blind eyes, `NO_COLOR`
//!   and sixteen colours; and every glyph has an ASCII replacement.

#[cfg(test)]
mod contrast;
pub mod glyphs;
pub(crate) mod palette;
pub mod text;
pub(crate) mod time;

pub use palette::Palette;

use std::str::FromStr;

use ratatui::{
    buffer::Buffer,
    layout::Rect,
    style::{Color, Modifier, Style},
    widgets::{Block, BorderType},
};

use crate::text::Lang;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Ink {
    #[default]
    Colour,
    Sixteen,
    /// No colours, attributes only: `NO_COLOR` is set.
    Mono,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Glyphs {
    #[default]
    Unicode,
    /// ASCII only, because the locale is not UTF-8.
    Ascii,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The story: text to be read.
    Text,
    /// Frames, axes, hints: unobtrusive.
    Chrome,
    /// Headings and the focus.
    Accent,
    Code,
    /// Success, a claim that holds.
    Good,
    /// Something questionable: a key without expiry, the wall clock.
    Warning,
    Danger,
    /// Something that has just changed.
    Fresh,
    /// The selected line of a list.
    Selected,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ThemeName {
    /// The terminal's own ground; dark or light colours, depending on what the terminal reports.
    #[default]
    Auto,
    Dark,
    Light,
    /// Black and white with strong colours.
    Contrast,
}

impl ThemeName {
    /// In the order in which a key cycles through them.
    pub const ALL: [Self; 4] = [Self::Auto, Self::Dark, Self::Light, Self::Contrast];

    /// The name on the command line and in the configuration.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Dark => "dark",
            Self::Light => "light",
            Self::Contrast => "contrast",
        }
    }

    pub fn next(self) -> Self {
        Self::ALL[(self as usize + 1) % Self::ALL.len()]
    }
}

impl FromStr for ThemeName {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let named = Self::ALL.into_iter().find(|theme| theme.name() == name);
        named.ok_or_else(|| format!("there is no theme `{name}`: choose auto, dark, light or contrast"))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Theme {
    pub name: ThemeName,
    pub palette: &'static Palette,
    pub ink: Ink,
    pub glyphs: Glyphs,
    pub on_light: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Environment<'a> {
    /// `NO_COLOR` is set and not empty (no-color.org).
    pub no_color: bool,
    /// The locale in `LC_ALL`, `LC_CTYPE` or `LANG`.
    pub locale: Option<&'a str>,
    pub term: Option<&'a str>,
    /// `COLORTERM` is set and not empty.
    pub many_colors: bool,
    /// `COLORFGBG`, as set by rxvt, Konsole and others: `ink;ground`.
    pub ground: Option<&'a str>,
}

impl Theme {
    pub fn from_env(name: ThemeName) -> Self {
        let set = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(set);
        let (term, ground) = (set("TERM"), set("COLORFGBG"));
        let terminal = Environment {
            no_color: set("NO_COLOR").is_some(),
            locale: locale.as_deref(),
            term: term.as_deref(),
            many_colors: set("COLORTERM").is_some(),
            ground: ground.as_deref(),
        };
        Self::new(name, terminal)
    }

    pub fn new(name: ThemeName, terminal: Environment<'_>) -> Self {
        let utf8 = terminal.locale.is_none_or(|locale| {
            let locale = locale.to_ascii_lowercase();
            locale.contains("utf-8") || locale.contains("utf8")
        });
        Self {
            ink: terminal.ink(),
            glyphs: if utf8 { Glyphs::Unicode } else { Glyphs::Ascii },
            on_light: terminal.is_light(),
            ..Self::default()
        }
        .named(name)
    }

    /// The language that the terminal can display: Chinese is not possible in ASCII.
    pub fn readable(self, lang: Lang) -> Lang {
        match self.glyphs {
            Glyphs::Unicode => lang,
            Glyphs::Ascii => Lang::En,
        }
    }

    pub fn named(self, name: ThemeName) -> Self {
        let palette = match name {
            ThemeName::Auto if self.on_light => &palette::LIGHT,
            ThemeName::Auto | ThemeName::Dark => &palette::DARK,
            ThemeName::Light => &palette::LIGHT,
            ThemeName::Contrast => &palette::CONTRAST,
        };
        Self { name, palette, ..self }
    }

    pub fn style(self, role: Role) -> Style {
        let plain = Style::new();
        let bold = matches!(role, Role::Accent | Role::Good | Role::Danger | Role::Fresh);
        let plain = if bold { plain.add_modifier(Modifier::BOLD) } else { plain };
        match self.ink {
            Ink::Colour if role == Role::Selected => {
                let (ground, ink) = self.palette.selected;
                plain.fg(Color::Indexed(ink)).bg(Color::Indexed(ground)).add_modifier(Modifier::BOLD)
            }
            Ink::Colour => Style { fg: self.palette.ink(role).map(Color::Indexed), ..plain },
            Ink::Sixteen if role == Role::Selected => plain.add_modifier(Modifier::REVERSED | Modifier::BOLD),
            Ink::Sixteen => Style { fg: palette::sixteen(role), ..plain },
            Ink::Mono => match role {
                Role::Chrome => plain.add_modifier(Modifier::DIM),
                Role::Danger | Role::Selected => plain.add_modifier(Modifier::REVERSED),
                Role::Warning | Role::Code => plain.add_modifier(Modifier::UNDERLINED),
                _ => plain,
            },
        }
    }

    /// The style of the `n`-th client, the same on every pane.
    pub fn client(self, n: usize) -> Style {
        match self.ink {
            Ink::Colour => {
                let clients = &self.palette.clients;
                Style::new().fg(Color::Indexed(clients[n % clients.len()]))
            }
            Ink::Sixteen => {
                Style::new().fg(palette::CLIENTS_OF_SIXTEEN[n % palette::CLIENTS_OF_SIXTEEN.len()])
            }
            Ink::Mono => Style::new().add_modifier(Modifier::BOLD),
        }
    }

    /// The fill where two clients hold one lock.
    pub fn overlap_span(self) -> (&'static str, Style) {
        match self.ink {
            Ink::Mono => (glyphs::CLASH_MONO, Style::new().add_modifier(Modifier::BOLD)),
            // In ASCII a solid line means a single holder.
            _ if self.glyphs == Glyphs::Ascii => (glyphs::CLASH_MONO, self.style(Role::Danger)),
            Ink::Colour | Ink::Sixteen => (glyphs::CLASH, self.style(Role::Danger)),
        }
    }

    /// The fill of the bar of one of several holders: its own colour on a red ground.
    pub fn clashing(self, client: Style) -> (&'static str, Style) {
        match self.ink {
            Ink::Mono => self.overlap_span(),
            Ink::Colour => (glyphs::CLASHING, client.bg(Color::Indexed(self.palette.overlap_span))),
            Ink::Sixteen => (glyphs::CLASHING, client.bg(Color::Red)),
        }
    }

    /// The style of text on a red ground.
    pub fn alarming(self) -> Style {
        let style = self.style(Role::Danger).add_modifier(Modifier::BOLD);
        match self.ink {
            Ink::Colour => style.fg(Color::Indexed(231)).bg(Color::Indexed(self.palette.overlap_span)),
            Ink::Sixteen => style.fg(Color::White).bg(Color::Red),
            Ink::Mono => style,
        }
    }

    /// Turns the ground of an area red. Text colours and selected cells stay where they can be read on it.
    pub fn alarm(self, area: Rect, buf: &mut Buffer) {
        if self.ink != Ink::Colour {
            return;
        }
        let ground = Color::Indexed(self.palette.alarm);
        let text = self.style(Role::Text).fg.unwrap_or(Color::Reset);
        let chrome = self.style(Role::Chrome).fg.unwrap_or(Color::Reset);
        let is_client = |ink| self.palette.clients.iter().any(|client| ink == Color::Indexed(*client));
        let is_pale = |ink| ink == chrome || (self.palette != &palette::DARK && is_client(ink));
        for place in area.intersection(buf.area).positions() {
            let cell = &mut buf[place];
            if cell.bg == Color::Reset {
                cell.bg = ground;
                if cell.modifier.contains(Modifier::REVERSED) {
                    cell.bg = Color::Indexed(self.palette.on_client);
                } else if is_pale(cell.fg) && glyphs::is_word(cell.symbol()) {
                    // Grey, and in other themes than the dark one some clients' colours, have too little contrast on red.
                    cell.fg = text;
                }
            }
        }
    }

    /// Marks an area as selected, whatever is drawn there.
    pub fn choose(self, area: Rect, buf: &mut Buffer) {
        let faint = Modifier::DIM | Modifier::UNDERLINED;
        let style = self.style(Role::Selected).remove_modifier(faint);
        // The selection must be one bar, not a piece per earlier colour.
        let style = style.fg(style.fg.unwrap_or(Color::Reset));
        buf.set_style(area, style);
    }

    pub fn pane(self, focused: bool) -> Block<'static> {
        let role = if focused { Role::Accent } else { Role::Chrome };
        let style = self.style(role).remove_modifier(Modifier::BOLD);
        Block::bordered().border_type(BorderType::Rounded).border_style(style)
    }

    /// Finishes a drawn screen: fills in the theme's ground and ink where cells have none and, on an ASCII terminal,
    /// replaces all other characters.
    pub fn finish(self, buffer: &mut Buffer) {
        if self.name != ThemeName::Auto && self.ink == Ink::Colour {
            for cell in &mut buffer.content {
                if cell.bg == Color::Reset {
                    cell.bg = Color::Indexed(self.palette.ground);
                }
                if cell.fg == Color::Reset {
                    cell.fg = Color::Indexed(self.palette.text);
                }
            }
        }
        if self.glyphs == Glyphs::Unicode {
            return;
        }
        let width = usize::from(buffer.area.width.max(1));
        let mut covered = 0;
        for n in 0..buffer.content.len() {
            let (before, rest) = buffer.content.split_at_mut(n);
            let Some((cell, after)) = rest.split_first_mut() else { return };
            let before = before.last().filter(|_| n % width > 0);
            let next = after.first().filter(|_| (n + 1) % width > 0);
            if covered > 0 {
                covered -= 1;
                cell.set_symbol("?");
            } else if cell.symbol() == glyphs::STOPPED
                && (before.is_some_and(|before| before.symbol() == "|")
                    || next.is_some_and(|next| next.symbol() == glyphs::STOPPED))
            {
                // Two of these side by side mean a pause, which must not look like messages held by a link.
                cell.set_symbol("|");
            } else if !cell.symbol().is_ascii() {
                covered = text::width(cell.symbol()).saturating_sub(1);
                cell.set_symbol(glyphs::ascii(cell.symbol()));
            }
        }
    }
}

impl Environment<'_> {
    fn ink(self) -> Ink {
        let term = self.term.unwrap_or_default();
        if self.no_color || term == "dumb" || term.starts_with("vt") {
            Ink::Mono
        } else if self.many_colors || term.is_empty() || term.contains("256") || term.contains("direct") {
            Ink::Colour
        } else if matches!(term, "linux" | "ansi" | "cygwin" | "xterm" | "screen" | "tmux" | "rxvt")
            || term.ends_with("16color")
            || term.ends_with("-color")
        {
            Ink::Sixteen
        } else {
            // Terminals such as alacritty, foot, xterm-kitty, wezterm.
            Ink::Colour
        }
    }

    /// Whether the terminal reports a light ground.
    fn is_light(self) -> bool {
        let ground = self.ground.and_then(|colours| colours.rsplit(';').next());
        matches!(ground, Some("7" | "15"))
    }
}

#[cfg(test)]
mod tests {
    use ratatui::{
        buffer::Buffer,
        layout::Rect,
        style::{Color, Style},
    };

    use super::{Environment, Glyphs, Ink, Role, Theme, ThemeName, palette};

    const ROLES: [Role; 9] = [
        Role::Text,
        Role::Chrome,
        Role::Accent,
        Role::Code,
        Role::Good,
        Role::Warning,
        Role::Danger,
        Role::Fresh,
        Role::Selected,
    ];

    fn auto(terminal: Environment<'_>) -> Theme {
        Theme::new(ThemeName::Auto, terminal)
    }

    #[test]
    fn the_environment_decides() {
        let term =
            |term| Environment { term: Some(term), locale: Some("en_US.UTF-8"), ..Environment::default() };
        assert_eq!(auto(term("xterm-256color")), Theme::default());
        assert_eq!(auto(term("xterm-kitty")).ink, Ink::Colour);
        assert_eq!(auto(term("linux")).ink, Ink::Sixteen);
        assert_eq!(auto(term("dumb")).ink, Ink::Mono);
        let no_color = Environment { no_color: true, many_colors: true, ..term("xterm-256color") };
        assert_eq!(auto(no_color).ink, Ink::Mono);
        let posix = Environment { locale: Some("POSIX"), ..Environment::default() };
        assert_eq!(auto(posix).glyphs, Glyphs::Ascii);
        let light = Environment { ground: Some("0;15"), ..Environment::default() };
        assert_eq!(auto(light).palette, &palette::LIGHT);
    }

    #[test]
    fn names_are_what_they_parse_from() {
        for name in ThemeName::ALL {
            assert_eq!(name.name().parse(), Ok(name));
        }
        assert!("pink".parse::<ThemeName>().unwrap_err().contains("contrast"));
    }

    #[test]
    fn mono_uses_no_colour_at_all() {
        let theme = Theme { ink: Ink::Mono, ..Theme::default() };
        for role in ROLES {
            let style = theme.style(role);
            assert_eq!((style.fg, style.bg), (None, None));
            if role != Role::Text {
                assert_ne!(style, Style::new(), "{role:?} must differ from plain text");
            }
        }
        assert_eq!(theme.client(3).fg, None);
    }

    #[test]
    fn sixteen_colours_are_the_named_ones() {
        let theme = Theme { ink: Ink::Sixteen, ..Theme::default() };
        let named = |style: Style| !matches!(style.fg, Some(Color::Indexed(_) | Color::Rgb(..)));
        assert!(ROLES.into_iter().all(|role| named(theme.style(role))));
        assert!((0..16).all(|n| named(theme.client(n))));
        assert_ne!(theme.client(0), theme.client(1));
    }

    #[test]
    fn a_theme_that_was_chosen_paints_its_own_ground() {
        for name in ThemeName::ALL {
            let mut buffer = Buffer::empty(Rect::new(0, 0, 2, 1));
            Theme::new(name, Environment::default()).finish(&mut buffer);
            let painted = buffer.content.iter().all(|cell| cell.bg != Color::Reset);
            assert_eq!(painted, name != ThemeName::Auto);
        }
    }

    #[test]
    fn an_ascii_terminal_gets_only_ascii() {
        let mut buffer = Buffer::empty(Rect::new(0, 0, 24, 1));
        buffer.set_string(0, 0, "│ 锁 → ✓ ▮▮ ▮ cut… a…b", Style::new());
        let theme = Theme { glyphs: Glyphs::Ascii, ..Theme::default() };
        theme.finish(&mut buffer);
        let line: String = buffer.content.iter().map(ratatui::buffer::Cell::symbol).collect();
        assert_eq!(line.trim_end(), "| ?? > Y || H cut~ a~b");
    }
}
