/* base/version.h - the one place that knows the product's version. Threading: pure. */
#ifndef CD_BASE_VERSION_H
#define CD_BASE_VERSION_H

/* The version of all programs [semver.org]. */
#define CD_VERSION "0.1.0"

/* The version text that the node sends to clients and peers [spec:architecture#11]. */
#define CD_VERSION_STRING "candela/" CD_VERSION

#endif
