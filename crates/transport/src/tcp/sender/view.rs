//! What a congestion control sees of its flow.

use super::stream::Stream;
use crate::tcp::flow::{Flow, FlowSpec};
use crate::units::{Duration, Time};

/// What the application has said of a flow that is open.
#[derive(Clone, Copy, Debug)]
pub(super) struct View {
    /// When it wants its bytes to have arrived, if it says so.
    deadline: Option<Time>,
    port: u16,
    class: u8,
    hops: u8,
}

impl View {
    /// Of a flow that is opened now.
    pub(super) fn new(flow: FlowSpec, now: Time) -> Self {
        Self { deadline: flow.deadline.map(|within| now + within), port: flow.port, class: flow.class, hops: flow.hops }
    }

    /// The flow now. `srtt`: its smoothed round-trip time.
    #[inline]
    pub(super) fn of(&self, stream: &Stream, srtt: Duration, now: Time) -> Flow {
        Flow {
            now,
            srtt,
            to_send: stream.size(),
            sent: stream.sent(),
            acknowledged: stream.acknowledged(),
            most_queued: stream.most_queued(),
            deadline: self.deadline,
            port: self.port,
            class: self.class,
            hops: self.hops,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deadline_counts_from_the_opening() {
        let spec = FlowSpec { bytes: Some(5000), deadline: Some(Duration(30)), port: 7, ..FlowSpec::default() };
        let view = View::new(spec, Time(100));
        let mut stream = Stream::new(spec.bytes, 1000, 10_000);
        stream.on_sent(0, 1000);
        let flow = view.of(&stream, Duration(5), Time(110));
        assert_eq!((flow.deadline, flow.now, flow.port), (Some(Time(130)), Time(110), 7));
        assert_eq!((flow.to_send, flow.sent, flow.acknowledged), (Some(5000), 1000, 0));
    }
}
