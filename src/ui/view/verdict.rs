//! The verdict: each claim with what was expected and observed, the outcome, and what to remember.

use super::{LessonView, banner, paragraph, prelude::*};
use crate::{
    ui::state::screen::Form,
    verdict::{ClaimResult, Outcome, Verdict, evidence},
};

const EVIDENCE_LINES: usize = 3;
/// The maximum number of groups of holders.
const GROUPS: usize = 3;

impl LessonView<'_> {
    pub(crate) fn verdict_lines(&self, verdict: &Verdict, width: usize) -> Vec<Line<'static>> {
        let scene = &self.scene;
        let mut lines = Vec::new();
        let prevented = verdict.outcome == Outcome::Prevented;
        let style = scene.style(if prevented { Role::Warning } else { Role::Danger });
        for words in sentences(&self.scene, verdict) {
            lines.extend(paragraph::prose(&words, width, style, scene.theme));
        }
        lines.extend(heading(scene, verdict, width));
        let mut rest = Vec::new();
        if verdict.outcome == Outcome::NotShown {
            let why = words::NOT_SHOWN_WHY.get(scene.lang);
            lines.extend(paragraph::plain(why, width, scene.style(Role::Danger)));
        } else if let Some(variant) = self.entry.variants.get(self.variant) {
            let words = format!(
                "{}{}{}",
                words::TAKE_AWAY.get(scene.lang),
                scene.lang.colon(),
                variant.lesson.get(scene.lang)
            );
            rest.extend(paragraph::prose(&words, width, scene.style(Role::Text), scene.theme));
        }
        rest.extend(self.predictions.lines_of_verdict(scene, width));
        rest.extend(self.next_steps(width));
        let words = if self.proof { words::NO_PROOF } else { words::PROOF };
        let words = words.with(scene.lang, &[&scene.keys.label("go-there")]);
        let hint = paragraph::plain(&words, width, scene.style(Role::Chrome));
        // A room sees the failure in the chart; the claims that hold open with the evidence.
        let only_failed = self.form == Form::Presenting && !self.proof;
        let claims = verdict.claims.iter().filter(|claim| !only_failed || !claim.holds);
        let claims: Vec<_> = claims.flat_map(|claim| claim_lines(scene, claim, width, self.proof)).collect();
        let gap = [Line::default()];
        // By default the takeaway, the predictions and the next steps come first. If the learner asked for the
        // evidence, it comes first, right below the failure.
        if self.proof {
            lines.extend(hint.into_iter().chain(claims).chain(gap).chain(rest));
        } else {
            lines.extend(rest.into_iter().chain(hint));
            if !claims.is_empty() {
                lines.extend(gap.into_iter().chain(claims));
            }
        }
        lines
    }

    fn next_steps(&self, width: usize) -> Vec<Line<'static>> {
        let (scene, entry) = (&self.scene, self.entry);
        let mut words = Vec::new();
        if let Some(next) = self.next {
            let values = [&scene.keys.label("next-variant"), next.lesson.title.get(scene.lang)];
            words.push(words::TRY_LESSON.with(scene.lang, &values));
        } else if entry.variants.len() > 1 {
            let next = &entry.variants[(self.variant + 1) % entry.variants.len()];
            let values = [&scene.keys.label("next-variant"), next.title.get(scene.lang)];
            words.push(words::TRY_VARIANT.with(scene.lang, &values));
        }
        if !entry.lesson.interview.is_empty() {
            let values = [&scene.keys.label("interview"), &*entry.lesson.interview.len().to_string()];
            let try_cards =
                if entry.lesson.interview.len() == 1 { words::TRY_CARD } else { words::TRY_CARDS };
            words.push(try_cards.with(scene.lang, &values));
        }
        let style = scene.style(Role::Accent);
        words.iter().flat_map(|words| paragraph::plain(words, width, style)).collect()
    }
}

/// What went wrong, in sentences: the failure, or who held a lock together although everything that the variant promises
/// held.
pub fn sentences(scene: &Scene<'_>, verdict: &Verdict) -> Vec<String> {
    if verdict.outcome != Outcome::Prevented {
        return failure(scene, verdict);
    }
    let mut sentences: Vec<String> = together(scene).collect();
    if !sentences.is_empty() {
        sentences.push(words::HARMLESS.get(scene.lang).to_owned());
    }
    sentences
}

/// The failure in sentences: its consequences in the order in which they happened, as in the banner; then who held a
/// lock together, which is always included.
pub fn failure(scene: &Scene<'_>, verdict: &Verdict) -> Vec<String> {
    if verdict.outcome != Outcome::Shown {
        return Vec::new();
    }
    let consequences = scene.consequences();
    let consequences = consequences.iter().filter_map(|alarm| banner::alarm_sentence(scene, alarm));
    let sentences: Vec<String> = consequences.chain(together(scene)).collect();
    if !sentences.is_empty() {
        return sentences;
    }
    let says = verdict.claims.iter().find_map(|claim| claim.says.as_ref());
    says.map(|says| text::clean(says.get(scene.lang)).into_owned()).into_iter().collect()
}

/// Who held a lock together, in sentences.
fn together(scene: &Scene<'_>) -> impl Iterator<Item = String> {
    let groups = scene.world.holding.overlaps_by_group();
    groups.into_iter().take(GROUPS).map(|overlap| banner::overlap_sentence(scene, overlap))
}

/// The outcome, and how many claims hold. A failure is red even if the variant is meant to show it.
fn heading(scene: &Scene<'_>, verdict: &Verdict, width: usize) -> Vec<Line<'static>> {
    let (glyph, role) = match verdict.outcome {
        Outcome::Prevented => ("✓", Role::Good),
        Outcome::Shown | Outcome::NotShown => ("✗", Role::Danger),
    };
    let words = format!(" {glyph} {} ", words::outcome(verdict.outcome).get(scene.lang));
    let style = scene.style(role);
    if verdict.outcome == Outcome::NotShown {
        return vec![Line::styled(text::pad(&words, width), style.add_modifier(Modifier::REVERSED))];
    }
    let holding = verdict.claims.iter().filter(|claim| claim.holds).count();
    let [holding, all] = [holding, verdict.claims.len()].map(|count| count.to_string());
    let count = words::CLAIMS_HOLD.with(scene.lang, &[&holding, &all]);
    vec![Line::from(vec![Span::styled(words, style), Span::styled(count, scene.style(Role::Good))])]
}

/// A claim; with `proof` what was expected and observed, and the evidence. Claims that do not hold always include it.
pub fn claim_lines(scene: &Scene<'_>, claim: &ClaimResult, width: usize, proof: bool) -> Vec<Line<'static>> {
    const INDENT: usize = 3;
    let (glyph, role) = if claim.holds { ("✓", Role::Good) } else { ("✗", Role::Danger) };
    let room = width.saturating_sub(INDENT);
    let tick = Span::styled(format!(" {glyph} "), scene.style(role));
    let (first, style) = match &claim.says {
        Some(says) => (text::clean(says.get(scene.lang)).into_owned(), scene.style(Role::Text)),
        None => (text::fit(&claim.claim, room).into_owned(), scene.style(Role::Code)),
    };
    let rows = match claim.says {
        Some(_) => paragraph::prose(&first, room, style, scene.theme),
        None => paragraph::plain(&first, room, style),
    };
    let mut lines = paragraph::hang(tick, rows);
    if !proof && claim.holds {
        return lines;
    }
    let figures = figures(scene, claim);
    let style = scene.style(if claim.holds { Role::Chrome } else { Role::Danger });
    let together = claim.says.is_none() && text::width(&first) + 2 + text::width(&figures) <= room;
    if let Some(line) = lines.last_mut().filter(|_| together) {
        line.push_span(Span::styled(format!("  {figures}"), style));
    } else {
        let figures = match claim.says {
            Some(_) => format!("{}{}{figures}", claim.claim, scene.lang.colon()),
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

/// What was expected and what was observed; only once if both are the same.
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
