//! One server's lane: who really held a lock, according to the server's own state.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    ops::Range,
    time::Duration,
};

use crate::{
    clock::LessonTime,
    log::{
        Access, ActorId, Command, Condition, Entry, EventKind, Fault, KeyState, KeyValue, Keyspace, Log,
        Observed, OpId, Reply, Role, SentinelNotice, product::etcd::EtcdCall,
    },
    ui::{theme::text, words::fault},
    world::effect,
};

use super::lane::Stretch;

/// How many events are searched backwards for the command that wrote a key.
const LOOK_BACK: usize = 400;
/// How many of the newest spans are searched for open ones.
const OPEN: usize = 32;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum About {
    Lock,
    Value,
}

/// Who holds a lock, or what a key holds, according to the server's state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    pub about: About,
    pub lock: String,
    pub owner: Option<Owner>,
    /// What the lock's key holds, if the lock is a key.
    pub token: Token,
    /// Further holders: readers share a lock.
    pub others: Vec<(Option<Owner>, Token)>,
    /// The first column, and the event that began the span.
    pub from: (u32, usize),
    /// The column after the last one, and the event that ended the span.
    pub to: Option<(u32, usize)>,
}

/// Distinguishes the owners of a key.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Token {
    pub holder: String,
    /// How often the holder has the lock, if the server counts that and the count is not 1.
    pub times: Option<String>,
}

impl Token {
    fn of((holder, times): (&str, Option<&str>)) -> Self {
        Self { holder: holder.to_owned(), times: times.filter(|times| *times != "1").map(str::to_owned) }
    }
}

impl Span {
    pub fn holders(&self) -> impl Iterator<Item = (Option<Owner>, &Token)> {
        let first = std::iter::once((self.owner, &self.token));
        first.chain(self.others.iter().map(|(owner, token)| (*owner, token)))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    /// The actor whose command wrote the key.
    Actor(ActorId),
    /// The session that owns the lock according to the server.
    Session(i64),
}

/// Whose each session is, from which event on: a server that restarts counts its sessions anew.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sessions(HashMap<i64, Vec<(usize, ActorId)>>);

impl Sessions {
    pub(crate) fn begin(&mut self, session: i64, (event, actor): (usize, ActorId)) {
        self.0.entry(session).or_default().push((event, actor));
    }

    /// The actor that an owner was at that event.
    pub(crate) fn actor(&self, owner: Owner, event: usize) -> Option<ActorId> {
        match owner {
            Owner::Actor(actor) => Some(actor),
            Owner::Session(session) => {
                let known = self.0.get(&session)?;
                known.iter().rfind(|(from, _)| *from <= event).or(known.first()).map(|(_, actor)| *actor)
            }
        }
    }
}

/// A TTL from when it was set, so that the screen can show it run down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lease {
    /// The event at which it was first observed.
    pub event: usize,
    pub from: LessonTime,
    pub to: LessonTime,
}

impl Lease {
    /// The share that is left at a column between two events, given as columns and times: it runs out evenly between them.
    pub fn share_left(&self, [from, to]: [(u32, LessonTime); 2], column: u32) -> f64 {
        let whole = self.to.since(self.from).as_secs_f64().max(1e-9);
        let at = |moment: LessonTime| (self.to.since(moment).as_secs_f64() / whole).clamp(0.0, 1.0);
        let columns = f64::from(to.0.saturating_sub(from.0).max(1));
        let way = f64::from(column.clamp(from.0, to.0.max(from.0)) - from.0) / columns;
        at(from.1) + (at(to.1) - at(from.1)) * way
    }
}

/// A change of a server's role, decided by the servers themselves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RoleChange {
    Role(Role),
    /// A cluster's master has learnt of a newer epoch: an election is held.
    Epoch(u64),
    /// Whether the cluster of this node serves requests.
    Serves(bool),
    /// What a Sentinel says about the server.
    Sentinel {
        sentinel: String,
        notice: SentinelNotice,
    },
}

#[derive(Debug, Clone, Default)]
pub struct Truth {
    pub server: String,
    pub spans: Vec<Span>,
    pub locks: Vec<String>,
    /// Stretches in which the server is dead.
    pub dead: Vec<Stretch>,
    /// Stretches in which its process is stopped.
    pub frozen: Vec<Stretch>,
    /// The column and the event of its last observation.
    observed: (u32, usize),
    /// Faults of the server or of a link that it opened: the column and the event of each.
    pub faults: Vec<(u32, usize)>,
    /// The first column at which the next fault does not cover the text of the last one.
    pub(crate) fault_room: u32,
    leases: BTreeMap<String, Vec<Lease>>,
    /// The leases of etcd as they were last granted or renewed, by their numbers.
    granted: BTreeMap<i64, Lease>,
    /// Changes of its role, each with its column and its event.
    pub changes: Vec<(u32, usize, RoleChange)>,
    standing: Standing,
}

/// The role of a server when it was last observed.
#[derive(Debug, Clone, Default)]
pub(crate) struct Standing {
    role: Option<Role>,
    /// For a node of a cluster: its epoch, and whether the cluster serves requests.
    cluster: Option<(u64, bool)>,
}

impl Standing {
    /// Takes an observation. Returns what has changed since the last one.
    pub(crate) fn observe(&mut self, observed: &Observed) -> Vec<RoleChange> {
        let role = observed.role();
        let before = std::mem::replace(&mut self.role, role.cloned());
        let other = role.filter(|role| before.as_ref().is_some_and(|before| before != *role));
        let mut changes: Vec<RoleChange> = other.cloned().map(RoleChange::Role).into_iter().collect();
        if let Observed::Redis(Keyspace { cluster: Some(node), .. }) = observed {
            let before = self.cluster.replace((node.current_epoch, node.ok));
            if let Some((epoch, served)) = before {
                let votes = node.current_epoch > epoch && changes.is_empty();
                if votes && role.is_some_and(Role::leads) {
                    changes.push(RoleChange::Epoch(node.current_epoch));
                }
                changes.extend((node.ok != served).then_some(RoleChange::Serves(node.ok)));
            }
        }
        changes
    }
}

/// The lease of etcd that a request was granted or has renewed, given the request and its reply: its number, and how long it
/// lasts.
pub(crate) fn granted(log: &Log, (sent, replied): (usize, usize)) -> Option<(i64, Duration)> {
    let kind = |event: usize| log.events().get(event).map(|event| &event.kind);
    let Some(EventKind::Sent { command: Command::Etcd(call), .. }) = kind(sent) else { return None };
    let Some(EventKind::Replied { reply, .. }) = kind(replied) else { return None };
    let Reply::Value(value) = &**reply else { return None };
    let (number, seconds) = match call {
        EtcdCall::Grant { seconds, .. } => (value.as_i64()?, *seconds),
        EtcdCall::Keepalive { lease } => (*lease, value.as_i64()?),
        _ => return None,
    };
    Some((number, Duration::from_secs(seconds.try_into().ok()?)))
}

/// Whether a key looks like a lock: it has a TTL, or its name says so. The name does not count for values with several
/// members, such as the queue of waiting clients, because no single one holds them.
pub fn is_lock_key(name: &str, state: &KeyState) -> bool {
    let has_members = !matches!(state.value, KeyValue::String(_) | KeyValue::Hash(_));
    state.expires_at.is_some() || (!has_members && is_lock_name(name))
}

fn is_lock_name(name: &str) -> bool {
    name.to_ascii_lowercase().contains("lock")
}

impl Truth {
    pub(crate) fn new(server: &str) -> Self {
        Self { server: server.to_owned(), ..Self::default() }
    }

    /// The lease of a key that was in force at `moment`, as far as the first `position` events tell.
    pub fn lease_at(&self, key: &str, moment: LessonTime, position: usize) -> Option<Lease> {
        let leases = self.leases.get(key)?;
        let known = leases.partition_point(|lease| lease.event < position && lease.from <= moment);
        known.checked_sub(1).map(|n| leases[n])
    }

    /// The last span of a lock that began before an event.
    pub(crate) fn last_held(&self, lock: &str, end: usize) -> Option<&Span> {
        let known = self.spans.partition_point(|span| span.from.1 < end);
        let mut newest = self.spans[..known].iter().rev().take(OPEN);
        newest.find(|span| span.about == About::Lock && span.lock == lock)
    }

    /// The newest spans of locks, the last one first.
    pub(crate) fn newest(&self) -> impl Iterator<Item = &Span> {
        self.spans.iter().rev().take(OPEN).filter(|span| span.about == About::Lock)
    }

    /// The locks that are held now, with their owners.
    pub(crate) fn held(&self) -> impl Iterator<Item = (&str, Owner)> {
        let open = self.spans.iter().rev().take(OPEN).filter(|span| span.to.is_none());
        open.filter(|span| span.about == About::Lock)
            .flat_map(|span| span.holders().filter_map(|(owner, _)| Some((span.lock.as_str(), owner?))))
    }

    /// The keys that are no locks, and all rows, with their current values.
    pub(crate) fn values(&self) -> impl Iterator<Item = (&str, &str)> {
        let open = self.spans.iter().rev().take(OPEN).filter(|span| span.to.is_none());
        let is_row =
            |span: &Span| matches!(span.owner, Some(Owner::Session(_))) && !span.token.holder.is_empty();
        open.filter(move |span| span.about == About::Value || is_row(span))
            .map(|span| (span.lock.as_str(), span.token.holder.as_str()))
    }

    pub(crate) fn fault(&mut self, fault: &Fault, here: (u32, usize)) {
        self.faults.push(here);
        match fault.leaves() {
            Condition::Restarted => self.revive(here),
            Condition::Frozen => self.frozen.push((here, None)),
            Condition::Running => self.thaw(here),
            _ => {}
        }
        // The glyph, and a space on each side of the text.
        let columns = text::width(&fault::mark(fault)) + 3;
        self.fault_room = here.0 + u32::try_from(columns).unwrap_or_default();
    }

    /// Takes a Sentinel's decision about the server: that it is down, or that it becomes the master. Repetitions of the
    /// same decision by other Sentinels add nothing.
    pub(crate) fn hear(&mut self, (x, event): (u32, usize), sentinel: &str, notice: &SentinelNotice) {
        let before = self.changes.iter().rev().find_map(|(.., change)| match change {
            RoleChange::Sentinel { notice, .. } => Some(notice),
            _ => None,
        });
        let kind = std::mem::discriminant(notice);
        if notice.decides() && before.is_none_or(|before| std::mem::discriminant(before) != kind) {
            let change = RoleChange::Sentinel { sentinel: sentinel.to_owned(), notice: notice.clone() };
            self.changes.push((x, event, change));
        }
    }

    fn thaw(&mut self, here: (u32, usize)) {
        if let Some((_, to)) = self.frozen.last_mut() {
            to.get_or_insert(here);
        }
    }

    pub(crate) fn end(&mut self, x: u32, event: usize) {
        self.thaw((x, event));
        for span in self.spans.iter_mut().filter(|span| span.to.is_none()) {
            span.to = Some((x, event));
        }
        if self.dead.last().is_none_or(|(_, to)| to.is_some()) {
            self.dead.push(((x, event), None));
        }
    }

    /// Ends the stretch in which the server was dead.
    fn revive(&mut self, here: (u32, usize)) {
        if let Some((_, to)) = self.dead.last_mut() {
            to.get_or_insert(here);
        }
    }

    /// Takes what the server was observed to hold. `columns` are those of all events up to this one.
    pub(crate) fn observe(
        &mut self,
        log: &Log,
        event: usize,
        (columns, sessions): (&[u32], &Sessions),
        observed: &Observed,
    ) {
        let x = columns[event];
        let changes = self.standing.observe(observed);
        self.changes.extend(changes.into_iter().map(|change| (x, event, change)));
        self.revive((x, event));
        let (held, values) = self.contents(log, event, sessions, observed);
        // The writer holds the lock from the reply on, even if the server was observed much later.
        let replied = |holders: &[Holder]| holders.iter().filter_map(|holder| holder.since).max();
        let (seen, looked) = self.observed;
        let begins = |holders: &[Holder]| replied(holders).map_or(x, |reply| columns[reply]).clamp(seen, x);
        if let Observed::Redis(space) = observed {
            for (name, key) in &space.keys {
                let written = held.get(name).and_then(|holders| replied(holders));
                let from = log.events()[written.filter(|reply| *reply > looked).unwrap_or(event)].at;
                if let Some(to) = key.expires_at {
                    self.renew(name, Lease { event, from, to });
                }
            }
        }
        if matches!(observed, Observed::Etcd(_)) {
            for (lock, lease) in observed.owned() {
                // What was granted to the next holder does not count for the last one.
                if let Some(lease) = self.granted.get(&lease) {
                    self.renew(&lock, Lease { event, ..*lease });
                }
            }
        }
        let mut let_go: BTreeMap<String, u32> = BTreeMap::new();
        for span in self.spans.iter_mut().filter(|span| span.to.is_none()) {
            let holders = held.get(&span.lock);
            let is_same = |holders: &Vec<Holder>| {
                let now = holders.iter().map(|holder| (holder.owner, &holder.token));
                span.holders().eq(now)
            };
            if !holders.is_some_and(is_same) {
                let next = holders.map_or(x, |holders| begins(holders));
                // etcd deletes keys up to half a second after their lease has ended.
                let leases = self.leases.get(&span.lock).filter(|_| matches!(observed, Observed::Redis(_)));
                let ran_out = leases.and_then(|leases| {
                    let last = leases.iter().rev().find(|lease| lease.event < event)?;
                    column_of(log, &columns[looked..=event], looked, last.to)
                });
                let owner = span.owner.and_then(|owner| sessions.actor(owner, event));
                let told = released(log, looked + 1..event, (&span.lock, owner)).map(|told| columns[told]);
                let_go.extend(told.map(|told| (span.lock.clone(), told)));
                // The column in which it ends is still its own.
                let ends = ran_out.or(told).map_or(next, |end| end.saturating_add(1).min(next));
                span.to = Some((ends.max(span.from.0), event));
            }
        }
        let mut new: Vec<Span> = Vec::new();
        for (lock, holders) in held {
            if self.spans.iter().rev().any(|span| span.to.is_none() && span.lock == lock) {
                continue;
            }
            let about = if values.contains(&lock) { About::Value } else { About::Lock };
            // A table may have many rows; only rows that are locked or change get a line.
            let stands = about == About::Value && matches!(observed, Observed::Mariadb(_));
            let stands = stands && !self.spans.iter().any(|span| span.lock == lock);
            if !stands && !self.locks.contains(&lock) {
                self.locks.push(lock.clone());
            }
            // Whoever stands next in a queue, or waits for a row, has it as soon as the last holder lets go.
            let next = let_go.get(&lock).filter(|_| replied(&holders).is_none() && about == About::Lock);
            let from = (next.map_or_else(|| begins(&holders), |told| *told.min(&x)), event);
            let mut holders = holders.into_iter().map(|holder| (holder.owner, holder.token));
            let Some((owner, token)) = holders.next() else { continue };
            new.push(Span { about, lock, owner, token, others: holders.collect(), from, to: None });
        }
        // Searches by column need them sorted.
        new.sort_by_key(|span| span.from);
        self.spans.extend(new);
        self.observed = (x, event);
    }

    /// The locks and values that the server holds, with their holders, and which of them are values.
    fn contents(
        &self,
        log: &Log,
        event: usize,
        sessions: &Sessions,
        observed: &Observed,
    ) -> (BTreeMap<String, Vec<Holder>>, BTreeSet<String>) {
        let mut values: BTreeSet<String> = BTreeSet::new();
        let held: BTreeMap<String, Vec<Holder>> = match observed {
            Observed::Redis(space) => {
                let shown = space.keys.iter().filter_map(|(name, key)| {
                    let tokens = key.value.holders().into_iter().map(Token::of);
                    if is_lock_key(name, key) && !counts(name, key) {
                        let holder = |token| self.holder(log, event, name, token);
                        let mut holders: Vec<Holder> = tokens.map(holder).collect();
                        if holders.is_empty() {
                            holders.push(Holder::nobody(Token::default()));
                        }
                        return Some((name.clone(), holders));
                    }
                    if key.expires_at.is_none() {
                        values.insert(name.clone());
                    }
                    let is_text = matches!(key.value, KeyValue::String(_));
                    is_text.then(|| (name.clone(), tokens.map(Holder::nobody).collect()))
                });
                shown.collect()
            }
            Observed::Mariadb(tables) => {
                let shown = tables.rows.iter().map(|(name, row)| {
                    if row.owner.is_none() {
                        values.insert(name.clone());
                    }
                    let token = Token { holder: Entry::Row(row).text().into_owned(), times: None };
                    let first = Holder { owner: row.owner.map(Owner::Session), token, since: None };
                    let others = row.sharing.iter().map(|session| {
                        let owner = Some(Owner::Session(*session));
                        Holder { owner, token: Token::default(), since: None }
                    });
                    (name.clone(), std::iter::once(first).chain(others).collect())
                });
                shown.collect()
            }
            other => {
                // An entry without a session belongs to the actor that wrote it, like a key of Redis.
                let unowned = other.unowned().into_iter().filter_map(|(name, value)| {
                    let token = Token { holder: value.to_owned(), times: None };
                    if !is_lock_name(&name) {
                        values.insert(name.clone());
                        return Some((name, vec![Holder::nobody(token)]));
                    }
                    let holder = self.holder(log, event, &name, token);
                    holder.owner.is_some().then(|| (name, vec![holder]))
                });
                let owned = other.owned().into_iter().map(|(lock, session)| {
                    let owner = Owner::Session(session);
                    let creator = sessions.actor(owner, event);
                    let since = creator.and_then(|creator| created(log, event, creator, &lock));
                    // A node that was seen before did not get its turn by being created.
                    let since = since.filter(|reply| *reply > self.observed.1);
                    (lock, vec![Holder { owner: Some(owner), token: Token::default(), since }])
                });
                unowned.chain(owned).collect()
            }
        };
        (held, values)
    }

    /// Notes that a lease of etcd was granted or renewed: its number, and its new time.
    pub(crate) fn grant(&mut self, number: i64, lease: Lease) {
        self.granted.insert(number, lease);
        let its: Vec<String> = self
            .held()
            .filter(|(_, owner)| *owner == Owner::Session(number))
            .map(|(lock, _)| lock.to_owned())
            .collect();
        for lock in its {
            self.renew(&lock, lease);
        }
    }

    fn renew(&mut self, name: &str, new: Lease) {
        let leases = self.leases.entry(name.to_owned()).or_default();
        match leases.last().copied() {
            Some(last) if last.to == new.to => {}
            // The next holder's lease may have been renewed before the last holder's; they stay in order.
            Some(last) => {
                let (event, from) = (new.event.max(last.event), new.from.max(last.from));
                leases.push(Lease { event, from, ..new });
            }
            None => leases.push(new),
        }
    }

    /// Finds the owner of a key. While the key names the same holder, the owner stays; otherwise it is the actor of the
    /// newest command that names both key and value and was not refused.
    fn holder(&self, log: &Log, event: usize, name: &str, token: Token) -> Holder {
        let open = self.spans.iter().rev().find(|span| span.to.is_none() && span.lock == name);
        let known = open.and_then(|span| span.holders().find(|(_, before)| before.holder == token.holder));
        if let Some((owner, _)) = known {
            return Holder { owner, token, since: None };
        }
        let is_own = |name: &str| token.holder.rsplit(':').next() == Some(name);
        let mut replies: Vec<(OpId, usize, &Reply)> = Vec::new();
        let start = event.saturating_sub(LOOK_BACK);
        let written =
            log.events()[start..event].iter().enumerate().rev().find_map(|(n, event)| match &event.kind {
                EventKind::Replied { op, reply, .. } => {
                    replies.push((*op, start + n, reply));
                    None
                }
                EventKind::Sent { op, actor, command, server, .. } => {
                    let names = |text: &str| command.arguments().any(|word| word.contains(text));
                    let reply = replies.iter().find(|(of, ..)| of == op);
                    let refused = reply.is_some_and(|(_, _, reply)| is_refusal(reply, command));
                    // A script may put a prefix of its own before the name it is given: `w:W`.
                    let owns = names(&token.holder)
                        || command.arguments().any(|word| is_own(word) && word.len() < token.holder.len());
                    // A replica gets the key later than its master replies, so only the replying server's reply counts.
                    let since = reply.filter(|_| *server == self.server).map(|(_, reply, _)| *reply);
                    (!refused && names(name) && owns).then_some((Owner::Actor(*actor), since))
                }
                _ => None,
            });
        let (owner, since) = written.unzip();
        Holder { owner, token, since: since.flatten() }
    }
}

/// A holder of a lock at an observation.
struct Holder {
    owner: Option<Owner>,
    token: Token,
    /// The reply to the command that took the lock, if known.
    since: Option<usize>,
}

impl Holder {
    fn nobody(token: Token) -> Self {
        Self { owner: None, token, since: None }
    }
}

/// The reply to the newest recent command with which an actor created a lock's node or key.
fn created(log: &Log, event: usize, creator: ActorId, lock: &str) -> Option<usize> {
    let mut replies: Vec<(OpId, usize)> = Vec::new();
    let start = event.saturating_sub(LOOK_BACK);
    log.events()[start..event].iter().enumerate().rev().find_map(|(n, event)| match &event.kind {
        EventKind::Replied { op, actor, reply, .. } if *actor == creator => {
            replies.extend(reply.is_value().then_some((*op, start + n)));
            None
        }
        EventKind::Sent { op, actor, command, .. } if *actor == creator => {
            let (name, access, _) = command.access()?;
            let (_, reply) = replies.iter().find(|(of, _)| of == op)?;
            let is_its = name.strip_prefix(lock).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
            (access == Access::Set && is_its).then_some(*reply)
        }
        _ => None,
    })
}

/// The last of these events that tells that an owner's lock is free: the reply to the command with which the owner gave it
/// back, or a notification that its node or key is gone.
fn released(log: &Log, within: Range<usize>, (lock, owner): (&str, Option<ActorId>)) -> Option<usize> {
    let is_its =
        |name: &str| name.strip_prefix(lock).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    let gives_back = |command: &Command| {
        let ends = command.leaves().is_some_and(|(_, begins)| !begins);
        let deletes =
            || command.access().is_some_and(|(name, access, _)| access == Access::Deleted && is_its(name));
        ends || deletes() || command.is_redis("DEL") && command.names(lock)
    };
    let mut replies: Vec<(OpId, usize)> = Vec::new();
    let start = within.start.saturating_sub(LOOK_BACK);
    log.events().get(start..within.end)?.iter().enumerate().rev().find_map(|(n, event)| match &event.kind {
        EventKind::Notified { about, what, .. } if within.contains(&(start + n)) => {
            (is_its(about) && ["NodeDeleted", "DELETE"].contains(&what.as_str())).then_some(start + n)
        }
        EventKind::Replied { op, actor, reply, .. }
            if Some(*actor) == owner && within.contains(&(start + n)) =>
        {
            replies.extend(reply.is_value().then_some((*op, start + n)));
            None
        }
        EventKind::Sent { op, command, .. } => {
            let (_, reply) = replies.iter().find(|(of, _)| of == op)?;
            gives_back(command).then_some(*reply)
        }
        _ => None,
    })
}

/// Whether a key with a TTL holds a count, such as a semaphore's permits, and not the name of a holder.
fn counts(name: &str, state: &KeyState) -> bool {
    matches!(&state.value, KeyValue::String(value) if value.parse::<i64>().is_ok()) && !is_lock_name(name)
}

/// The column of a moment between the events from `first` on, of which these are the columns; `None` if the moment comes
/// before or after them.
fn column_of(log: &Log, columns: &[u32], first: usize, moment: LessonTime) -> Option<u32> {
    let at = |n: usize| log.events()[first + n].at;
    let next = (0..columns.len()).find(|n| at(*n) >= moment)?;
    let before = next.checked_sub(1)?;
    let (part, whole) = (moment.since(at(before)).as_nanos(), at(next).since(at(before)).as_nanos().max(1));
    let way = u128::from(columns[next].saturating_sub(columns[before])) * part / whole;
    Some(columns[before].saturating_add(u32::try_from(way).unwrap_or(u32::MAX)))
}

/// Whether a reply says that the command wrote nothing: `nil`, `0` and errors. A script defines its own replies:
/// Redisson's scripts return nil when they have taken the lock.
fn is_refusal(reply: &Reply, command: &Command) -> bool {
    match (reply, command) {
        (Reply::Value(_), Command::Redis(_)) => !effect::was_done(command, reply),
        (Reply::Value(value), Command::Script { .. }) => value == 0,
        (Reply::Value(value), _) => value == 0 || value.is_null(),
        (Reply::Error { .. }, _) => true,
        (Reply::Lost(_), _) => false,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{About, Owner, Span};
    use crate::{
        lesson::{Library, Params, Scenario},
        log::{Access, ActorId, Event, EventKind, Log},
        recording::carried,
        ui::chart::{Chart, Detail},
    };

    fn chart(lesson: &str, variant: &str) -> (Chart, Log) {
        let library = Library::carried();
        let loaded = library.find(lesson).expect("a lesson");
        let scenario = Scenario::plan(loaded, variant, &Params::new()).expect("a variant");
        let log = carried::open(&scenario).expect("a recording").log;
        let mut chart = Chart::new(Detail::fitting(120));
        chart.advance(&log);
        (chart, log)
    }

    #[test]
    fn readers_who_share_a_key_are_all_its_holders() {
        let (chart, _) = chart("read-write-lock", "many-readers");
        let shared = chart.truths[0].spans.iter().filter(|span| span.holders().count() == 2);
        let owners = shared.map(|span| span.holders().filter(|(owner, _)| owner.is_some()).count());
        assert!(owners.clone().count() > 0 && owners.clone().all(|owners| owners == 2));
    }

    #[test]
    fn a_counter_with_a_ttl_has_a_lease_but_no_owner() {
        let (chart, _) = chart("permit-expirable-semaphore", "one-expiry");
        let spans = &chart.truths[0].spans;
        let mut permits =
            spans.iter().filter(|span| span.lock == "permits" && span.about == About::Lock).peekable();
        assert!(permits.peek().is_some() && permits.all(|span| span.owner.is_none()));
    }

    #[test]
    fn a_server_is_frozen_until_it_is_thawed() {
        let (chart, _) = chart("cluster-is-not-safer", "frozen-master");
        let [(from, Some(to))] = chart.truths[0].frozen[..] else { panic!("{:?}", chart.truths[0].frozen) };
        assert!(from.0 < to.0 && from.1 < to.1);
    }

    #[test]
    fn a_holder_begins_at_its_reply_even_if_observed_later() {
        let (at_once, log) = chart("redis-semaphore", "no-refresh");
        let its = |span: &&Span| span.owner == Some(Owner::Actor(ActorId(1)));
        let observed = at_once.truths[0].spans.iter().find(its).expect("B has had it").from.1;
        // The same, with the observation a little later.
        let mut late = log.prefix(observed);
        late.extend(
            log.events()[observed..]
                .iter()
                .cloned()
                .map(|event| Event { at: event.at + Duration::from_millis(5), ..event }),
        );
        let (mut chart, log) = (Chart::new(Detail::fitting(120)), late);
        chart.advance(&log);
        let span = chart.truths[0].spans.iter().find(its).expect("B has had it");
        let reply = log.events()[..span.from.1]
            .iter()
            .rposition(|event| matches!(event.kind, EventKind::Replied { .. }))
            .expect("it was answered");
        assert_eq!(span.from.0, chart.column(reply));
        assert!(span.from.0 < chart.column(span.from.1), "it was looked later");
    }

    #[test]
    fn the_creator_of_a_node_holds_it_from_the_reply_on() {
        let (chart, log) = chart("zk-leader-failover", "works-on");
        let created = log.events().iter().rposition(|event| match &event.kind {
            EventKind::Replied { actor, label, .. } => *actor == ActorId(1) && label == "create",
            _ => false,
        });
        let created = chart.column(created.expect("B has created it"));
        let told = log.events().iter().position(
            |event| matches!(&event.kind, EventKind::Notified { what, .. } if what == "NodeDeleted"),
        );
        let gone = chart.column(told.expect("B was told that A's node is gone")) + 1;
        for truth in &chart.truths {
            let [first, second] = &truth.spans[..] else { panic!("{:?}", truth.spans) };
            let changed = (first.to.map(|to| to.0), second.from.0);
            assert_eq!(changed, (Some(gone), created), "{}", truth.server);
        }
    }

    #[test]
    fn an_entry_without_a_session_stays_with_its_dead_creator() {
        for (lesson, variant, lock) in
            [("zk-persistent-deadlock", "persistent", "/lock"), ("etcd-lease", "plain-key", "lock")]
        {
            let (chart, _) = chart(lesson, variant);
            let held: Vec<_> = chart.truths[0].held().collect();
            let [(name, Owner::Actor(creator))] = held[..] else { panic!("{lesson}: {held:?}") };
            assert_eq!((name, creator.0), (lock, 0), "{lesson}");
        }
    }

    #[test]
    fn a_lease_that_runs_out_between_two_looks_leaves_nobody_until_the_next_holder() {
        let (chart, _) = chart("redis-py-lock", "frozen-holder");
        let [first, second, ..] = &chart.truths[0].spans[..] else { panic!("{:?}", chart.truths[0].spans) };
        let end = first.to.expect("it ended").0;
        assert!(first.from.0 < end && end < second.from.0, "{first:?} {second:?}");
    }

    #[test]
    fn a_lock_that_is_refused_with_its_holder_is_not_held_from_then_on() {
        let (chart, log) = chart("lost-reply", "read-back");
        let b = Owner::Actor(ActorId(1));
        let span = chart.truths[0].spans.iter().find(|span| span.owner == Some(b)).expect("B gets it");
        let answered = log.events()[..span.from.1].iter().rposition(
            |event| matches!(&event.kind, EventKind::Replied { actor, .. } if *actor == ActorId(1)),
        );
        assert_eq!(span.from.0, chart.column(answered.expect("it was answered")));
    }

    #[test]
    fn nobody_in_the_queue_has_a_turn_before_the_first_has_left() {
        let (chart, log) = chart("zk-notified-is-not-granted", "gone-already");
        let [first, second, ..] = &chart.truths[0].spans[..] else { panic!("{:?}", chart.truths[0].spans) };
        let deleted = log.events().iter().position(|event| match &event.kind {
            EventKind::Sent { actor, command, .. } => {
                *actor == ActorId(0)
                    && command.access().is_some_and(|(_, access, _)| access == Access::Deleted)
            }
            _ => false,
        });
        let deleted = chart.column(deleted.expect("A deletes its node"));
        assert!(first.from.0 < deleted && second.from.0 >= deleted, "{first:?} {second:?}");
    }
}
