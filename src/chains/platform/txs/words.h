/* chains/platform/txs/words.h - texts of refusals: words in front of what was said below, IDs and times as the original
 * prints them. Threading: pure. */
#ifndef CD_CHAINS_PLATFORM_TXS_WORDS_H
#define CD_CHAINS_PLATFORM_TXS_WORDS_H

#include "codec/ids.h"

enum { CD_TEXT_MAX = 56 };

/* A short text with its NUL, by value. */
typedef struct cd_text {
    char s[CD_TEXT_MAX];
} cd_text;

/* cd_text_id is CB58 of an ID, cd_text_node "NodeID-…", cd_text_time "2026-11-22 19:00:00 +0000 UTC" of seconds since
 * 1970. */
cd_text cd_text_id(const cd_hash32 *id);
cd_text cd_text_node(const cd_node_id *id);
cd_text cd_text_time(u64 unix_s);

/* cd_fail_under puts words and ": " in front of what *why says of e, or of e's own words, and gives e. */
cd_err cd_fail_under(cd_errinfo *why, cd_err e, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* cd_fail_codec says with the original's words what is wrong with bytes that do not decode, and gives e. */
cd_err cd_fail_codec(cd_errinfo *why, cd_err e);

#endif
