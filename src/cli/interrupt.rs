//! Signals that end a command without a screen. A command that is working is notified and ends in an orderly
//! way; one that does not within a second is ended by force.

use std::{
    io, process,
    sync::{
        OnceLock,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    thread,
    time::Duration,
};

use tokio::{
    runtime::{Builder, Runtime},
    sync::watch,
};

use super::{Failure, INTERRUPTED, print, words};
use crate::{lab, signals::Signals, text::Lang};

/// How long a command may take to end by itself after a signal, in real time.
const IN_GOOD_ORDER: Duration = Duration::from_millis(600);

/// How much longer it may take once it has noticed the signal: adding up the findings of a large search takes
/// a while.
const ONCE_ACKNOWLEDGED: Duration = Duration::from_mins(1);

static ACKNOWLEDGED: AtomicBool = AtomicBool::new(false);

/// The name of the signal that arrived, if one has.
static SIGNAL: OnceLock<watch::Sender<Option<&'static str>>> = OnceLock::new();

/// From now on SIGINT and the other signals that can be caught ask the command to end, and end it by force if
/// it does not within a second, for instance because a thread is blocked. To be called before the first
/// server is started.
pub(crate) fn listen(lang: Lang) {
    if SIGNAL.get().is_some() {
        return;
    }
    let sender = watch::Sender::new(None);
    let (listens, ready) = mpsc::sync_channel(1);
    let announce = sender.clone();
    let thread = thread::Builder::new().name("signals".to_owned());
    let started = thread.spawn(move || {
        // Without a listener, signals do what they do by default: they end the program, and the kernel ends
        // its children.
        let Ok((runtime, mut signals)) = begin() else { return };
        let _ = listens.send(());
        let (_, name) = runtime.block_on(signals.next());
        announce.send_replace(Some(name));
        // A second signal means that the user does not want to wait.
        runtime.block_on(async {
            let again = tokio::time::timeout(IN_GOOD_ORDER, signals.next()).await;
            if again.is_err() && ACKNOWLEDGED.load(Ordering::Acquire) {
                print::complain(words::ENDING.get(lang));
                let _ = tokio::time::timeout(ONCE_ACKNOWLEDGED, signals.next()).await;
            }
        });
        lab::end_now();
        let message = words::ENDED_BY.text(&[name]);
        print::complain(message.get(lang));
        process::exit(INTERRUPTED.into());
    });
    if started.is_ok() && ready.recv().is_ok() {
        // Nothing else sets it: commands are carried out one by one.
        let _ = SIGNAL.set(sender);
    }
}

/// Notes that the command has noticed the signal, is not blocked, and is ending.
pub(crate) fn acknowledge() {
    ACKNOWLEDGED.store(true, Ordering::Release);
}

/// The signal that has asked this program to end, if one has.
pub(crate) fn received() -> Option<&'static str> {
    SIGNAL.get().and_then(|signal| *signal.borrow())
}

/// Resolves with the name of the signal when the user or the system has asked this program to end.
pub(crate) async fn interrupted() -> &'static str {
    let Some(signal) = SIGNAL.get() else { return std::future::pending().await };
    let mut signal = signal.subscribe();
    let name = signal.wait_for(Option::is_some).await.ok().and_then(|name| *name);
    match name {
        Some(name) => name,
        // Its sender is never dropped.
        None => std::future::pending().await,
    }
}

/// What some work results in, unless this program is asked to end first.
pub(crate) async fn unless_interrupted<T>(
    work: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    tokio::select! {
        done = work => done,
        signal = interrupted() => Err(Failure::interrupted(signal)),
    }
}

fn begin() -> io::Result<(Runtime, Signals)> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let inside = runtime.enter();
    let signals = Signals::listen()?;
    drop(inside);
    Ok((runtime, signals))
}
