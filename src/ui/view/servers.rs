//! The servers' pane: one server under the other, each by its kind.

use std::collections::BTreeMap;

use super::{prelude::*, redis, selection, zookeeper};
use crate::{
    log::{self, Observed},
    ui::words::fault,
    world::{Change, ServerWorld},
};

/// What an event changed, by key or path.
pub type Changes = BTreeMap<String, Change>;

static NO_CHANGES: Changes = Changes::new();
/// So many of those that are not there any more are named.
const GONE: usize = 3;

/// Every line of the pane. Large trees are folded, so there are never many.
pub fn lines<'a>(scene: &Scene<'a>, width: u16) -> Vec<Line<'a>> {
    let mut lines = Vec::new();
    let several = scene.world.servers.len() > 1;
    let changes = scene.selected.map(|event| selection::changes(scene, event)).unwrap_or_default();
    for server in &scene.world.servers {
        if several || server.frozen || server.ahead_ms != 0 {
            lines.push(heading(scene, server));
        }
        let marked = changes.get(server.info.name.as_str()).unwrap_or(&NO_CHANGES);
        lines.extend(server_lines(scene, server, marked, width.into()));
    }
    lines
}

/// What the line of a key or a path begins with, and how its name looks: by what the newest event and the chosen one
/// did to it.
pub fn mark(
    scene: &Scene<'_>,
    (server, marked): (&ServerWorld, &Changes),
    name: &str,
) -> (Span<'static>, Style) {
    let (sign, role) = match server.changes.get(name) {
        _ if marked.contains_key(name) => ("▸ ", Role::Selected),
        Some(Change::Added) => ("+ ", Role::Fresh),
        Some(Change::Changed) => ("~ ", Role::Fresh),
        Some(Change::Removed) => ("  ", Role::Fresh),
        None => ("  ", Role::Text),
    };
    (Span::styled(sign, scene.style(Role::Good)), scene.style(role))
}

/// Lines of what the newest event removed.
pub fn removed<'a>(
    scene: &Scene<'_>,
    (server, marked): (&ServerWorld, &Changes),
    width: usize,
) -> impl Iterator<Item = Line<'a>> {
    let names = server
        .changes
        .iter()
        .filter(|(name, change)| **change == Change::Removed && !marked.contains_key(*name));
    let style = scene.style(Role::Chrome).add_modifier(Modifier::CROSSED_OUT);
    names.map(move |(name, _)| {
        let sign = Span::styled("- ", scene.style(Role::Warning));
        absent(scene, sign, (text::fit(name, width).into_owned(), style), words::REMOVED)
    })
}

fn absent<'a>(
    scene: &Scene<'_>,
    sign: Span<'a>,
    (name, style): (String, Style),
    why: words::Words,
) -> Line<'a> {
    let why = Span::styled(format!("  {}", why.get(scene.lang)), scene.style(Role::Chrome));
    Line::from(vec![sign, Span::styled(name, style), why])
}

/// What the chosen event changed and is not there any more.
fn gone<'a>(scene: &Scene<'_>, server: &ServerWorld, marked: &Changes, width: usize) -> Vec<Line<'a>> {
    let is_there = |name: &str| match &server.observed {
        None => false,
        Some(Observed::Redis(space)) => space.keys.contains_key(name),
        Some(Observed::Zookeeper(tree)) => tree.nodes.contains_key(name),
    };
    let names = marked.keys().filter(|name| !is_there(name)).take(GONE);
    let line = |name: &String| {
        let (sign, style) = mark(scene, (server, marked), name);
        absent(scene, sign, (text::fit(name, width / 2).into_owned(), style), words::SINCE_GONE)
    };
    names.map(line).collect()
}

/// A server's name, with what it says that it is, and whether it stands still.
fn heading<'a>(scene: &Scene<'_>, server: &ServerWorld) -> Line<'a> {
    let mut spans = vec![Span::styled(server.info.name.clone(), scene.style(Role::Accent))];
    if let (None, Some(Observed::Redis(keyspace))) = (&server.died, &server.observed) {
        let role = match &keyspace.role {
            None => String::new(),
            Some(log::Role::Master) => format!(" · {}", words::MASTER.get(scene.lang)),
            Some(log::Role::Replica { of }) => {
                format!(" · {}", words::REPLICA_OF.get(scene.lang).replace("{}", of))
            }
        };
        spans.push(Span::styled(role, scene.style(Role::Chrome)));
    }
    if server.frozen {
        let words = format!(" ▮ {}", words::FROZEN.get(scene.lang));
        spans.push(Span::styled(words, scene.style(Role::Danger)));
    }
    if server.ahead_ms != 0 {
        let words = format!(" {} {}", glyphs::CLOCK, fault::skew(scene.lang, server.ahead_ms));
        spans.push(Span::styled(words, scene.style(Role::Danger)));
    }
    Line::from(spans)
}

fn server_lines<'a>(
    scene: &Scene<'a>,
    server: &'a ServerWorld,
    marked: &Changes,
    width: usize,
) -> Vec<Line<'a>> {
    let mut lines = Vec::new();
    if let Some(why) = &server.died {
        let words = format!("✝ {}", words::SERVER_DIED.get(scene.lang));
        lines.push(Line::styled(words, scene.style(Role::Danger)));
        let why = why.lines().next().unwrap_or_default();
        lines.push(Line::styled(text::fit(why, width), scene.style(Role::Chrome)));
    }
    let before = lines.len();
    match &server.observed {
        None => {}
        Some(Observed::Redis(keys)) => lines.extend(redis::lines(scene, (server, marked), keys, width)),
        Some(Observed::Zookeeper(tree)) => {
            lines.extend(zookeeper::lines(scene, (server, marked), tree, width));
        }
    }
    lines.extend(gone(scene, server, marked, width));
    if lines.len() == before {
        lines.push(Line::styled(words::EMPTY.get(scene.lang), scene.style(Role::Chrome)));
    }
    for (name, value) in &server.metrics {
        lines.push(Line::from(vec![
            Span::styled(
                format!("  {} ", text::fit(name, width.saturating_sub(8))),
                scene.style(Role::Chrome),
            ),
            Span::styled(value.to_string(), scene.style(Role::Fresh)),
        ]));
    }
    lines
}

/// The pane's title: product and version where there is one server.
pub fn title(scene: &Scene<'_>) -> String {
    let heading = words::SERVERS.get(scene.lang);
    match scene.world.servers.as_slice() {
        [server] => format!(" {heading} · {} {} ", server.info.product, server.info.version),
        _ => format!(" {heading} "),
    }
}
