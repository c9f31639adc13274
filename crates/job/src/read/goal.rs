//! GOAL, the text: `num_ranks N`, then for each rank `rank r { ... }` with lines
//!
//! ```text
//! [label:] send <bytes>b to <rank> [tag t] [cpu c] [nic 0]
//! [label:] recv <bytes>b from <rank | -1> [tag t | -1] [cpu c] [nic 0]
//! [label:] calc <nanoseconds> [cpu c]
//! label requires label      the first waits until the second has ended
//! label irequires label     the first waits until the second has started
//! ```
//!
//! As `LogGOPSim`'s converter (`src/LogGOPSim/txt2bin.re`) it knows `//` and `/* */`; labels belong to their rank, and must stand before
//! they are used.

use crate::builder::Builder;
use crate::error::JobError;
use crate::job::{Action, Job, LONGEST_NS, Op, Operation, Peers, Place, RANKS_MAX};
use anabranch_transport::{Bytes, Duration};
use std::collections::BTreeMap;

type Words<'a> = std::slice::Iter<'a, &'a str>;

/// What has been read so far.
struct Reader<'a> {
    job: Builder,
    /// The rank whose lines these are, and the line in which it began.
    rank: Option<(u32, usize)>,
    /// Of this rank.
    labels: BTreeMap<&'a str, Op>,
    /// Ranks that have been described.
    seen: Vec<bool>,
}

pub(super) fn read(text: &str) -> Result<Job, JobError> {
    let bare = without_comments(text)?;
    let mut reader: Option<Reader> = None;
    for (number, line) in (1..).zip(bare.lines()) {
        let words: Vec<&str> = line.split_whitespace().collect();
        if words.is_empty() {
            continue;
        }
        let at = |message: String| JobError::at(number, message);
        match &mut reader {
            None => {
                let ["num_ranks", ranks] = words[..] else {
                    return Err(at(format!("expected `num_ranks N`, found {:?}", line.trim())));
                };
                let ranks = whole(ranks, u64::from(RANKS_MAX)).map_err(at)? as u32;
                let seen = vec![false; ranks as usize];
                reader = Some(Reader { job: Builder::new(ranks), rank: None, labels: BTreeMap::new(), seen });
            }
            Some(reader) => reader.line(&words, number).map_err(at)?,
        }
    }
    let reader = reader.ok_or_else(|| JobError::at(0, "the line `num_ranks N` is missing"))?;
    match reader.rank {
        Some((rank, line)) => Err(JobError::at(line, format!("`rank {rank} {{` has no `}}`"))),
        None => reader.job.build(),
    }
}

impl<'a> Reader<'a> {
    /// A line with at least one word.
    fn line(&mut self, words: &[&'a str], number: usize) -> Result<(), String> {
        let Some((rank, _)) = self.rank else { return self.begin_rank(words, number) };
        let (words, ends) = match words {
            [before @ .., "}"] => (before, true),
            _ => (words, false),
        };
        match words {
            [] => {}
            [op, "requires", before] => {
                let (op, before) = (self.op(op)?, self.op(before)?);
                self.job.after(op, before);
            }
            [op, "irequires", before] => {
                let (op, before) = (self.op(op)?, self.op(before)?);
                self.job.after_start(op, before);
            }
            [label, ":", operation @ ..] => self.operation(rank, Some(label), operation, number)?,
            [label, operation @ ..] if label.ends_with(':') => {
                self.operation(rank, Some(label.trim_end_matches(':')), operation, number)?;
            }
            operation => self.operation(rank, None, operation, number)?,
        }
        if ends {
            self.rank = None;
        }
        Ok(())
    }

    fn begin_rank(&mut self, words: &[&'a str], number: usize) -> Result<(), String> {
        let (rank, ends) = match words {
            ["rank", rank, "{"] => (*rank, false),
            ["rank", rank, "{", "}"] => (*rank, true),
            ["rank", rank] if rank.ends_with('{') => (rank.trim_end_matches('{'), false),
            _ => return Err(format!("expected `rank r {{`, found {:?}", words.join(" "))),
        };
        let rank = whole(rank, u64::from(RANKS_MAX))? as u32;
        let Some(seen) = self.seen.get_mut(rank as usize) else {
            return Err(format!("there is no rank {rank}: `num_ranks` says {}", self.job.ranks()));
        };
        if std::mem::replace(seen, true) {
            return Err(format!("rank {rank} has been described before"));
        }
        self.labels.clear();
        self.rank = (!ends).then_some((rank, number));
        Ok(())
    }

    fn op(&self, label: &str) -> Result<Op, String> {
        self.labels.get(label).copied().ok_or_else(|| format!("no operation of this rank above is labelled {label:?}"))
    }

    fn operation(&mut self, rank: u32, label: Option<&'a str>, words: &[&str], number: usize) -> Result<(), String> {
        let mut rest = words.iter();
        let mut next = || rest.next().copied();
        let (what, amount) = (next().unwrap_or_default(), next());
        let amount = amount.ok_or_else(|| format!("nothing follows {what:?}"))?;
        let size = || {
            let bytes =
                amount.strip_suffix('b').ok_or_else(|| format!("expected a size such as `8b`, found {amount:?}"))?;
            whole(bytes, u64::MAX >> 1).map(Bytes)
        };
        let mut action = match what {
            "send" => {
                let bytes = size()?;
                let to = peer(&mut rest, "to")?.ok_or("a message is for one rank, not for -1")?;
                Action::Send { to: Peers::One(to), bytes, tag: 0 }
            }
            "recv" => {
                let bytes = size()?;
                Action::Receive { from: peer(&mut rest, "from")?, bytes, tag: Some(0) }
            }
            "calc" => Action::Calc(Duration::from_ns(whole(amount, LONGEST_NS)?)),
            other => return Err(format!("expected send, recv or calc, found {other:?}")),
        };
        let stream = attributes(&mut rest, &mut action)?;
        let op = self.job.push(Operation { rank, stream, action, place: Place::Line(number as u32) });
        match label.and_then(|label| self.labels.insert(label, op).map(|_| label)) {
            Some(label) => Err(format!("an operation of this rank above is labelled {label:?}, too")),
            None => Ok(()),
        }
    }
}

/// The rank after a preposition; `None`: any.
fn peer(rest: &mut Words, preposition: &str) -> Result<Option<u32>, String> {
    match (rest.next(), rest.next()) {
        (Some(word), Some(&"-1")) if *word == preposition => Ok(None),
        (Some(word), Some(rank)) if *word == preposition => Ok(Some(whole(rank, u64::from(RANKS_MAX))? as u32)),
        (found, _) => Err(format!("expected `{preposition} <rank>`, found {:?}", found.unwrap_or(&"nothing"))),
    }
}

/// What may follow: the tag goes to the action, the stream is returned.
fn attributes(rest: &mut Words, action: &mut Action) -> Result<u8, String> {
    let mut stream = 0;
    while let Some(word) = rest.next() {
        let value = *rest.next().ok_or_else(|| format!("nothing follows {word:?}"))?;
        match (*word, &mut *action) {
            ("cpu", _) => stream = whole(value, 255)? as u8,
            ("nic", _) if value == "0" => {}
            ("nic", _) => return Err(format!("`nic {value}`: a rank has one network interface, 0")),
            ("tag", Action::Send { tag, .. }) => *tag = whole(value, u64::from(u32::MAX))? as u32,
            ("tag", Action::Receive { tag, .. }) if value == "-1" => *tag = None,
            ("tag", Action::Receive { tag, .. }) => *tag = Some(whole(value, u64::from(u32::MAX))? as u32),
            ("tag", _) => return Err("a computation has no tag".to_owned()),
            (other, _) => return Err(format!("expected tag, cpu or nic, found {other:?}")),
        }
    }
    Ok(stream)
}

fn whole(text: &str, most: u64) -> Result<u64, String> {
    match text.parse::<u64>() {
        Ok(n) if n <= most => Ok(n),
        Ok(n) => Err(format!("{n} is too large: at most {most}")),
        Err(_) => Err(format!("expected a whole number, found {text:?}")),
    }
}

/// The text with as many lines, less its comments.
fn without_comments(text: &str) -> Result<String, JobError> {
    let mut bare = String::with_capacity(text.len());
    let mut inside = None;
    for (number, line) in (1..).zip(text.lines()) {
        let mut rest = line;
        loop {
            if inside.is_some() {
                let Some((_, after)) = rest.split_once("*/") else { break };
                (rest, inside) = (after, None);
            }
            let to_end = rest.find("//").unwrap_or(rest.len());
            let Some(begin) = rest.find("/*").filter(|&begin| begin < to_end) else {
                bare.push_str(&rest[..to_end]);
                break;
            };
            bare.push_str(&rest[..begin]);
            bare.push(' ');
            (rest, inside) = (&rest[begin + 2..], Some(number));
        }
        bare.push('\n');
    }
    match inside {
        Some(line) => Err(JobError::at(line, "`/*` has no `*/`")),
        None => Ok(bare),
    }
}
