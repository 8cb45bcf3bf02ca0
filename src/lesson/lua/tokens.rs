//! The tokenizer for Lua scripts.

use super::{Done, KEYWORDS, LuaMistake, Reader, Token};
use crate::text::{Text, both};

impl<'s> Reader<'s> {
    pub(super) fn fail<T>(at: usize, message: Text) -> Done<T> {
        Err(LuaMistake { at, message, runs: false })
    }

    pub(super) fn next(&mut self) -> Done {
        self.end = self.rest;
        let bytes = self.source.as_bytes();
        loop {
            while bytes.get(self.rest).is_some_and(u8::is_ascii_whitespace) {
                self.rest += 1;
            }
            if !self.source[self.rest..].starts_with("--") {
                break;
            }
            let after = self.rest + 2;
            self.rest = match self.long(after)? {
                Some((_, end)) => end,
                None => self.source[after..].find('\n').map_or(self.source.len(), |feed| after + feed),
            };
        }
        let at = self.rest;
        self.at = at;
        let Some(first) = bytes.get(at) else {
            self.token = Token::End;
            return Ok(());
        };
        let run = |is: fn(&u8) -> bool| at + bytes[at..].iter().take_while(|byte| is(byte)).count();
        let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
        if first.is_ascii_alphabetic() || *first == b'_' {
            self.rest = run(is_word);
            let word = &self.source[at..self.rest];
            self.token = if KEYWORDS.contains(&word) { Token::Sign(word) } else { Token::Name(word) };
        } else if first.is_ascii_digit()
            || (*first == b'.' && bytes.get(at + 1).is_some_and(u8::is_ascii_digit))
        {
            let mut end = at;
            while let Some(byte) = bytes.get(end) {
                let signed = matches!(byte, b'+' | b'-') && matches!(bytes[end - 1], b'e' | b'E');
                if !(is_word(byte) || *byte == b'.' || signed) {
                    break;
                }
                end += 1;
            }
            let number = self.source[at..end].to_ascii_lowercase();
            let hex = number.strip_prefix("0x").map(|hex| u64::from_str_radix(hex, 16).is_ok());
            if !hex.unwrap_or_else(|| number.parse::<f64>().is_ok()) {
                return Self::fail(at, both!("`{number}` is no number", "`{number}` 不是数字"));
            }
            (self.rest, self.token) = (end, Token::Number);
        } else if matches!(first, b'"' | b'\'') {
            let mut end = at + 1;
            while bytes.get(end).is_some_and(|byte| byte != first) {
                if bytes[end] == b'\n' {
                    break;
                }
                end += if bytes[end] == b'\\' { 2 } else { 1 };
            }
            if bytes.get(end) != Some(first) {
                return Self::fail(at, both!("a quote is not closed", "有一个引号没有关上"));
            }
            self.token = Token::Text(self.source[at + 1..end].to_owned());
            self.rest = end + 1;
        } else if let Some((text, end)) = self.long(at)? {
            (self.rest, self.token) = (end, Token::Text(text));
        } else {
            const SIGNS: &str = "... .. == ~= <= >= + - * / % ^ # < > = ( ) { } [ ] ; : , .";
            // Operators of other languages.
            const OTHERS: [(&str, &str); 7] = [
                ("!=", "~="),
                ("&&", "and"),
                ("||", "or"),
                ("!", "not"),
                ("//", "--"),
                ("+=", "n = n + 1"),
                ("-=", "n = n - 1"),
            ];
            if let Some((other, own)) = OTHERS.iter().find(|(other, _)| self.source[at..].starts_with(other))
            {
                return Self::fail(
                    at,
                    both!(
                        "unexpected `{other}`: Lua writes `{own}`",
                        "这里不该有 `{other}`：Lua 里写 `{own}`"
                    ),
                );
            }
            let Some(sign) = SIGNS.split(' ').find(|sign| self.source[at..].starts_with(*sign)) else {
                let found = self.source[at..].chars().next().unwrap_or_default();
                return Self::fail(at, both!("unexpected `{found}`", "这里不该有 `{found}`"));
            };
            (self.rest, self.token) = (at + sign.len(), Token::Sign(sign));
        }
        Ok(())
    }

    /// The text of a long bracket, `[[` to `]]`, and the offset of its end.
    pub(super) fn long(&self, at: usize) -> Done<Option<(String, usize)>> {
        let rest = &self.source[at..];
        let Some(inner) = rest.strip_prefix('[') else { return Ok(None) };
        let level = inner.len() - inner.trim_start_matches('=').len();
        let Some(inner) = inner[level..].strip_prefix('[') else { return Ok(None) };
        match inner.split_once(&format!("]{}]", "=".repeat(level))) {
            Some((text, _)) => Ok(Some((text.to_owned(), at + text.len() + 2 * (level + 2)))),
            None => Self::fail(at, both!("`[[` is not closed by `]]`", "`[[` 没有用 `]]` 关上")),
        }
    }

    pub(super) fn is(&self, sign: &str) -> bool {
        self.token == Token::Sign(sign)
    }

    pub(super) fn eat(&mut self, sign: &str) -> Done<bool> {
        let is = matches!(self.token, Token::Sign(token) if token == sign);
        if is {
            self.next()?;
        }
        Ok(is)
    }

    pub(super) fn unexpected(&self, wanted: Option<&str>) -> LuaMistake {
        let found = match &self.token {
            Token::End => both!("the end of the script", "脚本结尾"),
            Token::Name(word) | Token::Sign(word) => both!("`{word}`", "`{word}`"),
            Token::Number => both!("a number", "数字"),
            Token::Text(_) => both!("a text", "字符串"),
        };
        let message = match wanted {
            Some("value") => both!("a value is missing before {found}", "{found}之前缺少一个值", found),
            Some("name") => both!("a name is missing before {found}", "{found}之前缺少一个名字", found),
            Some(wanted @ ("then" | "do")) if self.is("=") => both!(
                "`{wanted}` is missing before `=`: to compare, write `==`",
                "`=` 之前缺少 `{wanted}`：比较要写 `==`"
            ),
            Some(wanted) => {
                both!("`{wanted}` is missing before {found}", "{found}之前缺少 `{wanted}`", found)
            }
            None => both!("unexpected {found}", "意外的{found}", found),
        };
        let at = if self.token == Token::End { self.end } else { self.at };
        LuaMistake { at, message, runs: false }
    }

    pub(super) fn expect(&mut self, sign: &str) -> Done {
        if self.eat(sign)? { Ok(()) } else { Err(self.unexpected(Some(sign))) }
    }

    pub(super) fn name(&mut self) -> Done<&'s str> {
        let Token::Name(name) = self.token else { return Err(self.unexpected(Some("name"))) };
        self.next()?;
        Ok(name)
    }
}
