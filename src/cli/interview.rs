//! `lockstep interview`: the questions of interviewers, asked on the screen or written to a file.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use clap::{Args, ValueEnum};
use serde_json::json;

use super::{
    Failure, Global, OK,
    interrupt::{self, unless_interrupted},
    output, play, print, words,
};
use crate::{
    export::cards::{self, LessonCard},
    lesson::{Loaded, Track},
    run::exam::{Exam, ExamQuestion},
    ui::state::{
        catalogue::{Catalogue, CatalogueEntry},
        interview::{Beginning, Filter},
        reviews::{ReviewStore, due},
    },
};

/// What to ask, and how.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  lockstep interview                                 # choose on the screen
  lockstep interview --track redis --starred
  lockstep interview --mock 12                       # on a clock, with a result at the end
  lockstep interview --exam                          # is this order of moves safe?
  lockstep interview --export anki --output locks.txt
  lockstep interview --export markdown --lang zh > 面试题.md

Answers are graded by whoever gives them, and FSRS says when each card comes again. With --json the cards are listed.")]
#[expect(clippy::struct_excessive_bools, reason = "flags of the command line, each by itself")]
pub struct InterviewArgs {
    /// Only the questions of this lesson
    #[arg(value_name = "LESSON")]
    lesson: Option<String>,
    /// Only those of a section of the catalogue: basics, redis, redisson, zookeeper, database, libraries or choosing
    #[arg(long, value_name = "NAME", value_parser = parse_track)]
    track: Option<Track>,
    /// Only those that appear in an article, by its short name: S0 to S4, or what your own lessons have in `from:`
    #[arg(long, value_name = "NAME")]
    article: Option<String>,
    /// Only those of lessons that interviewers like to ask about
    #[arg(long)]
    starred: bool,
    /// For the twenty minutes before an interview: the first question of each lesson that interviewers like to ask about
    #[arg(long)]
    brief: bool,
    /// Only questions that you answered before and that are due for repetition
    #[arg(long)]
    due: bool,
    /// A mock interview of N questions, on a clock [default: 10]
    #[arg(long, value_name = "N", num_args = 0..=1, default_missing_value = "10", value_parser = clap::value_parser!(u16).range(1..))]
    mock: Option<u16>,
    /// An exam of N orders of moves that no lesson shows, 1 to 100: is this one safe? [default: 25]
    #[arg(long, value_name = "N", num_args = 0..=1, default_missing_value = "25", value_parser = clap::value_parser!(u16).range(1..=100),
          conflicts_with_all = ["mock", "export", "article", "due", "brief"])]
    exam: Option<u16>,
    /// Writes the questions and answers instead of asking
    #[arg(long, value_enum, conflicts_with = "mock")]
    export: Option<CardFormat>,
    /// The file to write [default: standard output]
    #[arg(long, short, value_name = "FILE", requires = "export")]
    output: Option<PathBuf>,
    /// Overwrites a file that is not an export of cards without asking
    #[arg(long, requires = "output")]
    force: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum CardFormat {
    /// A text file that Anki imports, with both languages
    Anki,
    /// A document to print, in one language
    Markdown,
}

fn parse_track(name: &str) -> Result<Track, String> {
    let known = "write basics, redis, redisson, zookeeper, database, libraries or choosing";
    serde_json::from_value(name.into()).map_err(|_| known.to_owned())
}

pub(crate) fn interview(global: &Global, args: &InterviewArgs) -> Result<u8, Failure> {
    let mut library = global.library()?;
    let lesson = args.lesson.as_deref().map(|name| global.lesson(name)).transpose()?;
    let filter = Filter {
        lesson: lesson.as_ref().map(|loaded| loaded.lesson.id.clone()),
        track: args.track,
        article: args.article.clone(),
        starred: args.starred || args.brief,
        due: args.due,
        first: args.brief,
    };
    if let Some(count) = args.exam {
        if global.recorded || global.wall_clock {
            let why = "an exam needs real servers whose clock stands still; leave `--recorded` and `--wall-clock` away";
            return Err(Failure::usage(why));
        }
        if global.json {
            let wanted = |loaded: &&Arc<Loaded>| filter.takes_lesson(&CatalogueEntry::from(&loaded.lesson));
            let lessons: Vec<_> = library.lessons.iter().filter(wanted).cloned().collect();
            return exam(global, &lessons, count);
        }
        let exam = Beginning::Exam(filter, count.into());
        return play::play(global, args.lesson.as_deref(), None, Some(exam), |_| Ok(None));
    }
    library.lessons.extend(lesson.filter(|loaded| library.find(&loaded.lesson.id).is_none()));
    let entries = library.lessons.iter().map(|loaded| CatalogueEntry::from(&loaded.lesson));
    let catalogue = Catalogue::new(entries.collect());
    let now = crate::ui::app::today();
    let (reviews, trouble) = ReviewStore::open();
    let places = filter.cards(&catalogue, reviews.get(), now);
    let any = |filter: &Filter| !filter.cards(&catalogue, reviews.get(), now).is_empty();
    if places.is_empty() && filter.due && any(&Filter { due: false, ..filter.clone() }) {
        print::tell(words::NOTHING_DUE.get(global.lang()));
        return Ok(OK);
    }
    if places.is_empty() && filter != Filter::default() {
        return Err(Failure::usage(words::NO_CARDS.text(&[])));
    }
    let list: Vec<LessonCard<'_>> = places.iter().filter_map(|place| place.of(&catalogue)).collect();
    if args.export.is_none() && !global.json {
        let beginning = match args.mock {
            Some(questions) => Beginning::Mock(filter, questions.into()),
            None if filter == Filter::default() => Beginning::Decks,
            None => Beginning::Practice(filter),
        };
        return play::play(global, args.lesson.as_deref(), None, Some(beginning), |_| Ok(None));
    }
    if let Some(trouble) = &trouble {
        print::complain(&super::progress::words_of(trouble, global.lang()));
    }
    let Some(format) = args.export else {
        for (entry, card) in list {
            let reviews = reviews.get().of(&entry.lesson.id, &card.q.en);
            let shown = card.shown.as_ref().map(|shown| {
                json!({"variant": shown.variant, "at": shown.at.as_ref().map(|at| format!("{}.{}", at.who, at.label))})
            });
            let follow_up = card.follow_up.as_ref().map(|next| json!({"q": next.q, "a": next.a}));
            print::json(&json!({
                "lesson": entry.lesson.id, "track": entry.lesson.track, "starred": entry.lesson.starred,
                "from": card.from, "q": card.q, "a": card.a, "follow_up": follow_up, "shown": shown,
                "reviews": reviews.len(), "due": due(reviews),
            }))?;
        }
        return Ok(OK);
    };
    let (text, mark) = match format {
        CardFormat::Anki => (cards::anki(&list), cards::ANKI),
        CardFormat::Markdown => (cards::markdown(&list, global.lang()), cards::MARKDOWN),
    };
    let Some(path) = &args.output else { return print::document(&text).map(|()| OK) };
    let ours = |there: &Path| output::beginning(there).starts_with(mark);
    let file = output::claim(global, path, args.force, "interview.txt", ours)?;
    output::write(&file, path, &text)?;
    Ok(OK)
}

/// Prints `count` orders, and whether each is safe.
fn exam(global: &Global, lessons: &[Arc<Loaded>], count: u16) -> Result<u8, Failure> {
    let day = u64::try_from(crate::ui::app::today() / 86_400).unwrap_or(0);
    let exam = Exam::new(lessons, global.lab_options()?, global.seed ^ (day << 16));
    interrupt::listen(global.lang());
    super::block_on(async {
        let mut questions = exam.begin();
        let mut asked = 0;
        while asked < count {
            let question = unless_interrupted(async { Ok(questions.recv().await.transpose()?) }).await?;
            let Some(ExamQuestion { scenario, order, safe, why, .. }) = question else { break };
            let order: Vec<&str> = order.iter().map(|made| made.get(global.lang())).collect();
            print::json(&json!({
                "lesson": scenario.loaded.lesson.id, "variant": scenario.variant, "order": order, "safe": safe,
                "why": why,
            }))?;
            asked += 1;
        }
        if asked == 0 { Err(Failure::usage(words::EXAM_NONE.text(&[]))) } else { Ok(OK) }
    })
}
