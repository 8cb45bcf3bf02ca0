//! Turns a planned operation into the command that is sent. Pure.

use minijinja::Value;

use crate::{
    client::protocol::Wire,
    lesson::{expr::Template, plan::PlannedVerb},
    log::{Command, FILES, product::files},
    text::Text,
};

pub(crate) fn fill_in(verb: &PlannedVerb, server: String, names: &Value) -> Result<Option<Wire>, Text> {
    let all =
        |templates: &[Template]| templates.iter().map(|t| t.render(names)).collect::<Result<Vec<_>, _>>();
    let command = match verb {
        PlannedVerb::Redis(words) => Command::Redis(all(words)?),
        PlannedVerb::Script { name, keys, args, .. } => {
            Command::Script { name: name.clone(), keys: all(keys)?, args: all(args)? }
        }
        PlannedVerb::Call(call) => call.fill_in(names)?,
        PlannedVerb::Given(command) => command.clone(),
        PlannedVerb::Local { lock, name } => Command::Local { lock: *lock, name: name.render(names)? },
        PlannedVerb::Flock { call, path } => {
            let path = path.render(names)?;
            files::check(&path)?;
            Command::Flock { call: *call, path }
        }
        PlannedVerb::Wait(_) | PlannedVerb::Take(_) => return Ok(None),
    };
    let script = match verb {
        PlannedVerb::Script { source, .. } => Some(source.to_string()),
        _ => None,
    };
    let server = match command {
        Command::Flock { .. } => FILES.to_owned(),
        Command::Local { .. } => LOCAL.to_owned(),
        _ => server,
    };
    Ok(Some(Wire { server, command, script }))
}

/// The server name of commands on mutexes that live in the client's process.
const LOCAL: &str = "local";
