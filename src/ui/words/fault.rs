//! Glyphs and texts of faults: a row for each kind.

use crate::ui::theme::{glyphs, time};
use crate::ui::words::FROZEN;
use crate::{
    log::{Direction, Fault},
    text::{Lang, Words},
};

struct Row {
    glyph: &'static str,
    /// The mark on the lane of the target, the same in all languages; links and clocks have more specific marks.
    mark: &'static str,
    done: Words,
    to_do: Words,
}

fn row(fault: &Fault) -> Row {
    use glyphs::{CLOCK, CUT, KILLED, RELEASED, STOPPED};
    const DEAD: Words = Words::new("killed", "被杀死");
    const THAWED: Words = Words::new("thawed", "恢复");
    let words = Words::new;
    let row = |glyph, mark, done, to_do| Row { glyph, mark, done, to_do };
    match fault {
        Fault::Crash { .. } => {
            row(KILLED, "SIGKILL", DEAD, words("crash {} (SIGKILL)", "杀掉 {}（SIGKILL）"))
        }
        Fault::Freeze { .. } => {
            row(STOPPED, "SIGSTOP", FROZEN, words("freeze {} (a long GC pause)", "冻结 {}（像长时间 GC）"))
        }
        Fault::Thaw { .. } => row(RELEASED, "SIGCONT", THAWED, words("thaw {}", "恢复 {}")),
        Fault::Cut { .. } => row(CUT, "", words("link cut", "链路断开"), words("cut {}", "切断 {}")),
        Fault::Hold { way: Direction::Both, .. } => row(
            STOPPED,
            "",
            words("link held", "链路挂起"),
            words("hold everything on {}", "挂起 {} 的双向数据"),
        ),
        Fault::Hold { way: Direction::Requests, .. } => row(
            STOPPED,
            "",
            words("link holds requests", "链路挂起请求"),
            words("hold requests on {}", "挂起 {} 的请求"),
        ),
        Fault::Hold { way: Direction::Replies, .. } => row(
            STOPPED,
            "",
            words("link holds replies", "链路挂起回复"),
            words("hold replies on {}", "挂起 {} 的回复"),
        ),
        Fault::Delay { way, .. } => {
            let to_do = match way {
                Direction::Both => words("delay everything on {} by {}", "{} 的双向数据延迟 {}"),
                Direction::Requests => words("delay requests on {} by {}", "{} 的请求延迟 {}"),
                Direction::Replies => words("delay replies on {} by {}", "{} 的回复延迟 {}"),
            };
            let done = match way {
                Direction::Both => words("link delayed by {}", "链路延迟 {}"),
                Direction::Requests => words("link delays requests by {}", "链路的请求延迟 {}"),
                Direction::Replies => words("link delays replies by {}", "链路的回复延迟 {}"),
            };
            row(CLOCK, "", done, to_do)
        }
        Fault::Release { .. } => {
            row(RELEASED, "", words("link released", "链路恢复"), words("release {}", "恢复 {}"))
        }
        Fault::Drop { .. } => row(
            CUT,
            "",
            words("link cut, what it held is lost", "链路断开，挂起的数据全部丢失"),
            words("cut {} and lose what it holds", "切断 {}，丢弃挂起的数据"),
        ),
        Fault::KillServer { .. } => row(KILLED, "SIGKILL", DEAD, words("kill server {}", "杀掉服务器 {}")),
        Fault::LosePower { .. } => row(
            KILLED,
            "POWER",
            words("lost power", "断电"),
            words(
                "cut the power of {}: what is not on its disk is lost",
                "让 {} 断电：没有落盘的数据全部丢失",
            ),
        ),
        Fault::FreezeServer { .. } => {
            row(STOPPED, "SIGSTOP", FROZEN, words("freeze server {}", "冻结服务器 {}"))
        }
        Fault::ThawServer { .. } => {
            row(RELEASED, "SIGCONT", THAWED, words("thaw server {}", "恢复服务器 {}"))
        }
        Fault::RestartServer { .. } => {
            row(RELEASED, "START", words("restarted", "已重启"), words("restart server {}", "重启服务器 {}"))
        }
        Fault::Skew { ahead_ms, .. } | Fault::SkewClient { ahead_ms, .. } => {
            let to_do = match ahead_ms {
                0 => words("put the clock of {} right", "校准 {} 的时钟"),
                1.. => words("set the clock of {} {} ahead", "把 {} 的时钟拨快 {}"),
                _ => words("set the clock of {} {} behind", "把 {} 的时钟拨慢 {}"),
            };
            row(CLOCK, "", clock(*ahead_ms), to_do)
        }
    }
}

fn clock(ahead_ms: i64) -> Words {
    match ahead_ms {
        0 => Words::new("clock right again", "时钟恢复准确"),
        1.. => Words::new("clock {} ahead", "时钟快了 {}"),
        _ => Words::new("clock {} behind", "时钟慢了 {}"),
    }
}

pub fn glyph(fault: &Fault) -> &'static str {
    row(fault).glyph
}

/// The mark of a fault on its server's or client's lane, the same in all languages: `SIGKILL`, `→master`, `+30s`.
pub fn mark(fault: &Fault) -> String {
    if let Some(link) = fault.link() {
        return format!("→{}", link.to);
    }
    match fault.ahead_ms() {
        Some(ahead_ms) if ahead_ms < 0 => format!("-{}", amount(ahead_ms)),
        Some(ahead_ms) => format!("+{}", amount(ahead_ms)),
        None => row(fault).mark.to_owned(),
    }
}

/// The error of a clock, without its sign.
fn amount(ahead_ms: i64) -> String {
    time::amount(ahead_ms.unsigned_abs())
}

/// The error of a clock, or the delay of a link, in a fault.
fn extent(fault: &Fault) -> String {
    match fault {
        Fault::Delay { by_ms, .. } => time::amount(*by_ms),
        other => amount(other.ahead_ms().unwrap_or_default()),
    }
}

/// A short description of a fault: `▮ A→redis link held`.
pub fn words(lang: Lang, fault: &Fault) -> String {
    format!("{} {} {}", glyph(fault), fault.target(), done(lang, fault))
}

/// What has happened to a fault's target: `link held`.
pub fn done(lang: Lang, fault: &Fault) -> String {
    row(fault).done.with(lang, &[&time::said(&extent(fault), lang)])
}

/// A fault as an action: `freeze A`.
pub fn to_do(lang: Lang, fault: &Fault) -> String {
    row(fault).to_do.with(lang, &[&fault.target().to_string(), &time::said(&extent(fault), lang)])
}

/// The error of a clock: `clock 30 s ahead`.
pub fn skew(lang: Lang, ahead_ms: i64) -> String {
    clock(ahead_ms).with(lang, &[&time::said(&amount(ahead_ms), lang)])
}
