#include "p2p/ip.h"

#include "base/num_text.h"
#include "crypto/hash/sha2.h"

#include <arpa/inet.h>
#include <stdio.h>

static const u8 V4_FRONT[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

static bool is_v4(const cd_p2p_ip *ip)
{
    return memcmp(ip->addr, V4_FRONT, sizeof V4_FRONT) == 0;
}

cd_err cd_p2p_ip_dec(cd_p2p_ip *out, cd_bytes addr, u32 port)
{
    if ((addr.n != 4 && addr.n != 16) || port == 0 || port > UINT16_MAX) {
        return CD_EFORMAT;
    }
    memcpy(out->addr, V4_FRONT, sizeof V4_FRONT);
    memcpy(out->addr + 16 - addr.n, addr.p, addr.n);
    out->port = (u16)port;
    return CD_OK;
}

cd_bytes cd_p2p_ip_wire(const cd_p2p_ip *ip)
{
    return is_v4(ip) ? cd_bytes_of(ip->addr + 12, 4) : cd_bytes_of(ip->addr, 16);
}

bool cd_p2p_ip_eq(const cd_p2p_ip *a, const cd_p2p_ip *b)
{
    return a->port == b->port && memcmp(a->addr, b->addr, sizeof a->addr) == 0;
}

/* --- text --- */

cd_err cd_p2p_ip_addr_parse(cd_p2p_ip *out, cd_bytes text)
{
    char host[CD_P2P_IP_TEXT_MAX];
    u8 addr[16];
    if (text.n == 0 || text.n >= sizeof host || memchr(text.p, '\0', text.n) != NULL) {
        return CD_EFORMAT;
    }
    memcpy(host, text.p, text.n);
    host[text.n] = '\0';
    usize n = inet_pton(AF_INET, host, addr) == 1 ? 4 : inet_pton(AF_INET6, host, addr) == 1 ? 16 : 0;
    CD_TRY(cd_p2p_ip_dec(out, cd_bytes_of(addr, n), 1));
    out->port = 0;
    return CD_OK;
}

cd_err cd_p2p_ip_parse(cd_p2p_ip *out, cd_bytes text)
{
    cd_p2p_ip ip;
    u64 port;
    usize colon = text.n;
    while (colon != 0 && text.p[colon - 1] != ':') {
        colon--;
    }
    if (colon == 0) {
        return CD_EFORMAT;
    }
    cd_bytes host = cd_bytes_sub(text, 0, colon - 1);
    bool has_brackets = host.n > 2 && host.p[0] == '[' && host.p[host.n - 1] == ']';
    if (!has_brackets && memchr(host.p, ':', host.n) != NULL) {
        return CD_EFORMAT; /* an IPv6 address without a port */
    }
    host = has_brackets ? cd_bytes_sub(host, 1, host.n - 2) : host;
    CD_TRY(cd_p2p_ip_addr_parse(&ip, host));
    if (cd_u64_parse(&port, cd_bytes_sub(text, colon, text.n - colon)) != CD_OK || port == 0 || port > UINT16_MAX) {
        return CD_EFORMAT;
    }
    ip.port = (u16)port;
    *out = ip;
    return CD_OK;
}

void cd_p2p_ip_host(char out[CD_P2P_IP_TEXT_MAX], const cd_p2p_ip *ip)
{
    const char *text = is_v4(ip) ? inet_ntop(AF_INET, ip->addr + 12, out, CD_P2P_IP_TEXT_MAX)
                                 : inet_ntop(AF_INET6, ip->addr, out, CD_P2P_IP_TEXT_MAX);
    CD_ASSERT(text != NULL);
}

void cd_p2p_ip_fmt(char out[CD_P2P_IP_TEXT_MAX], const cd_p2p_ip *ip)
{
    char host[CD_P2P_IP_TEXT_MAX];
    cd_p2p_ip_host(host, ip);
    (void)snprintf(out, CD_P2P_IP_TEXT_MAX, is_v4(ip) ? "%.46s:%u" : "[%.46s]:%u", host, ip->port);
}

/* --- kinds --- */

bool cd_p2p_ip_is_any(const cd_p2p_ip *ip)
{
    static const u8 zeros[16];
    return memcmp(ip->addr, zeros, 16) == 0 || (is_v4(ip) && memcmp(ip->addr + 12, zeros, 4) == 0);
}

bool cd_p2p_ip_is_loopback(const cd_p2p_ip *ip)
{
    static const u8 one[16] = {[15] = 1};
    return is_v4(ip) ? ip->addr[12] == 127 : memcmp(ip->addr, one, 16) == 0;
}

bool cd_p2p_ip_is_private(const cd_p2p_ip *ip)
{
    const u8 *a = ip->addr + 12;
    if (cd_p2p_ip_is_loopback(ip) || cd_p2p_ip_is_any(ip)) {
        return true;
    }
    if (is_v4(ip)) {
        return a[0] == 10 || (a[0] == 172 && a[1] >> 4 == 1) || (a[0] == 192 && a[1] == 168) ||
               (a[0] == 169 && a[1] == 254);
    }
    return (ip->addr[0] & 0xfe) == 0xfc || (ip->addr[0] == 0xfe && ip->addr[1] >> 6 == 2);
}

/* --- signatures --- */

void cd_p2p_ip_preimage(u8 out[CD_P2P_IP_PREIMAGE_LEN], const cd_p2p_ip *ip, u64 timestamp)
{
    memcpy(out, ip->addr, 16);
    cd_put_be16(out + 16, ip->port);
    cd_put_be64(out + 18, timestamp);
}

void cd_p2p_ip_sign(cd_p2p_signed_ip *out, const cd_p2p_identity *id, const cd_p2p_ip *ip, u64 timestamp)
{
    u8 preimage[CD_P2P_IP_PREIMAGE_LEN];
    cd_bls_sig sig;
    out->ip = *ip;
    out->timestamp = timestamp;
    cd_p2p_ip_preimage(preimage, ip, timestamp);
    cd_buf_clear(&out->sig);
    cd_signkey_sign(id->key, &out->sig, cd_bytes_of(preimage, sizeof preimage));
    cd_err e = cd_bls_sign(&sig, CD_BLS_POP_PROOF, cd_bytes_of(preimage, sizeof preimage),
                           (const cd_bls_sk *)(const void *)id->bls.p);
    CD_ASSERT(e == CD_OK); /* the key was checked when it was read */
    cd_bls_sig_enc(out->bls_sig, &sig);
}

void cd_p2p_signed_ip_fini(cd_p2p_signed_ip *ip)
{
    cd_buf_fini(&ip->sig);
}

cd_err cd_p2p_ip_check(const cd_cert *cert, const cd_p2p_ip *ip, u64 timestamp, cd_bytes sig, cd_errinfo *why)
{
    u8 preimage[CD_P2P_IP_PREIMAGE_LEN];
    cd_p2p_ip_preimage(preimage, ip, timestamp);
    return cd_cert_check(cert, cd_bytes_of(preimage, sizeof preimage), sig, why);
}

bool cd_p2p_ip_check_bls(const cd_bls_pk *pk, const cd_p2p_ip *ip, u64 timestamp, const cd_bls_sig *sig)
{
    u8 preimage[CD_P2P_IP_PREIMAGE_LEN];
    cd_p2p_ip_preimage(preimage, ip, timestamp);
    return cd_bls_verify(sig, CD_BLS_POP_PROOF, cd_bytes_of(preimage, sizeof preimage), pk);
}

void cd_p2p_ip_gossip_id(cd_hash32 *out, const cd_node_id *node, u64 timestamp)
{
    u8 text[40] = {0}; /* sized as if a node's ID had 32 bytes */
    memcpy(text, node->b, 20);
    cd_put_be64(text + 20, timestamp);
    cd_sha256(out, cd_bytes_of(text, sizeof text));
}
