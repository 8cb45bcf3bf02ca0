//! A question to the learner, the result of the prediction, and the score of all predictions.

use super::{paragraph, prelude::*, voting};
use crate::{
    log::Stop,
    ui::state::predicting::{Answer, Predictions},
    world::Question,
};

#[derive(Debug, Clone, Copy)]
pub(crate) struct Shown<'a> {
    question: &'a Question,
    decided: bool,
}

impl Predictions {
    pub(crate) fn shown<'a>(&self, scene: &Scene<'a>) -> Option<Shown<'a>> {
        let question = self.question(scene.world)?;
        Some(Shown { question, decided: question.right.is_some() })
    }

    pub(crate) fn lines(&self, scene: &Scene<'_>, shown: Shown<'_>, width: u16) -> Vec<Line<'static>> {
        let width = usize::from(width);
        if shown.decided {
            self.decision(scene, shown.question, width)
        } else {
            self.open(scene, shown.question, width)
        }
    }

    /// The index of the choice on the `line`-th line of a pane of that width.
    pub(crate) fn choice(scene: &Scene<'_>, shown: Shown<'_>, (line, width): (usize, u16)) -> Option<usize> {
        let Shown { question, decided: false } = shown else { return None };
        let width = usize::from(width);
        let rows = |words: &str, indent: usize| text::wrap(words, width.saturating_sub(indent)).len();
        let mut from = rows(question.q.get(scene.lang), 0);
        for (n, choice) in question.choices.iter().enumerate() {
            let to = from + rows(choice.says.get(scene.lang), text::width("  1. "));
            if (from..to).contains(&line) {
                return Some(n);
            }
            from = to;
        }
        None
    }

    fn open(&self, scene: &Scene<'_>, question: &Question, width: usize) -> Vec<Line<'static>> {
        let mut lines = hanging(scene, ("", Role::Text), question.q.get(scene.lang), Role::Text, width);
        let answer = self.get(question.item);
        for (n, choice) in question.choices.iter().enumerate() {
            let (mark, role) = match answer {
                Some(Answer::Chosen(chosen)) if chosen == n => ("▸", Role::Accent),
                Some(Answer::Chosen(_) | Answer::Skipped) => (" ", Role::Chrome),
                Some(Answer::Class) | None => (" ", Role::Text),
            };
            let number = format!("{mark} {}. ", scene.keys.label(&format!("answer-{}", n + 1)));
            let number_role = if answer.is_none() { Role::Code } else { role };
            let says = choice.says.get(scene.lang);
            lines.extend(hanging(scene, (&number, number_role), says, role, width));
        }
        if let Some(votes) = self.class.votes(question.item) {
            let voted = votes.iter().sum();
            lines.push(voting::turnout(scene.context(), voted, self.class.joined, width));
        }
        lines
    }

    fn decision(&self, scene: &Scene<'_>, question: &Question, width: usize) -> Vec<Line<'static>> {
        let lang = scene.lang;
        let asked = reminder(question.q.get(lang), width);
        let mut lines = hanging(scene, ("", Role::Chrome), &asked, Role::Chrome, width);
        let answer = self.get(question.item);
        let happened = right(question, scene);
        match (answer, answer.and_then(|answer| answer.is_right(question))) {
            (Some(Answer::Chosen(n)), Some(true)) => {
                let words = words::RIGHT.with(lang, &[says(question, n, scene)]);
                lines.extend(hanging(scene, ("✓ ", Role::Good), &words, Role::Good, width));
            }
            (Some(Answer::Chosen(n)), _) => {
                let words = words::WRONG.with(lang, &[says(question, n, scene), &happened]);
                lines.extend(hanging(scene, ("✗ ", Role::Warning), &words, Role::Warning, width));
                if let Some(why) = question.choices.get(n).and_then(|choice| choice.why.as_ref()) {
                    lines.extend(hanging(scene, ("  ", Role::Text), why.get(lang), Role::Text, width));
                }
            }
            // The bars of votes show it.
            _ if self.class.votes(question.item).is_some() => {}
            _ => {
                let words = words::HAPPENED.with(lang, &[&happened]);
                lines.extend(hanging(scene, ("· ", Role::Accent), &words, Role::Accent, width));
            }
        }
        if let Some(votes) = self.class.votes(question.item) {
            let choices = question.choices.iter().map(|choice| choice.says.get(lang));
            let right = question.right.as_deref().unwrap_or_default();
            lines.extend(voting::bars(scene.context(), choices.zip(votes.iter().copied()), right, width));
        }
        // A right answer may have been a lucky guess, so the explanation is always shown.
        if let Some(why) = &question.why {
            lines.extend(hanging(scene, ("→ ", Role::Accent), why.get(lang), Role::Text, width));
        }
        lines
    }

    /// The keys to press, for the frame of the pane.
    pub(crate) fn hint(&self, scene: &Scene<'_>, shown: Shown<'_>) -> Option<Line<'static>> {
        let Shown { question, decided: false } = shown else { return None };
        let key = |id: &str| scene.keys.label(id);
        let last = key(&format!("answer-{}", question.choices.len()));
        let (first, skip, step) = (key("answer-1"), key("skip"), key("step"));
        let (words, values, role) = match (self.get(question.item), self.nudged) {
            (None | Some(Answer::Class), _) if self.class.votes(question.item).is_some() => {
                (words::ANSWERED, vec![&step], Role::Chrome)
            }
            (None, true) => (words::ANSWER_FIRST, vec![&first, &last, &skip, &step], Role::Warning),
            (None, false) => (words::ANSWER, vec![&first, &last, &skip], Role::Code),
            (Some(Answer::Skipped), _) => (words::SKIPPED, vec![&step], Role::Chrome),
            (Some(Answer::Chosen(_) | Answer::Class), _) => (words::ANSWERED, vec![&step], Role::Chrome),
        };
        if !is_at_question(scene) {
            return None;
        }
        let values: Vec<&str> = values.into_iter().map(String::as_str).collect();
        let words = words.with(scene.lang, &values);
        Some(Line::styled(format!(" {words} "), scene.style(role)))
    }

    /// Whether the playhead is at the stop of a question that is not decided yet.
    pub(crate) fn asks_now(&self, scene: &Scene<'_>) -> bool {
        self.question(scene.world).is_some_and(|question| question.right.is_none()) && is_at_question(scene)
    }

    /// Whether the next step waits for an answer.
    pub(crate) fn waits(&self, scene: &Scene<'_>) -> bool {
        let item = self.question(scene.world).map(|question| question.item);
        let is_answered = |item: usize| self.get(item).is_some() || self.class.votes(item).is_some();
        self.asks_now(scene) && !item.is_some_and(is_answered)
    }

    /// All predictions, for the verdict: how many were right, and what happened instead of the others.
    pub(crate) fn lines_of_verdict(&self, scene: &Scene<'_>, width: usize) -> Vec<Line<'static>> {
        let (lang, questions) = (scene.lang, &scene.world.questions);
        let score = self.score(scene.log);
        if score.asked == 0 {
            return Vec::new();
        }
        let mut words = words::PREDICTIONS.with(lang, &[&score.right.to_string(), &score.asked.to_string()]);
        if score.skipped > 0 {
            words.push_str(&words::OF_WHICH_SKIPPED.with(lang, &[&score.skipped.to_string()]));
        }
        let mut lines = vec![Line::default()];
        lines.extend(hanging(scene, ("", Role::Accent), &words, Role::Accent, width));
        for question in questions {
            let Some(Answer::Chosen(n)) = self.get(question.item) else { continue };
            if Answer::Chosen(n).is_right(question) != Some(false) {
                continue;
            }
            let q = question.q.get(lang);
            lines.extend(hanging(scene, (" ✗ ", Role::Warning), q, Role::Text, width));
            let words = words::WRONG.with(lang, &[says(question, n, scene), &right(question, scene)]);
            lines.extend(hanging(scene, ("   ", Role::Text), &words, Role::Chrome, width));
            // Why the answer was plausible, and why it is wrong.
            if let Some(own) = question.choices.get(n).and_then(|choice| choice.why.as_ref()) {
                lines.extend(hanging(scene, ("   ", Role::Text), own.get(lang), Role::Text, width));
            }
            if let Some(why) = &question.why {
                lines.extend(hanging(scene, (" → ", Role::Accent), why.get(lang), Role::Text, width));
            }
        }
        lines
    }
}

/// Whether the playhead is at the stop of a question: later it can no longer be answered.
fn is_at_question(scene: &Scene<'_>) -> bool {
    let last = scene.world.position.checked_sub(1).and_then(|last| scene.event(last));
    matches!(last, Some(EventKind::Stop { stop: Stop::Question, .. }))
}

/// The lines of a decision with the whole question in place of its last sentence, if they fit a pane.
pub(crate) fn in_full(
    scene: &Scene<'_>,
    shown: Shown<'_>,
    lines: Vec<Line<'static>>,
    pane: Rect,
) -> Vec<Line<'static>> {
    let width = usize::from(pane.width.saturating_sub(2));
    let written = |question: &str| hanging(scene, ("", Role::Chrome), question, Role::Chrome, width);
    let question = shown.question.q.get(scene.lang);
    let (brief, full) = (written(&reminder(question, width)), written(question));
    if !shown.decided || !lines.starts_with(&brief) {
        return lines;
    }
    let rest = lines.len() - brief.len();
    if full.len() + rest > usize::from(pane.height) {
        return lines;
    }
    full.into_iter().chain(lines.into_iter().skip(brief.len())).collect()
}

/// A question that was answered, or only its last sentence if it takes several lines: the lanes need the rows.
fn reminder(question: &str, width: usize) -> String {
    let before = [". ", "? ", "。", "？"].map(|end| {
        let last = question.trim_end_matches(['?', '？', '.', '。']).rfind(end);
        last.map_or(0, |at| at + end.len())
    });
    match before.into_iter().max() {
        Some(from) if from > 0 && text::wrap(question, width).len() > 1 => {
            format!("… {}", &question[from..])
        }
        _ => question.to_owned(),
    }
}

fn says<'q>(question: &'q Question, n: usize, scene: &Scene<'_>) -> &'q str {
    question.choices.get(n).map_or("?", |choice| choice.says.get(scene.lang))
}

fn right(question: &Question, scene: &Scene<'_>) -> String {
    let right = question.right.as_deref().unwrap_or_default();
    let all: Vec<&str> = right.iter().map(|n| says(question, *n, scene)).collect();
    all.join(" / ")
}

fn hanging(
    scene: &Scene<'_>,
    (mark, mark_role): (&str, Role),
    words: &str,
    role: Role,
    width: usize,
) -> Vec<Line<'static>> {
    let room = width.saturating_sub(text::width(mark));
    let lines = paragraph::prose(words, room, scene.style(role), scene.theme);
    paragraph::hang(Span::styled(mark.to_owned(), scene.style(mark_role)), lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_long_question_that_was_answered_the_last_sentence_is_left() {
        let long = "B holds the lock for 3 s. Now node1 goes on. What will it answer to A's SET?";
        assert_eq!(reminder(long, 40), "… What will it answer to A's SET?");
        assert_eq!(reminder(long, 100), long, "it fits on one line");
        assert_eq!(reminder("服务器重启了。A 还在干活。B 会得到什么？", 20), "… B 会得到什么？");
        let one = "What will node1 answer to A's SET when it goes on?";
        assert_eq!(reminder(one, 20), one, "there is nothing to leave out");
    }
}
