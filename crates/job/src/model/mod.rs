//! A training step of a transformer, from its shape: what its ranks compute, and what they send.
//!
//! | what | who | how much |
//! |---|---|---|
//! | all-gather before and reduce-scatter after each half of a layer (Megatron's sequence parallelism) | tensor-parallel groups | `2 s h` |
//! | activations forward, their gradients backward | a rank and that of the next stage | `2 s h / tensor` |
//! | all-to-all before and after the experts | `experts.ranks` replicas | `2 s h copies / tensor` |
//! | all-gather of the parameters of a layer before its first use | replicas | 2 bytes a parameter |
//! | reduce-scatter of its gradients after its last use | replicas | `gradient_bytes` a parameter |
//!
//! with `s` tokens of a sequence, which is a microbatch, of `h` values, which have 2 bytes (BF16). The last two go on beside computations, layer
//! after layer, as with Megatron's distributed optimizer and its two overlaps. Stages alternate between forward and backward passes (1F1B,
//! Narayanan et al., SC 2021). A token takes two floating-point operations for each parameter forward, four backward, and attention
//! `2 s h` more for each token, since a token sees those before it only.
//!
//! Ranks are numbered through the tensor-parallel groups, then through the replicas, then through the stages. Not modelled: embeddings and the loss,
//! the optimizer's own computation, recomputed activations, unequal loads of experts.

use crate::collective::Choice;
use crate::error::JobError;
use crate::job::{Job, LONGEST, OPERATIONS_MAX, RANKS_MAX};
use anabranch_transport::{Bytes, Duration};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

mod schedule;
mod step;
#[cfg(test)]
mod tests;

/// Parameters of a layer, and bytes of activations, at most: more make no sense, and would overflow.
const MOST_PARAMETERS: u64 = 1 << 50;
const MOST_BYTES: u64 = 1 << 50;

/// Bytes of a parameter, or of a value of an activation: BF16.
const VALUE: u64 = 2;

/// A training step of a transformer, from its shape.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Model {
    /// Layers, a multiple of `pipeline`.
    #[schemars(range(min = 1))]
    pub layers: u32,
    /// Values that a token has between layers.
    #[schemars(range(min = 1))]
    pub hidden: u32,
    /// Parameters of the attention of a layer.
    pub attention: u64,
    /// Parameters of a layer's feed-forward network that every token uses; of a mixture of experts, of what is shared.
    pub feed_forward: u64,
    /// Experts of each layer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub experts: Option<Experts>,
    /// Tokens of a sequence. A microbatch is one sequence.
    #[schemars(range(min = 1))]
    pub sequence: u32,
    /// Microbatches of a step, for each replica.
    #[schemars(range(min = 1))]
    pub microbatches: u32,
    /// Ranks that divide each layer.
    #[serde(default = "one")]
    #[schemars(range(min = 1))]
    pub tensor: u32,
    /// Stages.
    #[serde(default = "one")]
    #[schemars(range(min = 1))]
    pub pipeline: u32,
    /// Replicas.
    #[serde(default = "one")]
    #[schemars(range(min = 1))]
    pub data: u32,
    /// What a rank computes while it computes, in 10^12 operations a second: above 0, to 1000000.
    pub tflops: f64,
    /// Bytes of a gradient that is summed, 1 to 8. Default 4: FP32.
    #[serde(default = "four")]
    #[schemars(range(min = 1, max = 8))]
    pub gradient_bytes: u32,
}

/// Experts of a layer, of which a token uses some.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Experts {
    /// Consecutive replicas that divide them: `data` is a multiple.
    #[schemars(range(min = 1))]
    pub ranks: u32,
    /// Parameters of all of them.
    pub parameters: u64,
    /// Parameters of those that a token uses.
    pub active: u64,
    /// Ranks to which each token is sent: as many as experts that it uses, or fewer where a rank passes it on to several.
    #[schemars(range(min = 1))]
    pub copies: u32,
    /// Bytes of a value on the way to the experts, 1 to 4. Default 2; FP8 has 1.
    #[serde(default = "two")]
    #[schemars(range(min = 1, max = 4))]
    pub dispatch_bytes: u32,
}

fn one() -> u32 {
    1
}

fn two() -> u32 {
    2
}

fn four() -> u32 {
    4
}

impl Model {
    /// How many ranks it has; at most `u64::MAX`.
    pub fn ranks(&self) -> u64 {
        u64::from(self.tensor).saturating_mul(u64::from(self.pipeline)).saturating_mul(u64::from(self.data))
    }

    /// What is wrong with its parameters: each key, and what was expected of it.
    pub fn check(&self) -> Vec<(&'static str, String)> {
        let mut faults = Vec::new();
        let above_zero = [
            ("layers", self.layers),
            ("hidden", self.hidden),
            ("sequence", self.sequence),
            ("microbatches", self.microbatches),
            ("tensor", self.tensor),
            ("pipeline", self.pipeline),
            ("data", self.data),
        ];
        let zero = above_zero.iter().filter(|(_, value)| *value == 0);
        faults.extend(zero.map(|(key, _)| (*key, "must be at least 1".to_owned())));
        if !(self.tflops > 0.0 && self.tflops <= 1e6) {
            faults.push(("tflops", format!("must be above 0, to 1000000, not {}", self.tflops)));
        }
        if !(1..=8).contains(&self.gradient_bytes) {
            faults.push(("gradient_bytes", format!("must be from 1 to 8, not {}", self.gradient_bytes)));
        }
        if let Some(experts) = &self.experts {
            if experts.ranks == 0 || experts.copies == 0 {
                faults.push(("experts", "`ranks` and `copies` must be at least 1".to_owned()));
            }
            if !(1..=4).contains(&experts.dispatch_bytes) {
                faults
                    .push(("experts", format!("`dispatch_bytes` must be from 1 to 4, not {}", experts.dispatch_bytes)));
            }
            if experts.active > experts.parameters {
                let (active, all) = (experts.active, experts.parameters);
                faults.push(("experts", format!("a token uses {active} of {all} parameters: more than there are")));
            }
        }
        if faults.is_empty() {
            faults.extend(self.check_division());
        }
        faults
    }

    /// What is wrong with how ranks divide it.
    fn check_division(&self) -> Option<(&'static str, String)> {
        let (layers, stages, data) = (self.layers, self.pipeline, self.data);
        if !layers.is_multiple_of(stages) {
            return Some(("pipeline", format!("{layers} layers are no multiple of {stages} stages")));
        }
        if let Some(experts) = self.experts.as_ref().filter(|experts| !data.is_multiple_of(experts.ranks)) {
            return Some((
                "experts",
                format!("{data} replicas are no multiple of {} that divide the experts", experts.ranks),
            ));
        }
        if self.ranks() < 2 || self.ranks() > u64::from(RANKS_MAX) {
            return Some(("", format!("has {} ranks, of 2 to {RANKS_MAX}", self.ranks())));
        }
        // Three passes of each layer (forward; backward counts twice), for each microbatch, on each rank that has the layer.
        let computations = 3 * u128::from(layers / stages) * u128::from(self.microbatches) * u128::from(self.ranks());
        if computations > u128::from(OPERATIONS_MAX) {
            return Some((
                "",
                format!("{computations} computations are too many: fewer layers, microbatches or ranks"),
            ));
        }
        // So that nothing below overflows.
        let experts = self.experts.as_ref();
        let largest = self.attention.max(self.feed_forward).max(experts.map_or(0, |experts| experts.parameters));
        if largest > MOST_PARAMETERS {
            return Some(("", format!("a layer of {largest} parameters: 2^50 at most")));
        }
        let values = u128::from(self.sequence) * u128::from(self.hidden);
        let bytes = values * u128::from(experts.map_or(1, |experts| experts.copies)) * 4;
        if bytes > u128::from(MOST_BYTES) {
            return Some(("", format!("activations of up to {bytes} B: 1 PiB at most")));
        }
        let active = experts.map_or(0, |experts| experts.active);
        let longest = self.attends().max(self.computes(self.feed_forward.max(active), 0.0));
        (longest > LONGEST).then(|| ("tflops", format!("a computation of a layer takes {longest}: more than a day")))
    }

    /// The operations of a step. `choice`: which algorithm does each collective.
    ///
    /// # Errors
    /// As [`Self::check`], or if an algorithm cannot do a collective, or there would be too many operations.
    pub fn job(&self, choice: &Choice) -> Result<Job, JobError> {
        if let Some((key, message)) = self.check().first() {
            let message = if key.is_empty() { message.clone() } else { format!("{key}: {message}") };
            return Err(JobError::at(0, message));
        }
        step::job(self, choice)
    }

    /// The activations of a microbatch.
    fn activations(&self) -> Bytes {
        Bytes(VALUE * u64::from(self.sequence) * u64::from(self.hidden))
    }

    /// What a rank has for the experts, or gets back from them, its own share included.
    fn tokens(&self, copies: u32, bytes: u32) -> Bytes {
        let values = u64::from(self.sequence) * u64::from(self.hidden) / u64::from(self.tensor);
        Bytes(values * u64::from(copies) * u64::from(bytes))
    }

    /// Parameters of a layer that a rank has: those that all tokens use, and those of experts.
    fn parameters(&self) -> (u64, u64) {
        let tensor = u64::from(self.tensor);
        let of_experts = |experts: &Experts| experts.parameters / u64::from(experts.ranks) / tensor;
        ((self.attention + self.feed_forward) / tensor, self.experts.as_ref().map_or(0, of_experts))
    }

    /// How long a rank computes for a microbatch and so many parameters of a layer, forward; `more` operations for each token come on top.
    fn computes(&self, parameters: u64, more: f64) -> Duration {
        let operations = (2.0 * parameters as f64 + more) * f64::from(self.sequence) / f64::from(self.tensor);
        Duration((operations / self.tflops) as u64)
    }

    /// The same of attention.
    fn attends(&self) -> Duration {
        self.computes(self.attention, 2.0 * f64::from(self.sequence) * f64::from(self.hidden))
    }
}
