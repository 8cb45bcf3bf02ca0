//! `lockstep bench-locks`: the same contended work through several locks, and what each costs.

mod faults;

use std::{path::PathBuf, time::Duration};

use clap::{Args, builder::PossibleValuesParser};
use serde_json::{Value, json};

use super::{
    Failure, Global, INTERRUPTED, NOT_SHOWN, OK, SERVER,
    interrupt::{self, interrupted},
    meter::Meter,
    millis, output, print, words,
};
use crate::{
    bench::{self, Failed, LOCKS, Lock, Measuring, Row, Series, SeriesUpdate, Servers, Work},
    export::{self, Format, measured::Section},
    lab::LabOptions,
    lesson::parse_millis,
    ui::{
        theme::Theme,
        view::measured,
        words::{self as screen_words, Report},
    },
};

/// The width of the report, in columns.
const WIDE: usize = 118;

/// What to measure.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  lockstep bench-locks                                   # every lock, on servers of Lockstep's own
  lockstep bench-locks redis-polling redis-messages --clients 20
  lockstep bench-locks --redis redis://localhost:6379 --sql mysql://me:secret@localhost/test

With addresses, only locks on these servers are measured. Keys, tables and znodes there get a name that no other run
has, and are removed afterwards, also after Ctrl-C.")]
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
    /// How long a holder works while it has the lock, at most 1s
    #[arg(long, value_name = "TIME", default_value = "1ms", value_parser = parse_time)]
    work: Duration,
    /// How long a client pauses after its release, before it asks again, at most 1s
    #[arg(long, value_name = "TIME", default_value = "1ms", value_parser = parse_time)]
    rest: Duration,
    /// How long a polling client waits on average before it asks again, at most 1s
    #[arg(long, value_name = "TIME", default_value = "10ms", value_parser = parse_time)]
    poll: Duration,
    /// How long all measurements may take together, at most 1h
    #[arg(long, value_name = "TIME", default_value = "170s", value_parser = parse_long)]
    at_most: Duration,
    /// Your own Redis server; may be given several times: Redlock needs three or more independent ones
    #[arg(long, value_name = "URL")]
    redis: Vec<String>,
    /// Your own ZooKeeper servers: `HOST:PORT,HOST:PORT`
    #[arg(long, value_name = "HOSTS")]
    zookeeper: Option<String>,
    /// Your own MariaDB or MySQL server: `mysql://USER:PASSWORD@HOST:PORT/DATABASE`
    #[arg(long, value_name = "URL")]
    sql: Option<String>,
    /// Also writes the report as a page for a browser
    #[arg(long, short, value_name = "FILE.html")]
    output: Option<PathBuf>,
    /// Overwrites a file that is not a page of Lockstep's without asking
    #[arg(long, requires = "output")]
    force: bool,
    /// Does not ask before it writes to your own servers
    #[arg(long, short)]
    yes: bool,
}

/// These times must be much shorter than the leases.
fn parse_time(word: &str) -> Result<Duration, String> {
    parse_within(word, Duration::from_secs(1))
}

fn parse_long(word: &str) -> Result<Duration, String> {
    parse_within(word, Duration::from_hours(1))
}

fn parse_within(word: &str, longest: Duration) -> Result<Duration, String> {
    let time = parse_millis(word).map_err(String::from)?;
    let time = Duration::from_millis(time.unsigned_abs());
    if time <= longest {
        return Ok(time);
    }
    Err(format!("at most {}", humantime::format_duration(longest)))
}

pub(crate) fn bench_locks(global: &Global, args: &BenchArgs) -> Result<u8, Failure> {
    if global.recorded {
        let why = "measuring needs real servers, and `--recorded` asks for none; leave it away";
        return Err(Failure::usage(why));
    }
    let own = own_servers(args)?;
    let locks = chosen(args, &own)?;
    let name = bench::run_name();
    let claim = |path: &PathBuf| {
        output::claim(global, path, args.force, "locks.html", |there| {
            Format::Html.wrote(&output::beginning(there))
        })
    };
    let page = args.output.as_ref().map(claim).transpose()?;
    super::block_on(reach(&own))?;
    ask(global, args, &own, &name)?;
    let options = LabOptions { wall_clock: true, ..global.lab_options()? };
    let work = Work {
        clients: args.clients.into(),
        hand_overs: usize::try_from(args.hand_overs).unwrap_or(usize::MAX),
        work: args.work,
        rest: args.rest,
    };
    let series = Series {
        locks: locks.clone(),
        work,
        poll: args.poll,
        at_most: args.at_most,
        own,
        name: name.clone(),
        options,
    };
    interrupt::listen(global.lang());
    let (rows, cut) = super::block_on(async {
        let follower = Follower { global, args, locks: &locks, name: &name, meter: Meter::new() };
        Box::pin(follower.follow(series.start())).await
    })?;
    let report = Report::new(&rows, work, global.lang());
    if let (Some(output), Some(path)) = (page, &args.output) {
        let faults = faults::cells(&locks, global.lang());
        let section = faults.as_ref().map(|(table, legend)| Section {
            title: words::BENCH_FAULTS.get(global.lang()),
            table,
            legend,
        });
        let page = export::measured::page(&report, section.as_ref(), (global.lang(), global.theme()));
        output::write(&output, path, &page)?;
    }
    if !global.json && !rows.is_empty() {
        for line in measured::report(&report, WIDE, Theme::default()) {
            print::line(&line.to_string())?;
        }
        if rows.iter().any(|row| row.figures.is_ok()) {
            print::line("")?;
            print::line(&faults::table(&locks, global.lang(), WIDE))?;
        }
    }
    let overlaps = |row: &Row| row.figures.as_ref().is_ok_and(|figures| figures.overlaps > 0);
    Ok(if cut {
        INTERRUPTED
    } else if rows.iter().any(overlaps) {
        NOT_SHOWN
    } else if rows.iter().any(|row| row.figures.is_err()) {
        SERVER
    } else {
        OK
    })
}

fn own_servers(args: &BenchArgs) -> Result<Vec<Servers>, Failure> {
    let wrong = |option: &'static str| {
        move |error: Failed| Failure::usage(words::BENCH_ADDRESS.text(&[option, &error.to_string()]))
    };
    let redis = (!args.redis.is_empty()).then(|| Servers::redis(&args.redis).map_err(wrong("--redis")));
    let zookeeper =
        args.zookeeper.as_deref().map(|hosts| Servers::zookeeper(hosts).map_err(wrong("--zookeeper")));
    let sql = args.sql.as_deref().map(|url| Servers::sql(url).map_err(wrong("--sql")));
    redis.into_iter().chain(zookeeper).chain(sql).collect()
}

/// The locks that were named, or all that there are servers for.
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

/// Connects to the servers, so that wrong addresses and passwords are reported before anything is asked or
/// written.
async fn reach(own: &[Servers]) -> Result<(), Failure> {
    for servers in own {
        let reached = servers.reach().await;
        reached.map_err(|why| {
            Failure::server(words::BENCH_UNREACHED.text(&[&servers.to_string(), &why.to_string()]))
        })?;
    }
    Ok(())
}

/// Asks whether the user's own servers may be written to, and fails unless the user allows it.
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

/// Reports the progress of a series.
struct Follower<'a> {
    global: &'a Global,
    args: &'a BenchArgs,
    locks: &'a [&'static Lock],
    name: &'a str,
    meter: Meter,
}

impl Follower<'_> {
    /// Returns the result of every lock, and whether the series was interrupted.
    async fn follow(mut self, mut series: Measuring) -> Result<(Vec<Row>, bool), Failure> {
        let (mut rows, mut cut) = (Vec::new(), false);
        loop {
            let update = tokio::select! {
                update = series.updates.recv() => update,
                _ = interrupted(), if !cut => {
                    interrupt::acknowledge();
                    cut = true;
                    // Continues until what was written is removed.
                    series.stop();
                    continue;
                }
            };
            match update {
                Some(SeriesUpdate::Measured(row)) => {
                    if self.global.json {
                        print::json(&self.json(&row))?;
                    }
                    rows.push(row);
                }
                Some(update) => self.tell(&update),
                None => return Ok((rows, cut)),
            }
        }
    }

    fn tell(&mut self, update: &SeriesUpdate) {
        let (lang, locks) = (self.global.lang(), self.locks);
        let place = |lock: usize| {
            let title = locks.get(lock).map_or("", |lock| lock.title.get(lang));
            (title, (lock + 1).to_string(), locks.len().to_string())
        };
        match update {
            SeriesUpdate::Starts(lock) => {
                let (title, number, of) = place(*lock);
                self.meter.show(|_| screen_words::STARTING_SERVERS.with(lang, &[title, &number, &of]));
            }
            SeriesUpdate::Turns { lock, seen, wanted } => {
                let (title, number, of) = place(*lock);
                let counts = [seen.to_string(), wanted.to_string()];
                self.meter.show(|_| {
                    screen_words::TAKING_TURNS.with(lang, &[title, &counts[0], &counts[1], &number, &of])
                });
            }
            SeriesUpdate::Left { servers, why } => {
                print::complain(&words::BENCH_LEFT.with(lang, &[servers, self.name, why]));
            }
            SeriesUpdate::Measured(_) => {}
        }
    }

    fn json(&self, row: &Row) -> Value {
        json!({
            "lock": row.lock.id,
            "on": row.on,
            "clients": self.args.clients,
            "work_ms": millis(self.args.work),
            "rest_ms": millis(self.args.rest),
            "poll_ms": millis(self.args.poll),
            "faults": faults::of(row.lock),
            "figures": row.figures.as_ref().ok(),
            "failed": row.figures.as_ref().err(),
        })
    }
}
