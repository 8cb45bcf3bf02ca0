//! Orders in words: what is made again and again is said once.

use crate::text::{Lang, Text};

/// Moves with what is made again and again, such as asking every second, said once: `(A.ask, +1 s) × 15`.
pub(crate) fn folded(moves: &[String]) -> Vec<String> {
    let mut lines = Vec::new();
    let mut at = 0;
    while at < moves.len() {
        let times = |length: usize| {
            let first = moves.get(at..at + length);
            moves[at..].chunks_exact(length).take_while(|next| Some(*next) == first).count()
        };
        let (length, times) = [1, 2, 3, 4]
            .map(|length| (length, times(length)))
            .into_iter()
            .find(|(_, times)| *times > 2)
            .unwrap_or((1, 1));
        let line = moves[at..at + length].join(", ");
        lines.push(match (times, length) {
            (1, _) => line,
            (_, 1) => format!("{line} × {times}"),
            _ => format!("({line}) × {times}"),
        });
        at += length * times;
    }
    lines
}

/// An order as a learner reads it, in a row.
pub fn describe(moves: &[String]) -> Text {
    Text::from_fn(|lang| {
        let moves: Vec<String> = moves.iter().map(|one| describe_one(one, lang)).collect();
        folded(&moves).join(" → ")
    })
}

fn describe_one(one: &str, lang: Lang) -> String {
    if let Some(seconds) = one.strip_prefix('+').and_then(|time| time.strip_suffix(" s")?.parse::<f64>().ok())
    {
        // The millisecond after which a wait is over tells nobody anything; and no line ends before the unit.
        let seconds = if seconds < 0.1 { seconds } else { (seconds * 100.0).round() / 100.0 };
        return format!("+{seconds}\u{a0}s");
    }
    match lang {
        Lang::En => one.to_owned(),
        Lang::Zh => {
            let fault = one.split_once(' ').and_then(|(verb, target)| {
                let (_, zh) = FAULTS_ZH.iter().find(|(en, _)| *en == verb)?;
                Some(format!("{zh} {target}"))
            });
            fault.unwrap_or_else(|| one.replace(" (reply lost)", "（回复丢失）"))
        }
    }
}

/// What [`crate::log::Fault`] is called where it stands as a move among others.
const FAULTS_ZH: [(&str, &str); 10] = [
    ("crash", "杀掉"),
    ("freeze", "冻结"),
    ("thaw", "恢复"),
    ("kill", "杀掉"),
    ("restart", "重启"),
    ("skew", "拨动时钟"),
    ("cut", "切断"),
    ("hold", "挂起"),
    ("delay", "延迟"),
    ("release", "恢复"),
];

#[cfg(test)]
mod tests {
    use super::{describe, folded};

    #[test]
    fn what_is_made_again_and_again_is_said_once() {
        let moves = |text: &str| text.chars().map(String::from).collect::<Vec<_>>();
        assert_eq!(folded(&moves("abtbtbtbc")), ["a", "(b, t) × 3", "b", "c"]);
        assert_eq!(folded(&moves("aaab")), ["a × 3", "b"]);
        assert_eq!(folded(&moves("abab")), ["a", "b", "a", "b"]);
    }

    #[test]
    fn an_order_is_told_with_plain_times_and_in_both_languages() {
        let moves = ["A.set (reply lost)", "+1.301 s", "crash A", "B.set", "+0.002 s"].map(str::to_owned);
        let order = describe(&moves);
        assert_eq!(order.en, "A.set (reply lost) → +1.3\u{a0}s → crash A → B.set → +0.002\u{a0}s");
        assert_eq!(order.zh, "A.set（回复丢失） → +1.3\u{a0}s → 杀掉 A → B.set → +0.002\u{a0}s");
    }
}
