//! The lesson screen of a finished run at a moment, as the playground would draw it.

use std::time::Duration;

use ratatui::{buffer::Buffer, layout::Rect};

use super::{Finished, moment::ResolvedMoment};
use crate::{
    log::Log,
    text::Lang,
    ui::{
        chart::{Chart, Detail, sequence::Sequence},
        flight::{Flight, InFlight},
        keys::{Pane, map::KeyMap},
        state::{
            catalogue::CatalogueVariant,
            predicting::Predictions,
            programs::Programs,
            screen::{DiagramKind, Form, Motion, Overlay, RunPhase, Scrolls},
        },
        theme::{Environment, Theme, ThemeName},
        view::{self, Context, LessonView, Scene, Screen},
    },
    world::World,
};

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Look {
    pub size: (u16, u16),
    pub lang: Lang,
    pub theme: ThemeName,
    /// The speed of lesson time in moving pictures.
    pub speed: f64,
    pub questions: bool,
    /// Whether to use presentation mode: the story in large, and the timelines.
    pub presenting: bool,
    pub diagram: DiagramKind,
}

impl Default for Look {
    fn default() -> Self {
        Self {
            size: (120, 40),
            lang: Lang::En,
            theme: ThemeName::Auto,
            speed: 1.0,
            questions: true,
            presenting: false,
            diagram: DiagramKind::Timeline,
        }
    }
}

impl Look {
    /// The theme of drawn screens. A picture has no terminal to ask, so it has all colours and characters, on a dark
    /// ground unless another theme is chosen.
    pub fn drawn_theme(&self) -> Theme {
        let name = match self.theme {
            ThemeName::Auto => ThemeName::Dark,
            named => named,
        };
        Theme::new(name, Environment::default())
    }
}

/// Draws a run at successive moments.
pub struct Renderer<'a> {
    run: &'a Finished,
    look: Look,
    theme: Theme,
    /// The log up to the moment and no further, so that the screen does not look back from a later event.
    log: Log,
    world: World,
    chart: Chart,
    sequence: Sequence,
    programs: Programs,
    /// The default keys, which all readers have.
    keys: KeyMap,
}

impl<'a> Renderer<'a> {
    pub fn new(run: &'a Finished, look: &Look) -> Self {
        let variant = run.entry.variants.get(run.variant);
        Self {
            run,
            look: *look,
            theme: look.drawn_theme(),
            log: Log::new(),
            world: World::default(),
            chart: Chart::new(Detail::fitting(look.size.0)),
            sequence: Sequence::default(),
            programs: Programs::new(variant.map_or_else(Vec::new, CatalogueVariant::listings)),
            keys: KeyMap::default(),
        }
    }

    /// The world at the moment drawn last.
    pub fn world(&self) -> &World {
        &self.world
    }

    /// Draws the screen at a moment that is not before the last one, either during a flight or between two.
    pub fn draw(
        &mut self,
        moment: ResolvedMoment,
        motion: Motion,
        flight: Option<(&Flight, Duration)>,
    ) -> Buffer {
        let known = self.log.len();
        let wanted = flight.map_or(moment.position, |(flight, _)| flight.range().end);
        self.log.extend(self.run.log.events()[known..wanted.max(known)].to_vec());
        self.world.seek(&self.log, moment.position);
        self.chart.advance(&self.log);
        self.sequence.advance(&self.log);
        self.programs.advance(&self.log);
        let scrolls = Scrolls::default();
        let predictions = Predictions::new(self.look.questions);
        let context = Context { keys: &self.keys, theme: self.theme, lang: self.look.lang };
        let view = LessonView {
            scene: Scene {
                display: moment.display,
                // Without a flight nothing is in motion: all messages have arrived.
                flight: flight.map(|_| InFlight { flight, forward: true }),
                whole: moment.end,
                seen: self.log.len(),
                ..Scene::still(&self.log, &self.world, (&self.chart, &self.sequence), context)
            },
            form: if self.look.presenting { Form::Presenting } else { Form::Panes },
            presented: None,
            waited: None,
            entry: &self.run.entry,
            variant: self.run.variant,
            free: None,
            phase: if moment.end { RunPhase::Over(self.run.verdict.as_ref()) } else { RunPhase::Ready },
            motion,
            speed: self.look.speed,
            focus: Pane::Story,
            scrolls: &scrolls,
            diagram: self.look.diagram,
            first_client: None,
            proof: false,
            single: None,
            predictions: &predictions,
            next: None,
            tip: None,
            programs: &self.programs,
            program: false,
            rows: 0,
            class: None,
        };
        let area = Rect::new(0, 0, self.look.size.0, self.look.size.1);
        let mut buffer = Buffer::empty(area);
        view::draw(&Screen::Lesson(view), Overlay::Nothing, area, &mut buffer);
        buffer
    }
}
