/* types/warp.h - Warp messages: bytes that one chain's validators sign for others to read. Format only.
 *
 *   signed   = unsigned fields ‖ u32 0 ‖ signer bitset ‖ aggregate BLS signature
 *   unsigned = u16 0 ‖ u32 network ‖ source chain ‖ payload
 *   payload  = u16 0 ‖ u32 type ‖ block hash, or source address and bytes
 *
 * Decoded byte strings are borrowed from the input. Threading: pure. [spec:warp#1] [spec:warp#4] */
#ifndef CD_TYPES_WARP_H
#define CD_TYPES_WARP_H

#include "base/mem/buf.h"

/* Bytes of the largest payload, and of a signature. */
enum { CD_WARP_PAYLOAD_MAX = 24 * 1024, CD_WARP_SIG_LEN = 96 };

/* A message to another chain, before anybody has signed it. */
typedef struct cd_warp_unsigned {
    u32 network_id;
    cd_hash32 source_chain;
    cd_bytes payload;
} cd_warp_unsigned;

/* A message with the joined signature of validators. */
typedef struct cd_warp_message {
    cd_warp_unsigned body;
    cd_bytes text;    /* the signed bytes: the unsigned message's encoding */
    cd_bytes signers; /* bitset, see cd_bits_… */
    u8 signature[CD_WARP_SIG_LEN];
} cd_warp_message;

/* cd_warp_unsigned_dec / _enc; _id hashes the encoding. Errors: CD_ESHORT, CD_ETRAIL, CD_EVERSION. */
cd_err cd_warp_unsigned_dec(cd_warp_unsigned *out, cd_bytes in) CD_CHECK;
void cd_warp_unsigned_enc(cd_buf *out, const cd_warp_unsigned *m);
void cd_warp_unsigned_id(cd_hash32 *out, cd_bytes enc);

/* cd_warp_message_dec reads a signed message. Errors: as above, CD_ETYPE for a signature of another kind.
 * cd_warp_message_enc uses body, signers and signature. */
cd_err cd_warp_message_dec(cd_warp_message *out, cd_bytes in) CD_CHECK;
void cd_warp_message_enc(cd_buf *out, const cd_warp_message *m);

/* Kinds of payloads. */
typedef enum cd_warp_payload_type {
    CD_WARP_HASH,           /* hash */
    CD_WARP_ADDRESSED_CALL, /* source, payload */
} cd_warp_payload_type;

/* A payload, read; which members count depends on its type. */
typedef struct cd_warp_payload {
    cd_warp_payload_type type;
    cd_hash32 hash;
    cd_bytes source;
    cd_bytes payload;
} cd_warp_payload;

/* cd_warp_payload_dec / _enc. Errors: CD_ESHORT, CD_ETRAIL, CD_EVERSION, CD_ETYPE, CD_ELIMIT. enc: CD_ELIMIT,
 * nothing is appended. */
cd_err cd_warp_payload_dec(cd_warp_payload *out, cd_bytes in) CD_CHECK;
cd_err cd_warp_payload_enc(cd_buf *out, const cd_warp_payload *p) CD_CHECK;

/* Bitsets are minimal big-endian numbers: bit 0 is the lowest bit of the last byte, the empty set has no
 * bytes. [spec:warp#3] */
bool cd_bits_is_minimal(cd_bytes bits);
bool cd_bits_has(cd_bytes bits, u64 idx);
u64 cd_bits_count(cd_bytes bits);
u64 cd_bits_len(cd_bytes bits); /* index of the highest bit plus one; 0 when empty */

/* cd_bits_put appends the set of those of cnt flags that are true. */
void cd_bits_put(cd_buf *out, const bool *flags, usize cnt);

#endif
