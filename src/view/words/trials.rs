//! Words of many races, and of one of them.

use super::Words;
use crate::race::LockFate;

/// What the screen is.
pub const RACES: Words = Words::new("races", "竞跑");
/// How far the races have come: how many, of how many.
pub const RACED_OF: Words = Words::new("{} of {} races", "已跑 {}/{} 次");
/// How fast they go on, and how long the rest takes.
pub const RATE_AND_LEFT: Words = Words::new("{}/s, {} left", "每秒 {} 次，还需 {}");
/// How fast they went, and how long it took.
pub const RATE_AND_TIME: Words = Words::new("{}/s, {} in all", "每秒 {} 次，共用 {}");
/// They are stopped for now.
pub const RACES_PAUSED: Words = Words::new("paused", "已暂停");
/// They are being run.
pub const RACES_GOING: Words = Words::new("racing", "竞跑中");
/// As many as were wanted.
pub const RACES_DONE: Words = Words::new("done", "已跑完");
/// They cannot go on.
pub const RACES_FAILED: Words = Words::new("failed", "出错");
/// How many broke a lock: how many, of how many, a percentage.
pub const BROKE: Words = Words::new(
    "{} of {} races broke the lock ({})",
    "{}/{} 次出现两个持有者（{}）",
);
/// None did.
pub const BROKE_NONE: Words = Words::new("no race of {} broke the lock", "{} 次竞跑中，从未出现两个持有者");
/// Programs without a lock.
pub const NO_LOCK: Words = Words::new(
    "These programs use no lock: look at how they came out.",
    "这些程序不使用锁：请看各种结果。",
);
/// What a race is: how many take part.
pub const ALL_AT_ONCE: Words = Words::new(
    "{} clients run their whole programs at once, and the server decides who comes first.",
    "{} 个客户端同时从头到尾执行各自的程序，先后由服务器决定。",
);
/// A story causes faults, and its races do not.
pub const FAULTS_LEFT_OUT: Words = Words::new(
    "The faults of the story (crashes, pauses, cuts) are left out.",
    "不含剧情里的故障（崩溃、停顿、断网等）。",
);
/// How to try again after a failure.
pub const RACE_AGAIN: Words = Words::new(
    "{} races again on a fresh lab.",
    "按 {} 换一套全新的服务器重新竞跑。",
);

/// The histogram's pane.
pub const OUTCOMES: Words = Words::new("What came of it", "结果分布");
/// The pane of the races of one outcome.
pub const THOSE_RACES: Words = Words::new("Races that came out so", "得到该结果的各次竞跑");
/// How an outcome can be tried again.
pub const SEED: Words = Words::new("seed {}", "种子 {}");
/// A race: its number, its seed.
pub const RACE_ROW: Words = Words::new("race {}", "第 {} 次");
/// How many steps a race has.
pub const STEPS: Words = Words::new("{} steps", "{} 步");
/// A race whose log is gone.
pub const NOT_KEPT: Words = Words::new("not kept any more", "记录已不再保留");
/// Why some are gone: how many.
pub const FORGOTTEN: Words = Words::new(
    "{} races not kept: there is room for {} events",
    "{} 次的记录已清除：最多保留 {} 个事件",
);
/// A race whose log is gone was to be opened: how it can be run again.
pub const RACE_FORGOTTEN: Words = Words::new(
    "This race is counted, but its log was let go: the memory for them is bounded. Its start can be drawn again: `lockstep \
     race {} --variant {} -n 1 --seed {}`",
    "这次竞跑已计入结果，但为限制内存，它的记录没有保留。可以用同样的开局再跑一次：`lockstep race {} --variant {} -n 1 --seed {}`",
);
/// There can be no more races.
pub const NO_MORE_RACES: Words = Words::new("There can be no more races here.", "不能再增加竞跑次数了。");

/// The story's pane while one of many races is on the screen.
pub const THIS_RACE: Words = Words::new("This race", "这次竞跑");
/// Which race it is: its number, of how many, its seed.
pub const WHICH_RACE: Words = Words::new("Race {} of {}, seed {}:", "第 {} 次竞跑（共 {} 次），种子 {}：");
/// How to read it.
pub const NO_STORY: Words = Words::new(
    "There is no story: whoever got a reply went on at once. What the servers hold was read at the end only.",
    "这里没有剧情：谁收到回复，谁就立即继续。服务器上的数据只在最后读取了一次。",
);
/// What the servers hold in the middle of a race.
pub const NOT_READ: Words = Words::new("not read yet", "尚未读取");
/// Where it breaks the lock: the key that goes there.
pub const GO_TO_VIOLATION: Words = Words::new(
    "{} goes to the moment with two holders.",
    "按 {} 跳到出现两个持有者的时刻。",
);
/// Two holders on the lanes in a race that broke no lock.
pub const LATE_REPLY: Words = Words::new(
    "Two holders for a moment are none here: the release was with the server already, and only its reply came late.",
    "图上短暂出现的两个持有者不算违例：释放命令已经到达服务器，只是回复来得晚。",
);

/// What became of a lock.
#[must_use]
pub const fn fate(fate: LockFate) -> Words {
    match fate {
        LockFate::Violated => Words::new("{} VIOLATED", "{} 被同时持有"),
        LockFate::Held => Words::new("{} held", "{} 始终一人持有"),
        LockFate::NeverHeld => Words::new("{} never held", "{} 无人持有过"),
    }
}
/// A counter, a value: what, how much.
pub const COUNTED: Words = Words::new("{} {}", "{} {}");
/// Who did not come to an end.
pub const UNFINISHED: Words = Words::new("{} unfinished", "{} 个未执行完");
/// Nothing but that.
pub const ALL_FINISHED: Words = Words::new("all finished", "全部执行完");
/// Between the parts of an outcome.
pub const AND: Words = Words::new(", ", "，");
