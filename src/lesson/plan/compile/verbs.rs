//! Compiles the verb of an operation: its command, in which the values to fill in become templates.

use super::{
    super::{
        super::{
            duration::{parse_millis, parse_signed_millis, parse_written},
            error::{Finding, Mistake, Path, finding},
            expr::{Template, split_words},
            model::Param,
            step::{Take, Verb},
        },
        call::PlannedCall,
        commands,
        program::{PlannedVerb, TakePlan},
        scripts, setup,
        templates::only_expression,
    },
    Draft,
};
use crate::{
    log::{ANY, Flock, Product, product::files},
    text::both,
};

impl Draft<'_> {
    pub(super) fn verb(&mut self, verb: &Verb, path: &Path) -> Result<PlannedVerb, Mistake> {
        match verb {
            Verb::Redis(command) => {
                // In a lab without Redis, what the command says is not the point.
                let path = path.key("redis");
                setup::server_of(Product::Redis, None, self.compiler.lab, &path)?;
                self.redis(command, &path)
            }
            Verb::Script { name, keys, args } => self.script(name, keys, args, path),
            Verb::Call(product, call) => {
                let path = path.key(product.traits().key);
                let call = PlannedCall::parse(*product, call, |word| self.template(word, &path), &path)?;
                if call.watches() {
                    self.listens_to.push(None);
                    self.watches.extend(call.operands("PATH").cloned());
                }
                if *product == Product::Mariadb {
                    self.lint_quotes(&call, &path);
                    self.lint_get_lock(&call, &path);
                }
                self.lint_grant(&call, &path);
                self.lint_operands(&call, &path);
                for seconds in call.operands("SECONDS") {
                    self.lint_milliseconds(seconds, &path);
                }
                Ok(PlannedVerb::Call(call))
            }
            Verb::Local(text) => {
                let path = path.key("local");
                let (lock, name) = match text.split_whitespace().collect::<Vec<_>>()[..] {
                    ["lock", name] => (true, name),
                    ["unlock", name] => (false, name),
                    _ => {
                        return Err(Mistake::new(&path, both!("`{text}` is not known", "不认识 `{text}`"))
                            .help(both!(
                                "write `lock NAME` or `unlock NAME`",
                                "请写 `lock 名字` 或 `unlock 名字`"
                            )));
                    }
                };
                Ok(PlannedVerb::Local { lock, name: self.template(name, &path)? })
            }
            Verb::Flock(text) => self.flock(text, &path.key("flock")),
            Verb::Wait(duration) => {
                if parse_written(duration) == Ok(0) {
                    let message = both!("no time passes in it", "这里没有时间流逝");
                    return Err(Mistake::new(path, message).help(both!(
                        "write how long, such as 3s, or leave it out",
                        "请写要多久，例如 3s，或者去掉它"
                    )));
                }
                Ok(PlannedVerb::Wait(self.duration(duration, path)?))
            }
            Verb::Take(Take { from, within }) => {
                let path = path.key("take");
                self.program.listens |= from.iter().any(|about| about == "session");
                let is_path = |name: &&String| {
                    name.starts_with('/')
                        || name.starts_with("${")
                        || ["any", "session"].contains(&name.as_str())
                };
                let of_paths = self.compiler.lab.product() == Product::Zookeeper;
                if let Some(name) = from.iter().find(|name| of_paths && !is_path(name)) {
                    let message =
                        both!("the path `{name}` must begin with `/`", "路径 `{name}` 必须以 `/` 开头");
                    return Err(Mistake::new(&path, message).help(both!(
                        "or write `any`, for every notification, or `session`",
                        "或者写 `any`，表示任何通知，或者写 `session`"
                    )));
                }
                let from = self.templates(from, &path)?;
                self.takes.push((from.clone(), path.clone()));
                let within = within.as_ref().map(|within| {
                    let path = path.key("within");
                    // A negative duration means for ever.
                    if parse_signed_millis(within).is_ok_and(|millis| millis < 0) {
                        return self.template(within, &path);
                    }
                    self.duration(within, &path)
                });
                let within = within.transpose()?;
                Ok(PlannedVerb::Take(TakePlan { from, within }))
            }
        }
    }

    fn script(
        &mut self,
        name: &str,
        keys: &[String],
        args: &[String],
        path: &Path,
    ) -> Result<PlannedVerb, Mistake> {
        let compiler = self.compiler;
        let source =
            compiler.scripts.get(name).or_else(|| compiler.recipes.scripts.get(name)).ok_or_else(|| {
                let known = compiler.scripts.keys().chain(compiler.recipes.scripts.keys());
                Mistake::unknown(
                    &path.key("script"),
                    both!("script", "脚本"),
                    name,
                    known.map(String::as_str),
                )
            })?;
        let lua = scripts::check(source, &path.key("script"))?;
        scripts::check_given((name, source), &lua, (keys.len(), args.len()), path)?;
        if !self.in_recipe {
            if let Some(finding) = scripts::unread((name, source), &lua, (keys.len(), args.len())) {
                self.report(path.mistake(finding));
            }
            if compiler.scripts.contains_key(name)
                && let Some(lint) = scripts::mistypes(source, &Path::root().key("scripts").key(name))
            {
                self.report(lint);
            }
        }
        if let Some((n, key)) = keys.iter().enumerate().find(|(_, key)| key.contains(", ")) {
            let message = both!("`{key}` is one key here", "`{key}` 在这里是一个键");
            let several = both!("several are a list: `keys: [a, b]`", "多个键要写成列表：`keys: [a, b]`");
            self.report(path.key("keys").index(n).mistake(Finding { message, help: several }));
        }
        for (n, arg) in args.iter().enumerate() {
            self.lint_plain(arg, &path.key("args").index(n));
            if Self::is_no_number(arg)
                && let Some(command) = scripts::reads_number(source, n + 1)
            {
                self.report(path.key("args").index(n).mistake(Finding { message: both!(
                        "the script `{name}` hands this to `{command}` as a number, and `{arg}` is none",
                        "脚本 `{name}` 把它当作数字交给 `{command}`，而 `{arg}` 不是数字"
                    ), help: match parse_millis(arg) {
                        Ok(millis) => both!(
                            "an argument is sent as it stands: write `{millis}`, or `\"${{lease}}\"` of a parameter",
                            "参数会原样发送：请写 `{millis}`，或者用课程参数 `\"${{lease}}\"`"
                        ),
                        Err(_) => both!(
                            "give the arguments in the order in which the script reads them: the first is `ARGV[1]`",
                            "请按脚本读取的顺序写参数：第一个是 `ARGV[1]`"
                        ),
                    } }));
            }
            if let Some(command) = scripts::reads_number(source, n + 1) {
                self.lint_fraction(&command, arg, &path.key("args").index(n));
            }
            self.lint_argument((name, source), n, args, path);
            if scripts::reads_seconds(source, n + 1) {
                let seconds = self.template(arg, &path.key("args").index(n))?;
                self.lint_milliseconds(&seconds, &path.key("args").index(n));
            }
        }
        if let Some(lint) = scripts::asks_for_nil(source, &Path::root().key("scripts").key(name))
            && compiler.scripts.contains_key(name)
        {
            self.report(lint);
        }
        Ok(PlannedVerb::Script {
            name: name.to_owned(),
            source: source.as_str().into(),
            keys: self.templates(keys, &path.key("keys"))?,
            args: self.templates(args, &path.key("args"))?,
        })
    }

    /// Whether an argument is sent as a text that is no number, as far as it is known.
    fn is_no_number(arg: &str) -> bool {
        let Ok(template) = Template::parse(arg) else { return false };
        // A template with letters outside its `${…}` never renders to a number.
        let is_text = template.pattern().chars().any(|c| c.is_alphabetic() || c == ':');
        let is_name = ["${self}", "${client}", "${token}"].contains(&arg);
        is_name || if template.is_literal() { arg.parse::<f64>().is_err() } else { is_text }
    }

    /// Reports an argument that a division makes a fraction, where a command takes a whole number.
    fn lint_fraction(&mut self, command: &str, arg: &str, path: &Path) {
        let Ok(template) = Template::parse(arg) else { return };
        let known = self.constants.settled(&template).filter(|_| !template.is_literal());
        let Some(text) = known.filter(|text| text.parse::<i64>().is_err() && text.parse::<f64>().is_ok())
        else {
            return;
        };
        let whole = arg.replace(" / ", " // ");
        if whole != arg && !self.in_recipe {
            self.report(path.mistake(finding!(
                "`{command}` takes a whole number, and `{arg}` is {text}",
                "`{command}` 要的是整数，而 `{arg}` 是 {text}",
                "divide with `//`: `{whole}`",
                "整除请用 `//`：`{whole}`"
            )));
        }
    }

    /// Reports an argument of a script that is a count where the script wants a duration, or a duration where it compares
    /// the value of a key.
    fn lint_argument(&mut self, (name, source): (&str, &str), n: usize, args: &[String], path: &Path) {
        if self.in_recipe {
            return;
        }
        let parameter = |arg: &str| {
            let name = only_expression(arg).unwrap_or_default();
            self.extra.get(name).or_else(|| self.compiler.params.get(name))
        };
        let is_duration = |arg: &str| match parameter(arg) {
            Some(Param::Word(word)) => parse_millis(word).is_ok(),
            _ => false,
        };
        let (arg, at) = (&args[n], path.key("args").index(n));
        if let Some(Param::Number(few @ 1..=30)) = parameter(arg)
            && scripts::reads_millis(source, n + 1)
        {
            let other = args.iter().find(|other| is_duration(other));
            let help = other.map_or_else(
                || both!("give the parameter a unit, such as 3s", "请给参数带上单位，例如 3s"),
                |other| {
                    let right = n + 1;
                    both!(
                        "the script reads `ARGV[{right}]` as the duration: write `{other}` here",
                        "脚本把 `ARGV[{right}]` 当作时长：这里请写 `{other}`"
                    )
                },
            );
            let message = both!(
                "the script `{name}` makes this a time to live, of {few} ms",
                "脚本 `{name}` 把它当作过期时间，只有 {few} 毫秒"
            );
            return self.report(at.mistake(Finding { message, help }));
        }
        if is_duration(arg) && scripts::compares_value(source, n + 1) {
            self.report(at.mistake(finding!(
                "the script `{name}` compares this with the value of a key, and `{arg}` is a duration",
                "脚本 `{name}` 把它和键的值比较，而 `{arg}` 是时长",
                "write what the key was set to, such as `${{token}}`",
                "请写加锁时写入的值，例如 `${{token}}`"
            )));
        }
    }

    fn redis(&mut self, command: &str, path: &Path) -> Result<PlannedVerb, Mistake> {
        let words = split_words(command).map_err(|error| Mistake::new(path, error))?;
        if words.is_empty() {
            return Err(Mistake::new(path, both!("an empty Redis command", "空的 Redis 命令")));
        }
        let mut words = self.templates(&words, path)?;
        // If the parameters have no values, at most the command's name is known.
        let known = if self.compiler.unused && !words.iter().all(Template::is_literal) {
            usize::from(words[0].is_literal())
        } else {
            words.len()
        };
        self.constants.command(&mut words[..known], path)?;
        let name = words[0].render(&minijinja::Value::UNDEFINED).unwrap_or_default();
        let name = name.to_ascii_uppercase();
        self.program.listens |= name.ends_with("SUBSCRIBE");
        match name.as_str() {
            "SUBSCRIBE" | "SSUBSCRIBE" => {
                let channel = |word: &Template| word.is_literal().then(|| word.to_string());
                self.listens_to.extend(words[1..].iter().map(channel));
            }
            "PSUBSCRIBE" => {
                // `[abc]` and `\` are rare, and taken for any channel.
                let channels = |word: &Template| {
                    let pattern = word.to_string();
                    (word.is_literal() && !pattern.contains(['[', '\\']))
                        .then(|| pattern.replace(['*', '?'], &ANY.to_string()))
                };
                self.listens_to.extend(words[1..].iter().map(channels));
            }
            "CLIENT" => self.listens_to.push(None),
            _ => {}
        }
        if name == "SET" && words.len() > 3 {
            self.lint_value(&words, path);
        }
        // Reports a time to live of a few milliseconds, which is hardly meant.
        for pair in words.windows(2) {
            let [option, value] = pair else { continue };
            let name = value.to_string();
            let name = only_expression(&name).unwrap_or_default();
            // A value with a unit, such as `30ms`, is deliberate.
            let written = match self.compiler.params.get(name) {
                Some(Param::Number(number)) => number.to_string(),
                _ => value.pattern(),
            };
            if option.pattern().eq_ignore_ascii_case("PX")
                && !self.in_recipe
                && let Ok(few @ 1..=30) = written.parse::<i64>()
            {
                self.report(path.mistake(finding!(
                    "`PX {few}` is a time to live of {few} ms",
                    "`PX {few}` 的过期时间只有 {few} 毫秒",
                    "write `PX {few}000` or `EX {few}`; a parameter has a unit: `lease: {few}s`",
                    "请写 `PX {few}000` 或 `EX {few}`；参数要带单位：`lease: {few}s`"
                )));
            }
        }
        for at in commands::seconds(&words) {
            self.lint_milliseconds(&words[at], path);
        }
        if name == "WAIT" && words.len() > 1 {
            self.lint_wait(&words[1], path);
        }
        Ok(PlannedVerb::Redis(words))
    }

    /// Parses `FILE`, `-n FILE` or `-u FILE`.
    fn flock(&mut self, text: &str, path: &Path) -> Result<PlannedVerb, Mistake> {
        let (call, file) = match text.split_whitespace().collect::<Vec<_>>()[..] {
            ["-n", file] => (Flock::Try, file),
            ["-u", file] => (Flock::Unlock, file),
            [file] => (Flock::Lock, file),
            _ => {
                return Err(Mistake::new(path, both!("`{text}` is not known", "不认识 `{text}`"))
                            .help(both!(
                                "write `FILE`, to lock it and wait, `-n FILE`, to fail where it is locked, or `-u FILE`, to \
                                 unlock it",
                                "请写 `文件`（加锁，要等就等）、`-n 文件`（已被锁就失败）或 `-u 文件`（解锁）"
                            )));
            }
        };
        let file = self.template(file, path)?;
        if let Some(name) = self.constants.settled(&file) {
            files::check(&name).map_err(|why| Mistake::new(path, why))?;
        }
        self.program.locks_files = true;
        Ok(PlannedVerb::Flock { call, path: file })
    }
}
