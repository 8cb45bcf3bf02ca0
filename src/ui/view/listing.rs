//! The list in the catalogue: lessons by track with the learner's progress, or the results of a search.

use super::{CatalogueView, paragraph, prelude::*, search_text};
use crate::{
    lesson::Track,
    ui::state::{
        browse::{CatalogueFocus, Hit, Search},
        catalogue::{CatalogueEntry, CatalogueVariant},
        fingerprint::{CELLS, Cell},
    },
};

const LONGEST_BAR: usize = 8;
/// The minimum width of a list that has room for full fingerprints.
const ROOMY: usize = 42;
/// The columns right of the fingerprints, for a lesson's duration or progress.
const BESIDE: usize = 8;
/// The rows of the search above its results.
const FIELD: u16 = 2;

/// A line of the list, and the index of its lesson; `None` for headings and blank lines.
type Row = (Option<usize>, Line<'static>);

impl CatalogueView<'_> {
    /// The row of the search field and the area below, or the whole area without a search.
    fn list_areas(&self, list: Rect) -> (Rect, Rect) {
        let inner = self.context.theme.pane(true).inner(list);
        let field = if self.search.is_some() { FIELD.min(inner.height) } else { 0 };
        let rows = Rect { y: inner.y + field, height: inner.height - field, ..inner };
        (Rect { height: field.min(1), ..inner }, rows)
    }

    pub fn entry_at(&self, area: Rect, (x, y): (u16, u16)) -> Option<usize> {
        let [_, list, _, _] = Self::areas(area);
        let (_, inner) = self.list_areas(list);
        if !inner.contains((x, y).into()) {
            return None;
        }
        let rows = self.rows(inner.width.into());
        let row = self.list_start(&rows, inner.height) + usize::from(y - inner.y);
        rows.get(row).and_then(|row| row.0)
    }

    pub fn cursor(&self, area: Rect) -> Option<Position> {
        let search = self.search.filter(|_| self.focus == CatalogueFocus::Search)?;
        let fits = area.width >= super::SMALLEST.0 && area.height >= super::SMALLEST.1;
        let (field, _) = self.list_areas(Self::areas(area)[1]);
        fits.then(|| search_text::cursor(&search.typed, &self.found(search), field))
    }

    pub(crate) fn draw_list(&self, area: Rect, buf: &mut Buffer) {
        let focused = !matches!(self.focus, CatalogueFocus::Variants(_));
        paragraph::pane(self.context, words::LESSONS.get(self.context.lang), focused, area, buf);
        let (field, inner) = self.list_areas(area);
        if let Some(search) = self.search {
            self.draw_field(search, field, buf);
        }
        let rows = self.rows(inner.width.into());
        let start = self.list_start(&rows, inner.height);
        for (y, (_, line)) in (inner.top()..inner.bottom()).zip(rows.iter().skip(start)) {
            buf.set_line(inner.x, y, line, inner.width);
        }
    }

    fn draw_field(&self, search: &Search, area: Rect, buf: &mut Buffer) {
        if self.focus == CatalogueFocus::Search {
            search_text::field(&search.typed, "/", &self.found(search), self.context.theme, area, buf);
        } else {
            let line = format!(" / {}", search.typed);
            let line = text::fit(&line, area.width.into()).into_owned();
            buf.set_stringn(area.x, area.y, line, area.width.into(), self.style(Role::Chrome));
        }
    }

    fn found(&self, search: &Search) -> String {
        let all = self.catalogue.entries.len().to_string();
        let words = words::FOUND.with(self.context.lang, &[&search.hits.len().to_string(), &all]);
        format!("{words} ")
    }

    /// The first visible row: the selected lesson stays visible, with two rows after it.
    fn list_start(&self, rows: &[Row], height: u16) -> usize {
        let chosen = rows.iter().rposition(|row| row.0 == Some(self.selected)).unwrap_or(0);
        paragraph::start((chosen, 2), rows.len(), height)
    }

    fn rows(&self, width: usize) -> Vec<Row> {
        let searched = self.search.filter(|search| !search.typed.trim().is_empty());
        let rows = match searched {
            Some(search) => self.hits(search, width),
            None => self.tracks(width),
        };
        match (rows.is_empty(), searched.is_some()) {
            (false, _) => rows,
            (true, true) => self.message(words::NOTHING_MATCHES, Role::Chrome, width),
            (true, false) => self.message(words::NO_LESSONS, Role::Warning, width),
        }
    }

    fn message(&self, what: words::Words, role: Role, width: usize) -> Vec<Row> {
        let rows = text::wrap(what.get(self.context.lang), width.saturating_sub(4));
        let line = |row: String| Line::styled(format!("   {row}"), self.style(role));
        rows.into_iter().map(|row| (None, line(row))).collect()
    }

    fn tracks(&self, width: usize) -> Vec<Row> {
        let entries = &self.catalogue.entries;
        let mut rows: Vec<Row> = Vec::new();
        // Explains what can be typed until something is typed.
        if self.search.is_some() {
            rows.extend(self.message(words::SEARCH_HINT, Role::Chrome, width));
            rows.push((None, Line::default()));
        }
        for (n, entry) in entries.iter().enumerate() {
            let before = n.checked_sub(1).and_then(|n| entries.get(n));
            if before.is_none_or(|before| before.lesson.track != entry.lesson.track) {
                if n > 0 {
                    rows.push((None, Line::default()));
                }
                rows.push((None, self.track(entry.lesson.track, width)));
            }
            let lines = self.title_lines((n, entry), &[], n == self.selected, width);
            rows.extend(lines.into_iter().map(|line| (Some(n), line)));
        }
        rows
    }

    /// A track's heading: its name, and how many variants of its lessons are finished.
    fn track(&self, track: Track, width: usize) -> Line<'static> {
        let lessons = self.catalogue.entries.iter().filter(|entry| entry.lesson.track == track);
        let (done, all) = lessons
            .fold((0, 0), |(done, all), entry| (done + self.finished(entry), all + entry.variants.len()));
        let name = words::track(track).get(self.context.lang);
        let count = format!(" {done}/{all} ");
        // One column separates the name and its bar.
        let room = width.saturating_sub(2 + text::width(name) + text::width(&count));
        let cells = all.min(LONGEST_BAR).min(room);
        // The bar is full only when everything is done, and not empty once anything is.
        let full = if done == 0 { 0 } else { (done * cells / all.max(1)).max(1) };
        let gap = width.saturating_sub(1 + text::width(name) + cells + text::width(&count));
        Line::from(vec![
            Span::styled(format!(" {name}{}", " ".repeat(gap)), self.style(Role::Chrome)),
            Span::styled(glyphs::BAR_DONE.repeat(full), self.style(Role::Good)),
            Span::styled(glyphs::BAR_LEFT.repeat(cells - full), self.style(Role::Chrome)),
            Span::styled(count, self.style(Role::Chrome)),
        ])
    }

    fn hits(&self, search: &Search, width: usize) -> Vec<Row> {
        let entries = &self.catalogue.entries;
        let hits = search.hits.iter().filter_map(|hit| Some((hit, entries.get(hit.entry)?)));
        hits.flat_map(|(hit, entry)| self.hit(hit, entry, width)).collect()
    }

    /// A search result: the lesson's title, and below it another match in the lesson.
    fn hit(&self, hit: &Hit, entry: &CatalogueEntry, width: usize) -> Vec<Row> {
        let selected = hit.entry == self.selected;
        let lines = self.title_lines((hit.entry, entry), &hit.title, selected, width);
        let mut rows: Vec<Row> = lines.into_iter().map(|line| (Some(hit.entry), line)).collect();
        if let Some((beside, marks)) = &hit.other {
            let room = width.saturating_sub(6);
            let mut spans = vec![Span::raw("     ")];
            spans.extend(search_text::marked(
                beside,
                marks,
                room,
                self.style(Role::Chrome),
                self.context.theme,
            ));
            rows.push((Some(hit.entry), Line::from(spans)));
        }
        rows
    }

    /// The number of finished variants of a lesson.
    fn finished(&self, entry: &CatalogueEntry) -> usize {
        let finished =
            |variant: &&CatalogueVariant| self.progress.is_finished(&entry.lesson.id, &variant.name);
        entry.variants.iter().filter(finished).count()
    }

    fn is_done(&self, entry: &CatalogueEntry) -> bool {
        self.finished(entry) == entry.variants.len()
    }

    /// The progress in a lesson: how many of its variants are finished, with a tick once all are.
    fn done(&self, entry: &CatalogueEntry) -> Option<String> {
        self.progress.lessons.get(&entry.lesson.id)?;
        let mark = if self.is_done(entry) { glyphs::DONE } else { "·" };
        Some(format!("{mark} {}/{} ", self.finished(entry), entry.variants.len()))
    }

    /// The fingerprint of a lesson, in half as many cells if space is short; blanks of equal width if there is none.
    fn fingerprint(&self, place: usize, width: usize) -> Vec<Span<'static>> {
        let theme = self.context.theme;
        let merged = if width < ROOMY { 2 } else { 1 };
        let Some(Some(cells)) = self.fingerprints.get(place) else {
            return vec![Span::raw(" ".repeat(CELLS as usize / merged + 1))];
        };
        let cells = cells.chunks(merged).filter_map(|cells| cells.iter().max_by_key(|cell| cell.weight()));
        let cells = cells.map(|cell| match *cell {
            Cell::Free => Span::styled("▁", self.style(Role::Chrome)),
            Cell::Held(client) => Span::styled("▄", theme.client(client)),
            Cell::Violated(client) => {
                let (symbol, style) = theme.clashing(theme.client(client));
                Span::styled(symbol, style)
            }
            Cell::Broken => {
                let (symbol, style) = theme.clashing(self.style(Role::Danger));
                Span::styled(symbol, style)
            }
        });
        cells.chain([Span::raw(" ")]).collect()
    }

    /// The lines of a lesson's title; several if it is selected or there is room. The first one also shows the lesson's
    /// duration or progress.
    fn title_lines(
        &self,
        (place, entry): (usize, &CatalogueEntry),
        marks: &[usize],
        selected: bool,
        width: usize,
    ) -> Vec<Line<'static>> {
        let fingerprint = self.fingerprint(place, width);
        // If space is short, only the selected lesson shows everything.
        let narrow = width < ROOMY;
        let brief = narrow && !selected && marks.is_empty();
        let (right, role) = if entry.broken.is_some() {
            (format!("{} ", glyphs::CUT), Role::Danger)
        } else if let Some(done) = self.done(entry) {
            let role = if self.is_done(entry) { Role::Good } else { Role::Chrome };
            (done, role)
        } else if brief {
            (String::new(), Role::Chrome)
        } else {
            let minutes = words::MINUTES.with(self.context.lang, &[&entry.lesson.minutes.to_string()]);
            (format!("{minutes} "), Role::Chrome)
        };
        // Aligns the fingerprints with each other; if space is short, they are at the right edge.
        let right = if narrow {
            right
        } else {
            format!("{}{right}", " ".repeat(BESIDE.saturating_sub(text::width(&right))))
        };
        let (name, right_role) = match (selected, entry.broken.is_some()) {
            // If the focus is on the variants, the selected lesson is marked less prominently.
            (true, _) if matches!(self.focus, CatalogueFocus::Variants(_)) => (Role::Accent, Role::Accent),
            (true, _) => (Role::Selected, Role::Selected),
            (false, true) => (Role::Danger, role),
            // Lessons whose servers are not installed are dimmed.
            (false, false) if !entry.served => (Role::Chrome, role),
            (false, false) => (Role::Text, role),
        };
        let style = self.style(name);
        let beside = fingerprint.iter().map(Span::width).sum::<usize>() + text::width(&right);
        let room = width.saturating_sub(beside + 4);
        let title = text::clean(entry.lesson.title.get(self.context.lang)).into_owned();
        let mut rows =
            if brief { vec![text::fit(&title, room).into_owned()] } else { text::wrap(&title, room) };
        if rows.is_empty() {
            rows.push(String::new());
        }
        let marks = search_text::by_row(&title, &rows, marks);
        let line = |(n, (row, marks)): (usize, (String, Vec<usize>))| {
            let star = if n == 0 && entry.lesson.starred { glyphs::STARRED } else { " " };
            let sign = if n == 0 && selected { "▸ " } else { "  " };
            let mut spans = vec![Span::styled(star, style), Span::styled(sign, style)];
            spans.extend(search_text::marked(&row, &marks, room, style, self.context.theme));
            let taken: usize = spans.iter().map(Span::width).sum();
            let gap = width.saturating_sub(taken + if n == 0 { beside } else { 0 });
            spans.push(Span::styled(" ".repeat(gap), style));
            if n == 0 {
                let known = Span::styled(right.clone(), self.style(right_role));
                if narrow {
                    spans.push(known);
                    spans.extend(fingerprint.iter().cloned());
                } else {
                    spans.extend(fingerprint.iter().cloned());
                    spans.push(known);
                }
            }
            Line::from(spans)
        };
        rows.into_iter().zip(marks).enumerate().map(line).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{
        lesson::Lesson,
        ui::{
            keys::KeyMap,
            state::{catalogue::Catalogue, progress::Progress},
        },
    };

    #[test]
    fn a_row_has_its_lessons_star_and_fingerprint_however_narrow_the_list_is() {
        let entry = |title: &str, starred| {
            let lesson = Lesson { title: title.into(), starred, ..Lesson::default() };
            CatalogueEntry::from(&Arc::new(lesson))
        };
        let catalogue =
            Catalogue::new(vec![entry("Overselling", true), entry("A title of many words", false)]);
        let cells = [Cell::Free, Cell::Held(0), Cell::Held(0), Cell::Violated(1), Cell::Free, Cell::Free];
        let fingerprints = [Some(cells.to_vec()), None];
        let (progress, keys, theme) = (Progress::default(), KeyMap::default(), Theme::default());
        let view = CatalogueView {
            catalogue: &catalogue,
            progress: &progress,
            selected: 1,
            focus: CatalogueFocus::default(),
            search: None,
            scroll: 0,
            preview: None,
            fingerprints: &fingerprints,
            context: Context { theme, lang: Lang::En, keys: &keys },
        };
        let clash = theme.clashing(theme.client(1)).0;
        for (width, drawn) in [(34, format!("▄{clash}▁")), (60, format!("▁▄▄{clash}▁▁"))] {
            let rows: Vec<String> = view.rows(width).iter().map(|(_, line)| line.to_string()).collect();
            let row = rows.iter().find(|row| row.contains("Overselling")).expect("a lesson");
            assert!(row.starts_with('★') && row.contains(&drawn), "{row:?}");
            let other = rows.iter().find(|row| row.contains("A title")).expect("another");
            assert!(other.contains("▸ A title") && !other.contains('★'), "{other:?}");
            assert!([row, other].iter().all(|row| text::width(row) == width), "{rows:#?}");
        }
    }
}
