/* candela-adx seal-bid, verify-outcome - what bidders and doubters need of sealed auctions, without the exchange. */
#include "apps/adx/commands.h"

#include "base/args/args.h"
#include "base/hex.h"
#include "base/mem/secret.h"
#include "base/os/fileio.h"
#include "base/os/term.h"
#include "codec/base64.h"
#include "services/adx/auction/outcome.h"
#include "services/adx/auction/text.h"

#include <stdio.h>
#include <unistd.h>

enum { FILE_MAX = 4 << 20, EXIT_FAILED = 1, EXIT_USAGE = 2 };

/* Options, help, one run; the exit code. */
static int command(const cd_args_info *info, const cd_arg_def *options, usize cnt, int argc, char **argv,
                   cd_err (*run)(const cd_args *args, cd_arena *mem, cd_errinfo *why))
{
    cd_errinfo why = {0};
    cd_arena mem = {0};
    int code = 0;
    cd_args *args = cd_args_new(info, options, cnt);
    if (cd_args_parse(args, argc, argv, &why) != CD_OK) {
        code = EXIT_USAGE;
    } else if (cd_args_wants_help(args)) {
        cd_buf text = {0};
        cd_args_help(args, &text, cd_term_width(STDOUT_FILENO));
        (void)fputs(cd_buf_cstr(&text), stdout);
        cd_buf_fini(&text);
    } else if (run(args, &mem, &why) != CD_OK) {
        code = EXIT_FAILED;
    }
    if (code != 0) {
        (void)fprintf(stderr, "%s: error: %s\n", info->program, why.msg);
    }
    cd_args_free(args);
    cd_arena_fini(&mem);
    return code;
}

/* The JSON of a file; "-" is standard input. */
static cd_err read_json(cd_bytes *text, cd_json *doc, cd_arena *mem, const char *path, cd_errinfo *why)
{
    cd_buf bytes = {0};
    const char *from = strcmp(path, "-") == 0 ? "/dev/stdin" : path;
    cd_err err = cd_fs_read_file(cd_fs_real(), &bytes, from, FILE_MAX, why);
    *text = err == CD_OK ? cd_arena_dup(mem, cd_buf_bytes(&bytes)) : (cd_bytes){0};
    cd_buf_fini(&bytes);
    return err == CD_OK ? cd_json_parse(doc, mem, *text, FILE_MAX, why) : err;
}

/* A flag that is read as JSON members are: hex digits, with or without 0x. */
static cd_err hex_flag(void *out, usize n, const char *flag, const char *text, cd_arena *mem, cd_errinfo *why)
{
    cd_bytes bytes = {0};
    if (cd_hex_parse_prefixed(&bytes, mem, cd_bytes_str(text)) != CD_OK || bytes.n != n) {
        return cd_fail(why, CD_EINVAL, "--%s must be %zu hex digits", flag, 2 * n);
    }
    memcpy(out, bytes.p, n);
    return CD_OK;
}

/* --- seal-bid --- */

// clang-format off
#define SEAL(X)                                                                                                      \
    X(SEAL_BIDDER, .name = "bidder", .type = CD_ARG_STR, .meta = "NAME", .group = "Bid", .help = "who bids")         \
    X(SEAL_VALUE, .name = "value", .type = CD_ARG_U64, .min = 0, .max = UINT64_MAX, .meta = "N",                     \
      .help = "what is bid, in millionths of a USD for a thousand impressions")                                      \
    X(SEAL_AUCTION, .name = "auction-id", .type = CD_ARG_STR, .meta = "HEX",                                         \
      .help = "the auction; the open default auction when not given")                                                \
    X(SEAL_KEYS, .name = "keys", .type = CD_ARG_PATH, .meta = "FILE",                                                \
      .help = "what GET /auction/keys has answered: the bid is put into an envelope that opens by itself")
// clang-format on

enum { SEAL(CD_ARG_ID) SEAL_CNT };
static const cd_arg_def seal_options[] = {SEAL(CD_ARG_ROW)};

/* The envelope of a bid for the key in a file. */
static cd_err envelope(cd_buf *out, const char *path, const cd_hash32 *auction, cd_bytes bidder,
                       const cd_hash32 *commitment, const cd_opening *o, cd_arena *mem, cd_rng *rng, cd_errinfo *why)
{
    cd_bytes text;
    cd_json doc;
    u8 key[32];
    u8 ephemeral[32];
    u8 plain[CD_OPENING_SIZE];
    u64 id = 0;
    CD_TRY(read_json(&text, &doc, mem, path, why));
    CD_TRY(cd_adx_hex_fixed(key, sizeof key, cd_json_get(doc, "hpke_x25519"), why));
    CD_TRY(cd_json_u64(&id, cd_json_get(doc, "key_id"), why));
    cd_put_le64(plain, o->value);
    cd_scalar_put(plain + 8, &o->blinding);
    cd_rng_fill(rng, ephemeral, sizeof ephemeral);
    cd_err err = cd_envelope_seal(out, CD_HPKE_CHACHA20_POLY1305, (u32)id, key, auction, bidder, commitment,
                                  cd_bytes_of(plain, sizeof plain), ephemeral);
    cd_wipe(plain, sizeof plain);
    cd_wipe(ephemeral, sizeof ephemeral);
    return err == CD_OK ? CD_OK : cd_fail(why, err, "%s: its key cannot be used", path);
}

/* The proof is bound to the envelope, and the envelope to the commitment, which is made of the opening alone. */
static cd_err seal(const cd_args *args, cd_arena *mem, cd_errinfo *why)
{
    u8 proof[CD_RANGEPROOF_SIZE_ONE];
    cd_rng rng = cd_rng_os();
    cd_bytes bidder = cd_bytes_str(cd_args_str(args, SEAL_BIDDER));
    const char *id = cd_args_str(args, SEAL_AUCTION);
    const char *keys = cd_args_path(args, mem, SEAL_KEYS);
    cd_hash32 auction = {{0}};
    cd_hash32 commitment;
    cd_merlin transcript;
    cd_buf sealed = {0};
    u8 wide[64];
    u8 blinding[32];
    if (!cd_bidder_is_valid(bidder)) {
        return cd_fail(why, CD_EINVAL, "--bidder must be 1 to %d bytes without control characters", CD_BIDDER_MAX);
    }
    if (id[0] != '\0') {
        CD_TRY(hex_flag(auction.b, 32, "auction-id", id, mem, why));
    }
    cd_rng_fill(&rng, wide, sizeof wide);
    cd_opening o = {.value = cd_args_u64(args, SEAL_VALUE), .blinding = cd_scalar_wide(wide)};
    cd_wipe(wide, sizeof wide);
    cd_opening_commit(&commitment, &o);
    if (keys[0] != '\0') {
        CD_TRY(envelope(&sealed, keys, &auction, bidder, &commitment, &o, mem, &rng, why));
    }
    cd_sealed_transcript(&transcript, &auction, bidder, cd_buf_bytes(&sealed));
    cd_sealed_prove(&commitment, proof, &transcript, &o, &rng);
    cd_scalar_put(blinding, &o.blinding);
    cd_buf text = {0};
    cd_json_w w = {.out = &text};
    cd_json_w_obj(&w);
    cd_json_w_key(&w, "body");
    cd_json_w_obj(&w);
    cd_json_put_str(&w, "bidder_id", bidder);
    cd_adx_put_hex(&w, "commitment", cd_bytes_of(commitment.b, 32));
    cd_adx_put_hex(&w, "range_proof", cd_bytes_of(proof, sizeof proof));
    if (id[0] != '\0') {
        cd_adx_put_hex(&w, "auction_id", cd_bytes_of(auction.b, 32));
    }
    if (sealed.n != 0) {
        cd_buf base64 = {0};
        cd_base64_enc(&base64, cd_buf_bytes(&sealed));
        cd_json_put_str(&w, "encrypted_bid", cd_buf_bytes(&base64));
        cd_buf_fini(&base64);
    }
    cd_json_w_obj_end(&w);
    cd_json_w_key(&w, "opening");
    cd_json_w_obj(&w);
    cd_adx_put_u64(&w, "value", o.value);
    cd_adx_put_hex(&w, "blinding", cd_bytes_of(blinding, sizeof blinding));
    cd_json_w_obj_end(&w);
    cd_json_w_obj_end(&w);
    (void)printf("%s\n", cd_buf_cstr(&text));
    cd_wipe(text.p, text.n);
    cd_wipe(blinding, sizeof blinding);
    cd_wipe(&o, sizeof o);
    cd_buf_fini(&text);
    cd_buf_fini(&sealed);
    return CD_OK;
}

int cd_cmd_seal_bid(int argc, char **argv)
{
    static const cd_args_info info = {
        .program = "candela-adx seal-bid",
        .purpose = "makes a sealed bid: `body` for POST /auction/sealed, and `opening`, which the bidder keeps",
        .example = "candela-adx seal-bid --bidder=dsp-alpha --value=2500000",
        .is_plain_env = true,
    };
    return command(&info, seal_options, SEAL_CNT, argc, argv, seal);
}

/* --- verify-outcome --- */

// clang-format off
#define VERIFY(X)                                                                                                    \
    X(VERIFY_FILE, .name = "file", .type = CD_ARG_PATH, .dflt = "-", .meta = "FILE", .group = "Outcome",             \
      .help = "what GET /auction/outcome has answered; - for standard input")                                        \
    X(VERIFY_RECEIPT, .name = "receipt", .type = CD_ARG_PATH, .meta = "FILE",                                        \
      .help = "what POST /auction/sealed has answered: is the bid where it was promised?")                           \
    X(VERIFY_COMMITMENT, .name = "commitment", .type = CD_ARG_STR, .meta = "HEX", .help = "of that bid")             \
    X(VERIFY_KEY, .name = "key", .type = CD_ARG_STR, .meta = "HEX",                                                  \
      .help = "receipt_ed25519 of GET /auction/keys, which signed the receipt")
// clang-format on

enum { VERIFY(CD_ARG_ID) VERIFY_CNT };
static const cd_arg_def verify_options[] = {VERIFY(CD_ARG_ROW)};

static cd_err check_receipt(const cd_outcome *o, const cd_args *args, cd_arena *mem, cd_errinfo *why)
{
    cd_bytes text;
    cd_json doc;
    cd_receipt r = {0};
    u8 key[32];
    CD_TRY(hex_flag(key, 32, "key", cd_args_str(args, VERIFY_KEY), mem, why));
    CD_TRY(hex_flag(r.commitment.b, 32, "commitment", cd_args_str(args, VERIFY_COMMITMENT), mem, why));
    CD_TRY(read_json(&text, &doc, mem, cd_args_path(args, mem, VERIFY_RECEIPT), why));
    CD_TRY(cd_adx_hex_fixed(r.auction.b, 32, cd_json_get(doc, "auction_id"), why));
    CD_TRY(cd_json_u64(&r.seq, cd_json_get(doc, "seq"), why));
    CD_TRY(cd_adx_hex_fixed(r.log_head.b, 32, cd_json_get(doc, "log_head"), why));
    CD_TRY(cd_adx_hex_fixed(r.signature, sizeof r.signature, cd_json_get(doc, "receipt"), why));
    return cd_outcome_holds(o, &r, key, why);
}

static cd_err verify(const cd_args *args, cd_arena *mem, cd_errinfo *why)
{
    cd_bytes text;
    cd_json doc;
    cd_outcome o;
    const char *const *words;
    const char *word = cd_args_words(args, &words) != 0 ? words[0] : NULL;
    const char *path = word != NULL ? word : cd_args_path(args, mem, VERIFY_FILE);
    CD_TRY(read_json(&text, &doc, mem, path, why));
    CD_TRY(cd_outcome_parse(&o, mem, text, why));
    CD_TRY(cd_outcome_verify(&o, why));
    if (cd_args_path(args, mem, VERIFY_RECEIPT)[0] != '\0') {
        CD_TRY(check_receipt(&o, args, mem, why));
    }
    (void)printf("valid: %u bids, %s, price %llu millionths of a USD CPM\n", o.cnt,
                 o.is_void ? "no winner" : "a winner", (unsigned long long)o.price);
    return CD_OK;
}

int cd_cmd_verify_outcome(int argc, char **argv)
{
    static const cd_args_info info = {
        .program = "candela-adx verify-outcome",
        .purpose = "checks the outcome of a sealed auction, and a receipt against it, without trusting the exchange",
        .example = "candela-adx verify-outcome outcome.json --receipt=receipt.json --commitment=HEX --key=HEX",
        .is_plain_env = true,
        .words_max = 1,
    };
    return command(&info, verify_options, VERIFY_CNT, argc, argv, verify);
}
