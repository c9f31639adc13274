//! Numbers that loads are made of: exact fractions, or `f64` where a fabric is too large or too irregular for them.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

/// A non-negative number of one of two kinds, [`Exact`] or `f64`. Operations are checked: `None` says that an exact result
/// does not fit.
pub trait Scalar: Copy + fmt::Debug + Send + Sync + 'static {
    /// What an error calls it.
    const NAME: &'static str;
    /// Relative slack within which two numbers count as equal when one is a bound of the other; zero if exact.
    const SLACK: f64;

    /// `num / den`; `den` is not zero.
    fn ratio(num: u64, den: u64) -> Self;
    /// The nearest number of this kind.
    fn of(exact: Exact) -> Self;
    /// Sum.
    fn plus(self, other: Self) -> Option<Self>;
    /// Product.
    fn times(self, other: Self) -> Option<Self>;
    /// Quotient; `None` also where `other` is zero.
    fn over(self, other: Self) -> Option<Self>;
    /// Order.
    fn order(&self, other: &Self) -> Ordering;
    /// As a float, rounded.
    fn float(&self) -> f64;
    /// For people and for JSON: `16/3`, or decimals.
    fn text(&self) -> String;
    /// All `values` as whole multiples of one number, and that number.
    fn in_units(values: &[Self]) -> Option<(Vec<i128>, Self)>;

    /// Nothing.
    fn zero() -> Self {
        Self::ratio(0, 1)
    }

    /// One.
    fn one() -> Self {
        Self::ratio(1, 1)
    }

    /// The larger one.
    #[must_use]
    fn larger(self, other: Self) -> Self {
        if self.order(&other) == Ordering::Less { other } else { self }
    }

    /// The smaller one.
    #[must_use]
    fn smaller(self, other: Self) -> Self {
        if self.order(&other) == Ordering::Greater { other } else { self }
    }

    /// Whether it is nothing.
    fn is_zero(&self) -> bool {
        self.order(&Self::zero()) == Ordering::Equal
    }
}

/// A fraction of 128-bit integers, not necessarily in lowest terms: sums of fractions with the same denominator, of which
/// routing is full, then need no division. It is reduced before it would overflow, and when it is shown.
#[derive(Clone, Copy, Debug)]
pub struct Exact {
    num: i128,
    den: i128,
}

fn gcd(mut a: u128, mut b: u128) -> u128 {
    while b != 0 {
        if let (Ok(mut x), Ok(mut y)) = (u64::try_from(a), u64::try_from(b)) {
            while y != 0 {
                (x, y) = (y, x % y);
            }
            return u128::from(x);
        }
        (a, b) = (b, a % b);
    }
    a
}

impl Exact {
    /// Nothing.
    pub const ZERO: Self = Self { num: 0, den: 1 };
    /// One.
    pub const ONE: Self = Self { num: 1, den: 1 };

    /// `num / den`.
    ///
    /// # Panics
    ///
    /// If `den` is not above zero.
    pub fn new(num: i128, den: i128) -> Self {
        assert!(den > 0, "a denominator above zero");
        Self { num, den }
    }

    /// A whole number.
    pub fn whole(n: u64) -> Self {
        Self { num: i128::from(n), den: 1 }
    }

    /// In lowest terms.
    #[must_use]
    pub fn reduced(self) -> Self {
        let by = gcd(self.num.unsigned_abs(), self.den.unsigned_abs()) as i128;
        if by > 1 { Self { num: self.num / by, den: self.den / by } } else { self }
    }

    /// Numerator in lowest terms.
    pub fn numer(self) -> i128 {
        self.reduced().num
    }

    /// Denominator in lowest terms, above zero.
    pub fn denom(self) -> i128 {
        self.reduced().den
    }

    fn try_add(self, other: Self) -> Option<Self> {
        if self.den == other.den {
            return Some(Self { num: self.num.checked_add(other.num)?, den: self.den });
        }
        let common = gcd(self.den as u128, other.den as u128) as i128;
        let (left, right) = (other.den / common, self.den / common);
        let num = self.num.checked_mul(left)?.checked_add(other.num.checked_mul(right)?)?;
        Some(Self { num, den: self.den.checked_mul(left)? })
    }

    fn try_mul(self, other: Self) -> Option<Self> {
        Some(Self { num: self.num.checked_mul(other.num)?, den: self.den.checked_mul(other.den)? })
    }

    /// The smallest whole number that is not below it.
    pub fn ceil(self) -> i128 {
        -(-self.num).div_euclid(self.den)
    }
}

impl Scalar for Exact {
    const NAME: &'static str = "exact fractions";
    const SLACK: f64 = 0.0;

    fn ratio(num: u64, den: u64) -> Self {
        Self { num: i128::from(num), den: i128::from(den) }
    }

    fn of(exact: Exact) -> Self {
        exact
    }

    fn plus(self, other: Self) -> Option<Self> {
        self.try_add(other).or_else(|| self.reduced().try_add(other.reduced()))
    }

    fn times(self, other: Self) -> Option<Self> {
        self.try_mul(other).or_else(|| {
            // Crosswise first, so that what cancels never overflows.
            let left = Self { num: self.num, den: other.den }.reduced();
            let right = Self { num: other.num, den: self.den }.reduced();
            left.try_mul(right)
        })
    }

    fn over(self, other: Self) -> Option<Self> {
        if other.num == 0 {
            return None;
        }
        let sign = other.num.signum();
        self.times(Self { num: other.den * sign, den: other.num.abs() })
    }

    fn order(&self, other: &Self) -> Ordering {
        if self.den == other.den {
            return self.num.cmp(&other.num);
        }
        match (self.num.checked_mul(other.den), other.num.checked_mul(self.den)) {
            (Some(a), Some(b)) => a.cmp(&b),
            _ => slow_order(self.reduced(), other.reduced()),
        }
    }

    fn float(&self) -> f64 {
        let r = self.reduced();
        r.num as f64 / r.den as f64
    }

    fn text(&self) -> String {
        self.to_string()
    }

    fn in_units(values: &[Self]) -> Option<(Vec<i128>, Self)> {
        let mut common: i128 = 1;
        for v in values {
            let den = v.reduced().den;
            common = (common / gcd(common as u128, den as u128) as i128).checked_mul(den)?;
        }
        let whole = values.iter().map(|v| {
            let r = v.reduced();
            // Sums of a million of them have to fit.
            r.num.checked_mul(common / r.den).filter(|n| n.unsigned_abs() < 1 << 100)
        });
        Some((whole.collect::<Option<_>>()?, Self { num: 1, den: common }))
    }
}

/// Euclid's algorithm on both fractions at once: no product is formed.
fn slow_order(mut x: Exact, mut y: Exact) -> Ordering {
    let mut flipped = false;
    loop {
        let whole = x.num.div_euclid(x.den).cmp(&y.num.div_euclid(y.den));
        let (r, s) = (x.num.rem_euclid(x.den), y.num.rem_euclid(y.den));
        let found = match (whole, r == 0, s == 0) {
            (Ordering::Equal, true, true) => Some(Ordering::Equal),
            (Ordering::Equal, true, false) => Some(Ordering::Less),
            (Ordering::Equal, false, true) => Some(Ordering::Greater),
            (Ordering::Equal, false, false) => None,
            (other, ..) => Some(other),
        };
        if let Some(found) = found {
            return if flipped { found.reverse() } else { found };
        }
        // r / x.den against s / y.den is the reverse of x.den / r against y.den / s.
        (x, y) = (Exact { num: x.den, den: r }, Exact { num: y.den, den: s });
        flipped = !flipped;
    }
}

impl PartialEq for Exact {
    fn eq(&self, other: &Self) -> bool {
        self.order(other) == Ordering::Equal
    }
}

impl Eq for Exact {}

impl PartialOrd for Exact {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Exact {
    fn cmp(&self, other: &Self) -> Ordering {
        self.order(other)
    }
}

impl From<u64> for Exact {
    fn from(n: u64) -> Self {
        Self::whole(n)
    }
}

impl fmt::Display for Exact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let r = self.reduced();
        if r.den == 1 { write!(f, "{}", r.num) } else { write!(f, "{}/{}", r.num, r.den) }
    }
}

impl FromStr for Exact {
    type Err = String;

    /// Reads a whole number, a decimal (`2.5`, `1e3`) or a fraction (`16/3`), not below zero.
    fn from_str(text: &str) -> Result<Self, String> {
        let fail = || {
            format!(
                "{text:?} is no amount: expected a number not below zero of up to 30 digits, such as 3, 0.25 or 16/3"
            )
        };
        let whole = |digits: &str| -> Option<i128> {
            let digits = digits.trim();
            let fine = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()) && digits.len() <= 30;
            fine.then(|| digits.parse().ok()).flatten()
        };
        if let Some((num, den)) = text.split_once('/') {
            let (num, den) = (whole(num).ok_or_else(fail)?, whole(den).filter(|&d| d > 0).ok_or_else(fail)?);
            return Ok(Self { num, den }.reduced());
        }
        let (mantissa, exponent) = text.trim().split_once(['e', 'E']).unwrap_or((text.trim(), "0"));
        let exponent: i32 = exponent.parse().ok().filter(|e: &i32| e.abs() <= 30).ok_or_else(fail)?;
        let (int, frac) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits = format!("{int}{frac}");
        let num = whole(&digits).ok_or_else(fail)?;
        let shift = exponent - i32::try_from(frac.len()).map_err(|_| fail())?;
        let ten = |n: i32| 10_i128.checked_pow(n.unsigned_abs());
        let made = if shift < 0 {
            ten(shift).map(|den| Self { num, den })
        } else {
            ten(shift).and_then(|by| num.checked_mul(by)).map(|num| Self { num, den: 1 })
        };
        made.map(Self::reduced).ok_or_else(fail)
    }
}

impl Scalar for f64 {
    const NAME: &'static str = "floating point";
    const SLACK: f64 = 1e-9;

    fn ratio(num: u64, den: u64) -> Self {
        num as f64 / den as f64
    }

    fn of(exact: Exact) -> Self {
        exact.float()
    }

    fn plus(self, other: Self) -> Option<Self> {
        Some(self + other)
    }

    fn times(self, other: Self) -> Option<Self> {
        Some(self * other)
    }

    fn over(self, other: Self) -> Option<Self> {
        (other != 0.0).then(|| self / other)
    }

    fn order(&self, other: &Self) -> Ordering {
        self.total_cmp(other)
    }

    fn float(&self) -> f64 {
        *self
    }

    fn text(&self) -> String {
        let short = format!("{self:.6}");
        short.trim_end_matches('0').trim_end_matches('.').to_owned()
    }

    fn in_units(values: &[Self]) -> Option<(Vec<i128>, Self)> {
        let unit = values.iter().fold(0.0, |a: f64, &b| a.max(b)) / f64::from(1 << 30) / 1024.0;
        if unit == 0.0 {
            return Some((vec![0; values.len()], 1.0));
        }
        Some((values.iter().map(|v| (v / unit).round() as i128).collect(), unit))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn amounts_are_read_and_written() {
        let read = |text: &str| text.parse::<Exact>().map(|e| e.to_string());
        assert_eq!(read("16/3"), Ok("16/3".into()));
        assert_eq!(read(" 6/4 "), Ok("3/2".into()));
        assert_eq!(read("0.25"), Ok("1/4".into()));
        assert_eq!(read("1.5e3"), Ok("1500".into()));
        assert_eq!(read("2e-3"), Ok("1/500".into()));
        for bad in ["", "-1", "1/0", "a", "1/", "1..2", "1e99", "nan", "0x3", "1,5"] {
            assert!(read(bad).unwrap_err().contains("expected a number not below zero of up to 30 digits"), "{bad}");
        }
    }

    #[test]
    fn what_does_not_fit_is_none_and_order_needs_no_products() {
        let huge = Exact::new(i128::MAX, 3);
        assert!(huge.plus(Exact::new(1, 7)).is_none());
        assert!(huge.times(huge).is_none());
        assert_eq!(huge.times(Exact::new(3, i128::MAX)), Some(Exact::ONE));
        assert!(Exact::new(i128::MAX - 1, i128::MAX) < Exact::new(i128::MAX, i128::MAX - 1));
        assert_eq!(Exact::new(7, 2).ceil(), 4);
        assert_eq!(Exact::new(8, 2).ceil(), 4);
    }

    proptest! {
        #[test]
        fn sums_and_products_agree_with_floats(a in 0..1000_u64, b in 1..1000_u64, c in 0..1000_u64, d in 1..1000_u64) {
            let (x, y) = (Exact::ratio(a, b), Exact::ratio(c, d));
            let close = |e: Exact, f: f64| (e.float() - f).abs() < 1e-9 * f.max(1.0);
            prop_assert!(close(x.plus(y).unwrap(), x.float() + y.float()));
            prop_assert!(close(x.times(y).unwrap(), x.float() * y.float()));
            prop_assert_eq!(x.order(&y), (a * d).cmp(&(c * b)));
            prop_assert_eq!(slow_order(x, y), (a * d).cmp(&(c * b)));
            let (units, unit) = Exact::in_units(&[x, y]).unwrap();
            prop_assert_eq!(Exact::new(units[0], 1).times(unit).unwrap(), x);
        }
    }
}
