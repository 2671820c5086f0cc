#include "base/thread/mbox.h"

#include "base/mem/mem.h"
#include "base/os/clock.h"
#include "base/thread/thread.h"

#include <stdatomic.h>
#include <string.h>

/* D. Vyukov's bounded queue, with one receiver. A cell's turn says whose move it is: turn == pos lets
 * the sender that claimed pos write, turn == pos + 1 lets the receiver read pos. The tail's top bit is
 * the closed mark, so that a claim and the closing are ordered and nothing accepted can be missed. */
typedef struct cell {
    _Atomic u64 turn;
    u8 data[];
} cell;

#define CLOSED (1ull << 63)

struct cd_mbox {
    _Alignas(64) _Atomic u64 tail;    /* next place to claim | CLOSED */
    _Alignas(64) _Atomic u64 head;    /* next place to read; only the receiver writes it */
    _Alignas(64) _Atomic bool sleeps; /* the receiver is about to wait or waits */
    u64 mask;
    usize msg_size;
    usize stride;
    u8 *cells;
    cd_mbox *first; /* the mailbox whose lock and condition are used: itself, or the one it was made beside */
    cd_mbox *next;  /* next mailbox beside the same first one; only the receiver reads the list */
    cd_mutex lock;  /* only for sleeping and waking */
    cd_cond wake;
};

static cell *cell_at(const cd_mbox *m, u64 pos)
{
    return (cell *)(void *)(m->cells + (pos & m->mask) * m->stride);
}

cd_mbox *cd_mbox_new(usize cap, usize msg_size)
{
    CD_ASSERT(cap <= 1u << 30 && msg_size <= 1u << 16);
    u64 n = 2;
    while (n < cap) {
        n *= 2;
    }
    cd_mbox *m = cd_alloc_aligned(64, sizeof *m);
    m->mask = n - 1;
    m->msg_size = msg_size;
    m->stride = (sizeof(cell) + msg_size + 7) & ~(usize)7;
    m->cells = cd_alloc_array(n, m->stride);
    for (u64 i = 0; i < n; i++) {
        atomic_init(&cell_at(m, i)->turn, i);
    }
    m->first = m;
    m->next = NULL;
    cd_mutex_init(&m->lock);
    cd_cond_init(&m->wake);
    return m;
}

cd_mbox *cd_mbox_new_beside(cd_mbox *first, usize cap, usize msg_size)
{
    CD_ASSERT(first->first == first);
    cd_mbox *m = cd_mbox_new(cap, msg_size);
    m->first = first;
    m->next = first->next;
    first->next = m;
    return m;
}

void cd_mbox_free(cd_mbox *m)
{
    if (m != NULL) {
        cd_cond_fini(&m->wake);
        cd_mutex_fini(&m->lock);
        cd_free(m->cells);
        cd_free(m);
    }
}

static void receiver_wake(cd_mbox *m)
{
    cd_mbox *f = m->first;
    cd_mutex_lock(&f->lock);
    cd_cond_wake_one(&f->wake);
    cd_mutex_unlock(&f->lock);
}

cd_err cd_mbox_send(cd_mbox *m, const void *msg)
{
    u64 pos = atomic_load_explicit(&m->tail, memory_order_relaxed);
    cell *c;
    for (;;) {
        if (CD_UNLIKELY((pos & CLOSED) != 0)) {
            return CD_ECLOSED;
        }
        c = cell_at(m, pos);
        i64 ahead = (i64)(atomic_load_explicit(&c->turn, memory_order_acquire) - pos);
        if (ahead < 0) {
            return CD_EFULL;
        }
        if (ahead > 0) {
            pos = atomic_load_explicit(&m->tail, memory_order_relaxed);
        } else if (atomic_compare_exchange_weak_explicit(&m->tail, &pos, pos + 1, memory_order_relaxed,
                                                         memory_order_relaxed)) {
            break;
        }
    }
    memcpy(c->data, msg, m->msg_size);
    /* Publish, then look for a sleeper; the receiver announces its sleep, then looks for a message.
     * Sequential consistency lets at least one of them see the other. */
    atomic_store(&c->turn, pos + 1);
    if (CD_UNLIKELY(atomic_load(&m->first->sleeps))) {
        receiver_wake(m);
    }
    return CD_OK;
}

cd_err cd_mbox_try_recv(cd_mbox *m, void *out)
{
    u64 pos = atomic_load_explicit(&m->head, memory_order_relaxed);
    cell *c = cell_at(m, pos);
    if (atomic_load(&c->turn) != pos + 1) {
        return atomic_load(&m->tail) == (pos | CLOSED) ? CD_ECLOSED : CD_EAGAIN;
    }
    memcpy(out, c->data, m->msg_size);
    atomic_store_explicit(&c->turn, pos + m->mask + 1, memory_order_release);
    atomic_store_explicit(&m->head, pos + 1, memory_order_relaxed);
    return CD_OK;
}

/* Says whether cd_mbox_try_recv would give anything but CD_EAGAIN. */
static bool is_ready(const cd_mbox *m)
{
    u64 pos = atomic_load_explicit(&m->head, memory_order_relaxed);
    return atomic_load(&cell_at(m, pos)->turn) == pos + 1 || atomic_load(&m->tail) == (pos | CLOSED);
}

static bool is_any_ready(const cd_mbox *m)
{
    bool is = false;
    for (; m != NULL && !is; m = m->next) {
        is = is_ready(m);
    }
    return is;
}

bool cd_mbox_wait(cd_mbox *m, i64 timeout_ms)
{
    if (is_any_ready(m) || timeout_ms == 0) {
        return is_any_ready(m);
    }
    const cd_clock *clock = cd_clock_real();
    u64 start = cd_clock_mono_ns(clock);
    bool is = false;
    cd_mutex_lock(&m->lock);
    atomic_store(&m->sleeps, true);
    while (!(is = is_any_ready(m))) {
        if (timeout_ms < 0) {
            cd_cond_wait(&m->wake, &m->lock);
            continue;
        }
        u64 gone_ms = (cd_clock_mono_ns(clock) - start) / CD_NS_PER_MS;
        if (gone_ms >= (u64)timeout_ms) {
            break;
        }
        (void)cd_cond_wait_ms(&m->wake, &m->lock, (u64)timeout_ms - gone_ms);
    }
    atomic_store(&m->sleeps, false);
    cd_mutex_unlock(&m->lock);
    return is;
}

cd_err cd_mbox_recv(cd_mbox *m, void *out, i64 timeout_ms)
{
    cd_err err = cd_mbox_try_recv(m, out);
    if (err == CD_EAGAIN && timeout_ms != 0 && cd_mbox_wait(m, timeout_ms)) {
        err = cd_mbox_try_recv(m, out);
    }
    return err == CD_EAGAIN ? CD_ETIMEOUT : err;
}

void cd_mbox_close(cd_mbox *m)
{
    (void)atomic_fetch_or(&m->tail, CLOSED);
    receiver_wake(m);
}

usize cd_mbox_cnt(const cd_mbox *m)
{
    u64 head = atomic_load_explicit(&m->head, memory_order_relaxed);
    u64 tail = atomic_load_explicit(&m->tail, memory_order_relaxed) & ~CLOSED;
    return tail > head ? (usize)(tail - head) : 0;
}
