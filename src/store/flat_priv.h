/* store/flat_priv.h - the letters of the flat tables (store/flat.h). Threading: pure. */
#ifndef CD_STORE_FLAT_PRIV_H
#define CD_STORE_FLAT_PRIV_H

#include "store/flat.h"

enum {
    CD__FLAT_ACCOUNT = 'a',
    CD__FLAT_SLOT = 's',
    CD__FLAT_ACCOUNT_NODE = 'n',
    CD__FLAT_SLOT_NODE = 'N',
    CD__FLAT_HEAD = 'H',
};

/* cd__flat_storage_root finds the third item of an account's list, its storage root; false when the value is no such
 * list. */
bool cd__flat_storage_root(cd_hash32 *out, cd_bytes account);

#endif
