use super::*;
use crate::Settings;
use crate::progress::driving::{drive, ended_us};
use proptest::prelude::*;
use std::path::Path;

fn read(files: &[Vec<u8>], groups: &Groups) -> Result<Job, String> {
    job(files.len() as u32, &mut |rank| Ok(files[rank as usize].clone()), groups, &Choice::default())
        .map_err(|e| e.message)
}

/// A file of nodes.
fn file(nodes: &[Node]) -> Vec<u8> {
    let mut bytes = vec![0];
    for node in nodes {
        node.encode_length_delimited(&mut bytes).expect("memory");
    }
    bytes
}

fn node(id: u64, kind: i32, before: &[u64], attributes: &[(&str, Value)]) -> Node {
    let attr =
        attributes.iter().map(|(name, value)| Attribute { name: (*name).to_owned(), value: Some(value.clone()) });
    Node { id, name: format!("n{id}"), kind, data_deps: before.to_vec(), attr: attr.collect(), ..Node::default() }
}

fn all_reduce(id: u64, size: i64, group: &str) -> Node {
    let group = ("pg_name", Value::String(group.to_owned()));
    node(id, COLLECTIVE, &[], &[("comm_type", Value::Int64(0)), ("comm_size", Value::Int64(size)), group])
}

/// When everything has ended, if a message takes 1 us.
fn takes_us(job: Job) -> u64 {
    let ended = ended_us(&drive(job, Settings::default(), |_| Duration::from_us(1), Duration::ZERO));
    ended.into_iter().max().unwrap_or(0)
}

/// ASTRA-sim's examples: an all-reduce of 1 MB by four ranks, and a ring of eight written out.
#[test]
fn public_files_are_replayed() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let files = |name: &str, ranks: u32| -> Vec<Vec<u8>> {
        (0..ranks)
            .map(|rank| std::fs::read(folder.join(format!("{name}.{rank}.et"))).expect("it is beside the tests"))
            .collect()
    };
    let reduce = read(&files("all_reduce", 4), &Groups::new()).unwrap();
    // A ring of six steps, 262144 bytes each.
    assert_eq!(reduce.sends().len(), 4 * 6);
    let quarter =
        |op: &Op| matches!(reduce.operations()[*op as usize].action, Action::Send { bytes: Bytes(262_144), .. });
    assert!(reduce.sends().iter().all(quarter));
    assert_eq!(takes_us(reduce), 6);
    let ring = read(&files("custom_allreduce", 8), &Groups::new()).unwrap();
    assert_eq!(ring.sends().len(), 8 * 14);
    let computes = ring.operations().iter().filter(|o| matches!(o.action, Action::Calc(_))).count();
    assert_eq!(computes, 8 * 7);
    // Fourteen steps, and seven additions of 7 us.
    assert_eq!(takes_us(ring), 14 + 7 * 7);
}

#[test]
fn compressed_or_not_it_is_the_same() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let plain = std::fs::read(folder.join("all_reduce.0.et")).expect("it is beside the tests");
    let mut packed = Vec::new();
    flate2::read::GzEncoder::new(&plain[..], flate2::Compression::fast()).read_to_end(&mut packed).unwrap();
    assert_eq!(uncompressed(packed.clone(), 0).unwrap(), plain);
    packed.truncate(packed.len() / 2);
    assert!(uncompressed(packed, 3).unwrap_err().message.starts_with("rank 3: cannot be uncompressed"));
}

#[test]
fn what_cannot_be_replayed_is_refused_by_name() {
    let one = |node: Node| read(&[file(std::slice::from_ref(&node)), file(&[])], &Groups::new()).unwrap_err();
    let size = ("comm_size", Value::Uint64(8));
    assert_eq!(
        one(node(5, SEND, &[], std::slice::from_ref(&size))),
        "rank 0: node 5 (n5) has no `comm_dst`: what it is for is lost, as the converter from PyTorch loses it"
    );
    assert_eq!(one(node(5, SEND, &[], &[("comm_dst", Value::Int32(1))])), "rank 0: node 5 (n5) has no `comm_size`");
    assert_eq!(
        one(node(5, COMPUTE, &[], &[("num_ops", Value::Uint64(9))])),
        "rank 0: node 5 (n5) says how many operations it computes, but not how long: `duration_micros` is missing"
    );
    assert_eq!(one(node(5, COMPUTE, &[7], &[])), "rank 0: node 5 (n5) waits for node 7, which there is not");
    assert_eq!(
        one(node(5, COLLECTIVE, &[], &[("comm_type", Value::Int64(9)), size])),
        "rank 0: node 5 (n5) is a collective of type 9 (barrier), which is not supported"
    );
    assert_eq!(one(all_reduce(5, 64, "")), "group \"\": rank 0 takes part in 1 collectives, rank 1 in 0");
    assert_eq!(one(all_reduce(5, 64, "7")), "group \"7\": nothing says which ranks it has");
    assert_eq!(
        read(&[file(&[node(1, COMPUTE, &[], &[]), node(1, COMPUTE, &[], &[])])], &Groups::new()).unwrap_err(),
        "rank 0: node 1 (n1) is there twice"
    );
    let sizes = [all_reduce(1, 64, ""), all_reduce(2, 72, "")].map(|node| file(&[node]));
    assert_eq!(
        read(&sizes, &Groups::new()).unwrap_err(),
        "group \"\": ranks 0 and 1 do not agree: all-reduce of 64B (node 1) and all-reduce of 72B (node 2)"
    );
    assert_eq!(
        read(&[vec![0, 200, 1]], &Groups::new()).unwrap_err(),
        "rank 0: not an execution trace: the last message is cut off"
    );
}

#[test]
fn groups_have_collectives_of_their_own() {
    let by_name = groups(r#"{"1": [0, 2], "2": [1, 3]}"#).unwrap();
    let files: Vec<_> = (0..4).map(|rank| file(&[all_reduce(1, 64, if rank % 2 == 0 { "1" } else { "2" })])).collect();
    let job = read(&files, &by_name).unwrap();
    assert_eq!((job.sends().len(), takes_us(job)), (2 * 2 * 2, 2));
    assert_eq!(
        read(&files, &Groups::from([("1".to_owned(), vec![0, 2])])).unwrap_err(),
        "group \"2\": nothing says which ranks it has"
    );
    let wrong = groups(r#"{"1": [0, 1], "2": [1, 3]}"#).unwrap();
    assert_eq!(
        read(&files, &wrong).unwrap_err(),
        "group \"1\": rank 2 is none of its ranks, but takes part in its collectives"
    );
    assert!(groups("[]").unwrap_err().message.starts_with("expected {\"name\": [ranks], ...}"));
    assert_eq!(groups(r#"{"1": [0, 0]}"#).unwrap_err().message, "group \"1\" needs ranks, each once");
}

proptest! {
    #[test]
    fn hostile_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = read(&[bytes], &Groups::new());
    }

    #[test]
    fn almost_valid_traces_never_panic(
        nodes in prop::collection::vec((0_u64..4, -1_i32..9, prop::collection::vec(0_u64..4, 0..3), any::<i64>(), 0_i64..11), 0..6),
        cut in 0_usize..200,
    ) {
        let nodes: Vec<Node> = nodes.iter().map(|(id, kind, before, size, what)| {
            let numbers = [("comm_size", *size), ("comm_type", *what), ("comm_dst", *what), ("comm_src", *what)];
            node(*id, *kind, before, &numbers.map(|(name, n)| (name, Value::Int64(n))))
        }).collect();
        let mut bytes = file(&nodes);
        bytes.truncate(bytes.len().saturating_sub(cut % 40));
        let _ = read(&[bytes.clone(), bytes], &Groups::new());
    }
}
