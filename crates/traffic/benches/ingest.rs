//! How fast captures become volume series, next to the fastest peer and to plain reading.
//!
//! `benches/traffic` runs this and records the table. Captures are generated into a folder (`--dir`, default
//! `target/traffic-bench`) and stay in the page cache: what is measured is the processor, not the disk. Every measurement
//! is a process of its own, start included, as `tcpdump` is one; the contenders take turns, and the median counts.
//! Ratios are the message: the machine may be busy.

use anabranch_traffic::{Request, Watch, ingest};
use std::fs::File;
use std::io::{BufWriter, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

/// Bytes per read(2) of the plain reader, the size at which it is fastest.
const BUFFER: usize = 512 << 10;

/// The four bin widths of the target.
const BINS_NS: [i64; 4] = [5_000_000, 100_000_000, 1_000_000_000, 5_000_000_000];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["--nothing"] => Ok(()),
        ["--read", path] => plain(path),
        ["--ingest", options @ ..] => ours(options),
        ["--dir", dir] => table(Path::new(dir), 7),
        ["--dir", dir, "--runs", runs] => table(Path::new(dir), runs.parse().unwrap_or(7)),
        _ => table(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/traffic-bench")), 7),
    }
    .map_or_else(
        |error| {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        },
        |()| ExitCode::SUCCESS,
    )
}

type Measured = Result<(), Box<dyn std::error::Error>>;

/// Reads a file and does nothing with it.
fn plain(path: &str) -> Measured {
    let (mut file, mut buffer, mut total) = (File::open(path)?, vec![0; BUFFER], 0);
    loop {
        let read = file.read(&mut buffer)?;
        if read == 0 {
            break;
        }
        total += read;
    }
    println!("{total} {}", peak_kib());
    Ok(())
}

/// Options before the files: `1` or `2` threads, and a filter or `-`.
fn ours(options: &[&str]) -> Measured {
    let [threads, filter, files @ ..] = options else { return Err("--ingest THREADS FILTER FILE ...".into()) };
    let request = Request {
        files: files.iter().map(|&file| file.to_owned()).collect(),
        bins_ns: BINS_NS.to_vec(),
        threads: threads.parse()?,
        each: files.len() > 1,
        filter: (*filter != "-").then(|| (*filter).to_owned()),
        ..Request::default()
    };
    let outcome = ingest(&request, &Watch::new())?;
    let bytes: i64 = outcome.files.iter().map(|file| file.bytes).sum();
    println!("{bytes} {}", peak_kib());
    Ok(())
}

/// The most memory this process has used.
fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or_default()
}

/// Numbers that are the same every time (`SplitMix64`).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }
}

/// Writes a capture anew: how the page cache holds a file depends on how it came there, and changes the speed of every reader
/// by up to half. TCP packets, 40 % of them small and 60 % full, about 100 000 in a second.
fn generate(path: &Path, packets: u64, snaplen: usize) -> std::io::Result<()> {
    let draft = path.with_extension("part");
    let mut file = BufWriter::with_capacity(1 << 20, File::create(&draft)?);
    for word in [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, snaplen as u32, 1] {
        file.write_all(&word.to_le_bytes())?;
    }
    let (mut random, mut us, mut frame) = (Random(1), 1_700_000_000_000_000_u64, [0_u8; 1514]);
    frame[12..16].copy_from_slice(&[8, 0, 0x45, 0]);
    frame[23] = 6;
    for _ in 0..packets {
        us += random.below(20);
        let wire = if random.below(10) < 4 { 60 + random.below(100) } else { 1514 };
        let kept = (wire as usize).min(snaplen);
        for word in [(us / 1_000_000) as u32, (us % 1_000_000) as u32, kept as u32, wire as u32] {
            file.write_all(&word.to_le_bytes())?;
        }
        frame[26..34].copy_from_slice(&random.next().to_be_bytes());
        frame[34..38].copy_from_slice(&(random.next() as u32).to_be_bytes());
        file.write_all(frame.get(..kept).unwrap_or_default())?;
    }
    file.flush()?;
    std::fs::rename(draft, path)
}

/// What is measured.
struct Contender {
    name: &'static str,
    command: Vec<String>,
    seconds: Vec<f64>,
    peak_kib: u64,
}

impl Contender {
    fn new(name: &'static str, command: &[&str]) -> Self {
        let command = command.iter().map(|&word| word.to_owned()).collect();
        Self { name, command, seconds: Vec::new(), peak_kib: 0 }
    }

    #[expect(clippy::disallowed_methods, reason = "a benchmark measures time")]
    fn run(&mut self) -> Measured {
        let [program, arguments @ ..] = self.command.as_slice() else { return Ok(()) };
        let start = std::time::Instant::now();
        let output = Command::new(program).args(arguments).stderr(Stdio::null()).output()?;
        self.seconds.push(start.elapsed().as_secs_f64());
        if !output.status.success() {
            return Err(format!("{} failed: {:?}", self.name, self.command).into());
        }
        let text = String::from_utf8_lossy(&output.stdout);
        self.peak_kib = text.split_whitespace().nth(1).and_then(|word| word.parse().ok()).unwrap_or(0);
        Ok(())
    }

    fn median(&self) -> f64 {
        let mut seconds = self.seconds.clone();
        seconds.sort_by(f64::total_cmp);
        seconds.get(seconds.len() / 2).copied().unwrap_or(f64::NAN)
    }

    fn range(&self) -> (f64, f64) {
        self.seconds.iter().fold((f64::INFINITY, 0.0), |(low, high), s| (s.min(low), s.max(high)))
    }
}

fn take_turns(contenders: &mut [Contender], runs: usize) -> Measured {
    // Once to warm the caches.
    for round in 0..=runs {
        for contender in contenders.iter_mut() {
            contender.run()?;
            if round == 0 {
                contender.seconds.clear();
            }
        }
    }
    Ok(())
}

fn compress(program: &str, path: &Path) -> Option<PathBuf> {
    let extension = match program {
        "gzip" => "gz",
        "xz" => "xz",
        _ => "zst",
    };
    let packed = PathBuf::from(format!("{}.{extension}", path.display()));
    if !packed.exists() {
        let level = if program == "xz" { "-1kq" } else { "-kq" };
        let done = Command::new(program).arg(level).arg(path).stderr(Stdio::null()).status().ok()?;
        if !done.success() {
            return None;
        }
    }
    Some(packed)
}

fn table(dir: &Path, runs: usize) -> Measured {
    std::fs::create_dir_all(dir)?;
    let program = std::env::current_exe()?;
    let me = program.to_str().ok_or("the path of the program is no text")?;
    let files = [("cut", 1_000_000_u64, 96), ("full", 1_000_000, 65_535), ("long", 10_000_000, 96)];
    let path = |name: &str| dir.join(format!("{name}.pcap"));
    for (name, packets, snaplen) in files {
        generate(&path(name), packets, snaplen)?;
    }
    println!(
        "| file | reader | ms (fastest-slowest) | M packets/s | against plain reads | against tcpdump | peak MB |"
    );
    println!("|---|---|---:|---:|---:|---:|---:|");
    let tcpdump = Command::new("tcpdump").arg("--version").output().is_ok();
    for (name, packets, snaplen) in files {
        let file = path(name);
        let text = file.to_str().ok_or("the path of a file is no text")?;
        let mut contenders = vec![
            Contender::new("nothing: start of a process", &[me, "--nothing"]),
            Contender::new("plain reads", &[me, "--read", text]),
            Contender::new("this", &[me, "--ingest", "1", "-", text]),
            Contender::new("this, filtered", &[me, "--ingest", "1", "tcp and net 128.0.0.0/1", text]),
        ];
        if tcpdump {
            contenders.push(Contender::new("tcpdump -w /dev/null", &["tcpdump", "-r", text, "-w", "/dev/null"]));
        }
        take_turns(&mut contenders, runs)?;
        let what = format!("{} M packets, snaplen {snaplen}", packets / 1_000_000);
        rows(&what, packets, &contenders);
    }
    for program in ["gzip", "zstd", "xz"] {
        let Some(packed) = compress(program, &path("cut")) else { continue };
        let text = packed.to_str().ok_or("no text")?;
        let mut contenders = vec![
            Contender::new("decompressor alone", &[program, "-dcqf", text]),
            Contender::new("this", &[me, "--ingest", "1", "-", text]),
        ];
        take_turns(&mut contenders, runs.min(3))?;
        rows(&format!("1 M packets, snaplen 96, {program}"), 1_000_000, &contenders);
    }
    // The same bytes under another name: a file may be named only once.
    for (name, what, packets) in [
        ("long.pcap", "two files, 20 M packets, snaplen 96", 20_000_000_u64),
        ("cut.pcap.gz", "two files, 2 M packets, snaplen 96, gzip", 2_000_000),
    ] {
        let (one, two) = (dir.join(name), dir.join(format!("second-{name}")));
        if !two.exists() {
            std::fs::hard_link(&one, &two)?;
        }
        let (one, two) = (one.to_str().ok_or("no text")?, two.to_str().ok_or("no text")?);
        let mut contenders = vec![
            Contender::new("this, one thread", &[me, "--ingest", "1", "-", one, two]),
            Contender::new("this, two threads", &[me, "--ingest", "2", "-", one, two]),
        ];
        take_turns(&mut contenders, runs)?;
        rows(what, packets, &contenders);
    }
    Ok(())
}

fn rows(what: &str, packets: u64, contenders: &[Contender]) {
    let base = |name: &str| contenders.iter().find(|contender| contender.name.starts_with(name)).map(Contender::median);
    let ratio = |base: Option<f64>, own: f64| base.map_or_else(String::new, |base| format!("{:.2}x", base / own));
    for contender in contenders {
        let (median, (low, high)) = (contender.median(), contender.range());
        let memory =
            if contender.peak_kib > 0 { format!("{:.1}", contender.peak_kib as f64 / 1024.0) } else { String::new() };
        println!(
            "| {what} | {} | {:.1} ({:.1}-{:.1}) | {:.1} | {} | {} | {memory} |",
            contender.name,
            median * 1e3,
            low * 1e3,
            high * 1e3,
            packets as f64 / median / 1e6,
            ratio(base("plain"), median),
            ratio(base("tcpdump"), median),
        );
    }
}
