#include "services/adx/vast/doc.h"

static const char *const versions[] = {"2.0", "3.0", "4.0", "4.1", "4.2", "4.3"};
static const char *const events[] = {"start",  "firstQuartile", "midpoint", "thirdQuartile", "complete", "mute",
                                     "unmute", "pause",         "resume",   "skip",          NULL};

bool cd_vast_version_of(cd_vast_version *out, cd_bytes text)
{
    for (usize i = 0; i < CD_COUNT(versions); i++) {
        if (cd_bytes_eq(text, cd_bytes_str(versions[i]))) {
            *out = (cd_vast_version)i;
            return true;
        }
    }
    return false;
}

const char *const *cd_vast_events(void)
{
    return events;
}

/* --- characters --- */

/* The length of the character at p that XML may hold, 0: it may not, or is no UTF-8. */
static usize char_len(const u8 *p, usize left)
{

    u8 c = p[0];
    usize n = c < 0x80 ? 1 : c >= 0xc2 && c < 0xe0 ? 2 : c >= 0xe0 && c < 0xf0 ? 3 : c >= 0xf0 && c < 0xf5 ? 4 : 0;
    if (n == 0 || n > left) {
        return 0;
    }
    if (n == 1) {
        return c >= 0x20 || c == '\t' || c == '\n' || c == '\r' ? 1 : 0;
    }
    u32 v = c & (0xffu >> (n + 1));
    for (usize i = 1; i < n; i++) {
        if ((p[i] & 0xc0) != 0x80) {
            return 0;
        }
        v = (v << 6) | (p[i] & 0x3fu);
    }
    bool is_short = (n == 3 && v < 0x800) || (n == 4 && v < 0x10000);
    bool is_none = (v >= 0xd800 && v < 0xe000) || v == 0xfffe || v == 0xffff || v > 0x10ffff;
    return is_short || is_none ? 0 : n;
}

/* How many of the next bytes, eight at a time, are ASCII without controls and without what is special. */
static usize plain_run(cd_bytes s, usize from, const char *special)
{
    const u64 ones = 0x0101010101010101ull;
    usize i = from;
    for (; s.n - i >= 8; i += 8) {
        u64 w = cd_le64(s.p + i);
        u64 odd = (w | ((w - ones * 0x20) & ~w)) & (ones << 7);
        for (const char *c = special; *c != '\0'; c++) {
            u64 x = w ^ (ones * (u8)*c);
            odd |= (x - ones) & ~x & (ones << 7);
        }
        if (odd != 0) {
            break;
        }
    }
    return i - from;
}

static const char replacement[] = "\xef\xbf\xbd";

static const char *escape_of(u8 c)
{
    return c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '"' ? "&quot;" : NULL;
}

void cd_vast_text(cd_buf *out, cd_bytes s)
{
    usize from = 0;
    for (usize i = plain_run(s, 0, "&<>\""); i < s.n; i += plain_run(s, i, "&<>\"")) {
        usize n = char_len(s.p + i, s.n - i);
        const char *instead = n == 0 ? replacement : escape_of(s.p[i]);
        if (instead != NULL) {
            cd_buf_put(out, cd_bytes_sub(s, from, i - from));
            cd_buf_str(out, instead);
            from = i + (n == 0 ? 1 : n);
        }
        i += n == 0 ? 1 : n;
    }
    cd_buf_put(out, cd_bytes_sub(s, from, s.n - from));
}

void cd_vast_cdata(cd_buf *out, cd_bytes s)
{
    usize from = 0;
    cd_buf_str(out, "<![CDATA[");
    for (usize i = plain_run(s, 0, "]"); i < s.n; i += plain_run(s, i, "]")) {
        usize n = char_len(s.p + i, s.n - i);
        bool ends = s.p[i] == ']' && s.n - i >= 3 && s.p[i + 1] == ']' && s.p[i + 2] == '>';
        if (n == 0 || ends) {
            cd_buf_put(out, cd_bytes_sub(s, from, i - from));
            cd_buf_str(out, ends ? "]]]]><![CDATA[" : replacement);
            i += ends ? 2 : 1;
            from = i;
        } else {
            i += n;
        }
    }
    cd_buf_put(out, cd_bytes_sub(s, from, s.n - from));
    cd_buf_str(out, "]]>");
}

static bool is_hex(u8 c)
{
    return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'f');
}

/* The length of what begins with '[' and may: a macro's name, or the address of a host; 0: neither. */
static usize bracket_len(cd_bytes url, usize at)
{
    bool is_host = at >= 3 && memcmp(url.p + at - 3, "://", 3) == 0;
    for (usize i = at + 1; i < url.n; i++) {
        u8 c = url.p[i];
        bool is_name = (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
        if (c == ']') {
            return i > at + 1 ? i + 1 - at : 0;
        }
        if (!(is_host ? is_hex(c) || c == ':' || c == '.' : is_name)) {
            return 0;
        }
    }
    return 0;
}

static bool is_uri_char(cd_bytes url, usize i, bool has_fragment)
{
    u8 c = url.p[i];
    if (c == '%') {
        return url.n - i > 2 && is_hex(url.p[i + 1]) && is_hex(url.p[i + 2]);
    }
    return c > ' ' && c < 0x7f && strchr("<>\"{}|\\^`[]", c) == NULL && !(c == '#' && has_fragment);
}

void cd_vast_url(cd_buf *out, cd_bytes url)
{
    bool has_fragment = false;
    usize from = 0;
    cd_buf_str(out, "<![CDATA[");
    for (usize i = 0; i < url.n;) {
        usize n = url.p[i] == '[' ? bracket_len(url, i) : is_uri_char(url, i, has_fragment) ? 1 : 0;
        has_fragment = has_fragment || url.p[i] == '#';
        if (n == 0) {
            cd_buf_put(out, cd_bytes_sub(url, from, i - from));
            cd_buf_fmt(out, "%%%02X", url.p[i]);
            from = i + 1;
        }
        i += n == 0 ? 1 : n;
    }
    cd_buf_put(out, cd_bytes_sub(url, from, url.n - from));
    cd_buf_str(out, "]]>");
}

/* --- elements --- */

static void tag(cd_buf *out, const char *open, const char *name)
{
    cd_buf_str(out, open);
    cd_buf_str(out, name);
    cd_buf_u8(out, '>');
}

static void element(cd_buf *out, const char *name, cd_bytes text)
{
    if (text.n != 0) {
        tag(out, "<", name);
        cd_vast_text(out, text);
        tag(out, "</", name);
    }
}

static void link_element(cd_buf *out, const char *open, const char *name, cd_bytes url)
{
    if (url.n != 0) {
        tag(out, "<", open);
        cd_vast_url(out, url);
        tag(out, "</", name);
    }
}

static void attribute(cd_buf *out, const char *name, cd_bytes v)
{
    if (v.n != 0) {
        cd_buf_u8(out, ' ');
        cd_buf_str(out, name);
        cd_buf_str(out, "=\"");
        cd_vast_text(out, v);
        cd_buf_u8(out, '"');
    }
}

static void number(cd_buf *out, const char *name, i64 v)
{
    if (v > 0) {
        cd_buf_fmt(out, " %s=\"%lld\"", name, (long long)v);
    }
}

static void time_text(cd_buf *out, u32 s)
{
    cd_buf_fmt(out, "%02u:%02u:%02u", s / 3600 % 100, s / 60 % 60, s % 60);
}

/* A beacon's address; "more" goes behind the token. */
static void beacon(cd_buf *out, const cd_vast_ad *ad, const char *event, const char *more)
{
    cd_buf_str(out, "<![CDATA[");
    cd_buf_put(out, ad->beacons);
    cd_buf_str(out, event);
    cd_buf_str(out, "?b=");
    cd_buf_put(out, ad->token);
    cd_buf_str(out, more);
    cd_buf_str(out, "]]>");
}

static void put_error(cd_buf *out, const cd_vast_ad *ad)
{
    cd_buf_str(out, "<Error>");
    beacon(out, ad, "error", "&c=[ERRORCODE]");
    cd_buf_str(out, "</Error>");
}

static void put_impression(cd_buf *out, const cd_vast_ad *ad)
{
    cd_buf_str(out, "<Impression id=\"adx\">");
    beacon(out, ad, "impression", "");
    cd_buf_str(out, "</Impression>");
}

static void put_pricing(cd_buf *out, const cd_vast_ad *ad)
{
    char text[CD_MICRO_TEXT_MAX];
    if (ad->price > 0) {
        cd_buf_fmt(out, "<Pricing model=\"CPM\" currency=\"%s\">%.*s</Pricing>", ad->cur.c,
                   (int)cd_micro_fmt(text, ad->price), text);
    }
}

static void put_tracking(cd_buf *out, const cd_vast_ad *ad)
{
    cd_buf_str(out, "<TrackingEvents>");
    for (usize i = 0; events[i] != NULL; i++) {
        cd_buf_str(out, "<Tracking event=\"");
        cd_buf_str(out, events[i]);
        cd_buf_str(out, "\">");
        beacon(out, ad, events[i], "");
        cd_buf_str(out, "</Tracking>");
    }
    cd_buf_str(out, "</TrackingEvents>");
}

static void put_media(cd_buf *out, const cd_vast_ad *ad)
{
    cd_buf_str(out, "<MediaFiles>");
    for (usize i = 0; i < ad->media_cnt; i++) {
        const cd_vast_media *m = &ad->media[i];
        cd_buf_fmt(out, "<MediaFile delivery=\"%s\"", m->is_streaming ? "streaming" : "progressive");
        attribute(out, "type", m->type);
        cd_buf_fmt(out, " width=\"%d\" height=\"%d\"", m->w, m->h);
        number(out, "bitrate", m->bitrate);
        cd_buf_u8(out, '>');
        cd_vast_url(out, m->url);
        cd_buf_str(out, "</MediaFile>");
    }
    cd_buf_str(out, "</MediaFiles>");
}

static void put_clicks(cd_buf *out, const cd_vast_ad *ad, bool through_first)
{
    cd_buf_str(out, "<VideoClicks>");
    if (through_first) {
        link_element(out, "ClickThrough", "ClickThrough", ad->click);
    }
    cd_buf_str(out, "<ClickTracking id=\"adx\">");
    beacon(out, ad, "click", "");
    cd_buf_str(out, "</ClickTracking>");
    if (!through_first) {
        link_element(out, "ClickThrough", "ClickThrough", ad->click);
    }
    cd_buf_str(out, "</VideoClicks>");
}

static void put_duration(cd_buf *out, const cd_vast_ad *ad)
{
    cd_buf_str(out, "<Duration>");
    time_text(out, ad->duration_s);
    cd_buf_str(out, "</Duration>");
}

static void put_linear(cd_buf *out, cd_vast_version v, const cd_vast_ad *ad)
{
    cd_buf_str(out, "<Linear");
    if (ad->skip_after_s != 0 && v != CD_VAST_20) {
        cd_buf_str(out, " skipoffset=\"");
        time_text(out, ad->skip_after_s);
        cd_buf_u8(out, '"');
    }
    cd_buf_u8(out, '>');
    if (v < CD_VAST_40) {
        put_duration(out, ad);
        put_tracking(out, ad);
        put_clicks(out, ad, true);
        put_media(out, ad);
    } else {
        put_tracking(out, ad);
        put_duration(out, ad);
        put_media(out, ad);
        put_clicks(out, ad, false);
    }
    cd_buf_str(out, "</Linear>");
}

static void put_universal_id(cd_buf *out, cd_vast_version v, const cd_vast_ad *ad)
{
    bool is_known = ad->universal_id.n != 0;
    cd_bytes registry = is_known ? ad->registry : cd_bytes_str("unknown");
    cd_bytes id = is_known ? ad->universal_id : cd_bytes_str("unknown");
    cd_buf_str(out, "<UniversalAdId");
    attribute(out, "idRegistry", registry);
    if (v == CD_VAST_40) {
        attribute(out, "idValue", id);
    }
    cd_buf_u8(out, '>');
    cd_vast_text(out, id);
    cd_buf_str(out, "</UniversalAdId>");
}

static void open_creative(cd_buf *out, const cd_vast_ad *ad, bool is_old)
{
    cd_buf_str(out, "<Creatives><Creative");
    attribute(out, "id", ad->creative_id);
    cd_buf_str(out, " sequence=\"1\"");
    attribute(out, is_old ? "AdID" : "adId", ad->ad_id);
    cd_buf_u8(out, '>');
}

static void put_creative(cd_buf *out, cd_vast_version v, const cd_vast_ad *ad)
{
    open_creative(out, ad, v < CD_VAST_40);
    if (v == CD_VAST_40) {
        put_universal_id(out, v, ad);
    }
    put_linear(out, v, ad);
    if (v > CD_VAST_40) {
        put_universal_id(out, v, ad);
    }
    cd_buf_str(out, "</Creative></Creatives>");
}

static void put_system(cd_buf *out)
{
    cd_buf_str(out, "<AdSystem version=\"1.0\">ADX</AdSystem>");
}

static cd_bytes title_of(const cd_vast_ad *ad)
{
    return ad->title.n != 0 ? ad->title : ad->creative_id.n != 0 ? ad->creative_id : cd_bytes_str("ad");
}

static void put_inline(cd_buf *out, cd_vast_version v, const cd_vast_ad *ad)
{
    cd_buf_str(out, "<InLine>");
    put_system(out);
    put_error(out, ad);
    put_impression(out, ad);
    put_pricing(out, ad);
    if (v >= CD_VAST_41) {
        element(out, "AdServingId", ad->serving_id);
    }
    element(out, "AdTitle", title_of(ad));
    element(out, "Advertiser", ad->advertiser);
    if (ad->category.n != 0) {
        cd_buf_str(out, "<Category authority=\"https://iabtechlab.com/categories\">");
        cd_vast_text(out, ad->category);
        cd_buf_str(out, "</Category>");
    }
    put_creative(out, v, ad);
    element(out, "Description", ad->description);
    if (v >= CD_VAST_41 && ad->expires_s != 0) {
        cd_buf_fmt(out, "<Expires>%u</Expires>", ad->expires_s);
    }
    cd_buf_str(out, "</InLine>");
}

/* 2.0 and 3.0 have another order, and 2.0 neither advertiser nor price. */
static void put_inline_old(cd_buf *out, cd_vast_version v, const cd_vast_ad *ad)
{
    cd_buf_str(out, "<InLine>");
    put_system(out);
    element(out, "AdTitle", title_of(ad));
    element(out, "Description", ad->description);
    if (v == CD_VAST_30) {
        element(out, "Advertiser", ad->advertiser);
        put_pricing(out, ad);
    }
    put_error(out, ad);
    put_impression(out, ad);
    put_creative(out, v, ad);
    cd_buf_str(out, "</InLine>");
}

static void put_wrapped_linear(cd_buf *out, const cd_vast_ad *ad, bool is_old)
{
    open_creative(out, ad, is_old);
    cd_buf_str(out, "<Linear>");
    put_tracking(out, ad);
    cd_buf_str(out, "</Linear></Creative></Creatives>");
}

static void put_wrapper(cd_buf *out, cd_vast_version v, const cd_vast_ad *ad)
{
    bool is_old = v < CD_VAST_40;
    cd_buf_str(out, is_old ? "<Wrapper>"
                           : "<Wrapper followAdditionalWrappers=\"true\" allowMultipleAds=\"false\""
                             " fallbackOnNoAd=\"false\">");
    put_system(out);
    if (is_old) {
        link_element(out, "VASTAdTagURI", "VASTAdTagURI", ad->tag_uri);
    }
    put_error(out, ad);
    put_impression(out, ad);
    if (!is_old) {
        put_pricing(out, ad);
    }
    put_wrapped_linear(out, ad, is_old);
    if (!is_old) {
        link_element(out, "VASTAdTagURI", "VASTAdTagURI", ad->tag_uri);
    }
    cd_buf_str(out, "</Wrapper>");
}

/* --- documents --- */

static void open_root(cd_buf *out, cd_vast_version v)
{
    cd_buf_str(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<VAST version=\"");
    cd_buf_str(out, versions[v]);
    cd_buf_str(out, v < CD_VAST_40 ? "\"" : "\" xmlns=\"http://www.iab.com/VAST\"");
    cd_buf_u8(out, '>');
}

void cd_vast_begin(cd_buf *out, cd_vast_version v)
{
    open_root(out, v);
}

void cd_vast_ad_put(cd_buf *out, cd_vast_version v, const cd_vast_ad *ad)
{
    cd_buf_str(out, "<Ad");
    attribute(out, "id", ad->id);
    if (v != CD_VAST_20) {
        number(out, "sequence", ad->sequence);
    }
    cd_buf_u8(out, '>');
    if (ad->tag_uri.n != 0) {
        put_wrapper(out, v, ad);
    } else if (v < CD_VAST_40) {
        put_inline_old(out, v, ad);
    } else {
        put_inline(out, v, ad);
    }
    cd_buf_str(out, "</Ad>");
}

void cd_vast_end(cd_buf *out)
{
    cd_buf_str(out, "</VAST>\n");
}

void cd_vast_none(cd_buf *out, cd_vast_version v, cd_bytes error_url)
{
    open_root(out, v);
    if (v != CD_VAST_20) {
        link_element(out, "Error", "Error", error_url);
    }
    cd_vast_end(out);
}
