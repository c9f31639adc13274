#![allow(unsafe_code, reason = "calls what C calls")]

use std::ffi::{CStr, c_char};
use std::ptr::{null, null_mut};

use super::*;
use crate::failure::{Failure, call};
use crate::pointers::Handle;

static CONFIG: Config = Config { object_size: 1000, symbol_size: 10, sub_blocks: 1, blocks: 3, alignment: 1 };
const PACKET: usize = 14;

fn object() -> Vec<u8> {
    (0..1000u32).map(|i| ((i * i) >> 5) as u8).collect()
}

fn message(status: i32) -> String {
    unsafe { CStr::from_ptr(anb_raptorq_message(status)) }.to_str().unwrap().to_owned()
}

fn detail() -> String {
    let mut text = [0x7f; 200];
    let length = unsafe { anb_raptorq_last_error(text.as_mut_ptr().cast::<c_char>(), text.len()) };
    let text = CStr::from_bytes_until_nul(&text).unwrap().to_str().unwrap().to_owned();
    assert_eq!(length, text.len());
    text
}

fn encoder(object: &[u8], config: &Config) -> *mut Encoder {
    let mut encoder = null_mut();
    let status = unsafe { anb_raptorq_encoder_new(object.as_ptr(), object.len(), config, 0, &raw mut encoder) };
    assert_eq!(status, Status::Ok, "{}", detail());
    encoder
}

fn decoder(config: &Config) -> *mut Decoder {
    let mut decoder = null_mut();
    assert_eq!(unsafe { anb_raptorq_decoder_new(config, null(), &raw mut decoder) }, Status::Ok, "{}", detail());
    decoder
}

fn packet(encoder: *mut Encoder, block: u8, esi: u32) -> [u8; PACKET] {
    let mut packet = [0; PACKET];
    let status = unsafe { anb_raptorq_encoder_packet(encoder, block, esi, packet.as_mut_ptr(), PACKET) };
    assert_eq!(status, Status::Ok, "{}", detail());
    packet
}

fn add(decoder: *mut Decoder, packet: &[u8]) -> (Status, Progress) {
    let mut progress = Progress::Redundant;
    let status = unsafe { anb_raptorq_decoder_add(decoder, packet.as_ptr(), packet.len(), &raw mut progress) };
    (status, progress)
}

fn missing(decoder: *const Decoder) -> u64 {
    let mut missing = u64::MAX;
    assert_eq!(unsafe { anb_raptorq_decoder_missing(decoder, &raw mut missing) }, Status::Ok);
    missing
}

/// A decoder with all of its blocks.
fn complete(object: &[u8]) -> *mut Decoder {
    let (encoder, decoder) = (encoder(object, &CONFIG), decoder(&CONFIG));
    for (block, k) in [(0, 34), (1, 33), (2, 33)] {
        for esi in 0..k {
            assert_eq!(add(decoder, &packet(encoder, block, esi)).0, Status::Ok);
        }
    }
    unsafe { anb_raptorq_encoder_free(encoder) };
    decoder
}

#[test]
fn an_object_comes_back_from_repair_symbols_alone() {
    let object = object();
    let (encoder, decoder) = (encoder(&object, &CONFIG), decoder(&CONFIG));
    assert_eq!(missing(decoder), 100);
    let mut last = Progress::Collecting;
    for block in [2, 0, 1] {
        for esi in 1000.. {
            let (status, progress) = add(decoder, &packet(encoder, block, esi));
            assert_eq!(status, Status::Ok);
            last = progress;
            if progress != Progress::Collecting {
                break;
            }
        }
    }
    assert_eq!((last, missing(decoder)), (Progress::Complete, 0));
    let mut result = vec![0; 1000];
    for _ in 0..2 {
        result.fill(0);
        assert_eq!(unsafe { anb_raptorq_decoder_result(decoder, result.as_mut_ptr(), 1000) }, Status::Ok);
        assert!(result == object);
    }
    unsafe {
        anb_raptorq_encoder_free(encoder);
        anb_raptorq_decoder_free(decoder);
    }
}

#[test]
fn null_pointers_are_errors() {
    let object = object();
    let (encoder, decoder) = (encoder(&object, &CONFIG), decoder(&CONFIG));
    let (mut bytes, mut number, mut config) = ([0u8; 64], 0u32, CONFIG);
    let (mut new_encoder, mut new_decoder) = (null_mut::<Encoder>(), null_mut::<Decoder>());
    let to = bytes.as_mut_ptr();
    let statuses = unsafe {
        [
            anb_raptorq_config_default(1, 1, null_mut()),
            anb_raptorq_config_write(null(), to, 12),
            anb_raptorq_config_write(&raw const config, null_mut(), 12),
            anb_raptorq_config_read(null(), 12, &raw mut config),
            anb_raptorq_config_read(to, 12, null_mut()),
            anb_raptorq_config_source_symbols(null(), 0, &raw mut number),
            anb_raptorq_config_source_symbols(&raw const CONFIG, 0, null_mut()),
            anb_raptorq_encoder_new(null(), 1000, &raw const CONFIG, 0, &raw mut new_encoder),
            anb_raptorq_encoder_new(object.as_ptr(), 1000, null(), 0, &raw mut new_encoder),
            anb_raptorq_encoder_new(object.as_ptr(), 1000, &raw const CONFIG, 0, null_mut()),
            anb_raptorq_encoder_packet(null_mut(), 0, 0, to, PACKET),
            anb_raptorq_encoder_packet(encoder, 0, 0, null_mut(), PACKET),
            anb_raptorq_limits_default(null_mut()),
            anb_raptorq_decoder_new(null(), null(), &raw mut new_decoder),
            anb_raptorq_decoder_new(&raw const CONFIG, null(), null_mut()),
            anb_raptorq_decoder_add(null_mut(), to, PACKET, null_mut()),
            anb_raptorq_decoder_add(decoder, null(), PACKET, null_mut()),
            anb_raptorq_decoder_missing(null(), null_mut()),
            anb_raptorq_decoder_missing(decoder, null_mut()),
            anb_raptorq_decoder_result(null(), to, 1000),
        ]
    };
    assert_eq!(statuses, [Status::ErrorNull; 20]);
    assert_eq!(detail(), "decoder is null; expected a valid pointer");
    assert!(new_encoder.is_null() && new_decoder.is_null());
    let complete = complete(&object);
    assert_eq!(unsafe { anb_raptorq_decoder_result(complete, null_mut(), 1000) }, Status::ErrorNull);
    // Null handles are freed like `free(NULL)`, and where a result is optional, null is no error.
    assert_eq!(
        unsafe { anb_raptorq_decoder_add(decoder, packet(encoder, 0, 0).as_ptr(), PACKET, null_mut()) },
        Status::Ok
    );
    unsafe {
        anb_raptorq_encoder_free(null_mut());
        anb_raptorq_decoder_free(null_mut());
        anb_raptorq_encoder_free(encoder);
        anb_raptorq_decoder_free(decoder);
        anb_raptorq_decoder_free(complete);
    }
}

#[test]
fn wrong_lengths_and_symbols_are_errors_that_change_nothing() {
    let object = object();
    let encoder = encoder(&object, &CONFIG);
    let mut buffer = [0xaa; PACKET + 1];
    let mut of =
        |block, esi, size| unsafe { anb_raptorq_encoder_packet(encoder, block, esi, buffer.as_mut_ptr(), size) };
    assert_eq!(of(0, 0, PACKET - 1), Status::ErrorBufferSize);
    assert_eq!(detail(), "packet has 13 bytes; expected 14");
    assert_eq!(of(0, 0, PACKET + 1), Status::ErrorBufferSize);
    assert_eq!(of(0, 0, 0), Status::ErrorBufferSize);
    assert_eq!(of(0, 0, usize::MAX), Status::ErrorBufferSize);
    assert_eq!(of(3, 0, PACKET), Status::ErrorNoSuchSymbol);
    assert_eq!(of(0, 1 << 24, PACKET), Status::ErrorNoSuchSymbol);
    assert_eq!(buffer, [0xaa; PACKET + 1]);
    let short = Config { object_size: 999, ..CONFIG };
    let mut none = null_mut();
    let status = unsafe { anb_raptorq_encoder_new(object.as_ptr(), 1000, &raw const short, 0, &raw mut none) };
    assert_eq!((status, none), (Status::ErrorObjectSize, null_mut()));
    assert_eq!(detail(), "the object has 1000 bytes, its transmission information says 999");

    let decoder = decoder(&CONFIG);
    let good = packet(encoder, 0, 40);
    let other_block = [&[9][..], &good[1..]].concat();
    for (bad, text) in [
        (&good[..3], "a packet starts with a payload ID of 4 bytes; there are 3"),
        (&good[..13], "9 bytes are not symbols of 10 bytes"),
        (&other_block, "there is no block 9 in an object of 3"),
        (&[], "a packet starts with a payload ID of 4 bytes; there are 0"),
    ] {
        assert_eq!(add(decoder, bad), (Status::ErrorPacket, Progress::Redundant));
        assert_eq!(detail(), text);
    }
    assert_eq!(missing(decoder), 100);
    let mut result = [0xaa; 1000];
    assert_eq!(unsafe { anb_raptorq_decoder_result(decoder, result.as_mut_ptr(), 1000) }, Status::ErrorIncomplete);
    assert_eq!(detail(), "the object is not complete: at least 100 more symbols are needed");
    let complete = complete(&object);
    assert_eq!(unsafe { anb_raptorq_decoder_result(complete, result.as_mut_ptr(), 999) }, Status::ErrorBufferSize);
    assert_eq!(result, [0xaa; 1000]);
    unsafe {
        anb_raptorq_encoder_free(encoder);
        anb_raptorq_decoder_free(decoder);
        anb_raptorq_decoder_free(complete);
    }
}

#[test]
fn packets_after_the_last_one_are_refused_and_the_result_stays() {
    let object = object();
    let (encoder, decoder) = (encoder(&object, &CONFIG), complete(&object));
    assert_eq!(add(decoder, &packet(encoder, 0, 50)), (Status::ErrorComplete, Progress::Redundant));
    assert_eq!(add(decoder, &[]), (Status::ErrorComplete, Progress::Redundant));
    let mut result = [0; 1000];
    assert_eq!(unsafe { anb_raptorq_decoder_result(decoder, result.as_mut_ptr(), 1000) }, Status::Ok);
    assert!(result[..] == object);
    unsafe {
        anb_raptorq_encoder_free(encoder);
        anb_raptorq_decoder_free(decoder);
    }
}

#[test]
fn an_object_of_no_bytes_needs_no_pointer() {
    let config = Config { object_size: 0, blocks: 1, ..CONFIG };
    let (mut encoder, decoder) = (null_mut(), decoder(&config));
    assert_eq!(unsafe { anb_raptorq_encoder_new(null(), 0, &raw const config, 1, &raw mut encoder) }, Status::Ok);
    let mut buffer = [0; PACKET];
    assert_eq!(
        unsafe { anb_raptorq_encoder_packet(encoder, 0, 0, buffer.as_mut_ptr(), PACKET) },
        Status::ErrorNoSuchSymbol
    );
    assert_eq!(missing(decoder), 0);
    assert_eq!(unsafe { anb_raptorq_decoder_result(decoder, null_mut(), 0) }, Status::Ok);
    unsafe {
        anb_raptorq_encoder_free(encoder);
        anb_raptorq_decoder_free(decoder);
    }
}

#[test]
fn a_description_goes_through_twelve_bytes_or_is_refused() {
    let mut config = CONFIG;
    assert_eq!(unsafe { anb_raptorq_config_default(100_000_000, 1280, &raw mut config) }, Status::Ok);
    assert_eq!(config, Config { object_size: 100_000_000, symbol_size: 1280, sub_blocks: 1, blocks: 10, alignment: 1 });
    let (mut bytes, mut read) = ([0; CONFIG_SIZE], CONFIG);
    assert_eq!(unsafe { anb_raptorq_config_write(&raw const config, bytes.as_mut_ptr(), 12) }, Status::Ok);
    assert_eq!(bytes, [0, 5, 0xf5, 0xe1, 0, 0, 5, 0, 10, 0, 1, 1]);
    assert_eq!(unsafe { anb_raptorq_config_read(bytes.as_ptr(), 12, &raw mut read) }, Status::Ok);
    assert_eq!(read, config);
    for size in [0, 11, 13] {
        assert_eq!(unsafe { anb_raptorq_config_read(bytes.as_ptr(), size, &raw mut read) }, Status::ErrorBufferSize);
        assert_eq!(
            unsafe { anb_raptorq_config_write(&raw const config, bytes.as_mut_ptr(), size) },
            Status::ErrorBufferSize
        );
    }
    assert_eq!(unsafe { anb_raptorq_config_read([0; 12].as_ptr(), 12, &raw mut read) }, Status::ErrorConfig);
    assert_eq!(detail(), "the symbol size T must be positive");
    let mut symbols = 0;
    assert_eq!(unsafe { anb_raptorq_config_source_symbols(&raw const CONFIG, 2, &raw mut symbols) }, Status::Ok);
    assert_eq!(symbols, 33);
    let status = unsafe { anb_raptorq_config_source_symbols(&raw const CONFIG, 3, &raw mut symbols) };
    assert_eq!((status, detail().as_str()), (Status::ErrorNoSuchSymbol, "there is no block 3 in an object of 3"));
    // 10 MiB times 255 blocks is the most that is chosen.
    assert_eq!(unsafe { anb_raptorq_config_default(3_000_000_000, 1280, &raw mut read) }, Status::ErrorConfig);
    assert_eq!(read, config);
}

#[test]
fn a_hostile_description_is_beyond_the_limits() {
    let huge = Config { object_size: 900_000_000_000, symbol_size: 65_535, sub_blocks: 1, blocks: 255, alignment: 1 };
    let mut decoder = null_mut();
    assert_eq!(unsafe { anb_raptorq_decoder_new(&raw const huge, null(), &raw mut decoder) }, Status::ErrorLimit);
    assert_eq!(detail(), "the object has 900000000000 bytes; the limit is 1073741824");
    let mut limits =
        Limits { object_bytes: 0, block_bytes: 0, source_symbols: 0, blocks_in_progress: 0, extra_symbols: 0 };
    assert_eq!(unsafe { anb_raptorq_limits_default(&raw mut limits) }, Status::Ok);
    let default = (limits.object_bytes, limits.block_bytes, limits.source_symbols);
    assert_eq!(default, (1 << 30, 1 << 28, 56_403));
    assert_eq!((limits.blocks_in_progress, limits.extra_symbols), (255, 32));
    limits.source_symbols = 33;
    let status = unsafe { anb_raptorq_decoder_new(&raw const CONFIG, &raw const limits, &raw mut decoder) };
    assert_eq!((status, decoder), (Status::ErrorLimit, null_mut()));
}

#[test]
fn every_status_has_a_message_of_its_own() {
    let mut messages: Vec<String> = (0..12).map(message).collect();
    assert_eq!(messages[0], "no error");
    messages.sort();
    messages.dedup();
    assert_eq!(messages.len(), 12);
    for unknown in [-1, 12, i32::MIN, i32::MAX] {
        assert_eq!(message(unknown), "not a status of this library");
    }
    assert_eq!(unsafe { CStr::from_ptr(anb_raptorq_version()) }.to_str(), Ok(env!("CARGO_PKG_VERSION")));
}

#[test]
fn the_last_error_is_cut_to_the_buffer_and_belongs_to_its_thread() {
    assert_eq!(unsafe { anb_raptorq_limits_default(null_mut()) }, Status::ErrorNull);
    let whole = "limits is null; expected a valid pointer";
    assert_eq!(unsafe { anb_raptorq_last_error(null_mut(), 0) }, whole.len());
    let mut text = [0x7f_u8; 8];
    assert_eq!(unsafe { anb_raptorq_last_error(text.as_mut_ptr().cast(), 7) }, whole.len());
    assert_eq!(&text, b"limits\0\x7f");
    std::thread::spawn(|| assert_eq!(detail(), "")).join().unwrap();
    assert_eq!(detail(), whole);
}

#[test]
fn a_panic_is_an_error_and_its_handle_stays_broken() {
    let mut handle = Handle::new(1);
    let mut panicking = || handle.change(|_| -> Result<(), Failure> { panic!("so be it") });
    assert_eq!(call(&mut panicking), Status::ErrorInternal);
    assert_eq!(detail(), "so be it");
    assert_eq!(call(|| handle.change(|_| Ok(()))), Status::ErrorInternal);
    assert_eq!(call(|| handle.look().map(drop)), Status::ErrorInternal);
    assert_eq!(detail(), "an earlier call with this handle failed inside the codec; free it");
}
