#include "node/chain/names.h"

#include "base/mem/mem.h"
#include "base/thread/thread.h"

typedef struct row {
    char *name;
    usize len;
    cd_hash32 chain;
} row;

struct cd_node_names {
    cd_mutex mutex;
    row *rows;
    usize cnt;
};

/* With the lock. NULL: nobody has it. */
static const row *find(const cd_node_names *n, cd_bytes name)
{
    for (usize i = 0; i < n->cnt; i++) {
        if (cd_bytes_eq(cd_bytes_of(n->rows[i].name, n->rows[i].len), name)) {
            return &n->rows[i];
        }
    }
    return NULL;
}

cd_node_names *cd_node_names_new(void)
{
    cd_node_names *n = cd_new(cd_node_names);
    cd_mutex_init(&n->mutex);
    return n;
}

void cd_node_names_free(cd_node_names *n)
{
    if (n == NULL) {
        return;
    }
    for (usize i = 0; i < n->cnt; i++) {
        cd_free(n->rows[i].name);
    }
    cd_mutex_fini(&n->mutex);
    cd_free(n->rows);
    cd_free(n);
}

static void add(cd_node_names *n, cd_bytes name, const cd_hash32 *chain)
{
    n->rows = cd_realloc(n->rows, (n->cnt + 1) * sizeof *n->rows);
    row *r = &n->rows[n->cnt++];
    *r = (row){.name = cd_alloc(name.n + 1), .len = name.n, .chain = *chain};
    memcpy(r->name, name.p, name.n);
}

cd_err cd_node_names_add(cd_node_names *n, cd_bytes name, const cd_hash32 *chain)
{
    CD_ASSERT(name.n != 0);
    cd_mutex_lock(&n->mutex);
    cd_err e = find(n, name) != NULL                                          ? CD_EEXIST
               : n->cnt == CD_NODE_NAMES_MAX || name.n > CD_NODE_NAME_LEN_MAX ? CD_ELIMIT
                                                                              : CD_OK;
    if (e == CD_OK) {
        add(n, name, chain);
    }
    cd_mutex_unlock(&n->mutex);
    return e;
}

void cd_node_names_forget(cd_node_names *n, const cd_hash32 *chain)
{
    cd_mutex_lock(&n->mutex);
    usize kept = 0;
    for (usize i = 0; i < n->cnt; i++) {
        if (cd_hash32_eq(&n->rows[i].chain, chain)) {
            cd_free(n->rows[i].name);
        } else {
            n->rows[kept++] = n->rows[i];
        }
    }
    n->cnt = kept;
    cd_mutex_unlock(&n->mutex);
}

cd_err cd_node_names_find(cd_node_names *n, cd_hash32 *chain, cd_bytes name)
{
    cd_mutex_lock(&n->mutex);
    const row *r = find(n, name);
    if (r != NULL) {
        *chain = r->chain;
    }
    cd_mutex_unlock(&n->mutex);
    return r == NULL ? CD_ENOENT : CD_OK;
}

void cd_node_names_list(cd_node_names *n, cd_bytes **out, usize *cnt, cd_arena *a, const cd_hash32 *chain)
{
    cd_mutex_lock(&n->mutex);
    *cnt = 0;
    *out = cd_arena_array(a, cd_bytes, n->cnt);
    for (usize i = 0; i < n->cnt; i++) {
        if (cd_hash32_eq(&n->rows[i].chain, chain)) {
            (*out)[(*cnt)++] = cd_arena_dup(a, cd_bytes_of(n->rows[i].name, n->rows[i].len));
        }
    }
    cd_mutex_unlock(&n->mutex);
}

void cd_node_names_put(cd_node_names *n, cd_json_w *w, const cd_hash32 *chain)
{
    cd_mutex_lock(&n->mutex);
    for (usize i = 0; i < n->cnt; i++) {
        if (cd_hash32_eq(&n->rows[i].chain, chain)) {
            cd_json_w_str(w, cd_bytes_of(n->rows[i].name, n->rows[i].len));
        }
    }
    cd_mutex_unlock(&n->mutex);
}
