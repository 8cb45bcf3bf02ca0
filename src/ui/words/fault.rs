//! Faults in glyphs and words.

use std::time::Duration;

use crate::ui::theme::{glyphs, time};
use crate::ui::words;
use crate::{
    log::{Fault, Way},
    text::Lang,
};

pub const fn glyph(fault: &Fault) -> &'static str {
    match fault {
        Fault::Crash { .. } | Fault::KillServer { .. } => glyphs::KILLED,
        Fault::Freeze { .. } | Fault::FreezeServer { .. } | Fault::Hold { .. } => glyphs::STOPPED,
        Fault::Cut { .. } | Fault::Drop { .. } => glyphs::CUT,
        Fault::Skew { .. } => glyphs::CLOCK,
        Fault::Thaw { .. }
        | Fault::ThawServer { .. }
        | Fault::RestartServer { .. }
        | Fault::Release { .. } => glyphs::RELEASED,
    }
}

/// A fault on its own server's or client's lane, in no language: `SIGKILL`, `→master`, `+30.0s`.
pub fn mark(fault: &Fault) -> String {
    let far_end = |link: &str| format!("→{}", link.split("->").nth(1).unwrap_or_default());
    match fault {
        Fault::Crash { .. } | Fault::KillServer { .. } => "SIGKILL".to_owned(),
        Fault::Freeze { .. } | Fault::FreezeServer { .. } => "SIGSTOP".to_owned(),
        Fault::Thaw { .. } | Fault::ThawServer { .. } => "SIGCONT".to_owned(),
        Fault::RestartServer { .. } => "START".to_owned(),
        Fault::Cut { link } | Fault::Hold { link, .. } | Fault::Drop { link } | Fault::Release { link } => {
            far_end(link)
        }
        Fault::Skew { ahead_ms, .. } => {
            let sign = if *ahead_ms < 0 { '-' } else { '+' };
            format!("{sign}{}", span(*ahead_ms))
        }
    }
}

/// The server on whose lane a fault is marked: the one that it hits, or the one that opened the link. Whether
/// that is a server at all, the caller knows.
pub fn of_server(fault: &Fault) -> Option<&str> {
    match fault {
        Fault::KillServer { server }
        | Fault::FreezeServer { server }
        | Fault::ThawServer { server }
        | Fault::RestartServer { server }
        | Fault::Skew { server, .. } => Some(server),
        Fault::Cut { link } | Fault::Hold { link, .. } | Fault::Release { link } | Fault::Drop { link } => {
            link.split("->").next()
        }
        Fault::Crash { .. } | Fault::Freeze { .. } | Fault::Thaw { .. } => None,
    }
}

/// Whom or what a fault hit: a client, a server or a link.
pub fn whom(fault: &Fault) -> &str {
    match fault {
        Fault::Crash { client: whom }
        | Fault::Freeze { client: whom }
        | Fault::Thaw { client: whom }
        | Fault::Cut { link: whom }
        | Fault::Hold { link: whom, .. }
        | Fault::Drop { link: whom }
        | Fault::Release { link: whom }
        | Fault::KillServer { server: whom }
        | Fault::FreezeServer { server: whom }
        | Fault::ThawServer { server: whom }
        | Fault::RestartServer { server: whom }
        | Fault::Skew { server: whom, .. } => whom,
    }
}

/// How far a clock is off, without its sign.
fn span(ahead_ms: i64) -> String {
    match ahead_ms.unsigned_abs() {
        // What is exact is worth more than what is short: a lesson may turn on a few milliseconds.
        millis if millis % 100 != 0 => format!("{millis}ms"),
        millis => time::stretch(Duration::from_millis(millis)),
    }
}

/// A fault in a few words: `▮ A->redis link held`.
pub fn words(lang: Lang, fault: &Fault) -> String {
    let (who, what) = parts(lang, fault);
    format!("{} {who} {what}", glyph(fault))
}

/// Whom a fault hit, and what it is: `A->redis`, `link held`.
pub fn parts(lang: Lang, fault: &Fault) -> (&str, String) {
    let (who, what) = match fault {
        Fault::Crash { client } => (client, words::CRASHED),
        Fault::Freeze { client } => (client, words::FROZEN),
        Fault::Thaw { client } => (client, words::THAWED),
        Fault::Cut { link } => (link, words::CUT),
        Fault::Hold { link, way: Way::Both } => (link, words::HELD_LINK),
        Fault::Hold { link, way: Way::Requests } => (link, words::HELD_REQUESTS),
        Fault::Hold { link, way: Way::Replies } => (link, words::HELD_REPLIES),
        Fault::Drop { link } => (link, words::DROPPED),
        Fault::KillServer { server } => (server, words::CRASHED),
        Fault::FreezeServer { server } => (server, words::FROZEN),
        Fault::ThawServer { server } => (server, words::THAWED),
        Fault::RestartServer { server } => (server, words::RESTARTED),
        Fault::Release { link } => (link, words::RELEASED),
        Fault::Skew { server, ahead_ms } => {
            return (server, skew(lang, *ahead_ms));
        }
    };
    (who, what.get(lang).to_owned())
}

/// How wrong a clock is, in words: `clock 30 s ahead`.
pub fn skew(lang: Lang, ahead_ms: i64) -> String {
    let by = span(ahead_ms);
    match ahead_ms {
        0 => words::CLOCK_RIGHT.get(lang).to_owned(),
        1.. => words::CLOCK_AHEAD.with(lang, &[&by]),
        _ => words::CLOCK_BEHIND.with(lang, &[&by]),
    }
}
