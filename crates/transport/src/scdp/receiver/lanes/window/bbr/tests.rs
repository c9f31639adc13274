use super::*;

/// A path that holds 100 symbols in a round trip of 1 ms, on which nothing is lost and no buffer is full.
struct Path {
    bbr: Bbr,
    now: u64,
    asked: u32,
    coming: std::collections::VecDeque<(u64, u32)>,
    idle_at: u64,
    /// Interval at which pulls leave together; 0: each when it can.
    batch: u64,
    asks_at: u64,
}

const ROUND: u64 = 1_000_000_000;
const EACH: u64 = ROUND / 100;

impl Path {
    fn new(limit: u32) -> Self {
        Self::batched(limit, 0)
    }

    fn batched(limit: u32, batch: u64) -> Self {
        let (bbr, coming) = (Bbr::new(10, limit, 1, 7), std::collections::VecDeque::new());
        let mut path = Self { bbr, now: 0, asked: 0, coming, idle_at: 0, batch, asks_at: 0 };
        path.ask();
        path
    }

    fn ask(&mut self) {
        while self.coming.len() < self.bbr.window() as usize {
            self.bbr.on_pull(Time(self.now), 0, self.asked, true, self.coming.len() as u32);
            self.idle_at = self.idle_at.max(self.now + ROUND - EACH) + EACH;
            self.coming.push_back((self.idle_at, self.asked));
            self.asked += 1;
        }
    }

    /// `symbols` symbols arrive, and others are requested; returns the highest window meanwhile.
    fn run(&mut self, symbols: u32) -> u32 {
        let mut most = 0;
        for _ in 0..symbols {
            let on_their_way = self.coming.len() as u32;
            // Batches that leave before the next symbol arrives.
            while self.batch > 0 && self.coming.front().is_none_or(|&(at, _)| self.asks_at < at) {
                self.now = self.asks_at;
                self.ask();
                self.asks_at += self.batch;
            }
            let (at, index) = self.coming.pop_front().expect("some were asked for");
            self.now = self.now.max(at);
            self.bbr.on_symbol(Time(self.now), 0, index, Seen::Whole, on_their_way);
            if self.batch == 0 {
                self.ask();
            }
            most = most.max(self.bbr.window());
        }
        most
    }
}

#[test]
fn start_up_finds_the_product_and_the_window_stays_around_twice_that() {
    let mut path = Path::new(8192);
    let most = path.run(2_000);
    assert!((250..=289).contains(&most), "start-up: {most}");
    assert_ne!(path.bbr.states.state(), State::Startup);
    let most = path.run(20_000);
    assert!((240..=255).contains(&most), "steady: {most}");
    assert!(path.bbr.product().is_some_and(|product| (99.0..102.0).contains(&product)), "{:?}", path.bbr.product());
    let mut bounded = Path::new(30);
    assert_eq!(bounded.run(2_000), 30);
}

#[test]
fn pulls_may_leave_in_batches() {
    // Where only one batch leaves in each round trip, the window is a little short when its gain is at its lowest.
    for (batches, cost) in [(1, 0.1), (2, 0.02), (4, 0.02), (10, 0.02)] {
        let mut path = Path::batched(8192, ROUND / batches);
        path.run(5_000);
        let begun = path.now;
        path.run(20_000);
        let taken = (path.now - begun) as f64 / (20_000 * EACH) as f64;
        // A symbol waits for up to a batch before it is asked for: that is part of the round trip.
        let product = path.bbr.product().expect("known");
        assert!(
            taken < 1.0 + cost && (98.0..=210.0).contains(&product),
            "{batches} in a round trip: {taken}, {product}"
        );
    }
}

#[test]
fn after_ten_seconds_the_round_trip_is_probed() {
    let mut path = Path::new(8192);
    path.run(4_000);
    let mut least = u32::MAX;
    // Eleven seconds.
    for _ in 0..1_100_000 {
        path.run(1);
        least = least.min(path.bbr.window());
    }
    assert!((49..=52).contains(&least), "half of the product: {least}");
    assert!(path.bbr.product().is_some_and(|product| (99.0..102.0).contains(&product)));
}

#[test]
fn a_single_short_round_trip_is_not_believed() {
    let mut path = Path::new(8192);
    path.run(3_000);
    let before = path.bbr.round_trip.get().expect("known");
    let (block, index, at) = path.bbr.rounds.timed().expect("one always is");
    path.bbr.on_symbol(Time(at.ps() + ROUND / 50), block, index, Seen::Whole, 100);
    assert!(path.bbr.round_trip.get().expect("known") >= before);
}

#[test]
fn hosts_that_are_late_keep_as_much_on_its_way_as_they_handle_at_once() {
    // 100 symbols arrive in a millisecond. Once both ends were awake, and a round trip took a fiftieth of that.
    for (batch, expected) in [(1, 3.0..5.1), (45, 135.0..135.1), (1000, 300.0..306.0)] {
        let mut path = Path::new(8192);
        path.run(3_000);
        path.bbr.batch = f64::from(batch);
        assert_eq!(path.bbr.states.state(), State::Steady);
        let wanted = path.bbr.wanted(2.0);
        assert!(expected.contains(&wanted), "{batch} at once: {wanted}");
    }
}

#[test]
fn a_lane_that_is_not_asked_for_all_it_could_bring_keeps_its_rate() {
    let mut path = Path::new(8192);
    path.run(3_000);
    let rate = path.bbr.bandwidth.get();
    // A symbol in each millisecond, for a second.
    for _ in 0..1_000 {
        path.now += ROUND;
        path.bbr.on_limited();
        path.bbr.on_pull(Time(path.now), 1, path.asked, true, 0);
        path.bbr.on_symbol(Time(path.now + ROUND), 1, path.asked, Seen::Whole, 1);
        path.asked += 1;
    }
    assert!(path.bbr.bandwidth.get() >= rate);
}

#[test]
fn losses_beyond_two_percent_cut_the_window_and_fewer_do_not() {
    for (one_in, cut) in [(100, false), (10, true)] {
        let mut path = Path::new(8192);
        path.run(3_000);
        let mut most = 0;
        for n in 0..1_000 {
            let window = path.run(one_in);
            path.bbr.on_lost(1);
            most = if n < 100 { 0 } else { most.max(window) };
        }
        assert_eq!(most < 220, cut, "one in {one_in}: {most}");
    }
}

#[test]
fn two_timeouts_in_a_row_begin_anew() {
    let mut path = Path::new(8192);
    path.run(3_000);
    let before = path.bbr.window();
    path.bbr.on_timeout(1);
    assert_eq!(path.bbr.window(), before);
    path.bbr.on_timeout(2);
    assert_eq!((path.bbr.window(), path.bbr.states.state()), (10, State::Startup));
}
