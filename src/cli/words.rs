//! Every word that the command line says to learners, in both languages. What is wrong with a lesson is worded where
//! it is found, in both, too; the options' own descriptions are in English only.

use crate::{text::Words, verdict::Outcome};

pub const fn outcome(outcome: Outcome) -> Words {
    match outcome {
        Outcome::Shown => Words::new("failure shown", "故障已重现"),
        Outcome::Prevented => Words::new("prevented", "故障已避免"),
        Outcome::NotShown => Words::new("NOT SHOWN", "未能证实"),
    }
}

/// A run: outcome, lesson, variant, its title, lesson time, real time.
pub const RAN: Words = Words::new(
    "{}{} · {}  ({}; {} s of lesson time in {} s)",
    "{}{} · {}（{}；课程时间 {} 秒，实际用时 {} 秒）",
);
/// Repetitions: how many held, of how many.
pub const HELD: Words = Words::new("{} of {} repetitions held", "{} 次成立，共重复 {} 次");
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
/// Races: lesson, variant, how many, of how many clients, real time.
pub const RACED: Words = Words::new(
    "{} · {}: {} races of {} clients at once, in {} s",
    "{} · {}：{} 次竞跑，每次 {} 个客户端同时跑，用时 {} 秒",
);
/// Races under way: lesson, variant, how many, of how many, how many in a second, time left.
pub const RACING: Words =
    Words::new("{} · {}: {} of {} races, {}/s, {} left", "{} · {}：已跑 {}/{} 次，每秒 {} 次，还需 {}");
pub const RACES_CUT: Words = Words::new(
    "Ended by {} after {} of {} races; this is what they came to.",
    "被 {} 终止：已跑 {} 次，原定 {} 次；以上只统计跑完的部分。",
);
pub const NO_FAULTS_RACED: Words = Words::new(
    "Only the programs are raced. The faults of the story (crashes, pauses, cuts) are left out.",
    "这里只让各客户端的程序竞跑，不含剧情里的故障（崩溃、停顿、断网等）。",
);
/// Orders of moves: lesson, variant, tried, real time, rate, left out, violations, cut.
pub const EXPLORED: Words = Words::new(
    "{} · {}: {} orders tried in {} s ({} a second), {} more are sure to come to the same; of all {} of them {} \
     violate and {} were cut at the bound",
    "{} · {}：试了 {} 种顺序，用时 {} 秒（每秒 {} 种），另有 {} 种结果必然相同、不必再试；总共 {} 种顺序，其中 {} 种出错，{} 种到步数上限为止",
);
pub const ONE_ORDER: Words = Words::new(
    "there is only this one order: never could two clients move at once, so nothing was tried out against each other",
    "只有这一种顺序：从来没有两个客户端可以同时走下一步，所以什么先后都没有试到",
);
/// What is expected not to be found may come later: how many orders, and where they were cut.
pub const CUT_IS_UNKNOWN: Words = Words::new(
    "not proved: {} orders were cut after {} moves, and whether they violate later is not known; raise --moves, or give it \
     to be content with that many",
    "未能证明：有 {} 种顺序走了 {} 步就被截断，之后会不会出错并不知道；请调大 --moves，或者明确写出它，表示查到这么多步就够了",
);
pub const BEFORE_ALL: Words = Words::new("broken before the first move", "第一步之前就已违反");
pub const INCOMPLETE: Words =
    Words::new("INTERRUPTED: this is only what was found until then", "已中断：以上只是到中断时为止的结果");
pub const BROKEN: Words = Words::new("{} break: {}", "{} 种违反：{}");
pub const STARTS: Words = Words::new("starting servers", "正在启动服务器");
/// While it goes on: tried, left out, rate, time left, violations.
pub const EXPLORING: Words = Words::new(
    "{} tried, {} left out, {} a second, {} left, {} violate",
    "已试 {}，跳过 {}，每秒 {}，还需 {}，出错 {}",
);
pub const SHORTEST: Words = Words::new("the shortest: {}", "最短的一种：{}");
/// An invariant that was broken: in how many races, of how many, and what that means.
pub const RACES_BROKE: Words = Words::new("{} of {}: {}", "{}/{} 次：{}");
pub const FIRST_SEED: Words = Words::new("first with --seed {}", "首见于 --seed {}");
pub const MORE_OUTCOMES: Words =
    Words::new("and {} rarer outcomes; --json lists them all", "另有 {} 种更少见的结果，--json 会全部列出");
pub const NO_LESSON_BUT: Words =
    Words::new("there is no lesson `{}`; did you mean `{}`?", "没有名为 `{}` 的课程，是不是 `{}`？");
pub const NO_LESSON: Words = Words::new(
    "there is no lesson `{}`; `lockstep list` names them all",
    "没有名为 `{}` 的课程；`lockstep list` 列出所有课程",
);
pub const ENDED_BY: Words = Words::new("ended by {}", "被 {} 终止");
pub const NEEDS_TERMINAL: Words = Words::new(
    "the playground needs a terminal, and standard input or output is none; `lockstep run LESSON` runs lessons \
     without a screen",
    "上课需要终端，而标准输入或标准输出不是终端；`lockstep run LESSON` 可以不用屏幕运行课程",
);
pub const RECORDING_OF_ANOTHER: Words = Words::new(
    "the recording is of the lesson `{}`, which is not here; give its directory with `--lessons DIR`",
    "这份录像属于课程 `{}`，这里没有；请用 `--lessons DIR` 指明它所在的目录",
);

pub const SOME_MISSING: Words = Words::new(
    "Lessons run on real servers, and some are missing here. This would install them:\n\n{}",
    "课程在真实的服务器上运行，这台机器上还缺一些。将用下面的命令安装：\n\n{}",
);
pub const OR_RECORDINGS: Words =
    Words::new("Without them, the lessons play from recordings.", "不装也可以：课程会用录像播放。");
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

pub const TITLED: Words = Words::new("{}: {}", "{}：{}");
pub const VARIANT: Words = Words::new("    · {}: {}", "    · {}：{}");
pub const GOOD: Words = Words::new("{}: good, {} with {} variants", "{}：没有错误，{}，{} 个方案");
pub const WRITTEN: Words = Words::new("{} is written. Change it, then:", "已写好 {}。改好之后：");
pub const BAD_NAME: Words = Words::new(
    "`{}` cannot name a lesson: use lower-case letters, digits and hyphens, such as my-lock",
    "`{}` 不能做课程名：请用小写字母、数字和连字符，例如 my-lock",
);
pub const NOT_WRITTEN: Words = Words::new(
    "{} was not written: {}; give another name or `--lessons DIR`",
    "无法写入 {}：{}；请换个名字，或用 `--lessons DIR` 指定目录",
);

/// A recording is of one variant: file, its variant, the one asked for, lesson.
pub const OTHER_VARIANT: Words = Words::new(
    "{} is a recording of the variant `{}`, not of `{}`; leave `--variant` away, or record that variant with `lockstep \
     run {} --variant NAME --record FILE`",
    "{} 录的是方案 `{}`，不是 `{}`；请去掉 `--variant`，或用 `lockstep run {} --variant NAME --record FILE` 录制那个方案",
);
/// A recording's figures cannot be changed: file, lesson.
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
/// A picture cannot be written where no directory is: the file, the directory, again.
pub const NO_DIRECTORY: Words = Words::new(
    "{}: there is no directory {}; make it first: `mkdir -p {}`",
    "{}：没有目录 {}；请先创建：`mkdir -p {}`",
);
/// Something else than a file is where a file should be written: the file, what is there.
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
/// The same where nobody can answer, or the answer was no: the file.
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
