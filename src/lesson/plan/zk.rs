//! ZooKeeper calls as `zkCli` writes them: `create -e -s /locks/n- data`, `exists -w /lock`. Grammar only.

use super::super::{
    error::{Mistake, Path},
    expr::Template,
};

/// A ZooKeeper call whose path and data are still templates.
#[derive(Debug, Clone)]
pub enum ZkPlan {
    /// `create [-e] [-s] PATH [DATA]`
    Create {
        /// `-e`: the node goes with the session.
        ephemeral: bool,
        /// `-s`: the server appends a growing number.
        sequential: bool,
        /// The path.
        path: Template,
        /// The data.
        data: Option<Template>,
    },
    /// `delete PATH`
    Delete {
        /// The path.
        path: Template,
    },
    /// `exists [-w] PATH`
    Exists {
        /// `-w`: leave a watch.
        watch: bool,
        /// The path.
        path: Template,
    },
    /// `get [-w] PATH`
    Get {
        /// `-w`: leave a watch.
        watch: bool,
        /// The path.
        path: Template,
    },
    /// `ls [-w] PATH`
    Ls {
        /// `-w`: leave a watch.
        watch: bool,
        /// The path.
        path: Template,
    },
    /// `set PATH DATA [VERSION]`
    Set {
        /// The path.
        path: Template,
        /// The data.
        data: Template,
        /// Only where the node has this version: ZooKeeper's own compare-and-set.
        version: Option<Template>,
    },
}

const HELP: &str = "create [-e] [-s] PATH [DATA], delete PATH, exists [-w] PATH, get [-w] PATH, ls [-w] PATH, \
                    set PATH DATA [VERSION]";

impl ZkPlan {
    /// Reads a call from its words.
    pub(crate) fn parse(
        words: &[String],
        template: impl Fn(&str) -> Result<Template, Mistake>,
        place: &Path,
    ) -> Result<Self, Mistake> {
        let wrong = |what: String| Err(Mistake::new(place, what).help(HELP));
        let Some((call, rest)) = words.split_first() else {
            return wrong("an empty ZooKeeper call".to_owned());
        };
        let (flags, operands): (Vec<&String>, Vec<&String>) =
            rest.iter().partition(|word| word.starts_with('-') && word.len() == 2);
        let flag = |name: &str| flags.iter().any(|flag| *flag == name);
        let allowed: &[&str] = match call.as_str() {
            "create" => &["-e", "-s"],
            "exists" | "get" | "ls" => &["-w"],
            "delete" | "set" => &[],
            other => return wrong(format!("`{other}` is not a ZooKeeper call")),
        };
        if let Some(unknown) = flags.iter().find(|flag| !allowed.contains(&flag.as_str())) {
            return wrong(format!("`{call}` has no flag `{unknown}`"));
        }
        let bounds = match call.as_str() {
            "create" => 1..=2,
            "set" => 2..=3,
            _ => 1..=1,
        };
        if !bounds.contains(&operands.len()) {
            return wrong(format!("`{call}` with {} operands", operands.len()));
        }
        if !operands[0].starts_with('/') && !operands[0].starts_with("${") {
            return wrong(format!("the path `{}` must begin with `/`", operands[0]));
        }
        let path = template(operands[0])?;
        let second = operands.get(1).map(|word| template(word)).transpose()?;
        let third = operands.get(2).map(|word| template(word)).transpose()?;
        Ok(match (call.as_str(), second) {
            ("create", data) => Self::Create { ephemeral: flag("-e"), sequential: flag("-s"), path, data },
            ("delete", _) => Self::Delete { path },
            ("exists", _) => Self::Exists { watch: flag("-w"), path },
            ("get", _) => Self::Get { watch: flag("-w"), path },
            ("ls", _) => Self::Ls { watch: flag("-w"), path },
            (_, Some(data)) => Self::Set { path, data, version: third },
            (_, None) => return wrong(format!("`{call}` needs data")),
        })
    }
}
