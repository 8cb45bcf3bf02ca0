//! `lockstep attach`: the user's own programs as clients, on the screen.

use std::{
    path::{Path, PathBuf},
    rc::Rc,
    sync::Arc,
};

use clap::{Args, ValueEnum};

use super::{Failure, Global, OK, USAGE, output, play, print, words};
use crate::{
    lab::LabOptions,
    lesson::{MOST_MASTERS, Params, Scenario, Speaks, plan::known_label},
    log::Log,
    recording::{self, AttachedPrograms, Recording},
    run::{
        Runs,
        attach::{self, Attached, PROGRAMS, Recorded, RunFiles},
    },
    text::Text,
    ui::app::{App, AppOptions, terminal},
    ui::state::catalogue::{Catalogue, CatalogueEntry, VariantPlan},
};

// The help text names this number.
const _: () = assert!(MOST_MASTERS == 9);

/// What the programs talk to.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum Server {
    /// One Redis server, or several; its address is in `REDIS_URL`, and in `REDIS_HOST` and `REDIS_PORT`
    Redis,
    /// One ZooKeeper server; its address is in `ZOOKEEPER`, as host and port
    Zookeeper,
}

/// Which programs, and how many clients run them.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  lockstep attach redis -- python3 my_worker.py
  lockstep attach redis --clients 2 -- python3 my_worker.py
  lockstep attach redis --client 'python3 one.py' --client 'node other.js'
  lockstep attach redis --servers 5 --clients 2 -- python3 my_redlock.py
  lockstep attach zookeeper --clients 2 -- python3 my_kazoo_worker.py
  lockstep attach redis --clients 2 --passes GET,HGETALL -- python3 my_worker.py
  lockstep attach redis --clients 2 --record broken.jsonl.gz -- python3 my_worker.py

Each request of the programs waits until you let it go. They run as you, with all your rights. What a program believes it \
prints, in lines that end in `HOLDS lock`, `WAITS lock` or `DROPS lock`. See docs/attach.md.")]
pub struct AttachArgs {
    /// What the programs connect to
    #[arg(value_enum, value_name = "SERVER")]
    server: Server,
    /// How many independent Redis servers; their addresses are in `REDIS_URLS`, separated by commas, and in
    /// `REDIS_URL_1`, `REDIS_URL_2` and so on
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=9))]
    servers: u8,
    /// How many clients run PROGRAM; they are named A, B, and so on
    #[arg(long, value_name = "N", default_value_t = 1)]
    clients: usize,
    /// One more client with a command of its own, written as for a shell; may be given several times
    #[arg(long = "client", value_name = "COMMAND")]
    more: Vec<String>,
    /// Watches only the lock that the programs print with this name [default: all locks]
    #[arg(long, value_name = "NAME")]
    lock: Option<String>,
    /// How many clients may hold the lock at once, as with a semaphore
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=5_000))]
    holders: u16,
    /// Commands that pass by themselves and are no moves, beside those with which libraries keep connections; separated
    /// by commas
    #[arg(long, value_name = "COMMANDS", value_delimiter = ',')]
    passes: Vec<String>,
    /// Saves each run when you leave it, for `lockstep play FILE`; compressed if FILE ends in `.gz`. Later runs go into
    /// files beside it, such as `FILE-2`
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// With --record: overwrites a file that is not a recording without asking
    #[arg(long, requires = "record")]
    force: bool,
    /// The program, and its arguments
    #[arg(last = true, value_name = "PROGRAM")]
    program: Vec<String>,
}

pub(crate) fn attach(global: &Global, args: &AttachArgs) -> Result<u8, Failure> {
    let server = match args.server {
        Server::Redis => Speaks::Redis,
        Server::Zookeeper => Speaks::Zookeeper,
    };
    let command = Some(&args.program).filter(|program| !program.is_empty());
    let mut programs: Vec<Vec<String>> = command
        .into_iter()
        .flat_map(|program| vec![program.clone(); args.clients.min(PROGRAMS.end() + 1)])
        .collect();
    let shell = |command: &String| ["sh", "-c", command].map(str::to_owned).to_vec();
    programs.extend(args.more.iter().map(shell));
    if !PROGRAMS.contains(&programs.len()) {
        let most = PROGRAMS.end().to_string();
        return Err(Failure::usage(words::ATTACH_WHAT.text(&[&most])));
    }
    let options = global.lab_options()?;
    let named = programs.iter().filter_map(|words| words.first());
    if let Some(missing) = named.into_iter().find(|program| !options.search.finds(program)) {
        return Err(Failure::usage(words::ATTACH_NO_PROGRAM.text(&[missing])));
    }
    if server != Speaks::Redis && args.servers > 1 {
        return Err(Failure::usage(words::ATTACH_SEVERAL_SERVERS.text(&[])));
    }
    let passes = args.passes.iter().map(|name| known_label(name, server.product()));
    let passes = passes.collect::<Result<_, _>>().map_err(|mistake| {
        let parts: Vec<Text> = [mistake.message].into_iter().chain(mistake.help).collect();
        Failure::usage(Text::join(&parts, "; ", "；"))
    })?;
    let (lock, holders, servers) = (args.lock.clone(), args.holders.into(), args.servers);
    let attached = AttachedPrograms { server, servers, lock, holders, passes, commands: programs };
    let scenario = attach::scenario(&attached)?;
    if !print::has_screen() {
        return Err(Failure::usage(words::ATTACH_NEEDS_TERMINAL.text(&[])));
    }
    let record = args.record.as_deref().map(|file| -> Result<_, Failure> {
        output::claim(global, file, args.force, "broken.jsonl.gz", recording::is_recording)?;
        Ok(Rc::new(RunFiles::new(file)))
    });
    let record = record.transpose()?;
    let options = LabOptions { controlled_only: true, ..options };
    let runs = Attached { scenario, options, seed: global.seed, record: record.clone() };
    let ended = show(global, &runs.scenario.clone(), runs)?;
    let Some(record) = record else { return Ok(ended) };
    report_recorded(global, &record.written(), ended)
}

/// Reports the files of the runs that were recorded, and what could not be written.
fn report_recorded(global: &Global, files: &[Result<PathBuf, Text>], ended: u8) -> Result<u8, Failure> {
    let lang = global.lang();
    for file in files.iter().flatten() {
        print::line(&words::RECORDED.with(lang, &[&file.display().to_string()]))?;
    }
    if files.is_empty() {
        print::complain(words::NOTHING_RECORDED.get(lang));
    }
    for why in files.iter().filter_map(|file| file.as_ref().err()) {
        print::complain(why.get(lang));
    }
    Ok(if ended == OK && files.iter().any(Result::is_err) { USAGE } else { ended })
}

/// Shows a recorded run of attached programs, which are not started. Returns `None` if the file is no such
/// recording.
pub(crate) fn play_recorded(global: &Global, path: &str) -> Option<Result<u8, Failure>> {
    let path = Path::new(path);
    if !recording::is_recording(path) {
        return None;
    }
    let recording = match recording::read(path) {
        Ok(recording) => recording,
        Err(error) => return Some(Err(error.into())),
    };
    let attached = recording.header.attached.clone()?;
    let show = || {
        let (scenario, log) = recorded(recording, &attached)?;
        if !print::has_screen() {
            return Err(Failure::usage(words::NEEDS_TERMINAL.text(&[])));
        }
        show(global, &scenario, Recorded::new(scenario.clone(), log))
    };
    Some(show())
}

/// The scenario and the log of a recording of attached programs.
pub(crate) fn recorded(
    mut recording: Recording,
    attached: &AttachedPrograms,
) -> Result<(Scenario, Log), Failure> {
    let scenario = attach::scenario(attached)?;
    recording.fit(&scenario)?;
    Ok((scenario, recording.log))
}

/// The catalogue entry of attached programs, which is the only one there.
pub(crate) fn entry(scenario: &Scenario) -> CatalogueEntry {
    let mut entry = play::entry(&scenario.loaded, &Params::new(), true);
    for variant in &mut entry.variants {
        variant.plan = VariantPlan::from(Arc::new(scenario.clone())).into();
    }
    entry
}

fn show(global: &Global, scenario: &Scenario, runs: impl Runs) -> Result<u8, Failure> {
    let entry = entry(scenario);
    let app_options =
        AppOptions { open: Some(attach::choice(scenario)), questions: false, ..global.app_options() };
    let ended = super::block_on(async {
        let mut screen = terminal::TerminalGuard::take()?;
        let mut app = App::new(Catalogue::new(vec![entry]), runs, &app_options);
        Ok(screen.run(terminal::input()?, &mut app).await?)
    })?;
    Ok(play::exit_code(ended))
}
