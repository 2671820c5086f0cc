/* The read cache of the accepted state. */
#include "base/mem/mem.h"
#include "base/os/rng.h"
#include "chains/evmchain/core/world/world_priv.h"

static u64 mix(u64 h, u64 v)
{
    u128 p = (u128)(h ^ v) * 0x9e3779b97f4a7c15u;
    return (u64)p ^ (u64)(p >> 64);
}

static u64 power_of_two_below(usize n)
{
    u64 p = 1024;
    while (p * 2 <= n) {
        p *= 2;
    }
    return p;
}

void cd__world_cache_init(cd__world_cache *c, usize bytes)
{
    u64 accts = power_of_two_below(bytes / 3 / sizeof(cd__world_cache_acct));
    u64 slots = power_of_two_below(bytes / 3 * 2 / sizeof(cd__world_cache_slot));
    c->accts = cd_new_array(cd__world_cache_acct, accts);
    c->slots = cd_new_array(cd__world_cache_slot, slots);
    c->acct_mask = accts - 1;
    c->slot_mask = slots - 1;
    cd_rng rng = cd_rng_os();
    c->seed = cd_rng_u64(&rng);
    c->epoch = 1;
}

void cd__world_cache_fini(cd__world_cache *c)
{
    cd_free(c->accts);
    cd_free(c->slots);
}

static u64 hash_addr(const cd__world_cache *c, const cd_addr20 *addr)
{
    return mix(mix(mix(c->seed, cd_le64(addr->b)), cd_le64(addr->b + 8)), cd_le32(addr->b + 16));
}

cd__world_cache_acct *cd__world_cache_acct_at(cd__world_cache *c, const cd_addr20 *addr)
{
    return &c->accts[hash_addr(c, addr) & c->acct_mask];
}

cd__world_cache_slot *cd__world_cache_slot_at(cd__world_cache *c, const cd_addr20 *addr, const cd_u256 *key)
{
    u64 h = hash_addr(c, addr);
    for (int i = 0; i < 4; i++) {
        h = mix(h, key->w[i]);
    }
    return &c->slots[h & c->slot_mask];
}

usize cd__world_cache_bytes(const cd__world_cache *c)
{
    return (c->acct_mask + 1) * sizeof *c->accts + (c->slot_mask + 1) * sizeof *c->slots;
}

void cd__world_cache_forget(cd__world_cache *c)
{
    if (++c->epoch == 0) {
        memset(c->accts, 0, (c->acct_mask + 1) * sizeof *c->accts);
        memset(c->slots, 0, (c->slot_mask + 1) * sizeof *c->slots);
        c->epoch = 1;
    }
}

void cd__world_cache_update(cd__world_cache *c, const cd__world_changes *ch)
{
    for (usize i = 0; i < ch->acct_cnt; i++) {
        const cd__world_acct *a = &ch->accts[i];
        *cd__world_cache_acct_at(c, &a->addr) = (cd__world_cache_acct){
            .addr = a->addr,
            .epoch = c->epoch,
            .found = a->exists,
            .hash = a->hash,
            .account = a->account,
        };
        bool is_partial = false;
        for (usize j = a->slot; j < a->slot + a->slot_cnt; j++) {
            const cd__world_slot *s = &ch->slots[j];
            if (!s->has_key) {
                is_partial = true;
                continue;
            }
            *cd__world_cache_slot_at(c, &a->addr, &s->key) = (cd__world_cache_slot){
                .addr = a->addr,
                .epoch = c->epoch,
                .key = s->key,
                .hash = s->hash,
                .value = s->value,
            };
        }
        if (is_partial) {
            /* Slots went whose keys are not known: forget every slot of that account. Rare enough
             * (a contract with storage was destroyed) to look at the whole table. */
            for (u64 k = 0; k <= c->slot_mask; k++) {
                cd__world_cache_slot *s = &c->slots[k];
                if (cd_addr20_eq(&s->addr, &a->addr) && !cd_u256_is_zero(&s->value)) {
                    s->epoch = 0;
                }
            }
        }
    }
}
