#include "crypto/ec/p256.h"

#include "crypto/ec/modinv.h"
#include "num/modular.h"

#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/obj_mac.h>

#include <pthread.h>

/* The order of the group, as words of 64 bits and as words of 62. */
static const cd_u256 ORDER = {.w = {0xf3b9cac2fc632551, 0xbce6faada7179e84, 0xffffffffffffffff, 0xffffffff00000000}};
static const cd__modulus ORDER_62 = {
    {0x33b9cac2fc632551, 0x339beab69c5e7a13, 0x3ffffffffffffffb, 0x3fffffc00000003f, 0xff}, 0x332e375511ff43b1};

/* OpenSSL's group P-256; made once, never changed. */
static EC_GROUP *group;
static pthread_once_t group_once = PTHREAD_ONCE_INIT;

static void make_group(void)
{
    group = EC_GROUP_new_by_curve_name(NID_X9_62_prime256v1);
}

/* Says whether x is allowed for r and s: from 1 to n - 1. */
static bool is_scalar(const cd_u256 *x)
{
    return !cd_u256_is_zero(x) && cd_u256_lt(x, &ORDER);
}

/* Numbers and points of OpenSSL that one check uses. */
typedef struct work {
    BN_CTX *ctx;
    EC_POINT *key;
    EC_POINT *sum;
    BIGNUM *x;
    BIGNUM *y;
} work;

static bool work_init(work *w)
{
    w->ctx = BN_CTX_new();
    w->key = EC_POINT_new(group);
    w->sum = EC_POINT_new(group);
    w->x = BN_new();
    w->y = BN_new();
    return w->ctx != NULL && w->key != NULL && w->sum != NULL && w->x != NULL && w->y != NULL;
}

static void work_fini(work *w)
{
    BN_free(w->y);
    BN_free(w->x);
    EC_POINT_free(w->sum);
    EC_POINT_free(w->key);
    BN_CTX_free(w->ctx);
}

static bool set_number(BIGNUM *out, const cd_u256 *v)
{
    u8 be[32];
    cd_u256_store_be(be, v);
    return BN_bin2bn(be, sizeof be, out) != NULL;
}

/* Sets the key; false unless it is a point of the curve, with coordinates below the field's prime. */
static bool set_key(work *w, const u8 pub[64])
{
    u8 point[65] = {0x04};
    memcpy(point + 1, pub, 64);
    return EC_POINT_oct2point(group, w->key, point, sizeof point, w->ctx) == 1;
}

/* Says whether the x of u1 · G + u2 · key is r modulo the order. */
static bool sum_is(work *w, const cd_u256 *u1, const cd_u256 *u2, const cd_u256 *r)
{
    u8 be[32];
    if (!set_number(w->x, u1) || !set_number(w->y, u2) ||
        EC_POINT_mul(group, w->sum, w->x, w->key, w->y, w->ctx) != 1 ||
        EC_POINT_get_affine_coordinates(group, w->sum, w->x, NULL, w->ctx) != 1 ||
        BN_bn2binpad(w->x, be, sizeof be) != sizeof be) {
        return false; /* the sum is the point at infinity, which has no x */
    }
    cd_u256 x;
    cd_u256_load_be(&x, be);
    if (!cd_u256_lt(&x, &ORDER)) {
        cd_u256_sub(&x, &x, &ORDER);
    }
    return cd_u256_eq(&x, r);
}

bool cd_p256_verify(const cd_hash32 *msg, const u8 sig[64], const u8 pub[64])
{
    cd_u256 r;
    cd_u256 s;
    cd_u256 e;
    CD_ASSERT(pthread_once(&group_once, make_group) == 0 && group != NULL);
    cd_u256_load_be(&r, sig);
    cd_u256_load_be(&s, sig + 32);
    cd_u256_load_be(&e, msg->b);
    if (!is_scalar(&r) || !is_scalar(&s)) {
        return false;
    }
    cd_u256 inverse;
    cd_u256 u1;
    cd_u256 u2;
    cd__modinv(inverse.w, s.w, &ORDER_62);
    cd_u256_mulmod(&u1, &e, &inverse, &ORDER, NULL);
    cd_u256_mulmod(&u2, &r, &inverse, &ORDER, NULL);
    work w;
    bool ok = work_init(&w) && set_key(&w, pub) && sum_is(&w, &u1, &u2, &r);
    work_fini(&w);
    return ok;
}

bool cd_p256_is_point(const u8 pub[64])
{
    CD_ASSERT(pthread_once(&group_once, make_group) == 0 && group != NULL);
    work w;
    bool ok = work_init(&w) && set_key(&w, pub);
    work_fini(&w);
    return ok;
}
