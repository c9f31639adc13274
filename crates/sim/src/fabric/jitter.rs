//! The random part of the time that a host takes to send a packet.

use anabranch_transport::Duration;

/// Longest random pause of a host before each packet that it sends. Packets keep their order. A host with enough to send loses
/// half of this for each packet: a pause between packets is what moves a link that is always busy out of phase with another.
///
/// Without it hosts are clockwork: equal links run in lockstep for ever, and whose packets find a full queue is a matter
/// of phase alone (Floyd and Jacobson 1991, who propose this remedy).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Jitter {
    /// The same on every link.
    Time(Duration),
    /// So many times what a full packet takes on the host's link.
    Packets(f64),
}

impl Jitter {
    /// Hosts that are clockwork.
    pub const NONE: Self = Self::Time(Duration::ZERO);

    /// The longest pause where a full packet takes `packet`.
    pub fn longest(self, packet: Duration) -> Duration {
        match self {
            Self::Time(longest) => longest,
            Self::Packets(share) => Duration((share * packet.ps() as f64).round() as u64),
        }
    }
}

impl Default for Jitter {
    fn default() -> Self {
        Self::NONE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_follow_the_rate_of_the_link() {
        let (slow, fast) = (Duration::from_us(1200), Duration::from_ns(30)); // 1500 bytes at 10 Mbps and at 400 Gbps
        assert_eq!(Jitter::Packets(0.5).longest(slow), Duration::from_us(600));
        assert_eq!(Jitter::Packets(0.5).longest(fast), Duration::from_ns(15));
        assert_eq!(Jitter::Time(Duration::from_us(20)).longest(fast), Duration::from_us(20));
        assert_eq!(Jitter::NONE.longest(slow), Duration::ZERO);
    }
}
