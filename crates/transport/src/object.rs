//! The object of a connection, cut into packets of one size.

/// The size of an object without end.
pub const ENDLESS: u64 = u64::MAX;

/// An object, and the payload of a full packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Object {
    bytes: u64,
    payload: u64,
    packets: u64,
}

impl Object {
    /// Of `bytes` bytes, or [`ENDLESS`]: an empty one takes one packet, an endless one more than will ever be sent.
    pub(crate) fn new(bytes: u64, payload: u64) -> Self {
        let packets = if bytes == ENDLESS { u64::MAX } else { bytes.div_ceil(payload).max(1) };
        Self { bytes, payload, packets }
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(crate) fn packets(&self) -> u64 {
        self.packets
    }

    /// Packets that the first `bytes` bytes fill; all if that is all of them.
    pub(crate) fn packets_in(&self, bytes: u64) -> u64 {
        if bytes >= self.bytes { self.packets } else { bytes / self.payload }
    }

    pub(crate) fn is_last(&self, seq: u64) -> bool {
        seq + 1 == self.packets
    }

    /// Bytes of the object before packet `seq`.
    pub(crate) fn bytes_before(&self, seq: u64) -> u64 {
        seq.saturating_mul(self.payload).min(self.bytes)
    }

    /// Payload of packet `seq`.
    pub(crate) fn payload_of(&self, seq: u64) -> u32 {
        let payload = if self.is_last(seq) { self.bytes - seq * self.payload } else { self.payload };
        payload as u32
    }

    /// " of so many", for a person; nothing if there is no end.
    pub(crate) fn of_packets(&self) -> String {
        if self.bytes == ENDLESS { String::new() } else { format!(" of {}", self.packets) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_packets() {
        assert_eq!([0, 1, 1436, 1437].map(|bytes| Object::new(bytes, 1436).packets()), [1, 1, 1, 2]);
        assert_eq!(Object::new(ENDLESS, 1436).packets(), u64::MAX);
    }

    #[test]
    fn the_last_packet_has_the_rest() {
        let object = Object::new(1440, 1436);
        assert_eq!([0, 1].map(|seq| (object.payload_of(seq), object.is_last(seq))), [(1436, false), (4, true)]);
        assert_eq!([0, 1, 2].map(|seq| object.bytes_before(seq)), [0, 1436, 1440]);
        assert_eq!([1435, 1436, 1439, 1440].map(|bytes| object.packets_in(bytes)), [0, 1, 1, 2]);
        assert_eq!(Object::new(0, 1436).payload_of(0), 0);
    }
}
