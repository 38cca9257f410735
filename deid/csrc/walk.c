/* The best path: label scores in whole numbers and Viterbi in one pass over the items of a document.
 *
 * Scores are doubles times a power of two, rounded once a row, so that sums are exact whatever their order and the
 * labels are the same on every machine. `measure_scale` in model.c chooses the power so that no sum can overflow.
 */
#include "labeller.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_KEPT = 1 << 24, AHEAD = 8 };

/* Number of the lowest bit that is set, where the first byte in memory is the lowest one. */
#if defined(__GNUC__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define LOWEST(bits) __builtin_ctzll(bits)
#endif
#define EACH(k) for (int k = 0; k < BLOCK; k++)

/* ---- rows ---------------------------------------------------------------------------------------------------- */

static int build(Labeller *self, int32_t token)
{
    const int32_t type = self->type_of[token];
    if (self->row[(Py_ssize_t)type * self->offsets] != NOT_BUILT)
        return 0;
    return labeller_build(self, type, self->text + self->start[token], self->start[token + 1] - self->start[token]);
}

/* Make the rows of the occurrence share of a type that stands `seen` times in the document. */
static int build_share(Labeller *self, int32_t seen)
{
    const Py_ssize_t stride = self->stride;
    if (self->often[seen])
        return 0;
    if (lined_grow(&self->often_rows, self->often_count * stride, (self->often_count + 1) * stride, sizeof(int32_t)))
        return -1;
    memset(self->sum, 0, (size_t)stride * sizeof(double));
    const double share = (double)seen / (double)self->tokens;
    labeller_add_weights(self, self->sum, self->occurrence, share);
    labeller_round(self, self->sum, (int32_t *)self->often_rows.at + self->often_count * stride);
    self->often[seen] = (int32_t)++self->often_count;
    return 0;
}

/* Return the row of an attribute that depends on the place of a token, -1 with an exception. Row 0 is that of none. */
static int32_t single(Labeller *self, int32_t attribute)
{
    const Py_ssize_t stride = self->stride;
    if (attribute < 0 && self->single_count)
        return 0;
    if (attribute >= 0 && self->single_row[attribute] != NOT_BUILT)
        return self->single_row[attribute];
    if (lined_grow(&self->single_rows, self->single_count * stride, (self->single_count + 1) * stride, sizeof(int32_t)))
        return -1;
    memset(self->sum, 0, (size_t)stride * sizeof(double));
    if (attribute >= 0)
        labeller_add_weights(self, self->sum, attribute, 1.0);
    labeller_round(self, self->sum, (int32_t *)self->single_rows.at + self->single_count * stride);
    if (attribute >= 0)
        self->single_row[attribute] = (int32_t)self->single_count;
    return (int32_t)self->single_count++;
}

/* Build all rows that the scores of the items first..last need; those of others may be dropped to make room. */
int labeller_ready(Labeller *self, Py_ssize_t first, Py_ssize_t last)
{
    if (self->row_count + labeller_rows_at_once(self) > self->most_rows)
        labeller_forget_rows(self);
    if (self->row[0] == NOT_BUILT && labeller_build(self, 0, self->text, 0))
        return -1;
    for (Py_ssize_t i = first; i < last; i++)
        if (build(self, self->item[i]))
            return -1;
    Py_ssize_t word = self->rank[first] - self->reach, stop = self->rank[last - 1] + 1 + self->reach;
    for (word = word < 0 ? 0 : word; word < stop && word < self->words_count; word++)
        if (build(self, self->counted[word]))
            return -1;
    return 0;
}

static int ready_places(Labeller *self, Py_ssize_t first, Py_ssize_t last)
{
    if (!self->single_count && single(self, -1) < 0)
        return -1;
    for (Py_ssize_t i = first * PLACES; self->position == PLACE && i < last * PLACES; i++)
        if ((self->place[i] = single(self, self->place[i])) < 0)
            return -1;
    for (Py_ssize_t i = first; self->position == OCCURRENCE && self->occurrence >= 0 && i < last; i++)
        if (build_share(self, self->seen[self->type_of[self->item[i]]]))
            return -1;
    for (Py_ssize_t i = first; self->lists && i < last; i++)
        for (int32_t f = self->fired_head[i]; f >= 0; f = self->fired_next[f])
            if (single(self, self->fired_attribute[f]) < 0)
                return -1;
    return 0;
}

/* ---- the walk ------------------------------------------------------------------------------------------------ */

/* Whole numbers wrap around where a weight is beyond all sense, rather than being undefined. */
static inline int32_t plus(int32_t a, int32_t b)
{
    return (int32_t)((uint32_t)a + (uint32_t)b);
}

/* sum = the sum of rows, a block of labels after the other so that sums stay in registers. */
INLINE void add_rows(int32_t *restrict sum, const int32_t *const *row, int count, Py_ssize_t stride)
{
    for (Py_ssize_t j = 0; j < stride; j += BLOCK) {
        int32_t block[BLOCK];
        EACH(k)
            block[k] = row[0][j + k];
        for (int c = 1; c < count; c++)
            EACH(k)
                block[k] = plus(block[k], row[c][j + k]);
        EACH(k)
            sum[j + k] = block[k];
    }
}

/* Note which labels may lie on the best path: a label whose score lies so far below the best one that no move from it
 * can win, or be as good, is passed over. lag[x][y] is the least by which a move of x gains on that of y, over all
 * targets; most labels y lie below that. Returns how many stay, in the order of their ids. */
INLINE int stay(const int32_t *restrict now, int32_t lead, const int32_t *restrict lag, Alive *restrict out,
                Py_ssize_t stride)
{
    uint8_t stays[LARGEST_LABELS + BLOCK];
    for (Py_ssize_t j = 0; j < stride; j++)
        stays[j] = now[j] - lead >= lag[j];
    int count = 0;
    for (Py_ssize_t j = 0; j < stride; j += 8) {
        uint64_t any;
        memcpy(&any, stays + j, sizeof any);
#ifdef LOWEST
        for (; any; any &= any - 1) {
            const Py_ssize_t label = j + LOWEST(any) / 8;
            out[count++] = (Alive){(int32_t)label, now[label] - lead};
        }
#else
        for (int k = 0; any && k < 8; k++)
            if (stays[j + k])
                out[count++] = (Alive){(int32_t)j + k, now[j + k] - lead};
#endif
    }
    return count;
}

INLINE const int32_t *row_of(const Labeller *self, int32_t number, Py_ssize_t stride)
{
    return number < self->old.row_count ? self->old.rows + number * stride
                                        : (const int32_t *)self->rows.at + (number - self->old.row_count) * stride;
}

/* Ask for the rows of a word before they are needed. */
INLINE void fetch(const Labeller *self, int32_t type, Py_ssize_t stride)
{
    const int32_t *row = self->row + (Py_ssize_t)type * self->offsets;
    for (int k = 0; k < self->offsets; k++)
        for (Py_ssize_t j = 0; row[k] != NOT_BUILT && j < stride; j += BLOCK)
            FETCH(row_of(self, row[k], stride) + j);
}

INLINE void walk(Labeller *self, Py_ssize_t first, Py_ssize_t last, Py_ssize_t stride)
{
    int32_t *const prior = self->walk.at, *const left = prior + stride, *const right = left + stride,
                   *const now = right + stride, *const more = now + stride;
    const int32_t *const singles = self->single_rows.at,
                  *const oftens = self->often_rows.at,
                  *const transition = self->transition.at, *const lags = self->lag.at,
                  *const near = self->near + self->reach;
    const int offsets = self->offsets, zero = self->zero;
    int32_t left_of = -1, right_of = -1, best = 0;
    for (Py_ssize_t t = first; t < last; t++) {
        const int32_t type = self->type_of[self->item[t]], rank = self->rank[t],
                      after = rank + self->type[type].counted;
        const int32_t *part[MAX_OFFSETS + PLACES + 4];
        int count = 0;
        /* what stands before and after is the same for neighbours that are no words */
        if (rank != left_of) {
            for (int k = 0; k < zero; k++)
                part[count++] =
                    row_of(self, self->row[(Py_ssize_t)near[rank + self->offset[k]] * offsets + k], stride);
            part[count++] = prior;
            add_rows(left, part, count, stride);
            left_of = rank;
            if (rank + self->reach + AHEAD < self->words_count)
                fetch(self, near[rank + self->reach + AHEAD], stride);
        }
        if (after != right_of) {
            count = 0;
            for (int k = zero + 1; k < offsets; k++)
                part[count++] =
                    row_of(self, self->row[(Py_ssize_t)near[after + self->offset[k] - 1] * offsets + k], stride);
            if (count)
                add_rows(right, part, count, stride);
            right_of = after;
        }
        count = 0;
        part[count++] = left;
        part[count++] = right;
        part[count++] = row_of(self, self->row[(Py_ssize_t)type * offsets + zero], stride);
        if (self->position == OCCURRENCE && self->occurrence >= 0)
            part[count++] = oftens + (self->often[self->seen[type]] - 1) * stride;
        if (self->position == PLACE)
            for (int p = 0; p < PLACES; p++) {
                part[count] = singles + self->place[t * PLACES + p] * stride;
                count += self->place[t * PLACES + p] != 0; /* row 0 is that of none */
            }
        if (self->lists && self->fired_head[t] >= 0) {
            memset(more, 0, (size_t)stride * sizeof(int32_t));
            for (int32_t f = self->fired_head[t]; f >= 0; f = self->fired_next[f]) {
                const int32_t *fired = singles + self->single_row[self->fired_attribute[f]] * stride;
                for (Py_ssize_t j = 0; j < stride; j++)
                    more[j] = plus(more[j], fired[j]);
            }
            part[count++] = more;
        }
        self->alive_from[t] = self->alive_count;
        if (t == 0) {
            add_rows(now, part, count, stride);
            continue;
        }
        int32_t lead = now[0];
        for (Py_ssize_t j = 1; j < stride; j++)
            lead = now[j] > lead ? now[j] : lead;
        if (now[best] != lead) /* mostly the same as before */
            for (best = 0; now[best] != lead;)
                best++;
        Alive *const alive = self->alive + self->alive_count;
        const int alives = stay(now, lead, lags + best * stride, alive, stride);
        self->alive_count += alives;
        for (Py_ssize_t j = 0; j < stride; j += BLOCK) {
            int32_t block[BLOCK];
            const int32_t *move = transition + alive[0].label * stride + j;
            EACH(k)
                block[k] = alive[0].below + move[k];
            for (int a = 1; a < alives; a++) {
                const int32_t below = alive[a].below;
                move = transition + alive[a].label * stride + j;
                EACH(k)
                    block[k] = below + move[k] > block[k] ? below + move[k] : block[k];
            }
            for (int c = 0; c < count; c++)
                EACH(k)
                    block[k] = plus(block[k], part[c][j + k]);
            EACH(k)
                now[j + k] = block[k];
        }
    }
}

/* Write the label scores of an item of the document that was walked last, in whole numbers, without the prior; the rows
 * of its types are ready. */
WIDE void labeller_sum(const Labeller *self, Py_ssize_t t, int32_t *restrict sum)
{
    const Py_ssize_t stride = self->stride;
    const int32_t *const singles = self->single_rows.at, *const near = self->near + self->reach;
    const int32_t type = self->type_of[self->item[t]], rank = self->rank[t], after = rank + self->type[type].counted;
    const int32_t *part[MAX_OFFSETS + PLACES + 1];
    int count = 0;
    for (int k = 0; k < self->offsets; k++) {
        const int offset = self->offset[k];
        const int32_t stands = offset == 0 ? type : offset < 0 ? near[rank + offset] : near[after + offset - 1];
        part[count++] = row_of(self, self->row[(Py_ssize_t)stands * self->offsets + k], stride);
    }
    if (self->position == OCCURRENCE && self->occurrence >= 0)
        part[count++] = (const int32_t *)self->often_rows.at + (self->often[self->seen[type]] - 1) * stride;
    for (int p = 0; self->position == PLACE && p < PLACES; p++)
        part[count++] = singles + self->place[t * PLACES + p] * stride;
    add_rows(sum, part, count, stride);
    for (int32_t f = self->lists ? self->fired_head[t] : -1; f >= 0; f = self->fired_next[f]) {
        const int32_t *fired = singles + self->single_row[self->fired_attribute[f]] * stride;
        for (Py_ssize_t j = 0; j < stride; j++)
            sum[j] = plus(sum[j], fired[j]);
    }
}

WIDE static void walk_on(Labeller *self, Py_ssize_t first, Py_ssize_t last)
{
    switch (self->stride / BLOCK) { /* known sizes keep sums in registers */
    case 1:
        walk(self, first, last, BLOCK);
        break;
    case 3:
        walk(self, first, last, 3 * BLOCK);
        break;
    case 4:
        walk(self, first, last, 4 * BLOCK);
        break;
    default:
        walk(self, first, last, self->stride);
    }
}

/* Write the labels of the best path. Ties go to the lower label, as in CRFsuite. */
static void trace_back(const Labeller *self, uint8_t *path)
{
    const int32_t *now = (const int32_t *)self->walk.at + 3 * self->stride;
    int32_t label = 0;
    for (Py_ssize_t j = 1; j < self->labels; j++)
        if (now[j] > now[label])
            label = (int32_t)j;
    Py_ssize_t stop = self->alive_count;
    for (Py_ssize_t t = self->items - 1; t >= 0; t--) {
        path[t] = (uint8_t)label;
        if (t == 0)
            break;
        const Alive *alive = self->alive + self->alive_from[t];
        const int count = (int)(stop - self->alive_from[t]);
        const int32_t *move = (const int32_t *)self->transition.at + label;
        int32_t from = alive[0].label, most = alive[0].below + move[from * self->stride];
        for (int a = 1; a < count; a++) {
            const int32_t through = alive[a].below + move[alive[a].label * self->stride];
            if (through > most) {
                most = through;
                from = alive[a].label;
            }
        }
        stop = self->alive_from[t];
        label = from;
    }
}

/* Write the best labels of the items of a document whose tokens were read; 0, or -1 with an exception. */
int labeller_best(Labeller *self, uint8_t *path, int outside, double bias)
{
    const Py_ssize_t n = self->items, stride = self->stride;
    int32_t *const prior = self->walk.at;
    labeller_round(self, self->prior, prior);
    for (Py_ssize_t j = self->labels; j < stride; j++)
        prior[j] = -(3 << 28); /* what pads is never the best */
    memset(prior + stride, 0, (size_t)(2 * stride) * sizeof(int32_t));
    if (outside >= 0)
        prior[outside] -= labeller_whole(self, bias, 1 << 28);
    self->alive_count = self->often_count = 0;
    int32_t most = 0;
    for (Py_ssize_t t = 0; t < self->tokens; t++)
        if (self->seen[self->type_of[t]] > most)
            most = self->seen[self->type_of[t]];
    if (grow(&self->alive_from, &self->alive_from_room, n + 1, sizeof(int64_t)) ||
        grow(&self->often, &self->often_room, (Py_ssize_t)most + 1, sizeof(int32_t)))
        return -1;
    memset(self->often, 0, ((size_t)most + 1) * sizeof(int32_t));
    for (Py_ssize_t first = 0; first < n; first += AT_ONCE) {
        const Py_ssize_t last = first + AT_ONCE < n ? first + AT_ONCE : n;
        /* eight labels are written ahead of what stays */
        if (labeller_ready(self, first, last) || ready_places(self, first, last) ||
            grow(&self->alive, &self->alive_room, self->alive_count + AT_ONCE * stride + 8, sizeof(Alive)))
            return -1;
        walk_on(self, first, last);
    }
    if (n)
        trace_back(self, path);
    if (self->alive_room * (Py_ssize_t)sizeof(Alive) > MOST_KEPT) {
        free(self->alive);
        self->alive = NULL;
        self->alive_room = 0;
    }
    return 0;
}
