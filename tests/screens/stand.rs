//! A stand for the program: a catalogue, a live run that the test controls, and a screen to inspect.

use std::{
    cell::RefCell,
    path::Path,
    rc::Rc,
    sync::Arc,
    time::{Duration, Instant},
};

use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use lockstep::{
    clock::ClockKind,
    lesson::{Card, Expect, FollowUp, LabKind, Lesson, Scenario, Shown, Track},
    log::{Event as Happened, Log},
    run::{
        LessonChoice, Runs,
        batch::{Batch, BatchUpdate, Control},
        exam::{ExamQuestion, Questions},
        explore::Bounds,
        session::{RunError, Session, SessionCommand, Update},
    },
    text::{Lang, Text},
    ui::{
        app::{App, AppOptions, ClassUpdate, Message, Mode},
        state::{
            catalogue::{Catalogue, CatalogueEntry, CatalogueInvariant, CatalogueVariant, VariantPlan},
            classroom::{
                Class,
                protocol::{self, ClassroomServer, Joining, Tally},
            },
            progress::Store,
        },
        theme::{Theme, text::width},
        view::svg,
    },
    verdict::{ClaimResult, Outcome, Verdict},
};
use ratatui::{buffer::Buffer, layout::Rect};
use tokio::sync::{
    mpsc::{self, UnboundedReceiver, UnboundedSender, unbounded_channel},
    watch,
};

use super::staged::{self, Script};

pub const LANGS: [Lang; 2] = [Lang::En, Lang::Zh];

/// Usual terminals, from the smallest that shows everything to a large one.
pub const SIZES: [(u16, u16); 5] = [(80, 24), (100, 30), (120, 40), (160, 48), (200, 60)];

/// Every size that is too small, sizes that are just large enough, and sizes that are very long in one direction.
pub fn odd_sizes() -> impl Iterator<Item = (u16, u16)> {
    let small = (0..=30).flat_map(|width| (0..=12).map(move |height| (width, height)));
    small.chain([(59, 15), (60, 16), (61, 17), (72, 20), (300, 16), (60, 100), (400, 120)])
}

pub fn text(en: &str, zh: &str) -> Text {
    Text { en: en.into(), zh: zh.into() }
}

pub fn entry(id: &str, track: Track, title: Text) -> CatalogueEntry {
    let variant = |name: &str, title: Text, expect| CatalogueVariant {
        name: name.into(),
        title,
        expect,
        fixes: None,
        lab: LabKind::Redis,
        lesson: text(
            "Delete a lock only if it is still yours: compare the token and delete in one script.",
            "只删除仍属于自己的锁：用一个脚本原子地比较令牌再删除。",
        ),
        plan: VariantPlan {
            steps: 11,
            scenario: None,
            invariants: vec![CatalogueInvariant {
                says: text("Two clients hold the lock at the same time.", "两个客户端同时持有锁。"),
                goal: text("Let two clients hold the lock at the same time.", "让两个客户端同时持有锁。"),
            }],
            shown: vec![Some(3), None],
        }
        .into(),
    };
    let lesson = Lesson {
        id: id.into(),
        track,
        title,
        summary: text(
            "A's lease ends, B locks, A deletes B's lock, and C walks in.",
            "A 的租约到期，B 拿到锁，A 却删掉了 B 的锁，C 趁虚而入。",
        ),
        intro: text(
            "A Redis lock is one key: `SET lock token NX PX 3000` creates it only if nobody has it, and Redis \
             removes it after 3 s. Releasing the lock means deleting the key. Watch what happens when the \
             deletion comes too late.",
            "Redis 锁就是一个键：`SET lock token NX PX 3000` 只在没人持有时才会创建，3 秒后由 Redis 自动删除。\
             释放锁就是删除这个键。来看看删除得太晚会发生什么。",
        ),
        minutes: 6,
        starred: id == "unlock",
        interview: vec![
            Card {
                q: text("Why is GET, compare, DEL not enough?", "为什么先 GET 比较再 DEL 还不够？"),
                a: text("The lease may end between GET and DEL.", "GET 与 DEL 之间租约可能到期。"),
                follow_up: Some(FollowUp {
                    q: text("Which command does both in one step?", "哪条命令能一步完成？"),
                    a: text(
                        "`DELEX lock IFEQ token`, since Redis 8.4.",
                        "Redis 8.4 起的 `DELEX lock IFEQ token`。",
                    ),
                }),
                from: vec!["S3".into(), "S7".into()],
                shown: Some(Shown { variant: "script".into(), at: None }),
            },
            Card {
                q: text("What should the token be?", "令牌应该用什么？"),
                a: text("Unique per acquisition, never a user id.", "每次加锁都唯一，不能用用户 ID。"),
                ..Card::default()
            },
        ],
        ..Lesson::default()
    };
    CatalogueEntry {
        variants: vec![
            variant("blind-del", text("blind DEL", "直接 DEL"), Expect::Shown),
            variant("get-del", text("GET, compare, DEL", "先 GET 比较再 DEL"), Expect::Shown),
            variant("script", text("compare-and-delete script", "脚本比较并删除"), Expect::Prevented),
        ],
        ..CatalogueEntry::from(&Arc::new(lesson))
    }
}

pub fn catalogue() -> Catalogue {
    Catalogue::new(vec![
        entry("oversell", Track::Basics, text("Overselling", "超卖")),
        entry("setnx", Track::Redis, text("SETNX without EXPIRE", "SETNX 忘了 EXPIRE")),
        entry("unlock", Track::Redis, text("Unlocking someone else's lock", "误删别人的锁")),
        entry("watchdog", Track::Redis, text("Watchdog renewal", "看门狗续期")),
        entry("zk-herd", Track::Zookeeper, text("The herd effect", "羊群效应")),
        CatalogueEntry::broken(
            "my-lesson",
            "lessons/my-lesson.yaml:12:3: unknown field `stroy`; write `story`",
        ),
    ])
}

/// The other end of a session: the app's commands, and the sender of updates.
#[derive(Debug)]
pub struct Engine {
    pub commands: UnboundedReceiver<SessionCommand>,
    pub updates: UnboundedSender<Update>,
}

/// The other end of a batch of runs: what the app requested, and the sender that keeps it from ending.
#[derive(Debug)]
pub struct Worker {
    /// The bounds of a search.
    pub bounds: Bounds,
    pub control: watch::Receiver<Control>,
    _updates: mpsc::Sender<BatchUpdate>,
}

/// Opens runs that the test controls.
#[derive(Debug, Clone, Default)]
pub struct FakeRuns {
    pub opened: Rc<RefCell<Vec<(LessonChoice, Engine)>>>,
    /// The log that each branch began with.
    pub pasts: Rc<RefCell<Vec<Log>>>,
    pub raced: Rc<RefCell<Vec<(LessonChoice, Worker)>>>,
    pub explored: Rc<RefCell<Vec<(LessonChoice, Worker)>>>,
    /// The lessons of each requested exam, and the sender that keeps it from ending.
    pub examined: Rc<RefCell<Vec<Examined>>>,
}

type Examined = (Vec<String>, mpsc::Sender<Result<ExamQuestion, RunError>>);

impl Runs for FakeRuns {
    fn open(&self, lesson: &LessonChoice) -> Session {
        let (commands, asked) = unbounded_channel();
        let (updates, told) = unbounded_channel();
        let engine = Engine { commands: asked, updates };
        self.opened.borrow_mut().push((lesson.clone(), engine));
        Session { commands, updates: told }
    }

    fn branch(&self, lesson: &LessonChoice, past: Log) -> Session {
        self.pasts.borrow_mut().push(past);
        self.open(lesson)
    }

    fn race(&self, lesson: &LessonChoice, races: u64) -> Batch {
        let (batch, worker) = batch(Control { races, stopped: false }, Bounds::default());
        self.raced.borrow_mut().push((lesson.clone(), worker));
        batch
    }

    fn explore(&self, lesson: &LessonChoice, bounds: &Bounds) -> Batch {
        let (batch, worker) = batch(Control::default(), bounds.clone());
        self.explored.borrow_mut().push((lesson.clone(), worker));
        batch
    }

    fn exam(&self, lessons: &[String], _: u64) -> Result<Questions, Text> {
        let (sender, questions) = mpsc::channel(1);
        self.examined.borrow_mut().push((lessons.to_vec(), sender));
        Ok(questions)
    }

    fn why(&self, _: &LessonChoice, _: &Log) -> Option<Text> {
        Some(text(
            "B acquired the lock between A's acquire and A's release.",
            "A 加锁与释放之间，B 拿到了锁。",
        ))
    }
}

fn batch(control: Control, bounds: Bounds) -> (Batch, Worker) {
    let (control, asked) = watch::channel(control);
    let (updates, receiver) = mpsc::channel(1);
    (Batch { control, updates: receiver }, Worker { bounds, control: asked, _updates: updates })
}

/// The program without its loop: messages go in, a picture comes out.
pub struct Stand {
    pub app: App<FakeRuns>,
    pub runs: FakeRuns,
    pub now: Instant,
    pub area: Rect,
}

/// Opens races or the search of a variant by `key` from the catalogue, from a lesson's variants and from the lesson,
/// which is then found again as it was left. `opened` lists the variants opened so far. Returns the rows of the screen
/// after `update`.
pub fn opens_from_everywhere(
    key: char,
    opened: impl Fn(&Stand) -> Vec<String>,
    update: BatchUpdate,
) -> Vec<String> {
    let mut stand = Stand::catalogue(Lang::En, (80, 24));
    stand.press(key);
    assert_eq!(opened(&stand), ["blind-del"]);
    assert!(stand.shows("starting servers"), "{:#?}", stand.rows());
    stand.press('v');
    assert_eq!(opened(&stand), ["blind-del", "get-del"]);
    stand.press('q');
    assert!(matches!(stand.app.mode(), Mode::Browsing));
    stand.key(KeyCode::Right);
    stand.press('j');
    stand.press('j');
    stand.press(key);
    assert_eq!(opened(&stand)[2..], ["script"]);

    let mut stand = Stand::lesson(staged::misdelete(ClockKind::Controlled), Lang::En, (100, 30));
    let lesson = stand.rows();
    stand.press(key);
    assert_eq!(opened(&stand), ["blind-del"]);
    stand.batch_update(update);
    let outcomes = stand.rows();
    stand.key(KeyCode::Esc);
    assert_eq!(stand.rows(), lesson, "the lesson is found as it was left");
    outcomes
}

impl Stand {
    /// Most tests inspect the final state, so animations are off unless a test is about them.
    fn new(lang: Lang, size: (u16, u16), open: bool, theme: Theme) -> Self {
        Self::with(lang, size, open, (theme, true))
    }

    fn with(lang: Lang, size: (u16, u16), open: bool, (theme, reduced_motion): (Theme, bool)) -> Self {
        let runs = FakeRuns::default();
        let open = open.then(|| LessonChoice { id: "unlock".into(), variant: "blind-del".into() });
        // The learner has used the keys before, so no hints are shown.
        let mut progress = Store::default();
        let tried = ["step", "compare", "free"].map(str::to_owned);
        progress.change(|progress| progress.tried.extend(tried.clone())).expect("nothing is written");
        let options = AppOptions { lang, open, theme, reduced_motion, progress, ..AppOptions::default() };
        let mut stand = Self {
            app: App::new(catalogue(), runs.clone(), &options),
            runs,
            now: Instant::now(),
            area: Rect::default(),
        };
        stand.resize(size);
        stand
    }

    /// Gives the terminal another size.
    pub fn resize(&mut self, (width, height): (u16, u16)) {
        self.area = Rect::new(0, 0, width, height);
        self.app.resize(self.area);
    }

    pub fn catalogue(lang: Lang, size: (u16, u16)) -> Self {
        Self::themed_catalogue(lang, size, Theme::default())
    }

    /// The same on another kind of terminal.
    pub fn themed_catalogue(lang: Lang, size: (u16, u16), theme: Theme) -> Self {
        let mut stand = Self::new(lang, size, false, theme);
        stand.press('j');
        stand.press('j');
        stand
    }

    /// A lesson whose lab is still starting.
    pub fn opened(lang: Lang, size: (u16, u16)) -> Self {
        Self::new(lang, size, true, Theme::default())
    }

    /// The same with the programs of a scenario.
    pub fn programmed(scenario: Scenario, lang: Lang, size: (u16, u16)) -> Self {
        let mut lessons = catalogue();
        let unlock = lessons.entries.iter_mut().find(|entry| entry.lesson.id == "unlock").expect("a lesson");
        unlock.variants[0].plan = VariantPlan::from(Arc::new(scenario)).into();
        let open = Some(LessonChoice { id: "unlock".into(), variant: "blind-del".into() });
        let mut stand = Self::catalogue(lang, size);
        let options = AppOptions { lang, open, reduced_motion: true, ..AppOptions::default() };
        stand.app = App::new(lessons, stand.runs.clone(), &options);
        stand.app.resize(stand.area);
        stand
    }

    /// A lesson whose lab has just started.
    pub fn fresh(lang: Lang, size: (u16, u16)) -> Self {
        let mut stand = Self::new(lang, size, true, Theme::default());
        let script = staged::misdelete(ClockKind::Controlled);
        stand.events(script.events[..3].to_vec());
        stand
    }

    /// A lesson that has played a whole script.
    pub fn lesson(script: Script, lang: Lang, size: (u16, u16)) -> Self {
        Self::themed(script, lang, size, Theme::default())
    }

    /// A lesson with animations on, after these events: nothing moves any more.
    pub fn moving(events: &[Happened], lang: Lang, size: (u16, u16)) -> Self {
        let mut stand = Self::with(lang, size, true, (Theme::default(), false));
        stand.events(events.to_vec());
        stand.update(Update::Stepped { ended: false });
        stand.press('~');
        stand
    }

    /// The same on another kind of terminal.
    pub fn themed(script: Script, lang: Lang, size: (u16, u16), theme: Theme) -> Self {
        let mut stand = Self::new(lang, size, true, theme);
        stand.events(script.events);
        stand.update(Update::Stepped { ended: false });
        stand.press('~');
        stand
    }

    /// Adds a class, and returns its other end: what is published to it, and where its votes come from.
    pub fn with_class(self) -> (Self, ClassroomServer) {
        let url = "http://192.168.1.23:5625/K7PM2X".to_owned();
        let joining = Joining { url, code: "K7PM2X".to_owned(), loopback: false };
        let (room, server) = protocol::open(joining);
        let app = self.app.with_class(Class::new(room, None));
        (Self { app, ..self }, server)
    }

    /// This many phones have joined, and voted like this.
    pub fn tally(&mut self, joined: usize, poll: Option<u64>, votes: &[usize]) {
        let tally = Tally { joined, stages: 0, poll, votes: votes.to_vec() };
        self.hear(ClassUpdate::Tally(tally));
    }

    pub fn hear(&mut self, heard: ClassUpdate) {
        self.app.handle(Message::Class(heard), self.now);
    }

    /// The commands to the newest run since the last call.
    pub fn commands(&mut self) -> Vec<SessionCommand> {
        let mut opened = self.runs.opened.borrow_mut();
        let (_, engine) = opened.last_mut().expect("a run");
        std::iter::from_fn(|| engine.commands.try_recv().ok()).collect()
    }

    pub fn update(&mut self, update: Update) {
        self.app.handle(Message::Run(Some(update)), self.now);
    }

    /// A question of an exam; `None` ends the exam.
    pub fn examine(&mut self, question: Option<ExamQuestion>) {
        self.app.handle(Message::Exam(question.map(Box::new).map(Ok)), self.now);
    }

    pub fn batch_update(&mut self, update: BatchUpdate) {
        self.app.handle(Message::Batch(Some(update)), self.now);
    }

    pub fn events(&mut self, events: Vec<Happened>) {
        self.update(Update::Events(events));
    }

    pub fn ended(&mut self) {
        self.update(Update::Stepped { ended: true });
        let claim = |claim: &str, expected: &str, observed: &str, holds| ClaimResult {
            claim: claim.into(),
            says: None,
            expected: Text { en: expected.into(), zh: expected.into() },
            observed: Text { en: observed.into(), zh: observed.into() },
            holds,
            evidence: vec![],
        };
        self.update(Update::Verdict(Verdict {
            outcome: Outcome::Shown,
            claims: vec![
                claim("overlap: lock", "two holders at once", "A and B from 3.001s to 4.002s", true),
                claim("A.release == 1", "1", "1", true),
            ],
        }));
    }

    pub fn key(&mut self, code: KeyCode) {
        let key = Event::Key(KeyEvent::new(code, KeyModifiers::NONE));
        self.app.handle(Message::Input(key), self.now);
    }

    pub fn press(&mut self, key: char) {
        self.key(KeyCode::Char(key));
    }

    /// Presses one key after another.
    pub fn keys(&mut self, keys: &str) {
        keys.chars().for_each(|key| self.press(key));
    }

    fn mouse(&mut self, kind: MouseEventKind, (column, row): (u16, u16)) {
        let mouse = MouseEvent { kind, column, row, modifiers: KeyModifiers::NONE };
        self.app.handle(Message::Input(Event::Mouse(mouse)), self.now);
    }

    pub fn click(&mut self, x: u16, y: u16) {
        self.mouse(MouseEventKind::Down(MouseButton::Left), (x, y));
    }

    pub fn wheel(&mut self, x: u16, y: u16, down: bool) {
        let kind = if down { MouseEventKind::ScrollDown } else { MouseEventKind::ScrollUp };
        self.mouse(kind, (x, y));
    }

    pub fn wait(&mut self, millis: u64) {
        self.now += Duration::from_millis(millis);
        self.app.handle(Message::Tick, self.now);
    }

    pub fn buffer(&self) -> Buffer {
        let mut buffer = Buffer::empty(self.area);
        self.app.draw(self.area, &mut buffer);
        buffer
    }

    /// Writes a picture of the screen into the directory named by `LOCKSTEP_PICTURES`.
    pub fn save(&self, name: &str) {
        let dir = std::env::var_os("LOCKSTEP_PICTURES").expect("LOCKSTEP_PICTURES names a directory");
        let file = Path::new(&dir).join(format!("{name}.svg"));
        std::fs::write(file, svg::picture(&self.buffer(), "")).expect("a picture is written");
    }

    pub fn rows(&self) -> Vec<String> {
        rows(&self.buffer())
    }

    pub fn shows(&self, words: &str) -> bool {
        self.rows().iter().any(|row| row.contains(words))
    }

    /// Asserts that every row is as long as the screen is wide, and that no wide character is cut by its neighbour.
    /// Returns the rows.
    #[track_caller]
    pub fn assert_whole(&self) -> Vec<String> {
        let buffer = self.buffer();
        let rows = rows(&buffer);
        for row in &rows {
            assert_eq!(width(row), usize::from(self.area.width), "{:?} {row}", self.area);
        }
        // The second column of a wide character belongs to it: anything else there would be invisible.
        let mut cells = buffer.content.windows(2);
        let cut = cells.position(|pair| width(pair[0].symbol()) > 1 && pair[1].symbol() != " ");
        let place = cut.map(|n| (buffer.pos_of(n), &buffer.content[n..n + 2]));
        assert!(place.is_none(), "{:?} {place:?} {rows:#?}", self.area);
        rows
    }
}

/// The screen's rows, each wide character once.
pub fn rows(buffer: &Buffer) -> Vec<String> {
    let area = buffer.area;
    (area.top()..area.bottom())
        .map(|y| {
            let (mut row, mut x) = (String::new(), area.left());
            while x < area.right() {
                let symbol = buffer[(x, y)].symbol();
                row.push_str(symbol);
                x += u16::try_from(width(symbol).max(1)).unwrap_or(1);
            }
            row
        })
        .collect()
}
