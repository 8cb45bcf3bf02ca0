//! Texts of races and explorations, and of a single run of them.

use crate::run::race::LockFate;
use crate::text::{Lang, Words};

pub const RACES: Words = Words::new("races", "并发竞争");
pub const RACED_OF: Words = Words::new("{} of {} races", "已跑 {}/{} 次");
pub const RATE_AND_LEFT: Words = Words::new("{}/s, {} left", "每秒 {} 次，还需 {}");
pub const RATE_AND_TIME: Words = Words::new("{}/s, {} in all", "每秒 {} 次，共用 {}");
pub const RACES_PAUSED: Words = Words::new("paused", "已暂停");
pub const RACES_GOING: Words = Words::new("racing", "正在并发竞争");
pub const RACES_DONE: Words = Words::new("done", "已跑完");
pub const RACES_FAILED: Words = Words::new("failed", "出错");
/// How many races broke an invariant, the number of races, a percentage.
pub const BROKE: Words = Words::new("{} of {} races went wrong ({})", "{}/{} 次出错（{}）");
/// In how many races something was broken, and what.
pub const BROKE_THIS: Words = Words::new("{}: {}", "{} 次：{}");
pub const BROKE_NONE: Words = Words::new("none of {} races went wrong", "{} 次并发竞争，没有一次出错");
/// Why races and orders may answer differently, with the keys.
pub const RACES_PROVE_NOTHING: Words = Words::new(
    "Chance decided how slow each was. In the lesson, {} tries every order; there, {} adds slowness.",
    "谁慢多少全凭运气。在课程里按 {} 可穷举所有顺序，那里按 {} 可加入“动作慢”。",
);
pub const SLOW_IN_RACES: Words = Words::new(
    "Somebody had to be slow at the right moment: races ({}) seldom meet it and may all go well.",
    "必须有人恰好在那一刻慢下来：并发竞争（{}）很少碰上，可能一次也不出错。",
);
/// What a race is; with the number of clients.
pub const ALL_AT_ONCE: Words = Words::new(
    "{} clients run their whole programs at once, and the server decides who comes first.",
    "{} 个客户端同时从头到尾执行各自的程序，先后由服务器决定。",
);
pub const FAULTS_LEFT_OUT: Words = Words::new(
    "The faults of the story (crashes, pauses, cuts) are left out.",
    "不含剧情里的故障（崩溃、停顿、断网等）。",
);
pub const RACE_AGAIN: Words =
    Words::new("{} races again on a fresh lab.", "按 {} 换一套全新的服务器重新竞争。");

pub const NOT_RACED: Words = Words::new("There can be no races here", "这里无法并发竞争");
pub const OUTCOMES: Words = Words::new("Outcomes", "结果分布");
pub const THOSE_RACES: Words = Words::new("Races with this outcome", "得到该结果的各次运行");
pub const SEED: Words = Words::new("seed {}", "种子 {}");
pub const RACE_ROW: Words = Words::new("race {}", "第 {} 次");
pub const STEPS: Words = Words::new("{} steps", "{} 步");
pub const NOT_KEPT: Words = Words::new("not kept any more", "记录已不再保留");
pub const FORGOTTEN: Words =
    Words::new("{} races not kept: there is room for {} events", "{} 次的记录已清除：最多保留 {} 个事件");
/// The log of a race to be opened was dropped: how to run it again.
pub const RACE_FORGOTTEN: Words = Words::new(
    "This race is counted, but its log was let go: the memory for them is bounded. Its start can be drawn again: `lockstep \
     race {} --variant {} -n 1 --seed {}`",
    "这次并发竞争已计入结果，但为限制内存，它的记录没有保留。可以用同样的开局再跑一次：`lockstep race {} --variant {} -n 1 --seed {}`",
);
pub const NO_MORE_RACES: Words = Words::new("There can be no more races here.", "不能再增加并发竞争次数了。");

pub const THIS_RACE: Words = Words::new("This race", "这次并发竞争");
/// The race's number, the number of races, its seed.
pub const WHICH_RACE: Words = Words::new("Race {} of {}, seed {}", "第 {} 次并发竞争（共 {} 次），种子 {}");
pub const NO_STORY: Words = Words::new(
    "There is no story: whoever got a reply went on at once. What the servers hold was read at the end only.",
    "这里没有剧情：谁收到回复，谁就立即继续。服务器上的数据只在最后读取了一次。",
);
pub const NOT_READ: Words = Words::new("not read yet", "尚未读取");
pub const GO_TO_VIOLATION: Words = Words::new("{} goes to where it goes wrong.", "按 {} 跳到出错的地方。");
pub const LATE_REPLY: Words = Words::new(
    "Too many holders for a moment are none here: the release was with the server already, and only its reply came late.",
    "图上短暂出现的多余持有者不算违例：释放命令已经到达服务器，只是回复来得晚。",
);

pub const fn fate(fate: LockFate) -> Words {
    match fate {
        LockFate::Violated => Words::new("{} had too many holders", "{} 持有者过多"),
        LockFate::Held => Words::new("{} held properly", "{} 持有正常"),
        LockFate::NeverHeld => Words::new("{} had no holder", "{} 无人持有过"),
    }
}

pub const NO_LOCK_HELD: Words = Words::new("nobody held a lock", "没有人持有过锁");

/// The value of a counter: `3 sold`.
pub fn counted(counter: &str, count: i64, lang: Lang) -> String {
    match lang {
        Lang::En => format!("{count} {counter}"),
        Lang::Zh => format!("{counter} {count}"),
    }
}
pub const VALUE_IS: Words = Words::new("{} is {}", "{} 为 {}");
pub const VALUE_GONE: Words = Words::new("{} is gone", "{} 已不在");
pub const UNFINISHED: Words = Words::new("{} did not finish", "{} 个没走完");
pub const ALL_FINISHED: Words = Words::new("all finished", "全部执行完");
pub const AND: Words = Words::new(", ", "，");

pub const EVERY_ORDER: Words = Words::new("every order", "穷举");
pub const SEARCHING: Words = Words::new("searching", "搜索中");
pub const STOPPING: Words = Words::new("stopping…", "正在停止……");
pub const SEARCHED: Words = Words::new("all tried", "已试遍");
pub const STOPPED: Words = Words::new("stopped: this is what was found", "已停止：以下是已找到的部分");
pub const NOT_EXPLORED: Words = Words::new("This cannot be explored", "无法穷举");
pub const TRIED: Words = Words::new("{} tried, {} more equivalent", "已试 {} 种，另有等价 {} 种");
/// Where the search counts states.
pub const STATES: Words = Words::new("{} states", "{} 个状态");
/// Counting completed orders.
pub const ORDERS_SO_FAR: Words =
    Words::new("{} orders so far through {} states", "目前 {} 种顺序，经过 {} 个状态");
pub const ORDERS_BY_STATES: Words = Words::new("{} orders through {} states", "{} 种顺序，经过 {} 个状态");
/// The estimated number of orders, the rate, the remaining time.
pub const OF_ABOUT: Words = Words::new("of about {}, {}/s, {} left", "约 {} 种要试，每秒 {} 种，还需 {}");
/// What makes a long search shorter, with the keys.
pub const SOONER: Words = Words::new("Sooner done: {}.", "想快些：{}。");
pub const FEWER_MOVES: Words = Words::new("{} allows fewer moves", "按 {} 减少步数");
pub const OTHER_FAULT: Words = Words::new("{} tries another fault, or none", "按 {} 换一种故障或不加故障");
pub const LEAVE_OUT: Words = Words::new("{} leaves out equivalent orders", "按 {} 略去等价的顺序");
pub const STOP_HERE: Words = Words::new("{} keeps what was found", "按 {} 停下，保留已找到的");
pub const GO_WRONG: Words = Words::new("{} orders go wrong", "{} 种顺序出错");
pub const ONE_GOES_WRONG: Words = Words::new("1 order goes wrong", "1 种顺序出错");
pub const NONE_GOES_WRONG: Words =
    Words::new("no order within these bounds goes wrong", "在此范围内，没有一种顺序出错");
pub const NOT_ALL_END: Words = Words::new(
    "no order breaks an invariant, but in some not everybody gets to the end",
    "没有一种顺序违反不变式，但有些顺序里并非人人都能走到结尾",
);
/// Few lessons fail without a fault, or if time passes only while nobody can move; with the key that adds one.
pub const NONE_WITHOUT_FAULT: Words = Words::new(
    "Without a fault or slowness none goes wrong; races may differ. {} adds faults, then slowness.",
    "没有故障、也没人动作慢时，没有一种顺序出错；并发竞争的结果可能不同。按 {} 依次加入各种故障和动作慢。",
);
/// The variant fails, but not with this fault; with the key for another one.
pub const NONE_WITH_FAULT: Words = Words::new(
    "With this fault none goes wrong, although the variant fails in its story. {} tries another fault.",
    "加入这种故障，没有一种顺序出错，但剧情里这个方案确实会失败。按 {} 换一种故障。",
);
pub const SOME_GO_WRONG: Words = Words::new(
    "some orders go wrong; how many is known when all have been tried",
    "有顺序会出错，有多少种要等全部试完才知道",
);
pub const NONE_SO_FAR: Words = Words::new("no order that goes wrong so far", "目前还没有出错的顺序");
/// One row on the smallest screen; what goes wrong and why is shown below.
pub const WITHIN: Words = Words::new("Up to {} moves, {}; {}.", "每种最多 {} 步，{}；{}。");
pub const NO_FAULT: Words = Words::new("without a fault", "不加故障");
pub const ONE_CRASH: Words = Words::new("at most one crash", "至多崩溃一次");
pub const ONE_FREEZE: Words = Words::new("at most one freeze", "至多冻结一次");
pub const ONE_LOST_REPLY: Words = Words::new("at most one lost reply", "至多丢失一次回复");
pub const ONE_SLOW: Words = Words::new("somebody slow at most once", "至多有一次某人动作慢");
pub const ONE_RESTART: Words = Words::new("at most one server restart", "服务器至多重启一次");
pub const PRUNED: Words = Words::new("equivalent orders left out", "等价的顺序只试一种");
/// Explains why few states stand for many orders, when orders are counted by states.
pub const MET: Words = Words::new(
    "orders that meet in one state go on as one, and each is counted",
    "到达同一状态的顺序合并往下走，计数时各算一种",
);
pub const NOT_PRUNED: Words = Words::new("each of them is tried", "逐一试遍");
pub const SHORTEST: Words = Words::new("The shortest that goes wrong", "最短的出错顺序");
pub const SHORTEST_YET: Words = Words::new("The shortest so far that goes wrong", "目前最短的出错顺序");
pub const STUCK_ORDER: Words = Words::new("The first that does not end", "第一种走不到头的顺序");
/// A chart of states by number of steps; with the number of states per mark.
pub const GROWS: Words = Words::new(
    "states so many steps from the beginning, {} to a mark",
    "从开头起走了多少步的状态，每格 {} 个",
);
pub const GROWS_ONE: Words =
    Words::new("states so many steps from the beginning", "从开头起走了多少步的状态");
/// While walking through states: their number, and the number that the search has counted.
pub const TOLD_APART: Words = Words::new(
    "{} states with every client told apart; the search has counted {}, as clients that nothing tells apart count as one another \
     there.",
    "把每个客户端分开算是 {} 个状态；搜索时可以互换的客户端算作同一个，所以数出来是 {} 个。",
);
pub const NO_ORDER: Words = Words::new("No order that goes wrong was found.", "没有找到出错的顺序。");
/// Walking through the states of a search: the maximum number of states.
pub const NO_STATES: Words = Words::new(
    "States can be walked through once the search is over, where there are at most {} of them with every client told apart.",
    "搜索结束后，把每个客户端分开算，状态不超过 {} 个时才能逐个查看。",
);
/// How many the search has counted.
pub const STATES_COUNTED: Words = Words::new("{} This search has counted {}.", "{}这次搜索数出了 {} 个。");
pub const STATE_OF: Words = Words::new("State {} of {}", "状态 {}/{}");
pub const STEPS_FROM_HERE: Words = Words::new("What may come next, and the way here", "下一步，以及来时的路");
pub const TO_STATE: Words = Words::new("to state {}", "到状态 {}");
pub const ORDERS_END_HERE: Words = Words::new("Orders end here.", "到此结束。");
pub const AT_THE_BEGINNING: Words = Words::new("Nobody has moved yet.", "还没有任何人走一步。");
pub const NO_KEYS: Words = Words::new("no key", "没有键");
pub const BELIEVES_HOLDS: Words = Words::new("holds {}", "持有 {}");
/// Where a client is in its program.
pub const STANDS_BEFORE: Words = Words::new("is before {}", "下一步是 {}");
pub const STANDS_WAITING: Words = Words::new("waits for {}", "还要等 {}");
pub const STANDS_AT_END: Words = Words::new("has come to the end", "已走到结尾");
pub const STANDS_DEAD: Words = Words::new("is dead", "已宕机");
pub const STANDS_FROZEN: Words = Words::new("frozen: {}", "已冻结：{}");
pub const THIS_ORDER: Words = Words::new("An order that goes wrong", "一种出错的顺序");
pub const SHORTEST_OF: Words =
    Words::new("No shorter order goes wrong than these {} choices:", "没有比这 {} 步更短的出错顺序：");
/// The length of the shortest failing order found when the search was stopped.
pub const SHORTEST_SO_FAR: Words = Words::new(
    "The shortest that was found before the search was stopped has these {} choices:",
    "停止搜索前找到的最短出错顺序共 {} 步：",
);
/// The number of orders that broke something, and what that is.
pub const ORDERS_BROKE: Words = Words::new("{}: {}", "{} 种：{}");
pub const TOLD_AT_THE_END: Words =
    Words::new("told when the search is over or stopped", "搜索结束或停止后显示");
/// Orders that were not followed to their ends: their number, after how many moves they were cut, and the key that
/// allows longer orders.
pub const CUT_ORDERS: Words = Words::new(
    "{} orders were cut after {} moves, ends unknown. {} allows more.",
    "{} 种顺序走满 {} 步就停了，后面未知。按 {} 增加步数。",
);
