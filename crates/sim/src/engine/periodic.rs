//! Entities that come up again and again, for as long as anything else does.
//!
//! A sampler that schedules its next look while *anything* is pending never ends beside another sampler: each is what
//! the other waits for, and a run in which nothing can happen any more is never found to have stalled.

use super::pending::Pending;
use super::wheel::Entity;
use std::ops::Range;

/// The periodic entities of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Periodic {
    entities: Range<Entity>,
}

impl Periodic {
    /// These entities are periodic, and no others.
    pub fn new(entities: Range<Entity>) -> Self {
        Self { entities }
    }

    /// Schedules the next turn of a periodic entity, unless all that is pending are periodic entities, too.
    pub fn again(&self, pending: &mut Pending, entity: Entity, time: u64) {
        debug_assert!(self.entities.contains(&entity));
        let Pending { wheel, boxes, elsewhere, stamps: _ } = pending;
        let periodic = self.entities.clone().filter(|&other| wheel.due(other).is_some()).count();
        if wheel.len() > periodic || !boxes.is_empty() || !elsewhere.is_empty() {
            wheel.schedule(entity, time);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::wheel::Wheel;
    use super::*;

    /// Entity 0 comes up a few times; entities from 1 on are periodic. The time of the last event, if there is one.
    fn last_event(periods: &[u64]) -> Option<u64> {
        const WORK: [u64; 3] = [1_000, 70_000, 2_000_000];
        let count = periods.len() as Entity;
        let wheel = Wheel::new(22_000_000, 8, 1);
        let (periodic, mut pending) = (Periodic::new(1..count + 1), Pending::new(wheel));
        pending.wheel.schedule(0, WORK[0]);
        for (entity, &period) in (1..).zip(periods) {
            pending.wheel.schedule(entity, period);
        }
        let (mut done, mut last) = (1, 0);
        for _ in 0..1_000_000 {
            let Some((now, entity)) = pending.wheel.pop() else { return Some(last) };
            last = now;
            match entity {
                0 => {
                    WORK.get(done).into_iter().for_each(|&next| pending.wheel.schedule(0, next));
                    done += 1;
                }
                _ => periodic.again(&mut pending, entity, now + periods[entity as usize - 1]),
            }
        }
        None
    }

    #[test]
    fn periodic_entities_do_not_keep_each_other_alive() {
        for periods in [&[][..], &[300], &[300, 700], &[300, 300], &[300, 700, 1100], &[5, 5_000_000, 7]] {
            let last = last_event(periods).unwrap_or_else(|| panic!("{periods:?} go on for ever"));
            let longest = periods.iter().copied().max().unwrap_or(0);
            assert!((2_000_000..=2_000_000 + longest.max(5_000_000)).contains(&last), "{periods:?} end at {last}");
        }
    }
}
