/* Contracts in byte code that do what an index has to see, and random transactions on them. Test code: included by
 * one file each. */
#ifndef CD_EXPLORER_TEST_ACTS_H
#define CD_EXPLORER_TEST_ACTS_H

#include "base/hex.h"
#include "base/os/rng.h"
#include "evm/evm.h"
#include "types/tx.h"

/* Input: [what][address][value][input…], a word each. what 0: calls the address with value and input; 1: creates a
 * contract with that value, whose init code is the input; 2: destroys itself in favour of the address; 3: as 0, and
 * fails in the end. */
#define ACTS_DOER                                                                                                      \
    "606036036060600037600035806001146034578060021460415760006000606036036000604035602035"                             \
    "5af1506003146046570"                                                                                              \
    "05b606036036000604035f050005b602035ff5b60006000fd"

/* Emits a log whose topics are the first words of the input, three or four, and whose data is the rest. */
#define ACTS_SAY3 "606036036060600037604035602035600035606036036000a300"
#define ACTS_SAY4 "608036036080600037606035604035602035600035608036036000a400"

static const char *const acts_code[] = {ACTS_DOER, ACTS_DOER, ACTS_SAY3, ACTS_SAY3, ACTS_SAY4, ACTS_SAY4};

static const char *const acts_events[] = {
    "ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef",
    "c3d58168c5ae7397731d063d5bbf3d657854427343f4c083240f7aacaa2d0f62",
    "4a39dc06d4c0dbc64b70af90fd698a233a518aa5d07e595d983b8c0526c8f7fb",
};

enum { ACTS_CONTRACTS = 6, ACTS_DOERS = 2, ACTS_SAYERS3 = 4, ACTS_PEOPLE = 4 };

/* Who acts: the contracts are deployed by the first transactions of owner. */
typedef struct acts {
    cd_rng rng;
    cd_addr20 contracts[ACTS_CONTRACTS];
} acts;

static inline void acts_init(acts *a, const cd_addr20 *owner, u64 seed)
{
    a->rng = cd_rng_seeded(seed);
    for (u64 i = 0; i < ACTS_CONTRACTS; i++) {
        cd_evm_create_addr(&a->contracts[i], owner, i);
    }
}

static inline void acts_hex(cd_buf *out, const char *hex)
{
    u8 *p = cd_buf_extend(out, strlen(hex) / 2);
    CD_ASSERT(cd_hex_parse(p, cd_bytes_str(hex)) == CD_OK);
}

/* The init code of a contract with that code. */
static inline void acts_init_code(cd_buf *out, const char *code)
{
    cd_buf_u8(out, 0x60);
    cd_buf_u8(out, (u8)(strlen(code) / 2));
    acts_hex(out, "8060093d393df3");
    acts_hex(out, code);
}

static inline void acts_word(cd_buf *out, u64 v)
{
    cd_buf_fill(out, 0, 24);
    cd_put_be64(cd_buf_extend(out, 8), v);
}

static inline void acts_addr(cd_buf *out, const cd_addr20 *a)
{
    cd_buf_fill(out, 0, 12);
    cd_buf_put(out, cd_bytes_of(a->b, 20));
}

static inline cd_addr20 acts_person(acts *a)
{
    cd_addr20 p = {{0}};
    p.b[19] = (u8)(0x80 + cd_rng_below(&a->rng, ACTS_PEOPLE));
    p.b[0] = p.b[19];
    return cd_rng_below(&a->rng, 8) == 0 ? (cd_addr20){{0}} : p; /* sometimes nobody: made or destroyed */
}

/* What one of the sayers is asked to emit, well formed or not; gives which one. */
static inline usize acts_saying(acts *a, cd_buf *out)
{
    usize event = cd_rng_below(&a->rng, 3);
    bool is_multi = event != 0;
    bool is_nft = !is_multi && cd_rng_below(&a->rng, 2) == 0;
    cd_addr20 from = acts_person(a);
    cd_addr20 to = acts_person(a);
    acts_hex(out, acts_events[event]);
    if (is_multi) {
        acts_addr(out, &a->contracts[0]);
    }
    acts_addr(out, &from);
    acts_addr(out, &to);
    if (is_nft) {
        acts_word(out, cd_rng_below(&a->rng, 5));
    } else if (!is_multi) {
        acts_word(out, cd_rng_below(&a->rng, 1000));
    } else if (event == 1) {
        acts_word(out, cd_rng_below(&a->rng, 5));
        acts_word(out, cd_rng_below(&a->rng, 1000));
    } else {
        u64 cnt = cd_rng_below(&a->rng, 10);
        acts_word(out, 64);
        acts_word(out, 96 + 32 * cnt);
        for (u64 i = 0; i < 2 * cnt + 2; i++) {
            acts_word(out, i % (cnt + 1) == 0 ? cnt : cd_rng_below(&a->rng, 9));
        }
    }
    if (cd_rng_below(&a->rng, 6) == 0) {
        acts_word(out, 7); /* too much, or not a length that anything has */
    }
    bool has_four = is_multi || is_nft;
    return (has_four ? ACTS_SAYERS3 : ACTS_DOERS) + cd_rng_below(&a->rng, 2);
}

/* What a doer is asked to do, within levels of others. */
static inline void acts_doing(acts *a, cd_buf *out, u32 levels)
{
    cd_buf inner = {0};
    cd_addr20 to = acts_person(a);
    u64 value = cd_rng_below(&a->rng, 3);
    u64 what = cd_rng_below(&a->rng, 12);
    what = what < 6 ? 0 : what < 9 ? 1 : what < 11 ? 3 : 2;
    if (what == 1) {
        acts_init_code(&inner, acts_code[cd_rng_below(&a->rng, ACTS_CONTRACTS)]);
    } else if (levels != 0) {
        to = a->contracts[cd_rng_below(&a->rng, ACTS_DOERS)];
        acts_doing(a, &inner, levels - 1);
    } else if (cd_rng_below(&a->rng, 2) == 0) {
        to = a->contracts[acts_saying(a, &inner)];
        value = 0;
    }
    acts_word(out, what == 2 && cd_rng_below(&a->rng, 8) != 0 ? 0 : what);
    acts_addr(out, &to);
    acts_word(out, value);
    cd_buf_put(out, cd_buf_bytes(&inner));
    cd_buf_fini(&inner);
}

/* acts_next completes a random transaction, whose nonce and prices are the caller's; its data is in *data. The first
 * transactions of the owner deploy the contracts. */
static inline void acts_next(acts *a, cd_tx *tx, cd_buf *data, bool is_owner)
{
    tx->gas_limit = 600000;
    cd_buf_clear(data);
    if (is_owner && tx->nonce < ACTS_CONTRACTS) {
        tx->is_create = true;
        acts_init_code(data, acts_code[tx->nonce]);
    } else {
        u64 what = cd_rng_below(&a->rng, 8);
        tx->value = cd_u256_from_u64(cd_rng_below(&a->rng, 50));
        if (what == 0) {
            tx->to = acts_person(a);
        } else if (what == 1) {
            tx->is_create = true;
            tx->value = cd_u256_zero();
            if (cd_rng_below(&a->rng, 2) == 0) {
                cd_buf_u8(data, 0xfe); /* fails */
            } else {
                acts_init_code(data, ACTS_SAY3);
            }
        } else if (what < 4) {
            tx->value = cd_u256_zero();
            tx->to = a->contracts[acts_saying(a, data)];
        } else {
            tx->to = a->contracts[cd_rng_below(&a->rng, ACTS_DOERS)];
            acts_doing(a, data, (u32)cd_rng_below(&a->rng, 4));
        }
    }
    tx->data = cd_buf_bytes(data);
}

#endif
