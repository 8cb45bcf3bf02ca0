//! A class: what the screen publishes to it, who is connected, and what is known about them.

use std::{
    net::IpAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Instant,
};

use hyper::body::Bytes;
use tokio::sync::{Notify, mpsc, watch};

use super::{
    ballot::{Phones, Vote},
    limits::Addresses,
    state::{self, State, StateInput},
};
use crate::{
    export::Look,
    ui::state::classroom::protocol::{ClassroomServer, Joining, Published, Remote, Tally},
};

/// The maximum number of stages, and of teacher's pages. A stage receives much more data than a phone.
const FEW: usize = 8;

#[derive(Debug)]
pub(crate) struct Class {
    pub(crate) code: String,
    pub(crate) secret: String,
    pub(crate) look: Look,
    pub(crate) published: watch::Receiver<Published>,
    pub(crate) state: watch::Sender<Arc<State>>,
    /// The server-sent event with the run, while a stage is open.
    pub(crate) run: watch::Sender<Option<Bytes>>,
    /// Notified when a participant joined, left or voted.
    pub(crate) changed: Notify,
    /// Notified when a stage was opened or closed.
    pub(crate) staged: Notify,
    joining: serde_json::Value,
    tally: watch::Sender<Tally>,
    remote: mpsc::Sender<Remote>,
    people: Mutex<People>,
}

#[derive(Debug)]
pub(crate) struct People {
    pub(crate) phones: Phones,
    pub(crate) addresses: Addresses,
    pub(crate) stages: usize,
    teachers: usize,
}

impl Class {
    pub(crate) fn new(joining: Joining, secret: String, ends: ClassroomServer, look: Look) -> Self {
        let people =
            People { phones: Phones::default(), addresses: Addresses::new(), stages: 0, teachers: 0 };
        Self {
            joining: state::joining(&joining),
            code: joining.code,
            secret,
            look,
            published: ends.published,
            state: watch::Sender::default(),
            run: watch::Sender::default(),
            changed: Notify::new(),
            staged: Notify::new(),
            tally: ends.tally,
            remote: ends.remote,
            people: Mutex::new(people),
        }
    }

    /// A poisoned lock is fine: no panic can leave the counts half updated.
    pub(crate) fn people(&self) -> MutexGuard<'_, People> {
        self.people.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reports the participants and votes to the screen.
    pub(crate) fn count(&self, published: &Published) -> (Tally, Option<Instant>) {
        let (tally, ends) = {
            let mut people = self.people();
            let stages = people.stages;
            people.phones.tally(published.class.poll.as_ref(), stages)
        };
        self.tally.send_if_modified(|before| {
            let changed = *before != tally;
            before.clone_from(&tally);
            changed
        });
        (tally, ends)
    }

    /// Updates the screen and the state of all pages.
    pub(crate) fn refresh(&self, published: &Published) {
        let (tally, ends) = self.count(published);
        let known = StateInput { class: &published.class, teacher: &published.teacher, tally: &tally, ends };
        let state = State::new(&known, &self.joining, &self.state.borrow());
        self.state.send_replace(Arc::new(state));
    }

    pub(crate) fn vote(&self, cookie: u128, poll: u64, choice: usize) -> Vote {
        let vote = {
            let published = self.published.borrow();
            self.people().phones.vote(cookie, poll, choice, published.class.poll.as_ref())
        };
        if vote == Vote::Counted {
            self.changed.notify_one();
        }
        vote
    }

    /// Passes a request to the screen. Returns `false` if the screen is busy or gone.
    pub(crate) fn send_remote(&self, remote: Remote) -> bool {
        self.remote.try_send(remote).is_ok()
    }

    pub(crate) fn subscribe(self: &Arc<Self>, viewer: Viewer) -> Option<Subscription> {
        let mut people = self.people();
        let fits = match viewer {
            Viewer::Phone(cookie) => people.phones.join(cookie),
            Viewer::Stage => more(&mut people.stages),
            Viewer::Teacher => more(&mut people.teachers),
        };
        drop(people);
        fits.then(|| {
            self.wake(viewer);
            Subscription { class: Arc::clone(self), viewer }
        })
    }

    fn wake(&self, viewer: Viewer) {
        self.changed.notify_one();
        if viewer == Viewer::Stage {
            self.staged.notify_one();
        }
    }
}

fn more(count: &mut usize) -> bool {
    let fits = *count < FEW;
    *count += usize::from(fits);
    fits
}

/// The receiver of a stream of states.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Viewer {
    Phone(u128),
    Stage,
    Teacher,
}

/// The registration of a viewer, until its stream ends.
#[derive(Debug)]
pub(crate) struct Subscription {
    pub(crate) class: Arc<Class>,
    pub(crate) viewer: Viewer,
}

impl Subscription {
    /// The viewer's own choice in a poll.
    pub(crate) fn mine(&self, poll: Option<u64>) -> Option<usize> {
        let Viewer::Phone(cookie) = self.viewer else { return None };
        self.class.people().phones.mine(cookie, poll?)
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        {
            let mut people = self.class.people();
            match self.viewer {
                Viewer::Phone(cookie) => people.phones.leave(cookie),
                Viewer::Stage => people.stages -= 1,
                Viewer::Teacher => people.teachers -= 1,
            }
        }
        self.class.wake(self.viewer);
    }
}

#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) class: Arc<Class>,
    pub(crate) ip: IpAddr,
    pub(crate) requests: Mutex<super::limits::Bucket>,
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.class.people().addresses.leave(self.ip);
    }
}

/// The milliseconds until `ends`.
pub(crate) fn left(ends: Option<Instant>) -> Option<u128> {
    ends.map(|ends| ends.saturating_duration_since(Instant::now()).as_millis())
}
