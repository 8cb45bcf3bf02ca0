//! How commands that arrive during a step change its tempo, in live and in replayed runs.

use std::collections::VecDeque;

use super::{SessionCommand, time::Tempo};

/// The chosen speed, and the commands that wait for the current step to end.
#[derive(Debug)]
pub(crate) struct Pacing {
    pub(crate) speed: f64,
    /// Commands that arrived during a step.
    pub(crate) queue: VecDeque<SessionCommand>,
}

impl Pacing {
    /// Starts at the speed of real time, with an empty queue.
    pub(crate) fn new() -> Self {
        Self { speed: 1.0, queue: VecDeque::new() }
    }

    /// The tempo of the step that a command begins, or `None` if it begins none.
    pub(crate) fn begin(&mut self, command: &SessionCommand) -> Option<Tempo> {
        match *command {
            SessionCommand::Step | SessionCommand::Choose(_) => Some(Tempo::Jump),
            SessionCommand::Watch => Some(Tempo::Watch(self.speed)),
            SessionCommand::Speed(speed) => {
                self.speed = speed;
                None
            }
            SessionCommand::Hold | SessionCommand::Resume | SessionCommand::LeaveStory => None,
        }
    }

    /// The tempo of the running step after this command.
    pub(crate) fn on_command(&mut self, command: SessionCommand, tempo: Tempo) -> Tempo {
        match (&command, tempo) {
            (SessionCommand::Hold, Tempo::Watch(_)) => Tempo::Held,
            (SessionCommand::Resume, Tempo::Held) => Tempo::Watch(self.speed),
            (&SessionCommand::Speed(speed), tempo) => {
                self.speed = speed;
                if matches!(tempo, Tempo::Watch(_)) { Tempo::Watch(speed) } else { tempo }
            }
            // A request for the next step ends this one at once.
            (SessionCommand::Step, Tempo::Watch(_) | Tempo::Held) => Tempo::Jump,
            // These commands wait for the current step, which ends at once.
            (SessionCommand::Watch | SessionCommand::Choose(_) | SessionCommand::LeaveStory, _)
            | (SessionCommand::Step, Tempo::Jump) => {
                self.queue.push_back(command);
                Tempo::Jump
            }
            (SessionCommand::Hold | SessionCommand::Resume, tempo) => tempo,
        }
    }
}
