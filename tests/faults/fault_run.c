/* Runs a scripted chain of 200 blocks - transfers, deployments, storage writes, state edits, empty blocks - and then
 * runs it again for every I/O call that it made, with that call failing: EIO, ENOSPC, EINTR, a short transfer, a
 * kill before, behind or in the middle of it. The script is cut into segments, each a life of the process, so that a
 * run repeats only the one its call lies in; the cases are shared out among two processes. After every fault:
 *
 *   - what the faulty process served as accepted, and the transactions that it acknowledged, are there in the next one;
 *   - the next one opens without an operator and arrives at the same blocks;
 *   - the root recomputed from the flat tables is the head's;
 *   - an interrupted or short call was not noticed at all.
 *
 * usage: fault_run DIR [CASES [FIRST]]   DIR (absolute) is made, used and removed; default 200 cases, spread over all,
 * or all when CANDELA_TEST_FULL is 1. FIRST: cases FIRST .. FIRST + CASES of the full list. */
#include "io_faults.h"

#include "base/num_text.h"
#include "base/os/fileio.h"
#include "evm/evm.h"
#include "tests/e2e/chain_node.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    BLOCKS = 200,
    SEGMENT = 20,
    SEGMENTS = BLOCKS / SEGMENT,
    EMPTY_FROM = 61, /* a run of empty blocks lies here */
    EMPTY_CNT = 10,
    EMPTY_GAP = 2, /* seconds between them */
    SENDERS = NODE_SENDERS,
    PER_BLOCK = 4,
    RETRIES = 2,
    LIMIT_S = 300, /* of one life, on a machine that does other things too */
    SAMPLE = 200,
    WORKERS = 2,
};

/* How a life ended. */
enum { DONE = 0, WRONG = 1, GAVE_UP = 3 };

/* What a life leaves behind whatever becomes of it. */
typedef struct shared {
    io_state io;
    u64 head;                   /* highest block served as accepted */
    u64 acked[SENDERS];         /* next nonce of each sender, what waits included */
    u32 errors;                 /* steps that failed */
    cd_errinfo why;             /* the last failure */
    cd_hash32 hash[BLOCKS + 1]; /* of the blocks, from the run without faults */
} shared;

typedef struct script {
    cd_buf genesis;
    cd_arena arena;
    node_accounts accounts;
    cd_bytes tx[BLOCKS + 1][PER_BLOCK];
    u32 from[BLOCKS + 1][PER_BLOCK];
    u64 nonce[BLOCKS + 1][PER_BLOCK];
    u32 cnt[BLOCKS + 1];
} script;

typedef struct life {
    const script *sc;
    shared *sh;
    chain_node node;
} life;

/* --- the script --- */

/* Stores word 1 of its input under word 0. */
static const u8 store_code[] = {0x60, 0x20, 0x35, 0x60, 0x00, 0x35, 0x55, 0x00};

static void put_word(cd_buf *b, u64 v)
{
    u8 word[32];
    cd_u256 x = cd_u256_from_u64(v);
    cd_u256_store_be(word, &x);
    cd_buf_put(b, cd_bytes_of(word, 32));
}

/* The i-th transaction of block h: a deployment now and then, else storage written, rewritten, cleared, or a
 * transfer. */
static void fill(cd_tx *tx, cd_buf *data, const cd_addr20 *store, u64 h, u32 i)
{
    tx->to = (cd_addr20){.b = {0x77, (u8)(h % 50)}};
    tx->value = cd_u256_from_u64(h);
    tx->gas_limit = 300000;
    if (i == 0 && h % 10 == 1) {
        static const u8 head[] = {0x67};
        static const u8 tail[] = {0x60, 0x00, 0x52, 0x60, 0x08, 0x60, 0x18, 0xf3};
        tx->is_create = true;
        tx->value = (cd_u256){0};
        cd_buf_put(data, cd_bytes_of(head, sizeof head));
        cd_buf_put(data, cd_bytes_of(store_code, sizeof store_code));
        cd_buf_put(data, cd_bytes_of(tail, sizeof tail));
    } else if (i % 2 == 0) {
        u64 slot = h % 3 == 2 ? h - 1 : h;
        tx->to = *store;
        tx->value = (cd_u256){0};
        put_word(data, slot * PER_BLOCK + i);
        put_word(data, h % 6 == 5 ? 0 : h);
    }
    tx->data = cd_buf_bytes(data);
}

static cd_err script_make(script *sc)
{
    u64 nonce[SENDERS] = {0};
    cd_addr20 store = {0};
    CD_TRY(node_accounts_make(&sc->accounts));
    for (u64 h = 1; h <= BLOCKS; h++) {
        bool is_empty = h >= EMPTY_FROM && h < EMPTY_FROM + EMPTY_CNT;
        sc->cnt[h] = is_empty ? 0 : 1 + (u32)h % PER_BLOCK;
        for (u32 i = 0; i < sc->cnt[h]; i++) {
            u32 who = (u32)(h + i) % SENDERS;
            cd_buf data = {0};
            cd_buf raw = {0};
            cd_tx tx = node_tx(nonce[who]);
            fill(&tx, &data, &store, h, i);
            CD_TRY(cd_tx_sign(&tx, sc->accounts.secret[who]));
            cd_tx_enc(&raw, &tx);
            if (tx.is_create) {
                cd_evm_create_addr(&store, &sc->accounts.addr[who], nonce[who]);
            }
            sc->tx[h][i] = cd_arena_dup(&sc->arena, cd_buf_bytes(&raw));
            sc->from[h][i] = who;
            sc->nonce[h][i] = nonce[who]++;
            cd_buf_fini(&data);
            cd_buf_fini(&raw);
        }
    }
    return cd_dev_genesis(&sc->genesis, NODE_CHAIN_ID, NODE_START);
}

/* --- a life --- */

static u64 head_of(const life *l)
{
    return cd_chain_head(l->node.chain)->header.number;
}

/* The nonce that a sender's next transaction gets, what waits included. */
static u64 next_nonce(const life *l, u32 who)
{
    return cd_txpool_nonce(l->node.pool, &l->sc->accounts.addr[who], l->node.nonce[who]);
}

/* Tells what is served and acknowledged. */
static void tell(life *l)
{
    l->sh->head = head_of(l);
    for (u32 i = 0; i < SENDERS; i++) {
        l->sh->acked[i] = next_nonce(l, i);
    }
}

static cd_err open_node(life *l, const char *dir, cd_errinfo *why)
{
    node_cfg cfg = {
        .dir = dir,
        .genesis = cd_buf_bytes(&l->sc->genesis),
        .accounts = &l->sc->accounts,
        .sync = CD_KV_SYNC,
    };
    return node_open(&l->node, &cfg, why);
}

/* Does what leads to the next block, from wherever in it an earlier life ended. */
static cd_err step(life *l, cd_errinfo *why)
{
    u64 h = head_of(l) + 1;
    if (h >= EMPTY_FROM && h < EMPTY_FROM + EMPTY_CNT) {
        u64 gap = h == EMPTY_FROM ? 1 : EMPTY_GAP;
        cd_header_wish wish = {.time = cd_chain_head(l->node.chain)->header.time + gap};
        return cd_chain_mine_empty(l->node.chain, EMPTY_FROM + EMPTY_CNT - h, EMPTY_GAP, &wish, why);
    }
    if (h % 10 == 5) {
        CD_TRY(cd_chain_edit(l->node.chain, node_set_balance, &h, why));
        CD_TRY(node_follow(&l->node));
    }
    for (u32 i = 0; i < l->sc->cnt[h]; i++) {
        u32 who = l->sc->from[h][i];
        cd_hash32 hash;
        if (next_nonce(l, who) > l->sc->nonce[h][i]) {
            continue;
        }
        CD_TRY(cd_txpool_add(l->node.pool, &hash, l->sc->tx[h][i], why));
        tell(l);
    }
    return node_mine(&l->node, why);
}

/* --- lives --- */

static int wrong(shared *sh, u64 height, const char *what)
{
    (void)cd_fail(&sh->why, CD_ECORRUPT, "at block %llu: %s", (unsigned long long)height, what);
    return WRONG;
}

/* Notes the hashes of the blocks from number on. */
static cd_err note_hashes(life *l, u64 number)
{
    cd_arena a = {0};
    cd_block b;
    cd_err e = CD_OK;
    for (; e == CD_OK && number <= head_of(l); number++) {
        e = cd_chain_block_at(l->node.chain, &b, NULL, &a, number);
        if (e == CD_OK) {
            l->sh->hash[number] = b.hash;
        }
    }
    cd_arena_fini(&a);
    return e;
}

/* Steps up to block last. record: the blocks are noted, else compared. */
static int work(life *l, u64 last, bool record)
{
    shared *sh = l->sh;
    u32 tries = 0;
    tell(l);
    if (record && sh->head == 0) {
        cd_chain_genesis_hash(l->node.chain, &sh->hash[0]);
    }
    while (head_of(l) < last) {
        cd_errinfo why = {0};
        u64 from = head_of(l) + 1;
        cd_err e = step(l, &why);
        const cd_block *head = cd_chain_head(l->node.chain);
        cd_err followed = node_follow(&l->node);
        tell(l);
        if (record) {
            e = e == CD_OK ? note_hashes(l, from) : e;
        } else if (!cd_hash32_eq(&sh->hash[head->header.number], &head->hash)) {
            return wrong(sh, head->header.number, "another block than without the fault");
        }
        if (e != CD_OK || followed != CD_OK) {
            sh->why = why;
            if (why.msg[0] == '\0') {
                (void)cd_fail(&sh->why, e, "step: %s, %s", cd_err_str(e), cd_err_str(followed));
            }
            sh->errors++;
            if (tries++ == RETRIES) {
                return GAVE_UP;
            }
        }
    }
    return DONE;
}

/* One life up to block last, with the planned fault. */
static int live(const script *sc, shared *sh, const char *dir, u64 last, bool record)
{
    life l = {.sc = sc, .sh = sh};
    cd_errinfo why = {0};
    io_faults_watch(dir, &sh->io);
    cd_err e = open_node(&l, dir, &why);
    int rc = GAVE_UP;
    if (e == CD_OK) {
        rc = work(&l, last, record);
    } else {
        sh->errors++;
        (void)cd_fail(&sh->why, e, "open: %s: %s", cd_err_name(e), why.msg);
    }
    node_close(&l.node);
    return rc;
}

static cd_err check_state(life *l, cd_errinfo *why)
{
    cd_arena a = {0};
    cd_view *v = cd_view_newest(l->node.chain);
    cd_err e = CD_OK;
    for (u64 h = cd_view_head(v)->block.header.number; h > 0 && e == CD_OK; h--) {
        const cd_accepted *acc = NULL;
        e = cd_view_block(v, &acc, &a, h);
        bool is_same = e == CD_OK && acc->block.tx_cnt == l->sc->cnt[h];
        for (usize i = 0; is_same && i < acc->block.tx_cnt; i++) {
            is_same = acc->receipts[i].ok;
        }
        if (!is_same) {
            e = cd_fail(why, CD_ECORRUPT, "block %llu or its receipts", (unsigned long long)h);
        }
    }
    cd_view_unref(v);
    cd_arena_fini(&a);
    CD_TRY(e);
    return node_check_root(&l->node, why);
}

/* The life after a fault: finds everything, goes on to block last without an error. */
static int next_life(const script *sc, shared *sh, const char *dir, u64 last)
{
    life l = {.sc = sc, .sh = sh};
    cd_errinfo why = {0};
    u64 head = sh->head;
    u64 acked[SENDERS];
    memcpy(acked, sh->acked, sizeof acked);
    sh->errors = 0;
    cd_err e = open_node(&l, dir, &why);
    int rc = WRONG;
    if (e != CD_OK) {
        (void)cd_fail(&sh->why, e, "does not open: %s: %s", cd_err_name(e), why.msg);
        goto out;
    }
    if (head_of(&l) < head) {
        rc = wrong(sh, head, "an accepted block is gone");
        goto out;
    }
    for (u32 i = 0; i < SENDERS; i++) {
        if (next_nonce(&l, i) < acked[i]) {
            rc = wrong(sh, head, "an acknowledged transaction is gone");
            goto out;
        }
    }
    rc = work(&l, last, false);
    if (rc == DONE && sh->errors != 0) {
        rc = WRONG;
    }
    if (rc == DONE) {
        e = check_state(&l, &why);
        if (e != CD_OK) {
            sh->why = why;
            rc = WRONG;
        }
    }
out:
    node_close(&l.node);
    return rc;
}

/* --- directories --- */

static void join(cd_buf *out, const char *dir, const char *name)
{
    cd_buf_clear(out);
    cd_buf_fmt(out, "%s/%s", dir, name);
}

/* Copies the files of a directory without sub-directories; one that is absent stays so. */
static cd_err copy_dir(const char *to, const char *from, cd_errinfo *why)
{
    cd_buf src = {0};
    cd_buf dst = {0};
    cd_buf data = {0};
    cd_err e = cd_fs_remove_tree(cd_fs_real(), to, why);
    DIR *d = e == CD_OK ? opendir(from) : NULL;
    if (d != NULL) {
        e = cd_fs_mkdirs(cd_fs_real(), to, 0755, why);
    }
    for (const struct dirent *x; e == CD_OK && d != NULL && (x = readdir(d)) != NULL;) {
        if (x->d_name[0] == '.') {
            continue;
        }
        join(&src, from, x->d_name);
        join(&dst, to, x->d_name);
        cd_buf_clear(&data);
        e = cd_fs_read_file(cd_fs_real(), &data, cd_buf_cstr(&src), 64 << 20, why);
        if (e == CD_OK) {
            e = cd_fs_replace_file(cd_fs_real(), cd_buf_cstr(&dst), cd_buf_bytes(&data), 0644, why);
        }
    }
    if (d != NULL) {
        (void)closedir(d);
    }
    cd_buf_fini(&src);
    cd_buf_fini(&dst);
    cd_buf_fini(&data);
    return e;
}

typedef struct run {
    script sc;
    shared *sh;
    cd_buf base; /* prefix of the directories at the segments' beginnings */
    cd_buf work;
} run;

static cd_err copy_segment(run *r, u32 segment, bool save, cd_errinfo *why)
{
    cd_buf at = {0};
    cd_buf_fmt(&at, "%s%u", cd_buf_cstr(&r->base), segment);
    const char *saved = cd_buf_cstr(&at);
    const char *work_dir = cd_buf_cstr(&r->work);
    cd_err e = save ? copy_dir(saved, work_dir, why) : copy_dir(work_dir, saved, why);
    cd_buf_fini(&at);
    return e;
}

/* --- the list of cases --- */

typedef struct fault_case {
    u16 segment;
    u16 lane;
    u16 at;
    u16 fault;
} fault_case;

/* Runs fn in a process of its own: its exit status as waitpid gives it. */
static int in_child(run *r, u32 segment, bool is_faulty, bool record)
{
    u64 last = ((u64)segment + 1) * SEGMENT;
    (void)fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        const char *dir = cd_buf_cstr(&r->work);
        (void)alarm(LIMIT_S);
        int rc = is_faulty ? live(&r->sc, r->sh, dir, last, record) : next_life(&r->sc, r->sh, dir, last);
        (void)fflush(NULL);
        _exit(rc);
    }
    int status = -1;
    (void)waitpid(pid, &status, 0);
    return status;
}

/* The run without faults: notes blocks, directories and calls; appends the cases. */
static cd_err record(run *r, cd_buf *cases, cd_errinfo *why)
{
    for (u32 s = 0; s < SEGMENTS; s++) {
        CD_TRY(copy_segment(r, s, false, why));
        r->sh->io = (io_state){.fault = IO_NONE};
        int status = in_child(r, s, true, true);
        if (!WIFEXITED(status) || WEXITSTATUS(status) != DONE) {
            return cd_fail(why, CD_EINVAL, "the run without faults ended with %d: %s", status, r->sh->why.msg);
        }
        CD_TRY(copy_segment(r, s + 1, true, why));
        for (u32 lane = 0; lane < IO_LANES; lane++) {
            u32 cnt = r->sh->io.seen[lane];
            if (cnt > IO_LOG) {
                return cd_fail(why, CD_ELIMIT, "%u calls in a segment", cnt);
            }
            for (u32 at = 1; at <= cnt; at++) {
                for (u32 f = IO_EIO; f < IO_FAULTS; f++) {
                    fault_case c = {(u16)s, (u16)lane, (u16)at, (u16)f};
                    if (io_fault_fits((io_fault)f, (io_op)r->sh->io.ops[lane][at - 1])) {
                        cd_buf_put(cases, cd_bytes_of(&c, sizeof c));
                    }
                }
            }
        }
    }
    return CD_OK;
}

typedef struct tally {
    u64 passed;
    u64 failed;
    u64 unreached; /* the call was not made this time */
    u64 gave_up;
    u64 unnoticed;
    u64 recovered; /* there were errors, and no restart */
    u64 killed;
} tally;

static void tally_add(tally *t, const tally *more)
{
    t->passed += more->passed;
    t->failed += more->failed;
    t->unreached += more->unreached;
    t->gave_up += more->gave_up;
    t->unnoticed += more->unnoticed;
    t->recovered += more->recovered;
    t->killed += more->killed;
}

/* What is wrong with the end of the faulty life; NULL = nothing. */
static const char *judge(const shared *sh, io_fault f, int status, tally *t)
{
    bool is_kill = f == IO_KILL_BEFORE || f == IO_KILL_AFTER || f == IO_KILL_TORN;
    if (WIFSIGNALED(status)) {
        t->killed++;
        return is_kill && sh->io.is_hit && WTERMSIG(status) == SIGKILL ? NULL : "it crashed";
    }
    if (!sh->io.is_hit) {
        t->unreached++;
    }
    if (WEXITSTATUS(status) == GAVE_UP) {
        t->gave_up++;
        return f == IO_EINTR || f == IO_SHORT ? "it was noticed" : NULL;
    }
    if (sh->errors != 0) {
        t->recovered++;
        return f == IO_EINTR || f == IO_SHORT ? "it was noticed" : NULL;
    }
    t->unnoticed++;
    return WEXITSTATUS(status) == DONE ? NULL : "it went wrong";
}

static bool run_case(run *r, const fault_case *c, u64 nr, tally *t, cd_errinfo *why)
{
    shared *sh = r->sh;
    if (copy_segment(r, c->segment, false, why) != CD_OK) {
        return false;
    }
    sh->io = (io_state){.lane = c->lane, .at = c->at, .fault = (io_fault)c->fault};
    sh->head = 0;
    sh->errors = 0;
    memset(sh->acked, 0, sizeof sh->acked);
    memset(&sh->why, 0, sizeof sh->why);
    const char *bad = judge(sh, (io_fault)c->fault, in_child(r, c->segment, true, false), t);
    cd_errinfo first = sh->why;
    if (bad == NULL) {
        int status = in_child(r, c->segment, false, false);
        bad = WIFEXITED(status) && WEXITSTATUS(status) == DONE ? NULL : "the next process";
    }
    if (bad != NULL) {
        (void)printf("FAIL case %llu: %s at call %u of lane %u in segment %u (%s): %s: %s / %s\n",
                     (unsigned long long)nr, io_fault_name((io_fault)c->fault), c->at, c->lane, c->segment, sh->io.what,
                     bad, first.msg, sh->why.msg);
    } else if (getenv("IO_FAULTS_VERBOSE") != NULL) {
        (void)printf("case %llu: %s (%s): %s\n", (unsigned long long)nr, io_fault_name((io_fault)c->fault), sh->io.what,
                     first.msg);
    }
    return bad == NULL;
}

/* --- all of them --- */

typedef struct plan {
    const fault_case *list;
    u64 all;
    u64 first;
    u64 todo;
    bool is_spread; /* over the whole list */
} plan;

static cd_err new_shared(shared **out)
{
    int prot = PROT_READ | PROT_WRITE;
    *out = mmap(NULL, sizeof(shared), prot, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return *out == MAP_FAILED ? CD_ENOMEM : CD_OK;
}

/* Every WORKERS-th case, in a directory of its own. */
static void work_share(run *r, const plan *p, tally *t, u64 worker)
{
    cd_errinfo why = {0};
    shared *recorded = r->sh;
    cd_buf_fmt(&r->work, "-%llu", (unsigned long long)worker);
    CD_ASSERT(new_shared(&r->sh) == CD_OK);
    memcpy(r->sh->hash, recorded->hash, sizeof recorded->hash);
    for (u64 i = worker; i < p->todo; i += WORKERS) {
        u64 nr = p->is_spread ? i * p->all / p->todo : (p->first + i) % p->all;
        if (run_case(r, &p->list[nr], nr, t, &why)) {
            t->passed++;
        } else {
            t->failed++;
        }
    }
}

/* Gives the sum of what the workers found; what one did not get done counts as failed. */
static cd_err share_out(run *r, const plan *p, tally *sum)
{
    pid_t pid[WORKERS];
    usize size = WORKERS * sizeof(tally);
    tally *found = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (found == MAP_FAILED) {
        return CD_ENOMEM;
    }
    for (u64 i = 0; i < WORKERS; i++) {
        pid[i] = fork();
        if (pid[i] == 0) {
            work_share(r, p, &found[i], i);
            (void)fflush(NULL);
            _exit(0);
        }
    }
    for (u64 i = 0; i < WORKERS; i++) {
        if (pid[i] > 0) {
            (void)waitpid(pid[i], NULL, 0);
        }
        tally_add(sum, &found[i]);
    }
    sum->failed += p->todo - sum->passed - sum->failed;
    (void)munmap(found, size);
    return CD_OK;
}

int main(int argc, char **argv)
{
    const char *full = getenv("CANDELA_TEST_FULL");
    u64 cnt = full != NULL && strcmp(full, "1") == 0 ? UINT64_MAX : SAMPLE;
    plan p = {.is_spread = argc <= 3};
    if (argc < 2 || argv[1][0] != '/' || (argc > 2 && cd_u64_parse(&cnt, cd_bytes_str(argv[2])) != CD_OK) ||
        (argc > 3 && cd_u64_parse(&p.first, cd_bytes_str(argv[3])) != CD_OK)) {
        (void)fprintf(stderr, "usage: fault_run DIR [CASES [FIRST]]\n");
        return 2;
    }
    run r = {0};
    cd_errinfo why = {0};
    cd_buf cases = {0};
    tally t = {0};
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    cd_buf_fmt(&r.base, "%s/segment", argv[1]);
    cd_buf_fmt(&r.work, "%s/work", argv[1]);
    cd_err e = new_shared(&r.sh);
    e = e != CD_OK ? e : cd_fs_remove_tree(cd_fs_real(), argv[1], &why);
    e = e != CD_OK ? e : cd_fs_mkdirs(cd_fs_real(), argv[1], 0755, &why);
    e = e != CD_OK ? e : script_make(&r.sc);
    e = e != CD_OK ? e : record(&r, &cases, &why);
    p.list = (const fault_case *)(const void *)cases.p;
    p.all = cases.n / sizeof *p.list;
    p.todo = cd_min_u64(cnt, p.all);
    e = e != CD_OK ? e : share_out(&r, &p, &t);
    e = e != CD_OK ? e : cd_fs_remove_tree(cd_fs_real(), argv[1], &why);
    if (e != CD_OK) {
        (void)printf("FAIL %s: %s\n", cd_err_str(e), why.msg);
        t.failed++;
    }
    (void)printf("%llu cases in all; killed %llu, ended with an error %llu, went on after one %llu, "
                 "nothing noticed %llu, call not reached %llu\n",
                 (unsigned long long)p.all, (unsigned long long)t.killed, (unsigned long long)t.gave_up,
                 (unsigned long long)t.recovered, (unsigned long long)t.unnoticed, (unsigned long long)t.unreached);
    (void)printf("%llu passed, %llu failed\n", (unsigned long long)t.passed, (unsigned long long)t.failed);
    cd_buf_fini(&r.base);
    cd_buf_fini(&r.work);
    cd_buf_fini(&r.sc.genesis);
    cd_arena_fini(&r.sc.arena);
    cd_buf_fini(&cases);
    return t.failed == 0 ? 0 : 1;
}
