//! Orders in words, with repeated moves folded.

use std::ops::Range;

use crate::text::{Lang, Text};

/// Folds repeated moves, such as asking every second, into one entry: `(A.ask, +1 s) × 15`.
pub(crate) fn folded(moves: &[String]) -> Vec<String> {
    let blocks = repeated(moves, |one, other| one == other).into_iter();
    blocks.map(|(first, times)| in_brackets(&moves[first], times)).collect()
}

/// The first of each block of repeated moves, and how often it is repeated.
fn repeated<T>(moves: &[T], alike: impl Fn(&T, &T) -> bool) -> Vec<(Range<usize>, usize)> {
    let mut blocks = Vec::new();
    let mut at = 0;
    while at < moves.len() {
        let times = |length: usize| {
            let first = moves.get(at..at + length).unwrap_or_default();
            let is_same = |next: &&[T]| {
                next.len() == first.len() && next.iter().zip(first).all(|(one, other)| alike(one, other))
            };
            moves[at..].chunks_exact(length).take_while(is_same).count()
        };
        let (length, times) =
            (1..=8).map(|length| (length, times(length))).find(|(_, times)| *times > 2).unwrap_or((1, 1));
        blocks.push((at..at + length, times));
        at += length * times;
    }
    blocks
}

fn in_brackets(moves: &[String], times: usize) -> String {
    let line = moves.join(", ");
    match (times, moves.len()) {
        (1, _) => line,
        (_, 1) => format!("{line} × {times}"),
        _ => format!("({line}) × {times}"),
    }
}

/// An order in one line, for learners.
pub fn describe(moves: &[String]) -> Text {
    Text::from_fn(|lang| {
        let moves: Vec<String> = moves.iter().map(|one| describe_one(one, lang)).collect();
        folded(&moves).join(" → ")
    })
}

/// A move, and what it was answered; empty if that is not shown.
#[derive(Debug, Clone)]
pub struct Answered {
    pub words: String,
    pub reply: String,
}

impl Answered {
    /// Whether the two can be folded: asked again, a server answers the same, or how much of a lease is left by then.
    fn is_like(&self, other: &Self) -> bool {
        let number = |reply: &str| reply.parse::<u64>().is_ok_and(|number| number > LARGEST_COUNT);
        self.words == other.words
            && (self.reply == other.reply || (number(&self.reply) && number(&other.reply)))
    }
}

/// The largest reply that may be a count or a yes or no: larger ones are milliseconds.
const LARGEST_COUNT: u64 = 99;

/// An order, for learners: one line for each move or repeated moves. Replies that change have their first and last value.
pub fn in_lines(moves: &[Answered]) -> Vec<Text> {
    let blocks = repeated(moves, Answered::is_like).into_iter();
    let line = |(first, times): (Range<usize>, usize)| {
        Text::from_fn(|lang| {
            let words = first.clone().map(|n| {
                let (words, reply) = (describe_one(&moves[n].words, lang), &moves[n].reply);
                let last = &moves[n + first.len() * (times - 1)].reply;
                match reply.as_str() {
                    "" => words,
                    _ if reply == last => format!("{words} → {reply}"),
                    _ => format!("{words} → {reply} … {last}"),
                }
            });
            in_brackets(&words.collect::<Vec<_>>(), times)
        })
    };
    blocks.map(line).collect()
}

/// A count of orders, for learners: `4,096`, `13.1 trillion`.
pub fn how_many(orders: u128) -> Text {
    Text::from_fn(|lang| {
        let large: &[(u128, &str)] = match lang {
            Lang::En => {
                &[(1_000_000_000_000, " trillion"), (1_000_000_000, " billion"), (1_000_000, " million")]
            }
            Lang::Zh => &[(1_000_000_000_000, "万亿"), (100_000_000, "亿"), (10_000, "万")],
        };
        if orders >= 1_000_000_000_000_000_000 {
            let power = orders.ilog10();
            return format!("10^{power}");
        }
        match large.iter().find(|(unit, _)| orders >= *unit) {
            Some((unit, name)) => {
                let tenths = (orders * 10 + unit / 2) / unit;
                format!("{}.{}{name}", tenths / 10, tenths % 10)
            }
            None if orders < 1000 => orders.to_string(),
            None => format!("{},{:03}", orders / 1000, orders % 1000),
        }
    })
}

fn describe_one(one: &str, lang: Lang) -> String {
    if let Some(seconds) = one.strip_prefix('+').and_then(|time| time.strip_suffix(" s")?.parse::<f64>().ok())
    {
        // The millisecond by which a wait is exceeded means nothing to learners. A no-break space keeps the
        // unit on the line.
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

/// The Chinese names of the faults ([`crate::log::Fault`]) that an order may contain.
const FAULTS_ZH: [(&str, &str); 7] = [
    ("crash", "杀掉"),
    ("freeze", "冻结"),
    ("thaw", "恢复"),
    ("restart", "重启"),
    ("skew", "拨动时钟"),
    ("cut", "切断"),
    ("release", "恢复"),
];

#[cfg(test)]
mod tests {
    use super::{Answered, describe, folded, how_many, in_lines};

    #[test]
    fn repeated_moves_are_folded() {
        let moves = |text: &str| text.chars().map(String::from).collect::<Vec<_>>();
        assert_eq!(folded(&moves("abtbtbtbc")), ["a", "(b, t) × 3", "b", "c"]);
        assert_eq!(folded(&moves("aaab")), ["a × 3", "b"]);
        assert_eq!(folded(&moves("abab")), ["a", "b", "a", "b"]);
    }

    #[test]
    fn answered_polls_are_folded_unless_the_answer_changes() {
        let answered = |moves: &[(&str, &str)]| {
            let moves = moves.iter();
            let moves =
                moves.map(|(words, reply)| Answered { words: (*words).into(), reply: (*reply).into() });
            in_lines(&moves.collect::<Vec<_>>()).into_iter().map(|line| line.en).collect::<Vec<_>>()
        };
        let ask = |reply| ("B.ask  SET lock", reply);
        let wait = ("+1 s", "");
        assert_eq!(
            answered(&[ask("(nil)"), wait, ask("(nil)"), wait, ask("(nil)"), wait, ask("OK")]),
            ["(B.ask  SET lock → (nil), +1\u{a0}s) × 3", "B.ask  SET lock → OK"],
        );
        assert_eq!(
            answered(&[ask("29993"), ask("28992"), ask("27991"), ask("1")]),
            ["B.ask  SET lock → 29993 … 27991 × 3", "B.ask  SET lock → 1"],
        );
        assert_eq!(answered(&[ask("1"), ask("2"), ask("3")]).len(), 3, "counts are no times");
        assert_eq!(answered(&[ask(""), ask(""), ask("")]), ["B.ask  SET lock × 3"]);
    }

    #[test]
    fn a_count_of_orders_can_be_read() {
        let english = |orders| how_many(orders).en;
        assert_eq!([1, 999, 4_096, 999_999].map(english), ["1", "999", "4,096", "999,999"]);
        assert_eq!(english(13_146_800_149_728), "13.1 trillion");
        assert_eq!(english(2 * 10_u128.pow(18)), "10^18");
        assert_eq!(how_many(13_146_800_149_728).zh, "13.1万亿");
        assert_eq!(how_many(24_310).zh, "2.4万");
    }

    #[test]
    fn an_order_has_plain_times_and_both_languages() {
        let moves = ["A.set (reply lost)", "+1.301 s", "crash A", "B.set", "+0.002 s"].map(str::to_owned);
        let order = describe(&moves);
        assert_eq!(order.en, "A.set (reply lost) → +1.3\u{a0}s → crash A → B.set → +0.002\u{a0}s");
        assert_eq!(order.zh, "A.set（回复丢失） → +1.3\u{a0}s → 杀掉 A → B.set → +0.002\u{a0}s");
    }
}
