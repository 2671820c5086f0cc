/* net/gzip.h - gzip for answers. Threading: pure. [RFC 1952] */
#ifndef CD_NET_GZIP_H
#define CD_NET_GZIP_H

#include "base/buf.h"

/* cd_gzip appends the compressed form of in to out, fast rather than small. */
void cd_gzip(cd_buf *out, cd_bytes in);

#endif
