//! How ranks are divided among the dimensions of a training job.

/// Who takes part in a collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Group {
    /// Ranks that divide each layer.
    Tensor,
    /// Ranks that divide the experts.
    Expert,
    /// Replicas of the same part of the model.
    Data,
    /// Replicas of the same experts.
    DataOfExpert,
}

/// Ranks, numbered through the tensor-parallel groups, then through the experts, then through the replicas.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Division {
    /// How many there are: a multiple of `tensor * expert`.
    pub(crate) ranks: u32,
    /// Of a tensor-parallel group.
    pub(crate) tensor: u32,
    /// Tensor-parallel groups that divide the experts.
    pub(crate) expert: u32,
}

impl Division {
    /// The groups of a kind, each in order.
    pub(crate) fn groups(self, group: Group) -> Vec<Vec<u32>> {
        let (step, block) = self.step_and_block(group);
        let first = (0..self.ranks).filter(|rank| rank % block < step);
        first.map(|first| (first..first / block * block + block).step_by(step as usize).collect()).collect()
    }

    /// How many members a group of a kind has.
    pub(crate) fn members(self, group: Group) -> u32 {
        let (step, block) = self.step_and_block(group);
        block / step
    }

    /// Consecutive members of a group are so far from each other, and a block of groups side by side has so many ranks.
    fn step_and_block(self, group: Group) -> (u32, u32) {
        let Self { ranks, tensor, expert } = self;
        match group {
            Group::Tensor => (1, tensor),
            Group::Expert => (tensor, tensor * expert),
            Group::Data => (tensor, ranks),
            Group::DataOfExpert => (tensor * expert, ranks),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_numbered_through_tensors_then_experts_then_replicas() {
        let division = Division { ranks: 16, tensor: 2, expert: 4 };
        assert_eq!(division.groups(Group::Tensor)[..2], [vec![0, 1], vec![2, 3]]);
        assert_eq!(
            division.groups(Group::Expert),
            [vec![0, 2, 4, 6], vec![1, 3, 5, 7], vec![8, 10, 12, 14], vec![9, 11, 13, 15]]
        );
        assert_eq!(division.groups(Group::Data), [vec![0, 2, 4, 6, 8, 10, 12, 14], vec![1, 3, 5, 7, 9, 11, 13, 15]]);
        assert_eq!(division.groups(Group::DataOfExpert)[..2], [vec![0, 8], vec![1, 9]]);
        for group in [Group::Tensor, Group::Expert, Group::Data, Group::DataOfExpert] {
            assert!(division.groups(group).iter().all(|members| members.len() == division.members(group) as usize));
            let mut all: Vec<u32> = division.groups(group).concat();
            all.sort_unstable();
            assert_eq!(all, (0..16).collect::<Vec<_>>(), "{group:?}");
        }
    }
}
