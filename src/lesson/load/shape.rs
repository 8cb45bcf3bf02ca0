//! Reports mistakes in the shape of a file in an author's terms: unknown and missing keys, values of the wrong kind. It
//! follows the JSON Schema of the grammar, so a new field needs no change here.

use serde_json::Value as Schema;
use serde_yaml::Value;

use super::super::{
    error::{ALIKE, Mistake, MistakeSpan, Path, Segment, did_you_mean, finding, nearest},
    step::{FIELDS, KEYWORDS, is_command},
};
use super::synonyms;
use crate::text::{Text, Words, both};

/// The author's names for the types of the schema.
const PARTS: [(&str, Words); 12] = [
    ("Operation", Words::new("an operation", "操作")),
    ("RawOperation", Words::new("an operation", "操作")),
    ("Ask", Words::new("a question", "问题（ask）")),
    ("Choice", Words::new("a choice", "选项")),
    ("Client", Words::new("a client", "客户端")),
    ("Variant", Words::new("a variant", "方案")),
    ("Invariant", Words::new("an invariant", "不变式")),
    ("Claim", Words::new("a claim", "断言")),
    ("StoryItem", Words::new("an item of the story", "剧情条目")),
    ("Step", Words::new("a step of a program", "程序步骤")),
    ("Await", Words::new("`await`", "`await`")),
    ("Pass", Words::new("`pass`", "`pass`")),
];

/// Examples for keys, shown if a value of the wrong kind is given.
const EXAMPLES: &[&str] = &[
    "move: A.acquire",
    "send: B.acquire",
    "each: A.acquire",
    "together: [A.acquire, B.acquire]",
    "finish: A",
    "pass: 3s",
    "work: 4s",
    "wait: 4s",
    "by: 2s",
    "from: freed",
    "that: sold == 10",
    "explore: { expect: none, moves: 12 }",
    "faults: [crash]",
    "replace: { worker.release: { redis: DEL lock } }",
    "variants: { blind-del: { title: …, expect: shown, … } }",
    "counters: { sold: { title: { en: …, zh: … } } }",
    "exec: [python3, worker.py]",
    "settings: { appendonly: always }",
    "appendonly: always",
    "isolation: read-committed",
    "lock_wait_timeout: 10s",
    "session_timeout: 10s",
    "shown: { variant: blind-del, at: A.release }",
    "link: A->redis",
    "runs: worker",
    "locks: { lock: { holders: 2 } }",
    "skew: { redis: 30s }",
    "cut: A->redis",
    "drop: A->redis",
    "right: A.acquire == 'OK'",
    "follow_up: { q: { en: …, zh: … }, a: { en: …, zh: … } }",
    "rows: { lock: { en: …, zh: … } }",
    "columns: { crash: { en: …, zh: … } }",
    "python: { redis: 8.1.0 }",
    "node: { ioredis: 5.11.1 }",
    "java: { redisson: 3.50.0 }",
    "libraries: { python: { redis: 8.1.0 } }",
    "hold: { link: A->redis, way: replies }",
    "after: 1",
    "q: { en: …, zh: … }",
    "a: { en: …, zh: … }",
    "why: { en: …, zh: … }",
    "delay: { link: A->redis, by: 2s }",
    "fixes: blind",
    "count: sold",
    "exclusive: lock",
    "id: my-lock",
    "track: redis",
    "lab: redis",
    "title: { en: …, zh: … }",
    "summary: { en: …, zh: … }",
    "intro: { en: …, zh: … }",
    "lesson: { en: …, zh: … }",
    "goal: { en: …, zh: … }",
    "says: { en: …, zh: … }",
    "expect: shown",
    "overlap: lock",
    "holds: lock",
    "crash: A",
    "kill: redis",
    "restart: redis",
    "freeze: A",
    "thaw: A",
    "await: { that: sold == 1, within: 30s }",
    "never: sold > stock",
    "format: 1",
    "minutes: 5",
    "params: { lease: 3s }",
    "setup: [{ redis: SET stock 10 }]",
    "scripts: { take: \"return redis.call('DECR', KEYS[1])\" }",
    "metrics: [zk_packets_sent]",
    "clients: { A: { runs: worker } }",
    "named_threads: { worker: work, watchdog: renew }",
    "processes: 3",
    "threads: 2",
    "crowd: 20",
    "programs: { worker: [{ work: 5s }] }",
    "story: [{ move: A.acquire }]",
    "claims: [sold == 10]",
    "interview: [{ q: …, a: … }]",
    "sources: [https://redis.io/docs]",
    "redis: GET lock",
    "keys: [lock]",
    "args: [\"${token}\"]",
    "allow: [NodeExists]",
    "every: 500ms",
    "until: reply == 'OK'",
    "let: { began: now }",
    "if: reply == 'OK'",
    "then: [{ work: 5s }]",
    "else: [stop]",
    "repeat: [{ work: 5s }]",
    "times: 3",
    "at_most: 100",
    "with: { key: lock }",
    "moving: [A]",
    "within: 30s",
    "for: 35s",
    "choices: [{ says: …, right: true }, { says: …, why: … }]",
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Nothing,
    Flag,
    Number,
    Text,
    List,
    Map,
}

impl Kind {
    fn of(value: &Value) -> Self {
        match value {
            Value::Null => Self::Nothing,
            Value::Bool(_) => Self::Flag,
            Value::Number(_) => Self::Number,
            Value::String(_) | Value::Tagged(_) => Self::Text,
            Value::Sequence(_) => Self::List,
            Value::Mapping(_) => Self::Map,
        }
    }

    fn named(name: &str) -> Self {
        match name {
            "null" => Self::Nothing,
            "boolean" => Self::Flag,
            "integer" | "number" => Self::Number,
            "array" => Self::List,
            "object" => Self::Map,
            _ => Self::Text,
        }
    }

    /// Whether a value of this kind is accepted for `wanted`. If it is the only accepted kind (`alone`), numbers and
    /// booleans are accepted as texts.
    fn fits(self, wanted: Self, alone: bool) -> bool {
        self == wanted || (alone && wanted == Self::Text && matches!(self, Self::Number | Self::Flag))
    }

    fn words(self) -> Text {
        match self {
            Self::Nothing => both!("nothing", "空"),
            Self::Flag => both!("`true` or `false`", "`true` 或 `false`"),
            Self::Number => both!("a whole number", "整数"),
            Self::Text => both!("a text", "文字"),
            Self::List => both!("a list", "列表"),
            Self::Map => both!("fields below it", "一组字段"),
        }
    }
}

/// One accepted form of a value.
struct Form<'s> {
    schema: &'s Schema,
    kind: Kind,
    /// The name of the form's type in the schema, or of the type that contains it.
    part: &'s str,
}

pub(crate) struct Shape<'s>(pub &'s Schema);

impl<'s> Shape<'s> {
    /// The first mistake in a file.
    pub(crate) fn mistake(&self, file: &Value) -> Option<Mistake> {
        self.look(file, self.0, &Path::root()).err()
    }

    fn forms(&self, schema: &'s Schema, part: &'s str) -> Vec<Form<'s>> {
        if let Some(name) = schema["$ref"].as_str().and_then(|path| path.rsplit('/').next()) {
            return self.forms(&self.0["$defs"][name], name);
        }
        if let Some(several) = schema["anyOf"].as_array().or(schema["oneOf"].as_array()) {
            return several.iter().flat_map(|one| self.forms(one, part)).collect();
        }
        let form = |kind: &str| Form { schema, kind: Kind::named(kind), part };
        match &schema["type"] {
            Schema::Array(kinds) => kinds.iter().filter_map(Schema::as_str).map(form).collect(),
            Schema::String(kind) => vec![form(kind)],
            _ if schema.get("const").is_some() => vec![form("string")],
            _ => Vec::new(),
        }
    }

    fn look(&self, value: &Value, schema: &'s Schema, path: &Path) -> Result<(), Mistake> {
        if let [Segment::Key(first), .., Segment::Key(last)] = path.segments()
            && (first, last) == (&"programs".to_owned(), &"scripts".to_owned())
        {
            let message = both!("`scripts:` cannot stand in a program", "`scripts:` 不能写在程序里");
            return Err(at_key(path, message).help(both!(
                "`scripts:` stands at the margin, beside `programs:`",
                "`scripts:` 要顶格写，与 `programs:` 并列"
            )));
        }
        let forms = self.forms(schema, "");
        let found = Kind::of(value);
        let alone = forms.iter().filter(|form| form.kind != Kind::Nothing).count() == 1;
        let fitting: Vec<&Form<'_>> = forms.iter().filter(|form| found.fits(form.kind, alone)).collect();
        // A value that the schema does not describe may be anything.
        if fitting.is_empty() && !forms.is_empty() {
            return Err(wrong_kind(value, &forms, path));
        }
        match value {
            Value::Mapping(fields) => self.fields(fields, &fitting, path),
            Value::Sequence(items) => {
                let mut items = items.iter().enumerate();
                let of = fitting.iter().find_map(|form| form.schema.get("items"));
                of.map_or(Ok(()), |of| items.try_for_each(|(n, item)| self.look(item, of, &path.index(n))))
            }
            Value::Number(number) => {
                let least = fitting
                    .iter()
                    .filter(|form| form.kind == Kind::Number)
                    .find_map(|form| form.schema["minimum"].as_i64());
                let is_whole =
                    number.as_i64().is_some() || fitting.iter().any(|form| form.kind == Kind::Text);
                match least {
                    _ if !is_whole => Err(wrong_kind(value, &forms, path)),
                    Some(_) if number.as_i64().is_none_or(|number| number > i64::from(u32::MAX)) => {
                        let most = u32::MAX;
                        let mistake = Mistake::new(path, both!("{number} is too large", "{number} 太大"));
                        Err(mistake.help(both!("at most {most}", "最大是 {most}")))
                    }
                    Some(least) if number.as_i64().is_some_and(|number| number < least) => Err(Mistake::new(
                        path,
                        both!("{number} is too small: at least {least}", "{number} 太小：至少是 {least}"),
                    )),
                    _ => Ok(()),
                }
            }
            Value::String(word) => {
                let known: Vec<&str> =
                    fitting.iter().filter_map(|form| form.schema["const"].as_str()).collect();
                if known.is_empty() || known.contains(&word.as_str()) || known.len() < fitting.len() {
                    return Ok(());
                }
                let key = key_of(path);
                let message = both!("`{key}` cannot be `{word}`", "`{key}` 不能是 `{word}`");
                if key == "lab" && word.contains([',', '+', ' ']) {
                    let several = word.split([',', '+', ' ']).filter(|one| !one.is_empty());
                    let several = several.collect::<Vec<_>>().join(", ");
                    return Err(Mistake::new(path, message).help(both!(
                        "a lab of several products is a list: `lab: [{several}]`",
                        "多个产品组成的 lab 要写成列表：`lab: [{several}]`"
                    )));
                }
                let other = [
                    ("mysql", "mariadb"),
                    ("zk", "zookeeper"),
                    ("redis-cluster", "cluster"),
                    ("redlock", "masters"),
                ];
                let other =
                    other.iter().find(|(called, _)| key == "lab" && word.eq_ignore_ascii_case(called));
                Err(match other {
                    Some((_, lab)) => Mistake::new(path, message).help(did_you_mean(lab)),
                    None => Mistake { message, ..Mistake::unknown(path, "", word, known.iter().copied()) },
                })
            }
            _ => Ok(()),
        }
    }

    fn fields(&self, fields: &serde_yaml::Mapping, forms: &[&Form<'s>], path: &Path) -> Result<(), Mistake> {
        let of = |key: &str| forms.iter().find_map(|form| form.schema["properties"].get(key));
        let others = forms
            .iter()
            .find_map(|form| form.schema.get("additionalProperties").filter(|other| other.is_object()));
        let mut known: Vec<&str> = forms
            .iter()
            .filter_map(|form| form.schema["properties"].as_object())
            .flat_map(|fields| fields.keys().map(String::as_str))
            .collect();
        known.sort_unstable();
        known.dedup();
        let part = forms.first().map_or("", |form| form.part);
        for (key, value) in fields {
            let Some(key) = key.as_str() else {
                let shown = serde_yaml::to_string(key).unwrap_or_default();
                let shown = shown.trim();
                return Err(path.mistake(finding!(
                    "the key `{shown}` is no name",
                    "键 `{shown}` 不是名字",
                    "a name needs quotes here, \"{shown}\", and so does a text with a comma in it",
                    "名字要加引号：\"{shown}\"；如果它是一段带逗号的文字，要给整段文字加引号"
                )));
            };
            let of_libraries = matches!(path.segments(), [Segment::Key(only)] if only == "libraries");
            let path = path.key(key);
            let languages = ["python", "node", "java"];
            if of_libraries && !languages.contains(&key) {
                let mistake = Mistake::unknown(&path, both!("language", "语言"), key, languages);
                return Err(Mistake { span: MistakeSpan::Key, ..mistake });
            }
            match (of(key), others) {
                (Some(schema), _) => self.look(value, schema, &path)?,
                (None, Some(schema)) => {
                    if part == "Step" && !value.is_mapping() {
                        return Err(no_step(key, value, &path));
                    }
                    self.look(value, schema, &path)?;
                }
                // A map that the schema declares without fields may have any.
                (None, None) if known.is_empty() => {}
                (None, None) => return Err(self.unknown_field(key, value, &known, part, &path)),
            }
        }
        let required = match forms {
            [form] => form.schema["required"].as_array(),
            _ => None,
        };
        let missing: Vec<&str> = required
            .into_iter()
            .flatten()
            .filter_map(Schema::as_str)
            .filter(|key| !fields.contains_key(*key))
            .collect();
        match missing[..] {
            [] => Ok(()),
            [key @ ("en" | "zh"), ..] | [key] => {
                let mistake = Mistake::new(path, both!("missing field `{key}`", "缺少字段 `{key}`"));
                Err(match key {
                    "en" | "zh" => mistake.help(both!(
                        "every text is written twice: {{ en: …, zh: … }}",
                        "每段文字都要写两种语言：{{ en: …, zh: … }}"
                    )),
                    _ => example(mistake, key),
                })
            }
            _ => {
                let shown = missing.iter().map(|key| format!("`{key}`")).collect::<Vec<_>>().join(", ");
                let mistake = Mistake::new(path, both!("missing fields {shown}", "缺少字段 {shown}"));
                let examples: Vec<String> = missing
                    .iter()
                    .filter_map(|key| example_of(key))
                    .map(|text| format!("`{text}`"))
                    .collect();
                if examples.is_empty() {
                    return Err(mistake);
                }
                let examples = examples.join(", ");
                Err(mistake.help(both!("such as {examples}", "例如 {examples}")))
            }
        }
    }

    fn unknown_field(&self, key: &str, value: &Value, known: &[&str], part: &str, path: &Path) -> Mistake {
        let named =
            |part: &str| PARTS.iter().find(|(name, _)| *name == part).map(|(_, words)| words.text(&[]));
        let shown = known.iter().map(|key| format!("`{key}`")).collect::<Vec<_>>().join(", ");
        let mistake = at_key(
            path,
            match named(part) {
                Some(part) => both!("unknown field `{key}` of {part}", "{part}没有字段 `{key}`", part),
                None => both!("unknown field `{key}`", "没有名为 `{key}` 的字段"),
            },
        );
        if let Some((name, _)) = key.split_once(['：', '，']).filter(|_| value.is_null()) {
            return mistake.help(both!(
                "write ASCII punctuation and a space after it: `{name}: …`",
                "请用半角标点，后面空一格：`{name}: …`"
            ));
        }
        if value.is_null() {
            let example = if part.ends_with("Operation") {
                "{ sql: \"SELECT a, b FROM t\" }"
            } else {
                "{ en: \"One, two\", zh: … }"
            };
            return mistake.help(both!(
                "a text with a comma needs quotes: {example}",
                "含有逗号的文字要加引号：{example}"
            ));
        }
        if let Some(help) = synonyms::meant(part, key) {
            return mistake.help(help);
        }
        if let Some(near) = nearest(key, known.iter().copied(), ALIKE) {
            let near = did_you_mean(near);
            return mistake.help(both!("{near} There are {shown}", "{near}这里有 {shown}", near));
        }
        let elsewhere = PARTS.iter().find(|(name, _)| {
            *name != part
                && self
                    .forms(&self.0["$defs"][name], name)
                    .iter()
                    .any(|form| form.schema["properties"].get(key).is_some())
        });
        if let Some((_, other)) = elsewhere {
            let other = other.text(&[]);
            return mistake.help(both!(
                "it is a field of {other}; here there are {shown}",
                "它是{other}的字段；这里有 {shown}",
                other
            ));
        }
        if self.0["properties"].get(key).is_some() {
            return mistake.help(both!(
                "it is a field of the lesson itself and begins in the first column; here there are {shown}",
                "它是课程顶层的字段，要从第一列写起；这里有 {shown}"
            ));
        }
        if part == "StoryItem" && value.is_mapping() {
            return mistake.help(both!(
                "what a client does stands in its program, and a story only moves it: write `- move: {key}.acquire`; here there are {shown}",
                "客户端的操作写在它的程序里，剧情只决定何时执行：请写 `- move: {key}.acquire`；这里有 {shown}"
            ));
        }
        mistake.help(both!("there are {shown}", "这里有 {shown}"))
    }
}

fn at_key(path: &Path, message: Text) -> Mistake {
    Mistake { span: MistakeSpan::Key, ..Mistake::new(path, message) }
}

fn key_of(path: &Path) -> String {
    let keys = path.segments().iter().rev();
    let mut keys = keys.filter_map(|segment| match segment {
        Segment::Key(key) => Some(key.clone()),
        Segment::Index(_) => None,
    });
    keys.next().unwrap_or_default()
}

fn example(mistake: Mistake, key: &str) -> Mistake {
    let keys: Vec<&str> = mistake
        .path
        .segments()
        .iter()
        .filter_map(|segment| match segment {
            Segment::Key(key) => Some(key.as_str()),
            Segment::Index(_) => None,
        })
        .collect();
    // Under `with` a key is a parameter of a recipe, and its example as a key of the grammar would mislead.
    if keys.len() > 1 && keys[keys.len() - 2] == "with" {
        return mistake.help(both!("such as `with: {{ {key}: lock }}`", "例如 `with: {{ {key}: lock }}`"));
    }
    if key == "expect" && keys.contains(&"explore") {
        return mistake.help(both!(
            "`expect: none`, no order breaks an invariant, or `expect: violated`, some order does",
            "`expect: none` 表示任何顺序都不违反不变式，`expect: violated` 表示有顺序会违反"
        ));
    }
    match example_of(key) {
        Some(example) => mistake.help(both!("such as `{example}`", "例如 `{example}`")),
        None => mistake,
    }
}

fn example_of(key: &str) -> Option<&'static str> {
    EXAMPLES.iter().find(|example| example.split(':').next() == Some(key)).copied()
}

fn wrong_kind(value: &Value, forms: &[Form<'_>], path: &Path) -> Mistake {
    let key = key_of(path);
    let mut wanted: Vec<Kind> = Vec::new();
    for form in forms {
        if form.kind != Kind::Nothing && !wanted.contains(&form.kind) {
            wanted.push(form.kind);
        }
    }
    let is_text = forms.iter().any(|form| form.schema["properties"].get("zh").is_some());
    let wanted: Vec<Text> = wanted.iter().map(|kind| kind.words()).collect();
    let wanted = Text::join(&wanted, " or ", "或");
    let found = match value {
        Value::String(word) => {
            let word: String = word.chars().take(40).collect();
            both!("`{word}`", "`{word}`")
        }
        Value::Number(number) => both!("{number}", " {number}"),
        _ => Kind::of(value).words(),
    };
    let message = match (key.as_str(), value) {
        ("", _) => both!(
            "a file of a lesson has {wanted}, and here is {found}",
            "课程文件应是{wanted}，这里是{found}",
            wanted,
            found
        ),
        (_, Value::Null) => {
            both!("`{key}` is empty: it takes {wanted}", "`{key}` 是空的：这里应写{wanted}", wanted)
        }
        _ => both!(
            "`{key}` takes {wanted}, and here is {found}",
            "`{key}` 应是{wanted}，这里是{found}",
            wanted,
            found
        ),
    };
    let mistake = Mistake::new(path, message);
    match forms.first().map_or("", |form| form.part) {
        "StoryItem" => mistake.help(both!(
            "an item is a word with what it takes: `- move: A.acquire`, `- pass: 3s`",
            "每一条由一个词和它的内容组成：`- move: A.acquire`、`- pass: 3s`"
        )),
        "Step" => mistake.help(both!(
            "a step is `stop`, or a word with what it takes: `- holds: lock`, `- acquire: {{ redis: … }}`",
            "一步是 `stop`，或者一个词加上它的内容：`- holds: lock`、`- acquire: {{ redis: … }}`"
        )),
        "Client" => mistake.help(format!("{key}: {{ runs: worker }}")),
        "CounterSpec" | "LockSpec" => mistake.help(format!("{key}: {{ title: {{ en: …, zh: … }} }}")),
        "Operation" | "RawOperation" => mistake.help(format!("{key}: {{ redis: GET lock }}")),
        _ if is_text => mistake.help(format!("{key}: {{ en: …, zh: … }}")),
        // For a list, use the example only if it shows one: that of `from` is for a `take`, where it is a text.
        _ => match (forms, value) {
            (_, Value::String(word)) if matches!(word.as_str(), "true" | "false") => {
                mistake.help(both!("without quotes: `{key}: {word}`", "去掉引号：`{key}: {word}`"))
            }
            ([Form { kind: Kind::List, .. }, ..], Value::Number(number)) if key == "from" => {
                mistake.help(both!(
                    "a list stands in brackets: `{key}: [{number}]`",
                    "列表要写在方括号里：`{key}: [{number}]`"
                ))
            }
            ([Form { kind: Kind::List, .. }, ..], Value::String(word))
                if example_of(&key).is_none_or(|example| !example.contains(": [")) =>
            {
                mistake.help(both!(
                    "a list stands in brackets: `{key}: [{word}]`",
                    "列表要写在方括号里：`{key}: [{word}]`"
                ))
            }
            _ => example(mistake, &key),
        },
    }
}

fn write(what: &str) -> Text {
    both!("write `{what}`", "请写 `{what}`")
}

/// The mistake of a step that is neither a word of the grammar nor an operation.
fn no_step(key: &str, value: &Value, path: &Path) -> Mistake {
    let words = KEYWORDS.into_iter().chain(["work", "wait", "stop"]);
    if value.is_null() {
        return Mistake::new(path, both!("the step `{key}` is empty", "步骤 `{key}` 是空的")).help(both!(
            "what belongs to `{key}` is indented below it, or stands behind it: `{key}: {{ redis: … }}`",
            "属于 `{key}` 的内容要缩进写在它下面，或者写在它后面：`{key}: {{ redis: … }}`"
        ));
    }
    if key == "stop" {
        let message = both!("`stop` takes nothing: write `- stop`", "`stop` 后面什么也不写：请写 `- stop`");
        return at_key(path, message);
    }
    let mistake = at_key(path, both!("unknown step `{key}`", "没有名为 `{key}` 的步骤"));
    if FIELDS.contains(&key) {
        return mistake.help(both!(
            "an operation has a label of its own before it: `- read: {{ {key}: … }}`",
            "操作前面要有自己的名字：`- read: {{ {key}: … }}`"
        ));
    }
    if let Some(near) = nearest(key, words, ALIKE) {
        return mistake.help(did_you_mean(near));
    }
    if let Some(help) = synonyms::meant("Step", key) {
        return mistake.help(help);
    }
    match value {
        Value::String(text) if is_command(text) => {
            return mistake.help(write(&format!("- {key}: {{ redis: {text} }}")));
        }
        Value::String(text) => return mistake.help(write(&format!("- let: {{ {key}: {text} }}"))),
        Value::Bool(_) | Value::Number(_) => {
            let shown = serde_yaml::to_string(value).unwrap_or_default();
            return mistake.help(write(&format!("- let: {{ {key}: {} }}", shown.trim())));
        }
        _ => {}
    }
    mistake.help(both!(
        "an operation says what is sent: `{key}: {{ redis: … }}`, or `zk`, `sql`, `script`, `local`, `take`, `wait`",
        "操作要写明发送什么：`{key}: {{ redis: … }}`，或者 `zk`、`sql`、`script`、`local`、`take`、`wait`"
    ))
}
