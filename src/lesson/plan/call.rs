//! Calls in the syntax of their product's manual: `create -e -s /locks/n- data`, `exists -w /lock`.

use minijinja::Value;
use serde_json::json;

use super::super::{
    error::{ALIKE, Mistake, Path, finding, nearest, suggestion},
    expr::{Template, split_words},
    parse_millis,
};
use crate::{
    log::{Command, Product, product::zookeeper},
    text::{Text, both},
};

/// A call whose operands are still templates.
#[derive(Debug, Clone)]
pub struct PlannedCall {
    product: Product,
    /// The name of the call; the product's key if the product's calls are texts in a language of its own, such as SQL.
    name: String,
    flags: Vec<String>,
    operands: Vec<Template>,
    /// The call's form in the product's syntax.
    form: Form,
    /// Whether the call may release a lock.
    pub(crate) releases: bool,
}

/// The form of a call: `set PATH DATA [VERSION]`.
/// What other tools call a product's calls.
const CALLED_ELSEWHERE: [(Product, &str, &str); 8] = [
    (Product::Zookeeper, "getChildren", "ls"),
    (Product::Zookeeper, "getData", "get"),
    (Product::Zookeeper, "setData", "set"),
    (Product::Zookeeper, "stat", "exists"),
    (Product::Zookeeper, "rmr", "delete"),
    (Product::Etcd, "set", "put"),
    (Product::Etcd, "del", "delete"),
    (Product::Etcd, "keep-alive", "keepalive"),
];

#[derive(Debug, Clone)]
struct Form {
    flags: Vec<&'static str>,
    operands: Vec<&'static str>,
}

impl Form {
    fn of(product: Product, name: &str) -> Option<Self> {
        let mut forms = product.traits().calls.iter().map(|form| form.split(' '));
        let words = forms.find_map(|mut words| (words.next() == Some(name)).then_some(words))?;
        // Leaves out the operand of a flag, `[-t TTL]`: it is inserted before all others if the flag is given.
        let words = words.filter(|word| !word.ends_with(']') || word.starts_with('['));
        let (flags, operands): (Vec<_>, Vec<_>) = words.partition(|word| word.starts_with("[-"));
        let flags = flags.into_iter().map(|flag| flag.trim_matches(['[', ']'])).collect();
        Some(Self { flags, operands })
    }

    fn needs(&self) -> usize {
        self.operands.iter().filter(|operand| !operand.starts_with('[')).count()
    }
}

/// Checks the calls of a `multi`, separated by `;`: each is in the syntax that it has outside, or `check PATH VERSION`.
fn check_each(words: &[String], place: &Path) -> Result<(), Mistake> {
    const IN_MULTI: [&str; 4] = [
        "check PATH VERSION",
        "create [-e] [-s] PATH [DATA]",
        "delete PATH [VERSION]",
        "set PATH DATA [VERSION]",
    ];
    for call in words.split(|word| word == ";") {
        let text = call.join(" ");
        let form =
            call.first().and_then(|name| IN_MULTI.iter().find(|form| form.split(' ').next() == Some(name)));
        let mistake = Mistake::new(
            place,
            both!("`{text}` is not a call of a `multi`", "`{text}` 不是 `multi` 里的调用"),
        );
        // An unknown call is reported by the product's own check.
        let Some(form) = form else { continue };
        let operands = form.split(' ').skip(1).filter(|word| !word.starts_with("[-"));
        let (all, needs) = operands
            .fold((0, 0), |(all, needs), word| (all + 1, needs + usize::from(!word.starts_with('['))));
        let given = call.iter().skip(1).filter(|word| !(word.starts_with('-') && word.len() == 2)).count();
        if !(needs..=all).contains(&given)
            || call.iter().any(|word| word.len() > 1 && word.ends_with([',', ';']))
        {
            return Err(mistake.help(both!(
                "write `{form}`, and ` ; ` before the next call",
                "请写 `{form}`，下一个调用之前写 ` ; `"
            )));
        }
    }
    Ok(())
}

/// What is wrong with the first operand that should be a whole number and is none.
fn no_number(operands: &[String], forms: &[&str]) -> Option<Text> {
    let numbers =
        operands.iter().zip(forms.iter().map(|form| form.trim_matches(['[', ']']))).filter(|(word, form)| {
            ["VERSION", "TTL", "SECONDS", "LEASE", "REVISION"].contains(form) && !word.contains("${")
        });
    let (word, form) = numbers.into_iter().find(|(word, _)| word.parse::<i64>().is_err())?;
    Some(match parse_millis(word) {
        Ok(millis) if form == "TTL" || form == "SECONDS" => {
            let number = if form == "SECONDS" { (millis + 999) / 1000 } else { millis };
            both!(
                "{form} is a whole number, and `{word}` is none: write `{number}`",
                "{form} 是整数，`{word}` 不是：请写 `{number}`"
            )
        }
        _ => both!("{form} is a whole number, and `{word}` is none", "{form} 是整数，`{word}` 不是"),
    })
}

impl PlannedCall {
    pub(crate) fn all_operands(&self) -> impl Iterator<Item = &Template> {
        self.operands.iter()
    }

    pub(crate) fn parse(
        product: Product,
        text: &str,
        mut template: impl FnMut(&str) -> Result<Template, Mistake>,
        place: &Path,
    ) -> Result<Self, Mistake> {
        let traits = product.traits();
        (traits.check)(text).map_err(|why| Mistake::new(place, why))?;
        let releases = (traits.releases)(text);
        if traits.calls.is_empty() {
            let form = Form { flags: Vec::new(), operands: vec!["TEXT"] };
            let (name, operands) = (traits.key.to_owned(), vec![template(text)?]);
            return Ok(Self { product, name, flags: Vec::new(), operands, form, releases });
        }
        let words = split_words(text).map_err(|error| Mistake::new(place, error))?;
        let product_name = traits.name;
        let names = || traits.calls.iter().filter_map(|form| form.split(' ').next());
        let Some((name, rest)) = words.split_first() else {
            let message = both!("an empty {product_name} call", "空的 {product_name} 调用");
            return Err(Mistake::new(place, message).help(traits.calls.join(", ")));
        };
        let Some(form) = Form::of(product, name) else {
            let message =
                both!("{product_name} has no call `{name}`", "{product_name} 没有 `{name}` 这个调用");
            let meant = CALLED_ELSEWHERE
                .iter()
                .find(|(of, other, _)| *of == product && name.eq_ignore_ascii_case(other));
            let near = meant
                .map(|(.., call)| *call)
                .or_else(|| nearest(name, names(), ALIKE))
                .or_else(|| names().find(|known| known.starts_with(name.as_str())));
            let help = suggestion(near, || {
                let calls = traits.calls.join(", ");
                both!("there are: {calls}", "可用的有：{calls}")
            });
            return Err(Mistake::new(place, message).help(help));
        };
        let written = traits.calls.iter().find(|form| form.split(' ').next() == Some(name.as_str()));
        let wrong = |what: Text| {
            let form = written.copied().unwrap_or_default();
            Err(Mistake::new(place, what).help(both!("write `{form}`", "请写 `{form}`")))
        };
        if let Some(option) = rest.iter().find(|word| word.starts_with("--")) {
            let option = option.split('=').next().unwrap_or_default();
            return wrong(both!("`{name}` has no option `{option}`", "`{name}` 没有选项 `{option}`"));
        }
        let mut form = form;
        let any_number = form.operands.last() == Some(&"…");
        let is_flag = |word: &String| !any_number && word.starts_with('-') && word.len() == 2;
        let (flags, operands): (Vec<String>, Vec<String>) = rest.iter().cloned().partition(is_flag);
        if any_number {
            check_each(rest, place)?;
            form.operands = vec!["CALL"; operands.len().max(1)];
        }
        if flags.iter().any(|flag| flag == "-t") {
            form.operands.insert(0, "TTL");
        }
        if let Some(unknown) = flags.iter().find(|flag| !form.flags.contains(&flag.as_str())) {
            return wrong(both!("`{name}` has no flag `{unknown}`", "`{name}` 没有选项 `{unknown}`"));
        }
        let is_flags = |word: &&String| {
            word.len() > 2
                && word.strip_prefix('-').is_some_and(|flags| {
                    flags.chars().all(|flag| form.flags.contains(&format!("-{flag}").as_str()))
                })
        };
        if let Some(word) = operands.iter().find(is_flags) {
            let each = word.chars().skip(1).map(|flag| format!("-{flag}")).collect::<Vec<_>>().join(" ");
            return wrong(both!(
                "`{word}` is several flags in one: write `{each}`",
                "`{word}` 把几个选项写在了一起：请写 `{each}`"
            ));
        }
        let count = operands.len();
        if operands.len() < form.needs() || operands.len() > form.operands.len() {
            let s = if count == 1 { "" } else { "s" };
            return wrong(both!("`{name}` with {count} operand{s}", "`{name}` 带了 {count} 个参数"));
        }
        let is_path = |(_, form): &(&String, &&str)| **form == "PATH";
        let paths = operands.iter().zip(&form.operands).filter(is_path).map(|(path, _)| path);
        if let Some(path) = paths.clone().find(|path| !path.starts_with('/') && !path.starts_with("${")) {
            return Err(place.mistake(finding!(
                "the path `{path}` must begin with `/`",
                "路径 `{path}` 必须以 `/` 开头",
                "write `/{path}`",
                "请写 `/{path}`"
            )));
        }
        // The server appends a number to the path of a sequential node, whose name may consist of that alone.
        let sequential = flags.iter().any(|flag| flag == "-s");
        let has_empty_part =
            |path: &&String| path.contains("//") || (path.ends_with('/') && path.len() > 1 && !sequential);
        if let Some(path) = paths.clone().find(has_empty_part) {
            return wrong(both!(
                "the path `{path}` has a part without a name: no `/` at its end, and no two beside each other",
                "路径 `{path}` 有一段没有名字：末尾不能有 `/`，也不能有两个连续的 `/`"
            ));
        }
        if let Some(what) = no_number(&operands, &form.operands) {
            return wrong(what);
        }
        let operands = operands.iter().map(|word| template(word)).collect::<Result<_, _>>()?;
        Ok(Self { product, name: name.clone(), flags, operands, form, releases })
    }

    /// The calls of a `multi`, or the call itself.
    pub(crate) fn parts(&self) -> Vec<Self> {
        if self.name != "multi" {
            return vec![self.clone()];
        }
        let calls = self.operands.split(|word| word.pattern() == ";");
        let part = |words: &[Template]| {
            let name = words.first()?.pattern();
            let form = Form::of(self.product, &name)
                .unwrap_or_else(|| Form { flags: Vec::new(), operands: vec!["PATH", "[VERSION]"] });
            let is_flag = |word: &&Template| word.pattern().starts_with('-') && word.pattern().len() == 2;
            let (flags, operands): (Vec<&Template>, Vec<&Template>) = words[1..].iter().partition(is_flag);
            let flags = flags.into_iter().map(Template::pattern).collect();
            let operands = operands.into_iter().cloned().collect();
            Some(Self { product: self.product, name, flags, operands, form, releases: false })
        };
        calls.filter_map(part).collect()
    }

    /// Whether the call shows what the root of ZooKeeper's tree has been through. `names`: what is known beforehand.
    pub(crate) fn shows_root(&self, names: &Value) -> bool {
        self.product == Product::Zookeeper
            && self.parts().iter().any(|part| {
                let path = part.operands("PATH").next().and_then(|path| path.render(names).ok());
                path.is_some_and(|path| zookeeper::shows_root(&part.name, part.has_flag("-s"), &path))
            })
    }

    /// Whether the call leaves a watch.
    pub(crate) fn watches(&self) -> bool {
        self.has_flag("-w")
    }

    pub(crate) fn has_flag(&self, flag: &str) -> bool {
        self.flags.iter().any(|given| given == flag)
    }

    pub(crate) fn product(&self) -> Product {
        self.product
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The operands of a kind, such as `SECONDS`.
    pub(crate) fn operands(&self, kind: &str) -> impl Iterator<Item = &Template> {
        let all = self.operands.iter().zip(&self.form.operands);
        all.filter(move |(_, form)| form.trim_matches(['[', ']']) == kind).map(|(operand, _)| operand)
    }

    pub(crate) fn fill_in(&self, names: &Value) -> Result<Command, String> {
        let operands = self.operands.iter().map(|operand| operand.render(names)).collect::<Result<_, _>>()?;
        (self.product.traits().command)(&self.name, &self.flags, operands)
    }

    /// The call in the product's syntax: its name, flags and operands, or only its text for a language such as SQL.
    pub(crate) fn written(&self, operand: impl Fn(&Template) -> String) -> String {
        let name = Some(&self.name).filter(|_| !self.product.traits().calls.is_empty());
        let words = name.into_iter().chain(&self.flags).cloned().chain(self.operands.iter().map(operand));
        words.collect::<Vec<_>>().join(" ")
    }

    /// The part of a call that identifies it in a recording: its name, whether it has each flag, and each operand.
    pub(crate) fn fingerprint(&self) -> serde_json::Value {
        // Flags that were added to calls later appear only if given, so that older recordings stay valid.
        let given = |flag: &&str| self.flags.iter().any(|given| given == flag);
        let stated = self.form.flags.iter().filter(|flag| !["-c", "-t"].contains(*flag) || given(flag));
        let flags = stated.map(|flag| json!(given(flag)));
        let count = if self.name == "delete" { self.operands.len() } else { self.form.operands.len() };
        let operands = (0..count).map(|n| json!(self.operands.get(n)));
        [json!(self.name)].into_iter().chain(flags).chain(operands).collect()
    }
}
