//! The stretches in which something is wrong: too many holders, overselling, other broken invariants.

use super::Chart;
use crate::{
    log::{EventKind, Log},
    world::{Holding, Overlap},
};

/// The maximum number of breaches that are marked: every event visits all of them, and a foreign recording may have any
/// number.
const MOST_BROKEN: usize = 64;

/// A stretch in which a lock has too many holders: where it begins and ends, in columns or rows, and by which events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OverlapSpan<X = u32> {
    pub lock: String,
    pub from: (X, usize),
    pub to: Option<(X, usize)>,
}

impl<X: Copy> OverlapSpan<X> {
    /// Whether the stretch is open after `position` events.
    pub fn is_now(&self, position: usize) -> bool {
        self.from.1 < position && self.to.is_none_or(|(_, event)| event >= position)
    }

    pub(super) fn update(overlap_spans: &mut Vec<Self>, overlaps: &[Overlap], here: (X, usize)) {
        for (overlap, overlap_span) in overlaps.iter().zip(&mut *overlap_spans) {
            if overlap.end.is_some() {
                overlap_span.to.get_or_insert(here);
            }
        }
        let begun = overlaps.iter().skip(overlap_spans.len());
        overlap_spans.extend(begun.map(|overlap| Self { lock: overlap.lock.clone(), from: here, to: None }));
    }
}

/// A broken invariant other than too many holders, from the event that reports it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broken {
    pub span: OverlapSpan,
    pub invariant: usize,
    /// Whether it ended within the step in which it began; it is then drawn for the whole step.
    brief: bool,
}

impl Broken {
    /// The event that reports the breach.
    pub fn event(&self) -> usize {
        self.span.from.1
    }

    /// Whether it was broken at some point of the step that began with event `step`.
    pub(super) fn is_in_step(&self, step: usize) -> bool {
        let lasts = !self.brief && self.span.to.is_none_or(|(_, event)| event > step);
        self.event() > step || lasts
    }
}

/// Whether the evidence proves that a lock has too many holders; that is shown in the step in which it happened.
pub(super) fn proves_overlap(holding: &Holding, evidence: &[usize]) -> bool {
    let mut newest = holding.overlaps().iter().rev().take(MOST_BROKEN);
    newest.any(|overlap| overlap.evidence == evidence)
}

impl Chart {
    /// Whether the evidence is already shown as an overlap or as overselling.
    fn is_reported(&self, log: &Log, evidence: &[usize]) -> bool {
        let sells = |event: &usize| match (log.events().get(*event).map(|event| &event.kind), &self.oversold)
        {
            (Some(EventKind::Counted { counter, .. }), Some((_, sold))) => counter == sold,
            _ => false,
        };
        proves_overlap(&self.state.holding, evidence) || evidence.iter().any(sells)
    }

    /// Marks a broken invariant.
    pub(super) fn breach(&mut self, log: &Log, (invariant, evidence): (usize, &[usize]), here: (u32, usize)) {
        if self.broken.len() < MOST_BROKEN && !self.is_reported(log, evidence) {
            let span = OverlapSpan { lock: String::new(), from: here, to: None };
            self.broken.push(Broken { span, invariant, brief: false });
        }
    }

    /// Ends the mark of a broken invariant.
    pub(super) fn end_breach(&mut self, invariant: usize, here: (u32, usize)) {
        let step = self.state.step;
        let is_it = |broken: &&mut Broken| broken.invariant == invariant && broken.span.to.is_none();
        let Some(broken) = self.broken.iter_mut().find(is_it) else { return };
        if broken.event() > step {
            broken.brief = true;
        } else {
            broken.span.to = Some((here.0.max(broken.span.from.0 + 1), here.1));
        }
    }

    /// An invariant that was broken and restored within a step is drawn broken until the end of that step, and in the
    /// last step until the end of the run.
    pub(super) fn end_brief_breaches(&mut self, (x, event): (u32, usize)) {
        let step = self.state.step;
        for broken in self.broken.iter_mut().filter(|broken| broken.brief && broken.event() < step) {
            broken.span.to.get_or_insert((x.max(broken.span.from.0 + 1), event));
        }
    }

    /// The first breach of each invariant.
    pub(crate) fn first_breaches(&self) -> impl Iterator<Item = &Broken> {
        let is_first = |n: usize, broken: &Broken| {
            self.broken[..n].iter().all(|earlier| earlier.invariant != broken.invariant)
        };
        let numbered = self.broken.iter().enumerate();
        numbered.filter(move |(n, broken)| is_first(*n, broken)).map(|(_, broken)| broken)
    }

    /// Everything that is wrong, except too many holders.
    pub fn other_alarms(&self) -> impl Iterator<Item = &OverlapSpan> {
        let oversold = self.oversold.iter().map(|(overlap_span, _)| overlap_span);
        oversold.chain(self.broken.iter().map(|broken| &broken.span))
    }

    /// The stretch of too many holders that an event began.
    pub fn overlap_span_of(&self, event: usize) -> Option<&OverlapSpan> {
        self.overlap_spans.iter().find(|overlap_span| overlap_span.from.1 == event)
    }

    /// Every stretch in which something is wrong.
    pub fn alarms(&self) -> impl Iterator<Item = &OverlapSpan> {
        self.overlap_spans.iter().chain(self.other_alarms())
    }
}
