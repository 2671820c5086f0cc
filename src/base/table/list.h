/* base/table/list.h - an intrusive, doubly linked list.
 *
 * The node is a member of the caller's struct; cd_list_of gets back from the node to the struct. A
 * list head is a node that links to itself when empty. Nothing allocates. Threading: confined. */
#ifndef CD_BASE_LIST_H
#define CD_BASE_LIST_H

#include "base/base.h"

/* A node, or the head of a ring of nodes. */
typedef struct cd_list {
    struct cd_list *next;
    struct cd_list *prev;
} cd_list;

/* cd_list_of gives the struct of the given type that holds node as its member. */
#define cd_list_of(node, type, member) ((type *)(void *)((char *)(node)-offsetof(type, member)))

/* cd_list_each visits every node; the visited node may not be removed (cd_list_each_safe may). */
#define cd_list_each(it, head) for (cd_list *it = (head)->next; it != (head); it = it->next)
#define cd_list_each_safe(it, head)                                                                                    \
    for (cd_list *it = (head)->next, *it##_next = it->next; it != (head); it = it##_next, it##_next = it->next)

/* cd_list_init makes an empty list of a head. */
CD_INLINE void cd_list_init(cd_list *head)
{
    head->next = head;
    head->prev = head;
}

/* cd_list_is_empty: the head is alone. */
CD_INLINE bool cd_list_is_empty(const cd_list *head)
{
    return head->next == head;
}

/* cd_list_add_after inserts node behind at: behind the head is the front, behind head->prev the
 * end. */
CD_INLINE void cd_list_add_after(cd_list *at, cd_list *node)
{
    node->prev = at;
    node->next = at->next;
    at->next->prev = node;
    at->next = node;
}

CD_INLINE void cd_list_push_front(cd_list *head, cd_list *node)
{
    cd_list_add_after(head, node);
}
CD_INLINE void cd_list_push_back(cd_list *head, cd_list *node)
{
    cd_list_add_after(head->prev, node);
}

/* cd_list_del unlinks node and leaves it linked to itself, so that a second call does nothing. */
CD_INLINE void cd_list_del(cd_list *node)
{
    node->prev->next = node->next;
    node->next->prev = node->prev;
    cd_list_init(node);
}

/* cd_list_first / cd_list_last give an end of the list, or NULL when it is empty. */
CD_INLINE cd_list *cd_list_first(const cd_list *head)
{
    return cd_list_is_empty(head) ? NULL : head->next;
}

CD_INLINE cd_list *cd_list_last(const cd_list *head)
{
    return cd_list_is_empty(head) ? NULL : head->prev;
}

#endif
