//! The table of actions.

use super::{
    Action, Erase, Hint,
    KeyScope::{
        self, Asked, Branches, Card, Catalogue, Class, Comparison, Decks, Everywhere, Exam, Exploration,
        Field, Free, Kata, Lanes, Lesson, Notes, Page, Program, Races, Servers, Single, States, Story,
        Variants, Wire,
    },
    Row,
};
use crate::text::Words;

const SCROLLED: &[KeyScope] = &[
    Catalogue,
    Variants,
    Page,
    Decks,
    Card,
    Exam,
    Branches,
    Comparison,
    Races,
    Exploration,
    States,
    Story,
    Lanes,
    Servers,
    Wire,
    Program,
    Field,
    Kata,
];
const LISTS: &[KeyScope] = &[Catalogue, Variants, Page, Races, Exploration, Decks, Card, Exam, Branches];
const STEPPED: &[KeyScope] = &[Lesson, Comparison, Single];
const PANES: &[KeyScope] = &[Lesson, Single];

const fn act(
    id: &'static str,
    action: Action,
    keys: &'static [&'static str],
    scopes: &'static [KeyScope],
    (en, zh): (&'static str, &'static str),
) -> Row {
    Row { id, action, keys, scopes, name: Words::new(en, zh), fold: None, hints: &[] }
}

impl Row {
    const fn fold(self, more: usize, en: &'static str, zh: &'static str) -> Self {
        Self { fold: Some((more, Words::new(en, zh))), ..self }
    }

    const fn hints(self, hints: &'static [Hint]) -> Self {
        Self { hints, ..self }
    }
}

const fn hint(place: KeyScope, rank: u8, en: &'static str, zh: &'static str) -> Hint {
    Hint { place, rank, pair: false, words: Words::new(en, zh) }
}

const fn pair(place: KeyScope, rank: u8, en: &'static str, zh: &'static str) -> Hint {
    Hint { pair: true, ..hint(place, rank, en, zh) }
}

/// Every action, in the order of the help, the palette and docs/keys.md.
#[rustfmt::skip]
pub const TABLE: &[Row] = &[
    // A lesson.
    act("step", Action::Forward, &["right", "n", "l"], STEPPED, ("take the next step", "前进一步"))
        .hints(&[hint(Lesson, 1, "step", "下一步"), hint(Comparison, 1, "step", "下一步"), hint(Single, 1, "step", "下一步")]),
    act("back", Action::Back, &["left", "p", "h"], &[Lesson, Comparison, Single, Free],
        ("one step back (touches no server)", "回退一步（不影响服务器）"))
        .hints(&[hint(Lesson, 2, "back", "回退"), hint(Comparison, 2, "back", "回退"), hint(Single, 2, "back", "回退"), hint(Free, 4, "back", "回退")]),
    act("play", Action::Toggle, &["space"], STEPPED,
        ("play or pause, even in mid-step", "播放或暂停，步骤中途也可以"))
        .hints(&[hint(Lesson, 3, "play", "播放"), hint(Comparison, 7, "play/pause", "播放/暂停"), hint(Single, 3, "play/pause", "播放/暂停")]),
    act("first-step", Action::End(false), &["home"], STEPPED, ("go to the first step", "跳到第一步"))
        .fold(1, "first step, newest step", "第一步、最新一步")
        .hints(&[pair(Comparison, 8, "start, end", "开头、结尾")]),
    act("newest-step", Action::End(true), &["end"], STEPPED, ("go to the newest step", "跳到最新一步")),
    act("faster", Action::Faster(true), &["+", "="], STEPPED, ("faster", "加速"))
        .fold(1, "faster, slower: 0.25x to 10x", "加速、减速：0.25x 到 10x")
        .hints(&[pair(Lesson, 10, "speed", "速度")]),
    act("slower", Action::Faster(false), &["-", "_"], STEPPED, ("slower", "减速")),
    act("next-variant", Action::Variant(true), &["v"], &[Lesson, Races, Exploration], ("next variant", "下一个方案"))
        .fold(1, "next or previous variant", "下一个、上一个方案")
        .hints(&[hint(Lesson, 4, "variant", "下一方案"), hint(Races, 6, "next variant", "下一方案"), hint(Exploration, 7, "next variant", "下一方案")]),
    act("previous-variant", Action::Variant(false), &["V"], &[Lesson, Races, Exploration], ("previous variant", "上一个方案")),
    act("restart", Action::Restart, &["r"], &[Lesson, Comparison, Races, Exploration],
        ("start again on a fresh lab", "换一套全新的服务器重来"))
        .hints(&[hint(Lesson, 14, "restart", "重来"), hint(Comparison, 13, "run again", "重新运行"), hint(Races, 9, "again", "重新竞争"), hint(Exploration, 9, "again", "重新搜索")]),
    act("focus", Action::Focus, &["tab", "shift-tab"], PANES,
        ("focus the next pane", "焦点移到下一个窗格"))
        .hints(&[hint(Lesson, 10, "pane", "切换窗格"), hint(Single, 8, "pane", "切换窗格")]),
    act("program", Action::Program, &["c"], PANES,
        ("show the clients' programs: the last and the next line", "客户端的程序：刚执行的一行和下一行"))
        .hints(&[hint(Lesson, 4, "program", "程序"), hint(Single, 6, "program", "程序")]),

    act("lens", Action::SwitchDiagram, &["w"], PANES, ("switch between timeline and sequence diagram", "时间线或时序图"))
        .hints(&[hint(Lesson, 5, "sequence", "时序图"), hint(Single, 6, "timeline/sequence", "时间线/时序图")]),
    act("go-there", Action::Open, &["enter"], STEPPED,
        ("go to the chosen event, or take the next step", "跳到选中的事件，没有选中则前进一步")),
    act("left-aside", Action::Sideways(false), &["<"], PANES, ("scroll a wide sequence diagram left", "时序图向左移"))
        .fold(1, "move a wide sequence left, right", "左右移动时序图"),
    act("right-aside", Action::Sideways(true), &[">"], PANES, ("scroll a wide sequence diagram right", "时序图向右移")),
    act("crowd", Action::Crowd, &["e"], PANES,
        ("show a crowd member by member, or as one band", "逐个显示群体成员，或合并显示")),
    act("zoom", Action::Zoom, &["z"], PANES, ("show only the focused pane, or all panes", "只看当前窗格，再按恢复"))
        .hints(&[hint(Lesson, 11, "zoom", "放大"), hint(Single, 9, "zoom", "放大")]),
    act("taller", Action::Rows(true), &["}"], PANES, ("give the timelines more rows (remembered)", "时间线多占几行（会记住）"))
        .fold(1, "more or fewer rows for the timelines; remembered", "时间线多占、少占几行（会记住）"),
    act("lower", Action::Rows(false), &["{"], PANES, ("give the timelines fewer rows (remembered)", "时间线少占几行（会记住）")),
    act("present", Action::Present, &["P"], PANES,
        ("present: story and timelines only, spaced out", "演示模式：只留讲解和时间线，行距加大"))
        .hints(&[hint(Lesson, 12, "present", "演示")]),
    act("previous-mark", Action::Mark(false), &["["], PANES,
        ("go to the previous question, fault or violation", "跳到上一个提问、故障或违例"))
        .hints(&[pair(Single, 5, "violation", "跳到违例")])
        .fold(1, "to the question, fault or violation before or after", "跳到上一个、下一个提问、故障或违例"),
    act("next-mark", Action::Mark(true), &["]"], PANES,
        ("go to the next question, fault or violation", "跳到下一个提问、故障或违例")),

    // A question in the story.
    act("answer-1", Action::Answer(0), &["1"], &[Asked], ("choose answer 1", "选答案 1"))
        .fold(3, "answer the question in the story", "回答讲解里的提问"),
    act("answer-2", Action::Answer(1), &["2"], &[Asked], ("choose answer 2", "选答案 2")),
    act("answer-3", Action::Answer(2), &["3"], &[Asked], ("choose answer 3", "选答案 3")),
    act("answer-4", Action::Answer(3), &["4"], &[Asked], ("choose answer 4", "选答案 4")),
    act("skip", Action::Skip, &["s"], &[Asked], ("skip the question", "跳过提问")),

    // Free play.
    act("free", Action::Free, &["f"], &[Lesson, Free, Single], ("free play: you choose who moves; at an earlier step, start a branch", "自由模式：由你决定谁走；在较早的步骤则另开分支"))
        .hints(&[hint(Lesson, 5, "free play", "自由模式"), hint(Free, 6, "branch here", "从这里分支"), hint(Single, 5, "go on yourself", "自己接着走")]),
    act("move-1", Action::MoveActor(0), &["1"], &[Free], ("the client with the number 1 makes its next move", "1 号客户端走下一步"))
        .fold(8, "the client with that number makes its next move", "对应编号的客户端走下一步"),
    act("move-2", Action::MoveActor(1), &["2"], &[Free], ("the client with the number 2 makes its next move", "2 号客户端走下一步")),
    act("move-3", Action::MoveActor(2), &["3"], &[Free], ("the client with the number 3 makes its next move", "3 号客户端走下一步")),
    act("move-4", Action::MoveActor(3), &["4"], &[Free], ("the client with the number 4 makes its next move", "4 号客户端走下一步")),
    act("move-5", Action::MoveActor(4), &["5"], &[Free], ("the client with the number 5 makes its next move", "5 号客户端走下一步")),
    act("move-6", Action::MoveActor(5), &["6"], &[Free], ("the client with the number 6 makes its next move", "6 号客户端走下一步")),
    act("move-7", Action::MoveActor(6), &["7"], &[Free], ("the client with the number 7 makes its next move", "7 号客户端走下一步")),
    act("move-8", Action::MoveActor(7), &["8"], &[Free], ("the client with the number 8 makes its next move", "8 号客户端走下一步")),
    act("move-9", Action::MoveActor(8), &["9"], &[Free], ("the client with the number 9 makes its next move", "9 号客户端走下一步")),
    act("timer", Action::Timer, &["t"], &[Free], ("let time pass until the next wait ends", "让时间前进到最近一个等待结束"))
        .hints(&[hint(Free, 2, "next timer", "下一个计时")]),
    act("second", Action::Pass(1_000), &["."], &[Free], ("let one second pass; for other amounts, type them into the palette", "让时间前进一秒；其他时长在命令面板里输入"))
        .hints(&[hint(Free, 3, "+1 s", "+1 秒")]),
    act("faults", Action::Faults, &["x"], &[Free], ("cause a fault: crash, freeze, cut, hold, kill, set a clock", "制造故障：杀进程、冻结、断网、扣住消息、拨时钟"))
        .hints(&[hint(Free, 1, "faults", "故障")]),
    act("branches", Action::Branches, &["B"], &[Free], ("show the tree of branches", "分支树"))
        .hints(&[hint(Free, 5, "branches", "分支树")]),
    act("save", Action::Save, &["S"], &[Free], ("save this run in a file, for `lockstep play`", "把这次运行存成文件，可用 `lockstep play` 播放"))
        .hints(&[hint(Free, 7, "save", "保存")]),
    act("walk", Action::Open, &["enter"], &[Branches], ("continue the chosen branch", "切换到所选分支"))
        .hints(&[hint(Branches, 1, "go there", "切换")]),

    // A class, with `lockstep teach`.
    act("join", Action::Join, &["J"], &[Class], ("show how a class joins: QR code, address and code", "班级如何加入：二维码、网址和口令"))
        .hints(&[hint(Lesson, 3, "join", "加入"), hint(Free, 8, "join", "加入")]),
    act("vote", Action::Vote, &["C"], &[Class], ("free play: the class votes on the next move; press again to end the vote", "自由模式：全班投票决定下一步；再按一次立即结束投票"))
        .hints(&[hint(Free, 1, "class votes", "全班投票")]),

    // The catalogue.
    act("open", Action::Open, &["enter", "space"], &[Catalogue, Variants],
        ("open what is chosen", "打开所选课程或方案"))
        .hints(&[hint(Catalogue, 1, "open", "打开"), hint(Variants, 1, "open", "打开")]),
    act("search", Action::Search, &["/"], &[Catalogue, Variants], ("search the lessons", "搜索课程"))
        .hints(&[hint(Catalogue, 2, "search", "搜索")]),
    act("variants", Action::Variants(true), &["right", "tab", "l"], &[Catalogue, Field],
        ("go to the lesson's variants", "进入方案列表"))
        .hints(&[hint(Catalogue, 3, "variants", "方案")]),
    act("lessons", Action::Variants(false), &["left", "tab", "h"], &[Variants],
        ("go back to the lessons", "回到课程列表"))
        .hints(&[hint(Variants, 3, "lessons", "课程")]),

    act("measure", Action::Measure, &["m"], &[Catalogue, Variants, Page],
        ("measure every kind of lock on this machine, or measure again", "现场测量各种锁；或再测一遍")),

    // Comparing two variants.
    act("compare", Action::Compare, &["b"], &[Lesson, Catalogue, Variants, Comparison],
        ("compare the failure with its fix", "修复前后对比：故障方案与修复方案并排"))
        .hints(&[hint(Lesson, 5, "compare", "对比")]),
    act("difference", Action::Difference, &["d"], &[Comparison],
        ("go to the first difference", "跳到第一处不同"))
        .hints(&[hint(Comparison, 3, "first difference", "第一处不同")]),
    act("other-fix", Action::Variant(true), &["v"], &[Comparison], ("show another fix", "换一个修复方案"))
        .hints(&[hint(Comparison, 4, "other fix", "换修复方案")]),
    act("other-failure", Action::Variant(false), &["V"], &[Comparison], ("show another failure, with a fix for it", "换一个故障方案，连同它的修复方案"))
        .hints(&[hint(Comparison, 5, "other failure", "换故障方案")]),

    // Racing a variant.
    act("race", Action::Race, &["R"], &[Lesson, Catalogue, Variants],
        ("race: all clients at once, many times", "并发竞争：所有客户端同时跑，反复多次"))
        .hints(&[hint(Lesson, 5, "race", "并发竞争"), hint(Catalogue, 5, "race", "并发竞争"), hint(Variants, 4, "race", "并发竞争")]),
    act("open-race", Action::Open, &["enter"], &[Races],
        ("step through the chosen race, or the first of the chosen outcome", "逐步查看选中的那次并发竞争，或该结果的第一次"))
        .hints(&[hint(Races, 1, "step through", "逐步查看")]),
    act("races", Action::Races(true), &["right", "tab", "l"], &[Races],
        ("go to the races of the chosen outcome", "进入该结果的各次运行"))
        .hints(&[hint(Races, 3, "its races", "各次运行")]),
    act("outcomes", Action::Races(false), &["left", "h"], &[Races], ("go back to the outcomes", "回到结果列表")),
    act("more-races", Action::More, &["+", "="], &[Races], ("run ten times as many races", "并发竞争次数增加到十倍"))
        .hints(&[hint(Races, 4, "10 times more", "再跑十倍")]),
    act("pause-races", Action::Toggle, &["space"], &[Races], ("pause or continue the races", "暂停或继续并发竞争"))
        .hints(&[hint(Races, 4, "pause/go on", "暂停/继续")]),

    // Exploring every order of a variant's moves.
    act("explore", Action::Explore, &["X"], &[Lesson, Catalogue, Variants],
        ("explore: try every order of moves", "穷举：试遍所有执行顺序"))
        .hints(&[hint(Lesson, 5, "every order", "穷举"), hint(Catalogue, 5, "every order", "穷举"), hint(Variants, 4, "every order", "穷举")]),
    act("open-order", Action::Open, &["enter"], &[Exploration],
        ("step through the order that goes wrong", "逐步查看这个出错顺序"))
        .hints(&[hint(Exploration, 1, "step through it", "逐步查看")]),
    act("next-broken", Action::Broken(true), &["right", "tab", "l"], &[Exploration],
        ("show the next thing that is broken, or an order that does not end", "下一条被破坏的约束及其最短顺序，或走不到头的顺序"))
        .fold(1, "what else is broken, each with its own shortest order", "在被破坏的各条约束及其最短顺序之间切换")
        .hints(&[pair(Exploration, 2, "what else is broken", "其他被破坏的约束")]),
    act("previous-broken", Action::Broken(false), &["left", "h"], &[Exploration], ("show the previous thing that is broken", "上一条被破坏的约束")),
    act("next-fault", Action::NextFault, &["f"], &[Exploration],
        ("allow another fault: none, a crash, a freeze, a lost reply, a restart, slowness", "切换每种顺序允许的故障：无、崩溃、冻结、回复丢失、重启、动作慢"))
        .hints(&[hint(Exploration, 3, "fault", "故障")]),
    act("more-moves", Action::Moves(true), &["+", "="], &[Exploration], ("allow longer orders: one move more", "步数上限加一"))
        .fold(1, "longer or shorter orders: one move more or fewer", "步数上限加一、减一")
        .hints(&[pair(Exploration, 4, "moves", "步数")]),
    act("fewer-moves", Action::Moves(false), &["-", "_"], &[Exploration], ("allow shorter orders: one move fewer", "步数上限减一")),
    act("prune", Action::Prune, &["p"], &[Exploration],
        ("try all orders, or leave out those with the same result as others", "略去必定等价的顺序，或逐一试遍"))
        .hints(&[hint(Exploration, 5, "leave out", "略去等价")]),
    act("states", Action::States, &["g"], &[Exploration],
        ("walk through the states (if there are at most 60)", "逐个查看各个状态（状态不多时）"))
        .hints(&[hint(Exploration, 7, "states", "状态")]),
    act("next-state", Action::Walk(true), &["right", "l"], &[States], ("take the chosen step", "走选中的一步"))
        .fold(1, "take the chosen step, or the last one back", "走选中的一步，或退回一步")
        .hints(&[pair(States, 2, "step, back", "走一步、退一步")]),
    act("previous-state", Action::Walk(false), &["left", "h"], &[States], ("take the last step back", "退回一步")),
    act("play-on", Action::Open, &["enter"], &[States], ("continue by hand from here: free play", "从这里起自己操作：自由模式"))
        .hints(&[hint(States, 1, "go on by hand", "从这里自己操作")]),

    // The interview.
    act("reveal", Action::Open, &["space", "enter", "right"], &[Card], ("show the answer, then the follow-up question", "显示答案，再显示追问"))
        .hints(&[hint(Card, 1, "show", "显示")]),
    act("grade-1", Action::Grade(0), &["1"], &[Card], ("I did not know it: ask again soon", "没答上来：很快再问"))
        .fold(3, "how well you knew it: again, hard, good, easy", "答得如何：重来、困难、良好、简单")
        .hints(&[hint(Card, 2, "again", "重来")]),
    act("grade-2", Action::Grade(1), &["2"], &[Card], ("I hardly knew it", "勉强答上来"))
        .hints(&[hint(Card, 3, "hard", "困难")]),
    act("grade-3", Action::Grade(2), &["3"], &[Card], ("I knew it", "答上来了"))
        .hints(&[hint(Card, 4, "good", "良好")]),
    act("grade-4", Action::Grade(3), &["4"], &[Card], ("I knew it without thinking", "不假思索"))
        .hints(&[hint(Card, 5, "easy", "简单")]),
    act("proof", Action::Proof, &["o"], &[Card, Exam], ("open the step that shows it", "打开能证明它的那一步"))
        .hints(&[hint(Card, 6, "see it happen", "看它发生"), hint(Exam, 4, "see it happen", "看它发生")]),
    act("ask", Action::Open, &["enter", "space"], &[Decks], ("ask me these: first what is due, then what is new", "开始提问：先问待复习的，再问新题；或再来一轮"))
        .hints(&[hint(Decks, 1, "ask me", "开始")]),
    act("mock", Action::Mock, &["m"], &[Decks], ("start a mock interview: ten of these, on a clock", "模拟面试：从中随机问十题，计时"))
        .hints(&[hint(Decks, 2, "mock interview", "模拟面试")]),
    act("exam", Action::Exam, &["x"], &[Decks],
        ("start an exam on these lessons: is this order of moves safe?", "考试：就这些课程判断某个执行顺序是否安全"))
        .hints(&[hint(Decks, 4, "exam", "考试")]),
    act("judge-safe", Action::Judge(true), &["y"], &[Exam], ("this order is safe", "这个顺序安全"))
        .fold(1, "this order is safe, or it is not", "这个顺序安全，或不安全")
        .hints(&[hint(Exam, 1, "safe", "安全")]),
    act("judge-unsafe", Action::Judge(false), &["n"], &[Exam], ("this order is not safe", "这个顺序不安全"))
        .hints(&[hint(Exam, 2, "not safe", "不安全")]),
    act("next-order", Action::Open, &["space", "enter", "right"], &[Exam], ("show the next order", "下一个顺序"))
        .hints(&[hint(Exam, 3, "next", "下一题")]),

    // The exercises.
    act("open-failure", Action::Open, &["enter"], &[Kata], ("step through the order that broke your answer", "逐步查看让你的答案出错的顺序"))
        .hints(&[hint(Kata, 1, "step through it", "逐步查看")]),
    act("edit", Action::Edit, &["e"], &[Kata], ("edit your file in $EDITOR", "用 $EDITOR 修改你的文件"))
        .hints(&[hint(Kata, 2, "edit", "编辑")]),
    act("hint", Action::Hint, &["h", "t"], &[Kata], ("show a hint, then a stronger one", "提示，再按一次更具体"))
        .hints(&[hint(Kata, 3, "hint", "提示")]),
    act("next-exercise", Action::Variant(true), &["n", "right"], &[Kata], ("go to the next exercise", "下一个练习"))
        .fold(1, "the next exercise or the one before", "下一个、上一个练习")
        .hints(&[pair(Kata, 5, "next, previous", "下一个、上一个")]),
    act("previous-exercise", Action::Variant(false), &["p", "left"], &[Kata], ("go to the previous exercise", "上一个练习")),
    act("solution", Action::Solution, &["s"], &[Kata], ("show or hide the reference solution", "参考答案，以及哪些产品也这样做；再按一次收起"))
        .hints(&[hint(Kata, 6, "solution", "参考答案")]),

    // Lists and panes.
    act("up", Action::Move(-1), &["up", "k"], SCROLLED, ("up", "向上"))
        .fold(3, "choose a line, or scroll", "选择一行，或滚动")
        .hints(&[pair(Catalogue, 9, "choose", "选择"), pair(Variants, 2, "choose", "选择"),
            pair(Page, 1, "scroll", "滚动"), pair(Decks, 3, "choose", "选择"), pair(Card, 8, "scroll", "滚动"), pair(Exam, 8, "scroll", "滚动"), pair(Branches, 2, "choose", "选择"), pair(Comparison, 11, "lanes", "滚动时间线"), pair(Field, 2, "choose", "选择"), pair(Races, 2, "choose", "选择"), pair(Exploration, 6, "choose", "选择"), pair(States, 3, "choose", "选择")]),
    act("down", Action::Move(1), &["down", "j"], SCROLLED, ("down", "向下")),
    act("page-up", Action::Page(-1), &["pageup"], SCROLLED, ("a page up", "上翻"))
        .hints(&[pair(Catalogue, 8, "read", "翻看"), pair(Comparison, 12, "verdicts", "滚动结论")]),
    act("page-down", Action::Page(1), &["pagedown"], SCROLLED, ("a page down", "下翻")),
    act("top", Action::End(false), &["home"], LISTS, ("go to the first line", "到第一行"))
        .fold(1, "first line, last line", "第一行、最后一行"),
    act("bottom", Action::End(true), &["end"], LISTS, ("go to the last line", "到最后一行")),

    // Everywhere.
    act("palette", Action::Palette, &[":", "ctrl-p"], &[Everywhere],
        ("every command by name", "命令面板：按名字执行任意操作"))
        .hints(&[hint(Catalogue, 6, "commands", "命令"), hint(Lesson, 9, "commands", "命令"), hint(Free, 9, "commands", "命令")]),
    act("interview", Action::Cards, &["i"], &[Everywhere],
        ("open or leave the interview questions", "面试：先问后答；再按一次返回"))
        .hints(&[hint(Lesson, 13, "interview", "面试题"), hint(Catalogue, 7, "interview", "面试")]),
    act("questions", Action::Questions, &["N"], &[Everywhere],
        ("turn questions on or off", "开启或关闭提问，适合演示")),
    act("language", Action::Language, &["L"], &[Everywhere], ("switch the language: Chinese, 中文", "切换语言：English"))
        .hints(&[hint(Catalogue, 0, "中文", "English"), hint(Lesson, 8, "中文", "English"), hint(Comparison, 9, "中文", "English"), hint(Races, 8, "中文", "English"), hint(Single, 11, "中文", "English"), hint(Exploration, 10, "中文", "English"), hint(Notes, 2, "中文", "English"), hint(Kata, 8, "中文", "English")]),
    act("theme", Action::Theme, &["T"], &[Everywhere],
        ("next theme: like the terminal, dark, light, high contrast", "换主题：跟随终端、深色、浅色、高对比度")),
    act("help", Action::Help, &["?", "f1"], &[Everywhere], ("help: the keys, and how to read the lanes", "帮助：按键与图例"))
        .hints(&[hint(Catalogue, 4, "help", "帮助"), hint(Variants, 4, "help", "帮助"),
            hint(Lesson, 4, "help", "帮助"), hint(Free, 7, "help", "帮助"), hint(Comparison, 10, "help", "帮助"), hint(Races, 7, "help", "帮助"), hint(Single, 7, "help", "帮助"), hint(Exploration, 8, "help", "帮助"), hint(States, 4, "help", "帮助"), hint(Kata, 7, "help", "帮助")]),
    act("leave", Action::Close, &["q", "esc"], &[Everywhere],
        ("go back", "返回上一层"))
        .hints(&[hint(Catalogue, 4, "quit", "退出"), hint(Variants, 5, "back", "返回"),
            hint(Lesson, 7, "leave", "离开"), hint(Free, 8, "leave", "离开"), hint(Comparison, 6, "close", "关闭"), hint(Page, 2, "close", "关闭"), hint(Notes, 1, "close", "关闭"), hint(Kata, 4, "quit", "退出"), hint(Decks, 4, "back", "返回"), hint(Card, 7, "back", "返回"), hint(Exam, 7, "back", "返回"), hint(Branches, 3, "close", "关闭"), hint(Races, 5, "back", "返回"), hint(Single, 4, "back", "返回"), hint(Exploration, 2, "stop, back", "停止、返回"), hint(States, 2, "back", "返回")]),
    act("quit", Action::Quit, &["Q", "ctrl-c"], &[Everywhere], ("quit Lockstep", "退出程序")),
    act("suspend", Action::Suspend, &["ctrl-z"], &[Everywhere], ("pause and go to the shell; `fg` comes back", "暂停并回到 shell，用 `fg` 回来")),

    // Text fields.
    act("accept", Action::Accept, &["enter"], &[Field], ("do or open what you have chosen", "执行或打开所选项"))
        .hints(&[hint(Field, 1, "take", "确定")]),
    act("cancel", Action::Cancel, &["esc"], &[Field], ("cancel", "放弃输入"))
        .hints(&[hint(Field, 3, "cancel", "取消")]),
    act("erase", Action::Erase(Erase::Character), &["backspace", "ctrl-h"], &[Field],
        ("erase a character", "删除一个字"))
        .fold(2, "erase a character, a word, everything", "删除一个字、一个词、全部"),
    act("erase-word", Action::Erase(Erase::Word), &["ctrl-w"], &[Field], ("erase a word", "删除一个词")),
    act("erase-all", Action::Erase(Erase::All), &["ctrl-u"], &[Field], ("erase everything", "全部删除")),
];

pub fn row(id: &str) -> Option<usize> {
    TABLE.iter().position(|row| row.id == id)
}
