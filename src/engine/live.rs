//! The story run that somebody watches: one step at a time, as commands ask for it.

use std::collections::VecDeque;

use tokio::sync::{
    mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
    watch,
};

use super::{Command, EngineError, Session, Update, director::Director, time::Tempo};
use crate::{lab::LabOptions, lesson::Scenario, verdict};

/// Starts a live run in the background. Must be called inside a `tokio` runtime. The lab boots at once;
/// dropping the session ends it.
#[must_use]
pub fn open(scenario: Scenario, options: LabOptions, seed: u64) -> Session {
    let (commands, asked) = unbounded_channel();
    let (tell, updates) = unbounded_channel();
    tokio::spawn(async move {
        let mut driver = Driver {
            asked,
            tell: tell.clone(),
            speed: 1.0,
            tempo: watch::channel(Tempo::Jump).0,
            queue: VecDeque::new(),
        };
        if let Err(error) = Box::pin(driver.drive(scenario, &options, seed)).await {
            let _ = tell.send(Update::Failed {
                message: error.text(),
                server: error.is_server(),
            });
        }
    });
    Session { commands, updates }
}

struct Driver {
    asked: UnboundedReceiver<Command>,
    tell: UnboundedSender<Update>,
    speed: f64,
    tempo: watch::Sender<Tempo>,
    /// Steps that were asked for while another was under way.
    queue: VecDeque<Command>,
}

/// Why a step came to its end.
enum Ending {
    Over,
    /// Nobody listens any more.
    Left,
}

impl Driver {
    async fn drive(
        &mut self,
        scenario: Scenario,
        options: &LabOptions,
        seed: u64,
    ) -> Result<(), EngineError> {
        let planned = scenario.clone();
        let tempo = self.tempo.subscribe();
        let set_up = Director::set_up(scenario, options, seed, tempo, Some(self.tell.clone()));
        let Some(director) = self.meanwhile(set_up).await else {
            return Ok(());
        };
        let mut director = director?;
        let outcome = self.steps(&mut director, &planned).await;
        director.tear_down().await;
        outcome
    }

    async fn steps(&mut self, director: &mut Director, scenario: &Scenario) -> Result<(), EngineError> {
        loop {
            let command = if let Some(command) = self.queue.pop_front() {
                command
            } else {
                tokio::select! {
                    command = self.asked.recv() => match command {
                        Some(command) => command,
                        None => return Ok(()),
                    },
                    error = director.disturbed() => return Err(error),
                }
            };
            match command {
                Command::Step => drop(self.tempo.send(Tempo::Jump)),
                Command::Watch => drop(self.tempo.send(Tempo::Watch(self.speed))),
                Command::Speed(speed) => {
                    self.speed = speed;
                    continue;
                }
                Command::Hold | Command::Resume => continue,
            }
            if director.ended() {
                let _ = self.tell.send(Update::Stepped { ended: true });
                continue;
            }
            match self.meanwhile(director.step()).await {
                None => return Ok(()),
                Some(outcome) => outcome?,
            }
            let ended = director.ended();
            if ended {
                let _ = self
                    .tell
                    .send(Update::Verdict(verdict::judge(scenario, director.log())));
            }
            let _ = self.tell.send(Update::Stepped { ended });
        }
    }

    /// Waits for something while commands go on being heard. `None` when nobody listens any more.
    async fn meanwhile<T>(&mut self, work: impl Future<Output = T>) -> Option<T> {
        tokio::pin!(work);
        loop {
            tokio::select! {
                done = &mut work => return Some(done),
                command = self.asked.recv() => match self.hear(command) {
                    Ending::Over => {}
                    Ending::Left => return None,
                },
            }
        }
    }

    /// A command in the middle of a step.
    fn hear(&mut self, command: Option<Command>) -> Ending {
        let current = *self.tempo.borrow();
        match (command, current) {
            (None, _) => return Ending::Left,
            (Some(Command::Hold), Tempo::Watch(_)) => drop(self.tempo.send(Tempo::Held)),
            (Some(Command::Resume), Tempo::Held) => drop(self.tempo.send(Tempo::Watch(self.speed))),
            (Some(Command::Speed(speed)), current) => {
                self.speed = speed;
                if matches!(current, Tempo::Watch(_)) {
                    let _ = self.tempo.send(Tempo::Watch(speed));
                }
            }
            // Somebody who asks for the next step while this one takes its time wants to see its end.
            (Some(command @ (Command::Step | Command::Watch)), Tempo::Watch(_) | Tempo::Held) => {
                let _ = self.tempo.send(Tempo::Jump);
                if command == Command::Watch {
                    self.queue.push_back(command);
                }
            }
            (Some(command @ (Command::Step | Command::Watch)), Tempo::Jump) => self.queue.push_back(command),
            (Some(Command::Hold | Command::Resume), _) => {}
        }
        Ending::Over
    }
}
