#include "services/webhook/api/ops.h"

#include "base/table/hmap.h"
#include "services/webhook/core/chain/intake.h"
#include "services/webhook/core/store/notice.h"
#include "services/webhook/core/store/records.h"

cd_err cd_wh_op_target(cd_wh_store *s, cd_wh_draft *d, const char *project, cd_wh_face face, i64 hook, u64 now_ms,
                       cd_arena *mem, cd_errinfo *why)
{
    cd_wh_hook ops;
    cd_err err = cd_wh_notice_target(s, &ops, mem, project, hook, why);
    if (err != CD_OK && err != CD_ENOENT) {
        return err;
    }
    if (d->ops_url[0] == '\0') {
        if (err == CD_OK) {
            CD_TRY(cd_wh_hook_delete(s, ops.key, why));
            d->ops = ops;
            d->ops_is = CD_WH_OPS_GONE;
        }
        return err == CD_OK ? cd_wh_notice_target_set(s, project, hook, 0, why) : CD_OK;
    }
    if (err == CD_OK) {
        ops.url = d->ops_url;
        ops.updated_ms = now_ms;
        d->ops = ops;
        d->ops_is = CD_WH_OPS_CHANGED;
        return cd_wh_hook_save(s, &ops, why);
    }
    ops = (cd_wh_hook){
        .id = d->ops.id,
        .project = project,
        .face = face,
        .name = face == CD_WH_C ? "Operational events" : "",
        .url = d->ops_url,
        .chain = "",
        .network = "",
        .types = CD_WH_NOTICES,
        .config = cd_bytes_str("{}"),
        .settings = cd_bytes_str("{}"),
        .secret = d->ops.secret,
        .created_ms = now_ms,
        .updated_ms = now_ms,
    };
    CD_TRY(cd_wh_hook_add(s, &ops, 0, why));
    d->ops = ops;
    d->ops_is = CD_WH_OPS_MADE;
    return cd_wh_notice_target_set(s, project, hook, ops.key, why);
}

/* What a request said of it. */
static cd_err target(cd_wh_store *s, cd_wh_draft *d, u64 now_ms, cd_arena *mem, cd_errinfo *why)
{
    const cd_wh_hook *h = &d->hook;
    return d->ops_url == NULL ? CD_OK : cd_wh_op_target(s, d, h->project, h->face, h->key, now_ms, mem, why);
}

static cd_err client(cd_wh_store *s, const cd_wh_draft *d, cd_errinfo *why)
{
    return (d->given & CD_WH_GIVEN_CLIENT) == 0 ? CD_OK : cd_wh_client_put(s, &d->hook, why);
}

cd_err cd_wh_op_delete(cd_wh_store *s, cd_wh_hook *ops, const cd_wh_hook *hook, cd_arena *mem, cd_errinfo *why)
{
    cd_wh_draft d = {.hook = *hook, .ops_url = "", .given = CD_WH_GIVEN_CLIENT};
    if (cd_wh_hook_is_target(hook)) {
        return cd_fail(why, CD_EBUSY, "it is told of other webhooks");
    }
    CD_TRY(target(s, &d, 0, mem, why));
    *ops = d.ops;
    d.hook.client = (cd_bytes){0};
    CD_TRY(hook->client.n == 0 ? CD_OK : client(s, &d, why));
    return cd_wh_hook_delete(s, hook->key, why);
}

void cd_wh_op_from_now(const cd_wh_engine *e, cd_wh_hook *hook)
{
    cd_wh_head head;
    for (usize i = 0; hook->from_block == 0 && hook->chain != NULL && e->head(e->ctx, &head, i); i++) {
        if (strcmp(head.chain, hook->chain) == 0 && head.lag != 0) {
            hook->from_block = head.height + head.lag + 1;
        }
    }
}

cd_err cd_wh_op_create(cd_wh_store *s, cd_wh_draft *d, const cd_wh_project *p, u32 limit, u64 now_ms, cd_arena *mem,
                       cd_errinfo *why)
{
    cd_wh_hook *hook = &d->hook;
    hook->project = p->id;
    hook->face = p->face;
    hook->name = hook->name == NULL ? "" : hook->name;
    hook->network = hook->network == NULL ? "" : hook->network;
    hook->status = CD_WH_ACTIVE;
    hook->created_ms = hook->updated_ms = now_ms;
    CD_TRY(cd_wh_hook_add(s, hook, limit, why));
    CD_TRY(cd_wh_intake_enlist(s, hook, why));
    CD_TRY(client(s, d, why));
    return target(s, d, now_ms, mem, why);
}

/* Those of a that are not in b, in their order. */
static cd_wh_addrs without(cd_arena *mem, cd_wh_addrs a, cd_wh_addrs b)
{
    cd_hmap in_b;
    cd_addr20 *out = cd_arena_array(mem, cd_addr20, a.n);
    usize n = 0;
    cd_hmap_init(&in_b, CD_HASH_KEYED, sizeof(cd_addr20), 0);
    for (usize i = 0; i < b.n; i++) {
        (void)cd_hmap_put(&in_b, NULL, &b.p[i]);
    }
    for (usize i = 0; i < a.n; i++) {
        if (cd_hmap_get(&in_b, &a.p[i]) == NULL) {
            out[n++] = a.p[i];
        }
    }
    cd_hmap_fini(&in_b);
    return (cd_wh_addrs){.p = out, .n = n};
}

static cd_err replay_after(cd_wh_store *s, const cd_wh_hook *hook, cd_wh_again again, cd_errinfo *why)
{
    u64 queued;
    const cd_wh_delivery_query q = {
        .hook = hook->key,
        .states =
            1u << CD_WH_SKIPPED | (again == CD_WH_AGAIN_ALL ? 1u << CD_WH_FAILED | 1u << CD_WH_QUOTA_EXCEEDED : 0),
    };
    return again == CD_WH_AGAIN_NONE ? CD_OK : cd_wh_replay(s, &queued, &q, why);
}

cd_err cd_wh_op_status(cd_wh_store *s, cd_wh_hook *hook, bool *due, bool is_on, cd_wh_again again, cd_errinfo *why)
{
    bool changed;
    *due = true; /* also when nothing but a notice waits */
    if (!is_on) {
        hook->status = hook->face == CD_WH_B ? CD_WH_PAUSED : CD_WH_DISABLED;
        CD_TRY(cd_wh_hook_pause(s, &changed, hook->key, hook->status, why));
    } else {
        CD_TRY(cd_wh_hook_resume(s, &changed, hook->key, why));
        CD_TRY(replay_after(s, hook, again, why));
        hook->status = CD_WH_ACTIVE;
        hook->failures = 0;
    }
    const cd_wh_notice n = {
        .type = is_on                   ? CD_WH_NOTICE_RESUMED
                : hook->face == CD_WH_B ? CD_WH_NOTICE_PAUSED
                                        : CD_WH_NOTICE_DISABLED,
        .project = hook->project,
        .hook = hook,
        .reason = "request",
    };
    return changed ? cd_wh_notice_put(s, &n, why) : CD_OK;
}

cd_err cd_wh_op_change(cd_wh_store *s, cd_wh_draft *d, bool *due, const cd_wh_hook *old, u64 now_ms, cd_arena *mem,
                       cd_errinfo *why)
{
    cd_wh_hook *hook = &d->hook;
    hook->updated_ms = now_ms;
    CD_TRY(cd_wh_hook_save(s, hook, why));
    if ((d->given & CD_WH_GIVEN_CONFIG) != 0) {
        cd_wh_addrs had = old->filter.addresses;
        cd_wh_addrs has = hook->filter.addresses;
        usize cnt;
        CD_TRY(cd_wh_hook_addresses(s, &cnt, hook->key, without(mem, has, had), without(mem, had, has), why));
    }
    if ((d->given & (CD_WH_GIVEN_CONFIG | CD_WH_GIVEN_TYPES)) != 0) {
        CD_TRY(cd_wh_intake_moved(s, hook, why));
    }
    if ((d->given & CD_WH_GIVEN_STATUS) != 0) {
        CD_TRY(cd_wh_op_status(s, hook, due, hook->status == CD_WH_ACTIVE, d->again, why));
    } else if (d->again != CD_WH_AGAIN_NONE && hook->status == CD_WH_ACTIVE) {
        CD_TRY(replay_after(s, hook, d->again, why));
        *due = true;
    }
    CD_TRY(client(s, d, why));
    return target(s, d, now_ms, mem, why);
}

cd_err cd_wh_op_rotate(cd_wh_store *s, cd_wh_hook *hook, cd_wh_read *r, u64 grace_ms, u64 now_ms, cd_errinfo *why)
{
    cd_bytes fresh = cd_wh_face_api_of(hook->face)->secret(r);
    bool is_now = grace_ms == 0 || hook->secret.n == 0;
    if (is_now) {
        hook->secret = fresh;
        hook->secret_next = (cd_bytes){0};
    } else {
        hook->secret_next = fresh;
    }
    hook->grace_until_ms = is_now ? 0 : now_ms + grace_ms;
    hook->updated_ms = now_ms;
    return cd_wh_hook_save(s, hook, why);
}

cd_err cd_wh_op_confirm(cd_wh_store *s, cd_wh_hook *hook, u64 now_ms, cd_errinfo *why)
{
    if (hook->secret_next.n == 0) {
        return CD_ENOENT;
    }
    hook->secret = hook->secret_next;
    hook->secret_next = (cd_bytes){0};
    hook->grace_until_ms = 0;
    hook->updated_ms = now_ms;
    return cd_wh_hook_save(s, hook, why);
}

cd_err cd_wh_op_addresses(cd_wh_store *s, cd_wh_hook *hook, cd_wh_addrs add, cd_wh_addrs remove, u64 now_ms,
                          cd_arena *mem, cd_errinfo *why)
{
    usize cnt;
    CD_TRY(cd_wh_hook_addresses(s, &cnt, hook->key, add, remove, why));
    CD_TRY(cd_wh_hook_by_key(s, hook, mem, hook->key, true, why));
    if (remove.n != 0 && hook->filter.addresses.n == 0) {
        return cd_fail(why, CD_EINVAL, "without an address it would be told of more");
    }
    hook->config =
        cd_wh_config_addresses(mem, hook->config, cd_wh_face_api_of(hook->face)->list_key, hook->filter.addresses);
    hook->updated_ms = now_ms;
    CD_TRY(cd_wh_hook_save(s, hook, why));
    return cd_wh_intake_moved(s, hook, why);
}
