//! etcd.

use crate::{
    process::version::Version,
    server::program::{Executable, version_of},
    text::Words,
};

pub(crate) const SERVER: Executable = Executable {
    id: "etcd",
    name: "etcd",
    title: "etcd",
    variable: "LOCKSTEP_ETCD",
    // Older versions have not been tested.
    needed: Version::new(3, 4, 0),
    in_lab: |_| true,
    find: |search| search.program(SERVER.name, SERVER.variable),
    version: |path| version_of(path, &["--version"], "etcd Version: "),
    apt: "etcd-server",
    brew: "etcd",
    apt_note: Some(SERVICE),
};

const SERVICE: Words = Words::new(
    "the package etcd-server also brings a system service. It is not started now, but would be at the next boot. Lockstep \
     never uses it; to keep it off: `sudo systemctl disable --now etcd`.",
    "etcd-server 软件包会附带系统服务，现在不会启动，但下次开机会启动。Lockstep 从不使用它；\
     不想让它启动，请运行 `sudo systemctl disable --now etcd`。",
);
