//! All that is still to happen: events in the [wheel](super::wheel), and packets on their way in [boxes](super::boxes) while the
//! run goes in windows.

use super::boxes::Boxes;
use super::wheel::Wheel;

/// See the module's text.
pub struct Pending {
    /// Events, in their order.
    pub wheel: Wheel,
    /// Arrivals, by window.
    pub boxes: Boxes,
}

impl Pending {
    /// In a wheel only.
    pub fn new(wheel: Wheel) -> Self {
        Self { wheel, boxes: Boxes::default() }
    }

    /// Whether nothing is to happen.
    pub fn is_empty(&self) -> bool {
        self.wheel.is_empty() && self.boxes.is_empty()
    }

    /// Nothing happens before this time; the end of time if nothing is to happen.
    pub fn next_bound(&self) -> u64 {
        self.wheel.next_bound().min(self.boxes.next_bound())
    }
}
