//! Topology files whose hosts have several links, or links to one another, by themselves and in a scenario.

use anabranch_routing::answer::answer;
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;

fn file(name: &str, text: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::write(&path, text).expect("the file can be written");
    path
}

/// The answer to a question about a fabric, under all-to-all traffic.
fn ask(question: &str, fabric: &str, failed: &[&str]) -> Result<Value, String> {
    let mut asked = json!({"ask": question, "fabric": {"text": fabric, "failed": failed}});
    if question == "loads" {
        (asked["traffic"], asked["schemes"]) = (json!("all-to-all"), json!(["ecmp"]));
        asked["exact"] = json!(true);
    }
    let text = answer(&asked.to_string()).map_err(|e| e.to_string())?;
    Ok(serde_json::from_str(&text).expect("answers are JSON"))
}

/// The same from the file alone and from a scenario that names it.
fn alike(name: &str, text: &str, host_links: &str) -> Value {
    let fabric = file(&format!("{name}.fabric"), text);
    let scenario = format!("[fabric]\ntopology = 'file'\npath = '{name}.fabric'\nhost_links = '{host_links}'\n");
    let scenario = file(&format!("{name}.toml"), &scenario);
    let texts = [fabric, scenario].map(|path| path.display().to_string());
    let [alone, within] = texts.each_ref().map(|text| {
        let fabric = ask("fabric", text, &[]).unwrap_or_else(|e| panic!("{text}: {e}"));
        let loads = ask("loads", text, &[]).unwrap_or_else(|e| panic!("{text}: {e}"));
        json!([fabric, loads])
    });
    assert_eq!(alone, within, "{name}");
    alone
}

#[test]
fn hosts_back_to_back_in_rings_and_in_meshes() {
    let pair = alike("pair", "[hosts]\na\nb\n[links]\na, b\n", "relay");
    assert_eq!((&pair[0]["relay"], &pair[0]["levels"]), (&json!(true), &json!(["host"])));
    let ring = alike("ring", "[hosts]\na\nb\nc\nd\n[links]\na, b\nb, c\nc, d\nd, a\n", "relay");
    assert_eq!(ring[0]["hosts"], 4);
    let mesh = "[hosts]\na\nb\nc\nd\n[links]\na, b\na, c\na, d, 2Gbps\nb, c, 2Gbps\nb, d\nc, d\n";
    alike("mesh", mesh, "relay");
}

#[test]
fn hosts_with_switches_and_neighbours() {
    let mixed = alike("mixed", "[hosts]\na\nb\nc\n[switches]\ns\n[links]\na, s\nb, s\nc, b\n", "relay");
    assert_eq!(mixed[0]["relay"], true);
    // They hold together by the switches, so that hosts need not relay.
    let dual = alike("dual", "[hosts]\na\nb\n[switches]\ns\nt\n[links]\na, s\na, t\nb, s\nb, t\n", "several");
    assert_eq!(dual[0]["relay"], false);
    let single = alike("single", "[hosts]\na\nb\n[switches]\ns\n[links]\na, s\nb, s\n", "one");
    assert_eq!(single[0]["relay"], false);
}

#[test]
fn a_failure_makes_no_host_relay() {
    let text = "[hosts]\na\nb\nc\n[switches]\ns\nt\n[links]\na, s\na, t\nb, s\nc, t\nb, t\n";
    let path = file("failing.fabric", text).display().to_string();
    assert_eq!(ask("fabric", &path, &[]).map(|f| f["relay"].clone()), Ok(json!(false)));
    let error = ask("fabric", &path, &["c-t"]).expect_err("c is cut off");
    assert!(error.contains("has no link left") || error.contains("no path is left"), "{error}");
}
