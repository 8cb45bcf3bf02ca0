//! The lock measurement: progress, a table, bars, and what they do not cover.

use super::{overlay::Page, paragraph, prelude::*};
use crate::text::Lang;
use crate::ui::{
    state::measuring::{Measurement, Progress},
    words::{Chart, Report},
};

/// The maximum length of a bar, in cells.
const LONGEST: usize = 40;
/// The space between two columns.
const GAP: usize = 2;

/// The page over the catalogue during and after a measurement.
pub fn page(measurement: &Measurement, context: Context<'_>, columns: usize) -> Page {
    let Context { theme, lang, keys } = context;
    let mut lines = Vec::new();
    if let Some(why) = &measurement.failed {
        lines.extend(paragraph::plain(why.get(lang), columns, theme.style(Role::Danger)));
    } else if let Some(progress) = measurement.progress() {
        let (filled, words) = (cells(progress.share, columns), doing(&progress, lang));
        let bar = format!("{}{}", "█".repeat(filled), "░".repeat(columns - filled));
        lines.push(Line::styled(bar, theme.style(Role::Accent)));
        lines.extend(paragraph::plain(&words, columns, theme.style(Role::Text)));
    } else {
        let words = words::MEASURED_AGAIN.with(lang, &[&keys.label("measure")]);
        lines.extend(paragraph::plain(&words, columns, theme.style(Role::Chrome)));
    }
    if measurement.failed.is_none() {
        lines.push(Line::default());
        lines.extend(report(&Report::new(&measurement.rows, measurement.work, lang), columns, theme));
    }
    Page { title: words::MEASURED.get(lang).to_owned(), lines }
}

/// The work in progress.
fn doing(progress: &Progress, lang: Lang) -> String {
    let name = progress.lock.title.get(lang);
    let (number, of) = (progress.number.to_string(), progress.of.to_string());
    match progress.turns {
        None => words::STARTING_SERVERS.with(lang, &[name, &number, &of]),
        Some((seen, wanted)) => {
            words::TAKING_TURNS.with(lang, &[name, &seen.to_string(), &wanted.to_string(), &number, &of])
        }
    }
}

/// The report, wrapped to `columns` columns.
pub fn report(report: &Report, columns: usize, theme: Theme) -> Vec<Line<'static>> {
    let plain = |words: &str, role| paragraph::plain(words, columns, theme.style(role));
    let mut lines = plain(&report.head, Role::Text);
    for table in fitting(&report.table, columns) {
        lines.push(Line::default());
        let rows = aligned(&table);
        lines.extend(
            rows.into_iter().enumerate().map(|(n, row)| {
                Line::styled(row, theme.style(if n == 0 { Role::Chrome } else { Role::Text }))
            }),
        );
    }
    if !report.table.is_empty() {
        lines.extend(plain(report.legend, Role::Chrome));
    }
    for chart in &report.charts {
        lines.push(Line::default());
        lines.extend(plain(chart.title, Role::Accent));
        lines.extend(bars(chart, columns, theme));
    }
    lines.push(Line::default());
    lines.extend(report.remarks.iter().flat_map(|remark| plain(remark, Role::Text)));
    lines
}

/// Splits a table that is too wide into several, each with the first column.
fn fitting(table: &[Vec<String>], columns: usize) -> Vec<Vec<Vec<String>>> {
    let wide = widths(table);
    let Some((first, others)) = wide.split_first() else { return Vec::new() };
    let (mut parts, mut used) = (vec![Vec::new()], *first);
    for (n, wide) in others.iter().enumerate() {
        if used + GAP + wide > columns && parts.last().is_some_and(|part| !part.is_empty()) {
            parts.push(Vec::new());
            used = *first;
        }
        used += GAP + wide;
        if let Some(part) = parts.last_mut() {
            part.push(n + 1);
        }
    }
    let cells = |row: &Vec<String>, part: &Vec<usize>| {
        std::iter::once(0).chain(part.iter().copied()).map(|n| row[n].clone()).collect()
    };
    parts.iter().map(|part| table.iter().map(|row| cells(row, part)).collect()).collect()
}

fn widths(table: &[Vec<String>]) -> Vec<usize> {
    let columns = table.first().map_or(0, Vec::len);
    (0..columns).map(|n| table.iter().map(|row| text::width(&row[n])).max().unwrap_or(0)).collect()
}

/// The rows of a table, with the first column aligned left and the others right.
pub fn aligned(table: &[Vec<String>]) -> Vec<String> {
    let widths = widths(table);
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).enumerate().map(|(n, (cell, wide))| {
            let space = " ".repeat(wide - text::width(cell));
            if n == 0 { format!("{cell}{space}") } else { format!("{space}{cell}") }
        });
        cells.collect::<Vec<_>>().join(&" ".repeat(GAP))
    };
    table.iter().map(line).collect()
}

fn bars(chart: &Chart, columns: usize, theme: Theme) -> Vec<Line<'static>> {
    let wide = chart.bars.iter().map(|bar| text::width(bar.name)).max().unwrap_or(0);
    let value = chart.bars.iter().map(|bar| text::width(&bar.value)).max().unwrap_or(0);
    let longest = columns.saturating_sub(wide + value + 3).clamp(1, LONGEST);
    let line = |bar: &words::Bar| {
        Line::from(vec![
            Span::raw(format!("{}  ", text::pad(bar.name, wide))),
            Span::styled("█".repeat(cells(bar.share, longest).max(1)), theme.style(Role::Accent)),
            Span::raw(format!(" {}", bar.value)),
        ])
    };
    chart.bars.iter().map(line).collect()
}

/// The number of filled cells for a share of `of` cells.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "a few cells"
)]
fn cells(share: f64, of: usize) -> usize {
    ((share * of as f64).ceil() as usize).min(of)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        bench::{Figures, LOCKS, Row, Series},
        text::Text,
        ui::keys::KeyMap,
    };

    fn rows() -> Vec<Row> {
        let figures = |per_second: f64| Figures {
            hand_overs: 200,
            seconds: 200.0 / per_second,
            per_second,
            median_ms: 1000.0 / per_second,
            p99_ms: 43.5,
            longest_wait_ms: 12_345.0,
            requests: 23.4,
            notifications: 7.0,
            fairness: 0.98,
            retaken: 0.1,
            overlaps: 0,
            cpu_ms: Some(1.5),
            memory_mib: None,
        };
        let row = |n: usize, figures| Row { lock: &LOCKS[n], on: "1 × Redis 7.0.15".to_owned(), figures };
        let failed = Err(Text::new("no server", "没有服务器"));
        vec![row(0, Ok(figures(400.0))), row(3, Ok(figures(100.0))), row(5, failed)]
    }

    #[test]
    fn a_report_fits_its_columns_and_has_every_figure_and_bars_by_their_share() {
        for lang in [Lang::En, Lang::Zh] {
            let made = Report::new(&rows(), Series::WORK, lang);
            for columns in [56, 72, 118] {
                let lines: Vec<String> =
                    report(&made, columns, Theme::default()).iter().map(ToString::to_string).collect();
                assert!(lines.iter().all(|line| text::width(line) <= columns), "{columns}: {lines:#?}");
                let all = lines.join("\n");
                for cell in made.table.iter().flatten() {
                    assert!(all.contains(cell), "{cell} is missing in {columns} columns:\n{all}");
                }
                assert!(all.contains("no server") || all.contains("没有服务器"), "{all}");
                let bars: Vec<usize> =
                    lines.iter().map(|line| line.matches('█').count()).filter(|cells| *cells > 0).collect();
                assert!(bars.len() == 6 && bars[1] == bars[0].div_ceil(4), "{bars:?}");
            }
        }
    }

    #[test]
    fn a_failed_measurement_shows_only_the_reason() {
        let measurement = Measurement::new(Err(Text::new("no servers here", "这里没有服务器")));
        let keys = KeyMap::default();
        let context = Context { theme: Theme::default(), lang: Lang::En, keys: &keys };
        let page = page(&measurement, context, 72);
        assert_eq!(page.lines.iter().map(ToString::to_string).collect::<Vec<_>>(), ["no servers here"]);
    }
}
