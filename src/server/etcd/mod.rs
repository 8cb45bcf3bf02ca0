//! One etcd server on ports of the loopback interface.

pub(crate) mod connection;
mod http;
pub(crate) mod observe;
pub(crate) mod programs;

use std::{ffi::OsString, path::Path};

use crate::{
    clock::VDSO_VARIABLE,
    log::Product,
    process::LabError,
    server::{
        boot::{Boot, Endpoint, Launch, Server, Started, free_port, on_free_ports, ready},
        etcd::{observe::EtcdObserver, programs::SERVER},
    },
};

/// Its name in the lab.
const NAME: &str = "etcd";

/// Starts a program with more variables.
const ENV: &str = "/usr/bin/env";

/// Starts the lab's only server.
pub(crate) async fn start(boot: &Boot<'_>) -> Result<Started, LabError> {
    on_free_ports(|| start_one(boot)).await
}

async fn start_one(boot: &Boot<'_>) -> Result<Started, LabError> {
    let program = (SERVER.find)(boot.search)?;
    let port = || free_port().map_err(|source| LabError::Link { link: NAME.to_owned(), source });
    let (address, peers) = (port()?, port()?);
    // A directory of its own for each try, and a name that no other lab's server has.
    let data = boot.workspace.join(&format!("{NAME}-data"));
    let name = boot.workspace.path().file_name().unwrap_or_default().to_string_lossy().into_owned();
    let (client, peer) = (format!("http://{address}"), format!("http://{peers}"));
    // Go reads the clock past libc, in the vDSO, and only a server is to do so in lesson time: so `env` says it and not Lockstep.
    let mut arguments = vec![
        OsString::from(format!("{VDSO_VARIABLE}=1")),
        program.clone().into(),
        "--data-dir".into(),
        data.into(),
    ];
    let options = [
        ("--name", &name[..]),
        ("--listen-client-urls", &client),
        ("--advertise-client-urls", &client),
        ("--listen-peer-urls", &peer),
        ("--initial-advertise-peer-urls", &peer),
        ("--initial-cluster", &format!("{name}={peer}")),
        ("--heartbeat-interval", "100"),
        ("--election-timeout", "1000"),
        ("--logger", "zap"),
        ("--log-level", "error"),
    ];
    arguments
        .extend(options.iter().flat_map(|(option, value)| [OsString::from(option), OsString::from(value)]));
    // What is committed survives its own end; a loss of power is no fault of this lab.
    arguments.push("--unsafe-no-fsync".into());
    let started = boot.start(NAME, Path::new(ENV), &arguments)?;
    let observer = EtcdObserver { address };
    let version = ready(&started.0, || async { observer.version(&name).await.ok()? }).await?;
    SERVER.must_be_new(&program, &version)?;
    let product = Product::Etcd.traits().name;
    let server = Server::new(boot, product, version, Endpoint::Tcp(address), started, Box::new(observer));
    Ok(vec![server.restartable(Launch { program: ENV.into(), arguments })].into())
}
