//! A lesson's variants as the cells of a table.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    Lesson, Scenario,
    error::{Mistake, MistakeSpan, Path},
    plan::lints::Answer,
};
use crate::text::{Text, both};

/// The variants as the cells of a table. Each variant is named after its row and its column: `ROW-COLUMN`.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Table {
    /// The titles of the rows, by the prefix of their variants' names.
    pub rows: IndexMap<String, Text>,
    /// The titles of the columns, by the suffix of their variants' names.
    pub columns: IndexMap<String, Text>,
    /// The figure in each cell, in milliseconds: an expression over the run as in claims, such as `waited('B')`.
    pub figure: String,
    /// Explains the cells and the figure.
    pub legend: Text,
}

impl Table {
    /// The variant of a cell, if there is one.
    pub fn variant(&self, lesson: &Lesson, row: &str, column: &str) -> Option<usize> {
        lesson.variants.get_index_of(&format!("{row}-{column}"))
    }
}

/// Checks that every variant has a cell, and that every run can have a figure.
pub(crate) fn check(lesson: &Lesson, scenarios: &[Scenario]) -> Result<(), Mistake> {
    let Some(table) = &lesson.table else { return Ok(()) };
    let path = Path::root().key("table");
    let cells = |name: &String| {
        let columns = table.columns.keys().map(move |column| (name, column));
        columns.map(|(row, column)| format!("{row}-{column}")).collect::<Vec<_>>()
    };
    let cells: Vec<String> = table.rows.keys().flat_map(cells).collect();
    if let Some(name) = lesson.variants.keys().find(|name| !cells.contains(name)) {
        let message = both!(
            "the variant `{name}` has no cell: its name is no `ROW-COLUMN` of this table",
            "方案 `{name}` 不在表里：它的名字不是这张表的“行-列”"
        );
        return Err(Mistake::new(&path, message));
    }
    let used = |row: &str, column: &str| lesson.variants.contains_key(&format!("{row}-{column}"));
    let idle_row = table.rows.keys().find(|row| !table.columns.keys().any(|column| used(row, column)));
    let idle_column = table.columns.keys().find(|column| !table.rows.keys().any(|row| used(row, column)));
    for (field, name) in [("rows", idle_row), ("columns", idle_column)] {
        let Some(name) = name else { continue };
        let message = both!("no variant stands in `{name}`", "没有方案属于 `{name}`");
        let mistake = Mistake::new(&path.key(field).key(name), message).help(both!(
            "the names of variants are `ROW-COLUMN`: leave `{name}` out, or write a variant for it",
            "方案名是“行-列”：请去掉 `{name}`，或者为它写一个方案"
        ));
        return Err(Mistake { span: MistakeSpan::Key, ..mistake });
    }
    if let Some((figure, filter)) = table.figure.rsplit_once('|')
        && filter.trim().starts_with("duration")
    {
        let message = both!(
            "a figure is a number, and `{filter}` gives a text",
            "figure 应是数字，而 `{filter}` 得到的是文字"
        );
        return Err(Mistake::new(&path.key("figure"), message)
            .help(both!("write `{figure}`: it is shown as a duration", "请写 `{figure}`：它会显示成时长")));
    }
    for scenario in scenarios {
        if let Err(error) = scenario.expression(&table.figure) {
            return Err(Mistake { help: error.help, ..Mistake::new(&path.key("figure"), error.message) });
        }
        let reply = table.figure.rsplit_once('.').and_then(|(who, label)| {
            let plan = scenario.actor_named(who)?;
            plan.program.answer_of(label)
        });
        if reply.is_some_and(|answer| answer != Answer::Number) {
            let figure = &table.figure;
            let message = both!(
                "a figure is a number of milliseconds, and `{figure}` answers none",
                "figure 应是毫秒数，而 `{figure}` 的回复不是数字"
            );
            return Err(Mistake::new(&path.key("figure"), message)
                .help(both!("such as `waited('B')`", "例如 `waited('B')`")));
        }
    }
    Ok(())
}
