//! Ctrl-C and similar signals: peers are notified before the program ends.

use std::ops::ControlFlow;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;

use crate::events::{Event, Unfinished};
use crate::failure::CliError;
use crate::output::Output;

/// What a signal leaves unfinished.
#[derive(Debug, Default)]
pub(crate) struct Stop {
    /// What was on its way, or was to be.
    pub(crate) unfinished: Vec<Unfinished>,
    /// What becomes of that.
    pub(crate) hint: Option<String>,
    /// The program ends by a signal only: one that finds nothing on its way is no failure.
    pub(crate) ends_by_signal: bool,
}

/// The signals that have arrived.
#[derive(Clone, Debug)]
pub(crate) struct Signals {
    /// The last signal, or 0.
    last: Arc<AtomicUsize>,
    /// No peer needs to be notified: the next signal ends the program at once.
    idle: Arc<AtomicBool>,
}

impl Signals {
    /// From now on, signals that ask to stop are recorded. Before [`busy`](Self::busy), and the second time, they end the program at once.
    pub(crate) fn catch() -> Result<Self, CliError> {
        let (last, idle) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(true)));
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            // In this order: the second signal finds the flag that the first one has set.
            flag::register_conditional_shutdown(signal, 128 + signal, Arc::clone(&idle))
                .and_then(|_| flag::register_usize(signal, Arc::clone(&last), signal as usize))
                .and_then(|_| flag::register(signal, Arc::clone(&idle)))
                .map_err(|error| CliError::failed(format!("cannot catch signals: {error}")))?;
        }
        Ok(Self { last, idle })
    }

    /// There are peers to notify from now on.
    pub(crate) fn busy(&self) {
        self.idle.store(false, Ordering::SeqCst);
    }

    /// Whether to continue.
    pub(crate) fn flow(&self) -> ControlFlow<()> {
        if self.last.load(Ordering::SeqCst) == 0 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    }

    /// If a signal asked to stop, says so and what is left unfinished, and returns the exit code: 130 after Ctrl-C; 0 if the
    /// program ends by signals only, and nothing was on its way.
    pub(crate) fn stopped(&self, output: &Output, stop: Stop) -> Option<ExitCode> {
        let signal = self.last.load(Ordering::SeqCst);
        if signal == 0 {
            return None;
        }
        let name = match signal as i32 {
            SIGINT => "SIGINT",
            SIGTERM => "SIGTERM",
            _ => "SIGHUP",
        };
        let Stop { unfinished, hint, ends_by_signal } = stop;
        let is_done = ends_by_signal && unfinished.is_empty();
        output.tell(&Event::Stopped { signal: name, unfinished, hint });
        Some(if is_done { ExitCode::SUCCESS } else { ExitCode::from(u8::try_from(128 + signal).unwrap_or(u8::MAX)) })
    }
}
