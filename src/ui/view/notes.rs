//! The teacher's notes for a lesson that is played in another terminal.

use super::{header, key_hints, paragraph, prelude::*};
use crate::{
    text::{Text, Words},
    ui::{keys::KeyScope, state::playing::Playing},
};

/// The maximum comfortable line width.
const WIDEST: u16 = 100;

#[derive(Debug, Clone, Copy)]
pub struct NotesView<'a> {
    /// `None` if no lesson is being played.
    pub playing: Option<&'a Playing>,
    /// Seconds since 1970.
    pub now: i64,
    pub context: Context<'a>,
}

impl NotesView<'_> {
    pub fn draw(&self, area: Rect, buf: &mut Buffer) {
        let Context { theme, lang, .. } = self.context;
        let [head, body, foot] =
            Layout::vertical([Constraint::Length(2), Constraint::Min(1), Constraint::Length(1)]).areas(area);
        let inner = Rect { x: body.x + 2, width: body.width.saturating_sub(4).min(WIDEST), ..body };
        match self.playing {
            None => {
                let words = words::NOTHING_PLAYS.get(lang);
                let lines = paragraph::prose(words, inner.width.into(), theme.style(Role::Chrome), theme);
                paragraph::draw(&lines, 0, inner, buf);
            }
            Some(playing) => {
                self.draw_head(playing, head, buf);
                let lines = self.lines(playing, inner.width.into());
                paragraph::draw_with_more(&lines, 0, self.context, inner, buf);
            }
        }
        key_hints::draw(self.context, KeyScope::Notes, &[], foot, buf);
        theme.finish(buf);
    }

    fn draw_head(&self, playing: &Playing, area: Rect, buf: &mut Buffer) {
        let Context { theme, lang, .. } = self.context;
        let time = u64::try_from(self.now - playing.began).unwrap_or_default();
        let clock = words::stopwatch(std::time::Duration::from_secs(time));
        let count = [playing.step.min(playing.script.len()), playing.script.len()];
        let step = words::STEP.with(lang, &count.map(|n| n.to_string()).each_ref().map(String::as_str));
        let right = vec![
            Span::styled(format!(" {step}  "), theme.style(Role::Text)),
            Span::styled(format!("{clock} "), theme.style(Role::Fresh)),
        ];
        let title = format!(" {} · {}", playing.title.get(lang), playing.variant_title.get(lang));
        let left = |room| Line::styled(text::fit(&title, room).into_owned(), theme.style(Role::Accent));
        header::draw_ends(left, right, Rect { height: 1, ..area }, buf);
        let rule = "─".repeat(area.width.into());
        buf.set_stringn(area.x, area.y + 1, rule, area.width.into(), theme.style(Role::Chrome));
    }

    fn lines(&self, playing: &Playing, width: usize) -> Vec<Line<'static>> {
        let Context { theme, lang, .. } = self.context;
        let mut lines = Vec::new();
        let mut section = |name: Words, says: Option<&Text>, notes: Option<&Text>| {
            if says.is_none() && notes.is_none() {
                return;
            }
            lines.push(Line::styled(name.get(lang), theme.style(Role::Chrome)));
            if let Some(says) = says {
                let role = if notes.is_some() { Role::Chrome } else { Role::Text };
                lines.extend(paragraph::prose(says.get(lang), width, theme.style(role), theme));
            }
            if let Some(notes) = notes {
                let style = theme.style(Role::Text).add_modifier(Modifier::BOLD);
                let words = paragraph::prose(notes.get(lang), width.saturating_sub(2), style, theme);
                lines.extend(paragraph::hang(Span::styled("▌ ", theme.style(Role::Accent)), words));
            }
            lines.push(Line::default());
        };
        let [now, next] = playing.steps();
        section(words::THIS_STEP, now.map(|line| &line.says), now.and_then(|line| line.notes.as_ref()));
        section(words::NEXT_STEP, next.map(|line| &line.says), next.and_then(|line| line.notes.as_ref()));
        section(words::WHOLE_LESSON, None, playing.notes.as_ref());
        lines
    }
}
