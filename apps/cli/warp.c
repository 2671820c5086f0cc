/* `warp`: has messages signed, checks signed ones, shows what they say. [spec:warp] */
#include "base/hex.h"
#include "base/mem/secret.h"
#include "base/os/fileio.h"
#include "codec/api_json.h"
#include "commands.h"
#include "decode/input.h"
#include "remote/remote.h"
#include "types/warp_set.h"

// clang-format off
#define OPTIONS(X)                                                                                                     \
    X(OPT_RPC, .name = "rpc", .type = CD_ARG_STR, .dflt = "http://127.0.0.1:9650", .meta = "URL", .help = "the node")  \
    X(OPT_CHAIN, .name = "chain", .type = CD_ARG_STR, .dflt = "C", .meta = "CHAIN",                                    \
      .help = "sign: the chain whose validators are asked, by name or ID")                                             \
    X(OPT_NET, .name = "net-id", .type = CD_ARG_STR, .meta = "ID",                                                     \
      .help = "whose validators sign; without it those of the message's chain")                                        \
    X(OPT_QUORUM, .name = "quorum", .type = CD_ARG_U64, .dflt = "67", .min = 1, .max = 100, .meta = "PERCENT",         \
      .help = "how much of their weight is needed")                                                                    \
    X(OPT_WHY, .name = "justification", .type = CD_ARG_STR, .meta = "HEX",                                             \
      .help = "sign: what the P-Chain is told with a claim about a validator")                                         \
    X(OPT_SIGNER, .name = "signer-key-file", .type = CD_ARG_PATH, .meta = "FILE",                                      \
      .help = "sign: with this BLS key alone, without a node")                                                         \
    X(OPT_JSON, .name = "json", .type = CD_ARG_BOOL, .help = "one line of JSON, errors too")
// clang-format on

enum { OPTIONS(CD_ARG_ID) OPT_CNT };
static const cd_arg_def options[] = {OPTIONS(CD_ARG_ROW)};

static cd_err input_of(cd_bytes *out, cd_arena *mem, const char *word, cd_errinfo *why)
{
    cd__input in;
    CD_TRY(cd__input_get(&in, mem, word, why));
    *out = in.b;
    return in.is_text ? cd_hex_parse_prefixed(out, mem, in.b) : CD_OK;
}

static cd_err bytes_of(cd_bytes *out, cd_arena *mem, const char *word, cd_errinfo *why)
{
    cd_err e = input_of(out, mem, word, why);
    return e == CD_OK || why->msg[0] != '\0' ? e : cd_fail(why, CD_EINVAL, "a message is bytes in hex, as in 0x00ff");
}

static const char *hex_of(cd_arena *mem, cd_bytes b)
{
    cd_buf text = {0};
    cd_hex_put(&text, b);
    const char *s = cd_arena_str(mem, cd_buf_bytes(&text));
    cd_buf_fini(&text);
    return s;
}

/* --- sign --- */

static cd_err sign_here(const cd_args *a, cd_arena *mem, cd_json_w *w, const char *word, cd_errinfo *why)
{
    cd_bytes message;
    cd_warp_unsigned m;
    cd_buf key = {0};
    cd_bls_sk sk;
    cd_bls_sig sig;
    u8 raw[CD_WARP_SIG_LEN];
    CD_TRY(bytes_of(&message, mem, word, why));
    if (cd_warp_unsigned_dec(&m, message) != CD_OK) {
        return cd_fail(why, CD_EINVAL, "this is no unsigned message");
    }
    CD_TRY(cd_fs_read_file(cd_fs_real(), &key, cd_args_path(a, mem, OPT_SIGNER), 1024, why));
    bool is_key = key.n == sizeof sk.b;
    if (is_key) {
        memcpy(sk.b, key.p, sizeof sk.b);
        cd_wipe(key.p, key.n);
    }
    cd_buf_fini(&key);
    cd_err e = is_key ? cd_bls_sign(&sig, CD_BLS_POP, message, &sk) : CD_EKEY;
    cd_wipe(&sk, sizeof sk);
    if (e != CD_OK) {
        return cd_fail(why, e, "--signer-key-file: no BLS key of 32 bytes");
    }
    cd_bls_sig_enc(raw, &sig);
    cd_json_w_obj(w);
    cd_json_put_hex(w, "signature", cd_bytes_of(raw, sizeof raw));
    cd_json_w_obj_end(w);
    return CD_OK;
}

/* A word of 64 digits, or one that is no hex, is a message's ID; everything longer the message. */
static cd_err sign_params(cd_arena *mem, cd_buf *params, const cd_args *a, const char *word, cd_errinfo *why)
{
    enum { ID_DIGITS = 64, ID_TEXT_MAX = 60 };
    cd_json_w w = {.out = params};
    cd_bytes message = {0};
    cd_hash32 id;
    const char *digits = word[0] == '0' && word[1] == 'x' ? word + 2 : word;
    bool is_hex_id = strlen(digits) == ID_DIGITS && cd_hex_parse(id.b, cd_bytes_str(digits)) == CD_OK;
    bool is_id = is_hex_id || (strlen(word) < ID_TEXT_MAX && cd_id_parse(&id, cd_bytes_str(word), NULL) == CD_OK);
    if (!is_id) {
        CD_TRY(bytes_of(&message, mem, word, why));
    }
    cd_json_w_obj(&w);
    cd_json_put_cstr(&w, "chain", cd_args_str(a, OPT_CHAIN));
    cd_json_put_dec(&w, "quorumNum", cd_args_u64(a, OPT_QUORUM));
    cd_json_put_cstr(&w, "subnetID", cd_args_str(a, OPT_NET));
    if (is_id) {
        cd_json_w_key(&w, "messageID");
        cd_json_w_id(&w, &id);
    } else {
        cd_json_put_cstr(&w, "message", hex_of(mem, message));
        cd_json_put_cstr(&w, "justification", cd_args_str(a, OPT_WHY));
    }
    cd_json_w_obj_end(&w);
    return CD_OK;
}

static cd_err sign(const cd_args *a, cd_arena *mem, cd_json_w *w, const char *word, cd_errinfo *why)
{
    cd__remote *node = NULL;
    cd_json result;
    cd_bytes message;
    cd_buf params = {0};
    cd_err e = sign_params(mem, &params, a, word, why);
    e = e != CD_OK ? e : cd__remote_new(&node, mem, cd_args_str(a, OPT_RPC), why);
    e = e != CD_OK
            ? e
            : cd__remote_ask(node, &result, "/v1/warp", "warp.getMessageAggregateSignature", cd_buf_cstr(&params), why);
    cd__remote_free(node);
    cd_buf_fini(&params);
    CD_TRY(e);
    CD_TRY(cd_json_str(&message, cd_json_get(result, "message"), why));
    cd_json_w_obj(w);
    cd_json_put_str(w, "message", message);
    cd_json_w_obj_end(w);
    return CD_OK;
}

/* --- verify --- */

static cd_err net_of(cd_bytes *out, cd__remote *node, cd_arena *mem, const cd_args *a, const cd_hash32 *chain,
                     cd_errinfo *why)
{
    cd_json v;
    cd_buf text = {0};
    *out = cd_bytes_str(cd_args_str(a, OPT_NET));
    if (out->n != 0) {
        return CD_OK;
    }
    cd_id_put(&text, chain);
    cd_err e = cd__remote_ask(node, &v, "/ext/bc/P", "platform.validatedBy",
                              cd_arena_fmt(mem, "{\"blockchainID\":\"%s\"}", cd_buf_cstr(&text)), why);
    cd_buf_fini(&text);
    CD_TRY(e);
    cd_json net = cd_json_get(v, "netID"); /* the families differ in this word */
    return cd_json_str(out, cd_json_has(net) ? net : cd_json_get(v, "subnetID"), why);
}

static cd_err set_of(cd_warp_set *out, cd_arena *mem, cd_json all, cd_errinfo *why)
{
    cd_warp_validator *v = cd_arena_array(mem, cd_warp_validator, cd_json_len(all));
    cd_json_it it = cd_json_iter(all);
    usize n = 0;
    while (cd_json_next(&it)) {
        cd_bytes key;
        cd_json text = cd_json_get(it.val, "publicKey");
        CD_TRY(cd_json_u64(&v[n].weight, cd_json_get(it.val, "weight"), why));
        v[n].has_key = cd_json_has(text);
        if (v[n].has_key) {
            CD_TRY(cd_json_hex(&key, mem, text, why));
            CD_TRY(cd_bls_pk_dec(&v[n].key, key));
        }
        n++;
    }
    cd_err e = cd_warp_set_make(out, mem, v, n);
    return e == CD_OK ? CD_OK : cd_fail(why, e, "the validators' weights do not fit");
}

static cd_err ask_set(cd_warp_set *out, cd__remote *node, cd_arena *mem, const cd_args *a, const cd_hash32 *chain,
                      u64 *height, cd_errinfo *why)
{
    cd_json v;
    cd_bytes net;
    CD_TRY(net_of(&net, node, mem, a, chain, why));
    CD_TRY(cd__remote_ask(node, &v, "/ext/bc/P", "platform.getHeight", "{}", why));
    CD_TRY(cd_json_u64(height, cd_json_get(v, "height"), why));
    const char *params = cd_arena_fmt(mem, "{\"height\":\"%llu\",\"subnetID\":\"%.*s\"}", (unsigned long long)*height,
                                      (int)net.n, (const char *)net.p);
    CD_TRY(cd__remote_ask(node, &v, "/ext/bc/P", "platform.getValidatorsAt", params, why));
    cd_json wrapped = cd_json_get(v, "validators"); /* newer versions of the original answer so */
    return set_of(out, mem, cd_json_has(wrapped) ? wrapped : v, why);
}

static cd_err verify(const cd_args *a, cd_arena *mem, cd_json_w *w, const char *word, cd_errinfo *why)
{
    cd__remote *node = NULL;
    cd_bytes bytes;
    cd_warp_message m;
    cd_warp_set set;
    u64 height;
    CD_TRY(bytes_of(&bytes, mem, word, why));
    if (cd_warp_message_dec(&m, bytes) != CD_OK) {
        return cd_fail(why, CD_EINVAL, "this is no signed message");
    }
    CD_TRY(cd__remote_new(&node, mem, cd_args_str(a, OPT_RPC), why));
    cd_err e = ask_set(&set, node, mem, a, &m.body.source_chain, &height, why);
    cd__remote_free(node);
    CD_TRY(e);
    CD_TRY(cd_warp_check(&m, m.body.network_id, &set, cd_args_u64(a, OPT_QUORUM), 100, why));
    u64 weight = 0;
    for (usize i = 0; i < set.cnt; i++) {
        weight += cd_bits_has(m.signers, i) ? set.members[i].weight : 0;
    }
    cd_json_w_obj(w);
    cd_json_put_bool(w, "valid", true);
    cd_json_put_u64(w, "signers", cd_bits_count(m.signers));
    cd_json_put_dec(w, "weight", weight);
    cd_json_put_dec(w, "totalWeight", set.total);
    cd_json_put_u64(w, "pChainHeight", height);
    cd_json_w_obj_end(w);
    return CD_OK;
}

/* --- the command --- */

static cd_err run(const cd_args *a, cd_arena *mem, cd_json_w *w, cd_errinfo *why)
{
    const char *const *words;
    if (cd_args_words(a, &words) == 2 && strcmp(words[0], "sign") == 0) {
        return cd_args_path(a, mem, OPT_SIGNER)[0] != '\0' ? sign_here(a, mem, w, words[1], why)
                                                           : sign(a, mem, w, words[1], why);
    }
    if (cd_args_words(a, &words) == 2 && strcmp(words[0], "verify") == 0) {
        return verify(a, mem, w, words[1], why);
    }
    return cd_fail(why, CD_EINVAL, "that command goes: candela-cli warp sign|verify|decode [flags] MESSAGE|FILE|-");
}

int cd__warp_cmd(int argc, char **argv)
{
    static const cd__cmd cmd = {
        .program = "candela-cli warp",
        .purpose = "Has a message of a chain signed by its validators, checks a signed one, shows what it says.",
        .usage = "sign|verify|decode [flags] MESSAGE|ID|FILE|-",
        .example = "candela-cli warp sign 0x… --chain=C --rpc=http://127.0.0.1:9650",
        .options = options,
        .option_cnt = CD_COUNT(options),
        .json = OPT_JSON,
        .words_max = 2,
    };
    if (argc > 1 && strcmp(argv[1], "decode") == 0) {
        return cd__decode_cmd(argc - 1, argv + 1);
    }
    return cd__json_cmd(&cmd, argc, argv, run);
}
