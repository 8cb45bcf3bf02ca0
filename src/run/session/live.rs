//! A live run that is watched: carries out one step at a time, as commands ask for it.

use tokio::{
    sync::{
        mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
        watch,
    },
    task::JoinSet,
};

use super::{RunError, Session, SessionCommand, Update, director::Director, pacing::Pacing, time::Tempo};
use crate::{
    lab::{LOOK, LabOptions, ProblemTracker, ProcessHealth, ProcessProblem},
    lesson::Scenario,
    log::{HistoryEntry, Log},
    verdict::{self, compare},
};

/// Starts a live run in the background. Must be called inside a `tokio` runtime. The lab starts at once;
/// dropping the session ends the run.
pub fn open(scenario: Scenario, options: LabOptions, seed: u64) -> Session {
    start(scenario, options, seed, None)
}

/// Starts a live run on a fresh lab that first repeats the history of `past` in the same order, compares the
/// outcome ([`Update::Branched`]) and continues as free play. With a different seed, owner tokens differ.
pub fn branch(scenario: Scenario, options: LabOptions, seed: u64, past: Log) -> Session {
    start(scenario, options, seed, Some(past))
}

fn start(scenario: Scenario, options: LabOptions, seed: u64, past: Option<Log>) -> Session {
    let (commands, asked) = unbounded_channel();
    let (sender, updates) = unbounded_channel();
    tokio::spawn(async move {
        let mut driver = Driver {
            asked,
            updates: sender.clone(),
            pacing: Pacing::new(),
            tempo: watch::channel(Tempo::Jump).0,
        };
        if let Err(error) = Box::pin(driver.drive(scenario, &options, seed, past)).await {
            let _ = sender.send(Update::Failed((&error).into()));
        }
    });
    Session { commands, updates }
}

/// Reports when a process is stopped from outside and when it runs again, until the result is dropped.
fn report_stopped_processes(health: ProcessHealth, sender: UnboundedSender<Update>) -> JoinSet<()> {
    let mut watcher = JoinSet::new();
    watcher.spawn(async move {
        let (mut tracker, mut reported) = (ProblemTracker::default(), None);
        loop {
            tokio::time::sleep(LOOK).await;
            let stopped = |problem: &ProcessProblem| matches!(problem, ProcessProblem::Stopped { .. });
            let news = tracker.look(&health).filter(stopped);
            // The message says for how long, so it changes, and is sent again, each second.
            let news = news.map(|problem| RunError::from(problem).text());
            if news != reported {
                if sender.send(Update::Silent(news.clone())).is_err() {
                    return;
                }
                reported = news;
            }
        }
    });
    watcher
}

struct Driver {
    asked: UnboundedReceiver<SessionCommand>,
    updates: UnboundedSender<Update>,
    pacing: Pacing,
    tempo: watch::Sender<Tempo>,
}

impl Driver {
    async fn drive(
        &mut self,
        scenario: Scenario,
        options: &LabOptions,
        seed: u64,
        past: Option<Log>,
    ) -> Result<(), RunError> {
        let planned = scenario.clone();
        let tempo = self.tempo.subscribe();
        let set_up = Director::set_up(scenario, options, seed, tempo, Some(self.updates.clone()));
        let Some(director) = Box::pin(self.while_listening(set_up)).await else { return Ok(()) };
        let mut director = director?;
        let _watcher = report_stopped_processes(director.harness.lab.health(), self.updates.clone());
        let all = async {
            if let Some(past) = past
                && self.replay_past(&mut director, &past).await?.is_none()
            {
                return Ok(());
            }
            self.steps(&mut director, &planned).await
        };
        let outcome = all.await;
        director.tear_down().await;
        outcome
    }

    /// Repeats the history of another run. Returns `None` once the session has been dropped.
    async fn replay_past(&mut self, director: &mut Director, past: &Log) -> Result<Option<()>, RunError> {
        let mut refused = None;
        for entry in past.history(past.len()) {
            let repeated = async {
                match entry {
                    HistoryEntry::Line => director.step().await.map(Ok),
                    HistoryEntry::Choice(choice) => director.choose(&choice).await,
                }
            };
            let Some(repeated) = self.while_listening(repeated).await else { return Ok(None) };
            if let Err(why) = repeated? {
                refused = Some(why);
                break;
            }
        }
        let difference = compare::first_difference([past, director.log()]).map(Box::new);
        self.send(Update::Branched { difference, refused });
        self.send(Update::Outlook(director.leave_story()));
        Ok(Some(()))
    }

    async fn steps(&mut self, director: &mut Director, scenario: &Scenario) -> Result<(), RunError> {
        loop {
            let mut command = self.pacing.queue.pop_front();
            if command.is_none() {
                command = tokio::select! {
                    command = self.asked.recv() => command,
                    late = director.receive() => {
                        late?;
                        if director.left_story {
                            self.send(Update::Outlook(director.outlook()));
                        }
                        continue;
                    }
                };
            }
            let Some(command) = command else { return Ok(()) };
            if command == SessionCommand::LeaveStory {
                self.send(Update::Outlook(director.leave_story()));
            }
            let Some(tempo) = self.pacing.begin(&command) else { continue };
            let _ = self.tempo.send(tempo);
            if let SessionCommand::Choose(choice) = command {
                let Some(chosen) = self.while_listening(director.choose(&choice)).await else {
                    return Ok(());
                };
                self.send(match chosen? {
                    Ok(()) => Update::Stepped { ended: false },
                    Err(why) => Update::Refused(why),
                });
                self.send(Update::Outlook(director.outlook()));
                continue;
            }
            // A story that was left or is over has no more steps.
            if director.left_story || director.ended() {
                self.send(Update::Stepped { ended: !director.left_story });
                continue;
            }
            let Some(stepped) = self.while_listening(director.step()).await else { return Ok(()) };
            stepped?;
            let ended = director.ended();
            if ended {
                self.send(Update::Verdict(verdict::judge(scenario, director.log())));
            }
            self.send(Update::Stepped { ended });
        }
    }

    fn send(&self, update: Update) {
        // A dropped session is noticed where the next command is awaited.
        let _ = self.updates.send(update);
    }

    /// Runs `work` to its end and handles commands meanwhile. Returns `None` once the session has been
    /// dropped.
    async fn while_listening<T>(&mut self, work: impl Future<Output = T>) -> Option<T> {
        tokio::pin!(work);
        loop {
            tokio::select! {
                done = &mut work => return Some(done),
                command = self.asked.recv() => {
                    let current = *self.tempo.borrow();
                    let tempo = self.pacing.on_command(command?, current);
                    if tempo != current {
                        let _ = self.tempo.send(tempo);
                    }
                }
            }
        }
    }
}
