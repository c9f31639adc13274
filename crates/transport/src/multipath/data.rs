//! An object at its sender: how much of it the application has provided, which data is sent next, and on which subflow.

use super::bundle::{Set, next_of};
use super::config::{MultipathConfig, Policy};
use super::front_back_data::Blocks;
use super::mapping::Mappings;
use super::mptcp::DataLevel;
use super::session::Scheduler;
use crate::tcp::Connection;
use std::ops::Range;

/// The data of one transfer.
#[derive(Clone, Debug)]
pub(super) struct Data {
    division: Division,
    /// Bytes of the object; `u64::MAX`: a stream without end.
    size: u64,
    /// Bytes that the application has provided, and those that may be handed out.
    available: u64,
    provided: u64,
    /// Whether no subflow will be given any more.
    over: bool,
}

/// How data is divided among subflows.
#[derive(Clone, Debug)]
enum Division {
    FrontBack(Blocks),
    Mptcp(DataLevel),
}

impl Data {
    /// An object of `size` bytes (`None`: a stream without end) for `subflows` subflows.
    pub(super) fn new(config: &MultipathConfig, size: Option<u64>, subflows: usize) -> Self {
        let segment = config.tcp.mss();
        let division = match config.policy {
            Policy::FrontBack(scheduler) => {
                // A stream without end has neither parts nor a back.
                let scheduler = if size.is_none() { Scheduler::RoundRobin } else { scheduler };
                Division::FrontBack(Blocks::new(scheduler, subflows, segment))
            }
            Policy::Mptcp { scheduler, opportunistic } => {
                Division::Mptcp(DataLevel::new(scheduler, opportunistic, segment, config.tcp.receive_window.0))
            }
        };
        let size = size.unwrap_or(u64::MAX);
        Self { division, size, available: size, provided: 0, over: false }
    }

    /// Bytes of the object; `u64::MAX`: a stream without end.
    pub(super) fn size(&self) -> u64 {
        self.size
    }

    /// The application has the first `bytes` bytes of the object; if this is never called, all of it.
    pub(super) fn set_available(&mut self, bytes: u64) {
        self.available = bytes.min(self.size);
    }

    /// What the application has provided may be handed out. Whether that is news.
    pub(super) fn provide(&mut self) -> bool {
        if self.available <= self.provided && (self.size > 0 || self.over) {
            return false;
        }
        self.provided = self.available;
        match &mut self.division {
            Division::FrontBack(blocks) => blocks.provide(self.provided),
            Division::Mptcp(data) => data.provide(self.provided),
        }
        true
    }

    /// Whether there is something to open a connection for.
    pub(super) fn has_begun(&self) -> bool {
        self.provided > 0 || self.size == 0
    }

    /// Whether from now on no subflow will be given any more; told once. With MPTCP only once all data has arrived: until then it may
    /// have to be sent on another subflow.
    pub(super) fn ends(&mut self) -> bool {
        if self.over || self.size == u64::MAX {
            return false;
        }
        self.over = match &self.division {
            Division::FrontBack(blocks) => self.provided >= self.size && blocks.is_exhausted(),
            Division::Mptcp(data) => data.acknowledged() >= self.size,
        };
        self.over
    }

    /// Whether it has [ended](Self::ends).
    pub(super) fn is_over(&self) -> bool {
        self.over
    }

    /// Which of these subflows gets the next segment.
    pub(super) fn choose(&self, candidates: Set, ends: &[Connection], turn: usize) -> Option<usize> {
        match &self.division {
            Division::FrontBack(_) => next_of(candidates, turn),
            Division::Mptcp(data) => data.choose(candidates, ends, turn),
        }
    }

    /// The next segment for subflow `i`, which has sent what `map` says.
    pub(super) fn take(&mut self, i: usize, ends: &[Connection], map: &Mappings) -> Option<Range<u64>> {
        match &mut self.division {
            Division::FrontBack(blocks) => blocks.take(i, ends),
            Division::Mptcp(data) => {
                data.take().or_else(|| data.take_oldest(|byte| map.carries(ends[i].unacknowledged(), byte)))
            }
        }
    }

    /// A data ACK arrived, with a window. Whether more may be sent than before. Only MPTCP has them.
    pub(super) fn on_ack(&mut self, ack: u64, window: u64) -> bool {
        match &mut self.division {
            Division::FrontBack(_) => false,
            Division::Mptcp(data) => data.on_ack(ack, window),
        }
    }

    /// These pieces are to be sent on another subflow. Whether that may be: not with Front-Back, where each has its own.
    pub(super) fn send_again(&mut self, pieces: impl Iterator<Item = Range<u64>>) -> bool {
        let Division::Mptcp(data) = &mut self.division else { return false };
        pieces.for_each(|piece| data.send_again(&piece));
        true
    }

    /// Segments that were given to another subflow, too.
    pub(super) fn reinjected(&self) -> u64 {
        match &self.division {
            Division::FrontBack(_) => 0,
            Division::Mptcp(data) => data.reinjected,
        }
    }

    pub(super) fn context_switches(&self) -> u64 {
        match &self.division {
            Division::FrontBack(blocks) => blocks.context_switches(),
            Division::Mptcp(_) => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::config::{FrontBackConfig, MptcpConfig};
    use super::*;
    use crate::tcp::{FlowSpec, TcpConfig};
    use crate::units::Time;

    fn data(config: &MultipathConfig, size: Option<u64>) -> (Data, Vec<Connection>) {
        let ends = [0, 1].map(|_| Connection::subflow(&config.tcp, FlowSpec::of(size), Time::ZERO));
        (Data::new(config, size, 2), ends.into())
    }

    #[test]
    fn front_back_ends_with_the_last_piece_and_mptcp_with_its_acknowledgement() {
        let tcp = TcpConfig::default();
        for (config, by_ack) in
            [(FrontBackConfig::default().over(&tcp), false), (MptcpConfig::default().over(&tcp), true)]
        {
            let (mut data, ends) = data(&config, Some(1000));
            data.set_available(400);
            assert!(!data.has_begun() && data.provide() && !data.provide() && data.has_begun());
            assert_eq!(data.take(0, &ends, &Mappings::default()), Some(0..400));
            assert!(!data.ends(), "more will come");
            data.set_available(5000);
            assert!(data.provide());
            assert_eq!(data.take(1, &ends, &Mappings::default()), Some(400..1000));
            assert_eq!(data.on_ack(1000, 1 << 20), by_ack);
            assert_eq!([data.ends(), data.ends(), data.is_over()], [true, false, true], "told once");
        }
    }

    #[test]
    fn an_object_without_data_is_provided_once_and_a_stream_never_ends() {
        let config = FrontBackConfig::default().over(&TcpConfig::default());
        let (mut empty, _) = data(&config, Some(0));
        assert!(empty.has_begun() && empty.provide() && empty.ends() && !empty.provide());
        let (mut endless, _) = data(&config, None);
        endless.set_available(0);
        assert!(!endless.provide() && !endless.ends());
    }

    #[test]
    fn only_mptcp_sends_on_another_subflow() {
        let tcp = TcpConfig::default();
        let (mut front_back, _) = data(&FrontBackConfig::default().over(&tcp), Some(1000));
        let (mut mptcp, ends) = data(&MptcpConfig::default().over(&tcp), Some(1000));
        mptcp.provide();
        mptcp.take(0, &ends, &Mappings::default());
        assert_eq!([&mut front_back, &mut mptcp].map(|data| data.send_again(std::iter::once(0..500))), [false, true]);
        assert_eq!((mptcp.take(1, &ends, &Mappings::default()), mptcp.reinjected()), (Some(0..500), 1));
    }
}
