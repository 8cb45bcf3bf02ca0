//! Checks for commands that Redis refuses, or that mean something else than they seem.

use super::{
    super::{
        lints::Answer,
        program::{Instruction, PlannedVerb},
        templates::only_expression,
    },
    Draft,
};
use crate::{
    lesson::{
        error::{Finding, Path, finding},
        expr::Template,
    },
    log::{ANY, product::redis::slot},
    text::both,
};

impl Draft<'_> {
    /// Reports `SET lock NX PX 3000`, where an option takes the place of the value, and `SET lock token NX`, where the
    /// value is a bare name.
    pub(super) fn lint_value(&mut self, words: &[Template], path: &Path) {
        let value = words[2].pattern();
        if ["NX", "XX", "PX", "EX", "KEEPTTL"].contains(&value.as_str()) {
            self.report(path.mistake(finding!(
                "the value is missing: `{value}` stands in its place",
                "缺少值：它的位置上是 `{value}`",
                "write `SET key ${{token}} NX PX 3000`",
                "请写 `SET key ${{token}} NX PX 3000`"
            )));
        }
        let key = words[1].to_string();
        if ["${self}", "${client}", "${token}"].contains(&key.as_str())
            && words[2].is_literal()
            && !self.in_recipe
        {
            self.report(path.mistake(finding!(
                "the key stands first, and here it is `{key}`, which is who asks",
                "键要写在前面，而这里的键是 `{key}`，那是请求者",
                "write `SET {value} {key} …`",
                "请写 `SET {value} {key} …`"
            )));
        }
        self.lint_plain(&words[2].to_string(), path);
    }

    /// Reports `WAIT` with more replicas than there are, probably because its two arguments are swapped.
    pub(super) fn lint_wait(&mut self, replicas: &Template, path: &Path) {
        let servers = self.compiler.lab.servers().len();
        let settled = self.constants.settled(replicas);
        let Some(replicas) = settled.and_then(|replicas| replicas.parse::<usize>().ok()) else { return };
        if replicas > servers && !self.compiler.unused {
            self.report(path.mistake(finding!(
                "no server of this lab has {replicas} replicas",
                "这个 lab 里没有服务器有 {replicas} 个从节点",
                "write `WAIT replicas milliseconds`",
                "请写 `WAIT 从节点数 毫秒`"
            )));
        }
    }

    /// Reports a command whose keys are on different nodes of a cluster, because the cluster refuses it.
    pub(super) fn lint_slots(&mut self, verb: &PlannedVerb, allow: &[String], path: &Path) {
        if self.compiler.lab.is_cluster()
            && !self.in_recipe
            && !allow.iter().any(|code| code == "CROSSSLOT")
            && let Some(finding) =
                slots_lint(verb, &|word| self.constants.settled(word).unwrap_or_else(|| word.pattern()))
        {
            self.report(path.mistake(finding));
        }
    }

    /// Reports the name of a stream, `read[0][0]`, that is sent where the ID of a message belongs.
    pub(super) fn check_stream_ids(&mut self) {
        let is_name = |source: &str| {
            let (label, index) = source.trim().strip_suffix("][0]")?.split_once('[')?;
            let reads = ["XREAD", "XREADGROUP"].iter().any(|command| self.program.only_sends(label, command));
            (reads && index.parse::<u32>().is_ok()).then(|| (label.to_owned(), index.to_owned()))
        };
        let sent: Vec<String> = self
            .program
            .operations()
            .filter_map(|operation| match &operation.verb {
                PlannedVerb::Redis(words) => Some(words),
                _ => None,
            })
            .flat_map(|words| {
                let first = match words[0].pattern().to_ascii_uppercase().as_str() {
                    "XACK" => 3,
                    "XDEL" => 2,
                    "XCLAIM" => 5,
                    _ => words.len(),
                };
                words[first.min(words.len())..].iter().flat_map(Template::sources)
            })
            .map(|source| source.trim().to_owned())
            .collect();
        let found = self.program.conditions.iter().find_map(|(at, path)| {
            let Instruction::Set { name, value } = self.program.instructions.get(*at)? else { return None };
            let (label, index) = is_name(value.source()).filter(|_| sent.contains(name))?;
            Some((path.clone(), value.source().to_owned(), label, index))
        });
        if let Some((path, source, label, index)) = found {
            self.report(path.mistake(finding!(
                "`{source}` is the name of the stream, and the ID of a message is sent",
                "`{source}` 是 stream 的名字，而发送的应该是消息的 ID",
                "the ID of its first message is `{label}[{index}][1][0][0]`",
                "第一条消息的 ID 是 `{label}[{index}][1][0][0]`"
            )));
        }
    }

    /// Reports a list that is passed as one word of a command.
    pub(super) fn lint_list(&mut self, verb: &PlannedVerb, path: &Path) {
        if !verb.is_sent() {
            return;
        }
        let list = verb.templates().into_iter().find_map(|word| {
            let written = word.to_string();
            let label = only_expression(&written)?.to_owned();
            let answer = self.program.answer_of(&label);
            let is_list = matches!(answer, Some(Answer::Several | Answer::Rows | Answer::Texts))
                && !self.is_set(&label);
            is_list.then_some(label)
        });
        if let Some(label) = list.filter(|_| !self.in_recipe) {
            self.report(path.mistake(finding!(
                "`{label}` answers a list, which is no word of a command",
                "`{label}` 的回复是列表，不能当作命令里的一个词",
                "fill in one of its items: `${{{label}[0]}}`",
                "请填入其中一项：`${{{label}[0]}}`"
            )));
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
                    self.report(path.key("redis").mistake(finding!(
                        "no `MULTI` comes before this `{name}`: Redis answers ERR",
                        "`{name}` 之前没有 `MULTI`，Redis 会回复 ERR",
                        "write `- multi: {{ redis: MULTI }}` before the commands that belong together",
                        "请在要一起执行的命令前面写 `- multi: {{ redis: MULTI }}`"
                    )));
                }
            }
            "WATCH" if open => self.report(path.key("redis").mistake(finding!(
                "`WATCH` comes too late after `MULTI`: Redis answers ERR",
                "`MULTI` 之后不能再 `WATCH`，Redis 会回复 ERR",
                "write it before `MULTI`",
                "请写在 `MULTI` 前面"
            ))),
            _ => return open,
        }
        false
    }
}

/// The finding about a command whose keys, `filled` in as far as they are known, are in different slots of a cluster.
pub(crate) fn slots_lint(verb: &PlannedVerb, filled: &dyn Fn(&Template) -> String) -> Option<Finding> {
    let keys: Vec<String> = match verb {
        PlannedVerb::Script { keys, .. } => keys.iter().map(filled).collect(),
        PlannedVerb::Redis(words) => {
            let name = words[0].pattern().to_ascii_uppercase();
            let every = match name.as_str() {
                "MSET" | "MSETNX" => 2,
                "DEL" | "UNLINK" | "EXISTS" | "MGET" | "TOUCH" | "RENAME" | "SINTER" | "SUNION" | "SDIFF"
                | "RPOPLPUSH" => 1,
                "SELECT" if words.get(1).is_some_and(|n| n.pattern() != "0") => {
                    return Some(Finding {
                        message: both!("a cluster has only the database 0", "集群只有 0 号数据库"),
                        help: both!("leave `SELECT` out", "请去掉 `SELECT`"),
                    });
                }
                _ => return None,
            };
            words[1..].iter().step_by(every).map(filled).collect()
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
    Some(finding!(
        "`{first}` and `{other}` are in different slots of the cluster: it answers CROSSSLOT",
        "`{first}` 和 `{other}` 在集群的不同槽里，会回复 CROSSSLOT",
        "give both one hash tag, as `{{lock}}:a` and `{{lock}}:b` have",
        "请给两者同一个哈希标签，如 `{{lock}}:a` 和 `{{lock}}:b`"
    ))
}
