//! Arrows: from which lifeline to which, how far they get, what is written on them.

use super::window::Window;
use crate::{
    log::Reply,
    ui::{
        chart::sequence::{Passage, Row, RowKind},
        view::{prelude::*, wire},
    },
};

/// The least room for words on an arrow: where there is less, they stand above it.
const ROOM: usize = 20;
/// What an arrow needs besides its words: two columns before them, one after, a space on either side.
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

/// Words in at most so many columns.
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
        let (from, to) = match &row.kind {
            RowKind::Link { .. } => return None,
            _ => row.columns().filter(|(from, to)| from != to)?,
        };
        let (left, right) = window.between(from, to);
        let middle = left + right.saturating_sub(left) / 2;
        let client = client_style(scene, row);
        let danger = scene.style(Role::Danger);
        let warning = scene.style(Role::Warning);
        let (span, dash, ends, style) = match row.kind {
            RowKind::Sent { way, .. } => match way {
                Passage::Through => ((left, right), "─", ("─", "▶"), client),
                Passage::Held => ((left, middle), "─", ("─", glyphs::STOPPED), warning),
                Passage::Cut => ((left, middle), "─", ("─", glyphs::CUT), danger),
            },
            RowKind::Delivered { .. } => ((middle, right), "┄", ("┄", "▶"), client),
            RowKind::Replied { lost: true, .. } => ((left, middle), "╌", ("╌", glyphs::CUT), danger),
            RowKind::Replied { .. } => ((left, right), "─", ("◀", "─"), client),
            RowKind::Orphan { .. } => ((middle, right), "╌", (glyphs::CUT, "╌"), danger),
            RowKind::Notified { .. } => ((left, right), "┄", ("◀", "┄"), warning),
            _ => return None,
        };
        let mut words = words_of(scene, row);
        if window.line(from).is_none() {
            // Whoever is not on the screen is named.
            words.insert(0, (format!("{}: ", who(scene, row)), client));
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

    /// The words that stand on it, cut where it must be.
    pub fn written(&self) -> Words {
        if self.is_short() { Words::new() } else { fitted(&self.words, self.room()) }
    }
}

/// The event that tells whose arrow it is.
fn source(row: &Row) -> usize {
    match row.kind {
        RowKind::Delivered { sent, .. } | RowKind::Orphan { sent, .. } => sent,
        _ => row.event,
    }
}

fn client_style(scene: &Scene<'_>, row: &Row) -> Style {
    match scene.log.events().get(source(row)).map(|event| &event.kind) {
        Some(
            EventKind::Sent { actor, .. }
            | EventKind::Replied { actor, .. }
            | EventKind::Notified { actor, .. },
        ) => scene.actor_style(*actor),
        _ => scene.style(Role::Text),
    }
}

/// The actor of a row by name; of many, their client.
fn who<'a>(scene: &Scene<'a>, row: &Row) -> &'a str {
    match scene.log.events().get(source(row)).map(|event| &event.kind) {
        Some(
            EventKind::Sent { actor, .. }
            | EventKind::Replied { actor, .. }
            | EventKind::Notified { actor, .. },
        ) => scene.name(*actor),
        _ => "",
    }
}

fn words_of(scene: &Scene<'_>, row: &Row) -> Words {
    let position = scene.world.position;
    let event = |index: usize| scene.log.events().get(index).map(|event| &event.kind);
    let command_of = |index: usize| match event(index) {
        Some(EventKind::Sent { command, .. }) => command.to_string(),
        _ => String::new(),
    };
    // A row of a crowd tells what its members have in common.
    let count = row.count(position);
    let members = || std::iter::once(row.event).chain(row.further()[..count - 1].iter().copied());
    let chrome = scene.style(Role::Chrome);
    let mut words = match &row.kind {
        RowKind::Sent { .. } => {
            let commands: Vec<String> = members().map(command_of).collect();
            let words = text::common(commands.iter().map(String::as_str)).into_owned();
            vec![(words, Style::new())]
        }
        RowKind::Delivered { sent, .. } => vec![(command_of(*sent), Style::new())],
        RowKind::Orphan { .. } => vec![(words::ORPHAN.get(scene.lang).to_owned(), scene.style(Role::Danger))],
        RowKind::Replied { .. } => match event(row.event) {
            Some(EventKind::Replied { reply, .. }) => {
                let style = wire::style(scene, reply).remove_modifier(Modifier::BOLD);
                let replies: Vec<String> = members()
                    .filter_map(|member| match event(member)? {
                        EventKind::Replied { reply, .. } => Some(reply_words(scene, reply)),
                        _ => None,
                    })
                    .collect();
                let words = text::common(replies.iter().map(String::as_str)).into_owned();
                vec![(words, style)]
            }
            _ => Words::new(),
        },
        RowKind::Notified { .. } => match event(row.event) {
            Some(EventKind::Notified { about, what, .. }) => {
                let words = format!("{} {what} {about}", glyphs::NOTIFIED);
                vec![(words, scene.style(Role::Warning))]
            }
            _ => Words::new(),
        },
        _ => Words::new(),
    };
    if count > 1 {
        let loud = matches!(row.kind, RowKind::Notified { .. });
        let style = scene.style(if loud { Role::Danger } else { Role::Fresh });
        words.push((format!(" ×{count}"), style));
    }
    if let Some(note) = row.note.filter(|note| *note < position) {
        words.push((" · ".to_owned(), chrome));
        words.extend(note_words(scene, note));
    }
    words
}

fn reply_words(scene: &Scene<'_>, reply: &Reply) -> String {
    match reply {
        Reply::Lost(why) => format!("{}: {why}", words::LOST.get(scene.lang)),
        _ => reply.to_string(),
    }
}

/// What a client does by itself.
pub fn note_words(scene: &Scene<'_>, note: usize) -> Words {
    let Some(event) = scene.log.events().get(note) else {
        return Words::new();
    };
    let (words, role) = match &event.kind {
        EventKind::Counted { counter, by, .. } => (format!("{counter} {by:+}"), Role::Good),
        EventKind::Waits { label, until, .. } => {
            let duration = time::stretch(until.since(event.at));
            let what = if scene.log.tries_again(note) { glyphs::AGAIN } else { label };
            (format!("{what} {duration}"), Role::Chrome)
        }
        EventKind::Took { what, about, .. } => {
            let words = words::TAKES_NOTICE.with(scene.lang, &[&format!("{what} {about}")]);
            (format!("{} {words}", glyphs::NOTIFIED), Role::Warning)
        }
        EventKind::Sent { command, .. } => (command.to_string(), Role::Text),
        _ => return Words::new(),
    };
    vec![(words, scene.style(role))]
}
