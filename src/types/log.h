/* types/log.h - one event that a contract emitted. Threading: pure. */
#ifndef CD_TYPES_LOG_H
#define CD_TYPES_LOG_H

#include "base/bytes.h"

enum { CD_LOG_TOPICS_MAX = 4 };

/* A log of a contract. */
typedef struct cd_log {
    cd_addr20 addr;
    u32 topic_cnt;                       /* 0..4 */
    cd_bytes data;                       /* borrowed from whoever hands out the log */
    cd_hash32 topics[CD_LOG_TOPICS_MAX]; /* the last member, for most logs leave some topics unused and unwritten */
} cd_log;

#endif
