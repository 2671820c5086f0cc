/* debug_ methods that go through a state: its accounts, the storage of one, what changed between two. Members of the
 * answers' objects are in the order of the state's hashes, in which one also continues. [spec:eth-rpc#4] */
#include "base/hex.h"
#include "chains/evmchain/core/world/walk.h"
#include "chains/evmchain/rpc/methods.h"
#include "chains/evmchain/rpc/scope.h"
#include "codec/base64.h"
#include "crypto/hash/keccak.h"
#include "num/u256_text.h"
#include "rpc/param.h"
#include "types/addr_text.h"

/* Accounts of one answer, as go-ethereum's; changed accounts of one answer; steps between two looks at the clock. */
enum { ACCOUNTS_MAX = 256, MODIFIED_MAX = 1 << 20, STEPS = 1024 };

/* A number as it is, not a quantity. */
static cd_err read_int(cd_rpc_call *call, i64 *out, usize idx)
{
    static const double exact = 9007199254740992.0; /* 2^53 */
    double d;
    bool fits = cd_json_f64(&d, cd_rpc_arg(call, idx), NULL) == CD_OK && d >= -exact && d <= exact;
    if (!fits || (double)(i64)d < d || (double)(i64)d > d) {
        return cd_rpc_fail(call, CD_RPC_INVALID_PARAMS,
                           "invalid argument %zu: json: cannot unmarshal value into Go value of "
                           "type int",
                           idx);
    }
    *out = (i64)d;
    return CD_OK;
}

/* The first hash that begins with some bytes, or is above them. */
static cd_err read_start(cd_rpc_call *call, cd_hash32 *out, usize idx)
{
    cd_bytes start;
    CD_TRY(cd_rpc_read_data(call, &start, cd_rpc_arg(call, idx), idx));
    if (start.n > sizeof out->b) {
        return cd_rpc_fail(call, CD_RPC_INVALID_PARAMS, "invalid argument %zu: more than 32 bytes to start from", idx);
    }
    *out = (cd_hash32){0};
    memcpy(out->b, start.p, start.n);
    return CD_OK;
}

static cd_err read_block(cd_rpc_call *call, u64 *number, usize idx)
{
    cd_block_ref ref;
    bool found;
    CD_TRY(cd_rpc_read_block(call, &ref, cd_rpc_arg(call, idx), idx));
    CD_TRY(cd__api_number(call, number, &found, &ref));
    return found ? CD_OK : cd_rpc_fail(call, CD_RPC_SERVER, "block not found");
}

static cd_err read_hash(cd_rpc_call *call, u64 *number, const char *which, usize idx)
{
    cd_block_ref ref = {.tag = CD_TAG_HASH};
    bool found;
    char text[65] = {0};
    CD_TRY(cd_rpc_read_hash(call, &ref.hash, cd_rpc_arg(call, idx), idx));
    CD_TRY(cd__api_number(call, number, &found, &ref));
    cd_hex_fmt(text, cd_bytes_of(ref.hash.b, 32));
    return found ? CD_OK : cd_rpc_fail(call, CD_RPC_SERVER, "%s block %s not found", which, text);
}

/* The version that is the state behind a block. */
static u64 version_of(cd_rpc_call *call, u64 number)
{
    u64 head = cd_view_head(cd_api_view(call))->block.header.number;
    return number == head ? CD_WORLD_NEWEST : cd_world_version_of(number);
}

/* Ends what may have failed on the way through the state behind a block. */
static cd_err done(cd_rpc_call *call, cd_err e, u64 number)
{
    if (e == CD_ETIMEOUT) {
        return cd_rpc_fail_late(call);
    }
    return e == CD_OK ? CD_OK : cd__api_no_state(call, e, number);
}

static void hash_key(cd_json_w *w, const cd_hash32 *hash)
{
    char text[67] = "0x";
    cd_hex_fmt(text + 2, cd_bytes_of(hash->b, 32));
    cd_json_w_key_str(w, cd_bytes_of(text, 66));
}

static cd_hash32 word_of(const cd_u256 *v)
{
    cd_hash32 word;
    cd_u256_store_be(word.b, v);
    return word;
}

/* --- accounts --- */

typedef struct dump {
    cd_rpc_call *call;
    cd_kv *kv;
    cd_view_source src;
    u64 version;
    u64 number;
    cd_hash32 start;
    usize max;
    bool has_code;
    bool has_storage;
    bool has_unknown; /* accounts, too, of whose address only the hash is known */
    cd_hash32 next;   /* hash of the account at which the next dump starts */
    bool has_next;
} dump;

/* Slots whose keys are known, values without leading zeros. */
static cd_err write_storage(dump *d, const cd_hash32 *account)
{
    cd_json_w *w = d->call->out;
    cd_world_walk *walk;
    usize steps = 0;
    CD_TRY(cd_world_walk_slots(&walk, d->kv, d->version, account, NULL));
    cd_json_w_key(w, "storage");
    cd_json_w_obj(w);
    cd_err e = CD_OK;
    while (e == CD_OK && cd_world_walk_next(walk)) {
        cd_u256 key;
        cd_u256 value;
        cd_err known = cd_world_key_of(d->kv, &key, cd_world_walk_hash(walk));
        e = known == CD_ENOENT ? CD_OK : known;
        if (known == CD_OK) {
            e = cd_world_walk_slot(walk, &value);
        }
        if (known == CD_OK && e == CD_OK) {
            cd_hash32 name = word_of(&key);
            cd_hash32 word = word_of(&value);
            usize zeros = 0;
            char text[65];
            while (zeros < 31 && word.b[zeros] == 0) {
                zeros++;
            }
            cd_bytes digits = cd_bytes_of(word.b + zeros, 32 - zeros);
            cd_hex_fmt(text, digits);
            hash_key(w, &name);
            cd_json_w_str(w, cd_bytes_of(text, 2 * digits.n));
        }
        if (e == CD_OK && ++steps % STEPS == 0 && cd_rpc_is_late(d->call)) {
            e = CD_ETIMEOUT;
        }
    }
    cd_json_w_obj_end(w);
    e = e != CD_OK ? e : cd_world_walk_err(walk);
    cd_world_walk_free(walk);
    return e;
}

static void account_key(cd_json_w *w, const cd_addr20 *addr, const cd_hash32 *hash)
{
    char text[CD_ADDR_TEXT_SIZE];
    char pre[] = "pre(0x0000000000000000000000000000000000000000000000000000000000000000)";
    if (addr != NULL) {
        cd_json_w_key(w, cd_addr_fmt(text, addr));
    } else {
        cd_hex_fmt(pre + 6, cd_bytes_of(hash->b, 32));
        cd_json_w_key_str(w, cd_bytes_of(pre, sizeof pre - 1));
    }
}

/* addr is NULL when it is not known. */
static cd_err write_account(dump *d, const cd_world_walk *at, const cd_addr20 *addr)
{
    cd_json_w *w = d->call->out;
    const cd_hash32 *hash = cd_world_walk_hash(at);
    cd_state_source *state = &d->src.world.src;
    cd_account a;
    char text[CD_U256_TEXT_MAX];
    CD_TRY(cd_world_walk_account(at, &a, cd_view_rules(d->src.view)->account_form));
    account_key(w, addr, hash);
    cd_json_w_obj(w);
    cd_json_w_key(w, "balance");
    cd_json_w_str(w, cd_bytes_of(text, cd_u256_fmt_dec(text, &a.balance)));
    cd_json_w_key(w, "nonce");
    cd_json_w_u64(w, a.nonce);
    cd_json_put_hash(w, "root", &a.storage_root);
    cd_json_put_hash(w, "codeHash", &a.code_hash);
    if (d->has_code && !cd_hash32_eq(&a.code_hash, &CD_HASH_EMPTY_CODE)) {
        cd_bytes code;
        CD_TRY(state->code(state, &code, &a.code_hash));
        cd_json_w_key(w, "code");
        cd_json_w_hex(w, code);
    }
    if (d->has_storage && !cd_hash32_eq(&a.storage_root, &CD_HASH_EMPTY_TRIE)) {
        CD_TRY(write_storage(d, hash));
    }
    if (addr != NULL) {
        cd_json_w_key(w, "address");
        cd_json_w_hex(w, cd_bytes_of(addr->b, 20));
    }
    cd_json_put_hash(w, "key", hash);
    cd_json_w_obj_end(w);
    return CD_OK;
}

static cd_err write_accounts(dump *d)
{
    cd_world_walk *walk;
    usize cnt = 0;
    usize steps = 0;
    cd_err e = CD_OK;
    CD_TRY(cd_world_walk_accounts(&walk, d->kv, d->version, &d->start));
    while (e == CD_OK && !d->has_next && cd_world_walk_next(walk)) {
        cd_addr20 addr;
        const cd_hash32 *hash = cd_world_walk_hash(walk);
        if (cnt == d->max) {
            d->next = *hash;
            d->has_next = true;
            break;
        }
        cd_err known = cd_world_addr_of(d->kv, &addr, hash);
        if (known == CD_OK || (known == CD_ENOENT && d->has_unknown)) {
            e = write_account(d, walk, known == CD_OK ? &addr : NULL);
            cnt++;
        } else if (known != CD_ENOENT) {
            e = known;
        }
        if (e == CD_OK && ++steps % STEPS == 0 && cd_rpc_is_late(d->call)) {
            e = CD_ETIMEOUT;
        }
    }
    e = e != CD_OK ? e : cd_world_walk_err(walk);
    cd_world_walk_free(walk);
    return e;
}

/* {root, accounts, next}: next, for whoever continues, in base64 as go-ethereum gives it. */
static cd_err write_dump(dump *d)
{
    cd_rpc_call *call = d->call;
    cd_json_w *w = call->out;
    cd_view *view = cd_api_view(call);
    cd_header h;
    char root[65];
    cd_err e = cd_view_header(view, &h, call->arena, d->number);
    e = e != CD_OK ? e : cd_view_source_init(&d->src, view, d->number);
    if (e != CD_OK) {
        return done(call, e, d->number);
    }
    d->kv = cd_view_kv(view);
    d->version = version_of(call, d->number);
    cd_hex_fmt(root, cd_bytes_of(h.state_root.b, 32));
    cd_json_w_obj(w);
    cd_json_w_key(w, "root");
    cd_json_w_str(w, cd_bytes_of(root, 64));
    cd_json_w_key(w, "accounts");
    cd_json_w_obj(w);
    e = write_accounts(d);
    cd_json_w_obj_end(w);
    if (d->has_next) {
        cd_buf text = {0};
        cd_base64_enc(&text, cd_bytes_of(d->next.b, 32));
        cd_json_w_key(w, "next");
        cd_json_w_str(w, cd_buf_bytes(&text));
        cd_buf_fini(&text);
    }
    cd_json_w_obj_end(w);
    cd_view_source_fini(&d->src);
    return done(call, e, d->number);
}

cd_err cd__debug_dump_block(cd_rpc_call *call)
{
    dump d = {.call = call, .max = ACCOUNTS_MAX, .has_code = true, .has_storage = true};
    CD_TRY(read_block(call, &d.number, 0));
    return write_dump(&d);
}

cd_err cd__debug_account_range(cd_rpc_call *call)
{
    dump d = {.call = call};
    i64 max;
    bool no_code;
    bool no_storage;
    CD_TRY(read_block(call, &d.number, 0));
    CD_TRY(read_start(call, &d.start, 1));
    CD_TRY(read_int(call, &max, 2));
    CD_TRY(cd_rpc_read_bool(call, &no_code, cd_rpc_arg(call, 3), 3));
    CD_TRY(cd_rpc_read_bool(call, &no_storage, cd_rpc_arg(call, 4), 4));
    CD_TRY(cd_rpc_read_bool(call, &d.has_unknown, cd_rpc_arg(call, 5), 5));
    d.max = max <= 0 || max > ACCOUNTS_MAX ? ACCOUNTS_MAX : (usize)max;
    d.has_code = !no_code;
    d.has_storage = !no_storage;
    return write_dump(&d);
}

/* --- storage --- */

/* {hash: {key, value}} of up to max slots, and the hash behind them. */
static cd_err write_slots(cd_rpc_call *call, cd_world_walk *walk, i64 max)
{
    cd_json_w *w = call->out;
    bool has_next = false;
    cd_json_w_obj(w);
    cd_json_w_key(w, "storage");
    cd_json_w_obj(w);
    for (i64 i = 0; (has_next = cd_world_walk_next(walk)) && i < max; i++) {
        cd_u256 value;
        cd_u256 key;
        CD_TRY(cd_world_walk_slot(walk, &value));
        cd_err known = cd_world_key_of(cd_view_kv(cd_api_view(call)), &key, cd_world_walk_hash(walk));
        hash_key(w, cd_world_walk_hash(walk));
        cd_json_w_obj(w);
        if (known == CD_OK) {
            cd_hash32 word = word_of(&key);
            cd_json_put_hash(w, "key", &word);
        } else if (known == CD_ENOENT) {
            cd_json_w_key(w, "key");
            cd_json_w_null(w);
        } else {
            return known;
        }
        cd_hash32 word = word_of(&value);
        cd_json_put_hash(w, "value", &word);
        cd_json_w_obj_end(w);
        if (i % STEPS == STEPS - 1 && cd_rpc_is_late(call)) {
            return CD_ETIMEOUT;
        }
    }
    cd_json_w_obj_end(w);
    if (has_next) {
        cd_json_put_hash(w, "nextKey", cd_world_walk_hash(walk));
    } else {
        cd_json_w_key(w, "nextKey");
        cd_json_w_null(w);
    }
    cd_json_w_obj_end(w);
    return cd_world_walk_err(walk);
}

static cd_err storage_range(cd_rpc_call *call, u64 number, const cd_addr20 *addr, const cd_hash32 *start, i64 max)
{
    cd_view *view = cd_api_view(call);
    cd_view_source src;
    cd_account a = {.storage_root = CD_HASH_EMPTY_TRIE};
    cd_hash32 hash;
    cd_world_walk *walk;
    bool found;
    CD_TRY(cd_view_source_init(&src, view, number));
    cd_state_source *state = &src.world.src;
    cd_err e = state->account(state, &a, &found, addr);
    cd_view_source_fini(&src);
    CD_TRY(e);
    if (cd_hash32_eq(&a.storage_root, &CD_HASH_EMPTY_TRIE)) {
        cd_json_w_raw(call->out, cd_bytes_str("{\"storage\":null,\"nextKey\":null}"));
        return CD_OK;
    }
    cd_keccak256(&hash, cd_bytes_of(addr->b, 20));
    CD_TRY(cd_world_walk_slots(&walk, cd_view_kv(view), version_of(call, number), &hash, start));
    e = write_slots(call, walk, max);
    cd_world_walk_free(walk);
    return e;
}

/* Whichever transaction is named, what is walked is the storage before its block, as go-ethereum does: the tries
 * that it walks have not heard of the transactions before. */
cd_err cd__debug_storage_range_at(cd_rpc_call *call)
{
    const cd_accepted *acc;
    u64 number;
    i64 idx;
    i64 max;
    cd_addr20 addr;
    cd_hash32 start;
    CD_TRY(read_block(call, &number, 0));
    CD_TRY(read_int(call, &idx, 1));
    CD_TRY(cd_rpc_read_addr(call, &addr, cd_rpc_arg(call, 2), 2));
    CD_TRY(read_start(call, &start, 3));
    CD_TRY(read_int(call, &max, 4));
    cd_err e = cd_view_block(cd_api_view(call), &acc, call->arena, number);
    if (e != CD_OK) {
        return cd_api_store(call, e);
    }
    if (number == 0) {
        return cd_rpc_fail(call, CD_RPC_SERVER, "no transaction in genesis");
    }
    bool is_start = idx == 0 && acc->block.tx_cnt == 0;
    if (!is_start && (idx < 0 || (u64)idx >= acc->block.tx_cnt)) {
        char hash[65] = {0};
        cd_hex_fmt(hash, cd_bytes_of(acc->block.hash.b, 32));
        return cd_rpc_fail(call, CD_RPC_SERVER, "transaction index %lld out of range for block 0x%s", (long long)idx,
                           hash);
    }
    return done(call, storage_range(call, number - 1, &addr, &start, max), number - 1);
}

/* --- what changed --- */

/* The addresses of the accounts that differ behind two blocks. */
static cd_err write_modified(cd_rpc_call *call, u64 from, u64 to)
{
    cd_addr20 *addrs;
    usize cnt;
    if (from >= to) {
        return cd_rpc_fail(call, CD_RPC_SERVER, "start block height (%llu) must be less than end block height (%llu)",
                           (unsigned long long)from, (unsigned long long)to);
    }
    cd_err e = cd_world_modified(cd_view_kv(cd_api_view(call)), &addrs, &cnt, call->arena, cd_world_version_of(from),
                                 cd_world_version_of(to), MODIFIED_MAX);
    if (e == CD_ELIMIT) {
        return cd_rpc_fail(call, CD_RPC_SERVER, "more than %d accounts changed", MODIFIED_MAX);
    }
    if (e != CD_OK) {
        return cd__api_no_state(call, e, from);
    }
    cd_json_w_arr(call->out);
    for (usize i = 0; i < cnt; i++) {
        cd_json_w_hex(call->out, cd_bytes_of(addrs[i].b, 20));
    }
    cd_json_w_arr_end(call->out);
    return CD_OK;
}

/* One block alone is compared with its parent. */
static cd_err write_modified_in(cd_rpc_call *call, u64 number)
{
    if (number == 0) {
        return cd_rpc_fail(call, CD_RPC_SERVER, "block 0 has no parent");
    }
    return write_modified(call, number - 1, number);
}

cd_err cd__debug_modified_by_number(cd_rpc_call *call)
{
    i64 number[2];
    u64 head = cd_view_head(cd_api_view(call))->block.header.number;
    bool is_one = !cd_rpc_has_arg(call, 1);
    for (usize i = 0; i < (is_one ? 1 : 2); i++) {
        CD_TRY(read_int(call, &number[i], i));
        if (number[i] < 0 || (u64)number[i] > head) {
            return cd_rpc_fail(call, CD_RPC_SERVER, i == 0 ? "start block %llx not found" : "end block %llu not found",
                               (unsigned long long)number[i]);
        }
    }
    return is_one ? write_modified_in(call, (u64)number[0]) : write_modified(call, (u64)number[0], (u64)number[1]);
}

cd_err cd__debug_modified_by_hash(cd_rpc_call *call)
{
    u64 from;
    u64 to;
    CD_TRY(read_hash(call, &from, "start", 0));
    if (!cd_rpc_has_arg(call, 1)) {
        return write_modified_in(call, from);
    }
    CD_TRY(read_hash(call, &to, "end", 1));
    return write_modified(call, from, to);
}

cd_err cd__debug_preimage(cd_rpc_call *call)
{
    cd_kv *kv = cd_view_kv(cd_api_view(call));
    cd_hash32 hash;
    cd_addr20 addr;
    cd_u256 key;
    CD_TRY(cd_rpc_read_hash(call, &hash, cd_rpc_arg(call, 0), 0));
    cd_err e = cd_world_addr_of(kv, &addr, &hash);
    if (e == CD_OK) {
        cd_json_w_hex(call->out, cd_bytes_of(addr.b, 20));
        return CD_OK;
    }
    /* What is longer than an address is the key of a slot. */
    if (e == CD_ECORRUPT) {
        e = cd_world_key_of(kv, &key, &hash);
    }
    if (e == CD_ENOENT) {
        return cd_rpc_fail(call, CD_RPC_SERVER, "unknown preimage");
    }
    if (e != CD_OK) {
        return cd_api_store(call, e);
    }
    cd_hash32 word = word_of(&key);
    cd_json_w_hex(call->out, cd_bytes_of(word.b, 32));
    return CD_OK;
}
