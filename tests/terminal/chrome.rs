//! A real headless Chromium, driven through its `DevTools` protocol: it opens pages, presses keys, clicks. It must not
//! know what the pages are.
//!
//! The protocol goes through two pipes (`--remote-debugging-pipe`, the browser's file descriptors 3 and 4), one JSON
//! message after another, each ended by a zero byte, without a port or a WebSocket.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    time::{Duration, Instant},
};

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use serde_json::{Value, json};
use tempfile::TempDir;

/// Longer than any page needs, so that a hanging browser is stopped.
const PATIENCE: Duration = Duration::from_mins(1);

/// A browser with one page, or one for each of several people.
pub struct Chrome {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    session: String,
    next: u64,
    /// The errors that the page wrote to its console, and the requests that it made.
    pub troubles: Vec<String>,
    pub requests: Vec<String>,
    _profile: TempDir,
}

/// The path of Chromium.
fn program() -> PathBuf {
    let named = std::env::var_os("LOCKSTEP_CHROMIUM").map(PathBuf::from);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut found = std::env::split_paths(&path)
        .flat_map(|folder| ["chromium", "chromium-browser", "google-chrome"].map(|name| folder.join(name)));
    named.or_else(|| found.find(|path| path.exists())).expect(
        "Chromium is not here, and the pages that `lockstep export` writes are tested in it: install it with \
         `apt-get install chromium` (`./test` does that), or name it in LOCKSTEP_CHROMIUM",
    )
}

impl Chrome {
    /// Starts it with a window of this size. `light` is the preferred colour scheme.
    pub fn start((width, height): (u32, u32), light: bool) -> Self {
        let profile = tempfile::Builder::new().prefix("lt-chrome").tempdir().expect("a profile");
        // The shell connects its own pipes to the file descriptors that the browser uses, and becomes the browser.
        let mut child = Command::new("sh")
            .args(["-c", "exec \"$@\" 3<&0 4>&1 0</dev/null 1>/dev/null 2>&1", "sh"])
            .arg(program())
            .args([
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-quic",
                "--no-first-run",
                "--disable-background-networking",
                "--disable-component-update",
                "--disable-sync",
                "--disable-dev-shm-usage",
                "--remote-debugging-pipe",
            ])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .arg(format!("--window-size={width},{height}"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a shell starts Chromium");
        let to = child.stdin.take().expect("a pipe");
        let from = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut chrome = Self {
            child,
            to,
            from,
            session: String::new(),
            next: 0,
            troubles: Vec::new(),
            requests: Vec::new(),
            _profile: profile,
        };
        chrome.open_page(&json!({"url": "about:blank"}));
        let scheme = if light { "light" } else { "dark" };
        chrome.call(
            "Emulation.setEmulatedMedia",
            &json!({"features": [
                {"name": "prefers-color-scheme", "value": scheme},
                // Most tests inspect the final state.
                {"name": "prefers-reduced-motion", "value": "reduce"},
            ]}),
        );
        chrome.call(
            "Emulation.setDeviceMetricsOverride",
            &json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false}),
        );
        chrome
    }

    fn open_page(&mut self, target: &Value) {
        let target = self.call("Target.createTarget", target);
        let attached =
            self.call("Target.attachToTarget", &json!({"targetId": target["targetId"], "flatten": true}));
        attached["sessionId"].as_str().expect("a session").clone_into(&mut self.session);
        for domain in ["Page", "Runtime", "Log", "Network"] {
            self.call(&format!("{domain}.enable"), &json!({}));
        }
    }

    /// Opens another person's page, with cookies of its own. [`Self::turn_to`] selects the page for later calls.
    pub fn person(&mut self) -> Person {
        self.session.clear();
        let context = self.call("Target.createBrowserContext", &json!({}));
        self.open_page(&json!({"url": "about:blank", "browserContextId": context["browserContextId"]}));
        Person(self.session.clone())
    }

    pub fn turn_to(&mut self, person: &Person) {
        self.session.clone_from(&person.0);
    }

    /// Sets the page's device and preferences.
    pub fn as_on(&mut self, (width, height): (u32, u32), theme: &str, lang: &str) {
        let size = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 700});
        self.call("Emulation.setDeviceMetricsOverride", &size);
        let features = json!([{"name": "prefers-color-scheme", "value": theme}]);
        self.call("Emulation.setEmulatedMedia", &json!({"features": features}));
        let agent = json!({"userAgent": "a test", "acceptLanguage": lang});
        self.call("Emulation.setUserAgentOverride", &agent);
    }

    /// Allows animations from now on.
    pub fn allow_motion(&mut self) {
        let features = json!([{"name": "prefers-reduced-motion", "value": "no-preference"}]);
        self.call("Emulation.setEmulatedMedia", &json!({"features": features}));
    }

    /// Sends a command and waits for its answer.
    pub fn call(&mut self, method: &str, params: &Value) -> Value {
        self.next += 1;
        let id = self.next;
        let mut message = json!({"id": id, "method": method, "params": params});
        if !self.session.is_empty() {
            message["sessionId"] = self.session.as_str().into();
        }
        self.to.write_all(format!("{message}\0").as_bytes()).expect("Chromium listens");
        loop {
            let answer = self.read();
            if answer["id"] == id {
                assert!(answer.get("error").is_none(), "{method}: {answer}");
                return answer["result"].clone();
            }
            self.hear(&answer);
        }
    }

    fn read(&mut self) -> Value {
        let mut bytes = Vec::new();
        self.from.read_until(0, &mut bytes).expect("Chromium talks");
        assert_eq!(bytes.pop(), Some(0), "Chromium ended");
        serde_json::from_slice(&bytes).expect("JSON")
    }

    fn hear(&mut self, told: &Value) {
        let params = &told["params"];
        match told["method"].as_str().unwrap_or_default() {
            "Runtime.exceptionThrown" => self.troubles.push(params["exceptionDetails"].to_string()),
            "Log.entryAdded" => self.troubles.push(params["entry"].to_string()),
            "Network.requestWillBeSent" => {
                self.requests.push(params["request"]["url"].as_str().unwrap_or_default().to_owned());
            }
            _ => {}
        }
    }

    /// Opens a file, with a fragment such as `#step=7`, and waits until it is loaded.
    pub fn open(&mut self, file: &Path, fragment: &str) {
        // Navigating to the same page with another fragment would load nothing.
        self.call("Page.navigate", &json!({"url": "about:blank"}));
        self.visit(&format!("file://{}{fragment}", file.display()));
    }

    /// Opens an address, and waits until it is loaded.
    pub fn visit(&mut self, url: &str) {
        self.call("Page.navigate", &json!({"url": url}));
        self.wait_for(&format!("document.readyState === 'complete' && location.href === {}", json!(url)));
    }

    /// Writes a screenshot of the page as a PNG.
    pub fn draw(&mut self, file: &Path) {
        let picture = self.call("Page.captureScreenshot", &json!({"format": "png"}));
        let picture = BASE64.decode(picture["data"].as_str().expect("a picture")).expect("base64");
        std::fs::write(file, picture).expect("a picture is written");
    }

    /// The value of an expression in the page.
    pub fn eval(&mut self, expression: &str) -> Value {
        let answer = self.call(
            "Runtime.evaluate",
            &json!({"expression": expression, "returnByValue": true, "awaitPromise": true}),
        );
        assert!(answer.get("exceptionDetails").is_none(), "{expression}: {answer}");
        answer["result"]["value"].clone()
    }

    /// What axe-core finds wrong with the page.
    pub fn axe(&mut self) -> Value {
        let path = std::env::var_os("LOCKSTEP_AXE").expect("the path of axe.min.js in LOCKSTEP_AXE");
        let axe = std::fs::read_to_string(path).expect("axe.min.js");
        self.eval(&format!("{axe}; true"));
        self.eval(
            "axe.run().then((found) => found.violations.flatMap((one) => \
             one.nodes.map((node) => `${one.id}: ${node.target} ${node.failureSummary}`)))",
        )
    }

    /// Waits until an expression is true.
    pub fn wait_for(&mut self, expression: &str) {
        let since = Instant::now();
        // The page polls, once per frame.
        while self.eval(&format!("new Promise((done) => setTimeout(() => done(Boolean({expression})), 16))"))
            != true
        {
            if since.elapsed() > PATIENCE {
                let page = self.eval("document.body.innerText");
                panic!("never: {expression}; the page says {page}");
            }
        }
    }

    /// Presses a key as a keyboard does.
    pub fn press(&mut self, key: &str) {
        let (code, number, text) = match key {
            " " => ("Space".to_owned(), 32, Some(" ")),
            "ArrowLeft" => (key.to_owned(), 37, None),
            "ArrowRight" => (key.to_owned(), 39, None),
            "Home" => (key.to_owned(), 36, None),
            "End" => (key.to_owned(), 35, None),
            "Tab" => (key.to_owned(), 9, None),
            letter => (
                format!("Key{}", letter.to_uppercase()),
                letter.to_uppercase().bytes().next().map_or(0, u32::from),
                Some(letter),
            ),
        };
        for kind in ["keyDown", "keyUp"] {
            let mut event = json!({"type": kind, "key": key, "code": code, "windowsVirtualKeyCode": number});
            if let Some(text) = text.filter(|_| kind == "keyDown") {
                event["text"] = text.into();
            }
            self.call("Input.dispatchKeyEvent", &event);
        }
    }

    /// Clicks into the middle of an element, or at a share of its width.
    pub fn click(&mut self, selector: &str, share: f64) {
        // A page that was just selected takes no input before it has been drawn.
        let found = self.eval(&format!(
            "new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))).then(() => {{ const e = document.querySelector({}); e.scrollIntoView({{ block: 'nearest' }}); \
             const r = e.getBoundingClientRect(); return [r.x, r.y, r.width, r.height]; }})",
            json!(selector)
        ));
        let number = |n: usize| found[n].as_f64().unwrap_or_else(|| panic!("no place: {selector}"));
        let (x, y) = (number(0) + number(2) * share, number(1) + number(3) / 2.0);
        for kind in ["mousePressed", "mouseReleased"] {
            self.call(
                "Input.dispatchMouseEvent",
                &json!({"type": kind, "x": x, "y": y, "button": "left", "clickCount": 1}),
            );
        }
    }
}

/// A person's page.
pub struct Person(String);

impl Drop for Chrome {
    fn drop(&mut self) {
        // First by request, so that its helpers end with it and release the profile; then by force.
        let message = json!({"id": 0, "method": "Browser.close"});
        let _ = self.to.write_all(format!("{message}\0").as_bytes());
        let mut rest = Vec::new();
        let _ = std::io::Read::read_to_end(&mut self.from, &mut rest);
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
