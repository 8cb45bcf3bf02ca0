//! Free play in the story's pane: the challenge, who can move and what that would send, time, faults, and the result of
//! the last choice. It must not know how a choice is carried out.

pub(crate) mod status;

use std::ops::Range;

use super::{LessonView, paragraph, prelude::*};
use crate::{
    lesson::PRIMARY,
    log::{
        Choice, Log, Product,
        outlook::{ActorOutlook, Blocked, Outlook},
    },
    text::Text,
    ui::{
        state::{
            branches::Branches,
            free::{AMOUNTS, Free},
        },
        words::fault,
    },
    world::Life,
};

/// More clients than this are listed in two columns, if the pane is wide enough.
const COLUMN: usize = 4;
const TWO_COLUMNS: usize = 76;
/// The maximum rows per client: a program's error message may be long.
const MOST_ROWS: usize = 3;

#[derive(Debug, Clone, Copy)]
pub struct FreeView<'a> {
    /// The outlook, and the notice about the last choice.
    pub free: &'a Free,
    pub branches: &'a Branches,
    pub branching: bool,
    /// Whether the run waits for a choice and the playhead is at the end of the log.
    pub live: bool,
    pub back: bool,
}

impl<'a> FreeView<'a> {
    /// Whether the outlook applies: the playhead is at the end of the log or on its way there.
    fn ahead(&self) -> bool {
        !self.branching && !self.back
    }

    /// The actors that have a key of their own at the playhead, in the order of the keys.
    pub fn keyed(&self) -> Vec<ActorId> {
        if self.back { self.free.keyed_before() } else { self.free.keyed.clone() }
    }

    /// What an actor would do next, if the outlook applies at the playhead.
    pub(crate) fn outlook(self, actor: ActorId) -> Option<&'a ActorOutlook> {
        self.free.outlook.actors.get(actor.0 as usize).filter(|_| self.ahead())
    }

    /// The names of the actions that would do nothing now.
    pub(crate) fn idle(&self) -> Vec<&'static str> {
        let idle = [
            ("timer", !self.ahead() || self.free.outlook.timer.is_none()),
            ("branches", self.branches.is_empty()),
            ("free", !self.back),
        ];
        let idle = idle.into_iter().filter(|(_, idle)| *idle);
        idle.map(|(id, _)| id).collect()
    }
}

impl<'a> LessonView<'a> {
    pub(crate) fn free_lines(&self, view: FreeView<'a>, width: u16) -> Vec<Line<'static>> {
        FreePane { view: self, free: view, width: width.into(), in_program: false }.lines()
    }

    /// What an actor with a key would do, for its line in the program: the key's index, from 0, and the text.
    pub(crate) fn choice_in_program(
        &self,
        actor: ActorId,
        width: usize,
    ) -> Option<(usize, Vec<Line<'static>>)> {
        let free = self.free?;
        let n = free.keyed().iter().position(|keyed| *keyed == actor)?;
        let pane = FreePane { view: self, free, width, in_program: true };
        let prospect = free.free.outlook.actors.get(actor.0 as usize);
        let names = text::width(self.scene.name(actor));
        Some((n, pane.actor(n, actor, prospect, (names, width))))
    }

    /// The index, from 0, of the key of the client at a place of the pane.
    pub(crate) fn free_choice(
        &self,
        view: FreeView<'a>,
        (column, line): (u16, usize),
        width: u16,
    ) -> Option<usize> {
        let pane = FreePane { view: self, free: view, width: width.into(), in_program: false };
        let from = pane.lines_above().len();
        let line = line.checked_sub(from)?;
        let is_there = |block: &Block| block.rows.contains(&line) && block.columns.contains(&column.into());
        pane.blocks().iter().position(is_there)
    }
}

struct FreePane<'v, 'a> {
    view: &'v LessonView<'a>,
    free: FreeView<'a>,
    width: usize,
    /// Whether the operation's label is in the line above.
    in_program: bool,
}

struct Block {
    lines: Vec<Line<'static>>,
    rows: Range<usize>,
    columns: Range<usize>,
}

impl<'a> FreePane<'_, 'a> {
    fn scene(&self) -> &Scene<'a> {
        &self.view.scene
    }

    fn lines(&self) -> Vec<Line<'static>> {
        let mut lines = self.lines_above();
        lines.extend(self.actors());
        lines.extend(self.rest());
        lines
    }

    fn row(&self, head: &str, head_role: Role, words: &str, role: Role) -> Vec<Line<'static>> {
        let scene = self.scene();
        let room = self.width.saturating_sub(text::width(head));
        let lines = paragraph::plain(&text::clean(words), room, scene.style(role));
        paragraph::hang(Span::styled(head.to_owned(), scene.style(head_role)), lines)
    }

    /// Each client that has a key, and its rows and columns below the heading.
    fn blocks(&self) -> Vec<Block> {
        let (keyed, scene) = (self.free.keyed(), self.scene());
        let columns = if keyed.len() > COLUMN && self.width >= TWO_COLUMNS { 2 } else { 1 };
        let width = self.width / columns;
        let names = keyed.iter().map(|actor| text::width(scene.name(*actor))).max().unwrap_or(0);
        let block = |(n, actor): (usize, &ActorId)| {
            let prospect = self.free.free.outlook.actors.get(actor.0 as usize);
            Block { lines: self.actor(n, *actor, prospect, (names, width)), rows: 0..0, columns: 0..0 }
        };
        let mut blocks: Vec<Block> = keyed.iter().enumerate().map(block).collect();
        let half = blocks.len().div_ceil(columns);
        let mut row = 0;
        for n in 0..half {
            let beside = || (n..keyed.len()).step_by(half);
            let end = row + beside().map(|n| blocks[n].lines.len()).max().unwrap_or(0);
            for (column, n) in beside().enumerate() {
                blocks[n].rows = row..end;
                blocks[n].columns = column * width..(column + 1) * width;
            }
            row = end;
        }
        blocks
    }

    fn actors(&self) -> Vec<Line<'static>> {
        let mut lines: Vec<Line<'static>> = Vec::new();
        for Block { lines: own, rows, columns } in self.blocks() {
            lines.resize(lines.len().max(rows.end), Line::default());
            for (line, own) in lines[rows.start..].iter_mut().zip(own) {
                if columns.start > 0 {
                    let gap = columns.start.saturating_sub(line.width());
                    line.spans.push(Span::raw(" ".repeat(gap)));
                }
                line.spans.extend(own.spans);
            }
        }
        lines
    }

    fn actor(
        &self,
        n: usize,
        actor: ActorId,
        prospect: Option<&ActorOutlook>,
        (names, width): (usize, usize),
    ) -> Vec<Line<'static>> {
        let (scene, lang) = (self.scene(), self.scene().lang);
        let key = scene.keys.label(&format!("move-{}", n + 1));
        let ahead = self.free.ahead();
        // What a client would send is known only at the end of the log; at an earlier step, what it did next is shown.
        let blocked = prospect.and_then(|prospect| prospect.blocked).filter(|_| ahead);
        let next = prospect.and_then(|prospect| prospect.next.as_ref()).filter(|_| ahead);
        let (label, wire) = next.map_or(("", ""), |next| (next.label.as_str(), next.wire.as_str()));
        let server = next.map(|next| next.server.as_str()).filter(|server| !server.is_empty());
        let to = match server {
            Some(PRIMARY) => format!("  → {}", words::PRIMARY.get(lang)),
            // The server is omitted if there is only one.
            Some(server) if scene.world.servers.len() > 1 => format!("  → {server}"),
            _ => String::new(),
        };
        let shown = if self.in_program { "" } else { label };
        let status = match blocked {
            None if !ahead => self.stood(actor).or_else(|| self.went_on(actor, prospect)).unwrap_or_default(),
            None if server.is_some() => format!("{shown}  {wire}{to}"),
            None => format!("{shown}  {}", words::WOULD_TAKE.with(lang, &[wire])),
            Some(Blocked::Waits { until }) if label.is_empty() => {
                words::SLEEPS_UNTIL.with(lang, &[&time::moment(until)])
            }
            Some(Blocked::Waits { until }) => {
                words::WAITS_UNTIL.with(lang, &[words::label(label, lang), &time::moment(until)])
            }
            Some(Blocked::Unanswered) => words::UNANSWERED.with(lang, &[wire]) + &to,
            Some(Blocked::Busy) => words::BUSY.get(lang).to_owned(),
            Some(Blocked::InOwnTime) => words::IN_OWN_TIME.get(lang).to_owned(),
            Some(Blocked::Computes) => words::COMPUTES.with(lang, &[&scene.keys.label("second")]),
            Some(Blocked::Unnotified) => words::UNNOTIFIED.with(lang, &[wire]),
            Some(Blocked::Frozen) => format!("{} {}", glyphs::STOPPED, words::FROZEN.get(lang)),
            Some(Blocked::Dead) => match self.why_it_gave_up(actor) {
                Some(why) => {
                    let words = format!("{}{}{}", words::GAVE_UP.get(lang), lang.colon(), why.get(lang));
                    format!("{} {}", scene.end_sign(actor), text::clean(&words))
                }
                None => format!("{} {}", scene.end_sign(actor), words::DEAD.get(lang)),
            },
            Some(Blocked::Finished) => words::FINISHED.get(lang).to_owned(),
        };
        let idles = matches!(blocked, Some(Blocked::Waits { .. } | Blocked::Busy | Blocked::InOwnTime));
        let status = match prospect.filter(|prospect| idles && prospect.unconnected) {
            Some(_) => format!("{status} · {}", self.has_not_connected()),
            None => status,
        };
        let able = blocked.is_none() && self.free.live;
        let (key_role, role) = if able { (Role::Code, Role::Text) } else { (Role::Chrome, Role::Chrome) };
        let head = format!(" {key} ");
        let name = format!("{} {}", scene.glyph(actor), text::pad(scene.name(actor), names + 2));
        let indent = text::width(&head) + text::width(&name);
        let mut lines = Vec::new();
        let name_style = if able { scene.actor_style(actor) } else { scene.style(Role::Chrome) };
        let mut first = vec![Span::styled(head, scene.style(key_role)), Span::styled(name, name_style)];
        let rows = text::wrap(text::clean(&status).trim_start(), width.saturating_sub(indent + 1));
        for row in rows.into_iter().take(MOST_ROWS) {
            first.push(Span::styled(row, scene.style(role)));
            lines.push(Line::from(first));
            first = vec![Span::raw(" ".repeat(indent))];
        }
        if lines.is_empty() {
            lines.push(Line::from(first));
        }
        lines
    }

    /// That a program has not connected, with the variable from which it could know where to.
    fn has_not_connected(&self) -> String {
        let first = self.scene().world.servers.first();
        let product = first.map_or("", |server| server.info.product.as_str());
        let variable = if product == Product::Zookeeper.traits().name { "ZOOKEEPER" } else { "REDIS_URL" };
        words::HAS_NOT_CONNECTED.with(self.scene().lang, &[product, variable])
    }

    /// The error with which an actor's program ended, if it did.
    fn why_it_gave_up(&self, actor: ActorId) -> Option<&'a Text> {
        let scene = self.scene();
        let known = scene.log.events().get(..scene.world.position)?.iter().rev();
        let mut ends = known.filter_map(|event| match &event.kind {
            EventKind::GaveUp { actor: who, why } if *who == actor => Some(why),
            _ => None,
        });
        ends.next()
    }

    /// Why an actor could do nothing at the playhead of an earlier step, if it could not.
    fn stood(&self, actor: ActorId) -> Option<String> {
        let scene = self.scene();
        match scene.world.actor(actor)?.life {
            Life::Running => None,
            Life::Frozen => Some(format!("{} {}", glyphs::STOPPED, words::FROZEN.get(scene.lang))),
            Life::Crashed => Some(format!("{} {}", scene.end_sign(actor), words::DEAD.get(scene.lang))),
            Life::Finished => Some(words::FINISHED.get(scene.lang).to_owned()),
        }
    }

    /// What an actor did next after the playhead, or would do now if it has done nothing since.
    fn went_on(&self, actor: ActorId, prospect: Option<&ActorOutlook>) -> Option<String> {
        let scene = self.scene();
        let later = scene.log.events().get(scene.world.position..)?.iter();
        let done = later.filter(|_| self.free.back).find_map(|event| match &event.kind {
            EventKind::Sent { actor: who, label, command, .. } if *who == actor => {
                Some((label, command.to_string()))
            }
            EventKind::Took { actor: who, label, about, .. } if *who == actor => Some((label, about.clone())),
            _ => None,
        });
        let still = || {
            let next = prospect.filter(|prospect| prospect.blocked.is_none())?.next.as_ref()?;
            Some((&next.label, next.wire.clone()))
        };
        let (label, wire) = done.or_else(still)?;
        Some(format!("{label}  {wire}"))
    }

    fn rest(&self) -> Vec<Line<'static>> {
        let (scene, lang) = (self.scene(), self.scene().lang);
        let outlook = &self.free.free.outlook;
        let key = |id: &str| format!(" {} ", scene.keys.label(id));
        let mut lines = Vec::new();
        let more = outlook.actors.len().saturating_sub(self.free.keyed().len());
        if more > 0 {
            let words = words::MORE_CLIENTS.with(lang, &[&more.to_string(), &scene.keys.label("palette")]);
            lines.extend(self.row("   ", Role::Chrome, &words, Role::Chrome));
        }
        let mut parts: Vec<(String, String)> = Vec::new();
        if self.free.ahead() {
            if outlook.timer.is_some() {
                parts.push((key("timer"), choice(&Choice::Timer, outlook, scene.log, lang)));
            }
            let second = Choice::Pass { millis: AMOUNTS[1] };
            parts.push((key("second"), choice(&second, outlook, scene.log, lang)));
            let faults = words::FAULTS.with(lang, &[&outlook.faults.len().to_string()]);
            parts.push((key("faults"), faults));
        }
        if !self.free.branches.is_empty() {
            let branches = words::BRANCHES.with(lang, &[&self.free.branches.len().to_string()]);
            parts.push((key("branches"), branches));
        }
        lines.extend(self.flow(parts));
        lines
    }

    /// Keys with their actions, as many to a line as fit.
    fn flow(&self, parts: Vec<(String, String)>) -> Vec<Line<'static>> {
        let scene = self.scene();
        let mut lines: Vec<Line<'static>> = Vec::new();
        for (key, words) in parts {
            let words = format!("{words}  ");
            let needs = text::width(&key) + text::width(&words);
            let fits = lines.last().is_some_and(|line| line.width() + needs <= self.width + 2);
            if !fits {
                lines.push(Line::default());
            }
            // Choices that are impossible while a move is in progress stay in place, so that nothing jumps.
            let (key_role, role) =
                if self.free.live { (Role::Code, Role::Text) } else { (Role::Chrome, Role::Chrome) };
            let spans = [Span::styled(key, scene.style(key_role)), Span::styled(words, scene.style(role))];
            if let Some(line) = lines.last_mut() {
                line.spans.extend(spans);
            }
        }
        lines
    }
}

/// A choice as an action.
pub fn choice(choice: &Choice, outlook: &Outlook, log: &Log, lang: Lang) -> String {
    let name = |actor: ActorId| log.called(actor);
    match choice {
        Choice::Move { actor } => {
            let next = outlook.actors.get(actor.0 as usize).and_then(|p| p.next.as_ref());
            let wire = next.map_or_else(String::new, |next| format!("{} {}", next.label, next.wire));
            words::MOVES.with(lang, &[name(*actor), text::clean(wire.trim()).as_ref()])
        }
        Choice::Timer => match outlook.timer {
            Some(timer) => {
                let (at, client) = (time::moment(timer.at), name(timer.actor));
                let prospect = outlook.actors.get(timer.actor.0 as usize);
                let next = prospect.and_then(|prospect| prospect.next.as_ref());
                match (next, prospect.map(|prospect| prospect.blocked)) {
                    (Some(next), Some(Some(Blocked::Unanswered))) if timer.in_server => {
                        words::TO_END.with(lang, &[&at, &next.server, client, &next.label])
                    }
                    (Some(next), Some(None)) if timer.in_server => {
                        words::TO_END_OF_BLOCKED.with(lang, &[&at, &next.server, client])
                    }
                    (_, Some(None | Some(Blocked::Unanswered))) => {
                        words::TO_TIMEOUT.with(lang, &[&at, client])
                    }
                    _ => words::TO_TIMER.with(lang, &[&at, client]),
                }
            }
            None => String::new(),
        },
        Choice::Pass { millis } => words::BY.with(lang, &[&time::said(&time::amount(*millis), lang)]),
        Choice::Inject(fault) => fault::to_do(lang, fault),
    }
}
