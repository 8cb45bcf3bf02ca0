//! The names of filters and tests, so that one that does not exist is a mistake when a lesson is read and not a text
//! that is shown as it was written.

use super::tokens::brief;

/// The names of filters and tests that there are.
pub(crate) struct Known<'k> {
    pub filters: &'k [&'k str],
    pub tests: &'k [&'k str],
}

impl Known<'_> {
    /// Whether there is this filter.
    ///
    /// # Errors
    /// There is none; with the one that may have been meant.
    pub(crate) fn filter(&self, name: &str) -> Result<(), String> {
        let some = "such as `duration`, `length`, `int`, `first` and `join` there are";
        check("filter", name, self.filters, some)
    }

    /// Whether there is this test.
    ///
    /// # Errors
    /// There is none; with the one that may have been meant.
    pub(crate) fn test(&self, name: &str) -> Result<(), String> {
        let some = "such as `defined`, `none`, `number` and `string` there are";
        check("test", name, self.tests, some)
    }
}

fn check(what: &str, name: &str, known: &[&str], some: &str) -> Result<(), String> {
    if known.contains(&name) {
        return Ok(());
    }
    let near = known
        .iter()
        .map(|known| (strsim::jaro_winkler(known, name), known))
        .filter(|(likeness, _)| *likeness > 0.8)
        .max_by(|a, b| a.0.total_cmp(&b.0));
    let help = near.map_or_else(|| some.to_owned(), |(_, near)| format!("did you mean `{near}`?"));
    Err(format!("there is no {what} `{}`; {help}", brief(name)))
}
