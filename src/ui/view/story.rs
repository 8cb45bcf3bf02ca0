//! The text of the story's pane: the introduction, narrations, and what stands in their place.

use ratatui::style::Stylize as _;

use super::{LessonView, banner, branches, lesson::inside, paragraph, prelude::*, table};
use crate::{
    clock::ClockKind,
    log::Product,
    ui::state::{
        catalogue::CatalogueVariant,
        screen::{Form, RunPhase},
    },
};

impl LessonView<'_> {
    pub(crate) fn story_lines(&self, area: Rect) -> Vec<Line<'static>> {
        let mut lines = self.waiting_lines(inside(area).width.saturating_sub(2));
        lines.extend(self.text_lines(area));
        lines
    }

    /// Whether time stands still while programs work: in free play it does where the clock can jump.
    pub(crate) fn time_stands(&self) -> bool {
        let jumps = self.entry.variants.get(self.variant).is_some_and(|variant| variant.lab.topology().jump);
        self.free.is_some() && jumps && self.scene.world.clock == ClockKind::Controlled
    }

    /// Explains what a long step waits for, so that it does not look as if it hangs.
    fn waiting_lines(&self, width: u16) -> Vec<Line<'static>> {
        let (scene, lang) = (&self.scene, self.scene.lang);
        let Some(seconds) = self.waited.filter(|_| self.at_end() || self.is_fresh()) else {
            return Vec::new();
        };
        // Adds one dot each second.
        let sign = glyphs::PASSES.repeat(1 + usize::try_from(seconds % 3).unwrap_or(0));
        let words = if self.time_stands() { words::WORKING_STILL_WHY } else { words::WORKING_WHY };
        let words = words.with(lang, &[&sign, &seconds.to_string()]);
        let mut lines = paragraph::plain(&words, width.into(), scene.style(Role::Warning));
        lines.push(Line::default());
        lines
    }

    fn text_lines(&self, area: Rect) -> Vec<Line<'static>> {
        let width = inside(area).width.saturating_sub(2);
        let other = self.other_lines(width);
        let is_narration = other.is_none();
        let mut lines = other.unwrap_or_else(|| self.narration_lines(width));
        if self.form == Form::Presenting {
            // For the back row of a classroom: bold, with blank lines in between.
            let spaced = self.is_spaced(is_narration, lines.len(), area);
            let lines_and_air = lines.into_iter().flat_map(|line| {
                let air = spaced.then(Line::default);
                air.into_iter().chain([line.bold()])
            });
            lines = lines_and_air.skip(usize::from(spaced)).collect();
        }
        if self.is_fresh() {
            lines.push(Line::default());
            lines.extend(self.opening(width));
        }
        lines
    }

    /// Whether lines of text have blank lines in between: a narration while presenting, anything else if there is room.
    pub(crate) fn is_spaced(&self, is_narration: bool, count: usize, area: Rect) -> bool {
        let presented = self.form == Form::Presenting && !self.is_fresh() && self.free.is_none();
        presented && (is_narration || 2 * count < usize::from(area.height))
    }

    /// What the pane shows instead of a narration.
    fn other_lines(&self, width: u16) -> Option<Vec<Line<'static>>> {
        if let Some(verdict) = self.verdict() {
            return Some(self.verdict_lines(verdict, width.into()));
        }
        if let Some(free) = self.free {
            return Some(self.free_lines(free, width));
        }
        if let Some(shown) = self.predictions.shown(&self.scene) {
            return Some(self.predictions.lines(&self.scene, shown, width));
        }
        if let Some(single) = &self.single {
            return Some(single.lines(&self.scene, width));
        }
        self.was_chosen().then(|| self.chosen_lines(width.into()))
    }

    fn narration_lines(&self, width: u16) -> Vec<Line<'static>> {
        let said = self.scene.world.narration.as_ref();
        let words = said.unwrap_or(&self.entry.intro).get(self.scene.lang);
        let theme = self.scene.theme;
        let mut lines = paragraph::prose(words, width.into(), theme.style(Role::Text), theme);
        if let Some(sentence) = banner::sentence(&self.scene) {
            let style = self.scene.style(Role::Danger);
            lines.extend(paragraph::prose(&sentence, width.into(), style, theme));
        }
        lines
    }

    /// Whether the events up to the playhead were chosen in free play, rather than by a story or a search.
    pub(crate) fn was_chosen(&self) -> bool {
        self.single.is_none() && self.scene.world.chosen
    }

    /// For a recording of free play: the choices up to the playhead, and what they have broken.
    fn chosen_lines(&self, width: usize) -> Vec<Line<'static>> {
        let (scene, lang) = (&self.scene, self.scene.lang);
        let chosen = branches::choices(scene.log, scene.world.position, lang).join(" → ");
        let mut lines = paragraph::plain(&text::clean(&chosen), width, scene.style(Role::Text));
        for breached in &scene.world.breaches {
            let why = match self.scene.event(breached.event) {
                Some(EventKind::Breached { why: Some(why), .. }) => why.get(lang),
                _ => "",
            };
            let words = format!("{} {} {why}", glyphs::CUT, breached.says.get(lang));
            lines.extend(paragraph::plain(text::clean(&words).trim_end(), width, scene.style(Role::Danger)));
        }
        lines
    }

    /// The variants with the selected one, the servers, and which keys to press.
    fn opening(&self, width: u16) -> Vec<Line<'static>> {
        let scene = &self.scene;
        let line = |words: &str, role: Role| {
            Line::styled(text::fit(words, width.into()).into_owned(), scene.style(role))
        };
        let mut lines = Vec::new();
        let variants = &self.entry.variants;
        if let Some(grid) = &self.entry.table {
            // Before a variant is played, outcomes would spoil it.
            let unknown = |_: &CatalogueVariant| false;
            let cells = (&variants[..], &unknown as &dyn Fn(&CatalogueVariant) -> bool);
            lines.extend(table::lines(grid, cells, Some(self.variant), width.into(), scene.context()).0);
        } else {
            for (n, variant) in variants.iter().enumerate() {
                let (tick, role) =
                    if n == self.variant { ("▸", Role::Accent) } else { ("·", Role::Chrome) };
                lines.push(line(&format!("{tick} {}", variant.title.get(scene.lang)), role));
            }
        }
        if variants.len() > 1 {
            let keys = ["next-variant", "previous-variant"].map(|id| scene.keys.label(id));
            lines.push(line(&words::OTHER_VARIANTS.with(scene.lang, &[&keys[0], &keys[1]]), Role::Chrome));
        }
        lines.push(Line::default());
        // Before the servers, of which there may be more than rows.
        let (words, role) = match self.phase {
            RunPhase::Booting => (words::BOOTING, Role::Warning),
            RunPhase::Ready | RunPhase::Over(_) => (words::READY, Role::Good),
            RunPhase::Working => (words::WORKING, Role::Chrome),
            RunPhase::Failed(failure) => (words::failed(failure.server), Role::Danger),
        };
        let key = |id: &str| scene.keys.label(id);
        let words = words.with(scene.lang, &[&key("step"), &key("play")]);
        lines.extend(paragraph::plain(&words, width.into(), scene.style(role)));
        let mut listed: Vec<(String, usize)> = Vec::new();
        for server in &scene.world.servers {
            // A recorded server has no address any more, so servers of one version are merged into one line.
            let place = match scene.world.clock {
                ClockKind::Recorded => words::RECORDED.get(scene.lang),
                ClockKind::Controlled | ClockKind::Wall => &server.info.address,
            };
            let words = format!("{} {} · {place}", server.info.product, server.info.version);
            match listed.last_mut() {
                Some((last, times)) if *last == words => *times += 1,
                _ => listed.push((words, 1)),
            }
        }
        lines.extend(listed.into_iter().map(|(words, times)| {
            let words = if times > 1 { format!("{times} × {words}") } else { words };
            line(&words, Role::Chrome)
        }));
        // All servers of a lab share one password; a recording has none. `redis-cli` speaks to Redis alone.
        let redis = Product::Redis.traits().name;
        let mut servers = scene.world.servers.iter().filter(|server| server.info.product == redis);
        if let Some(password) = servers.find_map(|server| server.info.password.as_ref()) {
            lines.push(line(&words::PASSWORD.with(scene.lang, &[password]), Role::Chrome));
        }
        lines
    }
}
