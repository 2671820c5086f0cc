#include "node/peers/stakers.h"

#include "base/mem/mem.h"
#include "base/table/hmap.h"

/* The validators of one net. */
typedef struct set {
    cd_hash32 net;
    cd_hmap nodes; /* node ID: cd_staker */
    u64 weight;
} set;

struct cd_stakers {
    set *sets; /* the primary network's first, then those of nets that are tracked, then the others */
    usize cnt;
    usize own_cnt; /* sets that stay, empty or not */
    u64 height;    /* of the P-Chain, when they were read */
    bool has_read;
};

static void nodes_init(cd_hmap *m)
{
    cd_hmap_init(m, CD_HASH_KEYED, sizeof(cd_node_id), sizeof(cd_staker));
}

cd_stakers *cd_stakers_new(const cd_hash32 *nets, usize cnt)
{
    cd_stakers *s = cd_new(cd_stakers);
    s->cnt = cnt + 1;
    s->own_cnt = s->cnt;
    s->sets = cd_new_array(set, s->cnt + CD_STAKERS_OTHERS_MAX);
    for (usize i = 0; i < s->cnt; i++) {
        nodes_init(&s->sets[i].nodes);
        s->sets[i].net = i == 0 ? (cd_hash32){{0}} : nets[i - 1];
    }
    return s;
}

void cd_stakers_free(cd_stakers *s)
{
    if (s == NULL) {
        return;
    }
    for (usize i = 0; i < s->cnt; i++) {
        cd_hmap_fini(&s->sets[i].nodes);
    }
    cd_free(s->sets);
    cd_free(s);
}

static void fill(set *to, const cd_vm_validator *all, usize cnt)
{
    cd_hmap_fini(&to->nodes);
    nodes_init(&to->nodes);
    to->weight = 0;
    for (usize i = 0; i < cnt; i++) {
        cd_staker *v = cd_hmap_put(&to->nodes, NULL, &all[i].node_id);
        v->weight = all[i].weight;
        v->has_key = all[i].has_key;
        memcpy(v->key, all[i].key, sizeof v->key);
        to->weight += all[i].weight;
    }
}

void cd_stakers_look(cd_stakers *s, const cd_vm_validators *who, cd_logger *log)
{
    u64 height;
    if (who == NULL || who->current(who, &height) != CD_OK || (s->has_read && height == s->height)) {
        return;
    }
    for (usize i = 0; i < s->cnt; i++) {
        const cd_vm_validator *all;
        usize cnt;
        cd_arena a = {0};
        cd_err e = who->at(who, &all, &cnt, &a, &s->sets[i].net, height);
        if (e == CD_OK) {
            fill(&s->sets[i], all, cnt);
        } else {
            cd_log_warn(log, "peers: validators cannot be read", CD_F("height", height), CD_F("error", cd_err_str(e)));
        }
        cd_arena_fini(&a);
        if (e != CD_OK && i == 0) {
            return; /* the next look tries again */
        }
    }
    s->height = height;
    s->has_read = true;
    for (usize i = s->cnt; i-- > s->own_cnt;) {
        if (s->sets[i].weight == 0) {
            cd_hmap_fini(&s->sets[i].nodes);
            s->sets[i] = s->sets[--s->cnt];
        }
    }
}

static const set *set_of(const cd_stakers *s, const cd_hash32 *net)
{
    for (usize i = 0; i < s->cnt; i++) {
        if (cd_hash32_eq(&s->sets[i].net, net)) {
            return &s->sets[i];
        }
    }
    return NULL;
}

bool cd_stakers_want(cd_stakers *s, const cd_vm_validators *who, const cd_hash32 *net)
{
    const cd_vm_validator *all;
    usize cnt;
    cd_arena a = {0};
    if (who == NULL || !s->has_read || set_of(s, net) != NULL || s->cnt == s->own_cnt + CD_STAKERS_OTHERS_MAX) {
        return false;
    }
    if (who->at(who, &all, &cnt, &a, net, s->height) == CD_OK && cnt != 0) {
        set *one = &s->sets[s->cnt++];
        *one = (set){.net = *net};
        nodes_init(&one->nodes);
        fill(one, all, cnt);
    }
    cd_arena_fini(&a);
    return true;
}

const cd_staker *cd_stakers_find(const cd_stakers *s, const cd_hash32 *net, const cd_node_id *node)
{
    const set *of = set_of(s, net);
    return of == NULL ? NULL : cd_hmap_get(&of->nodes, node);
}

u64 cd_stakers_weight(const cd_stakers *s, const cd_hash32 *net)
{
    const set *of = set_of(s, net);
    return of == NULL ? 0 : of->weight;
}

usize cd_stakers_cnt(const cd_stakers *s, const cd_hash32 *net)
{
    const set *of = set_of(s, net);
    return of == NULL ? 0 : cd_hmap_cnt(&of->nodes);
}

void cd_stakers_each(const cd_stakers *s, const cd_hash32 *net,
                     void (*fn)(void *ctx, const cd_node_id *node, const cd_staker *v), void *ctx)
{
    const set *of = set_of(s, net);
    const void *key;
    void *val;
    for (usize it = 0; of != NULL && cd_hmap_next(&of->nodes, &it, &key, &val);) {
        fn(ctx, key, val);
    }
}
