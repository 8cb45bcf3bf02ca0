//! The races that came out as the chosen outcome says.

use ratatui::{
    buffer::Buffer,
    layout::Rect,
    text::{Line, Span},
    widgets::Widget,
};

use super::{TrialsView, first_in_sight, histogram::words_of};
use crate::{
    log::{EventKind, Log},
    run::race::{Kind, MOST_EVENTS},
    ui::{
        theme::{Role, text, time},
        words,
    },
};

/// The first row in sight.
fn start(view: &TrialsView<'_>, kind: &Kind, height: u16) -> usize {
    let chosen = view.trials.chosen_race().unwrap_or(0);
    first_in_sight(chosen, kind.numbers().len(), height)
}

/// The race on a row of the screen, by its place.
pub(crate) fn at(view: &TrialsView<'_>, area: Rect, y: u16) -> Option<usize> {
    let inner = view.theme.pane(true).inner(area);
    let (_, kind) = view.trials.chosen()?;
    let place = start(view, kind, inner.height) + usize::from(y.checked_sub(inner.y)?);
    (y < inner.bottom() && place < kind.numbers().len()).then_some(place)
}

/// Draws the list.
pub(crate) fn draw(view: &TrialsView<'_>, area: Rect, buf: &mut Buffer) {
    let chosen = view.trials.chosen_race();
    let role = if chosen.is_some() { Role::Accent } else { Role::Chrome };
    let room = usize::from(area.width.saturating_sub(4));
    let outcome = view.trials.chosen();
    let mut title = words::THOSE_RACES.get(view.lang).to_owned();
    if let Some((outcome, _)) = outcome {
        title = words::ABOUT.with(view.lang, &[&title, &words_of(outcome, view.lang)]);
    }
    let title = format!(" {} ", text::fit(&title, room.saturating_sub(2)));
    let mut block = view.theme.pane(chosen.is_some()).title(Span::styled(title, view.style(role)));
    let forgotten = view.trials.kept().forgotten();
    if forgotten > 0 {
        let words = words::FORGOTTEN.with(view.lang, &[&forgotten.to_string(), &MOST_EVENTS.to_string()]);
        let words = format!(" {} ", text::fit(&words, room.saturating_sub(2)));
        block = block.title_bottom(Line::styled(words, view.style(Role::Warning)).right_aligned());
    }
    let inner = block.inner(area);
    block.render(area, buf);
    let Some((_, kind)) = outcome else {
        return;
    };
    let from = start(view, kind, inner.height);
    let digits = kind.numbers().last().map_or(1, |last| (u64::from(*last) + 1).to_string().len());
    for (y, place) in (inner.top()..inner.bottom()).zip(from..kind.numbers().len()) {
        let number = kind.numbers()[place];
        let line = line(view, kind, number, (chosen == Some(place), digits));
        buf.set_line(inner.x, y, &line, inner.width);
        if chosen == Some(place) {
            let whole = Rect { y, height: 1, ..inner };
            view.theme.choose(whole, buf);
        }
    }
}

fn line(view: &TrialsView<'_>, kind: &Kind, number: u32, (chosen, digits): (bool, usize)) -> Line<'static> {
    let mark = if chosen { "▸" } else { " " };
    let which = format!("{:>digits$}", u64::from(number) + 1);
    let seed = format!("{:<digits$}", view.trials.seed(number));
    let mut spans = vec![
        Span::styled(format!("{mark} "), view.style(Role::Accent)),
        Span::styled(words::RACE_ROW.with(view.lang, &[&which]), view.style(Role::Text)),
        Span::styled(format!("  {}", words::SEED.with(view.lang, &[&seed])), view.style(Role::Chrome)),
    ];
    let told = match kind.log(number) {
        Some(log) => {
            let steps = words::STEPS.with(view.lang, &[&steps(log).to_string()]);
            (format!("  {steps}  {}", time::moment(log.time_at(log.len()))), Role::Chrome)
        }
        None => (format!("  {}", words::NOT_KEPT.get(view.lang)), Role::Warning),
    };
    spans.push(Span::styled(told.0, view.style(told.1)));
    Line::from(spans)
}

fn steps(log: &Log) -> usize {
    let stops = log.events().iter();
    stops.filter(|event| matches!(event.kind, EventKind::Stop { .. })).count()
}
