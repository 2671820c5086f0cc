/* net/http/cond.h - conditional requests: entity tags, dates, and whether "304 Not Modified" will do.
 *
 *     char tag[CD_HTTP_ETAG_LEN];
 *     cd_http_etag_fmt(tag, body);
 *     if (cd_http_is_unchanged(if_none_match, if_modified_since, cd_bytes_of(tag, sizeof tag), 0)) -> 304
 *
 * Threading: pure. [RFC 9110 8.8, 13] */
#ifndef CD_NET_HTTP_COND_H
#define CD_NET_HTTP_COND_H

#include "base/bytes.h"

/* A strong tag with its quotes: 128 bits of SHA-256 as hexadecimal digits. */
enum { CD_HTTP_ETAG_LEN = 34 };

/* cd_http_etag_fmt writes the tag of these bytes, without a NUL; equal on every machine. */
void cd_http_etag_fmt(char out[CD_HTTP_ETAG_LEN], cd_bytes body);

/* cd_http_etag_matches: a list as in If-None-Match names etag, or is "*". Compared weakly, so that "W/" in
 * front of either says nothing. What is no list of tags matches nothing. */
bool cd_http_etag_matches(cd_bytes list, cd_bytes etag);

/* cd_http_is_unchanged: a GET or HEAD with these headers (p == NULL: absent) is answered with 304.
 * If-Modified-Since counts only without If-None-Match. modified_s 0: not known. */
bool cd_http_is_unchanged(cd_bytes if_none_match, cd_bytes if_modified_since, cd_bytes etag, u64 modified_s);

/* cd_http_date_parse reads a date in any of the three forms of HTTP, into seconds since 1970. Two digits
 * of a year mean 1970 to 2069. Errors: CD_EFORMAT. */
cd_err cd_http_date_parse(u64 *out_s, cd_bytes text) CD_CHECK;

#endif
