//! The selected event in full: time, actor, server, the whole command and reply, duration, and what it changed.

use std::time::Duration;

use super::{prelude::*, selection, wire};
use crate::{log::Reply, ui::words::fault, world::Change};

type Words = Vec<(String, Style)>;

pub fn lines(scene: &Scene<'_>, event: usize, width: u16) -> Vec<Line<'static>> {
    let width = usize::from(width);
    let (sent, replied) = selection::exchange(scene, event);
    let Some(logged) = scene.log.events().get(sent) else { return Vec::new() };
    let mut lines = Vec::new();
    let mut heading: Words = vec![(time::moment(logged.at), scene.style(Role::Fresh))];
    let mut body: Words = Words::new();
    match &logged.kind {
        EventKind::Sent { actor, server, command, label, .. } => {
            heading.push(who(scene, *actor));
            heading.push((format!("→ {server} · {label}"), scene.style(Role::Chrome)));
            body.push((command.to_string(), scene.style(Role::Code)));
            lines.extend(wrapped(&heading, width, "  "));
            lines.extend(wrapped(&body, width, " "));
            heading = reply_words(scene, sent, replied);
            body = Words::new();
        }
        EventKind::Notified { actor, server, about, what } => {
            heading.push((format!("{server} →"), scene.style(Role::Chrome)));
            heading.push(who(scene, *actor));
            body.push((format!("↯ {}", words::notice(what, about, scene.lang)), scene.style(Role::Warning)));
            let many = receivers(scene, event);
            if many > 1 {
                let words = words::TOLD.with(scene.lang, &[&many.to_string()]);
                body.push((words, scene.style(Role::Danger)));
            }
        }
        kind => {
            heading.extend(kind.actor().map(|actor| who(scene, actor)));
            body.push(own_words(scene, event));
        }
    }
    let changed = changed(scene, event);
    if !changed.is_empty() {
        let words = words::CHANGED.with(scene.lang, &[&changed]);
        let last = if body.is_empty() { &mut heading } else { &mut body };
        last.push((words, scene.style(Role::Good)));
    }
    lines.extend(wrapped(&heading, width, "  "));
    lines.extend(wrapped(&body, width, "  "));
    lines
}

fn who(scene: &Scene<'_>, actor: ActorId) -> (String, Style) {
    let words = format!("{} {}", scene.glyph(actor), scene.name(actor));
    (words, scene.actor_style(actor))
}

fn receivers(scene: &Scene<'_>, event: usize) -> usize {
    let row = scene.sequence.row_of(event);
    let row = row.and_then(|row| scene.sequence.rows.get(row));
    row.map_or(1, |row| row.count(scene.world.position))
}

fn reply_words(scene: &Scene<'_>, sent: usize, replied: Option<usize>) -> Words {
    let events = scene.log.events();
    let chrome = scene.style(Role::Chrome);
    let arrival =
        replied.and_then(|replied| Some((events.get(replied)?, events.get(sent)?, scene.reply(replied)?)));
    let Some((replied, from, reply)) = arrival else {
        let words = format!("… {}", wire::pending(scene, sent).get(scene.lang));
        return vec![(words, chrome)];
    };
    let words = match reply {
        Reply::Lost(why) => format!("✗ {}", words::lost(why, scene.lang)),
        _ => format!("← {reply}"),
    };
    let took =
        words::ROUND_TRIP.with(scene.lang, &[&time::said(&brief(replied.at.since(from.at)), scene.lang)]);
    vec![(words, wire::style(scene, sent, reply)), (format!("{} · {took}", time::moment(replied.at)), chrome)]
}

/// A duration that may be short: `0.46ms`, `12ms`, `3s`.
fn brief(duration: Duration) -> String {
    let micros = duration.as_micros();
    match micros {
        0..10_000 => format!("{}.{:02}ms", micros / 1000, micros % 1000 / 10),
        _ => time::stretch(duration),
    }
}

/// The text of an event that crosses no wire.
pub fn own_words(scene: &Scene<'_>, event: usize) -> (String, Style) {
    let Some(logged) = scene.log.events().get(event) else { return Default::default() };
    let (words, role) = match &logged.kind {
        EventKind::Replied { reply, .. } => (reply.to_string(), Role::Text),
        EventKind::Blocked { label, .. } => (words::WAITS_THERE.with(scene.lang, &[label]), Role::Warning),
        EventKind::Waits { label, until, .. } => {
            let duration = time::said(&time::stretch(until.since(logged.at)), scene.lang);
            (words::WAITS.with(scene.lang, &[&duration, words::label(label, scene.lang)]), Role::Text)
        }
        EventKind::Waited { label, in_vain: true, .. } => {
            (words::NOTHING_CAME.with(scene.lang, &[label]), Role::Warning)
        }
        EventKind::Waited { label, .. } => (words::WAITED.with(scene.lang, &[label]), Role::Text),
        EventKind::Took { about, what, .. } => {
            let words = words::TAKES_NOTICE.with(scene.lang, &[&words::notice(what, about, scene.lang)]);
            (format!("↯ {words}"), Role::Warning)
        }
        EventKind::Believes { lock, belief, .. } => {
            let lock = scene.log.lock_title(lock, scene.lang);
            (format!("{lock}{}{}", scene.lang.colon(), words::belief(*belief).get(scene.lang)), Role::Text)
        }
        EventKind::Said { text, stderr: true, .. } => (format!("! {text}"), Role::Warning),
        EventKind::Said { text, zh, .. } => {
            let text = zh.as_ref().filter(|_| scene.lang == Lang::Zh).unwrap_or(text);
            (format!("› {text}"), Role::Chrome)
        }
        EventKind::Counted { counter, by, .. } => {
            (format!("{} {by:+}", words::named(scene.log, counter, scene.lang)), Role::Good)
        }
        EventKind::Fault(fault) => (fault::words(scene.lang, fault), Role::Danger),
        EventKind::GaveUp { why, .. } => (
            format!("✗ {}{}{}", words::GAVE_UP.get(scene.lang), scene.lang.colon(), why.get(scene.lang)),
            Role::Danger,
        ),
        EventKind::ServerDied { server, why } => (
            format!("✗ {server}{}{} {why}", scene.lang.colon(), words::SERVER_DIED.get(scene.lang)),
            Role::Danger,
        ),
        EventKind::Sentinel { notice, .. } => {
            let who = scene.log.same_notice_from(event, scene.world.position);
            (words::sentinels_say(&who, notice, scene.lang), Role::Warning)
        }
        EventKind::State(state) => (words::SEEN.with(scene.lang, &[&state.server]), Role::Text),
        _ => (String::new(), Role::Text),
    };
    (text::clean(&words).into_owned(), scene.style(role))
}

/// What it changed: `+ lock, ~ stock`; with the server's name if there are several servers.
fn changed(scene: &Scene<'_>, event: usize) -> String {
    let several = scene.world.servers.len() > 1;
    let mut changed = Vec::new();
    for (server, names) in selection::changes(scene, event) {
        for (name, change) in names {
            let sign = match change {
                Change::Added => '+',
                Change::Changed => '~',
                Change::Removed => '-',
            };
            let place = if several { format!(" ({server})") } else { String::new() };
            changed.push(format!("{sign} {name}{place}"));
        }
    }
    let more = changed.len().saturating_sub(6);
    changed.truncate(6);
    let separator = if scene.lang == Lang::Zh { "，" } else { ", " };
    let mut words = changed.join(separator);
    if more > 0 {
        words = format!("{words}{separator}{}", words::MORE_NODES.with(scene.lang, &[&more.to_string()]));
    }
    words
}

/// Wraps styled words into lines.
fn wrapped(words: &Words, width: usize, between: &str) -> Vec<Line<'static>> {
    let mut lines: Vec<Line<'static>> = Vec::new();
    let mut used = 0;
    for (part, style) in words.iter().filter(|(part, _)| !part.is_empty()) {
        let room = width.saturating_sub(used + text::width(between));
        if let Some(line) = lines.last_mut()
            && text::width(part) <= room
        {
            line.push_span(Span::raw(between.to_owned()));
            line.push_span(Span::styled(text::clean(part).into_owned(), *style));
            used += text::width(between) + text::width(part);
            continue;
        }
        for row in text::wrap(part, width) {
            used = text::width(&row);
            lines.push(Line::from(Span::styled(row, *style)));
        }
    }
    lines
}
