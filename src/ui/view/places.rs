//! Where lanes and names stand on the screen, for what goes from one to another.

use super::Scene;
use crate::log::ActorId;

/// Where lanes and names stand on the screen: the first row of each.
#[derive(Debug, Default)]
pub struct Places<'a> {
    /// Actors with lanes of their own in sight.
    pub actors: Vec<(ActorId, u16)>,
    /// Bands in sight: the last row of each, from which things go down.
    pub bands: Vec<(usize, u16)>,
    pub servers: Vec<(&'a str, u16)>,
    /// The first row of all, and the last row of the servers.
    pub rows: (u16, u16),
    /// The first column of the names, and the column after them.
    pub left: u16,
    /// Where the sign of a master stands.
    pub role: u16,
}

impl Places<'_> {
    /// The row of a client: its lane's, or its band's, or the edge behind which it is.
    pub fn client(&self, scene: &Scene<'_>, actor: ActorId) -> u16 {
        if let Ok(n) = self.actors.binary_search_by_key(&actor, |(actor, _)| *actor) {
            return self.actors[n].1;
        }
        let band = scene.chart.lanes.get(actor.0 as usize).and_then(|lane| lane.band);
        let its = self.bands.iter().find(|(known, _)| Some(*known) == band);
        let before = self.actors.iter().any(|(seen, _)| *seen < actor);
        match its {
            Some((_, y)) => *y,
            None if before => self.rows.1.saturating_sub(1),
            None => self.rows.0,
        }
    }

    /// The row of a server, or the last one where it has none in sight.
    pub fn server(&self, name: &str) -> u16 {
        let its = self.servers.iter().find(|(server, _)| *server == name);
        its.map_or(self.rows.1, |(_, y)| *y)
    }
}
