//! A lesson's variants as the cells of a table.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    Lesson, Scenario,
    error::{Mistake, Path},
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
    for scenario in scenarios {
        if let Err(error) = scenario.expression(&table.figure) {
            return Err(Mistake::new(&path.key("figure"), error.message));
        }
    }
    Ok(())
}
