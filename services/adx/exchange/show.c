/* What a winner shows: a document of ours, one of others, or markup as it came. */
#include "services/adx/exchange/exchange_priv.h"

#include "base/hex.h"

enum { MTYPE_BANNER = 1 };

cd_vast_version cd__show_vast_version(const cd_rtb_imp *imp)
{
    static const struct {
        i32 inline_ad, wrapper;
        cd_vast_version version;
    } rows[] = {{15, 16, CD_VAST_43}, {13, 14, CD_VAST_42}, {11, 12, CD_VAST_41},
                {7, 8, CD_VAST_40},   {3, 6, CD_VAST_30},   {2, 5, CD_VAST_20}};
    const cd_rtb_ints *p = &imp->video.protocols;
    for (usize i = 0; i < CD_COUNT(rows); i++) {
        if (cd_rtb_ints_has(p, rows[i].inline_ad) || cd_rtb_ints_has(p, rows[i].wrapper)) {
            return rows[i].version;
        }
    }
    return CD_VAST_42;
}

static bool is_url(cd_bytes s)
{
    static const char *const schemes[] = {"http://", "https://"};
    for (usize i = 0; i < CD_COUNT(schemes); i++) {
        usize n = strlen(schemes[i]);
        if (s.n > n && memcmp(s.p, schemes[i], n) == 0) {
            return memchr(s.p, '<', s.n) == NULL;
        }
    }
    return false;
}

static cd_bytes replaced(cd__run *run, const cd_rtb_bid *b, cd_bytes text)
{
    cd_rtb_macro_text room;
    cd_rtb_macros m = cd_rtb_macros_of(&room, b, cd_bytes_str(run->hex), &run->rules.cur);
    m.imp_ts = cd_bytes_str("${AUCTION_IMP_TS}"); // known when it is shown
    cd_buf_clear(&run->text);
    cd_rtb_macros_put(&run->text, text, &m);
    return cd_arena_dup(&run->mem, cd_buf_bytes(&run->text));
}

static cd_bytes first_of(const cd_rtb_strs *list)
{
    return list->cnt == 0 ? (cd_bytes){0} : list->v[0];
}

bool cd__show_uri(cd__run *run, const cd__win *w, cd_bytes *uri)
{
    const cd_rtb_bid *b = w->won.bid;
    if (w->is_wrapped) {
        *uri = replaced(run, b, b->adm.n != 0 ? b->adm : b->nurl);
        return true;
    }
    return w->tree != NULL && cd_vast_tree_next(uri, w->tree);
}

void cd__show_miner(cd__run *run, cd__win *w)
{
    const cd__local *l = w->won.bid->local;
    bool is_secure = run->req.imps[w->won.bid->imp].is_secure;
    cd_gate_choice choice;
    char digits[64];
    for (usize i = 0; l != NULL && i < l->creative->media_cnt; i++) {
        const cd_adx_object *o = &l->creative->objects[i];
        if (o->size == 0 || !cd_gate_choose(run->x->gate, &choice, &o->digest, is_secure, run->prefer_miner)) {
            continue;
        }
        memcpy(w->token.miner, choice.miner, sizeof choice.miner);
        memcpy(w->media.miner, choice.miner, sizeof choice.miner);
        cd_token_name(w->media.name, &w->token);
        w->media.expires_s = w->token.expires_s;
        w->media.size = o->size;
        w->miner_file = i;
        cd_hex_fmt(digits, cd_bytes_of(o->digest.b, 32));
        w->miner_url = cd_arena_fmt(&run->mem, "%s/media/%.64s", choice.url, digits);
        return;
    }
}

/* The files of a creative, the miner's in front: players take the first of those that suit them alike. */
static void add_miner(cd_vast_ad *ad, cd__run *run, const cd__win *w)
{
    cd_buf url = {0};
    cd_vast_media *files = cd_arena_array(&run->mem, cd_vast_media, ad->media_cnt + 1);
    cd_buf_fmt(&url, "%s?m=", w->miner_url);
    cd_media_token_put(&url, &run->x->key, &w->media);
    memcpy(files + 1, ad->media, ad->media_cnt * sizeof *files);
    files[0] = ad->media[w->miner_file];
    files[0].url = cd_arena_dup(&run->mem, cd_buf_bytes(&url));
    files[0].is_streaming = false;
    cd_buf_fini(&url);
    ad->media = files;
    ad->media_cnt++;
}

static void fill_creative(cd_vast_ad *ad, const cd_adx_creative *c)
{
    ad->title = c->title;
    ad->creative_id = c->id;
    ad->registry = c->registry;
    ad->universal_id = c->universal_id;
    ad->click = c->click;
    ad->duration_s = (u32)c->duration;
    ad->skip_after_s = (u32)c->skip_after;
    ad->media = c->media;
    ad->media_cnt = c->media_cnt;
}

void cd__show_ad(cd_vast_ad *out, cd__run *run, const cd__win *w)
{
    const cd_rtb_bid *b = w->won.bid;
    const cd__local *l = b->local;
    *out = (cd_vast_ad){
        .id = b->id,
        .beacons = cd_bytes_str(run->x->beacons),
        .token = w->token_text,
        .serving_id = cd_bytes_str(run->hex),
        .price = b->clears,
        .cur = run->rules.cur,
        .advertiser = first_of(&b->adomain),
        .category = first_of(&b->cat),
        .creative_id = b->crid,
        .ad_id = b->adid,
        .expires_s = (u32)w->won.exp,
    };
    if (l != NULL) {
        fill_creative(out, l->creative);
        if (w->miner_url != NULL) {
            add_miner(out, run, w);
        }
    } else if (w->is_wrapped) {
        out->tag_uri = replaced(run, b, b->adm.n != 0 ? b->adm : b->nurl);
    }
}

/* A document of ours around one ad. */
static cd_bytes own_document(cd__run *run, const cd__win *w, cd_vast_version v)
{
    cd_vast_ad ad;
    cd__show_ad(&ad, run, w);
    cd_buf_clear(&run->text);
    cd_vast_begin(&run->text, v);
    cd_vast_ad_put(&run->text, v, &ad);
    cd_vast_end(&run->text);
    return cd_arena_dup(&run->mem, cd_buf_bytes(&run->text));
}

static cd_bytes beacon_url(cd__run *run, const cd__win *w, const char *event)
{
    cd_bytes t = w->token_text;
    return cd_bytes_str(cd_arena_fmt(&run->mem, "%s%s?b=%.*s", run->x->beacons, event, (int)t.n, (const char *)t.p));
}

static void tell_winner(cd__run *run, const cd__win *w, bool is_wrapped)
{
    const cd_rtb_bid *b = w->won.bid;
    u8 name[CD_LEDGER_TOKEN_LEN];
    if (b->local != NULL) {
        return;
    }
    /* A wrapper's player fetches the notice: it is where the markup lies. */
    if (b->nurl.n != 0 && !is_wrapped) {
        cd__notices_send(run->x->notices, replaced(run, b, b->nurl));
    }
    if (b->burl.n != 0) {
        cd_token_name(name, &w->token);
        cd__notices_bill(run->x->notices, name, replaced(run, b, b->burl), w->token.expires_s);
    }
}

bool cd__show_read(cd__run *run, cd__win *w)
{
    const cd_rtb_bid *b = w->won.bid;
    if (b->local != NULL || b->mtype == MTYPE_BANNER) {
        return true;
    }
    w->is_wrapped = b->adm.n == 0 || is_url(b->adm);
    if (w->is_wrapped) {
        return true;
    }
    return cd_vast_tree_parse(&w->tree, &run->mem, replaced(run, b, b->adm), NULL) == CD_OK &&
           (cd_vast_tree_ads(w->tree) != 0 || !run->is_vast);
}

/* A document of others, with our beacons where it has ads; without ads it is passed on, and paid otherwise. */
static void show_tree(cd__run *run, cd__win *w)
{
    cd_vast_ad ad;
    cd__show_ad(&ad, run, w);
    if (cd_vast_tree_track(w->tree, &ad) == 0) {
        w->won.burl = beacon_url(run, w, "impression");
    }
    cd_buf_clear(&run->text);
    cd_vast_tree_put(&run->text, w->tree);
    w->won.adm = cd_arena_dup(&run->mem, cd_buf_bytes(&run->text));
}

void cd__show(cd__run *run, cd__win *w)
{
    const cd_rtb_bid *b = w->won.bid;
    cd_vast_version v = run->is_vast ? run->vast : cd__show_vast_version(&run->req.imps[b->imp]);
    if (w->tree != NULL) {
        show_tree(run, w);
    } else if (b->local != NULL || w->is_wrapped) {
        w->won.adm = run->is_vast ? (cd_bytes){0} : own_document(run, w, v);
    } else {
        w->won.adm = replaced(run, b, b->adm.n != 0 ? b->adm : b->nurl);
        w->won.burl = beacon_url(run, w, "impression");
    }
    tell_winner(run, w, (w->is_wrapped || w->is_unwrapped) && b->adm.n == 0);
}
