//! Imports of nearly every view: cells and styled text, the theme, texts, and the data to show.

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
