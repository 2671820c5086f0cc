/* services/webhook/core/send/target_priv.h - what the files of the guard share.
 *
 *   target.c  URLs and networks      vet.c  names that lead to them
 *
 * Threading: confined. */
#ifndef CD_WEBHOOK_CORE_TARGET_PRIV_H
#define CD_WEBHOOK_CORE_TARGET_PRIV_H

#include "base/table/hmap.h"
#include "base/table/list.h"
#include "services/webhook/core/send/target.h"

/* A network. */
typedef struct cd__wh_net {
    u8 bytes[16];
    u8 family_len; /* 4 or 16 */
    u8 bits;
} cd__wh_net;

struct cd_wh_guard {
    cd_loop *loop;
    cd_wh_resolver resolver;
    bool allow_http;
    u32 keep_ms, wait_ms, wait_good_ms;
    cd__wh_net *allowed;
    usize allowed_cnt;
    cd_hmap names;   /* host -> name * */
    cd_list by_age;  /* of names that are not asked about, oldest first */
    cd_hmap tenants; /* id -> tenant *: those that ask just now */
    cd_list hungry;  /* tenants whose next question waits for one of others to end */
    u32 asked;       /* questions under way */
    cd_wh_addresses literal;
};

void cd__wh_names_init(cd_wh_guard *g);
void cd__wh_names_fini(cd_wh_guard *g);

#endif
