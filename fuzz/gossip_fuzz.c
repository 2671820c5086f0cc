/* What peers may say to a VM that gossips, one thing after the other: u8 kind ‖ u8 node ‖ u8 length ‖ bytes. Every
 * request is answered once, by a response or an error; nothing is added but what was pushed or asked for; what is said
 * stays in its bounds. */
#include "vm/gossip/gossip.h"

int LLVMFuzzerTestOneInput(const u8 *data, usize size);

enum { KINDS = 8, NODES = 4, ITEMS = 64, ITEM_MAX = 64 };

static struct {
    cd_gossip_vm vm; /* first */
    cd_vm_ctx ctx;
    cd_vm_sender sender;
    cd_clock_virtual clock;
    cd_rng rng;
    cd_gossip_set set;
    cd_gossip_topic *topic;
    u8 items[ITEMS][ITEM_MAX];
    usize lens[ITEMS];
    usize cnt;
    u32 answers;
    u32 asked_id;
    bool may_add;
} w;

static cd_hash32 id_of(usize i)
{
    cd_hash32 id = {{(u8)i, 7}};
    return id;
}

static bool set_get(void *ctx, cd_bytes *item, const cd_hash32 *id)
{
    (void)ctx;
    if (id->b[0] >= w.cnt) {
        return false;
    }
    *item = cd_bytes_of(w.items[id->b[0]], w.lens[id->b[0]]);
    return true;
}

static void set_each(void *ctx, bool (*visit)(void *arg, const cd_hash32 *id, cd_bytes item), void *arg)
{
    (void)ctx;
    for (usize i = 0; i < w.cnt; i++) {
        cd_hash32 id = id_of(i);
        if (!visit(arg, &id, cd_bytes_of(w.items[i], w.lens[i]))) {
            return;
        }
    }
}

static usize set_cnt(void *ctx)
{
    (void)ctx;
    return w.cnt;
}

static void set_add(void *ctx, const cd_node_id *from, cd_bytes item)
{
    (void)ctx;
    CD_ASSERT(w.may_add && from->b[0] < NODES);
    if (w.cnt < ITEMS && item.n != 0 && item.n <= ITEM_MAX) {
        cd_hash32 id = id_of(w.cnt);
        memcpy(w.items[w.cnt], item.p, item.n);
        w.lens[w.cnt++] = item.n;
        cd_gossip_known(w.topic, &id);
        if (item.p[0] % 2 == 0) {
            cd_gossip_push_out(w.topic, &id);
        }
    }
}

static void on_request(const cd_vm_sender *s, const cd_node_id *to, u32 id, cd_bytes msg)
{
    (void)s;
    CD_ASSERT(to->b[0] < NODES && id % 2 == 1 && msg.n < (1 << 20));
    w.asked_id = id;
}

static void on_response(const cd_vm_sender *s, const cd_node_id *to, u32 id, cd_bytes msg)
{
    (void)s;
    CD_ASSERT(to->b[0] < NODES && id == 9 && msg.n <= (usize)2 * CD_GOSSIP_MESSAGE_TARGET);
    w.answers++;
}

static void on_error(const cd_vm_sender *s, const cd_node_id *to, u32 id, i32 code, cd_bytes text)
{
    (void)s;
    (void)to;
    CD_ASSERT(id == 9 && code < 0 && text.n != 0);
    w.answers++;
}

static void on_gossip(const cd_vm_sender *s, const cd_vm_gossip_to *to, cd_bytes msg)
{
    (void)s;
    CD_ASSERT(to->node_cnt <= NODES && msg.n <= (usize)2 * CD_GOSSIP_MESSAGE_TARGET);
}

static cd_err current(const cd_vm_validators *v, u64 *height)
{
    (void)v;
    *height = 1;
    return CD_OK;
}

static cd_err at(const cd_vm_validators *v, const cd_vm_validator **out, usize *cnt, cd_arena *a,
                 const cd_hash32 *subnet, u64 height)
{
    (void)v;
    (void)subnet;
    (void)height;
    cd_vm_validator *all = cd_arena_zalloc(a, NODES * sizeof *all);
    for (u32 i = 0; i < NODES; i++) {
        all[i] = (cd_vm_validator){.node_id = {{(u8)i, 1}}, .weight = i};
    }
    *out = all;
    *cnt = NODES - 1; /* the last one validates nothing */
    return CD_OK;
}

static const cd_vm_validators p_chain = {.current = current, .at = at};

static void say(u8 kind, const cd_node_id *from, cd_bytes body)
{
    cd_vm *vm = &w.vm.vm;
    u32 before = w.answers;
    w.may_add = false;
    switch (kind % KINDS) {
    case 0:
        cd_gossip_on_request(vm, from, 9, UINT64_MAX, body);
        CD_ASSERT(w.answers == before + 1);
        break;
    case 1:
        w.may_add = true;
        cd_gossip_on_gossip(vm, from, body);
        break;
    case 2:
        w.may_add = w.asked_id != 0;
        cd_gossip_on_response(vm, from, w.asked_id, body);
        break;
    case 3:
        cd_gossip_on_response(vm, from, w.asked_id + 2, body);
        break;
    case 4:
        cd_gossip_on_failed(vm, from, w.asked_id, -1, body);
        break;
    case 5:
        cd_gossip_on_connected(vm, from, NULL);
        break;
    case 6:
        cd_gossip_on_disconnected(vm, from);
        break;
    default:
        cd_clock_virtual_advance(&w.clock, (1 + body.n) * 500 * CD_NS_PER_MS);
        CD_ASSERT(cd_gossip_wake(w.vm.gossip) > cd_clock_mono_ns(&w.clock.clock));
        break;
    }
}

static void begin(void)
{
    memset(&w, 0, sizeof w);
    cd_clock_virtual_init(&w.clock, 0);
    w.rng = cd_rng_seeded(1);
    w.sender = (cd_vm_sender){.request = on_request, .response = on_response, .error = on_error, .gossip = on_gossip};
    w.ctx = (cd_vm_ctx){
        .clock = &w.clock.clock, .rng = &w.rng, .sender = &w.sender, .validators = &p_chain, .node_id = {{0, 1}}};
    w.set = (cd_gossip_set){.get = set_get, .each = set_each, .cnt = set_cnt, .add = set_add};
    w.vm.gossip = cd_gossip_new(&w.ctx);
    w.topic = cd_gossip_add(w.vm.gossip, CD_P2P_HANDLER_TX, "tx", &w.set, &cd_gossip_px);
    cd_gossip_start(w.vm.gossip, true);
}

int LLVMFuzzerTestOneInput(const u8 *data, usize size)
{
    cd_bytes in = cd_bytes_of(data, size);
    begin();
    while (in.n >= 3) {
        const cd_node_id from = {{in.p[1] % NODES, 1}};
        u8 kind = in.p[0];
        usize n = cd_min_u64(in.p[2], in.n - 3);
        say(kind, &from, cd_bytes_sub(in, 3, n));
        in = cd_bytes_sub(in, 3 + n, in.n - 3 - n);
    }
    cd_gossip_free(w.vm.gossip);
    return 0;
}
