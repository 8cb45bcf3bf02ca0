//! Checks for programs whose steps are well-formed but cannot work: they wait for notifications that never come, or
//! send commands that the servers refuse.

use std::collections::BTreeSet;

use super::{
    super::{
        super::{
            duration::{parse_millis, parse_written},
            error::{ALIKE, Mistake, Path, did_you_mean, nearest},
            expr::{
                Expr, Mentions, Template,
                mentions::{joined, split_comparison},
            },
            model::Param,
            step::Step,
        },
        call::PlannedCall,
        doubts::Answer,
        names::WORDS,
        program::{Instruction, PlannedVerb},
    },
    Draft,
};
use crate::{
    log::{ANY, Flock, Product, product::redis::slot, stands_for},
    text::{Text, both},
};

/// Whether some step sets a name, and whether that is an operation.
fn sets_later(steps: &[Step], name: &str) -> Option<bool> {
    steps.iter().find_map(|step| match step {
        Step::Operation { label, .. } => (label == name).then_some(true),
        Step::Let { values } => values.contains_key(name).then_some(false),
        Step::If { then, otherwise, .. } => sets_later(then, name).or_else(|| sets_later(otherwise, name)),
        Step::Repeat { steps, .. } => sets_later(steps, name),
        _ => None,
    })
}

impl Draft<'_> {
    /// Reports a `take` for a subject that the program has no subscription to or watch on: it would wait for ever.
    pub(super) fn check_takes(&mut self) {
        let lab = self.compiler.lab;
        let [redis, zookeeper] = [Product::Redis, Product::Zookeeper].map(|product| lab.has(product));
        let takes = std::mem::take(&mut self.takes);
        for (from, path) in &takes {
            // Besides `session`, the list may name anything else.
            if zookeeper && from.iter().any(|about| about.pattern() == "session") {
                continue;
            }
            if !redis && !zookeeper {
                return self.doubt(path,
                    both!("no server of this lab tells anybody anything", "这个 lab 里没有会发通知的服务器"),
                    both!(
                        "ZooKeeper tells of watches, and Redis of what is published; `wait: 1s` lets time pass",
                        "ZooKeeper 会通知 watch，Redis 会推送发布的消息；只想等待请写 `wait: 1s`"
                    ),
                );
            }
            if zookeeper && !redis {
                self.doubt_other_watch(from, path);
            }
            if zookeeper
                && !redis
                && self.listens_to.is_empty()
                && let Some(about) = from.iter().find(|about| !about.is_literal())
            {
                return self.doubt_no_watch(&about.to_string(), path);
            }
            for about in from.iter().filter(|about| about.is_literal()).map(ToString::to_string) {
                let hears = self.listens_to.iter().any(|channel| {
                    about == "any" || channel.as_ref().is_none_or(|channel| *channel == about)
                });
                if hears {
                    continue;
                }
                if about == "session" {
                    return self.doubt(
                        path,
                        both!(
                            "only ZooKeeper's clients have sessions to be told of",
                            "只有 ZooKeeper 的客户端会收到会话通知"
                        ),
                        both!(
                            "Redis' clients take from a channel: `take: {{ from: freed }}`",
                            "Redis 的客户端从频道取消息：`take: {{ from: freed }}`"
                        ),
                    );
                }
                if zookeeper {
                    return self.doubt_no_watch(&about, path);
                }
                let channels: Vec<&str> = self.listens_to.iter().flatten().map(String::as_str).collect();
                let help = nearest(&about, channels.iter().copied(), ALIKE).map_or_else(
                    || {
                        both!(
                            "write an operation `{{ redis: SUBSCRIBE {about} }}` before it",
                            "请先写一个操作 `{{ redis: SUBSCRIBE {about} }}`"
                        )
                    },
                    did_you_mean,
                );
                let help = if about.contains(", ") {
                    both!("several are a list: `[A, B]`", "要写多个请用列表：`[A, B]`")
                } else {
                    help
                };
                return self.doubt(
                    path,
                    both!("this program never subscribes to `{about}`", "这个程序从没订阅过 `{about}`"),
                    if about == "any" {
                        both!(
                            "write an operation `{{ redis: SUBSCRIBE freed }}` before it",
                            "请先写一个操作 `{{ redis: SUBSCRIBE freed }}`"
                        )
                    } else {
                        help
                    },
                );
            }
        }
    }

    /// Reports a `take` for a znode on which the program leaves no watch.
    fn doubt_other_watch(&mut self, from: &[Template], path: &Path) {
        let is_told = |about: &String| {
            ["any", "session"].contains(&about.as_str())
                || self.watches.iter().any(|watch| stands_for(watch, about) || stands_for(about, watch))
        };
        let patterns: Vec<String> = from.iter().map(Template::pattern).collect();
        if self.watches.is_empty() || patterns.iter().any(is_told) {
            return;
        }
        let shown = |pattern: &str| pattern.replace(ANY, "…");
        let (about, watches) = (
            shown(&patterns[0]),
            self.watches.iter().map(|watch| shown(watch)).collect::<Vec<_>>().join("`, `"),
        );
        self.doubt(
            path,
            both!("this program leaves no watch on `{about}`", "这个程序没有在 `{about}` 上设 watch"),
            both!(
                "it leaves watches on `{watches}`: take from there, or from `any`",
                "它在 `{watches}` 上设了 watch：请从那里取，或者写 `any`"
            ),
        );
    }

    /// Reports `SET lock NX PX 3000`, where an option takes the place of the value, and `SET lock token NX`, where the
    /// value is a bare name.
    pub(super) fn doubt_value(&mut self, words: &[Template], path: &Path) {
        let value = words[2].pattern();
        if ["NX", "XX", "PX", "EX", "KEEPTTL"].contains(&value.as_str()) {
            self.doubt(
                path,
                both!(
                    "the value is missing: `{value}` stands in its place",
                    "缺少值：它的位置上是 `{value}`"
                ),
                both!("write `SET key ${{token}} NX PX 3000`", "请写 `SET key ${{token}} NX PX 3000`"),
            );
        }
        let key = words[1].to_string();
        if ["${self}", "${client}", "${token}"].contains(&key.as_str())
            && words[2].is_literal()
            && !self.in_recipe
        {
            self.doubt(
                path,
                both!(
                    "the key stands first, and here it is `{key}`, which is who asks",
                    "键要写在前面，而这里的键是 `{key}`，那是请求者"
                ),
                both!("write `SET {value} {key} …`", "请写 `SET {value} {key} …`"),
            );
        }
        self.doubt_plain(&words[2].to_string(), path);
    }

    /// Reports the name of a value as plain text where its value is probably meant.
    pub(super) fn doubt_plain(&mut self, name: &str, path: &Path) {
        if !self.in_recipe
            && (["token", "self", "client"].contains(&name) || self.compiler.params.contains_key(name))
        {
            self.doubt(
                path,
                both!("`{name}` is plain text here", "`{name}` 在这里只是普通文字"),
                both!("a value is filled in with `${{{name}}}`", "填入值要写 `${{{name}}}`"),
            );
        }
    }

    /// Reports a filter on the name of a reply in quotes: `'enter'|replace('/locks/', '')`.
    pub(super) fn doubt_quoted(&mut self, source: &str, path: &Path) {
        let Some((quoted, filters)) = source.split_once('|') else { return };
        let quoted = quoted.trim();
        let name = quoted.trim_matches(['\'', '"']);
        if quoted.len() == name.len() + 2 && self.program.labels.contains(name) && !self.in_recipe {
            self.doubt(
                path,
                both!("{quoted} in quotes is plain text", "加了引号的 {quoted} 只是普通文字"),
                both!("without quotes: `{name}|{filters}`", "去掉引号：`{name}|{filters}`"),
            );
        }
    }

    /// Reports a text value that is filled into an SQL statement without quotes.
    pub(super) fn doubt_quotes(&mut self, call: &PlannedCall, path: &Path) {
        let Some(statement) = call.operands("TEXT").next() else { return };
        let is_text = |name: &str| {
            ["self", "client", "token"].contains(&name)
                || self.constants.text_of(name).is_some_and(|text| {
                    text.chars().all(char::is_alphanumeric) && text.starts_with(char::is_alphabetic)
                })
        };
        // The statement with each `${…}` that is a text replaced by its name between two marks.
        let marked = statement.filled(|expr| {
            let name = expr.source().trim();
            Some(if is_text(name) { format!("\u{1}{name}\u{1}") } else { "0".to_owned() })
        });
        let mut quote = None;
        for (at, c) in marked.char_indices() {
            match (quote, c) {
                (Some(open), c) if c == open => quote = None,
                (None, '\'' | '"' | '`') => quote = Some(c),
                (None, '\u{1}') => {
                    let before = marked[..at].trim_end();
                    let name: String = marked[at + 1..].chars().take_while(|c| *c != '\u{1}').collect();
                    let is_value = before.ends_with(['=', '<', '>'])
                        || (before.ends_with(['(', ',']) && before.to_ascii_uppercase().contains("VALUES"));
                    if is_value {
                        return self.doubt(
                            path,
                            both!(
                                "`${{{name}}}` is a text, and stands without quotes",
                                "`${{{name}}}` 是文字，却没有引号"
                            ),
                            both!("write `'${{{name}}}'`", "请写 `'${{{name}}}'`"),
                        );
                    }
                }
                _ => {}
            }
        }
    }

    /// Reports `WAIT` with more replicas than there are, probably because its two arguments are swapped.
    pub(super) fn doubt_wait(&mut self, replicas: &Template, path: &Path) {
        let servers = self.compiler.lab.servers().len();
        let Ok(replicas) = replicas.pattern().parse::<usize>() else { return };
        if replicas > servers && !self.compiler.unused {
            self.doubt(
                path,
                both!(
                    "no server of this lab has {replicas} replicas",
                    "这个 lab 里没有服务器有 {replicas} 个从节点"
                ),
                both!("write `WAIT replicas milliseconds`", "请写 `WAIT 从节点数 毫秒`"),
            );
        }
    }

    /// Reports a duration whose value is no duration, or that comes from `TTL`, which answers in seconds.
    pub(super) fn doubt_duration(&mut self, duration: &Template, path: &Path) {
        let source = duration.to_string();
        let known = self.constants.text(duration).filter(|(_, from)| self.constants.stay(from));
        if let Some((text, _)) = known.filter(|_| !duration.is_literal())
            && parse_millis(&text).is_err()
            && text.parse::<f64>().is_err()
        {
            return self.doubt(
                path,
                both!("`{source}` is `{text}`, which is no duration", "`{source}` 是 `{text}`，不是时长"),
                both!("write it like 3s or 200ms", "请写成 3s 或 200ms 这样"),
            );
        }
        let label =
            source.strip_prefix("${").and_then(|rest| rest.strip_suffix('}')).unwrap_or_default().trim();
        if self.program.only_sends(label, "TTL") && !self.is_set(label) {
            self.doubt(
                path,
                both!(
                    "`TTL` answers seconds, and a duration counts in milliseconds",
                    "`TTL` 的回复以秒计，而时长以毫秒计"
                ),
                both!(
                    "ask with `PTTL`, or write `${{{label} * 1000}}`",
                    "请改用 `PTTL`，或者写 `${{{label} * 1000}}`"
                ),
            );
        }
    }

    pub(super) fn doubt(&mut self, path: &Path, message: Text, help: Text) {
        self.program.doubts.push(Mistake::new(path, message).help(help));
    }

    /// Reports a command whose keys are on different nodes of a cluster, because the cluster refuses it.
    pub(super) fn doubt_slots(&mut self, verb: &PlannedVerb, allow: &[String], path: &Path) {
        if self.compiler.lab.is_cluster()
            && !self.in_recipe
            && !allow.iter().any(|code| code == "CROSSSLOT")
            && let Some((message, help)) = slots_doubt(verb)
        {
            self.doubt(path, message, help);
        }
    }

    /// Doubts an expression with a keyword that is also the label of an operation: the keyword never means its reply.
    pub(super) fn doubt_words(&mut self, source: &str, path: &Path) {
        let named = WORDS.into_iter().filter(|word| self.program.labels.contains(*word));
        let Some(word) = named.into_iter().find(|word| Mentions::of(source).names(word)) else { return };
        self.doubt(
            path,
            both!(
                "`{word}` is a word of expressions, and not the reply of the operation `{word}`",
                "`{word}` 是表达式的关键字，不是操作 `{word}` 的回复"
            ),
            both!("give the operation another name", "请给这个操作换个名字"),
        );
    }

    /// Reports an `until` whose names no try can change.
    pub(super) fn doubt_until(&mut self, label: &str, until: Option<&Expr>, path: &Path) {
        let names = until.map(Expr::names).unwrap_or_default();
        let changes =
            |name: &String| name == label || ["reply", "error", "now", "token"].contains(&name.as_str());
        if self.in_recipe || names.iter().any(changes) {
            return;
        }
        self.doubt(
            path,
            both!("no try changes what `until` asks for", "每次重试都不会改变 `until` 的条件"),
            both!("ask for the reply: `until: reply == 'OK'`", "请用回复来判断：`until: reply == 'OK'`"),
        );
    }

    /// Reports a timeout of `GET_LOCK` that is no number of seconds: `${wait}s`, or a duration.
    pub(super) fn doubt_get_lock(&mut self, call: &PlannedCall, path: &Path) {
        let Some(statement) = call.all_operands().next().map(Template::to_string) else { return };
        let upper = statement.to_ascii_uppercase();
        let asked = upper.match_indices("GET_LOCK(").find_map(|(at, _)| {
            let (arguments, _) = statement[at..].split_once(')')?;
            let (_, timeout) = arguments.rsplit_once(',')?;
            let (name, unit) = timeout.trim().strip_prefix("${")?.split_once('}')?;
            Some((name.to_owned(), unit.to_owned()))
        });
        let Some((name, unit)) = asked else { return };
        if unit.trim().is_empty() {
            if let Ok(seconds) = Template::parse(&format!("${{{name}}}")) {
                self.doubt_milliseconds(&seconds, path);
            }
            return;
        }
        let message = both!(
            "GET_LOCK waits for seconds, and `${{{name}}}{unit}` is no number",
            "GET_LOCK 的第二个参数是秒数，`${{{name}}}{unit}` 不是数字"
        );
        self.doubt(path, message, both!("write `${{{name}}}`", "请写 `${{{name}}}`"));
    }

    /// Reports a duration parameter, which counts in milliseconds, where the command wants seconds.
    pub(super) fn doubt_milliseconds(&mut self, seconds: &Template, path: &Path) {
        let source = seconds.to_string();
        let name =
            source.strip_prefix("${").and_then(|rest| rest.strip_suffix('}')).unwrap_or_default().trim();
        let Some(Param::Word(written)) = self.compiler.params.get(name) else { return };
        let known = self.constants.text(seconds).filter(|(_, from)| self.constants.stay(from));
        // A client's `with` may give another value.
        let Some(millis @ 1000..) = known.and_then(|(known, _)| known.parse::<i64>().ok()) else { return };
        if parse_written(written).is_err() || written.parse::<i64>().is_ok() {
            return;
        }
        let message = both!(
            "seconds are wanted here, and `{source}` is {millis}: a duration counts in milliseconds",
            "这里要的是秒，而 `{source}` 是 {millis}：时长参数以毫秒计"
        );
        let mistake = Mistake::new(path, message)
            .help(both!("write `${{{name} // 1000}}`", "请写 `${{{name} // 1000}}`"));
        self.program.doubts.push(mistake);
    }

    /// Reports an object where a path, a key or a revision belongs. Returns whether there is one.
    fn doubt_object(&mut self, call: &PlannedCall, path: &Path) -> bool {
        let named = ["PATH", "KEY", "REVISION"].into_iter().flat_map(|kind| call.operands(kind));
        let object = named.map(ToString::to_string).find_map(|written| {
            let name = written.strip_prefix("${")?.strip_suffix('}')?.trim().to_owned();
            match self.program.answer_of(&name).filter(|_| !self.is_set(&name))? {
                Answer::Object(fields) => Some((name, fields)),
                _ => None,
            }
        });
        if let Some((name, fields)) = object {
            let (field, all) = (fields[0], fields.join(", "));
            self.doubt(
                path,
                both!(
                    "`{name}` is an object with {all}, and one of them belongs here",
                    "`{name}` 是一个对象，字段有 {all}，这里要写其中一个"
                ),
                both!("such as `${{{name}.{field}}}`", "例如 `${{{name}.{field}}}`"),
            );
            return true;
        }
        false
    }

    /// Reports operands whose known values are of the wrong kind: a path without its `/`, an object where a number
    /// belongs.
    pub(super) fn doubt_operands(&mut self, call: &PlannedCall, path: &Path) {
        if self.doubt_object(call, path) {
            return;
        }
        let filled = call.operands("PATH").filter(|operand| !operand.is_literal());
        let known = filled
            .filter_map(|operand| self.constants.text(operand))
            .filter(|(_, from)| self.constants.stay(from));
        if let Some((text, _)) = known.into_iter().find(|(text, _)| !text.starts_with('/')) {
            self.doubt(
                path,
                both!("the path `{text}` must begin with `/`", "路径 `{text}` 必须以 `/` 开头"),
                both!("give the parameter its `/`: `/{text}`", "请给参数写上 `/`：`/{text}`"),
            );
        }
        for operand in call.operands("PATH") {
            let written = operand.to_string();
            let of = |name: &str| self.program.answer_of(name).filter(|_| !self.is_set(name));
            let label = written
                .match_indices("/${")
                .filter_map(|(at, _)| written[at + 3..].split_once('}').map(|(name, _)| name.trim()))
                .find(|name| matches!(of(name), Some(Answer::Path | Answer::Numbered)));
            if let Some(label) = label {
                let message = both!(
                    "what `{label}` answers is the whole path already",
                    "`{label}` 的回复已经是完整路径"
                );
                return self.doubt(
                    path,
                    message,
                    both!(
                        "write `${{{label}}}` without what stands before it",
                        "请只写 `${{{label}}}`，前面不要再加路径"
                    ),
                );
            }
            if let Some(name) =
                ["self", "client", "token"].iter().find(|name| written.starts_with(&format!("${{{name}}}")))
            {
                return self.doubt(
                    path,
                    both!(
                        "a path begins with `/`, and `${{{name}}}` is a name",
                        "路径要以 `/` 开头，而 `${{{name}}}` 是名字"
                    ),
                    both!("write the path first: `/locks/${{{name}}}`", "请先写路径：`/locks/${{{name}}}`"),
                );
            }
        }
        for kind in ["SECONDS", "REVISION", "LEASE", "VERSION"] {
            for operand in call.operands(kind).filter(|operand| !operand.is_literal()) {
                let known = self.constants.text(operand).filter(|(_, from)| self.constants.stay(from));
                let is_name = ["${self}", "${client}", "${token}"].contains(&operand.to_string().as_str());
                let named = is_name.then(|| "A".to_owned());
                let known = known.map(|(text, _)| text).or(named).or_else(|| {
                    // A template with letters outside its `${…}` cannot render to a number.
                    let written = operand.pattern();
                    written.contains(char::is_alphabetic).then(|| written.replace(ANY, "…"))
                });
                if let Some(text) = known.filter(|text| text.parse::<i64>().is_err()) {
                    let written = operand.to_string();
                    return self.doubt(
                        path,
                        both!(
                            "{kind} is a whole number, and `{written}` is `{text}`",
                            "{kind} 是整数，而 `{written}` 是 `{text}`"
                        ),
                        both!("give it a whole number, such as 5", "请给一个整数，例如 5"),
                    );
                }
            }
            for operand in call.operands(kind) {
                let source = operand.to_string();
                let name = source
                    .strip_prefix("${")
                    .and_then(|rest| rest.strip_suffix('}'))
                    .unwrap_or_default()
                    .trim();
                let answer = self.program.answer_of(name).filter(|_| !self.is_set(name));
                if let Some(Answer::Object(fields)) = answer {
                    let field = fields.iter().find(|field| field.to_ascii_uppercase().contains(kind));
                    let help = field.map_or_else(
                        || both!("write what `grant` answered", "请写 `grant` 的回复"),
                        |field| both!("write `${{{name}.{field}}}`", "请写 `${{{name}.{field}}}`"),
                    );
                    let message = both!(
                        "{kind} is a number, and `{name}` answers an object",
                        "{kind} 是数字，而 `{name}` 的回复是一个对象"
                    );
                    return self.doubt(path, message, help);
                }
            }
        }
    }

    /// Reports a lease shorter than what etcd grants: 2 s on one server, 5 s on three, because an election takes as
    /// long.
    pub(super) fn doubt_grant(&mut self, call: &PlannedCall, path: &Path) {
        let is_cluster = self
            .compiler
            .lab
            .parts()
            .iter()
            .any(|part| part.product() == Product::Etcd && part.is_ensemble());
        let seconds = call.operands("SECONDS").next();
        let known = seconds
            .and_then(|seconds| self.constants.text(seconds))
            .filter(|(_, from)| self.constants.stay(from));
        if let (false, Some(seconds @ ..2)) =
            (is_cluster, known.as_ref().and_then(|(seconds, _)| seconds.parse::<i64>().ok()))
        {
            return self.doubt(
                path,
                both!(
                    "a lease of {seconds} s is too short: etcd grants 2 s or more",
                    "{seconds} 秒的租约太短：etcd 至少给 2 秒"
                ),
                both!("write `grant 5`", "请写 `grant 5`"),
            );
        }
        let seconds = known.map(|(seconds, _)| seconds);
        if let (true, Some(seconds @ 0..5)) =
            (is_cluster, seconds.and_then(|seconds| seconds.parse::<i64>().ok()))
        {
            self.doubt(
                path,
                both!(
                    "a lease of {seconds} s is too short: three etcd servers grant 5 s or more",
                    "{seconds} 秒的租约太短：三台 etcd 至少给 5 秒"
                ),
                both!("write `grant 5`", "请写 `grant 5`"),
            );
        }
    }

    /// Reports a mutex, a file or a lock of MariaDB that is unlocked but never locked.
    pub(super) fn check_unlocks(&mut self) {
        let operations = self.program.instructions.iter().filter_map(|instruction| match instruction {
            Instruction::Operate(operation) => Some(operation),
            _ => None,
        });
        // The kind of each lock operation, whether it unlocks, the name, and the path.
        let found = operations.filter_map(|operation| {
            let (kind, unlocks, name) = match &operation.verb {
                PlannedVerb::Local { lock, name } => ("local", !*lock, name.pattern()),
                PlannedVerb::Flock { call, path } => ("flock", *call == Flock::Unlock, path.pattern()),
                PlannedVerb::Call(call) => {
                    let text: String = call.operands("TEXT").map(Template::pattern).collect();
                    let (unlocks, name) = named_lock(&text)?;
                    ("sql", unlocks, name.to_owned())
                }
                _ => return None,
            };
            Some((kind, unlocks, name, operation.path.clone()))
        });
        let found: Vec<_> = found.collect();
        let locked = |kind: &str| {
            let all = found.iter().filter(move |(of, unlocks, ..)| *of == kind && !unlocks);
            all.map(|(_, _, name, _)| name.as_str()).collect::<Vec<_>>()
        };
        let never = found.iter().find(|(kind, unlocks, name, _)| {
            let is_it = |locked: &&str| stands_for(locked, name) || stands_for(name, locked);
            // A lesson may want to show what `RELEASE_LOCK` answers to a client without the lock.
            let may_be_meant = *kind == "sql" && locked(kind).is_empty();
            *unlocks && !may_be_meant && !locked(kind).iter().any(is_it)
        });
        let Some((kind, _, name, Some(path))) = never else { return };
        let message = both!("this program never locks `{name}`", "这个程序从没锁过 `{name}`");
        let help = locked(kind).first().map_or_else(
            || {
                let word = if *kind == "local" { "lock " } else { "" };
                both!("lock it before: `{kind}: {word}{name}`", "请先加锁：`{kind}: {word}{name}`")
            },
            |locked| did_you_mean(locked),
        );
        self.doubt(&path.key(kind), message, help);
    }

    /// The operation right before, if it is sure to come before the next step and does not allow the error.
    pub(super) fn never_before(&self, code: &str) -> Option<String> {
        let here = self.here();
        let leads_here = |instruction: &Instruction| match instruction {
            Instruction::JumpUnless { to, .. } | Instruction::Jump { to } => *to == here,
            _ => false,
        };
        match self.program.instructions.last()? {
            Instruction::Operate(before)
                if !before.allow.iter().any(|allowed| allowed == code || allowed.contains("${"))
                    && !self.program.instructions.iter().any(leads_here) =>
            {
                Some(before.label.clone())
            }
            _ => None,
        }
    }

    /// Reports an error code that a condition compares with and that no operation allows: the run would end with that
    /// error.
    pub(super) fn check_asked_errors(&mut self) {
        let operations = self.program.instructions.iter().filter_map(|instruction| match instruction {
            Instruction::Operate(operation) => Some(operation),
            _ => None,
        });
        let allowed: Vec<&str> =
            operations.flat_map(|operation| operation.allow.iter().map(String::as_str)).collect();
        let mut asked = self.asked_errors.iter();
        let is_never =
            |code: &str| if code.is_empty() { allowed.is_empty() } else { !allowed.contains(&code) };
        let Some((code, path, _)) = asked.find(|(code, ..)| is_never(code)).cloned() else {
            let found = self
                .asked_errors
                .iter()
                .find_map(|(code, path, before)| Some((code, path, before.as_ref()?)));
            let Some((code, path, before)) = found else { return };
            let message = both!(
                "`error` is never '{code}' here: `{before}`, right before, does not allow it",
                "这里 `error` 不会是 '{code}'：前面的 `{before}` 没有允许它"
            );
            let help =
                both!("write `allow: [{code}]` in `{before}`", "请在 `{before}` 里写 `allow: [{code}]`");
            let path = path.clone();
            return self.doubt(&path, message, help);
        };
        if code.is_empty() {
            let message = both!(
                "`error` is always `none` here: no operation of this program has `allow`",
                "这里 `error` 总是 `none`：这个程序里没有操作写了 `allow`"
            );
            let help = both!(
                "an error that the program handles is named in the operation: `allow: [NodeExists]`",
                "程序要处理的错误，请写在操作里，例如 `allow: [NodeExists]`"
            );
            return self.doubt(&path, message, help);
        }
        if code == "none" {
            let message = both!("`error` is never the text 'none'", "`error` 不会是文字 'none'");
            let help = both!("without an error: `error is none`", "没有出错时请写 `error is none`");
            return self.doubt(&path, message, help);
        }
        let message = both!(
            "`error` is never '{code}': no operation of this program allows it",
            "`error` 不会是 '{code}'：这个程序里没有操作允许它"
        );
        let help = nearest(&code, allowed.iter().copied(), ALIKE)
            .or_else(|| allowed.iter().copied().find(|known| known.eq_ignore_ascii_case(&code)))
            .or_else(|| allowed.iter().copied().find(|known| known.ends_with(code.as_str())))
            .map_or_else(
                || {
                    both!(
                        "let the operation that may answer it `allow: [{code}]`",
                        "请在可能出这个错的操作里写 `allow: [{code}]`"
                    )
                },
                did_you_mean,
            );
        self.doubt(&path, message, help);
    }

    /// Explains an unknown name that the program sets further down.
    pub(super) fn named_later(&self, names: &BTreeSet<String>, mistake: Mistake) -> Mistake {
        let steps = self.compiler.programs.get(&self.name).map(Vec::as_slice).unwrap_or_default();
        let mut unknown = names.iter().filter(|name| !self.known.contains(*name));
        let Some((name, is_label)) = unknown.find_map(|name| Some((name, sets_later(steps, name)?))) else {
            return mistake;
        };
        let message = both!(
            "`{name}` has no value yet here: it gets its first one further down",
            "到这里 `{name}` 还没有值：后面才第一次给它赋值"
        );
        Mistake { message, ..mistake }.help(if is_label {
            both!("write this after the operation `{name}`", "请把这一步写在操作 `{name}` 之后")
        } else {
            both!(
                "give it a first value before: `- let: {{ {name}: 0 }}`",
                "请先给它一个初值：`- let: {{ {name}: 0 }}`"
            )
        })
    }

    /// Reports the use of a znode's sequence number if the program creates no sequential znode.
    pub(super) fn check_numbered(&mut self) {
        let Some(path) = self.asks_suffix.take() else { return };
        let calls = self.program.instructions.iter().filter_map(|instruction| match instruction {
            Instruction::Operate(operation) => match &operation.verb {
                PlannedVerb::Call(call) if call.name() == "create" => Some(call),
                _ => None,
            },
            _ => None,
        });
        let created: Vec<_> = calls.filter(|call| call.product() == Product::Zookeeper).collect();
        if !created.is_empty() && !created.iter().any(|call| call.has_flag("-s")) {
            self.doubt(
                &path,
                both!(
                    "this asks for the number of a znode, and the program creates none that has one",
                    "这里要用 znode 的序号，而程序创建的节点都没有序号"
                ),
                both!(
                    "ZooKeeper numbers a sequential one: `create -e -s /locks/n-`",
                    "顺序节点才有序号：`create -e -s /locks/n-`"
                ),
            );
        }
    }

    /// The doubt about a test for nil on the reply of a command that always answers.
    pub(super) fn nil_doubt(&self, source: &str) -> Option<(Text, Text)> {
        joined(source).into_iter().find_map(|part| {
            let part = part.trim();
            let asked = [" is none", " is not none", " == none", " != none"];
            let label = asked.iter().find_map(|asked| part.strip_suffix(asked))?.trim();
            let mut named =
                self.program.instructions.iter().rev().filter_map(|instruction| match instruction {
                    Instruction::Operate(operation) if label == "reply" || operation.label == label => {
                        Some(operation)
                    }
                    _ => None,
                });
            let is_told = |code: &String| self.compiler.reads_lost && code == "Lost";
            let operation =
                named.next().filter(|known| known.allow.iter().all(is_told) && known.until.is_none())?;
            let alone = label == "reply" || named.next().is_none();
            Answer::nil_doubt(&operation.verb, label).filter(|_| alone && !self.is_set(label))
        })
    }

    /// The doubt about a comparison with `'Lost'` in `format: 1`, where programs see a lost reply as `none`.
    pub(super) fn lost_doubt(&self, source: &str) -> Option<(Text, Text)> {
        if self.compiler.reads_lost {
            return None;
        }
        joined(source).into_iter().find_map(|part| {
            let (left, operator, right) = split_comparison(part)?;
            let is_lost = ["'Lost'", "\"Lost\""].contains(&right);
            (is_lost && (left == "reply" || self.program.labels.contains(left)) && !self.is_set(left)).then(
                || {
                    (
                        both!(
                            "in `format: 1` a reply that was lost is `none` in programs, never 'Lost'",
                            "在 `format: 1` 里，丢失的回复在程序中是 `none`，不会是 'Lost'"
                        ),
                        both!(
                            "write `error {operator} 'Lost'`, or `format: 2` at the head of the lesson",
                            "请写 `error {operator} 'Lost'`，或者在课程开头写 `format: 2`"
                        ),
                    )
                },
            )
        })
    }

    /// Reports a list that is passed as one word of a command.
    pub(super) fn doubt_list(&mut self, verb: &PlannedVerb, path: &Path) {
        let words: Vec<&Template> = match verb {
            PlannedVerb::Redis(words) => words.iter().collect(),
            PlannedVerb::Script { keys, args, .. } => keys.iter().chain(args).collect(),
            _ => return,
        };
        let list = words.iter().find_map(|word| {
            let written = word.to_string();
            let label = written.strip_prefix("${")?.strip_suffix('}')?.trim().to_owned();
            let answer = self.program.answer_of(&label);
            let is_list = matches!(answer, Some(Answer::Several | Answer::Texts)) && !self.is_set(&label);
            is_list.then_some(label)
        });
        if let Some(label) = list.filter(|_| !self.in_recipe) {
            self.doubt(
                path,
                both!(
                    "`{label}` answers a list, which is no word of a command",
                    "`{label}` 的回复是列表，不能当作命令里的一个词"
                ),
                both!("fill in one of its items: `${{{label}[0]}}`", "请填入其中一项：`${{{label}[0]}}`"),
            );
        }
    }

    /// Whether a command is only queued. Also tracks transactions, and reports an `EXEC` or `DISCARD` without `MULTI`.
    pub(super) fn queues(&mut self, verb: &PlannedVerb, path: &Path) -> bool {
        let name = match verb {
            PlannedVerb::Redis(words) => words[0].pattern().to_ascii_uppercase(),
            PlannedVerb::Script { .. } => String::new(),
            _ => return false,
        };
        let open = self.in_multi;
        match name.as_str() {
            "MULTI" => self.in_multi = true,
            "EXEC" | "DISCARD" => {
                self.in_multi = false;
                if !open && !self.in_recipe {
                    self.doubt(
                        &path.key("redis"),
                        both!(
                            "no `MULTI` comes before this `{name}`: Redis answers ERR",
                            "`{name}` 之前没有 `MULTI`，Redis 会回复 ERR"
                        ),
                        both!(
                            "write `- multi: {{ redis: MULTI }}` before the commands that belong together",
                            "请在要一起执行的命令前面写 `- multi: {{ redis: MULTI }}`"
                        ),
                    );
                }
            }
            "WATCH" if open => self.doubt(
                &path.key("redis"),
                both!(
                    "`WATCH` comes too late after `MULTI`: Redis answers ERR",
                    "`MULTI` 之后不能再 `WATCH`，Redis 会回复 ERR"
                ),
                both!("write it before `MULTI`", "请写在 `MULTI` 前面"),
            ),
            _ => return open,
        }
        false
    }

    fn doubt_no_watch(&mut self, about: &str, path: &Path) {
        self.doubt(
            path,
            both!(
                "this program leaves no watch, so nothing is ever told",
                "这个程序没有设 watch，永远不会有通知"
            ),
            if about == "any" {
                both!(
                    "leave one with `-w`: `exists -w /lock`; news of the session is taken `from: session`",
                    "请用 `-w` 设 watch：`exists -w /lock`；会话的通知要写 `from: session`"
                )
            } else {
                both!("leave one with `-w`: `exists -w {about}`", "请用 `-w` 设 watch：`exists -w {about}`")
            },
        );
    }
}

/// The lock of `GET_LOCK('name', 5)` or `RELEASE_LOCK('name')`, and whether the statement unlocks it.
fn named_lock(statement: &str) -> Option<(bool, &str)> {
    let upper = statement.to_ascii_uppercase();
    let (unlocks, at) = match (upper.find("RELEASE_LOCK("), upper.find("GET_LOCK(")) {
        (Some(at), None) => (true, at + "RELEASE_LOCK(".len()),
        (None, Some(at)) => (false, at + "GET_LOCK(".len()),
        _ => return None,
    };
    let rest = statement.get(at..)?.trim_start();
    let quote = rest.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
    Some((unlocks, rest[1..].split(quote).next()?))
}

/// The doubt about a command whose keys are in different slots of a cluster.
pub(crate) fn slots_doubt(verb: &PlannedVerb) -> Option<(Text, Text)> {
    let keys: Vec<String> = match verb {
        PlannedVerb::Script { keys, .. } => keys.iter().map(Template::pattern).collect(),
        PlannedVerb::Redis(words) => {
            let name = words[0].pattern().to_ascii_uppercase();
            let every = match name.as_str() {
                "MSET" | "MSETNX" => 2,
                "DEL" | "UNLINK" | "EXISTS" | "MGET" | "TOUCH" | "RENAME" | "SINTER" | "SUNION" | "SDIFF"
                | "RPOPLPUSH" => 1,
                "SELECT" if words.get(1).is_some_and(|n| n.pattern() != "0") => {
                    return Some((
                        both!("a cluster has only the database 0", "集群只有 0 号数据库"),
                        both!("leave `SELECT` out", "请去掉 `SELECT`"),
                    ));
                }
                _ => return None,
            };
            words[1..].iter().step_by(every).map(Template::pattern).collect()
        }
        _ => return None,
    };
    // If a value is filled in, the slot is known only from a hash tag before it.
    let known = |key: &&String| match key.split_once(ANY) {
        None => true,
        Some((before, _)) => {
            before.split_once('{').is_some_and(|(_, tag)| tag.find('}').is_some_and(|end| end > 0))
        }
    };
    let mut known = keys.iter().filter(known);
    let first = known.next()?;
    let other = known.find(|other| slot(other) != slot(first))?;
    Some((
        both!(
            "`{first}` and `{other}` are in different slots of the cluster: it answers CROSSSLOT",
            "`{first}` 和 `{other}` 在集群的不同槽里，会回复 CROSSSLOT"
        ),
        both!(
            "give both one hash tag, as `{{lock}}:a` and `{{lock}}:b` have",
            "请给两者同一个哈希标签，如 `{{lock}}:a` 和 `{{lock}}:b`"
        ),
    ))
}
