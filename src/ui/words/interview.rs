//! Texts of the interview and of the teacher's notes.

use crate::text::{Lang, Words};

pub const INTERVIEW: Words = Words::new("Interview", "面试");
pub const MOCK_INTERVIEW: Words = Words::new("Mock interview", "模拟面试");
pub const DECKS: Words = Words::new("What shall I ask?", "问哪些题？");
pub const DECK_ALL: Words = Words::new("Everything", "全部题目");
pub const DECK_DUE: Words = Words::new("Due now", "待复习");
pub const DECK_STARRED: Words = Words::new("★ Asked most often", "★ 高频题");
pub const DECK_BRIEF: Words = Words::new("★ 20 minutes before the interview", "★ 面试前 20 分钟");
pub const DECK_ARTICLE: Words = Words::new("Article: {}", "文章：{}");
/// The articles that the built-in lessons name, by their short names.
const ARTICLES: [(&str, Words); 5] = [
    ("S0", Words::new("Curator and ZooKeeper in JavaGuide", "JavaGuide 的 ZooKeeper 与 Curator 分布式锁")),
    ("S1", Words::new("A dialogue on ZooKeeper locks", "ZooKeeper 分布式锁（对话体）")),
    ("S2", Words::new("A note on ZooKeeper locks", "ZooKeeper 分布式锁笔记")),
    ("S3", Words::new("Four key points of a Redis lock", "Redis 分布式锁的四个关键点")),
    ("S4", Words::new("Locks from database to Redlock", "分布式锁总览（从数据库到 Redlock）")),
];

/// The title of an article, or `name` itself if the article is unknown.
pub fn article(name: &str, lang: Lang) -> &str {
    let known = ARTICLES.iter().find(|(short, _)| short.eq_ignore_ascii_case(name));
    known.map_or(name, |(_, title)| title.get(lang))
}
pub const COUNT_CARDS: Words = Words::new("{} cards", "共 {} 题");
pub const COUNT_DUE: Words = Words::new("{} due", "待复习 {}");
pub const COUNT_NEW: Words = Words::new("{} new", "新题 {}");
pub const NO_INTERVIEW: Words = Words::new("Nothing to ask here.", "这里没有题目。");
pub const SAY_IT: Words =
    Words::new("Say your answer aloud. {} shows mine.", "先自己说一遍，再按 {} 看参考答案。");
pub const ASKS_ON: Words =
    Words::new("{} asks what a good interviewer asks next.", "按 {} 看面试官会怎么追问。");
pub const ANSWERS_ON: Words =
    Words::new("Answer this too. {} shows mine.", "追问也先自己答，再按 {} 看参考答案。");
pub const FOLLOW_UP: Words = Words::new("And then: ", "追问：");
pub const SEE_IT: Words = Words::new("{} shows it happen: {}", "按 {} 看它真实发生（{}）");
pub const STEP_NUMBER: Words = Words::new("step {}", "第 {} 步");
pub const GRADES: [Words; 4] = [
    Words::new("again", "重来"),
    Words::new("hard", "困难"),
    Words::new("good", "良好"),
    Words::new("easy", "简单"),
];
pub const NTH: Words = Words::new("{} of {}", "{}/{}");
pub const THIS_QUESTION: Words = Words::new("this one {}", "本题 {}");
pub const ROUND_OVER: Words = Words::new("{} answers in {}", "答了 {} 题，用时 {}");
pub const LOOK_AGAIN: Words = Words::new("To look at again", "需要再看的题");
pub const ALL_KNOWN: Words = Words::new("You knew all of it.", "全都答上来了。");
pub const DONE_FOR_TODAY: Words =
    Words::new("Done for now: none of these {} cards is due.", "暂时都答完了：这 {} 题都还没到复习时间。");
pub const ASK_EARLY: Words = Words::new("{} asks them all the same.", "按 {} 现在就再问一遍。");
pub const NEXT_DUE: Words = Words::new("The next card is due in {}.", "下一题将在 {}后复习。");
pub const BACK_TO_CARD: Words = Words::new("`{}` goes back to the interview", "按 `{}` 回到面试");

pub const EXAM: Words = Words::new("Exam", "考试");
pub const EXAMINED_ORDER: Words = Words::new("The order in question", "考题中的顺序");
pub const EXAM_LOOKS: Words = Words::new(
    "Looking for an order of moves that no lesson shows, and carrying it out on real servers …",
    "正在寻找课程里没有出现过的执行顺序，并在真实服务器上执行一遍……",
);
pub const EXAM_NEVER: Words = Words::new("Must never happen: {}", "绝不能发生：{}");
pub const EXAM_OPENING: Words = Words::new("At first: {}", "开始时：{}");
pub const EXAM_SAFE: Words = Words::new(
    "Is this order safe?  {} it is safe · {} it is not",
    "这个顺序安全吗？按 {} 安全，按 {} 不安全",
);
pub const EXAM_RIGHT: Words = Words::new("✓ Right.", "✓ 答对了。");
pub const EXAM_WRONG: Words = Words::new("✗ Wrong.", "✗ 答错了。");
pub const EXAM_WAS_SAFE: Words = Words::new(
    "It is safe: carried out just now, it broke nothing. The replies show it.",
    "它是安全的：刚刚真实执行过，什么也没违反，看各条回复就知道。",
);
pub const EXAM_WAS_NOT: Words = Words::new("It is not safe.", "它不安全。");
pub const EXAM_NEXT: Words =
    Words::new("{} goes on · {} lets you watch it happen", "按 {} 下一题，按 {} 看它真实发生");
pub const EXAM_OVER: Words = Words::new("{} of {} right", "答对 {} 题，共 {} 题");
pub const EXAM_NONE: Words = Words::new(
    "None of these lessons can be examined: an exam needs two to four clients, on one server of a product or on Redlock's five.",
    "这些课程出不了题：考题只来自有两到四个客户端、跑在单台服务器或 Redlock 五台主节点上的课程。",
);
pub const EXAM_LEAVES_OUT: Words = Words::new(
    "Not asked: what a failover does to a lock (Sentinel, Redis Cluster, ensembles). No server fails in these orders; the lessons show it.",
    "不考主从切换和选主（哨兵、Redis Cluster、ZooKeeper 和 etcd 集群）：考题里的服务器都不出故障。这部分请看相应的课程。",
);
pub const EXAM_SAID_SAFE: Words = Words::new("safe", "安全");
pub const EXAM_SAID_UNSAFE: Words = Words::new("not safe", "不安全");

pub const NOTHING_PLAYS: Words = Words::new(
    "No lesson is being played. Start one in another terminal: `lockstep play LESSON`. Its notes appear here.",
    "现在没有正在播放的课程。请在另一个终端运行 `lockstep play LESSON`，备注会显示在这里。",
);
pub const THIS_STEP: Words = Words::new("ON THE SCREEN", "屏幕上");
pub const NEXT_STEP: Words = Words::new("NEXT", "下一步");
pub const WHOLE_LESSON: Words = Words::new("ABOUT THIS LESSON", "本课备注");

/// The time until a card is due again.
pub fn interval(lang: Lang, seconds: i64) -> String {
    const UNITS: [(i64, Words); 5] = [
        (365 * 86_400, Words::new("{} y", "{} 年")),
        (30 * 86_400, Words::new("{} mo", "{} 个月")),
        (86_400, Words::new("{} d", "{} 天")),
        (3_600, Words::new("{} h", "{} 小时")),
        (60, Words::new("{} min", "{} 分钟")),
    ];
    let fits = UNITS.iter().find(|(unit, _)| seconds >= *unit);
    let (unit, words) = fits.unwrap_or(&UNITS[UNITS.len() - 1]);
    words.with(lang, &[&(seconds / unit).max(1).to_string()])
}

/// Minutes and seconds of a stopwatch.
pub fn stopwatch(time: std::time::Duration) -> String {
    let seconds = time.as_secs();
    match seconds / 3600 {
        0 => format!("{:02}:{:02}", seconds / 60, seconds % 60),
        hours => format!("{hours}:{:02}:{:02}", seconds / 60 % 60, seconds % 60),
    }
}
