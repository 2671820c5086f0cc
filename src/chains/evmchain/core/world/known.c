#include "chains/evmchain/core/world/known.h"

#include "base/mem/mem.h"
#include "base/thread/thread.h"

enum {
    ACCOUNTS = 2048,
    SLOTS = 2048,
    CODES = 64,
    CODE_MAX = 24576, /* EIP-170 */
};

typedef struct known_account {
    u64 version; /* 0: nothing is known here */
    cd_addr20 addr;
    bool exists;
    cd_account account;
} known_account;

typedef struct known_slot {
    u64 version;
    cd_addr20 addr;
    cd_u256 slot, value;
} known_slot;

typedef struct known_code {
    cd_hash32 hash;
    u8 *bytes;
    usize n; /* 0: nothing is known here */
} known_code;

struct cd_known {
    cd_mutex lock;
    known_account *accounts;
    known_slot *slots;
    known_code codes[CODES];
};

cd_known *cd_known_new(void)
{
    cd_known *k = cd_new(cd_known);
    cd_mutex_init(&k->lock);
    k->accounts = cd_new_array(known_account, ACCOUNTS);
    k->slots = cd_new_array(known_slot, SLOTS);
    return k;
}

void cd_known_free(cd_known *k)
{
    if (k == NULL) {
        return;
    }
    for (usize i = 0; i < CODES; i++) {
        cd_free(k->codes[i].bytes);
    }
    cd_free(k->accounts);
    cd_free(k->slots);
    cd_mutex_fini(&k->lock);
    cd_free(k);
}

/* Both halves of a product: every bit of h and v has its part in the low ones, which choose the place. */
static u64 mix(u64 h, u64 v)
{
    u128 p = (u128)(h ^ v) * 0x9e3779b97f4a7c15;
    return (u64)p ^ (u64)(p >> 64);
}

static u64 mix_addr(const cd_addr20 *addr)
{
    return mix(mix(cd_le64(addr->b), cd_le32(addr->b + 8)), cd_le64(addr->b + 12));
}

static known_account *account_at(cd_known *k, const cd_addr20 *addr)
{
    return &k->accounts[mix_addr(addr) % ACCOUNTS];
}

/* Keys are small numbers, or hashes. */
static known_slot *slot_at(cd_known *k, const cd_addr20 *addr, const cd_u256 *slot)
{
    return &k->slots[mix(mix(mix_addr(addr), slot->w[3]), slot->w[0]) % SLOTS];
}

static known_code *code_at(cd_known *k, const cd_hash32 *hash)
{
    return &k->codes[hash->b[0] % CODES];
}

bool cd_known_account(cd_known *k, cd_account *out, bool *exists, u64 version, const cd_addr20 *addr)
{
    const known_account *x = account_at(k, addr);
    cd_mutex_lock(&k->lock);
    bool is_known = x->version == version && cd_addr20_eq(&x->addr, addr);
    if (is_known) {
        *exists = x->exists;
        *out = x->exists ? x->account : *out;
    }
    cd_mutex_unlock(&k->lock);
    return is_known;
}

void cd_know_account(cd_known *k, u64 version, const cd_addr20 *addr, const cd_account *account)
{
    known_account x = {.version = version, .addr = *addr, .exists = account != NULL};
    if (account != NULL) {
        x.account = *account;
    }
    cd_mutex_lock(&k->lock);
    *account_at(k, addr) = x;
    cd_mutex_unlock(&k->lock);
}

bool cd_known_slot(cd_known *k, cd_u256 *out, u64 version, const cd_addr20 *addr, const cd_u256 *slot)
{
    const known_slot *x = slot_at(k, addr, slot);
    cd_mutex_lock(&k->lock);
    bool is_known = x->version == version && cd_u256_eq(&x->slot, slot) && cd_addr20_eq(&x->addr, addr);
    if (is_known) {
        *out = x->value;
    }
    cd_mutex_unlock(&k->lock);
    return is_known;
}

void cd_know_slot(cd_known *k, u64 version, const cd_addr20 *addr, const cd_u256 *slot, const cd_u256 *value)
{
    cd_mutex_lock(&k->lock);
    *slot_at(k, addr, slot) = (known_slot){.version = version, .addr = *addr, .slot = *slot, .value = *value};
    cd_mutex_unlock(&k->lock);
}

bool cd_known_code(cd_known *k, cd_bytes *out, cd_arena *a, const cd_hash32 *hash)
{
    const known_code *x = code_at(k, hash);
    cd_mutex_lock(&k->lock);
    bool is_known = x->n != 0 && cd_hash32_eq(&x->hash, hash);
    if (is_known) {
        *out = cd_arena_dup(a, cd_bytes_of(x->bytes, x->n));
    }
    cd_mutex_unlock(&k->lock);
    return is_known;
}

void cd_know_code(cd_known *k, const cd_hash32 *hash, cd_bytes code)
{
    if (code.n == 0 || code.n > CODE_MAX) {
        return;
    }
    known_code *x = code_at(k, hash);
    u8 *copy = memcpy(cd_alloc(code.n), code.p, code.n);
    cd_mutex_lock(&k->lock);
    u8 *old = x->bytes;
    *x = (known_code){.hash = *hash, .bytes = copy, .n = code.n};
    cd_mutex_unlock(&k->lock);
    cd_free(old);
}
