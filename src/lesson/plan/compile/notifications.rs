//! Checks for programs that wait for notifications that never come.

use super::Draft;
use crate::{
    lesson::{
        error::{ALIKE, Finding, Path, finding, nearest, suggestion},
        expr::Template,
    },
    log::{ANY, Product, stands_for},
    text::both,
};

impl Draft<'_> {
    /// Reports a `take` for a subject that the program has no subscription to or watch on: it would wait for ever.
    pub(super) fn check_takes(&mut self) {
        let lab = self.compiler.lab;
        let [redis, zookeeper] = [Product::Redis, Product::Zookeeper].map(|product| lab.has(product));
        let takes = std::mem::take(&mut self.takes);
        for (from, path) in &takes {
            // Besides `session`, the list may name anything else.
            if zookeeper && from.iter().any(|about| about.pattern() == "session") {
                continue;
            }
            if !redis && !zookeeper {
                return self.report(path.mistake(finding!(
                    "no server of this lab tells anybody anything",
                    "这个 lab 里没有会发通知的服务器",
                    "ZooKeeper tells of watches, and Redis of what is published; `wait: 1s` lets time pass",
                    "ZooKeeper 会通知 watch，Redis 会推送发布的消息；只想等待请写 `wait: 1s`"
                )));
            }
            if zookeeper && !redis {
                self.lint_other_watch(from, path);
                self.lint_other_name(from, path);
            }
            if zookeeper
                && !redis
                && self.listens_to.is_empty()
                && let Some(about) = from.iter().find(|about| !about.is_literal())
            {
                return self.lint_no_watch(&about.to_string(), path);
            }
            for about in from.iter().filter(|about| about.is_literal()).map(ToString::to_string) {
                let hears = self.listens_to.iter().any(|channel| {
                    about == "any" || channel.as_ref().is_none_or(|channel| stands_for(channel, &about))
                });
                if hears {
                    continue;
                }
                if about == "session" {
                    return self.report(path.mistake(finding!(
                        "only ZooKeeper's clients have sessions to be told of",
                        "只有 ZooKeeper 的客户端会收到会话通知",
                        "Redis' clients take from a channel: `take: {{ from: freed }}`",
                        "Redis 的客户端从频道取消息：`take: {{ from: freed }}`"
                    )));
                }
                if zookeeper {
                    return self.lint_no_watch(&about, path);
                }
                let channels: Vec<&str> = self
                    .listens_to
                    .iter()
                    .flatten()
                    .map(String::as_str)
                    .filter(|channel| !channel.contains(ANY))
                    .collect();
                let help = suggestion(nearest(&about, channels.iter().copied(), ALIKE), || {
                    both!(
                        "write an operation `{{ redis: SUBSCRIBE {about} }}` before it",
                        "请先写一个操作 `{{ redis: SUBSCRIBE {about} }}`"
                    )
                });
                let help = if about.contains(", ") {
                    both!("several are a list: `[A, B]`", "要写多个请用列表：`[A, B]`")
                } else {
                    help
                };
                return self.report(path.mistake(Finding {
                    message: both!(
                        "this program never subscribes to `{about}`",
                        "这个程序从没订阅过 `{about}`"
                    ),
                    help: if about == "any" {
                        both!(
                            "write an operation `{{ redis: SUBSCRIBE freed }}` before it",
                            "请先写一个操作 `{{ redis: SUBSCRIBE freed }}`"
                        )
                    } else {
                        help
                    },
                }));
            }
        }
    }

    /// Reports a `take` for a znode on which the program leaves no watch.
    fn lint_other_watch(&mut self, from: &[Template], path: &Path) {
        let is_told = |about: &String| {
            ["any", "session"].contains(&about.as_str())
                || self
                    .watches
                    .iter()
                    .map(Template::pattern)
                    .any(|watch| stands_for(&watch, about) || stands_for(about, &watch))
        };
        let patterns: Vec<String> = from.iter().map(Template::pattern).collect();
        if self.watches.is_empty() || patterns.iter().any(is_told) {
            return;
        }
        let shown = |pattern: &str| pattern.replace(ANY, "…");
        let (about, watches) = (
            shown(&patterns[0]),
            self.watches.iter().map(|watch| shown(&watch.pattern())).collect::<Vec<_>>().join("`, `"),
        );
        self.report(path.mistake(finding!(
            "this program leaves no watch on `{about}`",
            "这个程序没有在 `{about}` 上设 watch",
            "it leaves watches on `{watches}`: take from there, or from `any`",
            "它在 `{watches}` 上设了 watch：请从那里取，或者写 `any`"
        )));
    }

    /// Reports a `take` for the znode of one variable, where the only watch is on that of another.
    fn lint_other_name(&mut self, from: &[Template], path: &Path) {
        let [about] = from else { return };
        let one = |template: &Template| {
            let [name] = &template.names().into_iter().collect::<Vec<_>>()[..] else { return None };
            (self.znode_of(name).is_some() && !self.is_alias(name)).then(|| name.clone())
        };
        let Some(taken) = one(about) else { return };
        let watched: Option<Vec<String>> = self.watches.iter().map(one).collect();
        if !watched.is_some_and(|names| !names.is_empty() && !names.contains(&taken)) {
            return;
        }
        let watch = self.watches[0].to_string();
        self.report(path.mistake(finding!(
            "this takes news of `{about}`, and the watch is on `{watch}`",
            "这里等的是 `{about}` 的通知，而 watch 设在 `{watch}` 上",
            "name one znode in both places; a watch on the znode of another client tells when that is gone",
            "两处要写同一个 znode；在别的客户端的节点上设 watch，它消失时才会有通知"
        )));
    }

    fn lint_no_watch(&mut self, about: &str, path: &Path) {
        self.report(path.mistake(Finding {
            message: both!(
                "this program leaves no watch, so nothing is ever told",
                "这个程序没有设 watch，永远不会有通知"
            ),
            help: if about == "any" {
                both!(
                    "leave one with `-w`: `exists -w /lock`; news of the session is taken `from: session`",
                    "请用 `-w` 设 watch：`exists -w /lock`；会话的通知要写 `from: session`"
                )
            } else {
                both!("leave one with `-w`: `exists -w {about}`", "请用 `-w` 设 watch：`exists -w {about}`")
            },
        }));
    }
}
