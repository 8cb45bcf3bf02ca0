//! What the catalogue shows from recordings: previews, fingerprints, and the figures of tables.

use std::time::Instant;

use super::{App, Mode};
use crate::{
    lesson::Expect,
    run::{LessonChoice, Runs},
    ui::state::{catalogue::CatalogueVariant, preview::Preview},
};

impl<R: Runs> App<R> {
    /// In the catalogue, loads the preview of the selected lesson's failure from its recording.
    pub(super) fn update_preview(&mut self, now: Instant) {
        if !matches!(self.mode, Mode::Browsing) {
            (self.preview, self.previewed) = (None, None);
            return;
        }
        let choice = self.failure_of(self.selected);
        if self.previewed != choice {
            let log = choice.as_ref().and_then(|choice| self.runs.recorded(choice));
            self.preview = log.map(|log| Preview::new(log, self.reduced_motion, now));
            self.previewed = choice;
            self.load_figures();
        }
        // One fingerprint at a time, while nobody types.
        if self.fingerprint_due().is_some_and(|due| now >= due) {
            let choice = self.failure_of(self.fingerprints.made.len());
            let log = choice.and_then(|choice| self.runs.recorded(&choice));
            self.fingerprints.add(log.as_ref(), now);
        }
    }

    /// Loads the figures of the selected lesson's table from the recordings, once.
    fn load_figures(&mut self) {
        let count = match self.catalogue.entries.get(self.selected) {
            Some(entry) if entry.table.as_ref().is_some_and(|table| table.figures.is_empty()) => {
                entry.variants.len()
            }
            _ => return,
        };
        let choices = (0..count).map(|variant| self.choice(self.selected, variant));
        let figures = choices.map(|choice| self.runs.figure(&choice?)).collect();
        if let Some(table) = &mut self.catalogue.entries[self.selected].table {
            table.figures = figures;
        }
    }

    /// When the next fingerprint is due; `None` while the interview covers the catalogue.
    pub(super) fn fingerprint_due(&self) -> Option<Instant> {
        self.fingerprints.due(self.catalogue.entries.len()).filter(|_| self.interviewing().is_none())
    }

    /// The first variant of a lesson that shows a failure.
    fn failure_of(&self, entry: usize) -> Option<LessonChoice> {
        let fails = |variant: &CatalogueVariant| variant.expect == Expect::Shown;
        let variant = self.catalogue.entries.get(entry)?.variants.iter().position(fails)?;
        self.choice(entry, variant)
    }
}
