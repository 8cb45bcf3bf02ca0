//! Locks of `flock(2)` between client processes, held by the kernel.

use crate::{
    place::{Answer, Place},
    texts::HEAD,
};

const LAB: &str = "
lab: redis
clients:
  A: { runs: job }
  B: { runs: job }
programs:
  job:
    - lock: { flock: m1/a.lock, allow: [EWOULDBLOCK] }
    - holds: file
    - unlock: { flock: -u m1/a.lock }
    - drops: file
";

fn run(rest: &str) -> Answer {
    let place = Place::new();
    place.write("tried.yaml", format!("{HEAD}{LAB}{rest}"));
    let answer = place.run(&["run", "tried.yaml"]);
    place.assert_nothing_left();
    answer
}

#[test]
fn the_kernel_frees_a_lock_at_unlock_and_death_and_not_while_its_holder_is_frozen() {
    let answer = run("
variants:
  unlock:
    title: { en: Unlock, zh: 解锁 }
    expect: prevented
    lesson: { en: Tried, zh: 试 }
    claims: [ exclusive: file, \"B.lock == 'OK'\", \"owner('m1/a.lock') == 'B'\" ]
    story: [ move: A.lock, send: B.lock, move: A.unlock ]
  crash:
    title: { en: Crash, zh: 崩溃 }
    expect: prevented
    lesson: { en: Tried, zh: 试 }
    claims: [ exclusive: file, \"B.lock == 'OK'\", \"owner('m1/a.lock') == 'B'\" ]
    story: [ move: A.lock, freeze: A, send: B.lock, pass: 1h, crash: A ]
  frozen:
    title: { en: Frozen, zh: 冻结 }
    expect: prevented
    lesson: { en: Tried, zh: 试 }
    claims: [ B.lock is not defined, \"owner('m1/a.lock') == 'A'\" ]
    story: [ move: A.lock, send: B.lock, freeze: A, pass: 1h, freeze: B, thaw: B ]
  refused:
    title: { en: Refused, zh: 拒绝 }
    expect: prevented
    lesson: { en: Tried, zh: 试 }
    clients: { A: { runs: job }, B: { runs: hasty } }
    programs: { hasty: [ lock: { flock: -n m1/a.lock, allow: [EWOULDBLOCK] } ] }
    claims: [ \"B.lock == 'EWOULDBLOCK'\", \"owner('m1/a.lock') == 'A'\" ]
    story: [ move: [A.lock, B.lock] ]
");
    assert_eq!(answer.code, Some(0), "{}{}", answer.out, answer.err);
}

#[test]
fn no_path_leads_out_of_the_lab() {
    let rest = "
params: { file: ../secret }
variants:
  only:
    title: { en: Only, zh: 唯一 }
    expect: shown
    lesson: { en: Tried, zh: 试 }
    replace: { job.lock: { flock: FILE } }
    claims: [ \"A.lock == 'OK'\" ]
story: [ move: A.lock ]
";
    for file in ["/etc/passwd", "\"-n ../../x\"", "\"${file}\""] {
        let answer = run(&rest.replace("FILE", file));
        assert_eq!(answer.code, Some(2), "{file}: {}{}", answer.out, answer.err);
        assert!(answer.err.contains("names no file of the lab"), "{file}: {}", answer.err);
    }
    let threads = "    clients: { A: { runs: job, threads: 2 } }\n    claims:";
    let answer = run(&rest.replace("FILE", "a").replace("    claims:", threads));
    assert_eq!(answer.code, Some(2), "{}", answer.out);
    assert!(answer.err.contains("one thread"), "{}", answer.err);
}
