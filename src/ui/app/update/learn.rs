//! The learner's actions in a lesson and in its panes.

use std::time::Instant;

use super::{App, MOST_ROWS, Mode, PAGE, ROWS, next_speed, scrolled};
use crate::{
    log::EventKind,
    run::Runs,
    ui::{
        keys::{Action, Pane},
        state::{
            outcomes::ExplorationOptions,
            predicting::Answer,
            screen::{DiagramKind, Form, Scrolls},
        },
        view::{Notice, Screen},
    },
};

impl<R: Runs> App<R> {
    /// Saves the run to a file, if the learner chose something in it.
    fn save(&mut self) {
        let Mode::Learning(lesson) = &mut self.mode else { return };
        let log = lesson.run.playback.log();
        if lesson.run.free.is_none() || log.is_empty() {
            return;
        }
        self.notice = Some(match self.runs.save(&lesson.run.choice, log) {
            Ok(file) => {
                lesson.kept = log.len();
                Notice::Saved(file)
            }
            Err(why) => Notice::NotSaved(why),
        });
    }

    /// Records the run that is left, where recording was requested: the run on the screen, or the lesson behind its
    /// races.
    pub(crate) fn record_run(&mut self) {
        let lesson = match &self.mode {
            Mode::Learning(lesson) => lesson.of_its_own(),
            Mode::Outcomes(screen) => screen.back.as_deref(),
            Mode::Comparing(comparison) => comparison.back.as_deref(),
            Mode::Browsing | Mode::Ending => None,
        };
        let log = lesson.map(|lesson| lesson.run.playback.log()).filter(|log| !log.is_empty());
        if let Some(recorded) = log.and_then(|log| self.runs.record(log)) {
            self.notice = Some(recorded.map_or_else(Notice::NotSaved, Notice::Recorded));
        }
    }

    /// What leaving or restarting would lose.
    pub(crate) fn would_lose(&self, action: Action) -> Option<Notice> {
        let Mode::Learning(lesson) = &self.mode else { return None };
        if lesson.selected.is_some()
            || lesson.single.is_some()
            || self.interviewing().is_some()
            || self.runs.records()
        {
            return None;
        }
        if self.is_run_unsaved() {
            return Some(Notice::RunIsLost(action));
        }
        lesson.branches.others_unsaved().then_some(Notice::BranchIsLost(action))
    }

    /// Whether the run on the screen cannot be reproduced, because it has choices for the learner's own programs, and is
    /// in no file.
    pub(crate) fn is_run_unsaved(&self) -> bool {
        let Mode::Learning(lesson) = &self.mode else { return false };
        let log = lesson.run.playback.log();
        let chosen = || log.events().iter().any(|event| matches!(event.kind, EventKind::Chose(_)));
        self.runs.begin_free() && log.len() > lesson.kept && chosen()
    }

    fn give_rows(&mut self, more: i16) {
        let rows = (self.rows + more).clamp(-MOST_ROWS, MOST_ROWS);
        self.rows = rows;
        self.keep(|progress| progress.screen.rows = rows);
    }

    /// Toggles between the programs and the wire. Beside a verdict, the programs are shown only while they have the
    /// focus.
    fn toggle_program(&mut self) {
        let Mode::Learning(lesson) = &mut self.mode else { return };
        if lesson.run.shows_verdict() {
            lesson.focus = if lesson.focus == Pane::Program { Pane::Story } else { Pane::Program };
            return;
        }
        self.program = !self.program;
        lesson.focus = match lesson.focus {
            Pane::Wire if self.program => Pane::Program,
            Pane::Program if !self.program => Pane::Story,
            other => other,
        };
        let shown = self.program;
        self.keep(|progress| progress.screen.program = shown);
    }

    pub(crate) fn learn(&mut self, action: Action, now: Instant) {
        let Mode::Learning(lesson) = &mut self.mode else { return };
        let (entry, variant) = (lesson.entry, lesson.variant);
        match action {
            Action::Close if lesson.selected.is_some() => lesson.selected = None,
            Action::Close => self.leave_lesson(),
            // A single run of many is over and has no lab.
            Action::Compare | Action::Restart | Action::Variant(_) | Action::Race | Action::Explore
                if lesson.single.is_some() => {}
            Action::Race => self.race(entry, variant),
            Action::Explore => self.explore(entry, variant, ExplorationOptions::default()),
            // The other run, or the rest of this one, would give the answer away.
            Action::Compare if lesson.run.predictions.asks(&lesson.run.playback) => {
                lesson.run.predictions.nudged = true;
            }
            Action::Compare => self.compare(entry, None),
            Action::Free
            | Action::MoveActor(_)
            | Action::Timer
            | Action::Pass(_)
            | Action::Faults
            | Action::Choose(_)
            | Action::Branches => {
                if action == Action::Free {
                    self.mark_tried("free");
                }
                self.act_in_free_play(action);
            }
            Action::Save => self.save(),
            Action::Restart => self.open(entry, variant),
            Action::Variant(next) => {
                let (entry, variant) = self.catalogue.onward(entry, variant, next);
                self.open(entry, variant);
            }
            Action::Answer(_) | Action::Skip if !lesson.run.can_answer() => {
                self.notice = Some(Notice::NoQuestion);
            }
            Action::Answer(_) | Action::Skip => {
                // The selection would hide the question.
                lesson.selected = None;
                lesson.run.answer(if let Action::Answer(n) = action {
                    Answer::Chosen(n)
                } else {
                    Answer::Skipped
                });
            }
            Action::Focus => lesson.focus = lesson.focus.next(),
            Action::Program => self.toggle_program(),
            Action::Faster(faster) => self.set_speed(next_speed(self.speed, faster), now),
            Action::Crowd if lesson.run.playback.chart().bands.is_empty() => {
                self.notice = Some(Notice::NoCrowd);
            }
            Action::Crowd => {
                lesson.expanded = !lesson.expanded;
                lesson.scrolls.set(Pane::Lanes, None);
            }
            Action::SwitchDiagram => {
                self.diagram = self.diagram.other();
                let sequence = self.diagram == DiagramKind::Sequence;
                self.keep(|progress| progress.screen.sequence = sequence);
            }
            Action::Sideways(right) => self.move_first_client(right),
            Action::Move(by) => match lesson.focus {
                Pane::Lanes | Pane::Wire => self.select(by),
                pane @ (Pane::Story | Pane::Servers | Pane::Program) => self.scroll_pane(pane, by),
            },
            Action::Page(by) => {
                let pane = lesson.focus;
                self.scroll_pane(pane, by * PAGE);
            }
            Action::Rows(more) => self.give_rows(if more { ROWS } else { -ROWS }),
            Action::Zoom => self.form = self.form.toggled(Form::Zoomed),
            Action::Present => self.present(now),
            Action::Mark(next) => match lesson.run.playback.mark(next) {
                Some(position) => {
                    lesson.scrolls = Scrolls::default();
                    lesson.selected = None;
                    lesson.run.seek(position);
                }
                None => self.notice = Some(Notice::NoMark(next)),
            },
            Action::Forward | Action::Open | Action::Back | Action::End(_) | Action::Toggle => {
                // After a step, the panes follow the newest event again.
                lesson.scrolls = Scrolls::default();
                lesson.first_client = None;
                if let Some(event) = lesson.selected.take()
                    && action == Action::Open
                {
                    lesson.run.seek(event + 1);
                    return;
                }
                match action {
                    Action::Back => lesson.run.back(now),
                    Action::End(end) => lesson.run.to(end),
                    Action::Toggle => lesson.run.toggle(now),
                    _ => {
                        lesson.run.forward(now);
                        self.mark_tried("step");
                    }
                }
            }
            // All other actions are handled elsewhere.
            _ => {}
        }
    }

    /// Toggles presentation mode and starts its stopwatch.
    fn present(&mut self, now: Instant) {
        self.form = self.form.toggled(Form::Presenting);
        self.presenting = Some(now);
    }

    /// Toggles the evidence at the verdict. Returns `false` if no verdict is shown.
    pub(crate) fn toggle_proof(&mut self, action: Action) -> bool {
        let Mode::Learning(lesson) = &mut self.mode else { return false };
        let asks = action == Action::Open && lesson.selected.is_none() && lesson.run.shows_verdict();
        if asks {
            lesson.proof = !lesson.proof;
            lesson.scrolls = Scrolls::default();
        }
        asks
    }

    /// Moves the selection of an event; the panes scroll to it again.
    fn select(&mut self, by: i32) {
        let Some(Screen::Lesson(view)) = self.screen() else { return };
        let selected = view.neighbour(by);
        if let Mode::Learning(lesson) = &mut self.mode {
            lesson.selected = selected;
            lesson.first_client = None;
            for pane in [Pane::Lanes, Pane::Wire, Pane::Story] {
                lesson.scrolls.set(pane, None);
            }
        }
    }

    fn move_first_client(&mut self, right: bool) {
        let Some(Screen::Lesson(view)) = self.screen() else { return };
        let by = if right { 1 } else { -1 };
        let reach = view.first_client_reach(self.size);
        let to = scrolled(view.first_client.unwrap_or(0), by, reach);
        if self.diagram == DiagramKind::Timeline || reach == 0 {
            let is_timeline = self.diagram == DiagramKind::Timeline;
            self.notice = Some(if is_timeline { Notice::OnlyInSequence } else { Notice::SequenceFits });
            return;
        }
        if let Mode::Learning(lesson) = &mut self.mode {
            lesson.first_client = Some(to);
        }
    }

    pub(crate) fn scroll_pane(&mut self, pane: Pane, by: i32) {
        let Some(Screen::Lesson(view)) = self.screen() else { return };
        let reach = view.reach(pane, self.size);
        // The wire log and the sequence count from their newest line, so scrolling up increases the position.
        let by = if view.counts_back(pane) { -by } else { by };
        let to = scrolled(view.scrolls.get(pane).unwrap_or(0), by, reach);
        if let Mode::Learning(lesson) = &mut self.mode {
            lesson.scrolls.set(pane, Some(to));
        }
    }
}
