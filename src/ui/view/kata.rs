//! The exercises: the task, the results for the learner's answer, and what broke it.

use std::ops::Range;

use super::{header, help, key_hints, overlay, paragraph, prelude::*};
use crate::ui::{
    keys::KeyScope,
    state::kata::{Exercise, ExerciseBoard, RoundState},
};

/// The maximum comfortable line width.
const WIDEST: u16 = 100;

#[derive(Debug, Clone, Copy)]
pub struct KataView<'a> {
    pub board: &'a ExerciseBoard,
    pub scroll: u16,
    /// The scroll position of the help in lines; `None` while the help is closed.
    pub help: Option<u16>,
    pub context: Context<'a>,
}

/// The part between header and footer.
struct Body {
    lines: Vec<Line<'static>>,
    /// The lines of the hint or solution requested last.
    newest: Range<usize>,
}

/// How many rounds that held are listed one by one above a failed one.
const MOST_HELD: usize = 8;

impl KataView<'_> {
    pub fn draw(&self, area: Rect, buf: &mut Buffer) {
        let Context { theme, lang, keys } = self.context;
        if area.width < super::SMALLEST.0 || area.height < super::SMALLEST.1 {
            super::too_small(self.context, area, buf);
            theme.finish(buf);
            return super::harmless(buf);
        }
        let [head, body, foot] = areas(area);
        self.draw_head(head, buf);
        let inner = inner(body);
        paragraph::draw_with_more(
            &self.body(inner.width.into()).lines,
            self.scroll,
            self.context,
            inner,
            buf,
        );
        let mut idle = Vec::new();
        if self.board.failure.as_ref().is_none_or(|failure| failure.order.is_none()) {
            idle.push("open-failure");
        }
        let message = match &self.board.notice {
            Some(notice) => Some(notice.get(lang).to_owned()),
            None if self.board.is_solved() => {
                idle.extend(["hint", "next-exercise", "previous-exercise"]);
                Some(words::NEXT_EXERCISE.with(lang, &[&keys.label("next-exercise")]))
            }
            None => None,
        };
        match message {
            Some(words) => key_hints::tell(self.context, (KeyScope::Kata, &idle), &words, foot, buf),
            None => key_hints::draw(self.context, KeyScope::Kata, &idle, foot, buf),
        }
        if let Some(scroll) = self.help {
            overlay::draw(&self.help_page(area), self.context, scroll, area, buf);
        }
        theme.finish(buf);
        super::harmless(buf);
    }

    fn help_page(&self, area: Rect) -> overlay::Page {
        help::page(self.context, &[KeyScope::Kata, KeyScope::Everywhere], overlay::columns(area))
    }

    /// The maximum scroll position of the body, or of the help over it.
    pub fn reach(&self, area: Rect) -> u16 {
        if self.help.is_some() {
            return overlay::reach(&self.help_page(area), area);
        }
        let [_, body, _] = areas(area);
        let lines = self.body(inner(body).width.into()).lines.len();
        u16::try_from(lines).unwrap_or(u16::MAX).saturating_sub(body.height)
    }

    /// The scroll position that makes the hint or solution requested last visible: it scrolls no further than needed,
    /// and shows its beginning if not all of it fits.
    pub fn newest(&self, area: Rect) -> u16 {
        let [_, body, _] = areas(area);
        let Range { start, end } = self.body(inner(body).width.into()).newest;
        let scroll = usize::from(self.scroll).max(end.saturating_sub(body.height.into())).min(start);
        u16::try_from(scroll).unwrap_or(u16::MAX).min(self.reach(area))
    }

    fn draw_head(&self, area: Rect, buf: &mut Buffer) {
        let Context { theme, lang, .. } = self.context;
        let ExerciseBoard { exercises, chosen, .. } = self.board;
        let title = exercises.get(*chosen).map_or("", |exercise| exercise.title.get(lang));
        let title = format!(" {} {}/{} · {title}", words::KATA.get(lang), chosen + 1, exercises.len());
        let solved = exercises.iter().filter(|exercise| exercise.solved).count();
        let solved = words::KATA_SOLVED.with(lang, &[&solved.to_string(), &exercises.len().to_string()]);
        let right = vec![Span::styled(format!(" {solved} "), theme.style(Role::Chrome))];
        let left = |room| Line::styled(text::fit(&title, room).into_owned(), theme.style(Role::Accent));
        header::draw_ends(left, right, Rect { height: 1, ..area }, buf);
        // Each exercise is a piece of the rule below.
        let mut pieces = Line::default();
        for (n, Exercise { solved, .. }) in exercises.iter().enumerate() {
            let role = match (n == *chosen, solved) {
                (true, _) => Role::Accent,
                (_, true) => Role::Good,
                _ => Role::Chrome,
            };
            let mark = if *solved { " ✓" } else { " ·" };
            pieces.spans.push(Span::styled(format!("{mark}{}", n + 1), theme.style(role)));
        }
        buf.set_line(area.x, area.y + 1, &pieces, area.width);
    }

    fn body(&self, width: usize) -> Body {
        let Context { theme, lang, .. } = self.context;
        let board = self.board;
        let (mut lines, mut newest) = (Vec::new(), 0..0);
        let title = |lines: &mut Vec<Line<'static>>, words: &str, role| {
            if !lines.is_empty() {
                lines.push(Line::default());
            }
            lines.push(Line::styled(words.to_owned(), theme.style(role)));
        };
        let prose = |words: &str, role| paragraph::prose(words, width, theme.style(role), theme);
        if let Some(exercise) = board.exercises.get(board.chosen) {
            title(&mut lines, words::KATA_TASK.get(lang), Role::Chrome);
            lines.extend(prose(exercise.task.get(lang), Role::Text));
            lines.extend(file_lines(&exercise.file, width, self.context));
        }
        if let Some(mistake) = &board.mistake {
            lines.push(Line::default());
            lines.extend(paragraph::plain(mistake.get(lang), width, theme.style(Role::Danger)));
        } else {
            let judging = if board.judging { words::KATA_JUDGING.get(lang) } else { "" };
            title(&mut lines, &format!("{}  {judging}", words::KATA_ROUNDS.get(lang)), Role::Chrome);
            // What a failed round shows is read without scrolling.
            let held =
                board.rounds.iter().take_while(|round| matches!(round.state, RoundState::Held(..))).count();
            let folded = if board.failure.is_some() && held > MOST_HELD { held } else { 0 };
            if folded > 0 {
                let words = words::KATA_HELD_ROUNDS.with(lang, &[&folded.to_string()]);
                lines.push(Line::styled(format!("✓ {words}"), theme.style(Role::Good)));
            }
            for round in &board.rounds[folded..] {
                let (mark, role, more) = match &round.state {
                    RoundState::Open => ("·", Role::Chrome, String::new()),
                    RoundState::Held(orders, wall) => {
                        ("✓", Role::Good, words::KATA_HELD.with(lang, &[orders.get(lang), &wall.to_string()]))
                    }
                    RoundState::Failed => ("✗", Role::Danger, String::new()),
                };
                let title = round.title.get(lang);
                let name = if more.is_empty() {
                    text::fit(title, width.saturating_sub(2)).into_owned()
                } else {
                    text::pad(title, 40)
                };
                lines.push(Line::from(vec![
                    Span::styled(format!("{mark} "), theme.style(role)),
                    Span::styled(name, theme.style(if role == Role::Chrome { role } else { Role::Text })),
                    Span::styled(format!("  {more}"), theme.style(Role::Chrome)),
                ]));
            }
        }
        if let Some(failure) = &board.failure {
            // On a small screen all of it is to be seen below the task.
            lines.extend(prose(failure.says.get(lang), Role::Danger));
            if let Some(order) = &failure.order {
                let words = if failure.goes_wrong { words::KATA_ORDER } else { words::KATA_ANY_ORDER };
                lines.push(Line::styled(words.get(lang), theme.style(Role::Chrome)));
                lines.extend(prose(order.get(lang), Role::Code));
            }
            lines.extend(failure.why.iter().flat_map(|why| prose(why.get(lang), Role::Text)));
        }
        for (n, hint) in board.hints.iter().enumerate() {
            let start = lines.len();
            title(&mut lines, &format!("{} {}", words::KATA_HINT.get(lang), n + 1), Role::Fresh);
            lines.extend(prose(hint.get(lang), Role::Text));
            newest = start..lines.len();
        }
        if board.is_solved() {
            title(&mut lines, words::KATA_DONE.get(lang), Role::Good);
        }
        if let Some(solution) = &board.solution {
            let start = lines.len();
            title(&mut lines, words::KATA_SOLUTION.get(lang), Role::Chrome);
            lines.extend(paragraph::code(solution, width, theme.style(Role::Code)));
            newest = start..lines.len();
        }
        if let Some(discussion) = &board.discussion {
            lines.push(Line::default());
            lines.extend(prose(discussion.get(lang), Role::Text));
        }
        if let Some(exercise) = board.exercises.get(board.chosen) {
            title(&mut lines, words::KATA_GIVEN.get(lang), Role::Chrome);
            // It ends with lines of code.
            let rows = text::wrap_code(exercise.given.get(lang), width);
            lines.extend(paragraph::prose_in(&rows, theme.style(Role::Text), theme));
        }
        Body { lines, newest }
    }
}

/// The path of the learner's file: in one line with its title, if there is room.
fn file_lines(file: &str, width: usize, Context { theme, lang, .. }: Context) -> Vec<Line<'static>> {
    let title = Span::styled(words::KATA_FILE.get(lang), theme.style(Role::Chrome));
    let path = Span::styled(file.to_owned(), theme.style(Role::Code));
    if title.width() + 2 + path.width() <= width {
        return vec![Line::from(vec![title, Span::raw("  "), path])];
    }
    std::iter::once(Line::from(title))
        .chain(paragraph::prose(file, width, theme.style(Role::Code), theme))
        .collect()
}

/// Header, body and footer. The row between body and footer is for the sign that there is more.
fn areas(area: Rect) -> [Rect; 3] {
    let rows = [2, 0, 1, 1].map(|rows| if rows == 0 { Constraint::Min(1) } else { Constraint::Length(rows) });
    let [head, body, _, foot] = Layout::vertical(rows).areas(area);
    [head, body, foot]
}

fn inner(body: Rect) -> Rect {
    Rect { x: body.x + 2, width: body.width.saturating_sub(4).min(WIDEST), ..body }
}

#[cfg(test)]
mod tests {
    use super::KataView;
    use crate::{
        lesson::library::exercises,
        text::{Lang, Text},
        ui::{
            keys::KeyMap,
            state::kata::{Exercise, ExerciseBoard, FailureRow, RoundRow, RoundState},
            theme::Theme,
            view::{Context, prelude::*},
        },
    };

    /// On the smallest usual terminal a learner sees the task and, without scrolling, the order that goes wrong.
    #[test]
    fn the_order_that_fails_is_in_sight_below_the_task_of_every_exercise() {
        let keys = KeyMap::default();
        let order = "A.first → B.first → A.second → B.second";
        for loaded in exercises().expect("they are good") {
            let kata = loaded.lesson.kata.as_ref().expect("an exercise");
            let last = loaded.lesson.variants.len() - 1;
            let rounds = loaded.lesson.variants.values().enumerate().map(|(n, variant)| {
                let held = RoundState::Held(Text::from("12"), 300);
                let state = if n == last { RoundState::Failed } else { held };
                RoundRow { title: variant.title.clone(), state }
            });
            let exercise = Exercise {
                title: loaded.lesson.title.clone(),
                task: kata.task.clone(),
                file: "my-locks/02-take-the-lock.yaml".to_owned(),
                ..Exercise::default()
            };
            let board = ExerciseBoard {
                exercises: vec![exercise],
                rounds: rounds.collect(),
                failure: Some(FailureRow {
                    says: Text::from("Two clients hold the lock at the same time."),
                    order: Some(Text::from(order)),
                    goes_wrong: true,
                    why: None,
                }),
                ..ExerciseBoard::default()
            };
            for lang in [Lang::En, Lang::Zh] {
                let context = Context { keys: &keys, theme: Theme::default(), lang };
                let area = Rect::new(0, 0, 80, 24);
                let mut buf = Buffer::empty(area);
                KataView { board: &board, scroll: 0, help: None, context }.draw(area, &mut buf);
                let cells = area.positions().map(|at| buf[at].symbol());
                let shown = cells.collect::<String>();
                assert!(shown.contains(order), "{} {lang:?}: {shown}", loaded.lesson.id);
            }
        }
    }
}
