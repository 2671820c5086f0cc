/* The voting against its model, and the engine against its invariants: the bytes are blocks, votes and messages of
 * four peers, in any order, asked for or not. */
#include "base/mem/mem.h"
#include "consensus/snow/snowman_priv.h"
#include "consensus/test/snow_drive.h"
#include "consensus/test/toy_staking.h"
#include "vm/test/toy_vm.h"

int LLVMFuzzerTestOneInput(const u8 *data, usize size);

enum { PEERS = 4, BLOCKS = 24, ASKED = 256 };

/* What the engine has asked, for answers that it waits for. */
typedef struct line {
    cd_snow_net net; /* first */
    u32 requests[ASKED];
    u32 nodes[ASKED];
    cd_hash32 wanted[ASKED];
    u32 cnt;
    cd_node_id ids[PEERS];
} line;

static void note(const cd_snow_net *net, const cd_node_id *to, u32 request, const cd_hash32 *id)
{
    line *l = (line *)(void *)(uintptr_t)net;
    u32 at = l->cnt++ % ASKED;
    l->requests[at] = request;
    l->wanted[at] = id == NULL ? (cd_hash32){0} : *id;
    for (u32 i = 0; i < PEERS; i++) {
        if (memcmp(l->ids[i].b, to->b, 20) == 0) {
            l->nodes[at] = i;
        }
    }
}

static void push(const cd_snow_net *net, const cd_node_id *to, u32 cnt, u32 request, cd_bytes block, u64 height)
{
    CD_ASSERT(block.n == TOY_SIZE && height != 0);
    for (u32 i = 0; i < cnt; i++) {
        note(net, &to[i], request, NULL);
    }
}

static void pull(const cd_snow_net *net, const cd_node_id *to, u32 cnt, u32 request, const cd_hash32 *id, u64 height)
{
    CD_ASSERT(height != 0);
    for (u32 i = 0; i < cnt; i++) {
        note(net, &to[i], request, id);
    }
}

static void chits(const cd_snow_net *net, const cd_node_id *to, u32 request, const cd_snow_chits *c)
{
    (void)net;
    (void)to;
    (void)request;
    CD_ASSERT(!cd_hash32_is_zero(&c->preferred) && !cd_hash32_is_zero(&c->accepted));
}

static void put(const cd_snow_net *net, const cd_node_id *to, u32 request, cd_bytes block)
{
    (void)net;
    (void)to;
    (void)request;
    CD_ASSERT(block.n == TOY_SIZE);
}

typedef struct known {
    u8 bytes[BLOCKS][TOY_SIZE];
    cd_hash32 ids[BLOCKS];
    u64 heights[BLOCKS];
    u32 cnt;
} known;

/* A block on one that was made before; every eighth does not verify. */
static u32 make(known *k, drive *d)
{
    if (k->cnt == BLOCKS) {
        return drive_below(d, BLOCKS);
    }
    u32 on = drive_below(d, k->cnt);
    u32 n = k->cnt++;
    k->heights[n] = k->heights[on] + 1;
    toy_enc(k->bytes[n], &k->ids[on], k->heights[n], drive_below(d, 8) == 7 ? 0 : n + 5);
    cd_sha256(&k->ids[n], cd_bytes_of(k->bytes[n], TOY_SIZE));
    return n;
}

static void check(cd_engine *e, const toy *t)
{
    const cd_snowman_load load = cd_snowman_load_get(e);
    const snowman *s = snowman_of(e);
    const cd_vm_block *preferred = cd_blocks_preferred(&t->blocks);
    CD_ASSERT(load.undecided == t->blocks.verified_cnt && !load.is_halted);
    CD_ASSERT(load.pending <= BLOCKS && load.polls <= CD_SNOWMAN_POLLS_MAX);
    CD_ASSERT(load.fetches <= (usize)CD_SNOWMAN_FETCHES_PEER_MAX * PEERS);
    CD_ASSERT(load.waiting <= (usize)CD_SNOWMAN_POLLS_MAX * PEERS);
    CD_ASSERT(cd_hash32_eq(preferred == NULL ? &t->blocks.last : &preferred->id, cd_snow_tree_preference(s->tree)));
}

static void step(cd_engine *e, toy *t, line *l, known *k, drive *d)
{
    const u32 p = drive_below(d, PEERS);
    const cd_node_id *peer_id = &l->ids[p];
    u32 n = drive_below(d, k->cnt);
    u32 asked = l->cnt == 0 ? 0 : drive_below(d, l->cnt < ASKED ? l->cnt : ASKED);
    const bool is_answer = l->cnt != 0 && drive_below(d, 4) != 0;
    const u32 request = is_answer ? l->requests[asked] : drive_below(d, 64);
    const cd_node_id *from = is_answer ? &l->ids[l->nodes[asked]] : peer_id;
    cd_snow_chits c = {.preferred = k->ids[n], .preferred_at_height = k->ids[drive_below(d, k->cnt)]};
    switch (drive_below(d, 12)) {
    case 0:
        n = make(k, d);
        cd_snowman_push_query(e, peer_id, request, cd_bytes_of(k->bytes[n], TOY_SIZE), 1);
        break;
    case 1:
        cd_snowman_pull_query(e, peer_id, request, &k->ids[n], drive_below(d, 20));
        break;
    case 2:
        cd_snowman_get(e, peer_id, request, &k->ids[n]);
        break;
    case 3:
        cd_snowman_query_failed(e, from, request);
        break;
    case 4:
        cd_snowman_get_failed(e, from, request);
        break;
    case 5:
        for (u32 i = 0; is_answer && i < k->cnt; i++) {
            n = cd_hash32_eq(&k->ids[i], &l->wanted[asked]) ? i : n;
        }
        cd_snowman_put(e, from, request, cd_bytes_of(k->bytes[n], n == 0 ? 7 : TOY_SIZE));
        break;
    case 6:
        cd_snowman_disconnected(e, peer_id);
        break;
    case 7:
        cd_snowman_connected(e, peer_id);
        break;
    case 8:
        t->wanted = 1000 + drive_below(d, 200);
        e->ops->notify(e, CD_VM_WANTS_BLOCK);
        while (e->ops->step(e)) {
        }
        break;
    case 9:
        cd_snowman_tick(e);
        break;
    default:
        c.accepted = k->ids[0];
        cd_snowman_chits(e, from, request, &c);
        break;
    }
}

static void drive_engine(drive *d)
{
    line l = {.net = {.push_query = push, .pull_query = pull, .chits = chits, .get = note, .put = put}};
    known k = {.cnt = 1};
    toy_validators validators;
    cd_rng rng = cd_rng_seeded(drive_below(d, 256));
    cd_engine *e = NULL;
    cd_kv *kv = cd_kv_mem_open();
    toy *t = (toy *)(void *)toy_open(kv, TOY_IS_GOOD);
    k.ids[0] = t->blocks.last;
    toy_validators_init(&validators, PEERS);
    for (u32 i = 0; i < PEERS; i++) {
        l.ids[i] = validators.v[i].node_id;
    }
    cd_snowman_cfg cfg = {
        .door = {.store = kv, .chain = kv, .sync = CD_KV_NOSYNC},
        .params = cd_snow_params_default(),
        .net = &l.net,
        .validators = &validators.ops,
        .self = {.b = {1}},
        .rng = &rng,
        .name = "T",
    };
    cfg.params.beta = 4;
    CD_ASSERT(cd_snowman_new(&e, &cfg, NULL) == CD_OK && e->ops->start(e, &t->vm, NULL) == CD_OK);
    for (u32 i = 0; i < PEERS; i++) {
        cd_snowman_connected(e, &l.ids[i]);
    }
    while (d->bytes.n != 0) {
        step(e, t, &l, &k, d);
        check(e, t);
    }
    e->ops->stop(e);
    cd_snowman_free(e);
    t->vm.ops->close(&t->vm);
    cd_kv_close(kv);
}

int LLVMFuzzerTestOneInput(const u8 *data, usize size)
{
    drive d = {.bytes = cd_bytes_of(data, size)};
    switch (drive_below(&d, 3)) {
    case 0:
        drive_tree(&d, UINT32_MAX);
        break;
    case 1:
        drive_poll(&d);
        break;
    default:
        drive_engine(&d);
        break;
    }
    return 0;
}
