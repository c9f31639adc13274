//! What a receiving host holds back of a flow whose packets overtake each other, so that its transport gets them in order: the
//! modified GRO of Presto (He et al., SIGCOMM 2015, §3.2), the reorder buffer of `DeTail` (Zats et al., SIGCOMM 2012), the shim of DRILL.
//!
//! A packet goes up at once if nothing before it is missing. What comes behind a gap waits until that is filled, or for as long as `timeout`.
//! Where packets tell their flowcell, all packets of a cell have taken one path: a gap inside the cell that has got furthest is a loss, and what
//! comes behind it goes up at once, so that the transport repairs it without delay.

use anabranch_transport::{Duration, Time};
use std::collections::VecDeque;
use std::ops::Range;

/// The packets of one flow that wait.
#[derive(Clone, Debug)]
pub struct Resequencer<T> {
    timeout: Duration,
    /// One past the last offset that has gone up.
    next: u64,
    /// The flowcell of the packet that ended there.
    cell: Option<u16>,
    /// By the offset of their first byte; of equal ones the first that came first.
    held: VecDeque<Held<T>>,
    /// What begins before this goes up whatever is missing.
    overdue: u64,
}

/// A packet with data, as it arrives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece<T> {
    /// Offsets of its bytes in the flow; a FIN counts as one.
    pub span: Range<u64>,
    /// Its flowcell, if packets tell.
    pub cell: Option<u16>,
    /// The packet.
    pub packet: T,
}

#[derive(Clone, Debug)]
struct Held<T> {
    piece: Piece<T>,
    until: Time,
}

impl<T> Resequencer<T> {
    /// Of a flow of which nothing has arrived; a packet waits for `timeout` at most.
    pub fn new(timeout: Duration) -> Self {
        Self { timeout, next: 0, cell: None, held: VecDeque::new(), overdue: 0 }
    }

    /// A packet arrives: it goes up now, and then [others may](Self::take); or it is held back.
    pub fn arrive(&mut self, now: Time, piece: Piece<T>) -> Option<T> {
        if self.may_rise(&piece) {
            return Some(self.lift(piece));
        }
        let place = self.held.partition_point(|held| held.piece.span.start <= piece.span.start);
        self.held.insert(place, Held { piece, until: now + self.timeout });
        None
    }

    /// The next packet that need not wait any longer.
    pub fn take(&mut self) -> Option<T> {
        let first = &self.held.front()?.piece;
        if first.span.start >= self.overdue && !self.may_rise(first) {
            return None;
        }
        let held = self.held.pop_front()?;
        Some(self.lift(held.piece))
    }

    /// Lets everything rise that has waited for too long, and what comes before it in the flow.
    pub fn time_passes(&mut self, now: Time) {
        let late = self.held.iter().rfind(|held| held.until <= now);
        self.overdue = late.map_or(self.overdue, |held| self.overdue.max(held.piece.span.start + 1));
    }

    /// When the packet that has waited for longest is to go up; `None` if none waits.
    pub fn deadline(&self) -> Option<Time> {
        self.held.iter().map(|held| held.until).min()
    }

    /// How many packets wait.
    pub fn waiting(&self) -> usize {
        self.held.len()
    }

    fn may_rise(&self, piece: &Piece<T>) -> bool {
        piece.span.start <= self.next || (piece.cell.is_some() && piece.cell == self.cell)
    }

    fn lift(&mut self, piece: Piece<T>) -> T {
        // What is sent again says nothing of the cells that are on their way.
        if piece.span.end > self.next {
            (self.next, self.cell) = (piece.span.end, piece.cell);
        }
        piece.packet
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A flow of packets of ten bytes, named by their first byte; all are held for 100 at most.
    struct Flow(Resequencer<u64>);

    impl Flow {
        fn new() -> Self {
            Self(Resequencer::new(Duration(100)))
        }

        /// What goes up when a packet arrives.
        fn get(&mut self, now: u64, first: u64, cell: Option<u16>) -> Vec<u64> {
            let piece = Piece { span: first..first + 10, cell, packet: first };
            let arrived = self.0.arrive(Time(now), piece);
            self.rest(arrived)
        }

        /// What goes up at a time.
        fn wait(&mut self, now: u64) -> Vec<u64> {
            self.0.time_passes(Time(now));
            self.rest(None)
        }

        fn rest(&mut self, first: Option<u64>) -> Vec<u64> {
            let mut all: Vec<u64> = first.into_iter().collect();
            all.extend(std::iter::from_fn(|| self.0.take()));
            all
        }
    }

    #[test]
    fn what_comes_behind_a_gap_waits_for_what_fills_it() {
        let mut flow = Flow::new();
        assert_eq!(flow.get(0, 0, None), [0]);
        assert_eq!((flow.get(1, 20, None), flow.get(2, 40, None), flow.get(3, 30, None)), (vec![], vec![], vec![]));
        assert_eq!(flow.0.deadline(), Some(Time(101)));
        assert_eq!(flow.get(4, 10, None), [10, 20, 30, 40]);
        assert_eq!(flow.0.deadline(), None);
        assert_eq!((flow.get(5, 20, None), flow.get(5, 50, None)), (vec![20], vec![50]), "what comes again goes up");
    }

    #[test]
    fn nothing_waits_for_longer_than_the_timeout() {
        let mut flow = Flow::new();
        assert_eq!((flow.get(0, 30, None), flow.get(50, 10, None), flow.get(60, 50, None)), (vec![], vec![], vec![]));
        assert_eq!(flow.wait(99), Vec::<u64>::new());
        // At 100 the first that came is due, and 10 comes before it. 50 waits on: for 40, or until 160.
        assert_eq!(flow.wait(100), [10, 30]);
        assert_eq!((flow.0.deadline(), flow.wait(159), flow.wait(160)), (Some(Time(160)), vec![], vec![50]));
        assert_eq!((flow.get(161, 40, None), flow.get(162, 20, None)), (vec![40], vec![20]), "nobody waits for these");
        assert_eq!(flow.get(163, 70, None), Vec::<u64>::new(), "a new gap");
    }

    #[test]
    fn a_gap_inside_a_cell_is_a_loss_and_one_between_cells_is_not() {
        let mut flow = Flow::new();
        assert_eq!(flow.get(0, 0, Some(7)), [0]);
        assert_eq!((flow.get(1, 20, Some(7)), flow.get(2, 50, Some(8))), (vec![20], vec![]), "10 is lost, 30 is late");
        // Cell 8 has a loss of its own, 40 or 60, which is told as soon as its turn has come.
        assert!(flow.get(3, 70, Some(8)).is_empty());
        assert_eq!((flow.get(4, 30, Some(7)), flow.get(5, 40, Some(8))), (vec![30], vec![40, 50, 70]));
        // The end of cell 8 is lost, or late: after the timeout it counts as lost.
        assert_eq!((flow.get(6, 90, Some(9)), flow.get(7, 100, Some(9)), flow.wait(105)), (vec![], vec![], vec![]));
        assert_eq!(flow.wait(106), [90, 100], "the rest of the cell comes with it");
        // Sent again in cell 10: cell 9 is still the one that has got furthest.
        assert_eq!((flow.get(107, 80, Some(10)), flow.get(108, 120, Some(9))), (vec![80], vec![120]));
        assert_eq!((flow.get(109, 140, Some(10)), flow.get(110, 130, Some(9))), (vec![], vec![130, 140]));
    }
}
