/* plugin/host/vm_priv.h - what the files of a plugin's VM share. Threading: as each type or function says. */
#ifndef CD_PLUGIN_HOST_VM_PRIV_H
#define CD_PLUGIN_HOST_VM_PRIV_H

#include "base/table/lru.h"
#include "plugin/host/db.h"
#include "plugin/host/plugin.h"
#include "plugin/host/vm.h"
#include "plugin/wire/wire.h"
#include "vm/blocks.h"

#include <stdatomic.h>

typedef struct cd__tunnel cd__tunnel;

/* The VM; confined to the chain's executor except where a member says otherwise. */
typedef struct cd__plugin_vm {
    cd_vm vm; /* first */
    cd_vm_ctx ctx;
    cd_plugin_vm_cfg cfg;
    cd_plugin *plugin;
    cd_plugin_db *db;
    cd_plugin_world *world;
    cd__tunnel *tunnel;
    cd_blocks blocks;
    cd_arena mem;      /* memory of one call */
    cd_lru *known;     /* SHA-256 of bytes -> the fact of their block */
    cd_lru *decided;   /* id -> the fact of an accepted block */
    cd_lru *missing;   /* id -> anything: the plugin does not have it */
    cd_hash32 pending; /* block that the plugin has accepted and that is not in the store yet */
    bool is_pending;
    cd_vm_state state;
    bool syncs;                   /* the plugin can sync state */
    cd_vm_sync_progress progress; /* as the plugin told it last */
    u64 progress_ns;              /* when it may be asked again */
    char version[CD_PLUGIN_VERSION_MAX];
    char *dir;
    u64 listen_at_ns;  /* when to begin to wait for an event; UINT64_MAX: we wait already, or not yet */
    bool is_listening; /* an event is waited for */
    bool may_build;    /* an event said that a block can be built, and none was asked for since */
    bool has_built;    /* the last answer to a question for a block was one */
    atomic_uint event; /* an event that was not told yet, with HEARD; any thread */
} cd__plugin_vm;

/* cd__pvm_call calls the plugin with the VM's own timeout; its memory (mem) is emptied before and holds the answer. */
#define CD__PVM_ASK(v, method, in_msg, in, out_msg, out, why)                                                          \
    cd__pvm_call((v), "/vm.VM/" method, &cd_wire_##in_msg##_type, (const cd_wire_##in_msg *)(in),                      \
                 &cd_wire_##out_msg##_type, (cd_wire_##out_msg *)(out), (why))
cd_err cd__pvm_call(cd__plugin_vm *v, const char *method, const cd_proto_type *in_type, const void *in,
                    const cd_proto_type *out_type, void *out, cd_errinfo *why) CD_CHECK;

/* cd__pvm_id reads an id of an answer. Errors: CD_EFORMAT. */
cd_err cd__pvm_id(cd_hash32 *out, cd_bytes id, const char *what, cd_errinfo *why) CD_CHECK;

/* cd__pvm_blocks are the operations on blocks over the wire; cd__pvm_block makes a block out of an answer. */
extern const cd_blocks_ops cd__pvm_blocks;
cd_err cd__pvm_block(cd__plugin_vm *v, cd_vm_block **out, const cd_wire_vm_built *m, cd_bytes bytes,
                     cd_errinfo *why) CD_CHECK;

/* cd__pvm_caches_new makes known, decided and missing; cd__pvm_caches_free frees them. */
void cd__pvm_caches_new(cd__plugin_vm *v);
void cd__pvm_caches_free(cd__plugin_vm *v);

/* Members of cd_vm_ops: many blocks at once, state sync, messages of peers. */
cd_err cd__pvm_ancestors(cd_vm *vm, cd_buf *out, const cd_hash32 *id, u32 cnt_max, usize bytes_max) CD_CHECK;
void cd__pvm_parse_many(cd_vm *vm, cd_vm_block **out, const cd_bytes *in, usize cnt);
extern const cd_vm_sync_ops cd__pvm_sync;
extern const cd_vm_app_ops cd__pvm_app;

/* cd__pvm_send passes on the messages that the plugin sends to peers. */
void cd__pvm_send(cd__plugin_vm *v);

#endif
