//! The places of the panes on the lesson screen, for any size of screen.

use super::{LessonView, lanes, lesson::inside, prelude::*};
use crate::ui::{
    keys::Pane,
    state::screen::{DiagramKind, Form},
};

const WIDEST_PAGE: u16 = 96;
/// The minimum size at which panes stand beside the story rather than all below it.
const WIDE: (u16, u16) = (150, 40);
/// The minimum width at which panes stand beside a verdict.
const WIDE_VERDICT: u16 = 110;
/// The share of the width that a verdict then has, in per cent.
const STORY_SHARE: u16 = 60;
/// The minimum rows below a finished run, for the servers and the wire beside the verdict.
const BELOW: u16 = 20;
/// The minimum rows of the story and the servers beside it.
const ABOVE: u16 = 10;
/// The shares of a presentation's height up to which its text is spaced, and that its text has at most; and the same for
/// a verdict, because what a room must see is the chart.
const TEXT: [(u16, u16); 2] = [(2, 5), (3, 5)];
const VERDICT: [(u16, u16); 2] = [(1, 3), (2, 5)];
/// The rows that the timelines and the panes below them keep, however the learner resizes them.
const LEAST: u16 = 5;
/// The minimum rows below the timelines for the programs to share the column of the servers, the share of these, and
/// the minimum rows of the programs.
const SHARED: u16 = 12;
const SERVERS_SHARE: (u16, u16) = (2, 5);
const PROGRAMS: u16 = 8;
/// Screens with fewer rows have no scrubber.
const SCRUBBED: u16 = 20;

/// The areas of the screen. Hidden parts are empty.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Areas {
    pub header: Rect,
    pub warning: Rect,
    pub story: Rect,
    pub lanes: Rect,
    pub servers: Rect,
    pub wire: Rect,
    pub program: Rect,
    pub scrubber: Rect,
    pub hints: Rect,
}

impl Areas {
    pub fn pane(&self, x: u16, y: u16) -> Option<Pane> {
        let panes = [
            (Pane::Story, self.story),
            (Pane::Lanes, self.lanes),
            (Pane::Servers, self.servers),
            (Pane::Wire, self.wire),
            (Pane::Program, self.program),
        ];
        let here = panes.into_iter().find(|(_, area)| area.contains((x, y).into()));
        here.map(|(pane, _)| pane)
    }

    fn of(&mut self, pane: Pane) -> &mut Rect {
        match pane {
            Pane::Story => &mut self.story,
            Pane::Lanes => &mut self.lanes,
            Pane::Servers => &mut self.servers,
            Pane::Wire => &mut self.wire,
            Pane::Program => &mut self.program,
        }
    }
}

/// The rows of a story that is not being read.
fn usual_story(body: Rect) -> u16 {
    if body.height < 34 { 5 } else { 6 }
}

impl LessonView<'_> {
    pub(crate) fn areas(&self, area: Rect) -> Areas {
        let hints = u16::from(self.form != Form::Presenting);
        let scrubber = u16::from(area.height >= SCRUBBED && !self.is_fresh());
        let [header, warning, body, scrubber, hints] = Layout::vertical([
            Constraint::Length(1),
            Constraint::Length(u16::from(self.on_wall_clock())),
            Constraint::Min(1),
            Constraint::Length(scrubber),
            Constraint::Length(hints),
        ])
        .areas(area);
        let mut areas = Areas { header, warning, scrubber, hints, ..Areas::default() };
        if self.is_fresh() {
            // A page to read: centred, no wider than comfortable, as high as needed.
            let width = body.width.min(WIDEST_PAGE);
            areas.story = body.centered(width.into(), self.story_height(Rect { width, ..body }).into());
            return areas;
        }
        match self.form {
            // The details of the selected event are shown in full, whichever pane is zoomed.
            Form::Zoomed if self.scene.selected.is_some() && self.focus != Pane::Story => {
                [*areas.of(self.focus), areas.story] =
                    Layout::vertical([Constraint::Min(1), Constraint::Length(5)]).areas(body);
            }
            Form::Zoomed => *areas.of(self.focus) = body,
            Form::Presenting => {
                // Text may be spaced as long as the lanes keep ample rows.
                let most = body.height.saturating_sub(self.lanes_height(body));
                let judged = self.verdict().is_some() && !self.proof;
                let shares = if judged { VERDICT } else { TEXT };
                let [spaced, largest] = shares.map(|(part, whole)| body.height * part / whole);
                let text = Rect { height: most.min(spaced).max(1), ..body };
                let lines = u16::try_from(self.story_lines(text).len() + 2).unwrap_or(u16::MAX);
                let story = lines.clamp(5, largest.max(5)).min(body.height);
                // Rows that the lanes cannot use are better between the lines of the text.
                let story = story + self.unused(Rect { height: body.height - story, ..body });
                [areas.story, areas.lanes] =
                    Layout::vertical([Constraint::Length(story), Constraint::Min(1)]).areas(body);
            }
            Form::Panes if self.verdict().is_some() => self.judged(&mut areas, body),
            Form::Panes if Self::is_wide(area) => self.wide(&mut areas, body),
            Form::Panes => {
                let story = self.story_share(body);
                let [story, rest] =
                    Layout::vertical([Constraint::Length(story), Constraint::Min(1)]).areas(body);
                areas.story = story;
                let asks = self.predictions.asks_now(&self.scene);
                let more = if asks { story.height.saturating_sub(usual_story(body)) } else { 0 };
                self.stack(&mut areas, rest, more);
            }
        }
        areas
    }

    fn story_height(&self, area: Rect) -> u16 {
        let lines = u16::try_from(self.story_lines(area).len() + 2).unwrap_or(u16::MAX);
        lines.min(area.height)
    }

    fn story_share(&self, body: Rect) -> u16 {
        let usual = usual_story(body);
        if self.free.is_some() || self.predictions.shown(&self.scene).is_some() || self.focus == Pane::Story {
            // Choices must all be visible, and so must text that is being read. The text about a single run is known
            // already, so there the lanes take precedence and the text can be scrolled.
            let most = if self.single.is_some() { body.height * 2 / 5 } else { body.height * 3 / 5 };
            self.story_height(body).clamp(usual, most.max(usual))
        } else {
            usual
        }
    }

    /// The whole run above, at full width, and the verdict below; beside it the servers and the wire, or, without room
    /// for them, the focused one in the verdict's place.
    fn judged(&self, areas: &mut Areas, body: Rect) {
        let story = body.width * if body.width >= WIDE_VERDICT { STORY_SHARE } else { 100 } / 100;
        let verdict = self.story_height(Rect { width: story, ..body }).max(BELOW);
        // On a large screen the run gets what the verdict leaves.
        let lanes = self.lanes_height(body).min(body.height.div_ceil(2));
        let lanes = lanes.max(self.most_lanes_height(body).min(body.height.saturating_sub(verdict)));
        let lanes = self.resized(lanes - self.unused(Rect { height: lanes, ..body }), false, body);
        let [lanes, below] = Layout::vertical([Constraint::Length(lanes), Constraint::Min(1)]).areas(body);
        areas.lanes = lanes;
        if body.width >= WIDE_VERDICT {
            let [story, beside] =
                Layout::horizontal([Constraint::Percentage(STORY_SHARE), Constraint::Min(1)]).areas(below);
            areas.story = story;
            let servers = if self.focus == Pane::Servers { 60 } else { 35 };
            let right;
            [areas.servers, right] =
                Layout::vertical([Constraint::Percentage(servers), Constraint::Min(1)]).areas(beside);
            *areas.of(if self.focus == Pane::Program { Pane::Program } else { Pane::Wire }) = right;
        } else {
            *areas.of(if self.focus == Pane::Lanes { Pane::Story } else { self.focus }) = below;
        }
    }

    /// The timelines above, the servers and the wire below. These give up `more` rows for a question, which would
    /// otherwise change the timelines that it is about.
    fn stack(&self, areas: &mut Areas, area: Rect, more: u16) {
        let least = match area.height {
            0..12 => area.height * 2 / 5,
            12..20 => 6,
            height => (height * 3 / 8).clamp(8, 16),
        };
        let least = least.saturating_sub(more);
        let below = match self.focus {
            Pane::Story => least,
            Pane::Lanes => (least / 2).max(4).min(least),
            Pane::Servers | Pane::Wire | Pane::Program => (area.height * 3 / 5).max(least),
        };
        // Lanes take no more than they can use.
        let spare = area.height.saturating_sub(self.lanes_height(area));
        let below = below.max(spare.min(area.height / 2));
        // The holders of an overlap take precedence, and a frame without a row inside is useless.
        let reads = matches!(self.focus, Pane::Story | Pane::Lanes);
        let is_wrong = self.scene.alarm().is_some();
        // While something is wrong, the bars say who waits for whom if ticks do not cover them; at least, nobody is out
        // of sight.
        let wanted = [lanes::clear_rows, lanes::compact_rows].map(|rows| rows(&self.scene) + 2);
        let wanted = wanted.into_iter().find(|rows| is_wrong && rows + LEAST <= area.height);
        let least = match wanted {
            _ if !reads => 0,
            Some(rows) => rows,
            None => lanes::min_rows(&self.scene) + 2,
        };
        let below = below.min(area.height.saturating_sub(least));
        let below = if reads && below < 3 { 0 } else { below };
        // The rows that the timelines do not use go to the panes below.
        let unused = self.unused(Rect { height: area.height - below, ..area });
        let below = if reads && least > 0 && below > 0 { below + unused } else { below };
        let below = self.resized(below, true, area);
        let percent = match self.focus {
            Pane::Story | Pane::Lanes => 50,
            Pane::Servers => 60,
            Pane::Wire | Pane::Program => 40,
        };
        let [lanes, below] = Layout::vertical([Constraint::Min(1), Constraint::Length(below)]).areas(area);
        let right;
        [areas.servers, right] =
            Layout::horizontal([Constraint::Percentage(percent), Constraint::Min(1)]).areas(below);
        // The programs or the wire; the focused one is shown.
        let program = self.focus == Pane::Program || (self.program && self.focus != Pane::Wire);
        *areas.of(if program { Pane::Program } else { Pane::Wire }) = right;
        areas.lanes = lanes;
        let known = !self.programs.listings().is_empty();
        if reads && !program && known && areas.servers.height >= SHARED {
            let height = areas.servers.height;
            let needed = self.server_lines(inside(areas.servers)).len() + 2;
            let servers =
                u16::try_from(needed).unwrap_or(height).max(height * SERVERS_SHARE.0 / SERVERS_SHARE.1);
            if servers.saturating_add(PROGRAMS) <= height {
                [areas.servers, areas.program] =
                    Layout::vertical([Constraint::Length(servers), Constraint::Min(1)]).areas(areas.servers);
            }
        }
    }

    /// Whether the programs have a place of their own, whatever the learner prefers.
    pub(crate) fn is_wide(area: Rect) -> bool {
        area.width >= WIDE.0 && area.height >= WIDE.1
    }

    /// The story beside the servers, the timelines below them at full width, and below those the programs and the wire.
    fn wide(&self, areas: &mut Areas, body: Rect) {
        let least = match self.focus {
            Pane::Servers => body.height / 2,
            _ => ABOVE,
        };
        let half = Rect { width: body.width / 2, ..body };
        let above = self.story_height(half).max(least).min(body.height * 3 / 5);
        let [above, rest] = Layout::vertical([Constraint::Length(above), Constraint::Min(1)]).areas(body);
        [areas.story, areas.servers] =
            Layout::horizontal([Constraint::Percentage(50), Constraint::Min(1)]).areas(above);
        let wire = match self.focus {
            Pane::Wire | Pane::Program => rest.height * 3 / 5,
            _ => (rest.height / 3).max(8),
        };
        let spare = rest.height.saturating_sub(self.most_lanes_height(rest));
        let wire = wire.max(spare.min(rest.height / 2)).min(rest.height);
        let wire = wire + self.unused(Rect { height: rest.height - wire, ..rest });
        let wire = self.resized(wire, true, rest);
        let below;
        [areas.lanes, below] = Layout::vertical([Constraint::Min(1), Constraint::Length(wire)]).areas(rest);
        [areas.program, areas.wire] =
            Layout::horizontal([Constraint::Percentage(50), Constraint::Min(1)]).areas(below);
    }

    /// The rows of the timelines, or of the panes below, as resized by the learner; both keep a minimum.
    fn resized(&self, rows: u16, below: bool, area: Rect) -> u16 {
        if self.rows == 0 {
            return rows;
        }
        let wanted = rows.saturating_add_signed(if below { -self.rows } else { self.rows });
        wanted.clamp(LEAST, area.height.saturating_sub(LEAST).max(LEAST))
    }

    /// How many rows of a pane for the timelines are unused.
    fn unused(&self, pane: Rect) -> u16 {
        match self.diagram {
            DiagramKind::Timeline => {
                let below = |pane| lanes::below_banner(&self.scene, inside(pane)).height;
                let room = below(pane).saturating_sub(1);
                let unused = room - lanes::used_rows(&self.scene, room).min(room);
                // A banner keeps the room for its large letters.
                let used = Rect { height: pane.height - unused, ..pane };
                if below(pane) - below(used) == unused { unused } else { 0 }
            }
            DiagramKind::Sequence => 0,
        }
    }

    fn most_lanes_height(&self, area: Rect) -> u16 {
        match self.diagram {
            DiagramKind::Timeline => lanes::max_rows(&self.scene, inside(area)).saturating_add(2),
            DiagramKind::Sequence => area.height,
        }
    }

    fn lanes_height(&self, area: Rect) -> u16 {
        match self.diagram {
            DiagramKind::Timeline => lanes::preferred_rows(&self.scene, inside(area)).saturating_add(2),
            // The sequence can use any height.
            DiagramKind::Sequence => area.height,
        }
    }
}
