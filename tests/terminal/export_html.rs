//! The pages that `lockstep export` writes, in a real browser, which presses keys, clicks and inspects the page.

use std::path::PathBuf;

use serde_json::{Value, json};

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

/// What is visible of the timeline: bars and their lengths, marks, the wire's rows.
fn seen(chrome: &mut Chrome) -> Value {
    chrome.eval(
        "JSON.stringify([[...document.querySelectorAll('.bar')].map((e) => e.hidden || e.style.width), \
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
    // Forward, step by step; on the way back the same must be visible.
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
    let page = page(&place, &["failover", "--variant", "replicated", "--lang", "en"]);
    let mut chrome = Chrome::start((1280, 900), false);
    chrome.open(&page, "");
    let killed = "[...document.querySelectorAll('#wire li.fault')].some((e) => !e.hidden)";
    while chrome.eval(killed) != Value::Bool(true) {
        chrome.press("ArrowRight");
    }
    let servers = text(&mut chrome, "#servers");
    let (_, master) = servers.split_once("node1 \u{b7} Redis").expect("the master is named");
    let (master, _) = master.split_once("node2").expect("and then the first replica");
    assert!(master.contains("this server has died") && !master.contains("TTL"), "{servers}");
    let struck =
        "getComputedStyle(document.querySelector('[data-server=node1] .label span')).textDecorationLine";
    assert_eq!(chrome.eval(struck), "line-through");
    // Its own lane says why.
    assert_eq!(marked(&mut chrome, "node1"), json!(["✝ SIGKILL"]));
    assert_eq!(marked(&mut chrome, "node2"), json!([]));
    chrome.press("Home");
    assert_eq!(chrome.eval(struck), "none");
}

/// The faults that a server's lane names.
fn marked(chrome: &mut Chrome, server: &str) -> Value {
    chrome.eval(&format!(
        "[...document.querySelectorAll('[data-server={server}] .became.error')].filter((e) => e.offsetWidth > 50).map((e) => e.innerText)"
    ))
}

#[test]
fn a_server_that_comes_back_says_so_in_its_lane() {
    let place = Place::new();
    let page = page(&place, &["redlock", "--variant", "one-master", "--lang", "zh"]);
    let mut chrome = Chrome::start((1200, 800), true);
    for (fragment, size) in [("#step=5", (1200, 800)), ("#embed&step=5", (680, 320))] {
        let size = json!({"width": size.0, "height": size.1, "deviceScaleFactor": 1, "mobile": false});
        chrome.call("Emulation.setDeviceMetricsOverride", &size);
        chrome.open(&page, fragment);
        assert_eq!(marked(&mut chrome, "redis1"), json!(["✝ SIGKILL", "▶ START"]), "{fragment}");
        assert_eq!(marked(&mut chrome, "redis2"), json!([]), "{fragment}");
    }
}

/// The heights, in percent, at which the shape of a lease's bar ends, for each bar of a server's lane.
const DRAINED: &str = "[...document.querySelectorAll('.drain')].filter((e) => e.style.clipPath && !e.parentElement.hidden) \
     .map((e) => 100 - Number(e.style.clipPath.match(/([\\d.]+)%, 100% 100%\\)$/)[1]))";

#[test]
fn a_lease_that_ran_out_is_drawn_down_to_nothing() {
    let place = Place::new();
    let page = page(&place, &["unlock-someone-elses-lock", "--variant", "blind-del"]);
    let mut chrome = Chrome::start((1200, 800), true);
    chrome.open(&page, "#step=end");
    let found = chrome.eval(DRAINED);
    let left: Vec<f64> = found.as_array().expect("bars").iter().filter_map(Value::as_f64).collect();
    // A's lease of three seconds ran out. B's key was deleted when one of its three seconds was over.
    assert!(left[0] < 1.0 && left[1] > 55.0 && left[1] < 75.0, "{left:?}");
}

/// The dots of a crowd: all of them, and the bright ones.
const DOTS: &str = "[...['.dots i', '.dots .lit']].map((which) => \
     [...document.querySelectorAll(which)].filter((e) => e.offsetWidth > 1).length)";

#[test]
fn every_client_of_a_crowd_is_a_dot_and_the_woken_ones_are_bright() {
    let place = Place::new();
    let page = page(&place, &["zk-herd", "--variant", "herd", "--lang", "en"]);
    for (fragment, size) in [("#", (1200, 800)), ("#", (390, 844)), ("#embed&", (680, 320))] {
        let mut chrome = Chrome::start(size, false);
        chrome.open(&page, &format!("{fragment}step=10"));
        // A, B and the crowd; A holds the lock.
        assert_eq!(chrome.eval(DOTS), json!([40, 1]), "{size:?}");
        assert!(text(&mut chrome, ".row.band .label").ends_with("notified 0"), "{size:?}");
        chrome.open(&page, &format!("{fragment}step=11"));
        assert_eq!(chrome.eval(DOTS), json!([40, 39]), "{size:?}");
        assert!(text(&mut chrome, ".row.band .label").ends_with("notified 38"), "{size:?}");
        // All of them are in sight, and none lies over the names or over the commands.
        let outside = "(() => { const box = document.querySelector('.dots'), room = box.getBoundingClientRect(); \
             const marks = [...document.querySelectorAll('.row.band .mark')].map((e) => e.getBoundingClientRect().bottom); \
             return [...box.children].filter((e) => { const r = e.getBoundingClientRect(); \
               return r.bottom > room.bottom + 1 || r.right > room.right + 1 || r.top < Math.max(...marks) - 1; }).length; })()";
        assert_eq!(chrome.eval(outside), 0, "{size:?}");
        let woken = "[...document.querySelectorAll('.row.band .mark.herd .kept')].filter((e) => e.scrollWidth <= e.clientWidth + 1 \
             || getComputedStyle(e).display === 'inline').map((e) => e.innerText.trim())";
        assert_eq!(chrome.eval(woken), json!(["×38"]), "{size:?}");
        // The next command ends it.
        chrome.open(&page, &format!("{fragment}step=14"));
        assert_eq!(chrome.eval(DOTS)[1], 1, "{size:?}");
        assert_eq!(chrome.troubles, Vec::<String>::new());
    }
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
    // Evidence can be opened, and leads to the place that proves the claim.
    assert_eq!(chrome.eval("document.querySelector('.claim button').checkVisibility()"), false);
    chrome.click(".claim summary", 0.5);
    chrome.click(".claim button", 0.5);
    assert!(step(&mut chrome) > 0);
    assert!(chrome.eval("document.querySelectorAll('.lit').length").as_u64() > Some(0));
    // The moment of two holders raises the alarm.
    let alarmed = "[...Array(Number(document.querySelector('#scrub').max)).keys()].some((n) => { \
         const s = document.querySelector('#scrub'); s.value = n; s.dispatchEvent(new Event('input')); \
         const a = document.querySelector('#alarm'); return !a.hidden && a.innerText.includes('2'); })";
    assert_eq!(chrome.eval(alarmed), true);
    assert_eq!(chrome.troubles, Vec::<String>::new());
}

/// The size of the chart, of its red background, of each bar of two holders, and the colours of these bars.
const DECISIVE: &str = "(() => { const wide = (e) => e.getBoundingClientRect().width; \
     const all = (selector) => [...document.querySelectorAll(selector)].filter((e) => !e.hidden); \
     const room = wide(document.querySelector('#scroll')) - wide(document.querySelector('.label')); \
     return { red: all('.clash').map((e) => wide(e) / room), both: all('.bar.both').map((e) => wide(e) / room), \
       colours: all('.bar.both').map((e) => e.style.getPropertyValue('--c')), \
       names: all('.bar.both').map((e) => e.innerText.trim()), \
       outside: document.documentElement.scrollWidth - document.documentElement.clientWidth }; })()";

#[test]
fn two_holders_are_the_largest_thing_on_the_page() {
    let place = Place::new();
    let page = page(&place, &["unlock-someone-elses-lock", "--variant", "blind-del", "--lang", "en"]);
    for (fragment, size) in [("#", (1200, 800)), ("#", (390, 844)), ("#embed&", (680, 320))] {
        let mut chrome = Chrome::start(size, true);
        chrome.open(&page, &format!("{fragment}step=6"));
        assert_eq!(chrome.eval("document.querySelector('#alarm').hidden"), true);
        // The key is gone, and no other client has taken the lock yet: A's belief is an outline.
        let bare = "[...document.querySelectorAll('.bar.holding.bare')].filter((e) => !e.hidden && e.offsetWidth > 20).length";
        assert_eq!(chrome.eval(bare), 1, "{size:?}");
        let belief = "document.querySelector('.row .label small').textContent";
        assert_eq!(chrome.eval(belief), "is wrong", "{size:?}");
        chrome.open(&page, &format!("{fragment}step=7"));
        let found = chrome.eval(DECISIVE);
        let share = |value: &Value| value.as_f64().expect("a share");
        assert!(share(&found["red"][0]) > 0.25, "{size:?} {found}");
        let both = found["both"].as_array().expect("bars");
        assert!(both.len() == 2 && both.iter().all(|bar| share(bar) > 0.25), "{size:?} {found}");
        assert_ne!(found["colours"][0], found["colours"][1], "each in its own colour");
        assert_eq!(found["outside"], 0, "{size:?}");
        let banner = text(&mut chrome, "#alarm").replace('\u{a0}', " ");
        // Milliseconds after the lease; their number depends on the recording.
        assert!(banner.starts_with("2 HOLDERS AT ONCE · ● A and ■ B · since 3.0"), "{size:?} {banner}");
        let story = text(&mut chrome, "#story").replace('\u{a0}', " ");
        assert!(
            story.contains("Now ■ B believes that it has the lock, too, beside ● A."),
            "{size:?} {story}"
        );
        let frame = "getComputedStyle(document.querySelector('#story')).borderTopColor";
        assert_eq!(chrome.eval(frame), "rgb(175, 0, 0)", "{size:?}");
        // At the verdict all of it is visible, and the failure has its share.
        chrome.open(&page, &format!("{fragment}step=end"));
        let found = chrome.eval(DECISIVE);
        assert!(share(&found["red"][0]) > 0.3, "{size:?} {found}");
        let sideways = "(() => { const s = document.querySelector('#scroll'); return s.scrollWidth - s.clientWidth; })()";
        assert_eq!(chrome.eval(sideways), 0, "{size:?}");
        let story = text(&mut chrome, "#story").replace('\u{a0}', " ");
        assert!(story.starts_with("Verdict\n") || size.0 == 680, "{story}");
        assert!(story.contains("● A and ■ B thought they held the lock at once, from 3.0"), "{story}");
        assert_eq!(chrome.troubles, Vec::<String>::new());
    }
}

#[test]
fn a_holder_whose_lock_is_lost_in_the_same_column_has_a_bar() {
    // The server that granted A's lock forgets it a few microseconds later.
    let place = Place::new();
    let page = page(&place, &["cluster-is-not-safer", "--variant", "frozen-master", "--lang", "en"]);
    for (fragment, size) in [("#step=10", (1280, 900)), ("#embed&step=10", (680, 320))] {
        let mut chrome = Chrome::start(size, true);
        chrome.open(&page, fragment);
        assert!(text(&mut chrome, "#alarm").starts_with("2 HOLDERS AT ONCE"), "{size:?}");
        let found = chrome.eval(DECISIVE);
        let wide = |bar: &Value| bar.as_f64() > Some(0.25);
        let both = found["both"].as_array().expect("bars");
        assert_eq!(both.iter().filter(|bar| wide(bar)).count(), 2, "{size:?} {found}");
        // One column later its bar is an outline.
        chrome.press("ArrowRight");
        let bare =
            "[...document.querySelectorAll('[data-who=A] .bar.bare.both')].filter((e) => !e.hidden).length";
        assert_eq!(chrome.eval(bare), 1, "{size:?}");
    }
}

/// Pairs of texts of a lane that lie over each other.
const OVER_EACH_OTHER: &str = "(() => { const found = []; \
     for (const track of document.querySelectorAll('.track')) { \
       const texts = [...track.querySelectorAll('.became, .bar > .name > *')].filter((e) => e.innerText && e.checkVisibility({ visibilityProperty: true })); \
       const place = (e) => { const r = e.getBoundingClientRect(), b = (e.closest('.name') || e).getBoundingClientRect(); \
         return { left: Math.max(r.left, b.left), right: Math.min(r.right, b.right) }; }; \
       texts.forEach((one, n) => texts.slice(n + 1).forEach((other) => { const [a, b] = [place(one), place(other)]; \
         if (Math.min(a.right, b.right) - Math.max(a.left, b.left) > 3) found.push(`${one.innerText} | ${other.innerText}`); })); } \
     return found; })()";

#[test]
fn no_text_of_a_lane_lies_over_another() {
    let place = Place::new();
    for (lesson, variant, fragment, size) in [
        ("cluster-is-not-safer", "frozen-master", "#embed&step=10", (680, 320)),
        ("db-deadlock", "deadlock", "#step=9", (390, 844)),
        ("curator-mutex", "remembered", "#step=end", (390, 844)),
    ] {
        let page = page(&place, &[lesson, "--variant", variant, "--lang", "en"]);
        let mut chrome = Chrome::start(size, true);
        chrome.open(&page, fragment);
        assert_eq!(chrome.eval(OVER_EACH_OTHER), json!([]), "{lesson}");
        assert_eq!(chrome.troubles, Vec::<String>::new());
    }
}

/// How much of the red ground and of each bar of two holders can be seen, in pixels; words that begin out of sight;
/// values that are cut.
const IN_SIGHT: &str = "(() => { const [box, label] = ['#scroll', '.row .label'].map((s) => document.querySelector(s).getBoundingClientRect()); \
     const all = (selector) => [...document.querySelectorAll(selector)].filter((e) => e.checkVisibility({ visibilityProperty: true })); \
     const seen = (e) => { const r = e.getBoundingClientRect(); return Math.max(0, Math.min(r.right, box.right) - Math.max(r.left, label.right)); }; \
     const out = (e) => { const r = e.getBoundingClientRect(); return r.right > label.right + 1 && r.left < label.right - 1; }; \
     return { red: all('.clash').map(seen), both: all('.bar.both').map(seen), \
       out: all('.mark, .became, .when, .bar > .name > *').filter(out).map((e) => e.innerText), \
       cut: all('.bar.value > .name').filter((e) => seen(e) > 0 && (e.scrollWidth > e.clientWidth + 1 || e.scrollHeight > e.clientHeight + 2)).map((e) => e.innerText) }; })()";

#[test]
fn a_phone_shows_who_hold_a_lock_together() {
    let place = Place::new();
    let page = page(&place, &["which-lock", "--variant", "etcd-predecessor-freeze", "--lang", "en"]);
    let mut chrome = Chrome::start((390, 844), true);
    chrome.open(&page, "#step=7");
    let found = chrome.eval(IN_SIGHT);
    let seen = |list: &Value| {
        list.as_array().map_or(0, |all| all.iter().filter(|e| e.as_f64() > Some(60.0)).count())
    };
    assert!(seen(&found["red"]) == 1 && seen(&found["both"]) >= 2, "{found}");
    assert_eq!(found["out"], json!([]), "{found}");
    assert_eq!(chrome.troubles, Vec::<String>::new());
}

#[test]
fn a_phone_shows_the_newest_value_as_a_whole() {
    let place = Place::new();
    let page = page(&place, &["db-aba", "--variant", "by-value", "--lang", "zh"]);
    let mut chrome = Chrome::start((390, 844), true);
    chrome.open(&page, "#step=8");
    let found = chrome.eval(IN_SIGHT);
    assert_eq!((&found["out"], &found["cut"]), (&json!([]), &json!([])), "{found}");
    // Whoever scrolls back finds the words at their places.
    chrome.eval("document.querySelector('#scroll').scrollLeft = 0");
    chrome.wait_for("Math.max(...[...document.querySelectorAll('.mark')].map((e) => parseFloat(e.style.marginLeft) || 0)) === 0");
    assert_eq!(chrome.troubles, Vec::<String>::new());
}

#[test]
fn the_scrubber_marks_nothing_that_was_not_shown_and_the_wire_names_servers() {
    let place = Place::new();
    let page = page(&place, &["failover", "--lang", "en"]);
    let mut chrome = Chrome::start((1280, 900), true);
    chrome.open(&page, "");
    let marked = "document.querySelector('#marks').innerText.replace(/\\s/g, '')";
    assert_eq!(chrome.eval(marked), "");
    chrome.open(&page, "#step=3");
    assert_eq!(chrome.eval(marked), "▮");
    chrome.press("End");
    assert_eq!(chrome.eval(marked), "▮?✝╋");
    // What was shown stays marked on the way back.
    chrome.press("Home");
    assert_eq!(chrome.eval(marked), "▮?✝╋");
    chrome.press("End");
    let wire = text(&mut chrome, "#wire ol");
    for words in ["A→node1", "B→node2", "node2: ♛ master"] {
        assert!(wire.contains(words), "{words}: {wire}");
    }
    assert_eq!(chrome.eval("document.querySelector('[data-server=node2] .label span').innerText"), "node2 ♛");
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
    // Playing continues from there to the verdict.
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
    assert!(text(&mut chrome, "#chart").contains("干活"));
    let light = chrome.eval("getComputedStyle(document.documentElement).backgroundColor");
    assert_eq!(light, "rgb(238, 238, 238)");
    chrome.click("#scrub", 0.5);
    let half = step(&mut chrome);
    assert!((7..=11).contains(&half), "{half}");
    chrome.click("#language", 0.5);
    assert!(text(&mut chrome, "h1").contains("Unlocking"));
    assert!(text(&mut chrome, "#chart").contains("work") && !text(&mut chrome, "#chart").contains("干活"));
    assert_eq!(chrome.eval("document.documentElement.lang"), "en");
    assert_eq!(step(&mut chrome), half);
    chrome.click("#forward", 0.5);
    chrome.wait_for(&format!("document.body.dataset.step === '{}'", half + 1));
    chrome.click("#scroll", 0.2);
    assert!(step(&mut chrome) < half, "a click on the timeline goes there");
    // Every control has a name, and can be reached by keyboard.
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

/// The texts of the timeline of an article that are not visible as a whole: names at the left, and words in bars.
const CUT_WORDS: &str = "(() => { const faults = []; \
     for (const label of document.querySelectorAll('.label')) \
       if (label.scrollWidth > label.clientWidth + 1) faults.push(`label ${label.innerText}`); \
     for (const name of document.querySelectorAll('.bar > .name > *')) { \
       const inner = name.getBoundingClientRect(), outer = name.parentElement.getBoundingClientRect(); \
       if (inner.width > 0 && (inner.top < outer.top - 1 || inner.bottom > outer.bottom + 1)) faults.push(`bar ${name.innerText}`); } \
     for (const mark of document.querySelectorAll('.row.band .mark')) { \
       const room = mark.getBoundingClientRect(); \
       for (const word of mark.querySelectorAll('.kept')) \
         if (word.getBoundingClientRect().right > room.right + 1) faults.push(`mark ${mark.innerText}`); } \
     return faults; })()";

/// How far the content that must be visible at once exceeds its box: the page horizontally, the timeline in both
/// directions.
const CUT: &str = "(() => { const [p, s] = [document.documentElement, document.querySelector('#scroll')]; \
     return [p.scrollWidth - p.clientWidth, s.scrollWidth - s.clientWidth, s.scrollHeight - s.clientHeight]; })()";

#[test]
fn an_article_and_a_phone_show_all_of_it() {
    let place = Place::new();
    for (lesson, variant) in [("zk-herd", "herd"), ("unlock-someone-elses-lock", "blind-del")] {
        let page = page(&place, &[lesson, "--variant", variant, "--lang", "en"]);
        let mut chrome = Chrome::start((680, 320), true);
        chrome.open(&page, "#embed&step=9");
        assert_eq!(step(&mut chrome), 9);
        assert_eq!(chrome.eval(CUT), serde_json::json!([0, 0, 0]), "{lesson}");
        chrome.open(&page, "#embed&step=12");
        assert_eq!(chrome.eval(CUT_WORDS), json!([]), "{lesson}");
        let sizes =
            "[document.documentElement, document.querySelector('#servers')].map((e) => e.scrollHeight)";
        assert_eq!(chrome.eval(sizes), serde_json::json!([320, 0]), "{lesson}");
        assert!(text(&mut chrome, "#story").len() > 40, "{lesson}");
        assert_ne!(chrome.eval("document.querySelector('#play').offsetWidth"), 0);
        drop(chrome);

        let mut chrome = Chrome::start((390, 844), false);
        chrome.open(&page, "#step=19");
        let names =
            "[...document.querySelectorAll('.label')].map((e) => Math.round(e.getBoundingClientRect().left))";
        let before = chrome.eval(names);
        chrome.eval("document.querySelector('#scroll').scrollLeft = 150");
        chrome.wait_for("document.querySelector('#scroll').scrollLeft > 100");
        assert_eq!(chrome.eval(names), before, "names stay where they are: {lesson}");
        assert_eq!(chrome.eval(CUT)[0], 0, "{lesson}");
        assert_eq!(chrome.troubles, Vec::<String>::new());
    }
    // Ten clients have low lanes in an article, but stay readable.
    let crowded = page(&place, &["oversell", "--variant", "lost-update", "--lang", "en"]);
    let mut chrome = Chrome::start((680, 320), true);
    for fragment in ["#embed&step=9", "#embed&step=end"] {
        chrome.open(&crowded, fragment);
        assert_eq!(chrome.eval(CUT), serde_json::json!([0, 0, 0]), "{fragment}");
        assert_eq!(chrome.eval(CUT_WORDS), json!([]), "{fragment}");
        let letters = "(() => { const c = document.querySelector('#chart'); \
             return parseFloat(getComputedStyle(c).fontSize) * Number(c.style.zoom); })()";
        let letters = chrome.eval(letters).as_f64().expect("a size");
        assert!(letters > 8.0, "{fragment}: {letters}");
        let names = "[...document.querySelectorAll('.row.lane .label')].filter((e) => e.getBoundingClientRect().bottom < 320).length";
        assert_eq!(chrome.eval(names), 10, "{fragment}");
    }
    drop(chrome);
    // A channel's name is longer than a phone is wide.
    let page = page(&place, &["countdown-latch", "--variant", "names", "--lang", "en"]);
    let mut chrome = Chrome::start((390, 844), false);
    chrome.open(&page, "");
    let sideways = "document.documentElement.scrollWidth - document.documentElement.clientWidth";
    assert_eq!(chrome.eval(sideways), 0);
}

#[test]
fn the_address_follows_the_step_and_messages_travel() {
    let place = Place::new();
    let page = page(&place, &["unlock-someone-elses-lock", "--variant", "blind-del"]);
    let preview = std::fs::read_to_string(&page).expect("a page");
    assert!(preview.contains("<meta property=\"og:image\" content=\"data:image/svg+xml,"));
    let mut chrome = Chrome::start((1280, 900), false);
    chrome.open(&page, "#step=6");
    chrome.press("ArrowRight");
    assert_eq!(chrome.eval("location.hash"), "#step=7");
    chrome.press("End");
    assert_eq!(chrome.eval("location.hash"), "#step=end");
    chrome.press("Home");
    assert_eq!(chrome.eval("location.hash"), "");
    chrome.allow_motion();
    chrome.open(&page, "#step=6");
    // Animations are visible for a few frames only: the page counts 20 frames a second by itself, however busy the
    // machine is, and keeps what it showed.
    chrome.eval(
        "(() => { let now = 0; performance.now = () => now; \
         window.requestAnimationFrame = (draw) => setTimeout(() => draw(now += 50)); \
         const flight = document.querySelector('#flight'); window.flown = []; \
         new MutationObserver(() => window.flown.push(flight.textContent)).observe(flight, { childList: true }); })()",
    );
    chrome.press("ArrowRight");
    chrome.wait_for("location.hash === '#step=7' && document.querySelector('#flight').textContent === ''");
    let flown = chrome.eval("window.flown.filter((text, n, all) => text && text !== all[n - 1])");
    let [sent, reply] = flown.as_array().expect("texts").as_slice() else { panic!("{flown}") };
    assert!(sent.as_str().is_some_and(|sent| sent.starts_with("SET lock B-")), "{flown}");
    assert_eq!(reply, "OK");
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
    // A recording is recognized by the first key of its header.
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

/// The most frequent findings of axe that depend on the page: texts with less contrast than WCAG requires, controls
/// without a name, missing landmarks and language.
pub const FAULTS: &str = r"(() => {
  const ink = Object.assign(document.createElement('canvas'), { width: 1, height: 1 });
  const pen = ink.getContext('2d', { willReadFrequently: true });
  const mixed = (colours) => {
    pen.clearRect(0, 0, 1, 1);
    for (const colour of colours) { pen.fillStyle = colour; pen.fillRect(0, 0, 1, 1); }
    return [...pen.getImageData(0, 0, 1, 1).data].slice(0, 3);
  };
  const light = (rgb) => {
    const [r, g, b] = rgb.map((c) => c / 255).map((c) => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const faults = [];
  // A text may lie over an element that is not its ancestor, and need not react to the pointer itself.
  const everything = new CSSStyleSheet();
  everything.replaceSync('* { pointer-events: auto !important; }');
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, everything];
  const beneath = (text, element) => {
    const range = document.createRange();
    range.selectNodeContents(text);
    const { left, right, top, bottom } = range.getBoundingClientRect();
    const there = document.elementsFromPoint((left + right) / 2, (top + bottom) / 2);
    const ancestors = [];
    for (let at = element; at; at = at.parentElement) ancestors.push(at);
    return there.includes(element) ? there.slice(there.indexOf(element)) : ancestors;
  };
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let text = walk.nextNode(); text; text = walk.nextNode()) {
    const element = text.parentElement;
    if (!text.data.trim() || !element.checkVisibility({ opacityProperty: true, visibilityProperty: true })) continue;
    if (element.closest('script, style, noscript, :disabled, [aria-hidden=true]')) continue;
    const grounds = beneath(text, element).reverse().map((at) => getComputedStyle(at).backgroundColor);
    const style = getComputedStyle(element);
    const [above, below] = [light(mixed([...grounds, style.color])), light(mixed(grounds))];
    const ratio = (Math.max(above, below) + 0.05) / (Math.min(above, below) + 0.05);
    const size = parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && style.fontWeight >= 700);
    if (ratio < (large ? 3 : 4.5)) faults.push(`${ratio.toFixed(2)} ${text.data.trim().slice(0, 30)}`);
  }
  document.adoptedStyleSheets = document.adoptedStyleSheets.filter((sheet) => sheet !== everything);
  for (const control of document.querySelectorAll('button, select, input, a, [tabindex]')) {
    const label = [...(control.labels ?? [])].map((label) => label.innerText).join('');
    const name = control.getAttribute('aria-label') || control.innerText || control.title || label;
    if (control.checkVisibility() && !name.trim()) faults.push(`no name: ${control.outerHTML.slice(0, 80)}`);
  }
  const lang = document.documentElement.lang;
  if (!/^(en|zh)/.test(lang)) faults.push(`language: ${lang}`);
  for (const landmark of ['main', 'nav', 'header', 'h1', 'title']) {
    if (document.querySelectorAll(landmark).length !== 1) faults.push(`not one ${landmark}`);
  }
  return faults;
})()";

/// The page whole and in an article, in both themes, at the verdict and at the question before, and with an unanswered
/// label on the background of two holders: all in one browser.
fn everywhere(check: &mut dyn FnMut(&mut Chrome, &str)) {
    const WHOLE: (u32, u32) = (1280, 900);
    const EMBEDDED: (u32, u32) = (680, 320);
    let place = Place::new();
    let mut chrome = Chrome::start((1280, 900), true);
    for (lang, theme) in [("en", "light"), ("zh", "dark")] {
        let features = json!([{"name": "prefers-color-scheme", "value": theme}]);
        chrome.call("Emulation.setEmulatedMedia", &json!({"features": features}));
        for (lesson, variant, views) in [
            (
                "unlock-someone-elses-lock",
                "blind-del",
                &[
                    ("#step=end", WHOLE),
                    ("#step=6", WHOLE),
                    ("#step=7", WHOLE),
                    ("#step=7", (390, 844)),
                    ("#embed&step=end", EMBEDDED),
                    ("#embed&step=6", EMBEDDED),
                    ("#embed&step=7", EMBEDDED),
                ][..],
            ),
            ("file-lock", "in-memory", &[("#step=end", WHOLE), ("#embed&step=end", EMBEDDED)][..]),
            ("zk-herd", "herd", &[("#step=12", WHOLE), ("#embed&step=12", EMBEDDED)][..]),
            ("redlock", "one-master", &[("#step=5", WHOLE), ("#embed&step=5", EMBEDDED)][..]),
        ] {
            let page = page(&place, &[lesson, "--variant", variant, "--lang", lang]);
            for (fragment, (width, height)) in views {
                let size = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
                chrome.call("Emulation.setDeviceMetricsOverride", &size);
                chrome.open(&page, fragment);
                check(&mut chrome, &format!("{lesson} {lang} {theme} {fragment}"));
            }
        }
    }
}

#[test]
fn pages_can_be_read_and_used_by_everybody() {
    everywhere(&mut |chrome, which| {
        assert_eq!(chrome.eval(FAULTS), json!([]), "{which}");
    });
}

/// The complete axe checks, if axe-core is available: see docs/development.md.
#[test]
#[ignore = "needs axe-core, by its file in LOCKSTEP_AXE"]
fn axe_finds_nothing() {
    everywhere(&mut |chrome, which| assert_eq!(chrome.axe(), json!([]), "{which}"));
}
