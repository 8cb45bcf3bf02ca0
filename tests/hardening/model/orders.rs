//! Counts all orders of a case over the states that they reach: each state is continued once, however many orders reach
//! it. Nothing is pruned, and no dependence between moves is assumed.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    rc::Rc,
};

use super::{
    program::{Case, Is, May, Never, SCRIPTS, SOON, Send, Step},
    redis::{Redis, Reply},
};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Life {
    Ready,
    Waits { until: i64, again: bool },
    Over,
    Dead,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Client {
    at: usize,
    life: Life,
    reply: Reply,
    /// When it last read the time.
    read: i64,
    /// The steps queued since MULTI.
    queued: Option<Vec<usize>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct State {
    redis: Redis,
    /// In milliseconds. Time passes to 1 ms after the end of a wait, so that a wait as long as a lease ends after it.
    now: i64,
    clients: Vec<Client>,
    holds: BTreeSet<(&'static str, usize)>,
    was_held: BTreeSet<&'static str>,
    had_two: BTreeSet<&'static str>,
    counted: BTreeMap<&'static str, i64>,
    /// Replies that invariants refer to, by client and label.
    answers: BTreeMap<(usize, String), Reply>,
    moves: usize,
    frozen: BTreeSet<usize>,
    cut: BTreeSet<usize>,
    skewed: bool,
    faults: usize,
    slow: usize,
    broken: Vec<bool>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pick {
    Move(usize),
    Time,
    /// Time passes until after the last millisecond of a key.
    Key(i64),
    Thaw(usize),
    Mend(usize),
    Fault(May, usize),
}

/// The final state of an order.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Outcome {
    pub locks: BTreeMap<String, String>,
    pub counters: BTreeMap<String, i64>,
    pub values: BTreeMap<String, Option<String>>,
    /// The number of clients that did not reach the end.
    pub unfinished: usize,
    /// The broken invariants.
    pub broken: BTreeSet<String>,
}

/// The totals of all orders from a state.
#[derive(Debug, Clone, Default)]
pub struct Sum {
    pub orders: u128,
    pub cut: u128,
    pub violations: u128,
    pub by_never: Vec<u128>,
    pub outcomes: BTreeMap<Outcome, u128>,
    /// The smallest number of moves and faults until an invariant is broken.
    pub soonest: Option<usize>,
}

pub struct Model<'c> {
    case: &'c Case,
    known: HashMap<State, Rc<Sum>>,
}

/// The most states that are counted; larger cases take too long.
const MOST_STATES: usize = 10_000;

impl<'c> Model<'c> {
    /// The totals of all orders; `None` if there are too many states.
    pub fn count(case: &'c Case) -> Option<Rc<Sum>> {
        let mut model = Self { case, known: HashMap::new() };
        let mut redis = Redis::default();
        for words in &case.setup {
            redis.call(words, 0);
        }
        let client = Client { at: 0, life: Life::Ready, reply: Reply::Nil, read: 0, queued: None };
        let mut state = State {
            redis,
            now: 0,
            clients: vec![client; case.programs.len()],
            holds: BTreeSet::new(),
            was_held: BTreeSet::new(),
            had_two: BTreeSet::new(),
            counted: BTreeMap::new(),
            answers: BTreeMap::new(),
            moves: 0,
            frozen: BTreeSet::new(),
            cut: BTreeSet::new(),
            skewed: false,
            faults: 0,
            slow: 0,
            broken: vec![false; case.never.len()],
        };
        for n in 0..case.programs.len() {
            model.advance(&mut state, n);
        }
        model.ask(&mut state);
        model.from(&state)
    }

    fn from(&mut self, state: &State) -> Option<Rc<Sum>> {
        if let Some(known) = self.known.get(state) {
            return Some(Rc::clone(known));
        }
        if self.known.len() > MOST_STATES {
            return None;
        }
        let mut sum = Sum { by_never: vec![0; self.case.never.len()], ..Sum::default() };
        if state.broken.contains(&true) {
            sum.soonest = Some(0);
        }
        let picks = self.picks(state);
        if picks.is_empty() {
            self.end(state, &mut sum);
        }
        for pick in picks {
            let next = self.take(state, pick);
            let below = self.from(&next)?;
            sum.orders += below.orders;
            sum.cut += below.cut;
            sum.violations += below.violations;
            for (n, orders) in below.by_never.iter().enumerate() {
                sum.by_never[n] += orders;
            }
            for (outcome, orders) in &below.outcomes {
                *sum.outcomes.entry(outcome.clone()).or_default() += orders;
            }
            let soonest = below
                .soonest
                .map(|soonest| soonest + usize::from(!matches!(pick, Pick::Time | Pick::Key(_))));
            sum.soonest = sum.soonest.into_iter().chain(soonest).min();
        }
        let sum = Rc::new(sum);
        self.known.insert(state.clone(), Rc::clone(&sum));
        Some(sum)
    }

    fn end(&self, state: &State, sum: &mut Sum) {
        sum.orders = 1;
        sum.cut = (state.moves >= self.case.moves && !able(state).is_empty()).into();
        sum.violations = state.broken.contains(&true).into();
        sum.by_never = state.broken.iter().map(|broken| u128::from(*broken)).collect();
        let fate = |lock: &&'static str| match (state.had_two.contains(lock), state.was_held.contains(lock)) {
            (true, _) => "VIOLATED",
            (false, true) => "held",
            (false, false) => "never held",
        };
        let locks = self.case.locks();
        let locks = locks.iter().map(|lock| ((*lock).to_owned(), fate(lock).to_owned()));
        let counters = self.case.counters().into_iter();
        let counters = counters.map(|name| (name.to_owned(), state.counted.get(name).copied().unwrap_or(0)));
        let values = ["k", "n"].map(|key| {
            let value = state.redis.value(key, state.now);
            (key.to_owned(), value.map(str::to_owned))
        });
        let unfinished = state.clients.iter().filter(|client| client.life != Life::Over).count();
        let broken = self.case.never.iter().zip(&state.broken).filter(|(_, broken)| **broken);
        let outcome = Outcome {
            locks: locks.collect(),
            counters: counters.collect(),
            values: values.into(),
            unfinished,
            broken: broken.map(|(never, _)| never.name()).collect(),
        };
        sum.outcomes.insert(outcome, 1);
    }

    fn picks(&self, state: &State) -> Vec<Pick> {
        let able = able(state);
        let over = state.moves >= self.case.moves;
        if over && !able.is_empty() {
            return Vec::new();
        }
        let mut picks: Vec<Pick> = able.into_iter().map(Pick::Move).collect();
        let slow = !picks.is_empty() && state.slow < self.case.slow;
        if (picks.is_empty() || slow) && timer(state).is_some() {
            picks.push(Pick::Time);
        }
        if slow {
            picks.extend(state.redis.next_end(state.now).map(Pick::Key));
        }
        if picks.is_empty() || !over {
            picks.extend(state.frozen.iter().map(|n| Pick::Thaw(*n)));
        }
        if picks.is_empty() || over {
            return picks;
        }
        for (n, client) in state.clients.iter().enumerate() {
            let busy = !matches!(client.life, Life::Over | Life::Dead);
            if busy && state.cut.contains(&n) {
                picks.push(Pick::Mend(n));
            }
            let runs = busy && !state.frozen.contains(&n);
            let hears = runs && !state.cut.contains(&n);
            for may in self.case.may.iter().filter(|_| state.faults < self.case.most) {
                let can = match may {
                    May::Crash | May::Freeze => runs,
                    May::LoseReply => hears && client.life == Life::Ready,
                    May::Cut => hears,
                    // A restart concerns the server, so it is offered once.
                    May::Restart => n == 0,
                    May::Skew(_) => n == 0 && !state.skewed,
                };
                picks.extend(can.then_some(Pick::Fault(*may, n)));
            }
        }
        picks
    }

    fn take(&self, state: &State, pick: Pick) -> State {
        let mut next = state.clone();
        match pick {
            Pick::Move(n) => {
                next.moves += 1;
                self.make(&mut next, n, true);
            }
            Pick::Time => {
                next.slow += usize::from(!able(state).is_empty());
                let (until, _) = timer(&next).expect("somebody waits");
                self.pass(&mut next, until + 1);
                // Waits that end together also do so after a chain of waits.
                for client in &mut next.clients {
                    if let Life::Waits { until: other, .. } = &mut client.life
                        && *other > until
                    {
                        *other += next.now - until;
                    }
                }
                self.wake(&mut next, until);
            }
            Pick::Key(last) => {
                next.slow += 1;
                let target = (last - 1).max(next.now);
                // An end on the way is noticed two milliseconds later.
                while let Some((until, n)) = timer(&next).filter(|(until, _)| *until <= target) {
                    self.pass(&mut next, until + 2);
                    self.wake_one(&mut next, n);
                }
                self.pass(&mut next, target + 2);
            }
            Pick::Thaw(n) => {
                next.frozen.remove(&n);
                let now = next.now;
                self.wake(&mut next, now);
            }
            Pick::Mend(n) => drop(next.cut.remove(&n)),
            Pick::Fault(may, n) => {
                next.faults += 1;
                match may {
                    May::Freeze => drop(next.frozen.insert(n)),
                    May::Crash => {
                        dies(&mut next, n);
                        next.cut.remove(&n);
                    }
                    May::LoseReply => {
                        next.moves += 1;
                        self.make(&mut next, n, false);
                    }
                    May::Cut => {
                        next.cut.insert(n);
                        next.clients[n].queued = None;
                    }
                    May::Restart => {
                        next.redis.restart();
                        next.clients.iter_mut().for_each(|client| client.queued = None);
                    }
                    May::Skew(ahead) => {
                        next.skewed = true;
                        next.redis.set_clock_ahead(ahead, state.now);
                    }
                }
            }
        }
        self.ask(&mut next);
        next
    }

    /// Lets time pass until then. What invariants ask may be so only between the ends of two keys, which counts if it
    /// lasts for more than 20 ms.
    fn pass(&self, state: &mut State, to: i64) {
        while let Some(last) = state.redis.next_end(state.now).filter(|last| last + 1 < to) {
            state.now = last + 1;
            let next = state.redis.next_end(state.now).map_or(to, |last| to.min(last + 1));
            if next - state.now > 20 {
                self.ask(state);
            }
        }
        state.now = state.now.max(to);
    }

    /// Ends every wait that ends by then, the earliest first.
    fn wake(&self, state: &mut State, by: i64) {
        while let Some((_, n)) = timer(state).filter(|(until, _)| *until <= by) {
            self.wake_one(state, n);
        }
    }

    fn wake_one(&self, state: &mut State, n: usize) {
        let Life::Waits { again, .. } = state.clients[n].life else { unreachable!() };
        state.clients[n].life = Life::Ready;
        if !again {
            state.clients[n].at += 1;
            self.advance(state, n);
        }
    }

    /// `hears`: whether the reply reaches the client.
    fn make(&self, state: &mut State, n: usize, hears: bool) {
        // What the program reads right before a command it reads when it sends that.
        while let Step::Reads = self.case.programs[n][state.clients[n].at] {
            state.clients[n].read = state.now;
            state.clients[n].at += 1;
        }
        let (at, now) = (state.clients[n].at, state.now);
        let Step::Move { send, label, until_ok, allow_lost } = &self.case.programs[n][at] else {
            unreachable!()
        };
        if state.cut.contains(&n) {
            self.hear(state, n, label, *until_ok, Reply::lost(*allow_lost));
            return;
        }
        let (reply, queued) = match (send, state.clients[n].queued.take()) {
            (Send::Begin, None) => (Reply::Text("OK".to_owned()), Some(Vec::new())),
            // The queue is lost with the connection.
            (Send::Exec, None) => (Reply::Wrong, None),
            (Send::Exec, Some(queued)) => {
                let run = |at| match &self.case.programs[n][at] {
                    Step::Move { send, .. } => run(&mut state.redis, send, n, now),
                    _ => unreachable!(),
                };
                let replies: Vec<Reply> = queued.into_iter().map(run).collect();
                let wrong = replies.contains(&Reply::Wrong);
                (if wrong { Reply::Wrong } else { Reply::List(replies) }, None)
            }
            (_, Some(mut queued)) => {
                queued.push(at);
                (Reply::Text("QUEUED".to_owned()), Some(queued))
            }
            (send, None) => (run(&mut state.redis, send, n, now), None),
        };
        state.clients[n].queued = queued.filter(|_| hears);
        let reply = if hears { reply } else { Reply::lost(*allow_lost) };
        self.hear(state, n, label, *until_ok, reply);
    }

    fn hear(&self, state: &mut State, n: usize, label: &str, until_ok: Option<i64>, reply: Reply) {
        let asked = |never: &Never| matches!(never, Never::Answered { client, label: known, .. } if *client == n && known.as_str() == label);
        if self.case.never.iter().any(asked) {
            state.answers.insert((n, label.to_owned()), reply.clone());
        }
        if reply == Reply::Wrong {
            dies(state, n);
            return;
        }
        let client = &mut state.clients[n];
        client.reply = reply;
        match until_ok {
            Some(every) if client.reply != Reply::Text("OK".to_owned()) => {
                client.life = Life::Waits { until: state.now + every, again: true };
            }
            _ => {
                client.at += 1;
                self.advance(state, n);
            }
        }
    }

    /// Advances to the next move or wait.
    fn advance(&self, state: &mut State, n: usize) {
        loop {
            let at = state.clients[n].at;
            match self.case.programs[n].get(at) {
                None => {
                    state.clients[n].life = Life::Over;
                    return;
                }
                Some(Step::Move { .. }) => {
                    state.clients[n].life = Life::Ready;
                    return;
                }
                Some(Step::Reads) => {
                    let mut after = self.case.programs[n][at..].iter();
                    if let Some(Step::Move { .. }) = after.find(|step| !matches!(step, Step::Reads)) {
                        state.clients[n].life = Life::Ready;
                        return;
                    }
                    state.clients[n].read = state.now;
                }
                Some(Step::Wait { millis, .. }) => {
                    state.clients[n].life = Life::Waits { until: state.now + millis, again: false };
                    return;
                }
                Some(Step::Unless { is, skip }) => {
                    let so = match (is, &state.clients[n].reply) {
                        (Is::Int(wanted), Reply::Int(number)) => wanted == number,
                        (Is::Text(wanted), Reply::Text(text)) => wanted == text,
                        (Is::Nil, Reply::Nil) => true,
                        (Is::Soon { .. }, _) => state.now - state.clients[n].read < SOON,
                        _ => false,
                    };
                    state.clients[n].at += if so { 0 } else { *skip };
                }
                Some(Step::Count(counter)) => *state.counted.entry(counter).or_default() += 1,
                Some(Step::Drops(lock)) => drop(state.holds.remove(&(*lock, n))),
                Some(Step::Holds(lock)) => {
                    state.holds.insert((lock, n));
                    state.was_held.insert(lock);
                    if state.holds.iter().filter(|(held, _)| held == lock).count() > 1 {
                        state.had_two.insert(lock);
                    }
                }
            }
            state.clients[n].at += 1;
        }
    }

    fn ask(&self, state: &mut State) {
        let count = |counter: &str| state.counted.get(counter).copied().unwrap_or(0);
        let so: Vec<bool> = self
            .case
            .never
            .iter()
            .map(|never| match never {
                Never::Overlap(lock) => state.had_two.contains(lock),
                Never::Counted { counter, most } => count(counter) > *most,
                Never::Value { key, is, .. } => state.redis.value(key, state.now) == Some(is),
                Never::ThereAndCounted { key, counter } => {
                    state.redis.exists(key, state.now) && count(counter) > 0
                }
                Never::Outlives { key, other } => {
                    state.redis.exists(key, state.now) && !state.redis.exists(other, state.now)
                }
                Never::Left { key, more } => state.redis.left(key, state.now) > *more,
                Never::Answered { client, label, is } => {
                    state.answers.get(&(*client, label.clone())) == Some(&Reply::Int(*is))
                }
            })
            .collect();
        for (broken, so) in state.broken.iter_mut().zip(so) {
            *broken |= so;
        }
    }
}

fn run(redis: &mut Redis, send: &Send, n: usize, now: i64) -> Reply {
    let own = format!("P{n}");
    match send {
        Send::Words(words) => {
            let time = now.to_string();
            let words = words.iter().map(|word| match word.as_str() {
                "self" => own.as_str(),
                "now" => time.as_str(),
                word => word,
            });
            let words: Vec<&str> = words.collect();
            redis.call(&words, now)
        }
        Send::Script { script, key, .. } => (SCRIPTS[*script].run)(redis, key, &own, now),
        Send::Begin | Send::Exec => unreachable!("a transaction has no other in it"),
    }
}

fn able(state: &State) -> Vec<usize> {
    let able = |n: &usize| state.clients[*n].life == Life::Ready && !state.frozen.contains(n);
    (0..state.clients.len()).filter(able).collect()
}

/// The wait that ends first.
fn timer(state: &State) -> Option<(i64, usize)> {
    let waits = state.clients.iter().enumerate().filter_map(|(n, client)| match client.life {
        Life::Waits { until, .. } if !state.frozen.contains(&n) => Some((until, n)),
        _ => None,
    });
    waits.min()
}

fn dies(state: &mut State, n: usize) {
    state.clients[n].life = Life::Dead;
    state.clients[n].queued = None;
    state.holds.retain(|(_, client)| *client != n);
}
