//! From a planned operation to the command that is sent. Pure.

use minijinja::Value;

use crate::{
    client::protocol::Wire,
    lesson::{
        expr::Template,
        plan::{PlannedVerb, ZkPlan},
    },
    log::ZkCall,
};

pub(crate) fn fill_in(verb: &PlannedVerb, server: String, names: &Value) -> Result<Option<Wire>, String> {
    let all =
        |templates: &[Template]| templates.iter().map(|t| t.render(names)).collect::<Result<Vec<_>, _>>();
    Ok(Some(match verb {
        PlannedVerb::Redis(words) => Wire::Redis { server, words: all(words)? },
        PlannedVerb::Script { name, source, keys, args } => Wire::Script {
            server,
            name: name.clone(),
            source: source.to_string(),
            keys: all(keys)?,
            args: all(args)?,
        },
        PlannedVerb::Zk(plan) => Wire::Zookeeper { server, call: zk_call(plan, names)? },
        PlannedVerb::Local { lock, name } => Wire::Local { lock: *lock, name: name.render(names)? },
        PlannedVerb::Wait(_) | PlannedVerb::Take(_) => return Ok(None),
    }))
}

fn zk_call(plan: &ZkPlan, names: &Value) -> Result<ZkCall, String> {
    Ok(match plan {
        ZkPlan::Create { ephemeral, sequential, path, data } => ZkCall::Create {
            ephemeral: *ephemeral,
            sequential: *sequential,
            path: path.render(names)?,
            data: data.as_ref().map(|data| data.render(names)).transpose()?.unwrap_or_default(),
        },
        ZkPlan::Delete { path } => ZkCall::Delete { path: path.render(names)? },
        ZkPlan::Exists { watch, path } => ZkCall::Exists { watch: *watch, path: path.render(names)? },
        ZkPlan::Get { watch, path } => ZkCall::Get { watch: *watch, path: path.render(names)? },
        ZkPlan::Ls { watch, path } => ZkCall::Ls { watch: *watch, path: path.render(names)? },
        ZkPlan::Set { path, data, version } => {
            let version = version.as_ref().map(|version| version.render(names)).transpose()?;
            let number = |text: String| {
                text.parse().map_err(|_| format!("`{text}` is not a version: it must be a number"))
            };
            ZkCall::Set {
                path: path.render(names)?,
                data: data.render(names)?,
                version: version.map(number).transpose()?,
            }
        }
    })
}
