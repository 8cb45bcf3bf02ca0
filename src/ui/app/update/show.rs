//! Builds the screen from the program's state, and finds the cursor's position. It changes nothing.

use ratatui::{
    buffer::Buffer,
    layout::{Position, Rect},
};

use super::{App, Mode, Single};
use crate::{
    run::Runs,
    ui::{
        state::{catalogue::CatalogueEntry, palette::Listed, screen::Overlay},
        view::{
            self, CatalogueView, CompareView, Context, FreeView, InterviewView, JoiningView, LessonView,
            Notice, OutcomesView, PaletteView, Scene, Screen,
        },
    },
};

impl<R: Runs> App<R> {
    pub(crate) fn context(&self) -> Context<'_> {
        Context { keys: &self.keys, theme: self.theme, lang: self.lang }
    }

    pub(crate) fn screen(&self) -> Option<Screen<'_>> {
        if let Some(interview) = self.interviewing().filter(|_| !matches!(self.mode, Mode::Ending)) {
            return Some(Screen::Interview(InterviewView {
                interview,
                catalogue: &self.catalogue,
                reviews: self.reviews.get(),
                moment: self.moment,
                context: self.context(),
            }));
        }
        match &self.mode {
            Mode::Ending => None,
            Mode::Browsing => Some(Screen::Catalogue(CatalogueView {
                catalogue: &self.catalogue,
                progress: self.progress.get(),
                selected: self.selected,
                focus: self.catalogue_focus,
                search: self.search.as_ref(),
                scroll: self.reading,
                preview: self.preview.as_ref(),
                fingerprints: &self.fingerprints.made,
                context: self.context(),
            })),
            Mode::Comparing(screen) => Some(Screen::Compare(CompareView {
                entry: self.catalogue.entries.get(screen.entry)?,
                sides: [screen.comparing.side(0), screen.comparing.side(1)],
                pair: &screen.comparing.joint.pair,
                difference: screen.comparing.joint.difference.as_ref(),
                slots: screen.comparing.joint.slots(),
                steps: screen.comparing.steps(),
                playing: screen.comparing.next.is_some(),
                lanes: screen.lanes,
                verdicts: screen.verdicts,
                proof: screen.proof,
                context: self.context(),
            })),
            Mode::Outcomes(screen) => Some(Screen::Outcomes(OutcomesView {
                entry: self.catalogue.entries.get(screen.entry)?,
                variant: screen.variant,
                outcomes: &screen.outcomes,
                context: self.context(),
            })),
            Mode::Learning(lesson) => {
                let playback = &lesson.run.playback;
                Some(Screen::Lesson(LessonView {
                    scene: Scene {
                        log: playback.log(),
                        world: playback.world(),
                        chart: playback.chart(),
                        sequence: playback.sequence(),
                        selected: lesson.selected.filter(|event| *event < playback.world().position),
                        display: playback.display(),
                        keys: &self.keys,
                        flight: playback.in_flight(),
                        whole: lesson.run.shows_verdict(),
                        seen: playback.seen(),
                        expanded: lesson.expanded,
                        theme: self.theme,
                        lang: self.lang,
                    },
                    entry: self.catalogue.entries.get(lesson.entry)?,
                    variant: lesson.variant,
                    phase: lesson.run.phase(),
                    motion: lesson.run.motion(),
                    speed: lesson.run.speed,
                    focus: lesson.focus,
                    form: self.form,
                    presented: self.presented(),
                    waited: lesson.run.waited(self.moment.1).map(|waited| waited.as_secs()),
                    scrolls: &lesson.scrolls,
                    diagram: self.diagram,
                    first_client: lesson.first_client,
                    proof: lesson.proof,
                    predictions: &lesson.run.predictions,
                    next: self.next_lesson(lesson.entry, lesson.variant),
                    // Other tips are shown only at the verdict: earlier they would give away answers to the questions.
                    tip: self.progress.get().tip().filter(|tip| *tip == "step" || lesson.run.shows_verdict()),
                    programs: lesson.run.playback.programs(),
                    program: self.program,
                    rows: self.rows,
                    // In free play the learner continues with a run that is no longer the single one.
                    single: lesson
                        .single
                        .as_ref()
                        .filter(|_| lesson.run.free.is_none())
                        .and_then(Single::view),
                    free: lesson.run.free.as_ref().map(|free| FreeView {
                        free,
                        branches: &lesson.branches,
                        branching: lesson.run.is_branching(),
                        live: lesson.run.can_choose(),
                        back: lesson.run.needs_branch(),
                    }),
                    class: self.class.as_deref(),
                }))
            }
        }
    }

    /// The next lesson, if `variant` is the last one of its lesson.
    fn next_lesson(&self, entry: usize, variant: usize) -> Option<&CatalogueEntry> {
        let (next, _) = self.catalogue.onward(entry, variant, true);
        self.catalogue.entries.get(next).filter(|_| next != entry)
    }

    pub fn draw(&self, area: Rect, buf: &mut Buffer) {
        let Some(screen) = self.screen() else { return };
        view::draw(&screen, self.overlay, area, buf);
        if self.overlay == Overlay::Palette {
            self.palette_view(&self.listed()).draw(area, buf);
        }
        if let (Overlay::Joining, Some(class)) = (self.overlay, &self.class) {
            let joined = class.room.as_ref().map(|_| class.tally.joined);
            JoiningView { joining: &class.joining, joined, context: self.context() }.draw(area, buf);
        }
        if let (Overlay::Measured(scroll), Some(measurement)) = (self.overlay, &self.measurement) {
            view::draw_measured(measurement, self.context(), scroll, area, buf);
        }
        let silent = match &self.mode {
            Mode::Learning(lesson) => lesson.run.silent.clone().map(Notice::Silent),
            _ => None,
        };
        if let Some(notice) = silent.as_ref().or(self.notice.as_ref()) {
            view::notice(notice, self.context(), area, buf);
        }
    }

    /// The end of the text being typed, where an input method opens its window.
    pub fn cursor(&self) -> Option<Position> {
        match (self.overlay, self.screen()?) {
            (Overlay::Palette, _) => self.palette_view(&[]).cursor(self.size),
            (Overlay::Nothing, Screen::Catalogue(view)) => view.cursor(self.size),
            _ => None,
        }
    }

    fn palette_view<'a>(&'a self, listed: &'a [Listed]) -> PaletteView<'a> {
        PaletteView { palette: &self.palette, listed, context: self.context() }
    }
}
