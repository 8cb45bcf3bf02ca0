//! mariadbd.

use crate::{
    process::version::Version,
    server::program::{Executable, version_of},
};

pub(crate) const SERVER: Executable = Executable {
    id: "mariadbd",
    name: "mariadbd",
    title: "MariaDB",
    variable: "LOCKSTEP_MARIADBD",
    // Older versions have not been tested.
    needed: Version::new(10, 11, 0),
    in_lab: |_| true,
    find: |search| search.program(SERVER.name, SERVER.variable),
    version: |path| version_of(path, &["--no-defaults", "--version"], "Ver "),
    // The server without its service and its scripts.
    apt: "mariadb-server-core",
    brew: "mariadb",
    apt_note: None,
};
