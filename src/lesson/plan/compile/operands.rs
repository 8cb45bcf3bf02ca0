//! Checks for operands of calls of ZooKeeper and etcd whose known values are of the wrong kind.

use super::{
    super::{PlannedCall, lints::Answer, program::PlannedVerb, templates::only_expression},
    Draft,
};
use crate::{
    lesson::{
        Param,
        duration::parse_written,
        error::{Finding, Path, finding},
        expr::Template,
    },
    log::{ANY, Product},
    text::both,
};

/// The finding about the duration parameter `name`, which counts in milliseconds, where a command wants seconds; with its
/// value.
pub(crate) fn wants_seconds(
    (source, name): (&str, &str),
    given: Option<&Param>,
    known: Option<String>,
) -> Option<(i64, Finding)> {
    let Param::Word(written) = given? else { return None };
    let millis = known?.parse::<i64>().ok().filter(|millis| *millis >= 1000)?;
    let is_duration = parse_written(written).is_ok() && written.parse::<i64>().is_err();
    is_duration.then(|| {
        let finding = finding!(
            "seconds are wanted here, and `{source}` is {millis}: a duration counts in milliseconds",
            "这里要的是秒，而 `{source}` 是 {millis}：时长参数以毫秒计",
            "write `${{{name} // 1000}}`",
            "请写 `${{{name} // 1000}}`"
        );
        (millis, finding)
    })
}

impl Draft<'_> {
    /// Reports a duration parameter, which counts in milliseconds, where the command wants seconds.
    pub(super) fn lint_milliseconds(&mut self, seconds: &Template, path: &Path) {
        let source = seconds.to_string();
        let name = only_expression(&source).unwrap_or_default();
        let given = self.extra.get(name).or_else(|| self.compiler.params.get(name));
        // A client's `with` may give another value.
        let known = self.constants.settled(seconds);
        let Some((millis, mut finding)) = wants_seconds((&source, name), given, known) else { return };
        let is_number = matches!(self.compiler.params.get(name), Some(Param::Number(_)));
        if self.extra.contains_key(name) && is_number {
            let seconds = millis / 1000;
            finding.help = both!(
                "in the client's `with` write `{name}: {seconds}`",
                "客户端的 `with` 里请写 `{name}: {seconds}`"
            );
        }
        self.report(path.mistake(finding));
    }

    /// Reports an object where a path, a key or a revision belongs. Returns whether there is one.
    fn lint_object(&mut self, call: &PlannedCall, path: &Path) -> bool {
        let named = ["PATH", "KEY", "REVISION", "TEXT", "DATA", "VALUE"]
            .into_iter()
            .flat_map(|kind| call.operands(kind));
        let sources: Vec<String> = named.flat_map(Template::sources).collect();
        let row = sources.iter().find_map(|source| {
            let (name, index) = source.trim().strip_suffix(']')?.split_once('[')?;
            let columns = self.program.columns_of(name).filter(|_| !self.is_set(name))?;
            index.bytes().all(|byte| byte.is_ascii_digit()).then_some((source.trim(), columns))
        });
        if let Some((row, columns)) = row {
            let column = columns.first().map_or("id", String::as_str);
            self.report(path.mistake(finding!(
                "`{row}` is a whole row",
                "`{row}` 是一整行",
                "name a column: `${{{row}.{column}}}`",
                "请写列名：`${{{row}.{column}}}`"
            )));
            return true;
        }
        let object = sources.iter().find_map(|written| {
            let name = written.trim().to_owned();
            match self.reply_of(&name)? {
                Answer::Object(fields) => Some((name, fields)),
                _ => None,
            }
        });
        if let Some((name, fields)) = object {
            let (field, all) = (fields[0], fields.join(", "));
            self.report(path.mistake(finding!(
                "`{name}` is an object with {all}, and one of them belongs here",
                "`{name}` 是一个对象，字段有 {all}，这里要写其中一个",
                "such as `${{{name}.{field}}}`",
                "例如 `${{{name}.{field}}}`"
            )));
            return true;
        }
        false
    }

    /// Reports a version that is written as the data of a znode.
    fn lint_version(&mut self, call: &PlannedCall, path: &Path) {
        if let (Some(data), Some(version)) = (call.operands("DATA").next(), call.operands("VERSION").next())
            && data.to_string().ends_with(".version}")
            && !version.is_literal()
            && !version.to_string().contains("version")
        {
            self.report(path.mistake(finding!(
                "the version stands here as the data",
                "这里把版本号写在了数据的位置",
                "the data comes first: `set PATH {version} {data}`",
                "先写数据，再写版本：`set 路径 {version} {data}`"
            )));
        }
    }

    /// Reports operands whose known values are of the wrong kind: a path without its `/`, an object where a number
    /// belongs.
    pub(super) fn lint_operands(&mut self, call: &PlannedCall, path: &Path) {
        if self.lint_object(call, path) {
            return;
        }
        self.lint_version(call, path);
        let filled = call.operands("PATH").filter(|operand| !operand.is_literal());
        let mut known = filled.filter_map(|operand| self.constants.settled(operand));
        if let Some(text) = known.find(|text| !text.starts_with('/')) {
            self.report(path.mistake(finding!(
                "the path `{text}` must begin with `/`",
                "路径 `{text}` 必须以 `/` 开头",
                "give the parameter its `/`: `/{text}`",
                "请给参数写上 `/`：`/{text}`"
            )));
        }
        for operand in call.operands("PATH") {
            let written = operand.to_string();
            let label = written
                .match_indices("/${")
                .filter_map(|(at, _)| written[at + 3..].split_once('}').map(|(name, _)| name.trim()))
                .find(|name| matches!(self.reply_of(name), Some(Answer::Path | Answer::Numbered)));
            if let Some(label) = label {
                return self.report(path.mistake(finding!(
                    "what `{label}` answers is the whole path already",
                    "`{label}` 的回复已经是完整路径",
                    "write `${{{label}}}` without what stands before it",
                    "请只写 `${{{label}}}`，前面不要再加路径"
                )));
            }
            if let Some(name) =
                ["self", "client", "token"].iter().find(|name| written.starts_with(&format!("${{{name}}}")))
            {
                return self.report(path.mistake(finding!(
                    "a path begins with `/`, and `${{{name}}}` is a name",
                    "路径要以 `/` 开头，而 `${{{name}}}` 是名字",
                    "write the path first: `/locks/${{{name}}}`",
                    "请先写路径：`/locks/${{{name}}}`"
                )));
            }
        }
        for kind in ["SECONDS", "REVISION", "LEASE", "VERSION"] {
            for operand in call.operands(kind).filter(|operand| !operand.is_literal()) {
                let known = self.constants.settled(operand);
                let is_name = ["${self}", "${client}", "${token}"].contains(&operand.to_string().as_str());
                let named = is_name.then(|| "A".to_owned());
                let known = known.or(named).or_else(|| {
                    // A template with letters outside its `${…}` cannot render to a number.
                    let written = operand.pattern();
                    written.contains(char::is_alphabetic).then(|| written.replace(ANY, "…"))
                });
                if let Some(text) = known.filter(|text| text.parse::<i64>().is_err()) {
                    let written = operand.to_string();
                    return self.report(path.mistake(finding!(
                        "{kind} is a whole number, and `{written}` is `{text}`",
                        "{kind} 是整数，而 `{written}` 是 `{text}`",
                        "give it a whole number, such as 5",
                        "请给一个整数，例如 5"
                    )));
                }
            }
            for operand in call.operands(kind) {
                let source = operand.to_string();
                let name = only_expression(&source).unwrap_or_default();
                let answer = self.reply_of(name);
                if let Some(Answer::Object(fields)) = answer {
                    let field = fields.iter().find(|field| field.to_ascii_uppercase().contains(kind));
                    let help = field.map_or_else(
                        || both!("write what `grant` answered", "请写 `grant` 的回复"),
                        |field| both!("write `${{{name}.{field}}}`", "请写 `${{{name}.{field}}}`"),
                    );
                    let message = both!(
                        "{kind} is a number, and `{name}` answers an object",
                        "{kind} 是数字，而 `{name}` 的回复是一个对象"
                    );
                    return self.report(path.mistake(Finding { message, help }));
                }
            }
        }
    }

    /// Reports a lease shorter than what etcd grants: 2 s on one server, 5 s on three, because an election takes as
    /// long.
    pub(super) fn lint_grant(&mut self, call: &PlannedCall, path: &Path) {
        let mut parts = self.compiler.lab.parts().iter();
        let is_cluster = parts.any(|part| part.product() == Product::Etcd && part.is_ensemble());
        let seconds = call.operands("SECONDS").next().and_then(|seconds| self.constants.settled(seconds));
        let seconds = seconds.and_then(|seconds| seconds.parse::<i64>().ok());
        if let (false, Some(seconds @ ..2)) = (is_cluster, seconds) {
            return self.report(path.mistake(finding!(
                "a lease of {seconds} s is too short: etcd grants 2 s or more",
                "{seconds} 秒的租约太短：etcd 至少给 2 秒",
                "write `grant 5`",
                "请写 `grant 5`"
            )));
        }
        if let (true, Some(seconds @ 0..5)) = (is_cluster, seconds) {
            self.report(path.mistake(finding!(
                "a lease of {seconds} s is too short: three etcd servers grant 5 s or more",
                "{seconds} 秒的租约太短：三台 etcd 至少给 5 秒",
                "write `grant 5`",
                "请写 `grant 5`"
            )));
        }
    }

    /// Reports the use of a znode's sequence number if the program creates no sequential znode.
    pub(super) fn check_numbered(&mut self) {
        let Some(path) = self.asks_suffix.take() else { return };
        let calls = self.program.operations().filter_map(|operation| match &operation.verb {
            PlannedVerb::Call(call) if call.name() == "create" => Some(call),
            _ => None,
        });
        let created: Vec<_> = calls.filter(|call| call.product() == Product::Zookeeper).collect();
        if !created.is_empty() && !created.iter().any(|call| call.has_flag("-s")) {
            self.report(path.mistake(finding!(
                "this asks for the number of a znode, and the program creates none that has one",
                "这里要用 znode 的序号，而程序创建的节点都没有序号",
                "ZooKeeper numbers a sequential one: `create -e -s /locks/n-`",
                "顺序节点才有序号：`create -e -s /locks/n-`"
            )));
        }
    }
}
