//! Templates and counts, in which only known names may be filled in.

use std::{collections::HashMap, ops::RangeInclusive};

use super::constants;
use crate::{
    lesson::{
        Param, Params,
        duration::parse_millis,
        error::{Mistake, Path, finding},
        expr::{Scope, Template},
        model::Count,
    },
    log::ANY,
    text::{Text, both},
};

/// The expression of a template that is nothing else: `lease` of `${lease}`.
pub(super) fn only_expression(source: &str) -> Option<&str> {
    source.strip_prefix("${")?.strip_suffix('}').map(str::trim)
}

/// Parses a template and checks that all its names are known. `what` is the noun for them in the error.
pub(super) fn template<'a>(
    source: &str,
    path: &Path,
    what: impl Into<Text>,
    known: impl Iterator<Item = &'a String> + Clone,
) -> Result<Template, Mistake> {
    let template = Template::parse(source).map_err(|error| Mistake::new(path, error))?;
    Mistake::unless_known(path, what, &template.names(), known)?;
    Ok(template)
}

/// Refuses a known name in the placeholder syntax of another tool, which would be sent literally. `braces`: also refuse
/// `{name}`, which is allowed in keys because it may be a hash tag.
pub(super) fn foreign<'a>(
    source: &str,
    path: &Path,
    known: &(impl Iterator<Item = &'a String> + Clone),
    braces: bool,
) -> Result<(), Mistake> {
    if let Some(written) = ["＄{", "$｛", "＄｛"].into_iter().find(|written| source.contains(written)) {
        let message = both!(
            "`{written}` is full-width, and plain text here",
            "`{written}` 是全角字符，在这里只是普通文字"
        );
        return Err(Mistake::new(path, message)
            .help(both!("a value is filled in with `${{name}}`", "填入值要用半角：`${{name}}`")));
    }
    let forms =
        [("$", ""), ("{{", "}}"), ("$(", ")"), ("#{", "}"), ("%{", "}"), ("%(", ")"), ("<", ">"), ("{", "}")];
    for (begin, end) in forms {
        for (at, _) in source.match_indices(begin) {
            let rest = &source[at + begin.len()..];
            let rest = if end.is_empty() { rest } else { rest.trim_start() };
            let length = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
            let (name, after) = rest.split_at(length);
            let is_filled_in = begin == "{" && source[..at].ends_with('$');
            // A hash tag has no filter.
            let is_filtered = begin == "{" && after.trim_start().starts_with('|');
            if !is_filled_in
                && known.clone().any(|known| known == name)
                && (is_filtered || ((braces || begin != "{") && after.trim_start().starts_with(end)))
            {
                let filter = after.split('}').next().filter(|_| is_filtered).unwrap_or_default();
                let name = &format!("{name}{filter}");
                let written = format!("{begin}{name}{end}");
                let message = both!("`{written}` is plain text here", "`{written}` 在这里只是普通文字");
                return Err(Mistake::new(path, message)
                    .help(both!("a value is filled in with `${{{name}}}`", "填入值要写 `${{{name}}}`")));
            }
        }
    }
    Ok(())
}

/// Refuses `${lease}s`: a parameter that is a duration counts in milliseconds, whatever unit follows it.
pub(super) fn doubled_unit(source: &str, params: &Params, path: &Path) -> Result<(), Mistake> {
    let Some((name, unit)) = source.strip_prefix("${").and_then(|rest| rest.split_once('}')) else {
        return Ok(());
    };
    let is_duration =
        matches!(params.get(name.trim()), Some(Param::Word(word)) if parse_millis(word).is_ok());
    if !is_duration || !["s", "ms", "m", "h"].contains(&unit.trim()) {
        return Ok(());
    }
    let message = both!("`{name}` is a duration already", "`{name}` 本身就是时长");
    Err(Mistake::new(path, message).help(both!("write `${{{name}}}`", "请写 `${{{name}}}`")))
}

/// Refuses `${a} + ${b}` as a duration: outside `${…}` nothing is computed.
pub(super) fn computed_outside(template: &Template, path: &Path) -> Result<(), Mistake> {
    let pattern = template.pattern();
    let parts: Vec<&str> = pattern.split(ANY).map(str::trim).collect();
    let text = parts.concat();
    let text = text.strip_prefix('-').filter(|_| parts[0].starts_with('-')).unwrap_or(&text);
    if parts.len() < 2 || !text.contains(['+', '-', '*', '/']) {
        return Ok(());
    }
    let computed = template.to_string().replace("${", "").replace('}', "");
    let is_plain = !text.chars().any(char::is_alphabetic);
    let written = if is_plain { computed } else { format!("{} + 500", template.sources()[0]) };
    Err(path.mistake(finding!(
        "`{template}` is no duration: outside of `${{…}}` nothing is computed",
        "`{template}` 不是时长：`${{…}}` 外面不会做计算",
        "compute inside, in milliseconds: `${{{written}}}`",
        "请在里面计算，以毫秒计：`${{{written}}}`"
    )))
}

/// Evaluates a count, which may be a template over the parameters, and checks its bounds.
pub(super) fn number(
    count: &Count,
    params: &Params,
    path: &Path,
    bounds: RangeInclusive<u32>,
) -> Result<u32, Mistake> {
    let number = match count {
        Count::Number(number) => *number,
        Count::Template(source) => {
            let template = template(source, path, both!("parameter", "参数"), params.keys())?;
            let text = template
                .render(&Scope::new(constants::values(params)).value())
                .map_err(|error| Mistake::new(path, error))?;
            let text = text.trim();
            text.parse().map_err(|_| {
                let message = if text.parse::<f64>().is_ok() {
                    both!(
                        "`{source}` gives {text}, and this is a count",
                        "`{source}` 的值是 {text}，而这里要的是个数"
                    )
                } else {
                    both!("`{source}` gives `{text}`, not a number", "`{source}` 的值是 `{text}`，不是数字")
                };
                Mistake::new(path, message)
                    .help(both!("it must give a whole number, such as 2", "它的值应是整数，例如 2"))
            })?
        }
    };
    if bounds.contains(&number) {
        return Ok(number);
    }
    let (least, most) = bounds.into_inner();
    Err(Mistake::new(path, both!("{number} is out of bounds", "{number} 超出范围"))
        .help(both!("from {least} to {most}", "应在 {least} 到 {most} 之间")))
}

/// Refuses a duration that its parameters make negative.
pub(super) fn negative(
    duration: &Template,
    known: &HashMap<String, minijinja::Value>,
    path: &Path,
) -> Result<(), Mistake> {
    let is_known = duration.names().iter().all(|name| known.contains_key(name));
    let text = is_known.then(|| duration.render(&Scope::new(known.clone()).value()).ok()).flatten();
    let Some(millis) = text.filter(|text| text.parse::<f64>().is_ok_and(|millis| millis < 0.0)) else {
        return Ok(());
    };
    let source = duration.to_string();
    Err(path.mistake(finding!(
        "`{source}` is {millis} ms: time cannot run backward",
        "`{source}` 是 {millis} 毫秒：时间不能倒流",
        "write it the other way round, or give its parameters other values",
        "请把两边调换，或者改参数的值"
    )))
}
