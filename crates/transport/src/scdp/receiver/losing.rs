//! What a receiver counts as lost, so that symbols that will never arrive do not hold its window.

use super::Receiver;
use crate::scdp::block::Block;
use crate::scdp::layout::lane_source;

impl Receiver {
    /// A symbol or header of the window has arrived, or the answer to a repeated pull.
    #[inline]
    pub(super) fn account(&mut self, index: usize, lane: u32, j: u32, trimmed: bool) {
        let was_coming = self.change(index, |b| !b.extend(lane, j) && b.arrived(lane));
        if was_coming {
            self.credit(lane, 1);
            let l = &mut self.lanes[lane as usize];
            if let Some(pace) = &mut l.pace {
                pace.on_useful(l.window.symbols());
            }
        }
        // A header may have overtaken the symbols before it.
        if self.lanes[lane as usize].retried && !trimmed && self.blocks[index].confirms_loss(lane, j) {
            self.lanes[lane as usize].retried = false;
            // The sender had emitted all that was requested before the repetition: nothing of that is in flight.
            for index in 0..self.blocks.len() {
                self.lose(index, lane, |b| b.confirm_loss(lane));
            }
        }
    }

    /// Gives up the symbols that `lost` counts.
    #[inline]
    fn lose(&mut self, index: usize, lane: u32, lost: impl FnOnce(&mut Block) -> u32) {
        let overhead = self.config.overhead;
        let lost = self.change(index, |b| {
            let lost = lost(b);
            if lost > 0 {
                b.lossy(overhead);
            }
            lost
        });
        self.lanes[lane as usize].window.on_lost(lost);
        self.credit(lane, lost);
    }

    pub(super) fn write_off(&mut self, index: usize, lane: u32) {
        self.lose(index, lane, |b| b.write_off(lane));
    }

    /// The `j`-th symbol of a lane has arrived whole in this block: what should have arrived long before is lost.
    #[inline]
    pub(super) fn find_gaps(&mut self, index: usize, lane: u32, j: u32, lanes: u32) {
        let tolerance = self.config.reorder_tolerance;
        if tolerance == 0 {
            return;
        }
        self.sweep(index, lane, j.saturating_sub(tolerance));
        if index == 0 || j >= lane_source(self.blocks[index].source_symbols(), lane, lanes) {
            return;
        }
        // Source symbols of earlier blocks were emitted before those of this one, and so were their repair symbols, if those
        // were requested before.
        let (mut ahead, asked) = (j, self.blocks[index].lane(lane).first_asked + u64::from(j));
        for earlier in (0..index).rev() {
            let source = lane_source(self.blocks[earlier].source_symbols(), lane, lanes);
            ahead += source;
            if !self.blocks[earlier].is_complete() && self.blocks[earlier].lane(lane).outstanding > 0 {
                self.sweep(earlier, lane, ahead.saturating_sub(tolerance).min(source));
                if self.blocks[earlier].lane(lane).last_asked + u64::from(tolerance) <= asked {
                    self.write_off(earlier, lane);
                }
            }
        }
    }

    #[inline]
    fn sweep(&mut self, index: usize, lane: u32, until: u32) {
        if until > self.blocks[index].lane(lane).swept {
            self.lose(index, lane, |b| b.sweep(lane, until));
        }
    }
}
