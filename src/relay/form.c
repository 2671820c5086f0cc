#include "relay/form.h"

#include "base/hex.h"
#include "codec/abi.h"
#include "crypto/hash/keccak.h"
#include "types/predicate.h"
#include "types/tx_codec.h"
#include "types/warp.h"

enum { WORD = 32, RELAYS_MAX = 64 };

/* Gas, as it is before Granite, which asks for less; and what the messenger does around the call. */
enum {
    GAS_TX = 21000,
    GAS_CALL_DATA = 2000,
    GAS_VERIFY = 200000,
    GAS_SIGNER = 500,
    GAS_BYTE = 100,     /* of a predicate: to check it, and again to read it */
    GAS_WORK = 230000,  /* what is written down: received, and failed; what must be left over */
    GAS_BYTE_WORK = 60, /* copies, and the log of a call that fails */
};

static const char MESSAGE_TYPE[] = "((uint256,address,bytes32,address,uint256,address[],(uint256,address)[],bytes))";
static const char ID_TYPE[] = "(address,bytes32,bytes32,uint256)";

static cd_err make_id(cd_hash32 *out, cd_arena *mem, const cd_addr20 *messenger, const cd_hash32 *source,
                      const cd_hash32 *destination, const cd_u256 *nonce)
{
    cd_abi_type type;
    cd_buf enc = {0};
    const cd_abi_val items[] = {
        {.num = cd_u256_from_addr(messenger)},
        {.bytes = cd_bytes_of(source->b, WORD)},
        {.bytes = cd_bytes_of(destination->b, WORD)},
        {.num = *nonce},
    };
    const cd_abi_val all = {.items = items, .cnt = CD_COUNT(items)};
    CD_TRY(cd_abi_parse(&type, mem, cd_bytes_str(ID_TYPE), NULL));
    cd_err e = cd_abi_enc(&enc, &type, &all);
    if (e == CD_OK) {
        cd_keccak256(out, cd_buf_bytes(&enc));
    }
    cd_buf_fini(&enc);
    return e;
}

cd_err cd_relay_form_read(cd_relay_seen *out, cd_arena *mem, cd_bytes message)
{
    cd_warp_unsigned warp;
    cd_warp_payload payload;
    cd_abi_type type;
    cd_abi_val all;
    cd_relay_seen seen = {0};
    CD_TRY(cd_warp_unsigned_dec(&warp, message));
    CD_TRY(cd_warp_payload_dec(&payload, warp.payload));
    if (payload.type != CD_WARP_ADDRESSED_CALL || payload.source.n != sizeof seen.messenger.b) {
        return CD_ETYPE;
    }
    CD_TRY(cd_abi_parse(&type, mem, cd_bytes_str(MESSAGE_TYPE), NULL));
    CD_TRY(cd_abi_dec(&all, mem, &type, payload.payload));
    const cd_abi_val *m = all.items[0].items;
    cd_warp_unsigned_id(&seen.warp_id, message);
    seen.source = warp.source_chain;
    memcpy(seen.messenger.b, payload.source.p, sizeof seen.messenger.b);
    seen.sender = cd_u256_to_addr(&m[1].num);
    memcpy(seen.destination.b, m[2].bytes.p, WORD);
    seen.gas = cd_u256_to_u64_sat(&m[4].num);
    seen.relay_cnt = m[5].cnt;
    if (seen.relay_cnt > RELAYS_MAX) {
        return CD_ELIMIT;
    }
    cd_addr20 *relays = cd_arena_array(mem, cd_addr20, seen.relay_cnt);
    for (usize i = 0; i < seen.relay_cnt; i++) {
        relays[i] = cd_u256_to_addr(&m[5].items[i].num);
    }
    seen.relays = relays;
    CD_TRY(make_id(&seen.id, mem, &seen.messenger, &seen.source, &seen.destination, &m[0].num));
    *out = seen;
    return CD_OK;
}

bool cd_relay_form_may(const cd_relay_seen *m, const cd_addr20 *account)
{
    bool may = m->relay_cnt == 0;
    for (usize i = 0; i < m->relay_cnt && !may; i++) {
        may = memcmp(m->relays[i].b, account->b, sizeof account->b) == 0;
    }
    return may;
}

const char *cd_relay_form_ask(cd_arena *mem, const cd_hash32 *id)
{
    u8 data[4 + WORD];
    cd_buf text = {0};
    cd_abi_selector(data, "messageReceived(bytes32)");
    memcpy(data + 4, id->b, WORD);
    cd_hex_put(&text, cd_bytes_of(data, sizeof data));
    const char *out = cd_arena_str(mem, cd_buf_bytes(&text));
    cd_buf_fini(&text);
    return out;
}

u64 cd_relay_form_gas(cd_bytes message, u64 gas)
{
    cd_warp_message m;
    u64 bytes = message.n + WORD;
    u64 signers = cd_warp_message_dec(&m, message) == CD_OK ? cd_bits_count(m.signers) : 0;
    u64 own =
        GAS_TX + GAS_CALL_DATA + GAS_VERIFY + GAS_SIGNER * signers + (2 * GAS_BYTE + GAS_BYTE_WORK) * bytes + GAS_WORK;
    u64 sum;
    return cd_add_u64(&sum, gas, gas / 60) && cd_add_u64(&sum, sum, own) ? sum : UINT64_MAX;
}

cd_err cd_relay_form_tx(cd_buf *out, cd_arena *mem, const cd_relay_bring *b)
{
    u8 data[4 + 2 * WORD] = {0};
    cd_buf words = {0};
    cd_abi_selector(data, "receiveCrossChainMessage(uint32,address)");
    memcpy(data + sizeof data - sizeof b->reward.b, b->reward.b, sizeof b->reward.b);
    cd_predicate_pack(&words, b->signed_message);
    cd_hash32 *keys = cd_arena_array(mem, cd_hash32, words.n / WORD);
    memcpy(keys, words.p, words.n);
    const cd_access_tuple access = {.addr = b->warp, .keys = keys, .key_cnt = words.n / WORD};
    cd_buf_fini(&words);
    cd_tx tx = {.type = CD_TX_DYNAMIC_FEE,
                .is_protected = true,
                .chain_id = b->chain_id,
                .nonce = b->nonce,
                .gas_limit = b->gas,
                .tip_cap = b->tip_cap,
                .fee_cap = b->fee_cap,
                .to = b->messenger,
                .data = cd_bytes_of(data, sizeof data),
                .access = &access,
                .access_cnt = 1};
    CD_TRY(cd_tx_sign(&tx, b->key));
    cd_tx_enc(out, &tx);
    return CD_OK;
}

cd_err cd_relay_form_account(cd_addr20 *out, const u8 key[32])
{
    cd_tx tx = {.type = CD_TX_DYNAMIC_FEE, .is_protected = true, .chain_id = 1};
    CD_TRY(cd_tx_sign(&tx, key));
    *out = tx.sender;
    return CD_OK;
}
