/* Runs the programs of deid.rules.programs, which says what they mean. */
#include "programs.h"

#include <stdlib.h>
#include <string.h>

enum { ACCEPT, FAIL, FORTH, BACK, NEXT, LAST, RUN, RUN_BACK, SPLIT, JUMP, HOLDS, HOLDS_NOT, INSTRUCTIONS };
enum { MOST_STEPS = 4096, MOST_WAITING = 256, UNDECIDED = 2 };

static const int SIZE[INSTRUCTIONS] = {1, 1, 2, 2, 2, 2, 6, 6, 6, 2, 2, 2};

/* Where to go on when this way does not end well: behind a run at `at` or nearer to `stop`, or where a split jumps. */
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
    return in(self->set[gate[0]], symbol[at]) & in(self->set[gate[1]], symbol[at - 1]);
}

/* Run a program at a place: 0 it fails, 1 it accepts, UNDECIDED it takes too long. */
static int run(const Programs *self, const int32_t *pc, const uint8_t *symbol, int32_t at, Waiting *waiting, int room,
               int *steps)
{
    int count = 0;
    for (;;) {
        int good = 0;
        if (--*steps < 0)
            return UNDECIDED;
        switch (pc[0]) {
        case ACCEPT:
            return 1;
        case FORTH:
            good = in(self->set[pc[1]], symbol[at++]);
            break;
        case BACK:
            good = in(self->set[pc[1]], symbol[--at]);
            break;
        case NEXT:
        case LAST:
            good = in(self->set[pc[1]], symbol[at - (pc[0] & 1)]);
            break;
        case RUN:
        case RUN_BACK: {
            const uint64_t *set = self->set[pc[1]];
            const int32_t back = pc[0] & 1, way = back ? -1 : 1, least = pc[2], most = pc[3];
            int32_t read = 0;
            while (read != most && in(set, symbol[at + way * read - back]))
                read++;
            good = read >= least;
            if (!good)
                break;
            *steps -= read >> 4;
            /* at an earlier place a symbol of the set follows: where the gate has none, giving back is in vain */
            if (read > least && meet(set, self->set[pc[4 + back]])) {
                if (count == room)
                    return UNDECIDED;
                waiting[count++] = (Waiting){pc, at + way * (read - 1), at + way * least};
            }
            at += way * read;
            good = open_at(self, pc + 4, symbol, at);
            break;
        }
        case SPLIT: {
            const int other = open_at(self, pc + 4, symbol, at);
            if (open_at(self, pc + 2, symbol, at)) {
                if (other && count == room)
                    return UNDECIDED;
                if (other)
                    waiting[count++] = (Waiting){pc, at, at};
                good = 1;
                break;
            }
            if (!other)
                break;
            pc += pc[1];
            continue;
        }
        case JUMP:
            pc += pc[1];
            continue;
        case HOLDS:
        case HOLDS_NOT: {
            const int held = run(self, pc + 2, symbol, at, waiting + count, room - count, steps);
            if (held == UNDECIDED)
                return UNDECIDED;
            if (held == (pc[0] == HOLDS)) {
                pc += pc[1];
                continue;
            }
            break;
        }
        default:
            break;
        }
        if (good) {
            pc += SIZE[pc[0]];
            continue;
        }
        for (;;) {
            if (!count)
                return 0;
            Waiting *last = waiting + count - 1;
            pc = last->pc;
            at = last->at;
            if (at == last->stop)
                count--;
            else
                last->at += last->stop > at ? 1 : -1;
            if (pc[0] == SPLIT) {
                pc += pc[1];
                break;
            }
            if (open_at(self, pc + 4, symbol, at)) {
                pc += SIZE[RUN];
                break;
            }
        }
    }
}

int programs_accept(const Programs *self, Py_ssize_t program, const uint8_t *symbol, int32_t place)
{
    Waiting waiting[MOST_WAITING];
    int steps = MOST_STEPS;
    return run(self, self->code + self->start[program], symbol, place, waiting, MOST_WAITING, &steps) != 0;
}

/* Tell whether the instructions from `begin` to `end` are whole ones that stay among themselves. */
static int sound(const Programs *self, int32_t begin, int32_t end, char *first)
{
    int32_t at = begin;
    memset(first + begin, 0, (size_t)(end - begin));
    while (at < end) {
        const int32_t does = self->code[at];
        if (does < 0 || does >= INSTRUCTIONS || end - at < SIZE[does])
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
        const int64_t to = self->code[at] >= SPLIT ? (int64_t)at + self->code[at + 1] : at;
        if (to < begin || to >= end || !first[to])
            return 0;
        const int gates = self->code[at] == SPLIT ? 4 : SIZE[self->code[at]] == SIZE[RUN] ? 2 : 0;
        for (int32_t g = at + SIZE[RUN] - gates; g < at + SIZE[RUN]; g++)
            if (self->code[g] < 0 || self->code[g] >= self->sets)
                return 0;
    }
    return 1;
}

int programs_load(Programs *self, const Py_buffer *code, const Py_buffer *start, const Py_buffer *set, Py_ssize_t count)
{
    const Py_ssize_t size = code->len / 4;
    char *first = malloc((size_t)size + 1);
    int good = start->len == (count + 1) * 4 && code->len % 4 == 0 && size < INT32_MAX && set->len % 24 == 0;
    self->code = malloc((size_t)code->len + 1);
    self->start = malloc((size_t)start->len + 1);
    self->set = malloc((size_t)set->len + 1);
    if (!first || !self->code || !self->start || !self->set) {
        free(first);
        PyErr_NoMemory();
        return -1;
    }
    memcpy(self->code, code->buf, (size_t)code->len);
    memcpy(self->start, start->buf, (size_t)start->len);
    memcpy(self->set, set->buf, (size_t)set->len);
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
