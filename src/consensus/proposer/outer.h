/* consensus/proposer/outer.h - the bytes around a VM's block: who proposed it, when, and at which height of the
 * P-Chain; and those around a state summary.
 *
 *   child    0000 │ 00000000 │ parent │ time │ P height │ n certificate │ n inner block ║ n signature
 *   option   0000 │ 00000001 │ parent │ n inner block
 *   summary  0000 │ fork height │ n outer block │ n inner summary
 *
 * The ID of a child is the SHA-256 of what stands left of the double line, that of the others of everything. Integers
 * are big-endian. Threading: pure. [spec:consensus#5] */
#ifndef CD_CONSENSUS_OUTER_H
#define CD_CONSENSUS_OUTER_H

#include "base/mem/buf.h"

/* An outer block taken apart; ranges are borrowed from the bytes. */
typedef struct cd_outer {
    cd_hash32 id;
    cd_hash32 parent;
    cd_bytes inner;
    bool is_option; /* true: the fields below are empty */
    i64 time;       /* Unix seconds */
    u64 pchain_height;
    cd_bytes cert; /* DER; empty: the block has no proposer */
    cd_bytes signature;
} cd_outer;

/* cd_outer_parse reads a whole block; the certificate and the signature are not looked into. Errors: CD_EVERSION,
 * CD_ETYPE, CD_ESHORT, CD_ETRAIL, CD_EFORMAT (a signature of nobody). */
cd_err cd_outer_parse(cd_outer *out, cd_bytes bytes, cd_errinfo *why) CD_CHECK;

/* cd_outer_put appends a block up to its signature (an option: all of it); the hash of that is the ID.
 * cd_outer_put_signature appends what follows in a child. o->id and o->signature are not read. */
void cd_outer_put(cd_buf *out, const cd_outer *o);
void cd_outer_put_signature(cd_buf *out, cd_bytes signature);

/* cd_outer_header gives what a proposer signs: the chain, the parent and the ID of the block. */
enum { CD_OUTER_HEADER_LEN = 98 };
void cd_outer_header(u8 out[CD_OUTER_HEADER_LEN], const cd_hash32 *chain, const cd_hash32 *parent, const cd_hash32 *id);

/* A summary taken apart; ranges are borrowed from the bytes. */
typedef struct cd_outer_summary {
    cd_hash32 id;
    u64 fork_height; /* height of the first outer block */
    cd_bytes block;  /* the outer block */
    cd_bytes inner;
} cd_outer_summary;

/* cd_outer_summary_parse reads, cd_outer_summary_put appends. Errors: CD_EVERSION, CD_ESHORT, CD_ETRAIL. */
cd_err cd_outer_summary_parse(cd_outer_summary *out, cd_bytes bytes, cd_errinfo *why) CD_CHECK;
void cd_outer_summary_put(cd_buf *out, u64 fork_height, cd_bytes block, cd_bytes inner);

#endif
