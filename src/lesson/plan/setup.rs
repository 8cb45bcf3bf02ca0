//! Commands that prepare the servers, with names checked.

use super::{
    super::{
        LabKind,
        error::{Mistake, Path},
        expr::{Template, split_words},
        model::Params,
        step::Setup,
    },
    PlannedCall, PlannedVerb,
    settled::{Settled, values},
    template,
};
use crate::log::Product;

/// A command that Lockstep sends before the clients start.
#[derive(Debug, Clone)]
pub struct PlannedSetup {
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
    let template = |source: &str| template(source, path, "parameter", params.keys());
    let (product, text) = setup.command().map_err(|error| Mistake::new(path, error))?;
    if product != lab.product() {
        return Err(Mistake::new(path, format!("no server of this lab is {}", product.traits().name))
            .help("give a variant with a lab of its own a `setup:` of its own"));
    }
    if product != Product::Redis {
        return PlannedCall::parse(product, text, template, path).map(PlannedVerb::Call);
    }
    let words = split_words(text).map_err(|error| Mistake::new(path, error))?;
    if words.is_empty() {
        return Err(Mistake::new(path, "an empty Redis command"));
    }
    let mut words: Vec<Template> = words.iter().map(|word| template(word)).collect::<Result<_, _>>()?;
    Settled::new(values(params)).command(&mut words, &path.key("redis"))?;
    Ok(PlannedVerb::Redis(words))
}
