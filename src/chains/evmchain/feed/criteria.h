/* chains/evmchain/feed/criteria.h - which logs somebody asks for: addresses, and values in topic positions.
 *
 * The values of one place are alternatives, the places all have to fit; a place without values fits any.
 * Threading: frozen once read. [spec:eth-rpc#4] */
#ifndef CD_CHAINS_EVMCHAIN_FEED_CRITERIA_H
#define CD_CHAINS_EVMCHAIN_FEED_CRITERIA_H

#include "rpc/param.h"
#include "types/bloom.h"

/* Values ascend and differ; everything is borrowed from the arena. */
typedef struct cd_log_choice {
    const cd_hash32 *values;
    usize cnt; /* 0: anything */
} cd_log_choice;

/* Which logs are wanted. */
typedef struct cd_log_criteria {
    const cd_addr20 *addrs;
    usize addr_cnt; /* 0: any */
    cd_log_choice topics[CD_LOG_TOPICS_MAX];
    usize topic_cnt; /* a log has at least so many topics */
} cd_log_criteria;

/* cd_log_criteria_read reads `address` and `topics` of the filter object v, parameter idx, into arena a. */
cd_err cd_log_criteria_read(cd_rpc_call *call, cd_log_criteria *out, cd_arena *a, cd_json v, usize idx) CD_CHECK;

/* cd_log_criteria_dup copies c into an arena; cd_log_criteria_size tells how much memory that takes. */
void cd_log_criteria_dup(cd_log_criteria *out, cd_arena *a, const cd_log_criteria *c);
usize cd_log_criteria_size(const cd_log_criteria *c);

/* cd_log_criteria_match: the log fits. _may_match: a block of that bloom may have one that does. */
bool cd_log_criteria_match(const cd_log_criteria *c, const cd_log *log);
bool cd_log_criteria_may_match(const cd_log_criteria *c, const cd_bloom *bloom);

/* cd_log_criteria_enc appends bytes that are the same for the same criteria only. */
void cd_log_criteria_enc(cd_buf *out, const cd_log_criteria *c);

#endif
