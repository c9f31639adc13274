//! Parameters of pFabric, where they differ from TCP's.

use super::{Algorithm, TcpConfig};
use crate::config::ConfigError;
use crate::units::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of pFabric (SIGCOMM 2013). They belong to the fabric: the defaults are those of the paper's, with links of 10 Gbps and
/// round trips of 14.6 us.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PfabricConfig {
    /// Window with which a flow begins, in segments: the bandwidth-delay product, 1 to 1000. Default 12.
    pub initial_window: u32,
    /// Retransmission timeout, always the same: about three round trips, above 0. Default 45 us.
    pub rto: Duration,
    /// Timeouts without progress after which a flow sends one byte at a time until something arrives: 1 to 255. Default 5.
    pub probe_after: u8,
}

impl Default for PfabricConfig {
    fn default() -> Self {
        Self { initial_window: 12, rto: Duration::from_us(45), probe_after: 5 }
    }
}

impl PfabricConfig {
    /// Checks ranges.
    ///
    /// # Errors
    /// The first value that cannot work.
    pub fn validate(&self) -> Result<(), ConfigError> {
        let check = |good: bool, field: &'static str, problem: String| {
            if good { Ok(()) } else { Err(ConfigError { field, problem }) }
        };
        let window = self.initial_window;
        check((1..=1000).contains(&window), "initial_window", format!("{window} segments; must be 1 to 1000"))?;
        check(self.rto > Duration::ZERO, "rto", "must be above 0".into())?;
        check(self.probe_after >= 1, "probe_after", "must be at least 1".into())
    }

    /// TCP as pFabric has it: what these parameters do not say is as in `tcp`. Selective ACKs tell what need not be repeated, and
    /// SYNs, which have the same timeout and priority over all data, are repeated often.
    #[must_use]
    pub fn over(&self, tcp: &TcpConfig) -> TcpConfig {
        TcpConfig {
            congestion: Algorithm::Pfabric,
            initial_window: self.initial_window,
            rto_min: self.rto,
            rto_initial: self.rto,
            rto_max: self.rto,
            syn_timeout: None,
            sack: true,
            retries: u8::MAX,
            probe_after: self.probe_after,
            ..tcp.clone()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_timeout_never_changes() {
        let tcp = PfabricConfig::default().over(&TcpConfig::default());
        assert_eq!(tcp.validate(), Ok(()));
        assert_eq!([tcp.rto_min, tcp.rto_initial, tcp.rto_max], [Duration::from_us(45); 3]);
        let field = |config: PfabricConfig| config.validate().err().map(|e| e.field);
        let base = PfabricConfig::default;
        assert_eq!(field(base()), None);
        assert_eq!(field(PfabricConfig { initial_window: 0, ..base() }), Some("initial_window"));
        assert_eq!(field(PfabricConfig { rto: Duration::ZERO, ..base() }), Some("rto"));
        assert_eq!(field(PfabricConfig { probe_after: 0, ..base() }), Some("probe_after"));
    }
}
