//! Texts of the comparison of two runs.

use crate::log::Belief;
use crate::text::Words;

pub const COMPARISON: Words = Words::new("before and after", "修复前后对比");
pub const BEFORE: Words = Words::new("BEFORE", "修复前");
pub const AFTER: Words = Words::new("AFTER", "修复后");
/// For two variants of which neither fixes the other.
pub const TWO_VARIANTS: Words = Words::new("two variants", "两个方案对比");
pub const ONE: Words = Words::new("ABOVE", "上方");
pub const OTHER: Words = Words::new("BELOW", "下方");
pub const WAITING: Words = Words::new("waits for the other run", "等待另一次运行结束");
pub const RUNNING: Words = Words::new("running, step {} of {}", "运行中，第 {}/{} 步");
pub const RUN_FAILED: Words = Words::new("this run failed", "本次运行失败");
pub const AT_THE_END: Words = Words::new("told at the end", "走到结尾时显示");
pub const COMPARE_AGAIN: Words = Words::new("{} runs both again.", "按 {} 重新运行两个方案。");
pub const HOLD_SINCE: Words = Words::new("{} · since {}", "{} · 从 {} 起");
/// The heading of a pane, and its subject.
pub const ABOUT: Words = Words::new("{}: {}", "{}：{}");
pub const ONE_AT_A_TIME: Words = Words::new("never two holders", "始终只有一个持有者");
/// For a semaphore or a read-write lock.
pub const NEVER_TOO_MANY: Words = Words::new("never too many holders", "持有者从未超出上限");

pub const FIRST_DIFFERENCE: Words = Words::new("First difference", "第一处不同");
pub const OTHER_COMMAND: Words = Words::new("another command", "命令不同");
pub const OTHER_REPLY: Words = Words::new("the same command, another reply", "命令相同，回复不同");
pub const OTHER_OUTCOME: Words = Words::new("the same reply, another conclusion", "回复相同，结论不同");
pub const ONLY_BEFORE: Words = Words::new("a move that is gone after the fix", "修复后少了这一步");
pub const ONLY_AFTER: Words = Words::new("a move that the fix adds", "修复后多了这一步");
pub const ONLY_ONE: Words = Words::new("a move that only the one above makes", "只有上方的方案有这一步");
pub const ONLY_OTHER: Words = Words::new("a move that only the one below makes", "只有下方的方案有这一步");
pub const AT: Words = Words::new("at {}, {}", "{} 时，{}");
pub const SENDS: Words = Words::new("{} sends {} → {}", "{} 发出 {} → {}");
/// A notification that was handled, or a command without a reply: the actor, the content.
pub const TAKES: Words = Words::new("{}: {}", "{}：{}");
pub const AND_THEN: Words = Words::new(", and then: {}", "，随后：{}");
pub const NO_CONSEQUENCE: Words = Words::new("nothing changes", "没有变化");
pub const NO_SUCH_MOVE: Words = Words::new("makes no such move", "没有这一步");
pub const NO_DIFFERENCE: Words = Words::new(
    "None: both runs make the same moves and get the same replies. Only the story around them differs.",
    "没有：两次运行的命令和回复完全相同，不同的只是外部发生的事。",
);
pub const COMPARING: Words =
    Words::new("Both variants are being run, one after the other.", "正在依次运行两个方案。");
pub const NOTHING_TO_COMPARE: Words =
    Words::new("Cannot be told: one of the runs did not come to its end.", "无法判断：有一次运行没有走完。");
pub const ONLY_ASCII: Words = Words::new(
    "The locale says that this terminal has ASCII only, so Chinese cannot be shown. Set `LC_ALL` to one with UTF-8, such as `C.UTF-8`.",
    "当前 locale 只有 ASCII，无法显示中文。请把 `LC_ALL` 设为 UTF-8，例如 `C.UTF-8`。",
);
pub const ONE_VARIANT: Words = Words::new(
    "This lesson has only one variant: there is nothing to compare.",
    "本课只有一个方案，没有可以对比的。",
);

pub const NO_OTHER_FIX: Words =
    Words::new("This lesson has no other variant that prevents the failure.", "本课没有别的修复方案。");
pub const NO_OTHER_FAILURE: Words =
    Words::new("This lesson has no other variant that fails.", "本课没有别的故障方案。");

pub const fn believes(belief: Belief) -> Words {
    match belief {
        Belief::Holding => Words::new("it believes that it holds {}", "认为自己持有 {}"),
        Belief::Sharing => Words::new("it believes that it shares {}", "认为自己共享持有 {}"),
        Belief::Waiting => Words::new("it waits for {}", "等待 {}"),
        Belief::Unsure => Words::new("it is not sure of {}", "不确定是否持有 {}"),
        Belief::Nothing => Words::new("it lets go of {}", "不再认为持有 {}"),
    }
}
