//! The lessons as the screens need them: texts and names, without programs.

use std::{
    ops::Deref,
    sync::{Arc, LazyLock},
};

use crate::{
    lesson::{
        Card, Expect, LabKind, Lesson, Scenario,
        plan::listing::{Listing, listings},
    },
    text::Text,
};

/// Every lesson, grouped by track.
#[derive(Debug, Clone, Default)]
pub struct Catalogue {
    pub entries: Vec<CatalogueEntry>,
}

#[derive(Debug, Clone)]
pub struct CatalogueEntry {
    /// The lesson as its author wrote it; if its file is no lesson, one that has nothing but a name.
    pub lesson: Arc<Lesson>,
    /// The lesson's summary and introduction, with the values of its parameters filled in.
    pub summary: Text,
    pub intro: Text,
    /// The variants, the failure first.
    pub variants: Vec<CatalogueVariant>,
    /// The variants as cells of a table.
    pub table: Option<Grid>,
    /// Whether everything that its servers need is installed.
    pub served: bool,
    /// Whether it plays from a recording, because its servers are missing or the user asked for it.
    pub recorded: bool,
    /// What is wrong with the lesson's file. Such a lesson is listed but cannot be opened.
    pub broken: Option<String>,
}

/// A table whose cells are indices of variants.
#[derive(Debug, Clone)]
pub struct Grid {
    pub columns: Vec<Text>,
    pub rows: Vec<(Text, Vec<Option<usize>>)>,
    pub legend: Text,
    /// Each variant's figure according to its recording, in milliseconds; empty until loaded.
    pub figures: Vec<Option<u64>>,
}

impl Grid {
    fn of(lesson: &Lesson) -> Option<Self> {
        let table = lesson.table.as_ref()?;
        let cells =
            |row: &str| table.columns.keys().map(|column| table.variant(lesson, row, column)).collect();
        Some(Self {
            columns: table.columns.values().cloned().collect(),
            rows: table.rows.iter().map(|(row, title)| (title.clone(), cells(row))).collect(),
            legend: table.legend.clone(),
            figures: Vec::new(),
        })
    }

    /// All variants in the column of `variant`.
    pub fn column(&self, variant: usize) -> Option<Vec<usize>> {
        let place = |row: &Vec<Option<usize>>| row.iter().position(|cell| *cell == Some(variant));
        let column = self.rows.iter().find_map(|(_, cells)| place(cells))?;
        Some(self.rows.iter().filter_map(|(_, cells)| *cells.get(column)?).collect())
    }
}

/// The step of a variant that proves an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Proof {
    pub variant: usize,
    /// The index of the step in the story; `None` for its end.
    pub item: Option<usize>,
}

#[derive(Debug, Clone)]
pub struct CatalogueVariant {
    /// The name on the command line.
    pub name: String,
    pub title: Text,
    pub expect: Expect,
    /// The variant whose failure it prevents, all else being equal.
    pub fixes: Option<usize>,
    pub lab: LabKind,
    pub lesson: Text,
    pub plan: LazyPlan,
}

/// A variant's plan, made on first use: planning every lesson at start would delay the first picture.
#[derive(Debug, Clone)]
pub struct LazyPlan(Arc<LazyLock<VariantPlan, Box<dyn FnOnce() -> VariantPlan + Send>>>);

impl LazyPlan {
    pub fn new(make: impl FnOnce() -> VariantPlan + Send + 'static) -> Self {
        Self(Arc::new(LazyLock::new(Box::new(make))))
    }
}

impl From<VariantPlan> for LazyPlan {
    fn from(plan: VariantPlan) -> Self {
        Self::new(|| plan)
    }
}

impl Deref for LazyPlan {
    type Target = VariantPlan;

    fn deref(&self) -> &VariantPlan {
        &self.0
    }
}

#[derive(Debug, Clone, Default)]
pub struct VariantPlan {
    /// The number of steps in the story.
    pub steps: usize,
    /// The programs of its clients; `None` if planning failed.
    pub scenario: Option<Arc<Scenario>>,
    /// The invariants for free play; empty if planning failed.
    pub invariants: Vec<CatalogueInvariant>,
    /// For each card of the lesson, the step of the story that it names.
    pub shown: Vec<Option<usize>>,
}

impl From<Arc<Scenario>> for VariantPlan {
    fn from(scenario: Arc<Scenario>) -> Self {
        let shown = |card: &Card| {
            let shown = card.shown.as_ref().filter(|shown| shown.variant == scenario.variant)?;
            scenario.step_of(shown.at.as_ref()?)
        };
        let invariants = scenario.invariants.iter();
        Self {
            steps: scenario.story.len(),
            invariants: invariants
                .map(|plan| CatalogueInvariant { says: plan.says.clone(), goal: plan.goal.clone() })
                .collect(),
            shown: scenario.loaded.lesson.interview.iter().map(shown).collect(),
            scenario: Some(scenario),
        }
    }
}

#[derive(Debug, Clone)]
pub struct CatalogueInvariant {
    /// The message shown when it is broken.
    pub says: Text,
    /// The goal that it sets in free play.
    pub goal: Text,
}

impl Catalogue {
    pub fn new(mut entries: Vec<CatalogueEntry>) -> Self {
        entries.sort_by_key(|entry| entry.lesson.track);
        Self { entries }
    }

    /// The indices of a lesson and of one of its variants, by name; the first variant if `variant` is `None`.
    pub fn find(&self, id: &str, variant: Option<&str>) -> Option<(usize, usize)> {
        let entry = self.entries.iter().position(|entry| entry.lesson.id == id)?;
        let variants = &self.entries[entry].variants;
        let place = |name: &str| variants.iter().position(|variant| variant.name == name);
        Some((entry, variant.map_or(Some(0), place)?))
    }

    /// The variant after or before a given one. It continues with the next or previous lesson, and wraps around at the
    /// ends.
    pub fn onward(&self, entry: usize, variant: usize, next: bool) -> (usize, usize) {
        let count = |entry: usize| {
            let lesson = self.entries.get(entry).filter(|lesson| lesson.broken.is_none());
            lesson.map_or(0, |lesson| lesson.variants.len())
        };
        match next {
            true if variant + 1 < count(entry) => return (entry, variant + 1),
            false if variant > 0 => return (entry, variant - 1),
            _ => {}
        }
        let all = self.entries.len().max(1);
        let by = if next { 1 } else { all - 1 };
        let mut others = (1..=all).map(|n| (entry + n * by) % all);
        let other = others.find(|other| count(*other) > 0).unwrap_or(entry);
        (other, if next { 0 } else { count(other).saturating_sub(1) })
    }

    /// The next or previous variant of the same lesson, wrapping around.
    pub fn neighbour(&self, entry: usize, variant: usize, next: bool) -> usize {
        let count = self.entries.get(entry).map_or(1, |entry| entry.variants.len().max(1));
        let by = if next { 1 } else { count - 1 };
        (variant + by) % count
    }
}

impl From<&Arc<Lesson>> for CatalogueEntry {
    fn from(lesson: &Arc<Lesson>) -> Self {
        let variants = lesson.variants.iter().map(|(name, variant)| CatalogueVariant {
            name: name.clone(),
            title: variant.title.clone(),
            expect: variant.expects(),
            fixes: variant.fixes.as_ref().and_then(|name| lesson.variants.get_index_of(name)),
            lab: lesson.lab_of(variant),
            lesson: variant.lesson.clone(),
            plan: VariantPlan {
                steps: variant.story.as_ref().unwrap_or(&lesson.story).len(),
                ..VariantPlan::default()
            }
            .into(),
        });
        Self {
            lesson: Arc::clone(lesson),
            summary: lesson.summary.clone(),
            intro: lesson.intro.clone(),
            variants: variants.collect(),
            table: Grid::of(lesson),
            served: true,
            recorded: false,
            broken: None,
        }
    }
}

impl CatalogueVariant {
    /// The programs of its clients.
    pub fn listings(&self) -> Vec<Listing> {
        self.plan.scenario.as_deref().map_or_else(Vec::new, listings)
    }
}

impl CatalogueEntry {
    /// The step that proves the answer of a card, if the card names a variant.
    pub fn proof(&self, card: usize) -> Option<Proof> {
        let shown = self.lesson.interview.get(card)?.shown.as_ref()?;
        let variant = self.variants.iter().position(|variant| variant.name == shown.variant)?;
        Some(Proof { variant, item: self.variants[variant].plan.shown.get(card).copied().flatten() })
    }

    /// The kinds of servers that its variants use, without repetition, the lesson's own first.
    pub fn labs(&self) -> Vec<LabKind> {
        let mut labs = vec![self.lesson.lab];
        for variant in &self.variants {
            if !labs.contains(&variant.lab) {
                labs.push(variant.lab);
            }
        }
        labs
    }

    /// The entry of a lesson whose file cannot be loaded.
    pub fn broken(id: &str, error: &str) -> Self {
        let lesson = Lesson { id: id.to_owned(), title: id.into(), ..Lesson::default() };
        Self { served: false, broken: Some(error.to_owned()), ..Self::from(&Arc::new(lesson)) }
    }
}
