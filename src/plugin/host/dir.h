/* plugin/host/dir.h - which plugins there are: the files of a directory, named by the ids or names of their VMs.
 *
 *   plugins/srEXiWaH…Ax7Dy      a VM by its id          plugins/xsvm      a VM by a known name
 *   aliases {"srEXiWaH…": ["subnetevm"]}
 *
 * A VM's id is most often a name, padded with zeros to 32 bytes. Threading: pure. [spec:plugin#9] */
#ifndef CD_PLUGIN_HOST_DIR_H
#define CD_PLUGIN_HOST_DIR_H

#include "base/mem/arena.h"
#include "codec/ids.h"

/* A plugin that was found; path lies in the arena. */
typedef struct cd_plugin_file {
    cd_hash32 vm_id;
    const char *path;
} cd_plugin_file;

/* Another name of a VM, in the arena. */
typedef struct cd_plugin_alias {
    cd_hash32 vm_id;
    const char *name;
} cd_plugin_alias;

/* Most files of a directory, and most names in the file of aliases. */
enum { CD_PLUGIN_FILES_MAX = 256, CD_PLUGIN_ALIASES_MAX = 4096 };

/* cd_vm_id_of makes the id of a VM's name. Errors: CD_ERANGE, CD_EINVAL (empty, or over 32 bytes). */
cd_err cd_vm_id_of(cd_hash32 *out, cd_bytes name) CD_CHECK;

/* cd_plugin_dir_check checks that dir is a directory. Errors: CD_ENOENT, CD_ETYPE, with the original's words. */
cd_err cd_plugin_dir_check(const char *dir, cd_errinfo *why) CD_CHECK;

/* cd_plugin_dir_list finds the plugins of a directory, in the order of their names. A name is one of aliases, or an id;
 * what follows the last dot is not part of it, and files without a name are no plugins. Errors: CD_EFORMAT (a file with
 * another name), CD_EEXIST (two of one VM), CD_ELIMIT, those of reading the directory. */
cd_err cd_plugin_dir_list(cd_plugin_file **out, usize *cnt, cd_arena *a, const char *dir,
                          const cd_plugin_alias *aliases, usize alias_cnt, cd_errinfo *why) CD_CHECK;

/* cd_plugin_aliases_parse reads the file of aliases. Errors: CD_EFORMAT and like, CD_EEXIST (one name for two VMs),
 * CD_ELIMIT. */
cd_err cd_plugin_aliases_parse(cd_plugin_alias **out, usize *cnt, cd_arena *a, cd_bytes text, cd_errinfo *why) CD_CHECK;

#endif
