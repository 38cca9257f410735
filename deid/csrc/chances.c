/* Probabilities of marked places: forward-backward over the items around each, not over the whole document; the plain
 * route is deid.labeling.chances.
 *
 * So far from a place as REACH items the label can be taken for the best path's: what else it could be changes the
 * probability by less than can be seen (docs/accuracy.md). Scores are the whole numbers of the best path (walk.c).
 */
#include "labeller.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { REACH = 8 };

/* Differences of scores up to which a product of two scaled messages is a normal double: e^-680 is, e^-709 is not. */
static const double MOST_APART = 340.0;

/* exp(transition), once a labeller, from source to target and from target to source; and the widest transition. What
 * pads labels is never moved to. */
static int make_moves(Labeller *self)
{
    const Py_ssize_t l = self->labels, stride = self->stride;
    if (self->moves)
        return 0;
    self->moves = calloc((size_t)(2 * stride * stride), sizeof(double));
    if (!self->moves) {
        PyErr_NoMemory();
        return -1;
    }
    self->widest_move = 0.0;
    for (Py_ssize_t i = 0; i < l; i++)
        for (Py_ssize_t j = 0; j < l; j++) {
            const double move = ((const int32_t *)self->transition.at)[i * self->stride + j] / self->scale;
            self->moves[i * stride + j] = exp(move);
            self->widest_move = fabs(move) > self->widest_move ? fabs(move) : self->widest_move;
        }
    turn(self->moves, stride, self->moves + stride * stride);
    return 0;
}

/* First item that ends behind an offset. */
static Py_ssize_t item_at(const Labeller *self, long long offset)
{
    Py_ssize_t low = 0, high = self->items;
    while (low < high) {
        const Py_ssize_t middle = (low + high) / 2;
        if (self->start[self->item[middle] + 1] > offset)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* Write the scores of some items; 1 where they lie too far apart for sums of products. */
static int write_scores(Labeller *self, Py_ssize_t first, Py_ssize_t stop, int outside, double bias, double *score)
{
    const Py_ssize_t l = self->labels;
    int32_t sum[LARGEST_LABELS + BLOCK];
    for (Py_ssize_t t = first; t < stop; t++, score += self->stride) {
        if ((t - first) % AT_ONCE == 0 && labeller_ready(self, t, t + AT_ONCE < stop ? t + AT_ONCE : stop))
            return -1;
        labeller_sum(self, t, sum);
        double low = INFINITY, high = -INFINITY;
        for (Py_ssize_t j = 0; j < l; j++) {
            score[j] = sum[j] / self->scale + self->prior[j] - (j == outside ? bias : 0.0);
            low = score[j] < low ? score[j] : low;
            high = score[j] > high ? score[j] : high;
        }
        for (Py_ssize_t j = l; j < self->stride; j++)
            score[j] = -INFINITY;
        if (!(high - low + 2.0 * self->widest_move < MOST_APART))
            return 1;
    }
    return 0;
}

/* The least probability of the best labels of the items first..stop, of an item outside spans that of any other label;
 * below 0 where it cannot be told, or with an exception. */
static double chance(Labeller *self, Py_ssize_t first, Py_ssize_t stop, int outside, double bias)
{
    if (first >= stop)
        return 1.0;
    const Py_ssize_t l = self->stride, from = first < REACH ? 0 : first - REACH,
                     to = self->items - stop < REACH ? self->items : stop + REACH, n = to - from;
    if (grow(&self->chances, &self->chances_room, 5 * n * l, sizeof(double)))
        return -1.0;
    double *score = self->chances, *marginal = score + n * l, *rest = marginal + n * l, least = 1.0;
    if (write_scores(self, from, to, outside, bias, score))
        return -1.0;
    forward_backward(score, self->moves, n, l, from > 0 ? self->path[from - 1] : -1,
                     to < self->items ? self->path[to] : -1, first - from, stop - from, rest, rest + n * l,
                     rest + 2 * n * l, marginal, self->moves + l * l);
    for (Py_ssize_t t = first; t < stop; t++) {
        const double best = marginal[(t - from) * l + self->path[t]], one = self->path[t] == outside ? 1.0 - best : best;
        least = one < least ? one : least;
    }
    return least;
}

PyObject *labeller_chances(PyObject *object, PyObject *args)
{
    Labeller *self = (Labeller *)object;
    PyObject *string, *places;
    int outside;
    double bias;
    if (!PyArg_ParseTuple(args, "UidO!", &string, &outside, &bias, &PyList_Type, &places) ||
        labeller_walk(self, string, outside, bias) || make_moves(self))
        return NULL;
    PyObject *found = PyList_New(0);
    for (Py_ssize_t i = 0; found && i < PyList_GET_SIZE(places); i++) {
        long long start, end;
        PyObject *place = PyList_GET_ITEM(places, i), *told = NULL;
        if (!PyTuple_Check(place)) {
            PyErr_SetString(PyExc_TypeError, "a place is a pair of offsets");
        } else if (PyArg_ParseTuple(place, "LL", &start, &end)) {
            const Py_ssize_t first = item_at(self, start);
            Py_ssize_t stop = first;
            while (stop < self->items && self->start[self->item[stop]] < end)
                stop++;
            const double least = chance(self, first, stop, outside, bias);
            if (least < 0.0 && !PyErr_Occurred()) { /* the plain route can tell */
                Py_SETREF(found, Py_NewRef(Py_None));
                break;
            }
            told = PyErr_Occurred() ? NULL : PyFloat_FromDouble(least);
        }
        if (!told || PyList_Append(found, told))
            Py_CLEAR(found);
        Py_XDECREF(told);
    }
    if (!found)
        labeller_forget(self);
    return found;
}
