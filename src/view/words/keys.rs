//! Words about keys: the hints of the bottom line and the help.

use super::Words;
use crate::view::theme::glyphs;

/// A key, and what it does.
pub type Hint = (&'static str, Words);

/// Hints under the catalogue.
pub const CATALOGUE_HINTS: &[Hint] = &[
    ("Enter", Words::new("open", "打开")),
    ("↑↓", Words::new("choose", "选择")),
    ("PgUp PgDn", Words::new("read", "翻看")),
    ("L", Words::new("中文", "English")),
    ("?", Words::new("help", "帮助")),
    ("q", Words::new("quit", "退出")),
];

/// Hints under a lesson, the most needed first: a narrow screen shows as many as fit.
pub const LESSON_HINTS: &[Hint] = &[
    ("→", Words::new("step", "下一步")),
    ("←", Words::new("back", "回退")),
    ("Space", Words::new("play/pause", "播放/暂停")),
    ("v", Words::new("next variant", "下一方案")),
    ("b", Words::new("before/after", "对比")),
    ("?", Words::new("help", "帮助")),
    ("q", Words::new("catalogue", "目录")),
    ("L", Words::new("中文", "English")),
    ("+-", Words::new("speed", "速度")),
    ("w", Words::new("timeline/sequence", "时间线/时序图")),
    ("Tab", Words::new("pane", "切换窗格")),
    ("z", Words::new("zoom", "放大")),
    ("P", Words::new("present", "演示")),
    ("i", Words::new("interview", "面试题")),
    ("r", Words::new("restart", "重来")),
];

/// Hints below a chosen event.
pub const CHOSEN_HINTS: &[Hint] = &[
    ("Enter", Words::new("go there", "跳到这里")),
    ("Esc", Words::new("let go", "取消选中")),
];

/// Hints under a comparison, the most needed first.
pub const COMPARE_HINTS: &[Hint] = &[
    ("→", Words::new("step", "下一步")),
    ("←", Words::new("back", "回退")),
    ("d", Words::new("first difference", "第一处不同")),
    ("v", Words::new("other fix", "换修复方案")),
    ("V", Words::new("other failure", "换故障方案")),
    ("q", Words::new("close", "关闭")),
    ("Space", Words::new("play/pause", "播放/暂停")),
    ("Home End", Words::new("start, end", "开头、结尾")),
    ("L", Words::new("中文", "English")),
    ("?", Words::new("help", "帮助")),
    ("↑↓", Words::new("lanes", "滚动时间线")),
    ("PgUp PgDn", Words::new("verdicts", "滚动结论")),
    ("r", Words::new("run again", "重新运行")),
];

/// Hints under an overlay.
pub const OVERLAY_HINTS: &[Hint] = &[
    ("↑↓", Words::new("scroll", "滚动")),
    ("Esc", Words::new("close", "关闭")),
];

/// Hints when the lab has failed.
pub const FAILED_HINTS: &[Hint] = &[
    ("r", Words::new("start again", "重新开始")),
    ("←→", Words::new("look at what happened", "查看已发生的步骤")),
    ("Esc", Words::new("catalogue", "返回目录")),
];

/// The help's heading.
pub const HELP: Words = Words::new("Help", "帮助");
/// The help's parts and their keys.
pub const HELP_KEYS: &[(Words, &[Hint])] = &[
    (
        Words::new("Moving through a lesson", "课程中的操作"),
        &[
            ("→ n l", Words::new("take the next step", "前进一步")),
            (
                "← p h",
                Words::new("one step back (touches no server)", "回退一步（不影响服务器）"),
            ),
            (
                "Space",
                Words::new("play or pause, even in mid-step", "播放或暂停，步骤中途也可以"),
            ),
            (
                "1 2 3 4",
                Words::new("answer the question in the story", "回答讲解里的提问"),
            ),
            ("s", Words::new("skip the question", "跳过提问")),
            (
                "[ ]",
                Words::new(
                    "to the question, fault or violation before or after",
                    "跳到上一个、下一个提问、故障或违例",
                ),
            ),
            (
                "N",
                Words::new(
                    "questions on or off, as for presenting",
                    "开启或关闭提问，适合演示",
                ),
            ),
            (
                "+ -",
                Words::new("faster, slower: 0.25x to 10x", "加速、减速：0.25x 到 10x"),
            ),
            (
                "Home End",
                Words::new("first step, newest step", "第一步、最新一步"),
            ),
            (
                "r",
                Words::new("start again on a fresh lab", "换一套全新的服务器重来"),
            ),
            (
                "v V",
                Words::new("next or previous variant", "下一个、上一个方案"),
            ),
            (
                "b",
                Words::new(
                    "before and after: the failure beside its fix",
                    "修复前后对比：故障方案与修复方案并排",
                ),
            ),
        ],
    ),
    (
        Words::new("Before and after", "修复前后对比"),
        &[
            ("d", Words::new("go to the first difference", "跳到第一处不同")),
            (
                "v V",
                Words::new("another fix, another failure", "换一个修复方案、故障方案"),
            ),
            (
                "↑ ↓ PgUp PgDn",
                Words::new("scroll the lanes, the verdicts", "滚动时间线、结论"),
            ),
        ],
    ),
    (
        Words::new("Looking around", "查看"),
        &[
            (
                "Tab",
                Words::new("give the next pane the focus", "焦点移到下一个窗格"),
            ),
            (
                "w",
                Words::new("timeline or sequence of messages", "时间线或时序图"),
            ),
            (
                "↑ ↓",
                Words::new(
                    "choose an event of the lanes or the wire; else scroll",
                    "在时间线、时序图或网络收发中选中事件；其他窗格为滚动",
                ),
            ),
            (
                "Enter Esc",
                Words::new("go to the chosen event, let go of it", "跳到选中的事件、取消选中"),
            ),
            (
                "PgUp PgDn < >",
                Words::new(
                    "scroll the pane with the focus, a wide sequence",
                    "滚动当前窗格、左右移动时序图",
                ),
            ),
            (
                "e",
                Words::new(
                    "a crowd member by member, or as one band",
                    "逐个显示群体成员，或合并显示",
                ),
            ),
            (
                "z",
                Words::new("the pane with the focus alone, or all", "只看当前窗格，再按恢复"),
            ),
            (
                "P",
                Words::new(
                    "present: large story and timelines only",
                    "演示模式：只留大号讲解和时间线",
                ),
            ),
            (
                "i",
                Words::new("interview questions and answers", "面试题与参考答案"),
            ),
            ("L", Words::new("中文 / English", "English / 中文")),
            (
                "T",
                Words::new(
                    "theme: as the terminal, dark, light, high contrast",
                    "主题：跟随终端、深色、浅色、高对比度",
                ),
            ),
            ("q Esc", Words::new("back to the catalogue", "返回目录")),
            ("Q Ctrl-C", Words::new("quit", "退出程序")),
        ],
    ),
];

/// The help's legend.
pub const LEGEND: Words = Words::new("Reading the lanes", "时间线图例");
/// What the glyphs of the screen mean: those of the lanes, then those of the servers and the wire.
pub const LEGEND_ROWS: &[Hint] = &[
    (
        "● ■ ▲ …",
        Words::new(
            "a client does something: its command and the reply",
            "客户端发出命令及收到的返回",
        ),
    ),
    (
        glyphs::HOLDING,
        Words::new("believes that it holds the lock", "认为自己持有锁"),
    ),
    (glyphs::WAITING, Words::new("waits for the lock", "等待锁")),
    (glyphs::UNSURE, Words::new("cannot be sure", "无法确定")),
    (
        glyphs::CLASH,
        Words::new("two holders at once: the failure", "同时有两个持有者：故障"),
    ),
    (
        "┃ ╱ ░ █",
        Words::new(
            "the same on the lifelines of a sequence",
            "时序图生命线上的同样含义",
        ),
    ),
    (
        "──▮ ✗──",
        Words::new(
            "a message that a link holds, a reply that is lost",
            "被链路挂起的消息、丢失的回复",
        ),
    ),
    (
        glyphs::FROZEN,
        Words::new(
            "frozen (SIGSTOP), as by a long GC pause",
            "被冻结（SIGSTOP），如同长时间 GC 停顿",
        ),
    ),
    (
        "≠",
        Words::new(
            "before and after: the runs part here",
            "修复前后对比：从这里开始不同",
        ),
    ),
    (
        "◷",
        Words::new("a server's clock was set", "某台服务器的时钟被拨动"),
    ),
    (
        glyphs::KILLED,
        Words::new("killed (SIGKILL)", "被杀死（SIGKILL）"),
    ),
    (glyphs::DEAD, Words::new("dead from there on", "此后已死")),
    (
        glyphs::DONE,
        Words::new("has finished; or: this is so", "已执行完毕；或：成立"),
    ),
    (
        glyphs::HELD,
        Words::new(
            "on a server: the key is there, without an expiry",
            "服务器上：键存在，没有过期时间",
        ),
    ),
    (
        "▁▄█",
        Words::new(
            "on a server: how much of the lease is left",
            "服务器上：租期还剩多少",
        ),
    ),
    (
        glyphs::PLAYHEAD,
        Words::new("the moment that you look at", "当前所看的时刻"),
    ),
    (glyphs::NOTIFIED, Words::new("a notification", "通知")),
    (
        glyphs::AGAIN,
        Words::new("tries again after so long", "隔这么久再试一次"),
    ),
    (
        glyphs::WATCH,
        Words::new("watched, and by how many", "被监听，以及监听者个数"),
    ),
    (
        glyphs::STOPPED,
        Words::new(
            "frozen, or a link that keeps what is sent",
            "已冻结，或链路被挂起",
        ),
    ),
    (glyphs::RELEASED, Words::new("goes on", "恢复")),
    (
        glyphs::CUT,
        Words::new("a link is cut; or: this is not so", "链路断开；或：不成立"),
    ),
    (
        "+ ~ -",
        Words::new(
            "on a server, by the last step: new, changed, gone",
            "服务器上，上一步带来的变化：新增、改变、消失",
        ),
    ),
];
/// What the time axis means.
pub const LEGEND_AXIS: Words = Words::new(
    "Time runs to the right and is elastic: order is always exact, long waits are drawn short.",
    "时间向右流动，刻度有弹性：先后顺序准确，长时间的等待会画得短一些。",
);
