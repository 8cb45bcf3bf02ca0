//! Draws the sequence: names, lifelines, and the newest rows upward from the bottom, as many as fit. It must not
//! know how the rows came about.

use ratatui::{
    buffer::Buffer,
    layout::Rect,
    style::{Modifier, Style},
};

use super::{
    Look, Row, RowKind, Who,
    arrow::{self, Arrow, Words},
    window::{self, TIME, Window},
};
use crate::{
    log::{EventKind, Fault, Observed, Role as ServerRole},
    view::{
        Scene, lane, text,
        theme::{Role, glyphs},
        time, wire, words,
    },
};

/// A row on the screen.
#[derive(Debug, Clone)]
struct Placed {
    row: usize,
    /// Its first line.
    y: u16,
    /// Its lines: one, or two where its words stand above its arrow.
    height: u16,
    arrow: Option<Arrow>,
}

/// What is drawn where.
struct Layout {
    window: Window,
    header: u16,
    body: Rect,
    rows: Vec<Placed>,
}

/// How far a learner has moved the pane: `None` follows what is chosen, or else the newest row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct View {
    /// So many rows before the newest.
    pub back: Option<u16>,
    /// So many clients left out at the left.
    pub aside: Option<u16>,
}

/// How far back it can be scrolled.
pub fn reach(scene: &Scene<'_>) -> u16 {
    let known = scene.sequence.known(scene.world.position);
    u16::try_from(known.saturating_sub(1)).unwrap_or(u16::MAX)
}

/// How many clients can be left out at the left.
pub fn aside_reach(scene: &Scene<'_>, area: Rect) -> u16 {
    window::reach(scene, area)
}

impl Layout {
    fn new(scene: &Scene<'_>, view: View, area: Rect) -> Self {
        let position = scene.world.position;
        let known = scene.sequence.known(position);
        let chosen = scene
            .selected
            .and_then(|event| scene.sequence.row_of(event))
            .filter(|row| *row < known);
        let body = Rect {
            y: area.y + 1,
            height: area.height.saturating_sub(1),
            ..area
        };
        let follow = chosen.or(known.checked_sub(1));
        let newest = follow.and_then(|row| {
            // Time that passes is nobody's: the row before says who is looked at.
            let rows = scene.sequence.rows[..=row].iter().rev();
            rows.take(8).find(|row| row.columns().is_some())
        });
        let window = Window::new(scene, view.aside, newest, area);
        let mut layout = Self {
            window,
            header: area.y,
            body,
            rows: Vec::new(),
        };
        let back = view.back.map_or(0, |back| usize::from(back.min(reach(scene))));
        layout.fill(scene, known - back.min(known));
        let first = layout.rows.first().map_or(0, |placed| placed.row);
        if let Some(chosen) = chosen.filter(|chosen| view.back.is_none() && *chosen < first) {
            // What is chosen draws the window along, and what came next stays in sight.
            layout.fill(scene, known.min(chosen + 1 + usize::from(body.height / 4)));
        }
        layout
    }

    /// Places the rows before `end` upward from the bottom.
    fn fill(&mut self, scene: &Scene<'_>, end: usize) {
        self.rows.clear();
        let mut left = self.body.height;
        for row in (0..end).rev() {
            let arrow = Arrow::new(scene, &self.window, &scene.sequence.rows[row]);
            let height = 1 + u16::from(arrow.as_ref().is_some_and(Arrow::is_short));
            if height > left {
                break;
            }
            left -= height;
            self.rows.push(Placed {
                row,
                y: 0,
                height,
                arrow,
            });
        }
        self.rows.reverse();
        // Few rows hang from the names; of many, the newest stands at the bottom.
        let all = self.rows.first().is_none_or(|placed| placed.row == 0);
        let mut y = self.body.y + if all { 0 } else { left };
        for placed in &mut self.rows {
            placed.y = y;
            y += placed.height;
        }
    }
}

/// The event whose row is at a place of the screen.
pub fn event_at(scene: &Scene<'_>, view: View, area: Rect, (x, y): (u16, u16)) -> Option<usize> {
    if !area.contains((x, y).into()) {
        return None;
    }
    let layout = Layout::new(scene, view, area);
    let placed = layout
        .rows
        .iter()
        .find(|placed| (placed.y..placed.y + placed.height).contains(&y))?;
    let row = scene.sequence.rows.get(placed.row)?;
    row.is_chosen().then_some(row.event)
}

/// Draws the pane's inside.
pub fn draw(scene: &Scene<'_>, view: View, area: Rect, buf: &mut Buffer) {
    if area.is_empty() || area.width <= TIME {
        return;
    }
    let layout = Layout::new(scene, view, area);
    draw_names(scene, &layout, buf);
    draw_lifelines(scene, &layout, buf);
    let mut before = String::new();
    for placed in &layout.rows {
        draw_row(scene, &layout, placed, buf);
        let row = &scene.sequence.rows[placed.row];
        let moment = scene.log.events().get(row.event).map(|event| time::moment(event.at));
        let moment = moment.filter(|_| row.is_chosen()).unwrap_or_default();
        if moment != before {
            let words = format!("{moment:>8}");
            let y = placed.y + placed.height - 1;
            buf.set_stringn(area.x, y, words, 8, scene.style(Role::Chrome));
        }
        if !moment.is_empty() {
            before = moment;
        }
    }
    alarm(scene, &layout, area, buf);
    let chosen = scene.selected.and_then(|event| scene.sequence.row_of(event));
    for placed in layout.rows.iter().filter(|placed| Some(placed.row) == chosen) {
        let line = Rect {
            y: placed.y,
            height: placed.height,
            ..area
        };
        scene.theme.choose(line, buf);
    }
}

/// Who the columns are.
fn draw_names(scene: &Scene<'_>, layout: &Layout, buf: &mut Buffer) {
    let window = &layout.window;
    let lines: Vec<(usize, u16)> = window.lines().collect();
    let mut free = window.plot.x;
    for (n, (column, x)) in lines.iter().enumerate() {
        let next = lines
            .get(n + 1)
            .map_or(window.plot.right(), |(_, next)| x + (next - x).div_ceil(2));
        let room = usize::from(next.saturating_sub(free));
        let who = &scene.sequence.columns.all[*column];
        let (name, style) = match who {
            Who::Actor(actor) => lane::name(scene, *actor, room),
            Who::Crowd { first, .. } => (
                window::name(scene, who),
                scene.actor_style(*first).add_modifier(Modifier::BOLD),
            ),
            Who::Server(name) => server_name(scene, name),
        };
        let name = text::fit(&name, room).into_owned();
        let width = u16::try_from(text::width(&name)).unwrap_or_default();
        let start = x
            .saturating_sub(width / 2)
            .clamp(free, next.saturating_sub(width).max(free));
        buf.set_stringn(start, layout.header, &name, room, style);
        free = (start + width + 1).max(x + 1).min(window.plot.right());
    }
    let (before, after) = window.hidden;
    if before + after > 0 {
        let words = format!("◂{before} {after}▸");
        let words = text::fit(&words, usize::from(TIME) - 1).into_owned();
        buf.set_stringn(
            window.plot.x - TIME,
            layout.header,
            words,
            usize::from(TIME) - 1,
            scene.style(Role::Warning),
        );
    }
}

fn server_name(scene: &Scene<'_>, name: &str) -> (String, Style) {
    let style = scene.style(Role::Accent);
    let server = scene.world.servers.iter().find(|server| server.info.name == name);
    match server {
        Some(server) if server.died.is_some() => (
            format!("{} {name}", glyphs::KILLED),
            style.add_modifier(Modifier::CROSSED_OUT | Modifier::DIM),
        ),
        Some(server) if server.frozen => (
            format!("{} {name}", glyphs::STOPPED),
            scene.style(Role::Warning),
        ),
        _ => (name.to_owned(), style),
    }
}

/// A piece of a lifeline.
fn piece(scene: &Scene<'_>, column: usize, look: Look) -> Option<(&'static str, Style)> {
    let client = match &scene.sequence.columns.all[column] {
        Who::Actor(actor) | Who::Crowd { first: actor, .. } => scene.actor_style(*actor),
        Who::Server(_) => scene.style(Role::Chrome),
    };
    Some(match look {
        Look::Idle => (glyphs::LIFELINE, scene.style(Role::Chrome)),
        Look::Waiting => (glyphs::WAITING, client.add_modifier(Modifier::DIM)),
        Look::Unsure => (glyphs::UNSURE, client.add_modifier(Modifier::DIM)),
        Look::Holding => (glyphs::LIFELINE_HOLDING, client.add_modifier(Modifier::BOLD)),
        Look::Clashing => (glyphs::CLASH, scene.style(Role::Danger)),
        Look::Frozen => (glyphs::FROZEN, scene.style(Role::Warning)),
        Look::Dead => return None,
    })
}

fn draw_lifelines(scene: &Scene<'_>, layout: &Layout, buf: &mut Buffer) {
    let position = scene.world.position;
    let columns: Vec<(usize, u16)> = layout.window.lines().collect();
    let mut line = |y: u16, row: usize| {
        for (column, x) in &columns {
            let look = scene.sequence.lifelines[*column].look(row, position);
            if let Some((symbol, style)) = piece(scene, *column, look) {
                put(buf, (*x, y), symbol, style);
            }
        }
    };
    let top = layout.rows.first().map_or(layout.body.y, |placed| placed.y);
    let first = layout.rows.first().map_or(0, |placed| placed.row);
    for y in layout.body.y..top {
        line(y, first.saturating_sub(1));
    }
    for placed in &layout.rows {
        // Words above an arrow are read before it arrives.
        if placed.height > 1 {
            line(placed.y, placed.row.saturating_sub(1));
        }
        line(placed.y + placed.height - 1, placed.row);
    }
    let end = layout
        .rows
        .last()
        .map_or(layout.body.y, |placed| placed.y + placed.height);
    let last = layout.rows.last().map_or(0, |placed| placed.row);
    for y in end..layout.body.bottom() {
        line(y, last);
    }
}

/// Sets a cell, and nothing of what stood there shines through.
fn put(buf: &mut Buffer, place: (u16, u16), symbol: &str, style: Style) {
    if let Some(cell) = buf.cell_mut(place) {
        cell.reset();
        cell.set_symbol(symbol).set_style(style);
    }
}

/// Writes words from a column on, within limits; gives the column after them.
fn write(words: &Words, (mut x, y): (u16, u16), limit: u16, buf: &mut Buffer) -> u16 {
    for (part, style) in words {
        let part = text::fit(part, usize::from(limit.saturating_sub(x))).into_owned();
        let width = u16::try_from(text::width(&part)).unwrap_or_default();
        for column in x..x + width {
            put(buf, (column, y), " ", Style::new());
        }
        buf.set_stringn(x, y, &part, width.into(), *style);
        x += width;
    }
    x
}

fn draw_row(scene: &Scene<'_>, layout: &Layout, placed: &Placed, buf: &mut Buffer) {
    let row = &scene.sequence.rows[placed.row];
    if let Some(arrow) = &placed.arrow {
        draw_arrow(scene, layout, (placed, arrow), buf);
        return;
    }
    match &row.kind {
        RowKind::Note { column } => {
            let words = own_words(scene, row);
            beside(layout, (*column, placed.y), &words, buf);
        }
        RowKind::Expired { column, key } => {
            let words = words::EXPIRED.with(scene.lang, &[key]);
            let words = vec![(words, scene.style(Role::Warning))];
            beside(layout, (*column, placed.y), &words, buf);
        }
        RowKind::Role { column } => {
            let words = vec![(role_words(scene, row), scene.style(Role::Warning))];
            beside(layout, (*column, placed.y), &words, buf);
        }
        RowKind::Fault { columns } => draw_fault(scene, layout, (row, columns, placed.y), buf),
        RowKind::Link { ends } => draw_link(scene, layout, (row, ends, placed.y), buf),
        RowKind::Clash { lock } => {
            let words = words::CLASH.with(scene.lang, &["2"]);
            let words = format!(" {words} · {lock}");
            let plot = layout.window.plot;
            let words = text::pad(&words, plot.width.into());
            let style = scene.style(Role::Danger).add_modifier(Modifier::REVERSED);
            write(&vec![(words, style)], (plot.x, placed.y), plot.right(), buf);
        }
        RowKind::Gap { since } => {
            let until = scene.log.events().get(row.last(scene.world.position));
            let passed = until.map_or_else(Default::default, |event| event.at.since(*since));
            let words = words::PASSES.with(scene.lang, &[&time::stretch(passed)]);
            draw_gap(scene, layout, (&format!(" ⋯ {words} "), placed.y), buf);
        }
        _ => {}
    }
}

fn draw_arrow(
    scene: &Scene<'_>,
    layout: &Layout,
    (placed, arrow): (&Placed, &Arrow),
    buf: &mut Buffer,
) {
    let (left, right) = arrow.span;
    let y = placed.y + placed.height - 1;
    let position = scene.world.position;
    for x in left..right {
        put(buf, (x, y), arrow.dash, arrow.style);
    }
    for (column, x) in layout.window.lines().filter(|(_, x)| (left..right).contains(x)) {
        // Lifelines that it only passes.
        let symbol = match scene.sequence.lifelines[column].look(placed.row, position) {
            Look::Dead => continue,
            Look::Holding | Look::Clashing => "╂",
            _ => "┼",
        };
        put(buf, (x, y), symbol, arrow.style);
    }
    if left < right {
        put(buf, (right - 1, y), arrow.right, arrow.style);
        put(buf, (left, y), arrow.left, arrow.style);
        if right - left == 1 {
            // Too short for two ends: the one that says something.
            let head = if arrow.left == arrow.dash { arrow.right } else { arrow.left };
            put(buf, (left, y), head, arrow.style);
        }
    }
    if arrow.is_short() {
        let plot = layout.window.plot;
        let words = arrow::fitted(&arrow.words, plot.width.into());
        let width = u16::try_from(arrow::width(&words)).unwrap_or(plot.width);
        let x = (left + 1).min(plot.right().saturating_sub(width)).max(plot.x);
        write(&words, (x, placed.y), plot.right(), buf);
        return;
    }
    let mut words = arrow.written();
    if words.is_empty() {
        return;
    }
    words.insert(0, (" ".to_owned(), Style::new()));
    words.push((" ".to_owned(), Style::new()));
    write(&words, (left + 2, y), right, buf);
}

/// Words beside a lifeline: at its right, or at its left where there is more room.
fn beside(layout: &Layout, (column, y): (usize, u16), words: &Words, buf: &mut Buffer) {
    let plot = layout.window.plot;
    let width = u16::try_from(arrow::width(words)).unwrap_or(plot.width);
    let Some(x) = layout.window.line(column) else {
        write(words, (plot.x, y), plot.right(), buf);
        return;
    };
    let right = plot.right().saturating_sub(x + 2);
    let left = x.saturating_sub(plot.x + 1);
    if width <= right || right >= left {
        write(words, (x + 2, y), plot.right(), buf);
    } else {
        let words = arrow::fitted(words, left.into());
        let width = u16::try_from(arrow::width(&words)).unwrap_or(left);
        write(&words, (x - 1 - width, y), x - 1, buf);
    }
}

/// What a client does by itself, and to how many of a crowd it happens.
fn own_words(scene: &Scene<'_>, row: &Row) -> Words {
    let position = scene.world.position;
    let mut words = arrow::note_words(scene, row.event);
    let local = scene.log.events().get(row.event).map(|event| &event.kind);
    if let Some(EventKind::Sent { .. }) = local {
        let reply = row.note.filter(|note| *note < position);
        let reply = reply.and_then(|note| scene.log.events().get(note));
        let (words_of, style) = match reply.map(|event| &event.kind) {
            Some(EventKind::Replied { reply, .. }) => (reply.to_string(), wire::style(scene, reply)),
            _ => ("…".to_owned(), scene.style(Role::Chrome)),
        };
        words.push((" → ".to_owned(), scene.style(Role::Chrome)));
        words.push((words_of, style.remove_modifier(Modifier::BOLD)));
    }
    let count = row.count(position);
    if count > 1 {
        words.push((format!(" ×{count}"), scene.style(Role::Fresh)));
    }
    words
}

fn role_words(scene: &Scene<'_>, row: &Row) -> String {
    let state = match scene.log.events().get(row.event).map(|event| &event.kind) {
        Some(EventKind::State(state)) => &state.observed,
        _ => return String::new(),
    };
    let role = match state {
        Observed::Redis(space) => space.role.as_ref(),
        Observed::Zookeeper(_) => None,
    };
    let role = match role {
        Some(ServerRole::Replica { of }) => words::REPLICA_OF.with(scene.lang, &[of]),
        _ => words::MASTER.get(scene.lang).to_owned(),
    };
    words::BECOMES.with(scene.lang, &[&role])
}

fn draw_fault(
    scene: &Scene<'_>,
    layout: &Layout,
    (row, columns, y): (&Row, &[usize], u16),
    buf: &mut Buffer,
) {
    let Some(event) = scene.log.events().get(row.event) else {
        return;
    };
    let (glyph, words) = match &event.kind {
        EventKind::Fault(fault) => {
            let words = wire::fault_words(scene, fault);
            let glyph = match fault {
                Fault::Crash { .. } | Fault::KillServer { .. } => glyphs::KILLED,
                Fault::Freeze { .. } | Fault::FreezeServer { .. } => glyphs::STOPPED,
                _ => glyphs::RELEASED,
            };
            (glyph, words)
        }
        EventKind::ServerDied { server, .. } => {
            let words = words::SERVER_DIED.get(scene.lang);
            (glyphs::KILLED, format!("{} {server}: {words}", glyphs::KILLED))
        }
        _ => return,
    };
    let style = scene.style(Role::Danger);
    if let Some(last) = columns.last() {
        beside(layout, (*last, y), &vec![(words, style)], buf);
    }
    for x in columns.iter().filter_map(|column| layout.window.line(*column)) {
        put(buf, (x, y), glyph, style);
    }
}

fn draw_link(
    scene: &Scene<'_>,
    layout: &Layout,
    (row, ends, y): (&Row, &[(usize, usize, usize)], u16),
    buf: &mut Buffer,
) {
    let position = scene.world.position;
    let fault = |event: usize| match scene.log.events().get(event).map(|event| &event.kind) {
        Some(EventKind::Fault(fault)) => Some(fault),
        _ => None,
    };
    let Some(first) = fault(row.event) else { return };
    let glyph = match first {
        Fault::Hold { .. } => glyphs::STOPPED,
        Fault::Release { .. } => glyphs::RELEASED,
        _ => glyphs::CUT,
    };
    let links = std::iter::once(row.event)
        .chain(row.further().iter().copied())
        .filter(|event| *event < position)
        .filter_map(|event| match fault(event)? {
            Fault::Cut { link } | Fault::Hold { link } | Fault::Release { link } | Fault::Drop { link } => {
                Some(link.as_str())
            }
            _ => None,
        });
    let links = links.collect::<Vec<_>>().join(", ");
    let words = format!(" {glyph} {}: {links} ", wire::fault_name(first).get(scene.lang));
    let style = scene.style(Role::Danger);
    draw_gap(scene, layout, (&words, y), buf);
    let seen = ends.iter().filter(|(_, _, event)| *event < position);
    for (from, to, _) in seen {
        let (left, right) = layout.window.between(*from, *to);
        put(buf, (left + right.saturating_sub(left) / 2, y), glyph, style);
    }
    // After the marks: no mark may stand in the words.
    draw_words(layout, (&words, y), style, buf);
}

/// A line across all columns.
fn draw_gap(scene: &Scene<'_>, layout: &Layout, (words, y): (&str, u16), buf: &mut Buffer) {
    let plot = layout.window.plot;
    let lines: Vec<u16> = layout.window.lines().map(|(_, x)| x).collect();
    for x in (plot.x..plot.right()).filter(|x| !lines.contains(x)) {
        put(buf, (x, y), "┈", scene.style(Role::Chrome));
    }
    draw_words(layout, (words, y), scene.style(Role::Chrome), buf);
}

/// Words in the middle between the first two lifelines, or from there on.
fn draw_words(layout: &Layout, (words, y): (&str, u16), style: Style, buf: &mut Buffer) {
    let plot = layout.window.plot;
    let words = text::fit(words, plot.width.into()).into_owned();
    let width = u16::try_from(text::width(&words)).unwrap_or(plot.width);
    let x = layout.window.lines().next().map_or(plot.x, |(_, x)| x + 3);
    let x = x.min(plot.right() - width).max(plot.x);
    write(&vec![(words, style)], (x, y), plot.right(), buf);
}

/// The ground of rows in which two hold one lock.
fn alarm(scene: &Scene<'_>, layout: &Layout, area: Rect, buf: &mut Buffer) {
    let position = scene.world.position;
    let overlaps = &scene.sequence.overlaps;
    // They begin in order; few last long.
    let top = layout.rows.first().map_or(0, |placed| placed.row);
    for overlap in overlaps.iter().filter(|overlap| overlap.from.1 < position) {
        let end = overlap.to.filter(|(_, event)| *event < position);
        if end.is_some_and(|(end, _)| end <= top) {
            continue;
        }
        let lasts = |row: usize| row >= overlap.from.0 && end.is_none_or(|(end, _)| row < end);
        for placed in layout.rows.iter().filter(|placed| lasts(placed.row)) {
            let rows = Rect {
                y: placed.y,
                height: placed.height,
                ..area
            };
            scene.theme.alarm(rows, buf);
        }
        if end.is_none()
            && let Some(last) = layout.rows.last().filter(|placed| lasts(placed.row))
        {
            let y = last.y + last.height;
            let rows = Rect {
                y,
                height: layout.body.bottom().saturating_sub(y),
                ..area
            };
            scene.theme.alarm(rows, buf);
        }
    }
}
