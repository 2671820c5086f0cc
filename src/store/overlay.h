/* store/overlay.h - the states of blocks that are not accepted yet, as layers over a kv.
 *
 *              ┌── B ── D          each layer holds only what its block changed and reads through its
 *   base ── A ─┤                   ancestors; a layer is written, then sealed; accepting A writes it
 *              └── C               into the base and drops A's siblings with all that stands on them.
 *
 * A layer is used through its cd_kv (get, has, iterate, and commit until it is sealed), so whoever
 * reads state does not see where the value lies. Nothing here is durable before it is flattened.
 *
 * Threading: confined (all layers of one overlay together). */
#ifndef CD_STORE_OVERLAY_H
#define CD_STORE_OVERLAY_H

#include "store/kv.h"

/* More unaccepted ancestors than this are refused. */
#define CD_OVERLAY_MAX_DEPTH 4096u

typedef struct cd_overlay cd_overlay;
typedef struct cd_layer cd_layer;

/* cd_overlay_new stands on base, which it borrows and which must outlive it. */
cd_overlay *cd_overlay_new(cd_kv *base) __attribute__((returns_nonnull));

/* cd_overlay_free drops every layer. NULL is allowed. */
void cd_overlay_free(cd_overlay *ov);

/* cd_overlay_begin opens an empty layer on parent (NULL = on the base). It belongs to ov until
 * cd_layer_drop or cd_layer_accept. Errors: CD_EINVAL when parent is not sealed, CD_ELIMIT. */
cd_err cd_overlay_begin(cd_overlay *ov, cd_layer **out, cd_layer *parent) CD_CHECK;

/* cd_overlay_cnt counts the layers. */
usize cd_overlay_cnt(const cd_overlay *ov);

/* cd_layer_kv borrows the layer's view: it ends with the layer; do not close it. */
cd_kv *cd_layer_kv(cd_layer *l);

/* cd_layer_seal makes the layer immutable: commits to it give CD_EACCES from now on. */
void cd_layer_seal(cd_layer *l);

/* cd_layer_changes counts the records of the layer alone. */
usize cd_layer_changes(const cd_layer *l);

/* cd_layer_export appends the layer's own records to batch, in key order. */
void cd_layer_export(const cd_layer *l, cd_kv_batch *batch);

/* cd_layer_drop forgets the layer and every layer above it (a rejected block). */
void cd_layer_drop(cd_layer *l);

/* cd_layer_accept is called after the exported records are committed to the base: l, which stands on
 * the base, ends; its children stand on the base now; its siblings are dropped with all above them. */
void cd_layer_accept(cd_layer *l);

/* cd_layer_flatten exports the layer, together with the records of extra (NULL = none), into the base
 * as one atomic batch and accepts the layer. On failure nothing has changed. */
cd_err cd_layer_flatten(cd_layer *l, const cd_kv_batch *extra, cd_kv_sync sync, cd_errinfo *why) CD_CHECK;

#endif
