//! Congestion controls of RoCEv2: which one a connection has, and what it is told.

use super::connectx;
use super::dcqcn::{self, DcqcnConfig, Rules};
use super::hpcc::{self, Feedback, HpccConfig};
use super::segments::{Packet, Segments};
use super::timely::{self, TimelyConfig};
use crate::units::{Rate, Time};

/// Which one, and its parameters.
#[derive(Clone, Debug, PartialEq)]
pub enum Congestion {
    /// By marks.
    Dcqcn(DcqcnConfig),
    /// By round trips.
    Timely(TimelyConfig),
    /// By what switches write into packets.
    Hpcc(HpccConfig),
}

impl Congestion {
    /// Whether its packets may be marked.
    pub(super) fn is_marked(&self) -> bool {
        matches!(self, Self::Dcqcn(_))
    }

    /// Its DCQCN, if it has that.
    pub(super) fn dcqcn(&self) -> Option<&DcqcnConfig> {
        match self {
            Self::Dcqcn(config) => Some(config),
            Self::Timely(_) | Self::Hpcc(_) => None,
        }
    }

    /// Its HPCC, if it has that.
    pub fn hpcc(&self) -> Option<&HpccConfig> {
        match self {
            Self::Hpcc(config) => Some(config),
            Self::Dcqcn(_) | Self::Timely(_) => None,
        }
    }

    /// What decides when packets leave, in words.
    pub(super) fn driven_by(&self) -> &'static str {
        match self {
            Self::Dcqcn(_) | Self::Timely(_) => "the sender's rate",
            Self::Hpcc(_) => "the sender's window",
        }
    }
}

/// That of one sender.
#[derive(Clone, Debug)]
pub(super) enum Control {
    Dcqcn(dcqcn::RateControl),
    Connectx(connectx::RateControl),
    Timely { rate: timely::RateControl, segments: Segments },
    Hpcc(hpcc::WindowControl),
}

/// What follows a packet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Next {
    /// When the next one may leave.
    pub(super) at: Time,
    /// This one asks to be acknowledged.
    pub(super) asks: bool,
}

impl Control {
    /// Begins at the rate that is given, or that of the link; none before what it needs of these is known.
    pub(super) fn new(config: &Congestion, given: Option<Rate>, link: Option<Rate>, now: Time) -> Option<Self> {
        Some(match config {
            Congestion::Dcqcn(config) => {
                let parameters = config.parameters(given.or(link)?);
                match config.rules {
                    Rules::Paper => Self::Dcqcn(dcqcn::RateControl::new(parameters)),
                    Rules::Connectx => Self::Connectx(connectx::RateControl::new(parameters)),
                }
            }
            Congestion::Timely(config) => {
                let link = link?;
                let rate = timely::RateControl::new(config, given.unwrap_or(link), link, now);
                Self::Timely { rate, segments: Segments::new(config.segment.0, link) }
            }
            Congestion::Hpcc(config) => Self::Hpcc(hpcc::WindowControl::new(config, given.or(link)?)),
        })
    }

    pub(super) fn on_cnp(&mut self, now: Time) {
        match self {
            Self::Dcqcn(control) => control.on_cnp(now),
            Self::Connectx(control) => control.on_cnp(now),
            Self::Timely { .. } | Self::Hpcc(_) => {}
        }
    }

    /// A packet leaves; whether there is `more` to send now.
    pub(super) fn on_sent(&mut self, now: Time, packet: Packet, more: bool) -> Next {
        match self {
            Self::Dcqcn(control) => Next { at: now + control.on_sent(now, packet.size), asks: false },
            Self::Connectx(control) => Next { at: now + control.on_sent(now, packet.size), asks: false },
            Self::Timely { rate, segments } => {
                let next = segments.on_sent(now, packet, more, rate.rate());
                Next { at: next.unwrap_or(now), asks: next.is_some() }
            }
            Self::Hpcc(control) => {
                control.on_sent(now, packet.size);
                Next { at: control.next_at(), asks: false }
            }
        }
    }

    /// When the next packet may leave, if that is another time now.
    pub(super) fn on_ack(&mut self, now: Time, feedback: &Feedback) -> Option<Time> {
        match self {
            Self::Dcqcn(_) | Self::Connectx(_) => None,
            Self::Timely { rate, segments } => {
                let rtt = segments.on_ack(now, feedback.expected);
                if let Some(rtt) = rtt.filter(|_| rate.counts(feedback.expected, feedback.next)) {
                    rate.on_round_trip(now, rtt);
                }
                None
            }
            Self::Hpcc(control) => {
                control.on_feedback(now, feedback);
                Some(control.next_at())
            }
        }
    }

    /// The sender goes back.
    pub(super) fn on_go_back(&mut self) {
        if let Self::Timely { segments, .. } = self {
            segments.on_go_back();
        }
    }

    /// Bytes that may be on their way, if a window says so.
    pub(super) fn window(&self) -> Option<u64> {
        match self {
            Self::Dcqcn(_) | Self::Connectx(_) | Self::Timely { .. } => None,
            Self::Hpcc(control) => Some(control.window().ceil() as u64),
        }
    }
}
