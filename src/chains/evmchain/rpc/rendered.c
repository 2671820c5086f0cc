#include "chains/evmchain/rpc/rendered.h"

#include "base/table/lru.h"

typedef struct text_key {
    u8 b[33]; /* the hash, then what is shown */
} text_key;

static text_key key_of(const cd_hash32 *block, cd__shown what)
{
    text_key k;
    memcpy(k.b, block->b, 32);
    k.b[32] = (u8)what;
    return k;
}

static void drop(void *ctx, void *text)
{
    (void)ctx;
    cd_shared_unref(text);
}

void cd__rendered_init(cd__rendered *r, usize bytes)
{
    cd_mutex_init(&r->lock);
    r->texts = cd_lru_new(CD_HASH_KEYED, sizeof(text_key), bytes, drop, NULL);
}

void cd__rendered_fini(cd__rendered *r)
{
    cd_lru_free(r->texts);
    cd_mutex_fini(&r->lock);
}

cd_shared *cd__rendered_get(cd__rendered *r, const cd_hash32 *block, cd__shown what)
{
    text_key k = key_of(block, what);
    cd_mutex_lock(&r->lock);
    cd_shared *s = cd_lru_get(r->texts, &k);
    if (s != NULL) {
        (void)cd_shared_ref(s);
    }
    cd_mutex_unlock(&r->lock);
    return s;
}

void cd__rendered_put(cd__rendered *r, const cd_hash32 *block, cd__shown what, cd_shared *text)
{
    text_key k = key_of(block, what);
    (void)cd_shared_ref(text);
    cd_mutex_lock(&r->lock);
    bool is_kept = cd_lru_put(r->texts, &k, text, cd_shared_bytes(text).n);
    cd_mutex_unlock(&r->lock);
    if (!is_kept) {
        cd_shared_unref(text);
    }
}

usize cd__rendered_bytes(cd__rendered *r)
{
    cd_mutex_lock(&r->lock);
    usize n = (usize)cd_lru_cost(r->texts);
    cd_mutex_unlock(&r->lock);
    return n;
}
