//! Texts of the lesson screen.

use crate::{
    log::{
        Belief, Capacity, Excess, Log, Role, SentinelNotice,
        product::zookeeper::{RECONNECTED, SUSPENDED},
    },
    text::{Lang, Words},
    ui::theme::glyphs,
    verdict::Outcome,
};

pub const CONTROLLED: Words = Words::new("CONTROLLED CLOCK", "可控时钟");
pub const WALL: Words = Words::new("WALL CLOCK", "真实时钟");
pub const RECORDED: Words = Words::new("RECORDED", "录像");
/// The command with which the user can inspect a server from outside.
pub const PASSWORD: Words =
    Words::new("from outside: redis-cli -s … -a {}", "从外部查看：redis-cli -s … -a {}");
pub const WALL_WARNING: Words = Words::new(
    "Wall clock: pausing holds the clients, but not the servers – TTLs and timeouts run on.",
    "真实时钟：暂停只会停住客户端，服务器不会停，TTL 和超时仍在流逝。",
);
pub const PAUSED: Words = Words::new("paused", "已暂停");
pub const PLAYING: Words = Words::new("playing", "播放中");
pub const CLAIMS_HOLD: Words = Words::new(" claims {}/{} ✓", " 断言 {}/{} ✓");
pub const HELD: Words = Words::new("held in mid-step", "步骤中途暂停");
pub const BOOTING: Words = Words::new("starting servers…", "正在启动服务器……");
pub const WORKING: Words = Words::new("working…", "执行中……");
/// The same, with the seconds so far.
pub const WORKING_FOR: Words = Words::new("time runs, {} s", "时间在走，{} 秒");
pub const WORKING_WHY: Words = Words::new(
    "{} {} s so far: timeouts of real servers cannot be jumped over.",
    "{} 已等 {} 秒：真实服务器的超时（会话、租约、选举）跳不过去。",
);
/// The same where time stands still until all programs rest.
pub const WORKING_STILL: Words = Words::new("a program works, {} s", "程序在运行，{} 秒");
pub const WORKING_STILL_WHY: Words = Words::new(
    "{} {} s so far: a program is still at work. Time stands still meanwhile.",
    "{} 已等 {} 秒：有程序还没停下来，这期间时间不走。",
);
pub const READY: Words = Words::new(
    "Ready: press {} for the first step, or {} to play.",
    "已就绪：按 {} 走第一步，或按 {} 播放。",
);
/// Values: the keys that lead to the next variant and the previous one.
pub const OTHER_VARIANTS: Words = Words::new("{} {} another variant", "{} {} 换方案");
pub const OVER: Words = Words::new("the end, {} verdict", "已结束，{} 看结论");
pub const JUDGED: Words = Words::new("the end", "已结束");
pub const STEP: Words = Words::new("step {}/{}", "第 {}/{} 步");
/// Values: the time so far, and the key that ends it.
pub const PRESENTING: Words = Words::new("presenting {} ({} ends)", "演示 {}（{} 退出）");
pub const BEHIND: Words = Words::new("looking back", "回看中");

pub const INTRO: Words = Words::new("Before you start", "课前须知");
pub const STORY: Words = Words::new("Story", "讲解");
pub const LANES: Words = Words::new("Who believes what", "各方眼中的锁");
pub const SEQUENCE: Words = Words::new("Who says what to whom", "谁对谁说了什么");
pub const CHOSEN: Words = Words::new("Chosen event", "选中的事件");
pub const TOLD: Words = Words::new("{} were told this at once", "同时通知了 {} 个客户端");
pub const ROUND_TRIP: Words = Words::new("round trip {}", "往返 {}");
pub const CHANGED: Words = Words::new("changed: {}", "改动：{}");
pub const WAITS: Words = Words::new("waits {} ({})", "等待 {}（{}）");
pub const NOTHING_CAME: Words = Words::new("nothing came in time ({})", "没等到通知，时间到了（{}）");
pub const WAITED: Words = Words::new("has waited ({})", "等待结束（{}）");
pub const SEEN: Words = Words::new("{} has changed by itself", "{} 自身发生变化");
pub const SINCE_GONE: Words = Words::new("not there any more", "现已不在");
pub const LANES_FREE: Words = Words::new("Who does what", "各方的操作");
pub const SERVERS: Words = Words::new("What the server holds", "服务器上的真相");
pub const WIRE: Words = Words::new("On the wire", "网络收发");
pub const PROGRAM: Words = Words::new("What the clients run", "客户端的程序");
pub const NO_PROGRAM: Words =
    Words::new("The programs of this run are not known here.", "这里没有这次运行的程序。");
pub const VERDICT: Words = Words::new("Verdict", "结论");
pub const MORE: Words = Words::new("more", "更多");
pub const INVARIANT_BROKEN: Words = Words::new("INVARIANT BROKEN", "违反不变式");
/// A release has woken that many clients, of which only one can take what was released.
pub const WOKEN: Words = Words::new("{} WOKEN, 1 NEEDED", "唤醒 {} 个，只需 1 个");
/// Too many holders of a lock: how many, and of which kind or out of how many allowed.
pub fn overlap_span(lang: Lang, excess: Excess) -> String {
    const CLASH: Words = Words::new("{} HOLDERS AT ONCE", "{} 个持有者同时存在");
    const PERMITS: Words = Words::new("{} HOLDERS, {} ALLOWED", "{} 个持有者，最多允许 {} 个");
    const WRITERS: Words = Words::new("{} EXCLUSIVE HOLDERS AT ONCE", "{} 个独占持有者同时存在");
    const MIXED: Words = Words::new("{} EXCLUSIVE, {} SHARED AT ONCE", "{} 个独占、{} 个共享持有者同时存在");
    let Excess { limit, holders, shared } = excess;
    let (all, alone, shared) = (holders.to_string(), (holders - shared).to_string(), shared.to_string());
    match limit {
        Capacity::Holders(1) => CLASH.with(lang, &[&all]),
        Capacity::Holders(most) => PERMITS.with(lang, &[&all, &most.to_string()]),
        Capacity::ReadWrite if excess.shared == 0 => WRITERS.with(lang, &[&all]),
        Capacity::ReadWrite => MIXED.with(lang, &[&alone, &shared]),
    }
}

/// The labels of waits and counters in the built-in lessons. A user's own lesson may use others, which are shown as
/// written.
const LABELS: [Words; 24] = [
    Words::new("POWER", "断电"),
    Words::new("START", "重启"),
    Words::new("work", "干活"),
    Words::new("wait", "等待"),
    Words::new("look", "查看"),
    Words::new("busy", "忙碌"),
    Words::new("sold", "售出"),
    Words::new("paid", "已付"),
    Words::new("deducted", "已扣"),
    Words::new("granted", "发放"),
    Words::new("computed", "计算"),
    Words::new("committed", "提交"),
    Words::new("rolled_back", "回滚"),
    Words::new("given_up", "放弃"),
    Words::new("refused", "拒绝"),
    Words::new("edits", "改动"),
    Words::new("reports", "报表"),
    Words::new("wrong", "出错"),
    Words::new("error", "出错"),
    Words::new("asleep", "休眠"),
    Words::new("awake", "醒来"),
    Words::new("wake", "等通知"),
    Words::new("heard", "得知"),
    Words::new("gone", "已消失"),
];

/// A notification: for a client's session, in the terms of its library.
pub fn notice(what: &str, about: &str, lang: Lang) -> String {
    let whose = match (about, what) {
        // The session outlives its connection.
        ("session", SUSPENDED | RECONNECTED) => Words::new("connection", "连接"),
        ("session", _) => Words::new("session", "会话"),
        _ => return format!("{what} {about}"),
    };
    format!("{what} · {}", whose.get(lang))
}

/// A counter by its title, or the label of an operation; without a title, translated if known.
pub fn named<'a>(log: &'a Log, name: &'a str, lang: Lang) -> &'a str {
    log.counter_title(name).map_or_else(|| label(name, lang), |title| title.get(lang))
}

/// The label of an operation or a counter, translated if known.
pub fn label(label: &str, lang: Lang) -> &str {
    LABELS.iter().find(|words| words.get(Lang::En) == label).map_or(label, |words| words.get(lang))
}

/// In a bar, after the client's name: what the client believes, what no server confirms any more, or what the client
/// did.
pub const IN_BAR: Words = Words::new("holds", "持有");
pub const IN_BAR_SHARED: Words = Words::new("shared", "共享持有");
pub const IN_BAR_STILL: Words = Words::new("still thinks it holds", "仍以为持有");
/// The same where there is less room.
pub const IN_BAR_STILL_SHORT: Words = Words::new("is wrong", "已失锁");
/// Of a lock that no server has ever confirmed.
pub const IN_BAR_NEVER: Words = Words::new("thinks it holds", "自以为持有");
pub const IN_BAR_SAW: Words = Words::new("saw {}", "读到 {}");
pub const IN_BAR_OVERSOLD: Words = Words::new("{} on an outdated {}", "{}（凭旧值 {}）");
/// The same without the value.
pub const ON_AN_OUTDATED_VALUE: Words = Words::new("{} on an outdated value", "凭旧值{}");
pub const IN_BAR_FROZEN: Words = Words::new("holds, frozen", "持有，冻结中");
pub const IN_BAR_STILL_FROZEN: Words = Words::new("still thinks it holds, frozen", "仍以为持有，冻结中");
pub const IN_BAR_STILL_FROZEN_SHORT: Words = Words::new("is wrong, frozen", "已失锁，冻结中");
pub const IN_BAR_WAITS: Words = Words::new("waits", "等待");
pub const IN_BAR_WAITS_FOR: Words = Words::new("waits for {}", "等待 {}");
pub const IN_BAR_WAITS_FOR_ITSELF: Words = Words::new("waits for its own lock", "等自己的锁");
pub const IN_BAR_WAITS_IN_VAIN: Words = Words::new("waits, nobody holds it", "等待，但无人持有");
const LAST_LISTED: Words = Words::new(" and ", " 和 ");
pub const LISTED: Words = Words::new(", ", "、");
/// The maximum number of names in a list.
const NAMED: usize = 4;

/// Names in a sentence: `A, B and C`. Of many, the first ones and the number of the others.
pub fn listed(names: impl ExactSizeIterator<Item = String>, lang: Lang) -> String {
    let more = names.len().saturating_sub(NAMED);
    let mut listed: Vec<String> = names.take(NAMED).collect();
    let last = match more {
        0 => listed.pop().unwrap_or_default(),
        more => MORE_NODES.with(lang, &[&more.to_string()]),
    };
    if listed.is_empty() {
        last
    } else {
        format!("{}{}{last}", listed.join(LISTED.get(lang)), LAST_LISTED.get(lang))
    }
}
const HELD_TOGETHER: Words =
    Words::new("{} thought they held {} at once, from {} to {}.", "{} 同时以为自己持有{}：从 {} 到 {}。");
const HELD_FOR_A_MOMENT: Words =
    Words::new("{} thought they held {} at once, for a moment at {}.", "{} 一度同时以为自己持有{}：在 {}。");
const HOLD_TOGETHER: Words =
    Words::new("{} think they hold {} at once, since {}.", "{} 同时以为自己持有{}：从 {} 起。");
/// Two held the lock, but without consequences.
pub const HARMLESS: Words = Words::new(
    "The lock did not keep them apart. What this variant promises held all the same.",
    "锁没能保证互斥，但本方案要保证的结论仍然成立。",
);

/// How many lines a program wrote to standard error in a row, and the last one.
pub const LOG_LINES: Words = Words::new("! {} lines of its log: {}", "! 日志 {} 行：{}");
/// Since when something has been wrong.
pub const SINCE: Words = Words::new("since {}", "从 {} 起");
pub const SEEN_AT: Words = Words::new("seen at {}", "{} 时发现");

/// Who held which lock together; from when to when, or since when.
pub fn held_together(who: &str, lock: &str, (from, to): (&str, Option<&str>), lang: Lang) -> String {
    match to {
        Some(to) if to == from => HELD_FOR_A_MOMENT.with(lang, &[who, lock, from]),
        Some(to) => HELD_TOGETHER.with(lang, &[who, lock, from, to]),
        None => HOLD_TOGETHER.with(lang, &[who, lock, from]),
    }
}

/// Who believes now that it has which lock, and who believed so before.
pub const TAKEN_TOO: Words = Words::new(
    "Now {} believes that it has {}, too, beside {}.",
    "{} 也以为自己拿到了{}，而 {} 还没有放手。",
);
/// Who did what on the basis of which outdated value, how often that was done, and how much there was.
pub const SOLD_ON: Words = Words::new(
    "{} {} on an outdated {}: {} {}, but {} was {}.",
    "{} {}时依据的是旧值 {}：共 {} 次{}，而 {} 只有 {}。",
);
/// The same if too little was taken: from what, and its values before and after.
pub const COUNTED_ON: Words = Words::new(
    "{} {} on an outdated {}: {} {}, but {} went from {} to {}.",
    "{} {}时依据的是旧值 {}：共 {} 次{}，{} 却只从 {} 变为 {}。",
);
/// The same if nothing was to be taken.
pub const ACTED_ON: Words = Words::new("{} {} on an outdated {}.", "{} {}时依据的是旧值 {}。");
pub const PROOF: Words = Words::new("{}: what proves it", "{}：查看证据");
pub const NO_PROOF: Words = Words::new("{}: without the proofs", "{}：收起证据");

pub const NOTHING_YET: Words = Words::new("nothing yet", "暂无");
pub const EMPTY: Words = Words::new("empty", "空");
/// Counters that the server itself keeps.
pub const METRICS: Words = Words::new("server metrics", "服务器指标");
/// No client holds what a client believes to hold.
pub const NOBODY: Words = Words::new("nobody", "无人持有");
pub const SERVER_DIED: Words = Words::new("this server has died", "该服务器已退出");

pub const GONE: Words = Words::new("gone (TTL over)", "已过期（TTL 到期）");
pub const REMOVED: Words = Words::new("removed", "已删除");
pub const NO_EXPIRY: Words = Words::new("no expiry", "永不过期");
pub const WATCHING: Words = Words::new("{} watching", "{} 个监听");
pub const QUEUED: Words = Words::new("{} waiting", "{} 个等待");
pub const IN_TRANSACTION: Words = Words::new("in a transaction", "事务进行中");
pub const WAITS_FOR: Words = Words::new("waits for the lock of", "正在等锁，持有者");
pub const ABSENT: Words = Words::new("absent", "不存在");
pub const MORE_NODES: Words = Words::new("{} more", "还有 {} 个");
pub const NOTIFIED: Words = Words::new("notified", "已通知");
pub const IN_FLIGHT: Words = Words::new("in flight", "未返回");
/// A reply in a later step than its request.
pub const REPLIED_AT: Words = Words::new("{} at {}", "{}（{} 时）");
pub const BLOCKED: Words = Words::new("blocked", "阻塞中");
pub const WAITS_THERE: Words =
    Words::new("{}: the server has it and keeps it waiting", "{}：服务器已收到，正在阻塞等待");
pub const PASSES: Words = Words::new("{} pass", "过了 {}");
/// What drivers and the operating system say of a connection that no reply will come from.
const CONNECTION_ERRORS: [(&str, &str); 8] = [
    ("reset by peer", "连接被对方重置"),
    ("roken pipe", "连接已断开"),
    ("end of file", "连接已断开"),
    ("connection to the server was lost", "与服务器的连接断开了"),
    ("closed before the reply came", "回复到来之前连接就关闭了"),
    ("closed the connection", "程序关闭了连接"),
    ("connection was closed", "连接已关闭"),
    ("session expired", "会话已过期"),
];

pub const LOST: Words = Words::new("lost", "丢失");

/// Why a reply was lost. An error that is not known stays as its source wrote it.
pub fn connection_error(error: &str, lang: Lang) -> &str {
    let known = CONNECTION_ERRORS.iter().find(|(part, _)| lang == Lang::Zh && error.contains(part));
    known.map_or(error, |(_, words)| words)
}

/// A lost reply and why it was lost.
pub fn lost(why: &str, lang: Lang) -> String {
    format!("{}{}{}", LOST.get(lang), lang.colon(), connection_error(why, lang))
}
pub const ORPHAN: Words = Words::new("the reply reaches nobody", "回复已无人接收");
pub const TAKES_NOTICE: Words = Words::new("takes {}", "取出通知 {}");
pub const EXPIRED: Words = Words::new("{}: TTL over, gone", "{}：TTL 到期，已删除");
pub const EXPIRED_AT: Words = Words::new("{}: TTL was over at {}, gone", "{}：TTL 在 {} 已到期，已删除");

pub const FROZEN: Words = Words::new("frozen", "冻结");
const MASTER: Words = Words::new("master", "主节点");
const REPLICA_OF: Words = Words::new("replica of {}", "{} 的从节点");
pub const SLOTS: Words = Words::new("slots {}", "槽 {}");
pub const EPOCHS: Words = Words::new("epoch {}/{}", "纪元 {}/{}");
pub const REVISION: Words = Words::new("created at rev {}", "rev {} 创建");
pub const REVISION_AND_TERM: Words = Words::new("rev {} · term {}", "rev {} · 任期 {}");
pub const CLUSTER_DOWN: Words = Words::new("cluster down", "集群不可用");
pub const CLUSTER_UP: Words = Words::new("cluster serves again", "集群恢复服务");
/// The epoch of an election.
pub const ELECTION: Words = Words::new("election, epoch {}", "选举，纪元 {}");
const LEADER: Words = Words::new("leader", "Leader");
const FOLLOWER: Words = Words::new("follower", "Follower");
const LOOKING: Words = Words::new("no leader", "无 Leader");

/// The role that a server reports.
pub fn role(role: &Role, lang: Lang) -> String {
    match role {
        Role::Master => MASTER.get(lang).to_owned(),
        Role::Replica { of } => REPLICA_OF.with(lang, &[of]),
        Role::Leader => LEADER.get(lang).to_owned(),
        Role::Follower => FOLLOWER.get(lang).to_owned(),
        Role::Looking => LOOKING.get(lang).to_owned(),
    }
}

/// Before the clients whose sessions a server of an ensemble serves.
pub const SESSIONS: Words = Words::new("sessions", "会话");
pub const SENTINELS: Words = Words::new("Sentinels", "哨兵");
const SEVERAL_SENTINELS: Words = Words::new("{} Sentinels", "{} 个哨兵");
/// How many Sentinels take a server for down; and how many have to agree.
pub const DOWN_FOR: Words = Words::new("{}: missed by {} of the Sentinels", "{}：{} 个哨兵联系不上");
pub const NEEDED: Words = Words::new(", {} needed", "，需 {} 个");
pub const VOTES: Words = Words::new("votes: {} (epoch {})", "投票：{}（纪元 {}）");
pub const ELECTED: Words = Words::new("elected: {}", "当选：{}");
pub const MAKES_MASTER: Words = Words::new(", promotes {}", "，提升 {}");

/// The speakers of a notice: one Sentinel by name, several by number.
pub fn sentinels(who: &[&str], lang: Lang) -> String {
    match who {
        [one] => (*one).to_owned(),
        several => SEVERAL_SENTINELS.with(lang, &[&several.len().to_string()]),
    }
}

/// A notice with its speakers.
pub fn sentinels_say(who: &[&str], notice: &SentinelNotice, lang: Lang) -> String {
    let words = sentinel_notice(notice, lang);
    format!("{} {}{}{words}", glyphs::SENTINEL, sentinels(who, lang), lang.colon())
}

/// The notice of a Sentinel: Sentinel's own term for it, and plain words.
pub fn sentinel_notice(notice: &SentinelNotice, lang: Lang) -> String {
    let words = match notice {
        SentinelNotice::Misses { .. } => Words::new("no answer, its own view", "主观下线，只是各自的判断"),
        SentinelNotice::Hears { .. } => Words::new("answers again", "恢复应答"),
        SentinelNotice::Agrees { votes, quorum, .. } => {
            let numbers = [votes.to_string(), quorum.to_string()];
            let words = Words::new("{} agree, {} needed", "客观下线，{} 个同意，需 {} 个");
            return said(notice, &words.with(lang, &[&numbers[0], &numbers[1]]));
        }
        SentinelNotice::Votes { epoch, .. } => {
            return said(notice, &Words::new("epoch {}", "纪元 {}").with(lang, &[&epoch.to_string()]));
        }
        SentinelNotice::Elected => Words::new("carries out the failover", "当选，由它执行切换"),
        SentinelNotice::Aborts { why } => return said(notice, why),
        SentinelNotice::Selects { .. } => Words::new("to be the master", "选中它来提升"),
        SentinelNotice::Promotes { .. } => Words::new("is the master", "已成为主节点"),
        SentinelNotice::Switches { .. } => Words::new("clients are sent there", "此后告诉客户端的主节点"),
        SentinelNotice::Reconfigures { .. } => Words::new("told to follow it", "改跟新主节点"),
        SentinelNotice::Demotes { .. } => Words::new("told that it is a replica", "降为从节点"),
    };
    said(notice, words.get(lang))
}

fn said(notice: &SentinelNotice, words: &str) -> String {
    let about = match notice {
        SentinelNotice::Votes { leader, .. } => Some(leader.as_str()),
        notice => notice.server(),
    };
    let about = about.map_or(String::new(), |about| format!(" {about}"));
    format!("{}{about} · {words}", notice.word())
}

/// A short form, for places where the server that it is about is obvious.
pub fn sentinel_mark(sentinel: &str, notice: &SentinelNotice, lang: Lang) -> String {
    match notice {
        SentinelNotice::Agrees { votes, quorum, .. } => {
            let numbers = [votes.to_string(), quorum.to_string()];
            Words::new("down: {} agree, {} needed", "客观下线：{} 个同意，需 {} 个")
                .with(lang, &[&numbers[0], &numbers[1]])
        }
        SentinelNotice::Selects { .. } => Words::new("{}'s choice", "{} 选中").with(lang, &[sentinel]),
        other => said(other, ""),
    }
}

pub const EXPECTED: Words = Words::new("expected", "预期");
pub const OBSERVED: Words = Words::new("observed", "实际");
pub const TAKE_AWAY: Words = Words::new("Takeaway", "要点");
pub const TRY_VARIANT: Words = Words::new("{}: next variant – {}", "{}：下一个方案 – {}");
pub const TRY_LESSON: Words = Words::new("{}: next lesson – {}", "{}：下一课 – {}");
/// Tips for newcomers, shown one at a time until the learner has used the action.
pub const TIP_STEP: Words = Words::new(
    "{} takes the next step: a real command to a real server.",
    "按 {} 走下一步：一条真实的命令，发给真实的服务器。",
);
/// The same without a live server.
pub const TIP_STEP_RECORDED: Words = Words::new(
    "{} takes the next step of a real run that was recorded.",
    "按 {} 走下一步：看的是一次真实运行的录像。",
);
pub const TIP_COMPARE: Words =
    Words::new("{} puts the failure beside its fix, step by step.", "按 {} 把故障和修复并排，逐步对比。");
pub const TIP_FREE: Words = Words::new("{} lets you choose who moves next.", "按 {} 由你决定下一步轮到谁。");
pub const TRY_CARDS: Words = Words::new("{}: {} interview questions", "{}：{} 道面试题");
pub const TRY_CARD: Words = Words::new("{}: {} interview question", "{}：{} 道面试题");
pub const NOT_SHOWN_WHY: Words = Words::new(
    "The lesson promised this and it was not observed. Do not trust the text above: look at the log.",
    "课程承诺的现象没有出现。请不要相信上面的讲解，以日志为准。",
);

pub const LAB_FAILED: Words = Words::new("A server failed", "服务器出错了");

pub const fn failed(server: bool) -> Words {
    if server { LAB_FAILED } else { Words::new("The lesson cannot go on", "课程无法继续") }
}

pub const STILL_THERE: Words =
    Words::new("Everything so far can still be stepped through.", "此前的每一步仍可回看。");

pub const fn outcome(outcome: Outcome) -> Words {
    match outcome {
        Outcome::Shown => Words::new("FAILURE SHOWN", "故障如预期重现"),
        Outcome::Prevented => Words::new("FAILURE PREVENTED", "故障已避免"),
        Outcome::NotShown => Words::new("NOT SHOWN", "未能证实"),
    }
}

pub const fn belief(belief: Belief) -> Words {
    match belief {
        Belief::Holding => Words::new("holding", "持有"),
        Belief::Sharing => Words::new("sharing", "共享持有"),
        Belief::Waiting => Words::new("waiting", "等待"),
        Belief::Unsure => Words::new("unsure", "不确定"),
        Belief::Nothing => Words::new("nothing", "无"),
    }
}

pub const PREDICTION: Words = Words::new("Your prediction", "先猜一猜");
pub const ANSWER: Words = Words::new("{}-{} answer, {} skip", "按 {}-{} 作答，{} 跳过");
/// The learner wants to continue without an answer.
pub const ANSWER_FIRST: Words = Words::new(
    "What do you think? {}-{}, or {} to skip, and then {}",
    "先猜一个：{}-{}，或按 {} 跳过，再按 {}",
);
pub const ANSWERED: Words = Words::new("{} see what happens", "{} 看看结果");
pub const SKIPPED: Words = Words::new("skipped, {} see what happens", "已跳过，{} 看看结果");
pub const RIGHT: Words = Words::new("You were right: {}", "猜对了：{}");
pub const WRONG: Words = Words::new("You said: {}. What happened: {}", "你猜的是：{}。实际是：{}");
/// What happened, for a learner who made no prediction.
pub const HAPPENED: Words = Words::new("What happened: {}", "实际是：{}");
pub const PREDICTIONS: Words = Words::new("Your predictions: {} of {} right", "你的预测：{}/{} 猜对");
pub const OF_WHICH_SKIPPED: Words = Words::new(", {} skipped", "，跳过 {} 题");
pub const QUESTIONS_ON: Words =
    Words::new("Questions are on. {} turns them off.", "已开启提问，按 {} 关闭。");
pub const QUESTIONS_OFF: Words = Words::new(
    "Questions are off: the lesson passes over them. {} turns them on.",
    "已关闭提问，课程会直接略过。按 {} 重新开启。",
);
