//! Free play driven by a test: choices go in, and their results can be inspected.

use std::time::Duration;

use lockstep::{
    lab::LabOptions,
    lesson::Scenario,
    log::{ActorId, Choice, EventKind, Fault, Log, Reply, outlook::Outlook},
    run::session::{self, Session, SessionCommand, Update},
    text::Text,
    world::World,
};

use crate::place::LOCKSTEP;

pub const STOCK: &str = r"
format: 1
id: two-buyers
track: basics
title: { en: Two buyers, zh: 两个买家 }
summary: { en: Two buyers., zh: 两个买家。 }
intro: { en: Two buyers., zh: 两个买家。 }
minutes: 1
lab: redis
setup: [ redis: SET stock 1 ]
clients:
  A: { runs: buyer }
  B: { runs: buyer }
programs:
  buyer:
    - check: { redis: GET stock }
    - if: check|int > 0
      then:
        - buy: { redis: DECR stock }
        - count: sold
variants:
  unguarded:
    title: { en: Unguarded, zh: 不加锁 }
    expect: shown
    lesson: { en: No., zh: 不。 }
    story:
      - say: { en: A looks., zh: A 先查。 }
      - move: A.check
      - move: A.buy
    claims: [ that: sold == 1 ]
";

pub struct Free {
    pub session: Session,
    pub log: Log,
    pub outlook: Outlook,
}

/// The result of a choice.
#[derive(Debug, PartialEq)]
pub enum ChoiceResult {
    Done,
    Refused(Text),
}

pub fn options() -> LabOptions {
    LabOptions::with_binary(LOCKSTEP.into())
}

impl Free {
    pub fn of(session: Session) -> Self {
        Self { session, log: Log::new(), outlook: Outlook::default() }
    }

    pub fn tell(&self, command: SessionCommand) {
        self.session.commands.send(command).expect("the run listens");
    }

    pub async fn next(&mut self) -> Update {
        let update = tokio::time::timeout(Duration::from_mins(1), self.session.updates.recv());
        let update = update.await.expect("in time").expect("the run goes on");
        match &update {
            Update::Events(events) => self.log.extend(events.clone()),
            Update::Outlook(outlook) => self.outlook = outlook.clone(),
            Update::Failed(why) => panic!("{}", why.message.en),
            _ => {}
        }
        update
    }

    pub async fn outlook(&mut self) {
        while !matches!(self.next().await, Update::Outlook(_)) {}
    }

    /// Free play of a scenario from its beginning.
    pub async fn begin(scenario: Scenario) -> Self {
        let mut free = Self::of(session::open(scenario, options(), 1));
        free.tell(SessionCommand::LeaveStory);
        free.outlook().await;
        free
    }

    pub async fn choose(&mut self, choice: Choice) -> ChoiceResult {
        self.tell(SessionCommand::Choose(choice));
        let came = loop {
            match self.next().await {
                Update::Stepped { .. } => break ChoiceResult::Done,
                Update::Refused(why) => break ChoiceResult::Refused(why),
                _ => {}
            }
        };
        self.outlook().await;
        came
    }

    /// Makes choices that must be accepted.
    pub async fn all(&mut self, choices: impl IntoIterator<Item = Choice>) {
        for choice in choices {
            assert_eq!(self.choose(choice.clone()).await, ChoiceResult::Done, "{choice:?}");
        }
    }

    pub async fn moves(&mut self, actors: impl IntoIterator<Item = u32>) {
        self.all(actors.into_iter().map(moves)).await;
    }

    pub async fn refused(&mut self, choice: Choice) -> String {
        let before = self.log.len();
        match self.choose(choice).await {
            ChoiceResult::Refused(Text { en, zh }) => {
                assert!(!zh.is_empty() && self.log.len() == before, "nothing happened");
                en
            }
            ChoiceResult::Done => panic!("it was done"),
        }
    }

    pub fn world(&self) -> World {
        World::fold(&self.log, self.log.len())
    }

    pub fn wire(&self, actor: usize) -> &str {
        let next = self.outlook.actors[actor].next.as_ref();
        next.map_or("", |next| next.wire.as_str())
    }

    pub fn replies(&self) -> Vec<Reply> {
        let replies = self.log.events().iter().filter_map(|event| match &event.kind {
            EventKind::Replied { reply, .. } => Some(reply.as_ref().clone()),
            _ => None,
        });
        replies.collect()
    }
}

pub fn moves(actor: u32) -> Choice {
    Choice::Move { actor: ActorId(actor) }
}

pub fn crash(client: &str) -> Choice {
    let client = client.to_owned();
    Choice::Inject(Fault::Crash { client })
}

/// The broken invariants, with the explanations of the breaches.
pub fn breaches(log: &Log) -> Vec<(usize, String)> {
    let breaches = log.events().iter().filter_map(|event| match &event.kind {
        EventKind::Breached { invariant, why, .. } => {
            let why = why.as_ref().map_or_else(String::new, |why| why.en.clone());
            Some((*invariant, why))
        }
        _ => None,
    });
    breaches.collect()
}

pub fn cause(fault: Fault) -> Choice {
    Choice::Inject(fault)
}

pub fn pass(millis: u64) -> Choice {
    Choice::Pass { millis }
}
