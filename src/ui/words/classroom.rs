//! Texts for a class.

use super::free::BROKE_IT;
use crate::text::{Lang, Words};

/// How many participants voted, and how many there are.
pub const VOTED: Words = Words::new("{} of {} voted", "{} 人已投票，共 {} 人");
pub const JOIN: Words = Words::new("Join with your phone", "用手机加入");
pub const JOIN_AT: Words = Words::new("Scan the code, or open", "扫描二维码，或打开");
pub const JOIN_OPEN: Words = Words::new("Open", "打开");
pub const JOIN_CODE: Words = Words::new("and type", "并输入");
pub const JOINED: Words = Words::new("{} have joined", "已有 {} 人加入");
/// In the header.
pub const HERE: Words = Words::new("{} joined", "{} 人在线");
pub const ONLY_HERE: Words = Words::new(
    "Only this machine can open it. For the room, start with `--bind 0.0.0.0:5625`.",
    "目前只有本机能打开。要让教室里的人加入，请用 `--bind 0.0.0.0:5625` 启动。",
);
pub const NO_SERVER: Words = Words::new("Nobody can join any more.", "已经无法再加入。");
pub const CLOSE: Words = Words::new("close", "关闭");
pub const CLASS_GONE: Words = Words::new(
    "The pages of the class are gone; the lesson goes on without votes. To have them again, start `lockstep teach` anew.",
    "班级页面已停止服务，课程照常进行，但无法投票。需要恢复请重新运行 `lockstep teach`。",
);
pub const CLASS_HERE: Words = Words::new("A class can join: {} shows how.", "班级可以加入：按 {} 查看方法。");

/// The vote on the next move: the seconds left.
pub const VOTE: Words =
    Words::new("What comes next? The class votes: {} s", "下一步做什么？全班投票：还剩 {} 秒");
/// The same on participants' pages, which show the seconds themselves.
pub const WHAT_NEXT: Words = Words::new("What comes next?", "下一步做什么？");
/// Votes for the choice, all votes, the choice.
pub const CHOSE: Words = Words::new("The class chose ({} of {}): {}", "全班选择（{}/{} 票）：{}");
pub const NOBODY_VOTED: Words =
    Words::new("Nobody voted, so nothing happens.", "没有人投票，什么也不会发生。");
pub const VOTE_IN_FREE_PLAY: Words = Words::new(
    "The class votes on moves in free play: {} begins it.",
    "只有在自由模式里才能由全班投票决定下一步：按 {} 进入。",
);
pub const VOTE_LATER: Words = Words::new(
    "A vote can begin when the last move is over and nothing is looked back at.",
    "上一步执行完、且没有在回看时才能开始投票。",
);
pub const NOBODY_JOINED: Words =
    Words::new("Nobody has joined yet: {} shows how.", "还没有人加入：按 {} 查看加入方法。");
/// With the number of moves, if the class chose any of them.
pub fn broke_it(lang: Lang, moves: Option<usize>) -> String {
    const MOVES: Words = Words::new("BROKEN BY THIS CLASS IN {} MOVES", "这个班用 {} 步攻破了它");
    const MOVE: Words = Words::new("BROKEN BY THIS CLASS IN {} MOVE", "这个班用 {} 步攻破了它");
    let words = match moves {
        None => BROKE_IT,
        Some(1) => MOVE,
        Some(_) => MOVES,
    };
    words.with(lang, &[&moves.unwrap_or_default().to_string()])
}

/// The heading of a class's archive.
pub const CLASS_RUNS: Words = Words::new("Lockstep: what the class did", "Lockstep：本次课堂的全部运行");
pub const NOT_FINISHED: Words = Words::new("left before its end", "中途结束");
