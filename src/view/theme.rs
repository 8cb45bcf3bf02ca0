//! Colours and glyphs, in one place, and what they mean. It must not know what is drawn with them.

use ratatui::{
    buffer::Buffer,
    style::{Color, Modifier, Style},
    widgets::{Block, BorderType},
};

use super::text;

/// One colour per client, from the Okabe-Ito set moved to the 256 colours that terminals share, in the order
/// in which neighbours differ most for colour-blind eyes. Red is kept for danger.
const CLIENTS: [u8; 8] = [214, 75, 36, 176, 185, 69, 137, 109];

/// How much a terminal can show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Ink {
    /// Colours.
    #[default]
    Colour,
    /// Attributes only: `NO_COLOR` is set.
    Mono,
}

/// Which characters a terminal can show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Glyphs {
    /// All of them.
    #[default]
    Unicode,
    /// ASCII only: the locale is not UTF-8.
    Ascii,
}

/// What a style stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The story: what is to be read.
    Text,
    /// Frames, axes, hints: what is to be overlooked.
    Chrome,
    /// Headings and what has the focus.
    Accent,
    /// Commands and code within text.
    Code,
    /// What went well, a claim that holds.
    Good,
    /// What deserves a doubt: a key without expiry, the wall clock.
    Warning,
    /// The failure itself.
    Danger,
    /// What has just changed.
    Fresh,
    /// The chosen line of a list.
    Selected,
}

/// Colours and glyphs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Theme {
    /// Colours or none.
    pub ink: Ink,
    /// Unicode or ASCII.
    pub glyphs: Glyphs,
}

impl Theme {
    /// What the environment asks for: `NO_COLOR`, and the locale that `LC_ALL`, `LC_CTYPE` or `LANG` names.
    #[must_use]
    pub fn from_env() -> Self {
        let set = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(set);
        Self::new(set("NO_COLOR").is_some(), locale.as_deref())
    }

    /// The theme for a terminal without colours or with them, in a locale.
    #[must_use]
    pub fn new(no_color: bool, locale: Option<&str>) -> Self {
        let utf8 = locale.is_none_or(|locale| {
            let locale = locale.to_ascii_lowercase();
            locale.contains("utf-8") || locale.contains("utf8")
        });
        Self {
            ink: if no_color { Ink::Mono } else { Ink::Colour },
            glyphs: if utf8 { Glyphs::Unicode } else { Glyphs::Ascii },
        }
    }

    /// The style of a role.
    #[must_use]
    pub fn style(self, role: Role) -> Style {
        let plain = Style::new();
        match (self.ink, role) {
            (_, Role::Text) => plain,
            (Ink::Colour, Role::Chrome) => plain.fg(Color::Indexed(243)),
            (Ink::Colour, Role::Accent) => plain.fg(Color::Indexed(79)).add_modifier(Modifier::BOLD),
            (Ink::Colour, Role::Code) => plain.fg(Color::Indexed(79)),
            (Ink::Colour, Role::Good) => plain.fg(Color::Indexed(71)).add_modifier(Modifier::BOLD),
            (Ink::Colour, Role::Warning) => plain.fg(Color::Indexed(172)),
            (Ink::Colour, Role::Danger) => plain.fg(Color::Indexed(203)).add_modifier(Modifier::BOLD),
            (Ink::Colour, Role::Selected) => plain
                .fg(Color::Indexed(231))
                .bg(Color::Indexed(24))
                .add_modifier(Modifier::BOLD),
            (Ink::Mono, Role::Chrome) => plain.add_modifier(Modifier::DIM),
            (Ink::Mono, Role::Danger | Role::Selected) => plain.add_modifier(Modifier::REVERSED),
            (Ink::Mono, Role::Warning | Role::Code) => plain.add_modifier(Modifier::UNDERLINED),
            (Ink::Mono, Role::Accent | Role::Good) | (_, Role::Fresh) => plain.add_modifier(Modifier::BOLD),
        }
    }

    /// The style of the `n`-th client, the same on every pane.
    #[must_use]
    pub fn client(self, n: usize) -> Style {
        match self.ink {
            Ink::Colour => Style::new().fg(Color::Indexed(CLIENTS[n % CLIENTS.len()])),
            Ink::Mono => Style::new().add_modifier(Modifier::BOLD),
        }
    }

    /// A pane's frame.
    #[must_use]
    pub fn pane(self, focused: bool) -> Block<'static> {
        let role = if focused { Role::Accent } else { Role::Chrome };
        let style = self.style(role).remove_modifier(Modifier::BOLD);
        Block::bordered()
            .border_type(BorderType::Rounded)
            .border_style(style)
    }

    /// The last touch on a drawn screen: in an ASCII terminal, every other character becomes one that it has.
    pub fn finish(self, buffer: &mut Buffer) {
        if self.glyphs == Glyphs::Unicode {
            return;
        }
        let mut covered = 0;
        for cell in &mut buffer.content {
            if covered > 0 {
                covered -= 1;
                cell.set_symbol("?");
            } else if !cell.symbol().is_ascii() {
                covered = text::width(cell.symbol()).saturating_sub(1);
                cell.set_symbol(ascii(cell.symbol()));
            }
        }
    }
}

fn ascii(symbol: &str) -> &'static str {
    match symbol {
        "│" | "┊" | "┃" | "▮" => "|",
        "─" | "━" | "┄" | "╌" | "┈" | "▱" | "–" | "—" => "-",
        "╭" | "╮" | "╰" | "╯" | "┴" | "✓" => "+",
        "█" | "▄" | "▀" | "▇" | "▆" | "▅" | "▰" => "#",
        "▁" | "▂" | "▃" | "░" | "▒" => ":",
        "→" | "▶" | "▸" => ">",
        "←" => "<",
        "↑" | "▲" => "^",
        "↓" | "▼" => "v",
        "…" | "·" => ".",
        "●" | "○" | "◉" => "o",
        "✗" | "✝" | "×" => "x",
        "↯" => "!",
        _ => "?",
    }
}

#[cfg(test)]
mod tests {
    use ratatui::{buffer::Buffer, layout::Rect, style::Style};

    use super::{Glyphs, Ink, Role, Theme};

    #[test]
    fn the_environment_decides() {
        assert_eq!(Theme::new(false, Some("en_US.UTF-8")), Theme::default());
        assert_eq!(Theme::new(true, None).ink, Ink::Mono);
        assert_eq!(Theme::new(false, Some("POSIX")).glyphs, Glyphs::Ascii);
    }

    #[test]
    fn mono_uses_no_colour_at_all() {
        let theme = Theme::new(true, None);
        for role in [
            Role::Danger,
            Role::Chrome,
            Role::Good,
            Role::Selected,
            Role::Warning,
        ] {
            let style = theme.style(role);
            assert_eq!((style.fg, style.bg), (None, None));
            assert_ne!(style, Style::new(), "{role:?} must differ from plain text");
        }
        assert_eq!(theme.client(3).fg, None);
    }

    #[test]
    fn an_ascii_terminal_gets_only_ascii() {
        let mut buffer = Buffer::empty(Rect::new(0, 0, 12, 1));
        buffer.set_string(0, 0, "│ 锁 → ✓", Style::new());
        Theme::new(false, Some("C")).finish(&mut buffer);
        let line: String = buffer.content.iter().map(ratatui::buffer::Cell::symbol).collect();
        assert_eq!(line.trim_end(), "| ?? > +");
    }
}
