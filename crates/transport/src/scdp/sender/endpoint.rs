//! What a driver sees of a sender: packets, timers and events.

use super::apart::added;
use super::{Member, Sender, State};
use crate::scdp::header::Header;
use crate::units::earliest;
use crate::{Arrival, Endpoint, Event, Peer, Stats, Time, Transmit};

impl Sender {
    /// When a receiver is to be probed, or given up.
    #[inline]
    fn timeout_of(&self, member: &Member) -> Option<Time> {
        earliest(member.probe_at(&self.config, &self.stream, self.sent_at), member.give_up_at(&self.config))
    }

    /// Sends a symbol to one receiver, so that it answers.
    fn probe(&mut self, now: Time, silent: Peer) -> Option<Transmit<Header>> {
        let member = self.members.get_mut(silent)?;
        // Only this receiver can answer: the other receivers' probes stay due when they were.
        member.silence.on_probe(now.max(self.departure));
        let due = self.stream.repeat(member.base());
        self.stats.data_sent += 1;
        self.stats.retransmitted += 1;
        Some(self.packets.probe(due, &self.stream.numbering, silent))
    }

    /// The receiver that will be given up soon unless it answers. Symbols for the group do not make it answer if it is ahead of the
    /// group, and at a low rate they may leave no time for a probe in between.
    #[inline]
    fn overdue(&self, now: Time) -> Option<Peer> {
        let bound = self.config.give_up_after?;
        self.members.find(|member| member.silence.is_overdue(now, bound))
    }
}

impl Endpoint for Sender {
    type Header = Header;

    fn handle_packet(&mut self, now: Time, arrival: &Arrival<Header>) {
        let Header::Pull(pull) = &arrival.header else { return };
        if self.watch.is_none() && self.apart.is_none() {
            return self.on_pull(now, arrival.from, pull);
        }
        if let Some(late) = self.late() {
            late.on_pull(now);
        }
        if self.state == State::Closed {
            return;
        }
        if self.apart.as_mut().is_some_and(|apart| apart.handle_packet(now, arrival)) {
            return self.on_fates(now);
        }
        self.on_pull(now, arrival.from, pull);
        let since = if let State::Open(began) = self.state { Some(now - began) } else { None };
        if let Some(late) = self.late() {
            late.on_member(arrival.from, since);
        }
        self.watch(now);
    }

    fn handle_timeout(&mut self, now: Time) {
        if self.state == State::Closed {
            return;
        }
        for peer in 0..self.members.len() as Peer {
            let Some(member) = self.members.get_mut(peer) else { continue };
            let mut lost = member.give_up_at(&self.config).is_some_and(|at| at <= now);
            if member.probe_at(&self.config, &self.stream, self.sent_at).is_some_and(|at| at <= now) {
                self.stats.timeouts += 1;
                lost |= member.silence.on_timeout(now, &self.config);
            }
            if lost {
                self.lose(now, peer);
            }
        }
        if let Some(apart) = &mut self.apart {
            apart.handle_timeout(now);
            self.on_fates(now);
        }
        self.judge(now);
    }

    fn set_departure(&mut self, at: Time) {
        self.departure = at;
    }

    /// With a single receiver, nothing leaves unless a symbol or a probe is due.
    fn uses_departure(&self) -> bool {
        let probes = || self.members.find(|member| member.silence.is_probe_due()).is_some();
        !self.members.is_single() || self.stream.due() > 0 || probes()
    }

    fn poll_transmit(&mut self, now: Time) -> Option<Transmit<Header>> {
        match self.state {
            State::Open(_) => {}
            State::New => {
                self.state = State::Open(now);
                self.members.begin(now);
            }
            State::Closed => return None,
        }
        if let Some(silent) = self.overdue(now) {
            return self.probe(now, silent);
        }
        if let Some(due) = self.stream.next() {
            self.sent_at = now.max(self.departure);
            self.stats.data_sent += 1;
            return Some(self.packets.symbol(due, &self.stream.numbering));
        }
        if let Some(apart) = &mut self.apart
            && let Some(transmit) = apart.poll_transmit(now, self.departure, &self.packets)
        {
            return Some(transmit);
        }
        let silent = self.members.find(|member| member.silence.is_probe_due())?;
        self.probe(now, silent)
    }

    fn poll_timeout(&self) -> Option<Time> {
        let State::Open(_) = self.state else { return None };
        if self.members.is_single() {
            return self.members.get(0).and_then(|only| self.timeout_of(only));
        }
        let apart = self.apart.as_ref().and_then(|apart| apart.poll_timeout());
        let watch = self.watch.as_ref().and_then(|watch| watch.due());
        self.members.iter().filter_map(|member| self.timeout_of(member)).chain(apart).chain(watch).min()
    }

    fn poll_event(&mut self) -> Option<Event> {
        if let Some(late) = self.watch.as_mut().and_then(|watch| watch.late())
            && let Some(finding) = late.consider(&self.members, &self.stream)
        {
            self.on_finding(finding);
        }
        let event = self.events.pop()?;
        if let Event::PeerDetached(peer) = event {
            self.detach(peer);
        }
        Some(event)
    }

    fn stats(&self) -> Stats {
        self.apart.as_ref().map_or(self.stats, |apart| added(self.stats, apart.stats()))
    }

    fn waiting_for(&self) -> String {
        let emitted = self.stream.emitted(self.stream.base());
        format!(
            "waits for pulls of {} receivers: block {} of {}, {emitted} symbols of it sent, {} probes",
            self.members.not_done(),
            self.stream.base(),
            self.stream.blocks(),
            self.stats.timeouts,
        )
    }
}
