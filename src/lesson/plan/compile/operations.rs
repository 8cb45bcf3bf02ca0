//! Compiles operations: their server, the errors that they allow, and how often they are tried.

use std::sync::Arc;

use super::{
    super::{
        names::{self, Named},
        program::{Instruction, PlannedOperation, PlannedVerb},
        setup::server_of,
        story::of_other_lab,
    },
    Draft,
    codes::check_codes,
    replies::Own,
};
use crate::{
    lesson::{
        PRIMARY,
        duration::parse_written,
        error::{Mistake, Path, finding},
        step::{KEYWORDS, Operation, Verb},
    },
    log::{Flock, Product},
    text::both,
};

impl Draft<'_> {
    /// Refuses a second operation with the same label, because stories and claims could not tell them apart. `work` and
    /// `wait` are not labels that an author chose.
    pub(super) fn check_label_is_new(&mut self, label: &str, path: &Path) -> Result<(), Mistake> {
        if matches!(label, "work" | "wait") || self.labelled.insert(label.to_owned()) {
            return Ok(());
        }
        Err(path.key(label).mistake(finding!(
            "two operations of this program are called `{label}`",
            "这个程序里有两个操作都叫 `{label}`",
            "give each a label of its own; only one of `then` and `else` happens, so they may share it",
            "请给每个操作各自的名字；`then` 和 `else` 只会执行一个，可以同名"
        )))
    }

    pub(super) fn operation(
        &mut self,
        label: &str,
        operation: &Operation,
        path: &Path,
    ) -> Result<(), Mistake> {
        if KEYWORDS.contains(&label) {
            return Err(Mistake::new(
                path,
                both!(
                    "`{label}` is a word of the grammar and cannot be a label",
                    "`{label}` 是语法用词，不能作操作名"
                ),
            ));
        }
        names::check(label, Named::Operation, &path.key(label))?;
        let replaced = format!("{}.{label}", self.name);
        let (operation, path) = match self.compiler.replace.get(&replaced) {
            Some(other) => (other, self.compiler.replace_path.key(&replaced)),
            None => (operation, path.key(label)),
        };
        // An operation's own reply may be used by its `until`.
        let is_new = self.known.insert(label.to_owned());
        self.constants.changes(label);
        let verb = self.verb(&operation.verb, &path)?;
        self.lint_own_reply(label, is_new, &verb, &path);
        let named = operation.on.as_ref().filter(|_| !self.compiler.unused);
        let named = named.map(|on| self.server(on, &path.key("on"))).transpose()?;
        let allow = self.allowed(&operation.allow, &path.key("allow"))?;
        let product = match &operation.verb {
            Verb::Redis(_) | Verb::Script { .. } => Some(Product::Redis),
            Verb::Call(product, _) => Some(*product),
            Verb::Local(_) | Verb::Flock(_) | Verb::Wait(_) | Verb::Take(_) => None,
        };
        let on = match product {
            Some(product) => server_of(product, named.as_deref(), self.compiler.lab, &path)?,
            None => named,
        };
        // A program that allows `ERR` may want to show a malformed command.
        if let PlannedVerb::Redis(words) = &verb
            && !allow.iter().any(|code| code == "ERR")
        {
            self.constants.check_form(words, &path.key("redis"))?;
        }
        check_codes(&operation.allow, &verb, &path.key("allow"))?;
        let until = operation.until.as_ref().map(|s| self.expr(s, &path.key("until"))).transpose()?;
        if let Some(source) = &operation.until {
            let own = Own { label, verb: &verb, allow: &allow };
            self.lint_comparison(source, Some(own), &path.key("until"));
            self.lint_until(label, until.as_ref(), &path.key("until"));
            self.lint_inverted(own, source, &path.key("until"));
            let fails = matches!(&verb, PlannedVerb::Flock { call: Flock::Try, .. });
            if fails && !allow.iter().any(|code| code == "EWOULDBLOCK") {
                self.report(path.key("flock").mistake(finding!("`flock -n` fails where somebody has locked the file, and the run ends before `until` is asked", "文件被锁时 `flock -n` 会失败，还没判断 `until` 运行就结束了", "let it `allow: [EWOULDBLOCK]`", "请写上 `allow: [EWOULDBLOCK]`")));
            }
        }
        let every = operation.every.as_ref().map(|s| self.duration(s, &path.key("every"))).transpose()?;
        if operation.every.as_ref().is_some_and(|every| parse_written(every) == Ok(0)) {
            let message = both!("asking again after no time never ends", "间隔为零，会永远重试下去");
            let help = both!(
                "write how long it waits before it asks again: every: 100ms",
                "请写每次重试前等多久：every: 100ms"
            );
            return Err(Mistake::new(&path.key("every"), message).help(help));
        }
        self.lint_slots(&verb, &allow, &path);
        self.lint_list(&verb, &path);
        let queued = self.queues(&verb, &path);
        self.none_here.remove(label);
        self.program.labels.insert(label.to_owned());
        let operation = PlannedOperation {
            label: label.to_owned(),
            verb,
            on,
            until,
            every,
            allow,
            releases: Vec::new(),
            queued,
            path: (!self.in_recipe).then_some(path),
        };
        self.push(Instruction::Operate(Arc::new(operation)));
        Ok(())
    }

    /// The server of an operation: a server of the lab, or `primary` with Sentinels.
    fn server(&mut self, on: &str, path: &Path) -> Result<String, Mistake> {
        let lab = self.compiler.lab;
        let on = self.settled_text(on, path)?;
        if let (true, [first, second, third, ..]) =
            (lab.part_of(&on).is_ensemble(), lab.part_of(&on).servers())
        {
            return Err(path.mistake(finding!("an operation on an ensemble goes to the server that its client is connected to, not to `{on}`", "集群上的操作发给客户端所连的服务器，不能指定 `{on}`", "leave `on` out: the first client is connected to {first}, the second to {second}, the third to {third}, and \
                 so on", "去掉 `on`：第一个客户端连 {first}，第二个连 {second}，第三个连 {third}，依次类推")));
        }
        match lab.server_named(&on) {
            Some(server) if lab.servers().contains(&server) => return Ok(server.to_owned()),
            None if on == PRIMARY && lab.has_sentinels() => return Ok(on),
            _ => {}
        }
        let primary = Some(PRIMARY).filter(|_| !lab.sentinels().is_empty());
        let known = lab.servers().iter().copied().chain(primary);
        Err(of_other_lab(&on, Mistake::unknown(path, both!("server", "服务器"), &on, known)))
    }

    /// The error codes that an operation allows. A parameter may contain several codes, or none.
    fn allowed(&mut self, codes: &[String], path: &Path) -> Result<Vec<String>, Mistake> {
        let mut allowed = Vec::new();
        for code in codes.iter().filter(|code| !(self.compiler.unused && code.contains("${"))) {
            let text = self.settled_text(code, path)?;
            allowed.extend(text.split([' ', ',']).filter(|code| !code.is_empty()).map(str::to_owned));
        }
        Ok(allowed)
    }

    /// The text of a template that may only use parameters that the program never changes.
    fn settled_text(&mut self, source: &str, path: &Path) -> Result<String, Mistake> {
        let template = self.template(source, path)?;
        self.constants.known(&template, path).ok_or_else(|| {
            let message =
                both!("what `{source}` is, is known only when it is sent", "`{source}` 的值要到发送时才知道");
            Mistake::new(path, message).help(both!(
                "write it out, or use a parameter that nothing in the program gives another value",
                "请直接写出来，或者用一个程序里不会改变的参数"
            ))
        })
    }
}
