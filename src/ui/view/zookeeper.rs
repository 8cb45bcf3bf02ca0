//! The znodes of a `ZooKeeper` server: the tree, who owns what, who watches what.

use super::{
    prelude::*,
    servers::{self, Changes},
};
use crate::{
    log::{Znode, ZnodeTree},
    world::ServerWorld,
};

/// Of more siblings than this, only the first and the last few are shown.
const MANY: usize = 10;
/// How many at the beginning and at the end.
const ENDS: (usize, usize) = (5, 2);
const NAMED: usize = 4;

/// A line per znode, siblings folded where they are many.
pub fn lines<'a>(
    scene: &Scene<'a>,
    (server, marked): (&'a ServerWorld, &Changes),
    tree: &'a ZnodeTree,
    width: usize,
) -> Vec<Line<'a>> {
    let mut lines = Vec::new();
    let nodes: Vec<(&String, &Znode)> = tree.nodes.iter().collect();
    let mut at = 0;
    while at < nodes.len() {
        // Neighbours of one parent that have no children of their own stand together.
        let parent = parent(nodes[at].0);
        let run = nodes[at..].iter().take_while(|(path, _)| self::parent(path) == parent).count();
        let hidden = if run > MANY { ENDS.0..run - ENDS.1 } else { run..run };
        for (n, (path, node)) in nodes[at..at + run].iter().enumerate() {
            if n == hidden.start && !hidden.is_empty() {
                lines.push(more(scene, &nodes[at..at + run][hidden.clone()], depth(path)));
            }
            if !hidden.contains(&n) {
                lines.push(line(scene, (server, marked), (path, node), width));
            }
        }
        at += run;
    }
    for (path, watchers) in &tree.watched_absent {
        let mut spans = vec![
            Span::styled(format!("  {path} "), scene.style(Role::Chrome)),
            Span::styled(words::ABSENT.get(scene.lang), scene.style(Role::Chrome)),
        ];
        spans.extend(watching(scene, watchers));
        lines.push(Line::from(spans));
    }
    lines.extend(servers::removed(scene, (server, marked), width / 2).take(ENDS.0));
    lines
}

fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(parent, _)| parent)
}

fn depth(path: &str) -> usize {
    path.matches('/').count().saturating_sub(1)
}

fn line<'a>(
    scene: &Scene<'a>,
    (server, marked): (&ServerWorld, &Changes),
    (path, node): (&'a str, &'a Znode),
    width: usize,
) -> Line<'a> {
    let (mark, style) = servers::mark(scene, (server, marked), path);
    let depth = depth(path);
    let name = if depth == 0 { path } else { path.rsplit('/').next().unwrap_or(path) };
    let mut spans = vec![
        mark,
        Span::raw("  ".repeat(depth)),
        Span::styled(text::fit(name, width / 2).into_owned(), style),
    ];
    if let Some(owner) = node.owner {
        spans.push(Span::raw(" "));
        spans.push(scene.session(owner));
    }
    if !node.data.is_empty() {
        spans.push(Span::styled(format!(" \"{}\"", text::fit(&node.data, 16)), scene.style(Role::Chrome)));
    }
    spans.extend(watching(scene, &node.watchers));
    Line::from(spans)
}

/// Who watches: all of them where they are few, else how many and the first.
fn watching<'a>(scene: &Scene<'a>, watchers: &[i64]) -> Vec<Span<'a>> {
    if watchers.is_empty() {
        return Vec::new();
    }
    let count = words::WATCHING.with(scene.lang, &[&watchers.len().to_string()]);
    let role = if watchers.len() > NAMED { Role::Danger } else { Role::Warning };
    let mut spans = vec![Span::styled(format!("  ◉ {count}:"), scene.style(role))];
    for session in watchers.iter().take(NAMED) {
        spans.push(Span::raw(" "));
        spans.push(scene.session(*session));
    }
    if watchers.len() > NAMED {
        spans.push(Span::styled(" …", scene.style(Role::Chrome)));
    }
    spans
}

fn more<'a>(scene: &Scene<'a>, hidden: &[(&String, &Znode)], depth: usize) -> Line<'a> {
    let count = words::MORE_NODES.with(scene.lang, &[&hidden.len().to_string()]);
    let watchers: usize = hidden.iter().map(|(_, node)| node.watchers.len()).sum();
    let mut words = format!("  {}… {count}", "  ".repeat(depth));
    if watchers > 0 {
        let watching = words::WATCHING.with(scene.lang, &[&watchers.to_string()]);
        words = format!("{words}  ◉ {watching}");
    }
    Line::styled(words, scene.style(Role::Chrome))
}
