//! The effects of faults on each lock, according to the recordings of a lesson.

use std::{iter, time::Duration};

use serde::Serialize;

use crate::{
    bench::Lock,
    cli::words,
    lesson::{Expect, Params, Scenario, library::carried},
    run::open,
    text::Lang,
    ui::{
        theme::{text, time::stretch},
        view::measured::aligned,
        words::LOCK,
    },
};

/// The lesson that applies the same faults to the same locks.
const LESSON: &str = "which-lock";

/// The effect of a fault on a lock, according to the recording of that run.
#[derive(Debug, Serialize)]
pub(super) struct FaultSeen {
    fault: String,
    variant: String,
    /// Whether two clients were in the critical section at the same time.
    two_inside: bool,
    waited_ms: Option<u64>,
}

/// The effects of faults on a lock, one for each column of the lesson's table that was run.
pub(super) fn of(lock: &Lock) -> Vec<FaultSeen> {
    let Some(loaded) = carried(LESSON) else { return Vec::new() };
    let columns = loaded.lesson.table.iter().flat_map(|table| table.columns.keys());
    let cell = |column: &String| {
        let variant = format!("{}-{column}", lock.id);
        let scenario = Scenario::plan(&loaded, &variant, &Params::new()).ok()?;
        let two_inside = scenario.variant().expects() == Expect::Shown;
        Some(FaultSeen { fault: column.clone(), waited_ms: open::figure(&scenario), two_inside, variant })
    };
    columns.filter_map(cell).collect()
}

/// The same as rows of cells, of which the first has the titles of the columns, and the legend.
pub(super) fn cells(locks: &[&Lock], lang: Lang) -> Option<(Vec<Vec<String>>, String)> {
    let loaded = carried(LESSON)?;
    let table = loaded.lesson.table.as_ref()?;
    let heads = table.columns.values().map(|title| title.get(lang).to_owned());
    let mut rows: Vec<Vec<String>> = vec![iter::once(LOCK.get(lang).to_owned()).chain(heads).collect()];
    rows.extend(locks.iter().map(|lock| {
        let faults = of(lock);
        let cells = table.columns.keys().map(|column| {
            let Some(fault) = faults.iter().find(|fault| fault.fault == *column) else {
                return "—".to_owned();
            };
            let waited = fault.waited_ms.map_or_else(String::new, |ms| stretch(Duration::from_millis(ms)));
            format!("{} {waited}", if fault.two_inside { "✗" } else { "✓" })
        });
        iter::once(lock.title.get(lang).to_owned()).chain(cells).collect()
    }));
    Some((rows, table.legend.get(lang).to_owned()))
}

/// The same as text for a terminal.
pub(super) fn table(locks: &[&Lock], lang: Lang, columns: usize) -> String {
    let Some((rows, legend)) = cells(locks, lang) else { return String::new() };
    let mut lines = vec![words::BENCH_FAULTS.get(lang).to_owned()];
    lines.extend(aligned(&rows));
    lines.extend(text::wrap(&legend, columns));
    lines.join("\n")
}
