//! What pages receive: the state of the class as JSON, made once for all of them, and streams that always send the
//! newest state.

use std::{
    fmt::Write as _,
    sync::{Arc, Weak},
    time::Instant,
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use futures::{Stream, StreamExt as _, stream};
use hyper::body::Bytes;
use qrcode::{Color, QrCode};
use serde::Serialize;
use serde_json::{Value, json};
use tokio::{
    sync::watch,
    task::spawn_blocking,
    time::{Duration, sleep, sleep_until, timeout},
};

use super::class::{Class, Subscription, Viewer, left};
use crate::{
    clock::LessonTime,
    export::{
        Look,
        html::data::{self, Shown},
        moment::ResolvedMoment,
    },
    log::Log,
    printable,
    ui::state::classroom::protocol::{ClassView, Joining, Published, StageRun, Tally, TeacherView},
};

/// The minimum interval between two states.
const APART: Duration = Duration::from_millis(100);
/// The interval of keep-alive messages on an idle stream.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// How soon a page reconnects after its stream has ended, in milliseconds.
const RETRY: &str = "retry: 1000\n\n";

/// The address for joining, with the code as a picture.
pub(crate) fn joining(joining: &Joining) -> Value {
    json!({"url": joining.url, "code": joining.code, "qr": picture(&joining.url)})
}

/// A QR code with its quiet zone, as a data URL; `None` if the address is too long.
fn picture(url: &str) -> Option<String> {
    const QUIET: usize = 4;
    let code = QrCode::new(url).ok()?;
    let width = code.width();
    let side = width + 2 * QUIET;
    let mut path = String::new();
    for (n, color) in code.to_colors().into_iter().enumerate() {
        if color == Color::Dark {
            // Writing to a String cannot fail.
            let _ = write!(path, "M{} {}h1v1h-1z", n % width + QUIET, n / width + QUIET);
        }
    }
    let svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {side} {side}\" shape-rendering=\"crispEdges\">\
         <path fill=\"#fff\" d=\"M0 0h{side}v{side}h-{side}z\"/><path d=\"{path}\"/></svg>"
    );
    Some(format!("data:image/svg+xml;base64,{}", STANDARD.encode(svg)))
}

/// The source of a state.
#[derive(Debug)]
pub(crate) struct StateInput<'a> {
    pub(crate) class: &'a ClassView,
    pub(crate) teacher: &'a TeacherView,
    pub(crate) tally: &'a Tally,
    /// When the poll ends.
    pub(crate) ends: Option<Instant>,
}

/// The state of the class: a JSON object per kind of page, without its opening brace, so that each page's own values
/// can be put in front. A text that has not changed is shared with the state before.
#[derive(Debug, Default)]
pub(crate) struct State {
    poll: Option<u64>,
    ends: Option<Instant>,
    phone: Arc<str>,
    stage: Arc<str>,
    teacher: Arc<str>,
}

#[derive(Serialize)]
struct Page<'a> {
    #[serde(flatten)]
    class: &'a ClassView,
    tally: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    joining: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    teacher: Option<&'a TeacherView>,
}

impl State {
    pub(crate) fn new(known: &StateInput<'_>, joining: &Value, before: &Self) -> Self {
        let &StateInput { class, teacher, tally, ends } = known;
        let decided = class.poll.as_ref().is_some_and(|poll| poll.decided.is_some());
        let all: usize = tally.votes.iter().sum();
        let counts =
            |open: bool| json!({"joined": tally.joined, "voted": all, "votes": open.then_some(&tally.votes)});
        let text = |votes, joining, teacher, before: &Arc<str>| {
            let page = Page { class, tally: counts(votes), joining, teacher };
            // The page contains only JSON types, so this cannot fail.
            let mut page = serde_json::to_value(page).unwrap_or_default();
            printable::value(&mut page);
            let page = page.to_string();
            let text = page.strip_prefix('{').unwrap_or_default();
            if **before == *text { Arc::clone(before) } else { text.into() }
        };
        Self {
            poll: tally.poll,
            ends,
            phone: text(decided, None, None, &before.phone),
            stage: text(decided, Some(joining), None, &before.stage),
            teacher: text(true, Some(joining), Some(teacher), &before.teacher),
        }
    }

    fn text(&self, viewer: Viewer) -> &Arc<str> {
        match viewer {
            Viewer::Phone(_) => &self.phone,
            Viewer::Stage => &self.stage,
            Viewer::Teacher => &self.teacher,
        }
    }
}

/// Updates the state until the screen is gone. Votes and joining alone update it less often, because each state is sent
/// to every phone, which would delay votes. The screen learns of them sooner.
pub(crate) async fn follow(class: &Class) {
    let mut published = class.published.clone();
    loop {
        let newest = published.borrow_and_update().clone();
        class.refresh(&newest);
        sleep(APART).await;
        let counted = async {
            class.changed.notified().await;
            class.count(&newest);
            timeout(APART * 3, count(class, &newest)).await
        };
        tokio::select! {
            changed = published.changed() => if changed.is_err() { return },
            _ = counted => {}
        }
    }
}

async fn count(class: &Class, published: &Published) {
    loop {
        sleep(APART / 2).await;
        class.changed.notified().await;
        class.count(published);
    }
}

/// Identifies the run on the stage and the moment shown.
#[derive(Debug, PartialEq)]
struct RunPosition {
    lesson: String,
    variant: usize,
    events: usize,
    position: usize,
    display: LessonTime,
    over: bool,
}

impl RunPosition {
    fn of(run: &StageRun) -> Self {
        Self {
            lesson: run.entry.lesson.id.clone(),
            variant: run.variant,
            events: run.log.len(),
            position: run.position,
            display: run.display,
            over: run.verdict.is_some(),
        }
    }
}

/// Makes the run for the stage while one is open. The data of a long run take a while to make, so votes do not wait for
/// them, and at most a third of the time is spent on them.
pub(crate) async fn follow_run(class: &Class) {
    let mut published = class.published.clone();
    let mut made: Option<(RunPosition, Weak<Log>)> = None;
    loop {
        let is_open = class.people().stages > 0;
        let run = published.borrow_and_update().run.clone().filter(|_| is_open);
        if let Some(run) = run {
            let now = (RunPosition::of(&run), Arc::downgrade(&run.log));
            let known = made.as_ref().is_some_and(|(place, log)| *place == now.0 && log.ptr_eq(&now.1));
            if !known {
                made = Some(now);
                let (look, began) = (class.look, Instant::now());
                // If this panics, the stage stays as it was.
                if let Ok(event) = spawn_blocking(move || event(&run, &look)).await {
                    class.run.send_replace(Some(event));
                }
                sleep(began.elapsed() * 2).await;
            }
        } else if made.take().is_some() {
            class.run.send_replace(None);
        }
        tokio::select! {
            changed = published.changed() => if changed.is_err() { return },
            () = class.staged.notified() => {}
        }
    }
}

fn event(run: &StageRun, look: &Look) -> Bytes {
    let position = run.position.min(run.log.len());
    let moment = ResolvedMoment { position, display: run.display, end: run.verdict.is_some() };
    let variant = run.entry.variants.get(run.variant);
    let shown = Shown { entry: &run.entry, variant, log: &run.log, verdict: run.verdict.as_ref() };
    let mut data = data::of(shown, moment, look);
    printable::value(&mut data);
    format!("event: run\ndata: {{\"position\":{position},\"data\":{data}}}\n\n").into()
}

/// A viewer's stream. It keeps only the newest state, so a slow reader misses intermediate ones.
struct Reader {
    subscription: Subscription,
    state: watch::Receiver<Arc<State>>,
    run: watch::Receiver<Option<Bytes>>,
    /// The state sent last, and the viewer's own choice in it.
    sent: Option<(Arc<str>, Option<usize>)>,
    keep_alive: tokio::time::Instant,
}

pub(crate) fn events(subscription: Subscription) -> impl Stream<Item = Bytes> + Send {
    let (mut state, mut run) = (subscription.class.state.subscribe(), subscription.class.run.subscribe());
    state.mark_changed();
    run.mark_changed();
    let reader =
        Reader { subscription, state, run, sent: None, keep_alive: tokio::time::Instant::now() + KEEP_ALIVE };
    let events = stream::unfold(reader, async |mut reader| Some((reader.next().await?, reader)));
    stream::iter([Bytes::from_static(RETRY.as_bytes())]).chain(events)
}

impl Reader {
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            tokio::select! {
                biased;
                changed = self.run.changed(), if self.subscription.viewer == Viewer::Stage => {
                    changed.ok()?;
                    let run = self.run.borrow_and_update().clone();
                    if run.is_some() {
                        return run;
                    }
                }
                changed = self.state.changed() => {
                    changed.ok()?;
                    if let Some(state) = self.next_state() {
                        return Some(state);
                    }
                }
                () = sleep_until(self.keep_alive) => {
                    self.keep_alive += KEEP_ALIVE;
                    return Some(Bytes::from_static(b":\n\n"));
                }
            }
        }
    }

    fn next_state(&mut self) -> Option<Bytes> {
        let state = Arc::clone(&self.state.borrow_and_update());
        let text = state.text(self.subscription.viewer);
        let mine = self.subscription.mine(state.poll);
        if self.sent.as_ref().is_some_and(|(before, choice)| Arc::ptr_eq(before, text) && *choice == mine) {
            return None;
        }
        self.sent = Some((Arc::clone(text), mine));
        let own = json!({"left": left(state.ends), "mine": mine}).to_string();
        let own = own.trim_end_matches('}');
        Some(format!("event: class\ndata: {own},{text}\n\n").into())
    }
}
