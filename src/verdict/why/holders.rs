//! Why two actors held one lock: how the first holder lost its claim on the server before the second got the lock.

use super::{
    Cause, Why,
    case::{Case, keyspace, writes},
    entries, words,
};
use crate::{
    clock::LessonTime,
    log::{
        ActorId, Belief, Command, Condition, EventKind, Fault, KeyState, KeyValue, Keyspace, Observed, Role,
    },
    verdict::Breach,
    world::effect::{Access, Effect, lease},
};

pub(crate) fn explain(case: &Case<'_>, breach: &Breach) -> Option<Why> {
    let holder = |event: usize| match case.kind(event)? {
        EventKind::Believes { actor, lock, .. } => Some((event, *actor, lock)),
        _ => None,
    };
    // The invariant may be about several locks; this is the broken one.
    let (_, second, lock) = holder(breach.at)?;
    // The holder nearest to the breach comes first.
    let others = breach.evidence.iter().rev().filter_map(|event| {
        let (believed, first, _) = holder(*event)?;
        (first != second).then_some(Pair {
            case,
            lock,
            first: (first, believed),
            second: (second, breach.at),
        })
    });
    let pairs: Vec<_> = others.collect();
    // Of several holders, the one whose key the last one took tells more than another whose lease is over, too.
    let same_key = pairs.iter().find_map(|pair| pair.loss(true));
    same_key
        .or_else(|| pairs.iter().find_map(Pair::explain))
        .or_else(|| pairs.iter().find_map(|pair| pair.taken_out(false)))
        .or_else(|| pairs.iter().find_map(|pair| pair.taken_out(true)))
        .or_else(|| not_refused(&pairs))
        .or_else(|| pairs.iter().find_map(Pair::exec_was_refused))
}

/// Everything that the other holders had set for the lock existed when the last one got it.
fn not_refused(pairs: &[Pair<'_, '_>]) -> Option<Why> {
    let mut kept: Vec<(&Effect, &Effect)> = pairs.iter().map(Pair::kept).collect::<Option<_>>()?;
    kept.sort_unstable_by_key(|(set, _)| set.sent);
    let ((first, granted), Pair { case, second, .. }) = (kept.first()?, pairs.first()?);
    let holders: Vec<&Effect> = kept.iter().map(|(set, _)| *set).collect();
    let text = words::not_refused(case, &holders, granted);
    Some(Why::new(Cause::NotRefused, [first.sent, granted.sent, second.1], text))
}

/// Two holders, each with the event in which it came to believe that it holds the lock.
struct Pair<'c, 'a> {
    case: &'c Case<'a>,
    lock: &'c str,
    first: (ActorId, usize),
    second: (ActorId, usize),
}

impl Pair<'_, '_> {
    fn explain(&self) -> Option<Why> {
        let swapped = Pair { first: self.second, second: self.first, ..*self };
        self.mutex()
            .or_else(|| self.loss(false))
            // With a majority of servers each server is asked at another time: the one that got a key first may have
            // come to believe last.
            .or_else(|| swapped.loss(true))
            .or_else(|| self.looked_too_early())
    }

    /// The first holder had lost the lock before the second got it; with `only_same`, only on a server on which both
    /// have set the same key.
    fn loss(&self, only_same: bool) -> Option<Why> {
        let mine = self.settings(self.first);
        let theirs = self.settings(self.second);
        let same =
            |mine: &&&Effect| theirs.iter().any(|other| other.key == mine.key && other.server == mine.server);
        // If both have set the same key of the same server, that is where the first holder lost it. A key that the second
        // never asked about has not kept it out.
        let others = mine.iter().filter(|mine| !only_same && !same(mine) && self.asked_about(&mine.key));
        let in_order = mine.iter().filter(|mine| same(mine)).chain(others);
        for set in in_order {
            let mut others = theirs.iter().rev();
            let there = others.find(|other| other.key == set.key && other.server == set.server);
            let granted =
                there.or_else(|| theirs.iter().rev().find(|other| other.key == set.key)).or(theirs.last())?;
            // In a queue each holder has a key of its own, and the second got the lock when it saw that the first one's
            // was gone.
            let turn = (granted.key != set.key).then(|| self.last_request(granted));
            let granted = turn.as_ref().unwrap_or(granted);
            if granted.key == set.key && granted.sent < set.sent && set.replied < granted.replied {
                // The second to believe had asked first, but its reply was delayed, or its server was frozen and
                // replaced meanwhile.
                let places = [granted.sent, set.sent, granted.replied];
                let text =
                    words::granted(self.case, Cause::LateReply, set.sent, (set, granted), self.first.1);
                return Some(Why::new(Cause::LateReply, places, text));
            }
            if !self.case.before(set, granted) {
                continue;
            }
            let loss = Loss { case: self.case, set, granted, believed: self.first.1 };
            if let Some((kind, between)) = loss.reason() {
                if kind == Cause::LetGo
                    && let Some(why) = loss.misled(between)
                {
                    return Some(why);
                }
                let text = words::granted(self.case, kind, between, (set, granted), self.first.1);
                return Some(Why::new(kind, [set.sent, between, granted.sent], text));
            }
        }
        None
    }

    /// Whether the second holder has sent a command about a key of Redis before it believed. Queues on other servers are
    /// asked about as a whole.
    fn asked_about(&self, key: &str) -> bool {
        let (actor, believed) = self.second;
        self.case.events[..believed].iter().any(|event| match &event.kind {
            EventKind::Sent { actor: known, command, .. } if *known == actor => match command {
                Command::Redis(_) | Command::Script { .. } => command.names(key),
                _ => true,
            },
            _ => false,
        })
    }

    /// The settings of the first holder, each with the command by which the second got the same key.
    fn granted_on_the_same_keys(&self) -> Vec<(&Effect, &Effect)> {
        let theirs = self.settings(self.second);
        let pairs = self.settings(self.first).into_iter().filter_map(|set| {
            let same = |other: &&&Effect| other.key == set.key && other.server == set.server;
            let granted = theirs.iter().rev().find(same)?;
            self.case.before(set, granted).then_some((set, *granted))
        });
        pairs.collect()
    }

    /// The first holder's entry in a collection was removed before the second got the lock: before it entered, or (`late`)
    /// between that and its last request, by which it saw that it was alone.
    fn taken_out(&self, late: bool) -> Option<Why> {
        let mut pairs = self.granted_on_the_same_keys().into_iter();
        pairs.find_map(|(set, granted)| {
            let last = late.then(|| self.last_request(granted));
            self.taken_out_of((set, last.as_ref().unwrap_or(granted)))
        })
    }

    fn taken_out_of(&self, (set, granted): (&Effect, &Effect)) -> Option<Why> {
        let taken = entries::taken_out(self.case, set, granted.replied)?;
        let actor = self.case.sender(taken)?;
        let kind = if self.case.same_client(actor, set.actor) { Cause::LetGo } else { Cause::Deleted };
        if taken == granted.sent {
            let text = words::taken_over(self.case, set, granted);
            return Some(Why::new(kind, [set.sent, taken, self.second.1], text));
        }
        // Before the first holder believed in its lock, a removal of its own entry is no loss.
        let late = kind == Cause::Deleted || taken > self.first.1;
        late.then(|| {
            let text = words::taken_out(self.case, taken, (set, granted));
            Why::new(kind, [set.sent, taken, granted.sent], text)
        })
    }

    /// A setting of the first holder that still existed when the second asked, and the command by which the second got
    /// the lock.
    fn kept(&self) -> Option<(&Effect, &Effect)> {
        let mut pairs = self.granted_on_the_same_keys().into_iter();
        pairs.find(|(set, granted)| entries::is_kept(self.case, set, granted))
    }

    /// One of the two relied on an earlier read, and the other took the lock after that.
    fn looked_too_early(&self) -> Option<Why> {
        let sides = [(self.second, self.first), (self.first, self.second)];
        sides.into_iter().find_map(|((actor, believed), (other, _))| {
            let effects = || self.case.effects.iter().rev();
            let enters = |effect: &Effect| matches!(effect.access, Access::Set | Access::Changed);
            let act = effects()
                .find(|effect| effect.actor == actor && enters(effect) && effect.replied < believed)?;
            let look = effects().find(|effect| {
                effect.actor == actor
                    && effect.access == Access::Read
                    && effect.replied < act.sent
                    && self.case.is_relied_on(effect)
            })?;
            let wrote = self.case.touched(&look.key).any(|effect| {
                writes(effect) && effect.actor == actor && effect.sent > look.sent && effect.sent < act.sent
            });
            // What it read in an earlier try says nothing of this one.
            if wrote || self.looks_again(act, &look.key) {
                return None;
            }
            let between = effects().find(|effect| {
                effect.actor == other
                    && enters(effect)
                    && effect.key == look.key
                    && effect.server == look.server
                    && self.case.before(look, effect)
                    && self.case.before(effect, act)
            })?;
            let text = words::unknown_to(self.case, Cause::CheckThenAct, (look, between, act));
            Some(Why::new(Cause::CheckThenAct, [look.sent, between.sent, act.sent], text))
        })
    }

    /// One of the two believes although its transaction was refused.
    fn exec_was_refused(&self) -> Option<Why> {
        [self.second, self.first].into_iter().find_map(|(actor, believed)| {
            let (last, _) = self.case.last_sent(actor, believed)?;
            self.case.refused_exec(actor, believed).filter(|why| why.second > last)
        })
    }

    /// Whether a command checks a key again in the same step in which it writes, as a script may and `NX` does.
    fn looks_again(&self, act: &Effect, key: &str) -> bool {
        match self.case.sent(act.command_sent) {
            Some(Command::Redis(words)) => {
                let conditional =
                    |word: &String| ["NX", "SETNX"].iter().any(|nx| word.eq_ignore_ascii_case(nx));
                act.key == key && words.iter().any(conditional)
            }
            _ => self.case.touched(key).any(|effect| effect.sent == act.sent),
        }
    }

    /// The last request of the second holder before it came to believe, instead of the one by which it queued.
    fn last_request(&self, queued: &Effect) -> Effect {
        let (actor, believed) = self.second;
        let is_its = |n: &usize| self.case.sender(*n) == Some(actor);
        let sent = (queued.sent..believed).rev().find(is_its).unwrap_or(queued.sent);
        Effect { sent, command_sent: sent, replied: believed, ..queued.clone() }
    }

    /// What an actor had set for the lock when it came to believe: everything since it last believed that it does not
    /// hold it.
    fn settings(&self, (actor, believed): (ActorId, usize)) -> Vec<&Effect> {
        let none = |kind: &EventKind| {
            matches!(kind, EventKind::Believes { actor: known, lock, belief: Belief::Nothing }
                if *known == actor && lock == self.lock)
        };
        let events = &self.case.events[..believed];
        let since = events.iter().rposition(|event| none(&event.kind)).unwrap_or(0);
        let done = |access| {
            let effects = self.case.effects.iter();
            effects.filter(move |effect| {
                effect.actor == actor
                    && effect.access == access
                    && effect.sent >= since
                    && effect.replied < believed
            })
        };
        let mut settings: Vec<&Effect> = done(Access::Set).collect();
        // Changes of a hash, a set or a counter: the last one of each key.
        for changed in done(Access::Changed).rev() {
            if !settings.iter().any(|known| known.key == changed.key && known.server == changed.server) {
                settings.push(changed);
            }
        }
        settings
    }

    /// Two processes have each locked a mutex of their own, or a file of their own machine.
    fn mutex(&self) -> Option<Why> {
        let locked = |(actor, believed): (ActorId, usize)| {
            let (sent, _) = self.case.last_sent(actor, believed)?;
            match self.case.sent(sent)? {
                command @ (Command::Local { .. } | Command::Flock { .. }) => Some((sent, command)),
                _ => None,
            }
        };
        let (mut one, mut other) =
            ((self.first.0, locked(self.first)?), (self.second.0, locked(self.second)?));
        // Of two calls in flight at once, the later may have returned first.
        if one.1.0 > other.1.0 {
            std::mem::swap(&mut one, &mut other);
        }
        let ((holder, (first, locked)), (next, (between, too))) = (one, other);
        let apart = match (locked, too) {
            (Command::Local { .. }, _) => locked == too && !self.case.same_client(holder, next),
            (Command::Flock { path, .. }, Command::Flock { path: other, .. }) => path != other,
            _ => false,
        };
        apart.then(|| {
            let text =
                words::other_process(self.case, (first, between), matches!(locked, Command::Flock { .. }));
            Why::new(Cause::OtherProcess, [first, between, self.second.1], text)
        })
    }
}

/// What the first holder had set, and the command that granted the lock to the next one.
struct Loss<'c, 'a> {
    case: &'c Case<'a>,
    set: &'c Effect,
    granted: &'c Effect,
    /// The event in which the first holder came to believe that it held the lock.
    believed: usize,
}

impl Loss<'_, '_> {
    /// How the lock was lost, and the event of the loss.
    fn reason(&self) -> Option<(Cause, usize)> {
        let deleted = self.deletion(false).map(|deletion| (Cause::Deleted, deletion.sent));
        // A deletion before it believed was that of its place in a queue.
        let let_go = || {
            let deletion = self.deletion(true).filter(|deletion| deletion.sent > self.believed)?;
            Some((Cause::LetGo, deletion.sent))
        };
        deleted
            .or_else(let_go)
            .or_else(|| self.clock_set().map(|event| (Cause::ClockSet, event)))
            .or_else(|| self.time())
            .or_else(|| self.elsewhere().map(|event| (Cause::Failover, event)))
            .or_else(|| self.restart().map(|event| (Cause::Restarted, event)))
    }

    /// The holder gave its lock up after another client had deleted a key by which it decided that, such as the count of
    /// its entries.
    fn misled(&self, let_go: usize) -> Option<Why> {
        let case = self.case;
        let is_own = |effect: &Effect| case.same_client(effect.actor, self.set.actor);
        let (asked, _) = case.last_sent(case.sender(let_go)?, let_go)?;
        let asked = case.effects.iter().find(|effect| effect.sent == asked && effect.key != self.set.key)?;
        let foreign = case.touched(&asked.key).rev().find(|effect| {
            effect.access == Access::Deleted
                && effect.server == asked.server
                && !is_own(effect)
                && case.before(self.set, effect)
                && case.before(effect, asked)
        })?;
        let mut own = case.touched(&asked.key).rev().filter(|effect| writes(effect) && is_own(effect));
        let mine = own.find(|effect| case.before(self.set, effect) && case.before(effect, foreign))?;
        let text = words::interfered(case, mine, foreign);
        Some(Why::new(Cause::Interfered, [mine.sent, foreign.sent, let_go], text))
    }

    /// The last deletion of the lock, by its holder or by another client.
    fn deletion(&self, own: bool) -> Option<&Effect> {
        let mut done = self.case.touched(&self.set.key).rev();
        done.find(|effect| {
            effect.access == Access::Deleted
                && effect.server == self.set.server
                && self.case.same_client(effect.actor, self.set.actor) == own
                && self.case.before(self.set, effect)
                && self.case.before(effect, self.granted)
                && !self.case.is_granted_by(effect)
        })
    }

    fn let_go(&self) -> bool {
        self.deletion(true).is_some()
    }

    /// The end of its time: the lease of a key, or the session that owned it.
    fn time(&self) -> Option<(Cause, usize)> {
        let (seen, crashed) = self.seen();
        let granted = self.case.events[self.granted.sent].at;
        let end = match seen {
            // The expiry as reported by the server.
            Some(Seen::Key(end)) => end?,
            Some(Seen::Entry { ephemeral }) => {
                // If no observation saw the node gone, the creation by the next holder proves it.
                let anew =
                    || (self.granted.key == self.set.key && !self.let_go()).then_some(self.granted.sent);
                let ended = crashed.or_else(anew).filter(|_| ephemeral && !self.let_go())?;
                return match self.case.sent(self.set.command_sent) {
                    Some(Command::Etcd(_)) => Some(self.lease_ended(ended)),
                    _ => Some((Cause::SessionEnded, ended)),
                };
            }
            None => self.lease_by_words(self.renewals())?,
        };
        // Redis counts in whole milliseconds, from when it carries the command out.
        let end = LessonTime::from_millis(end.as_millis());
        if granted < end {
            return None;
        }
        let over = |n: &usize| self.case.events[*n].at >= end;
        let passed = (self.set.replied + 1..self.granted.sent).find(over);
        let event = crashed.or(passed).unwrap_or(self.granted.sent);
        Some(self.lease_ended(event))
    }

    /// How a lease ended by an event: whether its holder was frozen meanwhile, or another client had cut it short.
    fn lease_ended(&self, event: usize) -> (Cause, usize) {
        match self.case.frozen_at(self.case.client(self.set.actor), event) {
            Some(frozen) if frozen > self.set.replied => (Cause::Frozen, frozen),
            _ => (Cause::LeaseEnded, self.cut_short().unwrap_or(event)),
        }
    }

    /// The command by which another client had the key end before the time that its holder had asked for, if it had asked
    /// for one.
    fn cut_short(&self) -> Option<usize> {
        let is_own = |renewal: &&Effect| self.case.same_client(renewal.actor, self.set.actor);
        let cut = self.renewals().last().filter(|renewal| !is_own(renewal))?;
        let own = || self.renewals().filter(is_own);
        let by_script = |effect: &Effect| self.case.words(effect.command_sent).is_empty();
        if by_script(self.set) || own().any(by_script) {
            return None;
        }
        let end = self.lease_by_words(own());
        end.is_none_or(|end| self.case.events[self.granted.sent].at < end).then_some(cut.sent)
    }

    /// The event that set its server's clock ahead, if the lease would have lasted by the time that was requested.
    fn clock_set(&self) -> Option<usize> {
        let set = self.last_fault(|fault| fault.server().is_some() && fault.ahead_ms() > Some(0))?;
        let end = self.lease_by_words(self.renewals())?;
        (self.granted.server == self.set.server && self.case.events[self.granted.sent].at < end)
            .then_some(set)
    }

    /// The last observation of what was set, and the event in which it was seen to be gone.
    fn seen(&self) -> (Option<Seen>, Option<usize>) {
        let mut seen = None;
        for n in self.set.sent + 1..self.granted.sent {
            let Some(EventKind::State(state)) = self.case.kind(n) else { continue };
            if state.server != self.set.server {
                continue;
            }
            let now = match &state.observed {
                Observed::Redis(keyspace) => self.own(keyspace).map(|key| Seen::Key(key.expires_at)),
                other => {
                    other.entry(&self.set.key).map(|entry| Seen::Entry { ephemeral: entry.owner().is_some() })
                }
            };
            match (now, &seen) {
                (Some(now), _) => seen = Some(now),
                (None, Some(_)) => return (seen, Some(n)),
                (None, None) => {}
            }
        }
        (seen, None)
    }

    /// The changes of the key's expiry before the next holder asked, oldest first.
    fn renewals(&self) -> impl Iterator<Item = &Effect> {
        self.case.touched(&self.set.key).filter(|effect| {
            effect.access == Access::Expiry
                && effect.server == self.set.server
                && effect.replied >= self.set.replied
                && effect.replied < self.granted.sent
        })
    }

    /// When the lease ends by the time that was requested. `None` if a script set the expiry.
    fn lease_by_words<'e>(&self, renewals: impl Iterator<Item = &'e Effect>) -> Option<LessonTime> {
        let after = |sent: usize, millis: i64| {
            let at = self.case.events[sent].at.as_millis();
            Some(LessonTime::from_millis(at.checked_add(millis)?))
        };
        let words = self.case.words(self.set.command_sent);
        let mut end = lease(words).and_then(|millis| after(self.set.sent, millis));
        for renewal in renewals {
            let words = self.case.words(renewal.command_sent);
            let number = || words.get(2)?.parse::<i64>().ok();
            end = match words.first()?.to_ascii_uppercase().as_str() {
                "PEXPIRE" => after(renewal.sent, number()?),
                "EXPIRE" => after(renewal.sent, number()?.checked_mul(1000)?),
                "GETEX" => after(renewal.sent, lease(words)?),
                _ => return None,
            };
        }
        end
    }

    /// The next holder got the lock from a server that had never been seen to hold it, after a failover or after the
    /// old server was killed.
    fn elsewhere(&self) -> Option<usize> {
        let (old, new) = (&self.set.server, &self.granted.server);
        if old == new {
            return None;
        }
        let (mut promoted, mut master) = (None, false);
        for n in 0..self.granted.sent {
            let Some(keyspace) = keyspace(&self.case.events[n], new) else { continue };
            if self.own(keyspace).is_some() && n > self.set.sent {
                return None;
            }
            let now = matches!(keyspace.role, Some(Role::Master));
            if now && !master && n > self.set.sent {
                promoted = Some(n);
            }
            master = now;
        }
        let span = self.set.sent + 1..self.granted.sent;
        let killed = self.case.last_fault(span, |fault| fault.killed_server() == Some(old));
        promoted.and(killed.or(promoted))
    }

    /// The restart of its server, which came back without the lock.
    fn restart(&self) -> Option<usize> {
        self.last_fault(|fault| fault.leaves() == Condition::Restarted)
    }

    /// The last fault of its server between the two acquisitions that `wanted` accepts.
    fn last_fault(&self, wanted: impl Fn(&Fault) -> bool) -> Option<usize> {
        let wanted = |fault: &Fault| fault.server() == Some(&self.set.server) && wanted(fault);
        self.case.last_fault(self.set.replied + 1..self.granted.sent, wanted)
    }

    /// The key in a server's observed contents, if it has the value that was requested. Values set by a script, and
    /// values other than strings, are not compared.
    fn own<'k>(&self, keyspace: &'k Keyspace) -> Option<&'k KeyState> {
        let words = self.case.words(self.set.command_sent);
        let key = keyspace.keys.get(&self.set.key)?;
        let is_another = match &key.value {
            KeyValue::String(value) => {
                self.set.access == Access::Set && words.get(2).is_some_and(|asked| asked != value)
            }
            _ => false,
        };
        (!is_another).then_some(key)
    }
}

/// What a server was seen to hold of a holder's setting.
enum Seen {
    /// A key, and when it expires.
    Key(Option<LessonTime>),
    Entry {
        /// Whether it is deleted with its session.
        ephemeral: bool,
    },
}
