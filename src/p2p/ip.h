/* p2p/ip.h - where a node says it is reached, and its signatures under that.
 *
 *   preimage, 26 bytes: 16 of the address (IPv4 as ::ffff:a.b.c.d) ‖ u16 port ‖ u64 Unix seconds
 *
 * The staking key signs it, so that others may pass it on with the certificate; the BLS key signs it under the suite
 * of proofs of possession, for validators. Threading: pure. [spec:p2p#5] */
#ifndef CD_P2P_IP_H
#define CD_P2P_IP_H

#include "p2p/identity.h"

enum { CD_P2P_IP_PREIMAGE_LEN = 26, CD_P2P_IP_TEXT_MAX = 64 };

/* An address and a port; IPv4 as ::ffff:a.b.c.d. */
typedef struct cd_p2p_ip {
    u8 addr[16];
    u16 port;
} cd_p2p_ip;

/* cd_p2p_ip_dec reads an address of 4 or 16 bytes and a port from 1 to 65535. Errors: CD_EFORMAT. */
cd_err cd_p2p_ip_dec(cd_p2p_ip *out, cd_bytes addr, u32 port) CD_CHECK;

/* cd_p2p_ip_parse reads "127.0.0.1:9651" or "[2001:db8::1]:9651"; _addr_parse an address alone, port 0. Errors:
 * CD_EFORMAT. */
cd_err cd_p2p_ip_parse(cd_p2p_ip *out, cd_bytes text) CD_CHECK;
cd_err cd_p2p_ip_addr_parse(cd_p2p_ip *out, cd_bytes text) CD_CHECK;

/* cd_p2p_ip_fmt writes the form that cd_p2p_ip_parse reads; cd_p2p_ip_host writes the address alone, as a socket wants
 * it. */
void cd_p2p_ip_fmt(char out[CD_P2P_IP_TEXT_MAX], const cd_p2p_ip *ip);
void cd_p2p_ip_host(char out[CD_P2P_IP_TEXT_MAX], const cd_p2p_ip *ip);

/* cd_p2p_ip_wire gives the bytes that are sent, 4 for IPv4, else 16; borrowed from ip. */
cd_bytes cd_p2p_ip_wire(const cd_p2p_ip *ip);

/* Kinds of address. is_any: unspecified. is_private: not of the public internet (loopback, link-local and the private
 * networks). */
bool cd_p2p_ip_is_any(const cd_p2p_ip *ip);
bool cd_p2p_ip_is_loopback(const cd_p2p_ip *ip);
bool cd_p2p_ip_is_private(const cd_p2p_ip *ip);
bool cd_p2p_ip_eq(const cd_p2p_ip *a, const cd_p2p_ip *b);

/* An address with the time at which it was signed. */
typedef struct cd_p2p_signed_ip {
    cd_p2p_ip ip;
    u64 timestamp; /* Unix seconds */
    cd_buf sig;    /* signature by the staking key */
    u8 bls_sig[CD_BLS_SIG_LEN];
} cd_p2p_signed_ip;

/* cd_p2p_ip_preimage writes the bytes that are signed. */
void cd_p2p_ip_preimage(u8 out[CD_P2P_IP_PREIMAGE_LEN], const cd_p2p_ip *ip, u64 timestamp);

/* cd_p2p_ip_sign signs with both keys; what out held is released. */
void cd_p2p_ip_sign(cd_p2p_signed_ip *out, const cd_p2p_identity *id, const cd_p2p_ip *ip, u64 timestamp);
void cd_p2p_signed_ip_fini(cd_p2p_signed_ip *ip);

/* cd_p2p_ip_check checks the staking key's signature. Errors: those of cd_cert_check. */
cd_err cd_p2p_ip_check(const cd_cert *cert, const cd_p2p_ip *ip, u64 timestamp, cd_bytes sig, cd_errinfo *why) CD_CHECK;

/* cd_p2p_ip_check_bls tells whether sig is the signature by the BLS key. */
bool cd_p2p_ip_check_bls(const cd_bls_pk *pk, const cd_p2p_ip *ip, u64 timestamp, const cd_bls_sig *sig) CD_CHECK;

/* cd_p2p_ip_gossip_id gives the ID by which a node's address goes into Bloom filters. */
void cd_p2p_ip_gossip_id(cd_hash32 *out, const cd_node_id *node, u64 timestamp);

#endif
