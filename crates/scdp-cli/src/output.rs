//! Where output goes: results to stdout, progress to stderr; with `--json`, everything to stdout.

use std::io::{IsTerminal, Write};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use crate::events::Event;
use crate::text::{self, printable};
use crate::{figures, time};

/// Prints events, and shows a bar on a terminal.
#[derive(Debug)]
pub(crate) struct Output {
    json: bool,
    /// Lines for people begin with the time.
    timestamps: bool,
    /// Hidden where there is no terminal, or nothing to show.
    bar: ProgressBar,
    on_terminal: bool,
}

impl Output {
    pub(crate) fn new(json: bool, timestamps: bool) -> Self {
        let on_terminal = !json && std::io::stderr().is_terminal();
        Self { json, timestamps, bar: ProgressBar::hidden(), on_terminal }
    }

    /// Another one that prints alike, with a bar of its own.
    pub(crate) fn like(other: &Self) -> Self {
        Self::new(other.json, other.timestamps)
    }

    /// Whether the output is for people.
    pub(crate) fn is_text(&self) -> bool {
        !self.json
    }

    /// Prints an event.
    pub(crate) fn tell(&self, event: &Event) {
        if self.json {
            let event = text::json(serde_json::to_string(event).expect("events have texts and numbers"));
            let fields = event.strip_suffix('}').expect("an object");
            print(&format!("{fields},\"time\":\"{}\"}}\n", time::now()));
        } else if event.is_line() {
            self.bar.suspend(|| {
                let time = if self.timestamps { time::now() + " " } else { String::new() };
                let line = format!("{time}{}\n", event.lines());
                if event.is_result() {
                    print(&line);
                } else {
                    // If stderr cannot be written, it has no reader.
                    let _ = std::io::stderr().write_all(line.as_bytes());
                }
            });
        }
    }

    /// Prints text that JSON output has in its events.
    pub(crate) fn text(&self, text: &str) {
        if self.is_text() {
            self.bar.suspend(|| print(text));
        }
    }

    /// Shows that something takes time.
    pub(crate) fn waiting(&mut self, what: &str) {
        if self.on_terminal {
            self.bar.finish_and_clear();
            self.bar = ProgressBar::new_spinner().with_message(printable(what).into_owned());
            self.bar.enable_steady_tick(Duration::from_millis(100));
        }
    }

    /// Shows a bar for `size` bytes from now on.
    pub(crate) fn begin(&mut self, name: &str, size: u64) {
        if self.on_terminal {
            self.bar.finish_and_clear();
            let style = ProgressStyle::with_template("{msg} [{bar:30}] {percent}% {prefix}, {eta} left");
            self.bar = ProgressBar::new(size).with_message(printable(name).into_owned());
            self.bar.set_style(style.expect("the template is right").progress_chars("=> "));
        }
    }

    /// Updates the bar.
    pub(crate) fn progress(&self, bytes: u64, size: u64) {
        if self.json {
            self.tell(&Event::Progress { bytes, size_bytes: size });
        } else if !self.bar.is_hidden() {
            self.bar.set_length(size);
            self.bar.set_position(bytes);
            self.bar.set_prefix(figures::rate(bytes, self.bar.elapsed()));
        }
    }

    /// Removes the bar.
    pub(crate) fn end(&mut self) {
        self.bar.finish_and_clear();
        self.bar = ProgressBar::hidden();
    }
}

/// Prints to stdout. The reader may have left, as `head` does: then the program continues without it.
pub(crate) fn print(text: &str) {
    let mut stdout = std::io::stdout().lock();
    let _ = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
}
