#include "services/adx/cap/freq.h"

#include "base/mem/buf.h"
#include "base/mem/mem.h"
#include "base/mem/secret.h"
#include "base/table/hmap.h"
#include "crypto/hash/hmac.h"

struct cd_freq {
    cd_freq_cfg cfg;
    u8 seed[32];
    bool has_epoch, is_purged;
    u64 epoch;
    cd_hmac_sha256_key label_key, receipt_key;
    cd_counters counters;
    cd_hmap keys; /* SHA-256 of a campaign -> its cd_voprf_key in this epoch */
};

static void label_under(cd_label16 *out, const cd_hmac_sha256_key *key, cd_bytes device, cd_bytes campaign,
                        cd_bytes kind)
{
    u8 lens[4];
    u8 mac[32];
    cd_put_be16(lens, (u16)device.n);
    cd_put_be16(lens + 2, (u16)campaign.n);
    const cd_bytes parts[] = {cd_bytes_of(lens, 2), device, cd_bytes_of(lens + 2, 2), campaign, kind};
    cd_hmac_sha256_parts(mac, key, parts, CD_COUNT(parts));
    memcpy(out->b, mac, sizeof out->b);
}

void cd_freq_label(cd_label16 *out, const u8 epoch_key[32], cd_bytes device, cd_bytes campaign, cd_bytes kind)
{
    cd_hmac_sha256_key key;
    cd_hmac_sha256_init(&key, cd_bytes_of(epoch_key, 32));
    label_under(out, &key, device, campaign, kind);
    cd_wipe(&key, sizeof key);
}

static void forget_keys(cd_freq *f)
{
    void *val;
    for (usize it = 0; cd_hmap_next(&f->keys, &it, NULL, &val);) {
        cd_wipe(val, sizeof(cd_voprf_key));
    }
    cd_hmap_clear(&f->keys);
}

/* Enters the epoch of now: everything of the one before is erased. Time that runs backwards stays where it was. */
static void enter(cd_freq *f, u64 now_s)
{
    u64 epoch = now_s / f->cfg.window_s;
    u8 fresh[64];
    if (f->has_epoch && epoch <= f->epoch) {
        return;
    }
    cd_rng_fill(f->cfg.rng, fresh, sizeof fresh);
    cd_hmac_sha256_init(&f->label_key, cd_bytes_of(fresh, 32));
    cd_hmac_sha256_init(&f->receipt_key, cd_bytes_of(fresh + 32, 32));
    cd_wipe(fresh, sizeof fresh);
    cd_counters_clear(&f->counters);
    forget_keys(f);
    f->has_epoch = true;
    f->is_purged = false;
    f->epoch = epoch;
}

cd_err cd_freq_new(cd_freq **out, const cd_freq_cfg *cfg, cd_errinfo *why)
{
    cd_freq *f = cd_new(cd_freq);
    f->cfg = *cfg;
    f->cfg.window_s = cfg->window_s == 0 ? CD_FREQ_WINDOW_S : cfg->window_s;
    f->counters.max = cfg->count_max == 0 ? CD_FREQ_COUNTERS_MAX : cfg->count_max;
    cd_hmap_init(&f->keys, CD_HASH_IDENTITY, sizeof(cd_hash32), sizeof(cd_voprf_key));
    cd_rng_fill(cfg->rng, f->seed, sizeof f->seed);
    cd_err e = cfg->store.seed(cfg->store.ctx, f->seed, why);
    if (e != CD_OK) {
        cd_freq_free(f);
        return e;
    }
    *out = f;
    return CD_OK;
}

void cd_freq_free(cd_freq *f)
{
    if (f == NULL) {
        return;
    }
    cd_counters_clear(&f->counters);
    forget_keys(f);
    cd_hmap_fini(&f->keys);
    cd_wipe(f, sizeof *f);
    cd_free(f);
}

static bool is_name(cd_bytes b)
{
    return b.n >= 1 && b.n <= CD_FREQ_NAME_MAX;
}

static bool is_valid(const cd_freq_ask *a)
{
    return is_name(a->device) && is_name(a->campaign) && a->cap <= CD_FREQ_CAP_MAX;
}

/* Counts n more for a label unless that is above the cap. */
static cd_err count(cd_freq *f, bool *is_allowed, const cd_label16 *label, u64 cap, u64 n, bool is_peek)
{
    *is_allowed = false;
    if (cap == 0) {
        return CD_OK;
    }
    const cd_freq_counter *seen = cd_counters_peek(&f->counters, label);
    if (is_peek || seen != NULL) {
        u64 rule = seen == NULL ? cap : cd_min_u64(cap, seen->cap);
        *is_allowed = (seen == NULL ? 0 : seen->cnt) + n <= rule;
        if (is_peek || !*is_allowed) {
            return CD_OK;
        }
    } else if (n > cap) {
        return CD_OK;
    }
    cd_freq_counter *c = cd_counters_get(&f->counters, label, (u16)cap);
    if (c == NULL) {
        *is_allowed = false;
        return CD_EFULL;
    }
    c->cnt = (u16)(c->cnt + n);
    *is_allowed = true;
    return CD_OK;
}

cd_err cd_freq_check(cd_freq *f, cd_freq_decision *out, const cd_freq_ask *ask, u64 now_s)
{
    cd_label16 label;
    cd_freq_decision d = {0};
    if (!is_valid(ask)) {
        return CD_EINVAL;
    }
    enter(f, now_s);
    label_under(&label, &f->label_key, ask->device, ask->campaign, (cd_bytes){0});
    CD_TRY(count(f, &d.is_allowed, &label, ask->cap, 1, ask->is_peek));
    d.epoch = f->epoch;
    d.reset_s = (f->epoch + 1) * f->cfg.window_s;
    u8 said[9] = {d.is_allowed};
    u8 mac[32];
    cd_put_be64(said + 1, d.epoch);
    const cd_bytes parts[] = {cd_bytes_of(label.b, sizeof label.b), cd_bytes_of(said, sizeof said)};
    cd_hmac_sha256_parts(mac, &f->receipt_key, parts, CD_COUNT(parts));
    memcpy(d.receipt, mac, sizeof d.receipt);
    *out = d;
    return CD_OK;
}

/* --- tokens --- */

void cd_freq_key(cd_voprf_key *out, const u8 seed[32], cd_bytes campaign, u64 epoch)
{
    cd_buf info = {0};
    u8 len[2];
    u8 when[8];
    cd_put_be16(len, (u16)campaign.n);
    cd_put_be64(when, epoch);
    cd_buf_str(&info, "adx/freq/v1");
    cd_buf_put(&info, cd_bytes_of(len, sizeof len));
    cd_buf_put(&info, campaign);
    cd_buf_put(&info, cd_bytes_of(when, sizeof when));
    cd_voprf_derive(out, CD_VOPRF_VERIFIABLE, seed, cd_buf_bytes(&info));
    cd_buf_fini(&info);
}

/* The key of a campaign now; borrowed until the next call. */
static const cd_voprf_key *key_of(cd_freq *f, cd_bytes campaign)
{
    cd_hash32 name;
    cd_sha256(&name, campaign);
    cd_voprf_key *key = cd_hmap_get(&f->keys, &name);
    if (key == NULL && cd_hmap_cnt(&f->keys) >= CD_FREQ_KEYS_MAX) {
        forget_keys(f);
    }
    if (key == NULL) {
        key = cd_hmap_put(&f->keys, NULL, &name);
        cd_freq_key(key, f->seed, campaign, f->epoch);
    }
    return key;
}

cd_err cd_freq_issue(cd_freq *f, cd_freq_issued *out, const cd_freq_ask *ask, const cd_point *blinded, usize cnt,
                     u64 now_s)
{
    cd_label16 label;
    bool is_allowed;
    u8 wide[64];
    if (!is_valid(ask) || cnt == 0 || cnt > CD_FREQ_TOKENS_MAX) {
        return CD_EINVAL;
    }
    for (usize i = 0; i < cnt; i++) {
        if (cd_point_is_zero(&blinded[i])) {
            return CD_EINVAL;
        }
    }
    enter(f, now_s);
    label_under(&label, &f->label_key, ask->device, ask->campaign, cd_bytes_str("tokens"));
    CD_TRY(count(f, &is_allowed, &label, ask->cap, cnt, false));
    if (!is_allowed) {
        return CD_ELIMIT;
    }
    const cd_voprf_key *key = key_of(f, ask->campaign);
    cd_rng_fill(f->cfg.rng, wide, sizeof wide);
    cd_scalar nonce = cd_scalar_wide(wide);
    cd_voprf_evaluate(out->evaluated, out->proof, key, blinded, cnt, &nonce);
    cd_wipe(wide, sizeof wide);
    cd_wipe(&nonce, sizeof nonce);
    out->epoch = f->epoch;
    out->public = key->public;
    return CD_OK;
}

cd_err cd_freq_redeem(cd_freq *f, cd_freq_redeemed *out, cd_bytes campaign, u64 epoch, const u8 nonce[32],
                      const u8 token[CD_VOPRF_OUTPUT], u64 now_s, cd_errinfo *why)
{
    u8 want[CD_VOPRF_OUTPUT];
    bool was_new;
    enter(f, now_s);
    bool is_valid_token =
        is_name(campaign) && epoch == f->epoch &&
        cd_voprf_compute(want, CD_VOPRF_VERIFIABLE, key_of(f, campaign), cd_bytes_of(nonce, 32)) == CD_OK &&
        cd_ct_eq(want, token, sizeof want);
    if (!is_valid_token) {
        *out = CD_FREQ_INVALID;
        return CD_OK;
    }
    CD_TRY(f->cfg.store.spend(f->cfg.store.ctx, &was_new, epoch, campaign, nonce, why));
    if (!f->is_purged) {
        CD_TRY(f->cfg.store.purge(f->cfg.store.ctx, epoch, why));
        f->is_purged = true;
    }
    *out = was_new ? CD_FREQ_ALLOWED : CD_FREQ_SPENT;
    return CD_OK;
}

void cd_freq_secret(u8 out[32], const cd_freq *f, const char *purpose)
{
    cd_hmac_sha256_key key;
    const cd_bytes part = cd_bytes_str(purpose);
    cd_hmac_sha256_init(&key, cd_bytes_of(f->seed, sizeof f->seed));
    cd_hmac_sha256_parts(out, &key, &part, 1);
    cd_wipe(&key, sizeof key);
}

usize cd_freq_counters(const cd_freq *f)
{
    return f->counters.used;
}
