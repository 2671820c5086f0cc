#include "node/peers/catchup.h"

#include "base/mem/mem.h"
#include "base/table/list.h"
#include "base/thread/thread.h"

struct cd_catchup {
    cd_mutex lock; /* protects everything */
    cd_list chains;
};

struct cd_catchup_chain {
    cd_list all;
    cd_catchup *in;
    cd_hash32 net;
    bool is_first;
    bool is_synced;
    bool is_running;
};

cd_catchup *cd_catchup_new(void)
{
    cd_catchup *c = cd_new(cd_catchup);
    cd_mutex_init(&c->lock);
    cd_list_init(&c->chains);
    return c;
}

void cd_catchup_free(cd_catchup *c)
{
    if (c != NULL) {
        CD_ASSERT(cd_list_is_empty(&c->chains));
        cd_mutex_fini(&c->lock);
        cd_free(c);
    }
}

cd_catchup_chain *cd_catchup_join(cd_catchup *c, const cd_hash32 *net, bool is_first)
{
    cd_catchup_chain *chain = cd_new(cd_catchup_chain);
    chain->in = c;
    chain->net = *net;
    chain->is_first = is_first;
    cd_mutex_lock(&c->lock);
    cd_list_push_back(&c->chains, &chain->all);
    cd_mutex_unlock(&c->lock);
    return chain;
}

void cd_catchup_leave(cd_catchup_chain *chain)
{
    if (chain != NULL) {
        cd_mutex_lock(&chain->in->lock);
        cd_list_del(&chain->all);
        cd_mutex_unlock(&chain->in->lock);
        cd_free(chain);
    }
}

static void set(cd_catchup_chain *chain, bool *flag)
{
    cd_mutex_lock(&chain->in->lock);
    *flag = true;
    cd_mutex_unlock(&chain->in->lock);
}

void cd_catchup_synced(cd_catchup_chain *chain)
{
    set(chain, &chain->is_synced);
}

void cd_catchup_running(cd_catchup_chain *chain)
{
    set(chain, &chain->is_running);
}

bool cd_catchup_may_begin(const cd_catchup_chain *chain)
{
    bool may = true;
    cd_mutex_lock(&chain->in->lock);
    cd_list_each(it, &chain->in->chains)
    {
        const cd_catchup_chain *other = cd_list_of(it, cd_catchup_chain, all);
        may = may && (other->is_synced || !other->is_first);
    }
    cd_mutex_unlock(&chain->in->lock);
    return may || chain->is_first;
}

bool cd_catchup_may_run(const cd_catchup_chain *chain)
{
    bool may = true;
    cd_mutex_lock(&chain->in->lock);
    cd_list_each(it, &chain->in->chains)
    {
        const cd_catchup_chain *other = cd_list_of(it, cd_catchup_chain, all);
        may = may && (other->is_synced || !cd_hash32_eq(&other->net, &chain->net));
    }
    cd_mutex_unlock(&chain->in->lock);
    return may;
}

bool cd_catchup_is_running(const cd_catchup_chain *chain)
{
    cd_mutex_lock(&chain->in->lock);
    bool is = chain->is_running;
    cd_mutex_unlock(&chain->in->lock);
    return is;
}

usize cd_catchup_late(cd_catchup *c, cd_hash32 *out, usize max)
{
    usize cnt = 0;
    cd_mutex_lock(&c->lock);
    cd_list_each(it, &c->chains)
    {
        const cd_catchup_chain *chain = cd_list_of(it, cd_catchup_chain, all);
        bool is_new = !chain->is_running && cnt < max;
        for (usize i = 0; i < cnt && is_new; i++) {
            is_new = !cd_hash32_eq(&out[i], &chain->net);
        }
        if (is_new) {
            out[cnt++] = chain->net;
        }
    }
    cd_mutex_unlock(&c->lock);
    return cnt;
}
