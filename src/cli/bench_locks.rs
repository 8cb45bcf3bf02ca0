//! `lockstep bench-locks`: the same contended work through several locks, and what each costs.

use std::{
    cell::{Cell, RefCell},
    iter,
    sync::Arc,
    time::{Duration, Instant},
};

use clap::{Args, builder::PossibleValuesParser};
use serde::Serialize;
use serde_json::{Value, json};

use super::{
    Failure, Global, INTERRUPTED, NOT_SHOWN, OK, SERVER,
    interrupt::{self, interrupted},
    meter::Meter,
    millis, print, words,
};
use crate::{
    bench::{self, Failed, Figures, LOCKS, Lock, Servers, Site, Work},
    lab::{Lab, LabOptions, Meters},
    lesson::{Expect, LabKind, Params, Scenario, library::carried, parse_millis},
    run::{open, session::EngineError},
    text::{Lang, Text},
    ui::theme::{text, time::stretch},
};

/// What to measure.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  lockstep bench-locks                                   # every lock, on servers of Lockstep's own
  lockstep bench-locks redis-polling redis-messages --clients 20
  lockstep bench-locks --redis redis://localhost:6379 --sql mysql://me:secret@localhost/test

With an address, only locks on the servers that have one are measured. What is written there has a name that no other run
has, and is removed afterwards, also after Ctrl-C.")]
pub struct BenchArgs {
    /// The locks [default: all]
    #[arg(value_name = "LOCK", value_parser = PossibleValuesParser::new(LOCKS.each_ref().map(|lock| lock.id)))]
    locks: Vec<String>,
    /// How many clients contend
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u16).range(2..=64))]
    clients: u16,
    /// How often the lock changes hands
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    hand_overs: u32,
    /// What a holder does under the lock takes so long
    #[arg(long, value_name = "TIME", default_value = "1ms", value_parser = parse_time)]
    work: Duration,
    /// What it does after that, before it asks again
    #[arg(long, value_name = "TIME", default_value = "1ms", value_parser = parse_time)]
    rest: Duration,
    /// How long a client that polls waits on average before it asks again
    #[arg(long, value_name = "TIME", default_value = "10ms", value_parser = parse_time)]
    poll: Duration,
    /// How long all may take
    #[arg(long, value_name = "TIME", default_value = "170s", value_parser = parse_long)]
    at_most: Duration,
    /// A Redis server of yours; Redlock takes part where there are three or more, each a master of its own
    #[arg(long, value_name = "URL")]
    redis: Vec<String>,
    /// ZooKeeper servers of yours: `HOST:PORT,HOST:PORT`
    #[arg(long, value_name = "HOSTS")]
    zookeeper: Option<String>,
    /// A MariaDB or MySQL server of yours: `mysql://USER:PASSWORD@HOST:PORT/DATABASE`
    #[arg(long, value_name = "URL")]
    sql: Option<String>,
    /// Does not ask before it writes to servers of yours
    #[arg(long, short)]
    yes: bool,
}

/// Much shorter than the leases.
fn parse_time(word: &str) -> Result<Duration, String> {
    parse_within(word, Duration::from_secs(1))
}

fn parse_long(word: &str) -> Result<Duration, String> {
    parse_within(word, Duration::from_secs(3600))
}

fn parse_within(word: &str, longest: Duration) -> Result<Duration, String> {
    let time = parse_millis(word).map_err(String::from)?;
    let time = Duration::from_millis(time.unsigned_abs());
    if time <= longest {
        return Ok(time);
    }
    Err(format!("at most {}", humantime::format_duration(longest)))
}

/// What came of one lock.
struct Row {
    lock: &'static Lock,
    /// The servers that it was measured on.
    on: String,
    figures: Result<Figures, Text>,
}

struct Bench<'a> {
    global: &'a Global,
    args: &'a BenchArgs,
    work: Work,
    /// What all that is written is called.
    name: String,
    options: LabOptions,
    /// The user's own servers.
    own: Vec<Servers>,
    /// Those of them that something was written to and has not been removed from.
    written: Cell<Option<usize>>,
    meter: RefCell<Meter>,
    rows: RefCell<Vec<Row>>,
}

pub(crate) fn bench_locks(global: &Global, args: &BenchArgs) -> Result<u8, Failure> {
    if global.recorded {
        let why = "measuring needs real servers, and `--recorded` asks for none; leave it away";
        return Err(Failure::usage(why));
    }
    let own = own_servers(args)?;
    let locks = chosen(args, &own)?;
    let name = bench::run_name();
    ask(global, args, &own, &name)?;
    let mut options = global.lab_options()?;
    options.wall_clock = true;
    let work = Work {
        clients: args.clients.into(),
        hand_overs: usize::try_from(args.hand_overs).unwrap_or(usize::MAX),
        work: args.work,
        rest: args.rest,
    };
    interrupt::listen(global.lang());
    super::block_on(async {
        let bench = Bench {
            global,
            args,
            work,
            name,
            options,
            own,
            written: Cell::new(None),
            meter: RefCell::new(Meter::new()),
            rows: RefCell::default(),
        };
        let cut = tokio::select! {
            done = Box::pin(bench.all(&locks)) => done.map(|()| None)?,
            signal = interrupted() => {
                interrupt::heard();
                Some(signal)
            }
        };
        bench.clean().await;
        bench.meter.replace(Meter::new());
        let rows = bench.rows.take();
        if !global.json && !rows.is_empty() {
            print::line(&report(&rows, work, global.lang()))?;
            print::line(&faults_table(&locks, global.lang()))?;
        }
        let overlaps = |row: &Row| row.figures.as_ref().is_ok_and(|figures| figures.overlaps > 0);
        Ok(if cut.is_some() {
            INTERRUPTED
        } else if rows.iter().any(overlaps) {
            NOT_SHOWN
        } else if rows.iter().any(|row| row.figures.is_err()) {
            SERVER
        } else {
            OK
        })
    })
}

fn own_servers(args: &BenchArgs) -> Result<Vec<Servers>, Failure> {
    let wrong = |option: &'static str| {
        move |error: Failed| Failure::usage(words::BENCH_ADDRESS.text(&[option, &error.to_string()]))
    };
    let redis = (!args.redis.is_empty()).then(|| Servers::redis(&args.redis).map_err(wrong("--redis")));
    let zookeeper = args.zookeeper.clone().map(|hosts| Ok(Servers::Zookeeper(hosts)));
    let sql = args.sql.as_deref().map(|url| Servers::sql(url).map_err(wrong("--sql")));
    redis.into_iter().chain(zookeeper).chain(sql).collect()
}

/// Those that were named, or all that there are servers for.
fn chosen(args: &BenchArgs, own: &[Servers]) -> Result<Vec<&'static Lock>, Failure> {
    let named =
        LOCKS.iter().filter(|lock| args.locks.is_empty() || args.locks.iter().any(|id| id == lock.id));
    let (served, unserved): (Vec<_>, Vec<_>) =
        named.partition(|lock| own.is_empty() || own.iter().any(|servers| servers.serve(lock)));
    if unserved.is_empty() || (args.locks.is_empty() && !served.is_empty()) {
        return Ok(served);
    }
    let ids: Vec<&str> = unserved.iter().map(|lock| lock.id).collect();
    Err(Failure::usage(words::BENCH_NOT_THERE.text(&[&ids.join(", ")])))
}

/// Nothing is written to servers of the user's that the user has not allowed.
fn ask(global: &Global, args: &BenchArgs, own: &[Servers], name: &str) -> Result<(), Failure> {
    if own.is_empty() || args.yes {
        return Ok(());
    }
    let places = own.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
    match print::ask(&words::BENCH_WRITES.with(global.lang(), &[&places, name]), false)? {
        Some(true) => Ok(()),
        Some(false) => Err(Failure::usage(words::BENCH_REFUSED.text(&[]))),
        None => Err(Failure::usage(words::BENCH_UNASKED.text(&[&places]))),
    }
}

impl Bench<'_> {
    async fn all(&self, locks: &[&'static Lock]) -> Result<(), Failure> {
        let end = Instant::now() + self.args.at_most;
        let mut lab: Option<Lab> = None;
        for (number, lock) in locks.iter().enumerate() {
            let left = u32::try_from(locks.len() - number).unwrap_or(1);
            let row = self.one(lock, &mut lab, (number, locks.len()), || {
                end.saturating_duration_since(Instant::now()) / left
            });
            let row = row.await;
            if self.global.json {
                print::json(&self.json(&row))?;
            }
            self.rows.borrow_mut().push(row);
        }
        Ok(())
    }

    async fn one(
        &self,
        lock: &'static Lock,
        lab: &mut Option<Lab>,
        (number, of): (usize, usize),
        at_most: impl Fn() -> Duration,
    ) -> Row {
        let lang = self.global.lang();
        let (place, of) = ((number + 1).to_string(), of.to_string());
        let title = lock.title.get(lang);
        let own = self.own.iter().position(|servers| servers.serve(lock));
        let show = |line: &dyn Fn() -> String| self.meter.borrow_mut().show(|_| line());
        let reached = if let Some(own) = own {
            Ok((self.own[own].for_lock(lock), None, self.own[own].to_string()))
        } else {
            show(&|| words::BENCH_STARTS.with(lang, &[title, &place, &of]));
            self.start(lock.lab, lab).await
        };
        let (servers, meters, on) = match reached {
            Ok(reached) => reached,
            Err(why) => return Row { lock, on: String::new(), figures: Err(why) },
        };
        self.written.set(own);
        let site = Arc::new(Site::new(servers, self.name.clone(), self.args.poll, meters));
        let watch = |grants: usize, wanted: usize| {
            let counts = [grants.to_string(), wanted.to_string()];
            show(&|| words::BENCHING.with(lang, &[title, &counts[0], &counts[1], &place, &of]));
        };
        let figures = bench::measure(lock, &site, self.work, at_most(), &watch).await;
        let cleaned = site.servers.clean(&self.name).await;
        if cleaned.is_ok() {
            self.written.set(None);
        }
        let figures = figures.and_then(|figures| cleaned.map(|()| figures));
        Row { lock, on, figures: figures.map_err(|why| why.to_string().into()) }
    }

    /// The servers of a lab, which is there already or takes the place of the one before.
    async fn start(
        &self,
        kind: LabKind,
        lab: &mut Option<Lab>,
    ) -> Result<(Servers, Option<Meters>, String), Text> {
        if lab.as_ref().is_none_or(|lab| lab.kind() != kind) {
            if let Some(before) = lab.take() {
                before.shutdown().await;
            }
            *lab =
                Some(Lab::start(kind, &self.options).await.map_err(|error| EngineError::from(error).text())?);
        }
        let Some(lab) = lab else { return Err(Text::default()) };
        let servers = Servers::of(lab).map_err(|error| error.to_string())?;
        let infos = lab.servers();
        let on =
            infos.first().map(|server| format!("{} × {} {}", infos.len(), server.product, server.version));
        Ok((servers, Some(lab.meters()), on.unwrap_or_default()))
    }

    /// Removes what an interrupted contest has left on the user's own servers.
    async fn clean(&self) {
        let Some(servers) = self.written.take().and_then(|own| self.own.get(own)) else { return };
        if let Err(error) = servers.clean(&self.name).await {
            let (place, why) = (servers.to_string(), error.to_string());
            print::complain(&words::BENCH_LEFT.with(self.global.lang(), &[&place, &self.name, &why]));
        }
    }

    fn json(&self, row: &Row) -> Value {
        json!({
            "lock": row.lock.id,
            "on": row.on,
            "clients": self.work.clients,
            "work_ms": millis(self.work.work),
            "rest_ms": millis(self.work.rest),
            "poll_ms": millis(self.args.poll),
            "faults": faults(row.lock),
            "figures": row.figures.as_ref().ok(),
            "failed": row.figures.as_ref().err(),
        })
    }
}

/// The lesson that puts the same faults to the same locks.
const LESSON: &str = "which-lock";

/// What a fault did to a lock, as the recording of that run has it.
#[derive(Debug, Serialize)]
struct FaultSeen {
    fault: String,
    variant: String,
    /// Whether two clients were inside at the same time.
    two_inside: bool,
    waited_ms: Option<u64>,
}

/// Of each column of the lesson's table: its title, and what became of the lock, where that was run.
fn faults(lock: &Lock) -> Vec<FaultSeen> {
    let Some(loaded) = carried(LESSON) else { return Vec::new() };
    let columns = loaded.lesson.table.iter().flat_map(|table| table.columns.keys());
    let cell = |column: &String| {
        let variant = format!("{}-{column}", lock.id);
        let scenario = Scenario::plan(&loaded, &variant, &Params::new()).ok()?;
        let two_inside = scenario.variant().expect == Expect::Shown;
        Some(FaultSeen { fault: column.clone(), waited_ms: open::figure(&scenario), two_inside, variant })
    };
    columns.filter_map(cell).collect()
}

/// The same for people.
fn faults_table(locks: &[&Lock], lang: Lang) -> String {
    let Some(loaded) = carried(LESSON) else { return String::new() };
    let Some(table) = &loaded.lesson.table else { return String::new() };
    let heads = table.columns.values().map(|title| title.get(lang).to_owned());
    let mut rows: Vec<Vec<String>> =
        vec![iter::once(words::BENCH_LOCK.get(lang).to_owned()).chain(heads).collect()];
    rows.extend(locks.iter().map(|lock| {
        let faults = faults(lock);
        let cells = table.columns.keys().map(|column| {
            let Some(fault) = faults.iter().find(|fault| fault.fault == *column) else {
                return "—".to_owned();
            };
            let waited = fault.waited_ms.map_or_else(String::new, |ms| stretch(Duration::from_millis(ms)));
            format!("{} {waited}", if fault.two_inside { "✗" } else { "✓" })
        });
        iter::once(lock.title.get(lang).to_owned()).chain(cells).collect()
    }));
    let mut lines = vec![String::new(), words::BENCH_FAULTS.get(lang).to_owned()];
    lines.extend(aligned(&rows));
    lines.extend(text::wrap(table.legend.get(lang), 100).into_iter().map(|line| format!("  {line}")));
    lines.join("\n")
}

/// The longest bar, in cells.
const BAR: usize = 40;

/// What the bars are of.
const CHARTED: [fn(&Figures) -> f64; 3] = [
    |figures| figures.per_second,
    |figures| figures.median_ms,
    |figures| figures.requests + figures.notifications,
];

/// A table, bars, and what they do not tell.
fn report(rows: &[Row], work: Work, lang: Lang) -> String {
    let time = |time: Duration| humantime::format_duration(time).to_string();
    let (clients, hand_overs) = (work.clients.to_string(), work.hand_overs.to_string());
    let head = words::BENCH.with(lang, &[&clients, &hand_overs, &time(work.work), &time(work.rest)]);
    let mut lines = text::wrap(&head, 100);
    lines.push(String::new());
    let measured: Vec<(&Row, &Figures)> =
        rows.iter().filter_map(|row| Some((row, row.figures.as_ref().ok()?))).collect();
    let name = |row: &Row| row.lock.title.get(lang);
    if !measured.is_empty() {
        let mut table = vec![
            [words::BENCH_LOCK]
                .iter()
                .chain(&words::BENCH_COLUMNS)
                .map(|head| head.get(lang).to_owned())
                .collect(),
        ];
        table.extend(measured.iter().map(|(row, figures)| cells(name(row), figures)));
        lines.extend(aligned(&table));
        lines.extend(
            text::wrap(words::BENCH_LEGEND.get(lang), 100).into_iter().map(|line| format!("  {line}")),
        );
        for (title, value) in words::BENCH_CHARTS.iter().zip(CHARTED) {
            lines.extend([String::new(), title.get(lang).to_owned()]);
            let bars: Vec<(&str, f64)> =
                measured.iter().map(|(row, figures)| (name(row), value(figures))).collect();
            lines.extend(chart(&bars));
        }
        lines.push(String::new());
    }
    for row in rows {
        let wanted = work.hand_overs.to_string();
        lines.extend(match &row.figures {
            Err(why) => Some(words::BENCH_FAILED.with(lang, &[name(row), why.get(lang)])),
            Ok(figures) if figures.overlaps > 0 => {
                Some(words::BENCH_OVERLAP.with(lang, &[name(row), &figures.overlaps.to_string()]))
            }
            Ok(figures) if figures.hand_overs < work.hand_overs => {
                Some(words::BENCH_SHORT.with(lang, &[name(row), &figures.hand_overs.to_string(), &wanted]))
            }
            Ok(_) => None,
        });
    }
    if !measured.is_empty() && measured.iter().all(|(_, figures)| figures.overlaps == 0) {
        lines.push(words::BENCH_EXCLUSIVE.get(lang).to_owned());
    }
    lines.extend(text::wrap(words::BENCH_LEAVES_OUT.get(lang), 100));
    lines.join("\n")
}

fn cells(name: &str, figures: &Figures) -> Vec<String> {
    let unknown = || "?".to_owned();
    vec![
        name.to_owned(),
        format!("{:.0}", figures.per_second),
        time(figures.median_ms),
        time(figures.p99_ms),
        time(figures.longest_wait_ms),
        format!("{:.1}", figures.requests),
        format!("{:.1}", figures.notifications),
        format!("{:.2}", figures.fairness),
        figures.cpu_ms.map_or_else(unknown, time),
        figures.memory_mib.map_or_else(unknown, |memory| format!("{memory:.0} MiB")),
    ]
}

fn time(ms: f64) -> String {
    match ms {
        ..10.0 => format!("{ms:.2} ms"),
        ..1000.0 => format!("{ms:.0} ms"),
        _ => format!("{:.1} s", ms / 1000.0),
    }
}

/// Columns: the first from its left edge, the others to their right.
fn aligned(table: &[Vec<String>]) -> Vec<String> {
    let columns = table.first().map_or(0, Vec::len);
    let wide = |column: usize| table.iter().map(|row| text::width(&row[column])).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(wide).collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).enumerate().map(|(n, (cell, wide))| {
            let space = " ".repeat(wide - text::width(cell));
            if n == 0 { format!("{cell}{space}") } else { format!("{space}{cell}") }
        });
        format!("  {}", cells.collect::<Vec<_>>().join("  "))
    };
    table.iter().map(line).collect()
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "a few cells"
)]
fn chart(bars: &[(&str, f64)]) -> Vec<String> {
    let most = bars.iter().map(|(_, value)| *value).fold(f64::MIN_POSITIVE, f64::max);
    let wide = bars.iter().map(|(name, _)| text::width(name)).max().unwrap_or(0);
    let line = |(name, value): &(&str, f64)| {
        let cells = (value / most * BAR as f64).ceil() as usize;
        let value = if *value < 10.0 { format!("{value:.2}") } else { format!("{value:.0}") };
        format!("  {}  {} {value}", text::pad(name, wide), "█".repeat(cells))
    };
    bars.iter().map(line).collect()
}
