//! The catalogue: lessons by track on the left, the chosen one on the right. It must not know how lessons are
//! loaded or run.

use ratatui::{
    buffer::Buffer,
    layout::{Constraint, Layout, Rect},
    text::{Line, Span},
    widgets::Widget,
};

use super::{
    narration, strip, text,
    theme::{Role, Theme},
    words,
};
use crate::{
    app::{Catalogue, CatalogueEntry, Progress},
    lesson::{Expect, Lang},
};

/// What the catalogue shows.
#[derive(Debug, Clone, Copy)]
pub struct CatalogueView<'a> {
    /// The lessons.
    pub catalogue: &'a Catalogue,
    /// What the learner has done so far.
    pub progress: &'a Progress,
    /// The chosen one.
    pub selected: usize,
    /// How far its description is scrolled.
    pub scroll: u16,
    /// Colours.
    pub theme: Theme,
    /// The language.
    pub lang: Lang,
}

impl<'a> CatalogueView<'a> {
    /// The chosen lesson.
    #[must_use]
    pub fn selected(&self) -> Option<&'a CatalogueEntry> {
        self.catalogue.entries.get(self.selected)
    }

    fn style(&self, role: Role) -> ratatui::style::Style {
        self.theme.style(role)
    }

    /// Head, list, chosen lesson, foot.
    fn areas(area: Rect) -> [Rect; 4] {
        let [head, body, foot] =
            Layout::vertical([Constraint::Length(2), Constraint::Min(1), Constraint::Length(1)]).areas(area);
        let list = if area.width >= 100 { 44 } else { 40 };
        let [left, right] =
            Layout::horizontal([Constraint::Percentage(list), Constraint::Min(1)]).areas(body);
        [head, left, right, foot]
    }

    /// How far the description can be scrolled on a screen of this size.
    #[must_use]
    pub fn reach(&self, area: Rect) -> u16 {
        let [_, _, right, _] = Self::areas(area);
        let inner = text_area(ratatui::widgets::Block::bordered().inner(right));
        let lines = self
            .selected()
            .map_or(0, |entry| self.description(entry, inner.width).len());
        u16::try_from(lines)
            .unwrap_or(u16::MAX)
            .saturating_sub(inner.height)
    }

    /// Which lesson each line of the list is about: none, for headings and gaps.
    fn list_rows(&self) -> Vec<Option<usize>> {
        let mut rows = Vec::new();
        let entries = &self.catalogue.entries;
        for (n, entry) in entries.iter().enumerate() {
            let before = n.checked_sub(1).and_then(|n| entries.get(n));
            if before.is_none_or(|before| before.track != entry.track) {
                rows.extend((n > 0).then_some(None));
                rows.push(None);
            }
            rows.push(Some(n));
        }
        rows
    }

    /// The first line of the list in sight: the chosen one stays there, with a little of what follows.
    fn list_start(&self, rows: &[Option<usize>], height: u16) -> usize {
        let chosen = rows
            .iter()
            .position(|row| *row == Some(self.selected))
            .unwrap_or(0);
        let height = usize::from(height);
        (chosen + 3)
            .saturating_sub(height)
            .min(rows.len().saturating_sub(height))
    }

    /// The lesson at a place of the screen.
    #[must_use]
    pub fn entry_at(&self, area: Rect, (x, y): (u16, u16)) -> Option<usize> {
        let [_, list, _, _] = Self::areas(area);
        let inner = self.theme.pane(true).inner(list);
        if !inner.contains((x, y).into()) {
            return None;
        }
        let rows = self.list_rows();
        let row = self.list_start(&rows, inner.height) + usize::from(y - inner.y);
        rows.get(row).copied().flatten()
    }

    pub(super) fn draw(&self, area: Rect, buf: &mut Buffer) {
        let [head, left, right, foot] = Self::areas(area);
        let title = Line::from(vec![
            Span::styled(" Lockstep ", self.style(Role::Accent)),
            Span::styled(words::TAGLINE.get(self.lang), self.style(Role::Chrome)),
        ]);
        buf.set_line(head.x + 1, head.y, &title, head.width.saturating_sub(1));
        if self.selected().is_some_and(|entry| entry.recorded) {
            let mark = Line::styled(
                format!(" {} ", words::RECORDED.get(self.lang)),
                self.style(Role::Warning),
            );
            let width = u16::try_from(mark.width()).unwrap_or(head.width).min(head.width);
            buf.set_line(head.right() - width, head.y, &mark, width);
        }
        self.draw_list(left, buf);
        self.draw_entry(right, buf);
        buf.set_line(
            foot.x,
            foot.y,
            &strip::hints(words::CATALOGUE_HINTS, self.lang, self.theme, foot.width),
            foot.width,
        );
    }

    fn draw_list(&self, area: Rect, buf: &mut Buffer) {
        let heading = format!(" {} ", words::LESSONS.get(self.lang));
        let block = self
            .theme
            .pane(true)
            .title(Span::styled(heading, self.style(Role::Accent)));
        let inner = block.inner(area);
        block.render(area, buf);
        let width = usize::from(inner.width);
        let rows = self.list_rows();
        let entries = &self.catalogue.entries;
        let mut lines: Vec<Line<'_>> = Vec::with_capacity(rows.len());
        for (n, row) in rows.iter().enumerate() {
            let below = rows.get(n + 1).copied().flatten();
            lines.push(match (row, below) {
                (Some(entry), _) => self.list_line(&entries[*entry], *entry == self.selected, width),
                (None, Some(first)) => {
                    let track = words::track(entries[first].track).get(self.lang);
                    Line::styled(format!(" {track}"), self.style(Role::Chrome))
                }
                (None, None) => Line::default(),
            });
        }
        if lines.is_empty() {
            lines.push(Line::styled(
                words::NO_LESSONS.get(self.lang),
                self.style(Role::Warning),
            ));
        }
        let start = self.list_start(&rows, inner.height);
        for (y, line) in (inner.top()..inner.bottom()).zip(lines.iter().skip(start)) {
            buf.set_line(inner.x, y, line, inner.width);
        }
    }

    /// What was done of a lesson, in place of how long it takes: a tick once every variant's verdict was
    /// reached, and how many predictions came true.
    fn done(&self, entry: &CatalogueEntry) -> Option<String> {
        let variants = self.progress.lessons.get(&entry.id)?;
        let all = entry
            .variants
            .iter()
            .all(|variant| variants.get(&variant.name).is_some_and(|record| record.finished));
        let asked: usize = variants.values().map(|record| record.asked).sum();
        let right: usize = variants.values().map(|record| record.right).sum();
        let mark = if all { "✓" } else { "·" };
        Some(match asked {
            0 => format!("{mark} "),
            asked => format!("{mark} {right}/{asked} "),
        })
    }

    /// What was done of a variant.
    fn done_in(&self, entry: &CatalogueEntry, variant: &str) -> Option<String> {
        let record = self.progress.of(&entry.id, variant)?;
        let done = record.finished.then(|| words::DONE.get(self.lang).to_owned());
        let predicted = (record.asked > 0).then(|| {
            let (right, asked) = (record.right.to_string(), record.asked.to_string());
            words::PREDICTED.with(self.lang, &[&right, &asked])
        });
        let parts: Vec<String> = done.into_iter().chain(predicted).collect();
        (!parts.is_empty()).then(|| parts.join(" · "))
    }

    fn list_line(&self, entry: &CatalogueEntry, selected: bool, width: usize) -> Line<'static> {
        let minutes = if entry.broken.is_some() {
            "✗ ".to_owned()
        } else if let Some(done) = self.done(entry) {
            done
        } else {
            format!(
                "{} ",
                words::MINUTES.with(self.lang, &[&entry.minutes.to_string()])
            )
        };
        let room = width.saturating_sub(text::width(&minutes) + 3);
        let title = text::pad(
            &format!(
                "{}{}",
                if selected { "▸ " } else { "  " },
                entry.title.get(self.lang)
            ),
            room + 2,
        );
        let (name, time) = match (selected, entry.broken.is_some()) {
            (true, _) => (Role::Selected, Role::Selected),
            (false, true) => (Role::Danger, Role::Danger),
            (false, false) => (Role::Text, Role::Chrome),
        };
        Line::from(vec![
            Span::styled(format!(" {title}"), self.style(name)),
            Span::styled(minutes, self.style(time)),
        ])
    }

    fn draw_entry(&self, area: Rect, buf: &mut Buffer) {
        let Some(entry) = self.selected() else {
            self.theme.pane(false).render(area, buf);
            return;
        };
        let room = usize::from(area.width.saturating_sub(6));
        let heading = format!(" {} ", text::fit(entry.title.get(self.lang), room));
        let block = self
            .theme
            .pane(false)
            .title(Span::styled(heading, self.style(Role::Accent)));
        let inner = block.inner(area);
        block.render(area, buf);
        let inner = text_area(inner);
        let lines = self.description(entry, inner.width);
        let more = (self.theme, words::MORE.get(self.lang));
        narration::draw(&lines, self.scroll, more, inner, buf);
    }

    fn description(&self, entry: &CatalogueEntry, width: u16) -> Vec<Line<'static>> {
        match &entry.broken {
            Some(error) => self.broken(error, width),
            None => self.entry_lines(entry, width),
        }
    }

    fn broken(&self, error: &str, width: u16) -> Vec<Line<'static>> {
        let width = usize::from(width);
        let heading = text::wrap(words::BROKEN.get(self.lang), width);
        let heading = heading
            .into_iter()
            .map(|row| Line::styled(row, self.style(Role::Danger)));
        let error = text::wrap(error, width).into_iter().map(Line::from);
        heading.chain([Line::default()]).chain(error).collect()
    }

    fn entry_lines(&self, entry: &CatalogueEntry, width: u16) -> Vec<Line<'static>> {
        let columns = usize::from(width);
        let mut lines = narration::lines(entry.summary.get(self.lang), self.theme, width);
        lines.push(Line::default());
        let labs: Vec<&str> = entry
            .labs()
            .into_iter()
            .map(|lab| words::lab(lab).get(self.lang))
            .collect();
        let facts = format!(
            "{}: {} · {}",
            words::NEEDS.get(self.lang),
            labs.join(" + "),
            words::MINUTES.with(self.lang, &[&entry.minutes.to_string()]),
        );
        for row in text::wrap(&facts, columns) {
            lines.push(Line::styled(row, self.style(Role::Chrome)));
        }
        if entry.recorded {
            let words = format!(
                "{}: {}",
                words::RECORDED.get(self.lang),
                words::HOW_LIVE.get(self.lang)
            );
            for row in text::wrap(&words, columns) {
                lines.push(Line::styled(row, self.style(Role::Warning)));
            }
        }
        lines.push(Line::default());
        lines.push(Line::styled(
            words::VARIANTS.get(self.lang),
            self.style(Role::Accent),
        ));
        for (n, variant) in entry.variants.iter().enumerate() {
            let (glyph, role, word) = match variant.expect {
                Expect::Shown => ("✗", Role::Danger, words::FAILS),
                Expect::Prevented => ("✓", Role::Good, words::PREVENTS),
            };
            let word = word.get(self.lang);
            let title = format!("{}. {}", n + 1, variant.title.get(self.lang));
            let alone = text::width(&title) + text::width(word) + 5 > columns;
            for (row_number, row) in text::wrap(&title, columns.saturating_sub(2))
                .into_iter()
                .enumerate()
            {
                let tick = if row_number == 0 {
                    format!("{glyph} ")
                } else {
                    "  ".to_owned()
                };
                let mut spans = vec![Span::styled(tick, self.style(role)), Span::raw(row)];
                if row_number == 0 && !alone {
                    spans.push(Span::styled(format!("  {word}"), self.style(Role::Chrome)));
                }
                lines.push(Line::from(spans));
            }
            if let Some(done) = self.done_in(entry, &variant.name) {
                let words = text::fit(&done, columns.saturating_sub(5)).into_owned();
                lines.push(Line::styled(format!("     {words}"), self.style(Role::Good)));
            }
        }
        if !entry.interview.is_empty() {
            lines.push(Line::default());
            let cards = words::QUESTIONS.with(self.lang, &[&entry.interview.len().to_string()]);
            lines.push(Line::styled(cards, self.style(Role::Chrome)));
        }
        lines.push(Line::default());
        lines.extend(narration::lines(entry.intro.get(self.lang), self.theme, width));
        lines
    }
}

/// A pane's inside without the columns next to its frame.
fn text_area(inner: Rect) -> Rect {
    Rect {
        x: inner.x + 1,
        width: inner.width.saturating_sub(2),
        ..inner
    }
}
