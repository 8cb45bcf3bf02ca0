//! Free play: somebody else than the story chooses what happens next, one choice at a time.

use super::{EngineError, director::Director};
use crate::{
    clock::Rate,
    lesson::Path,
    log::{Choice, EventKind, Stop, outlook::Outlook},
    text::Text,
    verdict::why,
};

/// What comes of a choice.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Chosen {
    /// It was carried out.
    Done,
    /// It cannot be made now, and this is why. Nothing happened.
    Refused(Text),
}

impl Director {
    /// Leaves the story for good, if it has not been left before: programs that cannot cope with a reply end from now
    /// on, and not the run.
    pub(crate) fn leave_story(&mut self) -> Outlook {
        self.left_story = true;
        self.outlook()
    }

    /// Carries out one choice. Time stands still but for what the choice lets pass, where the servers bear that.
    pub(crate) async fn choose(&mut self, choice: &Choice) -> Result<Chosen, EngineError> {
        match self.carry_out(choice).await {
            Ok(chosen) => Ok(chosen),
            Err(error) => Err(self.stage.or_death(error).await),
        }
    }

    async fn carry_out(&mut self, choice: &Choice) -> Result<Chosen, EngineError> {
        self.left_story = true;
        if let Some(why) = self.refusal(choice) {
            return Ok(Chosen::Refused(why));
        }
        let path = Path::root().key("programs");
        // Servers that can be jumped through time can also be stopped in it, so a move takes none.
        let rate = if self.limits.may_stand_still() { Rate::PAUSED } else { Rate::NORMAL };
        self.clock.set_rate(rate)?;
        if let Choice::Cause(fault) = choice
            && let Err(why) = self.inject(fault, &path).await?
        {
            self.clock.set_rate(Rate::PAUSED)?;
            return Ok(Chosen::Refused(why.into()));
        }
        self.recorder.record(EventKind::Chose(choice.clone()));
        let stop = match choice {
            Choice::Move { actor } => {
                if let Some(op) = self.send(*actor, &path).await? {
                    self.land(op, &path).await?;
                }
                Stop::Move
            }
            Choice::Timer => {
                self.go_to_next_timer(&path).await?;
                Stop::Passed
            }
            Choice::Pass { millis } => {
                self.pass(i64::try_from(*millis).unwrap_or(i64::MAX), &[], &path).await?;
                Stop::Passed
            }
            Choice::Cause(fault) => {
                self.record_fault(fault, &path).await?;
                Stop::Fault
            }
        };
        self.clock.set_rate(Rate::PAUSED)?;
        self.settle(&path).await?;
        self.observe().await?;
        self.look_out(&path)?;
        let item = self.next_item();
        self.recorder.record(EventKind::Stop { item, stop });
        self.recorder.tell();
        Ok(Chosen::Done)
    }

    /// Writes down what must never be so and has come to be so.
    fn look_out(&mut self, path: &Path) -> Result<(), EngineError> {
        let found = self.invariants.look(&self.scenario, self.recorder.log());
        for breach in found.map_err(|error| self.mistake(path, error))? {
            let invariant = &self.scenario.invariants[breach.invariant];
            let why = why::explain(&self.scenario, self.recorder.log(), &breach);
            self.recorder.record(EventKind::Breached {
                invariant: breach.invariant,
                says: invariant.says.clone(),
                why: why.map(|why| why.text),
                evidence: breach.evidence,
            });
        }
        Ok(())
    }
}
