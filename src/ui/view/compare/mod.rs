//! The screen of two compared runs: one above the other on one time axis, the first difference, both verdicts. It
//! divides the screen and must not know how the runs were made.

pub(crate) mod difference;
pub(crate) mod half;
pub(crate) mod verdicts;

use super::{header, key_hints, lanes, plot, plot::Plot, prelude::*};
use crate::{
    clock::{ClockKind, LessonTime},
    lesson::Expect,
    ui::{
        chart::{Pair, sequence::Sequence},
        keys::KeyScope,
        state::{
            catalogue::CatalogueEntry,
            screen::{ComparePhase, CompareSide},
        },
    },
    verdict::compare::Difference,
    world::World,
};

/// The minimum rows of the verdicts, including the frame.
const VERDICTS: u16 = 5;

#[derive(Debug, Clone, Copy)]
pub struct CompareView<'a> {
    pub entry: &'a CatalogueEntry,
    /// The failing run and the other one.
    pub sides: [CompareSide<'a>; 2],
    pub pair: &'a Pair,
    /// The first difference, once both runs are over, if there is one.
    pub difference: Option<&'a Difference>,
    /// The playhead: the number of slots of the timeline before it.
    pub slots: usize,
    /// The step at the playhead, and the number of steps.
    pub steps: (usize, usize),
    pub playing: bool,
    /// The scroll position of the lanes; `None` follows the actor that moves.
    pub lanes: Option<u16>,
    pub verdicts: u16,
    /// Whether the evidence of the claims is shown.
    pub proof: bool,
    pub context: Context<'a>,
}

#[derive(Debug, Clone, Copy)]
struct Areas {
    header: Rect,
    halves: [Rect; 2],
    axis: Rect,
    difference: Rect,
    verdicts: [Rect; 2],
    hints: Rect,
}

fn actor(world: &World, name: &str) -> Option<ActorId> {
    let place = world.actors.iter().position(|actor| actor.who.name == name)?;
    Some(ActorId(u32::try_from(place).ok()?))
}

/// The minimum columns of the time axis on a screen of this size.
pub fn room(area: Rect) -> u16 {
    let names = u16::try_from(lanes::NAMES.1 + 1).unwrap_or(u16::MAX);
    area.width.saturating_sub(names)
}

impl<'a> CompareView<'a> {
    /// The scene of a half; `None` until its run is over.
    fn scene(&self, side: usize) -> Option<Scene<'a>> {
        let CompareSide { log, world, .. } = self.sides[side];
        let known = (&self.pair.charts[side], Sequence::empty());
        let scene = Scene::still(log?, world, known, self.context);
        Some(Scene { display: self.now(), whole: self.is_at_end(), ..scene })
    }

    fn now(&self) -> LessonTime {
        let times = self.sides.iter().map(|side| side.world.now);
        times.max().unwrap_or_default()
    }

    fn is_whole(&self) -> bool {
        let judged = |side: &CompareSide<'_>| matches!(side.phase, ComparePhase::Judged(_));
        self.sides.iter().all(judged)
    }

    /// Whether the playhead is at the end of both runs.
    fn is_at_end(&self) -> bool {
        self.steps.0 == self.steps.1
    }

    fn areas(&self, area: Rect) -> Areas {
        let difference = u16::try_from(difference::lines(self, area.width.saturating_sub(4)).len() + 2)
            .unwrap_or(area.height);
        // The lanes of both runs get the rows they need, as long as the verdicts keep enough.
        let wanted = [0, 1].map(|side| self.scene(side).map_or(3, |scene| lanes::rows_for_all(&scene)) + 1);
        // Until then the frames of the verdicts are empty.
        let verdicts = if self.is_at_end() { VERDICTS } else { 2 };
        let room = area.height.saturating_sub(3 + difference + verdicts);
        let most = room / 2;
        // Rows that one half does not need go to the other.
        let before = wanted[0].min(room.saturating_sub(wanted[1].min(most))).max(2.min(most));
        let after = wanted[1].min(room.saturating_sub(before));
        // Lanes reduced to one row for lack of room leave rows over.
        let [before, after] = [(0, before), (1, after)].map(|(side, height)| {
            let used = self.scene(side).map(|scene| lanes::used_rows(&scene, height.saturating_sub(1)) + 1);
            used.unwrap_or(height)
        });
        let [header, top, axis, bottom, difference, verdicts, hints] = Layout::vertical([
            Constraint::Length(1),
            Constraint::Length(before),
            Constraint::Length(1),
            Constraint::Length(after),
            Constraint::Length(difference),
            Constraint::Min(0),
            Constraint::Length(1),
        ])
        .areas(area);
        let verdicts = Layout::horizontal([Constraint::Percentage(50), Constraint::Min(1)]).areas(verdicts);
        Areas { header, halves: [top, bottom], axis, difference, verdicts, hints }
    }

    /// The scroll position at which both halves show the actor that moved last in either; at the end, the actor of the
    /// first difference.
    fn follow(&self, area: Rect) -> u16 {
        let parted = self.difference.filter(|_| self.is_at_end());
        let parted = parted.and_then(|difference| difference.moves.iter().flatten().next());
        if let (Some(made), Some(scene)) = (parted, self.scene(0)) {
            return lanes::scroll_to(&scene, actor(scene.world, &made.who), area);
        }
        let later = usize::from(self.sides[1].world.now > self.sides[0].world.now);
        let scene = self.scene(later).or_else(|| self.scene(1 - later));
        scene.map_or(0, |scene| lanes::scroll_to(&scene, None, area))
    }

    /// The part of a half below its heading, for the lanes.
    fn lanes_area(half: Rect) -> Rect {
        Rect { y: half.y + 1.min(half.height), height: half.height.saturating_sub(1), ..half }
    }

    pub fn reach(&self, area: Rect) -> (u16, u16) {
        let areas = self.areas(area);
        let lanes = [0, 1].map(|side| {
            let scene = self.scene(side);
            scene.map_or(0, |scene| lanes::reach_without_axis(&scene, Self::lanes_area(areas.halves[side])))
        });
        let verdicts = [0, 1].map(|side| verdicts::reach(self, side, areas.verdicts[side]));
        (lanes[0].max(lanes[1]), verdicts[0].max(verdicts[1]))
    }

    /// The window onto the axis, the same for both runs.
    fn plot(&self, area: Rect, position: usize) -> Plot {
        let scenes: Vec<Scene<'_>> = [0, 1].into_iter().filter_map(|side| self.scene(side)).collect();
        Plot::paired(&scenes, self.pair, self.slots, (position, area))
    }

    pub(crate) fn draw(&self, area: Rect, buf: &mut Buffer) {
        let areas = self.areas(area);
        self.draw_header(areas.header, buf);
        let names = [0, 1].map(|side| {
            let scene = self.scene(side);
            scene.map_or(0, |scene| lanes::names(&scene, Self::lanes_area(areas.halves[side])))
        });
        let names = names[0].max(names[1]);
        for side in [0, 1] {
            half::draw(self, side, (names, areas.halves[side]), buf);
        }
        self.draw_axis(lanes::right_of(names, areas.axis), buf);
        for side in [0, 1] {
            half::mark(self, side, (names, areas.halves[side], areas.axis), buf);
        }
        difference::draw(self, areas.difference, buf);
        for side in [0, 1] {
            verdicts::draw(self, side, areas.verdicts[side], buf);
        }
        key_hints::draw(self.context, KeyScope::Comparison, &[], areas.hints, buf);
    }

    fn draw_axis(&self, area: Rect, buf: &mut Buffer) {
        if area.is_empty() {
            return;
        }
        let plot = self.plot(area, 0);
        let chrome = self.context.theme.style(Role::Chrome);
        plot.fill((area.x, area.right()), area.y, "─", chrome, buf);
        let marks = self.marks();
        let head = plot.screen(plot.head).unwrap_or(area.right());
        let (mut column, mut free) = (plot.left, area.x);
        while let Some((x, at)) = self.pair.time_at(column, self.slots) {
            let Some(screen) = plot.screen(x).filter(|screen| screen + plot::TICK <= head) else { break };
            column = x + 1;
            if screen < free {
                continue;
            }
            // Times must not cut the text of a mark.
            let is_near = |mark: &u32| plot.screen(*mark).is_some_and(|at| screen.abs_diff(at) < plot::TICK);
            if marks.iter().any(|(mark, _)| is_near(mark)) {
                continue;
            }
            free = screen + plot::TICK;
            column = plot.column(free).max(x + 1);
            let words = format!("┼{} ", time::moment(at));
            plot.write((screen, area.y), &words, area.right(), chrome, buf);
        }
        let mut visible: Vec<_> =
            marks.into_iter().filter_map(|(x, at)| Some((plot.screen(x)?, at))).collect();
        visible.sort_by_key(|(screen, _)| *screen);
        for (n, (screen, at)) in visible.iter().enumerate() {
            // Just before the playhead or another mark there is no room for the time; the text below tells the time of
            // the difference.
            let next = visible.get(n + 1).map_or(head, |(next, _)| *next);
            let words = if next.abs_diff(*screen) < plot::TICK {
                glyphs::DIFFERENCE.to_owned()
            } else {
                format!("{}{} ", glyphs::DIFFERENCE, time::moment(*at))
            };
            let style = self.context.theme.style(Role::Warning).add_modifier(Modifier::BOLD);
            plot.write((*screen, area.y), &words, area.right(), style, buf);
        }
        if let Some(x) = plot.screen(plot.head) {
            let words = format!("↑ {} ", time::moment(self.now()));
            // At the right edge, the text is drawn left of the playhead.
            let needs = u16::try_from(words.len()).unwrap_or(area.width);
            let x = x.min(area.right().saturating_sub(needs)).max(area.x);
            plot.write((x, area.y), &words, area.right(), self.context.theme.style(Role::Accent), buf);
        }
    }

    fn draw_header(&self, area: Rect, buf: &mut Buffer) {
        let style = |role| self.context.theme.style(role);
        let (glyph, role) = if self.playing { (" ▶ ", Role::Good) } else { (" ▮▮", Role::Chrome) };
        let mut right = Vec::new();
        if self.steps.1 > 0 {
            let step =
                words::STEP.with(self.context.lang, &[&self.steps.0.to_string(), &self.steps.1.to_string()]);
            right.push(Span::styled(format!(" {step}  "), style(Role::Chrome)));
            right.push(Span::styled(format!("{} ", time::moment(self.now())), style(Role::Fresh)));
        }
        let is_recorded =
            |side: &CompareSide<'_>| side.log.is_some() && side.world.clock == ClockKind::Recorded;
        if self.sides.iter().any(is_recorded) {
            let clock = format!(" {} ", words::RECORDED.get(self.context.lang));
            right.push(Span::styled(clock, style(Role::Warning).remove_modifier(Modifier::BOLD)));
        }
        let what = if self.is_fix() { words::COMPARISON } else { words::TWO_VARIANTS }.get(self.context.lang);
        let left = |room: usize| {
            let room = room.saturating_sub(5);
            let title = self.entry.lesson.title.get(self.context.lang);
            let mut spans = vec![
                Span::styled(format!("{glyph} "), style(role)),
                Span::styled(text::fit(title, room), style(Role::Accent)),
            ];
            // The headings of the halves say it, too.
            if text::width(title) + 3 + text::width(what) <= room {
                spans.push(Span::styled(" · ", style(Role::Chrome)));
                spans.push(Span::styled(what, style(Role::Text).add_modifier(Modifier::BOLD)));
            }
            Line::from(spans)
        };
        header::draw_ends(left, right, area, buf);
    }

    /// The columns and times of the first difference, for each side that has reached it.
    fn marks(&self) -> Vec<(u32, LessonTime)> {
        let Some(difference) = self.difference else { return Vec::new() };
        let sides = difference.moves.iter().enumerate();
        sides
            .filter_map(|(side, made)| {
                let made = made.as_ref().filter(|made| made.event < self.sides[side].world.position)?;
                Some((self.pair.charts[side].column(made.event), made.at))
            })
            .collect()
    }

    fn called(&self, side: usize) -> (&'static str, Role) {
        let (words, role) = match (side, self.is_fix()) {
            (0, true) => (words::BEFORE, Role::Danger),
            (_, true) => (words::AFTER, Role::Good),
            (0, false) => (words::ONE, Role::Accent),
            (_, false) => (words::OTHER, Role::Accent),
        };
        (words.get(self.context.lang), role)
    }

    /// Whether the second run's variant fixes the first one's: according to the lesson if it names fixes at all.
    fn is_fix(&self) -> bool {
        let [before, after] = self.sides.each_ref().map(|side| side.variant);
        let variants = &self.entry.variants;
        let expects = |n: usize, expect| variants.get(n).is_some_and(|variant| variant.expect == expect);
        let fixes = variants.get(after).and_then(|variant| variant.fixes);
        expects(before, Expect::Shown)
            && expects(after, Expect::Prevented)
            && self.entry.table.is_none()
            && (fixes == Some(before) || variants.iter().all(|variant| variant.fixes.is_none()))
    }
}
