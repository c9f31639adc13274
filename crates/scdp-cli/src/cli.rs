//! The command line: every command, with its options beside what it does.

use std::path::PathBuf;

use clap::{Parser, Subcommand};
use clap_complete::Shell;

use crate::arguments::{Json, Session};
use crate::doctor::Doctor;
use crate::fetch::Fetch;
use crate::key::Key;
use crate::lab::{self, Lab};
use crate::receive::Receive;
use crate::send::Send;
use crate::serve::Serve;
use crate::switch::Switch;

/// Copies files to many hosts at once, and from many replicas at once.
#[derive(Debug, Parser)]
#[command(
    name = "scdp",
    version,
    arg_required_else_help = true,
    after_help = "Start with `scdp key`, and `scdp COMMAND --help` for examples.\n\
                  Exit codes: 0 done, 1 not done for all, 2 wrong arguments, 130 stopped by Ctrl-C."
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Makes a key: one shared by all hosts that exchange files, or one that signs files
    #[command(after_help = "Examples:\n  \
        scdp key scdp.key && scp -p scdp.key b: && scp -p scdp.key c:\n  \
        scdp key --sign sign.key && scp sign.key.pub b: && scp sign.key.pub c:\n\n\
        Whoever has the shared key can send in anybody's name. A signing key stays on the host that files come from: `send --sign`, `serve --sign`.\n\
        Hosts that require its signature, `receive --signed-by` and `fetch --signed-by`, accept files from nobody else.")]
    Key(Key),
    /// Sends files to hosts that run `scdp receive`, to all of them at once
    #[command(after_help = "Examples:\n  \
        scdp send model.bin --to b,c,d --key scdp.key\n  \
        scdp send model.bin --to b,c,d --key scdp.key --group 239.1.2.3 --rate 900Mbps\n\n\
        Without --group each receiver gets a copy of its own; with it, the network copies, and the uplink carries the file once.\n\
        Holes of a sparse file are sent as zeros, and are holes again at the receivers.\n\
        Exit code 0 only if all receivers (or --quorum of them) have verified the hash of every file.")]
    Send(Send),
    /// Receives the files that others send, into a folder
    #[command(after_help = "Examples:\n  \
        scdp receive --dir incoming --key scdp.key\n  \
        scdp receive --dir incoming --key scdp.key --group 239.1.2.3 --interface 10.0.0.2 --once\n\n\
        A file gets its name when it is complete, its hash matches and it is on the disk. Until then it is called .NAME.ID.part.\n\
        It has the permission bits of the sender's file, as far as the umask allows, also if it replaces another one with --force. \
        Until it is complete, and if the sender is of an earlier version, only its owner may read it. \
        A file that was there already stays as it is, with its permission bits.\n\
        Zeros are not stored: a sparse file stays sparse. But there must be room for it as if it had no holes.\n\
        When the transfer of a large file fails, its partial file is kept if it has 16 MiB or more, and the next transfer resumes from it. \
        A group resumes from the least that any of its receivers has.\n\
        One sender at a time sends under a name. Another one of the same file waits until that is over; of another file, it is refused.")]
    Receive(Receive),
    /// Serves the files of a folder to hosts that fetch them
    #[command(after_help = "Example:\n  scdp serve /srv/models --key scdp.key\n\n\
        Files in subfolders and files that begin with a dot are not served. Files are hashed while the server runs: a request for one \
        that is not hashed yet, or has changed, waits for that.")]
    Serve(Serve),
    /// Fetches a file from all hosts that serve it, a share from each
    #[command(after_help = "Examples:\n  \
        scdp fetch model.bin --from b,c,d --key scdp.key\n  \
        scdp fetch blake3:0f3c... --from b,c,d --key scdp.key -o model.bin\n\n\
        The other servers make up for one that is slow or dies. A hash finds the file under any name.")]
    Fetch(Fetch),
    /// Checks what this host and its network offer, and says what to change
    #[command(
        after_help = "Example:\n  scdp doctor\n\nNeeds no privileges, changes nothing. Exit code 0 whatever it finds."
    )]
    Doctor(Doctor),
    /// Connects network interfaces by a software switch, for tests: rates, queues, packet trimming, delay, loss
    #[command(after_help = "Examples:\n  \
        scdp switch --port p0 --port p1 --port p2 --rate 100Mbps --queue 30kB --trim 128\n  \
        scdp switch lab.toml --port p0 --port p1 --loss 1%\n\n\
        Flags override the top of the file, and [port.NAME] overrides both. docs/fidelity/software-switch.md has all settings.\n\
        Runs until Ctrl-C, prints its counters, and exits with 0. Linux only; needs CAP_NET_RAW.")]
    Switch(Switch),
    /// Runs commands in hosts around one switch, made of network namespaces of this machine
    #[command(after_help = lab::EXAMPLES)]
    Lab(Lab),
    /// Prints the completions of a shell
    #[command(after_help = "Example:\n  scdp completions bash > ~/.local/share/bash-completion/completions/scdp")]
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Writes the manual pages into a folder
    #[command(after_help = "Example:\n  scdp man ~/.local/share/man/man1 && man scdp-send")]
    Man {
        /// The folder; it must exist
        #[arg(value_name = "DIR")]
        directory: PathBuf,
    },
}

impl Command {
    pub(crate) fn json(&self) -> bool {
        self.form().is_some_and(|form| form.json)
    }

    pub(crate) fn timestamps(&self) -> bool {
        self.form().is_some_and(|form| form.timestamps)
    }

    fn form(&self) -> Option<&Json> {
        match self {
            Self::Send(Send { session: Session { json, .. }, .. })
            | Self::Receive(Receive { session: Session { json, .. }, .. })
            | Self::Serve(Serve { session: Session { json, .. }, .. })
            | Self::Fetch(Fetch { session: Session { json, .. }, .. })
            | Self::Lab(Lab { json, .. })
            | Self::Doctor(Doctor { json })
            | Self::Switch(Switch { json, .. }) => Some(json),
            Self::Key(_) | Self::Completions { .. } | Self::Man { .. } => None,
        }
    }
}
