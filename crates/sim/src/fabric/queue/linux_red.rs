//! Random early detection as Linux has it: `sch_red` and `include/net/red.h` of 3.2, and what `tc` makes of the parameters that it
//! is given (`tc/tc_red.c` of iproute2).
//!
//! Other than [`red`](super::red), which is Floyd's: lengths are in bytes, averages are integers with a binary point; from the upper
//! threshold on packets are marked, and dropped only where they cannot be; a random number is drawn once for each mark; and the
//! weight of the average follows from the lower threshold and a burst. Emulators such as Mininet mark with it: even with equal
//! thresholds it goes by the *average*.

use super::drop_tail::DropTail;
use super::red::power;
use super::{Discipline, Enqueued, Limit, Passing, Setting};
use crate::engine::arena::{Hot, PacketId, flag};
use crate::random;
use anabranch_transport::Rate;

/// What `tc qdisc add .. red` is given.
#[derive(Clone, Debug, PartialEq)]
pub struct LinuxRedParameters {
    /// What the queue may hold (`limit`).
    pub buffer: Limit,
    /// The lower threshold (`min`), in bytes or in packets of `packet` bytes.
    pub min: Limit,
    /// How far above it the upper one is (`max` - `min`), in bytes.
    pub width: u64,
    /// Packets of a burst that is to pass unmarked through a queue that was empty (`burst`); `None`: as `tc` chooses it.
    pub burst: Option<u32>,
    /// Bytes of a packet (`avpkt`).
    pub packet: u64,
    /// The probability at the upper threshold (`probability`).
    pub probability: f64,
    /// Whether packets are dropped from the upper threshold on, even if they could be marked (`harddrop`).
    pub harddrop: bool,
    /// Whether the average falls while the queue is idle.
    pub ages: bool,
}

/// A queue with Linux's random early detection.
#[derive(Clone, Debug)]
pub struct LinuxRed {
    queue: DropTail,
    parameters: LinuxRedParameters,
    rate: Rate,
    kernel: Kernel,
    /// The average queue in bytes, with `Wlog` binary digits after the point (`qavg`).
    average: u64,
    /// Packets since the last mark (`qcount`); -1: none since the average came between the thresholds.
    count: i64,
    /// The random number that decides about the next mark (`qR`).
    drawn: u64,
    random: u64,
}

/// What `tc` hands to the kernel.
#[derive(Clone, Debug, PartialEq)]
struct Kernel {
    /// The thresholds, with the average's point (`qth_min`, `qth_max`).
    min: u64,
    max: u64,
    /// The weight of an arrival is 2 to the power of minus this (`Wlog`).
    weight_log: u32,
    /// The random numbers' binary digits (`Plog`).
    probability_log: u32,
    /// By how many binary digits the average falls in an idle time (`Stab`), by its length in cells of 2^`Scell_log` ticks.
    idle: Box<[u8; 256]>,
    cell_log: u32,
}

/// What the average says of an arrival (`RED_DONT_MARK`, `RED_PROB_MARK`, `RED_HARD_MARK`): when it is marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Action {
    Admit,
    /// Between the thresholds, by chance.
    ByChance,
    /// From the upper threshold on.
    Always,
}

/// The longest threshold and the widest distance between two: 1 GiB, so that averages with 31 digits after the point fit into 64 bits.
pub const LONGEST: u64 = 1 << 30;

/// Linux's packet schedulers count time in ticks of 64 ns (`PSCHED_SHIFT`): in a second.
const TICKS: u64 = 1_000_000_000 / 64;

/// `tc_red_eval_ewma`: the least `Wlog` with burst + 1 - min / avpkt <= (1 - (1 - W)^burst) / W.
pub fn weight_log(min: u64, burst: u32, packet: u64) -> Option<u32> {
    let beyond = f64::from(burst) + 1.0 - min as f64 / packet as f64;
    let passes = |log: &u32| {
        let weight = 1.0 / (1_u64 << log) as f64;
        beyond <= (1.0 - power(1.0 - weight, u64::from(burst))) / weight
    };
    (beyond >= 1.0).then(|| (1..32).find(passes)).flatten()
}

/// The burst that newer `tc` chooses for a queue (`q_red.c`).
fn chosen_burst(min: u64, width: u64, packet: u64) -> u32 {
    u32::try_from((3 * min + width) / (3 * packet)).unwrap_or(u32::MAX)
}

/// The burst that counts: the given one, or the one that `tc` chooses, but `min` at least. `tc` refuses a shorter one.
pub fn burst(given: Option<u32>, min: u64, width: u64, packet: u64) -> u32 {
    let least = u32::try_from(min.div_ceil(packet)).unwrap_or(u32::MAX);
    given.unwrap_or_else(|| chosen_burst(min, width, packet)).max(least)
}

/// `tc_red_eval_P`: -log2 of probability / width, so that a random number of so many digits is to the average above the lower
/// threshold as 1 is to the probability. At most 31; `None` where that is too few, which `tc` refuses.
pub fn probability_log(width: u64, probability: f64) -> Option<u32> {
    let share = probability / width.max(1) as f64;
    (0..32).find(|log| share * (1_u64 << log) as f64 > 1.0)
}

/// -ln(1 - x) for x up to 1/2, from its series: IEEE 754 rounds sums and products the same everywhere.
fn minus_ln_1_minus(x: f64) -> f64 {
    (1..64).rev().map(|k| power(x, k) / k as f64).sum()
}

/// `tc_red_eval_idle_damping`: `Stab` and `Scell_log`.
fn idle_damping(weight_log: u32, packet: u64, rate: Rate) -> (Box<[u8; 256]>, u32) {
    let transmission = packet as f64 * 8.0 * TICKS as f64 / rate.bps() as f64;
    let digits_in_tick = minus_ln_1_minus(1.0 / (1_u64 << weight_log) as f64) / transmission;
    let longest = 31.0 / digits_in_tick;
    let cell_log = (0..31).find(|log| longest / ((1_u64 << log) as f64) < 512.0).unwrap_or(31);
    let mut table = Box::new([31; 256]);
    for (cell, digits) in table.iter_mut().enumerate().take(255) {
        *digits = (((cell as u64) << cell_log) as f64 * digits_in_tick).min(31.0) as u8;
    }
    (table, cell_log)
}

impl LinuxRedParameters {
    /// The lower threshold in bytes. A controller's may be beyond the longest.
    fn min_bytes(&self) -> u64 {
        let bytes = match self.min {
            Limit::Packets(packets) => u64::from(packets) * self.packet,
            Limit::Bytes(bytes) => bytes,
        };
        bytes.min(LONGEST)
    }

    fn kernel(&self, rate: Rate) -> Kernel {
        let min = self.min_bytes();
        let max = min + self.width;
        // A controller may raise `min` beyond the burst.
        let burst = burst(self.burst, min, self.width, self.packet);
        let weight_log = weight_log(min, burst, self.packet).unwrap_or(1);
        let (idle, cell_log) = idle_damping(weight_log, self.packet, rate);
        Kernel {
            min: min << weight_log,
            max: max << weight_log,
            weight_log,
            probability_log: probability_log(self.width, self.probability).unwrap_or(31),
            idle,
            cell_log,
        }
    }
}

impl Kernel {
    /// `red_calc_qavg_no_idle_time`.
    fn average(&self, before: u64, backlog: u64) -> u64 {
        before + backlog - (before >> self.weight_log)
    }

    /// `red_calc_qavg_from_idle_time`.
    fn average_after(&self, before: u64, ticks: u64) -> u64 {
        let ticks = ticks.min(255 << self.cell_log);
        match self.idle[(ticks >> self.cell_log) as usize] {
            // (1 - W)^m ~= 1 - mW
            0 => match ((u128::from(before) * u128::from(ticks)) >> self.cell_log) as u64 {
                fall if fall < before >> 1 => before - fall,
                _ => before >> 1,
            },
            digits => before >> digits,
        }
    }
}

impl LinuxRed {
    /// An empty queue; `seed` is that of its random numbers.
    pub fn new(parameters: LinuxRedParameters, seed: u64) -> Self {
        let rate = Rate::from_gbps(1);
        let (queue, kernel) = (DropTail::new(parameters.buffer), parameters.kernel(rate));
        Self { queue, parameters, rate, kernel, average: 0, count: -1, drawn: 0, random: random::mix(seed) }
    }

    /// `red_random`.
    fn draw(&mut self) {
        self.random = random::mix(self.random);
        self.drawn = self.random & ((1 << self.kernel.probability_log) - 1);
    }

    /// `red_action`.
    fn action(&mut self) -> Action {
        if self.average < self.kernel.min {
            self.count = -1;
            return Action::Admit;
        }
        if self.average >= self.kernel.max {
            self.count = -1;
            return Action::Always;
        }
        self.count += 1;
        if self.count == 0 {
            self.draw();
            return Action::Admit;
        }
        // red_mark_probability
        let above = (self.average - self.kernel.min) >> self.kernel.weight_log;
        if above.saturating_mul(self.count as u64) < self.drawn {
            return Action::Admit;
        }
        self.count = 0;
        self.draw();
        Action::ByChance
    }

    /// `red_enqueue` up to the queue itself: what becomes of the packet.
    fn judge(&mut self, hot: &mut Hot) -> Passing {
        match self.action() {
            Action::Admit => return Passing::Unmarked,
            Action::Always if self.parameters.harddrop => return Passing::Rejected,
            Action::ByChance | Action::Always if !hot.has(flag::ECT) => return Passing::Rejected,
            Action::ByChance | Action::Always => {}
        }
        let news = !hot.has(flag::CE);
        hot.flags |= flag::CE;
        if news { Passing::Marked } else { Passing::Unmarked }
    }
}

impl Discipline for LinuxRed {
    #[inline(never)]
    fn enqueue(&mut self, hots: &mut [Hot], id: PacketId) -> Enqueued {
        self.average = self.kernel.average(self.average, self.queue.bytes());
        let passing = self.judge(&mut hots[id as usize]);
        if passing == Passing::Rejected {
            return Enqueued::rejected(id);
        }
        let outcome = self.queue.enqueue(hots, id);
        Enqueued { marked: passing == Passing::Marked && outcome == Enqueued::QUEUED, ..outcome }
    }

    #[inline(never)]
    fn dequeue(&mut self, hots: &[Hot]) -> PacketId {
        self.queue.dequeue(hots)
    }

    delegate!(queue: move_packets, packets, bytes);

    #[inline]
    fn pass(&mut self, hot: &mut Hot, idle: u64) -> Passing {
        self.average = if self.parameters.ages {
            let ticks = u128::from(idle) * 8 * u128::from(TICKS) / u128::from(self.rate.bps().max(1));
            self.kernel.average_after(self.average, ticks.min(u128::from(u64::MAX)) as u64)
        } else {
            self.kernel.average(self.average, 0)
        };
        self.judge(hot)
    }

    fn inspects_passing(&self) -> bool {
        true
    }

    fn set(&mut self, setting: Setting) -> bool {
        match setting {
            Setting::MarkingThreshold(threshold) => {
                // `tc qdisc change`: red_set_parms begins anew.
                self.parameters.min = threshold;
                self.kernel = self.parameters.kernel(self.rate);
                (self.average, self.count) = (0, -1);
            }
            Setting::Buffer(_) => return self.queue.set(setting),
        }
        true
    }

    fn set_rate(&mut self, rate: Rate) {
        self.rate = rate;
        (self.kernel.idle, self.kernel.cell_log) = idle_damping(self.kernel.weight_log, self.parameters.packet, rate);
    }

    fn marking_threshold(&self) -> Option<Limit> {
        Some(self.parameters.min)
    }
}

#[cfg(test)]
mod tests;
