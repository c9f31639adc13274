//! Any text as a filter expression.
#![no_main]

use anabranch_traffic::Filter;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Err(error) = Filter::parse(text) {
        assert!(error.to_string().contains("\nhint: "));
    }
});
