/* Labels of counters and frequency tokens (services/adx/cap) as another implementation made them. [spec:adx#7.1]
 * [spec:adx#7.2] */
#include "tests/vectors/vec.h"

#include "services/adx/cap/freq.h"

static void fixed(vec *v, void *out, usize n, cd_json o, const char *key)
{
    memset(out, 0, n);
    vec_check(v, cd_json_fixed(out, n, cd_json_get(o, key), NULL) == CD_OK, "%s is %zu bytes", key, n);
}

static cd_bytes text(vec *v, cd_json o, const char *key)
{
    cd_bytes b = {0};
    vec_check(v, cd_json_str(&b, cd_json_get(o, key), NULL) == CD_OK, "%s is text", key);
    return b;
}

static void label(vec *v, cd_json o)
{
    u8 key[32];
    u8 want[16];
    cd_label16 got;
    fixed(v, key, 32, o, "epoch_key");
    fixed(v, want, 16, o, "label16");
    cd_freq_label(&got, key, text(v, o, "device_id"), text(v, o, "campaign_id"), (cd_bytes){0});
    vec_check(v, memcmp(got.b, want, 16) == 0, "label");
}

static bool point_is(vec *v, const cd_point *p, cd_json o, const char *key)
{
    u8 want[32];
    u8 got[32];
    fixed(v, want, 32, o, key);
    cd_point_put(got, p);
    return memcmp(got, want, 32) == 0;
}

static void token(vec *v, const cd_voprf_key *key, cd_json o)
{
    u8 nonce[32];
    u8 bytes[32];
    u8 want[64];
    u8 got[64];
    cd_scalar blind = {{0}};
    cd_point blinded;
    cd_point evaluated;
    fixed(v, nonce, 32, o, "nonce");
    fixed(v, bytes, 32, o, "blind");
    fixed(v, want, 64, o, "token");
    vec_check(v, cd_scalar_get(&blind, bytes) == CD_OK, "blind");
    cd_err e = cd_voprf_blind(&blinded, CD_VOPRF_VERIFIABLE, cd_bytes_of(nonce, 32), &blind);
    vec_check(v, e == CD_OK && point_is(v, &blinded, o, "blinded"), "blinded");
    cd_voprf_evaluate(&evaluated, NULL, key, &blinded, 1, NULL);
    vec_check(v, point_is(v, &evaluated, o, "evaluated"), "evaluated");
    e = cd_voprf_finalize(got, cd_bytes_of(nonce, 32), &blind, &evaluated);
    vec_check(v, e == CD_OK && memcmp(got, want, 64) == 0, "token");
    e = cd_voprf_compute(got, CD_VOPRF_VERIFIABLE, key, cd_bytes_of(nonce, 32));
    vec_check(v, e == CD_OK && memcmp(got, want, 64) == 0, "token by the server");
}

static void campaign(vec *v, cd_json o)
{
    u8 seed[32];
    u8 secret[32];
    u8 got[32];
    u64 epoch = 0;
    cd_voprf_key key;
    fixed(v, seed, 32, o, "server_seed");
    fixed(v, secret, 32, o, "sk");
    vec_check(v, cd_json_u64(&epoch, cd_json_get(o, "epoch_id"), NULL) == CD_OK, "epoch");
    cd_freq_key(&key, seed, text(v, o, "campaign_id"), epoch);
    cd_scalar_put(got, &key.secret);
    vec_check(v, memcmp(got, secret, 32) == 0, "secret key");
    vec_check(v, point_is(v, &key.public, o, "public_key"), "public key");
    cd_json_it it = cd_json_iter(cd_json_get(o, "tokens"));
    while (cd_json_next(&it)) {
        token(v, &key, it.val);
    }
}

int main(void)
{
    vec v = {0};
    cd_json d;
    if (vec_json(&v, &d, vec_path(&v, "adx/freq-labels.json"))) {
        cd_json_it it = cd_json_iter(d);
        while (cd_json_next(&it)) {
            label(&v, it.val);
        }
    }
    if (vec_json(&v, &d, vec_path(&v, "adx/voprf/freq-tokens.json"))) {
        cd_json_it it = cd_json_iter(d);
        while (cd_json_next(&it)) {
            campaign(&v, it.val);
        }
    }
    return vec_end(&v);
}
