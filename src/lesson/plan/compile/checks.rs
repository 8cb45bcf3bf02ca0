//! What a program cannot do although each of its steps is well-formed: it waits for what nobody tells, or asks for what the
//! servers refuse.

use super::{
    super::{
        super::{
            duration::parse_written,
            error::{ALIKE, Mistake, Path, did_you_mean, nearest},
            expr::{Expr, Template},
            model::Param,
        },
        call::PlannedCall,
        doubts::Answer,
        program::{Instruction, PlannedVerb},
    },
    Draft,
};
use crate::{
    log::{ANY, Flock, Product, product::redis::slot, stands_for},
    text::{Text, both},
};

impl Draft<'_> {
    /// What is taken must be something that the program asked to be told of: it would wait for ever.
    pub(super) fn check_takes(&mut self) {
        let lab = self.compiler.lab;
        let [redis, zookeeper] = [Product::Redis, Product::Zookeeper].map(|product| lab.has(product));
        let takes = std::mem::take(&mut self.takes);
        for (from, path) in &takes {
            // Beside what becomes of the session, anything else may be listed.
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

    /// A notification of a znode comes only to whoever left a watch on it.
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

    /// `SET lock NX PX 3000` has an option where its value should be, and `SET lock token NX` a name that stands for nothing.
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
        self.doubt_plain(&words[2].to_string(), path);
    }

    /// The name of a value where the value is meant.
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

    /// A text that is filled into a statement stands in quotes.
    pub(super) fn doubt_quotes(&mut self, call: &PlannedCall, path: &Path) {
        let Some(statement) = call.operands("TEXT").next() else { return };
        let is_text = |name: &str| {
            ["self", "client", "token"].contains(&name)
                || self.constants.text_of(name).is_some_and(|text| {
                    text.chars().all(char::is_alphanumeric) && text.starts_with(char::is_alphabetic)
                })
        };
        // Each `${…}` that is a text, by its name between two marks.
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

    pub(super) fn doubt(&mut self, path: &Path, message: Text, help: Text) {
        self.program.doubts.push(Mistake::new(path, message).help(help));
    }

    /// A command whose keys are on different nodes of a cluster is refused by it.
    pub(super) fn doubt_slots(&mut self, verb: &PlannedVerb, allow: &[String], path: &Path) {
        if !self.compiler.lab.is_cluster() || self.in_recipe || allow.iter().any(|code| code == "CROSSSLOT") {
            return;
        }
        let keys: Vec<String> = match verb {
            PlannedVerb::Script { keys, .. } => keys.iter().map(Template::pattern).collect(),
            PlannedVerb::Redis(words) => {
                let name = words[0].pattern().to_ascii_uppercase();
                let every = match name.as_str() {
                    "MSET" | "MSETNX" => 2,
                    "DEL" | "UNLINK" | "EXISTS" | "MGET" | "TOUCH" | "RENAME" | "SINTER" | "SUNION"
                    | "SDIFF" | "RPOPLPUSH" => 1,
                    "SELECT" if words.get(1).is_some_and(|n| n.pattern() != "0") => {
                        return self.doubt(
                            &path.key("redis"),
                            both!("a cluster has only the database 0", "集群只有 0 号数据库"),
                            both!("leave `SELECT` out", "请去掉 `SELECT`"),
                        );
                    }
                    _ => return,
                };
                words[1..].iter().step_by(every).map(Template::pattern).collect()
            }
            _ => return,
        };
        // Where a value is filled in only a hash tag before it tells the slot.
        let known = |key: &&String| match key.split_once(ANY) {
            None => true,
            Some((before, _)) => {
                before.split_once('{').is_some_and(|(_, tag)| tag.find('}').is_some_and(|end| end > 0))
            }
        };
        let mut known = keys.iter().filter(known);
        let Some(first) = known.next() else { return };
        if let Some(other) = known.find(|other| slot(other) != slot(first)) {
            self.doubt(
                path,
                both!(
                    "`{first}` and `{other}` are in different slots of the cluster: it answers CROSSSLOT",
                    "`{first}` 和 `{other}` 在集群的不同槽里，会回复 CROSSSLOT"
                ),
                both!(
                    "give them one hash tag: `{{lock}}:{first}` and `{{lock}}:{other}`",
                    "请用同一个哈希标签：`{{lock}}:{first}` 和 `{{lock}}:{other}`"
                ),
            );
        }
    }

    /// What a try cannot change is asked for in vain after each.
    pub(super) fn may_come_true(&mut self, label: &str, until: Option<&Expr>, path: &Path) {
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

    /// A parameter that is a duration counts in milliseconds, and here seconds are meant.
    pub(super) fn is_no_duration(&mut self, seconds: &Template, path: &Path) {
        let source = seconds.to_string();
        let name =
            source.strip_prefix("${").and_then(|rest| rest.strip_suffix('}')).unwrap_or_default().trim();
        let Some(Param::Word(written)) = self.compiler.params.get(name) else { return };
        let (Ok(millis), Some((known, _))) = (parse_written(written), self.constants.text(seconds)) else {
            return;
        };
        if known != millis.to_string() || written.parse::<i64>().is_ok() {
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

    /// A path without its `/`, or a number that is an object, where what is filled in is known.
    pub(super) fn doubt_operands(&mut self, call: &PlannedCall, path: &Path) {
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
                .find(|name| of(name) == Some(Answer::Path));
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
                if let Some((text, _)) = known.filter(|(text, _)| text.parse::<i64>().is_err()) {
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
                    let field = fields
                        .iter()
                        .find(|field| field.to_ascii_uppercase().contains(kind))
                        .unwrap_or(&fields[0]);
                    let (message, help) = (
                        both!(
                            "{kind} is a number, and `{name}` answers an object",
                            "{kind} 是数字，而 `{name}` 的回复是一个对象"
                        ),
                        both!("write `${{{name}.{field}}}`", "请写 `${{{name}.{field}}}`"),
                    );
                    return self.doubt(path, message, help);
                }
            }
        }
    }

    /// Three etcd servers hold no short lease: their election takes as long.
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

    /// A mutex that is unlocked and never locked.
    pub(super) fn check_mutexes(&mut self) {
        let mutexes: Vec<_> = self
            .program
            .instructions
            .iter()
            .filter_map(|instruction| match instruction {
                Instruction::Operate(operation) => match &operation.verb {
                    PlannedVerb::Local { lock, name } => {
                        Some((*lock, name.pattern(), operation.path.clone()))
                    }
                    _ => None,
                },
                _ => None,
            })
            .collect();
        let locked: Vec<&str> =
            mutexes.iter().filter(|(locks, ..)| *locks).map(|(_, name, _)| name.as_str()).collect();
        let never = |(locks, name, _): &&(bool, String, Option<Path>)| {
            !locks
                && !name.contains(ANY)
                && !locked.iter().any(|locked| locked.contains(ANY) || locked == name)
        };
        if let Some((_, name, Some(path))) = mutexes.iter().find(never) {
            let message = both!("this program never locks `{name}`", "这个程序从没锁过 `{name}`");
            let help = locked.first().map_or_else(
                || both!("lock it before: `local: lock {name}`", "请先加锁：`local: lock {name}`"),
                |locked| did_you_mean(locked),
            );
            let path = path.key("local");
            self.doubt(&path, message, help);
        }
    }

    /// A file that is unlocked and never locked.
    pub(super) fn check_files(&mut self) {
        let files = self.program.instructions.iter().filter_map(|instruction| match instruction {
            Instruction::Operate(operation) => match &operation.verb {
                PlannedVerb::Flock { call, path } => {
                    Some((*call == Flock::Unlock, path.pattern(), operation.path.clone()))
                }
                _ => None,
            },
            _ => None,
        });
        let files: Vec<_> = files.collect();
        let locked: Vec<&str> =
            files.iter().filter(|(unlocks, ..)| !unlocks).map(|(_, file, _)| file.as_str()).collect();
        let never = |(unlocks, file, _): &&(bool, String, Option<Path>)| {
            *unlocks
                && !file.contains(ANY)
                && !locked.iter().any(|locked| locked.contains(ANY) || locked == file)
        };
        if let Some((_, file, Some(path))) = files.iter().find(never) {
            let message =
                both!("this program never locks the file `{file}`", "这个程序从没锁过文件 `{file}`");
            let help = locked.first().map_or_else(
                || both!("lock it before: `flock: {file}`", "请先加锁：`flock: {file}`"),
                |locked| did_you_mean(locked),
            );
            let path = path.key("flock");
            self.doubt(&path, message, help);
        }
    }

    fn doubt_no_watch(&mut self, about: &str, path: &Path) {
        self.doubt(
            path,
            both!(
                "this program leaves no watch, so nothing is ever told",
                "这个程序没有设 watch，永远不会有通知"
            ),
            both!("leave one with `-w`: `exists -w {about}`", "请用 `-w` 设 watch：`exists -w {about}`"),
        );
    }
}
