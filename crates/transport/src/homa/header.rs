//! What Homa's packets say.

/// Header of a Homa packet. Numbers count packets of the message, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Header {
    /// Payload (DATA, Homa §3.1).
    Data {
        /// Which packet of the message: it starts `seq` full payloads after the message's first byte.
        seq: u64,
        /// Bytes of the whole message; [`ENDLESS`](super::ENDLESS) if it has no end.
        message: u64,
    },
    /// The sender may send the packets below `below` (GRANT).
    Grant {
        /// The first one that it may not.
        below: u64,
        /// The priority for those that it has not sent.
        priority: u8,
    },
    /// Please send these packets again, or at last (RESEND).
    Resend {
        /// The first one.
        from: u64,
        /// The first one that is not wanted.
        to: u64,
        /// Their priority.
        priority: u8,
    },
    /// Nothing is lost: this end has others to serve first (BUSY).
    Busy,
    /// All that may be sent has been sent, and nothing is heard: has it arrived? (`NEED_ACK` of `HomaModule`; the paper's client sends a RESEND for
    /// the response.)
    NeedAck {
        /// Bytes of the whole message, of which nothing may have arrived.
        message: u64,
    },
    /// The whole message has arrived (ACK of `HomaModule`; in the paper the response says so).
    Ack,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fits_the_simulators_packet() {
        assert_eq!(size_of::<Header>(), 24);
    }
}
