//! The examples of docs/reference/wire.md are what the code makes, and can be read by what the page says.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use anabranch_host::Protection;
use anabranch_host::wire::PREVIOUS;
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};

use super::examples::examples;
use super::message::{Message, keyed, sealed, sealed_as};

const MARK: &str = "<!-- example: ";

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn example(name: &str) -> Message {
    let found = examples().into_iter().find(|(other, _)| *other == name);
    found.unwrap_or_else(|| panic!("no example {name}")).1
}

/// Lines of 16 bytes after their offset; `*` for those of zeros between the first and the last.
fn hex(bytes: &[u8]) -> String {
    let mut text = String::new();
    let lines: Vec<&[u8]> = bytes.chunks(16).collect();
    let mut skipping = false;
    for (i, line) in lines.iter().enumerate() {
        let skip = i + 1 < lines.len() && line.iter().all(|&byte| byte == 0);
        if !skip {
            write!(text, "{:04x} ", i * 16).expect("a string");
            line.iter().for_each(|byte| write!(text, " {byte:02x}").expect("a string"));
            text.push('\n');
        } else if !skipping {
            text.push_str("*\n");
        }
        skipping = skip;
    }
    text
}

/// The page with each example made anew: after its mark stands a block of code, or nothing yet.
fn renewed(page: &str) -> (String, usize) {
    let (mut text, mut rest, mut found) = (String::new(), page, 0);
    while let Some((before, after)) = rest.split_once(MARK) {
        let (name, after) = after.split_once(" -->\n").expect("a mark ends");
        let (name, protection) = match name.strip_suffix(", without a key") {
            Some(name) => (name, Protection::None),
            None => (name, keyed()),
        };
        let keyless = if matches!(protection, Protection::None) { ", without a key" } else { "" };
        let block = hex(&sealed(&protection, &example(name)));
        write!(text, "{before}{MARK}{name}{keyless} -->\n\n```text\n{block}```\n").expect("a string");
        rest = match after.strip_prefix("\n```text\n") {
            Some(old) => old.split_once("```\n").expect("a block of code ends").1,
            None => after,
        };
        found += 1;
    }
    (text + rest, found)
}

#[test]
fn the_page_shows_what_the_code_makes() {
    let path = repository().join("docs/reference/wire.md");
    let page = std::fs::read_to_string(&path).expect("the page is there");
    let (renewed, found) = renewed(&page);
    assert_eq!(found, 7, "an example for each kind");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, &renewed).expect("the repository can be written");
    } else {
        assert!(
            page == renewed,
            "docs/reference/wire.md is out of date: UPDATE=1 cargo test -p anabranch-host --test all wire::"
        );
    }
}

#[test]
fn the_first_inputs_of_the_fuzz_target_are_the_examples() {
    let folder = repository().join("crates/host/fuzz/seeds/datagram");
    let mut inputs = Vec::new();
    for (name, message) in examples() {
        let plain = sealed(&Protection::None, &message);
        inputs.push((name.to_owned(), [&[0][..], &sealed(&keyed(), &message)].concat()));
        inputs.push((format!("{name}-without-a-key"), [&[1], &plain[..]].concat()));
        if matches!(message, Message::Open(..)) {
            inputs.push((format!("{name}-version-1"), [&[0][..], &sealed_as(PREVIOUS, &keyed(), &message)].concat()));
        }
        // What only who has the key can send.
        let header = match message {
            Message::Control(_) | Message::Hashes(_) => 24,
            Message::Open(..) | Message::Answer(_) => 44,
            _ => continue,
        };
        inputs.push((format!("{name}-body"), [&[2], &plain[header..]].concat()));
    }
    for (name, input) in inputs {
        let path = folder.join(&name);
        if std::env::var_os("UPDATE").is_some() {
            std::fs::create_dir_all(&folder).expect("the repository can be written");
            std::fs::write(&path, &input).expect("the repository can be written");
        }
        let kept = std::fs::read(&path).unwrap_or_default();
        assert!(kept == input, "{name} is out of date: UPDATE=1 cargo test -p anabranch-host --test all wire::");
    }
}

/// Keys of a direction: for MACs, and for the AEAD.
pub(crate) fn keys(context: &'static str, material: &[&[u8]]) -> ([u8; 32], [u8; 32]) {
    let mut keys = [0; 64];
    blake3::Hasher::new_derive_key(context).update(&material.concat()).finalize_xof().fill(&mut keys);
    let (mac, aead) = keys.split_at(32);
    (mac.try_into().expect("32 bytes"), aead.try_into().expect("32 bytes"))
}

/// Opens a sealed datagram by the page's rules, with nothing of this crate; the body.
fn read(datagram: &[u8]) -> Vec<u8> {
    let psk: Vec<u8> = (0..32).collect();
    let kind = datagram[0] & 15;
    let opener_salt = [0xa0; 16];
    let keys = match kind {
        2 | 6 => keys("anabranch scdp 1 responder", &[&psk, &opener_salt, &[0xb0; 16], &[0, 2]]),
        _ => keys("anabranch scdp 1 opener", &[&psk, &opener_salt]),
    };
    assert_eq!((datagram[0] >> 4, datagram[1] & 2, &datagram[4..8]), (2, 2, &[0x0b, 0xad, 0xca, 0xfe][..]));
    opened(datagram, keys)
}

/// The body of a sealed datagram that is the first of its direction.
pub(crate) fn opened(datagram: &[u8], (mac_key, aead_key): ([u8; 32], [u8; 32])) -> Vec<u8> {
    let kind = datagram[0] & 15;
    let (header, number_at) = match kind {
        1 => (36, 20),
        2 | 3 | 7 => (24, 8),
        4 | 6 => (44, 8),
        kind => panic!("kind {kind} is not protected"),
    };
    assert_eq!(usize::from(u16::from_be_bytes([datagram[2], datagram[3]])), datagram.len() - header);
    assert_eq!(datagram[number_at..number_at + 8], [0; 8], "the first of its direction");

    let (covered, mac) = if kind == 1 {
        (datagram[..28].to_vec(), &datagram[28..36])
    } else {
        ([&datagram[..16], &[0; 8], &datagram[24..]].concat(), &datagram[16..24])
    };
    assert_eq!(&blake3::keyed_hash(&mac_key, &covered).as_bytes()[..8], mac);
    let mut body = datagram[header..].to_vec();
    if kind != 2 {
        let authenticated = if kind == 1 { &covered[..] } else { &covered[..header] };
        let key = LessSafeKey::new(UnboundKey::new(&AES_256_GCM, &aead_key).expect("32 bytes"));
        let nonce = Nonce::assume_unique_for_key([0; 12]);
        let length = key.open_in_place(nonce, Aad::from(authenticated), &mut body).expect("genuine").len();
        body.truncate(length);
    }
    body
}

#[test]
fn the_page_suffices_to_read_the_examples() {
    for (name, message) in examples() {
        if matches!(message, Message::Retry(_)) {
            continue;
        }
        let header = match message {
            Message::Symbol(..) => 36,
            Message::Open(..) | Message::Answer(_) => 44,
            _ => 24,
        };
        // Padding is shorter where a tag follows.
        let mut plain = sealed(&Protection::None, &message)[header..].to_vec();
        if matches!(message, Message::Open(..)) {
            plain.truncate(plain.len() - 16);
        }
        assert_eq!(read(&sealed(&keyed(), &message)), plain, "{name}");
    }
    assert_eq!(read(&sealed(&keyed(), &example("symbol"))), b"an encoding symbol");
    assert_eq!(read(&sealed(&keyed(), &example("control-close"))), [2, 1]);
    assert_eq!(read(&sealed(&keyed(), &example("answer-offer"))), [1, 0x05, 0xc0, 0]);
    assert_eq!(
        read(&sealed(&keyed(), &example("hashes"))),
        [&[1, 2, 0, 0, 0, 0, 0, 0, 0, 2][..], &[0x1a; 32], &[0x1b; 32]].concat()
    );
    let pulls = read(&sealed(&keyed(), &example("pull")));
    assert_eq!(pulls, [[0, 0, 0, 6], [2, 0, 0, 0], [0, 0, 0, 7], [0, 0, 0, 22], [0, 0, 0, 9], [0, 0, 0, 3]].concat());
}
