//! `lockstep` and `lockstep play`: the screen. Brings lessons, live runs and the terminal together.

use std::{io::IsTerminal, path::PathBuf, sync::Arc};

use super::{Failure, Global, OK, doctor};
use crate::{
    app::{self, AppOptions, Catalogue, CatalogueEntry, Ended, LessonChoice, Runs, Store, terminal},
    engine::{self, Session, Update},
    lab::{LabOptions, install::InstallPlan},
    lesson::{Loaded, Params, Scenario},
    recording::{self, Recording},
    view::theme::Theme,
};

/// Opens the screen, with a lesson or with the catalogue.
pub(super) fn play(global: &Global, lesson: Option<&str>) -> Result<u8, Failure> {
    let mut library = global.library()?;
    let recorded = lesson
        .map(PathBuf::from)
        .filter(|path| recording::looks_like_one(path));
    let recorded = recorded.map(|path| recording::read(&path)).transpose();
    let recorded = recorded.map_err(|error| Failure::usage(error.to_string()))?;
    let open = match lesson {
        Some(_) if let Some(Recording { header, .. }) = &recorded => {
            let loaded = library.find(&header.lesson).ok_or_else(|| {
                Failure::usage(format!(
                    "the recording is of the lesson `{}`, which is not here; give its directory with `--lessons DIR`",
                    header.lesson
                ))
            })?;
            Scenario::plan(loaded, &header.variant, &header.params)?;
            Some(LessonChoice {
                id: header.lesson.clone(),
                variant: header.variant.clone(),
            })
        }
        None => None,
        Some(name) => {
            let loaded = global.lesson(name)?;
            let variant = match &global.variant {
                Some(variant) => variant.clone(),
                None => loaded.lesson.variants.keys().next().cloned().unwrap_or_default(),
            };
            // Its author wants the first mistake on the command line, not on a screen.
            Scenario::plan(&loaded, &variant, &global.overrides())?;
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
    if recorded.is_none() {
        offer_to_install(&options)?;
    }
    let lab = options.clone();
    let mut entries: Vec<CatalogueEntry> = library
        .lessons
        .iter()
        .map(|loaded| entry(loaded, &global.overrides(), &options))
        .collect();
    entries.extend(
        library
            .broken
            .iter()
            .map(|error| CatalogueEntry::broken(&error.file, &error.to_string())),
    );
    let runs = LiveRuns {
        lessons: library.lessons,
        overrides: global.overrides(),
        options: lab,
        seed: global.seed,
        recorded,
    };
    let (progress, trouble) = Store::open();
    let app_options = AppOptions {
        lang: global.lang(),
        open,
        speed: global.speed(),
        theme: Theme::from_env(global.theme()),
        questions: global.questions(),
        progress,
        trouble,
        keys: global.chosen.keys.clone(),
        reduced_motion: global.chosen.reduced_motion.unwrap_or(false),
        mistakes: global.chosen.told(),
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

/// A lesson's entry, with the figures of its parameters filled into its texts.
fn entry(loaded: &Arc<Loaded>, overrides: &Params, options: &LabOptions) -> CatalogueEntry {
    let mut entry = CatalogueEntry::from(&loaded.lesson);
    entry.served = options.search.serves(entry.lab);
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
            }
            Err(error) => return CatalogueEntry::broken(&loaded.lesson.id, &error.to_string()),
        }
    }
    entry
}

/// Before the first screen: what is missing can be installed at once. A learner who says no still sees the
/// catalogue.
fn offer_to_install(options: &LabOptions) -> Result<(), Failure> {
    // Only whether they are there: asking each for its version takes longer than the first picture may, and
    // a lab that starts says by itself what is too old.
    let search = &options.search;
    let there = [
        search.redis_server().is_ok(),
        search.redis_sentinel().is_ok(),
        search.java().is_ok(),
    ];
    if there.iter().all(|found| *found) && search.zookeeper().is_ok() {
        return Ok(());
    }
    let programs = crate::lab::doctor::programs(&options.search);
    let plan = match InstallPlan::new(&programs, &options.search) {
        Ok(None) => return Ok(()),
        Ok(Some(plan)) => plan,
        Err(error) => {
            eprintln!("lockstep: {error}");
            return Ok(());
        }
    };
    eprintln!("Lessons run on real servers, and some are missing here. This would install them:\n\n{plan}");
    if doctor::asked("Install them now?")? {
        plan.run().map_err(|error| Failure::server(error.to_string()))?;
    }
    Ok(())
}

/// Live runs over the engine.
struct LiveRuns {
    lessons: Vec<Arc<Loaded>>,
    overrides: Params,
    options: LabOptions,
    seed: u64,
    /// A recording to play in place of a live run of the same lesson and variant.
    recorded: Option<Recording>,
}

impl Runs for LiveRuns {
    fn open(&self, choice: &LessonChoice) -> Session {
        let recording = self.recorded.as_ref();
        let recording = recording.filter(|recording| {
            recording.header.lesson == choice.id && recording.header.variant == choice.variant
        });
        let planned = self
            .lessons
            .iter()
            .find(|loaded| loaded.lesson.id == choice.id)
            .ok_or_else(|| format!("there is no lesson `{}`", choice.id))
            .and_then(|loaded| {
                // A parameter that this lesson does not have is another lesson's.
                let own = self
                    .overrides
                    .iter()
                    .filter(|(name, _)| loaded.lesson.params.contains_key(*name));
                let own = own.map(|(name, value)| (name.clone(), value.clone())).collect();
                Scenario::plan(
                    loaded,
                    &choice.variant,
                    recording.map_or(&own, |recording| &recording.header.params),
                )
                .map_err(|error| error.to_string())
            });
        match planned {
            Ok(scenario) => match recording {
                Some(recording) => engine::replay(scenario, recording.log.clone()),
                None => engine::open(scenario, self.options.clone(), self.seed),
            },
            Err(message) => {
                let (commands, _) = tokio::sync::mpsc::unbounded_channel();
                let (tell, updates) = tokio::sync::mpsc::unbounded_channel();
                let _ = tell.send(Update::Failed {
                    message,
                    server: false,
                });
                Session { commands, updates }
            }
        }
    }
}
