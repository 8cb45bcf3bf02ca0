//! The banner for a broken lock or invariant: across all lanes, in large letters if there is room, with a sentence that
//! says what happened.

use super::{
    prelude::*,
    scene::{Alarm, Oversold},
};
use crate::{log::Log, text::Text, ui::chart::Chart, world::Overlap};

/// The minimum rows of a pane for letters of five rows, and for letters of three rows.
const ROOM: (u16, u16) = (36, 24);
/// The minimum rows of a pane for two lines of letters of three rows.
const ROOM_FOR_TWO: u16 = 25;

/// Bitmaps of letters, five rows of three columns, in row order.
#[rustfmt::skip]
const LETTERS: &[(char, u16)] = &[
    ('A', 0b010_101_111_101_101), ('B', 0b110_101_110_101_110), ('C', 0b011_100_100_100_011),
    ('D', 0b110_101_101_101_110), ('E', 0b111_100_110_100_111), ('H', 0b101_101_111_101_101),
    ('I', 0b111_010_010_010_111), ('L', 0b100_100_100_100_111), ('O', 0b010_101_101_101_010),
    ('R', 0b110_101_110_101_101), ('S', 0b011_100_010_001_110),
    ('T', 0b111_010_010_010_010), ('U', 0b101_101_101_101_111), ('V', 0b101_101_101_101_010),
    ('X', 0b101_101_010_101_101), ('F', 0b111_100_110_100_100),
    ('0', 0b111_101_101_101_111), ('1', 0b010_110_010_010_111), ('2', 0b110_001_010_100_111),
    ('3', 0b110_001_010_001_110), ('4', 0b101_101_111_001_001), ('5', 0b111_100_110_001_110),
    ('G', 0b011_100_101_101_011), ('J', 0b001_001_001_101_010), ('K', 0b101_101_110_101_101),
    ('P', 0b110_101_110_100_100), ('Q', 0b010_101_101_111_011),
    ('Y', 0b101_101_010_010_010), ('Z', 0b111_001_010_100_111),
    ('\'', 0b010_010_000_000_000), ('.', 0b000_000_000_000_010), (':', 0b000_010_000_010_000),
    ('6', 0b011_100_110_101_010), ('7', 0b111_001_010_010_010), ('8', 0b010_101_010_101_010),
    ('9', 0b010_101_011_001_110), ('/', 0b001_001_010_100_100), ('!', 0b010_010_010_000_010),
    ('-', 0b000_000_111_000_000), ('+', 0b000_010_111_010_000), (',', 0b000_000_000_010_100), (' ', 0),
];

/// Those that three columns make unreadable: the columns of each, and its bitmap.
#[rustfmt::skip]
const WIDER: &[(char, u16, u32)] = &[
    ('M', 5, 0b10001_11011_10101_10001_10001), ('N', 4, 0b1001_1101_1011_1001_1001),
    ('W', 5, 0b10001_10001_10101_11011_10001), ('→', 5, 0b00100_00010_11111_00010_00100),
];

/// Names with the glyphs of their clients: `● A and ■ B`.
pub fn names(scene: &Scene<'_>, actors: &[ActorId]) -> String {
    let name = |actor: &ActorId| format!("{} {}", scene.glyph(*actor), scene.name(*actor));
    words::listed(actors.iter().map(name), scene.lang)
}

/// A short text for what is wrong at the playhead, so that it does not depend on the colour red.
pub fn alarm_words(scene: &Scene<'_>) -> Option<String> {
    match scene.alarm()? {
        Alarm::Holders(excess, _) => Some(words::overlap_span(scene.lang, excess)),
        Alarm::Oversold(oversold) => {
            let Oversold { sold, of, before, now, .. } = oversold;
            let counter = words::named(scene.log, oversold.counter, scene.lang);
            let words = match oversold.change() {
                // The sum is right: what is wrong is what the action was based on.
                _ if oversold.grew() => words::ON_AN_OUTDATED_VALUE.with(scene.lang, &[counter]),
                // A change of -1 would read as what is left.
                Some(_) if !oversold.exceeds() => format!("{counter} {sold}, {of} {before} → {now}"),
                _ => format!("{counter} {sold}/{before}"),
            };
            Some(loud(words, scene.lang))
        }
        Alarm::Broken(_, event) => Some(breach_words((scene.log, scene.chart), event, scene.lang)),
    }
}

/// Capitals are loud where all words have them.
fn loud(words: String, lang: Lang) -> String {
    if lang == Lang::En { words.to_uppercase() } else { words }
}

/// The shortest text for an invariant broken by `event`.
fn breach_words(run: (&Log, &Chart), event: usize, lang: Lang) -> String {
    match woken(run, event) {
        Some(woken) => words::WOKEN.with(lang, &[&woken.to_string()]),
        None => words::INVARIANT_BROKEN.get(lang).to_owned(),
    }
}

/// The text for a broken invariant, from the event that reports it on.
pub fn breach_sentence(run: (&Log, &Chart), says: &Text, event: usize, lang: Lang) -> String {
    format!("{} · {}", breach_words(run, event, lang), sentence_of(says, lang))
}

/// The same in at most `room` columns if possible: the lesson's own sentence says more than that an invariant is broken.
pub fn breach_within(run: (&Log, &Chart), (says, event): (&Text, usize), lang: Lang, room: usize) -> String {
    let words = breach_sentence(run, says, event, lang);
    if text::width(&words) > room { sentence_of(says, lang) } else { words }
}

/// A sentence of a lesson, without its full stop.
fn sentence_of(says: &Text, lang: Lang) -> String {
    says.get(lang).replace('`', "").trim_end_matches(['.', '。']).to_owned()
}

/// How many clients got the same notification at once, if that is what broke an invariant.
fn woken((log, chart): (&Log, &Chart), breach: usize) -> Option<usize> {
    let kind = |event: usize| log.events().get(event).map(|event| &event.kind);
    let EventKind::Breached { evidence, .. } = kind(breach)? else { return None };
    let told = |event: usize| match kind(event) {
        Some(EventKind::Notified { about, what, .. }) => Some((about, what)),
        _ => None,
    };
    let what = told(*evidence.first()?)?;
    let step = chart.step_begun(breach)..breach;
    let woken = step.filter(|event| told(*event) == Some(what)).count();
    (woken > 1 && evidence.iter().all(|event| told(*event).is_some())).then_some(woken)
}

/// What was sold beyond what there was, with a bar of `most` characters at most.
pub fn sold_words(oversold: &Oversold<'_>, log: &Log, most: usize, lang: Lang) -> String {
    let Oversold { counter, sold, of, before, now } = oversold;
    let bar = glyphs::FULL.repeat(usize::try_from(*sold).unwrap_or(0).min(most));
    let counter = loud(words::named(log, counter, lang).to_owned(), lang);
    if oversold.exceeds() {
        format!("{counter} {bar} {sold} / {before}")
    } else {
        format!("{counter} {bar} {sold} · {of} {before} → {now}")
    }
}

/// The text for what is or was wrong, in `width` columns if `taken` of them at the right end are in use.
fn line_of(scene: &Scene<'_>, (width, taken): (u16, u16)) -> Option<String> {
    let loud = alarm_words(scene).unwrap_or_default();
    let alarm = scene.alarm();
    // A breach takes precedence over an earlier overlap, and at the end of a run over every overlap.
    let breach = match alarm {
        Some(Alarm::Broken(_, event)) => Some(if scene.whole { usize::MAX } else { event }),
        _ => None,
    };
    let past = scene.recent_overlap().filter(|overlap| breach.is_none_or(|event| event < overlap.event));
    let past = past.and_then(|overlap| Some((overlap, overlap.to?)));
    Some(match alarm {
        None | Some(Alarm::Broken(..)) if let Some((Overlap { excess, holders, from, .. }, to)) = past => {
            let (loud, who) = (words::overlap_span(scene.lang, *excess), names(scene, holders));
            format!(" {loud} · {who} · {} ", time::span(*from, to))
        }
        Some(Alarm::Holders(_, lock)) => {
            let who = names(scene, &scene.holders(lock));
            format!(" {loud} · {who} ")
        }
        Some(Alarm::Oversold(oversold))
            if oversold.grew()
                && let Some((seller, bar)) = scene.chart.outdated_sale(scene.world.position) =>
        {
            let acted = words::IN_BAR_OVERSOLD;
            let acted =
                acted.with(scene.lang, &[words::named(scene.log, oversold.counter, scene.lang), &bar.value]);
            format!(" {} {acted} ", names(scene, &[seller]))
        }
        Some(Alarm::Oversold(oversold)) => {
            let said = format!(" {} ", sold_words(&oversold, scene.log, usize::from(width / 3), scene.lang));
            // At the end, the lock that was broken before it is named, too, if there is room.
            let overlap = scene.world.holding.overlaps().first().filter(|_| scene.whole);
            let lock =
                overlap.map(|overlap| format!("· {} ", words::overlap_span(scene.lang, overlap.excess)));
            let room = usize::from(width.saturating_sub(2 * (taken + 2))).saturating_sub(text::width(&said));
            said + &lock.filter(|lock| text::width(lock) <= room).unwrap_or_default()
        }
        Some(Alarm::Broken(says, event)) => {
            let room = width.saturating_sub(if taken == 0 { 2 } else { taken + 4 });
            let run = (scene.log, scene.chart);
            format!(" {} ", breach_within(run, (says, event), scene.lang, room.into()))
        }
        None => return None,
    })
}

/// Draws the banner on the upper edge of a pane's frame, beside its title; `taken` columns at the right end are in use.
/// Its words are left out if they are `below`, in the pane. Returns whether there is a banner.
pub fn draw_on_frame(
    scene: &Scene<'_>,
    (title, below): (&str, bool),
    (frame, taken): (Rect, u16),
    buf: &mut Buffer,
) -> bool {
    let Some(words) = line_of(scene, (frame.width, taken)) else { return false };
    let words = if below { String::new() } else { words };
    let row = Rect { height: 1, ..frame };
    fill(scene, row, buf);
    let title = format!(" {title} ");
    let beside = u16::try_from(text::width(&title)).unwrap_or(u16::MAX).saturating_add(2);
    // Centred in the row, as long as that leaves the right end free.
    let taken = if taken == 0 { 0 } else { taken + 2 };
    let middle = Rect { x: row.x + taken, width: row.width.saturating_sub(2 * taken), ..row };
    let left = Rect { width: row.width.saturating_sub(taken), ..row };
    let place = if text::width(&words) <= usize::from(middle.width) { middle } else { left };
    if usize::from(place.width) > text::width(&words) + 2 * usize::from(beside) {
        buf.set_string(row.x + 1, row.y, title, scene.theme.alarming());
    }
    write(scene, &words, place, buf);
    true
}

fn fill(scene: &Scene<'_>, area: Rect, buf: &mut Buffer) {
    for place in area.intersection(buf.area).positions() {
        buf[place].reset();
        buf[place].set_style(scene.theme.alarming());
    }
}

/// Writes text centred in a row.
fn write(scene: &Scene<'_>, words: &str, row: Rect, buf: &mut Buffer) {
    let words = text::fit(words, row.width.into());
    let width = u16::try_from(text::width(&words)).unwrap_or(row.width);
    buf.set_string(row.x + (row.width - width) / 2, row.y, words, scene.theme.alarming());
}

/// Text in large letters: one line or two, with dots that are `wide` columns wide.
struct Large {
    lines: Vec<String>,
    wide: u16,
    /// If it is only a figure, or an exclamation mark: the words before and after it, and a row below.
    beside: Option<([String; 2], String)>,
}

impl Large {
    fn rows(&self) -> u16 {
        match (self.lines.len(), self.wide) {
            (2, _) => 2 * letter_rows(1),
            (_, 1) => letter_rows(1) + u16::from(self.beside.is_some()),
            // With a free row above and below.
            (_, wide) => letter_rows(wide) + 2 + u16::from(self.beside.is_some()),
        }
    }

    /// The minimum rows of a pane for this text.
    fn room(&self) -> u16 {
        match (self.lines.len(), self.wide) {
            (2, _) => ROOM_FOR_TWO,
            (_, 1) => ROOM.1,
            _ => ROOM.0,
        }
    }

    /// The columns of a line, with the words beside it.
    fn columns(&self, line: &str) -> u16 {
        let beside = self.beside.iter().flat_map(|(words, _)| words);
        let beside = beside.map(|words| text::width(words)).sum::<usize>();
        columns(line, self.wide).saturating_add(u16::try_from(beside).unwrap_or(u16::MAX))
    }

    fn fits(&self, area: Rect) -> bool {
        area.height >= self.room()
            && self.lines.iter().all(|line| {
                self.columns(line) <= area.width && line.chars().all(|sign| letter(sign).is_some())
            })
    }
}

/// The best large text for what is wrong that fits a pane. The lesson's own sentence says more than that an invariant
/// is broken. Chinese characters would need twelve dots a side: of words with them, only the figure is large, and the
/// words stand beside it.
fn large(scene: &Scene<'_>, area: Rect) -> Option<Large> {
    let over = || scene.recent_overlap().filter(|_| scene.whole);
    let loud = alarm_words(scene).or_else(|| Some(words::overlap_span(scene.lang, over()?.excess)))?;
    let line = |words: &str, wide: u16| Large { lines: vec![words.to_owned()], wide, beside: None };
    let mut choice = Vec::new();
    let says = match scene.alarm() {
        Some(Alarm::Broken(says, event)) if woken((scene.log, scene.chart), event).is_none() => {
            Some(sentence_of(says, scene.lang))
        }
        _ => None,
    };
    if let Some(says) = says.as_ref().map(|says| says.to_uppercase()) {
        choice.extend([line(&says, 2), line(&says, 1)]);
        choice.extend(halves(&says).map(|lines| Large { lines, wide: 1, beside: None }));
    }
    choice.extend([line(&loud, 2), line(&loud, 1)]);
    let with_figure = |words: &str, below: String| {
        let figure = figure(scene, words);
        let (sign, around) = match words.split_once(&figure) {
            Some(around) if !figure.is_empty() => (&*figure, around),
            _ => ("!", ("", words)),
        };
        let is_between = |sign: char| matches!(sign, ' ' | ',');
        let beside = [around.0, around.1].map(|words| format!(" {} ", words.trim_matches(is_between)));
        [2, 1].map(|wide| Large { beside: Some((beside.clone(), below.clone())), ..line(sign, wide) })
    };
    choice.extend(says.into_iter().flat_map(|says| with_figure(&says, loud.clone())));
    choice.extend(with_figure(&loud, line_of(scene, (area.width, 0)).unwrap_or_default()));
    choice.into_iter().find(|large| large.fits(area))
}

/// The number that says how bad it is: of all holders, or the first one of the words.
fn figure(scene: &Scene<'_>, words: &str) -> String {
    if let Some(Alarm::Holders(excess, _)) = scene.alarm() {
        return excess.holders.to_string();
    }
    let is_of_figure = |sign: char| sign.is_ascii_digit() || matches!(sign, '/' | '.');
    let begins = words.trim_start_matches(|sign: char| !sign.is_ascii_digit());
    begins.chars().take_while(|sign| is_of_figure(*sign)).collect()
}

/// Splits text into two lines of similar width, at a space that is not between a number and its unit.
fn halves(words: &str) -> Option<Vec<String>> {
    let spaces =
        words.match_indices(' ').filter(|(at, _)| !words[..*at].ends_with(|c: char| c.is_ascii_digit()));
    let halves = spaces.map(|(at, _)| {
        let (first, second) = words.split_at(at);
        [first.to_owned(), second.trim_start().to_owned()]
    });
    let widest = |lines: &[String; 2]| lines.iter().map(|line| columns(line, 1)).max();
    halves.min_by_key(widest).map(Vec::from)
}

/// The rows that a banner in large letters takes within a pane, or 0 if it does not fit.
pub fn large_rows(scene: &Scene<'_>, area: Rect) -> u16 {
    if area.height < ROOM.1 { 0 } else { large(scene, area).map_or(0, |large| large.rows()) }
}

/// Whether a pane has a large figure with the words of the banner below it.
pub fn is_captioned(scene: &Scene<'_>, area: Rect) -> bool {
    area.height >= ROOM.1 && large(scene, area).is_some_and(|large| large.beside.is_some())
}

/// The columns of a letter, and its bitmap.
fn letter(sign: char) -> Option<(u16, u32)> {
    let usual = LETTERS.iter().find(|(known, _)| *known == sign).map(|(_, dots)| (3, u32::from(*dots)));
    usual.or_else(|| {
        let wider = WIDER.iter().find(|(known, ..)| *known == sign);
        wider.map(|(_, columns, dots)| (*columns, *dots))
    })
}

/// The columns of a letter with dots of the given width.
fn advance(sign: char, wide: u16) -> u16 {
    let columns = letter(sign).map_or(3, |(columns, _)| columns);
    if sign == ' ' { 2 * wide } else { (columns + 1) * wide }
}

/// Draws the banner in the largest letters that fit a pane, into its first rows.
pub fn draw_large(scene: &Scene<'_>, pane: Rect, buf: &mut Buffer) {
    let Some(large) = large(scene, pane) else { return };
    let area = Rect { height: large.rows().min(pane.height), ..pane };
    fill(scene, area, buf);
    let high = letter_rows(large.wide);
    for (n, line) in (0..).zip(&large.lines) {
        let mut left = area.x + (area.width - large.columns(line)) / 2;
        let top = area.y + n * high + large.wide - 1;
        if let Some(([before, after], _)) = &large.beside {
            let mut beside = |words: &str, x: u16| {
                buf.set_string(x, top + high / 2, words, scene.theme.alarming());
            };
            beside(before, left);
            left += u16::try_from(text::width(before)).unwrap_or_default();
            beside(after, left + columns(line, large.wide));
        }
        draw_letters(line, large.wide, (left, top), buf);
    }
    if let Some((_, below)) = &large.beside {
        write(scene, below, Rect { y: area.bottom() - 1, height: 1, ..area }, buf);
    }
}

/// The columns of a text with dots of the given width.
pub fn columns(words: &str, wide: u16) -> u16 {
    words.chars().map(|sign| advance(sign, wide)).sum()
}

/// The rows of letters with dots of the given width. Dots of one column share a cell, one above the other.
pub const fn letter_rows(wide: u16) -> u16 {
    if wide == 1 { 3 } else { 5 * (wide / 2) }
}

/// The characters of a text with their columns.
fn signs(words: &str, wide: u16) -> impl Iterator<Item = (u16, char)> {
    words.chars().scan(0, move |next, sign| {
        let at = *next;
        *next += advance(sign, wide);
        Some((at, sign))
    })
}

/// Draws text in large letters with the style already set. `wide` is the width of a dot: one column, or an even number.
pub fn draw_letters(words: &str, wide: u16, (left, top): (u16, u16), buf: &mut Buffer) {
    for (at, (columns, dots)) in signs(words, wide).filter_map(|(at, sign)| Some((at, letter(sign)?))) {
        let dot =
            |row: u16, column: u16| row < 5 && (dots >> (5 * columns - 1 - columns * row - column)) & 1 == 1;
        for (row, column) in (0..5).flat_map(|row| (0..columns).map(move |column| (row, column))) {
            if !dot(row, column) {
                continue;
            }
            let x = left + at + column * wide;
            let high = wide / 2;
            let (y, rows, symbol) = match (wide, row % 2) {
                (1, 0) if dot(row + 1, column) => (row / 2, 1, glyphs::FULL),
                (1, 0) => (row / 2, 1, "▀"),
                (1, _) if dot(row - 1, column) => continue,
                (1, _) => (row / 2, 1, "▄"),
                _ => (row * high, high, glyphs::FULL),
            };
            for place in Rect::new(x, top + y, wide, rows).intersection(buf.area).positions() {
                buf[place].set_symbol(symbol);
            }
        }
    }
}

/// Who held which lock together, and when.
pub fn overlap_sentence(scene: &Scene<'_>, overlap: &Overlap) -> String {
    let who = names(scene, &overlap.holders);
    let lock = &*scene.log.lock_in_words(&overlap.lock, scene.lang);
    let (from, to) = (time::moment(overlap.from), overlap.apart.map(time::moment));
    words::held_together(&who, lock, (&from, to.as_deref()), scene.lang)
}

/// Who sold on the basis of which value, and the result.
pub fn oversold_sentence(
    scene: &Scene<'_>,
    oversold: &Oversold<'_>,
    (seller, value): (ActorId, &str),
) -> String {
    let (who, counter) = (names(scene, &[seller]), words::named(scene.log, oversold.counter, scene.lang));
    let Oversold { of, before, now, .. } = oversold;
    let sold = oversold.sold.to_string();
    if oversold.grew() {
        words::ACTED_ON.with(scene.lang, &[&who, counter, value])
    } else if oversold.exceeds() {
        words::SOLD_ON.with(scene.lang, &[&who, counter, value, &sold, counter, of, before])
    } else {
        words::COUNTED_ON.with(scene.lang, &[&who, counter, value, &sold, counter, of, before, now])
    }
}

/// A sentence for what is wrong at the playhead, apart from too many holders of a lock.
pub fn harm(scene: &Scene<'_>) -> Option<String> {
    scene.alarm().and_then(|alarm| alarm_sentence(scene, &alarm))
}

/// A sentence for what is wrong, apart from too many holders of a lock.
pub fn alarm_sentence(scene: &Scene<'_>, alarm: &Alarm) -> Option<String> {
    match alarm {
        Alarm::Broken(says, _) => Some(says.get(scene.lang).to_owned()),
        Alarm::Oversold(oversold) => {
            let (seller, bar) = scene.chart.outdated_sale(scene.world.position)?;
            Some(oversold_sentence(scene, oversold, (seller, &bar.value)))
        }
        Alarm::Holders(..) => None,
    }
}

/// A sentence for an overlap that was just caused, unless a narration has followed.
pub fn sentence(scene: &Scene<'_>) -> Option<String> {
    let position = scene.world.position;
    let is_news = |event: usize| {
        let since = scene.log.events().get(event..position).unwrap_or_default();
        let narrated = since.iter().any(|event| matches!(event.kind, EventKind::Say { .. }));
        !narrated && event >= scene.chart.step_begun(position)
    };
    match scene.alarm() {
        Some(Alarm::Broken(_, event)) => return harm(scene).filter(|_| is_news(event)),
        Some(Alarm::Oversold(_)) => {
            let (_, bar) = scene.chart.outdated_sale(position)?;
            return harm(scene).filter(|_| is_news(bar.from.1));
        }
        _ => {}
    }
    let overlap = scene.world.holding.overlaps().last().filter(|overlap| is_news(overlap.event))?;
    // The evidence is in the order of acquisition, the newest last; the holders are in the order of the lanes.
    let came = overlap.evidence.iter().filter_map(|event| scene.log.events().get(*event)?.kind.actor());
    let came: Vec<ActorId> = came.collect();
    let (newest, others) = came.split_last()?;
    let lock = &*scene.log.lock_in_words(&overlap.lock, scene.lang);
    let values = [&*names(scene, &[*newest]), lock, &*names(scene, others)];
    Some(words::TAKEN_TOO.with(scene.lang, &values))
}
