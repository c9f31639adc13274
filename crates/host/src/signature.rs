//! Ed25519 keys (RFC 8032) that sign manifests.

use std::fmt;

use ring::signature::{ED25519, Ed25519KeyPair, KeyPair, UnparsedPublicKey};
use thiserror::Error;
use zeroize::Zeroizing;

use crate::key_file::{self, Hex, KeyFileError};

/// Prefixes of the lines of a public key and of its secret half.
const PUBLIC: &str = "scdp-verify-1:";
const SECRET: &str = "scdp-sign-1:";

/// A key that authenticates manifests.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct PublicKey(pub [u8; 32]);

/// A signature does not match the content that it should sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the signature does not match the manifest")]
pub struct BadSignature;

impl PublicKey {
    /// The key in the text of a file with a line `scdp-verify-1:` and 64 hexadecimal digits.
    ///
    /// # Errors
    /// [`KeyFileError`] names the line.
    pub fn parse(text: &str) -> Result<Self, KeyFileError> {
        key_file::parse(text, PUBLIC).map(|key| Self(*key))
    }

    /// The line of a key file, without a line break.
    pub fn emit(&self) -> String {
        format!("{PUBLIC}{}", Hex(&self.0))
    }

    pub(crate) fn verify(&self, message: &[u8], signature: &[u8; 64]) -> Result<(), BadSignature> {
        UnparsedPublicKey::new(&ED25519, &self.0).verify(message, signature).map_err(|_| BadSignature)
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PublicKey({})", Hex(&self.0))
    }
}

/// The secret half of a [`PublicKey`].
pub struct SigningKey(Ed25519KeyPair);

impl SigningKey {
    /// The key in the text of a file with a line `scdp-sign-1:` and the seed as 64 hexadecimal digits.
    ///
    /// # Errors
    /// [`KeyFileError`] names the line.
    pub fn parse(text: &str) -> Result<Self, KeyFileError> {
        key_file::parse(text, SECRET).map(|seed| Self::from_seed(&seed))
    }

    /// The line of a key file for a seed of 32 random bytes, without a line break.
    pub fn emit(seed: &[u8; 32]) -> Zeroizing<String> {
        Zeroizing::new(format!("{SECRET}{}", Hex(seed)))
    }

    /// The key derived from a seed of 32 random bytes (RFC 8032 §5.1.5).
    pub fn from_seed(seed: &[u8; 32]) -> Self {
        Self(Ed25519KeyPair::from_seed_unchecked(seed).expect("a seed of 32 bytes is a key"))
    }

    /// The public half.
    pub fn public(&self) -> PublicKey {
        PublicKey(self.0.public_key().as_ref().try_into().expect("Ed25519 keys have 32 bytes"))
    }

    pub(crate) fn sign(&self, message: &[u8]) -> [u8; 64] {
        self.0.sign(message).as_ref().try_into().expect("Ed25519 signatures have 64 bytes")
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SigningKey(of {:?})", self.public())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_as_text() {
        // RFC 8032 §7.1, test 1.
        let secret = "scdp-sign-1:9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60";
        let public = "scdp-verify-1:d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a";
        let key = SigningKey::parse(secret).expect("a key");
        assert_eq!(key.public().emit(), public);
        assert_eq!(PublicKey::parse(public), Ok(key.public()));
        assert!(PublicKey::parse(secret).is_err() && SigningKey::parse(public).is_err());
        assert_eq!(*SigningKey::emit(&[0xab; 32]), format!("scdp-sign-1:{}", "ab".repeat(32)));
        assert!(!format!("{key:?}").contains("9d61b19d"));

        let signature = key.sign(b"");
        assert_eq!(signature[..4], [0xe5, 0x56, 0x43, 0x00]);
        assert_eq!(key.public().verify(b"", &signature), Ok(()));
        assert_eq!(key.public().verify(b"x", &signature), Err(BadSignature));
    }
}
