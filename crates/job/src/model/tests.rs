use super::*;
use crate::idle::{Alone, times};
use crate::job::{Action, Peers};
use crate::settings::Settings;
use anabranch_transport::Time;
use proptest::prelude::*;
use std::sync::Arc;

/// Llama 3 405B (arXiv 2407.21783): 126 layers of which there are 2 here; 128 heads, 8 of them for keys and values.
fn llama() -> Model {
    let hidden = 16_384;
    Model {
        layers: 2,
        hidden: hidden as u32,
        attention: 2 * hidden * hidden + 2 * hidden * hidden / 16,
        feed_forward: 3 * hidden * 53_248,
        experts: None,
        sequence: 8192,
        microbatches: 1,
        tensor: 8,
        pipeline: 2,
        data: 2,
        tflops: 400.0,
        gradient_bytes: 4,
    }
}

/// Bytes that a rank sends to ranks which another function of both tells.
fn sent(job: &Job, from: u32, to: impl Fn(u32) -> bool) -> u64 {
    let bytes = |operation: &crate::Operation| match operation.action {
        Action::Send { to: Peers::One(peer), bytes, .. } if operation.rank == from && to(peer) => bytes.0,
        _ => 0,
    };
    job.operations().iter().map(bytes).sum()
}

/// When the last rank of a job ends if messages cost nothing.
fn without_network(model: &Model) -> u64 {
    let job = Arc::new(model.job(&Choice::default()).unwrap());
    let free = Alone { wire: Duration::ZERO, takes: Duration::ZERO };
    times(&job, Settings::default(), Time::ZERO, |_, _| free).iter().filter_map(|rank| rank.ended).max().unwrap().ps()
}

#[test]
fn bytes_of_a_dense_model_are_those_of_its_shape() {
    const MIB: u64 = 1 << 20;
    let model = llama();
    let job = model.job(&Choice::default()).unwrap();
    assert_eq!(job.ranks(), 32);
    // Of a tensor of 256 MiB each rank sends 7/8, four times forward and four times backward.
    assert_eq!(sent(&job, 0, |to| to < 8), 8 * 256 * MIB * 7 / 8);
    // Activations of 32 MiB to the next stage, and the gradients back.
    assert_eq!((sent(&job, 0, |to| to == 16), sent(&job, 16, |to| to == 0)), (32 * MIB, 32 * MIB));
    // The other replica: half of the parameters that a rank has, in 2 bytes forward and in 4 backward.
    let parameters = (model.attention + model.feed_forward) / 8;
    assert_eq!(sent(&job, 0, |to| to == 8), parameters / 2 * 6);
}

#[test]
fn tokens_of_experts_are_those_of_the_shape() {
    const MIB: u64 = 1 << 20;
    // Mixtral 8x7B: a token of 4096 values goes to 2 of 8 experts.
    let experts =
        Experts { ranks: 8, parameters: 8 * 176_160_768, active: 2 * 176_160_768, copies: 2, dispatch_bytes: 2 };
    let model = Model {
        layers: 1,
        hidden: 4096,
        attention: 41_943_040,
        feed_forward: 0,
        experts: Some(experts),
        sequence: 4096,
        tensor: 1,
        pipeline: 1,
        data: 8,
        ..llama()
    };
    let job = model.job(&Choice::default()).unwrap();
    // To and from the experts, forward and backward, 7/8 of 64 MiB each; and the parameters and gradients of attention. Experts have one replica.
    assert_eq!(sent(&job, 0, |_| true), 4 * 64 * MIB * 7 / 8 + 41_943_040 * 6 * 7 / 8);
}

/// A pipeline of `p` stages takes as long as `m + p - 1` microbatches.
#[test]
fn a_pipeline_that_costs_nothing_takes_its_closed_form() {
    for (stages, microbatches) in [(2, 1), (2, 8), (4, 3), (4, 8)] {
        let model = Model { layers: 4, tensor: 1, data: 1, pipeline: stages, microbatches, ..llama() };
        let layer = model.attends().ps() + model.computes(model.feed_forward, 0.0).ps();
        let microbatch = 3 * layer * u64::from(4 / stages);
        assert_eq!(without_network(&model), u64::from(microbatches + stages - 1) * microbatch);
    }
    // 6 operations for each parameter and token, and attention.
    let model = Model { tensor: 1, data: 1, pipeline: 2, layers: 2, ..llama() };
    let parameters = 2.0 * (model.attention + model.feed_forward) as f64;
    let expected = (6.0 * parameters + 2.0 * 6.0 * 8192.0 * 16_384.0) * 8192.0 / 400.0;
    let takes = without_network(&model) as f64;
    assert!((takes / expected - 1.0).abs() < 1e-6, "{takes} of {expected}");
}

#[test]
fn faults_name_their_key() {
    let fault = |model: Model| model.check().first().map(|(key, message)| format!("{key}: {message}")).unwrap();
    assert_eq!(fault(Model { layers: 3, ..llama() }), "pipeline: 3 layers are no multiple of 2 stages");
    assert_eq!(fault(Model { data: 0, ..llama() }), "data: must be at least 1");
    assert_eq!(fault(Model { tflops: f64::NAN, ..llama() }), "tflops: must be above 0, to 1000000, not NaN");
    assert_eq!(fault(Model { tensor: 1, pipeline: 1, data: 1, ..llama() }), ": has 1 ranks, of 2 to 16777216");
    let experts = Experts { ranks: 3, parameters: 9, active: 1, copies: 1, dispatch_bytes: 2 };
    assert_eq!(
        fault(Model { experts: Some(experts), ..llama() }),
        "experts: 2 replicas are no multiple of 3 that divide the experts"
    );
    let many = fault(Model { microbatches: u32::MAX, ..llama() });
    assert!(many.ends_with("computations are too many: fewer layers, microbatches or ranks"), "{many}");
}

proptest! {
    /// Nothing overflows, whatever the numbers are: what is not refused is small enough to be a job, or has too many operations.
    #[test]
    fn numbers_of_any_size_are_refused_or_taken(
        numbers in prop::array::uniform7(prop::sample::select(vec![0, 1, 2, 64, 70_000, u32::MAX])),
        parameters in prop::array::uniform4(prop::sample::select(vec![0, 1000, 1 << 50, u64::MAX])),
        tflops in prop::sample::select(vec![f64::MIN_POSITIVE, 1e-9, 500.0, 1e6]),
        with_experts in any::<bool>(),
    ) {
        let [hidden, sequence, microbatches, tensor, pipeline, data, copies] = numbers;
        let [attention, feed_forward, all, active] = parameters;
        let experts = Experts { ranks: data.clamp(1, 2), parameters: all, active, copies, dispatch_bytes: 4 };
        let model = Model {
            layers: pipeline, hidden, sequence, microbatches, tensor, pipeline, data, attention, feed_forward, tflops,
            experts: with_experts.then_some(experts), gradient_bytes: 8,
        };
        let faults = model.check();
        if faults.is_empty() && model.ranks() <= 256 {
            let _ = model.job(&Choice::default());
        } else {
            prop_assert!(model.ranks() > 256 || model.job(&Choice::default()).is_err());
        }
    }

    #[test]
    fn any_division_is_a_job_that_ends(
        stages in 1_u32..4, layers in 1_u32..3, tensor in 1_u32..4, experts in 0_u32..3, replicas in 1_u32..3, microbatches in 1_u32..5,
    ) {
        let of = Experts { ranks: experts.max(1), parameters: 64, active: 8, copies: 2, dispatch_bytes: 1 };
        let model = Model {
            layers: layers * stages, hidden: 4, attention: 100, feed_forward: 200, sequence: 8, microbatches, tensor, pipeline: stages,
            data: replicas * experts.max(1), experts: (experts > 0).then_some(of), ..llama()
        };
        prop_assume!(model.ranks() > 1);
        prop_assert!(without_network(&model) > 0);
    }
}
