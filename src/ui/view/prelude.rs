//! What nearly every view draws with: cells and styled words, the theme, texts, and what is to be shown.

pub(crate) use ratatui::{
    buffer::Buffer,
    layout::{Constraint, Layout, Position, Rect},
    style::{Modifier, Style},
    text::{Line, Span},
    widgets::{Block, Widget},
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
