//! The actions of a run, step by step, so that they can be repeated on a fresh lab.

use super::{Choice, EventKind, Log, Steps};

/// One action of a run.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum HistoryEntry {
    /// Carrying out the story's next line.
    Line,
    Choice(Choice),
}

impl Log {
    /// The actions in the first `position` events. After the first choice the story is not resumed: later steps without
    /// a choice are consequences, such as replies in a race.
    pub fn history(&self, position: usize) -> Vec<HistoryEntry> {
        let mut history = Vec::new();
        let (mut from, mut left_story) = (0, false);
        let mut take = |to: usize, whole: bool| {
            let events = self.events()[from..to].iter();
            let before = history.len();
            history.extend(events.filter_map(|event| match &event.kind {
                EventKind::Chose(choice) => Some(HistoryEntry::Choice(choice.clone())),
                _ => None,
            }));
            left_story |= history.len() > before;
            if whole && !left_story {
                history.push(HistoryEntry::Line);
            }
            from = to;
        };
        let position = position.min(self.len());
        for step in Steps::of(self).all() {
            if step.position > position {
                break;
            }
            take(step.position, true);
        }
        take(position, false);
        history
    }
}

#[cfg(test)]
mod tests {
    use super::HistoryEntry;
    use crate::log::{ActorId, Choice, EventKind, Log, Stop};

    const STOP: EventKind = EventKind::Stop { item: 0, stop: Stop::Move };

    fn moves(n: u32) -> Choice {
        Choice::Move { actor: ActorId(n) }
    }

    #[test]
    fn a_story_and_the_choices_after_it() {
        let waited = EventKind::Waited { actor: ActorId(0), label: "work".to_owned(), in_vain: false };
        let log = Log::from_iter([
            waited.clone(),
            STOP,
            STOP,
            EventKind::Chose(moves(1)),
            waited.clone(),
            STOP,
            // Events after a stop belong to no entry.
            waited,
            STOP,
            EventKind::Chose(Choice::Timer),
        ]);
        let choice = HistoryEntry::Choice;
        assert_eq!(
            log.history(log.len()),
            [HistoryEntry::Line, HistoryEntry::Line, choice(moves(1)), choice(Choice::Timer)]
        );
        assert_eq!(log.history(3), [HistoryEntry::Line, HistoryEntry::Line]);
        assert_eq!(log.history(1), [], "a step that is not over was not done");
        assert_eq!(log.history(4), [HistoryEntry::Line, HistoryEntry::Line, choice(moves(1))]);
        assert_eq!(log.history(0), []);
    }
}
