//! Completions and manual pages.

use std::path::Path;
use std::process::ExitCode;

use clap::CommandFactory;
use clap_complete::Shell;

use crate::cli::Cli;
use crate::failure::CliError;
use crate::output;

pub(crate) fn completions(shell: Shell) -> Result<ExitCode, CliError> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "scdp", &mut text);
    output::print(&String::from_utf8(text).map_err(CliError::failed)?);
    Ok(ExitCode::SUCCESS)
}

pub(crate) fn man(directory: &Path) -> Result<ExitCode, CliError> {
    if !directory.is_dir() {
        return Err(CliError::of_path(directory, "no such folder").hint(format!("mkdir -p {}", directory.display())));
    }
    clap_mangen::generate_to(Cli::command().disable_help_subcommand(true), directory)
        .map_err(|error| CliError::of_path(directory, error))?;
    Ok(ExitCode::SUCCESS)
}
