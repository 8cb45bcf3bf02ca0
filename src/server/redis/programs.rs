//! redis-server and redis-sentinel.

use crate::{
    lesson::LabKind,
    process::version::Version,
    server::program::{Executable, version_of},
    text::Words,
};

pub(crate) const SERVER: Executable = Executable {
    id: "redis-server",
    name: "redis-server",
    title: "Redis",
    variable: "LOCKSTEP_REDIS_SERVER",
    // The first version with every command that the lessons use (`EVAL_RO`, `PEXPIRETIME`).
    needed: Version::new(7, 0, 0),
    in_lab: |_| true,
    find: |search| search.program(SERVER.name, SERVER.variable),
    version: |path| version_of(path, &["--version"], "v="),
    apt: "redis-server",
    brew: "redis",
    apt_note: Some(SERVICES),
};

pub(crate) const SENTINEL: Executable = Executable {
    id: "redis-sentinel",
    name: "redis-sentinel",
    title: "Redis Sentinel",
    variable: "LOCKSTEP_REDIS_SENTINEL",
    in_lab: LabKind::has_sentinels,
    find: |search| search.program(SENTINEL.name, SENTINEL.variable),
    apt: "redis-sentinel",
    ..SERVER
};

const SERVICES: Words = Words::new(
    "the packages redis-server and redis-sentinel also bring system services. They are not started now, but would be \
     at the next boot. Lockstep never uses them; to keep them off: \
     `sudo systemctl disable --now redis-server redis-sentinel`.",
    "redis-server 和 redis-sentinel 软件包会附带系统服务，现在不会启动，但下次开机会启动。Lockstep 从不使用它们；\
     不想让它们启动，请运行 `sudo systemctl disable --now redis-server redis-sentinel`。",
);
