/* Members of an L1 for tests. */
#ifndef CD_CHAINS_PLATFORM_L1_TEST_MEMBERS_H
#define CD_CHAINS_PLATFORM_L1_TEST_MEMBERS_H

#include "chains/platform/l1/diagnosis.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { MEMBERS_MAX = 32 };

/* cnt members of weight 100 with a balance. */
CD_INLINE void members_make(cd_l1_member *v, usize cnt)
{
    for (usize i = 0; i < cnt; i++) {
        v[i] = (cd_l1_member){.validation_id = {{(u8)(i + 1)}},
                              .node_id = {{(u8)(i + 1)}},
                              .weight = 100,
                              .balance = 1000,
                              .has_key = true,
                              .left_s = CD_L1_FAR_S,
                              .worst_s = CD_L1_FAR_S};
    }
}

#endif
