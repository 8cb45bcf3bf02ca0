//! The lessons as the screens need them: texts and names, no programs.

use std::{
    ops::Deref,
    sync::{Arc, LazyLock},
};

use crate::{
    lesson::{
        Card, Expect, LabKind, Lesson, Scenario, Track,
        plan::listing::{Listing, listings},
    },
    text::Text,
};

/// Every lesson, in the order in which they are listed: by track.
#[derive(Debug, Clone, Default)]
pub struct Catalogue {
    pub entries: Vec<CatalogueEntry>,
}

#[derive(Debug, Clone)]
pub struct CatalogueEntry {
    /// Its name on the command line.
    pub id: String,
    pub track: Track,
    pub title: Text,
    pub summary: Text,
    pub intro: Text,
    pub minutes: u32,
    /// Whether interviewers like to ask about it.
    pub starred: bool,
    /// The servers that it runs on, where a variant has none of its own.
    pub lab: LabKind,
    /// The ways to do it, the failure first.
    pub variants: Vec<CatalogueVariant>,
    /// The variants as the cells of a table.
    pub table: Option<Grid>,
    pub interview: Vec<Card>,
    /// The variant that shows each of these answers, if its card says so.
    pub proofs: Vec<Option<usize>>,
    /// Whether everything that its servers need is installed here.
    pub served: bool,
    /// Whether it plays from a recording, because its servers are not here or nobody wants them.
    pub recorded: bool,
    /// What is wrong with the lesson's file; such a lesson can be read about and not opened.
    pub broken: Option<String>,
}

/// Rows and columns of variants, by their places.
#[derive(Debug, Clone)]
pub struct Grid {
    pub columns: Vec<Text>,
    pub rows: Vec<(Text, Vec<Option<usize>>)>,
    pub legend: Text,
    /// What each variant's recording says, in milliseconds; empty before they were looked at.
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

    /// All variants of the column that a variant stands in.
    pub fn column(&self, variant: usize) -> Option<Vec<usize>> {
        let place = |row: &Vec<Option<usize>>| row.iter().position(|cell| *cell == Some(variant));
        let column = self.rows.iter().find_map(|(_, cells)| place(cells))?;
        Some(self.rows.iter().filter_map(|(_, cells)| *cells.get(column)?).collect())
    }
}

/// The step of a variant that shows what an answer says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Proof {
    pub variant: usize,
    /// The place in its story; its end, where none is named.
    pub item: Option<usize>,
}

#[derive(Debug, Clone)]
pub struct CatalogueVariant {
    /// Its name on the command line.
    pub name: String,
    pub title: Text,
    pub expect: Expect,
    /// The variant whose failure it prevents, all else being equal.
    pub fixes: Option<usize>,
    pub lab: LabKind,
    pub lesson: Text,
    pub plan: LazyPlan,
}

/// A variant's plan, made when somebody first asks: planning every lesson would keep the first picture waiting.
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
    /// How many steps its story has.
    pub steps: usize,
    /// What its clients run; none where the lesson has not been planned.
    pub scenario: Option<Arc<Scenario>>,
    /// What must never be so, for free play; none where the lesson has not been planned.
    pub invariants: Vec<CatalogueInvariant>,
    /// The places in its story that the lesson's cards name, one for each card.
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
    /// What is broken when it is so.
    pub says: Text,
    /// What it challenges to in free play.
    pub goal: Text,
}

impl Catalogue {
    pub fn new(mut entries: Vec<CatalogueEntry>) -> Self {
        entries.sort_by_key(|entry| entry.track);
        Self { entries }
    }

    /// The place of a lesson and of one of its variants: the first, where none is named.
    pub fn find(&self, id: &str, variant: Option<&str>) -> Option<(usize, usize)> {
        let entry = self.entries.iter().position(|entry| entry.id == id)?;
        let variants = &self.entries[entry].variants;
        let place = |name: &str| variants.iter().position(|variant| variant.name == name);
        Some((entry, variant.map_or(Some(0), place)?))
    }

    /// What comes after a variant or before it: behind a lesson's last one the next lesson, behind the last the first.
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

    /// The variant of a lesson that comes after one, or before it; behind the last comes the first.
    pub fn neighbour(&self, entry: usize, variant: usize, next: bool) -> usize {
        let count = self.entries.get(entry).map_or(1, |entry| entry.variants.len().max(1));
        let by = if next { 1 } else { count - 1 };
        (variant + by) % count
    }
}

impl From<&Lesson> for CatalogueEntry {
    fn from(lesson: &Lesson) -> Self {
        let variants = lesson.variants.iter().map(|(name, variant)| CatalogueVariant {
            name: name.clone(),
            title: variant.title.clone(),
            expect: variant.expect,
            fixes: variant.fixes.as_ref().and_then(|name| lesson.variants.get_index_of(name)),
            lab: lesson.lab_of(variant),
            lesson: variant.lesson.clone(),
            plan: VariantPlan {
                steps: variant.story.as_ref().unwrap_or(&lesson.story).len(),
                ..VariantPlan::default()
            }
            .into(),
        });
        let shown = |card: &Card| lesson.variants.get_index_of(&card.shown.as_ref()?.variant);
        Self {
            id: lesson.id.clone(),
            track: lesson.track,
            title: lesson.title.clone(),
            summary: lesson.summary.clone(),
            intro: lesson.intro.clone(),
            minutes: lesson.minutes,
            starred: lesson.starred,
            lab: lesson.lab,
            variants: variants.collect(),
            table: Grid::of(lesson),
            interview: lesson.interview.clone(),
            proofs: lesson.interview.iter().map(shown).collect(),
            served: true,
            recorded: false,
            broken: None,
        }
    }
}

impl CatalogueVariant {
    /// What its clients run.
    pub fn listings(&self) -> Vec<Listing> {
        self.plan.scenario.as_deref().map_or_else(Vec::new, listings)
    }
}

impl CatalogueEntry {
    /// Where the answer of a card is shown, if the card says so.
    pub fn proof(&self, card: usize) -> Option<Proof> {
        let variant = self.proofs.get(card).copied().flatten()?;
        let shown = self.variants.get(variant).and_then(|variant| variant.plan.shown.get(card));
        Some(Proof { variant, item: shown.copied().flatten() })
    }

    /// The servers that its variants run on, each kind once: the lesson's own first.
    pub fn labs(&self) -> Vec<LabKind> {
        let mut labs = vec![self.lab];
        for variant in &self.variants {
            if !labs.contains(&variant.lab) {
                labs.push(variant.lab);
            }
        }
        labs
    }

    /// The entry of a lesson whose file cannot be read: its name and what is wrong with it.
    pub fn broken(id: &str, error: &str) -> Self {
        Self {
            id: id.to_owned(),
            track: Track::Basics,
            title: id.into(),
            summary: Text::default(),
            intro: Text::default(),
            minutes: 0,
            starred: false,
            lab: LabKind::Redis,
            variants: Vec::new(),
            table: None,
            interview: Vec::new(),
            proofs: Vec::new(),
            served: false,
            recorded: false,
            broken: Some(error.to_owned()),
        }
    }
}
