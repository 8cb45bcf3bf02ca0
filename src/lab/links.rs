//! The links of a lab, and the member of an ensemble that each client connects to.

use std::io;

use super::{Lab, LabError, limits};
use crate::clock::LessonTime;
use crate::log::{LinkId, Product};
use crate::server::boot::{Endpoint, Server};
use crate::server::link::{InnerEnd, Link, LinkAddress, LinkState, MemberChoice};

impl Lab {
    /// Creates the link `CLIENT->SERVER` unless it exists, and returns the client's end of it.
    pub async fn link(&mut self, client: &str, server: &str) -> Result<LinkAddress, LabError> {
        let id = LinkId::new(client, server);
        if let Some(link) = self.links.get(&id) {
            return Ok(link.address().clone());
        }
        // A number instead of the client's name: a socket's path is limited in length.
        let socket = self.workspace.join(&format!("link-{}.sock", self.links.len()));
        let endpoint = &self.server(server)?.endpoint;
        let link = Link::lay(id.clone(), endpoint, &socket, &self.clock)
            .await
            .map_err(|source| LabError::Link { link: id.to_string(), source })
            .map_err(limits::named)?;
        Ok(self.links.entry(id).or_insert(link).address().clone())
    }

    /// A client's link to a server, for a client inside this process.
    pub(crate) async fn inner_link(&mut self, client: &str, server: &str) -> Result<InnerEnd, LabError> {
        self.link(client, server).await?;
        let id = LinkId::new(client, server);
        let endpoint = &self.server(server)?.endpoint;
        let link = self.links.get(&id).map(|link| link.inner_end(endpoint));
        link.ok_or_else(|| LabError::Link { link: id.to_string(), source: io::ErrorKind::NotFound.into() })
    }

    /// Creates a client's links to every server of an ensemble, and returns the client's single end of them. The client
    /// connects to the `first` server first.
    pub(crate) async fn link_to_any(
        &mut self,
        client: &str,
        members: &[&str],
        first: usize,
    ) -> Result<LinkAddress, LabError> {
        let tcp = |server: &Server| match &server.endpoint {
            Endpoint::Tcp(address) => Some((LinkId::new(client, &server.info.name), *address)),
            Endpoint::Unix(_) => None,
        };
        let all = self.servers.iter().filter(|server| members.contains(&server.info.name.as_str()));
        let servers = all.filter_map(tcp).collect();
        // A ZooKeeper session has one connection. etcd's clients have several, and end one with each watch.
        let stays = self.kind.part_of(members[first]).product() == Product::Etcd;
        let (links, home) = Link::lay_to_ensemble(servers, first, stays, &self.clock)
            .await
            .map_err(|source| LabError::Link { link: client.to_owned(), source })
            .map_err(limits::named)?;
        let address = links[0].address().clone();
        self.links.extend(links.into_iter().map(|link| (link.id().clone(), link)));
        self.member_choices.insert(client.to_owned(), home);
        Ok(address)
    }

    /// The server of an ensemble that a client is connected to, or tries next.
    pub(crate) fn home(&self, client: &str) -> Option<&str> {
        self.homes(client).next()
    }

    /// The servers of an ensemble in the order in which a client tries them.
    pub(crate) fn homes(&self, client: &str) -> impl Iterator<Item = &str> {
        let ensemble = self.kind.parts().iter().find(|part| part.is_ensemble());
        let at = self.member_choices.get(client).map(MemberChoice::at);
        let servers = ensemble
            .zip(at)
            .map(|(part, at)| part.servers().iter().cycle().skip(at).take(part.servers().len()));
        servers.into_iter().flatten().copied()
    }

    pub fn link_states(&self) -> impl Iterator<Item = (&LinkId, LinkState)> {
        self.links.iter().map(|(id, link)| (id, link.state()))
    }

    /// When the next data on delayed links arrives.
    pub fn next_arrival(&self) -> Option<LessonTime> {
        self.links.values().filter_map(Link::next_arrival).min()
    }

    /// Waits until the delayed links have taken in everything that the servers have sent so far.
    pub async fn take_in(&self) {
        for link in self.links.values() {
            link.take_in().await;
        }
    }

    /// Lets data that is due by now arrive. Returns whether there was any.
    pub async fn deliver_due(&self, now: LessonTime) -> bool {
        let mut any = false;
        for link in self.links.values() {
            any |= link.deliver_due(now).await;
        }
        any
    }

    /// A link, to hold, cut and release it.
    pub fn link_control(&self, id: &LinkId) -> Option<&Link> {
        self.links.get(id)
    }
}
