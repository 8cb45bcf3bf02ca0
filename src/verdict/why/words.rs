//! Explanations in sentences, in both languages.

use std::time::Duration;

use super::{Cause, case::Case};
use crate::{
    log::{Command, EventKind},
    text::{Text, both},
    world::effect::{Access, Effect},
};

/// Another actor's write came between two commands on one key.
pub(crate) fn unknown_to(
    case: &Case<'_>,
    kind: Cause,
    (first, between, act): (&Effect, &Effect, &Effect),
) -> Text {
    let (one, other, actor) = (case.name(first.actor), case.name(between.actor), case.name(act.actor));
    let (looked, wrote, acted) =
        (case.command(first.sent), case.command(between.sent), case.command(act.sent));
    let (end, end_zh) = match (kind, act.access) {
        (Cause::CheckThenAct, Access::Deleted) if act.key == first.key => (
            format!("what {actor} had read was stale, and the key that it deleted was {other}'s"),
            format!("{actor} 读到的已经过时，它删掉的是 {other} 的键"),
        ),
        (Cause::CheckThenAct, _) => {
            (format!("{actor} acted on a stale value"), format!("{actor} 依据的是过时的值"))
        }
        (_, Access::Deleted) => {
            (format!("the key that {actor} deleted was {other}'s"), format!("{actor} 删掉的是 {other} 的键"))
        }
        (_, Access::Expiry) => (
            format!("the lease that {actor} set was {other}'s"),
            format!("{actor} 设的是 {other} 那把锁的租期"),
        ),
        (Cause::Interleaved, Access::Set) if between.access == Access::Set => (
            format!("{actor} has written over what {other} had set"),
            format!("{actor} 覆盖了 {other} 写入的值"),
        ),
        (_, Access::Set) if between.access == Access::Deleted => (
            format!("what {other} had deleted {actor} has made again"),
            format!("{other} 已经删掉的键，又被 {actor} 写了回来"),
        ),
        _ => (
            format!("{actor} and {other} were at work at the same time"),
            format!("{actor} 和 {other} 在同时干活"),
        ),
    };
    let (pair, pair_zh) = if one != actor {
        (
            format!("{one}'s {looked} and {actor}'s {acted}"),
            format!("{one} 的 {looked} 和 {actor} 的 {acted} 之间"),
        )
    } else if looked == acted {
        (format!("{one}'s {looked} and its next one"), format!("{one} 的两次 {looked} 之间"))
    } else {
        (format!("{one}'s {looked} and {one}'s {acted}"), format!("{one} 的 {looked} 和 {acted} 之间"))
    };
    Text::new(
        format!("{other}'s {wrote} came between {pair}: {end}."),
        format!("{pair_zh}，插进了 {other} 的 {wrote}：{end_zh}。"),
    )
}

pub(crate) fn both_looked(case: &Case<'_>, (first, between): (&Effect, &Effect), wrote: &Effect) -> Text {
    let (one, other) = (case.name(first.actor), case.name(between.actor));
    let (looked, acted) = (case.command(first.sent), case.command(wrote.sent));
    Text::new(
        format!(
            "{one}'s {looked} and {other}'s both came before either's {acted}: one of the two acted on a stale value."
        ),
        format!("{one} 和 {other} 的 {looked} 都在两者的 {acted} 之前：其中必有一个依据的是过时的值。"),
    )
}

/// A transaction was refused, because somebody had changed what it watches.
pub(crate) fn exec_was_refused(case: &Case<'_>, watch: usize, between: &Effect, exec: usize) -> Text {
    let (actor, other) = (case.sender_name(exec), case.name(between.actor));
    let (watched, wrote) = (case.command(watch), case.command(between.sent));
    Text::new(
        format!(
            "{other}'s {wrote} came between {actor}'s {watched} and {actor}'s EXEC: EXEC was refused, and nothing that \
             {actor} had queued was done."
        ),
        format!(
            "{actor} 的 {watched} 和 EXEC 之间，插进了 {other} 的 {wrote}：EXEC 被拒绝，{actor} 排队的命令一条也没有执行。"
        ),
    )
}

/// An actor set the lease of a key, or deleted a key, that was never its own.
pub(crate) fn interfered(case: &Case<'_>, setting: &Effect, act: &Effect) -> Text {
    let (holder, other) = (case.name(setting.actor), case.name(act.actor));
    let (got, did) = (case.command(setting.sent), case.command(act.sent));
    let of_script =
        matches!(&case.events[setting.sent].kind, EventKind::Sent { command: Command::Script { .. }, .. });
    let key = &act.key;
    let (what, what_zh) = match act.access {
        // A script may have written several keys.
        Access::Deleted if of_script => {
            (format!("deleted {key}, to which {holder} had written"), format!("删掉了 {holder} 写过的 {key}"))
        }
        Access::Deleted => (format!("deleted {holder}'s key"), format!("删掉了 {holder} 的键")),
        _ => (format!("set the lease of {holder}'s key"), format!("改了 {holder} 那个键的租期")),
    };
    Text::new(
        format!("{other}'s {did} came between {holder}'s {got} and {holder}'s release: it {what}."),
        format!("{holder} 的 {got} 之后、释放之前，{other} 的 {did} {what_zh}。"),
    )
}

/// The holder is dead, and before its death another actor had extended its key's lease.
pub(crate) fn kept_alive(case: &Case<'_>, first: usize, renewal: &Effect) -> Text {
    let holder = case.sender_name(first);
    let other = case.name(renewal.actor);
    let (got, did) = (case.command(first), case.command(renewal.sent));
    Text::new(
        format!(
            "{other}'s {did} came between {holder}'s {got} and {holder}'s death: it set the lease of {holder}'s key \
             anew, and nobody is left to delete it."
        ),
        format!(
            "{holder} 的 {got} 之后、{holder} 死之前，{other} 的 {did} 重设了这个键的租期，而会删它的人已经不在了。"
        ),
    )
}

/// The holder was killed before its remaining operations.
pub(crate) fn crashed(case: &Case<'_>, first: usize, next: Option<&str>) -> Text {
    let holder = case.sender_name(first);
    let got = case.command(first);
    match next {
        Some(next) => Text::new(
            format!(
                "{holder} was killed between its {got} and the {next} that was to follow, and nobody else will send it."
            ),
            format!("{holder} 在 {got} 之后、{next} 之前被杀死，这一步再也没有人来做。"),
        ),
        None => Text::new(
            format!("{holder} was killed after its {got}: nobody is left to delete the key."),
            format!("{holder} 在 {got} 之后被杀死：没有人来删这个键了。"),
        ),
    }
}

/// A program ended at the reply to this operation: because the reply was lost, or for another reason.
pub(crate) fn stopped(who: &str, label: &str, lost: bool, why: &Text) -> Text {
    if lost {
        return Text::new(
            format!("{who} stopped: the reply to `{label}` was lost, and `{label}` has no `allow: [Lost]`."),
            format!("{who} 停了：`{label}` 的回复丢失，而 `{label}` 没有写 `allow: [Lost]`。"),
        );
    }
    // Redis names the script by its hash, which means nothing to its author.
    let first = |text: &str| text.split(" script: ").next().unwrap_or_default().to_owned();
    Text::new(format!("{who} stopped: {}.", first(&why.en)), format!("{who} 停了：{}。", first(&why.zh)))
}

/// A dead client's key expires only after `left`.
pub(crate) fn too_long(case: &Case<'_>, set: usize, left: Duration) -> Text {
    let (holder, got) = (case.sender_name(set), case.command(set));
    let seconds = left.as_secs();
    Text::new(
        format!(
            "{holder} was killed, and what its {got} has set ends only {seconds} s later: nobody waits so long."
        ),
        format!("{holder} 被杀死了，它的 {got} 写下的键还要 {seconds} 秒才到期：没有人会等那么久。"),
    )
}

/// A dead client's key is given a new lease by the clients that wait for it.
pub(crate) fn renewed_for_the_dead(case: &Case<'_>, set: usize, renewal: usize) -> Text {
    let (holder, got) = (case.sender_name(set), case.command(set));
    let (other, renewed) = (case.sender_name(renewal), case.command(renewal));
    Text::new(
        format!(
            "{holder} was killed, and {other}'s {renewed} gives what {holder}'s {got} has set a new lease again and \
             again: so it never ends."
        ),
        format!(
            "{holder} 被杀死了，而 {other} 来要锁时，{renewed} 一再给 {holder} 的 {got} 写下的键续上新的租期：它永远不会到期。"
        ),
    )
}

/// What a client had got and never gave back is given a new lease by another.
pub(crate) fn renewed_for_who_ended(case: &Case<'_>, set: usize, renewal: usize) -> Text {
    let (holder, got) = (case.sender_name(set), case.command(set));
    let (other, renewed) = (case.sender_name(renewal), case.command(renewal));
    Text::new(
        format!(
            "{holder} has ended and never gives back what it got by its {got}, and {other}'s {renewed} gives that a new lease."
        ),
        format!(
            "{holder} 已经结束，{got} 拿到的再也不会归还，而 {other} 的 {renewed} 又给它续上了新的租期。"
        ),
    )
}

/// An actor keeps asking for what it already has.
pub(crate) fn waits_for_itself(case: &Case<'_>, set: usize, lost: bool, holds: bool) -> Text {
    let (who, command) = (case.sender_name(set), case.command(set));
    let (because, because_zh) = if lost {
        ("the reply to it was lost, and nobody else has the lock", "那次的回复丢了，锁并不在别人手里")
    } else if holds {
        ("it asks once more while it has the lock", "它已经拿着锁，又来加锁")
    } else {
        ("it has not taken the reply to it for a yes", "它没有把那次的回复当成“成功”")
    };
    Text::new(
        format!("{who} waits for itself: its own {command} has set the key, and {because}."),
        format!("{who} 在等它自己：键就是它自己的 {command} 写下的，{because_zh}。"),
    )
}

/// Actors wait in a circle: for each the `Sent` events of its own request and of the next one's command that has set the
/// key.
pub(crate) fn wait_for_each_other(case: &Case<'_>, circle: &[(usize, usize)]) -> Text {
    let (mut each, mut each_zh) = (Vec::new(), Vec::new());
    for (asked, set) in circle {
        let (who, asks) = (case.sender_name(*asked), case.command(*asked));
        let (other, command) = (case.sender_name(*set), case.command(*set));
        each.push(format!("{who}'s {asks} waits for what {other}'s {command} has set"));
        each_zh.push(format!("{who} 的 {asks} 在等 {other} 的 {command} 写下的键"));
    }
    Text::new(
        format!("{}: they wait for each other, and none of them lets go first (deadlock).", each.join("; ")),
        format!("{}：它们互相等待，谁也不会先放手（死锁）。", each_zh.join("；")),
    )
}

/// Two actors each write something, see what the other has written, and take their own back.
pub(crate) fn refuse_each_other(case: &Case<'_>, (one, other): (&Effect, &Effect)) -> Text {
    let (who, whom) = (case.name(one.actor), case.name(other.actor));
    let (wrote, its) = (case.command(one.sent), case.command(other.sent));
    both!(
        "{who}'s {wrote} and {whom}'s {its} both come first, each then sees the other's and takes its own back: they \
         refuse each other again and again (livelock).",
        "{who} 的 {wrote} 和 {whom} 的 {its} 都先写了进去，然后各自看到对方的，又都撤回：反复互相拒绝（活锁）。"
    )
}

/// An actor waits for a notification of a path, but set its watch too late or not at all, or no client is left that
/// could change the path. `deletion`: the command that deleted the node before.
pub(crate) fn never_notified(case: &Case<'_>, asked: usize, path: &str, deletion: Option<usize>) -> Text {
    let (who, look) = (case.sender_name(asked), case.command(asked));
    match deletion {
        Some(sent) => {
            let (other, deletion) = (case.sender_name(sent), case.command(sent));
            Text::new(
                format!(
                    "{other}'s {deletion} came before {who}'s {look}: a watch tells of what comes after it, and nothing more \
                     will happen to {path}."
                ),
                format!(
                    "{other} 的 {deletion} 在 {who} 的 {look} 之前：watch 只通知之后发生的事，而 {path} 上不会再发生什么了。"
                ),
            )
        }
        None if case.sent(asked).is_none_or(|command| command.watched().is_none()) => Text::new(
            format!("{who} waits to be told, and its {look} has left no watch: nobody tells it anything."),
            format!("{who} 在等通知，但它的 {look} 没有注册 watch：没有人会通知它。"),
        ),
        None => Text::new(
            format!("{who} waits to be told of {path}, and nobody is left who would change it."),
            format!("{who} 在等 {path} 的通知，而已经没有人会改动它了。"),
        ),
    }
}

/// Two clients watched one path, and one deletion woke both; or they watched what is `below` it, and one change there did.
pub(crate) fn herd(
    case: &Case<'_>,
    (first, between): (usize, usize),
    change: Option<usize>,
    (path, below): (&str, bool),
) -> Text {
    let (one, other) = (case.sender_name(first), case.sender_name(between));
    let (watch, watch_too) = (case.command(first), case.command(between));
    let (end, end_zh) = match change {
        Some(sent) => {
            let (owner, change) = (case.sender_name(sent), case.command(sent));
            (format!("{owner}'s {change}"), format!("{owner} 的 {change}"))
        }
        None if below => (format!("a change below {path}"), format!("{path} 子节点的变化")),
        None => (format!("the end of {path}"), format!("{path} 消失")),
    };
    let (so, so_zh) = match change {
        _ if below => (
            format!("both watched the children of {path}, so one change there woke both"),
            format!("两者都监听 {path} 的子节点，一次变化就把两个都唤醒了"),
        ),
        Some(_) => (
            format!("both watched {path}, so one deletion woke both"),
            "两者监听同一个节点，一次删除就把两个都唤醒了".to_owned(),
        ),
        None => {
            ("both watched it, so both were woken".to_owned(), "两者监听同一个节点，一起被唤醒".to_owned())
        }
    };
    Text::new(
        format!("{other}'s {watch_too} came between {one}'s {watch} and {end}: {so}."),
        format!("{one} 的 {watch} 和 {end_zh} 之间，{other} 也发了 {watch_too}：{so_zh}。"),
    )
}

/// A command was carried out, its reply was lost, and it was sent again.
pub(crate) fn repeated(case: &Case<'_>, first: usize) -> Text {
    let (one, command) = (case.sender_name(first), case.command(first));
    both!(
        "The reply to {one}'s {command} was lost, although the server had carried it out: {one} could not know, sent it again, \
         and it was carried out twice.",
        "服务器执行了 {one} 的 {command}，回复却丢了：{one} 无从得知，又发了一次，于是执行了两次。"
    )
}

pub(crate) fn other_process(case: &Case<'_>, (first, between): (usize, usize), files: bool) -> Text {
    let (one, other) = (case.sender_name(first), case.sender_name(between));
    let (locked, too) = (case.command(first), case.command(between));
    let (because, because_zh) = if files {
        (
            "these are two files, and the kernel of one machine knows nothing of the other's",
            "这是两个文件，一台机器的内核不知道另一台上的锁",
        )
    } else {
        ("they are two processes, and each has a mutex of its own", "两者是两个进程，各有一把自己的互斥锁")
    };
    Text::new(
        format!("{other}'s {too} came between {one}'s {locked} and {one}'s unlock: {because}."),
        format!("{one} 的 {locked} 之后、解锁之前，{other} 的 {too} 也成功了：{because_zh}。"),
    )
}

/// Everything that the holders had set existed, and one more actor was granted the lock.
pub(crate) fn not_refused(case: &Case<'_>, holders: &[&Effect], granted: &Effect) -> Text {
    let next = case.name(granted.actor);
    let got = case.command(granted.sent);
    let all: Vec<String> =
        holders.iter().map(|set| format!("{}'s {}", case.name(set.actor), case.command(set.sent))).collect();
    let all_zh: Vec<String> =
        holders.iter().map(|set| format!("{} 的 {}", case.name(set.actor), case.command(set.sent))).collect();
    let (all, all_zh) = (all.join(", "), all_zh.join("、"));
    let key = &granted.key;
    Text::new(
        format!("{next}'s {got} was granted, although what {all} had put into {key} was still there."),
        format!("{all_zh} 写进 {key} 的还在，{next} 的 {got} 却照样成功了。"),
    )
}

/// That the clock of its sender's process was wrong when a command was sent. What a client takes for overdue it may
/// decide by its own clock.
fn wrong_clock(case: &Case<'_>, sent: usize) -> (String, String) {
    let client = case.sender(sent).map_or("?", |actor| case.client(actor));
    match case.clock_ahead_ms(client, sent) {
        0 => (String::new(), String::new()),
        ahead if ahead > 0 => (
            format!(" By {client}'s own clock, which had been set ahead, it was later."),
            format!("{client} 自己的时钟此前被拨快了，在它看来时间更晚。"),
        ),
        _ => (
            format!(" By {client}'s own clock, which had been set back, it was earlier."),
            format!("{client} 自己的时钟此前被拨慢了，在它看来时间更早。"),
        ),
    }
}

/// The next holder removed the first one's entry from a collection, and added its own.
pub(crate) fn taken_over(case: &Case<'_>, set: &Effect, granted: &Effect) -> Text {
    let (holder, next) = (case.name(set.actor), case.name(granted.actor));
    let (clock, clock_zh) = wrong_clock(case, granted.sent);
    let (put, got, key) = (case.command(set.sent), case.command(granted.sent), &granted.key);
    Text::new(
        format!(
            "{next}'s {got} took out of {key} what {holder}'s {put} had put there, and was granted the lock.{clock} {holder} still \
             believed that it held the lock."
        ),
        format!(
            "{next} 的 {got} 把 {holder} 的 {put} 写进 {key} 的清掉了，自己拿到了锁。{clock_zh}{holder} 还以为自己持有锁。"
        ),
    )
}

/// The holder's entry was removed from a collection before the next one was granted the lock.
pub(crate) fn taken_out(case: &Case<'_>, taken: usize, (set, granted): (&Effect, &Effect)) -> Text {
    let (holder, next, who) = (case.name(set.actor), case.name(granted.actor), case.sender_name(taken));
    let (put, got, did) = (case.command(set.sent), case.command(granted.sent), case.command(taken));
    let (key, whose) = (&granted.key, if who == holder { "its own" } else { "the holder's" });
    let (clock, clock_zh) = wrong_clock(case, taken);
    let whose_zh = if who == holder { "自己" } else { holder };
    Text::new(
        format!(
            "{who}'s {did} came between {holder}'s {put} and {next}'s {got}: it took {whose} entry out of {key}.{clock} {holder} still \
             believed that it held the lock."
        ),
        format!(
            "{holder} 的 {put} 和 {next} 的 {got} 之间，{who} 的 {did} 把{whose_zh}在 {key} 里的那一项清掉了。{clock_zh}{holder} 还以为自己\
             持有锁。"
        ),
    )
}

/// What a holder believed when another was granted the lock. With several servers its key on one of them may be lost
/// before it has asked all of them: then it believes `later`.
fn belief(holder: &str, later: bool) -> (String, String) {
    if later {
        (
            format!("{holder} went on, and came to believe that it held the lock."),
            format!("{holder} 继续往下走，以为自己拿到了锁。"),
        )
    } else {
        (format!("{holder} still believed that it held the lock."), format!("{holder} 还以为自己持有锁。"))
    }
}

/// What the holder had set was lost, and the next one was granted the lock. `believed`: the event in which the holder
/// came to believe that it held the lock.
pub(crate) fn granted(
    case: &Case<'_>,
    kind: Cause,
    between: usize,
    (set, grant): (&Effect, &Effect),
    believed: usize,
) -> Text {
    let (holder, next) = (case.name(set.actor), case.name(grant.actor));
    let (got, granted) = (case.command(set.sent), case.command(grant.sent));
    let server = &grant.server;
    let pair = format!("{holder}'s {got} and {next}'s {granted}");
    let pair_zh = format!("{holder} 的 {got} 和 {next} 的 {granted} 之间");
    let (still, still_zh) = belief(holder, believed > grant.sent);
    let (en, zh) = match (kind, case.kind(between)) {
        (Cause::Deleted, Some(EventKind::Sent { actor, .. })) => {
            let (who, deletion) = (case.name(*actor), case.command(between));
            let end = format!("the key that it deleted was {holder}'s. {still}");
            let end_zh = format!("它删掉的是 {holder} 的键。{still_zh}");
            return Text::new(
                format!("{who}'s {deletion} came between {pair}: {end}"),
                format!("{pair_zh}，插进了 {who} 的 {deletion}：{end_zh}"),
            );
        }
        (Cause::LetGo, Some(EventKind::Sent { actor, .. })) => {
            let (who, deletion) = (case.name(*actor), case.command(between));
            let (what, what_zh) = match case.sent(between) {
                Some(Command::Zookeeper(_)) => ("node", "节点"),
                _ => ("key", "键"),
            };
            let (whose, whose_zh) = if who == holder {
                (format!("its own {what}"), format!("自己的{what_zh}"))
            } else {
                (
                    format!("the {what} of {holder}, which lives in the same process"),
                    format!("同一进程里 {holder} 的{what_zh}"),
                )
            };
            let end = format!("it deleted {whose}. {still}");
            let end_zh = format!("删掉了{whose_zh}。{still_zh}");
            return Text::new(
                format!("{who}'s {deletion} came between {pair}: {end}"),
                format!("{pair_zh}，{who} 发了 {deletion}：{end_zh}"),
            );
        }
        (Cause::LateReply, _) => {
            return Text::new(
                format!(
                    "{holder}'s {got} came between {next}'s {granted} and the reply to it: {next} believed a stale \
                     reply."
                ),
                format!(
                    "{next} 的 {granted} 发出之后、收到回复之前，插进了 {holder} 的 {got}：{next} 信了一个已经过时的回复。"
                ),
            );
        }
        (Cause::Frozen, _) => {
            let client = case.client(set.actor);
            let end = "its lease ended while it stood still, and it could not know";
            return Text::new(
                format!("{client} was frozen between {pair}: {end}."),
                format!("{pair_zh}，{client} 被冻结：停着的时候租期到了，它无从知道。"),
            );
        }
        (Cause::ClockSet, _) => (
            format!("the clock of {server} was set ahead, and ended {holder}'s lease before its time"),
            format!("{server} 的时钟被拨快，{holder} 的租期提前到了"),
        ),
        (Cause::SessionEnded, _) => (
            format!("{holder}'s session ended, and the server deleted its node"),
            format!("{holder} 的会话结束，服务器删掉了它的节点"),
        ),
        (Cause::Failover, Some(EventKind::Fault(kill))) => {
            let killed = kill.target();
            (
                format!("{killed} was killed, and {server} took over without ever having had {holder}'s key"),
                format!("{killed} 被杀死，接替它的 {server} 上从来没有 {holder} 的键"),
            )
        }
        (Cause::Failover, _) => (
            format!("{server} became the master without ever having had {holder}'s key"),
            format!("{server} 成了主节点，而它上面从来没有 {holder} 的键"),
        ),
        (Cause::Restarted, _) => (
            format!("{server} was restarted, and came back without {holder}'s key"),
            format!("{server} 重启，回来时已经没有 {holder} 的键"),
        ),
        (Cause::LeaseEnded, Some(EventKind::Sent { actor, .. })) if case.sets_expiry(between, &set.key) => {
            let (who, cut) = (case.name(*actor), case.command(between));
            (
                format!("{who}'s {cut} had {holder}'s key end before its time"),
                format!("{who} 的 {cut} 让 {holder} 的键提前过期"),
            )
        }
        (Cause::LeaseEnded, _) if case.joined(set, grant) => {
            let key = &set.key;
            (
                format!(
                    "{key} expired: {holder}'s {got} had put something into it and had set it no new lease"
                ),
                format!("{key} 到期了：{holder} 的 {got} 只往里面写了一项，没有给它续期"),
            )
        }
        _ => (format!("{holder}'s lease ended"), format!("{holder} 的租期到了")),
    };
    Text::new(format!("Between {pair}, {en}. {still}"), format!("{pair_zh}，{zh}。{still_zh}"))
}
