/* chains/xvm/filter.h - which transactions a listener of events wants to hear of: those that touch its addresses.
 *
 *   {"newSet":{}}                                                 from now on a set of addresses, exact
 *   {"newBloom":{"maxElements":"1000","collisionProb":"0.01"}}    or a Bloom filter, which may say yes too often
 *   {"addAddresses":{"addresses":["X-…"]}}                        adds to whichever there is
 *
 * A set has 10,000 addresses at most, a Bloom filter 1 MiB; what all filters of a chain take is bounded, too.
 * Threading: confined. [spec:node-api#6] */
#ifndef CD_CHAINS_XVM_FILTER_H
#define CD_CHAINS_XVM_FILTER_H

#include "base/bytes.h"
#include "base/mem/buf.h"

enum {
    CD_XVM_FILTER_ADDRESSES = 10000,
    CD_XVM_FILTER_BLOOM = 1 << 20,   /* bytes */
    CD_XVM_FILTERS_BYTES = 32 << 20, /* of all filters together */
    CD_XVM_COMMAND_MAX = 10 << 10,   /* bytes of a command */
};

/* The filter of one listener. */
typedef struct cd_xvm_filter cd_xvm_filter;

/* cd_xvm_filter_new makes one that wants nothing; all counts the bytes of all that were made with it, and outlives
 * them. */
cd_xvm_filter *cd_xvm_filter_new(usize *all) __attribute__((returns_nonnull));
void cd_xvm_filter_free(cd_xvm_filter *f); /* NULL is allowed */

/* cd_xvm_filter_command does what a client says. False: the client is to be sent away, after error (JSON, empty when
 * nothing is said) was sent. */
bool cd_xvm_filter_command(cd_xvm_filter *f, cd_buf *error, cd_bytes text);

/* cd_xvm_filter_wants: an address is in it (a Bloom filter may be wrong then, but never the other way). */
bool cd_xvm_filter_wants(const cd_xvm_filter *f, const cd_addr20 *addr);

#endif
