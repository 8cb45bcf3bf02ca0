//! How far Sentinels have come with a failover: which servers they miss, for whom they voted, who was elected and which
//! server it makes the master.

use crate::log::SentinelNotice;

/// The most servers and votes that are kept: a foreign recording may name any number.
const MOST: usize = 16;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sentinels {
    /// For each server, the Sentinels that it does not answer.
    pub missed: Vec<(String, Vec<String>)>,
    /// How many Sentinels must miss the master, once a message has said it.
    pub quorum: Option<u32>,
    pub epoch: u64,
    /// The votes in this epoch: voter and candidate.
    pub votes: Vec<(String, String)>,
    /// The Sentinel elected in this epoch.
    pub leader: Option<String>,
    /// The server that the elected Sentinel makes the master.
    pub chosen: Option<String>,
    /// Whether the last step changed any of this.
    pub is_news: bool,
}

impl Sentinels {
    /// Whether no Sentinel misses a server or has voted.
    pub fn is_silent(&self) -> bool {
        self.missed.is_empty() && self.votes.is_empty()
    }

    pub(crate) fn hear(&mut self, sentinel: &str, notice: &SentinelNotice) {
        let before = self.clone();
        self.note(sentinel, notice);
        self.is_news |= *self != before;
    }

    fn note(&mut self, sentinel: &str, notice: &SentinelNotice) {
        match notice {
            SentinelNotice::Misses { server } => {
                let n = self.missed.iter().position(|(known, _)| known == server).unwrap_or_else(|| {
                    self.missed.truncate(MOST - 1);
                    self.missed.push((server.clone(), Vec::new()));
                    self.missed.len() - 1
                });
                let by = &mut self.missed[n].1;
                if by.len() < MOST && !by.iter().any(|known| known == sentinel) {
                    by.push(sentinel.to_owned());
                }
            }
            SentinelNotice::Hears { server } => {
                for (_, by) in self.missed.iter_mut().filter(|(known, _)| known == server) {
                    by.retain(|known| known != sentinel);
                }
                self.missed.retain(|(_, by)| !by.is_empty());
            }
            SentinelNotice::Agrees { quorum, .. } => self.quorum = Some(*quorum),
            SentinelNotice::Votes { leader, epoch } if *epoch >= self.epoch => {
                if *epoch > self.epoch {
                    (self.epoch, self.leader, self.chosen) = (*epoch, None, None);
                    self.votes.clear();
                }
                if self.votes.len() < MOST {
                    self.votes.push((sentinel.to_owned(), leader.clone()));
                }
            }
            SentinelNotice::Elected => self.leader = Some(sentinel.to_owned()),
            SentinelNotice::Aborts { .. } => (self.leader, self.chosen) = (None, None),
            SentinelNotice::Selects { server } => self.chosen = Some(server.clone()),
            // A server that can be reconfigured answers again.
            SentinelNotice::Demotes { server } => self.missed.retain(|(known, _)| known != server),
            // A vote of a past epoch, and messages about carrying out the decision.
            SentinelNotice::Votes { .. }
            | SentinelNotice::Promotes { .. }
            | SentinelNotice::Switches { .. }
            | SentinelNotice::Reconfigures { .. } => {}
        }
    }

    /// The candidates with their votes in this epoch, in the order of their first vote.
    pub fn tally(&self) -> Vec<(&str, usize)> {
        let mut tally: Vec<(&str, usize)> = Vec::new();
        for (_, leader) in &self.votes {
            match tally.iter_mut().find(|(known, _)| known == leader) {
                Some((_, votes)) => *votes += 1,
                None => tally.push((leader, 1)),
            }
        }
        tally
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hear(sentinels: &mut Sentinels, sentinel: u8, notice: &SentinelNotice) {
        sentinels.hear(&format!("sentinel{sentinel}"), notice);
    }

    #[test]
    fn a_failover_is_followed_from_who_misses_the_master_to_whom_they_make_one() {
        let mut sentinels = Sentinels::default();
        assert!(sentinels.is_silent());
        let missed = SentinelNotice::Misses { server: "node1".into() };
        for sentinel in [2, 1, 2] {
            hear(&mut sentinels, sentinel, &missed);
        }
        assert_eq!(sentinels.missed, [("node1".to_owned(), vec!["sentinel2".into(), "sentinel1".into()])]);
        let agreed = SentinelNotice::Agrees { server: "node1".into(), votes: 2, quorum: 2 };
        hear(&mut sentinels, 2, &agreed);
        sentinels.is_news = false;
        hear(&mut sentinels, 1, &agreed);
        assert!(!sentinels.is_news, "another says what is known");
        let vote = |leader: &str, epoch| SentinelNotice::Votes { leader: leader.into(), epoch };
        // No Sentinel votes twice, and votes start anew with the next epoch.
        hear(&mut sentinels, 1, &vote("sentinel1", 1));
        hear(&mut sentinels, 2, &vote("sentinel2", 1));
        assert_eq!(sentinels.tally(), [("sentinel1", 1), ("sentinel2", 1)]);
        for sentinel in [2, 1, 3] {
            hear(&mut sentinels, sentinel, &vote("sentinel2", 2));
        }
        hear(&mut sentinels, 1, &vote("sentinel1", 1));
        assert_eq!((sentinels.epoch, sentinels.tally()), (2, vec![("sentinel2", 3)]));
        hear(&mut sentinels, 2, &SentinelNotice::Elected);
        hear(&mut sentinels, 2, &SentinelNotice::Selects { server: "node2".into() });
        assert_eq!(sentinels.leader.as_deref(), Some("sentinel2"));
        assert_eq!(sentinels.chosen.as_deref(), Some("node2"));
        for sentinel in [1, 2] {
            hear(&mut sentinels, sentinel, &SentinelNotice::Hears { server: "node1".into() });
        }
        assert!(sentinels.missed.is_empty());
        hear(&mut sentinels, 3, &missed);
        hear(&mut sentinels, 1, &SentinelNotice::Demotes { server: "node1".into() });
        assert!(sentinels.missed.is_empty(), "it was told that it is a replica");
    }
}
