//! The panes of a lesson that can have the focus.

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Pane {
    /// The story, or the verdict.
    #[default]
    Story,
    /// The timelines.
    Lanes,
    Servers,
    Wire,
}

impl Pane {
    pub fn next(self) -> Self {
        match self {
            Self::Story => Self::Lanes,
            Self::Lanes => Self::Servers,
            Self::Servers => Self::Wire,
            Self::Wire => Self::Story,
        }
    }
}
