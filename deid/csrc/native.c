/* The hot loops of labelling: decoding, marginals, and the stochastic gradient of training.
 *
 * Each function has a NumPy reference in deid/labeling/reference.py, which is the oracle in tests and the fallback
 * where this module could not be built. Arrays come as C-contiguous buffers; their sizes are checked here, once, before
 * any loop. Sums run in a fixed order and no operation is contracted (-ffp-contract=off), so that results do not depend
 * on how wide the machine's vectors are.
 */
#include "labeller.h"

#include <math.h>
#ifdef __linux__
#include <malloc.h>
#endif
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* ---- decoding ------------------------------------------------------------------------------------------------ */

/* Best path; ties go to the lower label id, as in CRFsuite. back and score are scratch of n*l and 2*l entries. */
WIDE static void viterbi_path(const double *emissions, const double *transition, Py_ssize_t n, Py_ssize_t l,
                              int64_t *path, int32_t *back, double *score)
{
    double *now = score, *next = score + l;
    memcpy(now, emissions, (size_t)l * sizeof(double));
    for (Py_ssize_t t = 1; t < n; t++) {
        const double *e = emissions + t * l;
        int32_t *b = back + t * l;
        for (Py_ssize_t j = 0; j < l; j++) {
            next[j] = now[0] + transition[j];
            b[j] = 0;
        }
        for (Py_ssize_t i = 1; i < l; i++) {
            const double from = now[i];
            const double *row = transition + i * l;
            for (Py_ssize_t j = 0; j < l; j++) {
                const double through = from + row[j];
                const int better = through > next[j];
                next[j] = better ? through : next[j];
                b[j] = better ? (int32_t)i : b[j];
            }
        }
        for (Py_ssize_t j = 0; j < l; j++)
            next[j] += e[j];
        double *swap = now;
        now = next;
        next = swap;
    }
    Py_ssize_t best = 0;
    for (Py_ssize_t j = 1; j < l; j++)
        if (now[j] > now[best])
            best = j;
    path[n - 1] = best;
    for (Py_ssize_t t = n - 1; t > 0; t--)
        path[t - 1] = back[t * l + path[t]];
}

/* ---- forward-backward ---------------------------------------------------------------------------------------- */

/* to = from times moves, four sources at a time; each sum is made in the order of the labels. */
INLINE void carry(const double *restrict from, const double *restrict moves, double *restrict to, Py_ssize_t l)
{
    Py_ssize_t i = 0;
    memset(to, 0, (size_t)l * sizeof(double));
    for (; i + 4 <= l; i += 4) {
        const double *a = moves + i * l, *b = a + l, *c = b + l, *d = c + l;
        for (Py_ssize_t j = 0; j < l; j++)
            to[j] = to[j] + from[i] * a[j] + from[i + 1] * b[j] + from[i + 2] * c[j] + from[i + 3] * d[j];
    }
    for (; i < l; i++)
        for (Py_ssize_t j = 0; j < l; j++)
            to[j] += from[i] * moves[i * l + j];
}

/* Write moves from source to target as those from target to source. */
void turn(const double *moves, Py_ssize_t l, double *onto)
{
    for (Py_ssize_t i = 0; i < l; i++)
        for (Py_ssize_t j = 0; j < l; j++)
            onto[j * l + i] = moves[i * l + j];
}

/* Scaled forward-backward of one stretch of a sequence.
 *
 * left and right are the labels before and behind the stretch, or -1 at an end of the sequence. weight receives
 * exp(emission - its largest), alpha and beta the scaled messages, marginal p(label) of the items first..stop, which
 * alone the messages reach; returns log Z where these are all. onto has the moves from target to source, so that both
 * passes run along memory. */
WIDE double forward_backward(const double *emissions, const double *moves, Py_ssize_t n, Py_ssize_t l, Py_ssize_t left,
                             Py_ssize_t right, Py_ssize_t first, Py_ssize_t stop, double *restrict weight,
                             double *restrict alpha, double *restrict beta, double *restrict marginal,
                             const double *restrict onto)
{
    double log_z = 0.0;
    for (Py_ssize_t t = 0; t < n; t++) {
        const double *e = emissions + t * l;
        double *w = weight + t * l, *a = alpha + t * l;
        double top = e[0];
        for (Py_ssize_t j = 1; j < l; j++)
            top = e[j] > top ? e[j] : top;
        for (Py_ssize_t j = 0; j < l; j++)
            w[j] = exp(e[j] - top);
        if (t >= stop)
            continue;
        if (t == 0) {
            for (Py_ssize_t j = 0; j < l; j++)
                a[j] = left >= 0 ? moves[left * l + j] : 1.0;
        } else
            carry(a - l, moves, a, l);
        double sum = 0.0;
        for (Py_ssize_t j = 0; j < l; j++)
            a[j] *= w[j];
        for (Py_ssize_t j = 0; j < l; j++)
            sum += a[j];
        const double scale = 1.0 / sum;
        for (Py_ssize_t j = 0; j < l; j++)
            a[j] *= scale;
        log_z += top + log(sum);
    }
    for (Py_ssize_t j = 0; j < l; j++)
        beta[(n - 1) * l + j] = right >= 0 ? moves[j * l + right] : 1.0;
    for (Py_ssize_t t = n - 1; t >= first; t--) {
        double *b = beta + t * l;
        if (t < n - 1) {
            double *w = weight + (t + 1) * l, *through = marginal + t * l, sum = 0.0; /* no marginal is there yet */
            for (Py_ssize_t j = 0; j < l; j++)
                through[j] = w[j] * b[l + j];
            carry(through, onto, b, l);
            for (Py_ssize_t i = 0; i < l; i++)
                sum += b[i];
            const double scale = 1.0 / sum;
            for (Py_ssize_t i = 0; i < l; i++)
                b[i] *= scale;
        }
        if (t >= stop)
            continue;
        double total = 0.0;
        double *m = marginal + t * l;
        const double *a = alpha + t * l;
        for (Py_ssize_t j = 0; j < l; j++)
            m[j] = a[j] * b[j];
        for (Py_ssize_t j = 0; j < l; j++)
            total += m[j];
        if (t == n - 1)
            log_z += log(total);
        const double scale = 1.0 / total;
        for (Py_ssize_t j = 0; j < l; j++)
            m[j] *= scale;
    }
    return log_z;
}

/* ---- training ------------------------------------------------------------------------------------------------ */

typedef struct {
    const int64_t *item_begin; /* n_items + 1: where an item's attributes begin */
    const int32_t *attribute;
    const float *value;
    const int32_t *label;
    float *state, *state_square; /* n_attributes x l */
    double *move, *move_square;  /* l x l */
    const float *old_state;      /* n_attributes x l: where the weights are pulled to */
    const double *old_move;      /* l x l */
    const double *margin;        /* l: by how much a label must win where it is right */
    Py_ssize_t l;
    double rate, pull;
    uint64_t keep; /* of 2^32: how often an attribute is seen in a step; 2^32 for always */
    uint64_t random;
} Model;

static const double FLOOR = 1e-8;    /* below AdaGrad's square root */
static const double NOTHING = 1e-2;  /* gradients smaller than this change nothing that matters, and are most of them */

/* xorshift64* (Marsaglia 2003, Vigna 2016): the upper 32 bits of the next state. */
static uint32_t draw(uint64_t *state)
{
    uint64_t x = *state;
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    *state = x;
    return (uint32_t)((x * UINT64_C(2685821657736338717)) >> 32);
}

WIDE static void add_row(double *score, const float *row, double value, Py_ssize_t l)
{
    for (Py_ssize_t j = 0; j < l; j++)
        score[j] += value * (double)row[j];
}

/* One step of AdaGrad on one stretch of a sequence; returns its negative log likelihood.
 * scratch: 5*n*l + 3*l*l + l doubles; active: l entries; seen: as many as the stretch has attributes. */
WIDE static double step(Model *m, Py_ssize_t begin, Py_ssize_t end, Py_ssize_t left, Py_ssize_t right, double *scratch,
                        Py_ssize_t *active, float *seen)
{
    const Py_ssize_t n = end - begin, l = m->l;
    const int64_t first = m->item_begin[begin];
    double *emissions = scratch, *weight = emissions + n * l, *alpha = weight + n * l, *beta = alpha + n * l,
           *marginal = beta + n * l, *moves = marginal + n * l, *expected = moves + l * l, *onto = expected + l * l,
           *onward = onto + l * l;
    memset(emissions, 0, (size_t)(n * l) * sizeof(double));
    /* what is dropped in this step has the value 0; the rest grows so that sums stay what they are on average */
    const int drops = m->keep < (UINT64_C(1) << 32);
    const float grow = (float)((double)(UINT64_C(1) << 32) / (double)m->keep);
    for (int64_t k = first; k < m->item_begin[end]; k++)
        seen[k - first] = !drops ? m->value[k] : draw(&m->random) < m->keep ? m->value[k] * grow : 0.0f;
    for (Py_ssize_t t = 0; t < n; t++)
        for (int64_t k = m->item_begin[begin + t]; k < m->item_begin[begin + t + 1]; k++)
            if (seen[k - first] != 0.0f)
                add_row(emissions + t * l, m->state + (Py_ssize_t)m->attribute[k] * l, seen[k - first], l);
    for (Py_ssize_t t = 0; t < n; t++)
        emissions[t * l + m->label[begin + t]] -= m->margin[m->label[begin + t]];
    for (Py_ssize_t k = 0; k < l * l; k++)
        moves[k] = exp(m->move[k]);
    turn(moves, l, onto);
    double loss = forward_backward(emissions, moves, n, l, left, right, 0, n, weight, alpha, beta, marginal, onto);

    /* expected minus observed transitions; labels that nothing speaks for are passed over */
    memset(expected, 0, (size_t)(l * l) * sizeof(double));
    for (Py_ssize_t t = 1; t < n; t++) {
        const double *a = alpha + (t - 1) * l, *w = weight + t * l, *b = beta + t * l;
        double total = 0.0;
        Py_ssize_t count = 0;
        for (Py_ssize_t j = 0; j < l; j++)
            onward[j] = w[j] * b[j];
        for (Py_ssize_t i = 0; i < l; i++) {
            if (a[i] < 1e-12)
                continue;
            active[count++] = i;
            double sum = 0.0;
            for (Py_ssize_t j = 0; j < l; j++)
                sum += moves[i * l + j] * onward[j];
            total += a[i] * sum;
        }
        const double scale = 1.0 / total;
        for (Py_ssize_t k = 0; k < count; k++) {
            const Py_ssize_t i = active[k];
            const double from = a[i] * scale;
            for (Py_ssize_t j = 0; j < l; j++)
                expected[i * l + j] += from * (moves[i * l + j] * onward[j]);
        }
    }
    if (left >= 0)
        for (Py_ssize_t j = 0; j < l; j++)
            expected[left * l + j] += marginal[j];
    if (right >= 0)
        for (Py_ssize_t j = 0; j < l; j++)
            expected[j * l + right] += marginal[(n - 1) * l + j];
    Py_ssize_t before = left;
    for (Py_ssize_t t = 0; t < n; t++) {
        const Py_ssize_t y = m->label[begin + t];
        loss -= emissions[t * l + y];
        if (before >= 0) {
            loss -= m->move[before * l + y];
            expected[before * l + y] -= 1.0;
        }
        before = y;
    }
    if (right >= 0) {
        loss -= m->move[before * l + right];
        expected[before * l + right] -= 1.0;
    }

    for (Py_ssize_t t = 0; t < n; t++) {
        double *g = marginal + t * l;
        g[m->label[begin + t]] -= 1.0;
        Py_ssize_t count = 0;
        for (Py_ssize_t j = 0; j < l; j++)
            if (g[j] > NOTHING || g[j] < -NOTHING)
                active[count++] = j;
        if (count == 0)
            continue;
        for (int64_t k = m->item_begin[begin + t]; k < m->item_begin[begin + t + 1]; k++) {
            float *row = m->state + (Py_ssize_t)m->attribute[k] * l;
            float *square = m->state_square + (Py_ssize_t)m->attribute[k] * l;
            const float *old = m->old_state + (Py_ssize_t)m->attribute[k] * l;
            const double value = seen[k - first];
            if (value == 0.0)
                continue;
            for (Py_ssize_t c = 0; c < count; c++) {
                const Py_ssize_t j = active[c];
                const double d = g[j] * value + m->pull * ((double)row[j] - (double)old[j]);
                square[j] += (float)(d * d);
                row[j] -= (float)(m->rate * d / sqrt((double)square[j] + FLOOR));
            }
        }
    }
    for (Py_ssize_t k = 0; k < l * l; k++) {
        if (expected[k] > NOTHING || expected[k] < -NOTHING) {
            const double d = expected[k] + m->pull * (m->move[k] - m->old_move[k]);
            m->move_square[k] += d * d;
            m->move[k] -= m->rate * d / sqrt(m->move_square[k] + FLOOR);
        }
    }
    return loss;
}

/* ---- Python's side ------------------------------------------------------------------------------------------- */

static int holds(const Py_buffer *buffer, Py_ssize_t count, size_t size)
{
    return count >= 0 && buffer->len == count * (Py_ssize_t)size;
}

static PyObject *refuse(const char *what)
{
    PyErr_SetString(PyExc_ValueError, what);
    return NULL;
}

static PyObject *py_viterbi(PyObject *self, PyObject *args)
{
    (void)self;
    Py_buffer emissions, transition, path;
    Py_ssize_t n, l;
    if (!PyArg_ParseTuple(args, "y*y*nnw*", &emissions, &transition, &n, &l, &path))
        return NULL;
    PyObject *result = NULL;
    int32_t *back = NULL;
    double *score = NULL;
    if (n < 1 || l < 1 || n > PY_SSIZE_T_MAX / l / 8 || !holds(&emissions, n * l, sizeof(double)) ||
        !holds(&transition, l * l, sizeof(double)) || !holds(&path, n, sizeof(int64_t))) {
        refuse("arrays do not have the sizes announced");
        goto done;
    }
    back = malloc((size_t)(n * l) * sizeof(int32_t));
    score = malloc((size_t)(2 * l) * sizeof(double));
    if (!back || !score) {
        PyErr_NoMemory();
        goto done;
    }
    Py_BEGIN_ALLOW_THREADS
    viterbi_path(emissions.buf, transition.buf, n, l, path.buf, back, score);
    Py_END_ALLOW_THREADS
    result = Py_NewRef(Py_None);
done:
    free(back);
    free(score);
    PyBuffer_Release(&emissions);
    PyBuffer_Release(&transition);
    PyBuffer_Release(&path);
    return result;
}

static PyObject *py_marginals(PyObject *self, PyObject *args)
{
    (void)self;
    Py_buffer emissions, transition, out;
    Py_ssize_t n, l;
    if (!PyArg_ParseTuple(args, "y*y*nnw*", &emissions, &transition, &n, &l, &out))
        return NULL;
    PyObject *result = NULL;
    double *scratch = NULL;
    if (n < 1 || l < 1 || n > PY_SSIZE_T_MAX / l / 64 || !holds(&emissions, n * l, sizeof(double)) ||
        !holds(&transition, l * l, sizeof(double)) || !holds(&out, n * l, sizeof(double))) {
        refuse("arrays do not have the sizes announced");
        goto done;
    }
    scratch = malloc((size_t)(3 * n * l + 2 * l * l) * sizeof(double));
    if (!scratch) {
        PyErr_NoMemory();
        goto done;
    }
    double log_z;
    Py_BEGIN_ALLOW_THREADS
    double *moves = scratch + 3 * n * l;
    const double *t = transition.buf;
    for (Py_ssize_t k = 0; k < l * l; k++)
        moves[k] = exp(t[k]);
    turn(moves, l, moves + l * l);
    log_z = forward_backward(emissions.buf, moves, n, l, -1, -1, 0, n, scratch, scratch + n * l, scratch + 2 * n * l, out.buf,
                             moves + l * l);
    Py_END_ALLOW_THREADS
    result = PyFloat_FromDouble(log_z);
done:
    free(scratch);
    PyBuffer_Release(&emissions);
    PyBuffer_Release(&transition);
    PyBuffer_Release(&out);
    return result;
}

static PyObject *py_epoch(PyObject *self, PyObject *args)
{
    (void)self;
    enum { BEGIN, ATTRIBUTE, VALUE, LABEL, STRETCH, ORDER, STATE, STATE_SQUARE, MOVE, MOVE_SQUARE, OLD_STATE, OLD_MOVE, MARGIN, COUNT };
    Py_buffer b[COUNT];
    Py_ssize_t l;
    double rate, pull, drop;
    unsigned long long random;
    if (!PyArg_ParseTuple(args, "y*y*y*y*y*y*w*w*w*w*y*y*y*ndddK", &b[0], &b[1], &b[2], &b[3], &b[4], &b[5], &b[6], &b[7],
                          &b[8], &b[9], &b[10], &b[11], &b[12], &l, &rate, &pull, &drop, &random))
        return NULL;
    PyObject *result = NULL;
    double *scratch = NULL;
    Py_ssize_t *active = NULL;
    float *seen = NULL;
    const int64_t *begin = b[BEGIN].buf, *stretch = b[STRETCH].buf, *order = b[ORDER].buf;
    const int32_t *attribute = b[ATTRIBUTE].buf, *label = b[LABEL].buf;
    const Py_ssize_t items = b[BEGIN].len / (Py_ssize_t)sizeof(int64_t) - 1;
    const Py_ssize_t cells = b[ATTRIBUTE].len / (Py_ssize_t)sizeof(int32_t);
    const Py_ssize_t stretches = b[STRETCH].len / (Py_ssize_t)(4 * sizeof(int64_t));
    const Py_ssize_t row = l * (Py_ssize_t)sizeof(float);
    if (!(drop >= 0.0 && drop < 1.0) || random == 0) {
        refuse("no share of attributes to drop, or no state of the random numbers");
        goto done;
    }
    if (l < 1 || l > 100000 || items < 0 || !holds(&b[VALUE], cells, sizeof(float)) ||
        !holds(&b[LABEL], items, sizeof(int32_t)) || !holds(&b[ORDER], stretches, sizeof(int64_t)) ||
        b[STATE].len % row || b[STATE].len != b[STATE_SQUARE].len || !holds(&b[MOVE], l * l, sizeof(double)) ||
        !holds(&b[MOVE_SQUARE], l * l, sizeof(double)) || b[OLD_STATE].len != b[STATE].len ||
        !holds(&b[OLD_MOVE], l * l, sizeof(double)) || !holds(&b[MARGIN], l, sizeof(double))) {
        refuse("arrays do not have the sizes announced");
        goto done;
    }
    const Py_ssize_t attributes = b[STATE].len / row;
    Py_ssize_t longest = 0, most = 1;
    int ok = begin[0] == 0 && begin[items] == cells;
    for (Py_ssize_t i = 0; ok && i < items; i++)
        ok = begin[i] <= begin[i + 1] && label[i] >= 0 && label[i] < l;
    for (Py_ssize_t k = 0; ok && k < cells; k++)
        ok = attribute[k] >= 0 && attribute[k] < attributes;
    for (Py_ssize_t s = 0; ok && s < stretches; s++) {
        const int64_t *x = stretch + 4 * s;
        ok = x[0] >= 0 && x[0] < x[1] && x[1] <= items && x[2] >= -1 && x[2] < l && x[3] >= -1 && x[3] < l &&
             order[s] >= 0 && order[s] < stretches;
        if (ok && x[1] - x[0] > longest)
            longest = (Py_ssize_t)(x[1] - x[0]);
        if (ok && begin[x[1]] - begin[x[0]] > most)
            most = (Py_ssize_t)(begin[x[1]] - begin[x[0]]);
    }
    if (!ok) {
        refuse("an index lies outside its array");
        goto done;
    }
    scratch = malloc((size_t)(5 * longest * l + 3 * l * l + l) * sizeof(double));
    active = malloc((size_t)l * sizeof(Py_ssize_t));
    seen = malloc((size_t)most * sizeof(float));
    if (!scratch || !active || !seen) {
        PyErr_NoMemory();
        goto done;
    }
    Model m = {begin, attribute, b[VALUE].buf, label, b[STATE].buf, b[STATE_SQUARE].buf, b[MOVE].buf,
               b[MOVE_SQUARE].buf, b[OLD_STATE].buf, b[OLD_MOVE].buf, b[MARGIN].buf, l, rate, pull,
               (uint64_t)((1.0 - drop) * 4294967296.0), (uint64_t)random};
    double loss = 0.0;
    Py_BEGIN_ALLOW_THREADS
    for (Py_ssize_t s = 0; s < stretches; s++) {
        const int64_t *x = stretch + 4 * order[s];
        loss += step(&m, (Py_ssize_t)x[0], (Py_ssize_t)x[1], (Py_ssize_t)x[2], (Py_ssize_t)x[3], scratch, active, seen);
    }
    Py_END_ALLOW_THREADS
    result = PyFloat_FromDouble(loss);
done:
    free(scratch);
    free(active);
    free(seen);
    for (int i = 0; i < COUNT; i++)
        PyBuffer_Release(&b[i]);
    return result;
}

/* ---- memory ------------------------------------------------------------------------------------------------- */

/* glibc learns from the first large array that is freed to take the next ones from the heap, where spans that stay keep
 * its pages: a long note took half as much again. Arrays from here on have pages of their own, and give them back. */
static PyObject *py_return_arrays(PyObject *self, PyObject *size)
{
    (void)self;
    long bytes = PyLong_AsLong(size);
    if (bytes == -1 && PyErr_Occurred())
        return NULL;
#ifdef M_MMAP_THRESHOLD
    mallopt(M_MMAP_THRESHOLD, (int)bytes);
    mallopt(M_TRIM_THRESHOLD, (int)bytes * 8);
#endif
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"viterbi", py_viterbi, METH_VARARGS, "viterbi(emissions, transition, n, l, path): best label ids into path"},
    {"marginals", py_marginals, METH_VARARGS, "marginals(emissions, transition, n, l, out) -> log Z"},
    {"epoch", py_epoch, METH_VARARGS,
     "epoch(begin, attribute, value, label, stretch, order, state, state_square, move, move_square, old_state, old_move, "
     "margin, l, rate, pull, drop, random) -> loss"},
    {"elsewhere", py_elsewhere, METH_VARARGS,
     "elsewhere(folded, starts, ends, taken, places) -> ([(first word, one past the last, whether one may stand elsewhere)], "
     "words of one letter)"},
    {"corroborate", py_corroborate, METH_VARARGS, "corroborate(candidates, group) -> (candidates by place, how sure each is as others speak for it too)"},
    {"drop_redundant", py_drop_redundant, METH_VARARGS,
     "drop_redundant(candidates, scores, passed, traits) -> the spans with their scores, but for those passed over and superfluous ones"},
    {"clusters", py_clusters, METH_O,
     "clusters(spans) -> [(first, stop, best)]: spans that hang together, and which one covers all and wins, or -1"},
    {"return_arrays", py_return_arrays, METH_O, "return_arrays(bytes): give arrays of that size back to the system when they are freed"},
    {"changed", (PyCFunction)(void (*)(void))py_changed, METH_FASTCALL,
     "changed(object, name, value, ...): the same object of a quick class with other values of fields"},
    {"quicken", quicken, METH_VARARGS, "quicken(class, fields, values): make objects of a data class without its initializer"},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "deid._native", "Hot loops of labelling.", -1, methods,
                                    NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__native(void)
{
    static const struct {
        const char *name;
        PyType_Spec *spec;
    } types[] = {
        {"Finder", &finder_spec},
        {"Fits", &fits_spec},
        {"Labeller", &labeller_spec},
        {"Lookup", &lookup_spec},
        {"Phrases", &phrases_spec},
        {"Reader", &reader_spec},
        {"Sieve", &sieve_spec},
        {"Viewer", &viewer_spec},
        {"Words", &words_spec},
    };
    PyObject *made = PyModule_Create(&module);
    for (size_t i = 0; made && i < sizeof types / sizeof *types; i++) {
        PyObject *type = PyType_FromSpec(types[i].spec);
        if (!type || PyModule_AddObjectRef(made, types[i].name, type))
            Py_CLEAR(made);
        Py_XDECREF(type);
    }
    return made;
}
