//! How a lesson is opened, and announced to the teacher's notes and the class.

use super::{App, Lesson, Mode};
use crate::{
    lesson::plan::listing::Listing,
    run::{LessonChoice, Runs},
    ui::state::{
        catalogue::CatalogueVariant,
        learning::Learning,
        playing::{Playing, Script},
    },
};

impl<R: Runs> App<R> {
    pub(crate) fn choice(&self, entry: usize, variant: usize) -> Option<LessonChoice> {
        let lesson = self.catalogue.entries.get(entry)?;
        let variant = lesson.variants.get(variant).filter(|_| lesson.broken.is_none())?;
        Some(LessonChoice { id: lesson.lesson.id.clone(), variant: variant.name.clone() })
    }

    pub(crate) fn listings(&self, entry: usize, variant: usize) -> Vec<Listing> {
        let variant = self.catalogue.entries.get(entry).and_then(|entry| entry.variants.get(variant));
        variant.map_or_else(Vec::new, CatalogueVariant::listings)
    }

    pub(crate) fn open(&mut self, entry: usize, variant: usize) {
        let Some(choice) = self.choice(entry, variant) else { return };
        if let Some(interview) = &mut self.interview {
            interview.in_lesson = true;
        }
        self.keep_current_run();
        self.give_up_ballot();
        // The old lab is shut down first, because two labs at once compete for the machine.
        self.mode = Mode::Browsing;
        let session = self.runs.open(&choice);
        self.keep(|progress| {
            progress.last.insert(choice.id.clone(), choice.variant.clone());
        });
        self.announce(entry, variant, &choice);
        self.selected = entry;
        self.leave_catalogue();
        let mut run = Learning::new(choice, session, self.speed, self.questions);
        run.playback.reduced_motion = self.reduced_motion;
        run.playback.follow_programs(self.listings(entry, variant));
        run.catch_up(self.lang);
        if self.runs.begin_free() {
            run.leave_story();
        }
        self.mode = Mode::Learning(Box::new(Lesson::new(entry, variant, run)));
        self.adapt();
    }

    pub(crate) fn announce(&mut self, entry: usize, variant: usize, choice: &LessonChoice) {
        if !self.announcer.is_there() && self.class.is_none() {
            return;
        }
        let Some(entry) = self.catalogue.entries.get(entry) else { return };
        let Some(variant) = entry.variants.get(variant) else { return };
        let titles = (entry.lesson.title.clone(), variant.title.clone());
        let (notes, lines) = self.runs.script(choice);
        let script = Script { notes, lines };
        let playing = Playing::new((&choice.id, &choice.variant), titles, script, self.moment.0);
        if let Some(class) = &mut self.class {
            class.playing = Some(playing.clone());
        }
        self.announcer.announce(Some(playing));
    }

    /// Publishes the current step for the teacher's notes.
    pub(super) fn publish_step(&mut self) {
        match &self.mode {
            Mode::Learning(lesson) => self.announcer.step(lesson.run.playback.completed_steps()),
            _ if self.announcer.is_empty() => {}
            _ => self.announcer.announce(None),
        }
    }
}
