/* sim/view_priv.h - between the parts of the pages: the network (view.c), a node (view_node.c). Threading: confined. */
#ifndef CD_SIM_VIEW_PRIV_H
#define CD_SIM_VIEW_PRIV_H

#include "base/mem/arena.h"
#include "sim/view.h"
#include "web/html.h"

/* A page that is being written. */
typedef struct scene {
    cd_html h;
    cd_film *film;
    const cd_film_state *s;
    u64 step;
    u32 node;
    cd_arena a;
} scene;

/* cd__view_node writes what is known of the scene's node; cd__view_block writes a block by its ID, or a dash;
 * cd__view_link writes the address of a moment, with the same node. */
void cd__view_node(scene *v);
void cd__view_block(scene *v, u32 block);
cd_bytes cd__view_link(scene *v, u64 step, u32 node);

/* cd__view_time writes microseconds as seconds. */
cd_bytes cd__view_time(scene *v, u64 us);

#endif
