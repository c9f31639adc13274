//! Accepts datagrams: one direction of a session from its receiver's point of view.

use crate::keys::DirectionKeys;
use crate::replay::ReplayWindow;
use crate::wire::{
    Answer, Control, HashesRepr, Kind, MAC, NUMBER, Open, Prefix, PullPacket, PullRepr, SYMBOL_COVERED, SYMBOL_HEADER,
    SymbolPacket, SymbolRepr, WireError, expect, field,
};

/// The payload of a symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Payload<'a> {
    /// The encoding symbol, decrypted.
    Whole(&'a [u8]),
    /// A switch has trimmed it: less is there than was declared, and none of it is usable.
    Trimmed,
}

/// Accepts the datagrams of one direction of a session: checks lengths, then the MAC, then that the number is new, and then decrypts the sealed part
/// in place. A datagram that fails one of these checks leaves no trace.
#[derive(Debug)]
pub struct Unsealer {
    keys: DirectionKeys,
    taken: ReplayWindow,
}

impl Unsealer {
    /// An unsealer with these keys.
    pub fn new(keys: DirectionKeys) -> Self {
        Self { keys, taken: ReplayWindow::new() }
    }

    /// Accepts a symbol. Its number counts as used even if the payload was trimmed.
    ///
    /// # Errors
    /// [`WireError`].
    #[inline]
    pub fn symbol<'a>(&mut self, bytes: &'a mut [u8]) -> Result<(SymbolRepr, Payload<'a>), WireError> {
        let packet = SymbolPacket::new(bytes)?;
        self.agree(packet.prefix())?;
        if usize::from(packet.prefix().length) <= self.keys.tag_bytes() {
            return Err(WireError::Length);
        }
        if !same(self.keys.mac(&bytes[..SYMBOL_COVERED]), packet.mac()) {
            return Err(WireError::Mac);
        }
        let (symbol, number, trimmed) = (SymbolRepr::parse(&packet), packet.number(), packet.is_trimmed());
        self.taken.check(number)?;
        let (header, body) = bytes.split_at_mut(SYMBOL_HEADER);
        let payload = if trimmed {
            Payload::Trimmed
        } else {
            Payload::Whole(self.keys.open(number, &header[..SYMBOL_COVERED], body)?)
        };
        self.taken.mark(number);
        Ok((symbol, payload))
    }

    /// Accepts a packet of pulls.
    ///
    /// # Errors
    /// [`WireError`].
    pub fn pull(&mut self, bytes: &mut [u8]) -> Result<PullRepr, WireError> {
        let (_, number) = self.admit(Kind::Pull, bytes)?;
        self.taken.mark(number);
        PullRepr::parse(&PullPacket::new(bytes)?)
    }

    /// Accepts a message of an open session.
    ///
    /// # Errors
    /// [`WireError`].
    pub fn control(&mut self, bytes: &mut [u8]) -> Result<Control, WireError> {
        self.body(Kind::Control, bytes).and_then(Control::parse)
    }

    /// Accepts a page of hashes.
    ///
    /// # Errors
    /// [`WireError`].
    pub fn hashes(&mut self, bytes: &mut [u8]) -> Result<HashesRepr, WireError> {
        self.body(Kind::Hashes, bytes).and_then(HashesRepr::parse)
    }

    /// Accepts a packet that opens a session. The keys are those of the [opener](crate::Protection::opener) with the salt in the packet's
    /// [header](crate::wire::HandshakePacket).
    ///
    /// # Errors
    /// [`WireError`].
    pub fn open(&mut self, bytes: &mut [u8]) -> Result<Open, WireError> {
        let index = crate::wire::HandshakePacket::new(bytes)?.index();
        let message = self.body(Kind::Open, bytes).and_then(Open::parse)?;
        let receivers = match &message {
            Open::Offer(offer) => offer.receivers,
            Open::Request(_) => 1,
        };
        if index < receivers { Ok(message) } else { Err(WireError::Field("index")) }
    }

    /// Accepts the answer to an opening packet. The keys are those of the [responder](crate::Protection::responder) with the salt and the index in
    /// the packet's [header](crate::wire::HandshakePacket).
    ///
    /// # Errors
    /// [`WireError`].
    pub fn answer(&mut self, bytes: &mut [u8]) -> Result<Answer, WireError> {
        crate::wire::HandshakePacket::new(bytes)?;
        self.body(Kind::Answer, bytes).and_then(Answer::parse)
    }

    /// Checks that both ends use a key, or neither does.
    fn agree(&self, prefix: Prefix) -> Result<(), WireError> {
        let sealed = prefix.sealed();
        if sealed == self.keys.sealed() { Ok(()) } else { Err(WireError::Protection { sealed }) }
    }

    /// Checks everything except the sealed body. Returns the header's size and the datagram's number.
    fn admit(&self, kind: Kind, bytes: &mut [u8]) -> Result<(usize, u64), WireError> {
        self.agree(expect(bytes, &[kind])?)?;
        // The MAC is computed over the datagram with zeros in the MAC field.
        let mac = field(bytes, MAC.start);
        bytes[MAC].fill(0);
        let genuine = same(self.keys.mac(bytes), mac);
        if !genuine {
            bytes[MAC].copy_from_slice(&mac);
            return Err(WireError::Mac);
        }
        let number = u64::from_be_bytes(field(bytes, NUMBER.start));
        self.taken.check(number)?;
        Ok((kind.header_bytes(), number))
    }

    /// Decrypts the body.
    fn body<'a>(&mut self, kind: Kind, bytes: &'a mut [u8]) -> Result<&'a [u8], WireError> {
        let (header, number) = self.admit(kind, bytes)?;
        let (header, body) = bytes.split_at_mut(header);
        let body = self.keys.open(number, header, body)?;
        self.taken.mark(number);
        Ok(body)
    }
}

/// A single integer comparison takes the same time wherever the bytes differ.
#[inline]
fn same(a: [u8; 8], b: [u8; 8]) -> bool {
    u64::from_be_bytes(a) == u64::from_be_bytes(b)
}
