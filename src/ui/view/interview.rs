//! The interview: the choice of a deck, one card in the middle of the screen, the results of a round.

use std::time::Instant;

use super::{exam, header, key_hints, paragraph, prelude::*};
use crate::{
    lesson::Card,
    ui::{
        keys::KeyScope,
        state::{
            catalogue::{Catalogue, CatalogueEntry, Proof},
            interview::{Answered, CardPlace, Deck, Filter, Interview, Round, parts},
            reviews::{Grade, Reviews, intervals},
        },
    },
};

/// The maximum comfortable line width, with the frame.
const WIDEST: u16 = 84;
/// The columns between the frame and the text.
const MARGIN: u16 = 3;
/// Rows below a card: the prompt, and where its answer is proved.
const BELOW: u16 = 4;
const BAR: usize = 24;
const ROLES: [Role; 4] = [Role::Danger, Role::Warning, Role::Good, Role::Accent];

#[derive(Debug, Clone, Copy)]
pub struct InterviewView<'a> {
    pub interview: &'a Interview,
    pub catalogue: &'a Catalogue,
    pub reviews: &'a Reviews,
    /// The current time: in seconds since 1970, and as an instant for the stopwatch.
    pub moment: (i64, Instant),
    pub context: Context<'a>,
}

impl<'a> InterviewView<'a> {
    /// The card being asked.
    fn card(&self) -> Option<(&'a Round, &'a CatalogueEntry, &'a Card)> {
        let round = self.interview.round.as_ref()?;
        let (entry, card) = round.card()?.of(self.catalogue)?;
        Some((round, entry, card))
    }

    pub(crate) fn place(&self) -> KeyScope {
        match &self.interview.exam {
            Some(_) => KeyScope::Exam,
            None if self.card().is_some() => KeyScope::Card,
            None => KeyScope::Decks,
        }
    }

    /// Actions that do nothing now.
    fn idle(&self) -> &'static [&'static str] {
        if let Some(exam) = &self.interview.exam {
            return exam::idle(exam);
        }
        match self.card() {
            Some((round, _, _)) if round.open < 2 => &["grade-1", "grade-2", "grade-3", "grade-4", "proof"],
            Some((round, _, card)) if round.open >= parts(card) => &["reveal"],
            _ => &[],
        }
    }

    pub(super) fn style(&self, role: Role) -> Style {
        self.context.theme.style(role)
    }

    fn areas(area: Rect) -> [Rect; 3] {
        Layout::vertical([Constraint::Length(2), Constraint::Min(1), Constraint::Length(1)]).areas(area)
    }

    fn columns(area: Rect) -> u16 {
        area.width.saturating_sub(4).min(WIDEST)
    }

    /// A centred box for that many lines, with that many free rows below.
    pub(super) fn frame(area: Rect, lines: usize, below: u16) -> Rect {
        let room = area.height.saturating_sub(below);
        let height = u16::try_from(lines).unwrap_or(u16::MAX).saturating_add(4).min(room);
        let area = Rect { height: room, ..area };
        area.centered(Self::columns(area).into(), height.into())
    }

    pub(super) fn text_width(area: Rect) -> usize {
        Self::columns(area).saturating_sub(2 + 2 * MARGIN).into()
    }

    pub fn reach(&self, area: Rect) -> u16 {
        let [_, body, _] = Self::areas(area);
        if let Some(exam) = &self.interview.exam {
            return self.exam_reach(exam, body);
        }
        let (lines, whole, below) = match (&self.interview.round, self.card()) {
            (_, Some((round, _, card))) => {
                let lines = self.card_lines(card, round.open, Self::text_width(body));
                (lines.len(), self.card_lines(card, usize::MAX, Self::text_width(body)).len(), BELOW)
            }
            (Some(round), None) => {
                let lines = self.result_lines(round, Self::text_width(body)).len();
                (lines, lines, 0)
            }
            (None, _) => return 0,
        };
        let room = Self::frame(body, whole, below).height.saturating_sub(4);
        u16::try_from(lines).unwrap_or(u16::MAX).saturating_sub(room)
    }

    pub(crate) fn draw(&self, area: Rect, buf: &mut Buffer) {
        let [head, body, foot] = Self::areas(area);
        self.draw_head(head, buf);
        let exam = self.interview.exam.as_ref();
        if let Some(exam) = exam {
            self.draw_exam(exam, body, buf);
        }
        match (&self.interview.round, self.card()) {
            _ if exam.is_some() => {}
            (None, _) => self.draw_decks(body, buf),
            (Some(round), None) => {
                let lines = self.result_lines(round, Self::text_width(body));
                let frame = Self::frame(body, lines.len(), 0);
                self.draw_box("", &lines, round.scroll, frame, buf);
            }
            (Some(round), Some((_, entry, card))) => self.draw_card(round, (entry, card), body, buf),
        }
        key_hints::draw(self.context, self.place(), self.idle(), foot, buf);
    }

    fn draw_head(&self, area: Rect, buf: &mut Buffer) {
        let lang = self.context.lang;
        let (round, exam) = (self.interview.round.as_ref(), self.interview.exam.as_ref());
        let name = match exam {
            Some(_) => words::EXAM,
            None if round.is_some_and(|round| round.mock) => words::MOCK_INTERVIEW,
            None => words::INTERVIEW,
        };
        let mut left = vec![Span::styled(format!(" {}", name.get(lang)), self.style(Role::Accent))];
        let mut right = Vec::new();
        let asked = exam.map(|exam| (&exam.filter, exam.progress(), !exam.is_over()));
        let asked =
            asked.or_else(|| round.map(|round| (&round.filter, round.progress(), round.card().is_some())));
        if let Some((filter, (done, all), goes_on)) = asked {
            let title = format!(" · {}", self.title(filter));
            left.push(Span::styled(title, self.style(Role::Chrome)));
            let at = (done + 1).min(all);
            if goes_on {
                let nth = words::NTH.with(lang, &[&at.to_string(), &all.to_string()]);
                right.push(Span::styled(format!("{nth} "), self.style(Role::Text)));
            }
            if let Some(round) = round.filter(|round| round.mock && exam.is_none()) {
                let (whole, this) = round.clock(self.moment.1);
                if round.card().is_some() {
                    let this = words::THIS_QUESTION.with(lang, &[&words::stopwatch(this)]);
                    right.push(Span::styled(format!("· {this} "), self.style(Role::Chrome)));
                }
                let clock = format!(" {} ", words::stopwatch(whole));
                right.push(Span::styled(clock, self.style(Role::Fresh)));
            }
            let full = usize::from(area.width) * done / all.max(1);
            let rest = usize::from(area.width) - full;
            let gauge = Line::from(vec![
                Span::styled("━".repeat(full), self.style(Role::Accent)),
                Span::styled("─".repeat(rest), self.style(Role::Chrome)),
            ]);
            buf.set_line(area.x, area.y + 1, &gauge, area.width);
        }
        header::draw_ends(|_| Line::from(left), right, Rect { height: 1, ..area }, buf);
    }

    pub(super) fn title(&self, filter: &Filter) -> String {
        let lang = self.context.lang;
        let mut parts = Vec::new();
        if let Some(id) = &filter.lesson {
            let entry = self.catalogue.entries.iter().find(|entry| entry.lesson.id == *id);
            parts.push(entry.map_or_else(|| id.clone(), |entry| entry.lesson.title.get(lang).to_owned()));
        }
        parts.extend(filter.track.map(|track| words::track(track).get(lang).to_owned()));
        parts.extend(
            filter.article.iter().map(|name| words::DECK_ARTICLE.with(lang, &[words::article(name, lang)])),
        );
        let starred = if filter.first { words::DECK_BRIEF } else { words::DECK_STARRED };
        parts.extend(filter.starred.then(|| starred.get(lang).to_owned()));
        parts.extend(filter.due.then(|| words::DECK_DUE.get(lang).to_owned()));
        if parts.is_empty() {
            parts.push(words::DECK_ALL.get(lang).to_owned());
        }
        parts.join(" · ")
    }

    fn draw_decks(&self, area: Rect, buf: &mut Buffer) {
        let decks = &self.interview.decks;
        let width = Self::text_width(area);
        if decks.is_empty() {
            let lines = paragraph::plain(words::NO_INTERVIEW.get(self.context.lang), width, Style::new());
            return self.draw_box("", &lines, 0, Self::frame(area, lines.len(), 0), buf);
        }
        let counts: Vec<String> = decks.iter().map(|deck| self.counts(deck)).collect();
        let lines = decks.iter().zip(&counts).enumerate().map(|(n, (deck, counts))| {
            let name = text::pad(&self.title(&deck.filter), width.saturating_sub(text::width(counts)));
            if n == self.interview.chosen {
                return Line::styled(format!("{name}{counts}"), self.style(Role::Selected));
            }
            let role = if deck.due > 0 { Role::Accent } else { Role::Chrome };
            let counts = Span::styled(counts.clone(), self.style(role).remove_modifier(Modifier::BOLD));
            Line::from(vec![Span::raw(name), counts])
        });
        let lines: Vec<Line<'_>> = lines.collect();
        let frame = Self::frame(area, lines.len(), 0);
        let start = paragraph::start((self.interview.chosen, 1), lines.len(), frame.height.saturating_sub(4));
        let start = u16::try_from(start).unwrap_or_default();
        self.draw_box(words::DECKS.get(self.context.lang), &lines, start, frame, buf);
    }

    fn counts(&self, deck: &Deck) -> String {
        let counts =
            [(deck.due, words::COUNT_DUE), (deck.fresh, words::COUNT_NEW), (deck.cards, words::COUNT_CARDS)];
        let counts = counts.into_iter().filter(|(count, _)| *count > 0);
        let words = counts.map(|(count, words)| words.with(self.context.lang, &[&count.to_string()]));
        words.collect::<Vec<_>>().join(" · ")
    }

    pub(super) fn draw_box(
        &self,
        title: &str,
        lines: &[Line<'_>],
        scroll: u16,
        frame: Rect,
        buf: &mut Buffer,
    ) {
        let mut block = self.context.theme.pane(false);
        if !title.is_empty() {
            block = block.title(Span::styled(format!(" {title} "), self.style(Role::Accent)));
        }
        self.fill(block, lines, scroll, frame, buf);
    }

    pub(super) fn fill(
        &self,
        block: Block<'_>,
        lines: &[Line<'_>],
        scroll: u16,
        frame: Rect,
        buf: &mut Buffer,
    ) {
        let inner = paragraph::frame(block, frame, buf);
        let room = Rect {
            x: inner.x + MARGIN,
            y: inner.y + 1,
            width: inner.width.saturating_sub(2 * MARGIN),
            height: inner.height.saturating_sub(2),
        };
        paragraph::draw(lines, scroll, room, buf);
        // Arrows in the margin show that there is more text.
        let hidden = lines.len().saturating_sub(room.height.into());
        let style = self.style(Role::Accent);
        if hidden > 0 && scroll > 0 {
            buf.set_stringn(inner.right().saturating_sub(2), room.y, "↑", 1, style);
        }
        if usize::from(scroll) < hidden {
            buf.set_stringn(inner.right().saturating_sub(2), room.bottom().saturating_sub(1), "↓", 1, style);
        }
    }

    /// The first `open` parts of a card, as lines.
    fn card_lines(&self, card: &Card, open: usize, width: usize) -> Vec<Line<'static>> {
        let Context { theme, lang, .. } = self.context;
        let prose = |words: &str, role| paragraph::prose(words, width, self.style(role), theme);
        let mut lines = prose(card.q.get(lang), Role::Accent);
        if open > 1 {
            let rule = Line::styled("─".repeat(width), self.style(Role::Chrome));
            lines.extend([Line::default(), rule, Line::default()]);
            lines.extend(prose(card.a.get(lang), Role::Text));
        }
        if let Some(follow_up) = card.follow_up.as_ref().filter(|_| open > 2) {
            lines.push(Line::default());
            let then = words::FOLLOW_UP.get(lang);
            lines.extend(prose(&format!("{then}{}", follow_up.q.get(lang)), Role::Accent));
            if open > 3 {
                lines.push(Line::default());
                lines.extend(prose(follow_up.a.get(lang), Role::Text));
            }
        }
        lines
    }

    fn draw_card(
        &self,
        round: &Round,
        (entry, card): (&CatalogueEntry, &Card),
        area: Rect,
        buf: &mut Buffer,
    ) {
        let lang = self.context.lang;
        let width = Self::text_width(area);
        // The frame has its final height from the beginning, so that nothing moves when more is revealed.
        let frame = Self::frame(area, self.card_lines(card, usize::MAX, width).len(), BELOW);
        let lines = self.card_lines(card, round.open, width);
        let star = if entry.lesson.starred { " ★" } else { "" };
        let room = usize::from(frame.width.saturating_sub(6));
        let title = format!(
            "{} · {}{star}",
            words::track(entry.lesson.track).get(lang),
            entry.lesson.title.get(lang)
        );
        let title = Span::styled(format!(" {} ", text::fit(&title, room)), self.style(Role::Chrome));
        let mut block = self.context.theme.pane(true).title(title);
        if !card.from.is_empty() {
            let from: Vec<&str> = card.from.iter().map(|name| words::article(name, lang)).collect();
            let from = text::fit(&from.join(" · "), room).into_owned();
            let from = Line::styled(format!(" {from} "), self.style(Role::Chrome));
            block = block.title_bottom(from.right_aligned());
        }
        let hidden =
            u16::try_from(lines.len()).unwrap_or(u16::MAX).saturating_sub(frame.height.saturating_sub(4));
        self.fill(block, &lines, round.scroll.min(hidden), frame, buf);
        let below =
            [self.prompt(round, card), self.grades(round, entry, card, area.width), self.proof(round, entry)];
        let below = below.into_iter().flatten();
        for (y, line) in
            (frame.bottom() + u16::from(frame.bottom() + BELOW < area.bottom())..area.bottom()).zip(below)
        {
            paragraph::draw_centred(&line, Rect { y, height: 1, ..area }, buf);
        }
    }

    pub(super) fn key(&self, id: &str) -> String {
        self.context.keys.label(id)
    }

    /// The prompt for the revealed part.
    fn prompt(&self, round: &Round, card: &Card) -> Option<Line<'static>> {
        let words = match (round.open, parts(card)) {
            (1, _) => words::SAY_IT,
            (2, 4) => words::ASKS_ON,
            (3, _) => words::ANSWERS_ON,
            _ => return None,
        };
        let words = words.with(self.context.lang, &[&self.key("reveal")]);
        Some(Line::styled(words, self.style(Role::Chrome)))
    }

    /// The grades, and when each would make the card due.
    fn grades(
        &self,
        round: &Round,
        entry: &CatalogueEntry,
        card: &Card,
        width: u16,
    ) -> Option<Line<'static>> {
        if round.open < 2 {
            return None;
        }
        let lang = self.context.lang;
        let intervals = intervals(self.reviews.of(&entry.lesson.id, &card.q.en), self.moment.0);
        let grades = words::GRADES.into_iter().zip(ROLES).zip(intervals).enumerate();
        let grades = grades.map(|(n, ((words, role), interval))| {
            let key = self.key(&format!("grade-{}", n + 1));
            let interval = words::interval(lang, interval);
            [
                Span::styled(format!("{key} "), self.style(Role::Code)),
                Span::styled(words.get(lang), self.style(role)),
                Span::styled(format!(" {interval}"), self.style(Role::Chrome)),
            ]
        });
        let grades: Vec<[Span<'_>; 3]> = grades.collect();
        // Spread out as far as there is room.
        let columns: usize = grades.iter().flatten().map(Span::width).sum();
        let gap = usize::from(width).saturating_sub(columns) / (grades.len() - 1);
        let gap = Span::raw(" ".repeat(gap.clamp(1, 4)));
        let spans: Vec<Span<'_>> =
            grades.into_iter().flat_map(|grade| std::iter::once(gap.clone()).chain(grade)).skip(1).collect();
        Some(Line::from(spans))
    }

    /// Where the answer is proved.
    fn proof(&self, round: &Round, entry: &CatalogueEntry) -> Option<Line<'static>> {
        let place = round.card().filter(|_| round.open > 1)?;
        let lang = self.context.lang;
        let proof = entry.proof(place.card);
        let variant = |Proof { variant, item }| {
            let title = entry.variants.get(variant)?.title.get(lang);
            let step =
                item.map(|item| format!(" · {}", words::STEP_NUMBER.with(lang, &[&(item + 1).to_string()])));
            Some(format!("{title}{}", step.unwrap_or_default()))
        };
        let shown = proof.and_then(variant).unwrap_or_else(|| entry.lesson.title.get(lang).to_owned());
        let words = words::SEE_IT.with(lang, &[&self.key("proof"), &shown]);
        Some(Line::styled(words, self.style(Role::Chrome)))
    }

    fn result_lines(&self, round: &Round, width: usize) -> Vec<Line<'static>> {
        let lang = self.context.lang;
        if round.answered.is_empty() {
            return self.nothing_due(&round.filter, width);
        }
        let all = round.answered.len();
        let (time, _) = round.clock(self.moment.1);
        let heading = words::ROUND_OVER.with(lang, &[&all.to_string(), &words::stopwatch(time)]);
        let mut lines = vec![Line::styled(heading, self.style(Role::Accent)), Line::default()];
        for ((grade, words), role) in Grade::ALL.into_iter().zip(words::GRADES).zip(ROLES) {
            let count = round.graded(grade);
            // Rounded up, so that every grade given has a visible bar.
            let bar = (BAR * count).div_ceil(all);
            lines.push(Line::from(vec![
                Span::raw(text::pad(words.get(lang), 8)),
                Span::styled("█".repeat(bar), self.style(role)),
                Span::styled(format!(" {count}"), self.style(Role::Chrome)),
            ]));
        }
        lines.push(Line::default());
        let poor = |answered: &&Answered| matches!(answered.grade, Grade::Again | Grade::Hard);
        let mut listed: Vec<&Answered> = Vec::new();
        for answered in round.answered.iter().filter(|answered| round.mock || poor(answered)) {
            if listed.iter().all(|known| known.card != answered.card) {
                listed.push(answered);
            }
        }
        if !round.answered.iter().any(|answered| poor(&answered)) {
            lines.push(Line::styled(words::ALL_KNOWN.get(lang), self.style(Role::Good)));
        } else if !round.mock {
            lines.push(Line::styled(words::LOOK_AGAIN.get(lang), self.style(Role::Accent)));
        }
        for answered in listed {
            let Some((_, card)) = answered.card.of(self.catalogue) else { continue };
            let grade = answered.grade as usize;
            // Words besides the colour, for users who see no colours.
            let mark = format!("▪ {} ", text::pad(words::GRADES[grade].get(lang), 5));
            let mark = Span::styled(mark, self.style(ROLES[grade]));
            let time =
                if round.mock { format!("{} ", words::stopwatch(answered.took)) } else { String::new() };
            let time = Span::styled(time, self.style(Role::Chrome));
            let room = width.saturating_sub(mark.width() + time.width());
            let mut words = paragraph::prose(card.q.get(lang), room, Style::new(), self.context.theme);
            words = paragraph::hang(time, words);
            lines.extend(paragraph::hang(mark, words));
        }
        lines.extend(self.next_due(round.answered.iter().map(|answered| answered.card)));
        lines
    }

    /// When the first of these cards is due again.
    fn next_due(&self, cards: impl Iterator<Item = CardPlace>) -> Vec<Line<'static>> {
        let due = cards.filter_map(|card| card.due(self.catalogue, self.reviews));
        let Some(next) = due.min() else { return Vec::new() };
        let lang = self.context.lang;
        let wait = words::interval(lang, next - self.moment.0);
        let words = words::NEXT_DUE.with(lang, &[&wait]);
        vec![Line::default(), Line::styled(words, self.style(Role::Chrome))]
    }

    /// A round without questions: there are no cards, or all have been answered and are due later.
    fn nothing_due(&self, filter: &Filter, width: usize) -> Vec<Line<'static>> {
        let lang = self.context.lang;
        let cards = filter.cards(self.catalogue, self.reviews, self.moment.0);
        if cards.is_empty() {
            return paragraph::plain(words::NO_INTERVIEW.get(lang), width, Style::new());
        }
        let done = words::DONE_FOR_TODAY.with(lang, &[&cards.len().to_string()]);
        let mut lines = paragraph::plain(&done, width, self.style(Role::Good));
        lines.extend(self.next_due(cards.into_iter()));
        let early = words::ASK_EARLY.with(lang, &[&self.key("ask")]);
        lines.extend(paragraph::plain(&early, width, self.style(Role::Chrome)));
        lines
    }
}
