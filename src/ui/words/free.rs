//! Texts of free play.

use crate::text::Words;

pub const FREE: Words = Words::new("Free play: you choose", "自由模式：由你决定");
pub const FREE_MODE: Words = Words::new("free play", "自由模式");
pub const BRANCHING: Words = Words::new("doing it again on fresh servers…", "正在新服务器上重做……");
/// The playhead is at an earlier step, where a choice begins a branch.
pub const LOOKING_BACK: Words = Words::new(
    "You look back. A choice from here begins a branch: fresh servers, the same moves up to here, then yours. {} branches without choosing.",
    "正在回看。在这里做选择会开一条新分支：换新服务器重做到这一步，再按你的选择走。按 {} 只开分支。",
);
pub const YOU_CHOOSE: Words = Words::new(
    "There is no story to go on with: you choose. Press the number of a client, or let time pass.",
    "这里没有讲解可以继续，由你决定：按客户端的编号，或者让时间前进。",
);
pub const ALL_OVER: Words = Words::new(
    "Everybody is finished or dead: {} goes back, where you can choose otherwise; {} starts again.",
    "所有客户端都已执行完或终止：按 {} 回退后另选一步，按 {} 重来。",
);
pub const GOAL: Words = Words::new("Challenge: {}", "挑战：{}");
/// For a variant that is said to prevent the failure.
pub const GOAL_FIXED: Words = Words::new("Try to break this one: {}", "试着攻破它：{}");
pub const BROKE_IT: Words = Words::new("YOU BROKE IT", "你攻破了它");
pub const BROKEN_BEFORE: Words = Words::new("you broke it: {}", "已攻破：{}");

/// The next operation of a client that can move.
pub const WOULD_TAKE: Words = Words::new("take a notification about {}", "取出关于 {} 的通知");
pub const PRIMARY: Words = Words::new("the master that Sentinel names", "Sentinel 报出的主节点");
pub const WAITS_UNTIL: Words = Words::new("waits ({}) until {}", "等待中（{}），到 {}");
pub const SLEEPS_UNTIL: Words = Words::new("waits until {}", "等待中，到 {}");
/// A client whose command has no reply yet.
pub const UNANSWERED: Words = Words::new("no answer yet to {}", "{} 还没有回复");
pub const UNNOTIFIED: Words = Words::new("waits for a notification about {}", "等待关于 {} 的通知");
pub const BUSY: Words = Words::new("sends nothing now", "现在没有发送请求");
pub const IN_OWN_TIME: Words = Words::new(
    "sends nothing now; its waits are not known, and pass in real time",
    "现在没有发送请求；它的等待无从得知，按真实时间进行",
);
/// A program that has not come to rest. The value is the key that lets a second pass.
pub const COMPUTES: Words = Words::new(
    "still at work: it computes, or reads the clock until time passes; {} lets time pass",
    "还没停下来：在计算，或者在反复读时钟；按 {} 让时间前进",
);
/// Values: the product of the servers, and the environment variable with their address.
pub const HAS_NOT_CONNECTED: Words =
    Words::new("has not connected to {} yet; does it use {}?", "还没有连接 {}，它用了 {} 吗？");
pub const DEAD: Words = Words::new("dead", "已宕机");
pub const FINISHED: Words = Words::new("finished", "执行完毕");
pub const MORE_CLIENTS: Words =
    Words::new("without a key: {}, found with {}", "没有编号的还有 {} 个，用 {} 查找");

pub const TO_TIMER: Words = Words::new("time, to {}: {}'s wait ends", "时间前进到 {}：{} 的等待结束");
/// A command that waits inside its server. Values: the moment, the server, the client, the command.
pub const TO_END: Words = Words::new("time, to {}: {} ends {}'s {}", "时间前进到 {}：{} 结束 {} 的 {}");
/// The same, of a program that has another request ready. Values: the moment, the server, the client.
pub const TO_END_OF_BLOCKED: Words =
    Words::new("time, to {}: {} ends a blocked command of {}'s", "时间前进到 {}：{} 结束 {} 的一条阻塞命令");
/// A program with an unanswered request may time out by a timer of its own.
pub const TO_TIMEOUT: Words = Words::new(
    "time, to {}: a timer of {}'s own ends, its request unanswered",
    "时间前进到 {}：{} 自己的计时到期，请求还没有得到回复",
);
/// Values: the key that lets a second pass, and the key of the palette.
pub const NO_TIMER: Words = Words::new(
    "Nobody waits for time to pass, so there is no moment to go to. Press {} to let a second pass, or type any other amount into the palette ({}).",
    "没有人在等待计时，没有可以跳到的时刻。按 {} 让时间走 1 秒；其他时长按 {} 打开命令面板输入。",
);
pub const STARTING: Words = Words::new(
    "The programs are still starting: choose when they wait for you.",
    "程序还在启动：等它们停下来再选。",
);
/// Values: the key, and the number of clients that have keys.
pub const NO_SUCH_CLIENT: Words =
    Words::new("No client has the number {}: there are {}.", "没有编号为 {} 的客户端：一共 {} 个。");
pub const BY: Words = Words::new("time, +{}", "时间前进 {}");
pub const FAULTS: Words = Words::new("faults: {} at hand", "故障：{} 种可选");
pub const BRANCHES: Words = Words::new("branches: {}", "分支：{} 条");
pub const CAUSE: Words = Words::new("Cause a fault", "制造故障");
pub const MOVES: Words = Words::new("{} moves: {}", "{} 走一步：{}");

pub const SAME: Words = Words::new(
    "Branch after step {}: done again on fresh servers, answered as before. Go on from here.",
    "从第 {} 步之后分支：已在新服务器上重做，结果与之前一致。从这里继续。",
);
pub const DIFFERS: Words = Words::new(
    "Branch after step {}: done again on fresh servers, but not all came out as before. First: {}",
    "从第 {} 步之后分支：已在新服务器上重做，但结果与之前不完全一致。第一处：{}",
);
pub const BEFORE_NOW: Words = Words::new("{}: before {}, now {}", "{}：之前 {}，现在 {}");
pub const STUCK: Words = Words::new(
    "Not everything up to step {} could be done again: {} Go on from here.",
    "到第 {} 步为止没能全部重做：{}从这里继续。",
);

/// The heading of the choices in a recording.
pub const WAS_CHOSEN: Words = Words::new("Free play: what was chosen", "自由模式：当时的选择");
pub const RUN_IS_LOST: Words = Words::new(
    "This run is in no file: {} again throws it away, {} saves it first.",
    "这次运行还没有存成文件：再按一次 {} 就丢弃它，按 {} 先保存。",
);
/// Values: the key that was pressed, the key of the branches, the key that saves.
pub const BRANCH_IS_LOST: Words = Words::new(
    "A branch that you left is in no file: {} again throws it away. To keep it, open it ({}) and save it ({}).",
    "你离开过的一条分支还没有存成文件：再按一次 {} 就丢弃它；想保留就先打开它（{}），再保存（{}）。",
);
pub const RUN_RECORDED: Words =
    Words::new("The run that you left is recorded in {}.", "刚才的运行已录制到 {}。");
pub const SAVED: Words = Words::new(
    "Saved as {} in the directory where you started. `lockstep play` shows it, `lockstep export` makes a picture of it: \
     both need no programs and no servers.",
    "已存为 {}，在启动时所在的目录里。`lockstep play` 可以播放它，`lockstep export` 可以导出图片：都不需要程序和服务器。",
);

pub const ONLY_IN_FREE_PLAY: Words =
    Words::new("That key is for free play: press {} first.", "这个键在自由模式里才有用：先按 {}。");

pub const GAVE_UP: Words = Words::new("its program ended with an error", "程序因错误退出");

pub const TREE: Words = Words::new("Branches", "分支树");
pub const NO_BRANCHES: Words = Words::new(
    "No branches yet. Go back a few steps and choose something else.",
    "还没有分支。回退几步，换一个选择，就会分出一支。",
);
pub const TRUNK: Words = Words::new("the first run", "最初的运行");
pub const GOES_OFF: Words = Words::new("after step {}", "第 {} 步之后");
pub const STORY_LINES: Words = Words::new("story, {} steps", "讲解 {} 步");
pub const NOTHING_CHOSEN: Words = Words::new("nothing yet", "尚未选择");
