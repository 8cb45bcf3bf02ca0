//! Arrows: from which lifeline to which, how far they get, and their text.

use super::window::Window;
use crate::{
    log::Reply,
    ui::{
        chart::sequence::{Delivery, Message, Row, RowKind},
        view::{detail, prelude::*, selection, wire},
    },
};

/// The minimum room for text on an arrow; with less, the text is above it.
const ROOM: usize = 20;
/// The columns that an arrow needs besides its text: two before it, one after it, and a space on either side.
const AROUND: usize = 5;

pub type Words = Vec<(String, Style)>;

#[derive(Debug, Clone)]
pub struct Arrow {
    /// Its first column and the one after its last.
    pub span: (u16, u16),
    pub dash: &'static str,
    pub left: &'static str,
    pub right: &'static str,
    pub style: Style,
    pub words: Words,
}

pub fn width(words: &Words) -> usize {
    words.iter().map(|(words, _)| text::width(words)).sum()
}

pub fn fitted(words: &Words, mut room: usize) -> Words {
    let mut fitted = Words::new();
    for (part, style) in words {
        let part = text::fit(part, room).into_owned();
        room -= text::width(&part);
        fitted.push((part, *style));
    }
    fitted
}

impl Arrow {
    pub fn new(scene: &Scene<'_>, window: &Window, row: &Row) -> Option<Self> {
        let RowKind::Message { client: from, server: to, message } = row.kind else { return None };
        let (left, right) = window.between(from, to);
        let middle = window.middle(from, to);
        let sender = match message {
            Message::Delivered { sent } | Message::Orphaned { sent } => sent,
            _ => row.event,
        };
        let actor = scene.event(sender).and_then(EventKind::actor)?;
        let client = scene.actor_style(actor);
        let danger = scene.style(Role::Danger);
        let warning = scene.style(Role::Warning);
        let (span, dash, ends, style) = match message {
            Message::Sent(Delivery::Through) => ((left, right), "─", ("─", "▶"), client),
            Message::Sent(Delivery::Held) => ((left, middle), "─", ("─", glyphs::STOPPED), warning),
            Message::Sent(Delivery::Cut) => ((left, middle), "─", ("─", glyphs::CUT), danger),
            Message::Delivered { .. } => ((middle, right), "┄", ("┄", "▶"), client),
            Message::Replied { lost: true } => ((left, middle), "╌", ("╌", glyphs::CUT), danger),
            Message::Replied { lost: false } => ((left, right), "─", ("◀", "─"), client),
            Message::Orphaned { .. } => ((middle, right), "╌", (glyphs::CUT, "╌"), danger),
            Message::Notified => ((left, right), "┄", ("◀", "┄"), warning),
        };
        let mut words = words_of(scene, row, message);
        if window.line(from).is_none() {
            // An actor that is not on the screen is named.
            words.insert(0, (format!("{}: ", scene.name(actor)), client));
        }
        Some(Self {
            span,
            dash,
            left: ends.0,
            right: ends.1,
            style: style.remove_modifier(Modifier::BOLD),
            words,
        })
    }

    fn room(&self) -> usize {
        usize::from(self.span.1.saturating_sub(self.span.0)).saturating_sub(AROUND)
    }

    pub fn is_short(&self) -> bool {
        let wanted = width(&self.words);
        wanted > self.room() && self.room() < ROOM
    }

    /// The text on the arrow, cut if necessary.
    pub fn written(&self) -> Words {
        if self.is_short() { Words::new() } else { fitted(&self.words, self.room()) }
    }
}

fn command(event: &EventKind) -> Option<String> {
    match event {
        EventKind::Sent { command, .. } => Some(command.to_string()),
        _ => None,
    }
}

fn words_of(scene: &Scene<'_>, row: &Row, message: Message) -> Words {
    let position = scene.world.position;
    // The row of a crowd shows what its members' events have in common.
    let count = row.count(position);
    let common = |words: &dyn Fn(&EventKind) -> Option<String>| {
        let members = std::iter::once(&row.event).chain(&row.more[..count - 1]);
        let all: Vec<String> = members.filter_map(|member| words(scene.event(*member)?)).collect();
        text::common(all.iter().map(String::as_str)).into_owned()
    };
    let reply_words = |event: &EventKind| match event {
        EventKind::Replied { reply, .. } => Some(match reply.as_ref() {
            Reply::Lost(why) => words::lost(why, scene.lang),
            reply => reply.brief(),
        }),
        _ => None,
    };
    let mut words = match (message, scene.event(row.event)) {
        (Message::Sent(_), _) => vec![(common(&command), Style::new())],
        (Message::Delivered { sent }, _) => {
            vec![(scene.event(sent).and_then(command).unwrap_or_default(), Style::new())]
        }
        (Message::Orphaned { .. }, _) => {
            vec![(words::ORPHAN.get(scene.lang).to_owned(), scene.style(Role::Danger))]
        }
        (Message::Replied { .. }, Some(EventKind::Replied { reply, .. })) => {
            let (sent, _) = selection::exchange(scene, row.event);
            vec![(common(&reply_words), wire::style(scene, sent, reply).remove_modifier(Modifier::BOLD))]
        }
        (Message::Notified, Some(EventKind::Notified { about, what, .. })) => {
            let notice = words::notice(what, about, scene.lang);
            vec![(format!("{} {notice}", glyphs::NOTIFIED), scene.style(Role::Warning))]
        }
        _ => Words::new(),
    };
    if count > 1 {
        let style = scene.style(if message == Message::Notified { Role::Danger } else { Role::Fresh });
        words.push((format!(" ×{count}"), style));
    }
    if let Some(note) = row.note.filter(|note| *note < position) {
        words.push((" · ".to_owned(), scene.style(Role::Chrome)));
        words.extend(note_words(scene, note));
    }
    words
}

pub fn note_words(scene: &Scene<'_>, note: usize) -> Words {
    let Some(event) = scene.log.events().get(note) else { return Words::new() };
    vec![match &event.kind {
        EventKind::Waits { label, until, .. } => {
            let duration = time::stretch(until.since(event.at));
            let what =
                if scene.log.is_retry_pause(note) { glyphs::AGAIN } else { words::label(label, scene.lang) };
            (format!("{what} {duration}"), scene.style(Role::Chrome))
        }
        EventKind::Sent { command, .. } => (command.to_string(), scene.style(Role::Text)),
        EventKind::Blocked { .. } => {
            (format!("… {}", words::BLOCKED.get(scene.lang)), scene.style(Role::Warning))
        }
        EventKind::Counted { .. } | EventKind::Took { .. } | EventKind::Waited { in_vain: true, .. } => {
            detail::own_words(scene, note)
        }
        _ => return Words::new(),
    }]
}
