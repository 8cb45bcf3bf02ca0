//! The story's steps in a row, and what each of them was about: what the scrubber shows.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Beat {
    /// The step of the story, from 0 on. A step may have several stops.
    pub item: usize,
    /// The position of a playhead that stands right behind it.
    pub position: usize,
    pub asks: bool,
    /// The fault that was caused in it, by its event.
    pub fault: Option<usize>,
    pub clash: bool,
}

impl Beat {
    /// Whether it is worth going to.
    pub const fn is_marked(&self) -> bool {
        self.asks || self.fault.is_some() || self.clash
    }
}
