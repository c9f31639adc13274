//! The object of a session, and where its blocks belong.

use anabranch_transport::scdp::{Layout, Options};

use crate::Manifest;
use crate::hash_tree::SPAN;
use crate::limits::Limits;
use crate::wire::{Object as Wanted, Parameters};

/// An object that this host may receive, and how it is cut into symbols.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) manifest: Manifest,
    pub(super) options: Options,
}

impl Found {
    /// The announcement of a server that was asked for an object, for all lanes and with no larger window.
    ///
    /// # Errors
    ///
    /// The reason for refusing it: it is not what was asked for, or this host cannot receive it.
    pub(super) fn announced(
        manifest: Manifest,
        parameters: &Parameters,
        wanted: &Wanted,
        window: u32,
        lanes: usize,
        limits: &Limits,
    ) -> Result<Self, String> {
        let asked_for = match wanted {
            Wanted::Hash(hash) => manifest.hash == *hash,
            Wanted::Name(name) => manifest.name == *name,
        };
        if !asked_for || u32::from(parameters.window) > window || usize::from(parameters.lanes) != lanes {
            return Err("its answer makes no sense".to_owned());
        }
        let options = limits.check(&manifest, parameters).map_err(|refusal| refusal.text().to_owned())?;
        Ok(Self { manifest, options })
    }

    /// Whether another server has the same object, cut in the same way. It may send more or fewer symbols unasked.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        let same = self.manifest.hash == other.manifest.hash && self.manifest.size == other.manifest.size;
        same && self.options == Options { window: self.options.window, ..other.options }
    }

    /// The first block to receive, and the offset from which bytes are handed over, if the first `bytes` bytes are already here: a span can only be
    /// checked as a whole.
    pub(super) fn first_block(&self, bytes: u64) -> (u32, u64) {
        let (layout, symbol) = (self.layout(), u64::from(self.options.symbol_bytes));
        let known = bytes.min(self.manifest.size.saturating_sub(1));
        let from = known / SPAN * SPAN;
        (layout.blocks_before(from / symbol), from)
    }

    /// How many blocks it has.
    pub(super) fn blocks(&self) -> u32 {
        self.layout().blocks
    }

    fn layout(&self) -> Layout {
        Layout::from_options(&self.options).expect("checked when they came")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ObjectName;
    use anabranch_transport::scdp::Mode;

    const LIMITS: Limits = Limits { object: 1 << 30, session: 64 << 20, symbol: 1420 };

    fn found(size: u64, mode: Mode) -> Found {
        let name = ObjectName::new("object").expect("a name");
        let parameters = Parameters { symbol_bytes: 100, block_symbols: 100, window: 32, lanes: 1, mode };
        let manifest = Manifest { hash: [1; 32], size, name: name.clone(), signature: None };
        Found::announced(manifest, &parameters, &Wanted::Name(name), 32, 1, &LIMITS).expect("what was asked for")
    }

    #[test]
    fn an_object_goes_on_from_the_span_that_is_not_whole() {
        let size = 10 * SPAN + 77;
        let object = found(size, Mode::ManyToOne);
        for bytes in (0..2 * size).step_by(997).chain([SPAN - 1, SPAN, 10 * SPAN, size, u64::MAX]) {
            let (block, from) = object.first_block(bytes);
            assert!(from.is_multiple_of(SPAN) && from <= bytes && from < size, "{bytes}");
            assert!(bytes.min(size) - from <= SPAN, "{bytes}");
            let layout = object.layout();
            assert!(layout.symbols_before(block) * 100 <= from && from < layout.symbols_before(block + 1) * 100);
        }
        assert_eq!(found(size, Mode::OneToMany).first_block(5 * SPAN), object.first_block(5 * SPAN));
        assert_eq!(found(0, Mode::Unicast).first_block(0), (0, 0));
    }
}
