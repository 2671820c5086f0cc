/* The sorted builder.
 *
 * Keys ascend, so only the branches on the way to the newest key are open; everything to their left
 * is closed. A closed node's encoding is written at once, with a hole where a child's hash will come:
 * sizes are known before hashes. Nodes wait in `text` as messages, listed by height above the nearest
 * node without waiting children; when the room is used up, the heights are hashed one after the other,
 * each in batches of independent messages, straight into the holes.
 *
 *   open:    frame[0] ── frame[1] ── frame[2] ── last item
 *               │           │
 *   closed:  kid refs: bytes, or a message whose `out` is the place in the frame or the hole */
#include "base/mem/mem.h"
#include "store/trie_build_priv.h"

enum {
    TEXT_MAX = 64 * 1024,
    MSG_MAX = 512,
    BATCH = 128,
    HEIGHTS = CD__MAX_NIBBLES * 2 + 2, /* a branch and an extension per nibble at most */
    NONE = 0xffff,
};

/* An encoding that waits to be hashed. */
typedef struct message {
    u8 *text;
    u8 *out;  /* 32 bytes */
    u8 *path; /* packed, only when nodes are emitted */
    u32 n;
    u16 path_n;
    u16 height;
    u16 next;
} message;

/* A closed subtree as its parent will refer to it; while msg is set, b is not valid yet. */
typedef struct sub {
    u16 msg;
    u8 n; /* 0: nothing */
    u8 b[32];
} sub;

/* A branch that is still open, `depth` nibbles below the root. */
typedef struct frame {
    u16 depth;
    bool has_value;
    sub kid[16];
    cd_buf value;
} frame;

struct cd_trie_build {
    cd_trie_node_fn *emit;
    void *ctx;
    cd_err err; /* why building failed: a subtree came out in the wrong place */

    /* The newest item, held until the next key tells how deep it lies. */
    bool has_last;
    bool is_subtree;
    u16 last_nibbles;
    u8 last[CD_TRIE_MAX_KEY + 1];
    cd_buf last_value;
    sub last_ref;

    u32 depth;                          /* frames open */
    frame *frames[CD__MAX_NIBBLES + 1]; /* made on first use, kept */

    usize text_used;
    u32 msg_cnt;
    u32 heights; /* heights that have messages */
    u16 by_height[HEIGHTS];
    message msg[MSG_MAX];
    cd_bytes in[BATCH];
    cd_hash32 hash[BATCH];
    u8 *out[BATCH];
    u8 text[TEXT_MAX];
};

cd_trie_build *cd_trie_build_new(cd_trie_node_fn *emit, void *ctx)
{
    cd_trie_build *b = cd_realloc(NULL, sizeof *b);
    memset(b, 0, offsetof(cd_trie_build, by_height));
    b->emit = emit;
    b->ctx = ctx;
    return b;
}

void cd_trie_build_free(cd_trie_build *b)
{
    if (b == NULL) {
        return;
    }
    for (usize i = 0; i < CD_COUNT(b->frames) && b->frames[i] != NULL; i++) {
        cd_buf_fini(&b->frames[i]->value);
        cd_free(b->frames[i]);
    }
    cd_buf_fini(&b->last_value);
    cd_free(b);
}

void cd_trie_build_reset(cd_trie_build *b)
{
    b->err = CD_OK;
    b->has_last = false;
    b->depth = 0;
    b->text_used = 0;
    b->msg_cnt = 0;
    b->heights = 0;
}

/* --- hashing --- */

static void emit_node(cd_trie_build *b, const u8 *path, usize path_n, cd_bytes node, const cd_hash32 *hash)
{
    u8 nib[CD__MAX_NIBBLES];
    for (usize i = 0; i < path_n; i++) {
        nib[i] = (u8)cd__nib(path, path_n, i);
    }
    b->emit(b->ctx, cd_bytes_of(nib, path_n), node, hash);
}

static void hash_batch(cd_trie_build *b, const u16 *idx, usize cnt)
{
    cd_keccak256_many(b->hash, b->in, cnt);
    for (usize i = 0; i < cnt; i++) {
        const message *m = &b->msg[idx[i]];
        memcpy(m->out, b->hash[i].b, 32);
        if (b->emit != NULL) {
            emit_node(b, m->path, m->path_n, b->in[i], &b->hash[i]);
        }
    }
}

/* Hashes all waiting messages and empties the room. */
static void flush(cd_trie_build *b)
{
    u16 idx[BATCH];
    for (u32 h = 0; h < b->heights; h++) {
        usize cnt = 0;
        for (u16 i = b->by_height[h]; i != NONE; i = b->msg[i].next) {
            idx[cnt] = i;
            b->in[cnt] = cd_bytes_of(b->msg[i].text, b->msg[i].n);
            if (++cnt == BATCH) {
                hash_batch(b, idx, cnt);
                cnt = 0;
            }
        }
        hash_batch(b, idx, cnt);
    }
    b->heights = 0;
    b->msg_cnt = 0;
    b->text_used = 0;
    for (u32 i = 0; i < b->depth; i++) {
        for (unsigned k = 0; k < 16; k++) {
            b->frames[i]->kid[k].msg = NONE;
        }
    }
}

/* Makes room for an encoding of n bytes at most; false when it is too big to wait. */
static bool room(cd_trie_build *b, usize n)
{
    usize path = b->emit != NULL ? CD_TRIE_MAX_KEY : 0;
    if (n + path > TEXT_MAX - b->text_used || b->msg_cnt == MSG_MAX) {
        flush(b);
    }
    return n + path <= TEXT_MAX;
}

/* Gives the reference by which the parent knows the n bytes at the end of text: a message, or the bytes. */
static void finish(cd_trie_build *b, sub *out, usize n, usize path_n, u16 height)
{
    u8 *text = b->text + b->text_used;
    if (n < 32) {
        out->msg = NONE;
        out->n = (u8)n;
        memcpy(out->b, text, n);
        return;
    }
    u16 i = (u16)b->msg_cnt++;
    message *m = &b->msg[i];
    *m = (message){.text = text, .out = out->b, .n = (u32)n, .height = height};
    b->text_used += n;
    if (b->emit != NULL) {
        m->path = b->text + b->text_used;
        m->path_n = (u16)path_n;
        memcpy(m->path, b->last, (path_n + 1) / 2);
        b->text_used += (path_n + 1) / 2;
    }
    while (b->heights <= height) {
        b->by_height[b->heights++] = NONE;
    }
    m->next = b->by_height[height];
    b->by_height[height] = i;
    out->msg = i;
    out->n = 32;
}

/* Hashes an encoding that does not fit into the room. */
static void finish_big(cd_trie_build *b, sub *out, cd_bytes enc, usize path_n)
{
    cd_hash32 hash;
    cd_keccak256(&hash, enc);
    memcpy(out->b, hash.b, 32);
    out->n = 32;
    out->msg = NONE;
    if (b->emit != NULL) {
        emit_node(b, b->last, path_n, enc, &hash);
    }
}

/* --- closing nodes --- */

/* Writes the reference to s at p; a waiting hash will be written there. */
static u8 *put_sub(cd_trie_build *b, u8 *p, const sub *s)
{
    if (s->msg == NONE) {
        return cd__enc_put(p, s->b, s->n);
    }
    *p++ = 0xa0;
    b->msg[s->msg].out = p;
    return p + 32;
}

static usize sub_size(const sub *s)
{
    return s->n == 32 ? 33u : s->n == 0 ? 1u : s->n;
}

static u16 height_above(const cd_trie_build *b, const sub *s, u16 so_far)
{
    if (s->msg == NONE || b->msg[s->msg].height < so_far) {
        return so_far;
    }
    return (u16)(b->msg[s->msg].height + 1);
}

/* Moves s; a waiting hash will arrive at the new place. */
static void move_sub(cd_trie_build *b, sub *to, const sub *from)
{
    *to = *from;
    if (to->msg != NONE) {
        b->msg[to->msg].out = to->b;
    }
}

/* Closes the last item's leaf, which begins at nibble d of its key. */
static void close_leaf(cd_trie_build *b, sub *out, usize d)
{
    cd_bytes key = cd_bytes_of(b->last, b->last_nibbles / 2u);
    cd_bytes value = cd_buf_bytes(&b->last_value);
    usize bound = key.n + value.n + CD__LEAF_EXTRA;
    if (room(b, bound)) {
        u8 *p = b->text + b->text_used;
        finish(b, out, (usize)(cd__leaf_put(p, key, value, d) - p), d, 0);
        return;
    }
    cd_buf enc = {0};
    u8 *p = cd_buf_reserve(&enc, bound);
    finish_big(b, out, cd_bytes_of(p, (usize)(cd__leaf_put(p, key, value, d) - p)), d);
    cd_buf_fini(&enc);
}

static usize branch_payload(const frame *f)
{
    usize n = f->has_value ? cd__str_size(cd_buf_bytes(&f->value)) : 1;
    for (unsigned i = 0; i < 16; i++) {
        n += sub_size(&f->kid[i]);
    }
    return n;
}

static u8 *branch_put(cd_trie_build *b, u8 *p, const frame *f, usize payload)
{
    p = cd__hdr_put(p, 0xc0, payload);
    for (unsigned i = 0; i < 16; i++) {
        if (f->kid[i].n == 0) {
            *p++ = 0x80;
        } else {
            p = put_sub(b, p, &f->kid[i]);
        }
    }
    if (!f->has_value) {
        *p++ = 0x80;
        return p;
    }
    return cd__str_put(p, cd_buf_bytes(&f->value));
}

/* Closes the newest frame, with an extension above it that begins at nibble d. */
static void close_branch(cd_trie_build *b, sub *out, usize d)
{
    const frame *f = b->frames[b->depth - 1];
    usize payload = branch_payload(f);
    sub inner;
    if (room(b, payload + 9)) {
        u16 height = 0;
        for (unsigned i = 0; i < 16; i++) {
            height = height_above(b, &f->kid[i], height);
        }
        u8 *p = b->text + b->text_used;
        finish(b, &inner, (usize)(branch_put(b, p, f, payload) - p), f->depth, height);
    } else {
        cd_buf enc = {0};
        u8 *p = cd_buf_reserve(&enc, payload + 9);
        cd_bytes whole = cd_bytes_of(p, (usize)(branch_put(b, p, f, payload) - p));
        finish_big(b, &inner, whole, f->depth);
        cd_buf_fini(&enc);
    }
    b->depth--;
    if (f->depth == d) {
        move_sub(b, out, &inner);
        return;
    }
    if (inner.msg != NONE && (CD__EXT_MAX + CD_TRIE_MAX_KEY > TEXT_MAX - b->text_used || b->msg_cnt == MSG_MAX)) {
        b->msg[inner.msg].out = inner.b;
        flush(b);
        inner.msg = NONE;
    }
    bool fits = room(b, CD__EXT_MAX);
    CD_ASSERT(fits);
    CD_ASSERT(f->depth > d);
    usize skip_n = f->depth - d;
    u8 nib[CD__MAX_NIBBLES];
    for (usize i = 0; i < skip_n; i++) {
        nib[i] = (u8)cd__nib(b->last, b->last_nibbles, d + i);
    }
    cd__enc enc = {.n = inner.n};
    memcpy(enc.b, inner.b, inner.msg == NONE ? inner.n : 0);
    u8 *p = b->text + b->text_used;
    u8 *end = cd__ext_put(p, nib, skip_n, &enc);
    u16 height = 0;
    if (inner.msg != NONE) {
        b->msg[inner.msg].out = end - 32;
        height = height_above(b, &inner, 0);
    }
    finish(b, out, (usize)(end - p), d, height);
}

static frame *push_frame(cd_trie_build *b, usize depth)
{
    CD_ASSERT(b->depth < CD_COUNT(b->frames));
    frame *f = b->frames[b->depth];
    if (f == NULL) {
        f = cd_new(frame);
        b->frames[b->depth] = f;
    }
    b->depth++;
    f->depth = (u16)depth;
    f->has_value = false;
    for (unsigned i = 0; i < 16; i++) {
        f->kid[i].n = 0;
        f->kid[i].msg = NONE;
    }
    return f;
}

/* Hangs the last item into the newest frame. */
static void attach_last(cd_trie_build *b)
{
    frame *f = b->frames[b->depth - 1];
    unsigned n = cd__nib(b->last, b->last_nibbles, f->depth);
    if (b->is_subtree) {
        if (n == CD__END || f->depth + 1u != b->last_nibbles) {
            b->err = CD_EPROOF;
            return;
        }
        move_sub(b, &f->kid[n], &b->last_ref);
        return;
    }
    if (n == CD__END) {
        cd_buf value = f->value;
        f->value = b->last_value;
        f->has_value = true;
        b->last_value = value;
        return;
    }
    sub leaf;
    close_leaf(b, &leaf, f->depth + 1u);
    move_sub(b, &f->kid[n], &leaf);
}

/* The next key leaves the last one at nibble fork: closes what ends there. */
static void advance(cd_trie_build *b, usize fork)
{
    if (b->depth == 0 || b->frames[b->depth - 1]->depth < fork) {
        push_frame(b, fork);
        attach_last(b);
        return;
    }
    attach_last(b);
    while (b->frames[b->depth - 1]->depth > fork) {
        usize above = b->depth < 2 ? 0 : b->frames[b->depth - 2]->depth + 1u;
        sub closed;
        if (above <= fork) {
            close_branch(b, &closed, fork + 1);
            push_frame(b, fork);
        } else {
            close_branch(b, &closed, above);
        }
        frame *f = b->frames[b->depth - 1];
        unsigned n = cd__nib(b->last, b->last_nibbles, f->depth);
        move_sub(b, &f->kid[n], &closed);
    }
}

/* --- adding --- */

/* The first nibble in which the packed paths differ, at most the shorter one's end. */
static usize fork_of(const u8 *a, usize a_n, const u8 *b, usize b_n)
{
    usize n = a_n < b_n ? a_n : b_n;
    usize i = 0;
    for (; 2 * i + 16 <= n; i += 8) {
        u64 diff = cd_be64(a + i) ^ cd_be64(b + i);
        if (diff != 0) {
            return 2 * i + (usize)__builtin_clzll(diff) / 4;
        }
    }
    usize d = 2 * i;
    while (d < n && cd__nib(a, n, d) == cd__nib(b, n, d)) {
        d++;
    }
    return d;
}

/* Closes what lies before the new path and makes it the last one. */
static cd_err step(cd_trie_build *b, const u8 *path, usize nibbles)
{
    if (b->has_last) {
        usize fork = fork_of(b->last, b->last_nibbles, path, nibbles);
        if (fork == nibbles ||
            (fork < b->last_nibbles && cd__nib(b->last, b->last_nibbles, fork) > cd__nib(path, nibbles, fork))) {
            return CD_EINVAL;
        }
        advance(b, fork);
    }
    b->has_last = true;
    b->last_nibbles = (u16)nibbles;
    memcpy(b->last, path, (nibbles + 1) / 2);
    return CD_OK;
}

cd_err cd_trie_build_add(cd_trie_build *b, cd_bytes key, cd_bytes value)
{
    if (key.n > CD_TRIE_MAX_KEY || value.n > CD_KV_MAX_VALUE / 2) {
        return CD_ELIMIT;
    }
    if (value.n == 0) {
        return CD_EINVAL;
    }
    CD_TRY(step(b, key.p, 2 * key.n));
    b->is_subtree = false;
    cd_buf_clear(&b->last_value);
    cd_buf_put(&b->last_value, value);
    return CD_OK;
}

cd_err cd__build_subtree(cd_trie_build *b, const u8 *path, usize nibbles, const cd__raw_ref *ref)
{
    CD_TRY(step(b, path, nibbles));
    b->is_subtree = true;
    b->last_ref = (sub){.msg = NONE, .n = ref->n};
    memcpy(b->last_ref.b, ref->p, ref->n);
    return CD_OK;
}

cd_err cd__build_end(cd_trie_build *b, cd_hash32 *out)
{
    if (!b->has_last) {
        *out = CD_TRIE_EMPTY_ROOT;
        return CD_OK;
    }
    sub root;
    if (b->depth != 0) {
        attach_last(b);
        while (b->depth > 1) {
            sub closed;
            frame *above = b->frames[b->depth - 2];
            close_branch(b, &closed, above->depth + 1u);
            move_sub(b, &above->kid[cd__nib(b->last, b->last_nibbles, above->depth)], &closed);
        }
        close_branch(b, &root, 0);
    } else if (b->is_subtree) {
        root = b->last_ref;
        b->err = b->last_nibbles == 0 ? b->err : CD_EPROOF;
    } else {
        close_leaf(b, &root, 0);
    }
    if (root.msg != NONE) {
        b->msg[root.msg].out = root.b;
    }
    flush(b);
    if (root.n < 32) {
        sub hashed;
        finish_big(b, &hashed, cd_bytes_of(root.b, root.n), 0);
        memcpy(root.b, hashed.b, 32);
    }
    memcpy(out->b, root.b, 32);
    b->has_last = false;
    return b->err;
}

void cd_trie_build_root(cd_trie_build *b, cd_hash32 *out)
{
    cd_err err = cd__build_end(b, out);
    CD_ASSERT(err == CD_OK); /* only subtrees can be misplaced */
}

/* --- lists --- */

static void list_add(cd_trie_build *b, const cd_bytes *items, usize i)
{
    u8 key[1 + sizeof i];
    usize n = 0;
    if (i == 0) {
        key[n++] = 0x80;
    } else if (i < 0x80) {
        key[n++] = (u8)i;
    } else {
        usize size = (71u - (usize)__builtin_clzll(i)) / 8;
        key[n++] = (u8)(0x80 + size);
        while (size-- > 0) {
            key[n++] = (u8)(i >> (8 * size));
        }
    }
    cd_err err = cd_trie_build_add(b, cd_bytes_of(key, n), items[i]);
    CD_ASSERT(err == CD_OK);
}

void cd_trie_list_root(cd_hash32 *out, const cd_bytes *items, usize cnt)
{
    cd_trie_build *b = cd_trie_build_new(NULL, NULL);
    /* The keys in order: 01 .. 7f, 80 (index 0), 8180 .. */
    for (usize i = 1; i < cnt && i < 0x80; i++) {
        list_add(b, items, i);
    }
    if (cnt != 0) {
        list_add(b, items, 0);
    }
    for (usize i = 0x80; i < cnt; i++) {
        list_add(b, items, i);
    }
    cd_trie_build_root(b, out);
    cd_trie_build_free(b);
}

void cd_trie_node_put(cd_kv_batch *batch, cd_bytes ns, cd_trie_scheme scheme, cd_bytes path, cd_bytes node,
                      const cd_hash32 *hash)
{
    CD_ASSERT(path.n <= CD__MAX_NIBBLES);
    u8 packed[CD_TRIE_MAX_KEY + 1] = {0};
    for (usize i = 0; i < path.n; i++) {
        cd__path_set(packed, i, path.p[i]);
    }
    u8 key[CD__MAX_STORE_KEY];
    usize key_n = cd__store_key(key, scheme, packed, path.n, hash->b);
    memcpy(cd_kv_batch_put2(batch, ns, cd_bytes_of(key, key_n), node.n), node.p, node.n);
}
