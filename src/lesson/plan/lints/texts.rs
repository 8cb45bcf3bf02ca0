//! Texts in two languages: one that is not translated, a duration in the words of the other language, or one that is
//! filled in only in one of them; durations without a unit, and those that are texts.

use super::super::{
    super::{
        Lesson, Param,
        error::{Finding, Mistake, Path, finding},
        expr::Template,
        has_word,
    },
    Act, PlannedVerb, Scenario, TextPlan,
    program::{Frame, PlannedOperation},
};
use crate::text::Text;

/// The names that a text shows as durations: `lease` of `${lease|duration}`.
fn durations(text: &Template) -> Vec<String> {
    let shown = text.sources().into_iter().filter_map(|source| {
        let (name, filter) = source.rsplit_once('|')?;
        ["duration", "duration_zh"].contains(&filter.trim()).then(|| name.trim().to_owned())
    });
    shown.collect()
}

/// Whether a text has a duration that is written out, such as `3 s` or `3 秒`.
fn writes_duration(text: &Template) -> bool {
    let text = text.pattern();
    text.match_indices(|c: char| c.is_ascii_digit()).any(|(at, _)| {
        let rest = text[at..].trim_start_matches(|c: char| c.is_ascii_digit() || c == '.').trim_start();
        let unit = ["s", "ms", "min", "m", "h"].into_iter().find(|unit| {
            let after = rest.strip_prefix(*unit);
            after.is_some_and(|after| !after.starts_with(char::is_alphanumeric))
        });
        unit.is_some() || ["秒", "毫秒", "分钟", "小时"].iter().any(|unit| rest.starts_with(unit))
    })
}

/// Words that stand in English sentences, and in no names.
const OF_SENTENCES: &str =
    "a an and are by for has have in is it its no nobody not of on or the to was who with";

/// Whether a text is a sentence in English, and no name, command or value that both languages write alike.
fn is_english(text: &str) -> bool {
    let is_word = |word: &&str| word.len() > 2 && word.bytes().all(|byte| byte.is_ascii_lowercase());
    let words = || text.trim_end_matches('.').split([' ', ',']);
    text.is_ascii()
        && !text.contains(['(', '=', '$', '{', '/', '_'])
        && words().any(|word| has_word(OF_SENTENCES, word))
        && words().filter(is_word).count() >= 2
}

/// The finding about a text, with its language.
fn of_text(en: &Template, zh: &Template) -> Option<(&'static str, Finding)> {
    for (lang, text, wrong, right) in
        [("en", en, "duration_zh", "duration"), ("zh", zh, "duration", "duration_zh")]
    {
        let has = |source: &String| source.rsplit_once('|').is_some_and(|(_, filter)| filter.trim() == wrong);
        // One text for both languages has one filter.
        let Some(source) = text.sources().into_iter().find(has).filter(|_| en.to_string() != zh.to_string())
        else {
            continue;
        };
        let name = source.rsplit_once('|').map_or("", |(name, _)| name);
        return Some((
            lang,
            finding!(
                "`{wrong}` writes a duration in the words of the other language",
                "`{wrong}` 写出来的是另一种语言的时长",
                "write `${{{name}|{right}}}`",
                "请写 `${{{name}|{right}}}`"
            ),
        ));
    }
    for (lang, text, other, filter) in [("en", en, zh, "duration"), ("zh", zh, en, "duration_zh")] {
        let names = text.names();
        let missing =
            durations(other).into_iter().find(|name| !names.contains(name) && other.names().contains(name));
        let Some(name) = missing.filter(|_| writes_duration(text)) else { continue };
        return Some((
            lang,
            finding!(
                "the other language fills `{name}` in here, and this one writes a duration out",
                "另一种语言在这里填入 `{name}`，这一种却把时长写死了",
                "write `${{{name}|{filter}}}`: it stays right when the parameter changes",
                "请写 `${{{name}|{filter}}}`：参数改了，文字也跟着变"
            ),
        ));
    }
    None
}

/// The texts of a variant that are filled in, with their paths.
fn texts(scenario: &Scenario) -> Vec<(Path, TextPlan)> {
    let mut texts = Vec::new();
    for line in &scenario.story {
        match &line.act {
            Act::Say(text) => texts.push((line.path.key("say"), text.clone())),
            Act::Ask(ask) => {
                let path = line.path.key("ask");
                texts.push((path.key("q"), ask.q.clone()));
                texts.extend(ask.why.iter().map(|why| (path.key("why"), why.clone())));
                for (n, choice) in ask.choices.iter().enumerate() {
                    let path = path.key("choices").index(n);
                    texts.push((path.key("says"), choice.says.clone()));
                    texts.extend(choice.why.iter().map(|why| (path.key("why"), why.clone())));
                }
            }
            _ => {}
        }
        texts.extend(line.notes.iter().map(|notes| (line.path.key("notes"), notes.clone())));
    }
    for (n, claim) in scenario.claims.iter().enumerate() {
        let path = scenario.path().key("claims").index(n).key("says");
        texts.extend(claim.says.iter().map(|says| (path.clone(), says.clone())));
    }
    let (lesson, variant, root) = (&scenario.loaded.lesson, scenario.variant(), Path::root());
    let mut fixed: Vec<(Path, &Text)> = vec![
        (root.key("summary"), &lesson.summary),
        (root.key("intro"), &lesson.intro),
        (scenario.path().key("title"), &variant.title),
        (scenario.path().key("lesson"), &variant.lesson),
    ];
    fixed.extend(lesson.notes.iter().map(|notes| (root.key("notes"), notes)));
    if let Some((invariants, path)) = scenario.written_invariants() {
        for (n, invariant) in invariants.iter().enumerate() {
            fixed.extend(invariant.says.iter().map(|says| (path.index(n).key("says"), says)));
            fixed.extend(invariant.goal.iter().map(|goal| (path.index(n).key("goal"), goal)));
        }
    }
    let parse = |source: &str| Template::parse(source).ok();
    texts.extend(
        fixed
            .into_iter()
            .filter_map(|(path, text)| Some((path, TextPlan { en: parse(&text.en)?, zh: parse(&text.zh)? }))),
    );
    texts
}

/// The number, if a parameter is one without a unit, `most` at most.
fn few(param: Option<&Param>, most: i64) -> Option<i64> {
    match param {
        Some(Param::Number(few)) if (1..=most).contains(few) => Some(*few),
        _ => None,
    }
}

/// The place of such a parameter of a variant or lesson.
fn without_unit(lesson: &Lesson, scenario: &Scenario, (name, most): (&str, i64)) -> Option<(Path, i64)> {
    let few = |param| few(param, most);
    let own = few(scenario.variant().params.get(name)).map(|few| (scenario.path(), few));
    let (at, few) = own.or_else(|| Some((Path::root(), few(lesson.params.get(name))?)))?;
    Some((at.key("params").key(name), few))
}

/// The place of such a parameter in the `with` of a client.
fn of_client(scenario: &Scenario, (name, most): (&str, i64)) -> Option<(Path, i64)> {
    let (variant, shared) = (scenario.variant().clients.as_ref(), &scenario.loaded.lesson.clients);
    let at = if variant.is_some() { scenario.path() } else { Path::root() }.key("clients");
    variant.unwrap_or(shared).iter().find_map(|(group, client)| {
        Some((at.key(group).key("with").key(name), few(client.with.get(name), most)?))
    })
}

/// The name that a template consists of: `patience` of `${patience}`.
fn only_name(template: &Template) -> Option<String> {
    let source = template.only_expression()?.source().trim();
    source.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_').then(|| source.to_owned())
}

/// The durations that programs wait for or leave between two tries, each with its operation and the programs and recipes
/// that this stands in.
fn waits(scenario: &Scenario) -> Vec<(&Template, &PlannedOperation, Vec<Frame<'_>>)> {
    let mut found = Vec::new();
    for plan in &scenario.actors {
        for (operation, frames) in plan.program.operations_in_frames() {
            let own = match &operation.verb {
                PlannedVerb::Wait(duration) => Some(duration),
                PlannedVerb::Take(take) => take.within.as_ref(),
                _ => None,
            };
            found.extend(operation.every.iter().chain(own).map(|used| (used, operation, frames.clone())));
        }
    }
    found
}

/// The parameter that is used as a duration, as it is: a recipe's is what its `use` gives.
fn used_as_duration(used: &Template, frames: &[Frame<'_>]) -> Option<String> {
    frames.iter().rev().try_fold(only_name(used)?, |used, (with, _)| {
        match with.iter().find(|(known, _)| *known == used) {
            Some((_, value)) => only_name(value),
            None => Some(used),
        }
    })
}

/// Reports such a text, and a parameter without a unit that a text shows as a duration or a program uses as one.
pub(super) fn check(scenario: &Scenario) -> Result<(), Mistake> {
    let lesson = &scenario.loaded.lesson;
    for (path, TextPlan { en, zh }) in texts(scenario) {
        if let Some((lang, finding)) = of_text(&en, &zh) {
            return Err(path.key(lang).mistake(finding));
        }
        let english = en.to_string();
        // One text alone stands for both languages.
        if english == zh.to_string()
            && is_english(&english)
            && scenario.loaded.source.check_languages(false).is_ok()
        {
            return Err(path.key("zh").mistake(finding!(
                "this is the English text once more",
                "这里还是英文",
                "write it in Chinese",
                "请写中文"
            )));
        }
        let mut shown = durations(&en).into_iter().chain(durations(&zh));
        let found = shown.find_map(|name| Some((without_unit(lesson, scenario, (&name, 999))?, name)));
        if let Some(((path, few), name)) = found {
            return Err(path.mistake(finding!(
                "`{name}` is {few} ms, as it has no unit, and a text shows it as a duration",
                "`{name}` 没有单位，就是 {few} 毫秒，而文字里把它当作时长显示",
                "write `{name}: {few}s`, or `{name}: {few}ms`",
                "请写 `{name}: {few}s` 或 `{name}: {few}ms`"
            )));
        }
    }
    // Up to 9 ms: nobody waits for so short a time, and many milliseconds may be meant.
    let waits = waits(scenario);
    let mut used = waits.iter().filter_map(|(used, _, frames)| used_as_duration(used, frames));
    let found = used.find_map(|name| {
        let asked = (name.as_str(), 9);
        let found = without_unit(lesson, scenario, asked).or_else(|| of_client(scenario, asked))?;
        Some((found, name))
    });
    if let Some(((path, few), name)) = found {
        return Err(path.mistake(finding!(
            "`{name}` is {few} ms, as it has no unit, and a program waits for that long",
            "`{name}` 没有单位，就是 {few} 毫秒，而程序拿它当等待的时长",
            "write `{name}: {few}s`, or `{name}: {few}ms`",
            "请写 `{name}: {few}s` 或 `{name}: {few}ms`"
        )));
    }
    let as_text = waits.iter().find_map(|(used, operation, frames)| {
        let source = used.only_expression()?.source();
        let (name, filter) = source.rsplit_once('|')?;
        let filter = Some(filter.trim()).filter(|filter| ["duration", "duration_zh"].contains(filter))?;
        let own = || frames.iter().rev().find_map(|(_, path)| path.cloned());
        Some((operation.path.clone().or_else(own)?, name.trim(), filter))
    });
    let Some((path, name, filter)) = as_text else { return Ok(()) };
    Err(path.mistake(finding!(
        "`{filter}` makes a text of the duration, and a program waits for it",
        "`{filter}` 把时长变成了文字，而程序要拿它来等待",
        "write `${{{name}}}`",
        "请写 `${{{name}}}`"
    )))
}

#[cfg(test)]
mod tests {
    use super::{Template, of_text};

    #[test]
    fn both_languages_fill_in_the_same_durations() {
        for (en, zh, wrong) in [
            ("for ${a|duration}", "${a|duration_zh}", None),
            ("for ${a|duration_zh}", "${a|duration_zh}", Some("en")),
            ("for ${a|duration}", "${a|duration}", Some("zh")),
            ("${a|duration}", "${a|duration}", None),
            ("for ${a|duration}", "3 秒", Some("zh")),
            ("for 3 s", "${a|duration_zh}", Some("en")),
            ("for ${a|duration}", "一会儿", None),
            ("a third of 30 s", "${ttl} 秒的三分之一", None),
            ("for ${a|duration} and 3 s", "${a|duration_zh}和 3 秒", None),
        ] {
            let parse = |text| Template::parse(text).expect(text);
            assert_eq!(of_text(&parse(en), &parse(zh)).map(|(lang, _)| lang), wrong, "{en} / {zh}");
        }
    }
}
