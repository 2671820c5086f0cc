/* Warp: messages to other chains, and messages from them that came with the transaction as predicates.
 * [spec:precompiles-core#9] */
#include "types/warp.h"
#include "crypto/hash/sha2.h"
#include "num/u256_text.h"
#include "precompile/module_priv.h"
#include "types/predicate.h"
#include "types/tx.h"

enum {
    GAS_SEND = CD__MOD_GAS_LOG + 3 * CD__MOD_GAS_TOPIC + 2 * CD__MOD_GAS_WRITE,
    GAS_SEND_BYTE = CD__MOD_GAS_LOG_BYTE,
};

/* Gas prices that Granite changes. */
typedef struct price {
    u32 blockchain_id;
    u32 verified;      /* looking up a message */
    u32 verified_word; /* for each word of a message's predicate, when looked up and when checked */
    u32 check;         /* checking a predicate */
    u32 check_signer;
} price;

static const price prices[2] = {
    {.blockchain_id = 2, .verified = 2, .verified_word = 3200, .check = 200000, .check_signer = 500},
    {.blockchain_id = 200, .verified = 750, .verified_word = 512, .check = 125000, .check_signer = 250},
};

/* SendWarpMessage(address indexed sender, bytes32 indexed messageID, bytes message) */
static const cd_hash32 SENT = {.b = {0x56, 0x60, 0x0c, 0x56, 0x77, 0x28, 0xa8, 0x00, 0xc0, 0xaa, 0x92,
                                     0x75, 0x00, 0xf8, 0x31, 0xcb, 0x45, 0x1d, 0xf6, 0x6a, 0x7a, 0xf5,
                                     0x70, 0xeb, 0x4d, 0xf4, 0xdf, 0xbf, 0x46, 0x74, 0x88, 0x7d}};

const cd_hash32 *cd__warp_sent_topic(void)
{
    return &SENT;
}

cd_precompile_outcome cd__warp_blockchain_id(cd_precompile_call *call, const cd__mod_env *env, cd_bytes args)
{
    (void)args;
    if (!cd__mod_charge(call, prices[env->is_granite].blockchain_id)) {
        return CD_PRE_OUT_OF_GAS;
    }
    call->output = cd_bytes_of(env->chain_id.b, sizeof env->chain_id.b);
    return CD_PRE_OK;
}

/* --- sending --- */

/* bytes_arg reads the only argument, of type bytes, as go-ethereum does: what lies around it is not
 * looked at. False: *complaint says why not. */
static bool bytes_arg(cd_bytes *out, const char **complaint, cd_precompile_call *call, cd_bytes args)
{
    static const char prefix[] = "invalid sendWarpMessage input: ";
    char text[CD_U256_TEXT_MAX];
    *complaint = cd__mod_args_complaint(call, args, 1, prefix);
    if (*complaint != NULL) {
        return false;
    }
    cd_u256 off = cd__mod_arg(args, 0);
    cd_u256 word = cd_u256_from_u64(32);
    cd_u256 end;
    if (!cd_u256_checked_add(&end, &off, &word)) {
        end = cd_u256_max(); /* the complaint names this for any greater sum */
    }
    if (!cd_u256_fits_u64(&end) || end.w[0] > args.n) {
        (void)cd_u256_fmt_dec(text, &end);
        *complaint = cd_arena_fmt(call->arena,
                                  "%sabi: cannot marshal in to go slice: offset %s would go over "
                                  "slice boundary (len=%zu)",
                                  prefix, text, args.n);
        return false;
    }
    cd_u256 len;
    cd_u256_load_be(&len, args.p + off.w[0]);
    cd_u256 total;
    bool fits = cd_u256_checked_add(&total, &len, &end);
    if (!fits || cd_u256_bits(&total) > 63) {
        (void)cd_u256_fmt_dec(text, fits ? &total : &len);
        *complaint = cd_arena_fmt(call->arena, "%sabi: length larger than int64: %s", prefix, text);
        return false;
    }
    if (total.w[0] > args.n) {
        *complaint =
            cd_arena_fmt(call->arena, "%sabi: cannot marshal in to go type: length insufficient %zu require %llu",
                         prefix, args.n, (unsigned long long)total.w[0]);
        return false;
    }
    *out = cd_bytes_sub(args, end.w[0], len.w[0]);
    return true;
}

/* abi_bytes writes b as the last member of an ABI tuple: its length, then its bytes filled up to whole
 * words. Gives the place behind them. */
static u8 *abi_bytes(u8 *p, cd_bytes b)
{
    usize padded = (b.n + 31) / 32 * 32;
    memset(p, 0, 32 + padded);
    cd_put_be64(p + 24, b.n);
    if (b.n != 0) {
        memcpy(p + 32, b.p, b.n);
    }
    return p + 32 + padded;
}

static void log_sent(cd_precompile_call *call, const cd__mod_env *env, const cd_hash32 *id, cd_bytes message)
{
    u8 *data = cd_arena_zalloc(call->arena, 64 + message.n + 31);
    data[31] = 32; /* offset at which the bytes begin */
    usize n = (usize)(abi_bytes(data + 32, message) - data);
    cd__mod_emit(call, env,
                 &(cd__mod_event){
                     .topic = SENT,
                     .indexed = {cd_u256_from_addr(&call->caller), cd_u256_from_hash(id)},
                     .indexed_cnt = 2,
                     .data = cd_bytes_of(data, n),
                 });
}

cd_precompile_outcome cd__warp_send(cd_precompile_call *call, const cd__mod_env *env, cd_bytes args)
{
    u64 by_size;
    if (!cd__mod_charge(call, GAS_SEND) || !cd_mul_u64(&by_size, args.n, GAS_SEND_BYTE) ||
        !cd__mod_charge(call, by_size)) {
        call->gas = 0;
        return CD_PRE_OUT_OF_GAS;
    }
    if (call->is_static) {
        return cd__mod_write_protection(call);
    }
    cd_bytes payload;
    if (!bytes_arg(&payload, &call->reason, call, args)) {
        return CD_PRE_FAIL;
    }
    cd_buf addressed = {0};
    cd_buf message = {0};
    cd_err e = cd_warp_payload_enc(&addressed, &(cd_warp_payload){
                                                   .type = CD_WARP_ADDRESSED_CALL,
                                                   .source = cd_bytes_of(call->caller.b, 20),
                                                   .payload = payload,
                                               });
    if (e == CD_OK) {
        cd_warp_unsigned_enc(&message, &(cd_warp_unsigned){
                                           .network_id = env->network_id,
                                           .source_chain = env->chain_id,
                                           .payload = cd_buf_bytes(&addressed),
                                       });
        cd_hash32 id;
        cd_warp_unsigned_id(&id, cd_buf_bytes(&message));
        log_sent(call, env, &id, cd_buf_bytes(&message));
        call->output = cd_arena_dup(call->arena, cd_bytes_of(id.b, sizeof id.b));
    }
    cd_buf_fini(&message);
    cd_buf_fini(&addressed);
    return e == CD_OK ? CD_PRE_OK
                      : cd__mod_refuse(call, "couldn't marshal *payload.AddressedCall payload: packer has "
                                             "insufficient length for input");
}

/* --- reading --- */

/* predicate_at gives the idx-th tuple of the transaction's access list that is addressed to the module;
 * NULL without one. */
static const cd_access_tuple *predicate_at(const cd_precompile_call *call, const cd__mod_env *env, u64 idx)
{
    usize cnt = call->tx == NULL ? 0 : call->tx->access_cnt;
    for (usize i = 0; i < cnt; i++) {
        const cd_access_tuple *t = &call->tx->access[i];
        if (cd_addr20_eq(&t->addr, &env->addr) && idx-- == 0) {
            return t;
        }
    }
    return NULL;
}

static bool has_failed(const cd_precompile_call *call, const cd__mod_env *env, u64 idx)
{
    return call->block->predicates != NULL &&
           cd_predicate_failed(call->block->predicates, &call->tx->hash, &env->addr, idx);
}

/* read_index reads the argument, a uint32 which, as upstream wants it, is not above MaxInt32. */
static bool read_index(u64 *out, cd_precompile_call *call, cd_bytes args)
{
    static const char prefix[] = "invalid index to specify warp message: ";
    call->reason = cd__mod_args_complaint(call, args, 1, prefix);
    if (call->reason != NULL) {
        return false;
    }
    cd_u256 v = cd__mod_arg(args, 0);
    const char *complaint = !cd_u256_fits_u64(&v) || v.w[0] > UINT32_MAX ? "abi: improperly encoded uint32 value"
                            : v.w[0] > INT32_MAX                         ? "larger than MaxInt32"
                                                                         : NULL;
    if (complaint != NULL) {
        call->reason = cd_arena_fmt(call->arena, "%s%s", prefix, complaint);
        return false;
    }
    *out = v.w[0];
    return true;
}

/* read_payload reads the message and its payload from a tuple. The predicate was checked before execution,
 * so that only a payload of the wrong kind is to be expected here; a simulated call may bring anything. */
static bool read_payload(cd_warp_payload *out, cd_warp_message *m, cd_precompile_call *call, const cd_access_tuple *t,
                         cd_warp_payload_type want)
{
    static const char *const kinds[] = {
        [CD_WARP_HASH] = "block hash",
        [CD_WARP_ADDRESSED_CALL] = "addressed",
    };
    static const char *const types[] = {
        [CD_WARP_HASH] = "*payload.Hash",
        [CD_WARP_ADDRESSED_CALL] = "*payload.AddressedCall",
    };
    cd_errinfo why = {0};
    cd_bytes bytes;
    if (cd_predicate_unpack(&bytes, t->keys, t->key_cnt, &why) != CD_OK) {
        call->reason = cd_arena_fmt(call->arena, "cannot unpack predicate bytes: %s", why.msg);
        return false;
    }
    cd_err e = cd_warp_message_dec(m, bytes);
    if (e != CD_OK) {
        call->reason = cd_arena_fmt(call->arena, "cannot unpack warp message: %s", cd_err_str(e));
        return false;
    }
    e = cd_warp_payload_dec(out, m->body.payload);
    if (e != CD_OK || out->type != want) {
        call->reason =
            cd_arena_fmt(call->arena, "cannot unpack %s payload: %s%s", kinds[want],
                         e != CD_OK ? cd_err_str(e) : "wrong payload type: ", e != CD_OK ? "" : types[out->type]);
        return false;
    }
    return true;
}

/* return_message makes ((sourceChainID, originSender, payload), valid) the output. */
static cd_precompile_outcome return_message(cd_precompile_call *call, const cd_hash32 *chain, const cd_warp_payload *p,
                                            bool valid)
{
    enum { HEAD = 2 * 32, TUPLE = 3 * 32 };
    u8 *out = cd_arena_zalloc(call->arena, HEAD + TUPLE + 32 + p->payload.n + 31);
    out[31] = HEAD;
    out[63] = valid ? 1 : 0;
    memcpy(out + HEAD, chain->b, 32);
    usize n = p->source.n < 20 ? p->source.n : 20; /* of an address longer than 20 bytes, its last 20 */
    if (n != 0) {
        memcpy(out + HEAD + 64 - n, p->source.p + p->source.n - n, n);
    }
    out[HEAD + TUPLE - 1] = TUPLE;
    u8 *end = abi_bytes(out + HEAD + TUPLE, p->payload);
    call->output = cd_bytes_of(out, (usize)(end - out));
    return CD_PRE_OK;
}

/* return_hash makes ((sourceChainID, blockHash), valid) the output. */
static cd_precompile_outcome return_hash(cd_precompile_call *call, const cd_hash32 *chain, const cd_hash32 *hash,
                                         bool valid)
{
    const cd_u256 words[] = {cd_u256_from_hash(chain), cd_u256_from_hash(hash), cd_u256_from_u64(valid ? 1 : 0)};
    return cd__mod_return_words(call, words, CD_COUNT(words));
}

static cd_precompile_outcome verified(cd_precompile_call *call, const cd__mod_env *env, cd_bytes args,
                                      cd_warp_payload_type want)
{
    const price *p = &prices[env->is_granite];
    if (!cd__mod_charge(call, p->verified)) {
        return CD_PRE_OUT_OF_GAS;
    }
    u64 idx;
    if (!read_index(&idx, call, args)) {
        return CD_PRE_FAIL;
    }
    cd_warp_message m = {0};
    cd_warp_payload payload = {0};
    const cd_access_tuple *t = predicate_at(call, env, idx);
    bool valid = t != NULL && !has_failed(call, env, idx);
    if (valid) {
        u64 by_size;
        if (!cd_mul_u64(&by_size, t->key_cnt, p->verified_word) || !cd__mod_charge(call, by_size)) {
            call->gas = 0;
            return CD_PRE_OUT_OF_GAS;
        }
        if (!read_payload(&payload, &m, call, t, want)) {
            return CD_PRE_FAIL;
        }
    }
    return want == CD_WARP_HASH ? return_hash(call, &m.body.source_chain, &payload.hash, valid)
                                : return_message(call, &m.body.source_chain, &payload, valid);
}

cd_precompile_outcome cd__warp_verified_message(cd_precompile_call *call, const cd__mod_env *env, cd_bytes args)
{
    return verified(call, env, args, CD_WARP_ADDRESSED_CALL);
}

cd_precompile_outcome cd__warp_verified_hash(cd_precompile_call *call, const cd__mod_env *env, cd_bytes args)
{
    return verified(call, env, args, CD_WARP_HASH);
}

/* --- what a predicate costs --- */

bool cd__warp_predicate_gas(u64 *out, const cd_hash32 *keys, usize cnt, const void *cfg)
{
    const cd__mod_env *env = cfg;
    const price *p = &prices[env->is_granite];
    cd_bytes bytes;
    cd_warp_message m;
    cd_warp_payload payload;
    if (cd_predicate_unpack(&bytes, keys, cnt, NULL) != CD_OK || cd_warp_message_dec(&m, bytes) != CD_OK ||
        cd_warp_payload_dec(&payload, m.body.payload) != CD_OK || m.signers.n == 0 || !cd_bits_is_minimal(m.signers)) {
        return false;
    }
    /* Nothing overflows: both counts are bounded by the bytes of a transaction. */
    u64 gas;
    u64 signers = cd_bits_count(m.signers) * p->check_signer;
    return cd_mul_u64(&gas, cnt, p->verified_word) && cd_add_u64(out, gas, p->check + signers);
}
