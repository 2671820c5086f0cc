/* Documents of others: what is read is written as something that reads back to the same, with our beacons too; text of
 * any kind becomes well-formed. [spec:adx#4.2] */
#include "services/adx/vast/tree.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_own(cd_arena *a, cd_bytes in)
{
    const cd_vast_media media = {.url = in, .type = in, .w = 1, .h = 1};
    const cd_vast_ad ad = {.id = in,
                           .beacons = cd_bytes_str("http://x/t/"),
                           .token = cd_bytes_str("T"),
                           .title = in,
                           .advertiser = in,
                           .category = in,
                           .click = in,
                           .media = &media,
                           .media_cnt = 1};
    for (int v = CD_VAST_20; v <= CD_VAST_43; v++) {
        cd_buf out = {0};
        cd_vast_tree *t;
        cd_errinfo why = {0};
        cd_vast_begin(&out, (cd_vast_version)v);
        cd_vast_ad_put(&out, (cd_vast_version)v, &ad);
        cd_vast_end(&out);
        CD_ASSERT(out.n > CD_VAST_TREE_MAX || cd_vast_tree_parse(&t, a, cd_buf_bytes(&out), &why) == CD_OK);
        cd_buf_fini(&out);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const cd_vast_ad ad = {.beacons = cd_bytes_str("http://x/t/"), .token = cd_bytes_str("T")};
    cd_arena a = {0};
    cd_vast_tree *t;
    cd_vast_tree *again;
    cd_bytes in = cd_bytes_of(data, size);
    if (cd_vast_tree_parse(&t, &a, in, NULL) == CD_OK) {
        u32 ads = cd_vast_tree_ads(t);
        CD_ASSERT(cd_vast_tree_track(t, &ad) == ads);
        cd_buf one = {0};
        cd_buf two = {0};
        cd_vast_tree_put(&one, t);
        if (cd_vast_tree_parse(&again, &a, cd_buf_bytes(&one), NULL) == CD_OK) {
            CD_ASSERT(cd_vast_tree_ads(again) == ads);
            cd_vast_tree_put(&two, again);
            CD_ASSERT(cd_bytes_eq(cd_buf_bytes(&one), cd_buf_bytes(&two)));
        } else {
            CD_ASSERT(one.n > CD_VAST_TREE_MAX / 2 || size > CD_VAST_NODES_MAX / 4);
        }
        cd_buf_fini(&one);
        cd_buf_fini(&two);
    }
    check_own(&a, in);
    cd_arena_fini(&a);
    return 0;
}
