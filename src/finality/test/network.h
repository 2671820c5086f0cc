/* finality/test/network.h - validators in one process: their clock, their messages, and those who lie. Every message
 * passes through one queue, where a test may drop, change or repeat it; and where it is seen that no commitment is
 * answered twice. Test code: included by one file each. */
#ifndef CD_FINALITY_TEST_NETWORK_H
#define CD_FINALITY_TEST_NETWORK_H

#include "base/table/hmap.h"
#include "base/thread/pool.h"
#include "crypto/hash/sha2.h"
#include "finality/cert/test/world.h"
#include "finality/finality.h"

#include <sched.h>
#include <stdatomic.h>

enum { NET_MAX = 8, NET_QUEUE = 8192, NET_BLOCKS = 2048, NET_JOBS = 64 };
#define NET_MS 1000000ull

typedef struct network network;

typedef struct net_node {
    cd_vm_signer signer; /* first */
    network *net;
    u32 index;
    cd_kv *kv;
    cd_finality *f;
    bool is_dead;
    u64 heights[NET_BLOCKS]; /* by height: 0 none, else 1 + type of the best certificate */
    u64 final_height;
    u64 certs;
} net_node;

typedef struct net_msg {
    u64 at_ns;
    u32 from;
    u32 to;
    bool is_answer;
    cd_hash32 chain;
    cd_buf bytes;
} net_msg;

/* A round that is computed elsewhere. */
typedef struct net_job {
    cd_finality_job *job;
    _Atomic bool *is_done; /* by a thread of the pool; NULL: it is computed when it ends */
    u64 at_ns;
    u32 node;
} net_job;

/* What becomes of a message: 0 it goes on, 1 it is dropped; bytes may be changed. */
typedef int net_filter(network *n, u32 from, u32 to, cd_buf *bytes, const cd_fin_says *says);

struct network {
    world *w;
    u32 n;
    bool with_group;
    u32 strict; /* 1 and the index of the node that counts threshold signatures alone; 0: none does */
    u64 now;
    u64 delay;
    cd_rng rng;
    cd_bytes nodes_list;
    u8 nodes[NET_MAX * CD_FIN_NODE_BYTES];
    cd_vm_validator validators[NET_MAX];
    net_node node[NET_MAX];
    net_msg *queue[NET_QUEUE];
    u32 queued;
    net_filter *filter;
    bool works_late; /* rounds are computed elsewhere, and take their time */
    cd_pool *pool;   /* there indeed; NULL: on this thread */
    net_job jobs[NET_JOBS];
    u32 job_cnt;
    cd_hmap answered; /* (party, D) to z: the instrumented check */
    cd_hmap newest_d; /* (party, session) to hash of D */
    u64 answers;
    u64 commitments;
};

__attribute__((unused)) static cd_err net_sign(const cd_vm_signer *s, u8 out[96], cd_bytes msg)
{
    const net_node *node = (const net_node *)(const void *)s;
    cd_bls_sig sig;
    CD_TRY(cd_bls_sign(&sig, CD_BLS_POP, msg, &node->net->w->bls[node->index]));
    cd_bls_sig_enc(out, &sig);
    return CD_OK;
}

typedef struct net_answer_key {
    cd_hash32 d;
    u32 party;
    u32 pad;
} net_answer_key;
typedef struct net_session_key {
    u64 session;
    u32 party;
    u32 pad;
} net_session_key;

/* A commitment is new when another session, or another life of the party, shows it; an answer belongs to the newest
 * commitment of its session, and there is one for each. */
__attribute__((unused)) static void net_watch(network *n, u32 from, const cd_fin_says *s)
{
    cd_hash32 h;
    bool is_new;
    if (s->kind == CD_FIN_SAYS_ROUND1) {
        cd_sha256(&h, s->bytes);
        net_session_key key = {.session = s->session, .party = from};
        cd_hash32 *d = cd_hmap_put(&n->newest_d, &is_new, &key);
        if (is_new || !cd_hash32_eq(d, &h)) {
            net_answer_key used = {.d = h, .party = from};
            CD_ASSERT(cd_hmap_get(&n->answered, &used) == NULL); /* a nonce that was answered comes again */
            n->commitments++;
        }
        *d = h;
    } else if (s->kind == CD_FIN_SAYS_ROUND2) {
        net_session_key key = {.session = s->session, .party = from};
        const cd_hash32 *d = cd_hmap_get(&n->newest_d, &key);
        CD_ASSERT(d != NULL);
        net_answer_key used = {.d = *d, .party = from};
        cd_sha256(&h, s->bytes);
        cd_hash32 *z = cd_hmap_put(&n->answered, &is_new, &used);
        CD_ASSERT(is_new || cd_hash32_eq(z, &h)); /* one nonce, two answers */
        n->answers += is_new;
        *z = h;
    }
}

__attribute__((unused)) static void net_push(network *n, u32 from, u32 to, cd_bytes bytes, const cd_hash32 *chain)
{
    CD_ASSERT(n->queued < NET_QUEUE);
    net_msg *m = cd_new(net_msg);
    *m = (net_msg){.at_ns = n->now + n->delay + cd_rng_below(&n->rng, n->delay), .from = from, .to = to};
    m->is_answer = chain != NULL;
    m->chain = chain == NULL ? (cd_hash32){0} : *chain;
    cd_buf_put(&m->bytes, bytes);
    n->queue[n->queued++] = m;
}

__attribute__((unused)) static u32 net_index(const network *n, const cd_node_id *id)
{
    u32 i = 0;
    while (i < n->n && memcmp(&n->w->validators[i].node, id, sizeof *id) != 0) {
        i++;
    }
    return i;
}

__attribute__((unused)) static void net_tell(void *ctx, const cd_node_id *nodes, usize cnt, cd_bytes message)
{
    net_node *node = ctx;
    cd_fin_says says;
    CD_ASSERT(cd_fin_says_read(&says, message) == CD_OK);
    net_watch(node->net, node->index, &says);
    for (usize i = 0; i < cnt; i++) {
        u32 to = net_index(node->net, &nodes[i]);
        if (to != node->net->n) {
            net_push(node->net, node->index, to, message, NULL);
        }
    }
}

__attribute__((unused)) static void net_ask(void *ctx, const cd_node_id *to, cd_bytes message)
{
    net_node *node = ctx;
    u32 at = net_index(node->net, to);
    cd_buf cert = {0};
    cd_fin_says says;
    CD_ASSERT(cd_fin_says_read(&says, message) == CD_OK);
    if (at != node->net->n && !node->net->node[at].is_dead &&
        cd_finality_serve(node->net->node[at].kv, &cert, message) == CD_OK) {
        net_push(node->net, at, node->index, cd_buf_bytes(&cert), &says.chain);
    }
    cd_buf_fini(&cert);
}

/* Whatever a node holds for true is verified once more, beside the set that the test knows. */
__attribute__((unused)) static void net_certified(void *ctx, u64 height, u64 since_ns, const cd_fin_cert *cert,
                                                  cd_bytes bytes)
{
    CD_ASSERT(since_ns <= ((const net_node *)ctx)->net->now);
    net_node *node = ctx;
    world *w = node->net->w;
    cd_fin_cert read;
    cd_fin_flaw flaw = cd_fin_verify_bytes(&read, bytes, &w->set, &w->chain, &w->room);
    CD_ASSERT(flaw == CD_FLAW_NONE && read.type == cert->type && read.msg.block.b[1] == (u8)height);
    node->certs++;
    CD_ASSERT(height < NET_BLOCKS);
    node->heights[height] = cd_max_u64(node->heights[height], 1 + (u64)cert->type);
    if (cd_fin_is_final(cert->type)) {
        CD_ASSERT(height > node->final_height);
        node->final_height = height;
    }
}

__attribute__((unused)) static void net_compute(void *arg)
{
    net_job *j = arg;
    cd_finality_job_run(j->job);
    atomic_store(j->is_done, true);
    cd_free(j);
}

/* A job takes up to 400 ms; every eighth is refused. */
__attribute__((unused)) static bool net_work(void *ctx, cd_finality_job *job)
{
    const net_node *node = ctx;
    network *n = node->net;
    if (!n->works_late || n->job_cnt == NET_JOBS || cd_rng_below(&n->rng, 8) == 0) {
        return false;
    }
    n->jobs[n->job_cnt++] =
        (net_job){.job = job, .at_ns = n->now + cd_rng_below(&n->rng, 400) * NET_MS, .node = node->index};
    if (n->pool != NULL) {
        net_job *j = cd_new(net_job);
        *j = (net_job){.job = job, .is_done = (_Atomic bool *)cd_new(_Atomic bool)};
        n->jobs[n->job_cnt - 1].is_done = j->is_done;
        CD_ASSERT(cd_pool_submit(n->pool, net_compute, j) == CD_OK);
    }
    return true;
}

/* Ends the first job that is due at a time; all = node + 1: one of that node, whose object is gone. */
__attribute__((unused)) static bool net_end_job(network *n, u64 until, u32 all)
{
    for (u32 i = 0; i < n->job_cnt; i++) {
        net_job j = n->jobs[i];
        if (all == 0 ? j.at_ns <= until : j.node + 1 == all) {
            n->jobs[i] = n->jobs[--n->job_cnt];
            if (j.is_done == NULL) {
                cd_finality_job_run(j.job);
            }
            while (j.is_done != NULL && !atomic_load(j.is_done)) {
                (void)sched_yield();
            }
            cd_free(j.is_done);
            cd_finality_worked(all == 0 ? n->node[j.node].f : NULL, j.job, n->now);
            return true;
        }
    }
    return false;
}

/* Starts a node, with what its store has. */
__attribute__((unused)) static void net_start(network *n, u32 i)
{
    net_node *node = &n->node[i];
    const cd_finality_cfg cfg = {
        .out = {.ctx = node, .tell = net_tell, .ask = net_ask, .certified = net_certified, .work = net_work},
        .kv = node->kv,
        .rng = &n->rng,
        .self = n->w->validators[i].node,
        .signer = &node->signer,
        .mldsa_key = n->w->mldsa_pk[i],
        .mldsa_secret = n->w->mldsa_sk[i],
        .group = n->with_group ? &n->w->group : NULL,
        .share = n->with_group ? (const cd_rt_share *)(const void *)n->w->shares[i].p : NULL,
        .group_nodes = n->nodes_list,
        .wants_threshold = n->strict == i + 1,
    };
    CD_ASSERT(cd_finality_new(&node->f, &cfg) == CD_OK);
    if (cd_finality_epochs(node->f)->seen == 0) {
        CD_ASSERT(cd_finality_pblock(node->f, 0, 1000, n->validators, n->n) == CD_OK);
    }
    for (u32 k = 0; k < n->n; k++) {
        if (k != i) {
            cd_finality_connected(node->f, &n->w->validators[k].node);
            if (n->node[k].f != NULL) {
                cd_finality_connected(n->node[k].f, &n->w->validators[i].node);
            }
        }
    }
}

/* kill -9, and a start from the store. */
__attribute__((unused)) static void net_kill(network *n, u32 i)
{
    cd_finality_free(n->node[i].f);
    n->node[i].f = NULL;
    n->node[i].is_dead = true;
    while (net_end_job(n, 0, i + 1)) {
    }
}
__attribute__((unused)) static void net_revive(network *n, u32 i)
{
    n->node[i].is_dead = false;
    n->node[i].final_height = n->node[i].final_height;
    net_start(n, i);
}

__attribute__((unused)) static network *net_new(u32 cnt, u64 seed, bool with_group)
{
    network *n = cd_new(network);
    n->w = world_new(cnt, seed, 0, with_group);
    n->n = cnt;
    n->with_group = with_group;
    n->now = 1000 * NET_MS;
    n->delay = 5 * NET_MS;
    n->rng = cd_rng_seeded(seed);
    cd_hmap_init(&n->answered, CD_HASH_KEYED, sizeof(net_answer_key), 32);
    cd_hmap_init(&n->newest_d, CD_HASH_KEYED, sizeof(net_session_key), 32);
    n->w->set.total = 0;
    for (u32 i = 0; i < cnt; i++) {
        cd_fin_validator *v = &n->w->validators[i];
        v->weight = 100; /* of one weight, so that absent ones count as they are counted */
        n->w->set.total += v->weight;
        n->validators[i] = (cd_vm_validator){.node_id = v->node, .weight = v->weight, .has_key = true};
        cd_bls_pk_enc_raw(n->validators[i].key, &v->bls);
        memcpy(n->nodes + (usize)i * CD_FIN_NODE_BYTES, v->node.b, CD_FIN_NODE_BYTES);
        n->node[i].signer.sign = net_sign;
        n->node[i].net = n;
        n->node[i].index = i;
        n->node[i].kv = cd_kv_mem_open();
    }
    n->nodes_list = cd_bytes_of(n->nodes, (usize)cnt * CD_FIN_NODE_BYTES);
    for (u32 i = 0; i < cnt; i++) {
        net_start(n, i);
    }
    return n;
}

__attribute__((unused)) static void net_free(network *n)
{
    for (u32 i = 0; i < n->queued; i++) {
        cd_buf_fini(&n->queue[i]->bytes);
        cd_free(n->queue[i]);
    }
    for (u32 i = 0; i < n->n; i++) {
        cd_finality_free(n->node[i].f);
        while (net_end_job(n, 0, i + 1)) {
        }
        cd_kv_close(n->node[i].kv);
    }
    cd_hmap_fini(&n->answered);
    cd_hmap_fini(&n->newest_d);
    world_free(n->w);
    cd_free(n);
}

__attribute__((unused)) static cd_fin_msg net_block(u64 height)
{
    return (cd_fin_msg){.block = {{0xb, (u8)height, (u8)(height >> 8)}}, .height = 0, .time_ns = height * 1000000000};
}

/* All living nodes accept the block of a height, one after the other within the delay. */
__attribute__((unused)) static void net_accept(network *n, u64 height, bool is_new)
{
    const cd_fin_msg m = net_block(height);
    for (u32 i = 0; i < n->n; i++) {
        if (!n->node[i].is_dead) {
            CD_ASSERT(cd_finality_accepted(n->node[i].f, &n->w->chain, height, &m, is_new, n->now) == CD_OK);
        }
    }
}

static void net_deliver(network *n, net_msg *m)
{
    net_node *to = &n->node[m->to];
    cd_fin_says says;
    bool is_kept = !to->is_dead && !n->node[m->from].is_dead;
    if (is_kept && m->is_answer) {
        cd_finality_answered(to->f, &n->w->validators[m->from].node, &m->chain, cd_buf_bytes(&m->bytes), n->now);
    } else if (is_kept && cd_fin_says_read(&says, cd_buf_bytes(&m->bytes)) == CD_OK &&
               (n->filter == NULL || n->filter(n, m->from, m->to, &m->bytes, &says) == 0)) {
        cd_finality_hear(to->f, &n->w->validators[m->from].node, cd_buf_bytes(&m->bytes), n->now);
    }
    cd_buf_fini(&m->bytes);
    cd_free(m);
}

/* Lets time pass: messages in the order of their time, and the nodes' ticks. */
__attribute__((unused)) static void net_run(network *n, u64 ms)
{
    u64 end = n->now + ms * NET_MS;
    while (n->now < end) {
        u64 next = end;
        for (u32 i = 0; i < n->n; i++) {
            next = n->node[i].is_dead ? next : cd_min_u64(next, cd_finality_tick(n->node[i].f, n->now));
        }
        for (u32 i = 0; i < n->job_cnt; i++) {
            next = cd_min_u64(next, cd_max_u64(n->jobs[i].at_ns, n->now));
        }
        if (net_end_job(n, n->now, 0)) {
            continue;
        }
        u32 first = n->queued;
        for (u32 i = 0; i < n->queued; i++) {
            if (n->queue[i]->at_ns <= next && (first == n->queued || n->queue[i]->at_ns < n->queue[first]->at_ns)) {
                first = i;
            }
        }
        if (first < n->queued) {
            net_msg *m = n->queue[first];
            n->now = cd_max_u64(n->now, m->at_ns);
            n->queue[first] = n->queue[--n->queued];
            net_deliver(n, m);
        } else {
            n->now = cd_max_u64(next, n->now + 1);
        }
    }
}

/* How many living nodes have a certificate of the type for the block of the height. */
__attribute__((unused)) static u32 net_count(const network *n, u64 height, cd_fin_type type)
{
    u32 cnt = 0;
    for (u32 i = 0; i < n->n; i++) {
        cnt += !n->node[i].is_dead && n->node[i].heights[height] == 1 + (u64)type;
    }
    return cnt;
}

#endif
