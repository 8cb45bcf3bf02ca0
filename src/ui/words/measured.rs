//! Texts of the lock measurement, and its report for the terminal and for pages.

use std::time::Duration;

use crate::{
    bench::{Figures, Row, Work},
    text::{Lang, Words},
};

/// The setting: clients, hand-overs, work, rest.
pub const WHAT_IS_MEASURED: Words = Words::new(
    "{} clients, {} hand-overs through each lock, {} of work under it, {} between two turns. Measured on the machine's own \
     clock, here and now.",
    "{} 个客户端抢同一把锁，每种锁交接 {} 次，持锁干活 {}，两次之间歇 {}。用的是机器的真实时钟，就在这台机器上现测。",
);
/// In progress: the lock, its turns done and wanted, its number, the number of locks.
pub const TAKING_TURNS: Words =
    Words::new("{}: {} of {} turns (lock {} of {})", "{}：第 {}/{} 次加锁（第 {}/{} 种锁）");
pub const STARTING_SERVERS: Words =
    Words::new("{}: starting servers (lock {} of {})", "{}：正在启动服务器（第 {}/{} 种锁）");
pub const LOCK: Words = Words::new("lock", "锁");
pub const MEASURED_COLUMNS: [Words; 9] = [
    Words::new("per second", "次/秒"),
    Words::new("median", "中位数"),
    Words::new("p99", "p99"),
    Words::new("longest wait", "最长等待"),
    Words::new("requests", "请求"),
    Words::new("notices", "通知"),
    Words::new("fairness", "公平性"),
    Words::new("CPU", "CPU"),
    Words::new("memory", "内存"),
];
pub const MEASURED_LEGEND: Words = Words::new(
    "per second: hand-overs. median, p99: how long one takes, from the beginning of the release until the next client knows \
     that it holds the lock. longest wait: of one client for one turn. requests, notices, CPU (of the servers): for each \
     hand-over. fairness: Jain's index of the clients' turns, 1 where all have as many. memory: of the servers.",
    "次/秒：每秒交接次数。中位数、p99：一次交接的耗时，从开始释放算起，到下一个客户端知道自己拿到锁为止。最长等待：一个客户端等一次锁最久等了多久。请求、通知、CPU（服务器）：平均每次交接。公平性：各客户端拿锁次数的 Jain 指数，次数都一样就是 1。内存：服务器占用。",
);
pub const CHARTS: [Words; 3] = [
    Words::new("hand-overs a second (more is better)", "每秒交接次数（越多越好）"),
    Words::new("time of a hand-over in ms, median (less is better)", "交接耗时的中位数，毫秒（越短越好）"),
    Words::new("requests and notices a hand-over (less is better)", "每次交接的请求数与通知数（越少越好）"),
];
pub const NEVER_TWO: Words = Words::new(
    "Never were two clients inside at the same time: a counter beside the locks has watched.",
    "从来没有两个客户端同时在锁里：锁之外另有一个计数器在旁边看着。",
);
/// The lock, how often.
pub const CAME_IN: Words = Words::new(
    "✗ {}: {} times a client came in while another one held the lock",
    "✗ {}：有 {} 次，别人还持有锁，又有客户端进来了",
);
/// The lock, the hand-overs done and wanted.
pub const OUT_OF_TIME: Words = Words::new(
    "{}: {} of {} hand-overs in the time there was; --at-most gives more",
    "{}：时间用完，只测了 {}/{} 次交接；可用 --at-most 延长",
);
pub const NOT_MEASURED: Words = Words::new("{}: not measured: {}", "{}：没有测成：{}");
pub const LEFT_OUT: Words = Words::new(
    "Not measured: a network between client and server, disks that every write must reach, distance between data centres. \
     The servers that Lockstep starts are on this machine, and a lock that needs more round trips loses more where each takes a \
     millisecond. etcd \
     is asked through its JSON gateway, which costs its server more than gRPC does, and it serves a watch from a past \
     revision in a loop that runs every 100 ms: hence its slowest hand-overs.",
    "没有测：客户端与服务器之间的网络、每次写入都要落盘的磁盘、机房之间的距离。Lockstep 启动的服务器都在这台机器上；往返次数多的锁，一旦每次往返要花一毫秒，会慢得更多。etcd 走的是 JSON 网关，服务器开销比 gRPC 大；从过去的 revision 开始的 watch，由它内部每 100 毫秒一次的循环处理，最慢的几次交接就慢在这里。",
);

/// Of the page over the catalogue: its heading, and the keys that measure.
pub const MEASURED: Words = Words::new("Locks, measured here and now", "现场测量各种锁");
pub const MEASURED_AGAIN: Words = Words::new("{} measures once more.", "按 {} 再测一遍。");
pub const MEASURE_HERE: Words = Words::new(
    "{} measures all of them here and now: throughput, time of a hand-over, requests, CPU.",
    "按 {} 现场测量这些锁：吞吐、交接耗时、请求数、CPU。",
);

/// The results in one language.
#[derive(Debug, Clone)]
pub struct Report {
    pub head: String,
    /// Rows of cells, the first one with the headings; empty if nothing was measured.
    pub table: Vec<Vec<String>>,
    pub legend: &'static str,
    pub charts: Vec<Chart>,
    /// Remarks about single locks, and about all of them.
    pub remarks: Vec<String>,
}

/// A chart with a bar for each lock.
#[derive(Debug, Clone)]
pub struct Chart {
    pub title: &'static str,
    pub bars: Vec<Bar>,
}

#[derive(Debug, Clone)]
pub struct Bar {
    pub name: &'static str,
    /// The share of the longest bar of the chart.
    pub share: f64,
    pub value: String,
}

/// The figures shown in charts.
const CHARTED: [fn(&Figures) -> f64; 3] = [
    |figures| figures.per_second,
    |figures| figures.median_ms,
    |figures| figures.requests + figures.notifications,
];

impl Report {
    pub fn new(rows: &[Row], work: Work, lang: Lang) -> Self {
        let time = |time: Duration| humantime::format_duration(time).to_string();
        let counts = [work.clients.to_string(), work.hand_overs.to_string()];
        let head = WHAT_IS_MEASURED.with(lang, &[&counts[0], &counts[1], &time(work.work), &time(work.rest)]);
        let measured: Vec<(&str, &Figures)> = rows
            .iter()
            .filter_map(|row| Some((row.lock.title.get(lang), row.figures.as_ref().ok()?)))
            .collect();
        let mut table = Vec::new();
        if !measured.is_empty() {
            let heads = [LOCK].into_iter().chain(MEASURED_COLUMNS);
            table.push(heads.map(|head| head.get(lang).to_owned()).collect());
            table.extend(measured.iter().map(|(name, figures)| cells(name, figures)));
        }
        let chart = |(title, value): (&Words, fn(&Figures) -> f64)| {
            let longest =
                measured.iter().map(|(_, figures)| value(figures)).fold(f64::MIN_POSITIVE, f64::max);
            let bar = |(name, figures): &(&'static str, &Figures)| {
                let value = value(figures);
                let words = if value < 10.0 { format!("{value:.2}") } else { format!("{value:.0}") };
                Bar { name, share: value / longest, value: words }
            };
            Chart { title: title.get(lang), bars: measured.iter().map(bar).collect() }
        };
        let charts =
            if measured.is_empty() { Vec::new() } else { CHARTS.iter().zip(CHARTED).map(chart).collect() };
        let mut remarks: Vec<String> = rows.iter().filter_map(|row| remark(row, work, lang)).collect();
        if !measured.is_empty() && measured.iter().all(|(_, figures)| figures.overlaps == 0) {
            remarks.push(NEVER_TWO.get(lang).to_owned());
        }
        remarks.push(LEFT_OUT.get(lang).to_owned());
        Self { head, table, legend: MEASURED_LEGEND.get(lang), charts, remarks }
    }
}

/// The remark about a lock that needs one.
fn remark(row: &Row, work: Work, lang: Lang) -> Option<String> {
    let name = row.lock.title.get(lang);
    match &row.figures {
        Err(why) => Some(NOT_MEASURED.with(lang, &[name, why.get(lang)])),
        Ok(figures) if figures.overlaps > 0 => {
            Some(CAME_IN.with(lang, &[name, &figures.overlaps.to_string()]))
        }
        Ok(figures) if figures.hand_overs < work.hand_overs => {
            let counts = [figures.hand_overs.to_string(), work.hand_overs.to_string()];
            Some(OUT_OF_TIME.with(lang, &[name, &counts[0], &counts[1]]))
        }
        Ok(_) => None,
    }
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
