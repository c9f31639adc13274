//! Files to series: which file is read when, by whom, and what becomes one series.

use crate::collect::Collector;
use crate::error::{IngestError, ReadError};
use crate::format;
use crate::input::Input;
use crate::report::{FileReport, Ingested};
use crate::request::{Align, Request, Settings};
use crate::series::{self, Series, Span};
use crate::stamp;
use crate::track::{Kind, Track};
use crate::watch::Watch;
use std::collections::HashMap;
use std::io::Read;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Reads files and returns their series.
///
/// # Errors
/// If the request makes no sense, a file cannot be read or is damaged (unless
/// [`Request::keep_partial`] allows that), or [`Watch::interrupt`] was called.
pub fn ingest(request: &Request, watch: &Watch) -> Result<Ingested, IngestError> {
    let settings = request.check(&format::names())?;
    let files = &request.files;
    let mut seen = std::collections::BTreeSet::new();
    for path in files {
        if !seen.insert(path) {
            return Err(IngestError::request(format!("{path} is named twice"), "its packets would count twice"));
        }
        if path != "-" {
            let io = |source| IngestError::Io { path: path.clone(), source };
            watch.expect(std::fs::metadata(Path::new(path)).map_err(io)?.len());
        }
    }
    let origin = common_origin(&settings, watch)?;
    let groups: Vec<Mutex<Group>> = (0..if request.each { files.len() } else { 1 }).map(|_| Mutex::default()).collect();
    let cores = || std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let threads = if request.threads == 0 { cores() } else { request.threads }.min(files.len());
    let next = AtomicUsize::new(0);
    let failures: Mutex<Vec<(usize, IngestError)>> = Mutex::default();
    let work = || {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some(path) = files.get(number) else { break };
            let outcome = Input::open(path, watch)
                .map_err(|source| IngestError::Io { path: path.clone(), source })
                .and_then(|input| read(path, input, &settings, origin))
                .and_then(|(report, span, tracks)| {
                    let group = groups.get(if request.each { number } else { 0 });
                    group.map_or(Ok(()), |group| lock(group).absorb(number, report, span, tracks))
                });
            match outcome {
                Ok(()) => watch.file_done(),
                Err(error) => {
                    lock(&failures).push((number, error));
                    watch.interrupt();
                }
            }
        }
    };
    if threads == 1 {
        work();
    } else {
        std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(work);
            }
        });
    }
    let mut failures = failures.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    // A reader that was only stopped because of another one's trouble has nothing to say.
    failures.sort_by_key(|(number, error)| (matches!(error, IngestError::Interrupted), *number));
    if let Some((_, error)) = failures.into_iter().next() {
        return Err(error);
    }
    let groups = groups.into_iter().map(|group| group.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner));
    Ok(collect(groups, &settings))
}

/// Reads what is in memory as if it were a file with a name.
///
/// # Errors
/// As [`ingest`]; `files` of the request are not looked at.
pub fn ingest_bytes(request: &Request, name: &str, bytes: &[u8], watch: &Watch) -> Result<Ingested, IngestError> {
    ingest_reader(request, name, bytes, watch)
}

fn ingest_reader(
    request: &Request,
    name: &str,
    source: impl Read + Send,
    watch: &Watch,
) -> Result<Ingested, IngestError> {
    let settings = Request { files: vec![name.to_owned()], ..request.clone() }.check(&format::names())?;
    let input = Input::new(source, watch).map_err(|source| IngestError::Io { path: name.to_owned(), source })?;
    let (report, span, tracks) = read(name, input, &settings, None)?;
    let mut group = Group::default();
    group.absorb(0, report, span, tracks)?;
    Ok(collect(std::iter::once(group), &settings))
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Whether a path names a pipe, which can be read once.
fn is_pipe(path: &str) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt as _;
        std::fs::metadata(path).is_ok_and(|there| there.file_type().is_fifo())
    }
    #[cfg(not(unix))]
    {
        let _ = path;
        false
    }
}

/// Several files of one series need one grid: that of the earliest.
fn common_origin(settings: &Settings, watch: &Watch) -> Result<Option<i64>, IngestError> {
    let request = &settings.request;
    if request.align == Align::Clock || request.each || request.files.len() < 2 {
        return Ok(None);
    }
    let quiet = Watch::new();
    let mut first = None;
    for path in &request.files {
        if watch.interrupted() {
            return Err(IngestError::Interrupted);
        }
        if path == "-" || is_pipe(path) {
            let name = if path == "-" { "standard input".to_owned() } else { format!("{path}, a pipe,") };
            return Err(IngestError::request(
                format!("{name} cannot be read beside files into one series"),
                "add --each, or --align clock",
            ));
        }
        let mut input = Input::open(path, &quiet).map_err(|source| IngestError::Io { path: path.clone(), source })?;
        let mut peek = Collector::peek(settings);
        match format::read(&mut input, &mut peek) {
            Ok(_) | Err((_, ReadError::Peeked)) => {}
            // Damage this early will be told when the file is read.
            Err((_, ReadError::Data(_))) if request.keep_partial => {}
            Err((_, error)) => return Err(error.of(path)),
        }
        first = match (first, peek.peeked) {
            (Some(a), Some(b)) => Some(std::cmp::min::<i64>(a, b)),
            (a, b) => a.or(b),
        };
    }
    Ok(first)
}

type Read1 = (FileReport, Option<Span>, Vec<Track>);

/// Reads one file.
fn read(path: &str, mut input: Input<'_>, settings: &Settings, origin: Option<i64>) -> Result<Read1, IngestError> {
    let mut collector = Collector::new(settings, origin);
    let (format, damaged) = match format::read(&mut input, &mut collector) {
        Ok(format) => (format, None),
        Err((format, error @ ReadError::Data(_))) if settings.request.keep_partial && format.is_some() => {
            let message = match error.of("") {
                IngestError::Data { place, message, .. } => format!("{place}: {message}"),
                other => other.to_string(),
            };
            (format.unwrap_or_default(), Some(message))
        }
        Err((_, error)) => return Err(error.of(path)),
    };
    let order = &mut collector.order;
    let span = order.started().then(|| Span {
        first: order.first,
        last: order.last,
        longest: order.longest,
        silences: std::mem::take(&mut order.silences),
    });
    let packets = collector.tracks.first().is_some_and(|track| track.kind == Kind::Packets);
    let report = FileReport {
        path: path.to_owned(),
        format,
        reader: collector.reader.unwrap_or(format),
        compression: input.compression(),
        assumed: collector.assumed.take(),
        records: collector.records,
        bytes: collector.bytes,
        packets: if packets { collector.records as i64 } else { collector.packets },
        first_ns: span.as_ref().map(|span| span.first),
        last_ns: span.as_ref().map(|span| span.last),
        out_of_order: order.late,
        largest_step_back_ns: order.step_back,
        longest_silence_ns: order.longest,
        longest_silence_at_ns: order.longest_at,
        left_out: collector.left_out,
        undecided: collector.undecided,
        unstamped: collector.unstamped,
        rounded: collector.rounded,
        damaged,
        notes: std::mem::take(&mut collector.notes),
    };
    only_tables(&report, settings)
        .map_err(|(message, hint)| IngestError::request(format!("{path}: {message}"), hint))?;
    let nothing = report.records == 0 && report.damaged.is_none();
    if settings.request.direction.is_some() && report.undecided > 0 && report.undecided == report.records {
        return Err(IngestError::request(
            format!("{path}: no record says which way it went"),
            if settings.inside.is_empty() {
                "name the prefixes that are inside: --inside 10.0.0.0/8"
            } else {
                "the headers with the addresses were not captured, are encrypted, or are of a kind not known here"
            },
        ));
    }
    let least = collector.least();
    if let Some(asked) = settings.request.bins_ns.iter().find(|width| !least.allows(**width)) {
        let [asked, own] = [*asked, least.bin_ns].map(|width| stamp::duration(width.unsigned_abs()));
        return Err(IngestError::request(
            format!("{path}: bins of {asked} are finer than what is known: {}", least.why),
            format!("choose bins of {own} or wider"),
        ));
    }
    for track in collector.tracks.iter_mut().filter(|track| track.kind != Kind::Intervals) {
        track.least = least.clone();
    }
    let mut report = report;
    if let Some(note) = leap(&report, &collector) {
        report.notes.push(note);
    }
    if nothing {
        report.notes.push("the file holds no records".to_owned());
    }
    Ok((report, span, collector.tracks))
}

/// Refuses options of tables for what is none.
fn only_tables(report: &FileReport, settings: &Settings) -> Result<(), (String, &'static str)> {
    let request = &settings.request;
    let volumes = ["csv-volumes", "counters"].contains(&report.reader);
    let text = volumes || ["csv-packets", "nfdump"].contains(&report.reader);
    for (given, applies, option) in [
        (request.line_rate_bps.is_some(), volumes, "--line-rate"),
        (request.time_format.is_some(), text, "--time-format"),
        (request.decimal.is_some(), text, "--decimal"),
    ] {
        if given && !applies {
            return Err((format!("{option} does not apply to {}", report.format), "leave it out for this file"));
        }
    }
    Ok(())
}

/// Says when one step takes nearly all the time of a capture, as a damaged stamp makes it.
fn leap(report: &FileReport, collector: &Collector<'_>) -> Option<String> {
    /// Bins of the finest width that a step may take.
    const BINS: i64 = 10_000;
    let (first, last) = (report.first_ns?, report.last_ns?);
    let track = collector.tracks.first().filter(|track| track.kind == Kind::Packets)?;
    let finest = *track.widths.iter().min()?;
    let most = (last - first) / 10 * 9;
    let (step, what) = if report.longest_silence_ns >= most {
        (report.longest_silence_ns, "without a record")
    } else {
        (i64::try_from(report.largest_step_back_ns).ok().filter(|step| *step >= most)?, "back in one step")
    };
    (step / finest >= BINS && report.records > 2).then(|| {
        format!(
            "{} {what}, of {} in all: is a time stamp damaged? --gap 5s makes long silence unknown instead of empty",
            stamp::duration(step.unsigned_abs()),
            stamp::duration((last - first).unsigned_abs()),
        )
    })
}

/// What becomes one set of series.
#[derive(Default)]
struct Group {
    reports: Vec<(usize, FileReport)>,
    spans: Vec<Span>,
    tracks: Vec<Track>,
    /// Tracks by name.
    places: HashMap<String, usize>,
}

impl Group {
    fn absorb(
        &mut self,
        number: usize,
        report: FileReport,
        span: Option<Span>,
        tracks: Vec<Track>,
    ) -> Result<(), IngestError> {
        for track in tracks {
            let there = self.places.get(&track.name).and_then(|place| self.tracks.get_mut(*place));
            if let Some(there) = there {
                join(there, track, &report.path)?;
            } else {
                self.places.insert(track.name.clone(), self.tracks.len());
                self.tracks.push(track);
            }
        }
        self.reports.push((number, report));
        self.spans.extend(span);
        Ok(())
    }
}

fn join(there: &mut Track, track: Track, path: &str) -> Result<(), IngestError> {
    let differ =
        |what: &str, hint: &str| Err(IngestError::request(format!("{path}: {what} than the files before"), hint));
    if there.kind != track.kind {
        return differ("is another kind of data", "add --each for series of their own");
    }
    if there.widths != track.widths {
        return differ("has another interval", "choose the bins: --bin 5min");
    }
    there.has_packets &= track.has_packets;
    if track.least.bin_ns > there.least.bin_ns {
        there.least = track.least;
    }
    there.gaps.extend(track.gaps);
    there.gaps.sort_by_key(|gap| gap.from_ns);
    let mine = there.bins.iter_mut().chain(&mut there.covered);
    for (mine, other) in mine.zip(track.bins.into_iter().chain(track.covered)) {
        if (mine.origin() - other.origin()) % mine.width() != 0 {
            return differ(
                "has bins that begin at other moments",
                "add --align clock, or --each for series of their own",
            );
        }
        if mine.absorb(other).is_err() {
            return Err(IngestError::request(
                format!("{path}: from this file to the others there are more bins than allowed"),
                "add --each for series of their own, use wider bins, or raise --max-bins (16 bytes of memory a bin)",
            ));
        }
    }
    Ok(())
}

/// Makes the series, and brings the reports into the order of the request.
fn collect(groups: impl Iterator<Item = Group>, settings: &Settings) -> Ingested {
    let mut series: Vec<Series> = Vec::new();
    let mut files = Vec::new();
    for mut group in groups {
        group.reports.sort_by_key(|(number, _)| *number);
        let name = name(&group.reports, &settings.request.files);
        // The files may have come in any order: the tracks of one file are in its own order, and named ones sort.
        if group.reports.len() > 1 {
            group.tracks.sort_by(|a, b| a.name.cmp(&b.name));
        }
        let numbers: Vec<usize> = group.reports.iter().map(|(number, _)| *number).collect();
        for track in group.tracks {
            let made = series::finish(&name, track, &group.spans, settings);
            series.extend(made.into_iter().map(|one| Series { files: numbers.clone(), ..one }));
        }
        files.extend(group.reports);
    }
    files.sort_by_key(|(number, _)| *number);
    Ingested { series, files: files.into_iter().map(|(_, report)| report).collect() }
}

/// A file by its name without folders, unless another one has the same.
fn name(reports: &[(usize, FileReport)], files: &[String]) -> String {
    fn short(path: &str) -> String {
        Path::new(path).file_name().map_or_else(|| path.to_owned(), |name| name.to_string_lossy().into_owned())
    }
    let Some((_, first)) = reports.first() else { return String::new() };
    let file = short(&first.path);
    if reports.len() > 1 {
        return format!("{file} and {} more", reports.len() - 1);
    }
    let shared = files.iter().any(|other| *other != first.path && short(other) == file);
    if shared { first.path.clone() } else { file }
}
