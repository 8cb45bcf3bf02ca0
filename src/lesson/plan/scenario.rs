//! One variant of a lesson, resolved to what a run needs.

use std::{cell::RefCell, collections::BTreeSet, sync::Arc};

use super::{
    ActorPlan, ClientPlan, Instruction, InvariantPlan, Loaded, Origin, PlannedClaim, PlannedMove,
    PlannedOperation, PlannedSetup, Program, StoryLine, claims, clients, compile, constants, counters,
    explored, invariants,
    lesson::{check_fixed_texts, check_metrics, check_names, check_numbers},
    locks,
    params::params,
    replacements::check_replacements,
    scripts, setup, story,
};
use crate::{
    lesson::{
        Claim, Expect, Invariant, LabKind, Lesson, LessonError, Libraries, Params, Settings, Variant,
        error::{Mistake, MistakeSpan, Mistakes, Path, did_you_mean, finding, nearest},
        expr::{Scope, Template, within_allowance},
        story::StoryItem,
    },
    log::{ActorId, CounterInfo, LockInfo},
    text::{Text, both},
};

/// One variant of a lesson, ready to run.
#[derive(Debug, Clone)]
pub struct Scenario {
    pub loaded: Arc<Loaded>,
    pub variant: String,
    pub clients: Vec<ClientPlan>,
    /// The actors: index `n` is `ActorId(n)`.
    pub actors: Vec<ActorPlan>,
    /// Commands that Lockstep sends before the clients start.
    pub setup: Vec<PlannedSetup>,
    pub story: Vec<StoryLine>,
    pub claims: Vec<PlannedClaim>,
    /// Titles and limits of locks. Any other lock may have one holder.
    pub locks: Vec<LockInfo>,
    /// What the programs of any variant count. What only those of others count is 0 here.
    pub counters: BTreeSet<String>,
    pub counter_titles: Vec<CounterInfo>,
    /// Conditions that must hold in every order of moves. The story of a variant that shows a failure breaks one of
    /// them.
    pub invariants: Vec<InvariantPlan>,
    /// The names that texts and claims may use: the parameters.
    pub scope: Scope,
    pub overrides: Params,
}

impl Scenario {
    /// Resolves a variant. `overrides` are the user's `--set name=value`.
    pub fn plan(loaded: &Arc<Loaded>, variant: &str, overrides: &Params) -> Result<Self, LessonError> {
        within_allowance(|| Self::resolve(loaded, variant, overrides))
            .map_err(|mistakes| loaded.source.place_all(&mistakes))
    }

    /// The same, with the mistakes not yet placed.
    pub(super) fn resolve(loaded: &Arc<Loaded>, variant: &str, overrides: &Params) -> Result<Self, Mistakes> {
        let mut scenario = resolve(loaded, variant, overrides)?;
        for exec in scenario.clients.iter_mut().filter_map(|client| client.exec.as_mut()) {
            exec.origin = Origin::of(loaded);
            exec.libraries.clone_from(&loaded.lesson.libraries);
            exec.scripts.clone_from(&loaded.lesson.library_scripts);
        }
        Ok(scenario)
    }

    /// The path of the variant.
    pub(crate) fn path(&self) -> Path {
        Path::of_variant(&self.variant)
    }

    /// The invariants that the variant has of its own, or else the lesson's, with the path of the list.
    pub(crate) fn written_invariants(&self) -> Option<(&[Invariant], Path)> {
        let own = self.variant().invariants.as_ref().map(|own| (&own[..], self.path().key("invariants")));
        let shared = self.loaded.lesson.invariants.as_ref();
        own.or_else(|| Some((&shared?[..], Path::root().key("invariants"))))
    }

    /// The path of the setup: the variant's, if it has one of its own.
    pub(crate) fn setup_path(&self) -> Path {
        if self.variant().setup.is_some() { self.path().key("setup") } else { Path::root().key("setup") }
    }

    /// The variant as its author wrote it.
    ///
    /// # Panics
    /// Never: a scenario is created only for an existing variant.
    pub fn variant(&self) -> &Variant {
        &self.loaded.lesson.variants[&self.variant]
    }

    /// Whether any actor may ever believe something about a lock.
    pub fn has_beliefs(&self) -> bool {
        self.is_attached() || self.instructions().any(|one| matches!(one, Instruction::Believe { .. }))
    }

    pub fn actor(&self, actor: ActorId) -> &ActorPlan {
        &self.actors[actor.0 as usize]
    }

    pub(crate) fn actor_named(&self, name: &str) -> Option<&ActorPlan> {
        self.actors.iter().find(|plan| plan.actor.name == name)
    }

    /// The program and the label of a reply such as `A.release`.
    pub(crate) fn reply<'n>(&self, name: &'n str) -> Option<(&Program, &'n str)> {
        let (who, label) = name.rsplit_once('.')?;
        Some((&self.actor_named(who)?.program, label))
    }

    /// The instructions of all actors.
    pub(crate) fn instructions(&self) -> impl Iterator<Item = &Instruction> {
        self.actors.iter().flat_map(|plan| &plan.program.instructions)
    }

    /// The operations of all actors.
    pub(crate) fn operations(&self) -> impl Iterator<Item = &PlannedOperation> {
        self.instructions().filter_map(Instruction::operation).map(|operation| &**operation)
    }

    /// One actor of each program: the members of a crowd have one in common.
    pub(crate) fn programmed(&self) -> impl Iterator<Item = &ActorPlan> {
        let mut seen = BTreeSet::new();
        self.actors.iter().filter(move |plan| seen.insert(Arc::as_ptr(&plan.program)))
    }

    /// The operation of a move, if its label is unique in the program.
    pub(crate) fn operation_of(&self, one: &PlannedMove) -> Option<&PlannedOperation> {
        self.actor(one.actor).program.only_named(&one.label)
    }

    /// Whether the variant shows a failure and has such a claim: then what would be a mistake elsewhere is its point.
    pub(crate) fn is_meant(&self, is_about: impl Fn(&Claim) -> bool) -> bool {
        self.variant().expects() == Expect::Shown && self.variant().claims.iter().any(is_about)
    }

    /// The claims that are expressions, with their paths.
    pub(crate) fn claim_sources(&self) -> impl Iterator<Item = (&str, Path)> {
        let at = self.path().key("claims");
        self.variant().claims.iter().enumerate().filter_map(move |(n, claim)| {
            let at = if matches!(claim, Claim::Bare(_)) { at.index(n) } else { at.index(n).key("that") };
            Some((claim.source()?, at))
        })
    }

    /// Whether a client may do what nothing here says: an external program, or one that a learner writes.
    pub(crate) fn is_open(&self) -> bool {
        self.is_attached() || self.loaded.lesson.kata.is_some()
    }

    /// Whether an actor locks files.
    pub fn locks_files(&self) -> bool {
        self.actors.iter().any(|plan| plan.program.locks_files)
    }

    /// Whether a client is an external program instead of one of the lesson's `programs`.
    pub fn is_attached(&self) -> bool {
        self.clients.iter().any(|client| client.exec.is_some())
    }

    /// The commands that start external programs, one per client that is one.
    pub fn commands(&self) -> impl Iterator<Item = &Vec<String>> {
        self.clients.iter().filter_map(|client| client.exec.as_ref()).map(|exec| &exec.words)
    }

    /// Whether external programs come from the lesson rather than from the user.
    pub fn brings_programs(&self) -> bool {
        self.clients.iter().filter_map(|client| client.exec.as_ref()).any(|exec| exec.origin != Origin::User)
    }

    /// Whether the clients are programs that the user named on the command line. Such a scenario has no story.
    pub fn is_users(&self) -> bool {
        self.is_attached() && !self.brings_programs()
    }

    /// The libraries that the external programs need.
    pub fn libraries(&self) -> &Libraries {
        &self.loaded.lesson.libraries
    }

    pub fn lab(&self) -> LabKind {
        self.loaded.lesson.lab_of(self.variant())
    }

    /// How the servers are configured.
    pub fn settings(&self) -> Settings {
        self.loaded.lesson.settings.overlaid(&self.variant().settings)
    }

    /// Fills in the parameters in a text's `${…}`; if that fails, returns the text as its author wrote it.
    pub fn fill(&self, text: &Text) -> Text {
        fill(text, &self.scope)
    }
}

/// Fills in a text's `${…}`; if that fails, returns the text as its author wrote it.
pub fn fill(text: &Text, scope: &Scope) -> Text {
    let names = scope.value();
    let fill = |source: &str| {
        Template::parse(source)
            .and_then(|template| Ok(template.render(&names)?))
            .unwrap_or_else(|_| source.to_owned())
    };
    within_allowance(|| Text { en: fill(&text.en), zh: fill(&text.zh) })
}

fn resolve(loaded: &Arc<Loaded>, name: &str, overrides: &Params) -> Result<Scenario, Mistakes> {
    let lesson = &loaded.lesson;
    let root = Path::root();
    check_names(lesson).and_then(|()| check_numbers(lesson))?;
    let mut found = Mistakes::default();
    let Some(variant) = lesson.variants.get(name) else {
        let known = lesson.variants.keys().map(String::as_str);
        return Err(Mistake::unknown(&root.key("variants"), both!("variant", "方案"), name, known).into());
    };
    let at = Path::of_variant(name);
    let params = params(lesson, variant, overrides, &at)?;
    let lab = lesson.lab_of(variant);
    found.keep(check_metrics(lesson, lab, &at));
    for (name, source) in &lesson.scripts {
        found.keep(scripts::check(source, &root.key("scripts").key(name)));
    }
    let mut programs = lesson.programs.clone();
    programs.extend(variant.programs.clone());
    let counted = locks::counted(lesson);
    let param_path = |name: &str| {
        let its = if variant.params.contains_key(name) { &at } else { &root };
        its.key("params").key(name)
    };
    let program_path = |name: &str| {
        let its = if variant.programs.contains_key(name) { &at } else { &root };
        its.key("programs").key(name)
    };
    let compiler = compile::Compiler {
        programs: &programs,
        program_path: &program_path,
        replace: &variant.replace,
        replace_path: at.key("replace"),
        scripts: &lesson.scripts,
        recipes: &loaded.recipes,
        params: &params,
        param_path: &param_path,
        counted: &counted,
        holes: lesson.kata.as_ref().map(|kata| &kata.programs),
        lab,
        reads_lost: lesson.format >= 2,
        used: RefCell::default(),
        unused: false,
    };
    let (plans, clients_path) = own_or(variant.clients.as_ref(), &lesson.clients, "clients", &at);
    let planned = found.keep(clients::plan(plans, &clients_path, &params, &compiler));
    if planned.is_some() {
        found.keep(check_programs(variant, &compiler.used.take(), &at));
    }
    found.keep(check_replacements(variant, &programs, loaded, &at));
    let setup = found.keep(plan_setup((lesson, variant), (lab, &params), &at));
    let (story, story_path) = own_or(variant.story.as_ref(), &lesson.story, "story", &at);
    found.keep(check_happens(story, &story_path));
    // Stories and claims name what clients do.
    let Some((clients, actors)) = planned else { return Err(found) };
    let counters = counters::of(loaded, &actors);
    let roster = story::Roster {
        clients: &clients,
        actors: &actors,
        params: &params,
        variants: &lesson.variants,
        counters: &counters,
        lab,
    };
    let counter_titles = counters::titles(lesson, &roster)?;
    let locks = locks::plan(lesson, &params, &roster)?;
    let vocabulary = claims::Vocabulary::new(&roster, lesson, &locks);
    let claims = found.keep(claims::plan(&variant.claims, &at.key("claims"), &vocabulary));
    let invariants = found.keep(invariants::plan(lesson, (name, variant), &roster, &vocabulary));
    if let Some(table) = &lesson.table {
        found.keep(vocabulary.check_figure(&table.figure, &root.key("table").key("figure")));
    }
    if let Some(explore) = &variant.explore {
        let none = invariants.as_ref().is_some_and(Vec::is_empty);
        found.keep(explored::check_wanted(explore, &at.key("explore"), (lab, &clients), none));
    }
    let story = found.keep(story::plan(story, &story_path, &roster, &vocabulary, name));
    found.keep(check_fixed_texts(lesson, (variant, &at), &roster));
    let (Some(setup), Some(story), Some(claims), Some(invariants), true) =
        (setup, story, claims, invariants, found.is_empty())
    else {
        return Err(found);
    };
    Ok(Scenario {
        loaded: Arc::clone(loaded),
        variant: name.to_owned(),
        clients,
        actors,
        setup,
        story,
        claims,
        locks,
        counters,
        counter_titles,
        invariants,
        scope: Scope::new(constants::values(&params)),
        overrides: overrides.clone(),
    })
}

fn plan_setup(
    (lesson, variant): (&Lesson, &Variant),
    (lab, params): (LabKind, &Params),
    at: &Path,
) -> Result<Vec<PlannedSetup>, Mistakes> {
    let (setup, path) = own_or(variant.setup.as_ref(), &lesson.setup, "setup", at);
    let plan = |(n, command)| setup::plan(command, lab, params, &path.index(n));
    Mistakes::all(setup.iter().enumerate().map(plan))
}

fn check_happens(story: &[StoryItem], path: &Path) -> Result<(), Mistake> {
    if !story.is_empty() {
        return Ok(());
    }
    Err(path.mistake(finding!(
        "a story in which nothing happens",
        "剧情（story）里什么也没有发生",
        "give the lesson a `story`, or this variant one of its own",
        "请给课程写 `story`，或者给这个方案写自己的 `story`"
    )))
}

/// Refuses an unused program of a variant whose name is similar to that of a used one, because it is probably misspelt.
/// Other unused programs may be kept for later.
fn check_programs(variant: &Variant, used: &BTreeSet<String>, at: &Path) -> Result<(), Mistake> {
    for name in variant.programs.keys().filter(|name| !used.contains(*name)) {
        if let Some(meant) = nearest(name, used.iter().map(String::as_str), 0.8) {
            let message = both!("nobody runs the program `{name}`", "没有任何客户端运行程序 `{name}`");
            let mistake = Mistake::new(&at.key("programs").key(name), message).help(did_you_mean(meant));
            return Err(Mistake { span: MistakeSpan::Key, ..mistake });
        }
    }
    Ok(())
}

/// The variant's own value or else the lesson's, with its path.
fn own_or<'l, T>(own: Option<&'l T>, shared: &'l T, key: &str, at: &Path) -> (&'l T, Path) {
    own.map_or_else(|| (shared, Path::root().key(key)), |own| (own, at.key(key)))
}
