/* codec/ids.h - the names of things as text: IDs of 32 bytes, nodes, addresses of the P- and X-Chain.
 *
 *   ID        CB58 of 32 bytes                   11111111111111111111111111111111LpoYY
 *   node      "NodeID-" and CB58 of 20 bytes     NodeID-7Xhw2mDxuDS44j42TCB6U5579esbSt3Lg
 *   address   chain, '-', bech32 of 20 bytes     P-lux18jma8ppw3nhx5r4ap8clazz0dps7rv5uv98e28
 *
 * Error texts are those of the original node. Threading: pure. [spec:node-api#2.1] */
#ifndef CD_CODEC_IDS_H
#define CD_CODEC_IDS_H

#include "codec/bech32.h"

/* The ID of a node: the hash of its certificate. */
typedef struct cd_node_id {
    u8 b[20];
} cd_node_id;

/* cd_id_put, cd_node_id_put append the text; a short ID is CB58 of 20 bytes without anything in front. */
void cd_id_put(cd_buf *out, const cd_hash32 *id);
void cd_node_id_put(cd_buf *out, const cd_node_id *id);
void cd_short_id_put(cd_buf *out, const cd_addr20 *id);

/* cd_id_parse, cd_node_id_parse, cd_short_id_parse read the whole text. Errors: those of cd_cb58_parse_fixed,
 * CD_EFORMAT (no "NodeID-"). */
cd_err cd_id_parse(cd_hash32 *out, cd_bytes text, cd_errinfo *why) CD_CHECK;
cd_err cd_node_id_parse(cd_node_id *out, cd_bytes text, cd_errinfo *why) CD_CHECK;
cd_err cd_short_id_parse(cd_addr20 *out, cd_bytes text, cd_errinfo *why) CD_CHECK;

/* cd_chain_addr_put appends chain, '-' and the address under a network's prefix. */
void cd_chain_addr_put(cd_buf *out, const char *chain, const char *prefix, const cd_addr20 *addr);

/* An address as it was written. */
typedef struct cd_chain_addr {
    cd_bytes chain; /* in front of the first '-': an alias or an ID; borrowed from the text */
    char prefix[CD_BECH32_TEXT_MAX];
    cd_addr20 addr;
} cd_chain_addr;

/* cd_chain_addr_parse takes a text apart; whether the chain and the prefix are the right ones is the caller's to ask.
 * Errors: CD_EFORMAT (no '-', no bech32), CD_ERANGE (not 20 bytes). */
cd_err cd_chain_addr_parse(cd_chain_addr *out, cd_bytes text, cd_errinfo *why) CD_CHECK;

#endif
