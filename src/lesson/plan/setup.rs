//! Plans the commands that prepare the servers: checks their names.

use super::{
    super::{
        LabKind, PRIMARY,
        error::{Mistake, Path},
        expr::{Template, split_words},
        model::Params,
        step::Setup,
    },
    PlannedCall, PlannedVerb, commands,
    compile::{slots_lint, wants_seconds},
    constants::{Constants, values},
    templates::{foreign, only_expression, template},
};
use crate::{log::Product, text::both};

/// A command that Lockstep sends before the clients start.
#[derive(Debug, Clone)]
pub struct PlannedSetup {
    pub verb: PlannedVerb,
    /// The server; the lab's first if `None`.
    pub on: Option<String>,
}

pub(crate) fn plan(
    setup: &Setup,
    lab: LabKind,
    params: &Params,
    path: &Path,
) -> Result<PlannedSetup, Mistake> {
    let on = setup.on.as_deref().map(|on| {
        let server = lab.server_named(on).filter(|server| lab.servers().contains(server));
        let known = lab.servers().iter().copied();
        server.ok_or_else(|| Mistake::unknown(&path.key("on"), both!("server", "服务器"), on, known))
    });
    let on = on.transpose()?;
    let (product, text) = setup.command().map_err(|error| Mistake::new(path, error))?;
    let on = server_of(product, on, lab, path)?;
    let verb = verb(product, text, (params, lab), path)?;
    if let PlannedVerb::Call(call) = &verb
        && call.product() == Product::Zookeeper
        && call.has_flag("-e")
    {
        let message = both!(
            "an ephemeral znode goes with the session that creates it, which ends before the clients start",
            "临时节点随创建它的会话消失，而准备阶段的会话在客户端启动前就结束了"
        );
        return Err(Mistake::new(&path.key("zk"), message)
            .help(both!("leave `-e` out, or let a client create it", "请去掉 `-e`，或者由客户端来创建")));
    }
    Mistake::if_found(
        &path.key("redis"),
        slots_lint(&verb, &Template::pattern).filter(|_| lab.is_cluster()),
    )?;
    Ok(PlannedSetup { verb, on })
}

/// The server that a command of a product goes to; `None` stands for the lab's first.
pub(crate) fn server_of(
    product: Product,
    on: Option<&str>,
    lab: LabKind,
    path: &Path,
) -> Result<Option<String>, Mistake> {
    let name = product.traits().name;
    if !lab.has(product) {
        let message = both!("no server of this lab is {name}", "这个 lab 里没有 {name} 服务器");
        let is_alone = |kind: &LabKind| kind.product() == product && kind.servers().len() == 1;
        let wanted = LabKind::ALL.into_iter().find(is_alone);
        let word = |kind: &LabKind| serde_json::to_value(kind).ok()?.as_str().map(str::to_owned);
        let whole = lab.parts().iter().chain(&wanted).filter_map(word).collect::<Vec<_>>().join(", ");
        return Err(Mistake::new(path, message).help(both!(
            "put such a server into the lab: `lab: [{whole}]`, or give a variant with a lab of its own programs and a \
             `setup:` of its own",
            "请把这样的服务器放进 lab：`lab: [{whole}]`；有自己 lab 的方案，要有自己的程序和 `setup:`"
        )));
    }
    match on {
        Some(on) if lab.part_of(on).product() != product && on != PRIMARY => {
            let its = lab.part_of(on).product().traits().name;
            let message =
                both!("`{on}` is {its}, and this is for {name}", "`{on}` 是 {its}，而这是发给 {name} 的");
            Err(Mistake::new(&path.key("on"), message))
        }
        Some(on) => Ok(Some(on.to_owned())),
        None if lab.product() == product => Ok(None),
        None => Ok(lab.first_of(product).map(str::to_owned)),
    }
}

fn verb(
    product: Product,
    text: &str,
    (params, lab): (&Params, LabKind),
    path: &Path,
) -> Result<PlannedVerb, Mistake> {
    let template = |source: &str| {
        // In a cluster `{lock}` is a hash tag.
        let is_whole = source.starts_with('{') && source.ends_with('}') && !lab.is_cluster();
        foreign(source, path, &params.keys(), is_whole)?;
        template(source, path, both!("parameter", "参数"), params.keys())
    };
    if product != Product::Redis {
        return PlannedCall::parse(product, text, template, path).map(PlannedVerb::Call);
    }
    let words = split_words(text).map_err(|error| Mistake::new(path, error))?;
    if words.is_empty() {
        return Err(Mistake::new(path, both!("an empty Redis command", "空的 Redis 命令")));
    }
    let mut words: Vec<Template> = words.iter().map(|word| template(word)).collect::<Result<_, _>>()?;
    let mut constants = Constants::new(values(params));
    for at in commands::seconds(&words) {
        let source = words[at].to_string();
        let name = only_expression(&source).unwrap_or_default();
        let found = wants_seconds((&source, name), params.get(name), constants.settled(&words[at]));
        Mistake::if_found(&path.key("redis"), found.map(|(_, finding)| finding))?;
    }
    constants.command(&mut words, &path.key("redis"))?;
    constants.check_form(&words, &path.key("redis"))?;
    Ok(PlannedVerb::Redis(words))
}
