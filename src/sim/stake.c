#include "sim/stake.h"

#include "base/mem/mem.h"
#include "crypto/hash/sha2.h"

#include <stdlib.h>

/* How old a height must be before blocks refer to it, like the real P-Chain's window. */
#define SETTLED_US (30 * 1000000ull)

/* --- proposers --- */

static cd_err node_of(const cd_staking *s, cd_node_id *out, cd_bytes cert, cd_errinfo *why)
{
    const cd_sim_signer *own = (const cd_sim_signer *)(const void *)s;
    const u32 *at = cert.n == CD_SIM_CERT_LEN ? cd_hmap_get(&own->all->by_cert, cert.p) : NULL;
    if (at == NULL) {
        return cd_fail(why, CD_EFORMAT, "no certificate");
    }
    *out = own->all->nodes[*at].id;
    return CD_OK;
}

static cd_hash32 signature_of(const cd_sim_signer *by, cd_bytes msg)
{
    cd_sha256_ctx c;
    cd_hash32 h;
    cd_sha256_init(&c);
    cd_sha256_update(&c, cd_bytes_of(by->secret.b, 32));
    cd_sha256_update(&c, msg);
    cd_sha256_final(&c, &h);
    return h;
}

static cd_err check(const cd_staking *s, cd_bytes cert, cd_bytes msg, cd_bytes sig, cd_errinfo *why)
{
    const cd_sim_signer *own = (const cd_sim_signer *)(const void *)s;
    const u32 *at = cert.n == CD_SIM_CERT_LEN ? cd_hmap_get(&own->all->by_cert, cert.p) : NULL;
    if (at == NULL) {
        return cd_fail(why, CD_EFORMAT, "no certificate");
    }
    cd_hash32 want = signature_of(&own->all->nodes[*at], msg);
    return cd_bytes_eq(sig, cd_bytes_of(want.b, 32)) ? CD_OK : cd_fail(why, CD_ESIG, "verification error");
}

static cd_err sign(const cd_staking *s, cd_buf *sig, cd_bytes msg, cd_errinfo *why)
{
    cd_hash32 h = signature_of((const cd_sim_signer *)(const void *)s, msg);
    (void)why;
    cd_buf_put(sig, cd_bytes_of(h.b, 32));
    return CD_OK;
}

static cd_hash32 number_of(u64 seed, u32 no, u8 what)
{
    u8 in[13];
    cd_hash32 h;
    cd_put_be64(in, seed);
    cd_put_be32(in + 8, no);
    in[12] = what;
    cd_sha256(&h, cd_bytes_of(in, sizeof in));
    return h;
}

static void signer_init(cd_sim_signer *n, const cd_sim_stake *s, u64 seed, u32 no)
{
    cd_hash32 cert = number_of(seed, no, 'c');
    cd_hash32 h;
    *n = (cd_sim_signer){.staking = {.node_of = node_of, .check = check, .sign = sign}, .all = s, .weight = 1000};
    n->secret = number_of(seed, no, 's');
    memcpy(n->cert, cert.b, CD_SIM_CERT_LEN);
    cd_sha256(&h, cd_bytes_of(n->cert, CD_SIM_CERT_LEN));
    memcpy(n->id.b, h.b, sizeof n->id.b);
    n->staking.cert = cd_bytes_of(n->cert, CD_SIM_CERT_LEN);
}

void cd_sim_stake_init(cd_sim_stake *s, u64 seed, u32 cnt)
{
    *s = (cd_sim_stake){.nodes = cd_new_array(cd_sim_signer, cnt), .cnt = cnt};
    cd_hmap_init(&s->by_id, CD_HASH_IDENTITY, sizeof(cd_node_id), sizeof(u32));
    cd_hmap_init(&s->by_cert, CD_HASH_IDENTITY, CD_SIM_CERT_LEN, sizeof(u32));
    for (u32 i = 0; i < cnt; i++) {
        signer_init(&s->nodes[i], s, seed, i);
        *(u32 *)cd_hmap_put(&s->by_id, NULL, &s->nodes[i].id) = i;
        *(u32 *)cd_hmap_put(&s->by_cert, NULL, s->nodes[i].cert) = i;
    }
    cd_sim_stake_commit(s, 0);
}

void cd_sim_stake_fini(cd_sim_stake *s)
{
    for (u32 i = 0; i < s->set_cnt; i++) {
        cd_free(s->sets[i].v);
    }
    cd_free(s->sets);
    cd_free(s->nodes);
    cd_hmap_fini(&s->by_id);
    cd_hmap_fini(&s->by_cert);
}

u32 cd_sim_stake_find(const cd_sim_stake *s, const cd_node_id *id)
{
    const u32 *at = cd_hmap_get(&s->by_id, id);
    return at == NULL ? UINT32_MAX : *at;
}

/* --- heights --- */

static int by_id(const void *a, const void *b)
{
    const cd_vm_validator *va = a;
    const cd_vm_validator *vb = b;
    return memcmp(va->node_id.b, vb->node_id.b, sizeof va->node_id.b);
}

void cd_sim_stake_commit(cd_sim_stake *s, u64 now_us)
{
    cd_sim_set set = {.since_us = now_us, .v = cd_new_array(cd_vm_validator, s->cnt + 1)};
    u64 unpaid = 0;
    for (u32 i = 0; i < s->cnt; i++) {
        const cd_sim_signer *n = &s->nodes[i];
        if (n->weight != 0 && n->unpaid == 0) {
            set.v[set.cnt++] = (cd_vm_validator){.node_id = n->id, .weight = n->weight};
        }
        set.total += n->weight;
        unpaid += n->unpaid != 0 ? n->weight : 0;
    }
    if (unpaid != 0) {
        set.v[set.cnt++] = (cd_vm_validator){.weight = unpaid};
    }
    qsort(set.v, set.cnt, sizeof *set.v, by_id);
    s->sets = cd_realloc(s->sets, (s->set_cnt + 1) * sizeof *s->sets);
    s->sets[s->set_cnt++] = set;
}

/* --- as a node sees it --- */

static u64 newest_before(const cd_sim_view *v, u64 us)
{
    u64 h = v->stake->set_cnt - 1;
    while (h > 0 && v->stake->sets[h].since_us > us) {
        h--;
    }
    return h;
}

static u64 seen_until(const cd_sim_view *v)
{
    return *v->now_us > v->late_us ? *v->now_us - v->late_us : 0;
}

static cd_err view_current(const cd_vm_validators *ops, u64 *height)
{
    const cd_sim_view *v = (const cd_sim_view *)(const void *)ops;
    *height = newest_before(v, seen_until(v));
    return CD_OK;
}

static cd_err view_minimum(const cd_vm_validators *ops, u64 *height)
{
    const cd_sim_view *v = (const cd_sim_view *)(const void *)ops;
    u64 until = seen_until(v);
    *height = newest_before(v, until > SETTLED_US ? until - SETTLED_US : 0);
    return CD_OK;
}

static cd_err view_subnet(const cd_vm_validators *ops, cd_hash32 *subnet, const cd_hash32 *chain)
{
    (void)ops;
    (void)chain;
    *subnet = (cd_hash32){0};
    return CD_OK;
}

static cd_err view_at(const cd_vm_validators *ops, const cd_vm_validator **out, usize *cnt, cd_arena *a,
                      const cd_hash32 *subnet, u64 height)
{
    const cd_sim_view *v = (const cd_sim_view *)(const void *)ops;
    (void)a;
    (void)subnet;
    if (height > newest_before(v, seen_until(v))) {
        return CD_ERANGE;
    }
    *out = v->stake->sets[height].v;
    *cnt = v->stake->sets[height].cnt;
    return CD_OK;
}

void cd_sim_view_init(cd_sim_view *v, const cd_sim_stake *s, const u64 *now_us)
{
    *v = (cd_sim_view){
        .ops = {.current = view_current, .minimum = view_minimum, .subnet_of = view_subnet, .at = view_at},
        .stake = s,
        .now_us = now_us,
    };
}
