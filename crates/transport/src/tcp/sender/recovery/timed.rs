//! Recovery where time decides what is lost (RACK-TLP, RFC 8985): in every mode the sender repeats what is lost, and then sends what is new,
//! as far as the window lets it.

use super::{Mode, Recovery};
use crate::tcp::rack::Rack;
use crate::tcp::segment::Segment;
use crate::tcp::sender::stream::Stream;
use crate::tcp::sender::window::CongestionWindow;
use crate::tcp::timer::RetransmissionTimer;
use crate::units::{Duration, Time};

impl Recovery {
    #[inline]
    pub(super) fn rack(&self) -> Option<&Rack> {
        self.board.as_ref().and_then(|board| board.rack())
    }

    #[inline]
    pub(super) fn rack_mut(&mut self) -> Option<&mut Rack> {
        self.board.as_mut().and_then(|board| board.rack_mut())
    }

    /// Whether time decides.
    #[inline]
    pub(in crate::tcp::sender) fn goes_by_time(&self) -> bool {
        self.rack().is_some()
    }

    /// What happens, happens now.
    #[inline]
    pub(in crate::tcp::sender) fn set_time(&mut self, now: Time) {
        if let Some(rack) = self.rack_mut() {
            rack.set_time(now);
        }
    }

    /// So long is the smoothed round trip; zero: not known.
    #[inline]
    pub(in crate::tcp::sender) fn know_round_trip(&mut self, smoothed: Duration) {
        if let Some(rack) = self.rack_mut() {
            rack.know_round_trip(smoothed);
        }
    }

    /// Whether the ACK of new data would wait for something that is lost, late or repeated.
    #[inline]
    pub(super) fn has_timed_hole(&self) -> bool {
        self.rack()
            .is_some_and(|rack| rack.repairs_a_timeout() || rack.segments().arrived() > 0 || rack.segments().lost() > 0)
    }

    /// Whether something is lost for which recovery has to begin: while a timeout is being repaired, only a repetition, as in Linux.
    #[inline]
    pub(in crate::tcp::sender) fn finds_loss(&mut self) -> bool {
        let is_open = self.is_open();
        self.rack_mut().is_some_and(|rack| is_open && rack.finds_reason_to_recover())
    }

    /// When something is to be done without an ACK; [`Time::MAX`]: never.
    #[inline]
    pub(in crate::tcp::sender) fn wake(&self) -> Time {
        self.rack().map_or(Time::MAX, Rack::wake)
    }

    /// That time has come, perhaps. Whether recovery has to begin.
    pub(in crate::tcp::sender) fn looks_for_losses(&mut self) -> bool {
        if !self.rack_mut().is_some_and(Rack::takes_a_look) {
            return false;
        }
        if let (Mode::Sack(_), Some(rack)) = (&self.mode, self.board.as_mut().and_then(|board| board.rack_mut())) {
            rack.find_losses(true);
        }
        self.finds_loss()
    }

    /// The window is being reduced: what the last probe would tell is no reason to do so again.
    pub(in crate::tcp::sender) fn forget_probe(&mut self) {
        if let Some(rack) = self.rack_mut() {
            rack.probe.reset();
        }
    }

    /// Whether a probe has to leave now (RFC 8985 §7.3).
    pub(in crate::tcp::sender) fn fires_probe(&mut self, now: Time) -> bool {
        self.rack_mut().is_some_and(|rack| rack.probe.fire(now))
    }

    /// Something new was sent or acknowledged: a probe is due later (RFC 8985 §7.2), but not after the retransmission timer fires.
    pub(in crate::tcp::sender) fn schedule_probe(&mut self, timer: &RetransmissionTimer, now: Time) {
        let is_open = self.is_open();
        let Some(rack) = self.rack_mut() else { return };
        let count = rack.segments().count();
        // §7.3: while one is on its way, or before a round trip was measured, none would leave.
        let may_leave = !rack.probe.is_on_its_way() && timer.srtt() > Duration::ZERO;
        if !is_open || rack.repairs_a_timeout() || rack.waits_for_order() || count == 0 || !may_leave {
            return rack.probe.cancel();
        }
        let wait = rack.probe.wait(timer.srtt(), count == 1);
        rack.probe.schedule(timer.after(now, wait).min(timer.deadline()));
    }

    /// An ACK arrived: whether it says that the last probe has repaired a loss (RFC 8985 §7.4).
    pub(in crate::tcp::sender) fn probe_has_repaired(&mut self, segment: &Segment, is_progress: bool) -> bool {
        self.rack_mut().is_some_and(|rack| rack.probe.on_ack(segment, is_progress))
    }

    /// The segment that leaves now: a probe, what is lost, or what is new. `first`: what is lost leaves whatever the window says.
    pub(in crate::tcp::sender) fn take_by_time(
        &mut self,
        stream: &mut Stream,
        window: &mut CongestionWindow,
        now: Time,
    ) -> Option<(u64, u64)> {
        let first = self.take_first();
        let rack = self.rack_mut()?;
        rack.set_time(now);
        let max = stream.space().max();
        if rack.probe.take() {
            let next = match stream.new_segment(window.mss()) {
                Some(end) => (max, end),
                None => rack.segments().last()?,
            };
            rack.probe.on_sent(next.1.max(max), next.0 < max);
            stream.go_on_at_top();
            return Some(next);
        }
        let in_flight = rack.segments().in_flight();
        if let Some((seq, end)) = rack.first_lost() {
            let fits = in_flight + (end - seq) <= window.size();
            return (first || window.admits(now, u64::from(!fits), true, || false)).then_some((seq, end));
        }
        if !stream.go_on_at(max) {
            return None;
        }
        let next = stream.segment(max, u64::MAX, window.mss());
        let over = (in_flight + next.data_end - max).saturating_sub(window.size());
        window.admits(now, over, next.is_offered, || false).then_some((max, next.end))
    }
}
