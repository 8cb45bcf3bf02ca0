//! The run as a Mermaid sequence diagram: messages, replies, beliefs and faults.

pub(crate) mod text;

use std::{collections::HashSet, fmt::Write as _};

use super::{Finished, crowd::Crowds, moment::ResolvedMoment};
use crate::{
    clock::LessonTime,
    log::{ActorId, Belief, EventKind, Fault, LinkId, Log, OpId, Stop, Target},
    text::Lang,
    ui::{
        theme::{text::common, time},
        words::{self, fault},
    },
    world::World,
};

use text::{escape, shorten, wrapped};

/// The text between every diagram's title and its participants.
pub const MARK: &str = "\nconfig:\n  theme: default\n---\nsequenceDiagram\n  autonumber\n";
/// Shorter waits are omitted.
const NOTICEABLE: std::time::Duration = std::time::Duration::from_millis(1);
/// The ground of an overlap, readable on light and dark pages.
const OVERLAP: &str = "rgba(220, 40, 40, 0.25)";

pub fn diagram(run: &Finished, moment: ResolvedMoment, lang: Lang) -> String {
    let mut diagram = Diagram::new(run, moment.position, lang);
    for index in 0..moment.position {
        diagram.event(index);
    }
    diagram.finish(run, moment)
}

struct Diagram<'a> {
    log: &'a Log,
    lang: Lang,
    crowds: Crowds<'a>,
    world: World,
    lines: String,
    /// The first and the last participant, for notes over all.
    ends: (String, String),
    servers: Vec<String>,
    /// The holders of locks, whose lifelines are drawn active.
    holders: Vec<(ActorId, String)>,
    /// The actors that have sent anything.
    asked: HashSet<ActorId>,
    /// Whether the block of an overlap is open.
    alarmed: bool,
}

impl<'a> Diagram<'a> {
    fn new(run: &'a Finished, position: usize, lang: Lang) -> Self {
        let crowds = Crowds::new(&run.log, position);
        let mut lines = format!("---\ntitle: {}{MARK}", text::yaml(run.title().get(lang)));
        let mut servers = Vec::new();
        let mut ids = Vec::new();
        if let Some(EventKind::LabReady { servers: known, actors, .. }) =
            run.log.events().first().map(|event| &event.kind)
        {
            for (n, actor) in actors.iter().enumerate() {
                let id = ActorId(u32::try_from(n).unwrap_or(u32::MAX));
                let key = crowds.participant(id);
                if ids.contains(&key) {
                    continue;
                }
                let name = match crowds.size(id) {
                    Some(members) => format!("{} ×{members}", actor.client),
                    None => run.log.called(id).to_owned(),
                };
                let _ = writeln!(lines, "  actor {key} as {}", text::name(&name));
                ids.push(key);
            }
            for (n, server) in known.iter().enumerate() {
                let _ = writeln!(lines, "  participant s{n} as {}", text::name(&server.name));
                ids.push(format!("s{n}"));
                servers.push(server.name.clone());
            }
        }
        Self {
            log: &run.log,
            lang,
            crowds,
            world: World::default(),
            lines,
            ends: (ids.first().cloned().unwrap_or_default(), ids.last().cloned().unwrap_or_default()),
            servers,
            holders: Vec::new(),
            asked: HashSet::new(),
            alarmed: false,
        }
    }

    fn server(&self, name: &str) -> Option<String> {
        self.servers.iter().position(|known| known == name).map(|n| format!("s{n}"))
    }

    /// The participant of a client or a server, by name; for a client, its first thread.
    fn named(&self, name: &str) -> Option<String> {
        let actor = self.world.actors.iter().position(|actor| actor.who.client == name);
        let actor = actor.map(|n| self.crowds.participant(ActorId(u32::try_from(n).unwrap_or(u32::MAX))));
        actor.or_else(|| self.server(name))
    }

    fn line(&mut self, words: &str) {
        let indent = if self.alarmed { "    " } else { "  " };
        let _ = writeln!(self.lines, "{indent}{words}");
    }

    fn note(&mut self, over: &str, words: &str) {
        self.line(&format!("Note over {over}: {words}"));
    }

    fn note_over_all(&mut self, words: &str) {
        let (first, last) = &self.ends;
        let over = if first == last { first.clone() } else { format!("{first},{last}") };
        self.note(&over, words);
    }

    fn event(&mut self, index: usize) {
        let event = &self.log.events()[index];
        self.world.seek(self.log, index + 1);
        let lasting = self.world.holding.overlaps().iter().rfind(|overlap| overlap.to.is_none());
        let lasting = lasting.map(|overlap| (overlap.lock.clone(), overlap.excess));
        // The block ends before the event that ends the overlap, and begins after the one that begins it.
        if self.alarmed && lasting.is_none() {
            self.line("end");
            self.alarmed = false;
        }
        if let EventKind::Sent { actor, command, .. } = &event.kind
            && !command.prepares()
        {
            self.asked.insert(*actor);
        }
        self.tell(index, event.at, &event.kind);
        self.activate(&event.kind);
        if let Some((lock, excess)) = lasting.filter(|_| !self.alarmed) {
            self.line(&format!("rect {OVERLAP}"));
            self.alarmed = true;
            let (lock, words) =
                (self.log.lock_title(&lock, self.lang), words::overlap_span(self.lang, excess));
            self.note_over_all(&escape(&format!("{lock}: {words}")));
        }
    }

    /// A participant is active as long as an actor in it believes to hold a lock.
    fn activate(&mut self, kind: &EventKind) {
        let active = |diagram: &Self, participant: &str| {
            diagram.holders.iter().any(|(holder, _)| diagram.crowds.participant(*holder) == participant)
        };
        let change: Vec<(ActorId, String, bool)> = match kind {
            EventKind::Believes { actor, lock, belief } => vec![(*actor, lock.clone(), belief.holds())],
            EventKind::Fault(fault) if let Some(client) = fault.killed_client() => {
                let dies =
                    |actor: ActorId| self.world.actor(actor).is_some_and(|actor| actor.who.client == client);
                let held = self.holders.iter().filter(|(holder, _)| dies(*holder));
                held.map(|(holder, lock)| (*holder, lock.clone(), false)).collect()
            }
            _ => return,
        };
        for (actor, lock, holds) in change {
            let participant = self.crowds.participant(actor);
            let before = active(self, &participant);
            self.holders.retain(|(holder, held)| (*holder, held) != (actor, &lock));
            if holds {
                self.holders.push((actor, lock));
            }
            match (before, active(self, &participant)) {
                (false, true) => self.line(&format!("activate {participant}")),
                (true, false) => self.line(&format!("deactivate {participant}")),
                _ => {}
            }
        }
    }

    fn tell(&mut self, index: usize, at: LessonTime, kind: &EventKind) {
        let lang = self.lang;
        match kind {
            EventKind::Say { en, zh, .. } => {
                let said = if lang == Lang::En { en } else { zh };
                self.note_over_all(&wrapped(said));
            }
            EventKind::Asked { q, .. } => {
                let words = format!("{}{}{}", words::PREDICTION.get(lang), lang.colon(), q.get(lang));
                self.note_over_all(&wrapped(&words));
            }
            EventKind::Decided { item, right, .. } => self.tell_decision(*item, right),
            // An overlap has its own ground and note.
            EventKind::Breached { says, .. } if !self.alarmed => {
                self.note_over_all(&wrapped(&format!("✗ {}", says.get(lang))));
            }
            EventKind::Fault(fault) => self.tell_fault(fault),
            EventKind::Sentinel { notice, .. } => {
                let who = self.log.same_notice_from(index, self.log.len());
                if !who.is_empty() {
                    let words = escape(&shorten(&words::sentinels_say(&who, notice, lang)));
                    let over = notice.server().and_then(|server| self.server(server));
                    let last = self.servers.len().saturating_sub(1);
                    self.note(&over.unwrap_or_else(|| format!("s0,s{last}")), &words);
                }
            }
            EventKind::ServerDied { server, why } => {
                let over = self.server(server).unwrap_or_else(|| self.ends.1.clone());
                let first = why.lines().next().unwrap_or_default();
                let words = format!("✗ {}: {first}", words::SERVER_DIED.get(lang));
                self.note(&over, &escape(&shorten(&words)));
            }
            EventKind::Stop { stop: Stop::Passed, .. } => {
                self.note_over_all(&escape(&format!("⏱ {}", time::moment(at))));
            }
            kind => self.tell_of_actors(index, at, kind),
        }
    }

    /// Writes an action of an actor or a notification; alike events of a crowd are one line.
    fn tell_of_actors(&mut self, index: usize, at: LessonTime, kind: &EventKind) {
        let lang = self.lang;
        let Some(alike) = self.crowds.alike(index) else { return };
        let (said, times) = (escape(&shorten(&self.common(alike))), times(alike.len()));
        match kind {
            EventKind::Sent { actor, server, .. } => {
                let from = self.crowds.participant(*actor);
                // A lock inside the process involves no server.
                let to = self.server(server).unwrap_or_else(|| from.clone());
                self.line(&format!("{from}->>{to}: {said}{times}"));
            }
            EventKind::Replied { op, actor, reply, .. } => {
                let to = self.crowds.participant(*actor);
                let from = self.server_of(*op, index).unwrap_or_else(|| to.clone());
                let arrow = if reply.is_lost() { "--x" } else { "-->>" };
                self.line(&format!("{from}{arrow}{to}: {said}{times}"));
            }
            EventKind::Notified { actor, server, about, what } => {
                let to = self.crowds.participant(*actor);
                let from = self.server(server).unwrap_or_else(|| to.clone());
                let words = escape(&shorten(&format!("↯ {what} {about}")));
                self.line(&format!("{from}-){to}: {words}{times}"));
            }
            EventKind::Waits { actor, label, until } if until.since(at) >= NOTICEABLE => {
                let words = format!("{label}: {} → {}", time::moment(at), time::moment(*until));
                let over = self.crowds.participant(*actor);
                self.note(&over, &format!("{}{times}", escape(&words)));
            }
            // An actor that has not sent anything yet is not waiting.
            EventKind::Believes { actor, belief: Belief::Waiting, .. } if !self.asked.contains(actor) => {}
            EventKind::Believes { actor, lock, belief } => {
                let over = self.crowds.participant(*actor);
                let lock = self.log.lock_title(lock, lang);
                let words = match belief {
                    Belief::Nothing => format!("{lock}: –"),
                    belief => format!("{lock}: {}", words::belief(*belief).get(self.lang)),
                };
                self.note(&over, &format!("{}{times}", escape(&words)));
            }
            _ => {}
        }
    }

    fn tell_decision(&mut self, item: usize, right: &[usize]) {
        let asked = self.world.questions.iter().rfind(|question| question.item == item);
        let Some(question) = asked else { return };
        let answers = right.iter().filter_map(|n| question.choices.get(*n));
        let answers: Vec<&str> = answers.map(|choice| choice.says.get(self.lang)).collect();
        let words = words::HAPPENED.with(self.lang, &[&answers.join(" / ")]);
        self.note_over_all(&wrapped(&words));
    }

    fn tell_fault(&mut self, fault: &Fault) {
        let said = escape(&fault::words(self.lang, fault));
        let ends = match fault.target() {
            Target::Client(name) | Target::Server(name) => vec![name],
            Target::Link(LinkId { from, to }) => vec![from.as_str(), to],
        };
        let ends: Vec<String> = ends.into_iter().filter_map(|name| self.named(name)).collect();
        match ends.as_slice() {
            [] => self.note_over_all(&said),
            [one] => self.note(&one.clone(), &said),
            [one, other, ..] => self.note(&format!("{one},{other}"), &said),
        }
    }

    /// The common part of a crowd's commands or replies.
    fn common(&self, alike: &[usize]) -> String {
        let said = alike.iter().filter_map(|event| match &self.log.events().get(*event)?.kind {
            EventKind::Sent { command, .. } => Some(command.to_string()),
            EventKind::Replied { reply, .. } => Some(reply.to_string()),
            _ => None,
        });
        let said: Vec<String> = said.collect();
        common(said.iter().map(String::as_str)).into_owned()
    }

    fn server_of(&self, op: OpId, before: usize) -> Option<String> {
        let mut events = self.log.events()[..before].iter().rev();
        self.server(events.find_map(|event| match &event.kind {
            EventKind::Sent { op: known, server, .. } if *known == op => Some(server),
            _ => None,
        })?)
    }

    fn finish(mut self, run: &Finished, moment: ResolvedMoment) -> String {
        if self.alarmed {
            self.line("end");
            self.alarmed = false;
        }
        if let Some(verdict) = run.verdict.as_ref().filter(|_| moment.end) {
            let mut words = words::outcome(verdict.outcome).get(self.lang).to_owned();
            for claim in &verdict.claims {
                let mark = if claim.holds { "✓" } else { "✗" };
                let _ = match &claim.says {
                    Some(says) => write!(words, "\n{mark} {}", says.get(self.lang)),
                    None => write!(words, "\n{mark} {}: {}", claim.claim, claim.observed.get(self.lang)),
                };
            }
            let words: Vec<String> = words.lines().map(wrapped).collect();
            self.note_over_all(&words.join("<br/>"));
        }
        self.lines
    }
}

fn times(count: usize) -> String {
    if count > 1 { format!(" ×{count}") } else { String::new() }
}
