//! How commands that arrive during a step change its tempo, in live and in replayed runs.

use std::collections::VecDeque;

use super::{Command, time::Tempo};

/// The chosen speed, and the commands that wait for the current step to end.
#[derive(Debug)]
pub(crate) struct Pacing {
    pub(crate) speed: f64,
    /// Commands that arrived during a step.
    pub(crate) queue: VecDeque<Command>,
}

impl Pacing {
    /// Starts at the speed of real time, with an empty queue.
    pub(crate) fn new() -> Self {
        Self { speed: 1.0, queue: VecDeque::new() }
    }

    /// The tempo of the step that a command begins, or `None` if it begins none.
    pub(crate) fn begin(&mut self, command: &Command) -> Option<Tempo> {
        match *command {
            Command::Step | Command::Choose(_) => Some(Tempo::Jump),
            Command::Watch => Some(Tempo::Watch(self.speed)),
            Command::Speed(speed) => {
                self.speed = speed;
                None
            }
            Command::Hold | Command::Resume | Command::LeaveStory => None,
        }
    }

    /// The tempo of the running step after this command.
    pub(crate) fn on_command(&mut self, command: Command, tempo: Tempo) -> Tempo {
        match (&command, tempo) {
            (Command::Hold, Tempo::Watch(_)) => Tempo::Held,
            (Command::Resume, Tempo::Held) => Tempo::Watch(self.speed),
            (&Command::Speed(speed), tempo) => {
                self.speed = speed;
                if matches!(tempo, Tempo::Watch(_)) { Tempo::Watch(speed) } else { tempo }
            }
            // A request for the next step ends this one at once.
            (Command::Step, Tempo::Watch(_) | Tempo::Held) => Tempo::Jump,
            // These commands wait for the current step, which ends at once.
            (Command::Watch | Command::Choose(_) | Command::LeaveStory, _) | (Command::Step, Tempo::Jump) => {
                self.queue.push_back(command);
                Tempo::Jump
            }
            (Command::Hold | Command::Resume, tempo) => tempo,
        }
    }
}
