//! The columns of the sequence: every client and thread, a large crowd as one, and to their right every server.

use crate::{
    log::{Actor, ActorId, ServerInfo},
    ui::chart::crowd,
};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ColumnOwner {
    Actor(ActorId),
    Crowd {
        client: String,
        /// Its first member, whose colour stands for the crowd.
        first: ActorId,
        members: usize,
    },
    Server(String),
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Columns {
    pub all: Vec<ColumnOwner>,
    pub clients: usize,
    of_actor: Vec<usize>,
}

impl Columns {
    pub(crate) fn new(actors: &[Actor], servers: &[ServerInfo]) -> Self {
        let mut columns = Self::default();
        let crowds = crowd::crowds(actors);
        let mut of_crowd: Vec<Option<usize>> = vec![None; crowds.len()];
        for (n, actor) in actors.iter().enumerate() {
            let first = ActorId(u32::try_from(n).unwrap_or(u32::MAX));
            let next = columns.all.len();
            let crowd = crowds.iter().position(|(client, _)| actor.crowd && *client == actor.client);
            let column = crowd.and_then(|crowd| of_crowd[crowd]).unwrap_or(next);
            if column == next {
                columns.all.push(match crowd {
                    Some(crowd) => ColumnOwner::Crowd {
                        client: actor.client.clone(),
                        first,
                        members: crowds[crowd].1.len(),
                    },
                    None => ColumnOwner::Actor(first),
                });
            }
            if let Some(crowd) = crowd {
                of_crowd[crowd] = Some(column);
            }
            columns.of_actor.push(column);
        }
        columns.clients = columns.all.len();
        let servers = servers.iter().map(|server| ColumnOwner::Server(server.name.clone()));
        columns.all.extend(servers);
        columns
    }

    pub fn of(&self, actor: ActorId) -> Option<usize> {
        self.of_actor.get(actor.0 as usize).copied()
    }

    pub fn server(&self, name: &str) -> Option<usize> {
        let servers = self.all.iter().enumerate().skip(self.clients);
        servers
            .filter(|(_, who)| matches!(who, ColumnOwner::Server(server) if server == name))
            .map(|(n, _)| n)
            .next()
    }

    pub fn is_crowd(&self, column: usize) -> bool {
        matches!(self.all.get(column), Some(ColumnOwner::Crowd { .. }))
    }
}

#[cfg(test)]
mod tests {
    use super::{ColumnOwner, Columns};
    use crate::log::{
        Actor, ActorId,
        testing::{actor, crowd},
    };

    #[test]
    fn threads_have_columns_of_their_own_and_a_crowd_has_one() {
        let few = crowd(3).map(|member| Actor { client: "V".to_owned(), ..member });
        let threads = ["A.worker", "A.watchdog"].map(actor).into_iter();
        let actors: Vec<Actor> = threads.chain(crowd(900)).chain(few).collect();
        let columns = Columns::new(&actors, &[]);
        assert_eq!(columns.all.len(), 2 + 1 + 3);
        assert_eq!(columns.of(ActorId(1)), Some(1));
        assert_eq!(columns.of(ActorId(901)), Some(2));
        assert_eq!(columns.of(ActorId(902)), Some(3));
        assert!(columns.is_crowd(2) && !columns.is_crowd(3));
        assert!(matches!(columns.all[2], ColumnOwner::Crowd { members: 900, .. }));
    }
}
