//! Checks the Lua scripts of lessons before a server runs them: the syntax of Lua 5.1, the names that Redis provides,
//! and the commands that they send with `redis.call`.

pub(crate) mod tokens;
mod values;

use self::values::Kind;

use std::collections::HashMap;

use super::{
    error::{ALIKE, did_you_mean, nearest, suggestion},
    has_word,
};
use crate::text::{Text, both};

/// The global names that Redis gives to scripts.
const GLOBALS: &str = "
    KEYS ARGV redis server cjson cmsgpack bit struct string table math os tonumber tostring type pairs ipairs
    next select unpack error assert pcall xpcall rawget rawset rawequal setmetatable getmetatable loadstring
    load collectgarbage gcinfo coroutine _G _VERSION
";

/// The members of `redis`.
const MEMBERS: &str = "
    call pcall error_reply status_reply sha1hex log replicate_commands set_repl breakpoint debug setresp
    acl_check_cmd LOG_DEBUG LOG_VERBOSE LOG_NOTICE LOG_WARNING REPL_ALL REPL_AOF REPL_SLAVE REPL_REPLICA
    REPL_NONE REDIS_VERSION REDIS_VERSION_NUM register_function
";

pub(crate) const KEYWORDS: [&str; 21] = [
    "and", "break", "do", "else", "elseif", "end", "false", "for", "function", "if", "in", "local", "nil",
    "not", "or", "repeat", "return", "then", "true", "until", "while",
];

/// Binary operators with their left and right binding power.
const OPERATORS: [(&[&str], u8, u8); 7] = [
    (&["or"], 1, 1),
    (&["and"], 2, 2),
    (&["<", ">", "<=", ">=", "~=", "=="], 3, 3),
    (&[".."], 5, 4),
    (&["+", "-"], 6, 6),
    (&["*", "/", "%"], 7, 7),
    (&["^"], 10, 9),
];
/// The binding power of `not`, `#` and unary `-`.
const UNARY: u8 = 8;

/// The deepest nesting, because the reader recurses.
const DEEPEST: usize = 100;

/// A mistake in a script, and its byte offset.
pub(crate) struct LuaMistake {
    pub at: usize,
    pub message: Text,
    /// Whether the script would run, but not do what it seems to say.
    pub runs: bool,
}

/// What a script does, as far as its text shows.
#[derive(Default)]
pub(crate) struct Lua {
    pub calls: Vec<Call>,
    /// The highest `KEYS[n]` and `ARGV[n]` that the script reads.
    pub keys: usize,
    pub args: usize,
}

/// A `redis.call` or `redis.pcall`.
pub(crate) struct Call {
    pub at: usize,
    /// The words that it sends; `None` for a computed one.
    pub words: Vec<Option<String>>,
    /// Of each word that ends with an argument of the script, the text before it and the argument's number: `r:` and 1 of
    /// `'r:' .. ARGV[1]`.
    pub arguments: Vec<Option<(String, usize)>>,
    /// Whether more words may follow, because the last argument can give several values.
    pub is_open: bool,
}

/// Reads a script.
///
/// # Errors
/// The first mistake in it.
pub(crate) fn read(source: &str) -> Result<Lua, LuaMistake> {
    // A first line such as `#!lua flags=no-writes` is meant for Redis, not for Lua.
    let skipped = if source.starts_with("#!") { source.find('\n').unwrap_or(source.len()) } else { 0 };
    let mut reader = Reader {
        source,
        rest: skipped,
        token: Token::End,
        at: 0,
        end: 0,
        locals: Vec::new(),
        kinds: HashMap::new(),
        depth: 0,
        lua: Lua::default(),
    };
    reader.next()?;
    reader.block()?;
    match reader.token {
        Token::End => Ok(reader.lua),
        _ => Err(reader.unexpected(None)),
    }
}

#[derive(Clone, PartialEq)]
enum Token<'s> {
    End,
    Name(&'s str),
    /// A keyword or a sign.
    Sign(&'s str),
    Number,
    Text(String),
}

struct Reader<'s> {
    source: &'s str,
    /// The offset at which the next token begins, or the white space before it.
    rest: usize,
    token: Token<'s>,
    /// The offset at which the current token begins.
    at: usize,
    /// The offset at which the previous token ends: errors about missing tokens point here.
    end: usize,
    locals: Vec<&'s str>,
    /// The kinds of locals that keep their first value.
    kinds: HashMap<&'s str, Kind>,
    depth: usize,
    lua: Lua,
}

type Done<T = ()> = Result<T, LuaMistake>;

/// What is known of an expression's value.
#[derive(Default)]
struct Value<'s> {
    /// A name with its fields: `redis.call`.
    path: Vec<&'s str>,
    text: Option<String>,
    number: Option<usize>,
    is_call: bool,
    /// Whether it may give several values: a call, or `...`.
    is_open: bool,
    kind: Option<Kind>,
    /// The text that it begins with, if more is concatenated to that.
    begins: Option<String>,
    /// `KEYS` or `ARGV`, if the value is an item of that table.
    given: Option<&'s str>,
    /// The argument of the script that it ends with, and the text before that.
    argument: Option<(String, usize)>,
}

impl<'s> Reader<'s> {
    /// Reads statements up to the end of the block. Names declared inside go out of scope there.
    fn block(&mut self) -> Done {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Self::fail(
                self.at,
                both!("it is nested deeper than {DEEPEST} levels", "嵌套超过 {DEEPEST} 层"),
            );
        }
        let outside = self.locals.len();
        loop {
            match self.token {
                Token::End | Token::Sign("end" | "else" | "elseif" | "until") => break,
                Token::Sign("return") => {
                    self.next()?;
                    if !matches!(
                        self.token,
                        Token::End | Token::Sign("end" | "else" | "elseif" | "until" | ";")
                    ) {
                        self.values()?;
                    }
                    self.eat(";")?;
                    if !matches!(self.token, Token::End | Token::Sign("end" | "else" | "elseif" | "until")) {
                        if self.depth > 1 {
                            return Err(self.unexpected(Some("end")));
                        }
                        return Self::fail(
                            self.at,
                            both!(
                                "`return` is the last statement of its block",
                                "`return` 必须是所在代码块的最后一句"
                            ),
                        );
                    }
                }
                _ => {
                    self.statement()?;
                    self.eat(";")?;
                }
            }
        }
        // The condition of `until` sees the locals of its block.
        if !self.is("until") {
            self.locals.truncate(outside);
        }
        self.depth -= 1;
        Ok(())
    }

    fn statement(&mut self) -> Done {
        let Token::Sign(word) = self.token else { return self.assignment() };
        match word {
            "local" => {
                self.next()?;
                if self.eat("function")? {
                    let name = self.name()?;
                    self.locals.push(name);
                    return self.function(&[]);
                }
                let mut names = vec![self.name()?];
                while self.eat(",")? {
                    names.push(self.name()?);
                }
                self.forget(&names);
                if self.eat("=")? {
                    let values = self.values()?;
                    if let ([name], [value]) = (&names[..], &values[..]) {
                        self.note_kind(name, value);
                    }
                }
                self.locals.extend(names);
                Ok(())
            }
            "if" => {
                self.next()?;
                self.condition()?;
                self.expect("then")?;
                self.block()?;
                while self.eat("elseif")? {
                    self.condition()?;
                    self.expect("then")?;
                    self.block()?;
                }
                if self.eat("else")? {
                    self.block()?;
                }
                self.expect("end")
            }
            "while" => {
                self.next()?;
                self.value()?;
                self.loop_body()
            }
            "do" => self.loop_body(),
            "repeat" => {
                self.next()?;
                let outside = self.locals.len();
                self.block()?;
                self.expect("until")?;
                self.value()?;
                self.locals.truncate(outside);
                Ok(())
            }
            "for" => {
                self.next()?;
                let mut names = vec![self.name()?];
                while self.eat(",")? {
                    names.push(self.name()?);
                }
                let counted = names.len() == 1 && self.eat("=")?;
                if !counted {
                    self.expect("in")?;
                }
                self.values()?;
                let outside = self.locals.len();
                self.forget(&names);
                self.locals.extend(names);
                let done = self.loop_body();
                self.locals.truncate(outside);
                done
            }
            "function" => {
                let at = self.at;
                self.next()?;
                let mut name = self.name()?;
                let known = self.locals.contains(&name);
                let mut own = Vec::new();
                while self.is(".") || self.is(":") {
                    if self.is(":") {
                        own.push("self");
                    }
                    self.next()?;
                    name = self.name()?;
                }
                if !known {
                    return Self::fail(at, global(&format!("function {name}(…)")));
                }
                self.function(&own)
            }
            "break" => self.next(),
            "(" => self.assignment(),
            _ => Err(self.unexpected(None)),
        }
    }

    fn loop_body(&mut self) -> Done {
        self.expect("do")?;
        self.block()?;
        self.expect("end")
    }

    /// Reads the parameters and the body of a function.
    fn function(&mut self, own: &[&'s str]) -> Done {
        self.expect("(")?;
        let outside = self.locals.len();
        self.locals.extend(own);
        self.forget(own);
        while !self.is(")") {
            if self.eat("...")? {
                break;
            }
            let name = self.name()?;
            self.kinds.remove(name);
            self.locals.push(name);
            if !self.eat(",")? {
                break;
            }
        }
        self.expect(")")?;
        self.block()?;
        self.locals.truncate(outside);
        self.expect("end")
    }

    /// Reads a call, or an assignment `a, b.c = …`.
    fn assignment(&mut self) -> Done {
        let at = self.at;
        // The target of an assignment need not be known before.
        let mut targets = Vec::new();
        if let Token::Name(name) = self.token
            && !self.locals.contains(&name)
        {
            targets.push(name);
        }
        let first = self.suffixed(true)?;
        if self.is("=") || self.is(",") {
            while self.eat(",")? {
                self.suffixed(true)?;
            }
            if first.path.len() == 1 && targets.first() == first.path.first() {
                return Self::fail(at, global(&format!("{} = …", targets[0])));
            }
            self.expect("=")?;
            self.values()?;
            return Ok(());
        }
        if first.is_call {
            return Self::doubt(at, targets.first().copied().and_then(values::of_thrown_away));
        }
        Err(match &first.path[..] {
            [name] if !matches!(self.token, Token::End) => {
                let near = nearest(name, KEYWORDS, ALIKE).map(did_you_mean);
                let message = both!("`{name}` alone is no statement", "单独一个 `{name}` 不是语句");
                let message = match near {
                    Some(near) => Text::join(&[message, near], "; ", "；"),
                    None => message,
                };
                LuaMistake { at, message, runs: false }
            }
            _ => LuaMistake {
                at,
                runs: false,
                message: both!(
                    "this is no statement: a value that nothing is done with",
                    "这不是语句：只有一个值，什么也没做"
                ),
            },
        })
    }

    fn values(&mut self) -> Done<Vec<Value<'s>>> {
        let mut values = vec![self.value()?];
        while self.eat(",")? {
            values.push(self.value()?);
        }
        Ok(values)
    }

    /// Reads a value that is used as a condition.
    fn condition(&mut self) -> Done {
        let at = self.at;
        let value = self.value()?;
        Self::doubt(at, values::of_condition(&value))
    }

    fn value(&mut self) -> Done<Value<'s>> {
        self.operation(0)
    }

    fn operation(&mut self, least: u8) -> Done<Value<'s>> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Self::fail(
                self.at,
                both!("it is nested deeper than {DEEPEST} levels", "嵌套超过 {DEEPEST} 层"),
            );
        }
        let at = self.at;
        let mut value = if let Token::Sign(sign @ ("not" | "#" | "-")) = self.token {
            self.next()?;
            let value = self.operation(UNARY)?;
            if sign == "not" {
                Self::doubt(at, values::of_condition(&value))?;
            }
            Value { kind: (sign != "not").then_some(Kind::Number), ..Value::default() }
        } else {
            self.simple()?
        };
        while let Token::Sign(sign) = self.token
            && let Some((_, left, right)) = OPERATORS.iter().find(|(operators, ..)| operators.contains(&sign))
            && *left > least
        {
            self.next()?;
            let other = self.operation(*right)?;
            Self::doubt(at, values::of_operator(sign, &value, &other))?;
            value = match sign {
                "+" | "-" | "*" | "/" | "%" | "^" => Value { kind: Some(Kind::Number), ..Value::default() },
                ".." => {
                    let argument = value
                        .text
                        .clone()
                        .zip(other.argument)
                        .and_then(|(text, (before, n))| before.is_empty().then_some((text, n)));
                    let begins = value.text.or(value.begins);
                    Value { kind: Some(Kind::Text), begins, argument, ..Value::default() }
                }
                _ => Value::default(),
            };
        }
        self.depth -= 1;
        Ok(value)
    }

    fn simple(&mut self) -> Done<Value<'s>> {
        let mut value = Value::default();
        match &self.token {
            Token::Number => {
                value.number = self.source[self.at..self.rest].parse().ok();
                value.kind = Some(Kind::Number);
            }
            Token::Text(text) => {
                value.text = Some(text.clone());
                value.kind = Some(Kind::Text);
            }
            Token::Sign("nil") => value.kind = Some(Kind::Nil),
            Token::Sign("true") => value.kind = Some(Kind::True),
            Token::Sign("false") => value.kind = Some(Kind::False),
            Token::Sign("...") => value.is_open = true,
            Token::Sign("function") => {
                self.next()?;
                self.function(&[])?;
                return Ok(value);
            }
            Token::Sign("{") => {
                self.table()?;
                value.kind = Some(Kind::Table);
                return Ok(value);
            }
            Token::Name(_) | Token::Sign("(") => return self.suffixed(false),
            _ => return Err(self.unexpected(Some("value"))),
        }
        self.next()?;
        Ok(value)
    }

    fn table(&mut self) -> Done {
        self.expect("{")?;
        while !self.is("}") {
            if self.eat("[")? {
                self.value()?;
                self.expect("]")?;
                self.expect("=")?;
                self.value()?;
            } else {
                let (token, at, rest, end) = (self.token.clone(), self.at, self.rest, self.end);
                if matches!(token, Token::Name(_)) {
                    self.next()?;
                }
                if self.is("=") {
                    self.next()?;
                } else {
                    (self.token, self.at, self.rest, self.end) = (token, at, rest, end);
                }
                self.value()?;
            }
            if !(self.eat(",")? || self.eat(";")?) {
                break;
            }
        }
        self.expect("}")
    }

    /// Sets the kind of a value that is just a name.
    fn know(&self, value: &mut Value<'s>) {
        if let ([name], false) = (&value.path[..], value.is_call) {
            value.kind = match *name {
                "KEYS" | "ARGV" => Some(Kind::Table),
                name => self.kinds.get(name).copied(),
            };
        }
    }

    /// Reads a name or a value in brackets, with its fields, subscripts and calls.
    fn suffixed(&mut self, may_be_assigned: bool) -> Done<Value<'s>> {
        let at = self.at;
        let mut value = Value::default();
        if self.eat("(")? {
            self.value()?;
            self.expect(")")?;
        } else {
            let name = self.name()?;
            // `name = …` creates a global; that error is reported by `assignment`.
            if !(may_be_assigned && (self.is("=") || self.is(","))) {
                self.check_name(name, at)?;
            }
            value.path.push(name);
        }
        loop {
            let (called, mut given) = (self.at, Vec::new());
            match self.token {
                Token::Sign(".") => {
                    self.next()?;
                    let at = self.at;
                    let name = self.name()?;
                    if value.path == ["os"] && name != "clock" {
                        let message = both!("Redis' `os` has only `clock`", "Redis 里的 `os` 只有 `clock`");
                        let time =
                            both!("the time is `redis.call('TIME')`", "取时间请用 `redis.call('TIME')`");
                        return Self::fail(at, Text::join(&[message, time], "; ", "；"));
                    }
                    if value.path == ["redis"] {
                        Self::check_member(name, at)?;
                    }
                    if let [library] = value.path[..]
                        && !self.locals.contains(&library)
                    {
                        Self::doubt(at, values::of_field(library, name))?;
                    }
                    if !value.path.is_empty() {
                        value.path.push(name);
                    }
                    (value.is_call, value.kind) = (false, None);
                    continue;
                }
                Token::Sign("[") => {
                    self.next()?;
                    let at = self.at;
                    let index = self.value()?.number;
                    if let (["KEYS" | "ARGV"], Some(0)) = (&value.path[..], index) {
                        let message = both!("Lua counts from 1", "Lua 的下标从 1 开始");
                        let name = value.path[0];
                        let first = both!("the first is `{name}[1]`", "第一个是 `{name}[1]`");
                        return Self::fail(at, Text::join(&[message, first], ": ", "："));
                    }
                    let index = index.unwrap_or(0);
                    self.expect("]")?;
                    match value.path[..] {
                        ["KEYS"] => self.lua.keys = self.lua.keys.max(index),
                        ["ARGV"] => self.lua.args = self.lua.args.max(index),
                        _ => {}
                    }
                    let given = value.path.first().copied().filter(|name| ["KEYS", "ARGV"].contains(name));
                    let argument = (given == Some("ARGV") && index > 0).then(|| (String::new(), index));
                    value = Value { kind: given.map(|_| Kind::Text), given, argument, ..Value::default() };
                    continue;
                }
                Token::Sign(":") => {
                    self.next()?;
                    self.name()?;
                    if !matches!(self.token, Token::Sign("(" | "{") | Token::Text(_)) {
                        return Err(self.unexpected(Some("(")));
                    }
                    value.path.clear();
                    continue;
                }
                Token::Sign("(") => {
                    self.next()?;
                    if !self.is(")") {
                        given = self.values()?;
                    }
                    self.expect(")")?;
                }
                Token::Text(_) => given.push(self.simple()?),
                Token::Sign("{") => self.table()?,
                _ => {
                    self.know(&mut value);
                    return Ok(value);
                }
            }
            let mut kind = Kind::of_function(&value.path);
            if matches!(value.path[..], ["redis" | "server", "call" | "pcall"]) {
                Self::doubt(called, given.iter().find_map(values::of_argument))?;
                Self::doubt(called, given.first().and_then(values::of_first))?;
                Self::doubt(called, values::of_order(&given))?;
                let is_open = given.last().is_none_or(|last| last.is_open);
                let (words, arguments): (Vec<_>, Vec<_>) =
                    given.into_iter().map(|word| (word.text, word.argument)).unzip();
                kind = Kind::of_call(&words).filter(|_| !is_open && value.path[1] == "call");
                self.lua.calls.push(Call { at: called, words, arguments, is_open });
            }
            value = Value { is_call: true, is_open: true, kind, ..Value::default() };
        }
    }

    fn check_member(name: &str, at: usize) -> Done {
        if has_word(MEMBERS, name) {
            return Ok(());
        }
        let message = both!("`redis` has no `{name}`", "`redis` 没有 `{name}`");
        let near = nearest(name, MEMBERS.split_ascii_whitespace(), ALIKE).unwrap_or("call");
        let help = values::of_other_lua(name).unwrap_or_else(|| did_you_mean(&format!("redis.{near}")));
        Self::fail(at, Text::join(&[message, help], "; ", "；"))
    }

    fn check_name(&self, name: &str, at: usize) -> Done {
        if has_word(GLOBALS, name) || self.locals.contains(&name) {
            return Ok(());
        }
        let message = both!("unknown name `{name}`", "没有名为 `{name}` 的变量");
        if ["null", "NULL", "None", "undefined"].contains(&name) {
            let help = both!("Lua writes `nil`", "Lua 里写 `nil`");
            return Self::fail(at, Text::join(&[message, help], "; ", "；"));
        }
        if let Some(help) = values::of_other_lua(name) {
            return Self::fail(at, Text::join(&[message, help], "; ", "；"));
        }
        let known = GLOBALS.split_ascii_whitespace().chain(self.locals.iter().copied());
        let help = suggestion(nearest(name, known, ALIKE), undeclared);
        Self::fail(at, Text::join(&[message, help], "; ", "；"))
    }
}

fn undeclared() -> Text {
    both!(
        "declare it with `local`; what the call passes is `KEYS[1]`, `ARGV[1]` and so on",
        "请先用 `local` 声明；调用时传入的键和参数是 `KEYS[1]`、`ARGV[1]` 等"
    )
}

fn global(written: &str) -> Text {
    both!(
        "a script may not create global variables: write `local {written}`",
        "脚本不能创建全局变量：请写 `local {written}`"
    )
}
