//! Replays a recording with the commands and updates of a live run, without servers. During a `Watch`, time
//! passes as it was recorded, at the chosen speed.

use std::{ops::Range, time::Duration};

use tokio::{
    sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
    time::Instant,
};

use super::{Session, SessionCommand, Update, pacing::Pacing, time::Tempo};
use crate::{
    clock::LessonTime,
    lesson::Scenario,
    log::{Log, Steps},
    verdict,
};

/// Replays a recording. Must be called inside a `tokio` runtime.
pub fn replay(scenario: Scenario, log: Log) -> Session {
    let (commands, asked) = unbounded_channel();
    let (sender, updates) = unbounded_channel();
    let mut steps = steps(&log).into_iter();
    let opening = steps.next().unwrap_or(0..log.len());
    let mut player = Player { scenario, log, published: 0, asked, updates: sender, pacing: Pacing::new() };
    // Sent at once, so that the first frame already shows the lesson.
    player.publish_to(opening.end);
    tokio::spawn(async move { player.play(steps).await });
    Session { commands, updates }
}

struct Player {
    scenario: Scenario,
    log: Log,
    /// The number of events that have been sent.
    published: usize,
    asked: UnboundedReceiver<SessionCommand>,
    updates: UnboundedSender<Update>,
    pacing: Pacing,
}

impl Player {
    /// Handles commands until the session is dropped.
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
            // A scenario without claims gets no verdict.
            if ended && more && !self.scenario.claims.is_empty() {
                self.send(Update::Verdict(verdict::judge(&self.scenario, &self.log)));
            }
            self.send(Update::Stepped { ended });
        }
    }

    /// Sends the events up to `end`, each at its time. Returns `None` once the session has been dropped.
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
                // At most what a timer can count.
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

    /// The time of the last event that was sent.
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
        // A dropped session is noticed where the next command is awaited.
        let _ = self.updates.send(update);
    }
}

/// The opening, before the first step; then each step up to its stop; last, the events after the last stop.
fn steps(log: &Log) -> Vec<Range<usize>> {
    let steps = Steps::of(log);
    let ends = steps.all().iter().map(|step| step.position);
    let mut from = 0;
    let mut ranges = Vec::new();
    for end in std::iter::once(log.opening()).chain(ends).chain([log.len()]) {
        // Every run has an opening, even if it is empty.
        if from < end || ranges.is_empty() {
            ranges.push(from..end);
            from = end;
        }
    }
    ranges
}

#[cfg(test)]
mod tests;
