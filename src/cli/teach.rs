//! `lockstep teach`: the screen in front of a class. Connects the server of the pages, the screen and the
//! recorded runs.

use std::{
    fs, io,
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::mpsc::{self, Receiver},
    thread::{self, JoinHandle},
};

use clap::Args;
use tokio::sync::oneshot;

use super::{Failure, Global, output, play, print, words};
use crate::{
    export::{ClassPage, Format, Look, class_index, class_page},
    files::{self, Output},
    lesson::Params,
    signals::Signals,
    teach,
    text::Lang,
    ui::state::{
        classroom::{Class, KeptRun},
        playing,
    },
};

/// The file of the teacher's link, beside the one that `lockstep notes --follow` reads.
const LINK: &str = "teacher-link";
const INDEX: &str = "index.html";

/// What to teach, who can reach it, and what is kept.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  lockstep teach oversell                          # try it alone, on this machine
  lockstep teach oversell --bind 0.0.0.0:5625      # for everybody in the network who has the code
  lockstep teach --bind 0.0.0.0:5625 --keep class  # the catalogue; keeps a page for each run

`J` on the screen shows how to join. The default port is always the same, so you need to open \
the firewall only once. See docs/classroom.md.")]
pub struct TeachArgs {
    /// The lesson's name, the path of a lesson file, or a recording [default: the catalogue]
    #[arg(value_name = "LESSON")]
    lesson: Option<String>,
    /// Where the pages are served; 0.0.0.0 means every network of this machine, port 0 any free port
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:5625")]
    bind: SocketAddr,
    /// Writes a page for each run of the class, with its votes, and a list of them into this directory
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
    /// Does not ask before others in the network can reach the pages
    #[arg(long, short)]
    yes: bool,
}

pub(crate) fn teach(global: &Global, args: &TeachArgs) -> Result<u8, Failure> {
    let (mut handle, mut keeper, mut link) = (None, None, None);
    let class = |lang| {
        let mut keep = None;
        if let Some(folder) = &args.keep {
            let (sender, runs) = mpsc::channel();
            keeper = Some(RunArchiver::start(global, folder, runs)?);
            keep = Some(sender);
        }
        ask(global, args)?;
        let look = Look { lang, ..look(global) };
        let (room, pages) =
            teach::start(args.bind, look).map_err(|error| Failure::usage(error.text().clone()))?;
        super::block_on(async {
            // From here on no signal ends the program by itself, so that the link is removed however the
            // class ends.
            let mut signals = Signals::listen()?;
            link = Some(Link::write(&pages.teacher_url));
            let joining = &room.joining.url;
            print::tell(&words::TEACH_JOIN.with(global.lang(), &[joining, &pages.stage_url]));
            if args.bind.ip().to_canonical().is_loopback() {
                print::tell(&words::TEACH_ALONE.with(global.lang(), &[&args.bind.port().to_string()]));
            }
            let file = link.as_ref().and_then(|link| link.0.as_ref());
            let file = file.map_or_else(String::new, |file| file.display().to_string());
            print::tell(&words::TEACH_LINK.with(global.lang(), &[&pages.teacher_url, &file]));
            tokio::select! {
                (_, name) = signals.next() => Err(Failure::interrupted(name)),
                entered = enter(global.lang())? => entered.unwrap_or(Ok(())),
            }
        })?;
        handle = Some(pages);
        Ok(Some(Class::new(room, keep)))
    };
    let ended = play::play(global, args.lesson.as_deref(), None, None, class);
    // The pages are closed first: nobody should vote on a lesson that is over.
    drop(handle);
    let kept = keeper.map_or(Ok(()), RunArchiver::end);
    let code = ended?;
    kept.map(|()| code)
}

/// Resolves when the user presses Enter. Read by a thread of its own, which lives until the program ends.
fn enter(lang: Lang) -> io::Result<oneshot::Receiver<Result<(), Failure>>> {
    let (sender, entered) = oneshot::channel();
    let wait =
        move || sender.send(print::wait_for_enter(words::TEACH_BEGIN.get(lang)).map_err(Failure::from));
    thread::Builder::new().name("enter".to_owned()).spawn(wait)?;
    Ok(entered)
}

fn look(global: &Global) -> Look {
    Look {
        lang: global.lang(),
        theme: global.theme(),
        speed: global.speed(),
        questions: global.questions(),
        ..Look::default()
    }
}

/// Explains what it means that others can reach the pages, and asks for permission.
fn ask(global: &Global, args: &TeachArgs) -> Result<(), Failure> {
    if args.bind.ip().to_canonical().is_loopback() {
        return Ok(());
    }
    let (lang, bind) = (global.lang(), args.bind.to_string());
    let meaning = words::TEACH_MEANS.with(lang, &[&bind]);
    if args.yes {
        print::tell(&meaning);
        return Ok(());
    }
    let question = format!("{meaning}\n{}", words::TEACH_ASK.get(lang));
    match print::ask(&question, false)? {
        Some(true) => Ok(()),
        _ => Err(Failure::usage(words::TEACH_REFUSED.text(&[]))),
    }
}

/// The file with the teacher's link: readable by the user alone, and removed when the class ends. If it
/// cannot be written, the link has been printed.
struct Link(Option<PathBuf>);

impl Link {
    fn write(url: &str) -> Self {
        let path = playing::path().map(|path| path.with_file_name(LINK));
        Self(path.filter(|path| files::write_private(path, format!("{url}\n").as_bytes()).is_ok()))
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        if let Some(path) = &self.0 {
            let _ = fs::remove_file(path);
        }
    }
}

/// Writes the class's runs in a thread of its own, so that the screen waits for no disk.
struct RunArchiver(JoinHandle<Result<usize, Failure>>);

impl RunArchiver {
    fn start(global: &Global, folder: &Path, runs: Receiver<KeptRun>) -> Result<Self, Failure> {
        if !folder.is_dir() {
            fs::create_dir(folder).map_err(|error| Failure::of_file(words::NO_FOLDER, folder, &error))?;
        }
        let ours = |there: &Path| Format::Html.wrote(&output::beginning(there));
        let index = folder.join(INDEX);
        let list = output::claim(global, &index, false, INDEX, ours)?;
        let (folder, params, look) = (folder.to_owned(), global.overrides(), look(global));
        let keep = move || keep(&folder, &list, runs, &params, &look);
        Ok(Self(thread::Builder::new().name("keeper".to_owned()).spawn(keep)?))
    }

    /// Waits until all pages are written. The sender must have been dropped.
    fn end(self) -> Result<(), Failure> {
        match self.0.join() {
            Ok(written) => written.map(drop),
            Err(_) => Err(Failure::usage(words::NOT_KEPT.text(&[]))),
        }
    }
}

/// Writes a page for each run, and after each the list of all pages.
fn keep(
    folder: &Path,
    index: &Output,
    runs: Receiver<KeptRun>,
    params: &Params,
    look: &Look,
) -> Result<usize, Failure> {
    let mut kept: Vec<ClassPage> = Vec::new();
    for run in runs {
        let (page, listed) = class_page(&run, params.clone(), look).map_err(Failure::usage)?;
        let variant = run.entry.variants.get(run.variant).map_or("", |variant| &variant.name);
        let (file, output) = free_name(folder, &format!("{}-{variant}", run.entry.lesson.id))?;
        output::write(&output, &folder.join(&file), &page)?;
        kept.push(ClassPage { file, ..listed });
        output::write(index, &folder.join(INDEX), &class_index(&kept, look))?;
    }
    Ok(kept.len())
}

/// A name that no file in the folder has, so that nothing of an earlier class is overwritten.
fn free_name(folder: &Path, name: &str) -> Result<(String, Output), Failure> {
    let safe = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    let name: String = name.chars().map(safe).collect();
    let mut n = 1;
    let file = loop {
        let file = format!("{n:02}-{name}.html");
        if !folder.join(&file).exists() {
            break file;
        }
        n += 1;
    };
    let path = folder.join(&file);
    let output = Output::new(&path).map_err(|error| Failure::of_file(words::NO_PICTURE, &path, &error))?;
    Ok((file, output))
}
