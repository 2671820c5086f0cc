/* What tests of logs share: some addresses and topics, and whether a log fits criteria, found out as plainly as
 * possible. Test code: included by one file each. */
#ifndef CD_CHAINS_EVMCHAIN_FEED_TEST_CRITERIA_H
#define CD_CHAINS_EVMCHAIN_FEED_TEST_CRITERIA_H

#include "chains/evmchain/feed/criteria.h"

enum { NAMES = 6 };
static cd_addr20 addr_names[NAMES];
static cd_hash32 topic_names[NAMES];

static void name_values(void)
{
    for (usize i = 0; i < NAMES; i++) {
        addr_names[i].b[0] = (u8)i; /* zeros on the right */
        topic_names[i].b[31] = (u8)i;
    }
}

/* What the words of the API say, as plainly as possible. */
static bool fits(const cd_log_criteria *c, const cd_log *log)
{
    bool ok = c->addr_cnt == 0;
    for (usize i = 0; i < c->addr_cnt; i++) {
        ok = ok || cd_addr20_eq(&c->addrs[i], &log->addr);
    }
    for (usize i = 0; i < c->topic_cnt; i++) {
        bool any = c->topics[i].cnt == 0;
        for (usize j = 0; j < c->topics[i].cnt && i < log->topic_cnt; j++) {
            any = any || cd_hash32_eq(&c->topics[i].values[j], &log->topics[i]);
        }
        ok = ok && any && i < log->topic_cnt;
    }
    return ok;
}

#endif
