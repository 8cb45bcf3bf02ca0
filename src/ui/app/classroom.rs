//! The connection to a class: what is published to its pages, votes on the next move, remote control, and which runs
//! are kept.

use std::{mem, time::Instant};

use super::{
    App,
    update::{Lesson, Mode},
};
use crate::{
    log::{Choice, EventKind, Fault, Log},
    run::Runs,
    text::{Lang, Text},
    ui::{
        keys::Action,
        state::{
            classroom::{
                Ballot, Class, ClassRun, KeptRun, RunAnswers, count,
                protocol::{
                    Broken, ClassView, Decision, Holder, LockView, Poll, PollKind, Remote, StageRun, Tally,
                    TeacherView,
                },
            },
            free::Free,
            learning::Learning,
            screen::{Overlay, RunPhase},
        },
        view::{self, Notice, Screen},
        words,
    },
    world::World,
};

/// The maximum number of choices in a vote: as many as can be read before it ends.
const MAX_CHOICES: usize = 12;
/// The maximum numbers of locks and of holders per lock that are sent to phones, whose screens are small.
const MAX_LOCKS: usize = 12;
const MAX_HOLDERS: usize = 24;

/// An update from the server of the class's pages.
#[derive(Debug)]
pub enum ClassUpdate {
    Tally(Tally),
    Remote(Remote),
    /// The server of the pages has died.
    Gone,
}

/// Everything the published state depends on: it is rebuilt only when one of these values changes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct PublishKey {
    mode: u8,
    lesson: Option<(usize, usize)>,
    position: usize,
    /// The length of the log, and whether a branch is rebuilding it.
    known: (usize, bool),
    /// Whether the verdict is shown, whether the run is in free play, whether a vote can begin.
    state: (bool, bool, bool),
    /// The poll's number, whether it is closed, whether the answer is known.
    poll: Option<(u64, bool, bool)>,
    stages: usize,
}

impl<R: Runs> App<R> {
    #[must_use]
    pub fn with_class(mut self, class: Class) -> Self {
        self.class = Some(Box::new(class));
        self.notice.get_or_insert(Notice::ClassHere);
        if let Mode::Learning(lesson) = &self.mode {
            let (entry, variant, choice) = (lesson.entry, lesson.variant, lesson.run.choice.clone());
            self.announce(entry, variant, &choice);
        }
        self.publish_to_class(Instant::now());
        self
    }

    pub(crate) fn hear(&mut self, heard: ClassUpdate, now: Instant) {
        let Some(class) = &mut self.class else { return };
        match heard {
            ClassUpdate::Tally(tally) => {
                if let Some(ballot) = class.ballot.as_mut().filter(|ballot| tally.poll == Some(ballot.id)) {
                    count(&mut ballot.votes, &tally.votes);
                }
                if let Mode::Learning(lesson) = &mut self.mode {
                    let mut polls = lesson.run.predictions.class.polls.values_mut();
                    if let Some((_, votes)) = polls.find(|(id, _)| tally.poll == Some(*id)) {
                        count(votes, &tally.votes);
                    }
                }
                class.tally = tally;
            }
            ClassUpdate::Remote(remote) => {
                // A remote control's actions are for the lesson, so they close any overlay.
                self.overlay = Overlay::Nothing;
                let action = match remote {
                    Remote::Next => Action::Forward,
                    Remote::Back => Action::Back,
                    Remote::Play => Action::Toggle,
                    Remote::Vote => Action::Vote,
                };
                // A phone has no key to skip a question, so Next skips one that nobody answered.
                let held_back = |run: &mut Learning| run.predictions.needs_answer(&run.playback);
                if remote == Remote::Next && self.run().is_some_and(held_back) {
                    self.act(Action::Skip, now);
                }
                self.act(action, now);
            }
            ClassUpdate::Gone => {
                class.lose();
                self.notice = Some(Notice::ClassGone);
            }
        }
    }

    /// Opens a vote on the next move, or ends the one that is open.
    pub(crate) fn vote(&mut self, now: Instant) {
        let Some(class) = &mut self.class else { return };
        if let Some(ballot) = class.ballot.as_mut().filter(|ballot| ballot.is_open()) {
            ballot.until = now;
            return;
        }
        let Mode::Learning(lesson) = &mut self.mode else {
            self.notice = Some(Notice::VoteInFreePlay);
            return;
        };
        self.notice = match &lesson.run.free {
            _ if class.room.is_none() => Some(Notice::ClassGone),
            None => Some(Notice::VoteInFreePlay),
            Some(_) if class.tally.joined == 0 => Some(Notice::NobodyJoined),
            Some(_) if !lesson.run.can_choose() => Some(Notice::VoteLater),
            Some(free) => {
                class.ask(ballot_choices(free, lesson.run.playback.log()), now);
                None
            }
        };
    }

    /// Counts the votes when voting time is over, and carries out the winning choice. Drops the vote if its choices are
    /// no longer possible.
    pub(crate) fn run_ballot(&mut self, now: Instant) {
        let Some(ballot) = self.class.as_mut().and_then(|class| class.ballot.as_mut()) else { return };
        if !ballot.is_open() {
            return;
        }
        let lesson = match &mut self.mode {
            Mode::Learning(lesson) if lesson.run.free.is_some() && lesson.run.can_choose() => lesson,
            _ => return self.give_up_ballot(),
        };
        let left = ballot.until.saturating_duration_since(now);
        ballot.seconds = u64::try_from(left.as_millis().div_ceil(1000)).unwrap_or(u64::MAX);
        if left.is_zero()
            && let Some(n) = ballot.count()
        {
            let (choice, _) = ballot.choices[n].clone();
            let said = chosen(ballot, n);
            lesson.class.moves.push((lesson.run.playback.log().len(), said));
            self.carry_out(choice);
        }
    }

    /// Drops the open vote, because the state that it was about has changed by other means.
    pub(crate) fn give_up_ballot(&mut self) {
        if let Some(class) = &mut self.class {
            class.ballot = None;
        }
    }

    /// Publishes the state of the screen to the class if it has changed, or if a publication is due.
    pub(crate) fn publish_to_class(&mut self, now: Instant) {
        let Some(mut class) = self.class.take() else { return };
        self.note_polls(&mut class);
        self.keep_runs(&class, false);
        let shown = self.publish_key(&class);
        let behind = class.wake(now).is_some_and(|wake| wake <= now);
        if self.published.as_ref() != Some(&shown) || behind {
            let (view, teacher) = (self.class_view(&mut class), self.teacher_view(&class));
            let run = self.stage_run(&mut class, now);
            class.publish(view, teacher, run);
            self.published = Some(shown);
        }
        self.class = Some(class);
    }

    /// Numbers the questions on the screen as polls, and passes on how many participants have joined.
    fn note_polls(&mut self, class: &mut Class) {
        let Mode::Learning(lesson) = &mut self.mode else { return };
        let run = &mut lesson.run;
        run.predictions.class.joined = class.tally.joined;
        if let Some(question) = run.predictions.question(run.playback.world()).filter(|_| run.free.is_none())
        {
            let (item, choices) = (question.item, question.choices.len());
            let polls = &mut run.predictions.class.polls;
            polls.entry(item).or_insert_with(|| (class.next_poll(), vec![0; choices]));
        }
    }

    fn publish_key(&self, class: &Class) -> PublishKey {
        let Some(entry) = self.mode.entry() else { return PublishKey::default() };
        let Mode::Learning(lesson) = &self.mode else {
            return PublishKey { mode: 1, lesson: Some((entry, 0)), ..PublishKey::default() };
        };
        let playback = &lesson.run.playback;
        PublishKey {
            mode: 2,
            lesson: Some((lesson.entry, lesson.variant)),
            position: playback.world().position,
            known: (playback.log().len(), lesson.run.is_branching()),
            state: (lesson.run.shows_verdict(), lesson.run.free.is_some(), can_vote(class, lesson)),
            poll: match &class.ballot {
                Some(ballot) => Some((ballot.id, !ballot.is_open(), !ballot.is_open())),
                None => lesson.poll_state(),
            },
            stages: class.tally.stages.min(1),
        }
    }

    fn class_view(&self, class: &mut Class) -> ClassView {
        class.broken = None;
        let entry = self.mode.entry().and_then(|entry| self.catalogue.entries.get(entry));
        let Some(entry) = entry else { return ClassView::default() };
        let Mode::Learning(lesson) = &self.mode else {
            return ClassView { title: Some(entry.lesson.title.clone()), ..ClassView::default() };
        };
        let variant = entry.variants.get(lesson.variant);
        let (playback, free) = (&lesson.run.playback, lesson.run.free.is_some());
        let (log, world) = (playback.log(), playback.world());
        class.broken = broken(log, world, &lesson.class).filter(|_| free);
        let says = match world.narration.clone() {
            _ if free => variant
                .and_then(|variant| variant.plan.invariants.first())
                .map(|invariant| Text::from_fn(|lang| words::GOAL.with(lang, &[invariant.goal.get(lang)]))),
            None => Some(entry.intro.clone()),
            said => said,
        };
        let poll = match &class.ballot {
            Some(ballot) => Some(ballot.poll(words::WHAT_NEXT.text(&[]), words::NOBODY_VOTED.text(&[]))),
            None => lesson.poll(),
        };
        ClassView {
            title: Some(entry.lesson.title.clone()),
            variant: variant.map(|variant| variant.title.clone()),
            step: playback.completed_steps(),
            steps: variant.map(|variant| variant.plan.steps).filter(|_| !free),
            says,
            locks: locks(lesson),
            poll,
            broken: class.broken.clone(),
            harm: self.harm().filter(|_| !free),
            outcome: match lesson.run.phase() {
                RunPhase::Over(Some(verdict)) if lesson.run.shows_verdict() => Some(Text::from_fn(|lang| {
                    let takeaway = variant.map_or("", |variant| variant.lesson.get(lang));
                    format!("{}{}{takeaway}", words::outcome(verdict.outcome).get(lang), lang.colon())
                })),
                _ => None,
            },
        }
    }

    /// What is wrong at the playhead, apart from locks with too many holders.
    fn harm(&self) -> Option<Text> {
        let Some(Screen::Lesson(view)) = self.screen() else { return None };
        let harm = |lang| view::harm(&view::Scene { lang, ..view.scene });
        harm(Lang::En)?;
        Some(Text::from_fn(|lang| harm(lang).unwrap_or_default()))
    }

    fn teacher_view(&self, class: &Class) -> TeacherView {
        let (Mode::Learning(lesson), Some(playing)) = (&self.mode, &class.playing) else {
            return TeacherView::default();
        };
        let step = lesson.run.playback.completed_steps();
        let line = |n: Option<usize>| playing.script.get(n?).filter(|_| lesson.run.free.is_none());
        let (over, next) = (line(step.checked_sub(1)), line(Some(step)));
        TeacherView {
            notes: playing.notes.clone(),
            note: over.and_then(|line| line.notes.clone()),
            next: next.map(|line| line.says.clone()),
            next_note: next.and_then(|line| line.notes.clone()),
            began: playing.began,
            can_vote: can_vote(class, lesson),
        }
    }

    fn stage_run(&self, class: &mut Class, now: Instant) -> Option<StageRun> {
        let (Mode::Learning(lesson), true) = (&self.mode, class.tally.stages > 0) else {
            class.forget_stage();
            return None;
        };
        let playback = &lesson.run.playback;
        let log = class.stage_log(playback.log(), lesson.run.is_branching(), now);
        let verdict = lesson.run.finished().map(|(_, verdict)| verdict);
        Some(StageRun {
            entry: self.catalogue.entries.get(lesson.entry)?.clone(),
            variant: lesson.variant,
            // The playhead may be ahead of the copy of the log.
            position: playback.world().position.min(log.len()),
            log,
            display: playback.display(),
            verdict: verdict.filter(|_| lesson.run.shows_verdict()).cloned(),
        })
    }

    /// Passes the run on the screen to the class's archive when it has a result: a verdict or a broken lock. When the
    /// run ends (`ends`), new votes of the class are a reason too.
    fn keep_runs(&mut self, class: &Class, ends: bool) {
        let (Some(keep), Mode::Learning(lesson)) = (&class.keep, &mut self.mode) else { return };
        let polls = lesson.run.predictions.class.polls.iter();
        let votes: usize = polls.clone().map(|(_, (_, votes))| votes.iter().sum::<usize>()).sum();
        let said = votes + lesson.class.moves.len();
        let verdict = lesson.run.finished().map(|(_, verdict)| verdict);
        let reached = (verdict.is_some(), lesson.run.solved(), said);
        let before = lesson.class.kept;
        let is_news = (reached.0 && !before.0) || reached.1 > before.1 || (ends && said > before.2);
        let Some(entry) = self.catalogue.entries.get(lesson.entry).filter(|_| is_news) else { return };
        lesson.class.kept = reached;
        let log = lesson.run.playback.log();
        let free = lesson.run.free.is_some();
        let whole = World::fold(log, log.len());
        let chosen = |(from, words): &(usize, Text)| {
            let later = log.events().get(*from..).unwrap_or_default().iter();
            let at = later.clone().position(|event| matches!(event.kind, EventKind::Chose(_)))?;
            Some((from + at, words.clone()))
        };
        // The receiver is gone only if the page was closed before the class ended; then nobody can keep the run.
        let _ = keep.send(KeptRun {
            entry: entry.clone(),
            variant: lesson.variant,
            log: log.clone(),
            verdict: verdict.filter(|_| !free).cloned(),
            answers: RunAnswers {
                votes: polls.map(|(item, (_, votes))| (*item, votes.clone())).collect(),
                moves: lesson.class.moves.iter().filter_map(chosen).collect(),
                broken: broken(log, &whole, &lesson.class).filter(|_| free),
            },
        });
    }

    /// Keeps what is worth keeping of the run on the screen, which is left or whose class ends.
    pub(crate) fn keep_current_run(&mut self) {
        if let Some(class) = self.class.take() {
            self.keep_runs(&class, true);
            self.class = Some(class);
        }
        self.record_run();
    }
}

impl Lesson {
    /// The question on the screen: its poll number, whether it is closed, whether the answer is known.
    fn poll_state(&self) -> Option<(u64, bool, bool)> {
        let run = &self.run;
        let question = run.predictions.question(run.playback.world()).filter(|_| run.free.is_none())?;
        let (id, _) = run.predictions.class.polls.get(&question.item)?;
        let waits = matches!(run.phase(), RunPhase::Ready) && run.playback.at_frontier();
        let open = waits && run.predictions.at_playhead(&run.playback).is_some();
        Some((*id, !open, question.right.is_some()))
    }

    fn poll(&self) -> Option<Poll> {
        let (id, closed, _) = self.poll_state()?;
        let question = self.run.predictions.question(self.run.playback.world())?;
        let decided = question.right.as_ref().map(|right| Decision {
            right: right.clone(),
            why: question.why.clone(),
            whys: question.choices.iter().map(|choice| choice.why.clone()).collect(),
        });
        Some(Poll {
            id,
            kind: PollKind::Prediction,
            asks: question.q.clone(),
            choices: question.choices.iter().map(|choice| choice.says.clone()).collect(),
            lasts: None,
            closed,
            decided,
        })
    }
}

fn can_vote(class: &Class, lesson: &Lesson) -> bool {
    let open = class.ballot.as_ref().is_some_and(Ballot::is_open);
    open || (lesson.run.free.is_some() && lesson.run.can_choose())
}

/// The locks of the lesson with their holders, as shown on phones.
fn locks(lesson: &Lesson) -> Vec<LockView> {
    let (playback, world) = (&lesson.run.playback, lesson.run.playback.world());
    let lanes = &playback.chart().lanes;
    let locks = world.holding.ever_held().take(MAX_LOCKS).map(|lock| LockView {
        name: Text::from_fn(|lang| playback.log().lock_title(lock, lang).to_owned()),
        holders: (world.holding.holders(lock).take(MAX_HOLDERS))
            .map(|actor| Holder {
                name: playback.log().called(actor).to_owned(),
                client: lanes.get(actor.0 as usize).map_or(0, |lane| lane.client),
            })
            .collect(),
        broken: world.holding.is_exceeded(lock),
    });
    locks.collect()
}

/// The text that announces the class's choice and its number of votes.
fn chosen(ballot: &Ballot, n: usize) -> Text {
    let (votes, all) = (ballot.votes[n].to_string(), ballot.voted().to_string());
    Text::from_fn(|lang| words::CHOSE.with(lang, &[&votes, &all, ballot.choices[n].1.get(lang)]))
}

/// The invariant broken last in free play; with the number of moves and faults up to it if the class chose some of
/// them.
fn broken(log: &Log, world: &World, run: &ClassRun) -> Option<Broken> {
    let event = world.breaches.last()?.event;
    let EventKind::Breached { says, why, .. } = &log.events().get(event)?.kind else { return None };
    let is_move =
        |kind: &EventKind| matches!(kind, EventKind::Chose(Choice::Move { .. } | Choice::Inject(_)));
    let moves = log.events()[..event].iter().filter(|event| is_move(&event.kind));
    let moves = run.moves.iter().any(|(from, _)| *from < event).then(|| moves.count());
    let reason: Vec<Text> = [says.clone()].into_iter().chain(why.clone()).collect();
    Some(Broken { moves, says: Text::join(&reason, " ", "") })
}

/// The choices of a vote: every actor that can move, the next timer, and faults of as many kinds as fit.
fn ballot_choices(free: &Free, log: &Log) -> Vec<(Choice, Text)> {
    let outlook = &free.outlook;
    let mut choices: Vec<Choice> = outlook.able().map(|actor| Choice::Move { actor }).collect();
    choices.truncate(MAX_CHOICES - 1);
    choices.extend(outlook.timer.map(|_| Choice::Timer));
    let rank = |n: usize| {
        let kind = mem::discriminant::<Fault>(&outlook.faults[n]);
        outlook.faults[..n].iter().filter(|fault| mem::discriminant(*fault) == kind).count()
    };
    let mut faults: Vec<usize> = (0..outlook.faults.len()).collect();
    faults.sort_by_key(|n| rank(*n));
    faults.truncate(MAX_CHOICES.saturating_sub(choices.len()));
    faults.sort_unstable();
    choices.extend(faults.into_iter().map(|n| Choice::Inject(outlook.faults[n].clone())));
    let said = |choice: Choice| {
        let says = Text::from_fn(|lang| view::choice(&choice, outlook, log, lang));
        (choice, says)
    };
    choices.into_iter().map(said).collect()
}
