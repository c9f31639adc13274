//! What pHost's packets say.

/// Header of a pHost packet. Packets of a flow and its tokens are numbered from 0, each by themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Header {
    /// There is a flow (RTS).
    Rts {
        /// Its bytes; [`ENDLESS`](super::ENDLESS) if it has no end.
        flow: u64,
        /// It was announced before, and its sender waits for tokens or for the acknowledgement.
        again: bool,
    },
    /// The sender may send one packet, soon.
    Token {
        /// Which token it is.
        number: u64,
        /// Which packet.
        seq: u64,
        /// Bytes of the flow that have not arrived.
        remaining: u64,
    },
    /// Payload.
    Data {
        /// Which packet of the flow: it starts `seq` full payloads after the flow's first byte.
        seq: u64,
        /// The token that it was sent for.
        token: u64,
        /// Bytes of the whole flow.
        flow: u64,
    },
    /// The flow is known, and others come first: an answer to an RTS that was repeated. Not in the paper.
    Wait,
    /// The whole flow has arrived (ACK).
    Ack,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fits_the_simulators_packet() {
        assert_eq!(size_of::<Header>(), 32);
    }
}
