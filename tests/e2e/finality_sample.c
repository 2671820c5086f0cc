/* Writes what a network would have: a checkpoint, a year of daily set changes, and certificates of blocks.
 *
 * usage: finality_sample DIR VALIDATORS DAYS [BLOCK]
 *
 *   network.checkpoint                 epoch 0, with a threshold key
 *   year.changes                       one validator replaced each day; changes pass over as many days as two
 *                                      thirds of the set stay
 *   day.changes                        the same, one change a day, by BLS alone
 *   type0.cert … type3.cert            a block of epoch 0, on the chain "C": the one with the ID BLOCK, 64 digits, when
 *                                      that is given
 *   last.cert                          a block of the last epoch, of type 3 */
#include "base/hex.h"
#include "finality/cert/test/years.h"

#include <stdio.h>
#include <stdlib.h>

static const cd_fin_chain chains[] = {{"C", {{0xc, 1}}}, {"P", {{0}}}, {"X", {{0x58, 2}}}};

static void save(cd_buf *b, const char *dir, const char *name)
{
    cd_buf path = {0};
    cd_buf_fmt(&path, "%s/%s", dir, name);
    FILE *f = fopen(cd_buf_cstr(&path), "wb");
    if (f == NULL || fwrite(b->p, 1, b->n, f) != b->n || fclose(f) != 0) {
        perror(cd_buf_cstr(&path));
        exit(1);
    }
    (void)printf("%s %zu\n", name, b->n);
    cd_buf_fini(&path);
    cd_buf_fini(b);
}

/* The members of day d: a window over the pool that moves on by one a day. */
static void day(year_epoch *y, const world *pool, u32 members, u32 d)
{
    year_make(y, pool, d, d % pool->n, members);
}

/* Whether those of base who are still in next weigh two thirds of base: then they can sign next. */
static bool can_sign(const year_epoch *base, const year_epoch *next)
{
    u64 weight = 0;
    for (u32 i = 0; i < base->epoch.set.cnt; i++) {
        weight += year_has(next, base->member[i]) ? base->validators[i].weight : 0;
    }
    return cd_fin_quorum(weight, base->epoch.set.total);
}

static void write_changes(world *pool, u32 members, u32 days, const char *dir, const char *name, bool is_daily)
{
    static year_epoch base;
    static year_epoch next;
    static year_epoch after;
    cd_buf out = {0};
    cd_fin_changes_begin(&out);
    day(&base, pool, members, 0);
    for (u32 d = 1; d <= days; d++) {
        day(&next, pool, members, d);
        day(&after, pool, members, d + 1);
        if (is_daily || d == days || !can_sign(&base, &after)) {
            year_change(&out, pool, &base, &next, &next, is_daily ? CD_FIN_BLS : CD_FIN_MLDSA);
            base = next;
            base.epoch.set.validators = base.validators;
        }
    }
    save(&out, dir, name);
}

int main(int argc, char **argv)
{
    static year_epoch first;
    static year_epoch last;
    cd_hash32 block = {{0xb1, 0x0c}};
    bool is_given = argc == 5;
    if ((argc != 4 && argc != 5) ||
        (is_given && (strlen(argv[4]) != 64 || cd_hex_parse(block.b, cd_bytes_str(argv[4])) != CD_OK))) {
        (void)fprintf(stderr, "usage: finality_sample DIR VALIDATORS DAYS [BLOCK]\n");
        return 2;
    }
    u32 members = (u32)strtoul(argv[2], NULL, 10); // NOLINT(cert-err34-c)
    u32 days = (u32)strtoul(argv[3], NULL, 10);    // NOLINT(cert-err34-c)
    if (members < 4 || members > WORLD_MAX * 2 / 3) {
        (void)fprintf(stderr, "4 to %d validators\n", WORLD_MAX * 2 / 3);
        return 2;
    }
    /* who signs by threshold is another world's group of as many */
    world *pool = world_new(members * 3 / 2, 1, 100, false);
    world *group = world_new(members, 2, 100, true);
    cd_buf out = {0};
    day(&first, pool, members, 0);
    cd_rt_key_id(&first.epoch.group_id, &group->group);
    first.epoch.set.group = &group->group;
    cd_fin_checkpoint_put(&out, &first.epoch, chains, CD_COUNT(chains));
    save(&out, argv[1], "network.checkpoint");

    /* the group's and the pool's first validators are the same people */
    group->chain = chains[0].id;
    group->set.total = first.epoch.set.total;
    for (u32 i = 0; i < members; i++) {
        u32 m = first.member[i];
        group->validators[i] = first.validators[i];
        group->bls[i] = pool->bls[m];
        memcpy(group->mldsa_sk[i], pool->mldsa_sk[m], CD_MLDSA_SK);
    }
    for (u32 type = 0; type <= CD_FIN_MLDSA; type++) {
        world_parts parts = {0};
        char name[16];
        cd_fin_msg m = {.block = block, .height = 142, .time_ns = 1700000000000000000ull};
        m.block.b[2] = is_given ? block.b[2] : (u8)type;
        cd_fin_cert c = world_certify(group, &parts, (cd_fin_type)type, &m, members / 10);
        cd_fin_cert_put(&out, &c);
        (void)snprintf(name, sizeof name, "type%u.cert", type);
        save(&out, argv[1], name);
        world_parts_fini(&parts);
    }
    write_changes(pool, members, days, argv[1], "year.changes", false);
    write_changes(pool, members, days, argv[1], "day.changes", true);

    /* a block of the last day: its set signs it as a set would be signed, on another chain */
    day(&last, pool, members, days);
    u8 text[CD_FIN_MSG_BYTES];
    u8 of_pool[WORLD_MAX / 8] = {0};
    u8 bits[WORLD_MAX / 8] = {0};
    cd_buf bls = {0};
    cd_buf mldsa = {0};
    cd_fin_cert c = {.type = CD_FIN_MLDSA, .chain = chains[0].id, .total = last.epoch.set.total};
    c.msg = (cd_fin_msg){.block = {{0x1a, 0x57}}, .height = last.epoch.set.from + 7, .time_ns = 1731000000000000000ull};
    cd_fin_msg_enc(text, &c.msg);
    for (u32 i = 0; i < last.epoch.set.cnt; i++) {
        of_pool[last.member[i] / 8] |= (u8)(1 << last.member[i] % 8);
        bits[i / 8] |= (u8)(1 << i % 8);
    }
    world_sign_bls(pool, &bls, of_pool, cd_bytes_of(text, sizeof text));
    world_sign_mldsa(pool, &mldsa, of_pool, cd_bytes_of(text, sizeof text));
    c.signed_by = c.total;
    c.bits = cd_bytes_of(bits, sizeof bits);
    c.bls = cd_buf_bytes(&bls);
    c.mldsa = cd_buf_bytes(&mldsa);
    cd_fin_cert_put(&out, &c);
    save(&out, argv[1], "last.cert");
    cd_buf_fini(&bls);
    cd_buf_fini(&mldsa);
    world_free(group);
    world_free(pool);
    return 0;
}
