//! Texts of the catalogue and of the screens around the lessons.

use super::super::theme::ThemeName;
use crate::text::Words;
use crate::{lesson::Track, text::Lang};

pub const TAGLINE: Words = Words::new("distributed locks, one move at a time", "一步一步看懂分布式锁");
pub const LESSONS: Words = Words::new("Lessons", "课程");
pub const NO_LESSONS: Words = Words::new("There are no lessons here.", "这里没有课程。");
pub const MINUTES: Words = Words::new("{} min", "{} 分钟");
pub const NEEDS: Words = Words::new("Servers", "所需服务");
pub const HOW_LIVE: Words = Words::new(
    "a real run, played back without servers. `lockstep doctor --install` gets the servers for live ones.",
    "播放的是一次真实运行，不需要服务器。想实时运行，请执行 `lockstep doctor --install` 安装服务器。",
);
pub const PREVIEW: Words = Words::new("What goes wrong, from a recording", "故障回放");
pub const VARIANTS: Words = Words::new("Variants", "方案");
pub const FAILS: Words = Words::new("shows the failure", "重现故障");
pub const PREVENTS: Words = Words::new("prevents it", "避免故障");
pub const QUESTIONS: Words = Words::new("{} interview questions", "{} 道面试题");
pub const ONE_QUESTION: Words = Words::new("{} interview question", "{} 道面试题");
pub const BROKEN: Words = Words::new("This lesson file has a mistake", "这个课程文件有错误");
pub const TOO_SMALL: Words = Words::new("Terminal too small", "终端窗口太小");
pub const NEEDS_SIZE: Words = Words::new("60x16 needed, {} here", "至少 60x16，现为 {}");
pub const QUIT_HINT: Words = Words::new("{} quits", "按 {} 退出");

pub const fn track(track: Track) -> Words {
    match track {
        Track::Basics => Words::new("Basics", "基础"),
        Track::Redis => Words::new("Redis", "Redis"),
        Track::Redisson => Words::new("Redisson", "Redisson"),
        Track::Zookeeper => Words::new("ZooKeeper", "ZooKeeper"),
        Track::Database => Words::new("Databases", "数据库"),
        Track::Libraries => Words::new("Other people's lock libraries", "现成的锁库"),
        Track::Choosing => Words::new("Choosing a lock", "锁的选型"),
    }
}

pub const DONE: Words = Words::new("done", "已完成");
pub const PREDICTED: Words = Words::new("{} of {} predicted", "猜对 {}/{}");
pub const SOLVED: Words = Words::new("{} of {} broken by hand", "亲手攻破 {}/{}");
pub const DAMAGED: Words = Words::new(
    "The file of your progress was damaged. It is set aside as {}.",
    "学习进度文件已损坏，另存为 {}。",
);
pub const NEWER: Words = Words::new(
    "Your progress was written by a newer Lockstep. It is left alone, and nothing is added.",
    "学习进度由更新版本的 Lockstep 写入，保持原样，本次不记录。",
);
pub const OUTDATED: Words = Words::new(
    "The lesson has changed since this was recorded: the verdict is that of its claims now.",
    "课程在录制之后有改动：结论按现在的断言得出。",
);
pub const RESUMED: Words =
    Words::new("Resumed where you left it. {} starts again.", "从上次离开的地方继续，按 {} 从头开始。");
pub const UNKEPT: Words = Words::new("Progress is not kept: {}", "学习进度无法保存：{}");

pub const THEME_CHANGED: Words =
    Words::new("Theme: {}. {} goes on to the next.", "主题：{}。按 {} 换下一个。");

pub const COMMANDS: Words = Words::new("Commands", "命令");
pub const NOTHING_MATCHES: Words = Words::new("nothing matches", "没有匹配项");
pub const NO_COMMAND_MATCHES: Words = Words::new(
    "nothing matches: delete some letters, or leave with Esc",
    "没有匹配项：删去几个字再试，或按 Esc 离开",
);
pub const FOUND: Words = Words::new("{} of {}", "{}/{}");
pub const SEARCH_HINT: Words = Words::new(
    "title, topic, variant or interview question, in English or 中文",
    "标题、主题、方案或面试题，中英文均可",
);
pub const OPEN: Words = Words::new("Open: {}", "打开：{}");
pub const THEME_IS: Words = Words::new("Theme: {}", "主题：{}");
pub const LANGUAGE_IS: Words = Words::new("Language: {}", "语言：{}");
pub const SPEED_IS: Words = Words::new("Speed: {}", "速度：{}");
pub const fn language(lang: Lang) -> &'static str {
    match lang {
        Lang::En => "English",
        Lang::Zh => "中文",
    }
}

pub const SERVED: Words = Words::new("can run here", "本机可以运行");
pub const NOT_SERVED: Words = Words::new(
    "cannot run here yet: `lockstep doctor --install` gets what is missing",
    "本机还不能运行：`lockstep doctor --install` 会安装缺少的程序",
);
pub const MORE_MISTAKES: Words =
    Words::new("(and {} more: `lockstep config --check`)", "（另有 {} 处：`lockstep config --check`）");
pub const DEFAULTS_STAND: Words = Words::new("The default stands in its place.", "这一项按默认值处理。");

pub const fn theme(name: ThemeName) -> Words {
    match name {
        ThemeName::Auto => Words::new("as the terminal", "跟随终端"),
        ThemeName::Dark => Words::new("dark", "深色"),
        ThemeName::Light => Words::new("light", "浅色"),
        ThemeName::Contrast => Words::new("high contrast", "高对比度"),
    }
}
