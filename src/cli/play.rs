//! `lockstep` and `lockstep play`: the screen. Connects lessons, live runs and the terminal.

use std::{cell::RefCell, path::PathBuf, sync::Arc};

use super::{Failure, Global, OK, compare::CompareArgs, doctor, print, words};
use crate::run::open::ChosenRuns;
use crate::{
    lab::{LabOptions, install::InstallPlan},
    lesson::{LabKind, Libraries, Library, Loaded, Params, Scenario, expr::within_allowance, plan},
    parallel,
    recording::{self, Recording, carried},
    run::{LessonChoice, session::RunError},
    text::Lang,
    ui::{
        app::{App, AppOptions, Ended, terminal},
        state::{
            catalogue::{Catalogue, CatalogueEntry, LazyPlan, VariantPlan},
            classroom::Class,
            interview::Beginning,
            playing,
            progress::{Progress, Store},
            reviews::ReviewStore,
        },
        theme::Theme,
    },
};

fn recordings(lesson: Option<&str>, compare: Option<&CompareArgs>) -> Result<Vec<Recording>, Failure> {
    let other = compare.and_then(|args| args.other.as_deref());
    let mut recorded = Vec::new();
    for path in lesson.into_iter().chain(other).map(PathBuf::from) {
        // The second argument can be nothing but a recording.
        if recording::is_recording(&path) || (!recorded.is_empty() && other.is_some()) {
            recorded.push(recording::read(&path)?);
        } else if other.is_some() {
            return Err(Failure::usage(format!(
                "`{}` is no recording; with a second one given, both must be recordings of one lesson",
                path.display()
            )));
        }
    }
    Ok(recorded)
}

/// The two variants to compare. Planning them here reports an author's first mistake on the command line.
fn compared(
    global: &Global,
    args: &CompareArgs,
    loaded: &Arc<Loaded>,
    recorded: &[Recording],
) -> Result<[String; 2], Failure> {
    let names = args.sides(loaded, recorded)?;
    for name in &names {
        let recorded = recorded.iter().find(|recording| recording.header.variant == *name);
        let params = recorded.map_or_else(|| global.overrides(), |recording| recording.header.params.clone());
        Scenario::plan(loaded, name, &params)?;
    }
    Ok(names)
}

/// Opens the screen: with a lesson, with two variants of it, with the interview (about that lesson), or with
/// the catalogue. `class` creates the class that follows the screen and begins in its language, after everything
/// else that can be wrong was checked.
pub(crate) fn play(
    global: &Global,
    lesson: Option<&str>,
    compare: Option<&CompareArgs>,
    interview: Option<Beginning>,
    class: impl FnOnce(Lang) -> Result<Option<Class>, Failure>,
) -> Result<u8, Failure> {
    let mut recorded = recordings(lesson, compare)?;
    // The servers of a carried lesson start while the other lessons are read.
    let alone = lesson.filter(|_| recorded.is_empty() && global.lessons.is_none());
    let carried = alone.and_then(|name| global.carried(name));
    let mut library = if carried.is_some() { Library::default() } else { global.library()? };
    let mut wanted = LabKind::ALL.to_vec();
    // Lessons that use libraries are played from recordings until the user opens one of them.
    let mut libraries = Libraries::new();
    let changed = recorded.iter_mut().map(|recording| has_changed(recording, &library));
    let outdated = changed.collect::<Result<Vec<_>, _>>()?.contains(&true);
    let open = match lesson {
        Some(_) if let Some(Recording { header, .. }) = recorded.first() => {
            Some(LessonChoice { id: header.lesson.clone(), variant: header.variant.clone() })
        }
        None => None,
        Some(name) => {
            let found = || library.find_with(name, global.variant.as_deref());
            let loaded = match carried.as_ref().or_else(found) {
                Some(loaded) => Arc::clone(loaded),
                None => global.lesson(name)?,
            };
            let variant = global.variant_of(&loaded);
            // An author's first mistake is reported on the command line rather than on a screen.
            let scenario = Scenario::plan(&loaded, &variant, &global.overrides())?;
            if global.recorded && interview.is_none() {
                carried::check(&scenario)?;
            }
            wanted = vec![scenario.lab()];
            libraries.clone_from(scenario.libraries());
            let id = loaded.lesson.id.clone();
            // A file with that id replaces the carried lesson.
            match library.lessons.iter_mut().find(|known| known.lesson.id == id) {
                Some(known) => *known = loaded,
                None => library.lessons.push(loaded),
            }
            Some(LessonChoice { id, variant })
        }
    };
    let loaded = open.as_ref().and_then(|choice| library.find(&choice.id));
    let compare =
        compare.zip(loaded).map(|(args, loaded)| compared(global, args, loaded, &recorded)).transpose()?;
    if !print::has_screen() {
        return Err(Failure::usage(words::NEEDS_TERMINAL.text(&[])));
    }
    let options = global.lab_options()?;
    // Removes what a killed Lockstep left behind while the first screen is drawn. If no thread can be
    // started, the first lab removes it.
    let _ = std::thread::Builder::new().spawn(|| crate::lab::sweep(&crate::lab::workspace_root()));
    // A recording needs no server.
    let needed = if compare.is_some() { 2 } else { 1 };
    if recorded.len() < needed && !global.recorded && interview.is_none() {
        offer_to_install(&options, (&wanted, &libraries), global.lang())?;
    }
    let mut runs = ChosenRuns {
        lessons: library.lessons.clone(),
        overrides: global.overrides(),
        options,
        seed: global.seed,
        files: recorded,
        recorded: global.recorded,
        begun: RefCell::default(),
    };
    let (progress, trouble) = Store::open();
    let (reviews, unreviewed) = ReviewStore::open();
    // What was chosen on the screen the last time, unless the command line or the configuration says
    // otherwise.
    let kept = &progress.get().screen;
    let theme = kept.theme.as_deref().and_then(|name| name.parse().ok());
    let mut app_options = AppOptions {
        lang: global.lang.or(global.settings.lang).or(kept.lang).unwrap_or_else(Lang::from_env),
        open: open.filter(|_| interview.is_none()),
        compare,
        interview,
        theme: Theme::from_env(global.theme.or(global.settings.theme).or(theme).unwrap_or_default()),
        progress: progress.clone(),
        reviews,
        playing_file: playing::path(),
        trouble: trouble.or(unreviewed),
        outdated,
        ..global.app_options()
    };
    let class = class(app_options.lang)?;
    let ended = super::block_on(async {
        if let Some(choice) = app_options.open.as_ref().filter(|_| app_options.compare.is_none()) {
            runs.begin(choice);
        }
        if carried.is_some() {
            library = global.library()?;
        }
        let follow = |progress: &mut Progress| progress.follow(|id, variant| library.place(id, variant));
        if let Err(trouble) = app_options.progress.change(follow) {
            app_options.trouble.get_or_insert(trouble);
        }
        let entries = entries(global, &library, &runs.options);
        runs.lessons = library.lessons;
        let mut screen = terminal::TerminalGuard::take()?;
        let mut app = App::new(Catalogue::new(entries), runs, &app_options);
        if let Some(class) = class {
            app = app.with_class(class);
        }
        Ok(screen.run(terminal::input()?, &mut app).await?)
    })?;
    Ok(exit_code(ended))
}

pub(crate) fn exit_code(ended: Ended) -> u8 {
    match ended {
        Ended::Quit | Ended::InputOver | Ended::Suspended => OK,
        // As a shell reports a program that a signal ended.
        Ended::Signal(number) => 128_u8.saturating_add(u8::try_from(number).unwrap_or(0)),
    }
}

/// Whether a recording's lesson has changed since. Fails if the lesson is not available.
pub(crate) fn has_changed(recording: &mut Recording, library: &Library) -> Result<bool, Failure> {
    let header = &recording.header;
    if header.attached.is_some() {
        return Err(Failure::usage(words::ATTACHED_ALONE.text(&[])));
    }
    let loaded = library
        .find_with(&header.lesson, Some(&header.variant))
        .ok_or_else(|| Failure::usage(words::RECORDING_OF_ANOTHER.text(&[&header.lesson])))?;
    let scenario = Scenario::plan(loaded, &header.variant, &header.params)?;
    recording.fit(&scenario)?;
    Ok(!recording.header.belongs_to(&scenario))
}

/// The catalogue entries of all lessons, and of files that are not valid lessons.
fn entries(global: &Global, library: &Library, options: &LabOptions) -> Vec<CatalogueEntry> {
    // Jars are searched for in directories of hundreds of files: once for each kind of server, not once for
    // each lesson.
    let found: Vec<LabKind> = LabKind::ALL.into_iter().filter(|lab| options.search.serves(*lab)).collect();
    let serves = |lab: LabKind| lab.parts().iter().all(|part| found.contains(part));
    let lessons = parallel::map(&library.lessons, |loaded| {
        let has_libraries = options.installed.missing(&loaded.lesson.libraries, &options.search).is_empty();
        let live = !global.recorded && serves(loaded.lesson.lab) && has_libraries;
        // All variants of a lesson together get the allowance that one gets elsewhere, because the user waits
        // for the first screen.
        let mut entry = within_allowance(|| entry(loaded, &global.overrides(), live));
        entry.served = entry.broken.is_none() && has_libraries && entry.labs().into_iter().all(serves);
        entry
    });
    let broken = library.broken.iter();
    let broken = broken.map(|error| CatalogueEntry::broken(&error.file, &error.to_string()));
    lessons.into_iter().chain(broken).collect()
}

/// The catalogue entry of a lesson, with the values of its parameters filled into its texts.
pub(crate) fn entry(loaded: &Arc<Loaded>, overrides: &Params, live: bool) -> CatalogueEntry {
    let mut entry = CatalogueEntry::from(&loaded.lesson);
    let own = Params::new();
    for variant in &mut entry.variants {
        // A parameter that the user sets belongs to one lesson: the others keep their own values.
        let scope = loaded.scope(&variant.name, overrides).or_else(|_| loaded.scope(&variant.name, &own));
        let plan = {
            let (loaded, name, overrides) = (Arc::clone(loaded), variant.name.clone(), overrides.clone());
            move || {
                let planned = Scenario::plan(&loaded, &name, &overrides);
                planned.or_else(|_| Scenario::plan(&loaded, &name, &Params::new())).map(Arc::new)
            }
        };
        // One variant stands for all: checking each would delay the first screen too much.
        let asks_for_recording = !live && !entry.recorded;
        // Carried lessons are known to be correct.
        let planned = (!loaded.carried || asks_for_recording).then(&plan).transpose();
        let (scope, planned) = match scope.and_then(|scope| Ok((scope, planned?))) {
            Ok(found) => found,
            Err(error) => return CatalogueEntry::broken(&loaded.lesson.id, &error.to_string()),
        };
        variant.title = plan::fill(&variant.title, &scope);
        variant.lesson = plan::fill(&variant.lesson, &scope);
        entry.intro = plan::fill(&entry.intro, &scope);
        entry.summary = plan::fill(&entry.summary, &scope);
        entry.recorded |=
            asks_for_recording && planned.as_ref().is_some_and(|scenario| carried::check(scenario).is_ok());
        variant.plan = match planned {
            Some(scenario) => VariantPlan::from(scenario).into(),
            None => LazyPlan::new(move || plan().map_or_else(|_| VariantPlan::default(), VariantPlan::from)),
        };
    }
    entry
}

/// Before the first screen: offers to install what is missing for these labs and libraries. A learner who
/// declines, or for whom it fails, still has the recordings.
fn offer_to_install(
    options: &LabOptions,
    (labs, libraries): (&[LabKind], &Libraries),
    lang: Lang,
) -> Result<(), Failure> {
    let servers = || {
        if labs.iter().all(|lab| options.search.serves(*lab)) {
            return Ok(None);
        }
        InstallPlan::new(&crate::lab::doctor::programs(&options.search), &options.search)
    };
    let plans = [servers(), options.installed.plan(libraries, &options.search)].map(|plan| {
        plan.unwrap_or_else(|error| {
            // It cannot be installed on this machine.
            print::complain(RunError::from(error).text().get(lang));
            None
        })
    });
    let Some(plan) = plans.into_iter().flatten().reduce(InstallPlan::and) else { return Ok(()) };
    print::tell(&words::SOME_MISSING.with(lang, &[plan.text().get(lang)]));
    print::tell(&format!("{}\n", words::OR_RECORDINGS.get(lang)));
    if doctor::asked(words::INSTALL_NOW, lang)?
        && let Err(error) = plan.run()
    {
        let said = RunError::from(error).text();
        print::complain(said.get(lang));
        if !doctor::asked(words::GO_ON_RECORDED, lang)? {
            return Err(Failure::server(said));
        }
    }
    Ok(())
}
