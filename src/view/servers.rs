//! The servers' pane: one server under the other, each by its kind. It must not know what clients believe.

use ratatui::{
    buffer::Buffer,
    layout::Rect,
    text::{Line, Span},
};

use super::{
    Scene, fault, redis, text,
    theme::{Role, glyphs},
    words, zookeeper,
};
use crate::{
    log::{self, Observed},
    world::ServerWorld,
};

/// Every line of the pane. Large trees are folded, so there are never many.
pub fn lines<'a>(scene: &Scene<'a>, width: u16) -> Vec<Line<'a>> {
    let mut lines = Vec::new();
    let several = scene.world.servers.len() > 1;
    for server in &scene.world.servers {
        if several || server.frozen || server.ahead_ms != 0 {
            lines.push(heading(scene, server));
        }
        lines.extend(server_lines(scene, server, width.into()));
    }
    lines
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

fn server_lines<'a>(scene: &Scene<'a>, server: &'a ServerWorld, width: usize) -> Vec<Line<'a>> {
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
        Some(Observed::Redis(keys)) => lines.extend(redis::lines(scene, server, keys, width)),
        Some(Observed::Zookeeper(tree)) => lines.extend(zookeeper::lines(scene, server, tree, width)),
    }
    if lines.len() == before {
        lines.push(Line::styled(
            words::EMPTY.get(scene.lang),
            scene.style(Role::Chrome),
        ));
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

/// Draws lines from the `scroll`-th on.
pub fn draw(lines: &[Line<'_>], scroll: u16, area: Rect, buf: &mut Buffer) {
    let hidden = lines.len().saturating_sub(area.height.into());
    let scroll = usize::from(scroll).min(hidden);
    for (y, line) in (area.top()..area.bottom()).zip(lines.iter().skip(scroll)) {
        buf.set_line(area.x, y, line, area.width);
    }
}
