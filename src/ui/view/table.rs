//! A lesson's variants as a table, with the outcomes and figures of those that the learner has finished.

use std::time::Duration;

use super::{paragraph, prelude::*};
use crate::{
    lesson::Expect,
    ui::{
        state::catalogue::{CatalogueVariant, Grid},
        theme::time,
    },
};

/// The minimum space between two columns.
const GAP: usize = 2;

/// Whether the learner has finished a variant.
type Finished<'a> = &'a dyn Fn(&CatalogueVariant) -> bool;

/// Headings, rows, the title of the selected cell, and a legend; and the number of lines before the legend. The cell of
/// an unfinished variant shows only that it exists.
pub(crate) fn lines(
    grid: &Grid,
    (variants, finished): (&[CatalogueVariant], Finished<'_>),
    chosen: Option<usize>,
    columns: usize,
    context: Context<'_>,
) -> (Vec<Line<'static>>, usize) {
    let Context { theme, lang, .. } = context;
    let heads: Vec<&str> = grid.columns.iter().map(|column| column.get(lang)).collect();
    let cells = |gap: usize| -> Vec<usize> {
        heads.iter().map(|head| text::width(head).max("✗ 00.0s".len() - 2) + gap).collect()
    };
    let names = grid.rows.iter().map(|(name, _)| text::width(name.get(lang))).max().unwrap_or(0);
    let mut wide = cells(GAP);
    if names + wide.iter().sum::<usize>() > columns {
        wide = cells(1);
    }
    // Titles for which the cells leave no room stand above them.
    let name = if names > columns.saturating_sub(wide.iter().sum()) { 0 } else { names };
    let mut head = vec![Span::raw(" ".repeat(name))];
    head.extend(heads.iter().zip(&wide).map(|(head, wide)| Span::raw(right_aligned(head, *wide))));
    let mut lines = vec![Line::from(head).style(theme.style(Role::Chrome))];
    for (title, cells) in &grid.rows {
        let title = title.get(lang);
        let mut row = Vec::new();
        if name == 0 {
            lines.extend(paragraph::plain(title, columns, Style::default()));
        } else {
            row.push(Span::raw(text::pad(title, name)));
        }
        row.extend(cells.iter().zip(&wide).map(|(cell, wide)| {
            let Some(n) = *cell else {
                return Span::styled(right_aligned("—", *wide), theme.style(Role::Chrome));
            };
            let is_finished = finished(&variants[n]);
            let figure = grid.figures.get(n).copied().flatten().filter(|_| is_finished);
            let figure = figure.map_or_else(String::new, |ms| time::stretch(Duration::from_millis(ms)));
            let (glyph, role) = match variants[n].expect {
                _ if !is_finished => ("·", Role::Chrome),
                Expect::Shown => (glyphs::CUT, Role::Danger),
                Expect::Prevented => (glyphs::DONE, Role::Good),
            };
            let role = if chosen == Some(n) { Role::Selected } else { role };
            let words = format!("{glyph} {figure}");
            Span::styled(right_aligned(words.trim_end(), *wide), theme.style(role))
        }));
        lines.push(Line::from(row));
    }
    let title = chosen.and_then(|n| variants.get(n)).map(|variant| variant.title.get(lang));
    lines.push(Line::default());
    lines.extend(
        title.into_iter().flat_map(|title| paragraph::plain(title, columns, theme.style(Role::Accent))),
    );
    let before_legend = lines.len();
    lines.extend(paragraph::plain(grid.legend.get(lang), columns, theme.style(Role::Chrome)));
    (lines, before_legend)
}

/// Aligns text at the right edge of a column.
fn right_aligned(words: &str, columns: usize) -> String {
    format!("{}{words}", " ".repeat(columns.saturating_sub(text::width(words))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        lesson::LabKind,
        text::Text,
        ui::{keys::KeyMap, state::catalogue::VariantPlan},
    };

    #[test]
    fn cells_show_outcomes_and_the_selected_one_is_highlighted_and_named() {
        let variant = |name: &str, expect| CatalogueVariant {
            name: name.to_owned(),
            title: Text::new(format!("title of {name}"), format!("{name} 的标题")),
            expect,
            fixes: None,
            lab: LabKind::Redis,
            lesson: Text::default(),
            plan: VariantPlan::default().into(),
        };
        let variants = [variant("a-crash", Expect::Prevented), variant("b-crash", Expect::Shown)];
        let grid = Grid {
            columns: vec![Text::new("crash", "崩溃"), Text::new("failover", "主从切换")],
            rows: vec![
                (Text::new("Redis", "Redis 锁"), vec![Some(0), None]),
                (Text::new("MariaDB", "数据库锁"), vec![Some(1), None]),
            ],
            legend: Text::new("✗ two were inside", "✗ 有过两个人"),
            figures: vec![Some(6030), None],
        };
        let keys = KeyMap::default();
        let context = |lang| Context { theme: Theme::default(), lang, keys: &keys };
        let all = |_: &CatalogueVariant| true;
        let (seen, _) = lines(&grid, (&variants, &all), Some(1), 40, context(Lang::En));
        let words: Vec<String> = seen.iter().map(ToString::to_string).collect();
        let expected = [
            "            crash  failover",
            "Redis      ✓ 6s           —",
            "MariaDB        ✗          —",
            "",
            "title of b-crash",
            "✗ two were inside",
        ];
        let trimmed: Vec<String> =
            words.iter().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
        let wanted: Vec<String> =
            expected.iter().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
        assert_eq!(trimmed, wanted);
        let lit = Theme::default().style(Role::Selected);
        assert!(seen[2].spans[1].style == lit && seen[1].spans[1].style != lit);
        for lang in [Lang::En, Lang::Zh] {
            let (rows, _) = lines(&grid, (&variants, &all), None, 30, context(lang));
            let widths: Vec<usize> = rows[..3].iter().map(Line::width).collect();
            assert!(widths.iter().all(|width| *width == widths[0] && *width <= 30), "{widths:?}");
        }
        // Only a finished variant shows its outcome.
        let one = |variant: &CatalogueVariant| variant.name == "b-crash";
        let (seen, _) = lines(&grid, (&variants, &one), None, 40, context(Lang::En));
        let (first, second) = (seen[1].to_string(), seen[2].to_string());
        assert!(first.contains('·') && !first.contains('✓') && !first.contains("6s"), "{first}");
        assert!(second.contains('✗'), "{second}");
    }
}
