//! `lockstep kata`: exercises in which the learner writes the lock, judged over every order of moves.

mod screen;

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use clap::{Args, Subcommand};
use serde_json::json;

use super::{Failure, Global, NOT_SHOWN, OK, interrupt, millis, output, print, progress, words};
use crate::{
    files,
    lab::{
        LabOptions,
        ready::{ReadyLabs, Reuse},
    },
    lesson::{
        Lesson, LessonError, Loaded, Param, Source,
        error::nearest,
        kata::{Hole, Kata},
        library::{exercises, load_file, yaml_files},
        parse_millis,
    },
    run::{
        kata::{self, FailureKind, Round, Which},
        moves,
        session::RunError,
    },
    text::{Lang, Text},
    ui::{
        state::progress::{Record, Store, Trouble},
        theme::text,
    },
};

/// The name under which solved exercises are stored beside the progress of lessons.
const KEPT: &str = "kata";
/// The width of comments in a learner's file, in columns.
const COLUMNS: usize = 92;
/// Exercises: you write the lock.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  lockstep kata start my-locks       # a file for each exercise
  lockstep kata my-locks             # judges a file whenever you save it
  lockstep kata check my-locks/01-sell-one.yaml

Exit codes of `check`: 0 solved, 1 not, 2 a mistake in the file.")]
pub struct KataArgs {
    #[command(subcommand)]
    command: Option<KataCommand>,
    /// The directory of your files: opens the screen, which judges a file each time you save it
    dir: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
enum KataCommand {
    /// Lists the exercises, and which you have solved
    List,
    /// Writes a file for each exercise
    Start {
        /// The directory that they are written into
        dir: PathBuf,
        /// Only these exercises
        names: Vec<String>,
    },
    /// Judges an answer; for an exercise of your own, judges its known answers
    Check {
        /// The file
        file: PathBuf,
    },
    /// Gives a hint, chosen by what broke the answer
    Hint {
        /// The file of the answer
        file: PathBuf,
        /// How strong it is, from 1 to 3
        #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=3))]
        strength: u8,
    },
    /// Prints a reference solution, with remarks
    Solution {
        /// The exercise's name, or the file of an answer
        name: String,
    },
}

pub(crate) fn kata(global: &Global, args: &KataArgs) -> Result<u8, Failure> {
    // An author's own exercise is checked without loading the others.
    if let Some(KataCommand::Check { file }) = &args.command
        && Source::read(file).is_ok_and(|text| text.is_lesson())
    {
        return verify(global, file);
    }
    let all = all(global)?;
    match (&args.command, &args.dir) {
        (None, None) | (Some(KataCommand::List), _) => list(global, &all),
        (Some(KataCommand::Start { dir, names }), _) => start(global, &all, dir, names),
        (Some(KataCommand::Check { file }), _) => check(global, &all, file),
        (Some(KataCommand::Hint { file, strength }), _) => hint(global, &all, file, *strength),
        (Some(KataCommand::Solution { name }), _) => solution(global, &all, name),
        (None, Some(dir)) => screen::run(global, &all, dir),
    }
}

/// The carried exercises, and those in the directory of `--lessons`. A file there that cannot be read is reported.
fn all(global: &Global) -> Result<Vec<Arc<Loaded>>, Failure> {
    let mut all = exercises()?;
    for path in global.lessons.iter().map(|dir| yaml_files(dir)).collect::<Result<Vec<_>, _>>()?.concat() {
        match load_file(&path) {
            Ok(own) if own.lesson.kata.is_some() => {
                all.retain(|known| known.lesson.id != own.lesson.id);
                all.push(own);
            }
            Ok(_) => {}
            Err(error) => print::complain(&error.in_lang(global.lang())),
        }
    }
    Ok(all)
}

/// An exercise by its name, or by its number in the list.
fn find<'a>(all: &'a [Arc<Loaded>], name: &str) -> Result<&'a Arc<Loaded>, Failure> {
    let ids = || all.iter().map(|loaded| loaded.lesson.id.as_str());
    let numbered = name.parse::<usize>().ok().and_then(|n| all.get(n.checked_sub(1)?));
    let found = all.iter().find(|loaded| loaded.lesson.id == name).or(numbered);
    found.ok_or_else(|| match nearest(name, ids(), 0.7) {
        Some(near) => Failure::usage(words::NO_EXERCISE_BUT.text(&[name, near])),
        None => Failure::usage(words::NO_EXERCISE.text(&[name])),
    })
}

/// The part of a lesson that makes it an exercise. Every listed exercise has one.
fn kata_of(loaded: &Loaded) -> Result<&Kata, Failure> {
    let missing = || Failure::usage(words::NO_EXERCISE.text(&[&loaded.lesson.id]));
    loaded.lesson.kata.as_ref().ok_or_else(missing)
}

fn is_solved(store: &Store, loaded: &Loaded) -> bool {
    store.get().is_finished(KEPT, &loaded.lesson.id)
}

fn remember_solved(store: &mut Store, loaded: &Loaded) -> Result<(), Trouble> {
    let record = Record { finished: true, ..Record::default() };
    if is_solved(store, loaded) { Ok(()) } else { store.note(KEPT, &loaded.lesson.id, record) }
}

fn list(global: &Global, all: &[Arc<Loaded>]) -> Result<u8, Failure> {
    let (lang, (store, _)) = (global.lang(), Store::open());
    for (n, loaded) in all.iter().enumerate() {
        let (lesson, solved) = (&loaded.lesson, is_solved(&store, loaded));
        if global.json {
            print::json(&json!({ "exercise": lesson.id, "title": lesson.title, "solved": solved }))?;
            continue;
        }
        let (mark, title) = (if solved { "✓" } else { "·" }, text::pad(lesson.title.get(lang), 34));
        print::line(&format!("{mark} {:>2}  {title}  {}", n + 1, lesson.id))?;
    }
    if !global.json && all.iter().all(|loaded| !is_solved(&store, loaded)) {
        print::line(&format!("\n{}", words::KATA_BEGIN.get(lang)))?;
    }
    Ok(OK)
}

fn file_name(n: usize, loaded: &Loaded) -> String {
    format!("{:02}-{}.yaml", n + 1, loaded.lesson.id)
}

fn start(global: &Global, all: &[Arc<Loaded>], dir: &Path, names: &[String]) -> Result<u8, Failure> {
    let lang = global.lang();
    let wanted = names.iter().map(|name| find(all, name)).collect::<Result<Vec<_>, _>>()?;
    files::check_umask().map_err(output::umask)?;
    fs::create_dir_all(dir).map_err(|error| Failure::of_file(words::KATA_NOT_WRITTEN, dir, &error))?;
    for (n, loaded) in all.iter().enumerate() {
        if !wanted.is_empty() && !wanted.iter().any(|wanted| Arc::ptr_eq(wanted, loaded)) {
            continue;
        }
        let path = dir.join(file_name(n, loaded));
        let shown = path.display().to_string();
        let created = fs::OpenOptions::new().write(true).create_new(true).open(&path);
        let text = first_text(n, loaded, lang)?;
        match created.and_then(|mut file| std::io::Write::write_all(&mut file, text.as_bytes())) {
            Ok(()) => print::line(&words::KATA_WRITTEN.with(lang, &[&shown]))?,
            // A file that the learner has written is kept.
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
                print::line(&words::KATA_KEPT.with(lang, &[&shown]))?;
            }
            Err(error) => return Err(Failure::of_file(words::KATA_NOT_WRITTEN, &path, &error)),
        }
    }
    print::line(&format!("    lockstep kata {}", dir.display()))?;
    Ok(OK)
}

/// The initial contents of a learner's file: the task as comments, and the hole.
fn first_text(n: usize, loaded: &Arc<Loaded>, lang: Lang) -> Result<String, Failure> {
    let kata = kata_of(loaded)?;
    let Description { task, given } = describe(loaded)?;
    let name = file_name(n, loaded);
    let parts = [
        format!("{}. {}", n + 1, loaded.lesson.title.get(lang)),
        task.get(lang).to_owned(),
        given.get(lang).to_owned(),
        format!("lockstep kata check {name}\nlockstep kata hint {name}"),
    ];
    let lines = text::wrap_code(&parts.join("\n\n"), COLUMNS);
    let comments: Vec<String> = lines.iter().map(|line| format!("# {line}").trim_end().to_owned()).collect();
    let comments = comments.join("\n");
    Ok(format!("{comments}\nkata: {}\n{}", loaded.lesson.id, kata.start))
}

/// The description of an exercise, for the file and the screen.
struct Description {
    task: Text,
    /// What is given, which names and commands may be used, how an answer is written, and how it is judged.
    given: Text,
}

fn describe(loaded: &Arc<Loaded>) -> Result<Description, Failure> {
    let (lesson, kata) = (&loaded.lesson, kata_of(loaded)?);
    let rounds = loaded.rounds()?;
    let fill = |text: &Text, lang| {
        let filled = rounds.first().map_or_else(|| text.clone(), |round| round.fill(text));
        filled.get(lang).trim().to_owned()
    };
    let task = Text::from_fn(|lang| format!("{}\n\n{}", fill(&lesson.intro, lang), fill(&kata.task, lang)));
    let given = Text::from_fn(|lang| {
        let colon = lang.colon();
        let mut lines = vec![fill(&kata.given, lang), String::new()];
        for (name, Hole { about, reads, sets, uses, keys }) in &kata.programs {
            lines.push(format!("{name}{colon}{}", about.get(lang)));
            let reads: Vec<String> = reads.iter().map(|name| with_unit(name, lesson, lang)).collect();
            let facts = [
                (words::KATA_READS, reads.join(if lang == Lang::Zh { "、" } else { ", " })),
                (words::KATA_SETS, sets.join(" ")),
                (words::KATA_USES, uses.join(" ")),
                (words::KATA_KEYS, keys.join(" ")),
            ];
            let facts = facts.into_iter().filter(|(_, names)| !names.is_empty());
            lines.extend(facts.map(|(what, names)| format!("    {}{colon}{names}", what.get(lang))));
        }
        let scripts = kata.scripts.iter();
        lines.extend(scripts.map(|(name, about)| format!("{name}{colon}{}", about.get(lang))));
        lines.extend([String::new(), how_to_write(kata, lesson.lab.product().traits().key, lang)]);
        lines.extend([String::new(), words::KATA_JUDGED.get(lang).to_owned()]);
        lines.extend(rounds.iter().map(|round| {
            let title = round.fill(&round.variant().title);
            let asks = round.fill(&round.variant().lesson);
            format!("· {}{colon}{}", title.get(lang), asks.get(lang))
        }));
        lines.join("\n")
    });
    Ok(Description { task, given })
}

/// A name that may be read, with its value and unit if it is a time.
fn with_unit(name: &str, lesson: &Lesson, lang: Lang) -> String {
    let millis = match lesson.params.get(name) {
        Some(Param::Word(word)) => parse_millis(word).ok(),
        _ => None,
    };
    match millis {
        Some(millis) => words::KATA_IN_MILLIS_IS.with(lang, &[name, &millis.to_string()]),
        None if name == "now" => words::KATA_IN_MILLIS.with(lang, &[name]),
        None => name.to_owned(),
    }
}

/// The syntax of answers in a few lines.
fn how_to_write(kata: &Kata, product: &str, lang: Lang) -> String {
    let command = if product == "zk" { "ls /lock" } else { "GET stock" };
    let mut lines = vec![
        words::KATA_SYNTAX.get(lang).to_owned(),
        words::KATA_SYNTAX_COMMAND.with(lang, &[product, command]),
        words::KATA_SYNTAX_LET.get(lang).to_owned(),
        words::KATA_SYNTAX_NONE.get(lang).to_owned(),
        words::KATA_SYNTAX_IF.get(lang).to_owned(),
    ];
    if kata.programs.values().any(|hole| hole.uses.iter().any(|name| name == "script")) {
        lines.push(words::KATA_SYNTAX_SCRIPT.get(lang).to_owned());
        lines.push(words::KATA_SYNTAX_SCRIPTS.get(lang).to_owned());
    }
    lines.join("\n")
}

/// The text of a learner's file.
fn read_answer(file: &Path) -> Result<Source, LessonError> {
    let shown = file.display().to_string();
    if file.is_dir() {
        let example = file.join("01-sell-one.yaml").display().to_string();
        let help = words::KATA_GIVE_FILE.text(&[&example]);
        return Err(LessonError::of_file(shown, words::KATA_IS_DIR.text(&[]), Some(help)));
    }
    if !file.exists() {
        let dir = file.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or_else(|| Path::new("."));
        let help = words::KATA_WRITE_AGAIN.text(&[&dir.display().to_string()]);
        return Err(LessonError::of_file(shown, words::KATA_GONE.text(&[]), Some(help)));
    }
    Source::read(file)
}

/// The exercise that a learner's file answers.
fn exercise_of<'a>(all: &'a [Arc<Loaded>], text: &Source) -> Result<&'a Arc<Loaded>, Failure> {
    let id = text.answer()?.kata;
    let id = id.ok_or_else(|| Failure::usage(words::KATA_NAMELESS.text(&[&text.file])))?;
    find(all, &id)
}

/// Judges an answer in a runtime of its own. The inner `Err` says what in the answer keeps it from being
/// judged.
fn judged(
    options: &LabOptions,
    lang: Lang,
    answered: &Arc<Loaded>,
    tell: &dyn Fn(&Round),
) -> Result<Result<Vec<Round>, LessonError>, Failure> {
    interrupt::listen(lang);
    super::block_on(async {
        let options = &LabOptions { reuse: Some(Reuse::Any(ReadyLabs::default())), ..options.clone() };
        tokio::select! {
            rounds = Box::pin(kata::judge(answered, options, tell)) => match rounds {
                Err(RunError::Lesson(mistake)) => Ok(Err(mistake)),
                rounds => Ok(Ok(rounds?)),
            },
            signal = interrupt::interrupted() => Err(Failure::interrupted(signal)),
        }
    })
}

fn check(global: &Global, all: &[Arc<Loaded>], file: &Path) -> Result<u8, Failure> {
    let lang = global.lang();
    let mistake = |error: LessonError| {
        print::mistake(&error, lang, global.json)?;
        Ok(super::USAGE)
    };
    let text = match read_answer(file).and_then(|text| text.answer().map(|_| text)) {
        Ok(text) => text,
        Err(error) => return mistake(error),
    };
    let loaded = exercise_of(all, &text)?;
    let answered = match loaded.with_answer(&text).and_then(|answered| answered.rounds().map(|_| answered)) {
        Ok(answered) => answered,
        Err(error) => return mistake(error),
    };
    let tell = |round: &Round| {
        if !global.json {
            // A closed standard output is noticed at the end.
            let _ = print::line(&row(round, lang));
        }
    };
    let rounds = match judged(&global.lab_options()?, lang, &answered, &tell)? {
        Ok(rounds) => rounds,
        Err(error) => return mistake(error),
    };
    let failed = rounds.iter().find_map(|round| round.failure.as_ref());
    if global.json {
        print::json(&json!({
            "exercise": loaded.lesson.id, "file": text.file, "ok": true, "solved": failed.is_none(),
            "rounds": rounds.iter().map(|round| json_round(round, lang)).collect::<Vec<_>>(),
        }))?;
    } else if failed.is_none() {
        print::line(&words::KATA_SOLVED.with(lang, &[loaded.lesson.title.get(lang)]))?;
        print::line(&format!("\n{}", kata_of(loaded)?.discussion.get(lang).trim()))?;
    }
    if failed.is_some() {
        return Ok(NOT_SHOWN);
    }
    if let Err(trouble) = remember_solved(&mut Store::open().0, loaded) {
        print::complain(&progress::words_of(&trouble, lang));
    }
    Ok(OK)
}

fn row(round: &Round, lang: Lang) -> String {
    let title = round.scenario.fill(&round.scenario.variant().title);
    let title = title.get(lang);
    let Some(failure) = &round.failure else {
        let (orders, wall) = (round.extent(), millis(round.wall).to_string());
        let held = words::KATA_HELD.with(lang, &[orders.get(lang), &wall]);
        return format!("✓ {}  {held}", text::pad(title, 40));
    };
    let mut lines = vec![format!("✗ {title}"), format!("    {}", failure.says.get(lang))];
    if let Some(order) = &failure.order {
        let label = match failure.which {
            Which::Shortest => words::SHORTEST,
            Which::ShortestSoFar => words::SHORTEST_SO_FAR,
            Which::First => words::KATA_FIRST_ORDER,
            Which::Any => words::KATA_ANY_ORDER,
        };
        lines.push(format!("    {}", label.with(lang, &[order_words(&order.moves).get(lang)])));
    }
    lines.extend(failure.why.iter().map(|why| format!("    {}", why.get(lang))));
    lines.join("\n")
}

/// An order in words. It is empty if an invariant is broken before the first move.
fn order_words(order: &[String]) -> Text {
    if order.is_empty() {
        return Text::new(words::NO_MOVE.get(Lang::En), words::NO_MOVE.get(Lang::Zh));
    }
    moves::describe(order)
}

fn json_round(round: &Round, lang: Lang) -> serde_json::Value {
    let failure = round.failure.as_ref();
    json!({
        "round": round.scenario.variant, "held": failure.is_none(), "orders": round.orders.to_string(),
        "kind": failure.map(|failure| failure.kind), "says": failure.map(|failure| failure.says.get(lang)),
        "shortest": failure.and_then(|failure| failure.order.as_ref()).map(|order| &order.moves),
        "why": failure.and_then(|failure| failure.why.as_ref()).map(|why| why.get(lang)),
        "wall_ms": millis(round.wall),
    })
}

/// Checks an author's own exercise: judges its known answers, which must come out as it says.
fn verify(global: &Global, file: &Path) -> Result<u8, Failure> {
    let lang = global.lang();
    let exercise = load_file(file)?;
    exercise.check()?;
    kata_of(&exercise)?;
    let options = global.lab_options()?;
    interrupt::listen(lang);
    let tell = |text: &Source, rounds: &[Round]| {
        let wall: Duration = rounds.iter().map(|round| round.wall).sum();
        let last = rounds.last().filter(|round| round.failure.is_some());
        let failed = last.map_or_else(|| words::KATA_RIGHT.get(lang).to_owned(), |round| row(round, lang));
        let _ = print::line(&format!("{} ({} ms)\n    {failed}", text.file, millis(wall)));
    };
    let quiet = |_: &Source, _: &[Round]| {};
    let tell: &dyn Fn(&Source, &[Round]) = if global.json { &quiet } else { &tell };
    let wrong = super::block_on(async {
        let options = LabOptions { reuse: Some(Reuse::Any(ReadyLabs::default())), ..options };
        tokio::select! {
            wrong = Box::pin(kata::verify(&exercise, &options, tell)) => Ok(wrong?),
            signal = interrupt::interrupted() => Err(Failure::interrupted(signal)),
        }
    })?;
    for one in &wrong {
        let name = |round: &Option<String>| round.clone().unwrap_or_else(|| "-".to_owned());
        if global.json {
            print::json(&json!({ "answer": one.answer, "expected": one.expected, "failed": one.failed }))?;
        } else {
            let values = [one.answer.clone(), name(&one.expected), name(&one.failed)];
            print::line(&words::KATA_MISJUDGED.with(lang, &values.each_ref().map(String::as_str)))?;
        }
    }
    Ok(if wrong.is_empty() { OK } else { NOT_SHOWN })
}

/// The hints for the result of an answer, the weakest first: for the cause of its failure if there are some,
/// and otherwise for its round. If the round has one client, its hints come before those for being stuck.
fn hints<'k>(kata: &'k Kata, rounds: &[Round]) -> &'k [Text] {
    let failed = rounds.iter().find_map(|round| Some((round, round.failure.as_ref()?)));
    let stuck = failed.filter(|(_, failure)| failure.kind == FailureKind::Stuck).map(|_| "stuck");
    let round = failed.map(|(round, _)| round.scenario.variant.as_str());
    let cause = failed.and_then(|(_, failure)| serde_json::to_value(failure.cause?).ok());
    let cause = cause.as_ref().and_then(|cause| cause.as_str());
    // A single client has nobody else that keeps it waiting.
    let alone = failed.filter(|(round, _)| round.scenario.clients.len() == 1).and(round);
    let mut wanted = [cause, alone, stuck, round, Some("any")].into_iter().flatten();
    wanted.find_map(|key| kata.hints.get(key)).map_or(&[], Vec::as_slice)
}

fn hint(global: &Global, all: &[Arc<Loaded>], file: &Path, strength: u8) -> Result<u8, Failure> {
    let text = read_answer(file)?;
    let loaded = exercise_of(all, &text)?;
    let answered = loaded.with_answer(&text)?;
    answered.rounds()?;
    let rounds = judged(&global.lab_options()?, global.lang(), &answered, &|_| {})??;
    let hints = hints(kata_of(loaded)?, &rounds);
    let hint = hints.get(usize::from(strength - 1)).or(hints.last());
    print::line(hint.map_or("", |hint| hint.get(global.lang())))?;
    Ok(OK)
}

fn solution(global: &Global, all: &[Arc<Loaded>], name: &str) -> Result<u8, Failure> {
    let loaded = if super::is_path(name) {
        exercise_of(all, &read_answer(Path::new(name))?)?
    } else {
        find(all, name)?
    };
    let kata = kata_of(loaded)?;
    print::line(&format!("{}\n\n{}", kata.solution.trim_end(), kata.discussion.get(global.lang()).trim()))?;
    Ok(OK)
}
