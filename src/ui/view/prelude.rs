//! What nearly every view draws with: cells and styled words, the theme, texts, and what is to be shown.

pub(crate) use ratatui::{
    buffer::Buffer,
    layout::Rect,
    style::{Modifier, Style},
    text::{Line, Span},
};

pub(crate) use super::{Context, Scene};
pub(crate) use crate::{
    log::{ActorId, EventKind},
    text::Lang,
    ui::{
        theme::{Role, Theme, glyphs, text, time},
        words,
    },
};
