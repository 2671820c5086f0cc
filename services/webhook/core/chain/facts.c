#include "services/webhook/core/chain/facts.h"

#include "base/hex.h"

/* 9999-12-31: times beyond have no text form. */
#define TIME_MAX_S 253402300799ull

/* The paths of a block's internal transfers take no more steps than this; a node that answers so many invents them. */
enum { STEPS_MAX = 1 << 22 };

/* Block numbers are JSON integers of events, exact up to here. */
#define NUMBER_MAX ((u64)1 << 53)

/* keccak256 of Transfer(address,address,uint256), TransferSingle(address,address,address,uint256,uint256) and
 * TransferBatch(address,address,address,uint256[],uint256[]). */
static const cd_hash32 transfer = {.b = {0xdd, 0xf2, 0x52, 0xad, 0x1b, 0xe2, 0xc8, 0x9b, 0x69, 0xc2, 0xb0,
                                         0x68, 0xfc, 0x37, 0x8d, 0xaa, 0x95, 0x2b, 0xa7, 0xf1, 0x63, 0xc4,
                                         0xa1, 0x16, 0x28, 0xf5, 0x5a, 0x4d, 0xf5, 0x23, 0xb3, 0xef}};
static const cd_hash32 transfer_single = {.b = {0xc3, 0xd5, 0x81, 0x68, 0xc5, 0xae, 0x73, 0x97, 0x73, 0x1d, 0x06,
                                                0x3d, 0x5b, 0xbf, 0x3d, 0x65, 0x78, 0x54, 0x42, 0x73, 0x43, 0xf4,
                                                0xc0, 0x83, 0x24, 0x0f, 0x7a, 0xac, 0xaa, 0x2d, 0x0f, 0x62}};
static const cd_hash32 transfer_batch = {.b = {0x4a, 0x39, 0xdc, 0x06, 0xd4, 0xc0, 0xdb, 0xc6, 0x4b, 0x70, 0xaf,
                                               0x90, 0xfd, 0x69, 0x8a, 0x23, 0x3a, 0x51, 0x8a, 0xa5, 0xd0, 0x7e,
                                               0x59, 0x5d, 0x98, 0x3b, 0x8c, 0x05, 0x26, 0xc8, 0xf7, 0xfb}};

/* --- logs --- */

/* The address in a topic; false when the bytes before it are not zero. */
static bool topic_addr(cd_addr20 *out, const cd_hash32 *topic)
{
    static const u8 zeros[12];
    if (memcmp(topic->b, zeros, sizeof zeros) != 0) {
        return false;
    }
    memcpy(out->b, topic->b + 12, 20);
    return true;
}

/* A word of data as a size that is at most max. */
static bool word_size(usize *out, cd_bytes data, usize at, usize max)
{
    cd_u256 v;
    if (data.n < 32 || at > data.n - 32) {
        return false;
    }
    cd_u256_load_be(&v, data.p + at);
    if (!cd_u256_fits_u64(&v) || cd_u256_to_u64_sat(&v) > max) {
        return false;
    }
    *out = (usize)cd_u256_to_u64_sat(&v);
    return true;
}

/* Where the words of the array behind the offset at `head` begin, and how many there are. */
static bool word_array(usize *at, usize *cnt, cd_bytes data, usize head)
{
    usize off;
    if (!word_size(&off, data, head, data.n) || !word_size(cnt, data, off, data.n / 32)) {
        return false;
    }
    *at = off + 32;
    return *cnt <= (data.n - *at) / 32;
}

/* TransferBatch(…, uint256[] ids, uint256[] values): as many of the one as of the other. */
static void batch_parse(cd_wh_log *log, cd_arena *mem)
{
    usize ids, values, ids_cnt, values_cnt;
    if (!word_array(&ids, &ids_cnt, log->data, 0) || !word_array(&values, &values_cnt, log->data, 32) ||
        ids_cnt != values_cnt) {
        return;
    }
    cd_wh_part *parts = cd_arena_alloc(mem, ids_cnt * sizeof *parts);
    for (usize i = 0; i < ids_cnt; i++) {
        cd_u256_load_be(&parts[i].id, log->data.p + ids + 32 * i);
        cd_u256_load_be(&parts[i].value, log->data.p + values + 32 * i);
    }
    log->move = CD_WH_MOVE_ERC1155;
    log->parts = parts;
    log->parts_cnt = (u32)ids_cnt;
}

/* Recognises transfers; what is almost one stays a plain log. */
static void move_parse(cd_wh_log *log, cd_arena *mem)
{
    const cd_hash32 *t = log->topics;
    usize n = log->topics_cnt;
    if (n < 3) {
        return;
    }
    bool is_nft = n == 4 && log->data.n == 0;
    if (cd_hash32_eq(&t[0], &transfer)) {
        if ((!is_nft && (n != 3 || log->data.n != 32)) || !topic_addr(&log->from, &t[1]) ||
            !topic_addr(&log->to, &t[2])) {
            return;
        }
        cd_wh_part *part = cd_arena_new(mem, cd_wh_part);
        if (is_nft) {
            part->id = cd_u256_from_hash(&t[3]);
            part->value = cd_u256_one();
        } else {
            cd_u256_load_be(&part->value, log->data.p);
        }
        log->move = is_nft ? CD_WH_MOVE_ERC721 : CD_WH_MOVE_ERC20;
        log->parts = part;
        log->parts_cnt = 1;
        return;
    }
    bool is_single = cd_hash32_eq(&t[0], &transfer_single) && log->data.n == 64;
    if (n != 4 || (!is_single && !cd_hash32_eq(&t[0], &transfer_batch)) || !topic_addr(&log->operator, & t[1]) ||
        !topic_addr(&log->from, &t[2]) || !topic_addr(&log->to, &t[3])) {
        return;
    }
    if (!is_single) {
        batch_parse(log, mem);
        return;
    }
    cd_wh_part *part = cd_arena_new(mem, cd_wh_part);
    cd_u256_load_be(&part->id, log->data.p);
    cd_u256_load_be(&part->value, log->data.p + 32);
    log->move = CD_WH_MOVE_ERC1155;
    log->parts = part;
    log->parts_cnt = 1;
}

static cd_err u32_parse(u32 *out, cd_json v, cd_errinfo *why)
{
    u64 n;
    CD_TRY(cd_json_qty_u64(&n, v, why));
    if (n >= UINT32_MAX) {
        return cd_json_fail(v, CD_ERANGE, "too large", why);
    }
    *out = (u32)n;
    return CD_OK;
}

static cd_err log_parse(cd_wh_log *out, cd_arena *mem, cd_json v, cd_errinfo *why)
{
    cd_json topics = cd_json_get(v, "topics");
    cd_hash32 *t = NULL;
    CD_TRY(cd_json_fixed(out->contract.b, 20, cd_json_get(v, "address"), why));
    CD_TRY(u32_parse(&out->index, cd_json_get(v, "logIndex"), why));
    CD_TRY(cd_json_hex(&out->data, mem, cd_json_get(v, "data"), why));
    CD_TRY(cd_json_arr(topics, why));
    out->topics_cnt = (u32)cd_json_len(topics);
    if (out->topics_cnt > 4) {
        return cd_json_fail(topics, CD_EFORMAT, "more than four topics", why);
    }
    if (out->topics_cnt != 0) {
        t = cd_arena_array(mem, cd_hash32, out->topics_cnt);
    }
    out->topics = t;
    for (cd_json_it it = cd_json_iter(topics); cd_json_next(&it);) {
        CD_TRY(cd_json_fixed(t++->b, 32, it.val, why));
    }
    move_parse(out, mem);
    return CD_OK;
}

/* --- transactions --- */

/* The selector is all that is looked at of the input, which may be long. */
static cd_err selector_parse(cd_wh_tx *tx, cd_json v, cd_errinfo *why)
{
    cd_bytes text;
    u8 b[4];
    CD_TRY(cd_json_str(&text, v, why));
    if (text.n < 2 || text.n % 2 != 0 || text.p[0] != '0' || text.p[1] != 'x') {
        return cd_json_fail(v, CD_EFORMAT, "not hexadecimal bytes", why);
    }
    if (text.n < 10 || !tx->has_to) {
        return CD_OK;
    }
    if (cd_hex_parse(b, cd_bytes_sub(text, 2, 8)) != CD_OK) {
        return cd_json_fail(v, CD_EFORMAT, "not hexadecimal bytes", why);
    }
    tx->has_selector = true;
    tx->selector = cd_be32(b);
    return CD_OK;
}

static cd_err addr_or_null(cd_addr20 *out, bool *has, cd_json v, cd_errinfo *why)
{
    *has = cd_json_has(v);
    return *has ? cd_json_fixed(out->b, 20, v, why) : CD_OK;
}

static cd_err tx_parse(cd_wh_tx *out, cd_json v, cd_errinfo *why)
{
    cd_json max_fee = cd_json_get(v, "maxFeePerGas");
    cd_json max_tip = cd_json_get(v, "maxPriorityFeePerGas");
    cd_json price = cd_json_get(v, "gasPrice");
    CD_TRY(cd_json_fixed(out->hash.b, 32, cd_json_get(v, "hash"), why));
    CD_TRY(cd_json_fixed(out->from.b, 20, cd_json_get(v, "from"), why));
    CD_TRY(addr_or_null(&out->to, &out->has_to, cd_json_get(v, "to"), why));
    CD_TRY(cd_json_qty_u256(&out->value, cd_json_get(v, "value"), why));
    CD_TRY(cd_json_qty_u64(&out->gas, cd_json_get(v, "gas"), why));
    CD_TRY(cd_json_qty_u64(&out->nonce, cd_json_get(v, "nonce"), why));
    CD_TRY(selector_parse(out, cd_json_get(v, "input"), why));
    if (cd_json_has(price)) {
        CD_TRY(cd_json_qty_u256(&out->gas_price, price, why));
    }
    if (cd_json_has(max_fee) && cd_json_has(max_tip)) {
        CD_TRY(cd_json_qty_u256(&out->max_fee, max_fee, why));
        CD_TRY(cd_json_qty_u256(&out->max_tip, max_tip, why));
        out->has_fees = true;
    }
    return CD_OK;
}

static cd_err receipt_parse(cd_wh_tx *tx, cd_arena *mem, i64 *last_log, cd_json v, cd_errinfo *why)
{
    cd_json status = cd_json_get(v, "status"); /* before Byzantium there was none */
    cd_json price = cd_json_get(v, "effectiveGasPrice");
    cd_json logs = cd_json_get(v, "logs");
    cd_hash32 hash;
    u64 ok = 1;
    CD_TRY(cd_json_fixed(hash.b, 32, cd_json_get(v, "transactionHash"), why));
    if (!cd_hash32_eq(&hash, &tx->hash)) {
        return cd_json_fail(v, CD_EFORMAT, "receipt of another transaction", why);
    }
    if (cd_json_has(status)) {
        CD_TRY(cd_json_qty_u64(&ok, status, why));
    }
    tx->is_ok = ok == 1;
    tx->moved = tx->is_ok ? tx->value : cd_u256_zero();
    CD_TRY(cd_json_qty_u64(&tx->gas_used, cd_json_get(v, "gasUsed"), why));
    if (cd_json_has(price)) {
        CD_TRY(cd_json_qty_u256(&tx->gas_price, price, why));
    }
    CD_TRY(addr_or_null(&tx->created, &tx->has_created, cd_json_get(v, "contractAddress"), why));
    CD_TRY(cd_json_arr(logs, why));
    tx->logs_cnt = cd_json_len(logs);
    if (tx->logs_cnt == 0) {
        return CD_OK;
    }
    cd_wh_log *log = cd_arena_array(mem, cd_wh_log, tx->logs_cnt);
    tx->logs = log;
    for (cd_json_it it = cd_json_iter(logs); cd_json_next(&it); log++) {
        CD_TRY(log_parse(log, mem, it.val, why));
        if ((i64)log->index <= *last_log) {
            return cd_json_fail(it.val, CD_EFORMAT, "log index does not rise", why);
        }
        *last_log = (i64)log->index;
    }
    return CD_OK;
}

/* --- frames --- */

/* The calls of a transaction are walked with a stack of our own: their depth is a stranger's choice. */
typedef struct frames {
    cd_arena *mem;
    cd_json_it its[CD_WH_FRAMES_MAX]; /* over the calls of each level */
    u32 path[CD_WH_FRAMES_MAX];       /* one more than the index of the current call */
    cd_wh_inner *found;
    usize found_cnt, found_cap;
    usize steps; /* in the paths of all transfers of the block */
} frames;

static bool type_is(cd_bytes type, const char *name)
{
    return cd_bytes_eq(type, cd_bytes_str(name));
}

static void found_add(frames *f, const cd_wh_inner *in)
{
    if (f->found_cnt == f->found_cap) {
        usize cap = f->found_cap == 0 ? 4 : 2 * f->found_cap;
        cd_wh_inner *more = cd_arena_alloc(f->mem, cap * sizeof *more);
        if (f->found_cnt != 0) {
            memcpy(more, f->found, f->found_cnt * sizeof *more);
        }
        f->found = more;
        f->found_cap = cap;
    }
    f->found[f->found_cnt++] = *in;
}

/* Looks at one call; *enters: what it calls counts, too. */
static cd_err frame_parse(frames *f, bool *enters, u32 depth, cd_json v, cd_errinfo *why)
{
    static const char *const moving[] = {"CALL", "CREATE", "CREATE2", "SELFDESTRUCT"};
    cd_json value = cd_json_get(v, "value");
    cd_bytes type;
    CD_TRY(cd_json_str(&type, cd_json_get(v, "type"), why));
    *enters = !cd_json_has(cd_json_get(v, "error"));
    if (!*enters || !cd_json_has(value)) {
        return CD_OK;
    }
    for (usize i = 0; i < CD_COUNT(moving); i++) {
        if (!type_is(type, moving[i])) {
            continue;
        }
        cd_wh_inner in = {.call = moving[i], .depth = depth};
        CD_TRY(cd_json_qty_u256(&in.value, value, why));
        if (cd_u256_is_zero(&in.value)) {
            return CD_OK;
        }
        CD_TRY(cd_json_fixed(in.from.b, 20, cd_json_get(v, "from"), why));
        CD_TRY(cd_json_fixed(in.to.b, 20, cd_json_get(v, "to"), why));
        f->steps += depth;
        if (f->steps > STEPS_MAX) {
            return cd_json_fail(v, CD_ELIMIT, "too many internal transfers", why);
        }
        u32 *path = cd_arena_alloc(f->mem, depth * sizeof *path);
        for (u32 k = 0; k < depth; k++) {
            path[k] = f->path[k] - 1;
        }
        in.path = path;
        found_add(f, &in);
    }
    return CD_OK;
}

/* All calls below a transaction's own, in the order of their execution. */
static cd_err frames_walk(frames *f, cd_json top, cd_errinfo *why)
{
    u32 depth = 0;
    CD_TRY(cd_json_obj(top, why));
    if (cd_json_has(cd_json_get(top, "error"))) {
        return CD_OK;
    }
    f->its[0] = cd_json_iter(cd_json_get(top, "calls"));
    f->path[0] = 0;
    for (;;) {
        bool enters;
        if (!cd_json_next(&f->its[depth])) {
            if (depth == 0) {
                return CD_OK;
            }
            depth--;
            continue;
        }
        cd_json call = f->its[depth].val;
        f->path[depth]++;
        CD_TRY(frame_parse(f, &enters, depth + 1, call, why));
        if (enters && cd_json_len(cd_json_get(call, "calls")) != 0) {
            if (depth + 1 == CD_WH_FRAMES_MAX) {
                return cd_json_fail(call, CD_EDEPTH, "calls nested too deeply", why);
            }
            depth++;
            f->its[depth] = cd_json_iter(cd_json_get(call, "calls"));
            f->path[depth] = 0;
        }
    }
}

/* The traces of a block: one element a transaction, {"txHash", "result"}; old nodes leave txHash out. */
static cd_err traces_parse(cd_wh_facts *facts, cd_wh_tx *txs, cd_arena *mem, cd_json traces, cd_errinfo *why)
{
    frames *f = cd_arena_new(mem, frames);
    cd_wh_tx *tx = txs;
    CD_TRY(cd_json_arr(traces, why));
    if (cd_json_len(traces) != facts->txs_cnt) {
        return cd_json_fail(traces, CD_EFORMAT, "not one trace a transaction", why);
    }
    f->mem = mem;
    for (cd_json_it it = cd_json_iter(traces); cd_json_next(&it); tx++) {
        cd_json named = cd_json_get(it.val, "txHash");
        cd_hash32 hash = tx->hash;
        if (cd_json_has(named)) {
            CD_TRY(cd_json_fixed(hash.b, 32, named, why));
        }
        if (!cd_hash32_eq(&hash, &tx->hash)) {
            return cd_json_fail(it.val, CD_EFORMAT, "trace of another transaction", why);
        }
        f->found = NULL;
        f->found_cnt = 0;
        f->found_cap = 0;
        CD_TRY(frames_walk(f, cd_json_get(it.val, "result"), why));
        tx->inners = f->found;
        tx->inners_cnt = f->found_cnt;
        facts->inners_cnt += f->found_cnt;
    }
    return CD_OK;
}

/* --- blocks --- */

cd_err cd_wh_facts_head(u64 *number, cd_hash32 *hash, cd_hash32 *parent, cd_json block, cd_errinfo *why)
{
    u64 n;
    cd_hash32 own, before;
    CD_TRY(cd_json_qty_u64(&n, cd_json_get(block, "number"), why));
    CD_TRY(cd_json_fixed(own.b, 32, cd_json_get(block, "hash"), why));
    CD_TRY(cd_json_fixed(before.b, 32, cd_json_get(block, "parentHash"), why));
    if (n > NUMBER_MAX) {
        return cd_json_fail(cd_json_get(block, "number"), CD_ERANGE, "too large", why);
    }
    *number = n;
    *hash = own;
    *parent = before;
    return CD_OK;
}

static cd_err head_parse(cd_wh_facts *f, cd_json block, cd_errinfo *why)
{
    cd_json time = cd_json_get(block, "timestamp");
    cd_json base_fee = cd_json_get(block, "baseFeePerGas");
    u64 seconds;
    CD_TRY(cd_wh_facts_head(&f->number, &f->hash, &f->parent, block, why));
    CD_TRY(cd_json_qty_u64(&seconds, time, why));
    if (seconds > TIME_MAX_S) {
        return cd_json_fail(time, CD_ERANGE, "too large", why);
    }
    f->time_ms = seconds * 1000;
    CD_TRY(cd_json_qty_u64(&f->gas_used, cd_json_get(block, "gasUsed"), why));
    CD_TRY(cd_json_qty_u64(&f->gas_limit, cd_json_get(block, "gasLimit"), why));
    f->has_base_fee = cd_json_has(base_fee);
    return f->has_base_fee ? cd_json_qty_u256(&f->base_fee, base_fee, why) : CD_OK;
}

cd_err cd_wh_facts_parse(cd_wh_facts *out, cd_arena *mem, cd_json block, cd_json receipts, cd_json traces,
                         cd_errinfo *why)
{
    cd_wh_facts f = {0};
    cd_json txs = cd_json_get(block, "transactions");
    CD_TRY(head_parse(&f, block, why));
    CD_TRY(cd_json_arr(txs, why));
    CD_TRY(cd_json_arr(receipts, why));
    f.txs_cnt = cd_json_len(txs);
    if (cd_json_len(receipts) != f.txs_cnt) {
        return cd_json_fail(receipts, CD_EFORMAT, "not one receipt a transaction", why);
    }
    cd_wh_tx *tx = cd_arena_array(mem, cd_wh_tx, f.txs_cnt);
    cd_json_it receipt = cd_json_iter(receipts);
    i64 last_log = -1;
    u32 index = 0;
    f.txs = tx;
    for (cd_json_it it = cd_json_iter(txs); cd_json_next(&it) && cd_json_next(&receipt); index++) {
        tx[index].index = index;
        CD_TRY(tx_parse(&tx[index], it.val, why));
        CD_TRY(receipt_parse(&tx[index], mem, &last_log, receipt.val, why));
        f.logs_cnt += tx[index].logs_cnt;
    }
    if (cd_json_has(traces)) {
        CD_TRY(traces_parse(&f, tx, mem, traces, why));
    }
    *out = f;
    return CD_OK;
}

cd_err cd_wh_facts_pending(cd_wh_facts *out, cd_arena *mem, cd_json v, u64 now_ms, cd_errinfo *why)
{
    cd_wh_tx *tx = cd_arena_new(mem, cd_wh_tx);
    CD_TRY(tx_parse(tx, v, why));
    tx->moved = tx->value;
    *out = (cd_wh_facts){.is_pending = true, .time_ms = now_ms, .txs = tx, .txs_cnt = 1};
    return CD_OK;
}
