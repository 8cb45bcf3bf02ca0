//! The command palette: a text field, and the matching commands with their keys.

use super::{SMALLEST, lesson::inside, overlay, paragraph, prelude::*, search_text};
use crate::ui::{
    keys::KeyScope,
    state::palette::{Listed, Palette},
};

const WIDEST: u16 = 92;

#[derive(Debug, Clone, Copy)]
pub struct PaletteView<'a> {
    pub palette: &'a Palette,
    pub listed: &'a [Listed],
    pub context: Context<'a>,
}

impl PaletteView<'_> {
    /// In the upper middle, with a fixed height, so that nothing jumps while the user types.
    fn frame(area: Rect) -> Rect {
        let width = area.width.saturating_sub(4).min(WIDEST);
        let height = (area.height * 3 / 5).max(14).min(area.height.saturating_sub(2));
        let above = (area.height.saturating_sub(height) / 3).max(1);
        Rect { y: area.y + above, height, ..area.centered_horizontally(width.into()) }
    }

    pub fn cursor(&self, area: Rect) -> Option<Position> {
        let fits = area.width >= SMALLEST.0 && area.height >= SMALLEST.1;
        fits.then(|| search_text::cursor(&self.palette.typed, "", inside(Self::frame(area))))
    }

    pub fn draw(&self, area: Rect, buf: &mut Buffer) {
        let area = area.intersection(buf.area);
        if area.width < SMALLEST.0 || area.height < SMALLEST.1 {
            return;
        }
        let Context { theme, lang, .. } = self.context;
        let title = if self.palette.faults { words::CAUSE } else { words::COMMANDS };
        let inner = overlay::popup(self.context, title.get(lang), KeyScope::Field, Self::frame(area), buf);
        search_text::field(&self.palette.typed, "›", "", theme, inner, buf);
        let rule = "─".repeat(inner.width.into());
        buf.set_stringn(inner.x, inner.y + 1, rule, inner.width.into(), theme.style(Role::Chrome));
        let list = Rect { y: inner.y + 2, height: inner.height.saturating_sub(2), ..inner };
        self.draw_list(list, buf);
        theme.finish(buf);
    }

    fn draw_list(&self, area: Rect, buf: &mut Buffer) {
        if self.listed.is_empty() {
            let nothing = words::NO_COMMAND_MATCHES.get(self.context.lang);
            let style = self.context.theme.style(Role::Warning);
            buf.set_stringn(area.x + 3, area.y, nothing, area.width.saturating_sub(3).into(), style);
            return;
        }
        let chosen = self.palette.chosen.min(self.listed.len() - 1);
        let start = paragraph::start((chosen, 1), self.listed.len(), area.height);
        let shown = self.listed.iter().enumerate().skip(start);
        for (y, (n, listed)) in (area.top()..area.bottom()).zip(shown) {
            let line = self.line(listed, n == chosen, area.width.into());
            buf.set_line(area.x, y, &line, area.width);
        }
        let below = self.listed.len().saturating_sub(start + usize::from(area.height));
        if below > 0 {
            let sign = format!(" ↓ {below} ");
            let columns = text::width(&sign);
            buf.set_stringn(area.x + 1, area.bottom(), sign, columns, self.context.theme.style(Role::Accent));
        }
    }

    fn line(&self, listed: &Listed, chosen: bool, width: usize) -> Line<'static> {
        let command = &listed.command;
        let base = self.context.theme.style(if chosen { Role::Selected } else { Role::Text });
        let dim = if chosen { base } else { self.context.theme.style(Role::Chrome) };
        let key = if chosen { base } else { self.context.theme.style(Role::Code) };
        let right = if command.current { glyphs::DONE } else { &command.keys };
        let right_width = text::width(right);
        let room = width.saturating_sub(4 + right_width + usize::from(right_width > 0) * 2);
        let mut spans = vec![Span::styled(if chosen { " ▸ " } else { "   " }, base)];
        spans.extend(search_text::marked(&command.name, &listed.marks, room, base, self.context.theme));
        let taken = |spans: &[Span<'_>]| spans.iter().map(Span::width).sum::<usize>() - 3;
        if let Some((other, marks)) = &listed.other {
            let left = room.saturating_sub(taken(&spans) + 3);
            if left > 6 {
                spans.push(Span::styled("  ", base));
                spans.extend(search_text::marked(other, marks, left, dim, self.context.theme));
            }
        }
        let gap = width.saturating_sub(taken(&spans) + 3 + right_width + 1);
        spans.push(Span::styled(" ".repeat(gap), base));
        let right_style = if command.current && !chosen { self.context.theme.style(Role::Good) } else { key };
        spans.push(Span::styled(right.to_owned(), right_style));
        spans.push(Span::styled(" ", base));
        Line::from(spans)
    }
}
