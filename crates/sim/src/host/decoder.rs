//! A model of SCDP's decoder, for symbols that carry no bytes: how long a block takes, and how likely a decoding fails.

use super::decode_table::DecodeTable;
use crate::random::uniform;
use anabranch_transport::scdp::{BlockDecoder, Collected, Decode, mix};
use anabranch_transport::{Bytes, ConfigError, Duration, Rate, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use smallvec::{SmallVec, smallvec};
use std::sync::Arc;

/// Most cores that decode the blocks of a session.
const MOST_CORES: u32 = 1024;

/// Parameters of the model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct DecodeModel {
    /// Probability that decoding fails with K, K + 1, K + 2 ... symbols, each 0 to 1; beyond the list each further symbol
    /// divides it by 100. SCDP §II, RFC 6330: 1e-2, 1e-4, 1e-6.
    pub failure_probability: Vec<f64>,
    /// Rate at which a block is decoded, if neither table nor polynomial is given. SCDP §V-C: roughly 1.3 Gbps.
    pub decode_rate: Rate,
    /// Decode latencies by number of source symbols, increasing; interpolated, and in proportion to K beyond them. Rows like
    /// `{ symbols = 100, latency = "50us" }`; or a file that `anabranch codec bench --latency-table` wrote, of which the
    /// slowest loss counts for each K; or `"measured"`, such a table of this project's own codec.
    pub decode_table: DecodeTable,
    /// Coefficients of the decode latency in microseconds as a polynomial of K, constant first.
    pub decode_polynomial: Vec<f64>,
    /// Processor cores that decode the blocks of a session, 1 to 1024: each decodes one block at a time, as fast as the keys above say. Default: 1.
    #[serde(skip_serializing_if = "is_one")]
    pub decode_cores: u32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
fn is_one(cores: &u32) -> bool {
    *cores == 1
}

impl Default for DecodeModel {
    fn default() -> Self {
        Self {
            failure_probability: vec![1e-2, 1e-4, 1e-6],
            decode_rate: Rate::from_mbps(1300),
            decode_table: DecodeTable::default(),
            decode_polynomial: Vec::new(),
            decode_cores: 1,
        }
    }
}

impl DecodeModel {
    /// Checks every range.
    ///
    /// # Errors
    /// The first field that is out of range.
    pub fn validate(&self) -> Result<(), ConfigError> {
        let error = |field, problem: String| Err(ConfigError { field, problem });
        if let Some(p) = self.failure_probability.iter().find(|p| !(0.0..=1.0).contains(*p)) {
            return error("failure_probability", format!("{p} is not a probability"));
        }
        if self.failure_probability.last().is_some_and(|&p| p > 0.5) {
            return error(
                "failure_probability",
                "the last must be at most 0.5, or decoding might never succeed".into(),
            );
        }
        if self.decode_rate.bps() == 0 {
            return error("decode_rate", "must be above 0".into());
        }
        if self.decode_table.is_given() && !self.decode_polynomial.is_empty() {
            return error("decode_polynomial", "give a table or a polynomial, not both".into());
        }
        if let Some(problem) = self.decode_table.problem() {
            return error("decode_table", problem);
        }
        if self.decode_polynomial.iter().any(|c| !c.is_finite()) {
            return error("decode_polynomial", "coefficients must be finite".into());
        }
        if !(1..=MOST_CORES).contains(&self.decode_cores) {
            return error("decode_cores", format!("{} is not from 1 to {MOST_CORES}", self.decode_cores));
        }
        Ok(())
    }

    /// Time to decode a block of `k` source symbols of this size.
    pub fn latency(&self, k: u32, symbol: Bytes) -> Duration {
        if let Some(latency) = self.decode_table.latency(k) {
            return latency;
        }
        if !self.decode_polynomial.is_empty() {
            let x = f64::from(k);
            let us = self.decode_polynomial.iter().rev().fold(0.0, |sum, c| sum * x + c);
            return Duration((us.max(0.0) * 1e6) as u64);
        }
        self.decode_rate.transmit_time(u64::from(k) * symbol.0)
    }

    /// Probability that decoding fails with `extra` symbols beyond K.
    fn failure_probability(&self, extra: u32) -> f64 {
        if let Some(&p) = self.failure_probability.get(extra as usize) {
            return p;
        }
        let beyond = extra as usize + 1 - self.failure_probability.len();
        let last = self.failure_probability.last().copied().unwrap_or(0.0);
        (0..beyond.min(150)).fold(last, |p, _| p / 100.0)
    }
}

/// The decoder of one receiver: each of its cores decodes one block after the other.
#[derive(Debug)]
pub(super) struct ModelDecoder {
    model: Arc<DecodeModel>,
    symbol: Bytes,
    seed: u64,
    /// When each core has decoded all that it was given.
    free: SmallVec<[Time; 1]>,
}

impl ModelDecoder {
    /// For symbols of this size. Which decodings fail is a pure function of `seed`, the block and the symbols received.
    pub(super) fn new(model: Arc<DecodeModel>, symbol: Bytes, seed: u64) -> Self {
        let free = smallvec![Time::ZERO; model.decode_cores as usize];
        Self { model, symbol, seed, free }
    }
}

impl BlockDecoder for ModelDecoder {
    fn try_decode(&mut self, now: Time, block: Collected) -> Decode {
        let Collected { block, source_symbols, received } = block;
        let draw = mix(self.seed ^ mix(u64::from(block) << 32 | u64::from(received)));
        if uniform(draw) < self.model.failure_probability(received - source_symbols) {
            return Decode::NeedsMore;
        }
        let at = |core: Time| core.max(now) + self.model.latency(source_symbols, self.symbol);
        // The first core that is free; a model has one at least.
        let Some(core) = self.free.iter_mut().min() else { return Decode::Decoded { at: at(now) } };
        *core = at(*core);
        Decode::Decoded { at: *core }
    }
}

#[cfg(test)]
mod tests {
    use super::super::decode_table::DecodeLatency;
    use super::*;

    #[test]
    fn defaults_are_valid_and_faults_are_named() {
        assert_eq!(DecodeModel::default().validate(), Ok(()));
        let field = |change: fn(&mut DecodeModel)| {
            let mut model = DecodeModel::default();
            change(&mut model);
            model.validate().expect_err("out of range").field
        };
        assert_eq!(field(|m| m.failure_probability = vec![1.5]), "failure_probability");
        assert_eq!(field(|m| m.failure_probability = vec![0.1, 0.6]), "failure_probability");
        assert_eq!(field(|m| m.decode_rate = Rate(0)), "decode_rate");
        assert_eq!(field(|m| m.decode_polynomial = vec![f64::NAN]), "decode_polynomial");
        assert_eq!(field(|m| m.decode_cores = 0), "decode_cores");
        assert_eq!(field(|m| m.decode_cores = 1025), "decode_cores");
    }

    #[test]
    fn each_core_decodes_one_block_at_a_time() {
        let model = DecodeModel {
            failure_probability: vec![0.0],
            decode_polynomial: vec![10.0],
            decode_cores: 3,
            ..DecodeModel::default()
        };
        let mut decoder = ModelDecoder::new(Arc::new(model), Bytes(1000), 7);
        let mut at = |now_us, block| {
            let block = Collected { block, source_symbols: 10, received: 10 };
            decoder.try_decode(Time::ZERO + Duration::from_us(now_us), block)
        };
        let decoded = |us| Decode::Decoded { at: Time::ZERO + Duration::from_us(us) };
        assert_eq!(
            [0, 1, 2, 3].map(|now| at(now, now as u32)),
            [10, 11, 12, 20].map(decoded),
            "the fourth waits for the first"
        );
        assert_eq!(at(100, 4), decoded(110), "what nobody used is not saved up");
    }

    #[test]
    fn latency_by_rate_table_and_polynomial() {
        let mut m = DecodeModel::default();
        let latency = |m: &DecodeModel, k| m.latency(k, Bytes(1436));
        assert_eq!(latency(&m, 100), m.decode_rate.transmit_time(143_600));
        m.decode_table = vec![DecodeLatency { symbols: 50, latency: Duration::from_us(40) }].into();
        assert_eq!(latency(&m, 100), Duration::from_us(80));
        m.decode_table = DecodeTable::default();
        m.decode_polynomial = vec![1.0, 0.5, 0.01];
        assert_eq!(latency(&m, 10), Duration::from_us(7));
    }

    #[test]
    fn failure_falls_by_a_hundred_with_each_symbol() {
        let m = DecodeModel::default();
        assert!((m.failure_probability(0) - 1e-2).abs() < 1e-12);
        assert!((m.failure_probability(4) - 1e-10).abs() < 1e-16);
    }

    #[test]
    fn decodings_fail_as_often_as_the_model_says_and_one_waits_for_the_other() {
        let model = Arc::new(DecodeModel { failure_probability: vec![0.2, 0.0], ..DecodeModel::default() });
        let latency = model.latency(10, Bytes(1000));
        let mut decoder = ModelDecoder::new(model, Bytes(1000), 7);
        let tries = 10_000;
        let failed = (0..tries).filter(|&block| {
            let block = Collected { block, source_symbols: 10, received: 10 };
            decoder.try_decode(Time::ZERO, block) == Decode::NeedsMore
        });
        let failed = failed.count() as u64;
        assert!((1_800..2_200).contains(&failed), "{failed} of {tries}");
        let last = decoder.try_decode(Time::ZERO, Collected { block: 0, source_symbols: 10, received: 11 });
        assert_eq!(last, Decode::Decoded { at: Time::ZERO + latency * (u64::from(tries) - failed + 1) });
    }
}
