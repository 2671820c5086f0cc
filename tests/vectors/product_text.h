/* tests/vectors/product_text.h - JSON of the original node's P-Chain in our words: names are those of product networks,
 * and what was never read there is empty, not null. Test code. */
#ifndef CD_TESTS_VECTORS_PRODUCT_TEXT_H
#define CD_TESTS_VECTORS_PRODUCT_TEXT_H

#include "vec.h"

__attribute__((unused)) static cd_bytes product_text(vec *v, cd_bytes text)
{
    static const char *const words[][2] = {
        {"\"subnet", "\"net"}, {"\"memo\":null", "\"memo\":\"0x\""}, {"\"credentials\":null", "\"credentials\":[]"}};
    cd_buf out = {0};
    for (usize i = 0; i < text.n; i++) {
        usize used = 0;
        for (usize j = 0; j < CD_COUNT(words) && used == 0; j++) {
            usize n = strlen(words[j][0]);
            if (text.n - i >= n && memcmp(text.p + i, words[j][0], n) == 0) {
                cd_buf_str(&out, words[j][1]);
                used = n;
            }
        }
        if (used == 0) {
            cd_buf_u8(&out, text.p[i]);
        } else {
            i += used - 1;
        }
    }
    cd_bytes kept = cd_arena_dup(&v->arena, cd_buf_bytes(&out));
    cd_buf_fini(&out);
    return kept;
}

#endif
