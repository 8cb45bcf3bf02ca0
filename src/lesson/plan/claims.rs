//! Plans claims: checks their names. The verdict evaluates them.

use std::collections::BTreeSet;

use super::{
    super::{
        error::{ALIKE, Mistake, Mistakes, Path, did_you_mean, finding, nearest},
        expr::{Expr, Mentions, Template, mentions::split_comparison},
        model::{Claim, Lesson},
    },
    locks::LockSentences,
    program::BUILTINS,
    references,
    story::{Roster, TextPlan},
};
use crate::{
    log::{LockInfo, Product, stands_for},
    text::{Text, both},
};

#[derive(Debug, Clone)]
pub struct PlannedClaim {
    pub condition: Condition,
    /// The sentence that tells what the claim means, if the author wrote one.
    pub says: Option<TextPlan>,
}

#[derive(Debug, Clone)]
pub enum Condition {
    /// An expression, split at its comparison; `right` is `None` if it has none and just has to be true.
    That {
        source: String,
        left: Expr,
        /// The comparison with its source text, `== 10`, and the expected value.
        right: Option<(String, Expr)>,
        whole: Expr,
    },
    /// At some moment more actors believed that they held this lock than may.
    Overlap(String),
    /// At no moment did more actors believe that they held this lock than may, and at least one did hold it.
    Exclusive(String),
}

/// The functions that claims may call. Each is explained at its definition, in the verdict.
pub const FUNCTIONS: [&str; 20] = [
    "role",
    "value",
    "pttl",
    "exists",
    "owner",
    "children",
    "replies",
    "moves",
    "at",
    "before",
    "waited",
    "notified",
    "woken_by",
    "metric_by",
    "holders",
    "finished",
    "orphaned",
    "deleted_by_another",
    "renewed_by_another",
    "herd",
];

/// The functions that answer the present state, rather than what was done.
pub(crate) const STATE_FUNCTIONS: [&str; 9] =
    ["role", "value", "pttl", "exists", "owner", "children", "waited", "holders", "orphaned"];

/// The attributes of an actor's name in claims, apart from the labels of its operations.
pub const ACTOR_FUNCTIONS: [&str; 3] = ["notified", "finished", "crashed"];

/// The names that expressions over a run may use.
pub(crate) struct Vocabulary<'a> {
    known: BTreeSet<String>,
    locks: BTreeSet<String>,
    roster: &'a Roster<'a>,
    lesson: &'a Lesson,
    /// Titles and limits of the lesson's locks.
    pub(crate) lock_infos: &'a [LockInfo],
}

impl<'a> Vocabulary<'a> {
    pub(crate) fn new(roster: &'a Roster<'a>, lesson: &'a Lesson, lock_infos: &'a [LockInfo]) -> Self {
        let mut known: BTreeSet<String> = FUNCTIONS.into_iter().map(str::to_owned).collect();
        known.extend(roster.counters.iter().cloned());
        known.extend(roster.params.keys().cloned());
        known.extend(roster.actors.iter().map(|plan| plan.actor.name.clone()));
        // The name of a process is the prefix of its threads' names: `A.worker`.
        let process = roster.actors.iter().filter_map(|plan| plan.actor.name.split_once('.'));
        known.extend(process.map(|(name, _)| name.to_owned()));
        Self { known, locks: roster.locks(), roster, lesson, lock_infos }
    }

    pub(crate) fn expr(&self, source: &str, path: &Path) -> Result<Expr, Mistake> {
        // Calls are recognised by their brackets.
        if source.matches('(').count() > source.matches(')').count() {
            Expr::parse(source).map_err(|error| Mistake::new(path, error))?;
        }
        references::check(source, self.roster.clients, self.roster.actors, path)?;
        check_metrics(source, self.lesson, path)?;
        self.check_calls(source, path)?;
        let expr = Expr::parse(source).map_err(|error| Mistake::new(path, error))?;
        if let Some(name) = expr
            .names()
            .into_iter()
            .find(|name| BUILTINS.contains(&name.as_str()) && !self.known.contains(name))
        {
            let message = both!("`{name}` is known in programs only", "`{name}` 只在程序里可用");
            return Err(Mistake::new(path, message).help(match name.as_str() {
                "reply" | "error" => both!(
                    "a reply is asked for by its move: `A.acquire == 'OK'`; where it was an error, that is its code",
                    "回复要用操作名来取：`A.acquire == 'OK'`；出错时它就是错误码"
                ),
                "now" => both!("a time is that of a move: `at('A.acquire')`", "时间要用操作来取：`at('A.acquire')`"),
                _ => both!("name a client: `A.acquire`, `holders('lock')`", "请写客户端：`A.acquire`、`holders('lock')`"),
            }));
        }
        // The author's own names first: a help text lists only some.
        let is_function = |name: &&String| FUNCTIONS.contains(&name.as_str());
        let own = self.known.iter().filter(move |name| !is_function(name));
        let known = own.chain(self.known.iter().filter(is_function));
        Mistake::unless_known(path, both!("name", "变量"), &expr.names(), known).map_err(|mistake| {
            let names = expr.names();
            let mut groups = self.roster.clients.iter().filter(|client| names.contains(&client.group));
            match groups.find(|client| !self.known.contains(&client.group)) {
                Some(client) => of_group(&client.group, mistake, self.roster),
                None => mistake,
            }
        })?;
        Ok(expr)
    }
}

/// The mistake of a claim about a lock that is written without its colon: `exclusive lock`.
fn of_a_lock(source: &str, mistake: Mistake) -> Mistake {
    match source.split_once(' ') {
        Some((word @ ("exclusive" | "overlap"), lock)) => {
            mistake.help(both!("write `{word}: {lock}`", "请写 `{word}: {lock}`"))
        }
        _ => mistake,
    }
}

/// The mistake of a group of actors in place of one.
fn of_group(group: &str, mistake: Mistake, roster: &Roster<'_>) -> Mistake {
    let is_member = |name: &str| {
        let rest = name.strip_prefix(group);
        rest.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit() || c == '.'))
    };
    let mut names = roster.actors.iter().map(|plan| plan.actor.name.as_str());
    let Some(one) = names.find(|name| is_member(name)) else { return mistake };
    let message = both!(
        "`{group}` is several clients, and an attribute is of one",
        "`{group}` 是一组客户端，属性只属于其中一个"
    );
    Mistake { message, ..mistake }.help(both!(
        "name one of them, such as `{one}.acquire`; functions ask about all: `moves('{group}.acquire')`, \
         `notified('{group}')`",
        "请写其中一个，例如 `{one}.acquire`；问整组请用函数：`moves('{group}.acquire')`、`notified('{group}')`"
    ))
}

/// For each function, the least number of arguments, and the kind of each.
const ARGUMENTS: &[(&str, usize, &[&str])] = &[
    ("role", 1, &["server"]),
    ("value", 1, &["key", "server"]),
    ("pttl", 1, &["key", "server"]),
    ("exists", 1, &["key", "server"]),
    ("owner", 1, &["key"]),
    ("children", 1, &["key"]),
    ("replies", 1, &["move"]),
    ("moves", 1, &["move"]),
    ("notified", 0, &["who"]),
    ("woken_by", 1, &["move"]),
    ("holders", 1, &["lock"]),
    ("finished", 1, &["who"]),
    ("orphaned", 1, &["key"]),
    ("deleted_by_another", 1, &["key"]),
    ("renewed_by_another", 1, &["key"]),
    ("herd", 0, &[]),
    ("waited", 1, &["who", "lock"]),
    ("metric_by", 2, &["metric", "move"]),
];

impl Vocabulary<'_> {
    /// Checks that the arguments of functions exist: an unknown name would otherwise be noticed only after the run.
    fn check_calls(&self, source: &str, path: &Path) -> Result<(), Mistake> {
        self.moves_in_quotes(source, path)?;
        let mentions = Mentions::of(source);
        let is_other = |name: &str| {
            self.roster.params.contains_key(name)
                || self.roster.counters.contains(name)
                || self.roster.actors.iter().any(|plan| plan.actor.name.split('.').next() == Some(name))
        };
        let is_bare = |name: &&str| {
            let named = mentions.paths.iter().filter(|path| path[0] == **name).count();
            named > mentions.calls_of(name).count() && !is_other(name)
        };
        if let Some(name) = FUNCTIONS.iter().copied().find(|name| is_bare(name)) {
            let message =
                both!("`{name}` is a function, and here without brackets", "`{name}` 是函数，这里却没有括号");
            let kinds =
                ARGUMENTS.iter().find(|(known, ..)| *known == name).map_or(&[][..], |(.., kinds)| kinds);
            let kind =
                kinds.first().map_or_else(String::new, |kind| format!("'{}'", kind.to_ascii_uppercase()));
            return Err(
                Mistake::new(path, message).help(both!("write `{name}({kind})`", "请写 `{name}({kind})`"))
            );
        }
        of_list(source, path)?;
        for call in mentions.calls {
            let Some((name, least, kinds)) = ARGUMENTS.iter().find(|(name, ..)| *name == call.function)
            else {
                continue;
            };
            let (given, most) = (call.arguments.len(), kinds.len());
            if !(*least..=most).contains(&given) {
                let (en, zh) = match (*least, most) {
                    (_, 0) => ("no argument".to_owned(), "不带参数".to_owned()),
                    (1, 1) => ("1 argument".to_owned(), "要 1 个参数".to_owned()),
                    (2, 2) => ("2 arguments".to_owned(), "要 2 个参数".to_owned()),
                    _ => (format!("{least} to {most} arguments"), format!("要 {least} 到 {most} 个参数")),
                };
                let message = Text::new(
                    format!(
                        "`{name}()` takes {en}, and here {} {given}",
                        if given == 1 { "is" } else { "are" }
                    ),
                    format!("`{name}()` {zh}，这里有 {given} 个"),
                );
                let kinds =
                    kinds.iter().map(|kind| kind.to_ascii_uppercase()).collect::<Vec<_>>().join("', '");
                let form = if most == 0 { format!("{name}()") } else { format!("{name}('{kinds}')") };
                return Err(Mistake::new(path, message).help(both!("write `{form}`", "请写 `{form}`")));
            }
            self.can_answer(name, call.arguments.first().and_then(Option::as_deref), path)?;
            for (argument, kind) in call.arguments.iter().zip(*kinds) {
                let Some(argument) = argument else {
                    self.names_in_quotes(source, name, path)?;
                    if call.numbers && matches!(*kind, "key" | "server") {
                        let message = both!("`{name}` wants a {kind} in quotes", "`{name}` 的参数要加引号");
                        let server = self.roster.lab.servers().first().copied().unwrap_or_default();
                        let example = match *kind {
                            "server" if *name == "role" => format!("role('{server}')"),
                            "server" => format!("{name}('lock', '{server}')"),
                            _ => format!("{name}('lock')"),
                        };
                        return Err(Mistake::new(path, message)
                            .help(both!("such as `{example}`", "例如 `{example}`")));
                    }
                    continue;
                };
                match *kind {
                    "server" => {
                        let first = call.arguments[0].as_deref().unwrap_or_default();
                        self.roster.server(argument, path).map_err(|mistake| {
                            if self.roster.lab.server_named(first).is_none() {
                                return mistake;
                            }
                            mistake.help(both!(
                                "the key comes before the server: `{name}('{argument}', '{first}')`",
                                "先写键，再写服务器：`{name}('{argument}', '{first}')`"
                            ))
                        })?;
                    }
                    "who" => drop(self.roster.who(argument, path)?),
                    "lock" => drop(lock_name(argument, path, self)?),
                    "move" => self.roster.check_move(argument, path)?,
                    _ => {}
                }
            }
        }
        Ok(())
    }
}

/// Refuses a field of a value that is a list, a number or a boolean, such as `replies('A.read').length`, and an item of
/// a value that is no list.
fn of_list(source: &str, path: &Path) -> Result<(), Mistake> {
    for function in FUNCTIONS {
        let opened = format!("{function}([");
        if source.starts_with(&opened) || source.contains(&format!(" {opened}")) {
            let message =
                both!("`{function}` takes one name, and no list", "`{function}` 只要一个名字，不能是列表");
            return Err(
                Mistake::new(path, message).help(both!("write `{function}('A')`", "请写 `{function}('A')`"))
            );
        }
        if matches!(function, "value" | "children" | "replies") || !source.contains(&format!("{function}('"))
        {
            continue;
        }
        let asked = source.match_indices(")[").find_map(|(at, _)| {
            let call = source[..=at].rfind(function).map(|from| &source[from..=at])?;
            (call.matches('(').count() == 1).then_some(call)
        });
        if let Some(call) = asked {
            let message = both!("`{call}` is no list and has no items", "`{call}` 不是列表，没有下标");
            return Err(Mistake::new(path, message).help(both!("write `{call} == 1`", "请写 `{call} == 1`")));
        }
    }
    for function in FUNCTIONS.into_iter().filter(|function| *function != "value") {
        let Some(at) = source.find(&format!("{function}(")) else { continue };
        let Some((call, rest)) = source[at..].split_once(").") else { continue };
        let is_alone = call.matches('(').count() == 1
            && !source[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
        let field: String = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
        if !is_alone || call.contains(')') {
            continue;
        }
        let message = both!("`{call})` has no `.{field}`", "`{call})` 没有 `.{field}`");
        let filter = if matches!(field.as_str(), "size" | "count" | "len") { "length" } else { &field };
        return Err(Mistake::new(path, message).help(both!(
            "a filter stands behind `|`: `{call})|{filter}`",
            "过滤器写在 `|` 后面：`{call})|{filter}`"
        )));
    }
    Ok(())
}

impl Vocabulary<'_> {
    /// Checks the figure of a table's cells in a variant; a variant may have nothing that it applies to.
    pub(crate) fn check_figure(&self, source: &str, path: &Path) -> Result<(), Mistake> {
        self.moves_in_quotes(source, path)?;
        Mentions::of(source)
            .calls
            .iter()
            .try_for_each(|call| self.names_in_quotes(source, &call.function, path))
    }

    /// Refuses a client's name without quotes as an argument: `waited('B')` is right.
    fn names_in_quotes(&self, source: &str, function: &str, path: &Path) -> Result<(), Mistake> {
        let written = |who: &&super::ActorPlan| {
            let who = &who.actor.name;
            [format!("{function}({who})"), format!("{function}({who},")]
                .iter()
                .any(|form| source.contains(form))
        };
        let Some(who) = self.roster.actors.iter().find(written) else { return Ok(()) };
        let who = &who.actor.name;
        let message = both!("`{function}` wants a name in quotes", "`{function}` 要加引号的名字");
        let help = both!("write `{function}('{who}')`", "请写 `{function}('{who}')`");
        Err(Mistake::new(path, message).help(help))
    }

    /// Refuses a move without quotes, which would be its reply: `at('B.acquire')` is right.
    fn moves_in_quotes(&self, source: &str, path: &Path) -> Result<(), Mistake> {
        for function in ["at", "before", "moves", "replies", "woken_by"] {
            let mentions = Mentions::of(source);
            if !mentions.calls_of(function).any(|call| call.arguments.iter().any(Option::is_none)) {
                continue;
            }
            let bare = mentions.paths.iter().find(|words| {
                let Some((label, who)) = words.split_last() else { return false };
                let who = who.join(".");
                let plan = self.roster.actors.iter().find(|plan| plan.actor.name == who);
                let written = words.join(".");
                let after = [format!("{function}({written}"), format!(", {written}")];
                plan.is_some_and(|plan| plan.program.labels.contains(label))
                    && after.iter().any(|after| source.contains(after.as_str()))
            });
            if let Some(words) = bare {
                let name = words.join(".");
                let message = both!(
                    "`{function}` asks about a move, and `{name}` without quotes is its reply",
                    "`{function}` 要的是操作名，而没有引号的 `{name}` 是它的回复"
                );
                let help = both!("write it in quotes: `'{name}'`", "请加引号：`'{name}'`");
                return Err(Mistake::new(path, message).help(help));
            }
        }
        Ok(())
    }
}

impl Vocabulary<'_> {
    /// Checks that the lab has servers that can answer a function.
    fn can_answer(&self, function: &str, about: Option<&str>, path: &Path) -> Result<(), Mistake> {
        let lab = self.roster.lab;
        let only = |product| lab.is_only(product);
        let only_redis = only(Product::Redis);
        let locks_files = self.roster.actors.iter().any(|plan| plan.program.locks_files);
        let wrong = |message: Text, help: Text| Err(Mistake::new(path, message).help(help));
        let named = about.unwrap_or_default();
        match function {
            "value" | "exists" | "owner"
                if only(Product::Mariadb) && !locks_files && about.is_some_and(|key| !key.contains('/')) =>
            {
                wrong(
                    both!(
                        "a database holds rows, and `{named}` names none",
                        "数据库里是一行一行的数据，而 `{named}` 不是某一行的名字"
                    ),
                    if let Some((table, row)) = named.split_once(['.', ':']) {
                        did_you_mean(&format!("{table}/{row}"))
                    } else {
                        both!(
                            "name the table and the key: `{function}('{named}/1')`",
                            "请写表名和主键：`{function}('{named}/1')`"
                        )
                    },
                )
            }
            "children" if !lab.has(Product::Zookeeper) => wrong(
                both!(
                    "`children()` is of znodes, and no server of this lab is ZooKeeper",
                    "`children()` 用于 znode，而这个 lab 里没有 ZooKeeper"
                ),
                both!("of a Redis key ask for `value('key')`", "Redis 的键请用 `value('key')`"),
            ),
            "owner" if only_redis && !locks_files => wrong(
                both!("Redis does not know who owns a key", "Redis 不知道键属于谁"),
                both!(
                    "ask for what the key holds: `value('lock') == 'A'`, or who holds the lock: `holders('lock')`",
                    "请查键里的内容：`value('lock') == 'A'`，或者查锁的持有数：`holders('lock')`"
                ),
            ),
            "pttl" if !lab.has(Product::Redis) => wrong(
                both!(
                    "`pttl()` is of Redis' keys, and no server of this lab is Redis",
                    "`pttl()` 用于 Redis 的键，而这个 lab 里没有 Redis"
                ),
                both!("`exists('{named}')` tells whether it is there", "`exists('{named}')` 可以看它在不在"),
            ),
            "role" => {
                let Some(part) =
                    about.filter(|about| lab.server_named(about).is_some()).map(|about| lab.part_of(about))
                else {
                    return Ok(());
                };
                let about = about.unwrap_or_default();
                if lab.sentinels().contains(&about) {
                    return wrong(
                        both!("`{about}` is a Sentinel and has no role", "`{about}` 是 Sentinel，没有角色"),
                        both!(
                            "ask for that of a server: `role('node1')`",
                            "请查服务器的角色：`role('node1')`"
                        ),
                    );
                }
                if part.product() == Product::Redis || part.is_ensemble() {
                    return Ok(());
                }
                wrong(
                    both!("`{about}` is alone and has no role", "`{about}` 只有一台，没有角色"),
                    both!(
                        "roles are those of `sentinel`, `cluster`, `ensemble` and `etcd-cluster`",
                        "只有 `sentinel`、`cluster`、`ensemble`、`etcd-cluster` 的服务器有角色"
                    ),
                )
            }
            _ => Ok(()),
        }
    }
}

pub(crate) fn plan(
    claims: &[Claim],
    path: &Path,
    vocabulary: &Vocabulary<'_>,
) -> Result<Vec<PlannedClaim>, Mistakes> {
    if claims.is_empty() {
        let finding = finding!(
            "a variant that claims nothing cannot be proved",
            "没有断言（claims）的方案无从证明",
            "say what must be observed, such as `sold == 10` or `overlap: lock`",
            "请写出必须观察到什么，例如 `sold == 10` 或 `overlap: lock`"
        );
        return Err(path.mistake(finding).into());
    }
    let plan_one = |(n, claim): (usize, &Claim)| -> Result<PlannedClaim, Mistake> {
        let path = path.index(n);
        let says = claim.says().map(|says| vocabulary.roster.text(says, &path.key("says"))).transpose()?;
        let condition = match claim {
            Claim::Bare(source) => {
                expression(source, &path, vocabulary).map_err(|mistake| of_a_lock(source, mistake))?
            }
            Claim::That { that, .. } => expression(that, &path.key("that"), vocabulary)?,
            Claim::Overlap { overlap, .. } => {
                Condition::Overlap(lock_name(overlap, &path.key("overlap"), vocabulary)?)
            }
            Claim::Exclusive { exclusive, .. } => {
                Condition::Exclusive(lock_name(exclusive, &path.key("exclusive"), vocabulary)?)
            }
        };
        let sentences = |lock: &str| LockSentences::of(lock, vocabulary.lock_infos);
        let by_default = match &condition {
            Condition::That { .. } => None,
            Condition::Overlap(lock) => Some(sentences(lock).overlapped),
            Condition::Exclusive(lock) => Some(sentences(lock).exclusive),
        };
        let literal =
            |text: Text| TextPlan { en: Template::literal(text.en), zh: Template::literal(text.zh) };
        Ok(PlannedClaim { condition, says: says.or(by_default.map(literal)) })
    };
    Mistakes::all(claims.iter().enumerate().map(plan_one))
}

/// Checks that programs have beliefs about a lock, or about one of the locks that the name stands for. Returns its
/// name.
pub(crate) fn lock_name(lock: &str, path: &Path, vocabulary: &Vocabulary<'_>) -> Result<String, Mistake> {
    let locks = &vocabulary.locks;
    let name = Template::parse(lock).map_err(|error| Mistake::new(path, error))?.pattern();
    if locks.iter().any(|known| stands_for(known, &name) || stands_for(&name, known)) {
        return Ok(name);
    }
    let mistake = Mistake::unknown(path, both!("lock", "锁"), lock, locks.iter().map(String::as_str));
    Err(if locks.is_empty() {
        mistake.help(both!(
            "somebody has to hold it: a program that says `holds` of it, or an external one with `locks: [{lock}]`",
            "总得有人持有它：要有一个程序对它写 `holds`，或者给外部程序写 `locks: [{lock}]`"
        ))
    } else {
        mistake
    })
}

fn expression(source: &str, path: &Path, vocabulary: &Vocabulary<'_>) -> Result<Condition, Mistake> {
    let whole = vocabulary.expr(source, path)?;
    let (left, right) = match split_comparison(source) {
        Some((left, operator, right)) => {
            (vocabulary.expr(left, path)?, Some((operator.to_owned(), vocabulary.expr(right, path)?)))
        }
        None => (whole.clone(), None),
    };
    Ok(Condition::That { source: source.to_owned(), left, right, whole })
}

/// Checks that the counter in `metric_by('name', …)` is listed in `metrics`.
pub(crate) fn check_metrics(source: &str, lesson: &Lesson, path: &Path) -> Result<(), Mistake> {
    let mentions = Mentions::of(source);
    for name in mentions.calls_of("metric_by").filter_map(|call| call.arguments.first()?.as_ref()) {
        if !lesson.metrics.iter().any(|metric| metric == name) {
            let mistake = Mistake::unknown(
                path,
                both!("metric", "指标"),
                name,
                lesson.metrics.iter().map(String::as_str),
            );
            if nearest(name, lesson.metrics.iter().map(String::as_str), ALIKE).is_some() {
                return Err(mistake);
            }
            return Err(mistake.help(both!(
                "list it under `metrics:` so that it is read",
                "请把它列在 `metrics:` 下面，这样才会去读它"
            )));
        }
    }
    Ok(())
}
