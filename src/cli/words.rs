//! Every text that the command line has for learners, in both languages. Mistakes in lessons are worded where they are
//! found, and mistakes in arguments in `usage`, also in both languages; the descriptions of options are in English only.

pub use crate::ui::words::interview::EXAM_NONE;
use crate::{text::Words, verdict::Outcome};

pub const fn outcome(outcome: Outcome) -> Words {
    match outcome {
        Outcome::Shown => Words::new("failure shown", "故障已重现"),
        Outcome::Prevented => Words::new("prevented", "故障已避免"),
        Outcome::NotShown => Words::new("NOT SHOWN", "未能证实"),
    }
}

/// A run. Values: outcome, lesson, variant, its title, lesson time, real time.
pub const RAN: Words = Words::new(
    "{}{} · {}  ({}; {} s of lesson time in {} s)",
    "{}{} · {}（{}；课程时间 {} 秒，实际用时 {} 秒）",
);
/// Repetitions. Values: how many held, of how many.
pub const HELD: Words = Words::new("{} of {} repetitions held", "{} 次成立，共重复 {} 次");
/// Values: how many variants came out as their lesson says, of how many that were run.
pub const AS_PROMISED: Words = Words::new(
    "{} of {} variants came out as their lesson promises",
    "{} 个方案与课程所述一致，共运行 {} 个",
);
pub const NOT_EXPLORED: Words = Words::new(
    "explore: not proved here; trying every order needs real servers whose clock stands still",
    "explore：本次没有证明；穷举执行顺序需要真实的服务器和可以停住的时钟",
);
pub const ON_WALL_CLOCK: Words = Words::new(
    "WALL CLOCK: this run is on the machine's own clock, because {}",
    "真实时钟：这次运行使用机器自己的时钟，因为{}",
);
pub const OBSERVED: Words = Words::new("observed {}", "实际 {}");
pub const EXPECTED: Words = Words::new(", expected {}", "，预期 {}");
pub const NONE_STALE: Words = Words::new("Every recording is current.", "所有录制都是最新的。");
/// One race. Values: lesson, variant, of how many clients, real time.
pub const RACED_ONCE: Words = Words::new(
    "{} · {}: 1 race of {} clients at once, in {} s",
    "{} · {}：1 次并发竞争，{} 个客户端同时跑，用时 {} 秒",
);
/// Races. Values: lesson, variant, how many, of how many clients, real time.
pub const RACED: Words = Words::new(
    "{} · {}: {} races of {} clients at once, in {} s",
    "{} · {}：{} 次并发竞争，每次 {} 个客户端同时跑，用时 {} 秒",
);
/// Races in progress. Values: lesson, variant, how many, of how many, how many per second, time left.
pub const RACING: Words =
    Words::new("{} · {}: {} of {} races, {}/s, {} left", "{} · {}：已跑 {}/{} 次，每秒 {} 次，还需 {}");
pub const RACES_CUT: Words = Words::new(
    "Ended by {} after {} of {} races; this is what they came to.",
    "被 {} 终止：已跑 {} 次，原定 {} 次；以上只统计跑完的部分。",
);
pub const NO_FAULTS_RACED: Words = Words::new(
    "Only the programs are raced. The faults of the story (crashes, pauses, cuts) are left out.",
    "这里只让各客户端的程序并发执行，不含剧情里的故障（崩溃、停顿、断网等）。",
);
/// A search by orders. Values: lesson, variant, tried, real time, rate, pruned, all orders, violations, cut.
pub const EXPLORED: Words = Words::new(
    "{} · {}: {} orders tried in {} s ({} a second), {} more are sure to come to the same; of all {} of them {} \
     went wrong and {} were cut at the bound",
    "{} · {}：试了 {} 种顺序，用时 {} 秒（每秒 {} 种），另有 {} 种结果必然相同、不必再试；总共 {} 种顺序，其中 {} 种出错，{} 种到步数上限为止",
);
pub const EXPLORED_STATES: Words = Words::new(
    "{} · {}: {} orders through {} states and {} steps between them, {} bytes a state, in {} s ({} steps a second); of these \
     orders {} went wrong and {} were cut at the bound",
    "{} · {}：共 {} 种顺序，经过 {} 个状态、{} 条转移，每个状态 {} 字节，用时 {} 秒（每秒 {} 条转移）；其中 {} 种出错，{} 种到步数上限为止",
);
pub const EXPLORING_STATES: Words = Words::new("{} states, {} a second", "{} 个状态，每秒 {} 个");
// Exercises.
pub const NO_EXERCISE: Words = Words::new(
    "there is no exercise `{}`; `lockstep kata` lists them",
    "没有名为 `{}` 的练习；`lockstep kata` 会列出全部练习",
);
pub const NO_EXERCISE_BUT: Words =
    Words::new("there is no exercise `{}`; did you mean `{}`?", "没有名为 `{}` 的练习，是不是 `{}`？");
pub const KATA_NAMELESS: Words = Words::new(
    "{} does not say which exercise it answers; write `kata: NAME` into it",
    "{} 没有写明是哪个练习的答案；请加上 `kata: 名字`",
);
pub const KATA_BEGIN: Words = Words::new(
    "`lockstep kata start DIR` writes a file for each; `lockstep kata DIR` judges a file whenever you save it.",
    "`lockstep kata start 目录` 为每个练习写出一个文件；`lockstep kata 目录` 会在你每次保存时判定。",
);
pub const KATA_WRITTEN: Words = Words::new("{} is written", "已写好 {}");
pub const KATA_KEPT: Words = Words::new("{} is there already and stays as it is", "{} 已经存在，保持不变");
pub const KATA_READS: Words = Words::new("may read", "可以读");
pub const KATA_SETS: Words = Words::new("must set", "必须设置");
pub const KATA_USES: Words = Words::new("may use", "可以用");
pub const KATA_KEYS: Words = Words::new("on the keys", "可以操作的键");
/// A time that may be read. Values: its name, its value.
pub const KATA_IN_MILLIS_IS: Words = Words::new("{} ({}, in milliseconds)", "{}（{}，单位毫秒）");
pub const KATA_IN_MILLIS: Words = Words::new("{} (in milliseconds)", "{}（单位毫秒）");
pub const KATA_SYNTAX: Words = Words::new("How it is written:", "写法：");
/// Values: the product's key, a command.
pub const KATA_SYNTAX_COMMAND: Words = Words::new(
    "    - left: { {}: {} }   # a command; `left` is its reply",
    "    - left: { {}: {} }   # 一条命令，`left` 是它的回复",
);
pub const KATA_SYNTAX_LET: Words = Words::new(
    "    - let: { bought: left|int > 0 }   # a value; `|int` makes a number of a text",
    "    - let: { bought: left|int > 0 }   # 设置一个值；`|int` 把文字变成数字",
);
pub const KATA_SYNTAX_NONE: Words = Words::new(
    "    - let: { free: left is none }   # `none`: the reply of nothing, as of a key that is not there",
    "    - let: { free: left is none }   # `none`：没有内容的回复，例如键不存在",
);
pub const KATA_SYNTAX_IF: Words = Words::new(
    "    - { if: bought, then: [ … ], else: [ … ] }   # steps in brackets, or below with `- `",
    "    - { if: bought, then: [ … ], else: [ … ] }   # 步骤写在方括号里，或另起一行用 `- ` 开头",
);
pub const KATA_SYNTAX_SCRIPT: Words = Words::new(
    "    - got: { script: NAME, keys: [lock], args: [\"${token}\"] }   # runs a Lua script of yours",
    "    - got: { script: 名字, keys: [lock], args: [\"${token}\"] }   # 执行你写的 Lua 脚本",
);
pub const KATA_SYNTAX_SCRIPTS: Words = Words::new(
    "scripts: { NAME: \"return redis.call('GET', KEYS[1])\" }   # at the margin, beside `programs:`",
    "scripts: { 名字: \"return redis.call('GET', KEYS[1])\" }   # 顶格写，与 `programs:` 并列",
);
pub const KATA_IS_DIR: Words = Words::new("is a directory, not an answer", "是目录，不是答案文件");
pub const KATA_GIVE_FILE: Words =
    Words::new("give one of its files, such as {}", "请给出其中的一个文件，例如 {}");
pub const KATA_GONE: Words = Words::new("there is no such file", "没有这个文件");
pub const KATA_WRITE_AGAIN: Words = Words::new(
    "`lockstep kata start {}` writes a file for each exercise",
    "`lockstep kata start {}` 会为每个练习写出一个文件",
);
pub const KATA_JUDGED: Words = Words::new(
    "Judged in every order of moves, of which those that come to the same are tried together:",
    "按所有执行顺序判定（结果相同的顺序合在一起试）：",
);
/// Values: how many orders, how many milliseconds.
pub const KATA_HELD: Words =
    Words::new("holds in all orders ({}), {} ms", "所有顺序都成立（{} 种），{} 毫秒");
/// For an order that is not the shortest that goes wrong: some order that does, or one of those that do not
/// show what is asked.
pub const KATA_FIRST_ORDER: Words = Words::new("an order that shows it: {}", "一种出错的顺序：{}");
pub const KATA_ANY_ORDER: Words = Words::new("one of the orders: {}", "其中一种顺序：{}");
pub const KATA_SOLVED: Words = Words::new("Solved: {}", "已解决：{}");
pub const KATA_RIGHT: Words = Words::new("✓ holds in every round", "✓ 每一轮都成立");
/// Values: a known answer, the round in which it must fail, the round in which it failed.
pub const KATA_MISJUDGED: Words = Words::new(
    "{}: must fail in `{}` (`-`: in none), and failed in `{}`",
    "{}：应在 `{}` 轮失败（`-` 表示都不失败），实际失败于 `{}`",
);
pub const KATA_NEEDS_TERMINAL: Words = Words::new(
    "the screen of the exercises needs a terminal, and standard input or output is none; `lockstep kata check FILE` judges a \
     file without a screen",
    "练习界面需要终端，而标准输入或标准输出不是终端；`lockstep kata check 文件` 可以不用界面判定",
);
pub const KATA_NO_FILES: Words = Words::new(
    "no exercise's file is in {}; `lockstep kata start {}` writes them",
    "{} 里没有练习文件；`lockstep kata start {}` 会写出它们",
);
pub const KATA_EDITOR_FAILED: Words = Words::new("the editor `{}` failed: {}", "编辑器 `{}` 出错：{}");
pub const KATA_NO_EDITOR: Words =
    Words::new("`{}` is not installed; set EDITOR", "没有安装 `{}`；请设置环境变量 EDITOR");
pub const ONE_ORDER: Words = Words::new(
    "there is only this one order: never could two clients move at once, so nothing was tried out against each other",
    "只有这一种顺序：从来没有两个客户端可以同时走下一步，所以什么先后都没有试到",
);
/// A violation may come after the bound. Values: how many orders were cut, after how many moves.
pub const CUT_IS_UNKNOWN: Words = Words::new(
    "not proved: {} orders were cut after {} moves, and whether they violate later is not known; raise --moves, or give it \
     to be content with that many",
    "未能证明：有 {} 种顺序走了 {} 步就被截断，之后会不会出错并不知道；请调大 --moves，或者明确写出它，表示查到这么多步就够了",
);
pub const BEFORE_ALL: Words = Words::new("broken before the first move", "第一步之前就已违反");
pub const INCOMPLETE: Words =
    Words::new("INTERRUPTED: this is only what was found until then", "已中断：以上只是到中断时为止的结果");
pub const TIME_IS_UP: Words = Words::new(
    "NOT COMPLETE: the time of --within is over; this is what was found until then",
    "没有试完：--within 给的时间已到；以上是到那时为止的结果",
);
/// A search by states that was stopped. Values: how many states were expanded, of how many that are known.
pub const CONTINUED: Words = Words::new(
    "{} of {} known states were gone on from, the nearest first; orders that had not ended by then are not counted",
    "从近到远展开了 {} 个状态，已知的共有 {} 个；到那时还没有结束的顺序没有计入",
);
/// Instead of the shortest order that breaks an invariant.
pub const NOT_CONFIRMED_YET: Words = Words::new(
    "there was no time to carry out the shortest of them again with client processes: let the search run longer",
    "没有来得及用客户端进程把最短的一种再执行一遍：请让搜索跑得久一些",
);
/// Values: how many states were expanded, of how many that are known.
pub const FULL: Words = Words::new(
    "NOT COMPLETE: the states take as much memory as they may. {} of {} known states were gone on from, the nearest first; \
     what lies behind the others is not counted. Fewer clients or --moves make it complete",
    "没有试完：状态占用的内存已达上限。从近到远展开了 {} 个状态，已知的共有 {} 个，其余状态之后的顺序没有统计。减少客户端或 --moves 可以试完",
);
pub const FIRST: Words = Words::new("the first of them: {}", "其中第一种：{}");
pub const BROKEN: Words = Words::new("{} broke this: {} ({})", "{} 种：{}（{}）");
/// For an invariant that has no sentence. Values: how many orders, the expression.
pub const BROKEN_UNNAMED: Words = Words::new("{} broke this: {}", "{} 种：{}");
pub const FORBIDS_NOTHING: Words = Words::new(
    "This is no proof: nothing is forbidden here, so no order could go wrong. Say what must never happen: with `invariants:` \
     in the lesson, or with `--never 'sold > stock'`",
    "这不算证明：课程没有规定什么绝不能发生，所以怎么执行都不算出错。请在课程里写 `invariants:`，或者加上 `--never 'sold > stock'`",
);
/// Value: the lesson and its variant.
pub const FORBIDS_NOTHING_TO_EXPECT: Words = Words::new(
    "{}: --expect-none has nothing to check, because the lesson does not say what must never happen. Say it: with \
     `invariants:` in the lesson, or with `--never 'sold > stock'`",
    "{}：--expect-none 没有东西可查，因为课程没有规定什么绝不能发生。请在课程里写 `invariants:`，或者加上 `--never 'sold > stock'`",
);
pub const STARTS: Words = Words::new("starting servers", "正在启动服务器");
/// A search in progress. Values: tried, pruned, rate, time left, violations.
pub const EXPLORING: Words = Words::new(
    "{} tried, {} left out, {} a second, {} left, {} went wrong",
    "已试 {}，跳过 {}，每秒 {}，还需 {}，出错 {}",
);
pub const SHORTEST: Words = Words::new("the shortest: {}", "最短的一种：{}");
/// For a search that did not explore every order.
pub const SHORTEST_SO_FAR: Words = Words::new("the shortest that was found: {}", "找到的最短一种：{}");
/// For an order without any move.
pub const NO_MOVE: Words = Words::new("nobody has made a move yet", "还没有任何人走一步");
/// A broken invariant. Values: in how many races, of how many, and what that means.
pub const RACES_BROKE: Words = Words::new("{} of {}: {}", "{}/{} 次：{}");
/// Programs that met an error which they do not handle. Values: in how many races, of how many, who first, and its error.
pub const RACES_GAVE_UP: Words = Words::new(
    "{} of {}: a program ended with an error that it does not handle. The first, {}: {}",
    "{}/{} 次：有程序遇到没有处理的错误而退出。第一个是 {}：{}",
);
pub const FIRST_SEED: Words = Words::new("first with --seed {}", "首见于 --seed {}");
pub const MORE_OUTCOMES: Words =
    Words::new("and {} rarer outcomes; --json lists them all", "另有 {} 种更少见的结果，--json 会全部列出");
pub const NO_LESSON_BUT: Words =
    Words::new("there is no lesson `{}`; did you mean `{}`?", "没有名为 `{}` 的课程，是不是 `{}`？");
pub const NO_LESSON: Words = Words::new(
    "there is no lesson `{}`; `lockstep list` names them all",
    "没有名为 `{}` 的课程；`lockstep list` 列出所有课程",
);
pub const ENDING: Words = Words::new(
    "adding up what was found; another Ctrl-C ends it at once",
    "正在汇总已找到的结果；再按一次 Ctrl-C 立即结束",
);
pub const ENDED_BY: Words = Words::new("ended by {}", "被 {} 终止");
pub const ATTACH_WHAT: Words = Words::new(
    "say which programs are to be clients, from 1 to {}: `lockstep attach redis -- python3 my_worker.py`",
    "请指定要作为客户端的程序，1 到 {} 个：`lockstep attach redis -- python3 my_worker.py`",
);
pub const ATTACH_NO_PROGRAM: Words = Words::new(
    "`{}` cannot be started: there is no such program, or it may not be executed. Name one that a shell finds, or its path",
    "`{}` 无法启动：没有这个程序，或者它不可执行。请写 shell 能找到的程序名，或者写出路径",
);
pub const ATTACH_SEVERAL_SERVERS: Words = Words::new(
    "only Redis servers can be several: `lockstep attach redis --servers 5 -- PROGRAM`",
    "只有 Redis 可以有多台服务器：`lockstep attach redis --servers 5 -- 程序`",
);
/// A run of attached programs was left. Value: its file.
pub const RECORDED: Words = Words::new("recorded: {}", "已录制：{}");
pub const NOTHING_RECORDED: Words =
    Words::new("nothing was recorded: no run had begun", "没有录制任何内容：运行还没有开始");
pub const ATTACH_NEEDS_TERMINAL: Words = Words::new(
    "`lockstep attach` needs a terminal, and standard input or output is none",
    "`lockstep attach` 需要终端，而标准输入或标准输出不是终端",
);
pub const NEEDS_TERMINAL: Words = Words::new(
    "the playground needs a terminal, and standard input or output is none; `lockstep run LESSON` runs lessons \
     without a screen",
    "交互界面需要终端，而标准输入或标准输出不是终端；`lockstep run LESSON` 可以不用屏幕运行课程",
);
pub const ATTACHED_ALONE: Words = Words::new(
    "this is a run of `lockstep attach` and belongs to no lesson: `lockstep play FILE` shows it alone",
    "这是一次 `lockstep attach` 的运行，不属于任何课程；请用 `lockstep play FILE` 单独播放",
);
pub const RECORDING_OF_ANOTHER: Words = Words::new(
    "the recording is of the lesson `{}`, which is not here; give its directory with `--lessons DIR`",
    "这份录像属于课程 `{}`，这里没有；请用 `--lessons DIR` 指明它所在的目录",
);

pub const SOME_MISSING: Words = Words::new(
    "Lessons run on real servers and libraries, and some are missing here. This would install them:\n\n{}",
    "课程使用真实的服务器和库，这台机器上还缺一些。将用下面的命令安装：\n\n{}",
);
pub const OR_RECORDINGS: Words =
    Words::new("Without them, the lessons play from recordings.", "不装也可以：课程会用录像播放。");
/// A lesson is left out. Value: why.
pub const LEFT_OUT: Words = Words::new("left out: {}", "跳过：{}");
/// An installed library. Values: its name, its version, its directory.
pub const LIBRARY_FOUND: Words = Words::new("{} {}: {}", "{} {}：{}");
pub const LIBRARY_MISSING: Words = Words::new("missing: {}", "缺少：{}");
pub const GO_ON_RECORDED: Words = Words::new("Go on with recordings?", "改用录像继续吗？");
pub const INSTALL_NOW: Words = Words::new("Install them now?", "现在安装吗？");
pub const INSTALL_THIS: Words = Words::new("Install this?", "安装这些吗？");
pub const NOBODY_INSTALLS: Words = Words::new(
    " Nobody is there to answer; add `--yes` to install unasked",
    "没有终端可以回答；加上 `--yes` 则不询问、直接安装",
);
pub const NOTHING_MISSING: Words = Words::new("Nothing is missing.", "什么也不缺。");
pub const NOTHING_INSTALLED: Words = Words::new("nothing was installed", "什么也没有安装");

pub const FORGET: Words = Words::new("Forget all progress?", "清除全部学习进度吗？");
pub const NOBODY_FORGETS: Words = Words::new(
    "Forget all progress? Nobody is there to answer; add `--yes` to forget it unasked",
    "清除全部学习进度吗？没有终端可以回答；加上 `--yes` 则不询问、直接清除",
);
pub const NOTHING_FORGOTTEN: Words = Words::new("nothing was forgotten", "什么也没有清除");
pub const FORGOTTEN: Words = Words::new("All progress is forgotten.", "学习进度已全部清除。");
pub const NOT_REMOVED: Words = Words::new("{} was not removed: {}", "无法删除 {}：{}");
pub const NO_PROGRESS: Words = Words::new(
    "No lesson was taken yet. `lockstep` opens the catalogue.",
    "还没有上过课。运行 `lockstep` 打开课程目录。",
);
pub const SOLVED: Words = Words::new(", {} broken by hand", "，亲手攻破 {} 项");
pub const PREDICTED: Words = Words::new(": {} of {} predictions right", "：预测 {}/{} 猜对");
pub const DAMAGED: Words = Words::new(
    "the file of your progress was damaged; it is set aside as {}",
    "学习进度文件已损坏，另存为 {}",
);
pub const NEWER: Words = Words::new(
    "{} was written by a newer Lockstep and is left alone; update this one",
    "{} 由更新版本的 Lockstep 写入，保持原样；请升级本程序",
);
pub const UNKEPT: Words = Words::new("progress cannot be kept: {}", "学习进度无法保存：{}");

pub const NOTHING_DUE: Words = Words::new("Nothing is due now.", "现在没有要复习的题。");
pub const NO_CARDS: Words = Words::new(
    "there is no such question; take a filter away, or see `lockstep interview --json`",
    "没有这样的题目；请去掉一个筛选条件，或用 `lockstep interview --json` 查看全部",
);
pub const NO_NOTES: Words = Words::new("{} has no notes for teachers.", "{} 没有教师备注。");
pub const NOTES_NEED_TERMINAL: Words = Words::new(
    "following a lesson needs a terminal; with `--json` it prints a line for every step",
    "跟随课程需要终端；加上 `--json` 则每一步输出一行",
);
pub const TITLED: Words = Words::new("{}: {}", "{}：{}");
pub const VARIANT: Words = Words::new("    · {}: {}", "    · {}：{}");
pub const TRUSTED: Words = Words::new(
    "Allowed. This lesson starts these programs on this machine, as you and with all your rights:{}\n\
     Covered is everything in {}, as it is now and at this place:{}\n\
     When one of these files changes or goes, or another comes, it has to be allowed again. What the programs load from \
     elsewhere is not covered.",
    "已允许。这节课会在这台机器上以你的身份和全部权限运行这些程序：{}\n\
     允许的是 {} 里现在的全部内容，并且只在这个位置有效：{}\n\
     其中任何文件改动、消失，或者多出别的文件，都需要重新允许。程序从别处加载的内容不在其中。",
);
pub const AND_MORE: Words = Words::new("and {} more", "以及另外 {} 个");
pub const CANNOT_BE_ALLOWED: Words = Words::new("{} cannot be allowed: {}", "无法允许 {}：{}");
pub const OWN_FILES_BESIDE: Words = Words::new(
    "Lockstep's own files about you are below its directory, and change all the time; put the lesson and its programs into a \
     directory of their own",
    "Lockstep 自己的用户文件就在它的目录里，而这些文件随时在变；请把课程和它的程序单独放进一个目录",
);
pub const REVOKED: Words =
    Words::new("{} may no longer start programs of its own", "{} 不再允许运行自己的程序");
pub const STARTS_NOTHING: Words = Words::new(
    "{} starts no programs of its own: there is nothing to allow",
    "{} 不运行自己的程序，没有什么需要允许",
);
pub const TRUST_NOT_KEPT: Words =
    Words::new("what you allow could not be written down: {}", "无法记录你允许的课程：{}");
pub const GOOD: Words = Words::new("{}: good, {}, variants: {}", "{}：没有错误，{}，{} 个方案");
/// Value: the commands, each on a line of its own.
pub const STARTS_PROGRAMS: Words =
    Words::new("  It starts programs as you:{}", "  它会以你的身份运行程序：{}");
pub const WRITTEN: Words = Words::new("{} is written. Change it, then:", "已写好 {}。改好之后：");
pub const BAD_NAME: Words = Words::new(
    "`{}` cannot name a lesson: use lower-case letters, digits and hyphens, such as my-lock",
    "`{}` 不能做课程名：请用小写字母、数字和连字符，例如 my-lock",
);
pub const EXISTS_ALREADY: Words = Words::new(
    "{} exists already; give another name or `--lessons DIR`",
    "{} 已经存在；请换个名字，或用 `--lessons DIR` 指定目录",
);
/// Of an exercise, in a directory that the learner may have named.
pub const KATA_NOT_WRITTEN: Words = Words::new(
    "{} was not written: {}; name a directory that you may write to: `lockstep kata start DIR`",
    "无法写入 {}：{}；请指定一个可写的目录：`lockstep kata start 目录`",
);
pub const NOT_WRITTEN: Words = Words::new(
    "{} was not written: {}; give another name or `--lessons DIR`",
    "无法写入 {}：{}；请换个名字，或用 `--lessons DIR` 指定目录",
);

/// A recording is of another variant than the one asked for. Values: file, its variant, the one asked for,
/// lesson.
pub const OTHER_VARIANT: Words = Words::new(
    "{} is a recording of the variant `{}`, not of `{}`; leave `--variant` away, or record that variant with `lockstep \
     run {} --variant NAME --record FILE`",
    "{} 录的是方案 `{}`，不是 `{}`；请去掉 `--variant`，或用 `lockstep run {} --variant NAME --record FILE` 录制那个方案",
);
/// The extension of the output file belongs to no format. Value: the extension.
pub const NO_FORMAT: Words = Words::new(
    "nothing is written as `.{}`; name the file `.svg`, `.html`, `.cast`, `.mmd` or `.json`, or say the format with \
     `--format`. A browser or `rsvg-convert` turns svg into png",
    "不能导出为 `.{}`；请把文件命名为 `.svg`、`.html`、`.cast`、`.mmd` 或 `.json`，或用 `--format` 指定格式。svg 可以用浏览器或 \
     `rsvg-convert` 转成 png",
);
/// The parameters of a recording cannot be changed. Values: file, lesson.
pub const FIGURES_FIXED: Words = Words::new(
    "{} is a recording, and its figures are what they were; leave `--set` away, or record another run with `lockstep run \
     {} --set NAME=VALUE --record FILE`",
    "{} 是录像，里面的数值已经定了；请去掉 `--set`，或用 `lockstep run {} --set NAME=VALUE --record FILE` 重新录制",
);
pub const OUTDATED: Words = Words::new(
    "the lesson has changed since {} was recorded; some of its texts may not fit",
    "{} 录制之后课程有改动，部分文字可能对不上",
);
pub const IS_DIRECTORY: Words =
    Words::new("{} is a directory; name a file in it, such as {}", "{} 是目录；请写出其中的文件名，例如 {}");
/// The directory of the output file does not exist. Values: the file, the directory, the directory again.
pub const NO_DIRECTORY: Words = Words::new(
    "{}: there is no directory {}; make it first: `mkdir -p {}`",
    "{}：没有目录 {}；请先创建：`mkdir -p {}`",
);
/// The output path is no regular file. Values: the path, what it is.
pub const IRREGULAR: Words = Words::new(
    "{} is {}, and only a regular file is ever replaced; name another file",
    "{} 是{}，只有普通文件才会被替换；请换个文件名",
);
pub const NAMED_PIPE: Words = Words::new("a named pipe", "命名管道");
pub const SOCKET: Words = Words::new("a socket", "套接字");
pub const DEVICE: Words = Words::new("a device", "设备");
pub const DANGLING: Words = Words::new(
    "{} is a link to {}, which does not exist; name the file itself",
    "{} 是符号链接，它指向的 {} 不存在；请直接写出目标文件",
);
pub const OVERWRITE: Words =
    Words::new("{} was not made by this command. Overwrite it?", "{} 不是由这个命令生成的。要覆盖它吗？");
/// The same if nobody can answer, or the answer was no. Value: the file.
pub const NOT_OVERWRITTEN: Words = Words::new(
    "{} was not made by this command and is left as it is; name another file, or add `--force` to overwrite it",
    "{} 不是由这个命令生成的，因此没有改动；请换个文件名，或加上 `--force` 覆盖它",
);
pub const UMASK: Words = Words::new(
    "the umask {} keeps you from the files that you make yourself; set another one first: `umask 022`",
    "umask {} 使你无法读写自己新建的文件；请先换一个：`umask 022`",
);
pub const NO_PICTURE: Words = Words::new("{} was not written: {}", "无法写入 {}：{}");
pub const SHOWS_NOT: Words = Words::new(
    "a claim does not hold in this run, and what was exported says so",
    "这次运行没有证实全部结论，导出的内容里已经标明",
);

pub const BENCH_FAULTS: Words = Words::new(
    "The same four faults through each, as recorded; `lockstep play which-lock` opens every cell:",
    "同样的四种故障放到每种锁上（取自录像；用 `lockstep play which-lock` 可打开每一格）：",
);
/// Asked before the first write. Values: servers, the name of what is written.
pub const BENCH_WRITES: Words = Words::new(
    "This writes to {}.\nEverything that it writes is named {} and is removed afterwards; nothing else is touched. Go on?",
    "将写入 {}。\n写入的内容都以 {} 命名，结束后删除，不动其他任何东西。继续吗？",
);
/// Values: servers, why.
pub const BENCH_UNREACHED: Words = Words::new(
    "{} cannot be used: {}. Nothing was written. Check that the server runs, its address, the user and the password",
    "无法使用 {}：{}。什么也没有写入。请检查服务器是否在运行，地址、用户名和密码是否正确",
);
pub const BENCH_UNASKED: Words = Words::new(
    "nobody is there to allow writing to {}; add --yes to allow it",
    "没有终端可以确认是否写入 {}；加上 --yes 表示允许",
);
pub const BENCH_REFUSED: Words = Words::new("nothing was written", "什么也没有写入");
/// Values: servers, the name of what is left, why.
pub const BENCH_LEFT: Words = Words::new(
    "{}: what is named {} could not be removed: {}; remove it yourself",
    "{}：名为 {} 的内容没能删除：{}；请手动删除",
);
pub const BENCH_ADDRESS: Words = Words::new("{}: {}", "{}：{}");
/// Value: the locks that cannot be measured there.
pub const BENCH_NOT_THERE: Words = Words::new(
    "no address of servers for {} is given (Redlock needs --redis three times or more); leave it away, or give --redis, \
     --zookeeper or --sql",
    "没有给出 {} 所需服务器的地址（Redlock 至少要写三次 --redis）；请去掉它，或写出 --redis、--zookeeper、--sql",
);

/// Values: the address where phones join, and that of the stage.
pub const TEACH_JOIN: Words = Words::new(
    "The class joins at {} (J on the screen shows it).\nA second projector can show {}.",
    "学生从 {} 加入（在界面上按 J 显示）。\n第二块投影可以打开 {}。",
);
/// Only this machine can reach the pages. Value: the port.
pub const TEACH_ALONE: Words = Words::new(
    "Only this machine can open these addresses. For a class in the room: --bind 0.0.0.0:{}",
    "这两个地址只有本机能打开。要让教室里的学生加入，请加上 --bind 0.0.0.0:{}",
);
/// Values: the link, and the file that contains it.
pub const TEACH_LINK: Words = Words::new(
    "Your own page, for your phone. Whoever has this link controls the lesson: keep it off the projector.\n  {}\nUntil the class ends it also stands in {}",
    "你自己的页面，用手机打开。拿到这个链接就能控制课程，请不要投影出来。\n  {}\n下课之前也保存在 {}",
);
pub const TEACH_BEGIN: Words = Words::new("Press Enter to begin.", "按回车键开始。");
pub const TEACH_MEANS: Words = Words::new(
    "With --bind {} everybody in this machine's network who can reach it and has the code sees the lesson and can vote.\n     Nothing is stored, and nobody is asked for a name. The connection is not encrypted (no TLS).",
    "使用 --bind {} 后，同一网络中能连到本机并有口令的人都能看到课程并投票。\n不保存任何数据，也不询问姓名。连接不加密（没有 TLS）。",
);
pub const TEACH_ASK: Words = Words::new("Serve the pages there?", "在这个地址提供页面吗？");
pub const TEACH_REFUSED: Words = Words::new(
    "nothing was served; without --bind only this machine can open the pages, and --yes does not ask",
    "没有提供页面；不加 --bind 时只有本机能打开，加上 --yes 则不再询问",
);
/// Values: the directory, why.
pub const NO_FOLDER: Words = Words::new("cannot make the directory {}: {}", "无法创建目录 {}：{}");
pub const NOT_KEPT: Words = Words::new(
    "the pages of the class could not be written; those that are there are whole",
    "班级页面没能写完；已写出的页面是完整的",
);

/// On the exercises' screen. Value: the key that shows a solution.
pub const NO_MORE_HINTS: Words =
    Words::new("There is no further hint; {} shows a solution.", "没有更多提示了；按 {} 看参考答案。");
/// The solution was asked for before the exercise was solved. Value: the key.
pub const SURE_OF_SOLUTION: Words =
    Words::new("Not solved yet: {} again shows a solution.", "还没有解决：再按一次 {} 显示参考答案。");
/// The file of another exercise was saved.
pub const SWITCHED: Words =
    Words::new("You saved this file: it is judged now.", "检测到这个文件已保存，现在判定它。");
