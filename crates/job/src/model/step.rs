//! The operations of a training step.

use super::schedule::{Pass, one_forward_one_backward};
use super::{Model, VALUE};
use crate::builder::Builder;
use crate::collective::{Choice, Collective, add_by_choice};
use crate::division::{Division, Group};
use crate::error::JobError;
use crate::job::{Action, Job, Op, Operation, Peers, Place};
use anabranch_transport::{Bytes, Duration};

/// The stream of computations, and that of what goes on beside them: messages between stages, and the end of collectives of replicas.
const COMPUTES: u8 = 0;
const BESIDE: u8 = 1;

/// What the next operations of each rank of a stage wait for.
type Last = Vec<Vec<Op>>;

pub(super) fn job(model: &Model, choice: &Choice) -> Result<Job, JobError> {
    let mut job = Builder::new(model.ranks() as u32);
    for stage in 0..model.pipeline {
        Stage::new(&mut job, model, choice, stage).run()?;
    }
    job.build()
}

/// A stage: all replicas of some layers. Its ranks do the same.
struct Stage<'a> {
    job: &'a mut Builder,
    model: &'a Model,
    choice: &'a Choice,
    number: u32,
    division: Division,
    last: Last,
    /// Of each layer, what has to be there before its first use.
    gathered: Vec<Last>,
    /// The reduction of gradients that was added last.
    reduced: Last,
}

impl<'a> Stage<'a> {
    fn new(job: &'a mut Builder, model: &'a Model, choice: &'a Choice, stage: u32) -> Self {
        let ranks = model.tensor * model.data;
        let expert = model.experts.as_ref().map_or(1, |experts| experts.ranks);
        let none = vec![Vec::new(); ranks as usize];
        Self {
            job,
            model,
            choice,
            number: stage,
            division: Division { ranks, tensor: model.tensor, expert },
            last: none.clone(),
            gathered: Vec::new(),
            reduced: none,
        }
    }

    fn run(mut self) -> Result<(), JobError> {
        let layers = self.model.layers / self.model.pipeline;
        let mut before = self.last.clone();
        for _ in 0..layers {
            before = self.of_replicas(Collective::AllGather, VALUE, before)?;
            self.gathered.push(before.clone());
        }
        let passes = one_forward_one_backward(self.number, self.model.pipeline, self.model.microbatches);
        for pass in passes {
            match pass {
                Pass::Forward(microbatch) => self.forward(microbatch)?,
                Pass::Backward(microbatch) => self.backward(microbatch)?,
            }
        }
        Ok(())
    }

    fn forward(&mut self, microbatch: u32) -> Result<(), JobError> {
        if self.number > 0 {
            self.receive(microbatch, self.number - 1);
        }
        for layer in 0..self.gathered.len() {
            for (last, gathered) in self.last.iter_mut().zip(&mut self.gathered[layer]) {
                last.append(gathered);
            }
            self.half(self.model.attends())?;
            if self.model.feed_forward > 0 {
                self.half(self.model.computes(self.model.feed_forward, 0.0))?;
            }
            if let Some(experts) = &self.model.experts {
                self.exchange(experts.copies, experts.dispatch_bytes)?;
                self.compute(self.model.computes(experts.active, 0.0));
                self.exchange(experts.copies, VALUE as u32)?;
            }
        }
        if self.number + 1 < self.model.pipeline {
            self.send(microbatch, self.number + 1);
        }
        Ok(())
    }

    /// The same in reverse, and twice the computation.
    fn backward(&mut self, microbatch: u32) -> Result<(), JobError> {
        if self.number + 1 < self.model.pipeline {
            self.receive(microbatch, self.number + 1);
        }
        let twice = |time: Duration| Duration(2 * time.ps());
        for _ in 0..self.gathered.len() {
            if let Some(experts) = &self.model.experts {
                self.exchange(experts.copies, VALUE as u32)?;
                self.compute(twice(self.model.computes(experts.active, 0.0)));
                self.exchange(experts.copies, VALUE as u32)?;
            }
            if self.model.feed_forward > 0 {
                self.half(twice(self.model.computes(self.model.feed_forward, 0.0)))?;
            }
            self.half(twice(self.model.attends()))?;
            if microbatch + 1 == self.model.microbatches {
                let mut after = self.last.clone();
                for (after, before) in after.iter_mut().zip(&self.reduced) {
                    after.extend(before);
                }
                self.reduced =
                    self.of_replicas(Collective::ReduceScatter, u64::from(self.model.gradient_bytes), after)?;
            }
        }
        if self.number > 0 {
            self.send(microbatch, self.number - 1);
        }
        Ok(())
    }

    /// Half of a layer: its ranks gather the activations of a sequence, compute, and divide the sum among them.
    fn half(&mut self, time: Duration) -> Result<(), JobError> {
        let bytes = self.model.activations();
        let last = std::mem::take(&mut self.last);
        self.last = self.collective(Collective::AllGather, Group::Tensor, bytes, last)?;
        self.compute(time);
        let last = std::mem::take(&mut self.last);
        self.last = self.collective(Collective::ReduceScatter, Group::Tensor, bytes, last)?;
        Ok(())
    }

    /// Tokens go to the ranks that have their experts, or come back.
    fn exchange(&mut self, copies: u32, bytes: u32) -> Result<(), JobError> {
        let last = std::mem::take(&mut self.last);
        self.last = self.collective(Collective::AllToAll, Group::Expert, self.model.tokens(copies, bytes), last)?;
        Ok(())
    }

    /// A collective of the parameters of a layer, so many bytes each: of those that all tokens use, then of the experts'.
    fn of_replicas(&mut self, what: Collective, bytes: u64, after: Last) -> Result<Last, JobError> {
        let (all, of_experts) = self.model.parameters();
        let after = self.collective(what, Group::Data, Bytes(all * bytes), after)?;
        let done = self.collective(what, Group::DataOfExpert, Bytes(of_experts * bytes), after)?;
        // One operation that stands for all of them: the next layer's waits for few.
        Ok((0..)
            .zip(done)
            .map(|(rank, before)| if before.len() > 1 { vec![self.joined(rank, &before)] } else { before })
            .collect())
    }

    /// A collective in each group of a kind; none if there is nothing to send, or nobody to send it to.
    fn collective(&mut self, what: Collective, group: Group, bytes: Bytes, after: Last) -> Result<Last, JobError> {
        if bytes.0 == 0 || self.division.members(group) == 1 {
            return Ok(after);
        }
        let mut done = after;
        for members in self.division.groups(group) {
            let begins: Last = members.iter().map(|&rank| std::mem::take(&mut done[rank as usize])).collect();
            let ranks: Vec<u32> = members.iter().map(|&rank| self.rank(rank)).collect();
            let ends = add_by_choice(self.job, what, self.choice, &ranks, bytes, &begins)?;
            members.iter().zip(ends).for_each(|(&rank, ends)| done[rank as usize] = ends);
        }
        Ok(done)
    }

    /// The number of a rank of this stage in the job.
    fn rank(&self, of_stage: u32) -> u32 {
        self.number * self.division.ranks + of_stage
    }

    fn add(&mut self, rank: u32, stream: u8, action: Action, before: &[Op]) -> Op {
        let op = self.job.push(Operation { rank: self.rank(rank), stream, action, place: Place::None });
        for &before in before {
            self.job.after(op, before);
        }
        op
    }

    fn joined(&mut self, rank: u32, before: &[Op]) -> Op {
        self.add(rank, BESIDE, Action::Wait(Duration::ZERO), before)
    }

    /// All ranks compute.
    fn compute(&mut self, time: Duration) {
        for rank in 0..self.division.ranks {
            let before = std::mem::take(&mut self.last[rank as usize]);
            self.last[rank as usize] = vec![self.add(rank, COMPUTES, Action::Calc(time), &before)];
        }
    }

    /// All ranks tell those of another stage what they have.
    fn send(&mut self, microbatch: u32, stage: u32) {
        for rank in 0..self.division.ranks {
            let to = Peers::One(stage * self.division.ranks + rank);
            let before = self.last[rank as usize].clone();
            self.add(rank, BESIDE, Action::Send { to, bytes: self.between_stages(), tag: microbatch }, &before);
        }
    }

    /// The next operations wait for what those of another stage send.
    fn receive(&mut self, microbatch: u32, stage: u32) {
        for rank in 0..self.division.ranks {
            let from = Some(stage * self.division.ranks + rank);
            let action = Action::Receive { from, bytes: self.between_stages(), tag: Some(microbatch) };
            let op = self.add(rank, BESIDE, action, &[]);
            self.last[rank as usize].push(op);
        }
    }

    /// What a rank has of the activations of a microbatch between two layers.
    fn between_stages(&self) -> Bytes {
        Bytes(self.model.activations().0 / u64::from(self.model.tensor))
    }
}
