//! Commands of a story that get no reply: what a program that does not handle that comes to, and claims that expect
//! another reply.

use std::collections::BTreeSet;

use super::{
    super::{
        super::{
            error::{Finding, Mistake, Path, finding},
            expr::mentions::split_comparison,
            has_word,
        },
        PlannedMove, PlannedOperation, PlannedVerb, Scenario,
        lints::{Literal, literal, required},
        order::Positions,
    },
    State,
};
use crate::{
    log::{ANY, ActorId, LinkId, Product},
    text::{Text, both},
};

/// Why a command gets no reply.
enum Silence {
    Lost(Text),
    Frozen,
}

/// The link over which an operation is sent, for a Redis command that goes to a known server.
fn link_of(scenario: &Scenario, actor: ActorId, operation: &PlannedOperation) -> Option<LinkId> {
    let plan = scenario.actor(actor);
    if !matches!(operation.verb, PlannedVerb::Redis(_) | PlannedVerb::Script { .. }) || plan.program.outside {
        return None;
    }
    let lab = scenario.lab();
    let server = match &operation.on {
        Some(on) => lab.server_named(on)?,
        // In a cluster the operation may go to another node.
        None => lab.first_of(Product::Redis).filter(|_| !lab.is_cluster())?,
    };
    Some(LinkId::new(&plan.actor.client, server))
}

fn frozen(server: &str, name: &str) -> Finding {
    finding!(
        "`{server}` is frozen here, and `{name}` waits for its reply",
        "`{server}` 此时被冻结，`{name}` 会一直等它回复",
        "write `- send: {name}`, or `- thaw: {server}` before it",
        "请写 `- send: {name}`，或者先写 `- thaw: {server}`"
    )
}

impl State {
    /// Records a move whose reply is lost or held by a link, and returns what is wrong if no reply can come and the
    /// program does not handle that.
    pub(super) fn lost(&mut self, scenario: &Scenario, one: &PlannedMove, waits: bool) -> Option<Finding> {
        let name = format!("{}.{}", scenario.actor(one.actor).actor.name, one.label);
        self.lost.remove(&name);
        let operation = scenario.operation_of(one)?;
        let link = link_of(scenario, one.actor, operation)?;
        let copes = operation.allows("Lost");
        // An operation that is tried again may have another reply by the end.
        if copes && operation.until.is_some() {
            return None;
        }
        match self.silence(&link) {
            Some(Silence::Lost(_)) if copes => drop(self.lost.insert(name)),
            Some(Silence::Lost(why)) => return Some(needs_reply(&name, &why)),
            Some(Silence::Frozen) if waits && !copes => return Some(frozen(&link.to, &name)),
            None if self.held.iter().any(|(held, _)| *held == link) => self.kept.push((link, name, copes)),
            Some(Silence::Frozen) | None => {}
        }
        None
    }

    /// Why no reply comes to a command over this link, if none does.
    fn silence(&self, link: &LinkId) -> Option<Silence> {
        let server = &link.to;
        match () {
            () if self.killed.contains(server) => Some(Silence::Lost(both!(
                "`{server}` is dead here and does not reply",
                "`{server}` 此时已死，不会回复"
            ))),
            () if self.frozen.contains(server) => Some(Silence::Frozen),
            () if self.severed.contains(link) => {
                Some(Silence::Lost(both!("the link `{link}` is cut here", "链路 `{link}` 此时是断开的")))
            }
            () => None,
        }
    }

    /// What is wrong with letting an actor finish: whatever its next operation is, it gets no reply and does not handle
    /// that.
    pub(super) fn stops(
        &self,
        scenario: &Scenario,
        positions: &Positions<'_>,
        actor: ActorId,
    ) -> Option<Finding> {
        let mut first = None;
        for operation in positions.next_of(actor) {
            let operation = operation?;
            // What comes after a wait is in the list, too.
            if matches!(operation.verb, PlannedVerb::Wait(_)) {
                continue;
            }
            if operation.allows("Lost") {
                return None;
            }
            let name = format!("{}.{}", scenario.actor(actor).actor.name, operation.label);
            let link = link_of(scenario, actor, operation)?;
            let found = match self.silence(&link)? {
                Silence::Lost(why) => needs_reply(&name, &why),
                Silence::Frozen => frozen(&link.to, &name),
            };
            first.get_or_insert(found);
        }
        first
    }

    /// Whether `finish` surely leads an actor to the end of its program: no operation of it waits for somebody else, and
    /// nothing disturbs its servers and links.
    pub(super) fn lets_finish(&self, scenario: &Scenario, actor: ActorId) -> bool {
        const WAIT: &str = "
            BLPOP BRPOP BLMOVE BRPOPLPUSH BLMPOP BZPOPMIN BZPOPMAX BZMPOP XREAD XREADGROUP WAIT WAITAOF CLIENT
        ";
        let plan = scenario.actor(actor);
        let answers = |operation: &PlannedOperation| match &operation.verb {
            PlannedVerb::Redis(words) => {
                let name = words[0].pattern().to_ascii_uppercase();
                !has_word(WAIT, &name) && !name.contains(ANY)
            }
            PlannedVerb::Script { .. } | PlannedVerb::Wait(_) => true,
            PlannedVerb::Call(call) => call.product() == Product::Zookeeper,
            _ => false,
        };
        let lab = scenario.lab();
        let is_calm = self.killed.is_empty()
            && self.frozen.is_empty()
            && !self.disturbed.iter().any(|link| link.from == plan.actor.client)
            && lab.parts().iter().all(|part| !part.is_replicated());
        is_calm && !plan.program.outside && plan.program.operations().all(|operation| answers(operation))
    }

    /// Forgets the lost replies of actors that make moves which the story does not name.
    pub(super) fn forget_lost_of(&mut self, scenario: &Scenario, actors: &[ActorId]) {
        for actor in actors {
            let own = format!("{}.", scenario.actor(*actor).actor.name);
            self.lost.retain(|name| !name.starts_with(&own));
        }
    }
}

/// Reports an expression that expects another value of a reply that was lost.
pub(super) fn check_lost(lost: &BTreeSet<String>, source: &str, at: &Path) -> Result<(), Mistake> {
    let expects = |part: &str| match part.strip_suffix(" is none") {
        Some(name) => Some(name.trim().to_owned()),
        None => match split_comparison(part)? {
            (_, "!=", _) => None,
            (name, _, "none") => Some(name.to_owned()),
            (name, _, right) => match literal(right)? {
                Literal::Text("Lost") => None,
                _ => Some(name.to_owned()),
            },
        },
    };
    let mut found = required(source).into_iter().filter_map(expects);
    let Some(name) = found.find(|name| lost.contains(name)) else { return Ok(()) };
    Err(at.mistake(finding!(
        "the story loses the reply to `{name}`, which is then 'Lost': `{source}` is never so",
        "剧情里 `{name}` 的回复丢了，它的值是 'Lost'：`{source}` 不会成立",
        "write `{name} == 'Lost'`, or mend the link or the server before the move",
        "请写 `{name} == 'Lost'`，或者在这一步之前先恢复链路或服务器"
    )))
}

/// The mistake of an operation that does not handle a lost reply, which would end the run.
pub(super) fn needs_reply(name: &str, why: &Text) -> Finding {
    Finding {
        message: both!(
            "{why}, and `{name}` does not cope with a lost reply",
            "{why}，而 `{name}` 没有处理回复丢失的情况",
            why
        ),
        help: both!(
            "let the operation `allow: [Lost]`, or mend the link or the server before it",
            "请在该操作里写 `allow: [Lost]`，或者先恢复链路或服务器"
        ),
    }
}
