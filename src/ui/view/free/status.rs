//! The part above the clients in free play: what was broken and why, the result of the last choice, the challenges.

use super::FreePane;
use crate::{
    lesson::Expect,
    ui::{
        state::{classroom::BallotState, free::FreeNotice},
        view::{prelude::*, voting},
    },
    verdict::{
        compare::{Difference, Move},
        evidence,
    },
    world::Breached,
};

const EVIDENCE_LINES: usize = 4;
/// The maximum number of choices shown with their votes.
const MOST_BARS: usize = 4;

impl<'a> FreePane<'_, 'a> {
    /// The lines above the clients.
    pub(crate) fn lines_above(&self) -> Vec<Line<'static>> {
        let mut lines = self.ballot();
        lines.extend(self.breach());
        lines.extend(self.notice_lines());
        lines.extend(self.goals());
        lines
    }

    /// The breach in the step at the playhead.
    fn current_breach(&self) -> Option<&'a Breached> {
        let scene = self.scene();
        let breached = scene.world.breaches.last()?;
        let later = scene.log.events()[breached.event..scene.world.position].iter();
        let stops = later.filter(|event| matches!(event.kind, EventKind::Stop { .. }));
        (stops.count() <= 1).then_some(breached)
    }

    /// The class's vote: the time left and the turnout; afterwards the choice, and all that got votes.
    fn ballot(&self) -> Vec<Line<'static>> {
        let Some(class) = self.view.class.filter(|_| !self.free.back) else { return Vec::new() };
        let Some(ballot) = &class.ballot else { return Vec::new() };
        let (scene, lang) = (self.scene(), self.scene().lang);
        match ballot.state {
            BallotState::Open => {
                let words = words::VOTE.with(lang, &[&ballot.seconds.to_string()]);
                let mut lines = self.row(" ", Role::Accent, &words, Role::Accent);
                lines.push(voting::turnout(scene.context(), ballot.voted(), class.tally.joined, self.width));
                lines
            }
            BallotState::NobodyVoted => {
                self.row("", Role::Warning, words::NOBODY_VOTED.get(lang), Role::Warning)
            }
            BallotState::Chosen(chosen) => {
                let mut counted: Vec<(usize, &str, usize)> = Vec::new();
                for (n, ((_, says), votes)) in ballot.choices.iter().zip(&ballot.votes).enumerate() {
                    if *votes > 0 {
                        counted.push((n, says.get(lang), *votes));
                    }
                }
                // The sort is stable, so of equals the first choice stays first.
                counted.sort_by_key(|(_, _, votes)| std::cmp::Reverse(*votes));
                counted.truncate(MOST_BARS);
                let right: Vec<usize> = counted.iter().position(|(n, ..)| *n == chosen).into_iter().collect();
                let choices = counted.into_iter().map(|(_, says, votes)| (says, votes));
                voting::bars(scene.context(), choices, &right, self.width)
            }
        }
    }

    fn breach(&self) -> Vec<Line<'static>> {
        let scene = self.scene();
        let (log, lang) = (scene.log, scene.lang);
        let Some(breached) = self.current_breach() else { return Vec::new() };
        let moves = self.view.class.and_then(|class| class.broken.as_ref()?.moves);
        let broke = words::broke_it(lang, moves);
        let banner = format!(" {} {broke} ", glyphs::CUT);
        let mut lines =
            self.row(&banner, Role::Danger, &format!(" {}", breached.says.get(lang)), Role::Danger);
        let breach = log.events().get(breached.event).map(|event| &event.kind);
        if let Some(EventKind::Breached { why, evidence: events, .. }) = breach {
            if let Some(why) = why {
                lines.extend(self.row("  ", Role::Text, why.get(lang), Role::Text));
            }
            for line in evidence(log, "", events, EVIDENCE_LINES) {
                lines.extend(self.row("  ↳ ", Role::Chrome, line.get(lang), Role::Text));
            }
        }
        lines
    }

    fn notice_lines(&self) -> Vec<Line<'static>> {
        let lang = self.scene().lang;
        let steps = usize::to_string;
        let (words, role) = match &self.free.free.notice {
            _ if self.free.branching => (words::BRANCHING.get(lang).to_owned(), Role::Warning),
            _ if self.free.back => {
                let key = self.scene().keys.label("free");
                (words::LOOKING_BACK.with(lang, &[&key]), Role::Warning)
            }
            FreeNotice::Nothing if self.free.live && self.free.free.outlook.is_over() => {
                let keys = &self.scene().keys;
                let words = words::ALL_OVER.with(lang, &[&keys.label("back"), &keys.label("restart")]);
                (words, Role::Warning)
            }
            FreeNotice::Nothing => return Vec::new(),
            FreeNotice::YouChoose => (words::YOU_CHOOSE.get(lang).to_owned(), Role::Warning),
            FreeNotice::Refused(why) => (why.get(lang).to_owned(), Role::Warning),
            FreeNotice::Same(history) => (words::SAME.with(lang, &[&steps(history)]), Role::Good),
            FreeNotice::Differs(history, difference) => {
                let what = differs(difference, lang);
                (words::DIFFERS.with(lang, &[&steps(history), &what]), Role::Danger)
            }
            FreeNotice::Stuck(history, why) => {
                (words::STUCK.with(lang, &[&steps(history), why.get(lang)]), Role::Danger)
            }
        };
        self.row("", role, &words, role)
    }

    /// The variant's challenges, and which of them are solved.
    fn goals(&self) -> Vec<Line<'static>> {
        let (scene, lang) = (self.scene(), self.scene().lang);
        let Some(variant) = self.view.entry.variants.get(self.view.variant) else { return Vec::new() };
        let goal = match variant.expect {
            Expect::Shown => words::GOAL,
            Expect::Prevented => words::GOAL_FIXED,
        };
        let mut lines = Vec::new();
        let fresh = self.current_breach().map(|breached| breached.invariant);
        // The breach of this step is shown above, with its evidence.
        let others = variant.plan.invariants.iter().enumerate().filter(|(n, _)| Some(*n) != fresh);
        let others = others.filter(|(_, invariant)| !invariant.goal.en.is_empty());
        for (n, invariant) in others {
            let broken = scene.world.breaches.iter().any(|breached| breached.invariant == n);
            let row = if broken {
                let words = words::BROKEN_BEFORE.with(lang, &[invariant.says.get(lang)]);
                self.row("✓ ", Role::Good, &words, Role::Good)
            } else {
                let words = goal.with(lang, &[invariant.goal.get(lang)]);
                self.row("· ", Role::Accent, &words, Role::Accent)
            };
            lines.extend(row);
        }
        lines
    }
}

/// The first move that differs from the earlier run: its result then and now.
fn differs(difference: &Difference, lang: Lang) -> String {
    let [before, now] = &difference.moves;
    let who = before.as_ref().or(now.as_ref());
    let name = who.map_or_else(String::new, |made| format!("{}.{}", made.who, made.label));
    let outcome = |made: &Option<Move>| match made {
        None => words::NO_SUCH_MOVE.get(lang).to_owned(),
        Some(Move { wire, reply, .. }) => match reply {
            Some(reply) => format!("{wire} → {reply}"),
            None => wire.clone(),
        },
    };
    words::BEFORE_NOW.with(lang, &[&name, &outcome(before), &outcome(now)])
}
