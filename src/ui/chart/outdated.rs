//! What clients have read, compared with what servers were seen to hold: reads that are outdated, and what was sold on
//! the basis of them.

use super::{Bar, BarKind, Chart, OverlapSpan, Sessions, Truth};
use crate::log::{ActorId, Command, EventKind, Log, Reply, product::mariadb};

impl Chart {
    /// The actor that last acted on an outdated value, and the bar that shows it.
    pub fn outdated_sale(&self, position: usize) -> Option<(ActorId, &Bar)> {
        let acted = |bar: &&Bar| bar.kind == BarKind::Oversold && bar.from.1 < position;
        let lanes = self.lanes.iter().enumerate();
        let sales = lanes.filter_map(|(n, lane)| Some((n, lane.bars.iter().rfind(acted)?)));
        let (lane, sale) = sales.max_by_key(|(_, bar)| bar.from.1)?;
        Some((ActorId(u32::try_from(lane).ok()?), sale))
    }

    /// The event at which that actor read the value.
    pub fn outdated_read(&self, position: usize) -> Option<usize> {
        let (seller, sale) = self.outdated_sale(position)?;
        let mut bars = self.lanes[seller.0 as usize].bars.iter();
        let read = bars.rfind(|bar| bar.kind == BarKind::Read && bar.from.1 < sale.from.1);
        Some(read.unwrap_or(sale).from.1)
    }

    /// The key or row that a client has read, the value, and whether a server is seen to hold that value.
    pub(super) fn read(&self, log: &Log, sent: usize, replied: usize) -> Option<(String, String, bool)> {
        let EventKind::Sent { command, .. } = &log.events()[sent].kind else { return None };
        let EventKind::Replied { reply, .. } = &log.events()[replied].kind else { return None };
        let Reply::Value(value) = reply.as_ref() else { return None };
        let mut values = self.truths.iter().flat_map(Truth::values);
        if let Command::Sql(statement) = command {
            let (row, read) = mariadb::read(statement, value, values)?;
            let current = self.tells(&row, &read);
            return Some((row, read, current));
        }
        let key = command.redis_words().get(1).filter(|_| command.is_redis("GET"))?;
        let value = value.as_str()?;
        values.any(|held| held == (key, value)).then(|| (key.clone(), value.to_owned(), true))
    }

    /// Whether a server holds the read value under a name.
    fn tells(&self, name: &str, read: &str) -> bool {
        let mut values = self.truths.iter().flat_map(Truth::values);
        values.any(|(known, held)| known == name && mariadb::has_columns(held, read))
    }

    /// Handles a counter that grew because of a value that was read: it oversold if the value has changed.
    pub(super) fn counted(&mut self, actor: ActorId, counter: &str, here: (u32, usize)) {
        let Some(lane) = self.lanes.get_mut(actor.0 as usize) else { return };
        let Some(key) = lane.end_read(here) else { return };
        let value = lane.seen();
        // Nothing is sold of what is no number.
        if !value.bytes().any(|byte| byte.is_ascii_digit()) {
            return;
        }
        lane.oversell(&key, value, here);
        let overlap_span = OverlapSpan { lock: key, from: here, to: None };
        self.oversold.get_or_insert((overlap_span, counter.to_owned()));
    }

    /// Marks what no server has confirmed by the end of a step, the event `here`.
    pub(super) fn mark_unconfirmed(&mut self, here: usize) {
        let held = held(&self.truths, &self.state.sessions, here);
        for (n, lane) in self.lanes.iter_mut().enumerate().filter(|(_, lane)| lane.band.is_none()) {
            lane.mark_unconfirmed(|lock| {
                let is_key = is_key(&self.truths, lock);
                let mut about = held.iter().filter(|(key, _)| !is_key || *key == lock).peekable();
                about.peek().is_some() && about.all(|(_, actor)| actor.0 as usize != n)
            });
        }
    }

    /// Compares what clients believe with what servers were seen to hold. Crowds are skipped, because they have no
    /// bars.
    pub(super) fn compare(&mut self, here: (u32, usize)) {
        let actor = |owner| self.state.sessions.actor(owner, here.1);
        let open = held(&self.truths, &self.state.sessions, here.1);
        for (n, lane) in self.lanes.iter_mut().enumerate().filter(|(_, lane)| lane.band.is_none()) {
            let its = |actor: &ActorId| actor.0 as usize == n;
            // A lock of the lesson need not be named like its key; in that case any key that its owner has confirms it.
            let is_about = |key: &str, lock: &str| key == lock || !is_key(&self.truths, lock);
            let has = |lock: &str| open.iter().any(|(key, actor)| its(actor) && is_about(key, lock));
            let lost = |lock: &str| {
                let spans =
                    self.truths.iter().flat_map(Truth::newest).filter(|span| is_about(&span.lock, lock));
                let own = spans.filter(|span| {
                    let mut owners = span.holders().filter_map(|(owner, _)| actor(owner?));
                    owners.any(|actor| its(&actor))
                });
                own.filter_map(|span| span.to).map(|(column, _)| column).max()
            };
            let values = self.truths.iter().flat_map(Truth::values);
            let values: Vec<(&str, &str)> = values.collect();
            let is = |key: &str, read: &str| {
                values.iter().any(|(known, held)| *known == key && mariadb::has_columns(held, read))
            };
            lane.compare((has, lost), is, (here, self.state.step));
        }
    }
}

/// The locks that servers hold at that event, with the actors that own them.
fn held<'a>(truths: &'a [Truth], sessions: &Sessions, event: usize) -> Vec<(&'a str, ActorId)> {
    let held = truths.iter().flat_map(Truth::held);
    held.filter_map(|(lock, owner)| Some((lock, sessions.actor(owner, event)?))).collect()
}

/// Whether a lock is named like a key of a server.
fn is_key(truths: &[Truth], lock: &str) -> bool {
    truths.iter().any(|truth| truth.locks.iter().any(|known| known == lock))
}
