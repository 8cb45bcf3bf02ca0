//! `lockstep notes`: an author's notes for teachers, printed or shown beside the lesson that is being played.

use clap::Args;
use serde_json::{Value, json};

use super::{Failure, Global, OK, interrupt, play, print, words};
use crate::{
    lesson::{Loaded, Scenario},
    signals,
    ui::{
        app::{Ended, follow, terminal},
        state::playing::{self, Playing},
        theme::Theme,
    },
};

/// Whose notes, and where.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  lockstep notes oversell            # to prepare with
  lockstep notes --follow            # in a second terminal, beside `lockstep play`

The Lockstep that plays and the one that follows find each other by a file in the runtime directory of the user \
(XDG_RUNTIME_DIR), which nobody else can read.")]
pub struct NotesArgs {
    /// The lesson's name, or the path of a lesson file
    #[arg(value_name = "LESSON", required_unless_present = "follow", conflicts_with = "follow")]
    lesson: Option<String>,
    /// Follows the lesson that the same user is playing on this machine
    #[arg(long)]
    follow: bool,
}

pub(crate) fn notes(global: &Global, args: &NotesArgs) -> Result<u8, Failure> {
    match &args.lesson {
        Some(lesson) => list(global, &global.lesson(lesson)?),
        None if global.json => {
            interrupt::listen(global.lang());
            super::block_on(print_steps())
        }
        None => follow(global),
    }
}

fn list(global: &Global, loaded: &std::sync::Arc<Loaded>) -> Result<u8, Failure> {
    let (lesson, lang) = (&loaded.lesson, global.lang());
    let mut any = false;
    let scenarios = global.scenarios(loaded)?;
    if let Some(notes) = scenarios.first().and_then(Scenario::notes) {
        any = true;
        if global.json {
            let notes =
                json!({"lesson": lesson.id, "variant": null, "step": null, "says": null, "notes": notes});
            print::json(&notes)?;
        } else {
            print::line(&format!("{}\n    {}", lesson.title.get(lang), notes.get(lang).trim()))?;
        }
    }
    for scenario in scenarios {
        let title = scenario.fill(&scenario.variant().title);
        let mut headed = false;
        for (n, line) in scenario.script().into_iter().enumerate() {
            let Some(notes) = line.notes else { continue };
            any = true;
            if global.json {
                print::json(&json!({
                    "lesson": lesson.id, "variant": scenario.variant, "step": n + 1, "says": line.says,
                    "notes": notes,
                }))?;
                continue;
            }
            if !std::mem::replace(&mut headed, true) {
                print::line(&format!("\n{}{}{}", scenario.variant, lang.colon(), title.get(lang)))?;
            }
            let says = line.says.get(lang).trim();
            print::line(&format!("  {:>3}. {says}\n       ▌ {}", n + 1, notes.get(lang).trim()))?;
        }
    }
    if !any && !global.json {
        print::tell(&words::NO_NOTES.with(lang, &[&lesson.id]));
    }
    Ok(OK)
}

/// What a running Lockstep is playing, if one is.
fn playing_now() -> Option<Playing> {
    playing::read().filter(|playing| signals::lives(playing.pid))
}

fn follow(global: &Global) -> Result<u8, Failure> {
    if !print::has_screen() {
        return Err(Failure::usage(words::NOTES_NEED_TERMINAL.text(&[])));
    }
    let look = (global.settings.keys.clone(), global.lang(), Theme::from_env(global.theme()));
    let ended = super::block_on(async {
        let mut screen = terminal::TerminalGuard::take()?;
        let mut input = terminal::input()?;
        loop {
            match follow::follow(&mut *screen.terminal, &mut input, playing_now, look.clone()).await? {
                Ended::Suspended => screen.suspend()?,
                ended => return Ok::<_, Failure>(ended),
            }
        }
    })?;
    Ok(play::exit_code(ended))
}

/// Prints a line for every step, until a signal ends it.
async fn print_steps() -> Result<u8, Failure> {
    let mut looks = tokio::time::interval(follow::LOOK);
    let mut shown = None;
    loop {
        let here = playing_now().map(|playing| step(&playing));
        if shown.as_ref() != Some(&here) {
            print::json(&here.clone().unwrap_or_else(|| json!({"lesson": null})))?;
            shown = Some(here);
        }
        tokio::select! {
            signal = interrupt::interrupted() => return Err(Failure::interrupted(signal)),
            _ = looks.tick() => {}
        }
    }
}

fn step(playing: &Playing) -> Value {
    let [now, next] = playing.steps();
    json!({
        "lesson": playing.lesson, "variant": playing.variant, "step": playing.step, "steps": playing.script.len(),
        "notes": playing.notes, "says": now.map(|line| &line.says), "note": now.map(|line| &line.notes),
        "next": next.map(|line| &line.says), "next_note": next.map(|line| &line.notes),
    })
}
