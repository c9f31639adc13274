//! Keys: the secret that two ends share, and the keys that each direction of a session derives from it.

use std::fmt;

use anabranch_transport::scdp::hosts;
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, Tag, UnboundKey};
use zeroize::Zeroizing;

use crate::key_file::{self, Hex, KeyFileError};
use crate::wire::{SYMBOL_HEADER, Salt, WireError, field};

/// Prefix of the line of a shared key.
const LINE: &str = "scdp-key-1:";

/// Contexts of BLAKE3's key derivation: constants with no other use.
const OPENER: &str = "anabranch scdp 1 opener";
const RESPONDER: &str = "anabranch scdp 1 responder";
const CONFIRMED: &str = "anabranch scdp 1 confirmed";

/// Bytes of the tag that follows a sealed body.
pub(crate) const TAG: usize = 16;

/// Bytes of a symbol's datagram besides the symbol.
pub(crate) const HEADERS: usize = SYMBOL_HEADER + TAG;
const _: () = assert!(HEADERS == hosts::HEADERS as usize, "what the transport assumes");

/// A key that both ends have. Anyone who has it can read, send and request everything under it.
#[derive(Clone)]
pub struct Psk(Zeroizing<[u8; 32]>);

impl Psk {
    /// A key of 32 random bytes; `None` if they are zeros, from which sessions without a key derive theirs.
    pub fn new(bytes: [u8; 32]) -> Option<Self> {
        let bytes = Zeroizing::new(bytes);
        (*bytes != [0; 32]).then_some(Self(bytes))
    }

    /// The key in the text of a file: one line `scdp-key-1:` and 64 hexadecimal digits. Empty lines and lines that begin
    /// with `#` are skipped.
    ///
    /// # Errors
    /// [`KeyFileError`] names the line but shows none of its content.
    pub fn parse(text: &str) -> Result<Self, KeyFileError> {
        key_file::parse(text, LINE).map(Self)
    }

    /// The line of a key file, without a line break.
    pub fn emit(&self) -> Zeroizing<String> {
        Zeroizing::new(format!("{LINE}{}", Hex(&*self.0)))
    }
}

impl fmt::Debug for Psk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Psk(..)")
    }
}

/// How the datagrams of a session are protected. Both ends must agree.
#[derive(Clone, Debug)]
pub enum Protection {
    /// A shared key: content and messages are encrypted and everything is authenticated.
    Psk(Psk),
    /// No protection: the MACs are checksums of headers and messages, payloads have none, and anyone can send anything.
    None,
}

impl Protection {
    /// Keys for what the opener of a session sends to all its responders: opening packets and symbols. `salt` must be new: only one
    /// [`Sealer`](crate::Sealer) may ever seal under it.
    pub fn opener(&self, salt: Salt) -> DirectionKeys {
        self.derive(OPENER, salt, &[&salt.0])
    }

    /// Keys for what responder `index` sends in the session that was opened with the salt `opener`. Its own `salt`, which must be new as well,
    /// prevents a replayed opening packet from making it use the same keys again.
    pub fn responder(&self, opener: Salt, salt: Salt, index: u16) -> DirectionKeys {
        let keys = self.derive(RESPONDER, salt, &[&opener.0, &salt.0, &index.to_be_bytes()]);
        DirectionKeys { index, ..keys }
    }

    /// Keys for what the opener sends to responder `index` alone once its answer with the salt `responder` has arrived: pulls and messages. Nobody
    /// can have recorded them before, so they show that the opener is there now, and receives what is sent to it.
    pub fn confirmed(&self, opener: Salt, responder: Salt, index: u16) -> DirectionKeys {
        self.derive(CONFIRMED, opener, &[&opener.0, &responder.0, &index.to_be_bytes()])
    }

    fn derive(&self, context: &'static str, salt: Salt, parts: &[&[u8]]) -> DirectionKeys {
        let mut hasher = blake3::Hasher::new_derive_key(context);
        match self {
            Self::Psk(psk) => hasher.update(&*psk.0),
            Self::None => hasher.update(&[0; 32]),
        };
        for part in parts {
            hasher.update(part);
        }
        let mut bytes = Zeroizing::new([0; 64]);
        hasher.finalize_xof().fill(&mut *bytes);
        let aead = matches!(self, Self::Psk(_)).then(|| {
            LessSafeKey::new(UnboundKey::new(&AES_256_GCM, &bytes[32..]).expect("the cipher's keys have 32 bytes"))
        });
        DirectionKeys { salt, index: 0, header: Zeroizing::new(field(&*bytes, 0)), aead }
    }
}

/// Keys of one direction of a session: one for MACs, one to seal with.
pub struct DirectionKeys {
    pub(crate) salt: Salt,
    pub(crate) index: u16,
    header: Zeroizing<[u8; 32]>,
    /// `None` without a shared key.
    aead: Option<LessSafeKey>,
}

impl DirectionKeys {
    /// Whether there is a shared key.
    pub fn sealed(&self) -> bool {
        self.aead.is_some()
    }

    /// Bytes that sealing adds.
    #[inline]
    pub(crate) fn tag_bytes(&self) -> usize {
        if self.sealed() { TAG } else { 0 }
    }

    /// The MAC of these bytes.
    #[inline]
    pub(crate) fn mac(&self, bytes: &[u8]) -> [u8; 8] {
        field(blake3::keyed_hash(&self.header, bytes).as_bytes(), 0)
    }

    /// Encrypts `body` in place. Returns the tag, if there is a key. A number may be used only once.
    #[inline]
    pub(crate) fn seal(&self, number: u64, header: &[u8], body: &mut [u8]) -> Option<Tag> {
        let aead = self.aead.as_ref()?;
        let tag = aead.seal_in_place_separate_tag(nonce(number), Aad::from(header), body);
        Some(tag.expect("datagrams are shorter than the cipher's limit"))
    }

    /// Decrypts `body` with its tag in place. Returns the plaintext.
    #[inline]
    pub(crate) fn open<'a>(&self, number: u64, header: &[u8], body: &'a mut [u8]) -> Result<&'a [u8], WireError> {
        match &self.aead {
            Some(aead) => {
                let opened = aead.open_in_place(nonce(number), Aad::from(header), body);
                opened.map(|plain| &*plain).map_err(|_| WireError::Tag)
            }
            None => Ok(body),
        }
    }
}

impl fmt::Debug for DirectionKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DirectionKeys").field("sealed", &self.sealed()).finish_non_exhaustive()
    }
}

/// Four zeros and the number, which is unique among the datagrams of a direction.
fn nonce(number: u64) -> Nonce {
    let mut bytes = [0; 12];
    bytes[4..].copy_from_slice(&number.to_be_bytes());
    Nonce::assume_unique_for_key(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: Salt = Salt([1; 16]);
    const B: Salt = Salt([2; 16]);

    #[test]
    fn every_input_makes_other_keys() {
        let psk = |byte| Protection::Psk(Psk::new([byte; 32]).expect("not zero"));
        let keys = [
            psk(1).opener(A),
            psk(2).opener(A),
            psk(1).opener(B),
            Protection::None.opener(A),
            psk(1).responder(A, A, 0),
            psk(1).responder(A, B, 0),
            psk(1).responder(B, A, 0),
            psk(1).responder(A, A, 1),
            psk(1).responder(A, A, 256),
            psk(1).confirmed(A, A, 0),
            psk(1).confirmed(A, B, 0),
            psk(1).confirmed(B, A, 0),
            psk(1).confirmed(A, A, 1),
        ];
        for (i, one) in keys.iter().enumerate() {
            for other in &keys[..i] {
                assert_ne!(one.mac(b"header"), other.mac(b"header"));
                let (mut x, mut y) = ([0; 32], [0; 32]);
                let (x_tag, y_tag) = (one.seal(0, b"", &mut x), other.seal(0, b"", &mut y));
                assert_ne!(x, y);
                assert!(x_tag.map(|t| t.as_ref().to_vec()) != y_tag.map(|t| t.as_ref().to_vec()));
            }
        }
    }

    #[test]
    fn key_files() {
        let psk = Psk::new([0xa5; 32]).expect("not zero");
        let line = psk.emit();
        assert_eq!(*line, format!("scdp-key-1:{}", "a5".repeat(32)));
        for text in [
            line.to_string(),
            format!("# of the rack\n\n  {}\r\n", line.to_uppercase().replace("SCDP-KEY", "scdp-key")),
        ] {
            assert_eq!(*Psk::parse(&text).expect("a key").emit(), *line);
        }
        assert_eq!(
            format!("{psk:?} {:?}", Protection::Psk(psk.clone()).opener(A)),
            "Psk(..) DirectionKeys { sealed: true, .. }"
        );

        let error = |text: &str| Psk::parse(text).expect_err("no key").to_string();
        let zeros = format!("scdp-key-1:{}", "0".repeat(64));
        for (text, message) in [
            ("", "no key: expected a line `scdp-key-1:` and 64 hexadecimal digits"),
            ("# nothing\n", "no key: expected a line `scdp-key-1:` and 64 hexadecimal digits"),
            ("\nscdp-key-2:00", "line 2: expected `scdp-key-1:` and 64 hexadecimal digits"),
            ("\n\n scdp-key-1:ab-", "line 3: character 15 is not a hexadecimal digit"),
            ("scdp-key-1:äb", "line 1: character 12 is not a hexadecimal digit"),
            ("scdp-key-1:abc", "line 1: a key has 64 hexadecimal digits, this one has 3 characters"),
            (&format!("{}\n{}", *line, *line), "line 2: a second key; a file has one"),
            (&zeros, "line 1: a key of zeros is no secret"),
        ] {
            assert_eq!(error(text), message);
        }
        assert!(Psk::new([0; 32]).is_none());
    }
}
