//! A variant of a lesson, resolved to what a run needs: the clients and their programs, the story, the claims. Names
//! are checked here. This module must not know how any of it is carried out.

mod blocked;
pub(crate) mod call;
pub(crate) mod cards;
mod channels;
pub(crate) mod claims;
pub(crate) mod clients;
pub(crate) mod commands;
pub(crate) mod compile;
pub(crate) mod constants;
mod counters;
pub(crate) mod doubts;
mod explored;
mod fields;
pub(crate) mod fingerprint;
mod groups;
pub(crate) mod idle;
pub(crate) mod invariants;
pub(crate) mod keys;
pub mod known;
mod leases;
pub mod listing;
pub(crate) mod locks;
pub(crate) mod names;
pub(crate) mod notes;
mod order;
pub(crate) mod program;
pub(crate) mod question;
pub mod redis_versions;
pub(crate) mod references;
pub(crate) mod releases;
mod rows;
pub(crate) mod scripts;
pub(crate) mod setup;
mod sql;
pub(crate) mod story;
mod tables;
mod types;
pub(crate) mod unused;
mod znodes;

pub use call::PlannedCall;
pub(crate) use claims::STATE_FUNCTIONS;
pub use claims::{ACTOR_FUNCTIONS, Condition, FUNCTIONS, PlannedClaim};
pub(crate) use clients::command_label;
pub use clients::{ActorPlan, ClientPlan, Exec, Origin};
pub use commands::arities;
pub use constants::passed;
pub(crate) use invariants::so;
pub use invariants::{InvariantPlan, NeverPlan};
pub use notes::ScriptLine;
pub use program::{BUILTINS, Instruction, PlannedOperation, PlannedVerb, Program, TakePlan};
pub use question::{AskPlan, ChoicePlan, RightPlan};
pub use setup::PlannedSetup;
pub use story::{Act, AwaitPlan, PassPlan, PlannedMove, StoryLine, TextPlan};
pub use unused::check_recipes;

use std::{cell::RefCell, collections::BTreeSet, ops::RangeInclusive, sync::Arc};

use indexmap::IndexMap;

use super::{
    Expect, LabKind, Lesson, LessonError, Libraries, Param, Params, Recipes, Settings, Source, Variant,
    error::{Mistake, MistakeSpan, Path, did_you_mean, nearest},
    expr::{Scope, Template, within_allowance},
    invariant::{Invariant, Never},
};
use crate::{
    log::{CounterInfo, LockInfo, Product},
    text::{Text, both},
};

/// A parsed lesson with its source text.
#[derive(Debug, Clone)]
pub struct Loaded {
    pub lesson: Lesson,
    /// The source text, so that mistakes found later can be located.
    pub source: Source,
    pub recipes: Arc<Recipes>,
    /// Whether the lesson is carried in the binary; then so are the programs that it starts.
    pub carried: bool,
}

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
        let mut scenario = within_allowance(|| resolve(loaded, variant, overrides))
            .map_err(|mistake| loaded.source.place(&mistake))?;
        for exec in scenario.clients.iter_mut().filter_map(|client| client.exec.as_mut()) {
            exec.origin = Origin::of(loaded);
            exec.libraries.clone_from(&loaded.lesson.libraries);
            exec.scripts.clone_from(&loaded.lesson.library_scripts);
        }
        Ok(scenario)
    }

    /// The path of the setup: the variant's, if it has one of its own.
    pub(crate) fn setup_path(&self) -> Path {
        let root = Path::root();
        match &self.variant().setup {
            Some(_) => root.key("variants").key(&self.variant).key("setup"),
            None => root.key("setup"),
        }
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
        let believes = |plan: &ActorPlan| {
            plan.program.instructions.iter().any(|one| matches!(one, Instruction::Believe { .. }))
        };
        self.is_attached() || self.actors.iter().any(believes)
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

impl Loaded {
    /// The names that the texts of a variant may use, without planning its programs.
    pub fn scope(&self, variant: &str, overrides: &Params) -> Result<Scope, LessonError> {
        let at = Path::root().key("variants").key(variant);
        let Some(known) = self.lesson.variants.get(variant) else { return Ok(Scope::default()) };
        let params = params(&self.lesson, known, overrides, &at);
        params
            .map(|params| Scope::new(constants::values(&params)))
            .map_err(|mistake| self.source.place(&mistake))
    }

    /// Checks the whole lesson: plans every variant and checks the texts that belong to no variant. Returns the
    /// variants, ready to run.
    pub fn check(self: &Arc<Self>) -> Result<Vec<Scenario>, LessonError> {
        within_allowance(|| {
            check_lesson(&self.lesson).map_err(|mistake| self.source.place(&mistake))?;
            let names = self.lesson.variants.keys();
            let scenarios: Vec<Scenario> =
                names.map(|name| Scenario::plan(self, name, &Params::new())).collect::<Result<_, _>>()?;
            locks::check_used(&self.lesson, &scenarios)
                .and_then(|()| cards::check(&self.lesson, &scenarios))
                .and_then(|()| super::table::check(&self.lesson, &scenarios))
                .and_then(|()| unused::check(self))
                .and_then(|()| unused::check_given(self))
                .and_then(|()| self.check_programs())
                .and_then(|()| scenarios.iter().try_for_each(sql::check_grammar))
                .and_then(|()| scenarios.iter().try_for_each(tables::check))
                .and_then(|()| scenarios.iter().try_for_each(rows::check))
                .and_then(|()| scenarios.iter().try_for_each(sql::check_columns))
                .and_then(|()| scenarios.iter().try_for_each(types::check))
                .and_then(|()| scenarios.iter().try_for_each(groups::check))
                .and_then(|()| scenarios.iter().try_for_each(channels::check))
                .and_then(|()| scenarios.iter().try_for_each(leases::check))
                .and_then(|()| scenarios.iter().try_for_each(|scenario| doubts::check(scenario, &scenarios)))
                .and_then(|()| doubts::check_invariants(&scenarios))
                .and_then(|()| scenarios.iter().try_for_each(idle::check))
                .and_then(|()| scenarios.iter().try_for_each(blocked::check))
                .and_then(|()| scenarios.iter().try_for_each(order::check_claims))
                .and_then(|()| order::check_questions(&scenarios))
                .and_then(|()| scenarios.iter().try_for_each(znodes::check))
                .and_then(|()| scenarios.iter().try_for_each(sql::check_transactions))
                .and_then(|()| scenarios.iter().try_for_each(locks::check_names))
                .and_then(|()| scenarios.iter().try_for_each(explored::check))
                .map_err(|mistake| self.source.place(&mistake))?;
            self.check_kata()?;
            Ok(scenarios)
        })
    }
}

impl Loaded {
    /// Checks that each invariant that is an expression also has a sentence, which is what learners read.
    ///
    /// # Errors
    /// The first invariant without a sentence, with its place.
    pub fn check_sentences(&self) -> Result<(), LessonError> {
        let root = Path::root();
        let own = self.lesson.variants.iter().filter_map(|(name, variant)| {
            Some((variant.invariants.as_ref()?, root.key("variants").key(name).key("invariants")))
        });
        let shared = self.lesson.invariants.iter().map(|shared| (shared, root.key("invariants")));
        for (invariants, path) in shared.chain(own) {
            let unsaid = |known: &Invariant| matches!(known.never, Never::That(_)) && known.says.is_none();
            if let Some(n) = invariants.iter().position(unsaid) {
                let message = both!(
                    "this invariant is an expression and says nothing",
                    "这个不变式是表达式，却没有说明"
                );
                let mistake = Mistake::new(&path.index(n), message).help(both!(
                    "`--strict` wants `says: {{ en: …, zh: … }}` beside it: what learners read when it is broken",
                    "`--strict` 要求写上 `says: {{ en: …, zh: … }}`：它被违反时学员看到的就是这句话"
                ));
                return Err(self.source.place(&mistake));
            }
        }
        Ok(())
    }
}

/// Whether the text is a valid name of a lesson or variant.
pub fn is_well_formed(name: &str) -> bool {
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    !name.is_empty() && !name.starts_with('-') && name.chars().all(allowed)
}

/// Checks the names of the lesson and its variants, because files are named after them.
fn check_names(lesson: &Lesson) -> Result<(), Mistake> {
    let root = Path::root();
    let id = &lesson.id;
    if !is_well_formed(id) {
        return Err(Mistake::new(
            &root.key("id"),
            both!("`{id}` cannot be the name of a lesson", "`{id}` 不能用作课程名"),
        )
        .help(both!(
            "use lower-case letters, digits and hyphens, such as oversell-twice",
            "请用小写字母、数字和连字符，例如 oversell-twice"
        )));
    }
    if let Some(n) = lesson.after.iter().position(|before| before == id) {
        let message = both!("a lesson cannot come after itself", "课程不能排在自己后面");
        return Err(Mistake::new(&root.key("after").index(n), message)
            .help(both!("name the lessons to take before it", "请写应该先学的课程")));
    }
    let Some(name) = lesson.variants.keys().find(|name| !is_well_formed(name)) else { return Ok(()) };
    let message = both!("`{name}` cannot name a variant", "`{name}` 不能用作方案名");
    let mistake = Mistake::new(&root.key("variants").key(name), message);
    Err(Mistake { span: MistakeSpan::Key, ..mistake }
        .help(both!("use lower-case letters, digits and hyphens", "请用小写字母、数字和连字符")))
}

fn check_lesson(lesson: &Lesson) -> Result<(), Mistake> {
    check_names(lesson)?;
    let root = Path::root();
    if lesson.variants.is_empty() {
        return Err(Mistake::new(
            &root.key("variants"),
            both!("a lesson needs at least one variant", "一节课至少要有一个方案（variant）"),
        ));
    }
    lesson.settings.check(lesson.lab, &root.key("settings"))?;
    check_libraries(&lesson.libraries, &root.key("libraries"))?;
    check_library_scripts(lesson, &root.key("library_scripts"))?;
    check_fixes(lesson)?;
    notes::check(lesson)?;
    let texts = [("title", &lesson.title), ("summary", &lesson.summary), ("intro", &lesson.intro)];
    for (name, text) in texts {
        if text.en.trim().is_empty() || text.zh.trim().is_empty() {
            return Err(Mistake::new(
                &root.key(name),
                both!("`{name}` is empty in one language", "`{name}` 有一种语言是空的"),
            ));
        }
    }
    let variants = lesson.variants.iter().flat_map(|(name, variant)| {
        let at = root.key("variants").key(name);
        [(at.key("title"), &variant.title), (at.key("lesson"), &variant.lesson)]
    });
    let texts = texts.into_iter().map(|(name, text)| (root.key(name), text));
    texts.chain(variants).try_for_each(|(path, text)| {
        [("en", &text.en), ("zh", &text.zh)].into_iter().try_for_each(|(lang, source)| {
            let parsed = Template::parse(source);
            parsed.map(drop).map_err(|error| Mistake::new(&path.key(lang), error))
        })
    })
}

/// Checks the names and versions of libraries, because they become arguments of `pip` and `npm`.
fn check_libraries(libraries: &Libraries, path: &Path) -> Result<(), Mistake> {
    let is_plain = |word: &str, more: &str| {
        word.starts_with(|c: char| c.is_ascii_alphanumeric() || more.contains(c))
            && word.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c) || more.contains(c))
    };
    for (language, libraries) in libraries {
        for (name, version) in libraries {
            if is_plain(name, "@/") && is_plain(version, "") {
                continue;
            }
            let language = language.id();
            let path = path.key(language).key(name);
            let message = both!(
                "no library and version: `{name}` `{version}`",
                "不是库名和版本号：`{name}` `{version}`"
            );
            return Err(Mistake::new(&path, message).help(both!(
                "name the library and one version of it, such as `{{ redis: 8.1.0 }}`",
                "请写库名和一个确定的版本，例如 `{{ redis: 8.1.0 }}`"
            )));
        }
    }
    Ok(())
}

fn check_library_scripts(lesson: &Lesson, path: &Path) -> Result<(), Mistake> {
    for (name, hash) in &lesson.library_scripts {
        let path = path.key(name);
        if lesson.scripts.contains_key(name) {
            let message = both!("`{name}` is in `scripts`, too", "`{name}` 也写在 `scripts` 里");
            return Err(Mistake::new(&path, message)
                .help(both!("give the library's script another name", "请给库的脚本另取一个名字")));
        }
        let is_hash = (8..=40).contains(&hash.len()) && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !is_hash {
            let message =
                both!("`{hash}` is not the beginning of a script's SHA-1", "`{hash}` 不是脚本 SHA-1 的开头");
            return Err(Mistake::new(&path, message).help(both!(
                "write at least eight hexadecimal digits, in quotes: without a name, a run shows them",
                "请写至少八位十六进制数字，加上引号：没有名字时，运行里显示的就是它们"
            )));
        }
    }
    Ok(())
}

/// The largest number of variants in a lesson. Each is planned before the catalogue is shown.
const MOST_VARIANTS: usize = 32;

/// Checks that each `fixes` names another variant that shows a failure.
fn check_fixes(lesson: &Lesson) -> Result<(), Mistake> {
    for (name, variant) in &lesson.variants {
        let Some(fixed) = &variant.fixes else { continue };
        let path = Path::root().key("variants").key(name).key("fixes");
        let Some(other) = lesson.variants.get(fixed) else {
            let known = lesson.variants.keys().map(String::as_str);
            return Err(Mistake::unknown(&path, both!("variant", "方案"), fixed, known));
        };
        if (variant.expect, other.expect) == (Expect::Prevented, Expect::Shown) {
            continue;
        }
        let message = both!("`{name}` cannot be the fix of `{fixed}`", "`{name}` 不能作为 `{fixed}` 的修复");
        return Err(Mistake::new(&path, message).help(both!(
            "`fixes` stands in a variant with `expect: prevented` and names one with `expect: shown`",
            "`fixes` 写在 `expect: prevented` 的方案里，指向一个 `expect: shown` 的方案"
        )));
    }
    Ok(())
}

fn resolve(loaded: &Arc<Loaded>, name: &str, overrides: &Params) -> Result<Scenario, Mistake> {
    let lesson = &loaded.lesson;
    let root = Path::root();
    check_names(lesson).and_then(|()| check_numbers(lesson))?;
    let Some(variant) = lesson.variants.get(name) else {
        let known = lesson.variants.keys().map(String::as_str);
        return Err(Mistake::unknown(&root.key("variants"), both!("variant", "方案"), name, known));
    };
    let at = root.key("variants").key(name);
    let params = params(lesson, variant, overrides, &at)?;
    let lab = lesson.lab_of(variant);
    check_metrics(lesson, lab, &at)?;
    for (name, source) in &lesson.scripts {
        scripts::check(source, &root.key("scripts").key(name))?;
    }
    let mut programs = lesson.programs.clone();
    programs.extend(variant.programs.clone());
    let counted = locks::counted(lesson);
    let param_path = |name: &str| {
        let its = if variant.params.contains_key(name) { &at } else { &root };
        its.key("params").key(name)
    };
    let compiler = compile::Compiler {
        programs: &programs,
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
    let program_path = |name: &str| {
        let its = if variant.programs.contains_key(name) { &at } else { &root };
        its.key("programs").key(name)
    };
    let (plans, clients_path) = own_or(variant.clients.as_ref(), &lesson.clients, "clients", &at);
    let (clients, actors) = clients::plan(plans, &clients_path, &params, &compiler, program_path)?;
    check_programs(variant, &compiler.used.take(), &at)?;
    check_replacements(variant, &programs, loaded, &at)?;
    let (setup, setup_path) = own_or(variant.setup.as_ref(), &lesson.setup, "setup", &at);
    let setup = setup
        .iter()
        .enumerate()
        .map(|(n, command)| setup::plan(command, lab, &params, &setup_path.index(n)))
        .collect::<Result<_, _>>()?;
    let (story, story_path) = own_or(variant.story.as_ref(), &lesson.story, "story", &at);
    if story.is_empty() {
        return Err(Mistake::new(
            &story_path,
            both!("a story in which nothing happens", "剧情（story）里什么也没有发生"),
        )
        .help(both!(
            "give the lesson a `story`, or this variant one of its own",
            "请给课程写 `story`，或者给这个方案写自己的 `story`"
        )));
    }
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
    let claims = claims::plan(&variant.claims, &at.key("claims"), &vocabulary)?;
    let invariants = invariants::plan(lesson, (name, variant), &roster, &vocabulary)?;
    if let Some(table) = &lesson.table {
        vocabulary.check_figure(&table.figure, &root.key("table").key("figure"))?;
    }
    if let Some(explore) = &variant.explore {
        explored::check_wanted(explore, &at.key("explore"), (lab, &clients), invariants.is_empty())?;
    }
    let story = story::plan(story, &story_path, &roster, &vocabulary, name)?;
    check_fixed_texts(lesson, (variant, &at), &roster)?;
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

/// Checks the texts into which only parameters can be inserted.
fn check_fixed_texts(
    lesson: &Lesson,
    (variant, at): (&Variant, &Path),
    roster: &story::Roster<'_>,
) -> Result<(), Mistake> {
    let root = Path::root();
    let of_lesson = [("title", &lesson.title), ("summary", &lesson.summary), ("intro", &lesson.intro)];
    let of_lesson = of_lesson.into_iter().chain(lesson.notes.iter().map(|notes| ("notes", notes)));
    let own = [("title", &variant.title), ("lesson", &variant.lesson)];
    let mut texts = own.map(|text| (at, text)).into_iter().chain(of_lesson.map(|text| (&root, text)));
    texts.try_for_each(|(at, (field, text))| roster.check_fixed_text(text, &at.key(field)))
}

/// Checks that a variant's lab has the metrics, and their names: those of ZooKeeper begin with `zk_`, and no other server has such.
fn check_metrics(lesson: &Lesson, lab: LabKind, at: &Path) -> Result<(), Mistake> {
    if !lab.has(lesson.lab.product()) && !lesson.metrics.is_empty() {
        return Err(Mistake::new(
            &at.key("lab"),
            both!("this lab cannot give the lesson's `metrics`", "这个 lab 给不出本课的 `metrics`"),
        )
        .help(both!(
            "servers of another product count other things: make it a lesson of its own",
            "别的产品的服务器统计的是别的计数器：请另写一节课"
        )));
    }
    let of_zookeeper = lesson.lab.product() == Product::Zookeeper;
    for (n, name) in lesson.metrics.iter().enumerate() {
        let path = Path::root().key("metrics").index(n);
        if lesson.metrics[..n].contains(name) {
            let message = both!("`{name}` is here twice", "`{name}` 写了两遍");
            return Err(Mistake::new(&path, message).help(both!("leave one of both out", "两者去掉一个")));
        }
        if super::has_word("zk_version zk_server_state", name) {
            let message = both!("`{name}` is a text and counts nothing", "`{name}` 是文字，不是计数器");
            return Err(Mistake::new(&path, message).help(both!(
                "such as `zk_packets_sent`; who leads is told by `role('zk1')`",
                "例如 `zk_packets_sent`；谁是 leader 请用 `role('zk1')`"
            )));
        }
        if name.starts_with("zk_") != of_zookeeper {
            let product = lesson.lab.product().traits().name;
            let message = both!("{product} has no metric `{name}`", "{product} 没有 `{name}` 这个计数器");
            return Err(Mistake::new(&path, message).help(if of_zookeeper {
                both!("such as `zk_packets_sent`, a line of its `mntr`", "例如 `mntr` 里的 `zk_packets_sent`")
            } else {
                both!(
                    "such as `total_commands_processed`, a field of Redis' `INFO`",
                    "例如 Redis `INFO` 里的 `total_commands_processed`"
                )
            }));
        }
    }
    Ok(())
}

fn check_numbers(lesson: &Lesson) -> Result<(), Mistake> {
    if lesson.minutes == 0 {
        let message = both!("a lesson takes at least one minute", "一节课至少要一分钟");
        return Err(Mistake::new(&Path::root().key("minutes"), message));
    }
    let Some(name) = lesson.variants.keys().nth(MOST_VARIANTS) else { return Ok(()) };
    let message =
        both!("a lesson may have at most {MOST_VARIANTS} variants", "一节课最多有 {MOST_VARIANTS} 个方案");
    Err(Mistake::new(&Path::root().key("variants").key(name), message))
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

/// The lesson's parameters, overridden by the variant's, then by the user's.
fn params(lesson: &Lesson, variant: &Variant, overrides: &Params, at: &Path) -> Result<Params, Mistake> {
    let mut params = lesson.params.clone();
    for (name, value) in &params {
        check_value(value, &Path::root().key("params").key(name))?;
    }
    let is_name = |name: &str| {
        name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    if let Some(name) = params.keys().find(|name| !is_name(name)) {
        let path = Path::root().key("params").key(name);
        return Err(Mistake::new(
            &path,
            both!("`{name}` cannot name a parameter", "`{name}` 不能用作参数名"),
        )
        .help(both!("a letter, then letters, digits and `_`", "以字母开头，后面是字母、数字和 `_`")));
    }
    if let Some(reserved) = params.keys().find(|name| BUILTINS.contains(&name.as_str())) {
        let path = Path::root().key("params").key(reserved);
        return Err(Mistake::new(
            &path,
            both!(
                "`{reserved}` is a name that every program has already",
                "`{reserved}` 是每个程序都已有的名字"
            ),
        )
        .help(both!("give the parameter another name", "请给参数换个名字")));
    }
    for name in params.keys() {
        names::check(name, names::Named::Value, &Path::root().key("params").key(name))?;
    }
    let own = variant.params.iter().map(|param| (param, at.key("params").key(param.0)));
    let given = overrides.iter().map(|param| (param, Path::root().key("params")));
    for ((name, value), path) in own.chain(given) {
        check_value(value, &path)?;
        stays_duration(lesson.params.get(name), value, &path)?;
        if params.insert(name.clone(), value.clone()).is_none() {
            return Err(Mistake::unknown(
                &path,
                both!("parameter", "参数"),
                name,
                lesson.params.keys().map(String::as_str),
            ));
        }
    }
    Ok(params)
}

/// Checks that a parameter that is a duration in the lesson is one in its variants, too.
fn stays_duration(own: Option<&Param>, value: &Param, path: &Path) -> Result<(), Mistake> {
    match (own, value) {
        (Some(Param::Word(own)), Param::Word(word))
            if super::parse_millis(own).is_ok() && super::parse_signed_millis(word).is_err() =>
        {
            Err(Mistake::new(
                path,
                both!(
                    "`{word}` is no duration, and the parameter is one: `{own}`",
                    "这个参数是时长（`{own}`），而 `{word}` 不是时长"
                ),
            )
            .help(both!("write it like 3s or 200ms", "请写成 3s 或 200ms 这样")))
        }
        _ => Ok(()),
    }
}

/// Checks the value of a parameter. Parameters are known before anything runs, so they cannot contain expressions.
fn check_value(value: &Param, path: &Path) -> Result<(), Mistake> {
    match value {
        Param::Word(word) if word.contains("${") => Err(Mistake::new(
            path,
            both!(
                "`{word}` is an expression, and a parameter is a value",
                "`{word}` 是表达式，而参数必须是具体的值"
            ),
        )
        .help(both!(
            "write the value itself, such as 30s, and compute where the parameter is used",
            "请直接写值，例如 30s；要计算，在用到参数的地方写表达式"
        ))),
        // Digits and a unit that exceed a year.
        Param::Word(word)
            if ["ms", "s", "m", "h"].iter().any(|unit| {
                word.strip_suffix(unit).is_some_and(|digits| {
                    digits.len() > 9 && digits.bytes().all(|byte| byte.is_ascii_digit())
                })
            }) && super::parse_millis(word).is_err() =>
        {
            Err(Mistake::new(path, both!("`{word}` is too long: at most a year", "`{word}` 太长：最多一年"))
                .help(both!("such as 30s", "例如 30s")))
        }
        _ => Ok(()),
    }
}

/// Checks that each replacement replaces an operation; otherwise it is misspelt.
fn check_replacements(
    variant: &Variant,
    programs: &IndexMap<String, Vec<super::Step>>,
    loaded: &Loaded,
    at: &Path,
) -> Result<(), Mistake> {
    variant.settings.check(loaded.lesson.lab_of(variant), &at.key("settings"))?;
    let mut known = BTreeSet::new();
    for (name, steps) in programs {
        labels_of(steps, name, &mut known);
    }
    for (name, recipe) in &loaded.recipes.programs {
        labels_of(&recipe.steps, name, &mut known);
    }
    match variant.replace.keys().find(|target| !known.contains(*target)) {
        None => Ok(()),
        Some(target) => {
            let path = at.key("replace").key(target);
            if let Some((client, label)) = target.rsplit_once('.')
                && let Some(program) = variant
                    .clients
                    .as_ref()
                    .unwrap_or(&loaded.lesson.clients)
                    .get(client)
                    .and_then(|client| client.runs.as_ref())
            {
                let message = both!(
                    "`{client}` is a client, and `replace` names a program's operation",
                    "`{client}` 是客户端，而 `replace` 要写程序的操作"
                );
                return Err(Mistake::new(&path, message)
                    .help(both!("write `{program}.{label}`", "请写 `{program}.{label}`")));
            }
            Err(Mistake::unknown(&path, both!("operation", "操作"), target, known.iter().map(String::as_str)))
        }
    }
}

fn labels_of(steps: &[super::Step], program: &str, labels: &mut BTreeSet<String>) {
    use super::Step;
    for step in steps {
        match step {
            Step::Operation { label, .. } => drop(labels.insert(format!("{program}.{label}"))),
            Step::If { then, otherwise, .. } => {
                labels_of(then, program, labels);
                labels_of(otherwise, program, labels);
            }
            Step::Repeat { steps, .. } => labels_of(steps, program, labels),
            _ => {}
        }
    }
}

/// Parses a template and checks that all its names are known. `what` is the noun for them in the error.
fn template<'a>(
    source: &str,
    path: &Path,
    what: impl Into<Text>,
    known: impl Iterator<Item = &'a String> + Clone,
) -> Result<Template, Mistake> {
    let template = Template::parse(source).map_err(|error| Mistake::new(path, error))?;
    Mistake::unless_known(path, what, &template.names(), known)?;
    Ok(template)
}

/// Refuses a known name in the placeholder syntax of another tool, which would be sent literally. `braces`: also refuse
/// `{name}`, which is allowed in keys because it may be a hash tag.
fn foreign<'a>(
    source: &str,
    path: &Path,
    known: &(impl Iterator<Item = &'a String> + Clone),
    braces: bool,
) -> Result<(), Mistake> {
    if let Some(written) = ["＄{", "$｛", "＄｛"].into_iter().find(|written| source.contains(written)) {
        let message = both!(
            "`{written}` is full-width, and plain text here",
            "`{written}` 是全角字符，在这里只是普通文字"
        );
        return Err(Mistake::new(path, message)
            .help(both!("a value is filled in with `${{name}}`", "填入值要用半角：`${{name}}`")));
    }
    let forms =
        [("$", ""), ("{{", "}}"), ("$(", ")"), ("#{", "}"), ("%{", "}"), ("%(", ")"), ("<", ">"), ("{", "}")];
    for (begin, end) in forms.into_iter().filter(|(begin, _)| braces || *begin != "{") {
        for (at, _) in source.match_indices(begin) {
            let rest = &source[at + begin.len()..];
            let rest = if end.is_empty() { rest } else { rest.trim_start() };
            let length = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
            let (name, after) = rest.split_at(length);
            let is_filled_in = begin == "{" && source[..at].ends_with('$');
            if !is_filled_in
                && known.clone().any(|known| known == name)
                && after.trim_start().starts_with(end)
            {
                let written = format!("{begin}{name}{end}");
                let message = both!("`{written}` is plain text here", "`{written}` 在这里只是普通文字");
                return Err(Mistake::new(path, message)
                    .help(both!("a value is filled in with `${{{name}}}`", "填入值要写 `${{{name}}}`")));
            }
        }
    }
    Ok(())
}

/// Refuses `${lease}s`: a parameter that is a duration counts in milliseconds, whatever unit follows it.
fn doubled_unit(source: &str, params: &Params, path: &Path) -> Result<(), Mistake> {
    let Some((name, unit)) = source.strip_prefix("${").and_then(|rest| rest.split_once('}')) else {
        return Ok(());
    };
    let is_duration =
        matches!(params.get(name.trim()), Some(Param::Word(word)) if super::parse_millis(word).is_ok());
    if !is_duration || !["s", "ms", "m", "h"].contains(&unit.trim()) {
        return Ok(());
    }
    let message = both!("`{name}` is a duration already", "`{name}` 本身就是时长");
    Err(Mistake::new(path, message).help(both!("write `${{{name}}}`", "请写 `${{{name}}}`")))
}

/// Evaluates a count, which may be a template over the parameters, and checks its bounds.
fn number(
    count: &super::Count,
    params: &Params,
    path: &Path,
    bounds: RangeInclusive<u32>,
) -> Result<u32, Mistake> {
    let number = match count {
        super::Count::Number(number) => *number,
        super::Count::Template(source) => {
            let template = template(source, path, both!("parameter", "参数"), params.keys())?;
            let text = template
                .render(&Scope::new(constants::values(params)).value())
                .map_err(|error| Mistake::new(path, error))?;
            text.trim().parse().map_err(|_| {
                Mistake::new(
                    path,
                    both!("`{source}` gives `{text}`, not a number", "`{source}` 的值是 `{text}`，不是数字"),
                )
                .help(both!("write a whole number, such as 2", "请写整数，例如 2"))
            })?
        }
    };
    if bounds.contains(&number) {
        return Ok(number);
    }
    let (least, most) = bounds.into_inner();
    Err(Mistake::new(path, both!("{number} is out of bounds", "{number} 超出范围"))
        .help(both!("from {least} to {most}", "应在 {least} 到 {most} 之间")))
}

/// Parses the value of a `--set name=value` in the way a lesson's file is parsed.
pub fn param_from_word(word: &str) -> Param {
    match (word.parse::<i64>(), word.parse::<bool>()) {
        (Ok(number), _) => Param::Number(number),
        (_, Ok(flag)) => Param::Flag(flag),
        _ => Param::Word(word.to_owned()),
    }
}
