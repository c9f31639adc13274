/* Reads a file, makes packets of it, loses some, decodes the others, and compares.
 *
 *   cc -std=c11 -I include examples/roundtrip.c -L target/release -lanabranch_raptorq_c -o roundtrip
 *   ./roundtrip FILE
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "anabranch_raptorq.h"

enum { SYMBOL_SIZE = 1280, PACKET_SIZE = 4 + SYMBOL_SIZE, LOST_OF_8 = 2 };

/* Ends the program with what went wrong. */
static void check(AnbRaptorqStatus status, const char *what) {
    char detail[200];
    if (status == ANB_RAPTORQ_STATUS_OK) {
        return;
    }
    anb_raptorq_last_error(detail, sizeof detail);
    fprintf(stderr, "%s: %s (%s)\n", what, anb_raptorq_message(status), detail);
    exit(1);
}

static uint8_t *read_file(const char *name, size_t *size) {
    FILE *file = fopen(name, "rb");
    uint8_t *bytes = NULL;
    size_t room = 0;
    *size = 0;
    if (file == NULL) {
        perror(name);
        exit(1);
    }
    while (!feof(file) && !ferror(file)) {
        if (*size == room) {
            room = room == 0 ? 65536 : 2 * room;
            bytes = realloc(bytes, room);
            if (bytes == NULL) {
                perror("realloc");
                exit(1);
            }
        }
        *size += fread(bytes + *size, 1, room - *size, file);
    }
    if (ferror(file)) {
        perror(name);
        exit(1);
    }
    fclose(file);
    return bytes;
}

int main(int argc, char **argv) {
    if (argc != 2) {
        fprintf(stderr, "usage: roundtrip FILE\n");
        return 2;
    }
    size_t size;
    uint8_t *object = read_file(argv[1], &size);

    /* The sender. Twelve bytes go first. */
    AnbRaptorqConfig config;
    AnbRaptorqEncoder *encoder = NULL;
    uint8_t description[ANB_RAPTORQ_CONFIG_SIZE];
    check(anb_raptorq_config_default(size, SYMBOL_SIZE, &config), "config");
    check(anb_raptorq_config_write(&config, description, sizeof description), "description");
    check(anb_raptorq_encoder_new(object, size, &config, 1, &encoder), "encoder");

    /* The receiver knows nothing but these. */
    AnbRaptorqConfig told;
    AnbRaptorqDecoder *decoder = NULL;
    check(anb_raptorq_config_read(description, sizeof description, &told), "told");
    check(anb_raptorq_decoder_new(&told, NULL, &decoder), "decoder");

    unsigned long sent = 0, received = 0;
    for (unsigned block = 0; block < config.blocks; block++) {
        AnbRaptorqProgress progress = ANB_RAPTORQ_PROGRESS_COLLECTING;
        uint32_t source_symbols;
        check(anb_raptorq_config_source_symbols(&config, (uint8_t)block, &source_symbols), "block");
        /* Source symbols first, then repair symbols until the block is there. */
        for (uint32_t esi = 0; source_symbols > 0 && progress == ANB_RAPTORQ_PROGRESS_COLLECTING; esi++) {
            uint8_t packet[PACKET_SIZE];
            check(anb_raptorq_encoder_packet(encoder, (uint8_t)block, esi, packet, sizeof packet), "packet");
            if (sent++ % 8 < LOST_OF_8) {
                continue;
            }
            received++;
            check(anb_raptorq_decoder_add(decoder, packet, sizeof packet, &progress), "add");
        }
    }

    uint64_t missing;
    check(anb_raptorq_decoder_missing(decoder, &missing), "missing");
    uint8_t *decoded = malloc(size > 0 ? size : 1);
    if (decoded == NULL) {
        perror("malloc");
        return 1;
    }
    check(anb_raptorq_decoder_result(decoder, decoded, size), "result");
    int same = size == 0 || memcmp(object, decoded, size) == 0;
    printf("%zu bytes in %u blocks: %lu packets sent, %lu received, %llu symbols missing, %s\n", size,
           (unsigned)config.blocks, sent, received, (unsigned long long)missing, same ? "same" : "DIFFERENT");

    anb_raptorq_decoder_free(decoder);
    anb_raptorq_encoder_free(encoder);
    free(decoded);
    free(object);
    return same ? 0 : 1;
}
