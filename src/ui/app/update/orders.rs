//! The part of the program's state in which every order of a variant's moves is tried: how the learner gets there,
//! what the keys do there, the shortest order that goes wrong on the lesson's screen, and the ways back.

use std::time::Instant;

use super::{App, Lesson, Mode, PAGE, Single, next_speed};
use crate::{
    run::{LessonChoice, Runs},
    ui::{
        keys::Action,
        state::{
            exploration::{Exploration, Wanted},
            learning::Learning,
        },
        view::{Notice, OrdersView},
    },
};

/// A search on the screen.
#[derive(Debug)]
pub struct Orders {
    entry: usize,
    variant: usize,
    pub(crate) exploration: Exploration,
    /// The lesson that it was opened from, as it was left.
    back: Option<Box<Lesson>>,
}

impl Orders {
    /// The lesson's place in the catalogue.
    pub(crate) fn entry(&self) -> usize {
        self.entry
    }
}

impl<R: Runs> App<R> {
    /// The search that is listened to, if there is one.
    pub(crate) fn exploration(&mut self) -> Option<&mut Exploration> {
        match &mut self.mode {
            Mode::Exploring(orders) => Some(&mut orders.exploration),
            _ => None,
        }
    }

    /// Tries every order of a variant.
    pub(crate) fn explore(&mut self, entry: usize, variant: usize, wanted: Wanted) {
        let Some(choice) = self.chosen(entry, variant) else {
            return;
        };
        // The search before goes down first, with its servers.
        let back = match std::mem::replace(&mut self.mode, Mode::Browsing) {
            Mode::Learning(mut lesson) => {
                lesson.run.pause();
                Some(lesson)
            }
            Mode::Exploring(orders) => orders.back,
            _ => None,
        };
        let exploring = self.runs.explore(&choice, &wanted.bounds());
        self.selected = entry;
        self.leave_shelf();
        self.mode = Mode::Exploring(Box::new(Orders {
            entry,
            variant,
            exploration: Exploration::new(choice, wanted, exploring),
            back,
        }));
    }

    /// A variant by its places in the catalogue, if it can be opened.
    pub(crate) fn chosen(&self, entry: usize, variant: usize) -> Option<LessonChoice> {
        let lesson = self.catalogue.entries.get(entry)?;
        let variant = lesson.variants.get(variant)?;
        lesson.broken.is_none().then(|| LessonChoice { id: lesson.id.clone(), variant: variant.name.clone() })
    }

    /// What a key does here.
    pub(crate) fn act_in_orders(&mut self, action: Action, now: Instant) {
        let Mode::Exploring(orders) = &mut self.mode else {
            return;
        };
        let (entry, variant, wanted) = (orders.entry, orders.variant, orders.exploration.wanted());
        match action {
            Action::Close if orders.exploration.stop() => {}
            Action::Close => self.leave_orders(),
            Action::Restart => self.explore(entry, variant, wanted),
            Action::Variant(next) => {
                let other = self.catalogue.neighbour(entry, variant, next);
                self.explore(entry, other, wanted);
            }
            Action::Prune => {
                let prune = !wanted.prune;
                self.explore(entry, variant, Wanted { prune, ..wanted });
            }
            Action::NextFault => self.explore(entry, variant, wanted.with_next_fault()),
            Action::Moves(more) if wanted.with_moves(more) == wanted => {}
            Action::Moves(more) => self.explore(entry, variant, wanted.with_moves(more)),
            Action::Move(by) => orders.exploration.choose(by),
            Action::Page(by) => orders.exploration.choose(by * PAGE),
            Action::End(end) => orders.exploration.choose(if end { i32::MAX } else { i32::MIN }),
            Action::Open => self.open_shortest(),
            Action::Faster(faster) => self.set_speed(next_speed(self.speed, faster), now),
            // At home elsewhere, or done already.
            _ => {}
        }
    }

    /// Opens the shortest order that goes wrong on the lesson's screen.
    fn open_shortest(&mut self) {
        let Mode::Exploring(orders) = &self.mode else {
            return;
        };
        let Some(shortest) = orders.exploration.found().and_then(|found| found.explored.shortest.as_ref())
        else {
            self.notice = Some(Notice::NoOrder);
            return;
        };
        let choice = orders.exploration.choice.clone();
        let mut run = Learning::of_log(choice, &shortest.log, self.speed);
        run.playback.set_motion(!self.reduced_motion);
        let (entry, variant) = (orders.entry, orders.variant);
        let Mode::Exploring(orders) = std::mem::replace(&mut self.mode, Mode::Browsing) else {
            return;
        };
        self.mode = Mode::Learning(Box::new(Lesson {
            single: Some(Single::Order(orders)),
            ..Lesson::new(entry, variant, run)
        }));
        self.adapt();
    }

    /// Back to the lesson as it was left, or to the catalogue. The search ends.
    fn leave_orders(&mut self) {
        if let Mode::Exploring(orders) = std::mem::replace(&mut self.mode, Mode::Browsing) {
            self.return_to(orders.back);
        }
    }

    /// The lesson as it was left, if there is one; the catalogue otherwise.
    pub(crate) fn return_to(&mut self, back: Option<Box<Lesson>>) {
        if let Some(mut lesson) = back {
            lesson.run.set_speed(self.speed, Instant::now());
            lesson.run.set_questions(self.questions);
            self.mode = Mode::Learning(lesson);
            self.adapt();
        }
    }

    /// The picture of it.
    pub(crate) fn orders_view<'a>(&'a self, orders: &'a Orders) -> Option<OrdersView<'a>> {
        Some(OrdersView {
            entry: self.catalogue.entries.get(orders.entry)?,
            variant: orders.variant,
            exploration: &orders.exploration,
            keys: &self.keys,
            theme: self.theme,
            lang: self.lang,
        })
    }
}
