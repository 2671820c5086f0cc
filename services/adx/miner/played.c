#include "services/adx/miner/played.h"

#include "base/mem/mem.h"
#include "base/table/hmap.h"
#include "base/table/list.h"
#include "crypto/hash/sha2.h"
#include "services/adx/auction/text.h"

typedef struct play {
    cd_list age;     /* by when it was asked by, oldest first */
    cd_list waiting; /* to be told; by itself when it is told */
    cd_hash32 name;
    u64 bytes, told, acked;
    u64 seq; /* of the message that told it last */
    u64 seen_s;
    u8 n;
    char token[CD_PLAYED_TOKEN_MAX];
} play;

struct cd_played {
    cd_hmap by_name; /* SHA-256 of the token to play * */
    cd_list age, waiting;
    usize waiting_cnt;
};

cd_played *cd_played_new(void)
{
    cd_played *p = cd_new(cd_played);
    cd_hmap_init(&p->by_name, CD_HASH_KEYED, sizeof(cd_hash32), sizeof(play *));
    cd_list_init(&p->age);
    cd_list_init(&p->waiting);
    return p;
}

static void unwait(cd_played *p, play *y)
{
    if (!cd_list_is_empty(&y->waiting)) {
        cd_list_del(&y->waiting);
        p->waiting_cnt--;
    }
}

static void wait(cd_played *p, play *y)
{
    if (cd_list_is_empty(&y->waiting)) {
        cd_list_push_back(&p->waiting, &y->waiting);
        p->waiting_cnt++;
    }
}

static void drop(cd_played *p, play *y)
{
    unwait(p, y);
    cd_list_del(&y->age);
    (void)cd_hmap_del(&p->by_name, &y->name);
    cd_free(y);
}

void cd_played_free(cd_played *p)
{
    if (p == NULL) {
        return;
    }
    while (!cd_list_is_empty(&p->age)) {
        drop(p, cd_list_of(cd_list_first(&p->age), play, age));
    }
    cd_hmap_fini(&p->by_name);
    cd_free(p);
}

static bool is_token(cd_bytes t)
{
    bool is_good = t.n != 0 && t.n <= CD_PLAYED_TOKEN_MAX;
    for (usize i = 0; i < t.n && is_good; i++) {
        u8 c = t.p[i];
        is_good = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '_';
    }
    return is_good;
}

static play *make(cd_played *p, const cd_hash32 *name, cd_bytes token)
{
    if (cd_hmap_cnt(&p->by_name) == CD_PLAYED_MAX) {
        drop(p, cd_list_of(cd_list_first(&p->age), play, age));
    }
    play *y = cd_new(play);
    y->name = *name;
    y->n = (u8)token.n;
    memcpy(y->token, token.p, token.n);
    cd_list_init(&y->waiting);
    cd_list_push_back(&p->age, &y->age);
    *(play **)cd_hmap_put(&p->by_name, NULL, name) = y;
    return y;
}

void cd_played_add(cd_played *p, cd_bytes token, u64 bytes, u64 now_s)
{
    cd_hash32 name;
    if (!is_token(token) || bytes == 0) {
        return;
    }
    cd_sha256(&name, token);
    play **found = cd_hmap_get(&p->by_name, &name);
    play *y = found == NULL ? make(p, &name, token) : *found;
    y->bytes += bytes;
    y->seen_s = now_s;
    cd_list_del(&y->age);
    cd_list_push_back(&p->age, &y->age);
    wait(p, y);
}

usize cd_played_put(cd_played *p, cd_json_w *w, u64 seq)
{
    usize cnt = 0;
    while (cnt < CD_WIRE_REPORT_MAX && !cd_list_is_empty(&p->waiting)) {
        play *y = cd_list_of(cd_list_first(&p->waiting), play, waiting);
        unwait(p, y);
        y->told = y->bytes;
        y->seq = seq;
        cd_json_w_obj(w);
        cd_json_put_str(w, "token", cd_bytes_of(y->token, y->n));
        cd_adx_put_u64(w, "bytes", y->bytes);
        cd_json_w_obj_end(w);
        cnt++;
    }
    return cnt;
}

void cd_played_ack(cd_played *p, u64 seq)
{
    cd_list_each(it, &p->age)
    {
        play *y = cd_list_of(it, play, age);
        y->acked = y->seq == seq ? y->told : y->acked;
    }
}

void cd_played_lost(cd_played *p)
{
    cd_list_each(it, &p->age)
    {
        play *y = cd_list_of(it, play, age);
        y->seq = 0;
        if (y->acked < y->bytes) {
            wait(p, y);
        }
    }
}

void cd_played_forget(cd_played *p, u64 now_s)
{
    cd_list_each_safe(it, &p->age)
    {
        play *y = cd_list_of(it, play, age);
        if (y->seen_s + CD_PLAYED_KEEP_S >= now_s) {
            return;
        }
        drop(p, y);
    }
}

usize cd_played_waiting(const cd_played *p)
{
    return p->waiting_cnt;
}
