//! `scdp doctor`: the capabilities of this host and its network, and what to change.

mod kernel;
mod network;

use std::process::ExitCode;

use clap::Args;

use crate::arguments::Json;
use crate::events::Event;
use crate::output::Output;

#[derive(Debug, Args)]
pub(crate) struct Doctor {
    #[command(flatten)]
    pub(crate) json: Json,
}

/// The result of one check.
struct Finding {
    check: &'static str,
    found: String,
    /// What to change; `None` if all is well.
    hint: Option<String>,
}

impl Finding {
    fn ok(check: &'static str, found: impl Into<String>) -> Self {
        Self { check, found: found.into(), hint: None }
    }

    fn warning(check: &'static str, found: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..Self::ok(check, found) }
    }
}

pub(crate) fn run(output: &Output) -> ExitCode {
    let mut warnings = 0;
    for Finding { check, found, hint } in network::findings().into_iter().chain(kernel::findings()) {
        warnings += usize::from(hint.is_some());
        output.tell(&Event::Check { check, ok: hint.is_none(), found, hint });
    }
    output.text(&match warnings {
        0 => "all is well\n".to_owned(),
        1 => "1 warning\n".to_owned(),
        _ => format!("{warnings} warnings\n"),
    });
    ExitCode::SUCCESS
}
