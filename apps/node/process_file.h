/* apps/node/process_file.h - the file that tells other programs of a running node. Threading: the main thread.
 * [spec:node-api#12] */
#ifndef CD_APPS_NODE_PROCESS_FILE_H
#define CD_APPS_NODE_PROCESS_FILE_H

#include "base/base.h"

/* cd__process_file_write writes the process ID, and the addresses for clients (uri) and peers (staking; "": none); with
 * a path of "" it writes nothing. The file need not survive the machine, so nothing waits for the disk. false: it
 * failed, which was reported. */
bool cd__process_file_write(const char *path, const char *uri, const char *staking);

#endif
