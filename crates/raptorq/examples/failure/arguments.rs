//! The command line.

use std::fmt;
use std::str::FromStr;

use anabranch_raptorq::fountain::{FountainCode, RaptorQ};
use anabranch_raptorq::siblings::{Field, Lt, R10, RandomLinear, Soliton};

use crate::experiment::Pattern;

pub(crate) const HELP: &str = "\
How often a fountain code fails to decode K + o encoding symbols.

  --code LIST      raptorq, r10, lt, lt-ideal, linear-gf2, linear-gf256     [raptorq,r10,lt]
  --k LIST         numbers of source symbols                                [10,100,1000]
  --overhead LIST  symbols beyond K, as a number or a percentage of K (5%)  [0,1,2,3]
  --received LIST  which symbols arrive                                     [uniform]
                     uniform  distinct ids, uniform over all ids of the code
                     loss=P   0, 1, 2, .. are sent, each lost with probability P;
                              the first K + o to arrive are taken
  --trials N       trials for each case, 1e6 for example                    [1e4]
  --seed N         the same seed gives the same counts                      [1]
  --threads N      worker threads                                           [1]
  --lt-c X         c of LT's robust soliton distribution                    [0.05]
  --lt-delta X     its delta                                                [0.5]
  --csv FILE       writes the results as CSV, too

Results go to standard output as a table, progress to standard error. Intervals are
Clopper and Pearson's; the last two columns are the failure probability of the random
linear fountain over GF(2) and GF(256), from its formula.
";

/// What is to be run.
pub(crate) struct Arguments {
    pub(crate) codes: Vec<Box<dyn FountainCode>>,
    pub(crate) k: Vec<u32>,
    pub(crate) overheads: Vec<Overhead>,
    pub(crate) patterns: Vec<Pattern>,
    pub(crate) trials: u64,
    pub(crate) seed: u64,
    pub(crate) threads: usize,
    pub(crate) csv: Option<String>,
}

/// Symbols beyond K.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Overhead {
    Symbols(u32),
    Percent(f64),
}

impl Overhead {
    /// The number of symbols; a percentage is rounded up.
    pub(crate) fn symbols(self, k: u32) -> u32 {
        match self {
            Self::Symbols(symbols) => symbols,
            Self::Percent(percent) => (percent * f64::from(k) / 100.0 - 1e-9).ceil() as u32,
        }
    }
}

impl fmt::Display for Overhead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Symbols(symbols) => write!(f, "{symbols}"),
            Self::Percent(percent) => write!(f, "{percent} %"),
        }
    }
}

impl Arguments {
    /// Reads the command line, without the program's name. `None` asks for help.
    pub(crate) fn parse(arguments: impl IntoIterator<Item = String>) -> Result<Option<Self>, String> {
        let mut codes = "raptorq,r10,lt".to_owned();
        let (mut c, mut delta) = (0.05, 0.5);
        let mut parsed = Self {
            codes: Vec::new(),
            k: vec![10, 100, 1000],
            overheads: (0..4).map(Overhead::Symbols).collect(),
            patterns: vec![Pattern::Uniform],
            trials: 10_000,
            seed: 1,
            threads: 1,
            csv: None,
        };
        let mut arguments = arguments.into_iter();
        while let Some(argument) = arguments.next() {
            if argument == "--help" || argument == "-h" {
                return Ok(None);
            }
            let (option, value) = match argument.split_once('=') {
                // `--received loss=0.1` has its sign elsewhere.
                Some((option, value)) if option.starts_with("--") => (option.to_owned(), Some(value.to_owned())),
                _ => (argument, None),
            };
            let mut value = || value.clone().or_else(|| arguments.next()).ok_or(format!("{option} needs a value"));
            match option.as_str() {
                "--code" => codes = value()?,
                "--k" => parsed.k = list(&option, &value()?, number)?,
                "--overhead" => parsed.overheads = list(&option, &value()?, overhead)?,
                "--received" => parsed.patterns = list(&option, &value()?, pattern)?,
                "--trials" => {
                    let trials = count(&value()?).filter(|&trials| trials > 0);
                    parsed.trials = trials.ok_or(format!("{option} is a whole number of at least 1"))?;
                }
                "--seed" => parsed.seed = number(&value()?).ok_or(format!("{option}: not a number"))?,
                "--threads" => {
                    let threads = number(&value()?).filter(|threads| (1..=1024).contains(threads));
                    parsed.threads = threads.ok_or(format!("{option} is a whole number from 1 to 1024"))?;
                }
                "--lt-c" => c = number(&value()?).ok_or(format!("{option}: not a number"))?,
                "--lt-delta" => delta = number(&value()?).ok_or(format!("{option}: not a number"))?,
                "--csv" => parsed.csv = Some(value()?),
                _ => return Err(format!("there is no option {option}")),
            }
        }
        let robust = Soliton::Robust { c, delta };
        parsed.codes = codes.split(',').map(|name| code(name, robust)).collect::<Result<_, _>>()?;
        // Hours into a run is no time to learn that a code has no such K.
        for code in &parsed.codes {
            let range = code.limits().source_symbols;
            if let Some(k) = parsed.k.iter().find(|k| !range.contains(k)) {
                return Err(format!("--k {k}: {} takes {} to {}", code.name(), range.start(), range.end()));
            }
        }
        Ok(Some(parsed))
    }
}

fn code(name: &str, robust: Soliton) -> Result<Box<dyn FountainCode>, String> {
    Ok(match name {
        "raptorq" => Box::new(RaptorQ),
        "r10" => Box::new(R10),
        "lt" => Box::new(Lt::new(robust, 0).map_err(|error| format!("--lt-{error}"))?),
        "lt-ideal" => Box::new(Lt::new(Soliton::Ideal, 0).map_err(|error| error.to_string())?),
        "linear-gf2" => Box::new(RandomLinear::new(Field::Gf2, 0)),
        "linear-gf256" => Box::new(RandomLinear::new(Field::Gf256, 0)),
        _ => {
            let known = "raptorq, r10, lt, lt-ideal, linear-gf2, linear-gf256";
            return Err(format!("--code {name}: there are {known}"));
        }
    })
}

fn number<T: FromStr>(text: &str) -> Option<T> {
    text.parse().ok()
}

/// A whole number, in digits or as 1e6.
fn count(text: &str) -> Option<u64> {
    let value = number::<f64>(text)?;
    let whole = value.fract() == 0.0 && (0.0..1e15).contains(&value);
    number(text).or(whole.then_some(value as u64))
}

fn overhead(text: &str) -> Option<Overhead> {
    match text.strip_suffix('%') {
        Some(percent) => number(percent).filter(|p| (0.0..=1000.0).contains(p)).map(Overhead::Percent),
        // K + o is far from the end of 32 bits.
        None => number(text).filter(|&o| o <= 1 << 24).map(Overhead::Symbols),
    }
}

fn pattern(text: &str) -> Option<Pattern> {
    match text.split_once('=') {
        None if text == "uniform" => Some(Pattern::Uniform),
        Some(("loss", p)) => number(p).filter(|p| (0.0..1.0).contains(p)).map(Pattern::Loss),
        _ => None,
    }
}

fn list<T>(option: &str, text: &str, one: impl Fn(&str) -> Option<T>) -> Result<Vec<T>, String> {
    text.split(',').map(|part| one(part).ok_or(format!("{option}: {part:?} is not one of its values"))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Option<Arguments>, String> {
        Arguments::parse(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn a_whole_line() {
        let line =
            "--code r10,lt --k=10,20 --overhead 0,5% --received uniform,loss=0.1 --trials 1e6 --seed 7 --threads 2";
        let arguments = parse(line).unwrap().unwrap();
        assert_eq!(arguments.codes.iter().map(|code| code.name()).collect::<Vec<_>>(), ["r10", "lt"]);
        assert_eq!((arguments.k, arguments.trials, arguments.seed, arguments.threads), (vec![10, 20], 1_000_000, 7, 2));
        assert_eq!(arguments.patterns, [Pattern::Uniform, Pattern::Loss(0.1)]);
        assert_eq!(arguments.overheads, [Overhead::Symbols(0), Overhead::Percent(5.0)]);
        let symbols: Vec<u32> = [10, 100, 1001].map(|k| Overhead::Percent(5.0).symbols(k)).into();
        assert_eq!(symbols, [1, 5, 51]);
        assert!(parse("--k 10 --help").unwrap().is_none());
    }

    #[test]
    fn mistakes_are_named() {
        for (line, part) in [
            ("--code raptor", "--code raptor: there are"),
            ("--k 10,x", "--k: \"x\""),
            ("--k 0", "--k 0: raptorq takes 1 to 56403"),
            ("--code r10 --k 8193", "--k 8193: r10 takes 4 to 8192"),
            ("--overhead -1", "--overhead: \"-1\""),
            ("--received loss=1", "--received: \"loss=1\""),
            ("--trials 0", "--trials is a whole number"),
            ("--trials 1.5", "--trials is a whole number"),
            ("--threads", "--threads needs a value"),
            ("--threads 0", "--threads is a whole number from 1 to 1024"),
            ("--lt-c 0", "--lt-c = 0: above 0"),
            ("--lt-delta 2", "--lt-delta = 2: above 0 and below 1"),
            ("--sed 1", "there is no option --sed"),
        ] {
            let message = parse(line).err().unwrap_or_default();
            assert!(message.contains(part), "{line}: {message}");
        }
    }
}
