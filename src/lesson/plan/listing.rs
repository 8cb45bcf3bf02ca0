//! A program as a listing: its operations, conditions and repetitions line by line, with the recipes that it uses
//! expanded, and which operations can follow each other. This module must not know the results of a run.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use super::{
    ActorPlan, BUILTINS, Instruction, PlannedOperation, PlannedVerb, Program, TakePlan, known::Known, passed,
};
use crate::{
    lesson::{
        Scenario,
        expr::{Expr, Scope, Template, within_allowance},
    },
    log::{Belief, Reply},
};

/// The limit for the instructions that a search for the next operations visits.
const MOST_PLACES: usize = 1000;

/// The role of a word in a listing, which decides its colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// A keyword of the grammar.
    Keyword,
    /// The label of an operation.
    Label,
    /// The command that is sent.
    Command,
    /// An expression, or a name.
    Plain,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ListingLine {
    pub depth: usize,
    pub words: Vec<(Tone, String)>,
    /// The operation on this line: an index into the instructions.
    pub operation: Option<usize>,
    /// The text of the script that the operation runs, or of an external program.
    pub script: Option<Arc<str>>,
}

/// An event that a log shows between two operations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trace {
    Believes(Belief),
    Counts(String),
    /// The program ends.
    Ends,
}

/// A search for the operations that can come next.
#[derive(Default)]
struct Walk {
    places: usize,
    seen: BTreeSet<(usize, usize, String)>,
    /// Whether the search met a branch whose condition is not known.
    branched: bool,
    found: Vec<(usize, Known)>,
}

/// A program, and the actors that run it.
#[derive(Debug, Clone)]
pub struct Listing {
    pub lines: Vec<ListingLine>,
    /// The actors that run the program, with the values that each knows at the beginning.
    pub actors: BTreeMap<String, Known>,
    program: Arc<Program>,
}

/// The listings of a variant's programs without duplicates, in the order of the clients.
pub fn listings(scenario: &Scenario) -> Vec<Listing> {
    let mut listings: Vec<Listing> = Vec::new();
    let mut before: Option<(&Arc<Program>, usize)> = None;
    for plan in &scenario.actors {
        // The members of a crowd share one program; separate clients may have equal ones.
        let place = match before {
            Some((program, place)) if Arc::ptr_eq(program, &plan.program) => place,
            _ => {
                let lines = match command(scenario, plan) {
                    Some(command) => vec![command],
                    None => within_allowance(|| Writer::new(plan).write()),
                };
                listings.iter().position(|listing| listing.lines == lines).unwrap_or_else(|| {
                    let program = Arc::clone(&plan.program);
                    listings.push(Listing { lines, actors: BTreeMap::new(), program });
                    listings.len() - 1
                })
            }
        };
        before = Some((&plan.program, place));
        listings[place].actors.insert(plan.actor.name.clone(), Known::of(plan.scope.clone()));
    }
    listings
}

/// The command line of an external program, with its text.
fn command(scenario: &Scenario, plan: &ActorPlan) -> Option<ListingLine> {
    let client = scenario.clients.iter().find(|client| client.name == plan.actor.client)?;
    let exec = client.exec.as_ref()?;
    let words = vec![(Tone::Command, exec.words.join(" "))];
    Some(ListingLine { depth: 0, words, operation: None, script: exec.source().map(Arc::from) })
}

impl Listing {
    /// The operation at an instruction.
    pub fn operation(&self, at: usize) -> Option<&PlannedOperation> {
        match self.program.instructions.get(at)? {
            Instruction::Operate(operation) => Some(operation),
            _ => None,
        }
    }

    /// Adds the values that follow from the reply to an operation.
    pub fn answered(&self, at: usize, reply: &Reply, known: &mut Known) {
        if let Some(operation) = self.operation(at) {
            known.answered(&operation.label, reply, self.program.reads_lost);
        }
    }

    /// The nearest operation with this label after another one, or after the beginning; failing that, the first one
    /// anywhere.
    pub fn find(&self, after: Option<usize>, label: &str) -> Option<usize> {
        let is_it = |at: &usize| self.operation(*at).is_some_and(|operation| operation.label == label);
        let near = self.after(after, None, &Known::default()).into_iter().map(|(at, _)| at).find(is_it);
        near.or_else(|| (0..self.program.instructions.len()).find(is_it))
    }

    /// The operations that can come next, each with the values known there. `traces` are the events seen since; if
    /// given, only paths that produce exactly these are followed, unless there is none.
    pub fn after(
        &self,
        after: Option<usize>,
        traces: Option<&[Trace]>,
        known: &Known,
    ) -> Vec<(usize, Known)> {
        let mut walk = Walk::default();
        within_allowance(|| self.walk(after.map_or(0, |at| at + 1), traces, known.clone(), &mut walk));
        if walk.found.is_empty() && traces.is_some_and(|traces| !traces.contains(&Trace::Ends)) {
            return self.after(after, None, known);
        }
        if walk.branched {
            // The path that was taken is not known, and so neither are the values set on it.
            for (_, known) in &mut walk.found {
                self.program.instructions.iter().filter_map(set).for_each(|name| known.forget(name));
                known.forget_rounds();
            }
        }
        walk.found
    }

    fn walk(&self, mut at: usize, mut traces: Option<&[Trace]>, mut known: Known, walk: &mut Walk) {
        loop {
            walk.places += 1;
            // Paths that split may meet again.
            let mut is_new =
                |known: &Known| walk.seen.insert((at, traces.map_or(0, <[_]>::len), known.described()));
            if walk.places > MOST_PLACES || (walk.branched && !is_new(&known)) {
                return;
            }
            // Whether an instruction matches the next event seen; without events, every path is possible.
            let mut leaves = |trace: &dyn Fn(&Trace) -> bool| match traces {
                None => true,
                Some([first, rest @ ..]) if trace(first) => {
                    traces = Some(rest);
                    true
                }
                Some(_) => false,
            };
            let instruction = self.program.instructions.get(at);
            if let Some((is_so, other)) = instruction.and_then(|instruction| known.decision(instruction)) {
                let repeats = matches!(instruction, Some(Instruction::RepeatNext { .. }));
                let mut otherwise = known.clone();
                if repeats {
                    known.count_round(true);
                    otherwise.count_round(false);
                }
                if is_so.is_none() {
                    walk.branched = true;
                    self.walk(at + 1, traces, known.clone(), walk);
                }
                (at, known) = if is_so == Some(true) { (at + 1, known) } else { (other, otherwise) };
                continue;
            }
            match instruction {
                None | Some(Instruction::Stop) => return,
                Some(Instruction::Operate(_)) => {
                    if traces.is_none_or(<[_]>::is_empty) && walk.found.iter().all(|(found, _)| *found != at)
                    {
                        walk.found.push((at, known));
                    }
                    return;
                }
                Some(Instruction::Believe { belief, .. }) => {
                    if !leaves(&|trace| *trace == Trace::Believes(*belief)) {
                        return;
                    }
                }
                Some(Instruction::Count { counter }) => {
                    if !leaves(&|trace| matches!(trace, Trace::Counts(counted) if counted == counter)) {
                        return;
                    }
                }
                Some(Instruction::Jump { to }) => {
                    at = *to;
                    continue;
                }
                Some(Instruction::Set { name, value }) => known.set(name, value),
                Some(Instruction::Enter { with, .. }) => known.enter(with.iter()),
                Some(Instruction::Leave) => known.leave(),
                Some(Instruction::RepeatBegin { bound }) => known.begin_rounds(bound),
                // Branches are handled above.
                Some(Instruction::JumpUnless { .. } | Instruction::RepeatNext { .. }) => {}
            }
            at += 1;
        }
    }
}

/// The name that an instruction sets.
fn set(instruction: &Instruction) -> Option<&str> {
    match instruction {
        Instruction::Set { name, .. } => Some(name),
        _ => None,
    }
}

/// Writes the listing of a program. Values that are known before it runs are filled in.
struct Writer<'a> {
    instructions: &'a [Instruction],
    scope: Scope,
    /// Names that the program changes at run time.
    changed: BTreeSet<&'a str>,
    lines: Vec<ListingLine>,
}

impl<'a> Writer<'a> {
    fn new(plan: &'a ActorPlan) -> Self {
        let instructions = &plan.program.instructions;
        let changed = instructions.iter().filter_map(|instruction| match instruction {
            Instruction::Set { name, .. } => Some(name.as_str()),
            _ => None,
        });
        let changed = changed.chain(BUILTINS).collect();
        Self { instructions, scope: plan.scope.clone(), changed, lines: Vec::new() }
    }

    fn write(mut self) -> Vec<ListingLine> {
        // The compiler ends every program with a `stop` that the author did not write.
        self.block(0, self.instructions.len().saturating_sub(1), 0);
        self.lines
    }

    fn push(&mut self, depth: usize, words: Vec<(Tone, String)>) {
        self.lines.push(ListingLine { depth, words, operation: None, script: None });
    }

    fn statement(&mut self, depth: usize, word: &str, plain: impl Into<String>) {
        self.push(depth, vec![(Tone::Keyword, word.to_owned()), (Tone::Plain, plain.into())]);
    }

    fn block(&mut self, from: usize, to: usize, depth: usize) {
        let mut at = from;
        while at < to {
            at = self.instruction(at, depth);
        }
    }

    /// Writes the statement that begins at an instruction, and returns the index of the next one.
    fn instruction(&mut self, at: usize, depth: usize) -> usize {
        let instructions = self.instructions;
        match &instructions[at] {
            Instruction::Operate(operation) => self.operation(at, operation, depth),
            Instruction::Believe { lock, belief } => {
                let word = match belief {
                    Belief::Holding => "holds",
                    Belief::Sharing => "shares",
                    Belief::Waiting => "waits",
                    Belief::Unsure => "unsure",
                    Belief::Nothing => "drops",
                };
                let lock = self.fill(lock);
                self.statement(depth, word, lock);
            }
            Instruction::Count { counter } => self.statement(depth, "count", counter),
            Instruction::Set { name, value } => {
                // The number of the round is shown on the line of its repetition.
                let begins = matches!(instructions.get(at + 1), Some(Instruction::RepeatBegin { .. }));
                let counts = |next: &Instruction| matches!(next, Instruction::Set { name: other, .. } if other == name);
                if begins && value.source() == "0" && instructions.get(at + 3).is_some_and(counts) {
                    return self.repetition(at + 1, Some(name), depth);
                }
                self.statement(depth, "let", format!("{name} = {}", value.source()));
            }
            Instruction::JumpUnless { condition, to } => {
                self.statement(depth, "if", condition.source());
                // A `then` that has an `else` ends with a jump forward; a jump back belongs to a repetition.
                let otherwise = match instructions.get(to.wrapping_sub(1)) {
                    Some(Instruction::Jump { to: end }) if *end >= *to => Some(*end),
                    _ => None,
                };
                self.block(at + 1, otherwise.map_or(*to, |_| *to - 1), depth + 1);
                if let Some(end) = otherwise {
                    self.push(depth, vec![(Tone::Keyword, "else".to_owned())]);
                    self.block(*to, end, depth + 1);
                    return end;
                }
                return *to;
            }
            Instruction::RepeatBegin { .. } => return self.repetition(at, None, depth),
            Instruction::Enter { program, with, .. } => {
                let given: Vec<(String, String)> =
                    with.iter().map(|(name, template)| (name.clone(), self.fill(template))).collect();
                let mut words = vec![(Tone::Keyword, "use".to_owned()), (Tone::Label, program.clone())];
                let values = given.iter().map(|(name, value)| format!("{name}={value}"));
                words.push((Tone::Plain, values.collect::<Vec<_>>().join(" ")));
                self.push(depth, words);
                self.scope.enter(given.into_iter().map(|(name, value)| (name, passed(value))).collect());
                let mut to = at + 1;
                while !matches!(instructions.get(to), None | Some(Instruction::Leave)) {
                    to = self.instruction(to, depth + 1);
                }
                self.scope.leave();
                return to + 1;
            }
            Instruction::Stop => self.push(depth, vec![(Tone::Keyword, "stop".to_owned())]),
            // These belong to statements that are written above.
            Instruction::Jump { .. } | Instruction::RepeatNext { .. } | Instruction::Leave => {}
        }
        at + 1
    }

    fn repetition(&mut self, at: usize, number: Option<&String>, depth: usize) -> usize {
        let (Instruction::RepeatBegin { bound }, Some(Instruction::RepeatNext { condition, exit })) =
            (&self.instructions[at], self.instructions.get(at + 1))
        else {
            return at + 1;
        };
        let mut words = vec![(Tone::Keyword, "repeat".to_owned())];
        match condition {
            Some(condition) => {
                words.extend([
                    (Tone::Keyword, "while".to_owned()),
                    (Tone::Plain, condition.source().to_owned()),
                ]);
            }
            None => words.extend([(Tone::Plain, self.fill(bound)), (Tone::Keyword, "times".to_owned())]),
        }
        words.extend(number.map(|name| (Tone::Plain, format!("as {name}"))));
        self.push(depth, words);
        // The body ends before the jump back; with a number, it begins after the assignment of the next one.
        self.block(at + 2 + usize::from(number.is_some()), *exit - 1, depth + 1);
        *exit
    }

    fn operation(&mut self, at: usize, operation: &PlannedOperation, depth: usize) {
        let mut script = None;
        let all = |templates: &[Template]| {
            templates.iter().map(|template| self.fill(template)).collect::<Vec<_>>().join(" ")
        };
        let command = match &operation.verb {
            PlannedVerb::Redis(words) => all(words),
            PlannedVerb::Script { name, source, keys, args } => {
                script = Some(Arc::clone(source));
                format!("EVAL {name} {} {} {}", keys.len(), all(keys), all(args)).trim_end().to_owned()
            }
            PlannedVerb::Call(call) => call.written(|operand| self.fill(operand)),
            PlannedVerb::Local { lock, name } => {
                format!("{} {}", if *lock { "lock" } else { "unlock" }, self.fill(name))
            }
            PlannedVerb::Flock { call, path } => format!("flock {}{}", call.option(), self.fill(path)),
            PlannedVerb::Wait(time) => self.time(time),
            PlannedVerb::Given(command) => command.to_string(),
            PlannedVerb::Take(TakePlan { from, within }) => {
                let within = within.as_ref().map(|time| format!(" within {}", self.time(time)));
                format!("take {}{}", all(from), within.unwrap_or_default())
            }
        };
        let mut words = vec![(Tone::Label, operation.label.clone()), (Tone::Command, command)];
        let on = operation.on.iter().map(|on| ("on", on.clone()));
        let until = operation.until.iter().map(|until| ("until", until.source().to_owned()));
        let every = operation.every.iter().map(|every| ("every", self.time(every)));
        for (word, plain) in on.chain(until).chain(every) {
            words.extend([(Tone::Keyword, word.to_owned()), (Tone::Plain, plain)]);
        }
        self.lines.push(ListingLine { depth, words, operation: Some(at), script });
    }

    fn fill(&self, template: &Template) -> String {
        template.filled(|expr| self.known(expr))
    }

    /// A duration in seconds or milliseconds.
    fn time(&self, template: &Template) -> String {
        let text = self.fill(template);
        match text.parse::<u64>() {
            Ok(millis) if millis % 1000 == 0 && millis > 0 => format!("{}s", millis / 1000),
            Ok(millis) => format!("{millis}ms"),
            Err(_) => text,
        }
    }

    /// The value of an expression, if nothing in the run can change it.
    fn known(&self, expr: &Expr) -> Option<String> {
        let given = |name: &str| self.scope.get(name).filter(|_| !self.changed.contains(name));
        if let Some(value) = given(expr.source()) {
            return Some(value.to_string());
        }
        let is_known = |name: &String| given(name).is_some_and(|value| !value.to_string().contains("${"));
        let value = expr.names().iter().all(is_known).then(|| expr.eval(self.scope.value()));
        value?.ok().map(|value| value.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::{Known, Listing, Trace, listings};
    use crate::{
        lesson::{Params, Scenario, library::Library},
        log::{Belief, Reply},
    };

    fn listing(lesson: &str, variant: &str) -> Vec<Listing> {
        let library = Library::carried();
        let loaded = library.find(lesson).expect("a lesson that is carried");
        listings(&Scenario::plan(loaded, variant, &Params::new()).expect("it is good"))
    }

    fn written(listing: &Listing) -> Vec<String> {
        let line = |line: &super::ListingLine| {
            let words: Vec<&str> = line.words.iter().map(|(_, word)| word.as_str()).collect();
            format!("{}{}", "  ".repeat(line.depth), words.join(" "))
        };
        listing.lines.iter().map(line).collect()
    }

    #[test]
    fn a_listing_shows_a_program_with_its_recipes_expanded() {
        let all = listing("unlock-someone-elses-lock", "get-compare-del");
        assert_eq!(all.len(), 1, "three clients, one program");
        assert_eq!(
            written(&all[0]),
            [
                "use acquire_safely key=lock lease=3000 every=500",
                "  waits lock",
                "  acquire SET lock ${token} NX PX 3000 until reply == 'OK' every 500ms",
                "  holds lock",
                "work 2s",
                "drops lock",
                "check GET lock",
                "if check == token",
                "  release DEL lock",
            ]
        );
    }

    #[test]
    fn next_operations_follow_from_the_events_seen() {
        let all = listing("unlock-someone-elses-lock", "get-compare-del");
        let program = &all[0];
        let at = |label: &str| program.find(None, label).expect("an operation");
        let after = |label: &str, traces: &[Trace]| -> Vec<usize> {
            let next = program.after(Some(at(label)), Some(traces), &Known::default());
            next.into_iter().map(|(at, _)| at).collect()
        };
        assert_eq!(after("acquire", &[Trace::Believes(Belief::Holding)]), [at("work")]);
        assert_eq!(after("check", &[]), [at("release")]);
        assert!(after("check", &[Trace::Ends]).is_empty());
    }

    #[test]
    fn known_replies_decide_branches() {
        let all = listing("zk-herd", "herd");
        let program = &all[0];
        let at = |label: &str| program.find(None, label).expect("an operation");
        let begun = program.after(None, None, &Known::default());
        assert_eq!(
            begun.iter().map(|(at, _)| *at).collect::<Vec<_>>(),
            [at("create")],
            "nobody holds it yet"
        );
        for (watched, next) in
            [(serde_json::json!({ "version": 1 }), "wake"), (serde_json::Value::Null, "create")]
        {
            let mut known = begun[0].1.clone();
            program.answered(at("watch"), &Reply::Value(watched), &mut known);
            let after = program.after(Some(at("watch")), Some(&[]), &known);
            assert_eq!(after.iter().map(|(at, _)| *at).collect::<Vec<_>>(), [at(next)]);
        }
    }

    #[test]
    fn every_operation_of_a_carried_program_is_listed_once() {
        for loaded in &Library::carried().lessons {
            for variant in loaded.lesson.variants.keys() {
                let scenario = Scenario::plan(loaded, variant, &Params::new()).expect("it is good");
                for listing in listings(&scenario) {
                    let listed: Vec<usize> = listing.lines.iter().filter_map(|line| line.operation).collect();
                    let all = 0..listing.program.instructions.len();
                    let all: Vec<usize> = all.filter(|at| listing.operation(*at).is_some()).collect();
                    assert_eq!(listed, all, "{}/{variant}", loaded.lesson.id);
                }
            }
        }
    }
}
