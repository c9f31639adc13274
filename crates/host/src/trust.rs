//! Which objects this host accepts: those signed with a trusted key.

use crate::wire::{Reason, Refusal};
use crate::{Manifest, PublicKey};

/// Checks that one of the keys in `signers` has signed the manifest, if there are any.
///
/// # Errors
///
/// The refusal for the peer that announces it.
pub(crate) fn check(manifest: &Manifest, signers: &[PublicKey]) -> Result<(), Refusal> {
    let untrusted = |text: &str| Err(Refusal::new(Reason::Untrusted, text));
    if signers.is_empty() {
        return Ok(());
    }
    let Some(signature) = &manifest.signature else {
        return untrusted("not signed, and this host takes only what is signed");
    };
    // Checked before the signature, whose verification is expensive: a manifest that names no trusted key must not cause that work.
    if !signers.contains(&signature.key) {
        return untrusted(&format!("signed with a key that this host does not trust, {}", signature.key.emit()));
    }
    match manifest.signer() {
        Ok(_) => Ok(()),
        Err(error) => untrusted(&error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ObjectName, SigningKey};

    #[test]
    fn one_of_the_keys_must_have_signed_it_if_there_are_any() {
        let key = |n| SigningKey::from_seed(&[n; 32]);
        let name = ObjectName::new("object").expect("a name");
        let unsigned = Manifest { hash: [1; 32], size: 2, name, signature: None };
        let signed = |by: &SigningKey| {
            let mut manifest = unsigned.clone();
            manifest.sign(by);
            manifest
        };
        let changed = Manifest { size: 3, ..signed(&key(1)) };
        let said = |manifest: &Manifest, signers: &[PublicKey]| {
            check(manifest, signers).err().map(|refusal| {
                assert_eq!(refusal.reason, Reason::Untrusted);
                refusal.text().to_owned()
            })
        };
        for manifest in [&unsigned, &signed(&key(1)), &changed] {
            assert_eq!(said(manifest, &[]), None, "nobody needs to sign");
        }
        let trusted = [key(1).public(), key(2).public()];
        for n in [1, 2] {
            assert_eq!(said(&signed(&key(n)), &trusted), None);
        }
        let other = key(3).public().emit();
        for (manifest, expected) in [
            (&unsigned, "not signed, and this host takes only what is signed"),
            (&signed(&key(3)), &*format!("signed with a key that this host does not trust, {other}")),
            (&changed, "the signature does not match the manifest"),
        ] {
            assert_eq!(said(manifest, &trusted).as_deref(), Some(expected));
        }
    }
}
