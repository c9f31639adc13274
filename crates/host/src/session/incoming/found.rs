//! What the object of a session is, and where its blocks belong.

use anabranch_transport::scdp::{Layout, Mode, Options};

use crate::Manifest;
use crate::limits::Limits;
use crate::session::Failure;
use crate::wire::{Object as Wanted, Parameters};

/// An object that this host may receive, and how it is cut into symbols.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) manifest: Manifest,
    pub(super) options: Options,
}

impl Found {
    /// What a server announces that was asked for an object, of all lanes and with no larger window.
    ///
    /// # Errors
    ///
    /// [`Failure::Unacceptable`]: it was not asked for that, or this host cannot take it.
    pub(super) fn announced(
        manifest: Manifest,
        parameters: &Parameters,
        wanted: &Wanted,
        window: u32,
        lanes: usize,
        limits: &Limits,
    ) -> Result<Self, Failure> {
        let asked_for = match wanted {
            Wanted::Hash(hash) => manifest.hash == *hash,
            Wanted::Name(name) => manifest.name == *name,
        };
        if !asked_for || u32::from(parameters.window) > window || usize::from(parameters.lanes) != lanes {
            return Err(Failure::Unacceptable("a server's answer makes no sense".to_owned()));
        }
        let options = limits.check(&manifest, parameters);
        let options = options.map_err(|refusal| Failure::Unacceptable(refusal.text().to_owned()))?;
        Ok(Self { manifest, options })
    }

    /// Whether another server has the same object, cut in the same way.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.manifest.hash == other.manifest.hash && self.options == other.options
    }

    /// The first block to be received, and from which byte on that is, if the first `bytes` are here already.
    pub(super) fn first_block(&self, bytes: u64) -> (u32, u64) {
        let (layout, symbol) = (self.layout(), u64::from(self.options.symbol_bytes));
        // Many receivers go through an object together.
        let together = self.options.mode == Mode::OneToMany;
        let first = if together { 0 } else { layout.blocks_before(bytes / symbol).min(layout.blocks - 1) };
        (first, layout.symbols_before(first) * symbol)
    }

    /// From which byte on the bytes of a block belong, of which those beyond the end of the object are cut off.
    pub(super) fn place(&self, block: u32, bytes: &mut Vec<u8>) -> u64 {
        let offset = self.layout().symbols_before(block) * u64::from(self.options.symbol_bytes);
        let left = self.manifest.size.saturating_sub(offset);
        bytes.truncate(left.min(bytes.len() as u64) as usize);
        offset
    }

    fn layout(&self) -> Layout {
        Layout::from_options(&self.options).expect("checked when they came")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ObjectName;

    const LIMITS: Limits = Limits { object: 1 << 30, session: 64 << 20, symbol: 1420 };

    fn found(size: u64, mode: Mode) -> Found {
        let name = ObjectName::new("object").expect("a name");
        let parameters = Parameters { symbol_bytes: 100, block_symbols: 10, window: 32, lanes: 1, mode };
        let manifest = Manifest { hash: [1; 32], size, name: name.clone(), signature: None };
        Found::announced(manifest, &parameters, &Wanted::Name(name), 32, 1, &LIMITS).expect("what was asked for")
    }

    #[test]
    fn an_object_goes_on_from_the_block_that_is_not_whole() {
        let object = found(3500, Mode::ManyToOne);
        let mut from = 0;
        for bytes in 0..=4000 {
            let (block, offset) = object.first_block(bytes);
            assert!(offset <= bytes && offset >= from, "{bytes}");
            assert_eq!(object.place(block, &mut vec![0; 100]), offset);
            from = offset;
        }
        assert!(from > 2000, "{from}");
        assert_eq!(found(3500, Mode::OneToMany).first_block(3500), (0, 0), "others may need all of it");
    }

    #[test]
    fn blocks_follow_each_other_and_end_with_the_object() {
        for size in [1, 999, 1000, 1001, 12_345] {
            let object = found(size, Mode::Unicast);
            let (layout, mut end) = (object.layout(), 0);
            for block in 0..layout.blocks {
                let mut bytes = vec![0; layout.source_symbols(block) as usize * 100];
                assert_eq!(object.place(block, &mut bytes), end);
                end += bytes.len() as u64;
            }
            assert_eq!(end, size);
        }
        let (empty, mut padding) = (found(0, Mode::Unicast), vec![0]);
        assert_eq!((empty.place(0, &mut padding), padding.len()), (0, 0));
    }
}
