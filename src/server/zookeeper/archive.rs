//! An archive of the classes that ZooKeeper's Java loads at its start (`AppCDS`), with which the start takes little
//! more than half the time. It is made once, in the background and with the lowest priority, by a server that is not
//! part of any lab.
//!
//! **Architecture Invariant:** the archive exists complete or not at all, and a lab that cannot use or make it starts
//! without.

use std::{
    ffi::OsString,
    fs::{self, File},
    hash::{DefaultHasher, Hash, Hasher},
    io::Write,
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::Arc,
};

use futures::{FutureExt as _, future::BoxFuture};
use tokio::task::JoinSet;

use super::{Java, observe::ZookeeperObserver, settings};
use crate::{
    files,
    process::{Exit, LabError, Process, programs::Search, spawner},
    server::{
        boot::{BackgroundWork, Boot, free_port, ready},
        connection::ServerAddress,
        observe::Observer,
        zookeeper::session,
    },
};

/// Java's exit status after SIGTERM, once it has written the archive.
const ENDED: Exit = Exit::Code(128 + 15);

/// The most bytes of an archive; it has about 7 MB.
const MOST_BYTES: u64 = 64 << 20;

/// The name of the server that is started only to make the archive.
const NAME: &str = "archive";

#[derive(Debug, Clone)]
pub(super) struct Archive {
    path: PathBuf,
    /// The common prefix of the names of all archives for this Java and these jars, including archives made before one
    /// of them was replaced.
    family: String,
}

impl Archive {
    /// The archive for this Java and these jars, whether or not it exists. `None` if there is no directory for it.
    pub fn of(search: &Search, java: &Path, jars: &[PathBuf]) -> Option<Self> {
        let real = java.canonicalize().ok()?;
        let home = real.parent()?.parent()?;
        let parts = [real.clone(), home.join("lib/modules"), home.join("lib/server/libjvm.so")];
        let (mut places, mut state) = (DefaultHasher::new(), DefaultHasher::new());
        for file in parts.iter().chain(jars) {
            file.hash(&mut places);
            let facts = fs::metadata(file).ok();
            facts.and_then(|facts| Some((facts.len(), facts.modified().ok()?))).hash(&mut state);
        }
        let family = format!("zookeeper-{:016x}-", places.finish());
        let path = directory(search)?.join(format!("{family}{:016x}.jsa", state.finish()));
        Some(Self { path, family })
    }

    /// The option that makes Java use the archive, if it exists. Java ignores an archive that does not fit.
    pub fn option(&self) -> Option<OsString> {
        self.path.is_file().then(|| option("-XX:SharedArchiveFile=", &self.path))
    }

    /// Deletes the archive. One that cannot be deleted is overwritten by the next.
    pub fn discard(&self) {
        let _ = fs::remove_file(&self.path);
    }

    /// Starts making the archive, unless it exists or another process is making it. Errors are ignored: the lab works
    /// without it.
    pub fn make(&self, boot: &Boot<'_>, java: &Java) -> Option<Training> {
        if self.path.is_file() {
            return None;
        }
        let directory = self.path.parent()?;
        fs::create_dir_all(directory).ok()?;
        let lock = File::create(directory.join("zookeeper.lock")).ok()?;
        lock.try_lock().ok()?;
        Training::start(boot, java, self.clone(), lock).ok()
    }

    /// Installs the archive that Java has written, and removes the ones that it replaces.
    fn install(&self, written: &Path) -> Option<()> {
        let bytes = files::read(written, MOST_BYTES).ok()?;
        files::Output::new(&self.path).ok()?.write(|out| out.write_all(&bytes)).ok()?;
        for other in fs::read_dir(self.path.parent()?).ok()?.flatten() {
            if other.file_name().to_string_lossy().starts_with(&self.family) && other.path() != self.path {
                let _ = fs::remove_file(other.path());
            }
        }
        Some(())
    }
}

/// A server that makes an archive of its classes. Dropping it ends it.
#[derive(Debug)]
pub(crate) struct Training {
    work: JoinSet<()>,
    process: Arc<Process>,
}

impl BackgroundWork for Training {
    fn finished(&mut self) -> BoxFuture<'_, ()> {
        async { while self.work.join_next().await.is_some() {} }.boxed()
    }
}

impl Training {
    /// Starts it on the machine's clock, since a lesson may be paused meanwhile, and as an ensemble of one, which loads
    /// what a single server loads and most of what a member of an ensemble does.
    fn start(boot: &Boot<'_>, java: &Java, archive: Archive, lock: File) -> Result<Self, LabError> {
        let port = || free_port().map_err(|source| LabError::Link { link: NAME.to_owned(), source });
        let (address, quorum, election) = (port()?, port()?, port()?);
        let data = boot.workspace.make_dir(&format!("{NAME}-data"))?;
        fs::write(data.join("myid"), "1")
            .map_err(|source| LabError::Link { link: NAME.to_owned(), source })?;
        let settings = format!(
            "{}standaloneEnabled=false\ninitLimit=20\nsyncLimit=20\nserver.1=127.0.0.1:{}:{}\n",
            settings(&data, address),
            quorum.port(),
            election.port()
        );
        let config = boot.workspace.write(&format!("{NAME}.cfg"), &settings)?;
        let written = data.join("classes.jsa");
        let mut command = spawner::guarded(boot.binary, &java.program);
        command.arg(option("-XX:ArchiveClassesAtExit=", &written));
        command.args(java.arguments(boot.workspace, super::MEMBER, config)?);
        command.current_dir(boot.workspace.path());
        let (process, _) = Process::start(NAME, command, boot.workspace, false)?;
        process.in_background();
        let process = Arc::new(process);
        let mut work = JoinSet::new();
        work.spawn({
            let process = Arc::clone(&process);
            async move {
                let _alone = lock;
                if exercise(&process, address).await.is_some()
                    && process.terminate().is_ok()
                    && process.exited().await == ENDED
                {
                    // If it cannot be stored, the next lab makes it again.
                    let _ = archive.install(&written);
                }
            }
        });
        Ok(Self { work, process })
    }
}

impl Drop for Training {
    fn drop(&mut self) {
        self.process.end();
    }
}

/// Makes a server do what lessons make servers do, so that it loads the same classes.
async fn exercise(process: &Process, address: SocketAddr) -> Option<()> {
    let observer = ZookeeperObserver::new(address, true);
    ready(process, || async { observer.connect().await.ok() }).await.ok()?;
    let server = ServerAddress {
        name: NAME.to_owned(),
        product: crate::log::Product::Zookeeper,
        address: address.to_string(),
        hangs_up: false,
        listens: false,
        password: None,
    };
    let mut session = session::connect(&server, super::observe::SESSION, Arc::new(|_, _| {})).await.ok()?;
    session.empty(&["/lock/node".to_owned()]).await.ok()?;
    observer.metric("zk_packets_sent").await.ok()?;
    observer.look().await.ok().map(drop)
}

fn directory(search: &Search) -> Option<PathBuf> {
    let variable = |name| search.variable(name).map(PathBuf::from);
    let cache = || variable("XDG_CACHE_HOME").or_else(|| Some(variable("HOME")?.join(".cache")));
    let directory = variable("LOCKSTEP_CACHE").or_else(|| Some(cache()?.join("lockstep")))?;
    // A relative path would be relative to the directory of a server.
    std::path::absolute(directory).ok()
}

fn option(name: &str, path: &Path) -> OsString {
    let mut option = OsString::from(name);
    option.push(path);
    option
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_jar_or_java_of_the_same_name_has_another_archive_of_the_same_family() {
        let home = tempfile::tempdir().expect("a directory");
        let (java, jar) = (home.path().join("bin/java"), home.path().join("zookeeper.jar"));
        fs::create_dir(home.path().join("bin")).expect("made");
        fs::write(&java, "").expect("written");
        fs::write(&jar, "3.8").expect("written");
        let search = Search::new(Vec::new(), |name| (name == "LOCKSTEP_CACHE").then(|| "/nowhere".into()));
        let archive = || Archive::of(&search, &java, std::slice::from_ref(&jar)).expect("a place");
        let before = archive();
        assert_eq!(archive().path, before.path);
        fs::write(&jar, "3.8.1").expect("written");
        assert_ne!(archive().path, before.path);
        assert_eq!(archive().family, before.family);
        let nowhere = Search::new(Vec::new(), |_| None);
        assert!(Archive::of(&nowhere, &java, &[jar]).is_none(), "nowhere to keep it");
    }

    #[test]
    fn an_archive_is_taken_over_whole_and_its_predecessor_goes() {
        let cache = tempfile::tempdir().expect("a directory");
        let at = |name: &str| cache.path().join(name);
        fs::write(at("written"), "classes").expect("written");
        fs::write(at("zookeeper-1-old.jsa"), "").expect("written");
        fs::write(at("zookeeper-2-other.jsa"), "").expect("written");
        let archive = Archive { path: at("zookeeper-1-new.jsa"), family: "zookeeper-1-".to_owned() };
        assert_eq!(archive.option(), None);
        archive.install(&at("written")).expect("taken");
        assert!(archive.option().is_some() && !at("zookeeper-1-old.jsa").exists());
        assert!(at("zookeeper-2-other.jsa").exists());
        archive.discard();
        assert_eq!(archive.option(), None);
    }
}
