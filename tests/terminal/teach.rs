//! A class with the real program: a phone joins over HTTP, votes on a question, and the class takes its run home.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    os::unix::fs::PermissionsExt as _,
    time::Duration,
};

use rustix::process::Signal;

use crate::{
    place::Place,
    pty::{CTRL_C, ENTER, RIGHT, Screen, Terminal},
};

/// Sends a request on a connection of its own. Returns the status and headers, and a reader of the body.
fn ask(address: &str, line: &str, cookie: &str, body: &str) -> (String, BufReader<TcpStream>) {
    let mut stream = TcpStream::connect(address).expect("it listens");
    stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a timeout");
    let length = body.len();
    let request = format!(
        "{line} HTTP/1.1\r\nHost: {address}\r\nCookie: {cookie}\r\nContent-Type: application/json\r\n\
         Content-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    );
    stream.write_all(request.as_bytes()).expect("sent");
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        assert!(reader.read_line(&mut head).expect("an answer") > 0, "{head}");
    }
    (head, reader)
}

/// The word on the screen with this beginning.
fn word(screen: &Screen, begins: &str) -> String {
    let rows = screen.rows().join("\n");
    let from = rows.find(begins).unwrap_or_else(|| panic!("no {begins}:\n{rows}"));
    rows[from..].split([' ', '\n']).next().unwrap_or_default().to_owned()
}

#[test]
fn a_phone_joins_and_votes_and_the_class_takes_its_run_home() {
    let place = Place::new();
    let args = ["teach", "oversell", "--variant", "lost-update", "--recorded", "--reduced-motion"];
    let args = [&args[..], &["--bind", "127.0.0.1:0", "--keep", "class"]].concat();
    let mut terminal = Terminal::start(&place, &args);
    let begin = terminal.wait_for("Press Enter to begin.");
    let joining = word(&begin, "http://127.0.0.1:");
    let (address, code) = joining["http://".len()..].split_once('/').expect("a code");
    let link = place.path().join("state/lockstep/teacher-link");
    assert_eq!(std::fs::metadata(&link).expect("written").permissions().mode() & 0o777, 0o600);
    let teacher = std::fs::read_to_string(&link).expect("readable");
    let secret = teacher.trim().rsplit('/').next().expect("a secret").to_owned();
    terminal.press("\r");
    let lesson = terminal.wait_for("RECORDED");
    assert!(!lesson.has(&secret), "never on the projector: {lesson}");
    terminal.press("J");
    terminal.wait_for("0 have joined");

    let (head, _) = ask(address, &format!("GET /{code}"), "", "");
    let cookie = head.lines().find_map(|line| {
        let value =
            line.to_ascii_lowercase().starts_with("set-cookie:").then(|| &line["set-cookie:".len()..])?;
        value.split(';').next().map(|cookie| cookie.trim().to_owned())
    });
    let cookie = cookie.expect("a cookie to vote with");
    let (_, mut events) = ask(address, &format!("GET /{code}/events"), &cookie, "");
    terminal.wait_for("1 have joined");
    terminal.press("J");

    // The class answers: stepping on too early would pass over the question.
    for n in 1.. {
        terminal.press(RIGHT);
        if terminal.wait_for(&format!("step {n}/")).has("Your prediction") {
            break;
        }
    }
    terminal.wait_for("0 of 1 voted");
    let mut told = String::new();
    while !told.contains("\"asks\"") {
        told.clear();
        assert!(events.read_line(&mut told).expect("a state") > 0, "the stream has ended");
    }
    let poll = told.split("\"id\":").nth(1).and_then(|rest| rest.split(',').next()).expect("a number");
    let vote = format!("{{\"poll\":{poll},\"choice\":1}}");
    let (head, mut answer) = ask(address, &format!("POST /{code}/vote"), &cookie, &vote);
    let mut said = String::new();
    answer.read_to_string(&mut said).expect("an answer");
    assert!(head.starts_with("HTTP/1.1 200"), "{head}{said}");
    terminal.wait_for("1 of 1 voted");
    // The teacher's phone steps on; the question was not answered at the terminal.
    let (head, _) = ask(address, &format!("POST /teacher/{secret}/do"), "", "{\"do\":\"next\"}");
    assert!(head.starts_with("HTTP/1.1 204"), "{head}");
    terminal.wait_for("1 · 100 %");
    terminal.press("Q");
    assert_eq!(terminal.ended(), 0);
    terminal.assert_restored();
    assert!(!link.exists(), "nobody's link any more");
    assert!(TcpStream::connect(address).is_err(), "nothing is served any more");

    let read = |name: &str| std::fs::read_to_string(place.path().join("class").join(name)).expect("written");
    let list = read("index.html");
    assert!(list.contains("01-oversell-lost-update.html") && list.contains("left before its end"), "{list}");
    assert!(read("01-oversell-lost-update.html").contains("\"votes\":{"));
    place.assert_nothing_left();
}

#[test]
fn a_class_is_served_to_others_only_when_somebody_says_so() {
    let place = Place::new();
    let mut terminal = Terminal::start(&place, &["teach", "oversell", "--recorded", "--bind", "0.0.0.0:0"]);
    let asked = terminal.wait_for("Serve the pages there? [y/N]");
    assert!(asked.has("Nothing is stored") && asked.has("no TLS"), "{asked}");
    terminal.press("\r");
    assert_eq!(terminal.ended(), 2);
    assert!(!place.path().join("state/lockstep/teacher-link").exists());
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let bind = taken.local_addr().expect("an address").to_string();
    let mut terminal = Terminal::start(&place, &["teach", "oversell", "--recorded", "--bind", &bind]);
    terminal.wait_for("another program uses this port");
    assert_eq!(terminal.ended(), 2);
    place.assert_nothing_left();
}

#[test]
fn what_is_kept_can_be_written_before_the_class_begins() {
    let place = Place::new();
    std::fs::write(place.path().join("class"), "a file").expect("written");
    for (folder, why) in [
        ("class", "cannot make the directory class"),
        ("nowhere/class", "cannot make the directory nowhere/class"),
        // No file can be created there, not even by root.
        ("/proc", "/proc/index.html"),
    ] {
        let args = ["teach", "oversell", "--recorded", "--bind", "127.0.0.1:0", "--keep", folder];
        let mut terminal = Terminal::start(&place, &args);
        assert_eq!(terminal.ended(), 2);
        let said = String::from_utf8_lossy(&terminal.raw()).into_owned();
        assert!(said.contains(why) && !said.contains("http://"), "{said}");
    }
    place.assert_nothing_left();
}

#[test]
fn the_teachers_link_goes_with_whatever_ends_the_class() {
    let place = Place::new();
    let link = place.path().join("state/lockstep/teacher-link");
    for signal in [None, Some(Signal::TERM), Some(Signal::HUP)] {
        for begun in [false, true] {
            let mut terminal =
                Terminal::start(&place, &["teach", "oversell", "--recorded", "--bind", "127.0.0.1:0"]);
            terminal.wait_for("Press Enter to begin.");
            assert!(link.exists());
            if begun {
                terminal.press(ENTER);
                terminal.wait_for("RECORDED");
            }
            match signal {
                // A terminal in raw mode passes it to the program as a key.
                None => terminal.press(if begun { "Q" } else { CTRL_C }),
                Some(signal) => terminal.signal(signal),
            }
            terminal.ended();
            assert!(!link.exists(), "{signal:?} {begun}");
        }
    }
    place.assert_nothing_left();
}
