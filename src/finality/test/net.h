/* finality/test/net.h - a network of nodes that make blocks final, in one process on a virtual clock: messages take
 * their time, get lost, and liars change theirs. Included by one file each. */
#ifndef CD_FINALITY_TEST_NET_H
#define CD_FINALITY_TEST_NET_H

#include "base/mem/mem.h"
#include "base/os/rng.h"
#include "finality/finality.h"
#include "finality/messages.h"

#define NET_UNUSED __attribute__((unused)) static

enum { NET_MAX = 21, NET_QUEUE = 1 << 16, NET_MS = 1000000 };

typedef struct net net;

/* How a node behaves. */
typedef enum net_role {
    NET_HONEST,
    NET_DEAD,
    NET_FORGER,  /* its signatures are wrong */
    NET_SPITTER, /* says random bytes, and words in others' names */
} net_role;

/* A node, and what it has found to be final. */
typedef struct net_node {
    net *net;
    u32 idx;
    net_role role;
    cd_vm_signer signer; /* beside secret, for which it signs */
    cd_bls_sk secret;
    cd_node_id id;
    u8 mldsa_sk[CD_MLDSA_SK];
    u8 mldsa_pk[CD_MLDSA_PK];
    bool has_mldsa;
    cd_kv *kv;
    cd_fin_epochs *epochs;
    cd_fin_store *store;
    cd_fin *fin;
    u64 told_bls;
    u64 told_final;
} net_node;

/* A message on its way. */
typedef struct net_mail {
    u64 at_ns;
    u32 from;
    u32 to;
    cd_buf bytes;
} net_mail;

struct net {
    cd_vm_validators validators; /* first */
    net_node v[NET_MAX];
    u32 cnt;
    u64 weights[NET_MAX];
    u32 left_at[NET_MAX]; /* height of the P-Chain at which a node is no validator any more; 0: never */
    u64 now_ns;
    cd_rng rng;
    u32 loss; /* messages of 100 that are lost */
    net_mail *mail;
    usize mail_cnt;
    u64 bad_certs; /* certificates that do not verify */
};

static const cd_hash32 net_chain = {{0xc}};

NET_UNUSED cd_err net_at(const cd_vm_validators *v, const cd_vm_validator **out, usize *cnt, cd_arena *a,
                         const cd_hash32 *subnet, u64 height)
{
    const net *n = (const net *)(const void *)v;
    cd_vm_validator *list = cd_arena_array(a, cd_vm_validator, n->cnt);
    (void)subnet;
    *cnt = 0;
    for (u32 i = 0; i < n->cnt; i++) {
        cd_bls_pk pk;
        cd_vm_validator *one = &list[*cnt];
        if (n->left_at[i] != 0 && height >= n->left_at[i]) {
            continue;
        }
        cd_err e = cd_bls_pk_of(&pk, &n->v[i].secret);
        CD_ASSERT(e == CD_OK);
        *one = (cd_vm_validator){.node_id = n->v[i].id, .weight = n->weights[i], .has_key = true};
        cd_bls_pk_enc_raw(one->key, &pk);
        (*cnt)++;
    }
    *out = list;
    return CD_OK;
}

NET_UNUSED cd_err net_sign(const cd_vm_signer *s, u8 out[96], cd_bytes msg)
{
    const net_node *node = (const net_node *)(const void *)((const u8 *)s - offsetof(net_node, signer));
    cd_bls_sig sig;
    u8 wrong[1] = {1};
    CD_TRY(cd_bls_sign(&sig, CD_BLS_POP, node->role == NET_FORGER ? cd_bytes_of(wrong, 1) : msg, &node->secret));
    cd_bls_sig_enc(out, &sig);
    return CD_OK;
}

NET_UNUSED void net_send(net *n, u32 from, u32 to, cd_bytes bytes)
{
    if (n->v[from].role == NET_DEAD || n->v[to].role == NET_DEAD || cd_rng_below(&n->rng, 100) < n->loss) {
        return;
    }
    CD_ASSERT(n->mail_cnt < NET_QUEUE);
    net_mail *m = &n->mail[n->mail_cnt++];
    *m = (net_mail){.at_ns = n->now_ns + (1 + cd_rng_below(&n->rng, 40)) * NET_MS, .from = from, .to = to};
    cd_buf_put(&m->bytes, bytes);
    if (n->v[from].role == NET_SPITTER) {
        usize at = cd_rng_below(&n->rng, m->bytes.n);
        m->bytes.p[at] ^= (u8)(1 + cd_rng_below(&n->rng, 255));
    }
}

NET_UNUSED void net_gossip(void *ctx, cd_bytes message)
{
    const net_node *node = ctx;
    for (u32 i = 0; i < node->net->cnt; i++) {
        if (i != node->idx) {
            net_send(node->net, node->idx, i, message);
        }
    }
}

NET_UNUSED void net_tell(void *ctx, const cd_node_id *to, cd_bytes message)
{
    const net_node *node = ctx;
    for (u32 i = 0; i < node->net->cnt; i++) {
        if (memcmp(node->net->v[i].id.b, to->b, sizeof to->b) == 0) {
            net_send(node->net, node->idx, i, message);
        }
    }
}

/* Everybody who hears of a certificate looks at it as a stranger would. */
NET_UNUSED void net_certified(void *ctx, const cd_fin_news *news)
{
    net_node *node = ctx;
    cd_fin_era era;
    cd_fin_cert cert;
    cd_fin_room *room = cd_new(cd_fin_room);
    bool is_good = cd_fin_cert_parse(&cert, news->cert) == CD_FLAW_NONE &&
                   cd_fin_epochs_at(node->epochs, &era, cert.msg.height) == CD_OK &&
                   cd_fin_verify(&cert, era.set, &news->chain, room) == CD_FLAW_NONE && cert.type == news->mark.type;
    node->net->bad_certs += !is_good;
    node->told_bls += news->mark.type == CD_FIN_BLS;
    node->told_final += cd_fin_is_final(news->mark.type);
    cd_free(room);
}

NET_UNUSED void net_open(net_node *v)
{
    cd_errinfo why = {0};
    cd_err e = cd_fin_epochs_open(&v->epochs, v->kv, cd_bytes_str("E"), &v->net->validators, &why);
    CD_ASSERT(e == CD_OK);
    v->store = cd_fin_store_new(v->kv, cd_bytes_str("S"));
    const cd_fin_cfg cfg = {
        .epochs = v->epochs,
        .store = v->store,
        .self = v->id,
        .signer = &v->signer,
        .mldsa_sk = v->has_mldsa ? v->mldsa_sk : NULL,
        .mldsa_pk = v->has_mldsa ? v->mldsa_pk : NULL,
        .out = {.ctx = v, .gossip = net_gossip, .tell = net_tell, .certified = net_certified},
    };
    v->fin = cd_fin_new(&cfg);
}

NET_UNUSED void net_close(net_node *v)
{
    cd_fin_free(v->fin);
    cd_fin_store_free(v->store);
    cd_fin_epochs_free(v->epochs);
}

NET_UNUSED void net_init(net *n, u32 cnt, u64 seed)
{
    *n = (net){.validators = {.at = net_at}, .cnt = cnt, .rng = cd_rng_seeded(seed), .now_ns = CD_NS_PER_SEC};
    n->mail = cd_alloc(NET_QUEUE * sizeof *n->mail);
    for (u32 i = 0; i < cnt; i++) {
        net_node *v = &n->v[i];
        u8 ikm[32] = {(u8)(i + 1), 7};
        n->weights[i] = 100;
        *v = (net_node){.net = n, .idx = i, .signer = {.sign = net_sign}, .id = {{(u8)(i + 1)}}, .has_mldsa = true};
        cd_err e = cd_bls_keygen(&v->secret, cd_bytes_of(ikm, sizeof ikm));
        CD_ASSERT(e == CD_OK);
        cd_mldsa_keygen(v->mldsa_pk, v->mldsa_sk, ikm);
        v->kv = cd_kv_mem_open();
    }
    for (u32 i = 0; i < cnt; i++) {
        net_open(&n->v[i]);
    }
}

NET_UNUSED void net_fini(net *n)
{
    for (usize i = 0; i < n->mail_cnt; i++) {
        cd_buf_fini(&n->mail[i].bytes);
    }
    cd_free(n->mail);
    for (u32 i = 0; i < n->cnt; i++) {
        net_close(&n->v[i]);
        cd_kv_close(n->v[i].kv);
    }
}

NET_UNUSED void net_pblock(net *n, u64 height, u64 time_s)
{
    for (u32 i = 0; i < n->cnt; i++) {
        cd_errinfo why = {0};
        cd_err e = cd_fin_epochs_block(n->v[i].epochs, height, time_s, &why);
        CD_ASSERT(e == CD_OK);
    }
}

/* Lets time pass, messages come and nodes wake. */
NET_UNUSED void net_run(net *n, u64 ms)
{
    for (u64 end = n->now_ns + ms * NET_MS; n->now_ns < end; n->now_ns += 5 * NET_MS) {
        for (usize i = 0; i < n->mail_cnt;) {
            if (n->mail[i].at_ns > n->now_ns) {
                i++;
                continue;
            }
            net_mail m = n->mail[i];
            n->mail[i] = n->mail[--n->mail_cnt];
            (void)cd_fin_hear(n->v[m.to].fin, &n->v[m.from].id, cd_buf_bytes(&m.bytes), n->now_ns);
            cd_buf_fini(&m.bytes);
        }
        for (u32 i = 0; i < n->cnt; i++) {
            if (n->v[i].role != NET_DEAD) {
                (void)cd_fin_wake(n->v[i].fin, n->now_ns);
            }
        }
    }
}

NET_UNUSED cd_fin_block net_block(u64 height, u64 pheight, u64 time_s, u64 parent_s)
{
    cd_fin_block b = {.chain = net_chain,
                      .height = height,
                      .m = {.height = pheight, .time_ns = time_s * CD_NS_PER_SEC},
                      .parent_time_s = parent_s};
    cd_put_be64(b.m.block.b, height);
    b.m.block.b[31] = 1;
    return b;
}

/* All nodes that live accept a block, one after the other within some milliseconds. */
NET_UNUSED void net_accept(net *n, const cd_fin_block *b)
{
    for (u32 i = 0; i < n->cnt; i++) {
        if (n->v[i].role != NET_DEAD) {
            cd_fin_accepted(n->v[i].fin, b, n->now_ns);
        }
        net_run(n, 5 * cd_rng_below(&n->rng, 3));
    }
}

#endif
