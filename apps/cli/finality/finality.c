/* `finality`: checks certificates of final blocks, shows what they and checkpoints say, and deals threshold keys. */
#include "base/mem/mem.h"
#include "base/os/fileio.h"
#include "codec/api_json.h"
#include "commands.h"
#include "decode/input.h"
#include "finality/finality_deal.h"
#include "finality/finality_fetch.h"
#include "finality/finality_show.h"

#include <stdio.h>

#define USAGE                                                                                                          \
    "candela-cli finality verify CERTIFICATE --checkpoint=FILE [--changes=FILE]\n"                                     \
    "candela-cli finality verify CHAIN/HEIGHT|CHAIN/BLOCK --checkpoint=FILE   asks a node\n"                           \
    "candela-cli finality decode FILE|-   a certificate, a checkpoint, or a list of set changes\n"                     \
    "candela-cli finality deal NODES|-   node IDs, or a file of them, who get a threshold key in files below --out\n"  \
    "exit code of verify: 0 final, 1 refused, 2 wrong arguments,\n"                                                    \
    "3 the signatures hold but do not make the block final"

// clang-format off
#define OPTIONS(X)                                                                                                     \
    X(OPT_CHECKPOINT, .name = "checkpoint", .type = CD_ARG_STR, .meta = "FILE",                                        \
      .help = "the set of validators that is trusted; it must not come from whom the certificate comes from")          \
    X(OPT_CHANGES, .name = "changes", .type = CD_ARG_STR, .meta = "FILE",                                              \
      .help = "how the set changed since then; from anybody")                                                          \
    X(OPT_CHAIN, .name = "chain", .type = CD_ARG_STR, .dflt = "C", .meta = "NAME|ID",                                  \
      .help = "the chain that the block is of: a name that the checkpoint has, or an ID")                              \
    X(OPT_RPC, .name = "rpc", .type = CD_ARG_STR, .dflt = "http://127.0.0.1:9650", .meta = "URL",                      \
      .help = "a node to ask, which need not be trusted")                                                              \
    X(OPT_OUT, .name = "out", .type = CD_ARG_STR, .meta = "DIRECTORY",                                                 \
      .help = "where deal writes group.key, for everybody, and a .share for each node, which nobody else may see")     \
    X(OPT_JSON, .name = "json", .type = CD_ARG_BOOL, .help = "one line of JSON, errors too")
// clang-format on

/* Exit codes of verify beside 0 (final), 1 (refused) and 2 (wrong arguments). */
enum { OPTIONS(CD_ARG_ID) OPT_CNT, NOT_FINAL = 3 };
static const cd_arg_def options[] = {OPTIONS(CD_ARG_ROW)};

static cd_err read_bytes(cd_bytes *out, cd_arena *mem, const char *file, cd_errinfo *why)
{
    cd__input in;
    CD_TRY(cd__input_get(&in, mem, file, why));
    *out = in.b;
    return in.is_text ? cd__input_bytes(out, mem, in.b, why) : CD_OK;
}

/* --- verify --- */

/* What verify has found out. */
typedef struct verdict {
    cd_fin_flaw flaw;
    const char *of; /* what the flaw is of */
    bool is_read;   /* cert says something */
    bool is_asked;  /* a node gave it, for the query */
    cd__fin_query query;
    cd_fin_cert cert;
    cd_fin_book *book;
} verdict;

/* Says in one word what the block is. A certificate is quantum-final only when all sets on the way to it were. */
static const char *state_of(const verdict *v)
{
    if (v->flaw != CD_FLAW_NONE) {
        return "refused";
    }
    if (v->cert.type == CD_FIN_LATTICE) {
        return "threshold";
    }
    return cd_fin_is_final(v->cert.type) && v->book->is_quantum_final ? "final" : "bls-final";
}

static cd_err chain_of(cd_hash32 *out, const cd_fin_book *b, const char *word, cd_errinfo *why)
{
    const cd_hash32 *named = cd_fin_book_chain(b, cd_bytes_str(word));
    if (named != NULL) {
        *out = *named;
        return CD_OK;
    }
    return cd_id_parse(out, cd_bytes_str(word), NULL) == CD_OK
               ? CD_OK
               : cd_fail(why, CD_EINVAL, "\"%.60s\" is neither an ID nor a name of a chain that the checkpoint has",
                         word);
}

/* Reads the certificate and the changes: files, or what a node says. */
static cd_err read_claims(verdict *v, cd_bytes *cert, cd_bytes *changes, const cd_args *a, cd_arena *mem,
                          const char *word, cd_errinfo *why)
{
    const char *list = cd_args_str(a, OPT_CHANGES);
    v->is_asked = cd_fs_stat_get(cd_fs_real(), &(cd_fs_stat){0}, word, NULL) != CD_OK &&
                  cd__fin_query_parse(&v->query, mem, word);
    if (v->is_asked) {
        return cd__fin_fetch(cert, changes, mem, cd_args_str(a, OPT_RPC), &v->query, v->book->epoch.number, why);
    }
    CD_TRY(read_bytes(cert, mem, word, why));
    return list[0] != '\0' ? read_bytes(changes, mem, list, why) : CD_OK;
}

/* Finds out what is wrong with the claims, if anything is. */
static void judge(verdict *v, cd_bytes bytes, cd_bytes changes, const cd_hash32 *chain)
{
    v->of = "certificate";
    v->flaw = cd_fin_cert_parse(&v->cert, bytes);
    v->is_read = v->flaw == CD_FLAW_NONE;
    if (v->is_read && changes.n != 0) {
        v->flaw = cd_fin_book_follow(v->book, changes, v->cert.msg.height);
        v->of = v->flaw != CD_FLAW_NONE ? "set changes" : v->of;
    }
    if (v->flaw == CD_FLAW_NONE) {
        v->flaw = cd_fin_book_verify(v->book, &v->cert, bytes, chain);
    }
}

static cd_err verify(verdict *v, const cd_args *a, cd_arena *mem, const char *word, cd_errinfo *why)
{
    cd_bytes bytes = {0};
    cd_bytes checkpoint;
    cd_bytes changes = {0};
    cd_hash32 chain;
    if (cd_args_str(a, OPT_CHECKPOINT)[0] == '\0') {
        return cd_fail(why, CD_EINVAL, "--checkpoint is missing: a certificate says nothing without a set to trust");
    }
    CD_TRY(read_bytes(&checkpoint, mem, cd_args_str(a, OPT_CHECKPOINT), why));
    CD_TRY(cd__fin_book_open(&v->book, checkpoint, why));
    CD_TRY(read_claims(v, &bytes, &changes, a, mem, word, why));
    CD_TRY(chain_of(&chain, v->book, v->is_asked ? v->query.chain : cd_args_str(a, OPT_CHAIN), why));
    judge(v, bytes, changes, &chain);
    if (v->is_read && v->is_asked && v->query.height == NULL && !cd_hash32_eq(&v->query.block, &v->cert.msg.block)) {
        return cd_fail(why, CD_EPROTO, "the node gave the certificate of another block");
    }
    return CD_OK;
}

static void put_verdict(cd_json_w *w, const verdict *v)
{
    cd_json_w_obj(w);
    cd_json_put_cstr(w, "verdict", state_of(v));
    if (v->flaw != CD_FLAW_NONE) {
        cd_json_put_cstr(w, "reason", cd_fin_flaw_name(v->flaw));
        cd_json_put_cstr(w, "of", v->of);
        cd_json_put_cstr(w, "text", cd_fin_flaw_text(v->flaw));
    }
    if (v->is_read) {
        cd__fin_cert_put(w, &v->cert);
    }
    cd_json_put_hash(w, "checkpoint", &v->book->sum);
    cd_json_put_u64(w, "epoch", v->book->epoch.number);
    cd_json_put_u64(w, "setChanges", v->book->changes);
    cd_json_put_bool(w, "quantumSafeChanges", v->book->is_quantum_final);
    cd_json_w_obj_end(w);
}

static void print_verdict(const verdict *v)
{
    const char *state = state_of(v);
    cd_buf id = {0};
    if (v->flaw != CD_FLAW_NONE) {
        (void)printf("REFUSED, the %s: %s.\n", v->of, cd_fin_flaw_text(v->flaw));
        return;
    }
    cd_id_put(&id, &v->cert.msg.block);
    (void)printf("%s: block %s is signed by %s.\n",
                 strcmp(state, "final") == 0       ? "FINAL"
                 : strcmp(state, "bls-final") == 0 ? "FINAL BY BLS ALONE"
                                                   : "NOT FINAL",
                 cd_buf_cstr(&id), cd__fin_types[v->cert.type]);
    (void)printf("Epoch %llu, %u set changes behind the checkpoint; signers weigh %llu of %llu.\n",
                 (unsigned long long)v->book->epoch.number, v->book->changes, (unsigned long long)v->cert.signed_by,
                 (unsigned long long)v->cert.total);
    if (v->is_asked && v->query.height != NULL) {
        (void)printf("That its height is %s is the node's word: compare the ID.\n", v->query.height);
    }
    if (!v->book->is_quantum_final) {
        (void)printf("A set change on the way is signed by BLS alone: this is not safe against quantum computers.\n");
    }
    cd_buf_fini(&id);
}

static int verify_cmd(const cd_args *a, cd_arena *mem, const char *file, cd_errinfo *why)
{
    verdict v = {0};
    cd_buf json = {0};
    cd_json_w w = {.out = &json};
    bool is_json = cd_args_bool(a, OPT_JSON);
    cd_err e = verify(&v, a, mem, file, why);
    int code = 0;
    if (e != CD_OK) {
        code = cd__cmd_fail(why, is_json, e == CD_EINVAL ? 2 : 1);
    } else {
        code = v.flaw != CD_FLAW_NONE ? 1 : strcmp(state_of(&v), "final") == 0 ? 0 : NOT_FINAL;
        put_verdict(&w, &v);
        if (is_json) {
            cd__print_json(&json, true);
        } else {
            print_verdict(&v);
        }
    }
    cd_free(v.book);
    cd_buf_fini(&json);
    return code;
}

static int decode_cmd(const cd_args *a, cd_arena *mem, const char *file, cd_errinfo *why)
{
    cd_bytes bytes;
    cd_buf json = {0};
    cd_json_w w = {.out = &json};
    cd_err e = read_bytes(&bytes, mem, file, why);
    e = e != CD_OK ? e : cd__fin_show(&w, bytes, why);
    if (e == CD_OK) {
        cd__print_json(&json, cd_args_bool(a, OPT_JSON));
    }
    cd_buf_fini(&json);
    return e == CD_OK ? 0 : cd__cmd_fail(why, cd_args_bool(a, OPT_JSON), 1);
}

static int deal_cmd(const cd_args *a, cd_arena *mem, const char *nodes, cd_errinfo *why)
{
    cd__input in;
    cd_buf json = {0};
    cd_json_w w = {.out = &json};
    const char *dir = cd_args_str(a, OPT_OUT);
    cd_err e = dir[0] == '\0' ? cd_fail(why, CD_EINVAL, "--out is missing: where the files go") : CD_OK;
    e = e == CD_OK ? cd__input_get(&in, mem, nodes, why) : e;
    e = e == CD_OK ? cd__fin_deal(&w, mem, in.b, dir, why) : e;
    if (e == CD_OK) {
        cd__print_json(&json, cd_args_bool(a, OPT_JSON));
    }
    cd_buf_fini(&json);
    return e == CD_OK ? 0 : cd__cmd_fail(why, cd_args_bool(a, OPT_JSON), e == CD_EINVAL ? 2 : 1);
}

int cd__finality_cmd(int argc, char **argv)
{
    static const cd__cmd cmd = {
        .program = "candela-cli finality",
        .purpose = "checks that a block is final, trusting nobody but a checkpoint",
        .usage = USAGE,
        .example = "candela-cli finality verify block.cert --checkpoint=network.checkpoint --changes=year.changes",
        .options = options,
        .option_cnt = OPT_CNT,
        .json = OPT_JSON,
        .words_max = 2,
    };
    cd_errinfo why = {0};
    cd_arena mem = {0};
    const char *const *words;
    int code = 0;
    cd_args *a = cd__cmd_args(&cmd, &code, argc, argv);
    if (a == NULL) {
        return code;
    }
    usize cnt = cd_args_words(a, &words);
    if (cnt == 2 && strcmp(words[0], "verify") == 0) {
        code = verify_cmd(a, &mem, words[1], &why);
    } else if (cnt == 2 && strcmp(words[0], "decode") == 0) {
        code = decode_cmd(a, &mem, words[1], &why);
    } else if (cnt == 2 && strcmp(words[0], "deal") == 0) {
        code = deal_cmd(a, &mem, words[1], &why);
    } else {
        (void)cd_fail(&why, CD_EINVAL, "that command goes: candela-cli finality verify|decode|deal FILE [flags]");
        code = cd__cmd_fail(&why, cd_args_bool(a, OPT_JSON), 2);
    }
    cd_arena_fini(&mem);
    cd_args_free(a);
    return code;
}
