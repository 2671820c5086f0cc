#include "warp/collect.h"

#include "base/mem/mem.h"
#include "base/mem/shared.h"
#include "crypto/hash/sha2.h"
#include "num/u256.h"
#include "warp/warp_priv.h"

#include <stdlib.h>

#define RETRY_NS (200 * CD_NS_PER_MS) /* before a validator is asked again; twice as long each time */

enum { WORDS_MAX = 120 };

/* What a member has given. */
typedef enum part_state {
    PART_NONE,
    PART_HELD, /* a signature that nobody has checked */
    PART_GOOD,
} part_state;

typedef struct part {
    part_state state;
    cd_bls_sig sig;
} part;

typedef enum source_state {
    SOURCE_WAITS, /* to be asked at at_ns or later */
    SOURCE_ASKED,
    SOURCE_DONE,
} source_state;

/* A node that may sign for a member. */
typedef struct source {
    cd_node_id node;
    usize member;
    u64 weight; /* the member's */
    source_state state;
    u32 tries;
    u64 at_ns;
} source;

struct cd_warp_wish {
    cd_list link;  /* in its gather's wishes, or among the settled */
    cd_warp *warp; /* NULL: it is gone */
    bool is_done;
    cd_shared *result; /* NULL: it failed */
    cd_err err;
    cd_errinfo why;
    void (*resume)(void *arg);
    void *arg;
};

typedef struct gather {
    cd_list link;
    cd_warp *warp;
    cd_hash32 key;
    cd_buf message;
    cd_buf request; /* the body that validators are sent */
    u64 quorum;
    cd_warp_signers *signers;
    part *parts;
    source *sources; /* heaviest member first */
    usize source_cnt;
    usize open;
    u64 weight; /* of members whose parts are held or good */
    u64 deadline_ns;
    u32 busy; /* calls that run; it is freed when none does */
    bool is_over;
    char refusal[WORDS_MAX + 64]; /* the last one, for who has to find out why */
    cd_list wishes;
} gather;

static u64 now_of(const cd_warp *w)
{
    return cd_clock_mono_ns(w->cfg.ctx->clock);
}

/* --- the end --- */

static void free_gather(gather *g)
{
    cd_list_del(&g->link);
    cd_gossip_forget(g->warp->cfg.gossip, g);
    cd_warp_signers_unref(g->signers);
    cd_buf_fini(&g->message);
    cd_buf_fini(&g->request);
    cd_free(g->parts);
    cd_free(g->sources);
    cd_free(g);
}

static void settle(cd_warp_wish *wish, cd_shared *result, cd_err err, const cd_errinfo *why)
{
    cd_list_del(&wish->link);
    cd_list_push_back(&wish->warp->settled, &wish->link);
    wish->is_done = true;
    wish->result = result == NULL ? NULL : cd_shared_ref(result);
    wish->err = err;
    wish->why = *why;
    if (wish->resume != NULL) {
        wish->resume(wish->arg);
    }
}

static void finish(gather *g, cd_shared *result, cd_err err, const cd_errinfo *why)
{
    g->is_over = true;
    g->warp->gather_cnt--;
    cd__warp_count(result != NULL ? g->warp->cnt_collected : g->warp->cnt_missed);
    cd_list_each_safe(it, &g->wishes)
    {
        settle(cd_list_of(it, cd_warp_wish, link), result, err, why);
    }
}

/* Leaves a call into g: whoever leaves last frees it. */
static void leave(gather *g)
{
    if (--g->busy == 0 && g->is_over) {
        free_gather(g);
    }
}

static void fail(gather *g)
{
    cd_errinfo why = {0};
    (void)cd_fail(&why, CD_EINVAL,
                  "failed to aggregate signatures: signature weight is insufficient: %llu*%llu > 100*%llu%s%s",
                  (unsigned long long)g->quorum, (unsigned long long)g->signers->set.total,
                  (unsigned long long)g->weight, g->refusal[0] == '\0' ? "" : "; last refusal: ", g->refusal);
    finish(g, NULL, CD_EINVAL, &why);
}

static void drop_shared(void *ctx, void *val)
{
    (void)ctx;
    cd_shared_unref(val);
}

static void succeed(gather *g, const cd_bls_sig *sum)
{
    const cd_warp_set *set = &g->signers->set;
    bool *flags = cd_new_array(bool, set->cnt + 1);
    cd_buf bits = {0};
    cd_buf text = {0};
    cd_warp_message m = {.text = cd_buf_bytes(&g->message)};
    for (usize i = 0; i < set->cnt; i++) {
        flags[i] = g->parts[i].state != PART_NONE;
    }
    cd_bits_put(&bits, flags, set->cnt);
    m.signers = cd_buf_bytes(&bits);
    cd_bls_sig_enc(m.signature, sum);
    cd_err e = cd_warp_unsigned_dec(&m.body, m.text);
    CD_ASSERT(e == CD_OK);
    cd_warp_message_enc(&text, &m);
    usize size = text.n;
    cd_shared *result = cd_shared_take(&text);
    finish(g, result, CD_OK, &(cd_errinfo){0});
    if (!cd_lru_put(g->warp->collected, &g->key, result, size)) {
        cd_shared_unref(result);
    }
    cd_buf_fini(&bits);
    cd_free(flags);
}

/* --- is it enough? --- */

static bool has_quorum(const gather *g)
{
    cd_u256 need;
    cd_u256 have;
    cd_u256 total = cd_u256_from_u64(g->signers->set.total);
    cd_u256 weight = cd_u256_from_u64(g->weight);
    (void)cd_u256_mul_u64(&need, &total, g->quorum);
    (void)cd_u256_mul_u64(&have, &weight, 100);
    return g->weight != 0 && !cd_u256_lt(&have, &need);
}

/* Sums up what there is; false: together the signatures are not valid. */
static bool sum_up(const gather *g, cd_bls_sig *sum)
{
    const cd_warp_set *set = &g->signers->set;
    cd_bls_sig *sigs = cd_new_array(cd_bls_sig, set->cnt);
    cd_bls_pk *keys = cd_new_array(cd_bls_pk, set->cnt);
    usize n = 0;
    for (usize i = 0; i < set->cnt; i++) {
        if (g->parts[i].state != PART_NONE) {
            sigs[n] = g->parts[i].sig;
            keys[n++] = set->members[i].key;
        }
    }
    bool ok = cd_bls_agg_sigs(sum, sigs, n) == CD_OK && cd_bls_fast_agg_verify(sum, cd_buf_bytes(&g->message), keys, n);
    cd_free(sigs);
    cd_free(keys);
    return ok;
}

/* Checks each alone. False: none was bad. */
static bool drop_bad(gather *g)
{
    const cd_warp_set *set = &g->signers->set;
    bool is_any = false;
    for (usize i = 0; i < set->cnt; i++) {
        part *p = &g->parts[i];
        if (p->state != PART_HELD) {
            continue;
        }
        if (cd_bls_verify(&p->sig, CD_BLS_POP, cd_buf_bytes(&g->message), &set->members[i].key)) {
            p->state = PART_GOOD;
        } else {
            p->state = PART_NONE;
            g->weight -= set->members[i].weight;
            is_any = true;
        }
    }
    return is_any;
}

/* All may be good, and their keys still cancel out: then others have to sign, too. */
static void check(gather *g)
{
    cd_bls_sig sum;
    bool has_changed = true;
    while (!g->is_over && has_changed && has_quorum(g)) {
        if (sum_up(g, &sum)) {
            succeed(g, &sum);
        } else {
            has_changed = drop_bad(g);
        }
    }
}

static void hold(gather *g, usize member, const cd_bls_sig *sig, part_state state)
{
    part *p = &g->parts[member];
    if (p->state == PART_NONE) {
        *p = (part){.state = state, .sig = *sig};
        g->weight += g->signers->set.members[member].weight;
    }
}

/* --- asking --- */

static source *source_of(gather *g, const cd_node_id *node)
{
    for (usize i = 0; i < g->source_cnt; i++) {
        if (g->sources[i].state == SOURCE_ASKED && memcmp(&g->sources[i].node, node, sizeof *node) == 0) {
            return &g->sources[i];
        }
    }
    return NULL;
}

/* A peer's words, as far as they are plain. */
static void note_refusal(gather *g, const cd_node_id *node, i32 code, cd_bytes words)
{
    cd_buf text = {0};
    cd_node_id_put(&text, node);
    cd_buf_fmt(&text, " %d: ", (int)code);
    for (usize i = 0; i < words.n && i < WORDS_MAX; i++) {
        cd_buf_u8(&text, words.p[i] >= ' ' && words.p[i] < 127 ? words.p[i] : (u8)'?');
    }
    usize n = (usize)cd_min_u64(text.n, sizeof g->refusal - 1);
    memcpy(g->refusal, text.p, n);
    g->refusal[n] = '\0';
    cd_buf_fini(&text);
}

static bool may_change(i32 code)
{
    return code != CD_P2P_APP_UNREGISTERED && code != CD_P2P_APP_NOT_VALIDATOR;
}

static void step(gather *g);

static void on_told(void *ctx, const cd_node_id *node, i32 code, cd_bytes answer)
{
    gather *g = ctx;
    source *s = source_of(g, node);
    cd_arena a = {0};
    cd_bls_sig sig;
    cd_p2p_sig_response r = {.signature = {.n = 0}};
    if (s == NULL || g->is_over) {
        return;
    }
    g->busy++;
    g->open--;
    s->state = SOURCE_DONE;
    if (code != CD_P2P_APP_OK) {
        note_refusal(g, node, code, answer);
        if (may_change(code) && ++s->tries < CD_WARP_TRIES) {
            s->state = SOURCE_WAITS;
            s->at_ns = now_of(g->warp) + (RETRY_NS << (s->tries - 1));
        }
    } else if (cd_proto_parse(&r, &cd_p2p_sig_response_table, &a, answer, NULL) == CD_OK &&
               r.signature.n == CD_WARP_SIG_LEN && cd_bls_sig_dec(&sig, r.signature) == CD_OK) {
        hold(g, s->member, &sig, PART_HELD);
        check(g);
    }
    cd_arena_fini(&a);
    step(g);
    leave(g);
}

static void ask(gather *g, source *s)
{
    s->state = SOURCE_ASKED;
    g->open++;
    if (!cd_gossip_ask(g->warp->cfg.gossip, &s->node, CD_P2P_HANDLER_SIGNATURE, cd_buf_bytes(&g->request), on_told,
                       g)) {
        s->state = SOURCE_DONE;
        g->open--;
    }
}

/* Asks whoever is due, and gives up when nobody is left. */
static void step(gather *g)
{
    u64 now = now_of(g->warp);
    bool has_more = false;
    g->busy++;
    for (usize i = 0; i < g->source_cnt && !g->is_over; i++) {
        source *s = &g->sources[i];
        if (s->state == SOURCE_WAITS && g->parts[s->member].state != PART_NONE) {
            continue; /* unless that part turns out to be bad */
        }
        if (s->state == SOURCE_WAITS && s->at_ns <= now && g->open < CD_WARP_OPEN_MAX) {
            ask(g, s);
        }
        has_more = has_more || s->state == SOURCE_WAITS;
    }
    if (!g->is_over && ((g->open == 0 && !has_more) || g->deadline_ns <= now)) {
        (void)drop_bad(g);
        fail(g);
    }
    leave(g);
}

static u64 due(const gather *g)
{
    u64 at = g->deadline_ns;
    for (usize i = 0; i < g->source_cnt && g->open < CD_WARP_OPEN_MAX; i++) {
        const source *s = &g->sources[i];
        if (s->state == SOURCE_WAITS && g->parts[s->member].state == PART_NONE) {
            at = cd_min_u64(at, s->at_ns);
        }
    }
    return at;
}

u64 cd__collect_wake(cd_warp *w)
{
    u64 next = UINT64_MAX;
    u64 now = now_of(w);
    cd_list_each_safe(it, &w->gathers)
    {
        gather *g = cd_list_of(it, gather, link);
        if (due(g) <= now) {
            step(g);
        }
    }
    cd_list_each(it, &w->gathers)
    {
        next = cd_min_u64(next, due(cd_list_of(it, gather, link)));
    }
    return next;
}

/* --- beginning --- */

static int heavier(const void *a, const void *b)
{
    const source *x = a;
    const source *y = b;
    return x->weight != y->weight ? (x->weight < y->weight ? 1 : -1)
                                  : (x->member > y->member) - (x->member < y->member);
}

static void list_sources(gather *g)
{
    const cd_warp_signers *s = g->signers;
    const cd_node_id *self = &g->warp->cfg.ctx->node_id;
    usize max = 0;
    for (usize i = 0; i < s->set.cnt; i++) {
        max += s->of[i].cnt;
    }
    g->sources = cd_new_array(source, max + 1);
    for (usize i = 0; i < s->set.cnt; i++) {
        for (usize k = 0; k < s->of[i].cnt; k++) {
            if (memcmp(&s->of[i].nodes[k], self, sizeof *self) != 0) {
                g->sources[g->source_cnt++] = (source){
                    .node = s->of[i].nodes[k],
                    .member = i,
                    .weight = s->set.members[i].weight,
                };
            }
        }
    }
    if (g->source_cnt != 0) {
        qsort(g->sources, g->source_cnt, sizeof *g->sources, heavier);
    }
}

/* This node's own signature, where its key is in the set. */
static void sign_here(gather *g, cd_bytes justification)
{
    const cd_vm_signer *signer = g->warp->cfg.ctx->signer;
    const cd_warp_set *set = &g->signers->set;
    u8 raw[CD_WARP_SIG_LEN];
    cd_bls_sig sig;
    cd_errinfo why = {0};
    for (usize i = 0; i < set->cnt && signer != NULL; i++) {
        u8 key[CD_BLS_PK_LEN];
        cd_bls_pk_compress(key, set->members[i].raw);
        if (memcmp(key, signer->key, sizeof key) != 0) {
            continue;
        }
        i32 code = cd_warp_sign(g->warp, raw, cd_buf_bytes(&g->message), justification, &why);
        if (code != 0) {
            note_refusal(g, &g->warp->cfg.ctx->node_id, code, cd_bytes_str(why.msg));
        } else if (cd_bls_sig_dec(&sig, cd_bytes_of(raw, sizeof raw)) == CD_OK) {
            hold(g, i, &sig, PART_HELD);
        }
    }
}

static void key_of(cd_hash32 *out, const cd_warp_want *want, const cd_hash32 *digest)
{
    cd_buf text = {0};
    cd_hash32 hash;
    cd_put_be64(cd_buf_extend(&text, 8), want->quorum);
    cd_sha256(&hash, want->message);
    cd_buf_put(&text, cd_bytes_of(hash.b, sizeof hash.b));
    cd_sha256(&hash, want->justification);
    cd_buf_put(&text, cd_bytes_of(hash.b, sizeof hash.b));
    cd_buf_put(&text, cd_bytes_of(digest->b, sizeof digest->b));
    cd_sha256(out, cd_buf_bytes(&text));
    cd_buf_fini(&text);
}

static gather *begin(cd_warp *w, const cd_warp_want *want, const cd_hash32 *key, cd_warp_signers *signers)
{
    const cd_p2p_sig_request req = {.message = want->message, .justification = want->justification};
    gather *g = cd_new(gather);
    g->warp = w;
    g->key = *key;
    g->quorum = want->quorum;
    g->signers = signers;
    g->parts = cd_new_array(part, signers->set.cnt);
    g->deadline_ns = now_of(w) + CD_WARP_COLLECT_MS * CD_NS_PER_MS;
    cd_buf_put(&g->message, want->message);
    cd_proto_put(&g->request, &cd_p2p_sig_request_table, &req);
    cd_list_init(&g->wishes);
    cd_list_push_back(&w->gathers, &g->link);
    w->gather_cnt++;
    list_sources(g);
    return g;
}

static gather *find(const cd_warp *w, const cd_hash32 *key)
{
    cd_list_each(it, &w->gathers)
    {
        gather *g = cd_list_of(it, gather, link);
        if (!g->is_over && cd_hash32_eq(&g->key, key)) {
            return g;
        }
    }
    return NULL;
}

static cd_warp_wish *wish_new(cd_warp *w)
{
    cd_warp_wish *wish = cd_new(cd_warp_wish);
    wish->warp = w;
    cd_list_init(&wish->link);
    w->wish_cnt++;
    return wish;
}

static cd_err signers_of(cd_warp *w, cd_warp_signers **out, const cd_hash32 *subnet, cd_errinfo *why)
{
    const cd_vm_validators *v = w->cfg.ctx->validators;
    u64 height = 0;
    cd_buf text = {0};
    cd_err e = v == NULL ? CD_ENOENT : v->current(v, &height);
    e = e != CD_OK ? e : cd_warp_sets_get(w->sets, out, subnet, height);
    if (e != CD_OK) {
        return cd_fail(why, e, "failed to get validator set: %s", cd_err_str(e));
    }
    if ((*out)->set.cnt == 0) {
        cd_warp_signers_unref(*out);
        cd_id_put(&text, subnet);
        (void)cd_fail(why, CD_ENOENT,
                      "cannot aggregate signatures from network with no validators (SubnetID: %s, Height: %llu)",
                      cd_buf_cstr(&text), (unsigned long long)height);
        cd_buf_fini(&text);
        return CD_ENOENT;
    }
    return CD_OK;
}

static cd_err check_want(const cd_warp *w, const cd_warp_want *want, cd_errinfo *why)
{
    cd_warp_unsigned m;
    cd_err e = cd_warp_unsigned_dec(&m, want->message);
    if (e != CD_OK) {
        return cd_fail(why, CD_EINVAL, "failed to parse warp unsigned message: %s", cd_err_str(e));
    }
    if (m.network_id != w->cfg.ctx->network_id) {
        return cd_fail(why, CD_EINVAL, "wrong networkID");
    }
    if (!cd_hash32_eq(&m.source_chain, &w->cfg.ctx->chain_id)) {
        return cd_fail(why, CD_EINVAL, "wrong sourceChainID");
    }
    return want->quorum >= 1 && want->quorum <= 100
               ? CD_OK
               : cd_fail(why, CD_EINVAL, "quorum of %llu per cent: 1 to 100 are possible",
                         (unsigned long long)want->quorum);
}

cd_err cd_warp_collect(cd_warp *w, cd_warp_wish **out, const cd_warp_want *want, cd_errinfo *why)
{
    cd_warp_signers *signers;
    cd_hash32 key;
    CD_TRY(check_want(w, want, why));
    if (w->wish_cnt >= CD_WARP_WISHES_MAX) {
        return cd_fail(why, CD_EFULL, "too many signatures are being collected");
    }
    CD_TRY(signers_of(w, &signers, &want->subnet, why));
    key_of(&key, want, &signers->digest);
    cd_shared *known = cd_lru_get(w->collected, &key);
    gather *g = known != NULL ? NULL : find(w, &key);
    if (known == NULL && g == NULL && w->gather_cnt >= CD_WARP_GATHERS_MAX) {
        cd_warp_signers_unref(signers);
        return cd_fail(why, CD_EFULL, "too many signatures are being collected");
    }
    *out = wish_new(w);
    if (known != NULL) {
        settle(*out, known, CD_OK, &(cd_errinfo){0});
    }
    if (known != NULL || g != NULL) {
        cd_warp_signers_unref(signers);
    }
    if (g != NULL) {
        cd_list_push_back(&g->wishes, &(*out)->link);
    }
    if (known == NULL && g == NULL) {
        g = begin(w, want, &key, signers);
        cd_list_push_back(&g->wishes, &(*out)->link);
        g->busy++;
        sign_here(g, want->justification);
        check(g);
        step(g);
        leave(g);
    }
    return CD_OK;
}

/* --- wishes --- */

bool cd_warp_wish_is_done(const cd_warp_wish *wish)
{
    return wish->is_done;
}

void cd_warp_wish_arm(cd_warp_wish *wish, void (*resume)(void *arg), void *arg)
{
    if (wish->is_done) {
        resume(arg);
    } else {
        wish->resume = resume;
        wish->arg = arg;
    }
}

void cd_warp_wish_drop(cd_warp_wish *wish)
{
    cd_list_del(&wish->link);
    if (wish->warp != NULL) {
        wish->warp->wish_cnt--;
    }
    cd_shared_unref(wish->result);
    cd_free(wish);
}

cd_err cd_warp_wish_take(cd_warp_wish *wish, cd_buf *out, cd_errinfo *why)
{
    cd_err e = wish->err;
    CD_ASSERT(wish->is_done);
    if (e == CD_OK) {
        cd_buf_put(out, cd_shared_bytes(wish->result));
    } else if (why != NULL) {
        *why = wish->why;
    }
    cd_warp_wish_drop(wish);
    return e;
}

/* --- life --- */

void cd__collect_init(cd_warp *w)
{
    cd_list_init(&w->gathers);
    cd_list_init(&w->settled);
    w->collected = cd_lru_new(CD_HASH_KEYED, sizeof(cd_hash32), CD_WARP_KEPT_BYTES, drop_shared, NULL);
}

void cd__collect_fini(cd_warp *w)
{
    cd_errinfo why = {0};
    (void)cd_fail(&why, CD_ECLOSED, "the chain is closing");
    cd_list_each_safe(it, &w->gathers)
    {
        gather *g = cd_list_of(it, gather, link);
        if (!g->is_over) {
            finish(g, NULL, CD_ECLOSED, &why);
        }
        free_gather(g);
    }
    cd_list_each_safe(it, &w->settled)
    {
        cd_list_of(it, cd_warp_wish, link)->warp = NULL;
        cd_list_del(it);
    }
    cd_lru_free(w->collected);
}
