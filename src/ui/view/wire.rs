//! The wire log: every command with its reply, and everything else that crossed the wire, up to the playhead.

use super::{detail, prelude::*, selection, truth};
use crate::{
    log::{Command, Reply},
    text::Words,
    ui::chart::{StoryMark, WireRow},
};

/// The columns of most times: lines do not move when the first longer time appears.
const USUAL_TIME: usize = 6;
/// From so many columns on, names are longer.
const ROOMY: u16 = 44;
/// The maximum lines in which the newest command and its reply are shown in full; a longer text is cut to the second
/// number.
const READ: usize = 8;
const CUT: usize = 2;

pub fn rows(scene: &Scene<'_>) -> usize {
    scene.chart.wire.partition_point(|row| row.event < scene.world.position)
}

pub fn reach(scene: &Scene<'_>, height: u16) -> u16 {
    u16::try_from(rows(scene)).unwrap_or(u16::MAX).saturating_sub(height)
}

/// The line of an event, or the last one before it.
pub fn row_of(scene: &Scene<'_>, event: usize) -> Option<usize> {
    let (event, _) = selection::exchange(scene, event);
    let wire = &scene.chart.wire[..rows(scene)];
    wire.partition_point(|row| row.event <= event).checked_sub(1)
}

/// The line of the selected event, if it has one.
fn chosen(scene: &Scene<'_>) -> Option<usize> {
    let event = scene.selected?;
    let (sent, _) = selection::exchange(scene, event);
    let at = row_of(scene, event)?;
    let row = &scene.chart.wire[at];
    let is_notice = |event: usize| matches!(scene.event(event), Some(EventKind::Notified { .. }));
    // A notification of many clients has one line for all of them.
    let notified = row.count > 1 && is_notice(event) && is_notice(row.event);
    (row.event == sent || notified).then_some(at)
}

/// The visible lines: the newest, or those `back` lines before them; `None` follows the selected event.
fn window(scene: &Scene<'_>, back: Option<u16>, height: u16) -> std::ops::Range<usize> {
    let known = rows(scene);
    let chosen = scene.selected.and_then(|event| row_of(scene, event));
    let end = match (back, chosen) {
        (Some(back), _) => known - usize::from(back.min(reach(scene, height))),
        (None, Some(chosen)) if chosen + usize::from(height) < known => {
            // Lines after the selected one stay visible.
            (chosen + 1 + usize::from(height / 3)).max(usize::from(height)).min(known)
        }
        (None, _) => known,
    };
    end.saturating_sub(height.into())..end
}

pub fn event_at(scene: &Scene<'_>, back: Option<u16>, area: Rect, (x, y): (u16, u16)) -> Option<usize> {
    if !area.contains((x, y).into()) {
        return None;
    }
    let below = u16::try_from(rest(scene, back, area).below.len()).unwrap_or_default();
    let visible = window(scene, back, area.height - below);
    // The lines below the newest one belong to it.
    let n = usize::from(y - area.y);
    let n = if below > 0 { n.min(visible.len().saturating_sub(1)) } else { n };
    visible.clone().nth(n).map(|row| scene.chart.wire[row].event)
}

/// Draws the newest lines, or those `back` lines before them; `None` follows the selected event.
pub fn draw(scene: &Scene<'_>, back: Option<u16>, area: Rect, buf: &mut Buffer) {
    let known = rows(scene);
    if known == 0 {
        let nothing = words::NOTHING_YET.get(scene.lang);
        buf.set_stringn(area.x, area.y, nothing, area.width.into(), scene.style(Role::Chrome));
        return;
    }
    let chosen = chosen(scene);
    let Rest { inline, below } = rest(scene, back, area);
    let visible = window(scene, back, area.height - u16::try_from(below.len()).unwrap_or_default());
    let first = visible.start;
    let columns = Columns::of(scene, &scene.chart.wire[visible.clone()], area.width);
    let bottom = area.top() + u16::try_from(visible.len()).unwrap_or_default();
    for (y, line) in (bottom..area.bottom()).zip(&below) {
        buf.set_line(area.x + 2, y, line, area.width.saturating_sub(2));
    }
    for (n, (y, row)) in (area.top()..bottom).zip(&scene.chart.wire[visible]).enumerate() {
        let line = match &inline {
            Some(inline) if first + n + 1 == known => {
                let mut line = Line::from(before(scene, row, columns.unaligned(scene, row)));
                line.spans.extend(inline.spans.iter().cloned());
                line
            }
            _ => line(scene, row, columns, area.width.into()),
        };
        buf.set_line(area.x, y, &line, area.width);
        if chosen == Some(first + n) {
            let line = Rect { y, height: 1, ..area };
            scene.theme.choose(line, buf);
        }
    }
}

/// What the newest line says in full, if it is cut: a remark of Lockstep on a program, a Sentinel's event, or a command
/// and its reply.
#[derive(Default)]
struct Rest {
    /// What stands in the line itself, if it is the last one, instead of its cut text.
    inline: Option<Line<'static>>,
    below: Vec<Line<'static>>,
}

fn rest(scene: &Scene<'_>, back: Option<u16>, area: Rect) -> Rest {
    let width = usize::from(area.width).saturating_sub(2);
    if let Some(remark) = cut_remark(scene, back, area) {
        let mut lines = text::wrap(&remark, width);
        lines.truncate(READ.min(area.height.saturating_sub(1).into()));
        return Rest { inline: None, below: lines.into_iter().map(Line::from).collect() };
    }
    // A notification may come between a request and its reply.
    let newest = scene.log.events()[..scene.world.position]
        .iter()
        .rposition(|event| matches!(event.kind, EventKind::Sent { .. } | EventKind::Replied { .. }));
    let newest = newest.filter(|_| back.unwrap_or(0) == 0 && scene.selected.is_none());
    let newest = newest.and_then(|event| Some((event, row_of(scene, event)?)));
    let Some((spoken, newest)) = newest else { return Rest::default() };
    let row = &scene.chart.wire[newest];
    let Some(EventKind::Sent { command, .. }) = scene.event(row.event) else { return Rest::default() };
    let visible = window(scene, back, area.height);
    // A reply may come long after its request, whose line may be out of sight.
    let is_visible = visible.contains(&newest);
    if !is_visible && spoken < scene.chart.step_begun(scene.world.position) {
        return Rest::default();
    }
    // Below a newer fault or notification it would read as what came of that.
    let since = scene.chart.wire[..rows(scene)].iter().rev().take_while(|row| row.event > spoken);
    if since.into_iter().any(|row| !matches!(scene.event(row.event), Some(EventKind::Said { .. }))) {
        return Rest::default();
    }
    let columns = Columns::of(scene, &scene.chart.wire[visible], area.width);
    let line = line(scene, row, columns, area.width.into());
    let is_cut = line.spans.iter().any(|span| span.content.ends_with('…'));
    let (short, _) = reply(scene, row, Reply::brief);
    let (whole, style) = reply(scene, row, Reply::to_string);
    if is_visible && !is_cut && short == whole {
        return Rest::default();
    }
    let most = usize::from(area.height.saturating_sub(1));
    let (command, whole) = (command.to_string(), text::clean(&whole).into_owned());
    // The last line begins with the text itself instead of with what is left of it. Below another line, the text says
    // who sent it.
    let is_last = is_visible && newest + 1 == rows(scene);
    let inline = if is_last { columns.unaligned(scene, row).room(area.width.into()) } else { 0 };
    let sender = actor(scene, row).filter(|_| !is_last);
    let sender = sender.map(|actor| format!("{} {} ", scene.glyph(actor), who(scene, row)));
    let exchange = format!("{}{} → ", sender.unwrap_or_default(), text::clean(&command));
    let mut said = wrapped(&exchange, (&whole, style), (inline, width));
    if said.len() > most && short != whole {
        // There is room for the part of the reply that matters only.
        if is_visible && !is_cut {
            return Rest::default();
        }
        said = wrapped(&exchange, (&text::clean(&short), style), (inline, width));
    }
    let begun = (inline > 0).then(|| said.remove(0));
    if said.len() > most {
        return Rest {
            inline: None,
            below: shortened(wrapped("→ ", (&whole, style), (0, width)), most, width),
        };
    }
    Rest { inline: begun, below: shortened(said, most, width) }
}

/// Of a very long reply only the beginning is shown: the earlier lines of the log are more useful.
fn shortened(mut lines: Vec<Line<'static>>, most: usize, width: usize) -> Vec<Line<'static>> {
    let shown = if lines.len() > READ { CUT } else { most };
    if lines.len() > shown {
        lines.truncate(shown);
        if let Some(last) = lines.last_mut() {
            let cut = text::fit(&format!("{last} …"), width).into_owned();
            *last = Line::from(cut);
        }
    }
    lines
}

/// A command and its reply, wrapped; the first line has `first` columns, unless that is 0, and all others `columns`.
fn wrapped(
    command: &str,
    (reply, style): (&str, Style),
    (first, columns): (usize, usize),
) -> Vec<Line<'static>> {
    let whole = format!("{command}{reply}");
    let mut lines = Vec::new();
    let mut at = 0;
    while at < whole.len() {
        let room = if lines.is_empty() && first > 0 { first } else { columns };
        let line = text::wrap(&whole[at..], room).into_iter().next().unwrap_or_default();
        let end =
            if line.is_empty() || !whole[at..].starts_with(&line) { whole.len() } else { at + line.len() };
        let reply_at = command.len().clamp(at, end);
        let spans =
            [Span::raw(whole[at..reply_at].to_owned()), Span::styled(whole[reply_at..end].to_owned(), style)];
        lines.push(Line::from(spans.to_vec()));
        at = end + (whole[end..].len() - whole[end..].trim_start().len());
        // More are never shown.
        if lines.len() > READ + 1 {
            break;
        }
    }
    lines
}

/// The newest remark of Lockstep on a program, or event of a Sentinel, if it is cut and nothing was sent since.
fn cut_remark(scene: &Scene<'_>, back: Option<u16>, area: Rect) -> Option<String> {
    if back.unwrap_or(0) > 0 || scene.selected.is_some() {
        return None;
    }
    let known = &scene.chart.wire[..rows(scene)];
    let since =
        known.iter().rev().take_while(|row| !matches!(scene.event(row.event), Some(EventKind::Sent { .. })));
    let words = |row: &WireRow| match scene.event(row.event) {
        Some(EventKind::Said { zh: Some(_), .. }) => {
            Some((String::new(), detail::own_words(scene, row.event).0))
        }
        Some(EventKind::Sentinel { notice, .. }) => {
            let sender = format!("{} {} ", glyphs::SENTINEL, who(scene, row));
            Some((sender, words::sentinel_notice(notice, scene.lang)))
        }
        _ => None,
    };
    let (remark, (sender, words)) =
        since.take(area.height.into()).find_map(|row| Some((row, words(row)?)))?;
    let columns = Columns::of(scene, &scene.chart.wire[window(scene, back, area.height)], area.width);
    let room = columns.unaligned(scene, remark).room(area.width.into());
    (text::width(&words) > room).then(|| sender + &words)
}

/// The columns for times, and for senders with their servers.
#[derive(Clone, Copy)]
struct Columns {
    time: usize,
    names: usize,
}

impl Columns {
    fn of(scene: &Scene<'_>, rows: &[WireRow], width: u16) -> Self {
        let most = match scene.world.servers.len() {
            2.. => 16,
            _ if width < ROOMY => 8,
            _ => 12,
        };
        let names = rows.iter().map(|row| text::width(&who(scene, row))).max();
        let times = rows.iter().map(|row| text::width(&moment(scene, row))).max();
        // In a narrow pane these columns are worth more to a token than to lines that stay in place.
        let usual = if width < ROOMY { 0 } else { USUAL_TIME };
        Self { time: times.unwrap_or_default().max(usual), names: names.unwrap_or(1).clamp(1, most) }
    }

    /// The columns of a line that would be cut if its text were aligned with the others.
    fn unaligned(self, scene: &Scene<'_>, row: &WireRow) -> Self {
        Self { names: self.names.min(text::width(&who(scene, row))), ..self }
    }

    /// The columns of a line with a text of so many columns.
    fn fitting(self, scene: &Scene<'_>, row: &WireRow, (text, width): (usize, usize)) -> Self {
        if text <= self.room(width) { self } else { self.unaligned(scene, row) }
    }

    /// The columns of a line apart from the time and the sender.
    const fn room(self, width: usize) -> usize {
        width.saturating_sub(self.time + 1 + self.sender())
    }

    /// The columns of the sender with its sign. A line without a sender has none if its text would be cut otherwise.
    const fn sender(self) -> usize {
        if self.names == 0 { 0 } else { self.names + 3 }
    }
}

fn moment(scene: &Scene<'_>, row: &WireRow) -> String {
    scene.log.events().get(row.event).map_or_else(String::new, |event| time::moment(event.at))
}

/// The sender, with the server if there are several.
fn who(scene: &Scene<'_>, row: &WireRow) -> String {
    if let Some(EventKind::Sentinel { .. }) = scene.event(row.event) {
        return words::sentinels(&scene.log.same_notice_from(row.event, scene.world.position), scene.lang);
    }
    let Some(actor) = actor(scene, row) else { return String::new() };
    let member = scene.world.actor(actor).filter(|_| row.count > 1);
    let name = member.map_or(scene.name(actor), |member| &member.who.client);
    let several = scene.world.servers.len() > 1;
    match scene.event(row.event) {
        Some(EventKind::Sent { server, .. }) if several && server != "local" => format!("{name}→{server}"),
        Some(EventKind::Notified { server, .. }) if several => format!("{name}←{server}"),
        _ => name.to_owned(),
    }
}

fn actor(scene: &Scene<'_>, row: &WireRow) -> Option<ActorId> {
    match *scene.event(row.event)? {
        EventKind::Sent { actor, .. }
        | EventKind::Notified { actor, .. }
        | EventKind::Said { actor, .. }
        | EventKind::GaveUp { actor, .. } => Some(actor),
        _ => None,
    }
}

/// The time and the sender of a line.
fn before<'a>(scene: &Scene<'a>, row: &WireRow, columns: Columns) -> Vec<Span<'a>> {
    let Columns { time, names } = columns;
    let chrome = scene.style(Role::Chrome);
    let mut spans = vec![Span::styled(format!("{:>time$} ", moment(scene, row)), chrome)];
    if let Some(actor) = actor(scene, row) {
        let name = format!("{} {} ", scene.glyph(actor), text::pad(&who(scene, row), names));
        spans.push(Span::styled(name, scene.actor_style(actor)));
    } else if let Some(EventKind::Sentinel { .. }) = scene.event(row.event) {
        let who = text::fit(&who(scene, row), names).into_owned();
        let name = format!("{} {} ", glyphs::SENTINEL, text::pad(&who, names));
        spans.push(Span::styled(name, chrome));
    } else {
        spans.push(Span::raw(" ".repeat(columns.sender())));
    }
    spans
}

fn line<'a>(scene: &Scene<'a>, row: &WireRow, columns: Columns, width: usize) -> Line<'a> {
    let Some(event) = scene.log.events().get(row.event) else { return Line::default() };
    let chrome = scene.style(Role::Chrome);
    let (words, style) = match &event.kind {
        EventKind::Sent { command, server, .. } => {
            let (reply, style) = reply(scene, row, Reply::brief);
            let command = command.to_string();
            let whole = text::width(&command) + text::width(&reply) + 3;
            let columns = columns.fitting(scene, row, (whole, width));
            let mut spans = before(scene, row, columns);
            let room = columns.room(width);
            // The reply takes precedence over the end of a long command.
            let most = (room / 2).max(room.saturating_sub(text::width(&command) + 3));
            let reply = text::fit(&reply, most).into_owned();
            let left = room.saturating_sub(text::width(&reply) + 3);
            let style_wire = if server == "local" { chrome } else { Style::new() };
            spans.push(Span::styled(text::fit(&command, left).into_owned(), style_wire));
            spans.push(Span::styled(" → ", chrome));
            spans.push(Span::styled(reply, style));
            return Line::from(spans);
        }
        EventKind::Notified { about, what, .. } => {
            let many = if row.count > 1 { format!(" ×{}", row.count) } else { String::new() };
            (format!("↯ {}{many}", words::notice(what, about, scene.lang)), scene.style(Role::Warning))
        }
        EventKind::Sentinel { notice, .. } => {
            (words::sentinel_notice(notice, scene.lang), scene.style(Role::Warning))
        }
        EventKind::Said { stderr: true, .. } if row.count > 1 => {
            let (count, last) = log_lines(scene, row);
            (words::LOG_LINES.with(scene.lang, &[&count.to_string(), last]), chrome)
        }
        EventKind::Fault(_) | EventKind::GaveUp { .. } | EventKind::Said { .. } => {
            detail::own_words(scene, row.event)
        }
        EventKind::ServerDied { server, .. } => {
            let words = words::SERVER_DIED.get(scene.lang);
            (format!("✗ {server}{}{words}", scene.lang.colon()), scene.style(Role::Danger))
        }
        EventKind::State(state) => {
            let lane = scene.chart.truths.iter().find(|truth| truth.server == state.server);
            let changes = lane.into_iter().flat_map(|truth| &truth.changes);
            let its = changes.filter(|(_, event, _)| *event == row.event).map(|(_, _, change)| change);
            let its: Vec<(String, Role)> =
                its.map(|change| truth::role_change_words(change, scene.lang)).collect();
            let role = its.first().map_or(Role::Chrome, |(_, role)| *role);
            let words: Vec<&str> = its.iter().map(|(words, _)| words.as_str()).collect();
            let words = format!("{}{}{}", state.server, scene.lang.colon(), words.join(" · "));
            (words, scene.style(role))
        }
        _ => return Line::from(before(scene, row, columns)),
    };
    let columns = columns.fitting(scene, row, (text::width(&words), width));
    let mut spans = before(scene, row, columns);
    spans.push(Span::styled(text::fit(&words, columns.room(width)).into_owned(), style));
    Line::from(spans)
}

/// The number of lines that a program has written to standard error in a row up to the playhead, and the last one, which
/// says most if an error has ended the program.
fn log_lines<'a>(scene: &Scene<'a>, row: &WireRow) -> (usize, &'a str) {
    let of = actor(scene, row);
    let known = scene.log.events().get(row.event..scene.world.position).unwrap_or_default();
    let lines = known.iter().filter_map(|event| match &event.kind {
        EventKind::Said { actor, text, stderr: true, .. } if Some(*actor) == of => Some(text.as_str()),
        _ => None,
    });
    lines.take(row.count).enumerate().last().map_or((0, ""), |(n, line)| (n + 1, line))
}

fn reply(scene: &Scene<'_>, row: &WireRow, written: fn(&Reply) -> String) -> (String, Style) {
    let known = row.replied.and_then(|replied| Some((replied, scene.reply(replied)?)));
    if let Some((replied, reply)) = known {
        // A reply in a later step came after what the lines below show.
        let marks = &scene.chart.story_marks;
        let is_late = |mark: &StoryMark| mark.position > row.event && mark.position <= replied;
        let late = scene.log.events().get(replied).filter(|_| marks.iter().any(is_late));
        let own = match reply {
            Reply::Lost(why) => format!("(lost) {}", words::connection_error(why, scene.lang)),
            _ => written(reply),
        };
        let words = match late {
            Some(event) => words::REPLIED_AT.with(scene.lang, &[&own, &time::moment(event.at)]),
            None => own,
        };
        return (words, style(scene, row.event, reply));
    }
    let words = format!("… {}", pending(scene, row.event).get(scene.lang));
    (words, scene.style(Role::Chrome))
}

/// The text for a command without a reply: it is in flight, or blocked in its server or on a mutex of its own process.
pub fn pending(scene: &Scene<'_>, sent: usize) -> Words {
    let local = matches!(scene.event(sent), Some(EventKind::Sent { server, .. }) if server == "local");
    let exchanges = &scene.world.exchanges;
    let its = exchanges.binary_search_by_key(&sent, |exchange| exchange.sent);
    if local || its.is_ok_and(|n| exchanges[n].blocked) { words::BLOCKED } else { words::IN_FLIGHT }
}

/// The style of a reply to a `Sent` event: errors and lost replies alarm, `nil` warns, except from a script: many, such as
/// Redisson's, answer nil when they have taken the lock.
pub fn style(scene: &Scene<'_>, sent: usize, reply: &Reply) -> Style {
    let is_script = || match scene.event(sent) {
        Some(EventKind::Sent { command, .. }) => {
            matches!(command, Command::Script { .. })
                || ["EVAL", "EVALSHA"].iter().any(|name| command.is_redis(name))
        }
        _ => false,
    };
    match reply {
        Reply::Value(value) if value.is_null() && !is_script() => scene.style(Role::Warning),
        Reply::Value(_) => scene.style(Role::Fresh),
        Reply::Error { .. } | Reply::Lost(_) => scene.style(Role::Danger),
    }
}
