/* apps/node/commit.h - which commit the program was built from (cmake/commit.cmake). Threading: pure. */
#ifndef CD_APPS_NODE_COMMIT_H
#define CD_APPS_NODE_COMMIT_H

/* 40 hexadecimal digits; "": not built in a repository. */
extern const char cd__commit[];

#endif
