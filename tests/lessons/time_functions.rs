//! Which of libc's time functions the servers and Lockstep import, and whether the lesson clock answers them.

use crate::place::LOCKSTEP;
use lockstep::{
    clock::LessonClock,
    lab::{
        doctor::{self, ProgramStatus},
        programs::Search,
    },
};
use object::Object;
use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// libc's functions that read a clock, wait until a time or for a duration, or set a timer.
const TIME_FUNCTIONS: &str = "adjtimex clock_adjtime clock_gettime ftime __gettimeofday gettimeofday ntp_adjtime \
    ntp_gettime ntp_gettimex time times timespec_get \
    clock_nanosleep __nanosleep nanosleep sleep thrd_sleep usleep \
    cnd_timedwait mtx_timedlock pthread_clockjoin_np pthread_cond_clockwait pthread_cond_timedwait \
    pthread_mutex_clocklock pthread_mutex_timedlock pthread_rwlock_clockrdlock pthread_rwlock_clockwrlock \
    pthread_rwlock_timedrdlock pthread_rwlock_timedwrlock pthread_timedjoin_np sem_clockwait sem_timedwait \
    semtimedop mq_timedreceive mq_timedsend \
    aio_suspend aio_suspend64 epoll_pwait epoll_pwait2 epoll_wait gai_suspend __poll poll __poll_chk ppoll \
    __ppoll_chk pselect recvmmsg __select select \
    alarm getitimer setitimer sigtimedwait timer_gettime timer_settime timerfd_gettime timerfd_settime ualarm \
    syscall";

/// Functions that stay in real time, and why that does no harm.
const UNANSWERED: [(&str, &str, &str); 5] = [
    ("redis", "setitimer", "only for its watchdog, which is off and measures real work"),
    ("java", "times", "asked for processor time"),
    ("mariadb", "times", "asked for processor time"),
    ("mariadb", "alarm", "only repeats signals among its own threads"),
    ("java", "timer_settime", "its profiler measures processor time"),
];

/// Each program that runs on the clock, with the libraries that are its own.
fn programs() -> Vec<(&'static str, PathBuf)> {
    let reports = doctor::programs(&Search::from_environment());
    let found = |id: &str| match &reports.iter().find(|report| report.program.id == id).expect(id).status {
        ProgramStatus::Found { path, .. } => path.clone(),
        other => panic!("{id}: {other:?}"),
    };
    let java = found("java");
    let settings =
        Command::new(java).args(["-XshowSettings:properties", "-version"]).output().expect("its settings");
    let settings = String::from_utf8_lossy(&settings.stderr).into_owned();
    let home = settings
        .lines()
        .find_map(|line| line.trim().strip_prefix("java.home = "))
        .unwrap_or_else(|| panic!("{settings}"));
    let libraries = Path::new(home).join("lib");
    let java = ["server/libjvm.so", "libjava.so", "libnet.so", "libnio.so"];
    let mut programs = vec![
        ("redis", found("redis-server")),
        ("redis", found("redis-sentinel")),
        ("mariadb", found("mariadbd")),
        ("lockstep", LOCKSTEP.into()),
    ];
    programs.extend(java.map(|library| ("java", libraries.join(library))));
    programs
}

/// The functions that a program or a library imports from others, and those that it exports.
fn dynamic_symbols(file: &Path) -> [BTreeSet<String>; 2] {
    let name = |name: &[u8]| String::from_utf8_lossy(name).into_owned();
    let data = fs::read(file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
    let object = object::File::parse(&*data).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
    let imports = object.imports().expect("its imports");
    let exports = object.exports().expect("its exports");
    [
        imports.iter().map(|import| name(import.name())).collect(),
        exports.iter().map(|export| name(export.name())).collect(),
    ]
}

/// Functions that programs of users may use, and that stay in real time.
const REAL_FOR_USERS: [(&str, &str); 7] = [
    ("adjtimex clock_adjtime ntp_adjtime ntp_gettime ntp_gettimex", "the clock of the machine"),
    ("times", "asked for processor time"),
    ("ftime", "replaced by `gettimeofday` decades ago; new programs cannot be linked to it"),
    ("__gettimeofday __nanosleep __poll __select", "names for libc itself"),
    ("recvmmsg", "looks at its time only when a packet arrives"),
    (
        "alarm getitimer setitimer ualarm timer_gettime timer_settime",
        "the signals of the kernel: docs/attach.md says so",
    ),
    ("timerfd_gettime", "shows what is left of a nap"),
];

#[test]
fn the_library_answers_everything_else_that_programs_of_users_may_use() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let _clock = LessonClock::with_library_in(dir.path(), dir.path()).expect("a controlled clock");
    let [_, answered] = dynamic_symbols(&dir.path().join("lesson_clock.so"));
    let real: BTreeSet<&str> =
        REAL_FOR_USERS.iter().flat_map(|(functions, _)| functions.split_whitespace()).collect();
    for function in TIME_FUNCTIONS.split_whitespace() {
        assert_ne!(answered.contains(function), real.contains(function), "{function}: either, and not both");
    }
}

#[test]
fn the_library_answers_every_time_function_that_a_program_uses() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let _clock = LessonClock::with_library_in(dir.path(), dir.path()).expect("a controlled clock");
    let [_, answered] = dynamic_symbols(&dir.path().join("lesson_clock.so"));
    for (_, function, why) in UNANSWERED {
        assert!(!answered.contains(function), "{function} is answered ({why})");
    }
    for (program, file) in programs() {
        let [imports, _] = dynamic_symbols(&file);
        let mut asked =
            TIME_FUNCTIONS.split_whitespace().filter(|function| imports.contains(*function)).peekable();
        assert!(asked.peek().is_some(), "{} asks for no time at all", file.display());
        let unanswered: Vec<_> = asked
            .filter(|function| !answered.contains(*function))
            .filter(|function| !UNANSWERED.iter().any(|known| (known.0, known.1) == (program, function)))
            .collect();
        assert!(
            unanswered.is_empty(),
            "{} uses {unanswered:?} in real time: the library should answer it (see preload/lesson_clock.rs), or \
             UNANSWERED say why not",
            file.display()
        );
    }
}
