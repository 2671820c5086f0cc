#include "identity.h"

#include "base/os/clock.h"
#include "chains/platform/genesis/config.h"
#include "codec/base64.h"
#include "options.h"
#include "report.h"

/* Reads certificate, its key and the BLS key from flags that hold them in base64. */
static bool open_contents(cd_p2p_identity *out, const cd_args *a, cd_arena *mem)
{
    static const usize ids[] = {OPT_STAKING_CERT_TEXT, OPT_STAKING_KEY_TEXT, OPT_STAKING_SIGNER_TEXT};
    cd_bytes texts[CD_COUNT(ids)];
    cd_errinfo why = {0};
    for (usize i = 0; i < CD_COUNT(ids); i++) {
        cd_buf raw = {0};
        if (cd_base64_dec(&raw, cd_bytes_str(cd_args_str(a, ids[i]))) != CD_OK) {
            cd_buf_fini(&raw);
            cd__report("error", NULL, cd_arena_fmt(mem, "--%s is not base64", cd__options[ids[i]].name), "");
            return false;
        }
        texts[i] = cd_arena_dup(mem, cd_buf_bytes(&raw));
        cd_buf_fini(&raw);
    }
    if (texts[0].n == 0 || texts[1].n == 0) {
        cd__report("error", NULL, "a certificate in place needs its key in place, and the other way round",
                   "both: --staking-tls-cert-file-content=BASE64 --staking-tls-key-file-content=BASE64");
        return false;
    }
    if (cd_p2p_identity_of(out, texts[0], texts[1], texts[2], &why) != CD_OK) {
        cd__report("error", NULL, why.msg, "");
        return false;
    }
    return true;
}

bool cd__identity_open(cd_p2p_identity *out, const cd_args *a, cd_arena *mem, bool is_kept)
{
    cd_errinfo why = {0};
    if (cd_args_str(a, OPT_STAKING_CERT_TEXT)[0] != '\0' || cd_args_str(a, OPT_STAKING_KEY_TEXT)[0] != '\0') {
        return open_contents(out, a, mem);
    }
    bool has_cert = is_kept && !cd_args_bool(a, OPT_EPHEMERAL_CERT);
    bool has_signer = is_kept && !cd_args_bool(a, OPT_EPHEMERAL_SIGNER);
    const cd_p2p_identity_files files = {
        .cert = has_cert ? cd_args_path(a, mem, OPT_STAKING_CERT) : NULL,
        .key = has_cert ? cd_args_path(a, mem, OPT_STAKING_KEY) : NULL,
        .signer = has_signer ? cd_args_path(a, mem, OPT_STAKING_SIGNER) : NULL,
    };
    if (cd_p2p_identity_open(out, cd_fs_real(), &files, cd_clock_wall_ns(cd_clock_real()), &why) != CD_OK) {
        cd__report("error", NULL, why.msg,
                   "another place: --staking-tls-cert-file, --staking-tls-key-file, "
                   "--staking-signer-key-file");
        return false;
    }
    return true;
}

bool cd__identity_may_serve(const cd_p2p_identity *self, const cd_network *net)
{
    cd_errinfo why = {0};
    if (!cd_network_refuses_public_keys(net->id) || !cd_pgenesis_is_public_staker(&self->node_id, self->bls_public)) {
        return true;
    }
    (void)cd_fail(&why, CD_EINVAL, "refusing to use a publicly known key on network %s", net->name);
    cd__report("error", NULL, why.msg, "the node makes keys of its own where there are no files");
    return false;
}

const char *cd__staking_host(const cd_args *a, cd_arena *mem)
{
    const char *ip = cd_args_str(a, OPT_PUBLIC_IP);
    const char *host = cd_args_str(a, OPT_STAKING_HOST);
    const char *at = ip[0] != '\0' ? ip : host[0] != '\0' ? host : "127.0.0.1";
    bool is_v6 = strchr(at, ':') != NULL && at[0] != '[';
    return is_v6 ? cd_arena_fmt(mem, "[%s]", at) : at;
}

const char *cd__identity_header(const cd_p2p_identity *self, cd_arena *mem)
{
    cd_buf text = {0};
    cd_buf_str(&text, "Node-Id: ");
    cd_node_id_put(&text, &self->node_id);
    cd_buf_str(&text, "\r\n");
    const char *line = cd_arena_str(mem, cd_buf_bytes(&text));
    cd_buf_fini(&text);
    return line;
}
