/* store/flat_priv.h - the letters of the flat tables (store/flat.h). Threading: pure. */
#ifndef CD_STORE_FLAT_PRIV_H
#define CD_STORE_FLAT_PRIV_H

enum {
    CD__FLAT_ACCOUNT = 'a',
    CD__FLAT_SLOT = 's',
    CD__FLAT_ACCOUNT_NODE = 'n',
    CD__FLAT_SLOT_NODE = 'N',
    CD__FLAT_HEAD = 'H',
};

#endif
