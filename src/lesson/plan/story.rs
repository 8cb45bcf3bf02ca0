//! Plans the story: resolves its names.

use std::collections::BTreeSet;

use indexmap::IndexMap;

use super::{
    super::{
        LabKind,
        duration::{check_unit, parse_written},
        error::{Mistake, Mistakes, Path, Segment, did_you_mean, finding},
        expr::{Expr, Scope, Template},
        fault::{Delay, Hold, Kill, Skew},
        model::{Param, Params, Variant},
        parse_signed_millis,
        story::{Action, MoveRef, StoryItem},
    },
    claims::Vocabulary,
    clients::{ActorPlan, ClientPlan},
    constants::values,
    question::{self, AskPlan},
    templates::{computed_outside, doubled_unit, foreign, negative, template},
};
use crate::log::{ActorId, Fault, LinkId, Product};
use crate::text::{Text, both};

/// Adds which lab has a server of this name.
pub(crate) fn of_other_lab(name: &str, mistake: Mistake) -> Mistake {
    let Some(lab) = LabKind::ALL.into_iter().find(|lab| lab.servers().contains(&name)) else {
        return mistake;
    };
    let lab = serde_yaml::to_string(&lab).unwrap_or_default();
    let lab = lab.trim();
    let there = both!("`{name}` is a server of `lab: {lab}`", "`{name}` 是 `lab: {lab}` 的服务器");
    let help: Vec<Text> = mistake.help.clone().into_iter().chain([there]).collect();
    mistake.help(Text::join(&help, "; ", "；"))
}

/// A line of a story, with its place in the lesson.
#[derive(Debug, Clone)]
pub struct StoryLine {
    pub act: Act,
    /// The number of the step in the variant, as learners see it.
    pub item: usize,
    /// Notes for a teacher.
    pub notes: Option<TextPlan>,
    pub path: Path,
}

/// What one line of a story does.
#[derive(Debug, Clone)]
pub enum Act {
    Say(TextPlan),
    Ask(AskPlan),
    /// Moves, made one after another.
    Each(Vec<PlannedMove>),
    /// Moves that are all sent before any reply is awaited.
    Together(Vec<PlannedMove>),
    /// A move whose reply may come after the next lines.
    Send(PlannedMove),
    /// Actors that move to the end of their programs, one after another.
    Finish(Vec<ActorId>),
    Pass(PassPlan),
    Await(AwaitPlan),
    Faults(Vec<Fault>),
}

impl Act {
    /// Whether the line changes something, rather than being a narration or a question.
    pub fn is_step(&self) -> bool {
        !matches!(self, Self::Say(_) | Self::Ask(_))
    }

    /// The moves that the line names.
    pub(crate) fn moves(&self) -> &[PlannedMove] {
        match self {
            Self::Each(moves) | Self::Together(moves) => moves,
            Self::Send(one) => std::slice::from_ref(one),
            _ => &[],
        }
    }

    /// The actors that make moves that the line does not name.
    pub(crate) fn moving(&self) -> &[ActorId] {
        match self {
            Self::Finish(moving)
            | Self::Pass(PassPlan { moving, .. })
            | Self::Await(AwaitPlan { moving, .. }) => moving,
            _ => &[],
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedMove {
    pub actor: ActorId,
    /// The label of the operation that the author expects to be next.
    pub label: String,
}

#[derive(Debug, Clone)]
pub struct PassPlan {
    /// How long time passes: renders to a duration.
    pub duration: Template,
    /// The actors that move by themselves meanwhile.
    pub moving: Vec<ActorId>,
}

/// Time that passes until an expression is true.
#[derive(Debug, Clone)]
pub struct AwaitPlan {
    pub that: Expr,
    /// The longest time to wait: renders to a duration.
    pub within: Template,
    /// The actors that move by themselves meanwhile.
    pub moving: Vec<ActorId>,
}

/// A text whose values are filled in when it is shown.
#[derive(Debug, Clone)]
pub struct TextPlan {
    pub en: Template,
    pub zh: Template,
}

/// The clients, actors, parameters, variants and servers that a story can name.
pub(crate) struct Roster<'a> {
    pub clients: &'a [ClientPlan],
    pub actors: &'a [ActorPlan],
    pub params: &'a Params,
    pub variants: &'a IndexMap<String, Variant>,
    /// What the programs of any variant count.
    pub counters: &'a BTreeSet<String>,
    pub lab: LabKind,
}

/// Explains how a command of an external program becomes a move. A word in other letters than its commands is none.
pub(crate) fn unlisted(mistake: Mistake, plan: &ActorPlan, command: &str) -> Mistake {
    let in_capitals = |word: &str| word.starts_with(|c: char| c.is_ascii_uppercase());
    if plan.program.labels.first().is_some_and(|known| in_capitals(known) != in_capitals(command)) {
        return mistake;
    }
    let client = &plan.actor.client;
    mistake.help(both!(
        "the moves of an external program are the commands that {client} lists: `moves: [{command}]`",
        "外部程序的操作是 {client} 列出的命令：`moves: [{command}]`"
    ))
}

impl Roster<'_> {
    pub(crate) fn locks(&self) -> BTreeSet<String> {
        self.actors.iter().flat_map(|plan| plan.program.locks.iter().cloned()).collect()
    }

    /// The actors that a name stands for: one actor, or all of a process or a group.
    pub(crate) fn who(&self, name: &str, path: &Path) -> Result<Vec<ActorId>, Mistake> {
        let id = |n: usize| ActorId(u32::try_from(n).unwrap_or(u32::MAX));
        if let Some(one) = self.actors.iter().position(|plan| plan.actor.name == name) {
            return Ok(vec![id(one)]);
        }
        let mut meant =
            self.clients.iter().filter(|client| client.name == name || client.group == name).peekable();
        if meant.peek().is_none() {
            let (process, threads) = (name.split('.').next().unwrap_or_default(), format!("{name}."));
            let known = self.actors.iter().map(|plan| plan.actor.name.as_str());
            // `A.heart`, where the client has threads with other names.
            let of_it =
                known.filter(|known| known.split('.').next() == Some(process) || known.starts_with(&threads));
            let mut known: Vec<&str> = of_it.collect();
            if known.is_empty() {
                // `W3`, where the crowd has two.
                let is_numbered = |name: &str| name.ends_with(|c: char| c.is_ascii_digit());
                let group = name.trim_end_matches(|c: char| c.is_ascii_digit());
                let members = self.actors.iter().map(|plan| plan.actor.name.as_str());
                known.extend(members.filter(|known| {
                    is_numbered(name)
                        && known.strip_prefix(group).is_some_and(|rest| rest.parse::<u32>().is_ok())
                }));
            }
            if known.is_empty() {
                known.extend(self.clients.iter().map(|client| client.name.as_str()));
            }
            return Err(Mistake::unknown(path, both!("client", "客户端"), name, known));
        }
        Ok(meant.flat_map(|client| client.actors.clone()).map(id).collect())
    }

    /// A text that is shown before the lesson runs, such as its title: only parameters are filled in.
    pub(crate) fn check_fixed_text(&self, text: &Text, path: &Path) -> Result<(), Mistake> {
        let planned = self.text(text, path)?;
        let names = [("en", planned.en.names()), ("zh", planned.zh.names())];
        let counted = names.into_iter().find_map(|(lang, names)| {
            names.into_iter().find(|name| !self.params.contains_key(name)).map(|name| (lang, name))
        });
        let Some((lang, name)) = counted else { return Ok(()) };
        Err(path.key(lang).mistake(finding!(
            "`{name}` is counted while the lesson runs, and this text is not told then",
            "`{name}` 在运行中才会计数，而这段文字不是运行时显示的",
            "only parameters can stand here; counters can be told by `say` in the story",
            "这里只能用参数；计数器可以写在剧情的 `say` 里"
        )))
    }

    pub(crate) fn text(&self, text: &Text, path: &Path) -> Result<TextPlan, Mistake> {
        let in_one = |source: &str, lang: &str| -> Result<Template, Mistake> {
            let path = path.key(lang);
            if source.trim().is_empty() {
                return Err(Mistake::new(&path, both!("an empty text", "文字是空的"))
                    .help(both!("every text is written in both languages", "每段文字都要写两种语言")));
            }
            let known = self.params.keys().chain(self.counters);
            foreign(source, &path, &known, false)?;
            template(source, &path, both!("name", "变量"), known)
        };
        Ok(TextPlan { en: in_one(&text.en, "en")?, zh: in_one(&text.zh, "zh")? })
    }

    fn turns(&self, moves: &[MoveRef], path: &Path) -> Result<Vec<PlannedMove>, Mistake> {
        let mut turns = Vec::new();
        for MoveRef { who, label } in moves {
            for actor in self.who(who, path)? {
                let plan = &self.actors[actor.0 as usize];
                if !plan.program.labels.contains(label) {
                    let (name, known) = (&plan.actor.name, plan.program.labels.iter().map(String::as_str));
                    let mistake = Mistake::unknown(
                        path,
                        both!("move of {name}", "操作（{name} 的程序里）"),
                        label,
                        known,
                    );
                    // `A.acquire`, where the client's threads have names.
                    let has_it = |other: &&ActorPlan| {
                        other.actor.client == plan.actor.client && other.program.labels.contains(label)
                    };
                    let other = self.actors.iter().find(has_it).filter(|_| who != name);
                    return Err(match other {
                        None if plan.program.outside => unlisted(mistake, plan, label),
                        Some(other) => mistake.help(did_you_mean(&format!("{}.{label}", other.actor.name))),
                        None => mistake,
                    });
                }
                if plan.program.only_waits(label) {
                    let (name, message) = (
                        &plan.actor.name,
                        both!(
                            "`{label}` is no move: time passes in it",
                            "`{label}` 不是一步操作：它只是让时间流逝"
                        ),
                    );
                    return Err(Mistake::new(path, message).help(both!(
                        "a wait passes by itself before the next move of {name}; or write `- pass: …`",
                        "等待会在 {name} 的下一步之前自行过去；也可以写 `- pass: …`"
                    )));
                }
                turns.push(PlannedMove { actor, label: label.clone() });
            }
        }
        Ok(turns)
    }

    /// Checks a move as claims name it: `acquire` for all actors, or `A.acquire`.
    pub(crate) fn check_move(&self, name: &str, path: &Path) -> Result<(), Mistake> {
        let (who, label) = name.rsplit_once('.').unwrap_or(("", name));
        let meant = if who.is_empty() { None } else { Some(self.who(who, path)?) };
        let actors = self.actors.iter().enumerate().filter(|(n, _)| {
            meant.as_ref().is_none_or(|meant| meant.iter().any(|actor| actor.0 as usize == *n))
        });
        let labels: BTreeSet<&str> =
            actors.flat_map(|(_, plan)| plan.program.labels.iter().map(String::as_str)).collect();
        if labels.contains(label) || labels.is_empty() {
            return Ok(());
        }
        Err(Mistake::unknown(path, both!("move", "操作"), label, labels))
    }

    fn everybody(&self, names: &[String], path: &Path) -> Result<Vec<ActorId>, Mistake> {
        let each = names.iter().map(|name| self.who(name, path));
        Ok(each.collect::<Result<Vec<_>, _>>()?.concat())
    }

    fn client(&self, name: &str, path: &Path) -> Result<String, Mistake> {
        if self.clients.iter().any(|client| client.name == name) {
            return Ok(name.to_owned());
        }
        let mistake = Mistake::unknown(
            path,
            both!("client", "客户端"),
            name,
            self.clients.iter().map(|client| client.name.as_str()),
        );
        let thread = self.actors.iter().find(|plan| plan.actor.name == name);
        Err(match thread {
            Some(plan) => {
                let process = &plan.actor.client;
                mistake.help(both!(
                    "a fault hits a whole process: `{process}`",
                    "故障作用于整个进程：`{process}`"
                ))
            }
            None if self.is_server(name) => mistake.help(both!(
                "`{name}` is a server: `kill: {name}` and `restart: {name}` are for servers, `crash:` is for clients",
                "`{name}` 是服务器：服务器用 `kill: {name}` 和 `restart: {name}`，`crash:` 用于客户端"
            )),
            None if path.segments().last().is_some_and(|last| matches!(last, Segment::Key(key) if key == "freeze" || key == "thaw")) => {
                let known = self.clients.iter().map(|client| client.name.as_str());
                let known = known.chain(self.lab.servers().iter().copied());
                Mistake::unknown(path, both!("client or server", "客户端或服务器"), name, known)
            }
            None => mistake,
        })
    }

    fn link(&self, name: &str, path: &Path) -> Result<LinkId, Mistake> {
        let mut link: LinkId = name.parse().map_err(|_: String| {
            Mistake::new(path, both!("`{name}` is not a link", "`{name}` 不是链路"))
                .help(both!("write CLIENT->SERVER: A->redis", "请写成 客户端->服务器：A->redis"))
        })?;
        let lab = self.lab;
        if !self.clients.iter().any(|client| client.name == link.from)
            && self.clients.iter().any(|client| client.name == link.to)
        {
            let server = lab.server_named(&link.from).unwrap_or(lab.servers()[0]);
            let client = &link.to;
            let message =
                both!("`{name}`: a link goes from a client to a server", "`{name}`：链路从客户端指向服务器");
            return Err(Mistake::new(path, message).help(both!(
                "write `{client}->{server}`; `way: replies` of a `hold` keeps only what comes back",
                "请写 `{client}->{server}`；`hold` 的 `way: replies` 只扣住返回的内容"
            )));
        }
        // Some labs have links between servers.
        if self.is_server(&link.from) {
            link.from = self.server(&link.from, path)?;
        } else {
            self.client(&link.from, path)?;
        }
        link.to = self.server(&link.to, path)?;
        let from = link.from.as_str();
        if !self.clients.iter().any(|client| client.name == link.from) && !lab.has_link(from, &link.to) {
            let known: Vec<String> = lab
                .servers()
                .iter()
                .filter(|to| lab.has_link(from, to))
                .map(|to| format!("`{from}->{to}`"))
                .collect();
            let to = &link.to;
            let message = both!("no link goes from `{from}` to `{to}`", "没有从 `{from}` 到 `{to}` 的链路");
            return Err(Mistake::new(path, message).help(if known.is_empty() {
                let client = &self.clients[0].name;
                both!(
                    "the servers of this lab have no links to each other that could be cut: write a client's, `{client}->{to}`",
                    "这个 lab 的服务器之间没有可以切断的链路：请写客户端的链路，例如 `{client}->{to}`"
                )
            } else {
                let known = known.join(", ");
                both!("there are {known}", "有 {known}")
            }));
        }
        Ok(link)
    }

    pub(crate) fn server(&self, name: &str, path: &Path) -> Result<String, Mistake> {
        let lab = self.lab;
        if let Some(server) = lab.server_named(name) {
            return Ok(server.to_owned());
        }
        let known = lab.servers().iter().chain(lab.sentinels()).copied();
        let mistake = Mistake::unknown(path, both!("server", "服务器"), name, known);
        Err(if self.clients.iter().any(|client| client.name == name) {
            mistake.help(both!(
                "`{name}` is a client: `crash: {name}` and `freeze: {name}` are for clients",
                "`{name}` 是客户端：客户端用 `crash: {name}` 和 `freeze: {name}`"
            ))
        } else {
            of_other_lab(name, mistake)
        })
    }

    fn skew(&self, Skew(servers): &Skew, path: &Path) -> Result<Vec<Fault>, Mistake> {
        if servers.is_empty() {
            return Err(Mistake::new(path, both!("nobody's clock is set", "没有给任何人设时钟"))
                .help("skew: { redis: 30s, A: -5s }"));
        }
        let skew = |(name, ahead): (&String, &Param)| {
            let path = path.key(name);
            let ahead_ms = self.millis(ahead, &path, parse_signed_millis)?;
            if self.is_server(name) {
                return Ok(Fault::Skew { server: self.server(name, &path)?, ahead_ms });
            }
            if self.clients.iter().any(|client| client.name == *name) {
                return Ok(Fault::SkewClient { client: name.clone(), ahead_ms });
            }
            let clients = self.clients.iter().map(|client| client.name.as_str());
            let known = self.lab.servers().iter().chain(self.lab.sentinels()).copied().chain(clients);
            Err(Mistake::unknown(&path, both!("server or client", "服务器或客户端"), name, known))
        };
        servers.iter().map(skew).collect()
    }

    fn delay(&self, Delay { link, by, way }: &Delay, path: &Path) -> Result<Vec<Fault>, Mistake> {
        let at = path.key("by");
        let by_ms = self.millis(by, &at, super::super::parse_millis)?;
        if by_ms == 0 {
            return Err(Mistake::new(&at, both!("a delay of nothing", "延迟为零"))
                .help(both!("`release: LINK` ends a delay", "`release: LINK` 可以结束延迟")));
        }
        let by_ms = u64::try_from(by_ms).unwrap_or_default();
        let delay = |name: &String| {
            let link = self.link(name, &path.key("link"))?;
            Ok(Fault::Delay { link, way: *way, by_ms })
        };
        link.0.iter().map(delay).collect()
    }

    /// A duration that is known when the lesson is planned, in milliseconds.
    fn millis(
        &self,
        duration: &Param,
        path: &Path,
        parse: fn(&str) -> Result<i64, Text>,
    ) -> Result<i64, Mistake> {
        let written = match duration {
            Param::Number(millis) => Ok(millis.to_string()),
            Param::Flag(flag) => Err(both!("`{flag}` is not a duration", "`{flag}` 不是时长")),
            Param::Word(word) => Ok(word.clone()),
        };
        if let Ok(written) = &written {
            let template = Template::parse(written).map_err(|error| Mistake::new(path, error))?;
            Mistake::unless_known(path, both!("parameter", "参数"), &template.names(), self.params.keys())?;
        }
        let millis = written.and_then(|written| {
            let template = Template::parse(&written)?;
            if template.names().is_empty() {
                check_unit(&written)?;
            }
            parse(&template.render(&Scope::new(values(self.params)).value())?)
        });
        millis.map_err(|error| Mistake::new(path, error))
    }

    /// Whether the name is a server and no client, which decides the kind of fault.
    fn is_server(&self, name: &str) -> bool {
        let client = self.clients.iter().any(|client| client.name == name);
        !client && self.lab.server_named(name).is_some()
    }

    fn duration(&self, source: &str, path: &Path) -> Result<Template, Mistake> {
        let duration = template(source, path, both!("parameter", "参数"), self.params.keys())?;
        if duration.names().is_empty() {
            parse_written(source).map_err(|error| Mistake::new(path, error))?;
        }
        doubled_unit(source, self.params, path)?;
        computed_outside(&duration, path)?;
        negative(&duration, &values(self.params), path)?;
        Ok(duration)
    }

    fn pass(&self, duration: &str, moving: &[String], path: &Path) -> Result<PassPlan, Mistake> {
        if super::super::parse_millis(duration) == Ok(0) {
            return Err(Mistake::new(path, both!("no time passes in it", "这里没有时间流逝"))
                .help(both!("write how long: `pass: 3s`", "请写多久：`pass: 3s`")));
        }
        Ok(PassPlan { duration: self.duration(duration, path)?, moving: self.everybody(moving, path)? })
    }

    /// Parses the longest time that a story may wait.
    fn limit(&self, source: &str, path: &Path) -> Result<Template, Mistake> {
        let duration = self.duration(source, path)?;
        match super::super::parse_millis(source) {
            Ok(0) => {
                Err(Mistake::new(path, both!("nothing can be waited for in no time", "零时长内等不到任何事"))
                    .help(both!(
                        "write how long it may take at most: within: 30s",
                        "请写最多等多久：within: 30s"
                    )))
            }
            Ok(millis) if millis < 200 => Err(path.mistake(finding!(
                "`{source}` is too short: `await` looks every 200 ms",
                "`{source}` 太短：`await` 每 200 毫秒才看一次",
                "write how long it may take at most, such as 30s; for time that just passes, `pass: {source}`",
                "请写最多等多久，例如 30s；只想让时间流逝就写 `pass: {source}`"
            ))),
            Ok(millis) if millis > LONGEST_AWAIT_MS => {
                let message = both!(
                    "`{source}` is too long: a story waits for at most 24h of lesson time",
                    "`{source}` 太长：剧情最多等待 24 小时课程时间"
                );
                Err(Mistake::new(path, message))
            }
            // A duration with parameters is checked when its value is known.
            _ => Ok(duration),
        }
    }
}

/// The longest time that a story may wait, in milliseconds of lesson time: the condition is checked every 200 ms.
const LONGEST_AWAIT_MS: i64 = 24 * 60 * 60 * 1000;

/// Whether an item belongs to this variant.
fn happens(only: &[String], variant: &str, path: &Path, roster: &Roster<'_>) -> Result<bool, Mistake> {
    if let Some(unknown) = only.iter().find(|name| !roster.variants.contains_key(*name)) {
        let known = roster.variants.keys().map(String::as_str);
        return Err(Mistake::unknown(&path.key("only"), both!("variant", "方案"), unknown, known));
    }
    Ok(only.is_empty() || only.iter().any(|name| name == variant))
}

pub(crate) fn plan(
    items: &[StoryItem],
    path: &Path,
    roster: &Roster<'_>,
    vocabulary: &Vocabulary<'_>,
    variant: &str,
) -> Result<Vec<StoryLine>, Mistakes> {
    let (mut story, mut found) = (Vec::new(), Mistakes::default());
    for (index, item) in items.iter().enumerate() {
        if found.is_full() {
            break;
        }
        let path = path.index(index);
        if found.keep(happens(&item.only, variant, &path, roster)) == Some(true) {
            found.keep(add(&mut story, item, &path, roster, vocabulary));
        }
    }
    if found.is_empty() {
        found.keep(question::check_decided(&story));
    }
    found.or(story)
}

/// Adds the lines of an item to the story.
fn add(
    story: &mut Vec<StoryLine>,
    StoryItem { action, notes, .. }: &StoryItem,
    path: &Path,
    roster: &Roster<'_>,
    vocabulary: &Vocabulary<'_>,
) -> Result<(), Mistake> {
    let first = story.len();
    let mut push = |act| {
        story.push(StoryLine { act, item: story.len(), notes: None, path: path.clone() });
    };
    let one = |fault| Act::Faults(vec![fault]);
    let client = |name: &str, word: &str| roster.client(name, &path.key(word));
    let server = |name: &str, word: &str| roster.server(name, &path.key(word));
    let links = |names: &[String], word: &str, fault: &dyn Fn(LinkId) -> Fault| {
        let path = path.key(word);
        let faults = names.iter().map(|name| roster.link(name, &path).map(fault));
        faults.collect::<Result<_, Mistake>>().map(Act::Faults)
    };
    match action {
        Action::Say(text) => push(Act::Say(roster.text(text, &path.key("say"))?)),
        Action::Ask(ask) => push(Act::Ask(question::plan(ask, &path.key("ask"), roster, vocabulary)?)),
        Action::Move(moves) => {
            for turn in roster.turns(moves, &path.key("move"))? {
                push(Act::Each(vec![turn]));
            }
        }
        Action::Send(moves) => {
            for turn in roster.turns(moves, &path.key("send"))? {
                push(Act::Send(turn));
            }
        }
        Action::Each(moves) => push(Act::Each(roster.turns(moves, &path.key("each"))?)),
        Action::Together(moves) => {
            let turns = roster.turns(moves, &path.key("together"))?;
            let mut seen = BTreeSet::new();
            if let Some(twice) = turns.iter().find(|turn| !seen.insert(turn.actor)) {
                let name = &roster.actors[twice.actor.0 as usize].actor.name;
                return Err(Mistake::new(
                    path,
                    both!("`{name}` cannot make two moves at the same time", "`{name}` 不能同时走两步"),
                ));
            }
            push(Act::Together(turns));
        }
        Action::Finish(names) => push(Act::Finish(roster.everybody(names, &path.key("finish"))?)),
        Action::Pass(pass) => {
            push(Act::Pass(roster.pass(&pass.duration, &pass.moving, &path.key("pass"))?));
        }
        Action::Await(until) => {
            let path = path.key("await");
            push(Act::Await(AwaitPlan {
                that: vocabulary.expr(&until.that, &path.key("that"))?,
                within: roster.limit(&until.within, &path.key("within"))?,
                moving: roster.everybody(&until.moving, &path)?,
            }));
        }
        Action::Kill(Kill { server: name, loses: None }) => {
            push(one(Fault::KillServer { server: server(name, "kill")? }));
        }
        Action::Kill(Kill { server: name, loses: Some(_) }) => {
            let path = path.key("kill");
            if roster.lab.part_of(name).product() != Product::Redis {
                let message = both!(
                    "only of Redis' servers is it known what is on the disk",
                    "只有 Redis 服务器能知道哪些数据已经落盘"
                );
                return Err(Mistake::new(&path.key("loses"), message).help(format!("`kill: {name}`")));
            }
            push(one(Fault::LosePower { server: roster.server(name, &path.key("server"))? }));
        }
        Action::Restart(name) => push(one(Fault::RestartServer { server: server(name, "restart")? })),
        Action::Freeze(name) if roster.is_server(name) => {
            push(one(Fault::FreezeServer { server: name.clone() }));
        }
        Action::Thaw(name) if roster.is_server(name) => {
            push(one(Fault::ThawServer { server: name.clone() }));
        }
        Action::Crash(name) => push(one(Fault::Crash { client: client(name, "crash")? })),
        Action::Freeze(name) => push(one(Fault::Freeze { client: client(name, "freeze")? })),
        Action::Thaw(name) => push(one(Fault::Thaw { client: client(name, "thaw")? })),
        Action::Cut(names) => push(links(names, "cut", &|link| Fault::Cut { link })?),
        Action::Drop(names) => push(links(names, "drop", &|link| Fault::Drop { link })?),
        Action::Release(names) => push(links(names, "release", &|link| Fault::Release { link })?),
        Action::Hold(Hold { links: names, way }) => {
            push(links(names, "hold", &|link| Fault::Hold { link, way: *way })?);
        }
        Action::Delay(delay) => push(Act::Faults(roster.delay(delay, &path.key("delay"))?)),
        Action::Skew(skew) => push(Act::Faults(roster.skew(skew, &path.key("skew"))?)),
    }
    if let (Some(notes), Some(line)) = (notes, story.get_mut(first)) {
        line.notes = Some(roster.text(notes, &path.key("notes"))?);
    }
    Ok(())
}
