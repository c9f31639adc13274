//! Ctrl-C and similar signals: peers are notified before the program ends.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;

use crate::failure::CliError;

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

    /// The error and exit code if a signal asked to stop: 130 after Ctrl-C. `None` if none did.
    pub(crate) fn stopped(&self) -> Option<CliError> {
        let signal = self.last.load(Ordering::SeqCst);
        (signal != 0).then(|| CliError {
            message: "stopped; the other hosts were told".to_owned(),
            hint: None,
            code: u8::try_from(128 + signal).unwrap_or(u8::MAX),
        })
    }
}
