#include "services/adx/exchange/explain.h"

#include "base/mem/mem.h"
#include "base/os/rng.h"
#include "base/table/hmap.h"
#include "base/table/list.h"
#include "base/table/siphash.h"

typedef struct entry {
    cd_list link; /* oldest first */
    u64 names[2];
    u64 at_s;
    usize n;
    u8 doc[];
} entry;

enum { BESIDE = sizeof(entry) + 96 }; /* an entry's own memory: itself, two slots of the table, the heap's part */

struct cd_explain {
    cd_hmap names; /* hash of a name to entry * */
    cd_list entries;
    cd_sipkey key;
    usize max, held;
    u64 life_s;
};

cd_explain *cd_explain_new(usize max, u64 life_s)
{
    cd_explain *e = cd_new(cd_explain);
    cd_rng rng = cd_rng_os();
    cd_hmap_init(&e->names, CD_HASH_IDENTITY, 8, sizeof(entry *));
    cd_list_init(&e->entries);
    e->key = (cd_sipkey){.k0 = cd_rng_u64(&rng), .k1 = cd_rng_u64(&rng)};
    e->max = max;
    e->life_s = life_s;
    return e;
}

static void drop(cd_explain *e, entry *x)
{
    for (usize i = 0; i < CD_COUNT(x->names); i++) {
        entry **named = cd_hmap_get(&e->names, &x->names[i]);
        if (named != NULL && *named == x) {
            (void)cd_hmap_del(&e->names, &x->names[i]);
        }
    }
    e->held -= x->n + BESIDE;
    cd_list_del(&x->link);
    cd_free(x);
}

static void trim(cd_explain *e, usize room, u64 now_s)
{
    while (!cd_list_is_empty(&e->entries)) {
        entry *x = cd_list_of(cd_list_first(&e->entries), entry, link);
        if (e->held + room <= e->max && x->at_s + e->life_s > now_s) {
            return;
        }
        drop(e, x);
    }
}

void cd_explain_free(cd_explain *e)
{
    if (e != NULL) {
        trim(e, e->max + 1, 0);
        cd_hmap_fini(&e->names);
        cd_free(e);
    }
}

void cd_explain_put(cd_explain *e, cd_bytes auction, cd_bytes request, cd_bytes doc, u64 now_s)
{
    usize size = doc.n + BESIDE;
    if (size > e->max) {
        return;
    }
    trim(e, size, now_s);
    entry *x = cd_alloc(sizeof *x + doc.n);
    x->names[0] = cd_siphash13(e->key, auction);
    x->names[1] = cd_siphash13(e->key, request);
    x->at_s = now_s;
    x->n = doc.n;
    if (doc.n != 0) {
        memcpy(x->doc, doc.p, doc.n);
    }
    for (usize i = 0; i < CD_COUNT(x->names); i++) {
        entry **named = cd_hmap_put(&e->names, NULL, &x->names[i]);
        *named = x;
    }
    cd_list_push_back(&e->entries, &x->link);
    e->held += size;
}

cd_bytes cd_explain_get(cd_explain *e, cd_bytes name, u64 now_s)
{
    u64 hash = cd_siphash13(e->key, name);
    trim(e, 0, now_s);
    entry **x = cd_hmap_get(&e->names, &hash);
    return x == NULL ? (cd_bytes){0} : cd_bytes_of((*x)->doc, (*x)->n);
}

usize cd_explain_held(const cd_explain *e)
{
    return e->held;
}
