//! Texts of the help and around keys; the names of actions are in the table of actions.

use crate::text::Words;
use crate::ui::{keys::KeyScope, theme::glyphs};

pub type Hint = (&'static str, Words);

pub const START_AGAIN: Words = Words::new("start again", "重新开始");
pub const LOOK_BACK: Words = Words::new("look at what happened", "查看已发生的步骤");
pub const TO_CATALOGUE: Words = Words::new("catalogue", "返回目录");

/// A server or a client was stopped from outside: what is known, and the key that starts again.
pub const SILENT: Words =
    Words::new("{}; `{}` starts again on a fresh lab", "{}；按 `{}` 在全新环境中重新开始");

pub const GO_THERE: Words = Words::new("go there", "跳到这里");
pub const LET_GO: Words = Words::new("deselect", "取消选中");

pub const fn place(place: KeyScope) -> Words {
    match place {
        KeyScope::Catalogue => Words::new("The catalogue", "目录"),
        KeyScope::Variants => Words::new("A lesson's variants in the catalogue", "目录中的方案"),
        KeyScope::Lesson => Words::new("Moving through a lesson", "课程中的操作"),
        KeyScope::Asked => Words::new("A question in the story", "讲解中的提问"),
        KeyScope::Free => Words::new("Free play", "自由模式"),
        KeyScope::Branches => Words::new("The tree of branches", "分支树"),
        KeyScope::Story => Words::new("This pane: the story", "当前窗格：讲解"),
        KeyScope::Lanes => Words::new("This pane: who believes what", "当前窗格：各方眼中的锁"),
        KeyScope::Servers => Words::new("This pane: the servers", "当前窗格：服务器"),
        KeyScope::Wire => Words::new("This pane: the wire", "当前窗格：网络收发"),
        KeyScope::Program => Words::new("This pane: the programs", "当前窗格：程序"),
        KeyScope::Comparison => Words::new("Before and after", "修复前后对比"),
        KeyScope::Races => Words::new("Races of a variant", "方案的多次并发竞争"),
        KeyScope::Single => Words::new("One run of many", "其中一次运行"),
        KeyScope::Exploration => Words::new("Every order of moves", "所有执行顺序"),
        KeyScope::States => Words::new("The states of every order", "穷举的各个状态"),
        KeyScope::Decks => Words::new("The interview: decks and results", "面试：选题与结果"),
        KeyScope::Exam => Words::new("An order of moves in an exam", "考试中的一个执行顺序"),
        KeyScope::Card => Words::new("A question of the interview", "面试中的一道题"),
        KeyScope::Notes => Words::new("The teacher's notes", "教师备注"),
        KeyScope::Kata => Words::new("The exercises", "练习"),
        KeyScope::Class => Words::new("A class (`lockstep teach`)", "班级（`lockstep teach`）"),
        KeyScope::Page => Words::new("Pages such as this one", "像这样的浮层"),
        KeyScope::Everywhere => Words::new("On every screen", "任何界面"),
        KeyScope::Field => Words::new("While you type", "输入时"),
    }
}

/// A key that does nothing here: the key, the scope in which it works, and what it does there.
pub const ELSEWHERE: Words =
    Words::new("`{}` does nothing here. Elsewhere ({}): {}.", "`{}` 在这里不起作用。在别处（{}）：{}。");
pub const ONLY_IN_SEQUENCE: Words = Words::new(
    "That key scrolls a sequence diagram: press {} for it.",
    "这个键用来左右移动时序图：先按 {} 切换过去。",
);
pub const SEQUENCE_FITS: Words =
    Words::new("The whole diagram is on the screen.", "整张时序图都在屏幕上，不用移动。");
pub const NO_CROWD: Words = Words::new(
    "No client of this variant is a crowd that could be shown member by member.",
    "本方案没有成群的客户端可以逐个显示。",
);
/// Value: the key for free play.
pub const NO_QUESTION: Words = Words::new(
    "No question is open. In free play ({}), a number lets a client move.",
    "现在没有提问。数字键在自由模式（{}）里让客户端走一步。",
);
pub const NO_NEXT_MARK: Words = Words::new(
    "No question, fault or violation comes later, as far as the story has been told.",
    "到目前走到的地方为止，后面没有提问、故障或违例了。",
);
pub const NO_PREVIOUS_MARK: Words =
    Words::new("No question, fault or violation comes before this.", "前面没有提问、故障或违例了。");

pub const HELP: Words = Words::new("Help", "帮助");
pub const PROGRAMS: Words = Words::new("Reading the programs", "怎么读程序");
/// Signs and terms of the pane of programs.
pub const PROGRAM_ROWS: &[Hint] = &[
    (
        "✓ ●▸ 9▸",
        Words::new(
            "the line that was just done; the client that does this line now or next; nine clients that do",
            "刚执行完的一行；正在执行或接下来要执行这一行的客户端；这样的客户端有 9 个",
        ),
    ),
    (
        "acquire SET …",
        Words::new(
            "an operation: the lesson's name for it, then what is sent",
            "一个操作：前面是课程给它起的名字，后面是发出的命令",
        ),
    ),
    (
        "use",
        Words::new(
            "a recipe that lessons share; what it does stands below",
            "各课共用的一段步骤，内容展开在下面",
        ),
    ),
    (
        "waits holds drops",
        Words::new(
            "what the client believes of the lock from here on; `shares` as a reader, `unsure` where it cannot know",
            "从这里起客户端对锁的看法：在等、持有、不再持有；shares 指共享（读锁），unsure 指无法确定",
        ),
    ),
    (
        "until … every …",
        Words::new("done again, after such a pause, until this is true", "每隔这么久再做一次，直到条件成立"),
    ),
    ("take … within …", Words::new("waits for a message, no longer than this", "等一条消息，最多等这么久")),
    (
        "none",
        Words::new("no value: a nil reply, or nothing was asked yet", "没有值：返回了 nil，或者还没有问过"),
    ),
    ("${…} {…}", Words::new("a value that is put in when the line is done", "执行到这一行时才代入的值")),
];
/// Where the signs are explained. Value: the key that leads there.
pub const LEGEND_BELOW: Words =
    Words::new("{}: what the signs mean, below the keys", "按 {} 往下翻：图例在按键说明之后");
pub const LEGEND: Words = Words::new("Reading the lanes", "时间线图例");
/// The meaning of the glyphs: first those of the lanes, then those of the servers and the wire.
pub const LEGEND_ROWS: &[Hint] = &[
    (
        "● ■ ▲ …",
        Words::new("a client does something: its command and the reply", "客户端发出命令及收到的返回"),
    ),
    (glyphs::HOLDING, Words::new("believes that it holds the lock", "认为自己持有锁")),
    (
        glyphs::SHARING,
        Words::new(
            "the same of a lock that it shares, as a reader does",
            "同上，但与其他客户端共享，例如读锁",
        ),
    ),
    (glyphs::WAITING, Words::new("waits for the lock", "等待锁")),
    (glyphs::UNSURE, Words::new("cannot be sure", "无法确定")),
    (
        "┌┄┄┐",
        Words::new(
            "believes that it holds the lock, and no server says so any more",
            "自己仍以为持有锁，而服务器上已经没有",
        ),
    ),
    (
        glyphs::CLASHING,
        Words::new("more holders than the lock may have: the failure", "持有者超出锁的上限：故障"),
    ),
    (
        "≡≡ ░░ ▓▓",
        Words::new(
            "what a client has read and acts on: as it is, outdated, and something sold on it all the same",
            "客户端读到并据此行动的值：仍然有效、已经过期、过期了还照样卖出",
        ),
    ),
    (
        "██ 2 / 1",
        Words::new(
            "what was sold, a block for each, and how many there were",
            "卖出的件数，一格一件；后面是原有的件数",
        ),
    ),
    (
        "▁ ▄ ▓",
        Words::new(
            "in the catalogue, a failure from beginning to end: nobody holds the lock, a client does, too many do",
            "目录里每课故障的缩略：没人持有锁、有客户端持有、持有者过多",
        ),
    ),
    (
        glyphs::STARRED,
        Words::new("in the catalogue, what interviewers like to ask about", "目录里：面试常考"),
    ),
    (
        "▱▱▱ 0/9",
        Words::new(
            "in the catalogue, how many of a track's variants you have finished",
            "目录里：这一组共有几个方案，已经走完几个",
        ),
    ),
    ("┃ ╱ ░ █", Words::new("the same on the lifelines of a sequence", "时序图生命线上的同样含义")),
    (
        "──▮ ✗──",
        Words::new("a message that a link holds, a reply that is lost", "被链路挂起的消息、丢失的回复"),
    ),
    ("▒ ╍", Words::new("frozen (SIGSTOP), as by a long GC pause", "被冻结（SIGSTOP），如同长时间 GC 停顿")),
    ("≠", Words::new("before and after: the runs part here", "修复前后对比：从这里开始不同")),
    ("◷", Words::new("a server's clock was set", "某台服务器的时钟被拨动")),
    (glyphs::KILLED, Words::new("killed (SIGKILL)", "被杀死（SIGKILL）")),
    (glyphs::DEAD, Words::new("dead from there on", "此后已宕机")),
    (glyphs::DONE, Words::new("has finished; or: this is so", "已执行完毕；或：成立")),
    (
        glyphs::HELD,
        Words::new("on a server: the key is there, without an expiry", "服务器上：键存在，没有过期时间"),
    ),
    ("▁▄█", Words::new("on a server: how much of the lease is left", "服务器上：租期还剩多少")),
    (glyphs::PLAYHEAD, Words::new("the moment that you look at", "当前所看的时刻")),
    (glyphs::NOTIFIED, Words::new("a notification", "通知")),
    (glyphs::AGAIN, Words::new("tries again, but not before so long", "至少隔这么久才会再试")),
    (glyphs::WATCH, Words::new("watched, and by how many", "被监听，以及监听者个数")),
    (glyphs::STOPPED, Words::new("frozen, or a link that keeps what is sent", "已冻结，或链路被挂起")),
    (glyphs::RELEASED, Words::new("goes on", "恢复")),
    (glyphs::CUT, Words::new("a link is cut; or: this is not so", "链路断开；或：不成立")),
    (
        "+ ~ -",
        Words::new(
            "on a server, by the last step: new, changed, gone",
            "服务器上，上一步带来的变化：新增、改变、消失",
        ),
    ),
];
pub const LEGEND_AXIS: Words = Words::new(
    "Time runs to the right and is elastic: order is always exact, long waits are drawn short.",
    "时间向右流动，刻度有弹性：先后顺序准确，长时间的等待会画得短一些。",
);
