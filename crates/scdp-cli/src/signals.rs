//! Ctrl-C and its relatives: peers are told before the program ends.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;

use crate::failure::CliError;

/// What signals have come.
#[derive(Clone, Debug)]
pub(crate) struct Signals {
    /// The last one, or 0.
    last: Arc<AtomicUsize>,
    /// Nobody needs to be told anything: the next signal ends the program at once.
    idle: Arc<AtomicBool>,
}

impl Signals {
    /// From now on, signals that ask to stop are noted. Before [`busy`](Self::busy), and the second time, they end the program at once.
    pub(crate) fn catch() -> Result<Self, CliError> {
        let (last, idle) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(true)));
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            // In this order: the second signal finds what the first one has set.
            flag::register_conditional_shutdown(signal, 128 + signal, Arc::clone(&idle))
                .and_then(|_| flag::register_usize(signal, Arc::clone(&last), signal as usize))
                .and_then(|_| flag::register(signal, Arc::clone(&idle)))
                .map_err(|error| CliError::failed(format!("cannot catch signals: {error}")))?;
        }
        Ok(Self { last, idle })
    }

    /// There are peers from now on.
    pub(crate) fn busy(&self) {
        self.idle.store(false, Ordering::SeqCst);
    }

    /// Whether to go on.
    pub(crate) fn flow(&self) -> ControlFlow<()> {
        if self.last.load(Ordering::SeqCst) == 0 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    }

    /// What the program says and answers when it was asked to stop: 130 after Ctrl-C. None if it was not.
    pub(crate) fn stopped(&self) -> Option<CliError> {
        let signal = self.last.load(Ordering::SeqCst);
        (signal != 0).then(|| CliError {
            message: "stopped; the other hosts were told".to_owned(),
            hint: None,
            code: u8::try_from(128 + signal).unwrap_or(u8::MAX),
        })
    }
}
