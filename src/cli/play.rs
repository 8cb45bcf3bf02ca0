//! `lockstep` and `lockstep play`: the screen. Brings lessons, live runs and the terminal together.

use std::{io::IsTerminal, path::PathBuf, sync::Arc};

use super::{Failure, Global, OK, doctor, runs::ChosenRuns};
use crate::{
    app::{self, AppOptions, Catalogue, CatalogueEntry, Ended, LessonChoice, Store, terminal},
    lab::{LabOptions, install::InstallPlan, programs::Search},
    lesson::{LabKind, Library, Loaded, Params, Scenario},
    recording::{self, Recording, carried},
    view::theme::Theme,
};

/// Opens the screen, with a lesson or with the catalogue.
pub(super) fn play(global: &Global, lesson: Option<&str>) -> Result<u8, Failure> {
    let mut library = global.library()?;
    let recorded = lesson
        .map(PathBuf::from)
        .filter(|path| recording::looks_like_one(path));
    let recorded = recorded.map(|path| recording::read(&path)).transpose()?;
    let mut wanted = ALL_LABS.to_vec();
    let mut outdated = false;
    let open = match lesson {
        Some(_) if let Some(recording) = &recorded => {
            let (choice, changed) = lesson_of(recording, &library)?;
            outdated = changed;
            Some(choice)
        }
        None => None,
        Some(name) => {
            let loaded = match library.find(name) {
                Some(loaded) => Arc::clone(loaded),
                None => global.lesson(name)?,
            };
            let variant = match &global.variant {
                Some(variant) => variant.clone(),
                None => loaded.lesson.variants.keys().next().cloned().unwrap_or_default(),
            };
            // Its author wants the first mistake on the command line, not on a screen.
            let scenario = Scenario::plan(&loaded, &variant, &global.overrides())?;
            if global.recorded {
                carried::check(&scenario)?;
            }
            wanted = vec![scenario.lab()];
            let id = loaded.lesson.id.clone();
            library.lessons.retain(|known| known.lesson.id != id);
            library.lessons.push(loaded);
            Some(LessonChoice { id, variant })
        }
    };
    if !std::io::stdout().is_terminal() || !std::io::stdin().is_terminal() {
        return Err(Failure::usage(
            "the playground needs a terminal, and standard input or output is none; \
             `lockstep run LESSON` runs lessons without a screen",
        ));
    }
    let options = global.lab_options()?;
    // What a killed Lockstep left is cleared away behind the first picture.
    std::thread::spawn(|| crate::lab::sweep(&crate::lab::workspace_root()));
    // A recording needs no server.
    if recorded.is_none() && !global.recorded {
        offer_to_install(&options, &wanted)?;
    }
    let is_live = |lab| !global.recorded && options.search.serves(lab);
    let mut entries: Vec<CatalogueEntry> = library
        .lessons
        .iter()
        .map(|loaded| entry(loaded, &global.overrides(), is_live(loaded.lesson.lab)))
        .collect();
    entries.extend(
        library
            .broken
            .iter()
            .map(|error| CatalogueEntry::broken(&error.file, &error.to_string())),
    );
    let runs = ChosenRuns {
        lessons: library.lessons,
        overrides: global.overrides(),
        options,
        seed: global.seed,
        file: recorded,
        recorded: global.recorded,
    };
    let (progress, trouble) = Store::open();
    let app_options = AppOptions {
        lang: global.lang(),
        open,
        speed: global.speed,
        theme: Theme::from_env(global.theme),
        questions: !global.no_questions,
        progress,
        trouble,
        outdated,
    };
    let ended = super::runtime()?.block_on(async {
        let mut screen = terminal::TerminalGuard::take()?;
        app::run(
            &mut *screen,
            terminal::input()?,
            Catalogue::new(entries),
            runs,
            app_options,
        )
        .await
        .map_err(|error| Failure::usage(error.to_string()))
    })?;
    Ok(match ended {
        Ended::Quit | Ended::InputOver => OK,
        // As a shell reports a program that a signal ended.
        Ended::Signal(number) => 128_u8.saturating_add(u8::try_from(number).unwrap_or(0)),
    })
}

/// The lesson and variant that a recording is of, and whether the lesson has changed since.
pub(super) fn lesson_of(recording: &Recording, library: &Library) -> Result<(LessonChoice, bool), Failure> {
    let header = &recording.header;
    let loaded = library.find(&header.lesson).ok_or_else(|| {
        Failure::usage(format!(
            "the recording is of the lesson `{}`, which is not here; give its directory with `--lessons DIR`",
            header.lesson
        ))
    })?;
    let scenario = Scenario::plan(loaded, &header.variant, &header.params)?;
    recording.fits(&scenario)?;
    let choice = LessonChoice {
        id: header.lesson.clone(),
        variant: header.variant.clone(),
    };
    Ok((choice, !header.belongs_to(&scenario)))
}

/// A lesson's entry, with the figures of its parameters filled into its texts.
pub(super) fn entry(loaded: &Arc<Loaded>, overrides: &Params, live: bool) -> CatalogueEntry {
    let mut entry = CatalogueEntry::from(&loaded.lesson);
    for variant in &mut entry.variants {
        match Scenario::plan(loaded, &variant.name, overrides)
            .or_else(|_| Scenario::plan(loaded, &variant.name, &Params::new()))
        {
            Ok(scenario) => {
                variant.title = scenario.fill(&variant.title);
                variant.lesson = scenario.fill(&variant.lesson);
                variant.beats = scenario.story.len();
                entry.intro = scenario.fill(&entry.intro);
                entry.summary = scenario.fill(&entry.summary);
                // One variant tells for all: looking at each would cost more than the first picture may.
                entry.recorded = entry.recorded || (!live && carried::check(&scenario).is_ok());
            }
            Err(error) => return CatalogueEntry::broken(&loaded.lesson.id, &error.to_string()),
        }
    }
    entry
}

/// What the catalogue's lessons need.
const ALL_LABS: [LabKind; 4] = [
    LabKind::Redis,
    LabKind::Masters,
    LabKind::Sentinel,
    LabKind::Zookeeper,
];

/// Before the first screen: what is missing for the labs that are wanted can be installed at once. A learner who
/// says no, or for whom it fails, still has the recordings.
fn offer_to_install(options: &LabOptions, wanted: &[LabKind]) -> Result<(), Failure> {
    if wanted.iter().all(|lab| options.search.serves(*lab)) {
        return Ok(());
    }
    let Some(plan) = install_plan(&options.search) else {
        return Ok(());
    };
    eprintln!("Lessons run on real servers, and some are missing here. This would install them:\n\n{plan}");
    eprintln!("Without them, the lessons play from recordings.\n");
    if doctor::asked("Install them now?")?
        && let Err(error) = plan.run()
    {
        let failed = Failure::server(error.to_string());
        eprintln!("lockstep: {error}");
        if !doctor::asked("Go on with recordings?")? {
            return Err(failed);
        }
    }
    Ok(())
}

/// How to install what is missing; where there is no way, that is said.
fn install_plan(search: &Search) -> Option<InstallPlan> {
    let programs = crate::lab::doctor::programs(search);
    InstallPlan::new(&programs, search).unwrap_or_else(|error| {
        eprintln!("lockstep: {error}");
        None
    })
}
