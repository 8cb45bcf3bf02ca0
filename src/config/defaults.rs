//! The default configuration file, made from the same table of actions as the help.

use crate::{
    text::Lang,
    ui::{keys::TABLE, words},
};

const HEAD: &str = r#"# Every setting is written here as it is without this file: take away the `#` before
# one and change it. Options of the command line come before it.
# `lockstep config --check` says what is wrong with the file and where.

# The language of lessons and screens: "en" or "zh".
# Without it, that of LC_ALL, LC_MESSAGES or LANG.
#lang = "en"

# The colours: "auto" (as the terminal), "dark", "light" or "contrast".
#theme = "auto"

# How fast time passes while playing: 0.1 to 100, 1 is real time.
#speed = 1.0

# Whether lessons ask what you think will happen.
#questions = true

# Whether what moves only to explain is to stand still.
#reduced_motion = false

# The keys of each action. A key is a character as it is typed ("n", "N", "?"), a name
# (enter, esc, tab, space, backspace, delete, insert, up, down, left, right, home, end,
# pageup, pagedown, f1 to f12), or one of them after "ctrl-", "alt-" or "shift-".
# An action with the keys [] has none and is still in the command palette. A key that is
# given to an action is taken from the one that has it here. Ctrl-C always quits.
[keys]
"#;

/// The default file; `path` is where it is read from.
pub fn file(path: &str) -> String {
    let mut text = format!("# Lockstep's configuration: {path}\n{HEAD}");
    let mut home = None;
    for row in TABLE {
        let place = row.scopes[0];
        if home != Some(place) {
            home = Some(place);
            text.extend(["\n# ", words::place(place).get(Lang::En), "\n"]);
        }
        let keys: Vec<String> = row.keys.iter().map(|key| format!("\"{key}\"")).collect();
        let setting = format!("#{} = [{}]", row.id, keys.join(", "));
        text.extend([&format!("{setting:<50}"), " # ", row.name.get(Lang::En), "\n"]);
    }
    text
}
