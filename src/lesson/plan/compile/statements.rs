//! Checks for values that are filled into SQL statements in the wrong form.

use super::{super::call::PlannedCall, Draft};
use crate::lesson::{
    error::{Path, finding},
    expr::Template,
};

impl Draft<'_> {
    /// Reports a text value that is filled into an SQL statement without quotes.
    pub(super) fn lint_quotes(&mut self, call: &PlannedCall, path: &Path) {
        let Some(statement) = call.operands("TEXT").next() else { return };
        let is_text = |name: &str| {
            ["self", "client", "token"].contains(&name)
                || self.constants.text_of(name).is_some_and(|text| {
                    text.chars().all(char::is_alphanumeric) && text.starts_with(char::is_alphabetic)
                })
        };
        // The statement with each `${…}` that is a text replaced by its name between two marks.
        let marked = statement.filled(|expr| {
            let name = expr.source().trim();
            Some(if is_text(name) { format!("\u{1}{name}\u{1}") } else { "0".to_owned() })
        });
        let mut quote = None;
        for (at, c) in marked.char_indices() {
            match (quote, c) {
                (Some(open), c) if c == open => quote = None,
                (None, '\'' | '"' | '`') => quote = Some(c),
                (None, '\u{1}') => {
                    let before = marked[..at].trim_end();
                    let name: String = marked[at + 1..].chars().take_while(|c| *c != '\u{1}').collect();
                    let is_value = before.ends_with(['=', '<', '>'])
                        || (before.ends_with(['(', ',']) && before.to_ascii_uppercase().contains("VALUES"));
                    if is_value {
                        return self.report(path.mistake(finding!(
                            "`${{{name}}}` is a text, and stands without quotes",
                            "`${{{name}}}` 是文字，却没有引号",
                            "write `'${{{name}}}'`",
                            "请写 `'${{{name}}}'`"
                        )));
                    }
                }
                _ => {}
            }
        }
    }

    /// Reports a timeout of `GET_LOCK` that is no number of seconds: `${wait}s`, or a duration.
    pub(super) fn lint_get_lock(&mut self, call: &PlannedCall, path: &Path) {
        let Some(statement) = call.all_operands().next().map(Template::to_string) else { return };
        let upper = statement.to_ascii_uppercase();
        let asked = upper.match_indices("GET_LOCK(").find_map(|(at, _)| {
            let (arguments, _) = statement[at..].split_once(')')?;
            let (_, timeout) = arguments.rsplit_once(',')?;
            let (name, unit) = timeout.trim().strip_prefix("${")?.split_once('}')?;
            Some((name.to_owned(), unit.to_owned()))
        });
        let Some((name, unit)) = asked else { return };
        if unit.trim().is_empty() {
            if let Ok(seconds) = Template::parse(&format!("${{{name}}}")) {
                self.lint_milliseconds(&seconds, path);
            }
            return;
        }
        self.report(path.mistake(finding!(
            "GET_LOCK waits for seconds, and `${{{name}}}{unit}` is no number",
            "GET_LOCK 的第二个参数是秒数，`${{{name}}}{unit}` 不是数字",
            "write `${{{name}}}`",
            "请写 `${{{name}}}`"
        )));
    }
}
