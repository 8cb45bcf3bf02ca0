//! The run as a JSON document, for other programs.

use serde_json::json;

use super::{Finished, moment::ResolvedMoment};
use crate::log::Steps;

/// Part of every document. It tells that Lockstep wrote the file, and may overwrite it.
pub const MARK: &str = "\n  \"lockstep_export\": 1,\n";
const VERSION: u32 = 1;

/// The document. Before the end of the run it has no verdict.
pub fn document(run: &Finished, moment: ResolvedMoment) -> String {
    let variant = run.variant();
    let steps: Vec<_> = Steps::of(&run.log)
        .all()
        .iter()
        .take_while(|step| step.position <= moment.position)
        .map(|step| json!({"step": step.number, "kind": step.stop, "events": step.position, "at": step.at}))
        .collect();
    let head = json!({
        "lockstep_export": VERSION,
        "lesson": run.entry.lesson.id,
        "title": run.entry.lesson.title,
        "variant": run.variant_name(),
        "variant_title": variant.map(|variant| &variant.title),
        "take_away": variant.map(|variant| &variant.lesson),
        "params": run.params,
        "program": env!("CARGO_PKG_VERSION"),
        "steps": steps,
        "verdict": run.verdict.as_ref().filter(|_| moment.end),
    });
    let mut head = serde_json::to_string_pretty(&head).unwrap_or_default();
    // The events come last, each on a line, so that thousands of them can be read and compared.
    head.truncate(head.strip_suffix("\n}").map_or(head.len(), str::len));
    let events = run.log.events()[..moment.position].iter();
    let lines: Vec<String> =
        events.map(|event| format!("    {}", serde_json::to_string(event).unwrap_or_default())).collect();
    format!("{head},\n  \"events\": [\n{}\n  ]\n}}\n", lines.join(",\n"))
}
