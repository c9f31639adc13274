/* C interface of the RaptorQ codec anabranch-raptorq (RFC 6330).
 *
 * Buffers belong to the caller, handles to the library. Every function that can fail returns a status; what it would have
 * written is then unchanged, and its handle is as it was. A null pointer, a wrong length or a handle that has done its work
 * is such an error. A pointer that is neither null nor valid is undefined behaviour, and so is a handle that was freed.
 *
 * No panic of the library reaches C: one would be a fault in it, is returned as ANB_RAPTORQ_STATUS_ERROR_INTERNAL, and
 * leaves a handle that can only be freed. (In a build with panic = "abort" it ends the process.)
 *
 * Threads: different handles can be used at the same time, one handle by one thread at a time, whichever that is; where more
 * is allowed, the function says so.
 */

#ifndef ANABRANCH_RAPTORQ_H
#define ANABRANCH_RAPTORQ_H

/* Made from the crate anabranch-raptorq-c by its test `header`; UPDATE=1 writes it anew. */

#include <stddef.h>
#include <stdint.h>

// Bytes of a description as it is sent (RFC 6330 §3.3.2 and §3.3.3).
#define ANB_RAPTORQ_CONFIG_SIZE 12

// What a function returns: 0, or what was wrong.
typedef enum AnbRaptorqStatus {
  // It worked.
  ANB_RAPTORQ_STATUS_OK = 0,
  // A pointer that must not be null is null.
  ANB_RAPTORQ_STATUS_ERROR_NULL = 1,
  // The numbers of a description break a rule of RFC 6330.
  ANB_RAPTORQ_STATUS_ERROR_CONFIG = 2,
  // The object is not as long as its description says.
  ANB_RAPTORQ_STATUS_ERROR_OBJECT_SIZE = 3,
  // A buffer does not have the size of what is to be written to it or read from it.
  ANB_RAPTORQ_STATUS_ERROR_BUFFER_SIZE = 4,
  // The object has no such block, or the block no such symbol.
  ANB_RAPTORQ_STATUS_ERROR_NO_SUCH_SYMBOL = 5,
  // The object, or what arrived of it, is beyond the decoder's limits.
  ANB_RAPTORQ_STATUS_ERROR_LIMIT = 6,
  // The bytes are no packet of the object. The decoder is as it was before them.
  ANB_RAPTORQ_STATUS_ERROR_PACKET = 7,
  // The object is not complete yet.
  ANB_RAPTORQ_STATUS_ERROR_INCOMPLETE = 8,
  // The object is complete already, so the packet was not looked at. The result can still be read.
  ANB_RAPTORQ_STATUS_ERROR_COMPLETE = 9,
  // There is no memory for it. The call can be repeated.
  ANB_RAPTORQ_STATUS_ERROR_MEMORY = 10,
  // A fault in this library. The handle can only be freed.
  ANB_RAPTORQ_STATUS_ERROR_INTERNAL = 11,
} AnbRaptorqStatus;

// What a packet did.
typedef enum AnbRaptorqProgress {
  // It was kept; its block needs more.
  ANB_RAPTORQ_PROGRESS_COLLECTING = 0,
  // It completed its block, and other blocks are missing.
  ANB_RAPTORQ_PROGRESS_BLOCK_DECODED = 1,
  // It completed the object.
  ANB_RAPTORQ_PROGRESS_COMPLETE = 2,
  // It brought nothing new.
  ANB_RAPTORQ_PROGRESS_REDUNDANT = 3,
} AnbRaptorqProgress;

// Collects packets of one object, and decodes each block as soon as that is possible.
typedef struct AnbRaptorqDecoder AnbRaptorqDecoder;

// Makes packets of one object, any of them, in any order, as often as needed.
typedef struct AnbRaptorqEncoder AnbRaptorqEncoder;

// How an object is cut: the FEC object transmission information of RFC 6330 §3.3. Sender and receiver must have the same.
typedef struct AnbRaptorqConfig {
  // F, bytes of the object: 0 to 942574504275.
  uint64_t object_size;
  // T, bytes of a symbol: 1 to 65535, a multiple of `alignment`. A packet has 4 more.
  uint16_t symbol_size;
  // N, sub-blocks of a block: 1 to 65535. With 1, each source symbol is T bytes in a row of the object.
  uint16_t sub_blocks;
  // Z, blocks: 1 to 255. None may have more than 56403 source symbols.
  uint8_t blocks;
  // Al: sub-blocks are cut at multiples of so many bytes, 1 to 255. 1 unless there are several of them.
  uint8_t alignment;
} AnbRaptorqConfig;

// How much memory and time a description and packets may make a decoder take. Twelve bytes can describe an object of
// 942 GB, and one packet start a block of 3.7 GB: a receiver that cannot trust the sender sets what it expects.
typedef struct AnbRaptorqLimits {
  // The largest acceptable object (F), in bytes. Default: 1 GiB.
  uint64_t object_bytes;
  // The largest acceptable block (K * T), in bytes; one in progress takes up to about three times that. Default: 256 MiB.
  uint64_t block_bytes;
  // The largest acceptable K. Default: all that the RFC allows, 56403.
  uint32_t source_symbols;
  // How many blocks may be in progress at once; packets of further ones are refused. Default: all, 255.
  uint32_t blocks_in_progress;
  // How many symbols more than K a block may keep without being decodable. Default: 32.
  uint32_t extra_symbols;
} AnbRaptorqLimits;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// What a status means: a text that is always there, and must not be freed. Numbers that are no status have one, too.
//
// Threads: any, at any time.
const char *anb_raptorq_message(int32_t status);

// What the last failed call of this thread was about, with its numbers: "the object has 900 bytes; the limit is 100".
// Empty if none failed. Calls that succeed leave it as it is.
//
// Writes at most `size` bytes to `buffer`, the last of them 0. Returns how long the text is without the 0, which may be
// more than there was room for; with a `size` of 0 nothing is written, and `buffer` may be null.
//
// Threads: any, at any time; each has its own text.
//
// Required: `buffer` is null, or `size` bytes can be written to it.
size_t anb_raptorq_last_error(char *buffer,
                              size_t size);

// The version of the library, such as "0.1.0": a text that is always there, and must not be freed.
//
// Threads: any, at any time.
const char *anb_raptorq_version(void);

// Chooses how to cut an object of `object_size` bytes into symbols of `symbol_size` bytes: as few blocks as have at most
// 10 MiB each (RFC 6330 §4.3), with one sub-block.
//
// `ANB_RAPTORQ_STATUS_ERROR_CONFIG` for an object that needs more than 255 of them: fill in the numbers yourself then.
//
// Threads: any, at any time.
//
// Required: `config` is null, or a description can be written to it.
enum AnbRaptorqStatus anb_raptorq_config_default(uint64_t object_size,
                                                 uint16_t symbol_size,
                                                 struct AnbRaptorqConfig *config);

// Writes a description as it is sent, big endian, to `buffer` of exactly 12 bytes.
//
// Threads: any, at any time.
//
// Required: `config` is null or valid; `buffer` is null, or `size` bytes can be written to it.
enum AnbRaptorqStatus anb_raptorq_config_write(const struct AnbRaptorqConfig *config,
                                               uint8_t *buffer,
                                               size_t size);

// Reads a description of exactly 12 bytes, and checks it.
//
// Threads: any, at any time.
//
// Required: `buffer` is null, or `size` bytes can be read from it; `config` is null, or a description can be written to it.
enum AnbRaptorqStatus anb_raptorq_config_read(const uint8_t *buffer,
                                              size_t size,
                                              struct AnbRaptorqConfig *config);

// Tells how many source symbols (K) block number `block` has: symbols below K are the block itself, those from K on are
// for repair. 0 for the last blocks of an object with fewer symbols than blocks.
//
// Threads: any, at any time.
//
// Required: `config` is null or valid; `source_symbols` is null, or a number can be written to it.
enum AnbRaptorqStatus anb_raptorq_config_source_symbols(const struct AnbRaptorqConfig *config,
                                                        uint8_t block,
                                                        uint32_t *source_symbols);

// Makes an encoder of `object`, which is not copied: until the encoder is freed, its `size` bytes must stay where they are
// and as they are.
//
// `blocks_in_memory` encoded blocks are kept for further repair packets, at least one, 0 for all. Each takes somewhat more
// memory than the block has bytes; a repair packet of a block that is not kept costs encoding it.
//
// Free `*encoder` by `anb_raptorq_encoder_free`. After an error there is nothing to free, and `*encoder` is unchanged.
//
// Threads: any, at any time. Two encoders of one object share nothing but the object.
//
// Required: `object` is null (an object of no bytes can be), or `size` bytes can be read from it until the encoder is freed, and
// nobody writes to them. `config` is null or valid; `encoder` is null, or a pointer can be written to it.
enum AnbRaptorqStatus anb_raptorq_encoder_new(const uint8_t *object,
                                              size_t size,
                                              const struct AnbRaptorqConfig *config,
                                              size_t blocks_in_memory,
                                              struct AnbRaptorqEncoder **encoder);

// Writes the packet of symbol `esi` of block number `block` to `packet`, of exactly 4 + T bytes: 4 bytes of payload ID, T
// of symbol. `esi` is below 2^24; below K it is a source symbol, from K on a repair symbol.
//
// Threads: one at a time with each encoder.
//
// Required: `encoder` is null or a handle that was not freed, and no other thread uses it; `packet` is null, or `size` bytes can be
// written to it, which are not part of the object.
enum AnbRaptorqStatus anb_raptorq_encoder_packet(struct AnbRaptorqEncoder *encoder,
                                                 uint8_t block,
                                                 uint32_t esi,
                                                 uint8_t *packet,
                                                 size_t size);

// Frees an encoder; null is none. The object can be changed from then on.
//
// Threads: any, when no other uses the encoder.
//
// Required: `encoder` is null or a handle that was not freed, and nobody uses it from now on.
void anb_raptorq_encoder_free(struct AnbRaptorqEncoder *encoder);

// Writes the default limits.
//
// Threads: any, at any time.
//
// Required: `limits` is null, or limits can be written to it.
enum AnbRaptorqStatus anb_raptorq_limits_default(struct AnbRaptorqLimits *limits);

// Makes a decoder of the object that `config` describes, within `limits`; null means the default limits.
// `ANB_RAPTORQ_STATUS_ERROR_LIMIT` if the object is beyond them.
//
// Free `*decoder` by `anb_raptorq_decoder_free`. After an error there is nothing to free, and `*decoder` is unchanged.
//
// Threads: any, at any time.
//
// Required: `config` and `limits` are null or valid; `decoder` is null, or a pointer can be written to it.
enum AnbRaptorqStatus anb_raptorq_decoder_new(const struct AnbRaptorqConfig *config,
                                              const struct AnbRaptorqLimits *limits,
                                              struct AnbRaptorqDecoder **decoder);

// Takes a packet as it was received, and decodes its block if that is possible now: 4 bytes of payload ID, and one symbol,
// or several in a row (RFC 6330 §4.4.2). Packets may come in any order, several times, and from several senders.
//
// What it did is written to `progress`, which may be null. `ANB_RAPTORQ_STATUS_ERROR_PACKET` if the bytes are no packet of
// the object; `ANB_RAPTORQ_STATUS_ERROR_COMPLETE`, and nothing is written, if the object was complete before.
//
// A packet with wrong bytes cannot be told from a right one, and spoils its block: compare a hash of the object.
//
// Threads: one at a time with each decoder.
//
// Required: `decoder` is null or a handle that was not freed, and no other thread uses it; `packet` is null, or `size` bytes can be
// read from it; `progress` is null, or a progress can be written to it.
enum AnbRaptorqStatus anb_raptorq_decoder_add(struct AnbRaptorqDecoder *decoder,
                                              const uint8_t *packet,
                                              size_t size,
                                              enum AnbRaptorqProgress *progress);

// Tells how many more symbols must arrive at least, for all blocks together; 0 if and only if the object is complete.
//
// Threads: several at a time with one decoder, as long as none adds packets to it or frees it.
//
// Required: `decoder` is null or a handle that was not freed, and no other thread changes it; `missing` is null, or a number can be
// written to it.
enum AnbRaptorqStatus anb_raptorq_decoder_missing(const struct AnbRaptorqDecoder *decoder,
                                                  uint64_t *missing);

// Writes the object to `object`, of exactly F bytes, as often as it is called.
// `ANB_RAPTORQ_STATUS_ERROR_INCOMPLETE` if it is not complete.
//
// Threads: several at a time with one decoder, as long as none adds packets to it or frees it.
//
// Required: `decoder` is null or a handle that was not freed, and no other thread changes it; `object` is null (an object of no
// bytes can be), or `size` bytes can be written to it.
enum AnbRaptorqStatus anb_raptorq_decoder_result(const struct AnbRaptorqDecoder *decoder,
                                                 uint8_t *object,
                                                 size_t size);

// Frees a decoder; null is none.
//
// Threads: any, when no other uses the decoder.
//
// Required: `decoder` is null or a handle that was not freed, and nobody uses it from now on.
void anb_raptorq_decoder_free(struct AnbRaptorqDecoder *decoder);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* ANABRANCH_RAPTORQ_H */
