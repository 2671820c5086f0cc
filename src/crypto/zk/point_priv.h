/* crypto/zk/point_priv.h - additions in the forms of points that make them cheap (internal).
 *
 *   cd_point (x, y, z, t)  +  cd__niels (y + x, y - x, 2z, 2dt)  8 products
 *                          +  cd__affine (y + x, y - x, 2dxy)    7 products
 *
 * The formulas are complete: they hold for every pair of points. Threading: pure. */
#ifndef CD_CRYPTO_ZK_POINT_PRIV_H
#define CD_CRYPTO_ZK_POINT_PRIV_H

#include "crypto/zk/ristretto.h"

typedef struct cd__niels {
    cd__fe yx, y_x, z2, t2d;
} cd__niels;

typedef struct cd__affine {
    cd__fe yx, y_x, t2d;
} cd__affine;

CD_INLINE void cd__point_to_niels(cd__niels *out, const cd_point *a)
{
    out->yx = cd__fe_add(&a->y, &a->x);
    out->y_x = cd__fe_sub(&a->y, &a->x);
    out->z2 = cd__fe_add(&a->z, &a->z);
    out->t2d = cd__fe_mul(&a->t, &CD__FE_2D);
}

/* The second half of every addition: e = B - A, h = B + A and so on. */
CD_INLINE void cd__point_finish(cd_point *r, const cd__fe *a, const cd__fe *b, const cd__fe *c, const cd__fe *d)
{
    cd__fe e = cd__fe_sub(b, a);
    cd__fe f = cd__fe_sub(d, c);
    cd__fe g = cd__fe_add(d, c);
    cd__fe h = cd__fe_add(b, a);
    r->x = cd__fe_mul(&e, &f);
    r->y = cd__fe_mul(&g, &h);
    r->z = cd__fe_mul(&f, &g);
    r->t = cd__fe_mul(&e, &h);
}

/* r = p + q, or p - q when is_sub. */
CD_INLINE void cd__point_add_niels(cd_point *r, const cd_point *p, const cd__niels *q, bool is_sub)
{
    cd__fe y_x = cd__fe_sub(&p->y, &p->x);
    cd__fe yx = cd__fe_add(&p->y, &p->x);
    cd__fe a = cd__fe_mul(&y_x, is_sub ? &q->yx : &q->y_x);
    cd__fe b = cd__fe_mul(&yx, is_sub ? &q->y_x : &q->yx);
    cd__fe c = cd__fe_mul(&p->t, &q->t2d);
    cd__fe d = cd__fe_mul(&p->z, &q->z2);
    if (is_sub) {
        c = cd__fe_neg(&c);
    }
    cd__point_finish(r, &a, &b, &c, &d);
}

CD_INLINE void cd__point_add_affine(cd_point *r, const cd_point *p, const cd__affine *q, bool is_sub)
{
    cd__fe y_x = cd__fe_sub(&p->y, &p->x);
    cd__fe yx = cd__fe_add(&p->y, &p->x);
    cd__fe a = cd__fe_mul(&y_x, is_sub ? &q->yx : &q->y_x);
    cd__fe b = cd__fe_mul(&yx, is_sub ? &q->y_x : &q->yx);
    cd__fe c = cd__fe_mul(&p->t, &q->t2d);
    cd__fe d = cd__fe_add(&p->z, &p->z);
    if (is_sub) {
        c = cd__fe_neg(&c);
    }
    cd__point_finish(r, &a, &b, &c, &d);
}

CD_INLINE void cd__point_double(cd_point *r, const cd_point *p)
{
    cd__fe xx = cd__fe_sq(&p->x);
    cd__fe yy = cd__fe_sq(&p->y);
    cd__fe zz = cd__fe_sq(&p->z);
    cd__fe xy = cd__fe_add(&p->x, &p->y);
    cd__fe s = cd__fe_sq(&xy);
    cd__fe h = cd__fe_add(&yy, &xx);
    cd__fe e = cd__fe_sub(&s, &h);
    cd__fe g = cd__fe_sub(&yy, &xx);
    cd__fe zzxx = cd__fe_add(&zz, &zz);
    zzxx = cd__fe_add(&zzxx, &xx);
    cd__fe f = cd__fe_sub(&zzxx, &yy);
    r->x = cd__fe_mul(&e, &f);
    r->y = cd__fe_mul(&g, &h);
    r->z = cd__fe_mul(&f, &g);
    r->t = cd__fe_mul(&e, &h);
}

#endif
