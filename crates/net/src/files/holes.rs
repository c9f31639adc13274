//! Zeros that are not stored: what a sparse file has holes for, and what might be one.
//!
//! A run of zeros is taken out of the file where the system can do that (`FALLOC_FL_PUNCH_HOLE`), which also gives its part of a reservation back.
//! Blocks of an object neither begin nor end where those of a file system do, so neighbouring runs are joined.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;

use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::Errno;

/// The least that is worth a hole: a block of most file systems.
const UNIT: u64 = 4096;

/// Runs that are remembered, at most; of more, those at the beginning are forgotten, and keep a few blocks at their ends.
const RUNS: usize = 4096;

/// The runs of zeros of a file, so far.
#[derive(Debug, Default)]
pub(super) struct Holes {
    /// Where each run begins and ends.
    runs: BTreeMap<u64, u64>,
    /// Something may be in the file where nothing was written: room that is reserved, or what an earlier session left.
    is_filled: bool,
}

impl Holes {
    /// For a file that has holes wherever nothing was written.
    pub(super) fn new() -> Self {
        Self::default()
    }

    /// The file may have anything where nothing was written.
    pub(super) fn fill(&mut self) {
        self.is_filled = true;
    }

    /// Writes bytes, but for runs of zeros.
    ///
    /// # Errors
    ///
    /// Any error of the system.
    pub(super) fn write_at(&mut self, file: &File, offset: u64, bytes: &[u8]) -> io::Result<()> {
        for (run, is_zero) in runs(offset, bytes) {
            let start = offset + run.start as u64;
            if is_zero {
                self.zero(file, start..offset + run.end as u64)?;
            } else {
                file.write_all_at(&bytes[run], start)?;
            }
        }
        Ok(())
    }

    /// Room was reserved for the whole file: gives back that of the runs.
    ///
    /// # Errors
    ///
    /// Any error of the system.
    pub(super) fn on_reserved(&mut self, file: &File) -> io::Result<()> {
        self.is_filled = true;
        self.runs.iter().try_for_each(|(&start, &end)| self.punch(file, start..end))
    }

    /// Makes a range zero.
    fn zero(&mut self, file: &File, range: Range<u64>) -> io::Result<()> {
        let run = self.join(range.clone());
        // The blocks at its ends may now be zero as a whole.
        let (start, end) = (range.start / UNIT * UNIT, range.end.div_ceil(UNIT) * UNIT);
        let start = if start >= run.start { start } else { range.start };
        self.punch(file, start..if end <= run.end { end } else { range.end })
    }

    fn punch(&self, file: &File, range: Range<u64>) -> io::Result<()> {
        let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        match fallocate(file, flags, range.start, range.end - range.start) {
            Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) if self.is_filled => write_zeros(file, range),
            Ok(()) | Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Remembers a run, and returns it with those that it touches.
    fn join(&mut self, range: Range<u64>) -> Range<u64> {
        let mut joined = range;
        while let Some((&start, &end)) = self.runs.range(..=joined.end).next_back().filter(|run| *run.1 >= joined.start)
        {
            self.runs.remove(&start);
            joined = joined.start.min(start)..joined.end.max(end);
        }
        self.runs.insert(joined.start, joined.end);
        if self.runs.len() > RUNS {
            self.runs.pop_first();
        }
        joined
    }
}

/// The parts of `bytes` that are zeros and those that are not, in turn. Each begins and ends at a multiple of [`UNIT`] in the file, or where `bytes` do.
fn runs(offset: u64, bytes: &[u8]) -> impl Iterator<Item = (Range<usize>, bool)> + '_ {
    let unit_at = move |from: usize| {
        let at = offset + from as u64;
        let length = (UNIT - at % UNIT).min((bytes.len() - from) as u64) as usize;
        (from < bytes.len()).then(|| (from + length, bytes[from..from + length] == [0; UNIT as usize][..length]))
    };
    let mut from = 0;
    std::iter::from_fn(move || {
        let (mut end, is_zero) = unit_at(from)?;
        while let Some((next, _)) = unit_at(end).filter(|unit| unit.1 == is_zero) {
            end = next;
        }
        let run = from..end;
        from = end;
        Some((run, is_zero))
    })
}

fn write_zeros(file: &File, range: Range<u64>) -> io::Result<()> {
    let zeros = vec![0; 1 << 16];
    let mut at = range.start;
    while at < range.end {
        let count = (range.end - at).min(zeros.len() as u64);
        file.write_all_at(&zeros[..count as usize], at)?;
        at += count;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt;

    /// Bytes that the file takes on the disk.
    fn stored(file: &File) -> u64 {
        file.metadata().expect("there").blocks() * 512
    }

    /// Whether files of this folder can have holes, and room can be reserved in it.
    fn has_holes() -> bool {
        let file = tempfile::tempfile().expect("a file");
        file.set_len(1 << 20).expect("longer");
        let sparse = stored(&file) == 0;
        sparse && fallocate(&file, FallocateFlags::empty(), 0, 1 << 20).is_ok()
    }

    /// Content with data from `start` to `end` of each `period`.
    fn content(size: usize, period: usize, data: Range<usize>) -> Vec<u8> {
        (0..size).map(|n| if data.contains(&(n % period)) { (n % 251) as u8 | 1 } else { 0 }).collect()
    }

    #[test]
    fn runs_are_the_bytes_in_order_and_alternate() {
        for (offset, size) in [(0, 0), (0, 1), (0, 4096), (1, 4095), (1, 20_000), (4095, 20_000), (142_000, 142_000)] {
            for data in [0..0, 0..1, 5000..6000, 0..10_000, 9_999..10_000] {
                let bytes = content(size, 10_000, data);
                let (mut end, mut last) = (0, None);
                for (run, is_zero) in runs(offset, &bytes) {
                    assert!(run.start == end && run.end > end && last != Some(is_zero), "{run:?}");
                    assert!(!is_zero || bytes[run.clone()].iter().all(|byte| *byte == 0));
                    (end, last) = (run.end, Some(is_zero));
                }
                assert_eq!(end, size);
            }
        }
    }

    #[test]
    fn zeros_take_no_room_whatever_the_blocks_and_the_order_and_the_content_is_right() {
        let sparse = has_holes();
        if !sparse {
            eprintln!("files have no holes here: only their content is compared");
        }
        let size = 900_000_usize;
        for (period, data, most) in [
            (size, 0..0, 8192),
            (size, 300_000..300_001, 3 * 8192),
            (300_000, 10..20_000, 3 * 32_768),
            (16_384, 0..1, size as u64 / 3),
            (size, 0..size, size as u64 + 8192),
        ] {
            let bytes = content(size, period, data.clone());
            for block in [142_000, 4096, 1_000_003] {
                for (reserve, garbage) in [(None, false), (Some(0), false), (Some(5), false), (Some(3), true)] {
                    let file = tempfile::tempfile().expect("a file");
                    let mut holes = Holes::new();
                    if garbage {
                        file.write_all_at(&vec![0xaa; size], 0).expect("written");
                        holes.fill();
                    }
                    file.set_len(size as u64).expect("longer");
                    let mut order: Vec<usize> = (0..size.div_ceil(block)).collect();
                    // Neighbours come apart.
                    order.sort_by_key(|n| n % 3);
                    for (n, index) in order.into_iter().enumerate() {
                        if reserve == Some(n) && fallocate(&file, FallocateFlags::empty(), 0, size as u64).is_ok() {
                            holes.on_reserved(&file).expect("given back");
                        }
                        let at = index * block..size.min((index + 1) * block);
                        holes.write_at(&file, at.start as u64, &bytes[at]).expect("written");
                    }
                    let mut read = vec![1; size];
                    file.read_exact_at(&mut read, 0).expect("read");
                    assert!(read == bytes, "{period} {data:?} in {block}");
                    assert!(!sparse || stored(&file) <= most, "{period} {data:?} in {block}: {}", stored(&file));
                }
            }
        }
    }

    #[test]
    fn few_runs_are_remembered() {
        let mut holes = Holes::new();
        for n in 0..3 * RUNS as u64 {
            assert_eq!(holes.join(2 * n..2 * n + 1), 2 * n..2 * n + 1);
            assert!(holes.runs.len() <= RUNS);
        }
        let end = 6 * RUNS as u64;
        assert_eq!(holes.join(0..end), 0..end);
        assert_eq!(holes.runs.len(), 1);
    }
}
