//! The verdict: each claim, what was expected and what was seen, what it amounts to and what to take away. It
//! must not know how claims are judged.

use ratatui::{
    style::Modifier,
    text::{Line, Span},
};

use super::{Asking, Scene, scene::prose, text, theme::Role, words};
use crate::{
    app::CatalogueEntry,
    verdict::{ClaimResult, Outcome, Verdict},
};

/// The wrapped lines of the pane.
pub fn lines(
    scene: &Scene<'_>,
    verdict: &Verdict,
    asking: &Asking<'_>,
    (entry, variant): (&CatalogueEntry, usize),
    width: u16,
) -> Vec<Line<'static>> {
    let width = usize::from(width);
    let mut lines = heading(scene, verdict.outcome, width);
    for claim in &verdict.claims {
        lines.extend(claim_lines(scene, claim, width));
    }
    if verdict.outcome == Outcome::NotShown {
        for row in text::wrap(words::NOT_SHOWN_WHY.get(scene.lang), width) {
            lines.push(Line::styled(row, scene.style(Role::Danger)));
        }
    } else if let Some(variant) = entry.variants.get(variant) {
        lines.push(Line::default());
        let words = format!(
            "{}: {}",
            words::TAKE_AWAY.get(scene.lang),
            variant.lesson.get(scene.lang)
        );
        let mut code = false;
        for row in text::wrap(&words, width) {
            lines.push(Line::from(prose(
                &row,
                &mut code,
                scene.theme,
                scene.style(Role::Text),
            )));
        }
    }
    lines.extend(asking.predictions(scene, width));
    lines.push(Line::default());
    lines.extend(hints(scene, entry, variant, width));
    lines
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

fn claim_lines(scene: &Scene<'_>, claim: &ClaimResult, width: usize) -> Vec<Line<'static>> {
    let (glyph, role) = if claim.holds {
        ("✓", Role::Good)
    } else {
        ("✗", Role::Danger)
    };
    let figures = format!(
        "{} {} · {} {}",
        words::EXPECTED.get(scene.lang),
        text::clean(claim.expected.get(scene.lang)),
        words::OBSERVED.get(scene.lang),
        text::clean(claim.observed.get(scene.lang)),
    );
    let style = if claim.holds {
        scene.style(Role::Chrome)
    } else {
        scene.style(Role::Danger)
    };
    let name = text::fit(&claim.claim, width.saturating_sub(4)).into_owned();
    let tick = Span::styled(format!(" {glyph} "), scene.style(role));
    let together = text::width(&name) + 5 + text::width(&figures) <= width;
    if together {
        return vec![Line::from(vec![
            tick,
            Span::styled(name, scene.style(Role::Code)),
            Span::raw("  "),
            Span::styled(figures, style),
        ])];
    }
    let mut lines = vec![Line::from(vec![
        tick,
        Span::styled(name, scene.style(Role::Code)),
    ])];
    for row in text::wrap(&figures, width.saturating_sub(5)) {
        lines.push(Line::from(vec![Span::raw("     "), Span::styled(row, style)]));
    }
    lines
}

fn hints(scene: &Scene<'_>, entry: &CatalogueEntry, variant: usize, width: usize) -> Vec<Line<'static>> {
    let style = scene.style(Role::Accent);
    let mut lines = Vec::new();
    if entry.variants.len() > 1 {
        let next = &entry.variants[(variant + 1) % entry.variants.len()];
        let words = words::TRY_VARIANT.with(
            scene.lang,
            &[&scene.keys.label("next-variant"), next.title.get(scene.lang)],
        );
        lines.extend(
            text::wrap(&words, width)
                .into_iter()
                .map(|row| Line::styled(row, style)),
        );
    }
    if !entry.interview.is_empty() {
        let words = words::TRY_CARDS.with(
            scene.lang,
            &[&scene.keys.label("interview"), &entry.interview.len().to_string()],
        );
        lines.extend(
            text::wrap(&words, width)
                .into_iter()
                .map(|row| Line::styled(row, style)),
        );
    }
    lines
}
