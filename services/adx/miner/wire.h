/* services/adx/miner/wire.h - what exchange and miner say to each other over their WebSocket, and how it is signed.
 *
 *   exchange ── hello: challenge, key ──────────────────► miner
 *            ◄── register: key, wallet, public_url ──────
 *            ── registered, assign, proof_task, payout ─►
 *            ◄── heartbeat (10 s), report, proof_task ───
 *
 *   message   {"payload":"<JSON text>","sig":"<128 hex>"}
 *   sig       Ed25519 over "adx/miner/v1" || 'x' or 'm' || challenge || payload
 *
 * A payload is an object with `type` and `seq`, which grows with every message of its sender; so nothing can be sent
 * again, neither on its own connection nor, because the challenge is drawn anew for each, on another. Threading: pure.
 * [spec:adx#8] */
#ifndef CD_ADX_MINER_WIRE_H
#define CD_ADX_MINER_WIRE_H

#include "base/mem/buf.h"
#include "codec/json.h"

enum {
    CD_WIRE_MESSAGE_MAX = 512 << 10, /* bytes of a message */
    CD_WIRE_OUTCOME_MAX = 128 << 10, /* of an outcome in a proof task */
    CD_WIRE_OBJECTS_MAX = 256,       /* objects assigned to one miner */
    CD_WIRE_REPORT_MAX = 200,        /* deliveries in one report */
    CD_WIRE_URL_MAX = 256,           /* bytes of a public URL */
    CD_WIRE_BEAT_S = 10,             /* between heartbeats */
};

/* Who speaks. */
typedef enum cd_wire_from { CD_WIRE_EXCHANGE = 'x', CD_WIRE_MINER = 'm' } cd_wire_from;

/* What one end of a connection signs with, and the number of its last message. */
typedef struct cd_wire_out {
    cd_wire_from from;
    const u8 *seed; /* 32 bytes, borrowed */
    u8 challenge[32];
    u64 seq;
} cd_wire_out;

/* cd_wire_begin opens a payload: writes the object with its type and the next number; the caller adds members with w.
 * cd_wire_end closes it, signs it and appends the message to out, which is no buffer of the payload. */
void cd_wire_begin(cd_wire_out *o, cd_json_w *w, const char *type);
void cd_wire_end(const cd_wire_out *o, cd_json_w *w, cd_buf *out);

/* A message that was read. */
typedef struct cd_wire_in {
    cd_bytes text; /* of the payload */
    u8 sig[64];
    cd_json doc;
    cd_bytes type;
    u64 seq;
} cd_wire_in;

/* cd_wire_read reads a message into the arena; nobody has signed it yet. Errors: CD_EFORMAT and the like. */
cd_err cd_wire_read(cd_wire_in *out, cd_arena *mem, cd_bytes message, cd_errinfo *why) CD_CHECK;

/* cd_wire_check: the signature is that of the key, and the number follows the last one. Errors: CD_ESIG, CD_EFORMAT. */
cd_err cd_wire_check(const cd_wire_in *in, cd_wire_from from, const u8 key[32], const u8 challenge[32], u64 *last_seq,
                     cd_errinfo *why) CD_CHECK;

/* cd_wire_url reads a public URL: http or https, a host, nothing that could end it where it is put together with a path
 * or in a document; a slash at the end is dropped. Errors: CD_EFORMAT. */
cd_err cd_wire_url(char out[CD_WIRE_URL_MAX + 1], cd_bytes text) CD_CHECK;

/* cd_wire_wallet reads "0x" and 40 hexadecimal digits, made small. Errors: CD_EFORMAT. */
cd_err cd_wire_wallet(char out[43], cd_bytes text) CD_CHECK;

/* cd_wire_miner_id gives the 16 digits a miner is called by: the beginning of its key's SHA-256. */
void cd_wire_miner_id(char out[17], const u8 key[32]);

#endif
