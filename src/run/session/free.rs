//! Free play: the user chooses what happens next, one choice at a time.

use super::{RunError, director::Director};
use crate::{
    clock::Rate,
    lesson::Path,
    log::{Choice, EventKind, Stop, outlook::Outlook},
    text::Text,
    verdict,
};

impl Director {
    /// Leaves the story for good. From now on an unhandled reply ends the actor's program instead of the run.
    pub(crate) fn leave_story(&mut self) -> Outlook {
        self.left_story = true;
        self.outlook()
    }

    /// Carries out one choice. The inner `Err` says why it cannot be made; nothing has happened then. On a
    /// clock that can be stopped, only the time that the choice asks for passes.
    pub(crate) async fn choose(&mut self, choice: &Choice) -> Result<Result<(), Text>, RunError> {
        let chosen = self.carry_out(choice).await;
        self.harness.explained(chosen).await
    }

    async fn carry_out(&mut self, choice: &Choice) -> Result<Result<(), Text>, RunError> {
        self.left_story = true;
        if let Some(why) = self.refusal(choice) {
            return Ok(Err(why));
        }
        let path = Path::root().key("programs");
        // Servers that tolerate a jump of the clock also tolerate a stopped clock.
        let rate = if self.limits.jump { Rate::PAUSED } else { Rate::NORMAL };
        self.clock.set_rate(rate)?;
        if let Choice::Inject(fault) = choice
            && let Err(why) = self.try_inject(fault, &path).await?
        {
            self.clock.set_rate(Rate::PAUSED)?;
            return Ok(Err(why));
        }
        self.recorder.record(EventKind::Chose(choice.clone()));
        let stop = match choice {
            Choice::Move { actor } => {
                self.make_move(*actor, &path).await?;
                Stop::Move
            }
            Choice::Timer => {
                self.pass_to_next_timer(&path).await?;
                Stop::Passed
            }
            Choice::Pass { millis } => {
                self.pass(i64::try_from(*millis).unwrap_or(i64::MAX), &[], &path).await?;
                Stop::Passed
            }
            Choice::Inject(fault) => {
                self.record_fault(fault, &path).await?;
                Stop::Fault
            }
        };
        self.clock.set_rate(Rate::PAUSED)?;
        self.settle(&path).await?;
        self.observe().await?;
        self.check_invariants().map_err(|error| self.mistake(&path, error))?;
        let item = self.next_item();
        self.recorder.record(EventKind::Stop { item, stop });
        self.recorder.publish();
        Ok(Ok(()))
    }

    /// Records the invariants that have been broken since the last call, and the breaches that have ended.
    pub(crate) fn check_invariants(&mut self) -> Result<(), String> {
        for breach in self.invariants.look(&self.scenario, &self.recorder.log)? {
            let breached = verdict::recorded(&self.scenario, &self.recorder.log, breach);
            self.recorder.record(breached);
        }
        for ended in self.invariants.take_ended() {
            let verdict::Ended { invariant, since, .. } = ended;
            self.recorder.record(EventKind::BreachEnded { invariant, since });
        }
        Ok(())
    }
}
