//! Replaying a recording: the same commands and updates as of a live run, without servers. Watched, time passes as it
//! did, at the speed that was set.

use std::{ops::Range, time::Duration};

use tokio::{
    sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
    time::Instant,
};

use super::{Command, Session, Update, pacing::Pacing, time::Tempo};
use crate::{
    clock::LessonTime,
    lesson::Scenario,
    log::{Log, Steps},
    verdict,
};

/// Plays a recording. Must be called inside a `tokio` runtime.
pub fn replay(scenario: Scenario, log: Log) -> Session {
    let (commands, asked) = unbounded_channel();
    let (tell, updates) = unbounded_channel();
    let mut steps = steps(&log).into_iter();
    let opening = steps.next().unwrap_or(0..log.len());
    let mut player = Player { scenario, log, published: 0, asked, updates: tell, pacing: Pacing::new() };
    // At once, so that the first frame shows the lesson already.
    player.publish_to(opening.end);
    tokio::spawn(async move { player.play(steps).await });
    Session { commands, updates }
}

struct Player {
    scenario: Scenario,
    log: Log,
    /// So many events have been sent.
    published: usize,
    asked: UnboundedReceiver<Command>,
    updates: UnboundedSender<Update>,
    pacing: Pacing,
}

impl Player {
    /// Until nobody listens any more.
    async fn play(&mut self, mut steps: impl Iterator<Item = Range<usize>>) {
        loop {
            let command = match self.pacing.queue.pop_front() {
                Some(command) => command,
                None => match self.asked.recv().await {
                    Some(command) => command,
                    None => return,
                },
            };
            let Some(tempo) = self.pacing.begin(&command) else { continue };
            let step = steps.next();
            let more = step.is_some();
            if let Some(step) = step
                && self.step(step.end, tempo).await.is_none()
            {
                return;
            }
            let ended = self.published == self.log.len();
            // Where nothing is claimed, nothing is judged.
            if ended && more && !self.scenario.claims.is_empty() {
                self.send(Update::Verdict(verdict::judge(&self.scenario, &self.log)));
            }
            self.send(Update::Stepped { ended });
        }
    }

    /// Sends the events up to `end`, each when its time has come. `None` when nobody listens any more.
    async fn step(&mut self, end: usize, mut tempo: Tempo) -> Option<()> {
        let mut now = self.now();
        if tempo != Tempo::Jump {
            self.send(Update::TimeRuns);
        }
        while self.published < end {
            let speed = match tempo {
                Tempo::Jump => {
                    self.publish_to(end);
                    break;
                }
                Tempo::Watch(speed) => speed,
                Tempo::Held => 0.0,
            };
            let due = self.log.events()[self.published..end].partition_point(|event| event.at <= now);
            self.publish_to(self.published + due);
            let Some(next) = self.log.events()[..end].get(self.published) else { break };
            let left = next.at.since(now);
            let began = Instant::now();
            let passed = async {
                if tempo == Tempo::Held {
                    return std::future::pending().await;
                }
                // Within what a timer can count.
                let real = (left.as_secs_f64() / speed).min(1e9);
                tokio::time::sleep(Duration::from_secs_f64(real)).await;
            };
            tokio::select! {
                () = passed => now = next.at.max(now + began.elapsed().mul_f64(speed)),
                command = self.asked.recv() => {
                    now = next.at.min(now + began.elapsed().mul_f64(speed));
                    tempo = self.pacing.on_command(command?, tempo);
                }
            }
        }
        Some(())
    }

    /// The time of the event that was sent last.
    fn now(&self) -> LessonTime {
        let last = self.published.checked_sub(1).and_then(|last| self.log.events().get(last));
        last.map_or(LessonTime::ZERO, |event| event.at)
    }

    fn publish_to(&mut self, end: usize) {
        if self.published < end {
            self.send(Update::Events(self.log.events()[self.published..end].to_vec()));
            self.published = end;
        }
    }

    fn send(&self, update: Update) {
        // That nobody listens any more is noticed where the next command is waited for.
        let _ = self.updates.send(update);
    }
}

/// The opening, before anybody did anything, and then each step up to its stop; last, what no stop closes.
fn steps(log: &Log) -> Vec<Range<usize>> {
    let steps = Steps::of(log);
    let ends = steps.all().iter().map(|step| step.position);
    let mut from = 0;
    let mut ranges = Vec::new();
    for end in std::iter::once(log.opening()).chain(ends).chain([log.len()]) {
        // Every run has an opening, if only an empty one.
        if from < end || ranges.is_empty() {
            ranges.push(from..end);
            from = end;
        }
    }
    ranges
}

#[cfg(test)]
mod tests;
