//! The pages that `lockstep export` writes, in a real browser: keys are pressed, places clicked, the page looked at.

use std::path::PathBuf;

use serde_json::Value;

use crate::{chrome::Chrome, place::Place};

/// Writes the page of a carried recording.
fn page(place: &Place, args: &[&str]) -> PathBuf {
    let mut all = vec!["export", "--recorded", "--output", "run.html"];
    all.extend(args);
    let answer = place.run(&all);
    assert_eq!(answer.code, Some(0), "{}", answer.err);
    place.path().join("run.html")
}

fn step(chrome: &mut Chrome) -> u64 {
    chrome.eval("Number(document.body.dataset.step)").as_u64().expect("a step")
}

fn text(chrome: &mut Chrome, selector: &str) -> String {
    let text = chrome.eval(&format!("document.querySelector({selector:?}).innerText"));
    text.as_str().unwrap_or_default().to_owned()
}

/// What of the timeline can be seen: bars within their clips, marks, the wire's rows.
fn seen(chrome: &mut Chrome) -> Value {
    chrome.eval(
        "JSON.stringify([[...document.querySelectorAll('.clip')].map((e) => e.style.width), \
         [...document.querySelectorAll('.bar, .mark, .mark span, #wire li, #wire span')].map((e) => e.hidden), \
         document.querySelector('#clock').textContent, document.querySelector('#servers').innerText, \
         document.querySelector('#head').style.left])",
    )
}

#[test]
fn keys_step_through_a_run_and_back() {
    let place = Place::new();
    let page = page(&place, &["unlock-someone-elses-lock", "--variant", "blind-del", "--lang", "en"]);
    let mut chrome = Chrome::start((1280, 900), false);
    chrome.open(&page, "");
    assert_eq!(step(&mut chrome), 0);
    assert!(text(&mut chrome, "#story").contains("A Redis lock is a key"), "{}", text(&mut chrome, "#story"));
    assert_eq!(text(&mut chrome, "#wire ol"), "");
    let last: u64 = chrome.eval("Number(document.querySelector('#scrub').max)").as_u64().expect("a number");
    // Forward, step by step; what is seen then is what is seen on the way back.
    let mut pictures = vec![seen(&mut chrome)];
    for n in 1..=last {
        chrome.press("ArrowRight");
        chrome.wait_for(&format!("document.body.dataset.step === '{n}'"));
        pictures.push(seen(&mut chrome));
    }
    assert!(text(&mut chrome, "#story").contains("FAILURE SHOWN"));
    assert_eq!(text(&mut chrome, "#wire li:last-child .reply"), "0");
    for n in (0..last).rev() {
        chrome.press("ArrowLeft");
        assert_eq!(step(&mut chrome), n);
        assert_eq!(seen(&mut chrome), pictures[usize::try_from(n).expect("small")], "step {n}");
    }
    chrome.press("End");
    assert_eq!(step(&mut chrome), last);
    chrome.press("Home");
    assert_eq!(step(&mut chrome), 0);
    assert_eq!(chrome.troubles, Vec::<String>::new());
    assert!(chrome.requests.iter().all(|url| url.starts_with("file://")), "{:?}", chrome.requests);
}

#[test]
fn a_killed_server_holds_nothing_on_the_page() {
    let place = Place::new();
    let page = page(&place, &["master-failover", "--variant", "replicated", "--lang", "en"]);
    let mut chrome = Chrome::start((1280, 900), false);
    chrome.open(&page, "");
    let killed = "[...document.querySelectorAll('#wire li.fault')].some((e) => !e.hidden)";
    while chrome.eval(killed) != Value::Bool(true) {
        chrome.press("ArrowRight");
    }
    let servers = text(&mut chrome, "#servers");
    let (_, master) = servers.split_once("master \u{b7} Redis").expect("the master is named");
    let (master, _) = master.split_once("replica1").expect("and then the first replica");
    assert!(master.contains("this server has died") && !master.contains("TTL"), "{servers}");
}

#[test]
fn overlap_faults_and_truth_are_on_the_timeline() {
    let place = Place::new();
    let page = page(&place, &["watchdog", "--variant", "frozen-holder"]);
    let mut chrome = Chrome::start((1280, 900), true);
    chrome.open(&page, "#step=end");
    let shown =
        "[...document.querySelectorAll('SELECTOR')].filter((e) => !e.hidden && e.offsetWidth > 0).length";
    for selector in [".bar.both", ".bar.frozen", ".strike", ".row.truth .bar", "#wire li.fault"] {
        let count = chrome.eval(&shown.replace("SELECTOR", selector));
        assert!(count.as_u64() > Some(0), "{selector}: {count}");
    }
    // Evidence leads to the place that proves the claim.
    chrome.click(".claim button", 0.5);
    assert!(step(&mut chrome) > 0);
    assert!(chrome.eval("document.querySelectorAll('.lit').length").as_u64() > Some(0));
    // The moment of two holders says so, aloud.
    let alarmed = "[...Array(Number(document.querySelector('#scrub').max)).keys()].some((n) => { \
         const s = document.querySelector('#scrub'); s.value = n; s.dispatchEvent(new Event('input')); \
         const a = document.querySelector('#alarm'); return !a.hidden && a.innerText.includes('2'); })";
    assert_eq!(chrome.eval(alarmed), true);
    assert_eq!(chrome.troubles, Vec::<String>::new());
}

#[test]
fn space_plays_and_pauses_and_questions_can_be_answered() {
    let place = Place::new();
    let page = page(&place, &["oversell", "--variant", "lost-update", "--speed", "10", "--lang", "en"]);
    let mut chrome = Chrome::start((1280, 900), false);
    chrome.open(&page, "");
    chrome.press(" ");
    // It plays by itself up to the question, and waits there.
    chrome.wait_for("document.querySelectorAll('.choices button').length > 1");
    chrome.wait_for("document.querySelector('#play').getAttribute('aria-label').startsWith('Play')");
    let asked = step(&mut chrome);
    assert!(asked > 3);
    chrome.press("2");
    assert_eq!(chrome.eval("document.querySelectorAll('.choices [aria-pressed=true]').length"), 1);
    chrome.click(".choices li:first-child button", 0.5);
    assert_eq!(chrome.eval("document.activeElement.getAttribute('aria-pressed')"), "true");
    chrome.eval("document.activeElement.blur()");
    chrome.press("ArrowRight");
    chrome.wait_for("document.querySelector('#story .right, #story .wrong') !== null");
    // Playing goes on from there to the verdict.
    chrome.press(" ");
    chrome.wait_for("document.querySelector('#story .outcome') !== null");
    assert_eq!(chrome.troubles, Vec::<String>::new());
}

#[test]
fn the_mouse_scrubs_and_both_languages_are_there() {
    let place = Place::new();
    let page = page(&place, &["unlock-someone-elses-lock", "--lang", "zh"]);
    let mut chrome = Chrome::start((1280, 900), true);
    chrome.open(&page, "#step=7");
    assert_eq!(step(&mut chrome), 7);
    assert_eq!(chrome.eval("document.documentElement.lang"), "zh-CN");
    assert!(text(&mut chrome, "h1").contains("误删"));
    let light = chrome.eval("getComputedStyle(document.documentElement).backgroundColor");
    assert_eq!(light, "rgb(238, 238, 238)");
    chrome.click("#scrub", 0.5);
    let half = step(&mut chrome);
    assert!((7..=11).contains(&half), "{half}");
    chrome.click("#language", 0.5);
    assert!(text(&mut chrome, "h1").contains("Unlocking"));
    assert_eq!(chrome.eval("document.documentElement.lang"), "en");
    assert_eq!(step(&mut chrome), half);
    chrome.click("#forward", 0.5);
    chrome.wait_for(&format!("document.body.dataset.step === '{}'", half + 1));
    chrome.click("#scroll", 0.2);
    assert!(step(&mut chrome) < half, "a click on the timeline goes there");
    // Everything that can be used has a name, and the keyboard reaches it.
    let nameless = "[...document.querySelectorAll('button, input, select')].filter((e) => \
         !(e.getAttribute('aria-label') || e.innerText || e.labels?.[0]?.innerText)).length";
    assert_eq!(chrome.eval(nameless), 0);
    chrome.press("Home");
    chrome.eval("document.querySelector('#back').disabled || document.activeElement.blur()");
    for _ in 0..3 {
        chrome.press("Tab");
    }
    assert_ne!(chrome.eval("getComputedStyle(document.activeElement).outlineStyle"), "none");
    assert_eq!(chrome.troubles, Vec::<String>::new());
}

#[test]
fn what_a_lesson_says_is_never_markup() {
    let place = Place::new();
    let evil =
        "</script><script>window.evil = 1</script><img src=x onerror=\"window.evil = 1\">{script}{data}";
    let recording = place.run(&["run", "oversell", "--variant", "atomic-script", "--record", "run.jsonl"]);
    assert_eq!(recording.code, Some(0), "{}", recording.err);
    let text = std::fs::read_to_string(place.path().join("run.jsonl")).expect("a recording");
    let mut lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    for line in &mut lines {
        for key in ["en", "zh", "wire", "reply"] {
            if line.get(key).is_some_and(Value::is_string) {
                line[key] = evil.into();
            }
        }
        if line.get("reply").is_some() {
            line["reply"] = serde_json::json!({ "value": evil });
        }
    }
    let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
    // The header's first key is what a recording is known by.
    let header = text.lines().next().expect("a header");
    place.write("evil.jsonl", format!("{header}\n{}\n", lines[1..].join("\n")));
    let answer = place.run(&["export", "evil.jsonl", "--output", "evil.html"]);
    assert_ne!(answer.code, Some(2), "{}", answer.err);
    let mut chrome = Chrome::start((1000, 800), false);
    chrome.open(&place.path().join("evil.html"), "#step=end");
    assert_eq!(chrome.eval("window.evil === undefined"), true);
    assert_eq!(chrome.eval("document.querySelectorAll('img').length"), 0);
    chrome.press("ArrowLeft");
    let story = self::text(&mut chrome, "#story");
    assert!(story.contains("</script><script>window.evil"), "{story}");
    assert!(self::text(&mut chrome, "#wire").contains("onerror="));
    assert_eq!(chrome.eval("window.evil === undefined"), true);
    assert_eq!(chrome.troubles, Vec::<String>::new());
}
