/* node/chain/plugins.h - the plugins of a node: which VMs they are, in which versions, and which cannot be used.
 *
 *   directory ── load ──► each file that is new is started, asked its version and ended ──► loaded, or failed: why
 *
 * A plugin that failed is tried again by the next load. Threading: shared; load waits for plugins, so not on the loop.
 * [spec:plugin#9] [spec:node-api#8] */
#ifndef CD_NODE_PLUGINS_H
#define CD_NODE_PLUGINS_H

#include "base/log/log.h"
#include "codec/json.h"
#include "plugin/host/dir.h"

typedef struct cd_plugins cd_plugins;

/* Where plugins are, and how their VMs are called; borrowed. */
typedef struct cd_plugins_cfg {
    const char *dir;
    bool may_miss;                  /* dir need not exist */
    const cd_plugin_alias *aliases; /* built-in VMs included */
    usize alias_cnt;
    const cd_hash32 *builtin; /* VMs that the node has itself: files of theirs are left out */
    usize builtin_cnt;
    cd_logger *log;
} cd_plugins_cfg;

/* cd_plugins_list gives the files that are there, in a. Errors: those of cd_plugin_dir_list. */
cd_err cd_plugins_list(const cd_plugins_cfg *cfg, cd_plugin_file **out, usize *cnt, cd_arena *a,
                       cd_errinfo *why) CD_CHECK;

/* cd_plugins_new knows none; cfg is copied. cd_plugins_free: when nobody loads; NULL is allowed. */
cd_plugins *cd_plugins_new(const cd_plugins_cfg *cfg);
void cd_plugins_free(cd_plugins *p);

/* cd_plugins_load looks for new plugins and tries them, all at the same time; w (NULL allowed) gets {newVMs,
 * failedVMs}. Errors: CD_EBUSY while another load runs; those of cd_plugins_list. */
cd_err cd_plugins_load(cd_plugins *p, cd_json_w *w, cd_errinfo *why) CD_CHECK;

/* cd_plugins_path gives the file of a VM that was loaded; false: there is none. */
enum { CD_PLUGINS_PATH_MAX = 4096 };
bool cd_plugins_path(cd_plugins *p, char out[CD_PLUGINS_PATH_MAX], const cd_hash32 *vm_id);

/* cd_plugins_put_vms writes "id": [aliases] of each that was loaded, cd_plugins_put_versions "name": version, as
 * members of an object. */
void cd_plugins_put_vms(cd_plugins *p, cd_json_w *w);
void cd_plugins_put_versions(cd_plugins *p, cd_json_w *w);

#endif
