//! How an object is cut and sent: the options of a session without the size, which the manifest has.

use anabranch_transport::scdp::{Layout, MAX_BLOCK_SYMBOLS, Mode, Options};

use super::{Reader, WireError};

/// How an object is cut and sent. The sender decides it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// T: bytes of a symbol, at least 1.
    pub symbol_bytes: u16,
    /// Maximum number of symbols in a block, 1 to 56403 (RFC 6330 §5.1.2).
    pub block_symbols: u16,
    /// Initial window of each sender in symbols, at least 1.
    pub window: u16,
    /// Number of senders, 1 to 256: a symbol's header has 8 bits for its lane.
    pub lanes: u16,
    /// Relation of senders and receivers.
    pub mode: Mode,
}

impl Parameters {
    /// The transport's options for an object of `object_bytes`.
    ///
    /// # Errors
    /// [`WireError::Field`] if a parameter is out of range, or the object has no end or too many blocks.
    pub fn options(&self, object_bytes: u64) -> Result<Options, WireError> {
        let &Self { symbol_bytes, block_symbols, window, lanes, mode } = self;
        if !(1..=256).contains(&lanes) || u32::from(block_symbols) > MAX_BLOCK_SYMBOLS {
            return Err(WireError::Field("options"));
        }
        let options = Options { object_bytes, symbol_bytes, block_symbols, window, lanes, mode };
        let layout = Layout::from_options(&options).filter(|layout| !layout.endless());
        layout.map(|_| options).ok_or(WireError::Field("options"))
    }

    /// The part of a session's options that is not in its manifest.
    pub fn of(options: &Options) -> Self {
        let &Options { symbol_bytes, block_symbols, window, lanes, mode, .. } = options;
        Self { symbol_bytes, block_symbols, window, lanes, mode }
    }

    /// Parses them, for an object of `object_bytes`.
    pub(crate) fn parse(body: &mut Reader<'_>, object_bytes: u64) -> Result<Self, WireError> {
        let (symbol_bytes, block_symbols, window, lanes) = (body.u16()?, body.u16()?, body.u16()?, body.u16()?);
        let mode = match body.u8()? {
            0 => Mode::Unicast,
            1 => Mode::OneToMany,
            2 => Mode::ManyToOne,
            _ => return Err(WireError::Field("mode")),
        };
        let parameters = Self { symbol_bytes, block_symbols, window, lanes, mode };
        parameters.options(object_bytes).map(|_| parameters)
    }

    pub(crate) fn emit(&self, out: &mut Vec<u8>) {
        for field in [self.symbol_bytes, self.block_symbols, self.window, self.lanes] {
            out.extend_from_slice(&field.to_be_bytes());
        }
        out.push(match self.mode {
            Mode::Unicast => 0,
            Mode::OneToMany => 1,
            Mode::ManyToOne => 2,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_out_of_range_are_no_options() {
        let good = Parameters { symbol_bytes: 1400, block_symbols: 100, window: 12, lanes: 256, mode: Mode::ManyToOne };
        let options = good.options(1_000_000).expect("valid");
        assert_eq!((options.object_bytes, Parameters::of(&options)), (1_000_000, good));
        assert!(good.options(0).is_ok());
        for (bad, size) in [
            (Parameters { symbol_bytes: 0, ..good }, 1),
            (Parameters { block_symbols: 0, ..good }, 1),
            (Parameters { block_symbols: 56_404, ..good }, 1),
            (Parameters { window: 0, ..good }, 1),
            (Parameters { lanes: 0, ..good }, 1),
            (Parameters { lanes: 257, ..good }, 1),
            (good, u64::MAX),
            (Parameters { symbol_bytes: 1, block_symbols: 1, ..good }, 1 << 32),
        ] {
            assert_eq!(bad.options(size), Err(WireError::Field("options")), "{bad:?} {size}");
        }
    }
}
