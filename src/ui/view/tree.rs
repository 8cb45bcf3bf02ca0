//! The contents of a server as a tree of nodes, with owners and watchers.

use super::{prelude::*, servers::ServerPane};
use crate::log::{
    Entry, Observed,
    product::{mariadb::Transaction, zookeeper::parent},
};

/// With more siblings than this, only the first and the last few are shown.
const MANY: usize = 10;
/// How many are shown at the beginning and at the end.
const ENDS: (usize, usize) = (5, 2);
const NAMED_WATCHERS: usize = 4;
/// The maximum number of changes of one event that are shown even if folded.
const CHANGES: usize = 3;
/// The columns of a node's data, and the minimum to which they are cut in favour of watchers.
const ROOM: usize = 16;
const LEAST_DATA: usize = 6;

impl<'a> ServerPane<'_, 'a> {
    /// One line per node; many siblings are folded.
    pub(crate) fn tree(&self, observed: &'a Observed) -> Vec<Line<'a>> {
        let scene = self.scene;
        let mut lines = Vec::new();
        // A few changes must stay visible among folded siblings.
        let few = self.server.changes.len() <= CHANGES;
        let nodes: Vec<(&str, Entry<'a>)> = observed.entries().into_iter().collect();
        // Siblings without children of their own are grouped.
        for run in nodes.chunk_by(|(one, _), (next, _)| parent(one) == parent(next)) {
            let hidden = if run.len() > MANY { ENDS.0..run.len() - ENDS.1 } else { run.len()..run.len() };
            for (n, (path, node)) in run.iter().enumerate() {
                if n == hidden.start && !hidden.is_empty() {
                    lines.push(more(scene, &run[hidden.clone()], depth(path)));
                }
                if !hidden.contains(&n) || few && self.server.changes.contains_key(*path) {
                    lines.extend(self.node(path, *node));
                }
            }
        }
        for (path, watchers) in observed.watched_absent() {
            let mut spans = vec![
                Span::styled(format!("  {path} "), scene.style(Role::Chrome)),
                Span::styled(words::ABSENT.get(scene.lang), scene.style(Role::Chrome)),
            ];
            let taken = spans.iter().map(Span::width).sum::<usize>();
            spans.extend(watching(scene, watchers, words::WATCHING, self.width.saturating_sub(taken)));
            lines.push(Line::from(spans));
        }
        lines.extend(self.removed().take(ENDS.0));
        if let Observed::Mariadb(tables) = observed {
            let transactions = tables.transactions.iter().take(MANY);
            lines.extend(transactions.map(|transaction| under_way(scene, transaction)));
        }
        lines
    }

    /// A node with its data. Data that has just changed is shown in full, in lines of its own if necessary; other data if
    /// there are enough rows.
    fn node(&self, path: &'a str, node: Entry<'a>) -> Vec<Line<'a>> {
        let scene = self.scene;
        let (mark, style) = self.mark(path);
        let depth = depth(path);
        let name = if depth == 0 { path } else { path.rsplit('/').next().unwrap_or(path) };
        let fresh = self.server.changes.contains_key(path);
        let indent = 2 + 2 * depth;
        let owners = node.owner().into_iter().chain(node.sharing().iter().copied());
        let owners: Vec<Span<'_>> = owners.map(|owner| scene.session(owner)).collect();
        let beside: usize = owners.iter().map(|owner| owner.width() + 1).sum();
        let room =
            if fresh || self.whole() { self.width.saturating_sub(indent + beside) } else { self.width / 2 };
        let name = text::fit_middle(name, room).into_owned();
        let mut below = Vec::new();
        let mut spans = vec![mark, Span::raw("  ".repeat(depth)), Span::styled(name, style)];
        spans.extend(owners.into_iter().flat_map(|owner| [Span::raw(" "), owner]));
        if !node.text().is_empty() {
            // The data of a row matters more than that of a lock's node.
            let room = if matches!(node, Entry::Row(_)) { self.width } else { ROOM };
            let taken: usize = spans.iter().map(Span::width).sum();
            // Leaves room for watchers and waiting clients.
            let rest = self.width.saturating_sub(taken + 3 + least_watching(scene, node.watchers()));
            let room = if rest < LEAST_DATA { room } else { room.min(rest) };
            let whole = text::width(&text::clean(&node.text())) <= rest;
            if (fresh || self.whole()) && !whole {
                let rows = text::wrap(&node.text(), self.width.saturating_sub(indent + 2));
                let style = scene.style(if fresh { Role::Fresh } else { Role::Chrome });
                let row = |row| Line::styled(format!("{}{row}", " ".repeat(indent + 2)), style);
                below.extend(rows.into_iter().map(row));
            } else {
                let room = if fresh { self.width } else { room };
                let data = format!(" \"{}\"", text::fit(&node.text(), room));
                spans.push(Span::styled(data, scene.style(if fresh { Role::Fresh } else { Role::Chrome })));
            }
        }
        if let Entry::Pair(pair) = node {
            let revision = words::REVISION.with(scene.lang, &[&pair.create_revision.to_string()]);
            spans.push(Span::styled(format!(" {revision}"), scene.style(Role::Chrome)));
        }
        let waiting = matches!(node, Entry::Row(_) | Entry::File(_));
        let taken = spans.iter().map(Span::width).sum::<usize>();
        let words = if waiting { words::QUEUED } else { words::WATCHING };
        let room = self.width.saturating_sub(taken);
        if least_watching(scene, node.watchers()) <= room {
            spans.extend(watching(scene, node.watchers(), words, room));
        } else {
            let room = self.width.saturating_sub(indent);
            let watchers = watching(scene, node.watchers(), words, room);
            let line = std::iter::once(Span::raw(" ".repeat(indent))).chain(watchers);
            below.push(line.collect::<Line<'_>>());
        }
        std::iter::once(Line::from(spans)).chain(below).collect()
    }
}

/// A transaction in progress, and whose locks it waits for.
fn under_way<'a>(scene: &Scene<'a>, transaction: &Transaction) -> Line<'a> {
    let mut spans = vec![Span::raw("  "), scene.session(transaction.session)];
    let (words, role) = if transaction.waits_for.is_empty() {
        (words::IN_TRANSACTION, Role::Chrome)
    } else {
        (words::WAITS_FOR, Role::Warning)
    };
    spans.push(Span::styled(format!(" {}", words.get(scene.lang)), scene.style(role)));
    for holder in &transaction.waits_for {
        spans.extend([Span::raw(" "), scene.session(*holder)]);
    }
    Line::from(spans)
}

fn depth(path: &str) -> usize {
    path.matches('/').count().saturating_sub(1)
}

/// The watchers or waiting clients: their number, and as many whole names as fit. If space is short, only a sign and
/// the names.
fn watching<'a>(scene: &Scene<'a>, watchers: &[i64], words: words::Words, room: usize) -> Vec<Span<'a>> {
    if watchers.is_empty() {
        return Vec::new();
    }
    let many = watchers.len() > NAMED_WATCHERS;
    let count = watchers.len().to_string();
    let role = if many { Role::Danger } else { Role::Warning };
    let names = || watchers.iter().map(|session| scene.session(*session));
    let needed =
        names().take(NAMED_WATCHERS).map(|name| name.width() + 1).sum::<usize>() + if many { 2 } else { 0 };
    let colon = scene.lang.colon().trim_end();
    let says = [
        format!("  ◉ {}{colon}", words.with(scene.lang, &[&count])),
        format!("  ◉ {count}{colon}"),
        " ◉".to_owned(),
    ];
    let fits = |says: &&String| text::width(says) + needed <= room;
    let sign = says.iter().find(fits).unwrap_or(&says[2]).clone();
    let mut taken = text::width(&sign);
    let mut spans = vec![Span::styled(sign, scene.style(role))];
    for (n, name) in names().enumerate() {
        let rest = if n + 1 < watchers.len() { 2 } else { 0 };
        if taken + name.width() + 1 + rest > room {
            if taken + 2 <= room {
                spans.push(Span::styled(" …", scene.style(Role::Chrome)));
            }
            break;
        }
        taken += name.width() + 1;
        spans.extend([Span::raw(" "), name]);
    }
    spans
}

/// The minimum columns that [`watching`] needs.
fn least_watching(scene: &Scene<'_>, watchers: &[i64]) -> usize {
    let names = watchers.iter().take(NAMED_WATCHERS).map(|session| scene.session(*session).width() + 1);
    if watchers.is_empty() { 0 } else { 2 + names.sum::<usize>() }
}

fn more<'a>(scene: &Scene<'a>, hidden: &[(&str, Entry<'_>)], depth: usize) -> Line<'a> {
    let count = words::MORE_NODES.with(scene.lang, &[&hidden.len().to_string()]);
    let watchers: usize = hidden.iter().map(|(_, node)| node.watchers().len()).sum();
    let mut words = format!("  {}… {count}", "  ".repeat(depth));
    if watchers > 0 {
        let watching = words::WATCHING.with(scene.lang, &[&watchers.to_string()]);
        words = format!("{words}  ◉ {watching}");
    }
    Line::styled(words, scene.style(Role::Chrome))
}
