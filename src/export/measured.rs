//! The lock measurement as a page: tables and bars in one file, without a script.

use std::fmt::Write as _;

use super::html::{document::document, escape};
use crate::{
    text::Lang,
    ui::{
        theme::ThemeName,
        words::{MEASURED, Report},
    },
};

const STYLE: &str = "body { max-width: 64rem } .wide { overflow-x: auto } table { border-collapse: collapse; font-size: .95rem } \
    th, td { padding: .2rem .8rem; text-align: right; white-space: nowrap } th { color: var(--chrome); font-weight: 500 } \
    th:first-child, td:first-child { text-align: left; padding-left: 0 } h2 { font-size: 1rem; margin: 1.6rem 0 .4rem } \
    .bar { display: grid; grid-template-columns: 14rem 1fr; gap: 1rem; align-items: center } \
    .bar b { background: var(--accent); height: .9rem; display: inline-block; vertical-align: middle; margin-right: .5rem } \
    .quiet { color: var(--chrome); font-size: .95rem }";

/// A table with a legend.
pub struct Section<'a> {
    pub title: &'a str,
    /// Rows of cells, the first one with the headings.
    pub table: &'a [Vec<String>],
    pub legend: &'a str,
}

/// The report, and the effects of faults on the same locks.
pub fn page(report: &Report, faults: Option<&Section<'_>>, look: (Lang, ThemeName)) -> String {
    let mut body = format!("<p>{}</p>\n", escape(&report.head));
    if !report.table.is_empty() {
        table(&mut body, &report.table, report.legend);
    }
    for chart in &report.charts {
        // Writing to a String cannot fail.
        let _ = writeln!(body, "<h2>{}</h2>", escape(chart.title));
        for bar in &chart.bars {
            // The longest bar leaves room for its figure.
            let (name, wide, value) = (escape(bar.name), bar.share * 80.0, escape(&bar.value));
            let _ = writeln!(
                body,
                "<div class=\"bar\"><span>{name}</span><span><b style=\"width: {wide:.1}%\"></b>{value}</span></div>"
            );
        }
    }
    for remark in &report.remarks {
        let _ = writeln!(body, "<p>{}</p>", escape(remark));
    }
    if let Some(section) = faults {
        let _ = writeln!(body, "<h2>{}</h2>", escape(section.title));
        table(&mut body, section.table, section.legend);
    }
    document(MEASURED.get(look.0), STYLE, &body, look)
}

fn table(body: &mut String, rows: &[Vec<String>], legend: &str) {
    body.push_str("<div class=\"wide\"><table>\n");
    for (n, row) in rows.iter().enumerate() {
        let tag = if n == 0 { "th" } else { "td" };
        body.push_str("<tr>");
        for cell in row {
            let _ = write!(body, "<{tag}>{}</{tag}>", escape(cell));
        }
        body.push_str("</tr>\n");
    }
    let _ = writeln!(body, "</table></div>\n<p class=\"quiet\">{}</p>", escape(legend));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        bench::{LOCKS, Row, Series},
        text::Text,
    };

    #[test]
    fn a_page_shows_the_measurements_and_escapes_markup() {
        let why = Text::new("<script>no server</script>", "<b>没有服务器</b>");
        let row = Row { lock: &LOCKS[0], on: String::new(), figures: Err(why) };
        let report = Report::new(&[row], Series::WORK, Lang::En);
        let faults =
            [vec!["lock".to_owned(), "crash".to_owned()], vec!["Redis".to_owned(), "✓ 6s".to_owned()]];
        let section = Section { title: "faults", table: &faults, legend: "✓ never two" };
        let page = page(&report, Some(&section), (Lang::En, ThemeName::Auto));
        assert!(page.contains("&lt;script&gt;no server") && !page.contains("<script"), "{page}");
        for words in ["<td>✓ 6s</td>", "<th>crash</th>", "8 clients", "not measured"] {
            assert!(page.contains(words), "{words} is missing: {page}");
        }
    }
}
