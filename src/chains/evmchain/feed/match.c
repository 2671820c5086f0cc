#include "chains/evmchain/feed/match.h"

#include "base/mem/mem.h"

/* A row under one value. */
typedef struct cd__match_link {
    cd__match_row *row;
    struct cd__match_link *next; /* under the same value */
    struct cd__match_link *prev;
    cd_hmap *map;
    const void *key;
    struct cd__match_link *of_row; /* the next one of the row */
} entry;

void cd__match_init(cd__match *m)
{
    *m = (cd__match){0};
    cd_hmap_init(&m->by_addr, CD_HASH_KEYED, sizeof(cd_addr20), sizeof(entry *));
    for (usize i = 0; i < CD_LOG_TOPICS_MAX; i++) {
        cd_hmap_init(&m->by_topic[i], CD_HASH_KEYED, sizeof(cd_hash32), sizeof(entry *));
    }
}

void cd__match_fini(cd__match *m)
{
    CD_ASSERT(m->any == NULL && cd_hmap_cnt(&m->by_addr) == 0);
    cd_hmap_fini(&m->by_addr);
    for (usize i = 0; i < CD_LOG_TOPICS_MAX; i++) {
        cd_hmap_fini(&m->by_topic[i]);
    }
}

static void put(cd__match_row *row, entry **head, cd_hmap *map, const void *key)
{
    entry *l = cd_new(entry);
    *l = (entry){.row = row, .next = *head, .map = map, .key = key, .of_row = row->links};
    if (*head != NULL) {
        (*head)->prev = l;
    }
    *head = l;
    row->links = l;
}

static void put_all(cd__match_row *row, cd_hmap *map, const void *values, usize cnt, usize size)
{
    for (usize i = 0; i < cnt; i++) {
        const void *key = (const u8 *)values + i * size;
        put(row, cd_hmap_put(map, NULL, key), map, key);
    }
}

void cd__match_add(cd__match *m, cd__match_row *row)
{
    const cd_log_criteria *want = row->want;
    row->links = NULL;
    if (want->addr_cnt != 0) {
        put_all(row, &m->by_addr, want->addrs, want->addr_cnt, sizeof(cd_addr20));
        return;
    }
    for (usize i = 0; i < want->topic_cnt; i++) {
        const cd_log_choice *c = &want->topics[i];
        if (c->cnt != 0) {
            put_all(row, &m->by_topic[i], c->values, c->cnt, sizeof(cd_hash32));
            return;
        }
    }
    put(row, &m->any, NULL, NULL);
}

void cd__match_del(cd__match *m, cd__match_row *row)
{
    while (row->links != NULL) {
        entry *l = row->links;
        row->links = l->of_row;
        if (l->next != NULL) {
            l->next->prev = l->prev;
        }
        if (l->prev != NULL) {
            l->prev->next = l->next;
        } else if (l->map == NULL) {
            m->any = l->next;
        } else if (l->next == NULL) {
            (void)cd_hmap_del(l->map, l->key);
        } else {
            *(entry **)cd_hmap_put(l->map, NULL, l->key) = l->next;
        }
        cd_free(l);
    }
}

static void visit(const entry *l, const cd_log *log, cd__match_found *found, void *ctx)
{
    for (; l != NULL; l = l->next) {
        if (cd_log_criteria_match(l->row->want, log)) {
            found(ctx, l->row);
        }
    }
}

void cd__match_log(const cd__match *m, const cd_log *log, cd__match_found *found, void *ctx)
{
    visit(m->any, log, found, ctx);
    if (cd_hmap_cnt(&m->by_addr) != 0) {
        entry *const *head = cd_hmap_get(&m->by_addr, &log->addr);
        visit(head == NULL ? NULL : *head, log, found, ctx);
    }
    for (u32 i = 0; i < log->topic_cnt; i++) {
        if (cd_hmap_cnt(&m->by_topic[i]) != 0) {
            entry *const *head = cd_hmap_get(&m->by_topic[i], &log->topics[i]);
            visit(head == NULL ? NULL : *head, log, found, ctx);
        }
    }
}
