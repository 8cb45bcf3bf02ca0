//! The pages of a class in a real browser: how they show every state, in both languages and themes, on a phone and on a
//! projector.

use std::{path::Path, sync::Arc};

use lockstep::{
    export::Look,
    log::Steps,
    teach::{self, TeachHandle},
    text::{Lang, Text},
    ui::state::classroom::protocol::{
        Broken, ClassView, Classroom, Decision, Holder, LockView, Poll, PollKind, Published, TeacherView,
    },
};
use serde_json::{Value, json};

use crate::{
    chrome::{Chrome, Person},
    export_html::FAULTS,
    place::Place,
    pty::{ENTER, Terminal},
    stage,
};

const PHONE: (u32, u32) = (390, 844);
const SMALL: (u32, u32) = (320, 568);
const PROJECTOR: (u32, u32) = (1920, 1080);

/// A class on loopback, with a terminal in this language. Its pages show what is published.
fn class(lang: Lang) -> (Classroom, TeachHandle) {
    let look = Look { lang, ..Look::default() };
    teach::start("127.0.0.1:0".parse().expect("an address"), look).expect("a class is served")
}

fn both(en: &str, zh: &str) -> Text {
    Text { en: en.to_owned(), zh: zh.to_owned() }
}

fn poll(id: u64, kind: PollKind) -> Poll {
    Poll {
        id,
        kind,
        asks: both("What will `DEL` answer to A, whose lease is over?", "A 的租期已过，`DEL` 会返回几？"),
        choices: vec![
            both("1, it deletes the key", "1，键被删掉"),
            both(
                "0, because the key is B's by now, and a release that is worth its name asks for the owner first",
                "0，键已经是 B 的了，像样的释放都会先核对持有者",
            ),
            both("An error", "报错"),
        ],
        lasts: (kind == PollKind::Move).then_some(10_000),
        closed: false,
        decided: None,
    }
}

fn decided(poll: Poll) -> Poll {
    let why =
        both("DEL goes by the name, and says how many it has deleted.", "DEL 只认键名，返回删掉的个数。");
    let whys = poll.choices.iter().map(|_| Some(both("It ought to ask.", "本该核对。")));
    let decision = Decision { right: vec![0], why: Some(why), whys: whys.collect() };
    Poll { closed: true, decided: Some(decision), ..poll }
}

fn lock(holders: &[(&str, usize)]) -> LockView {
    let broken = holders.len() > 1;
    let holders = holders.iter().map(|(name, client)| Holder { name: (*name).to_owned(), client: *client });
    LockView { name: "lock".into(), holders: holders.collect(), broken }
}

fn view() -> ClassView {
    ClassView {
        title: Some(both("Unlocking someone else's lock", "误删别人的锁")),
        variant: Some(both("DEL without looking", "直接 DEL")),
        step: 8,
        steps: Some(21),
        says: Some(both(
            "B gets OK, and C nil. Watch what A does.",
            "B 得到 OK，C 得到 nil。看 A 接下来做什么。",
        )),
        locks: vec![lock(&[("A", 0)])],
        ..ClassView::default()
    }
}

/// Every state of a class, each with a word of its page in both languages.
fn states() -> Vec<(ClassView, [&'static str; 2])> {
    let two = || vec![lock(&[("A", 0), ("B", 1)])];
    let broken = Broken {
        moves: Some(7),
        says: both("Two clients hold the lock.", "两个客户端同时持有锁。"),
    };
    let free = ClassView { steps: None, ..view() };
    vec![
        (ClassView::default(), ["You are in", "已进入课堂"]),
        (view(), ["held by ● A", "● A 持有"]),
        (ClassView { locks: vec![lock(&[])], ..view() }, ["free", "空闲"]),
        (
            ClassView {
                harm: Some(both("B sold on an outdated 1.", "B 售出时依据的是旧值 1。")), ..view()
            },
            ["B sold on an outdated 1", "旧值 1"],
        ),
        (ClassView { locks: two(), ..view() }, ["2 at once", "2 个同时持有"]),
        (
            ClassView { locks: two(), ..view() },
            [
                "Now ■\u{a0}B believes that it has the lock, too, beside ●\u{a0}A.",
                "■\u{a0}B 也以为自己拿到了锁，而 ●\u{a0}A 还没有放手。",
            ],
        ),
        (ClassView { poll: Some(poll(1, PollKind::Prediction)), ..view() }, [" voted", "已投票"]),
        (
            ClassView { poll: Some(Poll { closed: true, ..poll(1, PollKind::Prediction) }), ..view() },
            ["Voting is over", "投票已结束"],
        ),
        (
            ClassView { poll: Some(decided(poll(1, PollKind::Prediction))), ..view() },
            ["What happened: 1", "实际是：1"],
        ),
        (ClassView { poll: Some(poll(2, PollKind::Move)), ..free.clone() }, ["s left", "还剩"]),
        (
            ClassView { poll: Some(decided(poll(2, PollKind::Move))), ..free.clone() },
            ["The class chose", "大家选的是"],
        ),
        (
            ClassView { broken: Some(broken), locks: two(), ..free },
            ["Broken by this class in 7 moves", "全班用 7 步攻破"],
        ),
        (
            ClassView { outcome: Some(both("FAILURE SHOWN", "如预期失败")), ..view() },
            ["FAILURE SHOWN", "如预期失败"],
        ),
    ]
}

/// Asserts what holds of every page in every state.
#[track_caller]
fn assert_sound(chrome: &mut Chrome, which: &str) {
    // A page without a bar of buttons has no navigation.
    assert_eq!(chrome.eval(&FAULTS.replace("'nav', ", "")), json!([]), "{which}");
    // Nothing reaches beyond the page, no text beyond its box, and buttons are large enough for a finger.
    let cut = "(() => { const page = document.documentElement, faults = []; \
         if (page.scrollWidth > page.clientWidth) faults.push(`page: ${page.scrollWidth}`); \
         for (const e of document.querySelectorAll('p, h1, h2, h3, li, button, #told')) { \
           if (e.closest('#chart') || !e.checkVisibility()) continue; \
           if (e.scrollWidth > e.clientWidth + 1 && e.clientWidth) faults.push(`cut: ${e.innerText}`); \
           if (e.id === 'told' && e.scrollHeight > e.clientHeight + 1) faults.push('told'); } \
         for (const e of document.querySelectorAll('#choices button, #remote button, .join button, .join input')) \
           if (e.checkVisibility() && e.offsetHeight < 48) faults.push(`low: ${e.innerText} ${e.offsetHeight}`); \
         return faults; })()";
    assert_eq!(chrome.eval(cut), json!([]), "{which}");
}

/// Checks every page in every state, in both languages and themes.
fn everywhere(check: &mut dyn FnMut(&mut Chrome, &str)) {
    let mut chrome = Chrome::start(PHONE, true);
    let whole = stage::run();
    for (n, lang, theme, phone) in [
        (0, "en-US", "light", PHONE),
        (0, "en-US", "dark", PHONE),
        (1, "zh-CN", "light", PHONE),
        (1, "zh-CN", "dark", SMALL),
    ] {
        // Phones speak the language of their browser, the other pages that of the terminal.
        let (class, handle) = class([Lang::En, Lang::Zh][n]);
        let host = handle.stage_url.trim_end_matches("/stage").to_owned();
        let other = ["zh-CN", "en-US"][n];
        for (page, url, size) in [
            ("phone", &class.joining.url, phone),
            ("teacher", &handle.teacher_url, phone),
            ("stage", &handle.stage_url, PROJECTOR),
        ] {
            chrome.as_on(size, theme, if page == "phone" { lang } else { other });
            chrome.visit(url);
            assert_eq!(chrome.eval("lang"), ["en", "zh"][n], "{page} {lang}");
            let states = states();
            let last = states.len() - 1;
            for (place, (view, words)) in states.into_iter().enumerate() {
                let says = view.says.clone();
                let teacher = TeacherView {
                    notes: Some(both("Ask who may write now.", "问一问：现在谁可以写？")),
                    next: says.clone(),
                    next_note: says,
                    began: 1,
                    can_vote: view.steps.is_none(),
                    ..TeacherView::default()
                };
                let position = whole.log.len() * place / last;
                let run = if place < last { stage::at(&whole, position) } else { Arc::new(whole.clone()) };
                let run = view.title.is_some().then_some(run);
                let follows = page == "stage" && run.is_some();
                let class_view = ClassView { step: place, ..view };
                class.published.send_replace(Published { class: class_view, teacher, run });
                // Wait until this state is shown and drawn.
                chrome.wait_for(&format!("seen && seen.step === {place}"));
                if follows {
                    chrome.wait_for(&format!("position === {position} && !$('timeline').hidden"));
                }
                chrome
                    .eval("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))");
                let shown = chrome.eval("document.body.innerText");
                let which = format!("{page} {lang} {theme} {place}");
                assert!(
                    page != "phone" || shown.as_str().is_some_and(|shown| shown.contains(words[n])),
                    "{which}: {shown}"
                );
                check(&mut chrome, &which);
            }
        }
        chrome.as_on(phone, theme, lang);
        for path in ["/", "/ZZZZZZ"] {
            chrome.visit(&format!("{host}{path}"));
            check(&mut chrome, &format!("join {path} {lang} {theme}"));
        }
        // A wrong code is answered with 404, which the browser logs.
        chrome.troubles.retain(|trouble| !trouble.contains("404"));
        assert_eq!(chrome.troubles, Vec::<String>::new());
        assert!(
            chrome.requests.iter().all(|url| url.starts_with(&host) || url.starts_with("data:")),
            "{:?}",
            chrome.requests
        );
        // The streams of this class end before it does.
        chrome.visit("about:blank");
        chrome.requests.clear();
    }
}

#[test]
fn the_stage_says_what_went_wrong_and_keeps_a_chosen_language_for_its_tab() {
    let (class, handle) = class(Lang::Zh);
    let whole = stage::run();
    let mut chrome = Chrome::start(PROJECTOR, false);
    chrome.as_on(PROJECTOR, "dark", "en-US");
    chrome.visit(&handle.stage_url);
    let told =
        "[...document.querySelectorAll('#told .news')].map((e) => e.innerText.replace(/\\u00a0/g, ' '))";
    let publish = |chrome: &mut Chrome, step: usize| {
        let position = Steps::of(&whole.log).all()[step - 1].position;
        let run = Some(stage::at(&whole, position));
        class.published.send_replace(Published {
            class: ClassView { step, ..view() },
            run,
            ..Published::default()
        });
        chrome.wait_for(&format!(
            "seen && seen.step === {step} && position === {position} && !$('timeline').hidden"
        ));
        chrome.eval("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))");
        assert_sound(chrome, &format!("step {step}"));
    };
    publish(&mut chrome, 6);
    assert_eq!(chrome.eval(told), json!([]));
    publish(&mut chrome, 7);
    assert_eq!(chrome.eval(told), json!(["■ B 也以为自己拿到了锁，而 ● A 还没有放手。"]));
    chrome.click("#language", 0.5);
    chrome.wait_for("lang === 'en'");
    chrome.wait_for(&format!(
        "JSON.stringify({told}) === '[\"Now ■ B believes that it has the lock, too, beside ● A.\"]'"
    ));
    // A reload keeps what was chosen; the next tab begins in the terminal's language.
    chrome.visit(&handle.stage_url);
    assert_eq!(chrome.eval("lang"), "en");
    let next = chrome.person();
    chrome.turn_to(&next);
    chrome.visit(&handle.stage_url);
    assert_eq!(chrome.eval("lang"), "zh");
    assert_eq!(chrome.troubles, Vec::<String>::new());
}

#[test]
fn everybody_can_read_and_use_every_page_of_a_class() {
    everywhere(&mut |chrome, which| {
        assert_sound(chrome, which);
        if which.starts_with("stage") {
            assert_large(chrome, which);
        }
    });
}

/// Asserts what viewers in the last row need of the stage: nothing is cut off, names have 28 pixels, and a lock with
/// several holders is a banner of 8 % of the height.
#[track_caller]
fn assert_large(chrome: &mut Chrome, which: &str) {
    let banner =
        chrome.eval("$('alarm').hidden ? 1 : $('alarm').getBoundingClientRect().height / innerHeight");
    assert!(banner.as_f64() >= Some(0.08), "{which}: {banner}");
    let names = chrome.eval(
        "[...document.querySelectorAll('.row:not(.axis) .label > span')].filter((name) => name.offsetHeight).map((name) => \
         parseFloat(getComputedStyle(name).fontSize) * name.getBoundingClientRect().height / name.offsetHeight)",
    );
    let names: Vec<f64> = names.as_array().expect("a list").iter().filter_map(Value::as_f64).collect();
    assert!(names.iter().all(|size| *size >= 28.0), "{which}: {names:?}");
    let cut = "[document.documentElement, document.body, document.querySelector('main')] \
         .some((e) => e.scrollHeight > innerHeight || e.scrollWidth > innerWidth)";
    assert_eq!(chrome.eval(cut), false, "{which}");
}

/// The complete axe checks, if axe-core is available: see docs/development.md.
#[test]
#[ignore = "needs axe-core, by its file in LOCKSTEP_AXE"]
fn axe_finds_nothing_in_a_class() {
    everywhere(&mut |chrome, which| assert_eq!(chrome.axe(), json!([]), "{which}"));
}

/// Writes pictures of every page in every state into the directory named by `LOCKSTEP_PICTURES`.
#[test]
#[ignore = "writes pictures for people to look at; see docs/development.md"]
fn pictures() {
    let folder = std::env::var_os("LOCKSTEP_PICTURES").expect("a directory in LOCKSTEP_PICTURES");
    everywhere(&mut |chrome, which| {
        let name = which.replace(['/', ' '], "-");
        chrome.draw(&Path::new(&folder).join(format!("class-{name}.png")));
    });
}

/// The addresses of the pages, as printed by the program before it begins.
struct Addresses {
    phone: String,
    stage: String,
    teacher: String,
}

fn addresses(terminal: &mut Terminal) -> Addresses {
    terminal.wait_for("Press Enter to begin.");
    let said = String::from_utf8_lossy(&terminal.raw()).into_owned();
    let found = |wanted: &dyn Fn(&str) -> bool| {
        let mut words = said.split_whitespace().map(|word| word.trim_end_matches('.'));
        words.find(|word| word.starts_with("http://") && wanted(word)).expect(&said).to_owned()
    };
    let addresses = Addresses {
        phone: found(&|url| !url.contains("/teacher/") && !url.ends_with("/stage")),
        stage: found(&|url| url.ends_with("/stage")),
        teacher: found(&|url| url.contains("/teacher/")),
    };
    terminal.press(ENTER);
    addresses
}

/// The number of phones, besides the teacher and the stage.
const CLASS: usize = 5;

/// Opens an address as a new person.
fn join(chrome: &mut Chrome, url: &str, size: (u32, u32), lang: &str) -> Person {
    let person = chrome.person();
    chrome.as_on(size, "dark", lang);
    chrome.visit(url);
    chrome.wait_for("seen !== null");
    person
}

/// Draws a picture of the documentation again, if requested.
fn draw(chrome: &mut Chrome, name: &str) {
    if std::env::var_os("LOCKSTEP_DRAW").is_some() {
        chrome.draw(&Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/classroom").join(name));
    }
}

/// The teacher steps on by phone until a condition holds on the teacher's page.
fn go_on(chrome: &mut Chrome, teacher: &Person, until: &str) {
    chrome.turn_to(teacher);
    // The step is over when it is counted.
    let place = "JSON.stringify([seen.step, Boolean(seen.outcome)])";
    while chrome.eval(until) != json!(true) {
        let here = chrome.eval(place);
        chrome.click("#forward", 0.5);
        chrome.wait_for(&format!("{place} !== {here}"));
    }
}

#[test]
fn a_whole_class_goes_through_a_lesson() {
    let place = Place::new();
    let mut terminal = Terminal::start(
        &place,
        &["teach", "unlock-someone-elses-lock", "--bind", "127.0.0.1:0", "--speed", "10", "--lang", "en"],
    );
    let addresses = addresses(&mut terminal);
    let mut chrome = Chrome::start(PHONE, false);
    let phones: Vec<Person> = (0..CLASS)
        .map(|n| join(&mut chrome, &addresses.phone, PHONE, if n % 2 == 0 { "en-US" } else { "zh-CN" }))
        .collect();
    let stage = join(&mut chrome, &addresses.stage, PROJECTOR, "en-US");
    let teacher = join(&mut chrome, &addresses.teacher, PHONE, "en-US");
    chrome.wait_for(&format!("tally.joined === {CLASS}"));

    // The question: all phones vote, the first of them twice.
    go_on(&mut chrome, &teacher, "Boolean(seen.poll)");
    for (n, phone) in phones.iter().enumerate() {
        chrome.turn_to(phone);
        // Phones accept votes as soon as the step is over.
        chrome.wait_for("document.querySelectorAll('#choices button:enabled').length === 3");
        let own = n % 3;
        for choice in if n == 0 { vec![1, own] } else { vec![own] } {
            chrome.click(&format!("#choices button:nth-child({})", choice + 1), 0.5);
            chrome.wait_for(&format!("mine === {choice}"));
        }
    }
    // A phone that reloads finds the question, and its own vote.
    chrome.visit(&addresses.phone);
    chrome.wait_for(&format!(
        "document.querySelector('[aria-pressed=true] b')?.textContent === '{}'",
        (CLASS - 1) % 3 + 1
    ));
    assert_sound(&mut chrome, "a question on a phone");
    assert_eq!(
        chrome.eval("document.querySelectorAll('.votes').length"),
        0,
        "nobody sees votes before the answer"
    );
    chrome.turn_to(&teacher);
    chrome.wait_for("JSON.stringify(tally.votes) === '[2,2,1]'");
    draw(&mut chrome, "teacher.png");
    chrome.turn_to(&stage);
    chrome.wait_for("document.body.innerText.includes('5 of 5 voted')");
    assert_sound(&mut chrome, "a question on the stage");
    terminal.wait_for("5 of 5 voted");

    // The answer: what happened, and the bars.
    go_on(&mut chrome, &teacher, "Boolean(seen.poll && seen.poll.decided)");
    for (n, phone) in phones.iter().enumerate() {
        chrome.turn_to(phone);
        chrome.wait_for("document.querySelectorAll('.votes li').length === 3");
        let words = match (n % 3 == 2, n % 2 == 0) {
            (true, true) => "You were right",
            (true, false) => "猜对了",
            (false, true) => "You said",
            (false, false) => "你猜的是",
        };
        chrome.wait_for(&format!("document.body.innerText.includes('{words}')"));
    }
    assert_sound(&mut chrome, "an answer on a phone");
    chrome.turn_to(&phones[0]);
    draw(&mut chrome, "phone.png");
    chrome.turn_to(&stage);
    chrome.wait_for("document.querySelectorAll('#told .votes li').length === 3");
    assert_sound(&mut chrome, "an answer on the stage");

    // Two holders: a banner of 8 % of the height, and names that the last row can read.
    chrome.turn_to(&teacher);
    go_on(&mut chrome, &teacher, "seen.locks.some((lock) => lock.broken)");
    chrome.turn_to(&stage);
    chrome.wait_for("!document.querySelector('#alarm').hidden");
    assert_large(&mut chrome, "two holders on the stage");
    assert_sound(&mut chrome, "two holders on the stage");
    draw(&mut chrome, "stage.png");

    go_on(&mut chrome, &teacher, "Boolean(seen.outcome)");
    chrome.turn_to(&stage);
    chrome.wait_for("document.querySelector('#told .bad') !== null");
    assert_eq!(chrome.troubles, Vec::<String>::new());
    let host = addresses.stage.trim_end_matches("stage");
    let elsewhere: Vec<&String> =
        chrome.requests.iter().filter(|url| !url.starts_with(host) && !url.starts_with("data:")).collect();
    assert!(elsewhere.is_empty(), "{elsewhere:?}");
    drop(chrome);
    terminal.press("Q");
    assert_eq!(terminal.ended(), 0);
    place.assert_nothing_left();
}
