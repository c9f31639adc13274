//! Descriptions, IDs, packets and limits as JSON: what is written is read back, and what makes no sense is an error.
#![cfg(feature = "serde")]

use anabranch_raptorq::{DecoderLimits, EncodingPacket, ObjectTransmissionInformation as Oti, PayloadId};
use proptest::prelude::*;
use serde_json::{from_str, json, to_value};

fn error<'a, T: serde::Deserialize<'a> + std::fmt::Debug>(text: &'a str) -> String {
    from_str::<T>(text).unwrap_err().to_string()
}

#[test]
fn fields_have_names() {
    let oti = Oti::new(50_000_000, 1280, 40, 1, 8).unwrap();
    let fields = json!({
        "transfer_length": 50_000_000, "symbol_size": 1280, "source_blocks": 40, "sub_blocks": 1, "symbol_alignment": 8,
    });
    assert_eq!(to_value(oti).unwrap(), fields);
    let packet = EncodingPacket::new(PayloadId::new(3, 77).unwrap(), vec![1, 2, 255]);
    let fields = json!({"payload_id": {"source_block_number": 3, "encoding_symbol_id": 77}, "data": [1, 2, 255]});
    assert_eq!(to_value(&packet).unwrap(), fields);
    let fields = json!({
        "max_object_bytes": 1_u64 << 30, "max_block_bytes": 256 << 20, "max_source_symbols": 56_403,
        "max_blocks_in_progress": 255, "max_extra_symbols": 32,
    });
    assert_eq!(to_value(DecoderLimits::default()).unwrap(), fields);
}

#[test]
fn descriptions_that_make_no_sense_are_errors() {
    let oti = |f: u64, t: u32, z: u32, n: u32, al: u32| {
        error::<Oti>(
            &json!({
                "transfer_length": f, "symbol_size": t, "source_blocks": z, "sub_blocks": n, "symbol_alignment": al,
            })
            .to_string(),
        )
    };
    assert!(oti(946_270_874_881, 65_535, 255, 1, 1).contains("above 946270874880"));
    assert!(oti(u64::MAX, 65_535, 255, 1, 1).contains("above 946270874880"));
    assert!(oti(1000, 0, 1, 1, 1).contains("symbol size T must be positive"));
    assert!(oti(1000, 10, 0, 1, 1).contains("block count Z must be positive"));
    assert!(oti(1000, 10, 1, 0, 1).contains("sub-block count N must be positive"));
    assert!(oti(1000, 10, 1, 1, 0).contains("alignment Al must be positive"));
    assert!(oti(1000, 10, 1, 1, 4).contains("not a multiple of the alignment"));
    assert!(oti(1_000_000, 10, 1, 1, 1).contains("100000 source symbols, more than 56403"));
    assert!(oti(1000, 65_536, 1, 1, 1).contains("65536"), "more than 16 bits");
    assert!(error::<Oti>("{}").contains("missing field `transfer_length`"));
    let more = r#"{"transfer_length":1,"symbol_size":1,"source_blocks":1,"sub_blocks":1,"symbol_alignment":1,"k":9}"#;
    assert!(error::<Oti>(more).contains("unknown field `k`"));
    // A sequence of numbers is a description, too, and is checked as well.
    assert_eq!(from_str::<Oti>("[1000,10,1,1,1]").unwrap(), Oti::new(1000, 10, 1, 1, 1).unwrap());
    assert!(error::<Oti>("[1000000,10,1,1,1]").contains("more than 56403"));
}

#[test]
fn ids_packets_and_limits_that_make_no_sense_are_errors() {
    let id = r#"{"source_block_number":255,"encoding_symbol_id":16777216}"#;
    assert!(error::<PayloadId>(id).contains("16777216 needs more than 24 bits"));
    assert!(error::<EncodingPacket>(&format!(r#"{{"payload_id":{id},"data":[]}}"#)).contains("24 bits"));
    assert!(error::<PayloadId>(r#"{"source_block_number":256,"encoding_symbol_id":0}"#).contains("256"));
    let packet = r#"{"payload_id":{"source_block_number":0,"encoding_symbol_id":0},"data":[256]}"#;
    assert!(error::<EncodingPacket>(packet).contains("256"));
    // A misspelt limit must not be one that is silently the default.
    assert!(error::<DecoderLimits>(r#"{"max_object_byte":1}"#).contains("unknown field `max_object_byte`"));
    let limits: DecoderLimits = from_str(r#"{"max_object_bytes":1,"max_extra_symbols":0}"#).unwrap();
    assert_eq!(limits, DecoderLimits::default().object_bytes(1).extra_symbols(0));
}

proptest! {
    #[test]
    fn reading_undoes_writing(
        bytes: [u8; 12], id: u32, data in prop::collection::vec(any::<u8>(), 0..20), limits: [u32; 5],
    ) {
        let id = PayloadId::from(id);
        prop_assert_eq!(from_str::<PayloadId>(&serde_json::to_string(&id)?)?, id);
        let packet = EncodingPacket::new(id, data);
        prop_assert_eq!(&from_str::<EncodingPacket>(&serde_json::to_string(&packet)?)?, &packet);
        let limits = DecoderLimits::none().source_symbols(limits[0]).blocks_in_progress(limits[1] as usize)
            .extra_symbols(limits[2]).object_bytes(limits[3].into()).block_bytes(limits[4].into());
        prop_assert_eq!(from_str::<DecoderLimits>(&serde_json::to_string(&limits)?)?, limits);
        if let Ok(oti) = Oti::deserialize(&bytes) {
            prop_assert_eq!(from_str::<Oti>(&serde_json::to_string(&oti)?)?, oti);
        }
    }

    /// Whatever the numbers are, they are accepted exactly if they are an object's description.
    #[test]
    fn only_what_the_rules_allow_is_read(
        f in prop_oneof![0..100_000u64, any::<u64>()], t in 0..20u16, z in 0..4u8, n in 0..4u16, al in 0..4u8,
    ) {
        let text = json!({
            "transfer_length": f, "symbol_size": t, "source_blocks": z, "sub_blocks": n, "symbol_alignment": al,
        });
        prop_assert_eq!(from_str::<Oti>(&text.to_string()).ok(), Oti::new(f, t, z, n, al).ok());
    }
}
