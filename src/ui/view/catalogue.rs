//! The catalogue: lessons by track on the left, the selected lesson on the right.

use super::{key_hints, lanes, lesson::inside, paragraph, prelude::*, table};
use crate::{
    lesson::Expect,
    text::Words,
    ui::{
        keys::KeyScope,
        state::{
            browse::{CatalogueFocus, Search},
            catalogue::{Catalogue, CatalogueEntry, CatalogueVariant},
            fingerprint::Cell,
            preview::Preview,
            progress::Progress,
        },
    },
};

/// The minimum columns and rows of the right pane that leave room for the preview: those of a 100x30 screen.
const PREVIEW: (u16, u16) = (48, 26);

#[derive(Debug, Clone, Copy)]
pub struct CatalogueView<'a> {
    pub catalogue: &'a Catalogue,
    pub progress: &'a Progress,
    pub selected: usize,
    pub focus: CatalogueFocus,
    pub search: Option<&'a Search>,
    pub scroll: u16,
    /// The preview of the selected lesson's failure, as far as it has been played.
    pub preview: Option<&'a Preview>,
    /// The fingerprints made so far.
    pub fingerprints: &'a [Option<Vec<Cell>>],
    pub context: Context<'a>,
}

impl<'a> CatalogueView<'a> {
    pub fn selected(&self) -> Option<&'a CatalogueEntry> {
        self.catalogue.entries.get(self.selected)
    }

    /// The active key scope, ignoring the search field.
    pub(crate) fn place(&self) -> KeyScope {
        match self.focus {
            CatalogueFocus::Variants(_) => KeyScope::Variants,
            CatalogueFocus::Lessons | CatalogueFocus::Search => KeyScope::Catalogue,
        }
    }

    /// The selected variant, if the focus is on the variants.
    fn variant(&self) -> Option<usize> {
        match self.focus {
            CatalogueFocus::Variants(variant) => Some(variant),
            CatalogueFocus::Lessons | CatalogueFocus::Search => None,
        }
    }

    pub(crate) fn style(&self, role: Role) -> Style {
        self.context.theme.style(role)
    }

    /// Header, list, selected lesson, footer.
    pub(crate) fn areas(area: Rect) -> [Rect; 4] {
        let [head, body, foot] =
            Layout::vertical([Constraint::Length(2), Constraint::Min(1), Constraint::Length(1)]).areas(area);
        let list = if area.width >= 100 { 44 } else { 46 };
        let [left, right] =
            Layout::horizontal([Constraint::Percentage(list), Constraint::Min(1)]).areas(body);
        [head, left, right, foot]
    }

    /// Divides the right pane into the description and, if there is room for it, the preview.
    fn split_for_preview(&self, area: Rect) -> (Rect, Option<(Scene<'a>, Rect)>) {
        let room = (area.width >= PREVIEW.0 && area.height >= PREVIEW.1).then_some(self.preview).flatten();
        let Some(preview) = room else { return (area, None) };
        let known = (&preview.chart, &preview.sequence);
        let scene = Scene::still(&preview.log, &preview.world, known, self.context);
        let height = (lanes::preferred_rows(&scene, inside(area)) + 2).min(area.height * 2 / 5);
        let [above, below] = Layout::vertical([Constraint::Min(1), Constraint::Length(height)]).areas(area);
        (above, Some((scene, below)))
    }

    pub fn reach(&self, area: Rect) -> u16 {
        let [_, _, right, _] = Self::areas(area);
        let (right, _) = self.split_for_preview(right);
        let inner = paragraph::text_area(inside(right));
        let lines = self.selected().map_or(0, |entry| self.description(entry, inner.width).0.len());
        u16::try_from(lines).unwrap_or(u16::MAX).saturating_sub(inner.height)
    }

    pub(crate) fn draw(&self, area: Rect, buf: &mut Buffer) {
        let [head, left, right, foot] = Self::areas(area);
        let title = Line::from(vec![
            Span::styled(" Lockstep ", self.style(Role::Accent)),
            Span::styled(words::TAGLINE.get(self.context.lang), self.style(Role::Chrome)),
        ]);
        buf.set_line(head.x + 1, head.y, &title, head.width.saturating_sub(1));
        if self.selected().is_some_and(|entry| entry.recorded) {
            let mark = format!(" {} ", words::RECORDED.get(self.context.lang));
            let mark = Line::styled(mark, self.style(Role::Warning));
            let width = u16::try_from(mark.width()).unwrap_or(head.width).min(head.width);
            buf.set_line(head.right() - width, head.y, &mark, width);
        }
        self.draw_list(left, buf);
        self.draw_entry(right, buf);
        let place = if self.focus == CatalogueFocus::Search { KeyScope::Field } else { self.place() };
        let idle = self.selected().map_or(&[][..], key_hints::idle_in);
        key_hints::draw(self.context, place, idle, foot, buf);
    }

    fn done_in(&self, entry: &CatalogueEntry, variant: &str) -> Option<String> {
        let record = self.progress.of(&entry.lesson.id, variant)?;
        let done = record.finished.then(|| words::DONE.get(self.context.lang).to_owned());
        let predicted = (record.asked > 0).then(|| {
            let (right, asked) = (record.right.to_string(), record.asked.to_string());
            words::PREDICTED.with(self.context.lang, &[&right, &asked])
        });
        let solved = (record.solved > 0).then(|| {
            let goals = entry.variants.iter().find(|known| known.name == variant);
            let goals = goals.map_or(0, |known| known.plan.invariants.len()).max(record.solved);
            words::SOLVED.with(self.context.lang, &[&record.solved.to_string(), &goals.to_string()])
        });
        let parts: Vec<String> = done.into_iter().chain(predicted).chain(solved).collect();
        (!parts.is_empty()).then(|| parts.join(" · "))
    }

    fn draw_entry(&self, area: Rect, buf: &mut Buffer) {
        let (area, preview) = self.split_for_preview(area);
        if let Some((scene, area)) = preview {
            let inner =
                paragraph::pane(self.context, words::PREVIEW.get(self.context.lang), false, area, buf);
            lanes::draw(&scene, None, inner, buf);
        }
        let focused = self.variant().is_some();
        let Some(entry) = self.selected() else {
            self.context.theme.pane(false).render(area, buf);
            return;
        };
        let room = usize::from(area.width.saturating_sub(6));
        let heading = format!(" {} ", text::fit(entry.lesson.title.get(self.context.lang), room));
        let block = self.context.theme.pane(focused).title(Span::styled(heading, self.style(Role::Accent)));
        let inner = paragraph::text_area(paragraph::frame(block, area, buf));
        let (lines, end) = self.description(entry, inner.width);
        // Scrolls so that the selected variant stays visible.
        let end = u16::try_from(end).unwrap_or(u16::MAX);
        let scroll = self.scroll.max(end.saturating_sub(inner.height));
        paragraph::draw_with_more(&lines, scroll, self.context, inner, buf);
    }

    /// The description of a lesson, and the line after the selected variant.
    fn description(&self, entry: &CatalogueEntry, width: u16) -> (Vec<Line<'static>>, usize) {
        let Some(error) = &entry.broken else { return self.entry_lines(entry, width) };
        let broken = words::BROKEN.get(self.context.lang);
        let mut lines = paragraph::plain(broken, width.into(), self.style(Role::Danger));
        lines.push(Line::default());
        lines.extend(paragraph::plain(error, width.into(), Style::new()));
        (lines, 0)
    }

    fn entry_lines(&self, entry: &CatalogueEntry, width: u16) -> (Vec<Line<'static>>, usize) {
        let (columns, Context { theme, lang, .. }) = (usize::from(width), self.context);
        let prose = |words: &str| paragraph::prose(words, columns, theme.style(Role::Text), theme);
        let plain = |words: &str, role| paragraph::plain(words, columns, theme.style(role));
        let mut lines = prose(entry.summary.get(lang));
        lines.push(Line::default());
        let labs: Vec<&str> = entry.labs().into_iter().map(|lab| lab.topology().title.get(lang)).collect();
        let minutes = words::MINUTES.with(lang, &[&entry.lesson.minutes.to_string()]);
        let facts = format!("{}{}{} · {minutes}", words::NEEDS.get(lang), lang.colon(), labs.join(" + "));
        lines.extend(plain(&facts, Role::Chrome));
        if entry.recorded {
            let words = format!("{}{}{}", words::RECORDED.get(lang), lang.colon(), words::HOW_LIVE.get(lang));
            lines.extend(paragraph::prose(&words, columns, theme.style(Role::Warning), theme));
        } else {
            lines.extend(self.served(entry, columns));
        }
        lines.push(Line::default());
        lines.push(Line::styled(words::VARIANTS.get(self.context.lang), self.style(Role::Accent)));
        let mut end = 0;
        if let Some(table) = &entry.table {
            let finished =
                |variant: &CatalogueVariant| self.progress.is_finished(&entry.lesson.id, &variant.name);
            let variants = (entry.variants.as_slice(), &finished as &dyn Fn(&CatalogueVariant) -> bool);
            let (rows, chosen) = table::lines(table, variants, self.variant(), columns, self.context);
            end = if self.variant().is_some() { lines.len() + chosen } else { 0 };
            lines.extend(rows);
            let measure = words::MEASURE_HERE.with(lang, &[&self.context.keys.label("measure")]);
            lines.extend(plain(&measure, Role::Accent));
        }
        let listed = entry.variants.iter().enumerate().filter(|_| entry.table.is_none());
        for (n, variant) in listed {
            let finished = self.progress.is_finished(&entry.lesson.id, &variant.name);
            lines.extend(self.variant_lines(n, variant, finished, columns));
            if let Some(done) = self.done_in(entry, &variant.name) {
                let words = text::fit(&done, columns.saturating_sub(5)).into_owned();
                lines.push(Line::styled(format!("     {words}"), self.style(Role::Good)));
            }
            if self.variant() == Some(n) {
                end = lines.len();
            }
        }
        if !entry.lesson.interview.is_empty() {
            lines.push(Line::default());
            let words =
                if entry.lesson.interview.len() == 1 { words::ONE_QUESTION } else { words::QUESTIONS };
            let cards = words.with(self.context.lang, &[&entry.lesson.interview.len().to_string()]);
            lines.push(Line::styled(cards, self.style(Role::Chrome)));
        }
        lines.push(Line::default());
        lines.extend(prose(entry.intro.get(lang)));
        (lines, end)
    }

    fn served(&self, entry: &CatalogueEntry, columns: usize) -> Vec<Line<'static>> {
        let (glyph, words, role) = if entry.served {
            (glyphs::DONE, words::SERVED, Role::Good)
        } else {
            (glyphs::CUT, words::NOT_SERVED, Role::Warning)
        };
        let style = self.style(role).remove_modifier(Modifier::BOLD);
        let words = words.get(self.context.lang);
        let rows = paragraph::prose(words, columns.saturating_sub(2), style, self.context.theme);
        paragraph::hang(Span::styled(format!("{glyph} "), style), rows)
    }

    /// A variant, with its outcome if the learner has finished it.
    fn variant_lines(
        &self,
        n: usize,
        variant: &CatalogueVariant,
        finished: bool,
        columns: usize,
    ) -> Vec<Line<'static>> {
        let (glyph, role, word) = match variant.expect {
            _ if !finished => ("·", Role::Chrome, Words::new("", "")),
            Expect::Shown => (glyphs::CUT, Role::Danger, words::FAILS),
            Expect::Prevented => (glyphs::DONE, Role::Good, words::PREVENTS),
        };
        let chosen = self.variant() == Some(n);
        let word = word.get(self.context.lang);
        let title = format!("{}. {}", n + 1, variant.title.get(self.context.lang));
        let alone = text::width(&title) + text::width(word) + 5 > columns;
        let rows = text::wrap(&title, columns.saturating_sub(2));
        let line = |(at, row): (usize, String)| {
            let tick = if at == 0 { format!("{glyph} ") } else { "  ".to_owned() };
            let mut spans = vec![Span::styled(tick, self.style(role)), Span::raw(row)];
            if at == 0 && !alone && finished {
                spans.push(Span::styled(format!("  {word}"), self.style(Role::Chrome)));
            }
            if !chosen {
                return Line::from(spans);
            }
            // One background over the whole row.
            let row: String = spans.iter().map(|span| span.content.as_ref()).collect();
            Line::styled(text::pad(&row, columns), self.style(Role::Selected))
        };
        rows.into_iter().enumerate().map(line).collect()
    }
}
