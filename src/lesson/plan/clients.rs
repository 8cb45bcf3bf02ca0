//! Plans clients: processes, and the actors in them.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    ops::RangeInclusive,
    path::{Component, Path as FilePath, PathBuf},
    sync::Arc,
};

use indexmap::IndexMap;

use super::{
    super::{
        error::{ALIKE, Mistake, Mistakes, Path, did_you_mean, finding, nearest},
        expr::{Expr, Scope, Template},
        lab_kind::LabKind,
        library::carried_file,
        model::{Client, Count, Libraries, Params},
    },
    Loaded, commands,
    compile::Compiler,
    constants::values,
    names,
    params::{check_value, stays_duration},
    program::{Frame, Instruction, Program},
    templates::{foreign, number, template},
};
use crate::{
    files,
    log::{ANY, Actor, Product},
    text::both,
};

/// A client process of a run.
#[derive(Debug, Clone)]
pub struct ClientPlan {
    pub name: String,
    /// The name of the client in the lesson, which may stand for several processes: `P` for `P1`.
    pub group: String,
    /// The external program, if the client runs none of the lesson's `programs`.
    pub exec: Option<Exec>,
    /// The indices of its actors in the scenario. Empty for a group of size 0, which has no process.
    pub actors: std::ops::Range<usize>,
}

/// An external program.
#[derive(Debug, Clone)]
pub struct Exec {
    /// The command and its arguments.
    pub words: Vec<String>,
    pub origin: Origin,
    /// The commands that are forwarded without waiting for a move.
    pub passes: Vec<String>,
    /// The libraries that the program needs.
    pub libraries: Libraries,
    /// Names of scripts that these send, each with the beginning of its hash.
    pub scripts: IndexMap<String, String>,
}

impl Exec {
    /// The content of the first readable file among the arguments, as text. For a lesson, only files in its directory
    /// count.
    pub fn source(&self) -> Option<String> {
        /// The size of a file in bytes up to which its text is shown.
        const LONGEST: u64 = 64 << 10;
        let of_file = |path: PathBuf| path.is_file().then(|| files::read(&path, LONGEST).ok())?;
        let is_below =
            |word: &str| FilePath::new(word).components().all(|part| matches!(part, Component::Normal(_)));
        // The first word is the interpreter.
        let text = self.words.iter().skip(1).find_map(|word| match &self.origin {
            Origin::User => of_file(word.into()),
            Origin::Lesson(directory) => is_below(word).then(|| of_file(directory.join(word)))?,
            Origin::Carried => carried_file(word).map(<[u8]>::to_vec),
        });
        String::from_utf8(text?).ok()
    }
}

/// Where a program comes from, and so where its files are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    User,
    /// A lesson in this directory.
    Lesson(PathBuf),
    /// A lesson carried in the binary, together with the files of its programs.
    Carried,
}

impl Origin {
    pub(super) fn of(loaded: &Loaded) -> Self {
        if loaded.carried { Self::Carried } else { Self::Lesson(loaded.home()) }
    }
}

#[derive(Debug, Clone)]
pub struct ActorPlan {
    pub actor: Actor,
    pub program: Arc<Program>,
    /// The initial variables of the program.
    pub scope: Scope,
}

/// Limits for processes, threads per process, and members of a crowd. A crowd shares one process, whereas each process
/// costs some megabytes. A group whose size depends on a parameter may be empty.
const PROCESSES: RangeInclusive<u32> = 0..=64;
const THREADS: RangeInclusive<u32> = 1..=64;
const CROWD: RangeInclusive<u32> = 0..=2000;

/// The largest numbers of processes and actors in a lesson, over all its clients.
const ALL_PROCESSES: usize = 128;
const ALL_ACTORS: usize = 5000;

/// The longest text, in bytes, that is compared with names of keys.
const LONGEST_NAME: usize = 256;

impl ActorPlan {
    /// Renders a template with the actor's parameters if the program never changes those it uses; otherwise returns its
    /// pattern.
    pub(crate) fn filled(&self, template: &Template) -> String {
        let known = template.names().iter().all(|name| self.keeps(name));
        let text = known.then(|| template.render(&self.scope.value()).ok());
        text.flatten().unwrap_or_else(|| template.pattern())
    }

    /// The value of a parameter that the program never changes.
    pub(crate) fn constant(&self, name: &str) -> Option<&minijinja::Value> {
        self.scope.get(name).filter(|_| self.keeps(name))
    }

    /// The same for each expression of a template by itself.
    pub(crate) fn filled_within(&self, template: &Template) -> String {
        template.filled(|expr| {
            let known = expr.names().iter().all(|name| self.keeps(name));
            let value = known.then(|| expr.eval(self.scope.value()).ok()).flatten();
            Some(value.map_or_else(|| ANY.to_string(), |value| value.to_string()))
        })
    }

    /// The text of a template in a program or recipe, with the values that its `use` gives; what is known only at run time,
    /// or too long for a name, is a gap.
    pub(crate) fn filled_in(&self, template: &Template, frames: &[Frame<'_>]) -> String {
        // Outermost first, each value once: those of nested recipes may repeat each other's.
        let mut given = HashMap::new();
        for (with, _) in frames {
            let values: Vec<_> =
                with.iter().map(|(name, value)| (name.as_str(), self.filled_with(value, &given))).collect();
            given.extend(values);
        }
        self.filled_with(template, &given)
    }

    /// The same with the values of all parameters that are `given`.
    fn filled_with(&self, template: &Template, given: &HashMap<&str, String>) -> String {
        let text = template.filled(|expr| {
            let value = self.value_with(expr, given).filter(|value| value.len() <= LONGEST_NAME);
            Some(value.unwrap_or_else(|| ANY.to_string()))
        });
        if text.len() <= LONGEST_NAME { text } else { ANY.to_string() }
    }

    fn value_with(&self, expr: &Expr, given: &HashMap<&str, String>) -> Option<String> {
        let names = expr.names();
        if names.iter().any(|name| self.changes(name)) {
            return None;
        }
        if let Some(value) = given.get(expr.source().trim()) {
            return Some(value.clone());
        }
        let is_given = names.iter().any(|name| given.contains_key(name.as_str()));
        let value = if is_given { None } else { expr.eval(self.scope.value()).ok() }?;
        (!value.is_undefined()).then(|| value.to_string())
    }

    /// Whether the program sets this name.
    fn changes(&self, name: &str) -> bool {
        let sets = |instruction: &Instruction| match instruction {
            Instruction::Set { name: other, .. } => other == name,
            _ => false,
        };
        self.program.labels.contains(name) || self.program.instructions.iter().any(sets)
    }

    /// Whether the program has this parameter and never changes it.
    fn keeps(&self, name: &str) -> bool {
        let gives = |instruction: &Instruction| match instruction {
            Instruction::Enter { with, .. } => with.iter().any(|(other, _)| other == name),
            _ => false,
        };
        self.scope.get(name).is_some() && !self.changes(name) && !self.program.instructions.iter().any(gives)
    }
}

pub(crate) fn plan(
    clients: &IndexMap<String, Client>,
    path: &Path,
    params: &Params,
    compiler: &Compiler<'_>,
) -> Result<(Vec<ClientPlan>, Vec<ActorPlan>), Mistakes> {
    let (mut planned, mut found) = ((Vec::new(), Vec::new()), Mistakes::default());
    if clients.is_empty() {
        return Err(Mistake::new(path, both!("a lesson without clients", "课程里一个客户端也没有")).into());
    }
    for (group, client) in clients {
        if found.is_full() {
            break;
        }
        found.keep(add(&mut planned, (group, client), &path.key(group), params, compiler));
    }
    let mut seen = HashSet::new();
    if let Some(twice) = planned.1.iter().find(|plan| !seen.insert(plan.actor.name.as_str())) {
        let name = &twice.actor.name;
        found.extend(Mistake::new(
            path,
            both!("two clients would be called `{name}`", "会有两个客户端都叫 `{name}`"),
        ));
    }
    found.or(planned)
}

/// Adds the processes and actors of a client.
fn add(
    (processes, actors): &mut (Vec<ClientPlan>, Vec<ActorPlan>),
    (group, client): (&String, &Client),
    path: &Path,
    params: &Params,
    compiler: &Compiler<'_>,
) -> Result<(), Mistakes> {
    check_name(group, path)?;
    check_with(client, params, &path.key("with"))?;
    let mut params = params.clone();
    params.extend(client.with.clone());
    let Sizes { crowd, processes: count, threads } = sizes(client, &params, path)?;
    check_room((processes.len(), actors.len()), (count, threads, crowd), client, path)?;
    let compile = |name: &str, at: &str| compiler.compile((name, &path.key(at)), &client.with).map(Arc::new);
    let outside = outside(client, &params, &compiler.lab, path)?;
    // The actors of each process: the suffix of the name, and the program.
    let threads: Vec<(String, Arc<Program>)> = match (&client.runs, client.named_threads.is_empty()) {
        _ if let Some((_, program)) = &outside => vec![(String::new(), Arc::clone(program))],
        (Some(program), true) => {
            let program = compile(program, "runs")?;
            match threads.or(crowd) {
                None => vec![(String::new(), program)],
                Some(threads) => {
                    let dot = if crowd.is_some() { "" } else { "." };
                    (1..=threads).map(|n| (format!("{dot}{n}"), Arc::clone(&program))).collect()
                }
            }
        }
        (None, false) if threads.or(crowd).is_none() => {
            let compile = |(name, program): (&String, &String)| {
                Ok::<_, Mistakes>((format!(".{name}"), compile(program, "named_threads")?))
            };
            Mistakes::all(client.named_threads.iter().map(compile))?
        }
        (None, false) => {
            let key = if crowd.is_some() { "crowd" } else { "threads" };
            return Err(not_with_named_threads(key, path).into());
        }
        _ => {
            let finding = finding!(
                "a client needs either `runs` or `named_threads`",
                "客户端要么写 `runs`，要么写 `named_threads`",
                "`{{ runs: PROGRAM }}`, perhaps with `processes`, `threads` or `crowd`",
                "`{{ runs: 程序名 }}`，还可以加上 `processes`、`threads` 或 `crowd`"
            );
            return Err(path.mistake(finding).into());
        }
    };
    if threads.len() > 1 && threads.iter().any(|(_, program)| program.locks_files) {
        let finding = finding!(
            "a client that locks files is one process with one thread: the kernel tells who has locked a file by its \
             process",
            "锁文件的客户端只能有一个线程：内核是按进程记录谁锁了文件的",
            "write `processes` in place of `threads` or `crowd`",
            "把 `threads` 或 `crowd` 换成 `processes`"
        );
        return Err(path.mistake(finding).into());
    }
    let mut index = 0_u32;
    if count == Some(0) || crowd == Some(0) {
        processes.push(ClientPlan {
            name: group.clone(),
            group: group.clone(),
            exec: None,
            actors: actors.len()..actors.len(),
        });
        return Ok(());
    }
    for process in 1..=count.unwrap_or(1) {
        let name = if count.is_some() { format!("{group}{process}") } else { group.clone() };
        let first = actors.len();
        for (suffix, program) in &threads {
            index += 1;
            let actor =
                Actor { name: format!("{name}{suffix}"), client: name.clone(), crowd: crowd.is_some() };
            let mut names = values(&params);
            names.insert("self".to_owned(), actor.name.as_str().into());
            names.insert("client".to_owned(), name.as_str().into());
            names.insert("index".to_owned(), index.into());
            actors.push(ActorPlan { actor, program: Arc::clone(program), scope: Scope::new(names) });
        }
        let actors = first..actors.len();
        let exec = outside.as_ref().map(|(exec, _)| exec.clone());
        processes.push(ClientPlan { name, group: group.clone(), exec, actors });
    }
    Ok(())
}

/// The external program of a client with what is known of it before it runs; `None` for a client without `exec`.
fn outside(
    client: &Client,
    params: &Params,
    lab: &LabKind,
    path: &Path,
) -> Result<Option<(Exec, Arc<Program>)>, Mistake> {
    if client.exec.is_empty() {
        let alone = client.speaks.is_some()
            || client.passes.is_some()
            || !client.moves.is_empty()
            || !client.locks.is_empty();
        let message = both!("a client without `exec`", "客户端没有写 `exec`");
        let help = both!(
            "`speaks`, `moves`, `passes` and `locks` tell of a program that `exec` starts",
            "`speaks`、`moves`、`passes` 和 `locks` 描述的是 `exec` 启动的程序"
        );
        return if alone { Err(Mistake::new(path, message).help(help)) } else { Ok(None) };
    }
    let (path, passes, moves) = (path.key("exec"), path.key("passes"), path.key("moves"));
    if client.runs.is_some()
        || !client.named_threads.is_empty()
        || client.threads.is_some()
        || client.crowd.is_some()
    {
        return Err(path.mistake(finding!(
            "a client with `exec` is one process, and has no other program",
            "写了 `exec` 的客户端就是一个进程，没有别的程序",
            "`{{ exec: [COMMAND, ARGUMENT], speaks: redis }}`, perhaps with `processes`",
            "`{{ exec: [命令, 参数], speaks: redis }}`，还可以加上 `processes`"
        )));
    }
    let alone = lab.parts().len() == 1 && !lab.is_replicated();
    let speaks = client.speaks.filter(|speaks| alone && lab.product() == speaks.product());
    let Some(speaks) = speaks else {
        let message = both!(
            "a program needs `speaks: redis` with `lab: redis` or `lab: masters`, or `speaks: zookeeper` with `lab: zookeeper`",
            "程序需要写 `speaks: redis` 并用 `lab: redis` 或 `lab: masters`，或者写 `speaks: zookeeper` 并用 `lab: zookeeper`"
        );
        return Err(Mistake::new(&path, message));
    };
    for (n, name) in client.passes.iter().flatten().enumerate() {
        check_command_name(name, speaks.product(), &passes.index(n))?;
        if client.moves.iter().any(|made| made.eq_ignore_ascii_case(name)) {
            let message = both!("`{name}` is in `moves`, too", "`{name}` 也写在 `moves` 里");
            return Err(Mistake::new(&passes.index(n), message).help(both!(
                "what is a move waits for the story, and what passes does not: leave one of both out",
                "`moves` 里的命令要等剧情，`passes` 里的不等：请去掉一个"
            )));
        }
    }
    for (n, name) in client.moves.iter().enumerate() {
        check_command_name(name, speaks.product(), &moves.index(n))?;
    }
    if let [line] = &client.exec[..]
        && let Some((program, _)) = line.split_once(char::is_whitespace)
    {
        let message =
            both!("`{line}` is one word, and no program is called so", "`{line}` 是一个词，没有这样的程序");
        return Err(Mistake::new(&path.index(0), message).help(both!(
            "each word is an item of the list: `exec: [{program}, …]`",
            "每个词是列表的一项：`exec: [{program}, …]`"
        )));
    }
    let values = Scope::new(values(params)).value();
    let word = |(n, word): (usize, &String)| {
        // A word with white space is probably a shell script, in which such placeholders are variables of the shell.
        if !word.contains(char::is_whitespace) {
            foreign(word, &path.index(n), &params.keys(), false)?;
        }
        let template = template(word, &path.index(n), both!("parameter", "参数"), params.keys())?;
        template.render(&values).map_err(|error| Mistake::new(&path.index(n), error))
    };
    let words = client.exec.iter().enumerate().map(word).collect::<Result<_, _>>()?;
    let program = Program {
        outside: true,
        labels: client.moves.iter().map(|label| command_label(label, speaks.product())).collect(),
        locks: client.locks.iter().cloned().collect(),
        ..Program::default()
    };
    let label = |name: &String| command_label(name, speaks.product());
    let passes = match &client.passes {
        Some(passes) => passes.iter().map(label).collect(),
        None => housekeeping(speaks.product()),
    };
    let (libraries, scripts) = (Libraries::new(), IndexMap::new());
    let exec = Exec { words, origin: Origin::User, passes, libraries, scripts };
    Ok(Some((exec, Arc::new(program))))
}

/// The commands of an external program that pass by default.
pub(crate) fn housekeeping(product: Product) -> Vec<String> {
    product.traits().housekeeping.iter().map(ToString::to_string).collect()
}

/// The label of a command that an external program may send, or the mistake that the product has no such command.
pub(crate) fn known_label(name: &str, product: Product) -> Result<String, Mistake> {
    let label = command_label(name, product);
    check_command_name(name, product, &Path::root()).map(|()| label)
}

fn check_command_name(name: &str, product: Product, path: &Path) -> Result<(), Mistake> {
    let label = command_label(name, product);
    if product == Product::Redis {
        return commands::check_name(&label, path);
    }
    let calls = product.traits().calls.iter().filter_map(|call| call.split(' ').next());
    let calls: BTreeSet<&str> = calls.chain(["close"]).collect();
    if calls.contains(label.as_str()) {
        return Ok(());
    }
    Err(Mistake::unknown(path, both!("ZooKeeper call", "ZooKeeper 操作"), name, calls))
}

/// The label of a command of an external program. Redis command names are upper-case, ZooKeeper calls lower-case.
pub(crate) fn command_label(name: &str, product: Product) -> String {
    if product == Product::Zookeeper { name.to_ascii_lowercase() } else { name.to_ascii_uppercase() }
}

/// The sizes that a client gives, if any.
struct Sizes {
    crowd: Option<u32>,
    processes: Option<u32>,
    threads: Option<u32>,
}

/// The mistake of a number of threads beside threads with names.
fn not_with_named_threads(key: &str, path: &Path) -> Mistake {
    let message = both!(
        "`named_threads` are all threads of a client: no `{key}` beside it",
        "`named_threads` 已经列出客户端的全部线程，旁边不能再写 `{key}`"
    );
    Mistake::new(path, message).help(both!(
        "leave `{key}` out; for more of these processes write `processes: 2`",
        "请去掉 `{key}`；想要多个这样的进程，请写 `processes: 2`"
    ))
}

/// Checks a client's own parameters: their values, and that none is a misspelt parameter of the lesson.
fn check_with(client: &Client, params: &Params, path: &Path) -> Result<(), Mistake> {
    for (name, value) in &client.with {
        let path = path.key(name);
        names::check(name, names::Named::Value, &path)?;
        check_value(value, &path)?;
        stays_duration(params.get(name), value, &path)?;
        let same = params.keys().find(|known| known.eq_ignore_ascii_case(name)).map(String::as_str);
        let near = same.or_else(|| nearest(name, params.keys().map(String::as_str), ALIKE));
        if let Some(near) = near.filter(|_| !params.contains_key(name)) {
            let message = both!("unknown parameter `{name}`", "没有名为 `{name}` 的参数");
            return Err(Mistake::new(&path, message).help(did_you_mean(near)));
        }
    }
    Ok(())
}

fn sizes(client: &Client, params: &Params, path: &Path) -> Result<Sizes, Mistake> {
    let size = |count: &Option<Count>, key: &str, bounds| {
        let number = |count| number(count, params, &path.key(key), bounds);
        count.as_ref().map(number).transpose()
    };
    let sizes = Sizes {
        crowd: size(&client.crowd, "crowd", CROWD)?,
        processes: size(&client.processes, "processes", PROCESSES)?,
        threads: size(&client.threads, "threads", THREADS)?,
    };
    if sizes.crowd.is_some() && (sizes.processes.is_some() || sizes.threads.is_some()) {
        return Err(Mistake::new(
            &path.key("crowd"),
            both!(
                "a crowd shares one process: no `processes`, no `threads`",
                "crowd 的成员共用一个进程：不能再写 `processes` 或 `threads`"
            ),
        ));
    }
    Ok(sizes)
}

/// Checks that a client's processes and actors still fit into the limits, given the numbers `before` it.
fn check_room(
    before: (usize, usize),
    (processes, threads, crowd): (Option<u32>, Option<u32>, Option<u32>),
    client: &Client,
    path: &Path,
) -> Result<(), Mistake> {
    let number = |count: Option<u32>| usize::try_from(count.unwrap_or(1)).unwrap_or(usize::MAX);
    let processes = number(processes);
    let actors = processes * number(threads.or(crowd)).max(client.named_threads.len());
    if before.0 + processes <= ALL_PROCESSES && before.1 + actors <= ALL_ACTORS {
        return Ok(());
    }
    let message = both!(
        "a lesson may have at most {ALL_PROCESSES} processes and {ALL_ACTORS} who move in them",
        "一节课最多有 {ALL_PROCESSES} 个进程，其中最多有 {ALL_ACTORS} 个参与者"
    );
    Err(Mistake::new(path, message))
}

fn check_name(name: &str, path: &Path) -> Result<(), Mistake> {
    let good =
        name.chars().all(char::is_alphanumeric) && name.chars().next().is_some_and(char::is_alphabetic);
    if good && name.chars().count() <= 12 {
        return names::check(name, names::Named::Client, path);
    }
    Err(Mistake::new(path, both!("`{name}` cannot name a client", "`{name}` 不能用作客户端名")).help(both!(
        "a letter, then letters and digits, twelve in all: it is written beside every lane",
        "以字母开头，后面是字母和数字，最多十二个字符：它会写在每条时间线旁边"
    )))
}
