#include "services/adx/vast/tree.h"

#include "base/text.h"

#include <expat.h>

typedef struct attr {
    const char *name;
    cd_bytes value;
    struct attr *next;
} attr;

/* An element, or character data where name is NULL. */
typedef struct node {
    const char *name;
    attr *attrs;
    cd_bytes text;
    bool is_cdata;
    struct node *parent, *first, *last, *next, *prev;
} node;

struct cd_vast_tree {
    cd_arena *a;
    node *root;
};

/* --- reading --- */

typedef struct reading {
    XML_Parser parser;
    cd_arena *a;
    node *root, *at;
    u32 depth, nodes;
    bool in_cdata;
    cd_err err;
} reading;

static void stop(reading *r, cd_err err)
{
    r->err = err;
    (void)XML_StopParser(r->parser, XML_FALSE);
}

static node *add_node(cd_arena *a, node *parent)
{
    node *n = cd_arena_new(a, node);
    n->parent = parent;
    if (parent != NULL) {
        n->prev = parent->last;
        *(parent->last == NULL ? &parent->first : &parent->last->next) = n;
        parent->last = n;
    }
    return n;
}

static void add_attr(cd_arena *a, node *n, const char *name, cd_bytes value)
{
    attr **end = &n->attrs;
    while (*end != NULL) {
        end = &(*end)->next;
    }
    *end = cd_arena_new(a, attr);
    (*end)->name = cd_arena_str(a, cd_bytes_str(name));
    (*end)->value = cd_arena_dup(a, value);
}

static void on_start(void *ctx, const XML_Char *name, const XML_Char **attrs)
{
    reading *r = ctx;
    if (r->depth == CD_VAST_DEPTH_MAX) {
        stop(r, CD_EDEPTH);
        return;
    }
    if (r->nodes++ == CD_VAST_NODES_MAX) {
        stop(r, CD_ELIMIT);
        return;
    }
    node *n = add_node(r->a, r->at);
    n->name = cd_arena_str(r->a, cd_bytes_str(name));
    for (usize i = 0; attrs[i] != NULL; i += 2) {
        if (r->nodes++ == CD_VAST_NODES_MAX) {
            stop(r, CD_ELIMIT);
            return;
        }
        add_attr(r->a, n, attrs[i], cd_bytes_str(attrs[i + 1]));
    }
    r->root = r->root == NULL ? n : r->root;
    r->at = n;
    r->depth++;
}

static void on_end(void *ctx, const XML_Char *name)
{
    reading *r = ctx;
    (void)name;
    r->at = r->at->parent;
    r->depth--;
}

/* Pieces of one text come one by one; they are joined so that it is written as one. */
static void on_text(void *ctx, const XML_Char *s, int len)
{
    reading *r = ctx;
    node *last = r->at == NULL ? NULL : r->at->last;
    usize n = (usize)len;
    if (r->at == NULL || n == 0) {
        return;
    }
    if (r->nodes++ == CD_VAST_NODES_MAX) {
        stop(r, CD_ELIMIT);
        return;
    }
    if (last == NULL || last->name != NULL || last->is_cdata != r->in_cdata) {
        last = add_node(r->a, r->at);
        last->is_cdata = r->in_cdata;
        last->text = cd_arena_dup(r->a, cd_bytes_of(s, n));
        return;
    }
    u8 *joined = cd_arena_alloc(r->a, last->text.n + n);
    memcpy(joined, last->text.p, last->text.n);
    memcpy(joined + last->text.n, s, n);
    last->text = cd_bytes_of(joined, last->text.n + n);
}

static void on_cdata_start(void *ctx)
{
    ((reading *)ctx)->in_cdata = true;
}

static void on_cdata_end(void *ctx)
{
    ((reading *)ctx)->in_cdata = false;
}

static void on_doctype(void *ctx, const XML_Char *name, const XML_Char *sys, const XML_Char *pub, int has_internal)
{
    (void)name;
    (void)sys;
    (void)pub;
    (void)has_internal;
    stop(ctx, CD_EFORMAT);
}

/* White space in front of a declaration is no XML, and common. */
static cd_bytes without_blanks(cd_bytes s)
{
    while (s.n != 0 && (s.p[0] == ' ' || s.p[0] == '\n' || s.p[0] == '\r' || s.p[0] == '\t')) {
        s = cd_bytes_sub(s, 1, s.n - 1);
    }
    return s;
}

static cd_err read_all(reading *r, cd_bytes text, cd_errinfo *why)
{
    XML_SetUserData(r->parser, r);
    XML_SetElementHandler(r->parser, on_start, on_end);
    XML_SetCharacterDataHandler(r->parser, on_text);
    XML_SetCdataSectionHandler(r->parser, on_cdata_start, on_cdata_end);
    XML_SetStartDoctypeDeclHandler(r->parser, on_doctype);
    bool is_whole = XML_Parse(r->parser, (const char *)text.p, (int)text.n, XML_TRUE) == XML_STATUS_OK;
    if (r->err != CD_OK) {
        return cd_fail(why, r->err, "XML that is too deep, too large, or has a document type");
    }
    if (!is_whole) {
        return cd_fail(why, CD_EFORMAT, "XML: %s in line %lu", XML_ErrorString(XML_GetErrorCode(r->parser)),
                       (unsigned long)XML_GetCurrentLineNumber(r->parser));
    }
    return r->root != NULL && strcmp(r->root->name, "VAST") == 0 ? CD_OK
                                                                 : cd_fail(why, CD_EFORMAT, "the root is not VAST");
}

cd_err cd_vast_tree_parse(cd_vast_tree **out, cd_arena *a, cd_bytes text, cd_errinfo *why)
{
    reading r = {.a = a};
    text = without_blanks(text);
    if (text.n > CD_VAST_TREE_MAX) {
        return cd_fail(why, CD_ELIMIT, "a document of %zu bytes is too long", text.n);
    }
    r.parser = XML_ParserCreate(NULL);
    CD_ASSERT(r.parser != NULL);
    cd_err err = read_all(&r, text, why);
    XML_ParserFree(r.parser);
    if (err != CD_OK) {
        return err;
    }
    cd_vast_tree *t = cd_arena_new(a, cd_vast_tree);
    t->a = a;
    t->root = r.root;
    *out = t;
    return CD_OK;
}

/* --- looking --- */

static const attr *find_attr(const node *n, const char *name)
{
    for (const attr *x = n->attrs; x != NULL; x = x->next) {
        if (strcmp(x->name, name) == 0) {
            return x;
        }
    }
    return NULL;
}

static bool is_named(const node *n, const char *name)
{
    return n->name != NULL && strcmp(n->name, name) == 0;
}

static node *child(const node *n, const char *name)
{
    for (node *c = n->first; c != NULL; c = c->next) {
        if (is_named(c, name)) {
            return c;
        }
    }
    return NULL;
}

static node *last_child(const node *n, const char *name)
{
    for (node *c = n->last; c != NULL; c = c->prev) {
        if (is_named(c, name)) {
            return c;
        }
    }
    return NULL;
}

cd_vast_version cd_vast_tree_version(const cd_vast_tree *t)
{
    const attr *v = find_attr(t->root, "version");
    cd_vast_version version;
    cd_bytes text = v == NULL ? (cd_bytes){0} : v->value;
    if (cd_vast_version_of(&version, cd_bytes_sub(text, 0, text.n < 3 ? text.n : 3))) {
        return version;
    }
    return text.n != 0 && text.p[0] >= '4' ? CD_VAST_42 : text.n != 0 && text.p[0] == '3' ? CD_VAST_30 : CD_VAST_20;
}

/* --- adding --- */

/* Makes n the child of parent behind `behind`, its first where that is NULL. */
static void insert(node *parent, node *behind, node *n)
{
    n->parent = parent;
    n->prev = behind;
    n->next = behind == NULL ? parent->first : behind->next;
    *(behind == NULL ? &parent->first : &behind->next) = n;
    *(n->next == NULL ? &parent->last : &n->next->prev) = n;
}

static node *new_element(const cd_vast_tree *t, const char *name)
{
    node *n = cd_arena_new(t->a, node);
    n->name = name;
    return n;
}

/* An element that holds one of our addresses. */
static node *new_beacon(const cd_vast_tree *t, const cd_vast_ad *ad, const char *name, const char *event,
                        const char *more)
{
    node *n = new_element(t, name);
    node *text = add_node(t->a, n);
    text->is_cdata = true;
    text->text = cd_bytes_str(cd_arena_fmt(t->a, "%.*s%s?b=%.*s%s", (int)ad->beacons.n, (const char *)ad->beacons.p,
                                           event, (int)ad->token.n, (const char *)ad->token.p, more));
    return n;
}

/* What stands in front of the impressions, in documents that have none. */
static node *before_impression(const node *body)
{
    static const char *const names[] = {"Extensions", "Error",        "Survey",  "Description",
                                        "AdTitle",    "VASTAdTagURI", "AdSystem"};
    for (usize i = 0; i < CD_COUNT(names); i++) {
        node *c = last_child(body, names[i]);
        if (c != NULL) {
            return c;
        }
    }
    return NULL;
}

static void add_head(const cd_vast_tree *t, node *body, const cd_vast_ad *ad, cd_vast_version v)
{
    node *impression = last_child(body, "Impression");
    node *error = last_child(body, "Error");
    node *ours = new_beacon(t, ad, "Impression", "impression", "");
    add_attr(t->a, ours, "id", cd_bytes_str("adx"));
    insert(body, impression != NULL ? impression : before_impression(body), ours);
    if (v == CD_VAST_20 && error != NULL) {
        return; // there may be one only
    }
    node *first = child(body, "Impression");
    node *behind = error != NULL ? error : v >= CD_VAST_40 ? child(body, "AdSystem") : first->prev;
    insert(body, behind, new_beacon(t, ad, "Error", "error", "&c=[ERRORCODE]"));
}

static void add_tracking(const cd_vast_tree *t, node *linear, const cd_vast_ad *ad, cd_vast_version v)
{
    node *tracking = child(linear, "TrackingEvents");
    if (tracking == NULL) {
        tracking = new_element(t, "TrackingEvents");
        insert(linear, v >= CD_VAST_40 ? last_child(linear, "Icons") : child(linear, "Duration"), tracking);
    }
    for (const char *const *e = cd_vast_events(); *e != NULL; e++) {
        node *n = new_beacon(t, ad, "Tracking", *e, "");
        add_attr(t->a, n, "event", cd_bytes_str(*e));
        insert(tracking, tracking->last, n);
    }
}

static void add_click(const cd_vast_tree *t, node *linear, const cd_vast_ad *ad, cd_vast_version v)
{
    node *clicks = child(linear, "VideoClicks");
    node *through = clicks == NULL || v >= CD_VAST_40 ? NULL : child(clicks, "ClickThrough");
    if (clicks != NULL) {
        insert(clicks, through, new_beacon(t, ad, "ClickTracking", "click", ""));
    }
}

static void track_body(const cd_vast_tree *t, node *body, const cd_vast_ad *ad, cd_vast_version v)
{
    add_head(t, body, ad, v);
    node *creatives = child(body, "Creatives");
    for (node *c = creatives == NULL ? NULL : creatives->first; c != NULL; c = c->next) {
        node *linear = is_named(c, "Creative") ? child(c, "Linear") : NULL;
        if (linear != NULL) {
            add_tracking(t, linear, ad, v);
            add_click(t, linear, ad, v);
        }
    }
}

static node *body_of(const node *ad)
{
    if (!is_named(ad, "Ad")) {
        return NULL;
    }
    node *inline_ad = child(ad, "InLine");
    return inline_ad != NULL ? inline_ad : child(ad, "Wrapper");
}

u32 cd_vast_tree_ads(const cd_vast_tree *t)
{
    u32 cnt = 0;
    for (const node *c = t->root->first; c != NULL; c = c->next) {
        cnt += body_of(c) != NULL ? 1 : 0;
    }
    return cnt;
}

u32 cd_vast_tree_track(cd_vast_tree *t, const cd_vast_ad *ad)
{
    static const char ns[] = "http://www.iab.com/VAST";
    cd_vast_version v = cd_vast_tree_version(t);
    u32 cnt = 0;
    if (v >= CD_VAST_40 && find_attr(t->root, "xmlns") == NULL) {
        add_attr(t->a, t->root, "xmlns", cd_bytes_str(ns));
    }
    for (node *c = t->root->first; c != NULL; c = c->next) {
        node *body = body_of(c);
        if (body != NULL) {
            track_body(t, body, ad, v);
            cnt++;
        }
    }
    return cnt;
}

/* --- unwrapping --- */

static node *first_body(const cd_vast_tree *t)
{
    node *body = NULL;
    for (const node *c = t->root->first; c != NULL && body == NULL; c = c->next) {
        body = body_of(c);
    }
    return body;
}

/* The character data of an element, as one piece where it is one. */
static cd_bytes text_of(const node *n)
{
    const node *longest = NULL;
    for (const node *c = n->first; c != NULL; c = c->next) {
        bool is_text = c->name == NULL && cd_text_trim(c->text, NULL).n != 0;
        longest = is_text && (longest == NULL || c->text.n > longest->text.n) ? c : longest;
    }
    return longest == NULL ? (cd_bytes){0} : cd_text_trim(longest->text, NULL);
}

bool cd_vast_tree_next(cd_bytes *uri, const cd_vast_tree *t)
{
    const node *body = first_body(t);
    const node *tag = body == NULL || !is_named(body, "Wrapper") ? NULL : child(body, "VASTAdTagURI");
    *uri = tag == NULL ? (cd_bytes){0} : text_of(tag);
    return uri->n != 0;
}

usize cd_vast_tree_errors(const cd_vast_tree *t, cd_bytes *out, usize max)
{
    const node *body = first_body(t);
    usize cnt = 0;
    for (const node *c = body == NULL ? NULL : body->first; c != NULL && cnt < max; c = c->next) {
        if (is_named(c, "Error") && text_of(c).n != 0) {
            out[cnt++] = text_of(c);
        }
    }
    return cnt;
}

/* An element of the wrapper's, with its address and its attributes. */
static node *copy_of(const cd_vast_tree *t, const node *from)
{
    node *n = new_element(t, from->name);
    node *text = add_node(t->a, n);
    text->is_cdata = true;
    text->text = text_of(from);
    for (const attr *x = from->attrs; x != NULL; x = x->next) {
        add_attr(t->a, n, x->name, x->value);
    }
    return n;
}

static bool is_known_event(const node *tracking)
{
    const attr *event = find_attr(tracking, "event");
    for (const char *const *e = cd_vast_events(); event != NULL && *e != NULL; e++) {
        if (cd_bytes_eq(event->value, cd_bytes_str(*e))) {
            return true;
        }
    }
    return false;
}

static void merge_linear(const cd_vast_tree *t, node *linear, const node *from, cd_vast_version v)
{
    const node *theirs = child(from, "TrackingEvents");
    const node *their_clicks = child(from, "VideoClicks");
    node *tracking = child(linear, "TrackingEvents");
    node *clicks = child(linear, "VideoClicks");
    if (tracking == NULL && theirs != NULL) {
        tracking = new_element(t, "TrackingEvents");
        insert(linear, v >= CD_VAST_40 ? last_child(linear, "Icons") : child(linear, "Duration"), tracking);
    }
    for (const node *c = theirs == NULL ? NULL : theirs->first; c != NULL; c = c->next) {
        if (is_named(c, "Tracking") && is_known_event(c) && text_of(c).n != 0) {
            insert(tracking, tracking->last, copy_of(t, c));
        }
    }
    for (const node *c = their_clicks == NULL || clicks == NULL ? NULL : their_clicks->first; c != NULL; c = c->next) {
        if (is_named(c, "ClickTracking") && text_of(c).n != 0) {
            insert(clicks, v >= CD_VAST_40 ? NULL : child(clicks, "ClickThrough"), copy_of(t, c));
        }
    }
}

static void merge_body(const cd_vast_tree *t, node *body, const node *from, cd_vast_version v)
{
    for (const node *c = from->first; c != NULL; c = c->next) {
        node *last = last_child(body, is_named(c, "Error") ? "Error" : "Impression");
        if (is_named(c, "Impression") && text_of(c).n != 0) {
            insert(body, last != NULL ? last : before_impression(body), copy_of(t, c));
        } else if (is_named(c, "Error") && text_of(c).n != 0 && (last == NULL || v != CD_VAST_20)) {
            const node *impression = child(body, "Impression");
            node *behind = v >= CD_VAST_40 ? child(body, "AdSystem") : impression == NULL ? NULL : impression->prev;
            insert(body, last != NULL ? last : behind, copy_of(t, c));
        }
    }
    const node *theirs = child(from, "Creatives");
    const node *their_linear = NULL;
    for (const node *c = theirs == NULL ? NULL : theirs->first; c != NULL && their_linear == NULL; c = c->next) {
        their_linear = is_named(c, "Creative") ? child(c, "Linear") : NULL;
    }
    const node *creatives = child(body, "Creatives");
    for (node *c = creatives == NULL ? NULL : creatives->first; c != NULL && their_linear != NULL; c = c->next) {
        node *linear = is_named(c, "Creative") ? child(c, "Linear") : NULL;
        if (linear != NULL) {
            merge_linear(t, linear, their_linear, v);
        }
    }
}

void cd_vast_tree_merge(cd_vast_tree *inner, const cd_vast_tree *wrapper)
{
    const node *from = first_body(wrapper);
    cd_vast_version v = cd_vast_tree_version(inner);
    for (node *c = inner->root->first; c != NULL && from != NULL; c = c->next) {
        node *body = body_of(c);
        if (body != NULL) {
            merge_body(inner, body, from, v);
        }
    }
}

/* --- writing --- */

static void put_open(cd_buf *out, const node *n, u32 sequence)
{
    cd_buf_u8(out, '<');
    cd_buf_str(out, n->name);
    for (const attr *x = n->attrs; x != NULL; x = x->next) {
        if (sequence != 0 && strcmp(x->name, "sequence") == 0) {
            continue;
        }
        cd_buf_u8(out, ' ');
        cd_buf_str(out, x->name);
        cd_buf_str(out, "=\"");
        cd_vast_text(out, x->value);
        cd_buf_u8(out, '"');
    }
    if (sequence != 0) {
        cd_buf_fmt(out, " sequence=\"%u\"", sequence);
    }
    cd_buf_str(out, n->first == NULL ? "/>" : ">");
}

static void put_leaf(cd_buf *out, const node *n)
{
    if (n->is_cdata) {
        cd_vast_cdata(out, n->text);
    } else {
        cd_vast_text(out, n->text);
    }
}

static void put_close(cd_buf *out, const node *n)
{
    if (n->first != NULL) {
        cd_buf_str(out, "</");
        cd_buf_str(out, n->name);
        cd_buf_u8(out, '>');
    }
}

/* A whole element; its depth was bounded when it was read, but nothing here leans on that. */
static void put_element(cd_buf *out, const node *top, u32 sequence)
{
    const node *n = top;
    put_open(out, n, sequence);
    while (true) {
        if (n->first != NULL) {
            n = n->first;
        } else {
            while (n != top && n->next == NULL) {
                n = n->parent;
                put_close(out, n);
            }
            if (n == top) {
                return;
            }
            n = n->next;
        }
        if (n->name == NULL) {
            put_leaf(out, n);
        } else {
            put_open(out, n, 0);
        }
    }
}

void cd_vast_tree_put(cd_buf *out, const cd_vast_tree *t)
{
    cd_buf_str(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    put_element(out, t->root, 0);
    cd_buf_u8(out, '\n');
}

void cd_vast_tree_put_ads(cd_buf *out, const cd_vast_tree *t, u32 sequence)
{
    for (const node *c = t->root->first; c != NULL; c = c->next) {
        if (is_named(c, "Ad")) {
            put_element(out, c, sequence);
            sequence += sequence != 0 ? 1 : 0;
        }
    }
}
