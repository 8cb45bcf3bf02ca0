//! The comparison of two variants of a lesson: their choice, their runs, and one playhead for both.
//!
//! **Architecture Invariant:** one run at a time, because two labs at once compete for the machine. A finished run is
//! kept until the learner asks for fresh ones.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use super::{
    catalogue::CatalogueEntry,
    screen::{ComparePhase, CompareSide, Failure},
};
use crate::{
    lesson::Expect,
    log::{EventKind, Log, Stop},
    run::{
        LessonChoice, Runs,
        session::{Session, SessionCommand, Update},
    },
    ui::chart::Pair,
    verdict::{
        Verdict,
        compare::{Difference, Timeline, first_difference},
    },
    world::World,
};

/// How long each step is shown while the comparison plays, at normal speed.
const STEP: Duration = Duration::from_millis(1100);

/// What the choice of variants depends on.
#[derive(Debug)]
struct Variant {
    name: String,
    expect: Expect,
    /// The variant whose failure it fixes, if the lesson says so.
    fixes: Option<usize>,
}

#[derive(Debug, Default)]
struct Run {
    log: Log,
    session: Option<Session>,
    ending: Option<Result<Verdict, Failure>>,
}

impl Run {
    fn end(&mut self, ending: Result<Verdict, Failure>) {
        self.session = None;
        self.ending = Some(ending);
    }
}

#[derive(Debug)]
pub struct Comparing {
    id: String,
    variants: Vec<Variant>,
    pub(crate) sides: [usize; 2],
    runs: BTreeMap<usize, Run>,
    /// The finished runs of both sides on one axis, with their worlds at the playhead.
    pub(crate) joint: ComparedRuns,
    /// The number of columns of the time axis.
    room: u16,
    /// When the next step is due; `None` while paused.
    pub(crate) next: Option<Instant>,
    pub(crate) speed: f64,
}

#[derive(Debug, Default)]
pub(crate) struct ComparedRuns {
    timeline: Timeline,
    pub(crate) pair: Pair,
    pub(crate) difference: Option<Difference>,
    /// The index of the timeline's stop at the playhead.
    at: usize,
    worlds: [World; 2],
}

/// The two variants to compare by default: the one being played and the one that it fixes or that fixes it; otherwise
/// the first fix of another variant. If no variant names a failure that it fixes, the first one that prevents it is
/// used. In a table, both variants are in one column. `None` if there is only one variant.
pub fn sides(entry: &CatalogueEntry, playing: Option<usize>) -> Option<[usize; 2]> {
    let is = |n: usize, expect: Expect| entry.variants.get(n).is_some_and(|variant| variant.expect == expect);
    let fixes = |n: usize| entry.variants.get(n).and_then(|variant| variant.fixes);
    let all = 0..entry.variants.len();
    let one = playing.or_else(|| all.clone().find(|n| is(*n, Expect::Shown))).unwrap_or(0);
    let column = entry.table.as_ref().and_then(|table| table.column(one));
    let comparable: Vec<usize> =
        all.filter(|n| column.as_ref().is_none_or(|column| column.contains(n))).collect();
    let first = |wanted: &dyn Fn(usize) -> bool| comparable.iter().copied().find(|n| wanted(*n));
    let playing = playing.filter(|n| *n < entry.variants.len());
    let failing = playing.filter(|n| is(*n, Expect::Shown));
    let before = failing.or_else(|| first(&|n| is(n, Expect::Shown))).unwrap_or(one);
    let after = playing
        .filter(|n| is(*n, Expect::Prevented))
        .or_else(|| first(&|n| failing.is_some() && fixes(n) == failing))
        .or_else(|| first(&|n| fixes(n).is_some()))
        .or_else(|| first(&|n| is(n, Expect::Prevented)))
        .or_else(|| playing.filter(|n| *n != before))
        .or_else(|| first(&|n| n != before))?;
    let before = failing.or_else(|| fixes(after)).unwrap_or(before);
    let before = if before == after { first(&|n| n != after)? } else { before };
    Some([before, after])
}

impl Comparing {
    /// A comparison of two variants of a lesson. `known` is a finished run of one of them.
    pub fn new(
        entry: &CatalogueEntry,
        sides: [usize; 2],
        known: Option<(usize, Log, Verdict)>,
        speed: f64,
        runs: &impl Runs,
    ) -> Self {
        let mut comparing = Self {
            id: entry.lesson.id.clone(),
            variants: (entry.variants.iter())
                .map(|variant| Variant {
                    name: variant.name.clone(),
                    expect: variant.expect,
                    fixes: variant.fixes,
                })
                .collect(),
            sides,
            runs: BTreeMap::new(),
            joint: ComparedRuns::default(),
            room: 0,
            next: None,
            speed,
        };
        if let Some((variant, log, verdict)) = known {
            comparing.runs.insert(variant, Run { log, session: None, ending: Some(Ok(verdict)) });
        }
        comparing.advance(runs);
        comparing
    }

    pub fn session(&mut self) -> Option<&mut Session> {
        self.runs.values_mut().find_map(|run| run.session.as_mut())
    }

    /// Ends runs that are no longer shown, starts the next missing one, and joins the finished ones.
    fn advance(&mut self, runs: &impl Runs) {
        for (variant, run) in &mut self.runs {
            if !self.sides.contains(variant) && run.ending.is_none() {
                run.session = None;
            }
        }
        self.runs.retain(|_, run| run.session.is_some() || run.ending.is_some());
        self.join();
        if self.session().is_some() {
            return;
        }
        let missing = self.sides.into_iter().find(|side| !self.runs.contains_key(side));
        if let Some(variant) = missing {
            let choice = LessonChoice {
                id: self.id.clone(),
                variant: self.variants.get(variant).map_or_else(String::new, |known| known.name.clone()),
            };
            let session = runs.open(&choice);
            // If the run has already failed, its updates report it.
            let _ = session.commands.send(SessionCommand::Step);
            let run = Run { session: Some(session), ..Run::default() };
            self.runs.insert(variant, run);
        }
    }

    fn over(&self, side: usize) -> Option<&Run> {
        self.runs.get(&self.sides[side]).filter(|run| run.ending.is_some())
    }

    /// Puts the finished sides on one axis, and the playhead at the end.
    fn join(&mut self) {
        let empty = Log::new();
        let over = [self.over(0), self.over(1)];
        let logs = over.map(|run| run.map_or(&empty, |run| &run.log));
        let judged = over.map(|run| matches!(run.and_then(|run| run.ending.as_ref()), Some(Ok(_))));
        let timeline = Timeline::new(logs);
        let mut joint = ComparedRuns {
            pair: Pair::new(logs, &timeline, self.room.into()),
            difference: (judged == [true, true]).then(|| first_difference(logs)).flatten(),
            at: timeline.stops.len().saturating_sub(1),
            timeline,
            worlds: Default::default(),
        };
        joint.seek(logs);
        self.joint = joint;
        self.next = None;
    }

    /// Sets the number of columns of the time axis, which decides how much text the lanes have.
    pub fn set_room(&mut self, room: u16) {
        if self.room != room {
            self.room = room;
            let at = self.joint.at;
            self.join();
            self.to(at);
        }
    }

    /// Handles an update of the live run; `None` means that it ended without a report.
    pub fn receive(&mut self, update: Option<Update>, runs: &impl Runs) {
        let Some(run) = self.runs.values_mut().find(|run| run.session.is_some()) else { return };
        match update {
            Some(Update::Events(events)) => run.log.extend(events),
            Some(Update::Stepped { ended: false }) => {
                if let Some(session) = &run.session {
                    // If the run cannot continue, its updates report it.
                    let _ = session.commands.send(SessionCommand::Step);
                }
            }
            // The verdict follows by itself, time is not shown, and the story is never left.
            Some(
                Update::Stepped { ended: true }
                | Update::TimeRuns
                | Update::Outlook(_)
                | Update::Silent(None)
                | Update::Refused(_)
                | Update::Branched { .. },
            ) => {}
            Some(Update::Verdict(verdict)) => run.end(Ok(verdict)),
            // Nobody watches this run, so it does not wait until a stopped process is continued.
            Some(Update::Silent(Some(message))) => run.end(Err(Failure { message, server: true })),
            Some(Update::Failed(failure)) => run.end(Err(failure)),
            None => run.end(Err(Failure::silent())),
        }
        if run.ending.is_some() {
            self.advance(runs);
        }
    }

    /// Changes the variant of a side to the next one with the same expectation: failure or fix. Returns whether there is
    /// one.
    pub fn change(&mut self, side: usize, runs: &impl Runs) -> bool {
        let Some(sides) = changed(&self.variants, self.sides, side) else { return false };
        self.sides = sides;
        self.advance(runs);
        true
    }

    pub fn restart(&mut self, runs: &impl Runs) {
        self.runs.clear();
        self.advance(runs);
    }

    fn to(&mut self, at: usize) {
        let empty = Log::new();
        self.next = None;
        let over = self.sides.map(|side| self.runs.get(&side).filter(|run| run.ending.is_some()));
        let logs = over.map(|run| run.map_or(&empty, |run| &run.log));
        self.joint.at = at.min(self.joint.timeline.stops.len().saturating_sub(1));
        self.joint.seek(logs);
    }

    pub fn step(&mut self, forward: bool) {
        let at = self.joint.at;
        self.to(if forward { at + 1 } else { at.saturating_sub(1) });
    }

    pub fn jump(&mut self, end: bool) {
        self.to(if end { usize::MAX } else { 0 });
    }

    /// Moves the playhead to the first difference: the first stop after each run's move that makes it.
    pub fn to_difference(&mut self) {
        let Some(difference) = &self.joint.difference else { return };
        let made = difference.moves.each_ref().map(|made| made.as_ref().map(|made| made.event));
        let shows = |slots: &usize| {
            let over = self.joint.timeline.positions(*slots);
            made.iter().zip(over).all(|(event, over)| event.is_none_or(|event| event < over))
        };
        let at = self.joint.timeline.stops.iter().position(shows);
        self.to(at.unwrap_or(usize::MAX));
    }

    /// Toggles playing from the playhead, or from the beginning if it is at the end.
    pub fn toggle(&mut self, now: Instant) {
        if self.next.take().is_none() {
            if self.joint.at + 1 >= self.joint.timeline.stops.len() {
                self.to(0);
            }
            self.next = Some(now + STEP.div_f64(self.speed));
        }
    }

    pub fn tick(&mut self, now: Instant) {
        if self.next.is_none_or(|next| now < next) {
            return;
        }
        self.to(self.joint.at + 1);
        let more = self.joint.at + 1 < self.joint.timeline.stops.len();
        self.next = more.then(|| now + STEP.div_f64(self.speed));
    }

    /// Whether the playhead is at the end of both runs.
    pub fn is_at_end(&self) -> bool {
        let (at, last) = self.steps();
        last > 0 && at == last
    }

    /// The step at the playhead and the number of steps.
    pub fn steps(&self) -> (usize, usize) {
        (self.joint.at, self.joint.timeline.stops.len().saturating_sub(1))
    }

    pub fn side(&self, side: usize) -> CompareSide<'_> {
        let run = self.runs.get(&self.sides[side]);
        let phase = match run.map(|run| (&run.ending, &run.session)) {
            None | Some((None, None)) => ComparePhase::Waiting,
            Some((None, Some(_))) => {
                let log = run.map_or(&[][..], |run| run.log.events());
                let step = log.iter().rev().find_map(|event| match event.kind {
                    EventKind::Stop { item, .. } => Some(item + 1),
                    _ => None,
                });
                ComparePhase::Running { booting: log.is_empty(), step: step.unwrap_or(0) }
            }
            Some((Some(Ok(verdict)), _)) => ComparePhase::Judged(verdict),
            Some((Some(Err(failure)), _)) => ComparePhase::Failed(failure),
        };
        CompareSide {
            variant: self.sides[side],
            log: self.over(side).map(|run| &run.log),
            world: &self.joint.worlds[side],
            phase,
        }
    }
}

/// The sides with the next variant of the same expectation on one of them. Another failure is compared with its own fix,
/// if the lesson names one.
fn changed(variants: &[Variant], sides: [usize; 2], side: usize) -> Option<[usize; 2]> {
    let expect = |n: usize| variants.get(n).map(|variant| variant.expect);
    let (now, other, count) = (sides[side], sides[1 - side], variants.len());
    let mut after = (1..count).map(|n| (now + n) % count).filter(|n| *n != other);
    let next = after.find(|n| expect(*n) == expect(now))?;
    if side == 1 {
        return Some([other, next]);
    }
    let fixes = |n: &usize| variants[*n].fixes == Some(next);
    let fix = if fixes(&other) { None } else { (0..count).find(fixes) };
    Some([next, fix.unwrap_or(other)])
}

impl ComparedRuns {
    /// The playhead, as a number of slots of the timeline.
    pub(crate) fn slots(&self) -> usize {
        self.timeline.stops.get(self.at).copied().unwrap_or_default()
    }

    fn seek(&mut self, logs: [&Log; 2]) {
        let positions = self.timeline.positions(self.slots());
        for ((world, log), position) in self.worlds.iter_mut().zip(logs).zip(positions) {
            world.seek(log, before_narration(log, position));
        }
    }
}

/// The position at the end of the last step that moved something: nobody narrates here, and what was wrong in that step
/// is still shown.
fn before_narration(log: &Log, position: usize) -> usize {
    let narrates = |kind: &EventKind| {
        matches!(
            kind,
            EventKind::Say { .. } | EventKind::Asked { .. } | EventKind::Stop { stop: Stop::Narration, .. }
        )
    };
    let last = log.events()[..position].iter().rposition(|event| !narrates(&event.kind));
    last.map_or(position, |last| last + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_failure_comes_with_its_own_fix_and_another_fix_alone() {
        let variant = |expect, fixes| Variant { name: String::new(), expect, fixes };
        let variants = [
            variant(Expect::Shown, None),
            variant(Expect::Prevented, Some(0)),
            variant(Expect::Shown, None),
            variant(Expect::Prevented, Some(2)),
            variant(Expect::Prevented, Some(2)),
        ];
        assert_eq!(changed(&variants, [0, 1], 0), Some([2, 3]));
        assert_eq!(changed(&variants, [0, 4], 0), Some([2, 4]), "it fixes this one, too");
        assert_eq!(changed(&variants, [2, 3], 1), Some([2, 4]));
        assert_eq!(changed(&variants, [2, 4], 1), Some([2, 1]));
        assert_eq!(changed(&variants[..2], [0, 1], 0), None);
        let unnamed = [0, 1, 0].map(|n| variant([Expect::Shown, Expect::Prevented][n], None));
        assert_eq!(changed(&unnamed, [0, 1], 0), Some([2, 1]), "the fix stays if the lesson names none");
    }
}
