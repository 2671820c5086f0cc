#include "chains/xvm/filter.h"

#include "base/mem/mem.h"
#include "base/os/rng.h"
#include "base/table/hmap.h"
#include "base/table/siphash.h"
#include "rpc/named.h"

enum { ADDRESS_COST = 48, HASHES_MAX = 32 };

typedef enum kind { NOTHING, SET, BLOOM } kind;

struct cd_xvm_filter {
    kind kind;
    cd_hmap set; /* cd_addr20 */
    u8 *bits;
    u64 bit_cnt;
    u32 hashes;
    cd_sipkey key; /* nobody else knows which addresses collide */
    usize *all;
    usize cost;
};

cd_xvm_filter *cd_xvm_filter_new(usize *all)
{
    cd_xvm_filter *f = cd_new(cd_xvm_filter);
    cd_rng rng = cd_rng_os();
    f->all = all;
    cd_rng_fill(&rng, &f->key, sizeof f->key);
    cd_hmap_init(&f->set, CD_HASH_KEYED, sizeof(cd_addr20), 0);
    return f;
}

static void charge(cd_xvm_filter *f, usize cost)
{
    *f->all = *f->all - f->cost + cost;
    f->cost = cost;
}

static void empty(cd_xvm_filter *f)
{
    cd_hmap_fini(&f->set);
    cd_hmap_init(&f->set, CD_HASH_KEYED, sizeof(cd_addr20), 0);
    cd_free(f->bits);
    f->bits = NULL;
    f->kind = NOTHING;
    charge(f, 0);
}

void cd_xvm_filter_free(cd_xvm_filter *f)
{
    if (f != NULL) {
        empty(f);
        cd_hmap_fini(&f->set);
        cd_free(f);
    }
}

/* --- what a client says --- */

CD_RPC_PARAMS_STRUCT(bloom_args,
                     ARGS((U64, elements, "maxElements", OPTIONAL), (F64, probability, "collisionProb", OPTIONAL)));
CD_RPC_PARAMS_STRUCT(address_args, ARGS((STRINGS, addresses, "addresses", OPTIONAL)));
CD_RPC_PARAMS_STRUCT(command_args, ARGS((ANY, bloom, "newBloom", OPTIONAL), (ANY, set, "newSet", OPTIONAL),
                                        (ANY, add, "addAddresses", OPTIONAL)));

static const cd_rpc_param *const bloom_params = CD_RPC_PARAMS(
    bloom_args, ARGS((U64, elements, "maxElements", OPTIONAL), (F64, probability, "collisionProb", OPTIONAL)));
static const cd_rpc_param *const address_params =
    CD_RPC_PARAMS(address_args, ARGS((STRINGS, addresses, "addresses", OPTIONAL)));
static const cd_rpc_param *const command_params =
    CD_RPC_PARAMS(command_args, ARGS((ANY, bloom, "newBloom", OPTIONAL), (ANY, set, "newSet", OPTIONAL),
                                     (ANY, add, "addAddresses", OPTIONAL)));

/* Bits for n elements of which a foreign one collides with at most this probability: k hashes halve it k times, each
 * taking n / ln 2 bits. */
static cd_err new_bloom(cd_xvm_filter *f, const bloom_args *args, cd_errinfo *why)
{
    u32 hashes = 0;
    if (args->elements == 0 || !(args->probability > 0 && args->probability <= 1)) {
        return cd_fail(why, CD_EINVAL, "invalid bloom filter params");
    }
    double reached = 1;
    while (reached > args->probability && hashes < HASHES_MAX) {
        reached /= 2;
        hashes++;
    }
    hashes = hashes == 0 ? 1 : hashes;
    u64 bits = (u64)CD_XVM_FILTER_BLOOM * 8 + 1;
    if (args->elements <= (u64)CD_XVM_FILTER_BLOOM * 8) {
        bits = args->elements * hashes * 1443 / 1000 + 8;
    }
    usize bytes = (usize)(bits / 8 + 1);
    if (bits > (u64)CD_XVM_FILTER_BLOOM * 8 || *f->all - f->cost + bytes > CD_XVM_FILTERS_BYTES) {
        return cd_fail(why, CD_ELIMIT, "bloom filter creation failed max bytes exceeded");
    }
    empty(f);
    f->kind = BLOOM;
    f->bits = cd_alloc(bytes);
    f->bit_cnt = bits;
    f->hashes = hashes;
    charge(f, bytes);
    return CD_OK;
}

/* The i-th bit of an address: two halves of one hash, stepped. */
static u64 bit_of(const cd_xvm_filter *f, u64 hash, u32 i)
{
    return ((hash & UINT32_MAX) + i * ((hash >> 32) | 1)) % f->bit_cnt;
}

static void bloom_add(cd_xvm_filter *f, const cd_addr20 *a)
{
    u64 hash = cd_siphash13(f->key, cd_bytes_of(a->b, sizeof a->b));
    for (u32 i = 0; i < f->hashes; i++) {
        u64 bit = bit_of(f, hash, i);
        f->bits[bit / 8] |= (u8)(1u << bit % 8);
    }
}

static bool bloom_has(const cd_xvm_filter *f, const cd_addr20 *a)
{
    u64 hash = cd_siphash13(f->key, cd_bytes_of(a->b, sizeof a->b));
    for (u32 i = 0; i < f->hashes; i++) {
        u64 bit = bit_of(f, hash, i);
        if ((f->bits[bit / 8] >> bit % 8 & 1) == 0) {
            return false;
        }
    }
    return true;
}

static cd_err set_add(cd_xvm_filter *f, const cd_addr20 *a, cd_errinfo *why)
{
    bool is_full = cd_hmap_cnt(&f->set) >= CD_XVM_FILTER_ADDRESSES;
    if (is_full || *f->all + ADDRESS_COST > CD_XVM_FILTERS_BYTES) {
        return cd_fail(why, CD_ELIMIT, "address append failed address limit exceeded");
    }
    bool is_new;
    (void)cd_hmap_put(&f->set, &is_new, a);
    if (is_new) {
        charge(f, f->cost + ADDRESS_COST);
    }
    return CD_OK;
}

static cd_err add(cd_xvm_filter *f, const address_args *args, cd_errinfo *why)
{
    for (usize i = 0; i < args->addresses.n; i++) {
        cd_chain_addr a;
        cd_errinfo said = {0};
        if (cd_chain_addr_parse(&a, args->addresses.v[i], &said) != CD_OK) {
            return cd_fail(why, CD_EINVAL, "address parse failed %s", said.msg);
        }
        if (f->kind == NOTHING) {
            break;
        }
        if (f->kind == BLOOM) {
            bloom_add(f, &a.addr);
        } else {
            CD_TRY(set_add(f, &a.addr, why));
        }
    }
    return f->kind == NOTHING ? cd_fail(why, CD_EINVAL, "address append failed filter not initialized") : CD_OK;
}

/* CD_ETYPE, without words, for what is no command at all. */
static cd_err command(cd_xvm_filter *f, cd_arena *a, cd_bytes text, cd_errinfo *why)
{
    cd_json v;
    command_args c = {.set = {0}};
    bloom_args bloom = {.elements = 0};
    address_args addresses = {.addresses = {0}};
    if (text.n > CD_XVM_COMMAND_MAX || cd_json_parse(&v, a, text, 0, NULL) != CD_OK ||
        cd_rpc_params_read(&c, a, command_params, v) != CD_OK) {
        return CD_ETYPE;
    }
    if (cd_json_has(c.bloom)) {
        return cd_rpc_params_read(&bloom, a, bloom_params, c.bloom) != CD_OK ? CD_ETYPE : new_bloom(f, &bloom, why);
    }
    if (cd_json_has(c.set)) {
        empty(f);
        f->kind = SET;
        return CD_OK;
    }
    if (cd_json_has(c.add)) {
        return cd_rpc_params_read(&addresses, a, address_params, c.add) != CD_OK ? CD_ETYPE : add(f, &addresses, why);
    }
    return cd_fail(why, CD_EINVAL, "invalid command");
}

bool cd_xvm_filter_command(cd_xvm_filter *f, cd_buf *error, cd_bytes text)
{
    cd_arena a = {0};
    cd_errinfo why = {0};
    cd_err e = command(f, &a, text, &why);
    cd_arena_fini(&a);
    if (e != CD_OK && why.msg[0] != 0) {
        cd_json_w w = {.out = error};
        cd_json_w_obj(&w);
        cd_json_put_cstr(&w, "error", why.msg);
        cd_json_w_obj_end(&w);
    }
    return e == CD_OK;
}

bool cd_xvm_filter_wants(const cd_xvm_filter *f, const cd_addr20 *addr)
{
    switch (f->kind) {
    case NOTHING:
        return false;
    case SET:
        return cd_hmap_get(&f->set, addr) != NULL;
    case BLOOM:
        return bloom_has(f, addr);
    }
    CD_UNREACHABLE();
}
