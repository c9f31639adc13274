//! All that is still to happen: events in the [wheel](super::wheel), and packets on their way in [boxes](super::boxes) while the
//! run goes in windows. With what [switches write](super::stamps) into these.

use super::boxes::{Arrival, Boxes};
use super::stamps::Stamps;
use super::wheel::Wheel;

/// See the module's text.
pub struct Pending {
    /// Events, in their order.
    pub wheel: Wheel,
    /// Arrivals, by window.
    pub boxes: Boxes,
    /// In a part of a run that goes in windows: arrivals in other parts.
    pub elsewhere: Vec<Arrival>,
    /// What switches have written into packets: in a box, so that what ports keep in registers of the rest is not lost where none is written.
    pub stamps: Box<Stamps>,
}

/// Where a link keeps the packets that are on their way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Keeps {
    /// On its wire, with one event for the first.
    #[default]
    OnWire,
    /// In a box of the window in which they arrive, that of the switch at the far end or that of all hosts, as long as they are not too far
    /// ahead.
    InBox,
    /// With what goes to other parts of the run.
    Elsewhere,
}

impl Pending {
    /// In a wheel only.
    pub fn new(wheel: Wheel) -> Self {
        Self { wheel, boxes: Boxes::default(), elsewhere: Vec::new(), stamps: Box::default() }
    }

    /// Whether nothing is to happen.
    pub fn is_empty(&self) -> bool {
        self.wheel.is_empty() && self.boxes.is_empty() && self.elsewhere.is_empty()
    }

    /// Nothing happens before this time; the end of time if nothing is to happen.
    pub fn next_bound(&self) -> u64 {
        self.wheel.next_bound().min(self.boxes.next_bound())
    }
}
