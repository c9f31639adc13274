//! `transport.window`: where windows come from.

use crate::text::text_setting;
use std::fmt;
use std::str::FromStr;

/// Where windows come from: `"given"`, `"bdp"`, or a multiple of it such as `"2 bdp"`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WindowRule {
    /// From each transport's own keys.
    #[default]
    Given,
    /// So many thousandths of the bandwidth-delay product of the fabric's longest path.
    Bdp(u32),
}

impl FromStr for WindowRule {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let trimmed = text.trim();
        if trimmed == "given" {
            return Ok(Self::Given);
        }
        let factor = trimmed.strip_suffix("bdp").map(str::trim);
        let factor = factor.and_then(|factor| if factor.is_empty() { Some(1.0) } else { factor.parse::<f64>().ok() });
        match factor {
            Some(factor) if (0.001..=1000.0).contains(&factor) => Ok(Self::Bdp((factor * 1000.0).round() as u32)),
            Some(factor) => Err(format!("{text:?} is not a window: {factor} is not from 0.001 to 1000")),
            None => Err(format!("{text:?} is not a window: write it like \"given\", \"bdp\" or \"2 bdp\"")),
        }
    }
}

impl fmt::Display for WindowRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Given => f.write_str("given"),
            Self::Bdp(1000) => f.write_str("bdp"),
            Self::Bdp(thousandths) => write!(f, "{} bdp", f64::from(thousandths) / 1000.0),
        }
    }
}

text_setting!(
    WindowRule,
    ["given", "bdp", "2 bdp"],
    r"^(given|([0-9]+(\.[0-9]+)? *)?bdp)$",
    "where windows come from, for example bdp"
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_read_back() {
        for text in ["given", "bdp", "2 bdp", "0.5 bdp"] {
            assert_eq!(text.parse::<WindowRule>().map(|rule| rule.to_string()).as_deref(), Ok(text));
        }
        assert_eq!(" 1.5bdp ".parse(), Ok(WindowRule::Bdp(1500)));
        for text in ["", "12", "0 bdp", "-1 bdp", "1001 bdp", "nan bdp", "bdp 2", "BDP"] {
            assert!(text.parse::<WindowRule>().is_err_and(|e| e.contains("is not a window")), "{text:?}");
        }
    }
}
