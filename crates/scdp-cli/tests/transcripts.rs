//! Help texts and errors, as they are printed. `TRYCMD=overwrite cargo test -p scdp-cli --test all transcripts::` writes them again.

#[test]
fn help_and_errors() {
    let cases = trycmd::TestCases::new();
    // One file of cases has the help, the other has errors.
    cases.env("COLUMNS", "100").case("tests/cmd/*.trycmd");
}
