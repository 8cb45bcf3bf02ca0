//! The cost of a frame, and of folding a long log. The budgets are 1 ms for three lanes and 4 ms for a crowd of 900
//! with 10,000 events, both at 160x48, also while messages are in flight.

#![allow(clippy::print_stdout, reason = "figures for whoever runs it")]

#[allow(dead_code, reason = "tests draw more of them")]
#[path = "../tests/screens/staged.rs"]
mod staged;
#[allow(dead_code, reason = "tests press more keys")]
#[path = "../tests/screens/stand.rs"]
mod stand;

use std::{cell::Cell, hint::black_box, io, rc::Rc, time::Instant};

use criterion::{Criterion, criterion_group, criterion_main};
use lockstep::{
    text::Lang,
    ui::{
        app::synchronized::Synchronized,
        chart::{Chart, sequence::Sequence},
    },
    world::World,
};
use ratatui::{Terminal, TerminalOptions, Viewport, backend::CrosstermBackend, buffer::Buffer};
use staged::Script;
use stand::Stand;

fn frame(criterion: &mut Criterion, name: &str, script: Script) {
    measure(criterion, name, script, "");
}

/// The same after pressing some keys: `w` shows the sequence, a tab and `k` choose an event.
fn measure(criterion: &mut Criterion, name: &str, script: Script, keys: &str) {
    println!("{name}: {} events", script.events.len());
    let mut stand = Stand::lesson(script, Lang::En, (160, 48));
    for key in keys.chars() {
        match key {
            '\t' => stand.key(crossterm::event::KeyCode::Tab),
            key => stand.press(key),
        }
    }
    let mut buffer = Buffer::empty(stand.area);
    percentile(&stand, &mut buffer);
    criterion.bench_function(name, |bencher| {
        bencher.iter(|| {
            buffer.reset();
            stand.app.draw(stand.area, &mut buffer);
            black_box(&buffer);
        });
    });
}

/// Whether the benchmark is being profiled: a profile must contain only criterion's own iterations.
fn is_profiled() -> bool {
    std::env::args().any(|arg| arg == "--profile-time")
}

/// Criterion reports means; a frame's budget is for its 99th percentile.
fn percentile(stand: &Stand, buffer: &mut Buffer) {
    const FRAMES: usize = 5000;
    if is_profiled() {
        return;
    }
    let mut took: Vec<_> = (0..FRAMES)
        .map(|_| {
            let began = Instant::now();
            buffer.reset();
            stand.app.draw(stand.area, buffer);
            black_box(&buffer);
            began.elapsed()
        })
        .collect();
    took.sort();
    println!("99th percentile of {FRAMES} frames: {:?}", took[FRAMES * 99 / 100]);
}

/// Counts the bytes that a terminal would receive, which a slow connection has to transfer.
#[derive(Clone, Default)]
struct Written(Rc<Cell<usize>>);

impl io::Write for Written {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.set(self.0.get() + bytes.len());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Every frame of a step, forward and backward, as drawn 30 times a second; the time includes advancing the world.
fn flight(name: &str, script: &Script, unfolded: bool) {
    let stops = script.events.iter().enumerate().filter_map(|(n, event)| {
        matches!(event.kind, lockstep::log::EventKind::Stop { .. }).then_some(n + 1)
    });
    let stops: Vec<usize> = stops.collect();
    let (mut took, mut setting_out) = (Vec::new(), Vec::new());
    let written = Written::default();
    for _ in 0..20 {
        let last = stops.len() - 2;
        let mut stand = Stand::moving(&script.events[..stops[last]], Lang::En, (160, 48));
        if unfolded {
            stand.press('e');
        }
        let mut buffer = Buffer::empty(stand.area);
        let options = TerminalOptions { viewport: Viewport::Fixed(stand.area) };
        let mut terminal =
            Terminal::with_options(Synchronized::new(CrosstermBackend::new(written.clone())), options)
                .expect("it is memory");
        // The bytes of the first frame are not part of a step.
        let before = written.0.get();
        terminal.draw(|frame| stand.app.draw(frame.area(), frame.buffer_mut())).expect("it is memory");
        written.0.set(before);
        let began = Instant::now();
        stand.events(script.events[stops[last]..stops[last + 1]].to_vec());
        setting_out.push(began.elapsed());
        for turn in 0..2 {
            while stand.app.wake(stand.now).is_some() {
                let began = Instant::now();
                stand.wait(33);
                buffer.reset();
                stand.app.draw(stand.area, &mut buffer);
                black_box(&buffer);
                took.push(began.elapsed());
                terminal
                    .draw(|frame| stand.app.draw(frame.area(), frame.buffer_mut()))
                    .expect("it is memory");
            }
            if turn == 0 {
                stand.key(crossterm::event::KeyCode::Left);
            }
        }
    }
    took.sort();
    setting_out.sort();
    println!(
        "{name}: {} frames in flight of {} bytes, 99th percentile {:?}, longest {:?}; setting out {:?}",
        took.len(),
        written.0.get() / took.len(),
        took[took.len() * 99 / 100],
        took[took.len() - 1],
        setting_out[setting_out.len() / 2],
    );
}

fn frames(criterion: &mut Criterion) {
    frame(criterion, "frame of 3 lanes", staged::long(30));
    frame(criterion, "frame of 3 lanes after 10,000 events", staged::long(1100));
    frame(criterion, "frame of 900 lanes after 10,000 events", staged::herd(900, 6));
}

fn flights(_: &mut Criterion) {
    if is_profiled() {
        return;
    }
    flight("3 lanes", &staged::long(30), false);
    flight("3 lanes after 10,000 events", &staged::long(1100), false);
    // Up to a release that wakes all waiters.
    let mut herd = staged::herd(900, 6);
    let stops = herd.events.iter().enumerate().filter_map(|(n, event)| {
        matches!(event.kind, lockstep::log::EventKind::Stop { .. }).then_some(n + 1)
    });
    let release = stops.collect::<Vec<_>>();
    herd.events.truncate(release[release.len() - 2]);
    flight("900 lanes after 10,000 events", &herd, false);
    flight("900 lanes after 10,000 events, unfolded", &herd, true);
    flight(
        "900 lanes, a swarm",
        &{
            let mut swarm = staged::herd(900, 1);
            swarm.events.truncate(release[1]);
            swarm
        },
        false,
    );
}

fn sequences(criterion: &mut Criterion) {
    let crowd = || staged::herd(900, 6);
    let long = || staged::long(1100);
    measure(criterion, "sequence of 3 lanes", staged::long(30), "w");
    measure(criterion, "sequence of 3 lanes after 10,000 events", long(), "w");
    measure(criterion, "sequence of 900 clients after 10,000 events", crowd(), "w");
    measure(criterion, "sequence with a chosen event, 10,000 events", long(), "w\tkkkk");
    measure(criterion, "sequence with a chosen event, 900 clients", crowd(), "w\tkkkk");
    measure(criterion, "timeline with a chosen event, 900 clients", crowd(), "\tkkkk");
}

fn folds(criterion: &mut Criterion) {
    let log = staged::long(1100).log();
    criterion.bench_function("world of 10,000 events", |bencher| {
        bencher.iter(|| World::fold(black_box(&log), log.len()));
    });
    criterion.bench_function("chart of 10,000 events", |bencher| {
        bencher.iter(|| {
            let mut chart = Chart::default();
            chart.advance(black_box(&log));
            chart
        });
    });
    criterion.bench_function("sequence of 10,000 events", |bencher| {
        bencher.iter(|| {
            let mut sequence = Sequence::default();
            sequence.advance(black_box(&log));
            sequence
        });
    });
    let crowd = staged::herd(900, 6).log();
    criterion.bench_function("sequence of a crowd's 10,000 events", |bencher| {
        bencher.iter(|| {
            let mut sequence = Sequence::default();
            sequence.advance(black_box(&crowd));
            sequence
        });
    });
    criterion.bench_function("world of a crowd's 10,000 events", |bencher| {
        bencher.iter(|| World::fold(black_box(&crowd), crowd.len()));
    });
}

criterion_group!(benches, flights, frames, sequences, folds);
criterion_main!(benches);
