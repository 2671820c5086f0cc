/* consensus/proposer/cert_staking.h - cd_staking over the strict certificates of peers (types/cert.h) and this node's
 * own key.
 *
 * Threading: frozen. [spec:consensus#5] */
#ifndef CD_CONSENSUS_CERT_STAKING_H
#define CD_CONSENSUS_CERT_STAKING_H

#include "consensus/proposer/staking.h"
#include "crypto/x509/x509.h"

/* cd_cert_staking_new makes it from this node's certificate (DER) and key, both borrowed. key NULL: certificates and
 * signatures of others can be checked, and sign gives CD_EUNSUPPORTED. */
cd_staking *cd_cert_staking_new(cd_bytes cert, const cd_signkey *key) __attribute__((returns_nonnull));
void cd_cert_staking_free(cd_staking *s); /* NULL is allowed */

#endif
