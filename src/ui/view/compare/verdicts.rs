//! Both verdicts, side by side.

use super::{CompareView, words};
use crate::{
    ui::{
        state::screen::ComparePhase,
        view::{lesson::inside, paragraph, prelude::*, verdict},
    },
    verdict::{ClaimResult, Outcome},
};

fn lines(view: &CompareView<'_>, side: usize, width: usize) -> Vec<Line<'static>> {
    let style = |role| view.context.theme.style(role);
    let plain = |words: &str, role: Role| paragraph::plain(words, width, style(role));
    match view.sides[side].phase {
        ComparePhase::Waiting | ComparePhase::Running { .. } => {
            plain(words::NOTHING_YET.get(view.context.lang), Role::Chrome)
        }
        ComparePhase::Failed(failure) => {
            let mut lines = plain(failure.message.get(view.context.lang), Role::Danger);
            let keys = [&*view.context.keys.label("restart")];
            lines.extend(plain(&words::COMPARE_AGAIN.with(view.context.lang, &keys), Role::Chrome));
            lines
        }
        // The title of the pane tells when it will be shown.
        ComparePhase::Judged(_) if !view.is_at_end() => Vec::new(),
        ComparePhase::Judged(judged) => {
            let Some(scene) = view.scene(side) else { return Vec::new() };
            let mut lines: Vec<Line<'static>> = Vec::new();
            // First what went wrong and what it teaches, then the evidence.
            for failure in verdict::failure(&scene, judged) {
                lines.extend(paragraph::prose(&failure, width, style(Role::Danger), view.context.theme));
            }
            let fails = |claim: &&ClaimResult| !claim.holds;
            for claim in judged.claims.iter().filter(fails) {
                lines.extend(verdict::claim_lines(&scene, claim, width, true));
            }
            if judged.outcome == Outcome::NotShown {
                lines.extend(plain(words::NOT_SHOWN_WHY.get(view.context.lang), Role::Danger));
            } else if let Some(variant) = view.entry.variants.get(view.sides[side].variant) {
                let lesson = variant.lesson.get(view.context.lang);
                lines.extend(paragraph::prose(lesson, width, style(Role::Text), view.context.theme));
            }
            let proof = if view.proof { words::NO_PROOF } else { words::PROOF };
            let proof = proof.with(view.context.lang, &[&view.context.keys.label("go-there")]);
            lines.extend(plain(&proof, Role::Chrome));
            for claim in judged.claims.iter().filter(|claim| claim.holds) {
                lines.extend(verdict::claim_lines(&scene, claim, width, view.proof));
            }
            lines
        }
    }
}

pub fn reach(view: &CompareView<'_>, side: usize, area: Rect) -> u16 {
    let inner = paragraph::text_area(inside(area));
    let lines = lines(view, side, inner.width.into()).len();
    u16::try_from(lines).unwrap_or(u16::MAX).saturating_sub(inner.height)
}

pub fn draw(view: &CompareView<'_>, side: usize, area: Rect, buf: &mut Buffer) {
    if area.height < 2 || area.width < 4 {
        return;
    }
    let (called, _) = view.called(side);
    let style = |role| view.context.theme.style(role);
    let mut title = vec![Span::styled(format!(" {called}{}", view.context.lang.colon()), style(Role::Text))];
    let (words, role, loud) = match view.sides[side].phase {
        ComparePhase::Judged(_) if !view.is_at_end() => {
            (words::AT_THE_END.get(view.context.lang), Role::Chrome, false)
        }
        ComparePhase::Judged(judged) => {
            let words = words::outcome(judged.outcome).get(view.context.lang);
            match judged.outcome {
                Outcome::Shown => (words, Role::Danger, false),
                Outcome::Prevented => (words, Role::Good, false),
                Outcome::NotShown => (words, Role::Danger, true),
            }
        }
        ComparePhase::Failed(failure) => {
            (words::failed(failure.server).get(view.context.lang), Role::Danger, true)
        }
        ComparePhase::Waiting | ComparePhase::Running { .. } => {
            (words::WORKING.get(view.context.lang), Role::Chrome, false)
        }
    };
    let mut how = style(role);
    if loud {
        how = how.add_modifier(Modifier::REVERSED);
    }
    title.push(Span::styled(format!("{words} "), how));
    let block = view.context.theme.pane(false).title(Line::from(title));
    let inner = paragraph::text_area(paragraph::frame(block, area, buf));
    let lines = lines(view, side, inner.width.into());
    paragraph::draw_with_more(&lines, view.verdicts, view.context, inner, buf);
}
