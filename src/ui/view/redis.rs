//! The keys of a Redis server, with their leases draining.

use std::collections::BTreeMap;

use super::{prelude::*, servers::ServerPane};
use crate::{
    log::{KeyState, KeyValue, Keyspace},
    ui::chart::{Lease, is_lock_key},
    world::Change,
};

/// The cells of a lease's bar: normally, and on a narrow pane.
const BAR: (usize, usize) = (12, 6);
/// Shorter bars are not drawn.
const LEAST_BAR: usize = 3;
/// Panes with fewer columns are narrow.
const NARROW: usize = 40;

impl<'a> ServerPane<'_, 'a> {
    pub(crate) fn keys(&self, space: &'a Keyspace) -> Vec<Line<'a>> {
        let removed = self.server.changes.iter().filter(|(_, change)| **change == Change::Removed);
        let names: Vec<&str> =
            space.keys.keys().chain(removed.map(|(name, _)| name)).map(String::as_str).collect();
        let column = names.iter().map(|name| text::width(name)).max().unwrap_or(0).min(self.width / 3).max(4);
        let keys = space.keys.iter().flat_map(|(name, key)| self.key((name, key), &names, column));
        keys.chain(self.removed()).collect()
    }

    fn key(&self, (name, key): (&str, &KeyState), names: &[&str], column: usize) -> Vec<Line<'a>> {
        let scene = self.scene;
        let over = key.is_expired(scene.display);
        let (mark, mut name_style) = self.mark(name);
        if over && !self.marked.contains_key(name) {
            name_style = scene.style(Role::Chrome).add_modifier(Modifier::CROSSED_OUT);
        }
        let fresh = if self.server.changes.contains_key(name) { Role::Fresh } else { Role::Text };
        let room = |lease: &[Span<'_>]| {
            let taken: usize = lease.iter().map(Span::width).sum();
            self.width.saturating_sub(column + 4 + taken + 2)
        };
        let value = if over { String::new() } else { value(&key.value) };
        let wide = text::width(&text::clean(&value));
        // The name and the value of a key that has just changed are never cut, others only for lack of rows.
        let long = text::width(name) > column;
        // The value takes precedence over the bar of the lease.
        let most = room(&self.lease(name, key, 0));
        let own = (fresh == Role::Fresh || self.whole()) && (long || wide > most);
        let lease = self.lease(name, key, if own { usize::MAX } else { most.saturating_sub(wide) });
        let room = room(&lease);
        let below = if own { text::wrap(&value, self.width.saturating_sub(4)) } else { Vec::new() };
        let value = if own { String::new() } else { value };
        let mut spans = vec![mark];
        if own && long {
            spans.push(Span::styled(format!("{}  ", text::clean(name)), name_style));
        } else {
            let value = text::pad(&value, room.min(text::width(&value).max(10)));
            let name = text::fit_apart(name, names, column);
            spans.push(Span::styled(text::pad(&name, column), name_style));
            spans.push(Span::styled(format!("  {value}  "), scene.style(fresh)));
        }
        spans.extend(lease);
        let below = below.into_iter().map(|row| Line::styled(format!("    {row}"), scene.style(fresh)));
        std::iter::once(Line::from(spans)).chain(below).collect()
    }

    /// The rest of the lease, with a bar of at most `most` cells.
    fn lease(&self, name: &str, key: &KeyState, most: usize) -> Vec<Span<'a>> {
        let scene = self.scene;
        let Some(end) = key.expires_at else {
            let role = if is_lock_key(name, key) { Role::Warning } else { Role::Chrome };
            return vec![Span::styled(words::NO_EXPIRY.get(scene.lang), scene.style(role))];
        };
        if key.is_expired(scene.display) {
            return vec![Span::styled(words::GONE.get(scene.lang), scene.style(Role::Warning))];
        }
        let left = end.since(scene.display);
        let truth = scene.chart.truths.iter().find(|truth| truth.server == self.server.info.name);
        let given = truth.and_then(|truth| truth.lease_at(name, scene.display, scene.world.position));
        let whole = given.map_or(left, |Lease { from, to, .. }| to.since(from)).max(left);
        let share = left.as_secs_f64() / whole.as_secs_f64().max(f64::EPSILON);
        let bar = if self.width < NARROW { BAR.1 } else { BAR.0 };
        let bar = if most < LEAST_BAR { 0 } else { bar.min(most) };
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "a share from 0 to 1 of a dozen cells"
        )]
        let full = ((share * bar as f64).ceil() as usize).min(bar);
        let role = if share < 0.25 { Role::Warning } else { Role::Good };
        let style = scene.style(role).remove_modifier(Modifier::BOLD);
        if bar == 0 {
            // Beside a value that needs the room, no column is left blank.
            return vec![Span::styled(time::stretch(left), style)];
        }
        vec![
            Span::styled("▰".repeat(full), style),
            Span::styled("▱".repeat(bar - full), scene.style(Role::Chrome)),
            Span::styled(format!(" {:>5}", time::stretch(left)), style),
        ]
    }
}

pub(crate) fn value(value: &KeyValue) -> String {
    match value {
        KeyValue::String(text) => format!("\"{text}\""),
        KeyValue::Hash(fields) => {
            let pairs: Vec<_> = fields.iter().map(|(field, value)| format!("{field}: {value}")).collect();
            format!("{{{}}}", pairs.join(", "))
        }
        KeyValue::List(items) => format!("[{}]", items.join(", ")),
        KeyValue::Set(members) => format!("{{{}}}", members.join(", ")),
        KeyValue::SortedSet(members) => {
            let pairs: Vec<_> = members.iter().map(|(member, score)| format!("{member}={score}")).collect();
            format!("<{}>", pairs.join(", "))
        }
        KeyValue::Stream(entries) => {
            let entry = |(id, fields): &(String, BTreeMap<String, String>)| {
                let fields: Vec<_> = fields.iter().map(|(field, value)| format!("{field}={value}")).collect();
                format!("{id} {}", fields.join(" "))
            };
            format!("stream {}", entries.iter().map(entry).collect::<Vec<_>>().join(", "))
        }
        KeyValue::Other(kind) => format!("({kind})"),
    }
}
