//! Choices and faults in words, as something to do.

use std::time::Duration;

use crate::{
    log::{Choice, outlook::Outlook},
    ui::{view::prelude::*, words::fault},
    world::World,
};

pub fn choice(choice: &Choice, outlook: &Outlook, world: &World, lang: Lang) -> String {
    let name = |actor: ActorId| world.actor(actor).map_or("?", |actor| actor.who.name.as_str());
    match choice {
        Choice::Move { actor } => {
            let next = outlook.actors.get(actor.0 as usize).and_then(|p| p.next.as_ref());
            let wire = next.map_or_else(String::new, |next| format!("{} {}", next.label, next.wire));
            words::MOVES.with(lang, &[name(*actor), text::clean(wire.trim()).as_ref()])
        }
        Choice::Timer => match outlook.timer {
            Some(timer) => words::TO_TIMER.with(lang, &[&time::moment(timer.at), name(timer.actor)]),
            None => String::new(),
        },
        Choice::Pass { millis } => words::BY.with(lang, &[&amount(*millis)]),
        Choice::Cause(fault) => fault::to_do(lang, fault),
    }
}

pub(crate) fn amount(millis: u64) -> String {
    if millis.is_multiple_of(100) {
        time::stretch(Duration::from_millis(millis))
    } else {
        format!("{millis}ms")
    }
}
