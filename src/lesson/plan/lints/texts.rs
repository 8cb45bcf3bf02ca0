//! Texts in two languages: a duration in the words of the other language, or one that is filled in only in one of them,
//! and durations without a unit.

use super::super::{
    super::{
        Lesson, Param,
        error::{Finding, Mistake, Path, finding},
        expr::Template,
    },
    Act, PlannedVerb, Scenario, TextPlan,
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

/// The place of a parameter that is a number without a unit, `most` at most.
fn without_unit(lesson: &Lesson, scenario: &Scenario, (name, most): (&str, i64)) -> Option<(Path, i64)> {
    let few = |param: Option<&Param>| match param {
        Some(Param::Number(few)) if (1..=most).contains(few) => Some(*few),
        _ => None,
    };
    let own = few(scenario.variant().params.get(name)).map(|few| (scenario.path(), few));
    let (at, few) = own.or_else(|| Some((Path::root(), few(lesson.params.get(name))?)))?;
    Some((at.key("params").key(name), few))
}

/// The parameters that programs use as durations, as they are.
fn used_as_durations(scenario: &Scenario) -> Vec<String> {
    let name = |template: &Template| {
        let source = template.only_expression()?.source().trim();
        source.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_').then(|| source.to_owned())
    };
    let mut found = Vec::new();
    for plan in &scenario.actors {
        for (operation, frames) in plan.program.operations_in_frames() {
            let own = match &operation.verb {
                PlannedVerb::Wait(duration) => Some(duration),
                PlannedVerb::Take(take) => take.within.as_ref(),
                _ => None,
            };
            for used in operation.every.iter().chain(own).filter_map(name) {
                // A recipe's parameter is what its `use` gives.
                let given = frames.iter().rev().try_fold(used, |used, (with, _)| {
                    match with.iter().find(|(known, _)| *known == used) {
                        Some((_, value)) => name(value),
                        None => Some(used),
                    }
                });
                found.extend(given);
            }
        }
    }
    found
}

/// Reports such a text, and a parameter without a unit that a text shows as a duration or a program uses as one.
pub(super) fn check(scenario: &Scenario) -> Result<(), Mistake> {
    let lesson = &scenario.loaded.lesson;
    for (path, TextPlan { en, zh }) in texts(scenario) {
        if let Some((lang, finding)) = of_text(&en, &zh) {
            return Err(path.key(lang).mistake(finding));
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
    let mut used = used_as_durations(scenario).into_iter();
    if let Some(((path, few), name)) =
        used.find_map(|name| Some((without_unit(lesson, scenario, (&name, 9))?, name)))
    {
        return Err(path.mistake(finding!(
            "`{name}` is {few} ms, as it has no unit, and a program waits for that long",
            "`{name}` 没有单位，就是 {few} 毫秒，而程序拿它当等待的时长",
            "write `{name}: {few}s`, or `{name}: {few}ms`",
            "请写 `{name}: {few}s` 或 `{name}: {few}ms`"
        )));
    }
    Ok(())
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
