//! An exam: an order of moves in the middle of the screen, the answer, and the results.

use super::{interview::InterviewView, paragraph, prelude::*, redis};
use crate::{
    log::Entry,
    text::Text,
    ui::state::exam::{ExamQuestion, ExamRound},
    world::World,
};

/// Rows below an order for the prompt.
const BELOW: u16 = 3;
/// Rows reserved for the answer. The number is fixed, so that the height of the frame gives nothing away.
const ANSWER: usize = 5;

/// Actions that do nothing now.
pub(super) fn idle(exam: &ExamRound) -> &'static [&'static str] {
    match (&exam.question, exam.answer) {
        (None, _) => &["judge-safe", "judge-unsafe", "next-order", "proof"],
        (Some(_), None) => &["next-order", "proof"],
        (Some(_), Some(_)) => &["judge-safe", "judge-unsafe"],
    }
}

/// The servers' contents before the first move: names and values.
fn opening(question: &ExamQuestion) -> String {
    let world = World::fold(&question.log, question.log.opening());
    let mut held: Vec<String> = Vec::new();
    for observed in world.servers.iter().filter_map(|server| server.observed.as_ref()) {
        let shown = |entry: &Entry<'_>| match entry {
            Entry::Key(key) => redis::value(&key.value),
            other => other.text().into_owned(),
        };
        held.extend(observed.entries().iter().map(|(name, entry)| format!("{name} {}", shown(entry))));
    }
    // Equal contents of several servers are listed once.
    held.sort_unstable();
    held.dedup();
    held.join(" · ")
}

impl InterviewView<'_> {
    pub(super) fn exam_reach(&self, exam: &ExamRound, area: Rect) -> u16 {
        let lines = self.exam_lines(exam, Self::text_width(area)).len();
        let room = self.exam_frame(exam, area).height.saturating_sub(4);
        u16::try_from(lines).unwrap_or(u16::MAX).saturating_sub(room)
    }

    fn exam_frame(&self, exam: &ExamRound, area: Rect) -> Rect {
        let width = Self::text_width(area);
        match &exam.question {
            Some(question) => {
                Self::frame(area, self.order_lines(question, false, width).len() + ANSWER, BELOW)
            }
            None => Self::frame(area, self.exam_lines(exam, width).len(), 0),
        }
    }

    pub(super) fn draw_exam(&self, exam: &ExamRound, area: Rect, buf: &mut Buffer) {
        let lang = self.context.lang;
        let frame = self.exam_frame(exam, area);
        let lines = self.exam_lines(exam, Self::text_width(area));
        let scroll = exam.scroll.min(self.exam_reach(exam, area));
        let Some(question) = &exam.question else {
            return self.draw_box("", &lines, scroll, frame, buf);
        };
        let mut title = question.scenario.loaded.lesson.title.get(lang).to_owned();
        // Who has played the variant knows its verdict.
        if exam.answer.is_some() {
            let variant = question.scenario.fill(&question.scenario.variant().title);
            title = format!("{title} · {}", variant.get(lang));
        }
        let room = usize::from(frame.width.saturating_sub(6));
        let title = Span::styled(format!(" {} ", text::fit(&title, room)), self.style(Role::Chrome));
        self.fill(self.context.theme.pane(true).title(title), &lines, scroll, frame, buf);
        let (words, keys) = match exam.answer {
            None => (words::EXAM_SAFE, ["judge-safe", "judge-unsafe"]),
            Some(_) => (words::EXAM_NEXT, ["next-order", "proof"]),
        };
        let keys = keys.map(|id| self.key(id));
        let line = Line::styled(words.with(lang, &[&keys[0], &keys[1]]), self.style(Role::Accent));
        let row = Rect { y: frame.bottom() + 1, height: 1, ..area }.intersection(area);
        paragraph::draw_centred(&line, row, buf);
    }

    /// The invariant, the moves, and the scripts that they run. When the learner has answered, the moves have their
    /// replies.
    fn order_lines(&self, question: &ExamQuestion, answered: bool, width: usize) -> Vec<Line<'static>> {
        let Context { theme, lang, .. } = self.context;
        let never = words::EXAM_NEVER.with(lang, &[question.never().get(lang)]);
        let mut lines = paragraph::prose(&never, width, self.style(Role::Accent), theme);
        let opening = opening(question);
        if !opening.is_empty() {
            let words = words::EXAM_OPENING.with(lang, &[&opening]);
            lines.extend(paragraph::plain(&text::clean(&words), width, self.style(Role::Text)));
        }
        lines.push(Line::default());
        let order = if answered { &question.answered } else { &question.order };
        for (n, made) in order.iter().enumerate() {
            let number = Span::styled(format!("{:>2}. ", n + 1), self.style(Role::Chrome));
            let made = paragraph::plain(
                made.get(lang),
                width.saturating_sub(number.width()),
                self.style(Role::Code),
            );
            lines.extend(paragraph::hang(number, made));
        }
        for (name, script) in &question.scripts {
            lines.extend([Line::default(), Line::styled(format!("{name}:"), self.style(Role::Code))]);
            let rows = script.lines().filter(|row| !row.trim().is_empty());
            let rows = rows.map(|row| text::clean(row).into_owned());
            lines.extend(rows.flat_map(|row| paragraph::code(&row, width, self.style(Role::Chrome))));
        }
        lines
    }

    fn exam_lines(&self, exam: &ExamRound, width: usize) -> Vec<Line<'static>> {
        let Context { theme, lang, .. } = self.context;
        let Some(question) = &exam.question else {
            if let Some(why) = &exam.failed {
                return paragraph::prose(why.get(lang), width, self.style(Role::Danger), theme);
            }
            if !exam.is_over() {
                let mut lines =
                    paragraph::plain(words::EXAM_LOOKS.get(lang), width, self.style(Role::Chrome));
                if exam.judged.is_empty() {
                    lines.extend(self.left_out(width));
                }
                return lines;
            }
            return self.exam_result(exam, width);
        };
        let Some(said) = exam.answer else { return self.order_lines(question, false, width) };
        let (right, role) = if said == question.safe {
            (words::EXAM_RIGHT, Role::Good)
        } else {
            (words::EXAM_WRONG, Role::Danger)
        };
        let was = if question.safe { words::EXAM_WAS_SAFE } else { words::EXAM_WAS_NOT };
        let verdict = Text::join(&[right.text(&[]), was.text(&[])], " ", "");
        let mut lines = paragraph::prose(verdict.get(lang), width, self.style(role), theme);
        if let Some(why) = &question.why {
            lines.extend(paragraph::prose(why.get(lang), width, self.style(Role::Text), theme));
        }
        lines.push(Line::styled("─".repeat(width), self.style(Role::Chrome)));
        lines.extend(self.order_lines(question, true, width));
        lines
    }

    /// The results: everything that was judged wrongly, by lesson.
    fn exam_result(&self, exam: &ExamRound, width: usize) -> Vec<Line<'static>> {
        let Context { theme, lang, .. } = self.context;
        if exam.judged.is_empty() {
            let mut lines = paragraph::plain(words::EXAM_NONE.get(lang), width, self.style(Role::Text));
            lines.extend(self.left_out(width));
            return lines;
        }
        let count = [exam.right(), exam.judged.len()].map(|count| count.to_string());
        let heading = words::EXAM_OVER.with(lang, &[&count[0], &count[1]]);
        let mut lines = vec![Line::styled(heading, self.style(Role::Accent)), Line::default()];
        let wrong: Vec<_> = exam.judged.iter().filter(|judged| !judged.right).collect();
        if wrong.is_empty() {
            lines.push(Line::styled(words::ALL_KNOWN.get(lang), self.style(Role::Good)));
        } else {
            lines.push(Line::styled(words::LOOK_AGAIN.get(lang), self.style(Role::Accent)));
        }
        for judged in wrong {
            let was = if judged.safe { words::EXAM_SAID_SAFE } else { words::EXAM_SAID_UNSAFE };
            let mark = Span::styled(format!("✗ {}  ", text::pad(was.get(lang), 8)), self.style(Role::Danger));
            let title = format!("{} · {}", judged.lesson.get(lang), judged.variant.get(lang));
            let room = width.saturating_sub(mark.width());
            lines.extend(paragraph::hang(mark, paragraph::prose(&title, room, Style::new(), theme)));
        }
        lines.extend(self.left_out(width));
        lines
    }

    /// What no exam asks: a good result says nothing about it.
    fn left_out(&self, width: usize) -> Vec<Line<'static>> {
        let Context { lang, .. } = self.context;
        let says = paragraph::plain(words::EXAM_LEAVES_OUT.get(lang), width, self.style(Role::Chrome));
        [vec![Line::default()], says].concat()
    }
}
