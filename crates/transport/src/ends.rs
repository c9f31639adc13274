//! Transports whose connections are one of two ends that are endpoints themselves: the calls that a `Connection` hands on to the end that it is.

/// In an `impl Endpoint for Connection`: hands on the calls of one kind. Those of other kinds keep what [`Endpoint`](crate::Endpoint) says of them.
macro_rules! hand_on {
    (basic $(, $other:ident)*) => {
        fn handle_packet(&mut self, now: $crate::Time, arrival: &$crate::Arrival<Self::Header>) {
            $crate::ends::hand_on!(self [$($other)*] end => end.handle_packet(now, arrival));
        }
        fn handle_timeout(&mut self, now: $crate::Time) {
            $crate::ends::hand_on!(self [$($other)*] end => end.handle_timeout(now));
        }
        fn set_departure(&mut self, at: $crate::Time) {
            $crate::ends::hand_on!(self [$($other)*] end => end.set_departure(at));
        }
        fn uses_departure(&self) -> bool {
            $crate::ends::hand_on!(self [$($other)*] end => end.uses_departure())
        }
        fn poll_transmit(&mut self, now: $crate::Time) -> Option<$crate::Transmit<Self::Header>> {
            $crate::ends::hand_on!(self [$($other)*] end => end.poll_transmit(now))
        }
        fn poll_timeout(&self) -> Option<$crate::Time> {
            $crate::ends::hand_on!(self [$($other)*] end => end.poll_timeout())
        }
        fn poll_event(&mut self) -> Option<$crate::Event> {
            $crate::ends::hand_on!(self [$($other)*] end => end.poll_event())
        }
        fn stats(&self) -> $crate::Stats {
            $crate::ends::hand_on!(self [$($other)*] end => end.stats())
        }
        fn waiting_for(&self) -> String {
            $crate::ends::hand_on!(self [$($other)*] end => end.waiting_for())
        }
    };
    (available $(, $other:ident)*) => {
        fn set_available(&mut self, now: $crate::Time, bytes: u64) {
            $crate::ends::hand_on!(self [$($other)*] end => end.set_available(now, bytes));
        }
    };
    (pulls $(, $other:ident)*) => {
        fn pending_pulls(&self) -> u32 {
            $crate::ends::hand_on!(self [$($other)*] end => end.pending_pulls())
        }
        fn pull_priority(&self) -> u8 {
            $crate::ends::hand_on!(self [$($other)*] end => end.pull_priority())
        }
        fn poll_pull(&mut self, now: $crate::Time) -> Option<$crate::Transmit<Self::Header>> {
            $crate::ends::hand_on!(self [$($other)*] end => end.poll_pull(now))
        }
        fn poll_hold(&mut self) -> u32 {
            $crate::ends::hand_on!(self [$($other)*] end => end.poll_hold())
        }
    };
    (turns) => {
        const TAKES_TURNS: bool = true;
        fn wants_turn(&self) -> bool {
            matches!(self, Self::Sender(end) if end.wants_turn())
        }
        fn take_turn(&mut self, now: $crate::Time) -> Option<$crate::Transmit<Self::Header>> {
            if let Self::Sender(end) = self { end.take_turn(now) } else { None }
        }
    };
    (claims $(, $other:ident)*) => {
        fn poll_claim(&mut self) -> Option<$crate::standings::ClaimChange> {
            $crate::ends::hand_on!(self [$($other)*] end => end.poll_claim())
        }
        fn claim(&self) -> Option<u64> {
            $crate::ends::hand_on!(self [$($other)*] end => end.claim())
        }
        fn set_standing(&mut self, now: $crate::Time, standing: Option<$crate::standings::Standing>) {
            $crate::ends::hand_on!(self [$($other)*] end => end.set_standing(now, standing));
        }
    };
    ($connection:ident [$($other:ident)*] $end:ident => $call:expr) => {
        match $connection {
            Self::Sender($end) => $call,
            Self::Receiver($end) => $call,
            $(Self::$other($end) => $call,)*
        }
    };
}

pub(crate) use hand_on;
