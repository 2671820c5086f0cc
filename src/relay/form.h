/* relay/form.h - the messenger's messages: read from what a chain has signed, and brought by a transaction.
 *
 *   Warp message ─► addressed call from the messenger ─► ABI of Message (contracts/bridge/IMessenger.sol)
 *   transaction: receiveCrossChainMessage(0, relay), the signed message as predicate in the access list
 *
 * The form is that of the upstream's Teleporter. Threading: pure. [spec:warp#4] [spec:warp#7] */
#ifndef CD_RELAY_FORM_H
#define CD_RELAY_FORM_H

#include "base/mem/arena.h"
#include "base/mem/buf.h"
#include "num/u256.h"

/* A message that a chain has sent. */
typedef struct cd_relay_seen {
    cd_hash32 warp_id;
    cd_hash32 source; /* chains, by their IDs */
    cd_hash32 destination;
    cd_addr20 messenger;
    cd_addr20 sender;
    cd_hash32 id;            /* the messenger's, by which contracts know it */
    u64 gas;                 /* for the receiver's call; more than 64 bits: all of them */
    const cd_addr20 *relays; /* who may bring it, if not anybody; in mem */
    usize relay_cnt;
} cd_relay_seen;

/* cd_relay_form_read reads an unsigned Warp message. Errors: those of the formats, CD_ETYPE for one that is no
 * messenger's. */
cd_err cd_relay_form_read(cd_relay_seen *out, cd_arena *mem, cd_bytes message) CD_CHECK;

/* cd_relay_form_may: the account may bring it. */
bool cd_relay_form_may(const cd_relay_seen *m, const cd_addr20 *account);

/* cd_relay_form_ask gives the call data that asks a messenger whether it has received a message, hexadecimal. */
const char *cd_relay_form_ask(cd_arena *mem, const cd_hash32 *id);

/* A transaction that brings a message. */
typedef struct cd_relay_bring {
    u64 chain_id, nonce, gas;
    cd_u256 fee_cap, tip_cap; /* wei for a unit of gas */
    cd_addr20 warp, messenger;
    cd_addr20 reward;
    cd_bytes signed_message;
    const u8 *key; /* 32 bytes */
} cd_relay_bring;

/* cd_relay_form_gas: gas that a transaction needs for a signed message whose receiver's call gets `gas`: an upper
 * bound, of which what is not used is given back. UINT64_MAX: more than there can be. [spec:precompiles-core#9] */
u64 cd_relay_form_gas(cd_bytes signed_message, u64 gas);

/* cd_relay_form_tx appends the signed transaction. Errors: CD_EKEY. */
cd_err cd_relay_form_tx(cd_buf *out, cd_arena *mem, const cd_relay_bring *b) CD_CHECK;

/* cd_relay_form_account gives the account of a key. Errors: CD_EKEY. */
cd_err cd_relay_form_account(cd_addr20 *out, const u8 key[32]) CD_CHECK;

#endif
