//! What commands that come in the middle of a step mean for its tempo: the same for a live run and for a recorded one.

use std::collections::VecDeque;

use super::{Command, time::Tempo};

/// The speed that was set, and the commands that wait for the current step to end.
#[derive(Debug)]
pub(crate) struct Pacing {
    pub(crate) speed: f64,
    /// Steps that were asked for while another was under way.
    pub(crate) queue: VecDeque<Command>,
}

impl Pacing {
    /// Real time, and nothing asked for.
    pub(crate) fn new() -> Self {
        Self { speed: 1.0, queue: VecDeque::new() }
    }

    /// The tempo at which a command between steps begins one; `None` where it begins none.
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

    /// The tempo of the step under way, from this command on.
    pub(crate) fn on_command(&mut self, command: Command, tempo: Tempo) -> Tempo {
        match (&command, tempo) {
            (Command::Hold, Tempo::Watch(_)) => Tempo::Held,
            (Command::Resume, Tempo::Held) => Tempo::Watch(self.speed),
            (&Command::Speed(speed), tempo) => {
                self.speed = speed;
                if matches!(tempo, Tempo::Watch(_)) { Tempo::Watch(speed) } else { tempo }
            }
            // Who asks for the next step wants this one to end at once.
            (Command::Step, Tempo::Watch(_) | Tempo::Held) => Tempo::Jump,
            // These wait for the current step, which ends at once.
            (Command::Watch | Command::Choose(_) | Command::LeaveStory, _) | (Command::Step, Tempo::Jump) => {
                self.queue.push_back(command);
                Tempo::Jump
            }
            (Command::Hold | Command::Resume, tempo) => tempo,
        }
    }
}
