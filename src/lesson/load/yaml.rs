//! Explains in an author's terms why a file is not valid YAML.

use crate::text::{Text, Words, both};

/// Fragments of the parser's message, the message and the help for the author. The first match is used.
const WORDS: &[(&[&str], Words, Words)] = &[
    (
        &["recursion limit"],
        Words::new("this is nested too deeply", "嵌套层数太多"),
        Words::new("write it with fewer levels", "请减少嵌套层数"),
    ),
    (
        &["repetition limit"],
        Words::new("aliases (`*name`) that contain aliases multiply", "别名（`*name`）套别名，会成倍膨胀"),
        Words::new("write the parts out", "请把各部分直接写出来"),
    ),
    (
        &["u128", "i128"],
        Words::new("this number is too large", "这个数太大了"),
        Words::new("write a smaller one; as a text it stands in quotes", "请写小一些；如果是文字就加上引号"),
    ),
    (
        &["EOF while", "end of stream while"],
        Words::new("the file is empty", "文件是空的"),
        Words::new(
            "`lockstep new NAME` writes a lesson to start from",
            "`lockstep new 名字` 会写出一份可以照着改的课程",
        ),
    ),
    (
        &["more than one document"],
        Words::new(
            "the file has several documents: a line `---` divides it",
            "文件里有多个文档：`---` 行把它隔开了",
        ),
        Words::new("write each lesson in a file of its own", "请把每节课写在各自的文件里"),
    ),
    (
        &["unknown anchor", "scanning an alias", "scanning an anchor"],
        Words::new(
            "`*` and `&` at the beginning of a text mean an anchor, and there is none",
            "文字开头的 `*` 和 `&` 表示锚点，而这里没有这个锚点",
        ),
        Words::new(
            "define it before with `&name`, or put the text in quotes",
            "请先用 `&name` 定义它，或者给文字加上引号",
        ),
    ),
    (
        &["quoted scalar"],
        Words::new("a quote is not closed", "有一个引号没有关上"),
        Words::new("close it with the same quote that opens it", "请用同样的引号把它关上"),
    ),
    (
        &["escape character", "hexadecimal"],
        Words::new(
            "in double quotes `\\` begins an escape, and this is none",
            "双引号里的 `\\` 是转义的开头，这里不是有效的转义",
        ),
        Words::new("use single quotes, or write `\\\\`", "请改用单引号，或者写成 `\\\\`"),
    ),
    (
        &["mapping values are not allowed"],
        Words::new(
            "a second `: ` in one line, or a line that is indented too far",
            "同一行里出现了第二个 `: `，或者这一行缩进过多",
        ),
        Words::new(
            "put a text with `: ` in it in quotes; fields of one thing begin in one column",
            "含有 `: ` 的文字要加引号；同一级的字段要从同一列开始",
        ),
    ),
    (
        &[
            "sequence entries are not allowed",
            "expected '-' indicator",
            "expected key",
            "block collection",
            "expected <document start>",
        ],
        Words::new(
            "this line is not indented like those that it belongs to",
            "这一行的缩进和它同级的行不一致",
        ),
        Words::new(
            "fields of one thing begin in one column, and so do the `-` of one list; a text that goes on behind a closing \
             quote needs quotes around the whole",
            "同一级的字段从同一列开始，同一列表的 `-` 也从同一列开始；引号关上之后还有内容的文字，要整个加引号",
        ),
    ),
    (
        &["expected ',' or '}'", "expected ',' or ']'", "flow"],
        Words::new("a `{` or `[` is not closed where it should be", "有一个 `{` 或 `[` 没有在该关的地方关上"),
        Words::new(
            "close it; two fields have a comma between them; between `{ }` and `[ ]` put texts with `,`, `:`, `#`, `[` or `{` \
             in quotes",
            "请把它关上；两个字段之间要有逗号；写在 `{ }` 和 `[ ]` 里的文字，含有 `,`、`:`、`#`、`[`、`{` 时要加引号",
        ),
    ),
    (
        &["cannot start any token"],
        Words::new("a text cannot begin with this character", "文字不能以这个字符开头"),
        Words::new("put the text in quotes", "请给文字加上引号"),
    ),
    (
        &["expected ':'", "simple key"],
        Words::new("a line without `:`", "这一行缺少 `:`"),
        Words::new(
            "write `NAME: VALUE`, or indent it to continue the text above",
            "请写成 `名字: 值`；如果是接着上一行的文字，就要缩进",
        ),
    ),
];

const TAB: (Words, Words) = (
    Words::new("a tab character: YAML is indented with spaces", "这里有制表符（tab）：YAML 要用空格缩进"),
    Words::new("replace each tab with spaces", "请把每个制表符换成空格"),
);

const TEMPLATE: (Words, Words) = (
    Words::new("`${…}` between `{ }` or `[ ]` needs quotes", "写在 `{ }` 或 `[ ]` 里的 `${…}` 要加引号"),
    Words::new(
        "such as { redis: \"SET lock ${token} NX\" }; in an expression the name alone: { granted: owner == token }",
        "例如 { redis: \"SET lock ${token} NX\" }；表达式里直接写名字：{ granted: owner == token }",
    ),
);

/// Finds a character that no YAML file may have, or a space that YAML does not know in a place where the parser needs
/// one: in an indentation, or after the colon of a key. Of such spaces only those on the reported line are meant.
pub(super) fn odd_character(message: &str, text: &str, line: usize) -> Option<((usize, usize), Text, Text)> {
    let lines = || text.lines().enumerate();
    let is_control = |c: char| c.is_control() && !matches!(c, '\t' | '\r' | '\u{85}');
    if message.contains("control characters") {
        let (n, column, c) = lines().find_map(|(n, line)| {
            line.chars().enumerate().find(|(_, c)| is_control(*c)).map(|(at, c)| (n + 1, at + 1, c))
        })?;
        let code = format!("U+{:04X}", u32::from(c));
        return Some((
            (n, column),
            both!(
                "the control character {code}, which YAML does not allow",
                "这里有控制字符 {code}，YAML 不允许"
            ),
            both!("delete it; your editor may not show it", "请删掉它；编辑器里可能看不见"),
        ));
    }
    let (_, written) = lines().nth(line.checked_sub(1)?)?;
    let is_odd = |c: char| c.is_whitespace() && !c.is_ascii_whitespace();
    let mut before = [' '; 2];
    let mut indents = true;
    for (at, c) in written.chars().enumerate() {
        indents &= c.is_whitespace();
        let after_key = before[1] == ':' && (before[0].is_ascii_alphanumeric() || before[0] == '_');
        if is_odd(c) && (indents || after_key) {
            let code = format!("U+{:04X}", u32::from(c));
            return Some((
                (line, at + 1),
                both!(
                    "the character {code} looks like a space, and is none for YAML",
                    "字符 {code} 看起来像空格，YAML 却不当它是空格"
                ),
                both!("write an ordinary space in its place", "请换成普通的半角空格"),
            ));
        }
        before = [before[1], c];
    }
    None
}

const OTHER: (Words, Words) = (
    Words::new("this is not YAML", "这不是 YAML"),
    Words::new(
        "look for an unquoted `: ` or `{`, or for wrong indentation",
        "请检查有没有没加引号的 `: ` 或 `{`，或者缩进不对",
    ),
);

/// Explains the parser's message with regard to the lines it names, and returns a position. The enclosing structure
/// that the message names is often more useful than the place where the parser gave up, such as a `{` that is not
/// closed.
pub(super) fn explain(
    message: &str,
    text: &str,
    place: Option<(usize, usize)>,
) -> (Option<(usize, usize)>, Text, Text) {
    let line = |place: Option<(usize, usize)>| {
        text.lines().nth(place.map_or(0, |(line, _)| line.saturating_sub(1))).unwrap_or_default()
    };
    let around = message.split_once(", while ").and_then(|(_, around)| position(around));
    let is_flow = message.contains("flow") || message.contains("',' or");
    let begins_with_tab = |line: &str| line.trim_start_matches(' ').starts_with('\t');
    let tab = message.contains("tab character") || begins_with_tab(line(place));
    let template =
        is_flow && [place, around].into_iter().flatten().any(|at| has_bare_template(line(Some(at))));
    let place = if is_flow || message.contains("quoted scalar") { around.or(place) } else { place };
    let (what, help) = match WORDS.iter().find(|(words, ..)| words.iter().any(|word| message.contains(word)))
    {
        _ if tab => TAB,
        _ if template => TEMPLATE,
        Some((_, what, help)) => (*what, *help),
        None => OTHER,
    };
    if let Some((_, lock)) = line(place).split_once("never: overlap: ") {
        let lock = lock.trim();
        return (
            place,
            what.text(&[]),
            both!("write `never: {{ overlap: {lock} }}`", "请写 `never: {{ overlap: {lock} }}`"),
        );
    }
    let lines: Vec<&str> = text.lines().collect();
    if let Some(at) = (0..place.map_or(0, |(line, _)| line)).find_map(|n| open_quote(&lines, n)) {
        let (what, help) = QUOTE;
        return (Some(at), what.text(&[]), help.text(&[]));
    }
    if let Some((column, quote)) = behind_quote(line(place)) {
        let other = if quote == '"' { '\'' } else { '"' };
        return (
            place.map(|(line, _)| (line, column)),
            both!(
                "a text that begins with `{quote}` ends with the next `{quote}`, and here more follows",
                "以 `{quote}` 开头的文字到下一个 `{quote}` 就结束了，这里后面还有内容"
            ),
            both!(
                "put the whole into `{other}`, or, between `{quote}`, write each `{quote}` of the text twice (`''`) or as `\\\"`",
                "请用 `{other}` 把整段括起来；或者把文字里的 `{quote}` 写成 `''`（单引号内）或 `\\\"`（双引号内）"
            ),
        );
    }
    if is_flow && let Some((at, full, ascii)) = full_width(line(place)) {
        let message = if full == '“' {
            both!(
                "`{full}` is no quote for YAML, but plain text",
                "`{full}` 不是 YAML 的引号，YAML 只当它是文字"
            )
        } else {
            both!("`{full}` is full-width, and plain text for YAML", "`{full}` 是全角标点，YAML 只当它是文字")
        };
        let help =
            both!("write ASCII punctuation: `{ascii}` for `{full}`", "请用半角标点：`{full}` 改成 `{ascii}`");
        return (place.map(|(line, _)| (line, at + 1)), message, help);
    }
    (place, what.text(&[]), help.text(&[]))
}

const QUOTE: (Words, Words) = (
    Words::new("a quote is not closed", "有一个引号没有关上"),
    Words::new("close it with the same quote that opens it", "请用同样的引号把它关上"),
);

/// What follows the quote that begins the value of this line, and the column, from 1, of that quote.
fn quoted(line: &str) -> Option<(usize, char, &str)> {
    let trimmed = line.trim_start();
    let item = trimmed.trim_start_matches("- ");
    let key = item.split_once(": ").filter(|(key, _)| key.chars().all(|c| c.is_alphanumeric() || c == '_'));
    let value = key.map_or(item, |(_, value)| value.trim_start());
    let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    Some((line.chars().count() - value.chars().count() + 1, quote, &value[1..]))
}

/// The text behind the closing quote, if there is one.
fn after_quote(quote: char, inside: &str) -> Option<&str> {
    // An escaped quote is text.
    let (escaped, filler) = if quote == '"' { ("\\\"", "xx") } else { ("''", "xx") };
    let at = inside.replace(escaped, filler).find(quote)?;
    inside.get(at + 1..)
}

/// The place of a quote on a line that is not closed: the next such quote, on a later line, is the beginning of another
/// text.
fn open_quote(lines: &[&str], n: usize) -> Option<(usize, usize)> {
    let mut lines = lines.iter().skip(n);
    let (column, quote, inside) = quoted(lines.next()?)?;
    if after_quote(quote, inside).is_some() {
        return None;
    }
    let behind = lines.find_map(|line| after_quote(quote, line)).unwrap_or("text");
    let is_closed = behind.trim().is_empty() || behind.trim_start().starts_with([',', '}', ']', '#']);
    (!is_closed).then_some((n + 1, column))
}

/// The column and the quote of a value that goes on behind its closing quote.
fn behind_quote(line: &str) -> Option<(usize, char)> {
    let (column, quote, inside) = quoted(line)?;
    let rest = after_quote(quote, inside)?.trim();
    (!rest.is_empty() && !rest.starts_with(['#', ':'])).then_some((column, quote))
}

/// The first full-width comma, colon or brace of a line that stands where YAML wants its own. Chinese texts have others.
fn full_width(line: &str) -> Option<(usize, char, char)> {
    let is_key = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    line.char_indices().enumerate().find_map(|(column, (at, c))| {
        let (before, after) = (&line[..at], &line[at + c.len_utf8()..]);
        let key_before = || is_key(before.rsplit(['{', ',', '，', '｛', ' ']).next().unwrap_or_default());
        let key_after = || after.split_once([':', '：']).is_some_and(|(key, _)| is_key(key.trim()));
        match c {
            '，' if key_after() => Some((column, c, ',')),
            '：' if key_before() => Some((column, c, ':')),
            // A text that needs quotes, and has others.
            '“' if before.trim_end().ends_with(':') => {
                let inside = after.split(['”', '"']).next().unwrap_or_default();
                inside.contains([',', ':', '{', '[']).then_some((column, c, '"'))
            }
            '｛' => Some((column, c, '{')),
            '｝' => Some((column, c, '}')),
            _ => None,
        }
    })
}

/// Whether a line has `${` outside of quotes.
fn has_bare_template(line: &str) -> bool {
    let mut quote = None;
    line.char_indices().any(|(at, c)| {
        match quote {
            Some(open) if c == open => quote = None,
            None if matches!(c, '"' | '\'') => quote = Some(c),
            _ => {}
        }
        quote.is_none() && line[at..].starts_with("${")
    })
}

/// Parses `… at line 4 column 10`.
fn position(words: &str) -> Option<(usize, usize)> {
    let (line, column) = words.split_once(" at line ")?.1.split_once(" column ")?;
    Some((line.parse().ok()?, column.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()?))
}
