//! A server as it was last observed, and the commands that may have changed it since.

use std::collections::BTreeSet;

use crate::{
    log::{ActorId, Observed, OpId},
    world::effect::{Access, Effect, MayWrite},
};

/// A server as it was last observed, and what may have changed it since.
#[derive(Debug, Clone)]
pub(super) struct Observation {
    pub(super) observed: Observed,
    pub(super) writers: Vec<Writer>,
    /// The keys of which replies prove what happened to them.
    pub(super) proven: BTreeSet<String>,
    /// What replies suggest, until the next observation shows it.
    pub(super) suggested: Vec<Effect>,
    /// Whether a fault may have changed what the server holds.
    pub(super) had_fault: bool,
}

/// A command that may have changed keys: it was not answered yet, or its reply does not prove what it did.
#[derive(Debug, Clone)]
pub(super) struct Writer {
    pub(super) op: OpId,
    pub(super) actor: ActorId,
    pub(super) sent: usize,
    pub(super) may_write: MayWrite,
    /// Whether its reply, if it comes, proves all that it did.
    pub(super) is_provable: bool,
    /// The lease of etcd that it renews.
    pub(super) renews: Option<i64>,
    /// The event of its reply, or of its loss.
    pub(super) replied: Option<usize>,
    /// Whether the step has ended in which it was answered.
    pub(super) is_over: bool,
    /// The keys that an observation has already shown to be changed by it.
    pub(super) shown: BTreeSet<String>,
}

impl Observation {
    pub(super) fn of(observed: &Observed) -> Self {
        Self {
            observed: observed.clone(),
            writers: Vec::new(),
            proven: BTreeSet::new(),
            suggested: Vec::new(),
            had_fault: false,
        }
    }

    /// A change would have been observed before the end of the step.
    pub(super) fn end_step(&mut self) {
        self.suggested.clear();
        self.proven.clear();
        self.had_fault = false;
        for writer in &mut self.writers {
            writer.is_over = writer.replied.is_some();
        }
    }
}

impl Writer {
    pub(super) fn effect(&self, server: &str, key: &str, access: Access, index: usize) -> Effect {
        Effect {
            actor: self.actor,
            sent: self.sent,
            replied: self.replied.unwrap_or(index),
            command_sent: self.sent,
            server: server.to_owned(),
            key: key.to_owned(),
            access,
            puts: false,
            proven: true,
            number: None,
        }
    }
}
