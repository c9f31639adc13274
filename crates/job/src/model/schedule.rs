//! What a stage of a pipeline does when.

/// A pass of a microbatch through the layers of a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pass {
    /// Forward.
    Forward(u32),
    /// Backward.
    Backward(u32),
}

/// The passes of a stage in order: forward until the next stage has something to give back, then in turn, then backward (1F1B: Narayanan et
/// al., SC 2021, §2.2).
pub(super) fn one_forward_one_backward(stage: u32, stages: u32, microbatches: u32) -> Vec<Pass> {
    let ahead = (stages - 1 - stage).min(microbatches);
    let mut passes: Vec<Pass> = (0..ahead).map(Pass::Forward).collect();
    for next in ahead..microbatches {
        passes.extend([Pass::Forward(next), Pass::Backward(next - ahead)]);
    }
    passes.extend((microbatches - ahead..microbatches).map(Pass::Backward));
    passes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_stage_alternates_and_the_first_is_ahead_by_all_others() {
        use Pass::{Backward as B, Forward as F};
        assert_eq!(one_forward_one_backward(3, 4, 3), [F(0), B(0), F(1), B(1), F(2), B(2)]);
        assert_eq!(one_forward_one_backward(2, 4, 3), [F(0), F(1), B(0), F(2), B(1), B(2)]);
        assert_eq!(one_forward_one_backward(0, 4, 2), [F(0), F(1), B(0), B(1)]);
    }
}
