//! Commands that prepare the servers, with names checked.

use super::{
    super::{
        LabKind,
        error::{Mistake, Path},
        expr::{Template, split_words},
        model::{Params, Setup},
    },
    PlannedVerb, ZkPlan,
    settled::{Settled, values},
};

/// A command that Lockstep sends before the clients start.
#[derive(Debug, Clone)]
pub struct PlannedSetup {
    /// What is sent.
    pub verb: PlannedVerb,
    /// The server; the lab's first where it is `None`.
    pub on: Option<String>,
}

pub(crate) fn plan(
    setup: &Setup,
    lab: LabKind,
    params: &Params,
    path: &Path,
) -> Result<PlannedSetup, Mistake> {
    if let Some(on) = &setup.on
        && !lab.servers().contains(&on.as_str())
    {
        let known = lab.servers().iter().copied();
        return Err(Mistake::unknown(&path.key("on"), "server", on, known));
    }
    Ok(PlannedSetup { verb: verb(setup, lab, params, path)?, on: setup.on.clone() })
}

fn verb(setup: &Setup, lab: LabKind, params: &Params, path: &Path) -> Result<PlannedVerb, Mistake> {
    let template = |source: &str| -> Result<Template, Mistake> {
        let template = Template::parse(source).map_err(|error| Mistake::new(path, error))?;
        match template.names().iter().find(|name| !params.contains_key(*name)) {
            None => Ok(template),
            Some(name) => Err(Mistake::unknown(path, "parameter", name, params.keys().map(String::as_str))),
        }
    };
    let words = |text: &str| split_words(text).map_err(|error| Mistake::new(path, error));
    match (&setup.redis, &setup.zk) {
        (Some(_), None) if !lab.is_redis() => Err(Mistake::new(path, "no server of this lab is Redis")
            .help("give a variant with a lab of its own a `setup:` of its own")),
        (None, Some(_)) if lab.is_redis() => Err(Mistake::new(path, "no server of this lab is ZooKeeper")
            .help("give a variant with a lab of its own a `setup:` of its own")),
        (Some(command), None) => {
            let words = words(command)?;
            if words.is_empty() {
                return Err(Mistake::new(path, "an empty Redis command"));
            }
            let mut words: Vec<Template> =
                words.iter().map(|word| template(word)).collect::<Result<_, _>>()?;
            Settled::new(values(params)).command(&mut words, &path.key("redis"))?;
            Ok(PlannedVerb::Redis(words))
        }
        (None, Some(call)) => ZkPlan::parse(&words(call)?, template, path).map(PlannedVerb::Zk),
        _ => Err(Mistake::new(path, "a setup command is either `redis: …` or `zk: …`")),
    }
}
