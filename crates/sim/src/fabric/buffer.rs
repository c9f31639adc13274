//! Sizes of buffers: in packets, in bytes, or without limit.

use crate::text::text_setting;
use anabranch_transport::Bytes;
use std::fmt;
use std::str::FromStr;

/// A limit of a queue: `"100 packets"`, `"150KB"`, `"unlimited"`, or `"auto"`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum BufferSize {
    /// By the queue discipline.
    #[default]
    Auto,
    /// No limit.
    Unlimited,
    /// Whole packets, of whatever size.
    Packets(u32),
    /// Bytes.
    Bytes(Bytes),
}

impl FromStr for BufferSize {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let trimmed = text.trim();
        match trimmed {
            "auto" => return Ok(Self::Auto),
            "unlimited" => return Ok(Self::Unlimited),
            _ => {}
        }
        for word in ["packets", "packet"] {
            if let Some(number) = trimmed.strip_suffix(word) {
                let number = number.trim();
                return number.parse().map(Self::Packets).map_err(|_| {
                    format!("{text:?} is not a buffer size: {number:?} is not a whole number of packets")
                });
            }
        }
        trimmed.parse().map(Self::Bytes).map_err(|_| {
            format!(
                "{text:?} is not a buffer size: write it like \"100 packets\", \"150KB\", \"unlimited\" or \"auto\""
            )
        })
    }
}

impl fmt::Display for BufferSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Unlimited => f.write_str("unlimited"),
            Self::Packets(1) => f.write_str("1 packet"),
            Self::Packets(n) => write!(f, "{n} packets"),
            Self::Bytes(n) => write!(f, "{n}"),
        }
    }
}

text_setting!(
    BufferSize,
    ["100 packets", "150KB"],
    r"^(auto|unlimited|[0-9]+ *packets?|[0-9][0-9_]*(\.[0-9]+)? *(B|[kKMGT]B|[KMG]iB))$",
    "a limit of a queue, for example 100 packets or 150KB"
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffer_sizes_read_back() {
        for text in ["auto", "unlimited", "1 packet", "100 packets", "150KB", "1B"] {
            assert_eq!(text.parse::<BufferSize>().unwrap().to_string(), text);
        }
        assert_eq!("8packets".parse(), Ok(BufferSize::Packets(8)));
        assert!("many packets".parse::<BufferSize>().unwrap_err().contains("not a whole number of packets"));
        assert!("100".parse::<BufferSize>().unwrap_err().contains("write it like"));
    }
}
