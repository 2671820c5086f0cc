#include "sim/film.h"

#include "base/mem/mem.h"
#include "base/num_text.h"
#include "base/table/hmap.h"

enum { PICTURES = 16, PICTURE_MIN = 20000, WORDS = 8, ID_LEN = 16 };

#define PICTURE_BYTES_MAX (1ull << 28)

typedef struct name {
    cd_bytes id;
    bool is_liar;
} name;

struct cd_film {
    cd_bytes text;
    cd_film_event *events;
    u64 cnt, cap;
    u64 strange;
    name *names;
    u32 node_cnt, node_cap;
    cd_film_block *blocks;
    u32 block_cnt, block_cap;
    cd_hmap by_id; /* u64 (first eight bytes of the ID) -> u32 (index of the block) */
    cd_film_state now;
    cd_film_state pictures[PICTURES];
    u32 picture_cnt;
    u64 stride;
};

/* --- words --- */

/* Splits a line into words; the last word takes the rest of the line. */
static u32 split(cd_bytes out[WORDS], cd_bytes line)
{
    u32 cnt = 0;
    usize at = 0;
    while (at < line.n && cnt < WORDS) {
        usize end = at;
        while (end < line.n && line.p[end] != ' ') {
            end++;
        }
        out[cnt++] = cd_bytes_sub(line, at, end - at);
        at = end + 1;
    }
    return cnt;
}

static u64 number(cd_bytes w)
{
    u64 v = 0;
    return cd_u64_parse(&v, w) == CD_OK ? v : UINT64_MAX;
}

static u64 front_of(cd_bytes id)
{
    u64 v = 0;
    for (usize i = 0; i < ID_LEN; i++) {
        u8 c = id.p[i];
        u64 digit = c >= '0' && c <= '9' ? (u64)(c - '0') : c >= 'a' && c <= 'f' ? (u64)(c - 'a') + 10 : 16;
        if (digit > 15) {
            return 0;
        }
        v = v << 4 | digit;
    }
    return v;
}

/* The number of a block; a new block gets the next number. */
static u32 block_of(cd_film *f, cd_bytes id)
{
    bool is_new;
    u64 key = id.n == ID_LEN ? front_of(id) : 0;
    if (key == 0) {
        return CD_FILM_NONE;
    }
    u32 *at = cd_hmap_put(&f->by_id, &is_new, &key);
    if (is_new) {
        if (f->block_cnt == f->block_cap) {
            f->block_cap = f->block_cap == 0 ? 256 : f->block_cap * 2;
            f->blocks = cd_realloc(f->blocks, f->block_cap * sizeof *f->blocks);
        }
        *at = f->block_cnt;
        cd_film_block *b = &f->blocks[f->block_cnt++];
        *b = (cd_film_block){.parent = CD_FILM_NONE, .maker = CD_FILM_NONE};
        memcpy(b->id, id.p, ID_LEN);
    }
    return *at;
}

/* --- reading --- */

static bool put_node(cd_film *f, u64 no, cd_bytes id, bool is_liar)
{
    if (no >= CD_FILM_NODES_MAX) {
        return false;
    }
    while (f->node_cnt <= no) {
        if (f->node_cnt == f->node_cap) {
            f->node_cap = f->node_cap == 0 ? 64 : f->node_cap * 2;
            f->names = cd_realloc(f->names, f->node_cap * sizeof *f->names);
        }
        f->names[f->node_cnt++] = (name){.id = cd_bytes_str("")};
    }
    if (id.n != 0) {
        f->names[no] = (name){.id = id, .is_liar = is_liar};
    }
    return true;
}

static void put_block(cd_film *f, const cd_film_event *e, const cd_bytes *w)
{
    u32 parent = block_of(f, w[2]);
    cd_film_block *b = &f->blocks[e->block];
    b->parent = parent;
    b->height = number(w[3]);
    b->us = b->us == 0 ? e->us : b->us;
    b->maker = e->kind == 'b' ? e->node : b->maker;
}

/* The least number of words of a kind of line, and in *block the place of the word that names a block; 0: no such
 * kind. */
static u32 words_of(char kind, u32 *block)
{
    *block = 0;
    switch (kind) {
    case 'b':
    case 's':
        *block = 1;
        return 4;
    case 'a':
    case 'c':
        *block = 1;
        return 3;
    case 'x':
    case 'r':
    case 'p':
        *block = 1;
        return 2;
    case 'q':
    case 'Q':
        *block = 2;
        return 3;
    case 'v':
        *block = 3;
        return 5;
    case 'f':
        return 3;
    case 'm':
        return 5;
    case 'n':
        return 3;
    case 'u':
    case 'd':
    case 'w':
    case '!':
        return 1;
    default:
        return 0;
    }
}

static bool put_event(cd_film *f, cd_bytes line)
{
    cd_bytes w[WORDS] = {{0}};
    cd_film_event e = {.node = CD_FILM_NONE, .block = CD_FILM_NONE};
    usize space = 2;
    u32 block;
    while (space < line.n && line.p[space] != ' ') {
        space++;
    }
    if (line.n < 4 || line.p[1] != ' ' || space >= line.n) {
        return false;
    }
    e.kind = (char)line.p[0];
    e.us = number(cd_bytes_sub(line, 2, space - 2));
    cd_bytes rest = cd_bytes_sub(line, space + 1, line.n - space - 1);
    u32 want = words_of(e.kind, &block);
    if (want == 0 || e.us == UINT64_MAX || split(w, rest) < want) {
        return false;
    }
    if (e.kind != 'w' && !cd_bytes_eq(w[0], cd_bytes_str("-"))) {
        u64 no = number(w[0]);
        cd_bytes id = e.kind == 'n' ? w[1] : (cd_bytes){0};
        if (!put_node(f, no, id, e.kind == 'n' && cd_bytes_eq(w[2], cd_bytes_str("1")))) {
            return false;
        }
        e.node = (u32)no;
    }
    e.at = (u32)(rest.p - f->text.p);
    e.n = (u32)rest.n;
    if (block != 0) {
        e.block = block_of(f, w[block]);
        if (e.block == CD_FILM_NONE) {
            return false;
        }
    }
    if (e.kind == 'b' || e.kind == 's') {
        put_block(f, &e, w);
    }
    if (f->cnt == f->cap) {
        f->cap = f->cap == 0 ? 4096 : f->cap * 2;
        f->events = cd_realloc(f->events, f->cap * sizeof *f->events);
    }
    f->events[f->cnt++] = e;
    return true;
}

/* --- a moment --- */

static cd_film_state state_new(const cd_film *f)
{
    return (cd_film_state){.nodes = cd_new_array(cd_film_node, f->node_cnt),
                           .fates = cd_new_array(cd_film_fate, f->block_cnt)};
}

static void state_copy(cd_film_state *to, const cd_film_state *from, const cd_film *f)
{
    cd_film_node *nodes = to->nodes;
    cd_film_fate *fates = to->fates;
    *to = *from;
    to->nodes = nodes;
    to->fates = fates;
    memcpy(nodes, from->nodes, f->node_cnt * sizeof *nodes);
    memcpy(fates, from->fates, f->block_cnt * sizeof *fates);
}

static void state_clear(cd_film_state *s, const cd_film *f)
{
    cd_film_node *nodes = s->nodes;
    cd_film_fate *fates = s->fates;
    memset(fates, 0, f->block_cnt * sizeof *fates);
    memset(nodes, 0, f->node_cnt * sizeof *nodes);
    for (u32 i = 0; i < f->node_cnt; i++) {
        nodes[i].accepted = CD_FILM_NONE;
        nodes[i].preferred = CD_FILM_NONE;
    }
    *s = (cd_film_state){.nodes = nodes, .fates = fates};
}

static void drop_undecided(cd_film_node *n, u32 block)
{
    for (u32 i = 0; i < n->undecided_cnt; i++) {
        if (n->undecided[i].block == block) {
            n->undecided_cnt--;
            memmove(&n->undecided[i], &n->undecided[i + 1], (n->undecided_cnt - i) * sizeof n->undecided[0]);
            return;
        }
    }
}

static void add_undecided(cd_film_node *n, u32 block, u32 confidence)
{
    for (u32 i = 0; i < n->undecided_cnt; i++) {
        if (n->undecided[i].block == block) {
            n->undecided[i].confidence = confidence;
            return;
        }
    }
    if (n->undecided_cnt == CD_FILM_UNDECIDED) {
        drop_undecided(n, n->undecided[0].block);
    }
    n->undecided[n->undecided_cnt++] = (cd_film_undecided){.block = block, .confidence = confidence};
}

static u32 count_list(cd_bytes list)
{
    u32 cnt = list.n == 0 ? 0 : 1;
    for (usize i = 0; i < list.n; i++) {
        cnt += list.p[i] == ',' ? 1 : 0;
    }
    return cnt;
}

static void add_poll(cd_film_node *n, const cd_film_event *e, u64 request, u32 asked)
{
    cd_film_poll *p = &n->recent[n->polls++ % CD_FILM_POLLS];
    *p = (cd_film_poll){
        .request = (u32)request, .block = e->block, .us = e->us, .asked = asked, .is_shown = e->kind == 'Q'};
}

static void add_vote(cd_film_node *n, u64 request, u64 from, u32 block)
{
    for (u32 i = 0; i < CD_FILM_POLLS; i++) {
        cd_film_poll *p = &n->recent[i];
        if (p->request == request && p->us != 0 && p->cnt < CD_FILM_VOTES) {
            p->votes[p->cnt++] = (cd_film_vote){.from = (u32)from, .block = block};
        }
    }
}

static void count_fate(cd_film_fate *b, char kind)
{
    b->seen += kind == 'b' || kind == 's' ? 1 : 0;
    b->accepted += kind == 'a' ? 1 : 0;
    b->rejected += kind == 'r' ? 1 : 0;
    b->refused += kind == 'x' ? 1 : 0;
}

static void apply(const cd_film *f, cd_film_state *s, const cd_film_event *e)
{
    cd_bytes w[WORDS] = {{0}};
    cd_film_node *n = e->node == CD_FILM_NONE ? NULL : &s->nodes[e->node];
    s->us = e->us;
    s->violations += e->kind == '!' ? 1 : 0;
    if (n == NULL) {
        return;
    }
    u32 cnt = split(w, cd_film_words(f, e));
    if (e->block != CD_FILM_NONE) {
        count_fate(&s->fates[e->block], e->kind);
    }
    switch (e->kind) {
    case 'u':
        n->is_up = true;
        break;
    case 'd':
        n->is_up = false;
        n->undecided_cnt = 0;
        break;
    case 'b':
    case 's':
        add_undecided(n, e->block, 0);
        break;
    case 'x':
        n->refused++;
        break;
    case 'q':
    case 'Q':
        add_poll(n, e, number(w[1]), cnt > 3 ? count_list(w[3]) : 0);
        break;
    case 'v':
        n->votes++;
        add_vote(n, number(w[1]), number(w[2]), e->block);
        break;
    case 'f':
        n->failures++;
        add_vote(n, number(w[1]), number(w[2]), CD_FILM_NONE);
        break;
    case 'p':
        n->preferred = e->block;
        break;
    case 'c':
        add_undecided(n, e->block, (u32)number(w[2]));
        break;
    case 'a':
        n->accepted = e->block;
        n->height = number(w[2]);
        drop_undecided(n, e->block);
        break;
    case 'r':
        drop_undecided(n, e->block);
        break;
    case 'm':
        n->messages++;
        n->lost += cd_bytes_eq(w[4], cd_bytes_str("-")) ? 1 : 0;
        break;
    default:
        break;
    }
}

static void forward(cd_film *f, u64 step)
{
    while (f->now.step < step) {
        apply(f, &f->now, &f->events[f->now.step]);
        f->now.step++;
        if (f->picture_cnt < PICTURES && f->stride != 0 && f->now.step == f->stride * (f->picture_cnt + 1)) {
            cd_film_state *p = &f->pictures[f->picture_cnt++];
            *p = state_new(f);
            state_copy(p, &f->now, f);
        }
    }
}

const cd_film_state *cd_film_at(cd_film *f, u64 step)
{
    u32 i = f->picture_cnt;
    step = cd_min_u64(step, f->cnt);
    if (step < f->now.step) {
        while (i > 0 && f->pictures[i - 1].step > step) {
            i--;
        }
        if (i > 0) {
            state_copy(&f->now, &f->pictures[i - 1], f);
        } else {
            state_clear(&f->now, f);
        }
    }
    forward(f, step);
    return &f->now;
}

/* --- life --- */

static cd_err read_lines(cd_film *f, cd_errinfo *why)
{
    bool is_first = true;
    for (usize at = 0; at < f->text.n;) {
        const u8 *end = memchr(f->text.p + at, '\n', f->text.n - at);
        usize n = end == NULL ? f->text.n - at : (usize)(end - f->text.p) - at;
        cd_bytes line = cd_bytes_sub(f->text, at, n);
        if (is_first && !cd_bytes_eq(line, cd_bytes_str("candela-trace 1"))) {
            return cd_fail(why, CD_EFORMAT, "this is no trace: its first line is not \"candela-trace 1\"");
        }
        if (f->cnt == CD_FILM_EVENTS_MAX) {
            return cd_fail(why, CD_ELIMIT, "a trace of more than %d lines", CD_FILM_EVENTS_MAX);
        }
        f->strange += !is_first && n != 0 && !put_event(f, line) ? 1 : 0;
        is_first = false;
        at += n + 1;
    }
    return is_first ? cd_fail(why, CD_EFORMAT, "this is no trace: it is empty") : CD_OK;
}

cd_err cd_film_open(cd_film **out, cd_bytes text, cd_errinfo *why)
{
    cd_film *f = cd_new(cd_film);
    f->text = text;
    cd_hmap_init(&f->by_id, CD_HASH_KEYED, sizeof(u64), sizeof(u32));
    cd_err e = text.n > UINT32_MAX ? cd_fail(why, CD_ELIMIT, "a trace of more than 4 GiB") : read_lines(f, why);
    if (e != CD_OK) {
        cd_film_close(f);
        return e;
    }
    u64 bytes = f->node_cnt * sizeof(cd_film_node) + f->block_cnt * sizeof(cd_film_fate);
    u64 fits = bytes == 0 ? PICTURES : cd_min_u64(PICTURE_BYTES_MAX / bytes, PICTURES);
    f->stride = fits == 0 ? 0 : cd_max_u64(PICTURE_MIN, f->cnt / fits + 1);
    f->now = state_new(f);
    state_clear(&f->now, f);
    *out = f;
    return CD_OK;
}

void cd_film_close(cd_film *f)
{
    if (f == NULL) {
        return;
    }
    for (u32 i = 0; i < f->picture_cnt; i++) {
        cd_free(f->pictures[i].nodes);
        cd_free(f->pictures[i].fates);
    }
    cd_free(f->now.nodes);
    cd_free(f->now.fates);
    cd_free(f->events);
    cd_free(f->names);
    cd_free(f->blocks);
    cd_hmap_fini(&f->by_id);
    cd_free(f);
}

/* --- what there is --- */

u64 cd_film_steps(const cd_film *f)
{
    return f->cnt;
}

u64 cd_film_strange(const cd_film *f)
{
    return f->strange;
}

u32 cd_film_nodes(const cd_film *f)
{
    return f->node_cnt;
}

u32 cd_film_blocks(const cd_film *f)
{
    return f->block_cnt;
}

cd_bytes cd_film_node_name(const cd_film *f, u32 node, bool *is_liar)
{
    *is_liar = f->names[node].is_liar;
    return f->names[node].id;
}

const cd_film_block *cd_film_block_get(const cd_film *f, u32 block)
{
    return &f->blocks[block];
}

const cd_film_event *cd_film_event_get(const cd_film *f, u64 step)
{
    return &f->events[step];
}

cd_bytes cd_film_words(const cd_film *f, const cd_film_event *e)
{
    return cd_bytes_sub(f->text, e->at, e->n);
}

static bool fits(const cd_film_event *e, const char *kinds, u32 node)
{
    return strchr(kinds, e->kind) != NULL && (node == CD_FILM_NONE || e->node == node);
}

u64 cd_film_find(const cd_film *f, u64 step, bool forwards, const char *kinds, u32 node)
{
    if (forwards) {
        for (u64 i = step; i < f->cnt; i++) {
            if (fits(&f->events[i], kinds, node)) {
                return i + 1;
            }
        }
        return step;
    }
    for (u64 i = step; i > 1; i--) {
        if (fits(&f->events[i - 2], kinds, node)) {
            return i - 1;
        }
    }
    return step;
}
