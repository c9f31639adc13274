//! Description of an object: its hash, its size, a hint for its name, and optionally a signature.

use std::fmt;

use thiserror::Error;

use super::{Reader, WireError, put_string};
use crate::signature::{BadSignature, PublicKey, SigningKey};

/// Prefix of the signed bytes, so that a signature is worthless elsewhere.
const SIGNED: &[u8] = b"anabranch scdp 1 manifest\0";

/// Description of an object. The hash alone is its identity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    /// BLAKE3 hash of the content.
    pub hash: [u8; 32],
    /// Size of the content in bytes, below 2^64 - 1.
    pub size: u64,
    /// The sender's name for it: a hint.
    pub name: ObjectName,
    /// Signature of hash, size and name. Not verified yet: see [`Manifest::signer`].
    pub signature: Option<Signature>,
}

/// A signature, and the key that it claims to be made with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signature {
    /// The signer's Ed25519 key.
    pub key: PublicKey,
    /// The Ed25519 signature (RFC 8032 §5.1.6) of [`Manifest::signed_bytes`].
    pub signature: [u8; 64],
}

impl Manifest {
    /// The bytes that are signed: a constant text that ends in NUL, then hash, size and name as on the wire.
    pub fn signed_bytes(&self) -> Vec<u8> {
        let mut bytes = SIGNED.to_vec();
        self.emit_unsigned(&mut bytes);
        bytes
    }

    /// Signs it, replacing any previous signature.
    pub fn sign(&mut self, key: &SigningKey) {
        self.signature = Some(Signature { key: key.public(), signature: key.sign(&self.signed_bytes()) });
    }

    /// The key that signed it, if any. Whether to trust that key is up to the caller.
    ///
    /// # Errors
    /// [`BadSignature`]: the signature does not match the manifest and its key.
    pub fn signer(&self) -> Result<Option<PublicKey>, BadSignature> {
        let Some(Signature { key, signature }) = &self.signature else { return Ok(None) };
        key.verify(&self.signed_bytes(), signature)?;
        Ok(Some(*key))
    }

    pub(crate) fn parse(body: &mut Reader<'_>) -> Result<Self, WireError> {
        let (hash, size) = (body.array()?, body.u64()?);
        if size == u64::MAX {
            // The transport's value for an endless object.
            return Err(WireError::Field("size"));
        }
        let name = ObjectName::new(body.string()?).map_err(|_| WireError::Field("name"))?;
        let signed = body.bool()?;
        let signature =
            if signed { Some(Signature { key: PublicKey(body.array()?), signature: body.array()? }) } else { None };
        Ok(Self { hash, size, name, signature })
    }

    pub(crate) fn emit(&self, out: &mut Vec<u8>) {
        self.emit_unsigned(out);
        out.push(u8::from(self.signature.is_some()));
        if let Some(Signature { key, signature }) = &self.signature {
            out.extend_from_slice(&key.0);
            out.extend_from_slice(signature);
        }
    }

    fn emit_unsigned(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.hash);
        out.extend_from_slice(&self.size.to_be_bytes());
        put_string(out, self.name.as_str());
    }
}

/// A name that is one component of a path on any system: 1 to 255 bytes of UTF-8 without `/`, `\` and control characters, and neither `.` nor `..`. It may
/// have other characters that move or hide text, such as bidirectional controls: escape them before a terminal gets it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ObjectName(String);

/// Why a text is not a valid object name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum NameError {
    /// It is empty or longer than 255 bytes.
    #[error("a name has 1 to 255 bytes, not {0}")]
    Length(usize),
    /// A character that is not allowed.
    #[error("a name cannot have the character {0:?}")]
    Character(char),
    /// `.` or `..`.
    #[error("a name cannot be \".\" or \"..\"")]
    Dots,
}

impl ObjectName {
    /// Checks a name.
    ///
    /// # Errors
    /// [`NameError`] says what is wrong with it.
    pub fn new(name: &str) -> Result<Self, NameError> {
        if !(1..=255).contains(&name.len()) {
            return Err(NameError::Length(name.len()));
        }
        if let Some(c) = name.chars().find(|&c| c == '/' || c == '\\' || c.is_control()) {
            return Err(NameError::Character(c));
        }
        if name == "." || name == ".." {
            return Err(NameError::Dots);
        }
        Ok(Self(name.to_owned()))
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ObjectName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_one_component_and_printable() {
        for good in ["a", "...", ".hidden", "a b", "ä", "con", &"x".repeat(255)] {
            assert_eq!(ObjectName::new(good).expect("a name").to_string(), good);
        }
        for (bad, error) in [
            ("", NameError::Length(0)),
            (&*"x".repeat(256), NameError::Length(256)),
            (".", NameError::Dots),
            ("..", NameError::Dots),
            ("a/b", NameError::Character('/')),
            ("..\\b", NameError::Character('\\')),
            ("a\0", NameError::Character('\0')),
            ("\x1b[2J", NameError::Character('\x1b')),
            ("\u{9b}", NameError::Character('\u{9b}')),
        ] {
            assert_eq!(ObjectName::new(bad), Err(error));
        }
    }

    #[test]
    fn a_signature_is_for_one_manifest_by_one_key() {
        let name = ObjectName::new("a").expect("a name");
        let mut manifest = Manifest { hash: [1; 32], size: 2, name, signature: None };
        assert_eq!(manifest.signer(), Ok(None));
        let key = SigningKey::from_seed(&[3; 32]);
        manifest.sign(&key);
        assert_eq!(manifest.signer(), Ok(Some(key.public())));

        let changed = |change: fn(&mut Manifest)| {
            let mut manifest = manifest.clone();
            change(&mut manifest);
            manifest.signer()
        };
        assert_eq!(changed(|m| m.hash[31] ^= 1), Err(BadSignature));
        assert_eq!(changed(|m| m.size = 3), Err(BadSignature));
        assert_eq!(changed(|m| m.name = ObjectName::new("b").expect("a name")), Err(BadSignature));
        assert_eq!(changed(|m| m.signature.as_mut().expect("signed").signature[0] ^= 1), Err(BadSignature));
        let other = |m: &mut Manifest| {
            m.signature.as_mut().expect("signed").key = SigningKey::from_seed(&[4; 32]).public();
        };
        assert_eq!(changed(other), Err(BadSignature));
    }

    #[test]
    fn sizes_end_before_the_number_of_objects_without_end() {
        for (size, expected) in [(u64::MAX - 1, Ok(u64::MAX - 1)), (u64::MAX, Err(WireError::Field("size")))] {
            let name = ObjectName::new("a").expect("a name");
            let mut bytes = Vec::new();
            Manifest { hash: [1; 32], size, name, signature: None }.emit(&mut bytes);
            assert_eq!(Manifest::parse(&mut Reader::new(&bytes)).map(|manifest| manifest.size), expected);
        }
    }
}
