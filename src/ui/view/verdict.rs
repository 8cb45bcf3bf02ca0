//! The verdict: each claim, what was expected and what was seen, what it amounts to and what to take away.

use super::{LessonView, paragraph, prelude::*};
use crate::verdict::{ClaimResult, Outcome, Verdict, evidence};

const EVIDENCE_LINES: usize = 3;

impl LessonView<'_> {
    pub(crate) fn verdict_lines(&self, verdict: &Verdict, width: usize) -> Vec<Line<'static>> {
        let scene = &self.scene;
        let mut lines = heading(scene, verdict.outcome, width);
        if verdict.outcome == Outcome::NotShown {
            let why = words::NOT_SHOWN_WHY.get(scene.lang);
            lines.extend(paragraph::plain(why, width, scene.style(Role::Danger)));
        } else if let Some(variant) = self.entry.variants.get(self.variant) {
            let words = format!("{}: {}", words::TAKE_AWAY.get(scene.lang), variant.lesson.get(scene.lang));
            lines.extend(paragraph::prose(&words, width, scene.style(Role::Text), scene.theme));
        }
        // What to take away, how the predictions went and where to go stand first; below them what proves it.
        lines.extend(self.predictions.lines_of_verdict(scene, width));
        lines.extend(self.next_steps(width));
        lines.push(Line::default());
        for claim in &verdict.claims {
            lines.extend(claim_lines(scene, claim, width));
        }
        lines
    }

    fn next_steps(&self, width: usize) -> Vec<Line<'static>> {
        let (scene, entry) = (&self.scene, self.entry);
        let mut words = Vec::new();
        if entry.variants.len() > 1 {
            let next = &entry.variants[(self.variant + 1) % entry.variants.len()];
            let values = [&scene.keys.label("next-variant"), next.title.get(scene.lang)];
            words.push(words::TRY_VARIANT.with(scene.lang, &values));
        }
        if !entry.interview.is_empty() {
            let values = [&scene.keys.label("interview"), &*entry.interview.len().to_string()];
            words.push(words::TRY_CARDS.with(scene.lang, &values));
        }
        let style = scene.style(Role::Accent);
        words.iter().flat_map(|words| paragraph::plain(words, width, style)).collect()
    }
}

fn heading(scene: &Scene<'_>, outcome: Outcome, width: usize) -> Vec<Line<'static>> {
    let (glyph, role) = match outcome {
        Outcome::Shown | Outcome::Prevented => ("✓", Role::Good),
        Outcome::NotShown => ("✗", Role::Danger),
    };
    let words = format!(" {glyph} {} ", words::outcome(outcome).get(scene.lang));
    let mut style = scene.style(role);
    if outcome == Outcome::NotShown {
        style = style.add_modifier(Modifier::REVERSED);
        return vec![Line::styled(text::pad(&words, width), style)];
    }
    vec![Line::styled(words, style)]
}

pub fn claim_lines(scene: &Scene<'_>, claim: &ClaimResult, width: usize) -> Vec<Line<'static>> {
    const INDENT: usize = 3;
    let (glyph, role) = if claim.holds { ("✓", Role::Good) } else { ("✗", Role::Danger) };
    let room = width.saturating_sub(INDENT);
    let tick = Span::styled(format!(" {glyph} "), scene.style(role));
    let (first, style) = match &claim.says {
        Some(says) => (text::clean(says.get(scene.lang)).into_owned(), scene.style(Role::Text)),
        None => (text::fit(&claim.claim, room).into_owned(), scene.style(Role::Code)),
    };
    let mut lines = paragraph::hang(tick, paragraph::plain(&first, room, style));
    let figures = figures(scene, claim);
    let style = scene.style(if claim.holds { Role::Chrome } else { Role::Danger });
    let together = claim.says.is_none() && text::width(&first) + 2 + text::width(&figures) <= room;
    if let Some(line) = lines.last_mut().filter(|_| together) {
        line.push_span(Span::styled(format!("  {figures}"), style));
    } else {
        let figures = match claim.says {
            Some(_) => format!("{}: {figures}", claim.claim),
            None => figures,
        };
        lines.extend(indented(&figures, (INDENT + 2, width), style));
    }
    for evidence in evidence(scene.log, &claim.claim, &claim.evidence, EVIDENCE_LINES) {
        let words = format!("↳ {}", text::clean(evidence.get(scene.lang)));
        lines.extend(indented(&words, (INDENT + 2, width), scene.style(Role::Chrome)));
    }
    lines
}

/// What was expected and what was seen; once, where it is the same.
fn figures(scene: &Scene<'_>, claim: &ClaimResult) -> String {
    let expected = text::clean(claim.expected.get(scene.lang));
    let observed = text::clean(claim.observed.get(scene.lang));
    let observed_words = format!("{} {observed}", words::OBSERVED.get(scene.lang));
    if claim.holds && expected == observed {
        return observed_words;
    }
    format!("{} {expected} · {observed_words}", words::EXPECTED.get(scene.lang))
}

fn indented(words: &str, (indent, width): (usize, usize), style: Style) -> Vec<Line<'static>> {
    let lines = paragraph::plain(words, width.saturating_sub(indent), style);
    paragraph::hang(Span::raw(" ".repeat(indent)), lines)
}
