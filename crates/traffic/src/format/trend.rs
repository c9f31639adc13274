//! Trends of columns: counters grow, volumes go up and down.

use crate::error::ReadError;

/// Steps of a column's values from row to row.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Trend {
    last: Option<f64>,
    ups: u64,
    downs: u64,
    flats: u64,
    top: f64,
}

/// Steps that say something.
const STEPS: u64 = 3;

/// Steps without any change that do.
const STILL: u64 = 8;

/// Steps up for each step down of a counter that is reset or wraps now and then.
const UPS: u64 = 10;

impl Trend {
    pub(super) fn add(&mut self, value: f64) {
        if let Some(last) = self.last.replace(value) {
            match value.total_cmp(&last) {
                std::cmp::Ordering::Greater => self.ups += 1,
                std::cmp::Ordering::Less => self.downs += 1,
                std::cmp::Ordering::Equal => self.flats += 1,
            }
        }
        self.top = self.top.max(value);
    }

    fn steps(&self) -> u64 {
        self.ups + self.downs + self.flats
    }

    /// Whether the values grow as a counter does.
    pub(super) fn grows(&self) -> bool {
        self.steps() >= STEPS && self.ups > 0 && self.downs * UPS <= self.ups
    }

    /// Whether the values stay the same and are not zero: a port that is down, or a constant volume.
    pub(super) fn stands(&self) -> bool {
        self.steps() >= STILL && self.ups == 0 && self.downs == 0 && self.top > 0.0
    }

    pub(super) fn changes(&self) -> bool {
        self.ups + self.downs > 0
    }

    /// Why the values may be those of a counter; none if they are not.
    pub(super) fn doubt(&self) -> Option<String> {
        let steps = self.steps();
        if self.stands() {
            return Some(format!("is the same in all {} rows", steps + 1));
        }
        self.grows().then(|| match self.downs {
            0 => format!("only grows in {} rows", steps + 1),
            downs => format!("goes up in {} rows and down in {downs} only", self.ups),
        })
    }
}

/// The error of two readings.
pub(super) fn two_readings(column: &str, why: &str) -> ReadError {
    ReadError::Request {
        message: format!("{column} {why}: a counter, or what each row carried?"),
        hint:
            "say it: --format counters if it counts on, --format csv-volumes if each row holds what was carried in it \
               (and --unit Mbps if it is a rate)"
                .to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: &[f64]) -> Trend {
        let mut trend = Trend::default();
        for value in values {
            trend.add(*value);
        }
        trend
    }

    #[test]
    fn counters_grow_and_volumes_go_up_and_down() {
        let resets: Vec<f64> = (0..100).map(|i| f64::from(i % 40 * 7)).collect();
        let bursts: Vec<f64> = (0..1000).map(|i| if i % 50 == 7 { 5.0 } else { 0.0 }).collect();
        let late: Vec<f64> = (0..100).map(|i| if i < 90 { 5.0 } else { f64::from(i) }).collect();
        assert!(of(&resets).grows() && of(&late).grows() && !of(&bursts).grows());
        assert!(of(&[5.0; 20]).stands() && !of(&[0.0; 20]).stands() && !of(&[5.0; 4]).stands());
        assert_eq!(of(&late).doubt().as_deref(), Some("only grows in 100 rows"));
        assert_eq!(of(&bursts).doubt(), None);
    }
}
