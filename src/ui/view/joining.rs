//! How a class joins, over any screen: a QR code as large as fits, the address, the code in large letters.

use qrcode::{Color as Module, EcLevel, QrCode};
use ratatui::style::Color;

use super::{banner, key_hints, overlay, paragraph, prelude::*};
use crate::ui::{
    state::classroom::protocol::Joining,
    theme::{Glyphs, Ink},
};

/// The quiet zone around a QR code, in modules, as required by its standard.
const QUIET: usize = 4;
/// Columns needed by the text beside a QR code.
const WORDS: u16 = 30;
/// The maximum width of a dot of large letters, in columns.
const WIDEST: u16 = 6;

#[derive(Debug, Clone, Copy)]
pub struct JoiningView<'a> {
    pub joining: &'a Joining,
    /// `None` if nobody can join any more.
    pub joined: Option<usize>,
    pub context: Context<'a>,
}

/// A QR code without its quiet zone; `true` is dark.
struct Code {
    side: usize,
    modules: Vec<bool>,
}

impl Code {
    fn new(words: &str) -> Option<Self> {
        // The lowest error correction level suffices on a screen, where nothing gets damaged.
        let code = QrCode::with_error_correction_level(words, EcLevel::L).ok()?;
        let modules = code.to_colors().into_iter().map(|module| module == Module::Dark).collect();
        Some(Self { side: code.width(), modules })
    }

    /// The modules per side, including the quiet zone.
    fn span(&self) -> usize {
        self.side + 2 * QUIET
    }

    fn is_dark(&self, x: usize, y: usize) -> bool {
        let inside = |n: usize| n.checked_sub(QUIET).filter(|n| *n < self.side);
        let place = inside(x).zip(inside(y)).map(|(x, y)| y * self.side + x);
        place.is_some_and(|place| self.modules[place])
    }

    /// The columns and rows of a code with modules that are `wide` columns wide. Modules of one column share a cell,
    /// one above the other.
    fn size(&self, wide: usize) -> (u16, u16) {
        let cells = |n: usize| u16::try_from(n).unwrap_or(u16::MAX);
        if wide == 1 {
            (cells(self.span()), cells(self.span().div_ceil(2)))
        } else {
            (cells(self.span() * wide), cells(self.span() * wide / 2))
        }
    }

    /// The widest modules that fit.
    fn widest(&self, room: (u16, u16), theme: Theme) -> Option<usize> {
        let least = if theme.glyphs == Glyphs::Ascii { 2 } else { 1 };
        let fits = |wide: &usize| {
            let (columns, rows) = self.size(*wide);
            columns <= room.0 && rows <= room.1
        };
        [4, 2, 1].into_iter().filter(|wide| *wide >= least).find(fits)
    }

    /// Draws dark on light whatever the theme, because not every phone reads inverted codes.
    fn draw(&self, wide: usize, area: Rect, theme: Theme, buf: &mut Buffer) {
        let paper = match theme.ink {
            Ink::Colour => Style::new().fg(Color::Indexed(16)).bg(Color::Indexed(231)),
            Ink::Sixteen => Style::new().fg(Color::Black).bg(Color::White),
            // Assumes a dark ground, which almost all terminals without colours have.
            Ink::Mono => Style::new().add_modifier(Modifier::REVERSED),
        };
        let dark = match theme.ink {
            Ink::Colour | Ink::Sixteen => Style { fg: paper.bg, bg: paper.fg, ..paper },
            Ink::Mono => Style::new(),
        };
        for place in area.intersection(buf.area).positions() {
            let (x, y) = (usize::from(place.x - area.x), usize::from(place.y - area.y));
            let cell = &mut buf[place];
            cell.reset();
            if wide == 1 {
                let symbol = match (self.is_dark(x, 2 * y), self.is_dark(x, 2 * y + 1)) {
                    (false, false) => " ",
                    (true, false) => "▀",
                    (false, true) => "▄",
                    (true, true) => "█",
                };
                cell.set_symbol(symbol).set_style(paper);
            } else {
                // Backgrounds need no glyph, which an ASCII terminal would lack.
                cell.set_symbol(" ").set_style(if self.is_dark(x / wide, 2 * y / wide) {
                    dark
                } else {
                    paper
                });
            }
        }
    }
}

impl JoiningView<'_> {
    pub fn draw(&self, area: Rect, buf: &mut Buffer) {
        let area = area.intersection(buf.area);
        let Context { theme, lang, .. } = self.context;
        if area.width < super::SMALLEST.0 || area.height < super::SMALLEST.1 {
            return;
        }
        overlay::clear(area, buf);
        let title = Span::styled(format!(" {} ", words::JOIN.get(lang)), theme.style(Role::Accent));
        let keys: [(&[&str], _); 1] = [(&["leave"], words::CLOSE)];
        let hints = key_hints::named(self.context, &keys, area.width.saturating_sub(4));
        let block = theme.pane(true).title(title).title_bottom(hints.right_aligned());
        let inner = paragraph::frame(block, area, buf);
        let code = Code::new(&self.joining.url).filter(|_| self.joined.is_some());
        let room = (inner.width.saturating_sub(WORDS + 2), inner.height);
        let shown = code.and_then(|code| Some((code.widest(room, theme)?, code)));
        let words = match shown {
            Some((wide, code)) => {
                let (columns, rows) = code.size(wide);
                let place = Rect { width: columns, height: rows, ..inner };
                let place = Rect { y: inner.y + (inner.height - rows) / 2, x: inner.x + 1, ..place };
                code.draw(wide, place, theme, buf);
                let taken = columns + 3;
                Rect { x: inner.x + taken, width: inner.width.saturating_sub(taken + 1), ..inner }
            }
            None => paragraph::text_area(inner),
        };
        self.words(words, words.x > inner.x + 1, buf);
        theme.finish(buf);
    }

    /// Draws the text, which is `beside` the QR code or alone.
    fn words(&self, area: Rect, beside: bool, buf: &mut Buffer) {
        let Context { theme, lang, .. } = self.context;
        let Joining { url, code, loopback } = self.joining;
        let width = usize::from(area.width);
        let say = |words: &str, role: Role| paragraph::prose(words, width, theme.style(role), theme);
        let bold = |words: &str| {
            paragraph::plain(words, width, theme.style(Role::Accent).add_modifier(Modifier::BOLD))
        };
        let scheme = url.strip_prefix("http://").unwrap_or(url);
        let address = scheme.strip_suffix(&format!("/{code}")).unwrap_or(scheme);
        let open = if beside { words::JOIN_AT } else { words::JOIN_OPEN };
        let mut above = say(open.get(lang), Role::Text);
        above.extend(bold(address));
        above.push(Line::default());
        above.extend(say(words::JOIN_CODE.get(lang), Role::Text));
        let mut below = match self.joined {
            Some(joined) => say(&words::JOINED.with(lang, &[&joined.to_string()]), Role::Good),
            None => say(words::NO_SERVER.get(lang), Role::Danger),
        };
        if *loopback {
            below.push(Line::default());
            below.extend(say(words::ONLY_HERE.get(lang), Role::Warning));
        }
        let rows = |lines: &[Line<'_>]| u16::try_from(lines.len()).unwrap_or(u16::MAX);
        let left = area.height.saturating_sub(rows(&above) + rows(&below) + 2);
        let fits =
            |wide: &u16| banner::columns(code, *wide) <= area.width && banner::letter_rows(*wide) <= left;
        let wide = [WIDEST, 4, 2, 1].into_iter().find(fits);
        let high = wide.map_or(1, banner::letter_rows);
        let whole = rows(&above) + high + 2 + rows(&below);
        let mut y = area.y + area.height.saturating_sub(whole) / 2;
        let draw = |lines: &[Line<'static>], y: &mut u16, buf: &mut Buffer| {
            for line in lines {
                if *y < area.bottom() {
                    buf.set_line(area.x, *y, line, area.width);
                }
                *y += 1;
            }
        };
        draw(&above, &mut y, buf);
        y += 1;
        let style = theme.style(Role::Fresh).add_modifier(Modifier::BOLD);
        // ASCII has no glyph for half a cell.
        match wide.filter(|wide| theme.glyphs == Glyphs::Unicode || *wide > 1) {
            Some(wide) => {
                buf.set_style(Rect { y, height: high, ..area }.intersection(buf.area), style);
                banner::draw_letters(code, wide, (area.x, y), buf);
            }
            None => {
                buf.set_stringn(area.x, y, code, width, style);
            }
        }
        y += high + 1;
        draw(&below, &mut y, buf);
    }
}
