/* Runs the programs of deid.rules.programs, which says what they mean. */
#include "programs.h"

#include <stdlib.h>
#include <string.h>

enum { ACCEPT, FAIL, FORTH, BACK, NEXT, LAST, RUN, RUN_BACK, SPLIT, JUMP, HOLDS, HOLDS_NOT, SWITCH, SWITCH_BACK, KINDS };
enum { MOST_STEPS = 4096, MOST_WAITING = 256, WAYS = 33 };

static const int SIZE[KINDS] = {1, 1, 2, 2, 2, 2, 6, 6, 6, 2, 2, 2, 1 + WAYS, 1 + WAYS};

/* Where to go on when this way does not end well: behind a run at `at` or nearer to `stop`, or where a split jumps. Of an
 * assertion where it stands, and as `stop` the place of the assertion around it. */
typedef struct {
    const int32_t *pc;
    int32_t at, stop;
} Waiting;

static inline int in(const uint64_t set[3], uint8_t symbol)
{
    return (int)(set[symbol >> 6] >> (symbol & 63) & 1);
}

/* Tell whether two sets have a symbol in common. */
static inline int meet(const uint64_t a[3], const uint64_t b[3])
{
    return ((a[0] & b[0]) | (a[1] & b[1]) | (a[2] & b[2])) != 0;
}

/* Tell whether a gate lets through. */
static inline int open_at(const Programs *self, const int32_t *gate, const uint8_t *symbol, int32_t at)
{
    return in(self->set[gate[0]], symbol[at]) && in(self->set[gate[1]], symbol[at - 1]);
}

INLINE void write_symbols(int kind, const void *data, Py_ssize_t size, uint8_t *symbol)
{
    for (Py_ssize_t i = 0; i < size; i++)
        symbol[i] = symbol_of(PyUnicode_READ(kind, data, i));
}

void read_symbols(PyObject *text, uint8_t *symbol)
{
    const Py_ssize_t size = PyUnicode_GET_LENGTH(text);
    const void *data = PyUnicode_DATA(text);
    if (PyUnicode_KIND(text) == PyUnicode_1BYTE_KIND) /* loops of their own */
        write_symbols(PyUnicode_1BYTE_KIND, data, size, symbol);
    else if (PyUnicode_KIND(text) == PyUnicode_2BYTE_KIND)
        write_symbols(PyUnicode_2BYTE_KIND, data, size, symbol);
    else
        write_symbols(PyUnicode_KIND(text), data, size, symbol);
}

int programs_accept(const Programs *self, Py_ssize_t program, const uint8_t *symbol, int32_t at)
{
    Waiting waiting[MOST_WAITING];
    const int32_t *pc = self->code + self->start[program];
    int count = 0, around = -1, steps = MOST_STEPS; /* around: where the assertion waits that is looked at */
    for (;;) {
        switch (pc[0]) { /* goes on when this is met, breaks when not */
        case ACCEPT: {
            if (around < 0)
                return 1;
            const Waiting *held = waiting + around;
            count = around;
            around = held->stop;
            at = held->at;
            pc = held->pc;
            if (pc[0] == HOLDS_NOT)
                break;
            pc += pc[1];
            continue;
        }
        case FORTH:
            if (!in(self->set[pc[1]], symbol[at++]))
                break;
            pc += 2;
            continue;
        case BACK:
            if (!in(self->set[pc[1]], symbol[--at]))
                break;
            pc += 2;
            continue;
        case NEXT:
        case LAST:
            if (!in(self->set[pc[1]], symbol[at - (pc[0] & 1)]))
                break;
            pc += 2;
            continue;
        case RUN:
        case RUN_BACK: {
            const uint64_t *set = self->set[pc[1]];
            const int32_t back = pc[0] & 1, way = back ? -1 : 1, least = at + way * pc[2], begin = at;
            for (int32_t left = pc[3]; left && in(set, symbol[at - back]); left--)
                at += way;
            if (way * (at - least) < 0)
                break;
            steps -= way * (at - begin) >> 4;
            /* at an earlier place a symbol of the set follows: where the gate has none, giving back is in vain */
            if (at != least && meet(set, self->set[pc[4 + back]])) {
                if (count == MOST_WAITING)
                    return 1;
                waiting[count++] = (Waiting){pc, at - way, least};
            }
            if (!open_at(self, pc + 4, symbol, at))
                break;
            pc += SIZE[RUN];
            continue;
        }
        case SPLIT: {
            const int32_t *other = pc + pc[1];
            if (!open_at(self, pc + 2, symbol, at)) {
                pc = other;
                continue;
            }
            if (open_at(self, pc + 4, symbol, at)) {
                if (count == MOST_WAITING)
                    return 1;
                waiting[count++] = (Waiting){pc, at, at};
            }
            pc += SIZE[SPLIT];
            continue;
        }
        case JUMP:
            if (--steps < 0)
                return 1;
            pc += pc[1];
            continue;
        case HOLDS:
        case HOLDS_NOT:
            if (count == MOST_WAITING)
                return 1;
            waiting[count] = (Waiting){pc, at, around};
            around = count++;
            pc += 2;
            continue;
        case SWITCH:
        case SWITCH_BACK: {
            const uint8_t *way = (const uint8_t *)(pc + 1);
            pc += SIZE[SWITCH] + 2 * way[symbol[at - (pc[0] & 1)]];
            continue;
        }
        default:
            break;
        }
        for (int good = 0; !good;) {
            if (!count)
                return 0;
            if (--steps < 0)
                return 1;
            Waiting *last = waiting + count - 1;
            pc = last->pc;
            at = last->at;
            if (pc[0] <= RUN_BACK) {
                const int32_t way = last->stop > at ? 1 : -1;
                while (!(good = open_at(self, pc + 4, symbol, at)) && at != last->stop)
                    at += way;
                last->at = at + way;
                count -= at == last->stop;
                pc += SIZE[RUN];
                continue;
            }
            count--;
            good = pc[0] != HOLDS;
            if (pc[0] != SPLIT)
                around = last->stop; /* the assertion fails */
            pc += pc[1];
        }
    }
}

/* Tell whether the instructions from `begin` to `end` are whole ones that stay among themselves. */
static int sound(const Programs *self, int32_t begin, int32_t end, char *first)
{
    int32_t at = begin;
    memset(first + begin, 0, (size_t)(end - begin));
    while (at < end) {
        const int32_t does = self->code[at];
        if (does < 0 || does >= KINDS || end - at < SIZE[does])
            return 0;
        if (does >= FORTH && does <= RUN_BACK) {
            if (self->code[at + 1] < 0 || self->code[at + 1] >= self->sets)
                return 0;
            /* what reads stops at the margin */
            if (does != NEXT && does != LAST && in(self->set[self->code[at + 1]], OUTSIDE))
                return 0;
        }
        first[at] = 1;
        at += SIZE[does];
    }
    if (end == begin || self->code[end - 1] != ACCEPT || !first[end - 1])
        return 0;
    for (at = begin; at < end; at += SIZE[self->code[at]]) {
        const int32_t does = self->code[at];
        for (int symbol = 0; does >= SWITCH && symbol < SYMBOLS; symbol++) {
            const int32_t jump = at + SIZE[does] + 2 * ((const uint8_t *)(self->code + at + 1))[symbol];
            if (jump >= end || !first[jump])
                return 0;
        }
        const int64_t to = does >= SPLIT && does < SWITCH ? (int64_t)at + self->code[at + 1] : at;
        if (to < begin || to >= end || !first[to])
            return 0;
        const int gates = does == SPLIT ? 4 : SIZE[does] == SIZE[RUN] ? 2 : 0;
        for (int32_t g = at + SIZE[RUN] - gates; g < at + SIZE[RUN]; g++)
            if (self->code[g] < 0 || self->code[g] >= self->sets)
                return 0;
    }
    return 1;
}

void *copied(const Py_buffer *view)
{
    void *made = malloc((size_t)view->len + 1);
    if (made)
        memcpy(made, view->buf, (size_t)view->len);
    else
        PyErr_NoMemory();
    return made;
}

int programs_load(Programs *self, const Py_buffer *code, const Py_buffer *start, const Py_buffer *set, Py_ssize_t count)
{
    const Py_ssize_t size = code->len / 4;
    char *first = malloc((size_t)size + 1);
    int good = start->len == (count + 1) * 4 && code->len % 4 == 0 && size < INT32_MAX && set->len % 24 == 0;
    if (!first || !(self->code = copied(code)) || !(self->start = copied(start)) || !(self->set = copied(set))) {
        free(first);
        PyErr_NoMemory();
        return -1;
    }
    self->programs = count;
    self->sets = set->len / 24;
    for (Py_ssize_t p = 0; good && p < count; p++)
        good = self->start[p] >= 0 && self->start[p] < self->start[p + 1] && self->start[p + 1] <= size &&
               sound(self, self->start[p], self->start[p + 1], first);
    free(first);
    if (!good) {
        PyErr_SetString(PyExc_ValueError, "these are no programs");
        return -1;
    }
    return 0;
}

void programs_free(Programs *self)
{
    free(self->code);
    free(self->start);
    free(self->set);
    memset(self, 0, sizeof *self);
}
