//! The servers' pane: one server below the other, each drawn by its product.

use std::collections::BTreeMap;

use super::{prelude::*, selection};
use crate::{
    log::{ClusterNode, Keyspace, Observed, product::etcd::EtcdKeys},
    text::Lang,
    ui::words::fault,
    world::{Change, ServerWorld},
};

/// The changes of an event, by key or path.
type Changes = BTreeMap<String, Change>;

static NO_CHANGES: Changes = Changes::new();
/// The maximum number of deleted entries that are named.
const GONE: usize = 3;
/// The minimum width for which a line is cut to stand beside the server's name.
const LEAST_BESIDE: usize = 18;
/// The maximum number of sessions listed per server.
const MEMBER_SESSIONS: usize = 4;

/// The columns from which on they are shown at all: after the role and the last transaction.
const LEAST_WITH_SESSIONS: usize = 52;

#[derive(Clone, Copy)]
pub(crate) struct ServerPane<'v, 'a> {
    pub scene: &'v Scene<'a>,
    pub server: &'a ServerWorld,
    /// What the selected event changed on the server.
    pub marked: &'v Changes,
    pub width: usize,
    pub rows: Rows,
}

/// How many rows there are for the lines.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rows {
    /// Enough to show every value in full.
    Ample,
    Enough,
    /// So few that single lines move beside their server's name.
    Few,
}

/// All lines of the pane. Large trees are folded, so there are never many.
pub fn lines<'a>(scene: &Scene<'a>, Rect { width, height, .. }: Rect) -> Vec<Line<'a>> {
    let fits = |lines: &Vec<Line<'a>>| lines.len() <= height.into();
    let lines = |rows| all_lines(scene, width.into(), rows);
    [Rows::Ample, Rows::Enough].into_iter().map(lines).find(fits).unwrap_or_else(|| lines(Rows::Few))
}

/// The scroll position that shows what the newest event changed in `height` rows.
pub fn newest(lines: &[Line<'_>], height: u16) -> u16 {
    let is_news =
        |line: &&Line<'_>| line.spans.iter().any(|span| ["+ ", "~ ", "- "].contains(&&*span.content));
    let last = lines.iter().rposition(|line| is_news(&line)).map_or(0, |last| {
        // A value without room beside its name is below it, and so are its watchers.
        let watches = |line: &Line<'_>| line.spans.get(1).is_some_and(|span| span.content.starts_with("  ◉"));
        let is_below = |line: &&Line<'_>| line.spans.len() == 1 || watches(line);
        let below = lines[last + 1..].iter().take_while(is_below).count();
        last + below.min(usize::from(height).saturating_sub(1)) + 1
    });
    u16::try_from(last).unwrap_or(u16::MAX).saturating_sub(height)
}

fn all_lines<'a>(scene: &Scene<'a>, width: usize, rows: Rows) -> Vec<Line<'a>> {
    let mut lines = Vec::new();
    let several = scene.world.servers.len() > 1;
    let changes = scene.selected.map(|event| selection::changes(scene, event)).unwrap_or_default();
    for server in &scene.world.servers {
        let marked = changes.get(server.info.name.as_str()).unwrap_or(&NO_CHANGES);
        let pane = ServerPane { scene, server, marked, width, rows };
        if several || server.frozen || server.ahead_ms != 0 {
            let mut heading = pane.heading();
            let room = width.saturating_sub(heading.width() + 1);
            let narrower = if room > LEAST_BESIDE { room } else { width };
            if rows == Rows::Few
                && let [beside] = (ServerPane { width: narrower, ..pane }).lines().as_mut_slice()
                && beside.width() <= room
            {
                heading.spans.push(Span::raw(" "));
                let style = beside.style;
                heading.spans.extend(
                    beside.spans.drain(..).map(|span| Span::styled(span.content, style.patch(span.style))),
                );
                lines.push(heading);
                continue;
            }
            lines.push(heading);
        }
        lines.extend(pane.lines());
    }
    lines.extend(sentinels(scene, width, rows));
    lines
}

/// The progress of the Sentinels in a failover; with few rows without a heading.
fn sentinels<'a>(scene: &Scene<'a>, width: usize, rows: Rows) -> Vec<Line<'a>> {
    let Scene { lang, world, .. } = *scene;
    let sentinels = &world.sentinels;
    if sentinels.is_silent() {
        return Vec::new();
    }
    let mut said: Vec<String> = Vec::new();
    for (server, by) in &sentinels.missed {
        let missed = words::DOWN_FOR.with(lang, &[server, &by.len().to_string()]);
        let needed = sentinels.quorum.map(|quorum| words::NEEDED.with(lang, &[&quorum.to_string()]));
        said.push(missed + &needed.unwrap_or_default());
    }
    if !sentinels.votes.is_empty() {
        let tally: Vec<String> =
            sentinels.tally().iter().map(|(leader, votes)| format!("{leader} ×{votes}")).collect();
        let tally = tally.join(words::LISTED.get(lang));
        said.push(words::VOTES.with(lang, &[&tally, &sentinels.epoch.to_string()]));
    }
    if let Some(leader) = &sentinels.leader {
        let chosen = sentinels.chosen.as_ref().map(|server| words::MAKES_MASTER.with(lang, &[server]));
        said.push(words::ELECTED.with(lang, &[leader]) + &chosen.unwrap_or_default());
    }
    let is_few = rows == Rows::Few;
    let heading = (!is_few).then(|| format!("{} {}", glyphs::SENTINEL, words::SENTINELS.get(lang)));
    let heading = heading.map(|heading| Line::styled(heading, scene.style(Role::Accent)));
    let said =
        said.iter().map(|said| if is_few { format!("{} {said}", glyphs::SENTINEL) } else { said.clone() });
    let sign = if sentinels.is_news { "~ " } else { "  " };
    let sign = Span::styled(sign, scene.style(Role::Good));
    let said = said.flat_map(|said| text::wrap(&said, width.saturating_sub(2)));
    let said = said.map(|row| Line::from(vec![sign.clone(), Span::raw(row)]));
    heading.into_iter().chain(said).collect()
}

impl<'a> ServerPane<'_, 'a> {
    /// Whether values that have not just changed are shown in full, too.
    pub fn whole(&self) -> bool {
        self.rows == Rows::Ample
    }

    /// The mark before the line of a key or a path, and the style of its name, depending on what was done to it.
    pub fn mark(&self, name: &str) -> (Span<'static>, Style) {
        let (sign, role) = match self.server.changes.get(name) {
            _ if self.marked.contains_key(name) => ("▸ ", Role::Selected),
            Some(Change::Added) => ("+ ", Role::Fresh),
            Some(Change::Changed) => ("~ ", Role::Fresh),
            Some(Change::Removed) => ("  ", Role::Fresh),
            None => ("  ", Role::Text),
        };
        (Span::styled(sign, self.scene.style(Role::Good)), self.scene.style(role))
    }

    /// Lines for the entries that the newest event removed.
    pub fn removed(&self) -> impl Iterator<Item = Line<'a>> {
        let removed = |name: &&String| self.server.changes[*name] == Change::Removed;
        let names = self.server.changes.keys().filter(removed);
        let style = self.scene.style(Role::Chrome).add_modifier(Modifier::CROSSED_OUT);
        names.filter(|name| !self.marked.contains_key(*name)).map(move |name| {
            let sign = Span::styled("- ", self.scene.style(Role::Warning));
            self.absent(sign, (name, style), words::REMOVED)
        })
    }

    /// The name is cut only if the pane has no room for it.
    fn absent(&self, sign: Span<'a>, (name, style): (&str, Style), why: words::Words) -> Line<'a> {
        let why = format!("  {}", why.get(self.scene.lang));
        let room = self.width.saturating_sub(sign.width() + text::width(&why));
        let name = Span::styled(text::fit(name, room).into_owned(), style);
        Line::from(vec![sign, name, Span::styled(why, self.scene.style(Role::Chrome))])
    }

    /// Lines for entries that the selected event changed and that no longer exist.
    fn deleted(&self) -> impl Iterator<Item = Line<'a>> {
        let held = self.server.observed.as_ref();
        let is_there = move |name: &str| held.is_some_and(|held| held.entry(name).is_some());
        let names = self.marked.keys().filter(move |name| !is_there(name)).take(GONE);
        names.map(|name| {
            let (sign, style) = self.mark(name);
            self.absent(sign, (name, style), words::SINCE_GONE)
        })
    }

    /// A server's name, its role, and whether its process is stopped.
    fn heading(&self) -> Line<'a> {
        let Self { scene, server, .. } = self;
        let mut spans = vec![Span::styled(server.info.name.clone(), scene.style(Role::Accent))];
        if server.died.is_none() {
            let role = match server.observed.as_ref().and_then(Observed::role) {
                None => String::new(),
                Some(role) => format!(" · {}", words::role(role, scene.lang)),
            };
            spans.push(Span::styled(role, scene.style(Role::Chrome)));
            spans.extend(self.member());
            if let Some(Observed::Redis(Keyspace { cluster: Some(node), .. })) = &server.observed {
                spans.push(Span::styled(cluster_node(scene.lang, node), scene.style(Role::Chrome)));
                if !node.ok {
                    let words = format!(" ▮ {}", words::CLUSTER_DOWN.get(scene.lang));
                    spans.push(Span::styled(words, scene.style(Role::Danger)));
                }
            }
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

    /// For a member of an ensemble: its last transaction, and the sessions connected to it.
    fn member(&self) -> Vec<Span<'a>> {
        if let Some(Observed::Etcd(EtcdKeys { member: Some(member), .. })) = &self.server.observed {
            let known = [member.revision.to_string(), member.term.to_string()];
            let known = words::REVISION_AND_TERM.with(self.scene.lang, &[&known[0], &known[1]]);
            return vec![Span::styled(format!(" · {known}"), self.scene.style(Role::Chrome))];
        }
        let Some(Observed::Zookeeper(tree)) = &self.server.observed else { return Vec::new() };
        let Some(member) = &tree.member else { return Vec::new() };
        // A server without a quorum serves no requests, so its last transaction is unknown.
        let zxid = Some(member.zxid).filter(|zxid| *zxid != 0).map(|zxid| format!(" · zxid {zxid:#x}"));
        let zxid = zxid.map(|zxid| Span::styled(zxid, self.scene.style(Role::Chrome)));
        let mut spans: Vec<Span<'a>> = zxid.into_iter().collect();
        let known =
            member.sessions.iter().filter(|session| self.scene.world.session_owner(**session).is_some());
        if self.width < LEAST_WITH_SESSIONS {
            return spans;
        }
        let mut known = known.take(MEMBER_SESSIONS).peekable();
        if known.peek().is_some() {
            let words = format!(" · {}", words::SESSIONS.get(self.scene.lang));
            spans.push(Span::styled(words, self.scene.style(Role::Chrome)));
        }
        spans.extend(known.flat_map(|session| [Span::raw(" "), self.scene.session(*session)]));
        spans
    }

    fn lines(&self) -> Vec<Line<'a>> {
        let Self { scene, server, width, .. } = *self;
        let mut lines = Vec::new();
        if let Some(why) = &server.died {
            let sign = scene.server_end_sign(&server.info.name);
            let words = format!("{sign} {}", words::SERVER_DIED.get(scene.lang));
            let why = format!(" · {}", why.lines().next().unwrap_or_default());
            let why = text::fit(&why, width.saturating_sub(text::width(&words))).into_owned();
            lines.push(Line::from(vec![
                Span::styled(words, scene.style(Role::Danger)),
                Span::styled(why, scene.style(Role::Chrome)),
            ]));
        }
        let before = lines.len();
        match &server.observed {
            None => {}
            Some(Observed::Redis(keys)) => lines.extend(self.keys(keys)),
            Some(nodes) => lines.extend(self.tree(nodes)),
        }
        lines.extend(self.deleted());
        if lines.len() == before && server.died.is_none() {
            lines.push(Line::styled(words::EMPTY.get(scene.lang), scene.style(Role::Chrome)));
        }
        if !server.metrics.is_empty() && self.rows != Rows::Few {
            lines.push(Line::styled(words::METRICS.get(scene.lang), scene.style(Role::Chrome)));
        }
        for (name, value) in &server.metrics {
            let value = value.to_string();
            let name = format!("  {} ", text::fit(name, width.saturating_sub(value.len() + 3)));
            lines.push(Line::from(vec![
                Span::styled(name, scene.style(Role::Chrome)),
                Span::styled(value, scene.style(Role::Fresh)),
            ]));
        }
        lines
    }
}

/// The slots and epochs of a node of a cluster.
fn cluster_node(lang: Lang, node: &ClusterNode) -> String {
    let ranges: Vec<String> = node.slots.iter().map(|(first, last)| format!("{first}-{last}")).collect();
    let slots = match ranges.as_slice() {
        [] => String::new(),
        ranges => format!(" · {}", words::SLOTS.with(lang, &[&ranges.join(" ")])),
    };
    let epochs = [node.config_epoch.to_string(), node.current_epoch.to_string()];
    format!("{slots} · {}", words::EPOCHS.with(lang, &[&epochs[0], &epochs[1]]))
}

/// The title of a pane of that width, with product and version if there is one server and room for both.
pub fn title(scene: &Scene<'_>, width: u16) -> String {
    let heading = words::SERVERS.get(scene.lang);
    let [server] = scene.world.servers.as_slice() else { return heading.to_owned() };
    let product = format!("{heading} · {}", server.info.product);
    let version = format!("{product} {}", server.info.version);
    if text::width(&version) + 4 > width.into() { product } else { version }
}
