//! Workloads of `SimAI`, as AICB writes them: one text for all ranks (its `astra-sim/workload/Workload.cc`).
//!
//! ```text
//! HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: T ep: E pp: 1 ... all_gpus: N checkpoints: 0 checkpoint_initiates: 0
//! <layers>
//! name -1 <forward: ns COLLECTIVE bytes> <input gradient: ns COLLECTIVE bytes> <weight gradient: ns COLLECTIVE bytes> <update ns>
//! ```
//!
//! A pass goes forward through the layers, computing and then waiting for the collective of each; then backward: the input gradient and
//! its collective, then the weight gradient, whose collective goes on beside what follows. After each collective the update takes its time.
//! Ranks are numbered through the tensor-parallel groups (`T` consecutive ranks), then through the experts, then through data-parallel
//! replicas. Without a suffix a collective is of the tensor-parallel group, for weight gradients of the data-parallel one; `_EP` and
//! `_DP_EP` name others.
//!
//! Refused: pipelines (the text has no peers), checkpoints, and collectives that are no single one.

use crate::builder::Builder;
use crate::collective::{Choice, Collective, add_by_choice};
use crate::division::{Division, Group};
use crate::error::JobError;
use crate::job::{Action, Job, LONGEST_NS, OPERATIONS_MAX, Op, Operation, Place, RANKS_MAX};
use anabranch_transport::{Bytes, Duration};

/// The stream of updates, beside that of the other computations, 0.
const UPDATES: u8 = 1;
/// Words of a layer.
const FIELDS: usize = 12;

/// A computation, and the collective after it.
#[derive(Clone, Copy, Debug)]
struct Phase {
    compute: Duration,
    collective: Option<(Collective, Group, u64)>,
}

/// Forward, input gradient, weight gradient; then the update.
struct Layer {
    phases: [Phase; 3],
    update: Duration,
}

pub(super) fn read(text: &str, ranks: Option<u32>, choice: &Choice) -> Result<Job, JobError> {
    let mut lines = (1..).zip(text.lines());
    let (_, header) = lines.next().ok_or_else(|| JobError::at(0, "is empty"))?;
    let division = division(header, ranks).map_err(|message| JobError::at(1, message))?;
    let (_, count) = lines.next().ok_or_else(|| JobError::at(0, "the number of layers is missing"))?;
    let count: usize = number(count.trim()).map_err(|message| JobError::at(2, message))? as usize;
    let mut layers = Vec::new();
    for (at, line) in lines {
        let words: Vec<&str> = line.split_whitespace().collect();
        if words.is_empty() {
            continue;
        }
        layers.push(layer(&words).map_err(|message| JobError::at(at, message))?);
    }
    if layers.len() != count {
        return Err(JobError::at(2, format!("says {count} layers, but the file has {}", layers.len())));
    }
    Pass { job: Builder::new(division.ranks), division, choice }.run(&layers)
}

/// The header.
fn division(header: &str, ranks: Option<u32>) -> Result<Division, String> {
    let words: Vec<&str> = header.split_whitespace().collect();
    if words.first() != Some(&"HYBRID_TRANSFORMER_FWD_IN_BCKWD") {
        let found = words.first().unwrap_or(&"nothing");
        return Err(format!(
            "expected HYBRID_TRANSFORMER_FWD_IN_BCKWD, found {found}: no other order of layers is supported"
        ));
    }
    let value = |key: &str| -> Result<Option<u64>, String> {
        let place = words.iter().position(|word| word.trim_end_matches(':') == key);
        place.map(|place| number(words.get(place + 1).unwrap_or(&""))).transpose()
    };
    for key in ["checkpoints", "checkpoint_initiates"] {
        if value(key)?.is_some_and(|count| count > 0) {
            return Err(format!("`{key}` are not supported"));
        }
    }
    if let Some(stages) = value("pp")?.filter(|&stages| stages > 1) {
        return Err(format!("a pipeline of {stages} stages: the text does not say who sends to whom"));
    }
    let tensor = value("model_parallel_NPU_group")?.ok_or("`model_parallel_NPU_group:` is missing")?;
    let expert = value("ep")?.unwrap_or(1);
    let all = match (value("all_gpus")?, ranks.map(u64::from)) {
        (Some(says), Some(given)) if says != given => {
            return Err(format!("`all_gpus: {says}`, but {given} ranks are asked for"));
        }
        (Some(all), _) | (None, Some(all)) => all,
        (None, None) => return Err("`all_gpus:` is missing: say how many `ranks` there are".to_owned()),
    };
    let product = tensor.saturating_mul(expert);
    if product == 0 || all == 0 || all % product != 0 {
        return Err(format!(
            "{all} ranks are no multiple of {tensor} in a tensor-parallel group times {expert} experts"
        ));
    }
    let few = |n: u64| match u32::try_from(n) {
        Ok(n) if n <= RANKS_MAX => Ok(n),
        _ => Err(format!("{n} ranks are too many")),
    };
    Ok(Division { ranks: few(all)?, tensor: few(tensor)?, expert: few(expert)? })
}

fn number(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("expected a whole number, found {text:?}"))
}

fn duration(text: &str) -> Result<Duration, String> {
    match number(text)? {
        ns if ns <= LONGEST_NS => Ok(Duration::from_ns(ns)),
        ns => Err(format!("{ns} ns are more than a day")),
    }
}

fn layer(words: &[&str]) -> Result<Layer, String> {
    let [_, _, forward @ .., update] = words else {
        return Err(format!("expected {FIELDS} words, found {}", words.len()));
    };
    if words.len() != FIELDS {
        return Err(format!("expected {FIELDS} words, found {}", words.len()));
    }
    let phase = |n: usize| -> Result<Phase, String> {
        let [compute, collective, bytes] = [0, 1, 2].map(|word| forward[3 * n + word]);
        let own = if n == 2 { Group::Data } else { Group::Tensor };
        let collective =
            self::collective(collective, own)?.map(|(what, group)| number(bytes).map(|bytes| (what, group, bytes)));
        Ok(Phase { compute: duration(compute)?, collective: collective.transpose()? })
    };
    Ok(Layer { phases: [phase(0)?, phase(1)?, phase(2)?], update: duration(update)? })
}

/// A collective by its name, of its own group unless a suffix says another.
fn collective(name: &str, own: Group) -> Result<Option<(Collective, Group)>, String> {
    let (bare, group) = if let Some(bare) = name.strip_suffix("_DP_EP") {
        (bare, Group::DataOfExpert)
    } else if let Some(bare) = name.strip_suffix("_EP") {
        (bare, Group::Expert)
    } else {
        (name, own)
    };
    let what = match bare {
        "NONE" => return Ok(None),
        "ALLREDUCE" => Collective::AllReduce,
        "ALLGATHER" => Collective::AllGather,
        "REDUCESCATTER" => Collective::ReduceScatter,
        "ALLTOALL" => Collective::AllToAll,
        _ => return Err(format!("expected NONE, ALLREDUCE, ALLGATHER, REDUCESCATTER or ALLTOALL, found {name:?}")),
    };
    Ok(Some((what, group)))
}

/// One pass forward and backward.
struct Pass<'a> {
    job: Builder,
    division: Division,
    choice: &'a Choice,
}

impl Pass<'_> {
    fn run(mut self, layers: &[Layer]) -> Result<Job, JobError> {
        if 3 * layers.len() as u64 * u64::from(self.division.ranks) > OPERATIONS_MAX {
            return Err(JobError::at(
                2,
                format!("{} layers of {} ranks are too many", layers.len(), self.division.ranks),
            ));
        }
        let mut last: Vec<Vec<Op>> = vec![Vec::new(); self.division.ranks as usize];
        for layer in layers {
            last = self.phase(layer.phases[0], layer.update, &last, true)?;
        }
        for layer in layers.iter().rev() {
            last = self.phase(layer.phases[1], layer.update, &last, true)?;
            last = self.phase(layer.phases[2], layer.update, &last, false)?;
        }
        self.job.build()
    }

    fn wait(&mut self, op: Op, before: &[Op]) {
        for &before in before {
            self.job.after(op, before);
        }
    }

    /// Adds a phase of all ranks, after what each has to have done. What the next one waits for: the collective, or the computation only.
    fn phase(
        &mut self,
        phase: Phase,
        update: Duration,
        after: &[Vec<Op>],
        waits: bool,
    ) -> Result<Vec<Vec<Op>>, JobError> {
        let mut computed = Vec::new();
        for (rank, before) in (0..).zip(after) {
            let op = self.job.add(rank, Action::Calc(phase.compute));
            self.wait(op, before);
            computed.push(vec![op]);
        }
        let Some((what, group, bytes)) = phase.collective else { return Ok(computed) };
        let mut done = computed.clone();
        for members in self.division.groups(group) {
            let begins: Vec<Vec<Op>> = members.iter().map(|&rank| computed[rank as usize].clone()).collect();
            let ends = add_by_choice(&mut self.job, what, self.choice, &members, Bytes(bytes), &begins)?;
            for (&rank, ends) in members.iter().zip(ends) {
                let op = self.job.push(Operation {
                    rank,
                    stream: UPDATES,
                    action: Action::Calc(update),
                    place: Place::None,
                });
                self.wait(op, &ends);
                done[rank as usize] = vec![op];
            }
        }
        Ok(if waits { done } else { computed })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const HEADER: &str = "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group:";

    fn parse(text: &str, ranks: Option<u32>) -> Result<Job, String> {
        read(text, ranks, &Choice::default()).map_err(|e| format!("{}: {e}", e.line))
    }

    #[test]
    fn public_files_are_read() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
        let text = |name: &str| std::fs::read_to_string(folder.join(name)).expect("it is beside the tests");
        // Two all-reduces of the forward pass by eight ranks, as rings.
        let micro = parse(&text("simai-microAllReduce.txt"), None).unwrap();
        assert_eq!((micro.ranks(), micro.sends().len()), (8, 2 * 8 * 14));
        let model = parse(&text("simai-gpt175b_tp8_pp1_mbs1.txt"), Some(16)).unwrap();
        assert_eq!(model.ranks(), 16);
        // 33 layers, each with three computations of every rank.
        assert_eq!(
            model.operations().iter().filter(|o| o.stream == 0 && matches!(o.action, Action::Calc(_))).count(),
            33 * 3 * 16
        );
        assert_eq!(
            parse(&text("simai-gpt175b_tp8_pp1_mbs1.txt"), None).unwrap_err(),
            "1: `all_gpus:` is missing: say how many `ranks` there are"
        );
    }

    #[test]
    fn errors_name_the_line() {
        let error = |header: &str, rest: &str| parse(&format!("{HEADER} {header}\n{rest}"), None).unwrap_err();
        let layer = "a -1 1 NONE 0 1 NONE 0 1 NONE 0 1";
        assert_eq!(
            error("8 all_gpus: 12", "1\n"),
            "1: 12 ranks are no multiple of 8 in a tensor-parallel group times 1 experts"
        );
        assert_eq!(
            error("8 pp: 4 all_gpus: 32", "1\n"),
            "1: a pipeline of 4 stages: the text does not say who sends to whom"
        );
        assert_eq!(error("8 all_gpus: 8 checkpoints: 1 3", "1\n"), "1: `checkpoints` are not supported");
        assert_eq!(error("8 all_gpus: 8", &format!("2\n{layer}\n")), "2: says 2 layers, but the file has 1");
        assert_eq!(error("8 all_gpus: 8", "1\na -1 1 NONE 0\n"), "3: expected 12 words, found 5");
        assert_eq!(
            error("8 all_gpus: 8", &format!("1\n{}\n", layer.replacen("NONE", "ALLREDUCEALLTOALL", 1))),
            "3: expected NONE, ALLREDUCE, ALLGATHER, REDUCESCATTER or ALLTOALL, found \"ALLREDUCEALLTOALL\""
        );
        assert!(parse("MICRO\n1\n", None).unwrap_err().starts_with("1: expected HYBRID_TRANSFORMER_FWD_IN_BCKWD"));
        let header = format!("{HEADER} 8 all_gpus: 8\n1\n{layer}\n");
        assert_eq!(parse(&header, Some(16)).unwrap_err(), "1: `all_gpus: 8`, but 16 ranks are asked for");
    }

    proptest! {
        #[test]
        fn hostile_texts_never_panic(
            tensor in 0_u64..9,
            all in 0_u64..33,
            expert in 0_u64..5,
            rows in prop::collection::vec("(a|b) -1( [0-9]{1,3} (NONE|ALLREDUCE|ALLGATHER_EP|ALLTOALL_DP_EP|X) [0-9]{1,5}){2,3} [0-9]{1,4}", 0..4),
        ) {
            let text = format!("{HEADER} {tensor} ep: {expert} all_gpus: {all}\n{}\n{}", rows.len(), rows.join("\n"));
            let _ = parse(&text, None);
        }
    }
}
