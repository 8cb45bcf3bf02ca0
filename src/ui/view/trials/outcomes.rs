//! The outcomes of many races as rows of a histogram.

use ratatui::{buffer::Buffer, layout::Rect};

use super::{
    TrialsView,
    histogram::{self, Row, percent, words_of},
};
use crate::ui::{theme::text, words};

fn rows(view: &TrialsView<'_>) -> Vec<Row> {
    let kept = view.trials.kept();
    let chosen = view.trials.chosen().map(|(outcome, _)| outcome);
    let outcomes = kept.outcomes().into_iter();
    let rows = outcomes.map(|(outcome, kind)| {
        let first = kind.numbers().first().copied().unwrap_or(0);
        Row {
            broke: outcome.is_violated(),
            count: kind.count().into(),
            words: text::clean(&words_of(outcome, view.lang)).into_owned(),
            percent: percent(kind.count().into(), kept.races().into()),
            beside: words::SEED.with(view.lang, &[&view.trials.seed(first).to_string()]),
            chosen: Some(outcome) == chosen,
        }
    });
    rows.collect()
}

/// The outcome on a row of the screen, by its place.
pub(crate) fn at(view: &TrialsView<'_>, area: Rect, y: u16) -> Option<usize> {
    histogram::at(&rows(view), view.theme, area, y)
}

/// Draws the histogram.
pub(crate) fn draw(view: &TrialsView<'_>, area: Rect, buf: &mut Buffer) {
    let focused = view.trials.chosen_race().is_none();
    histogram::draw(&rows(view), (view.theme, view.lang), (focused, words::NOTHING_YET), area, buf);
}
