/* Which spans overlap, and how far they raise each other; the oracle is the Python route of deid.detection.overlaps. */
#include "labeller.h"

#include <stdlib.h>

typedef struct {
    int64_t start, end;
    double score;
    Py_ssize_t rank, number;              /* number: the place in the list that was given */
    PyObject *candidate, *span;                /* borrowed */
    PyObject *category, *group, *traits;   /* group and traits are asked for when they matter */
    int unscored, passed;
} Row;

enum { START, END, SCORE, CATEGORY, ID, MORE, SOURCE, ATTRIBUTES };

/* The name of an attribute, interned; borrowed. */
static PyObject *name_of(int which)
{
    static const char *const written[ATTRIBUTES] = {"start", "end", "score", "category", "id", "attributes", "source"};
    static PyObject *names[ATTRIBUTES]; /* live as long as the process */
    if (!names[which])
        names[which] = PyUnicode_InternFromString(written[which]);
    return names[which];
}

static PyObject *attribute(PyObject *span, int which)
{
    PyObject *name = name_of(which);
    return name ? PyObject_GetAttr(span, name) : NULL;
}

static int read_offset(PyObject *span, int which, int64_t *offset)
{
    PyObject *value = attribute(span, which);
    *offset = value ? PyLong_AsLongLong(value) : -1;
    Py_XDECREF(value);
    return *offset == -1 && PyErr_Occurred() ? -1 : 0;
}

/* Read where a span is and how sure; one without score is certain. */
static int read_span(PyObject *span, Row *row)
{
    if (read_offset(span, START, &row->start) || read_offset(span, END, &row->end))
        return -1;
    PyObject *score = attribute(span, SCORE);
    if (score)
        row->score = (row->unscored = score == Py_None) ? 1.0 : PyFloat_AsDouble(score);
    Py_XDECREF(score);
    return PyErr_Occurred() ? -1 : 0;
}

static void release(Row *rows, Py_ssize_t count)
{
    for (Py_ssize_t i = 0; rows && i < count; i++) {
        Py_XDECREF(rows[i].category);
        Py_XDECREF(rows[i].group);
        Py_XDECREF(rows[i].traits);
    }
    free(rows);
}

/* Whether two spans are in the same group of categories; -1 with an exception. */
static int alike(PyObject *group, Row *a, Row *b)
{
    if (a->category == b->category)
        return 1;
    for (int i = 0; i < 2; i++) {
        Row *row = i ? b : a;
        if (!row->group && !(row->group = PyObject_CallOneArg(group, row->category)))
            return -1;
    }
    return a->group == b->group ? 1 : PyObject_RichCompareBool(a->group, b->group, Py_EQ);
}

/* Read candidates, a list of (number of a recognizer, span); NULL with an exception. */
static Row *read_candidates(PyObject *candidates)
{
    const Py_ssize_t count = PyList_GET_SIZE(candidates);
    Row *rows = calloc((size_t)count + 1, sizeof *rows);
    int ok = rows || PyErr_NoMemory();
    for (Py_ssize_t i = 0; ok && i < count; i++) {
        Row *row = rows + i;
        row->number = i;
        row->candidate = i < PyList_GET_SIZE(candidates) ? PyList_GET_ITEM(candidates, i) : Py_None;
        if (!PyTuple_Check(row->candidate) || PyTuple_GET_SIZE(row->candidate) != 2) {
            PyErr_SetString(PyExc_TypeError, "a candidate is a recognizer's number and a span");
            ok = 0;
            break;
        }
        row->rank = PyLong_AsSsize_t(PyTuple_GET_ITEM(row->candidate, 0));
        row->span = PyTuple_GET_ITEM(row->candidate, 1);
        ok = !PyErr_Occurred() && !read_span(row->span, row) && (row->category = attribute(row->span, CATEGORY));
        if (ok && (row->rank < 0 || row->rank > 1000)) {
            PyErr_SetString(PyExc_ValueError, "there are not so many recognizers");
            ok = 0;
        }
    }
    if (!ok) {
        release(rows, rows ? count : 0);
        return NULL;
    }
    return rows;
}

static int by_place(const void *one, const void *other)
{
    const Row *a = one, *b = other;
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    if (a->end != b->end)
        return a->end < b->end ? -1 : 1;
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    return a->number < b->number ? -1 : 1;
}

/* corroborate(candidates, group) -> (candidates by place, how sure each is: its own score, or more where others speak for it too) */
PyObject *py_corroborate(PyObject *self, PyObject *args)
{
    (void)self;
    PyObject *given, *group, *ordered = NULL, *scores = NULL, *result = NULL;
    if (!PyArg_ParseTuple(args, "O!O", &PyList_Type, &given, &group))
        return NULL;
    PyObject *candidates = PyList_GetSlice(given, 0, PyList_GET_SIZE(given)); /* nobody else can change it */
    if (!candidates)
        return NULL;
    const Py_ssize_t count = PyList_GET_SIZE(candidates);
    Py_ssize_t ranks = 1;
    Row *rows = read_candidates(candidates);
    double *best = NULL; /* of each candidate, and each recognizer, the most certain span beside it; below 0: none */
    int ok = rows != NULL;
    for (Py_ssize_t i = 0; ok && i < count; i++)
        ranks = rows[i].rank >= ranks ? rows[i].rank + 1 : ranks;
    if (ok && !(best = malloc((size_t)(count * ranks + 1) * sizeof *best))) {
        PyErr_NoMemory();
        ok = 0;
    }
    if (ok)
        qsort(rows, (size_t)count, sizeof *rows, by_place);
    for (Py_ssize_t i = 0; ok && i < count * ranks; i++)
        best[i] = -1.0;
    for (Py_ssize_t a = 0; ok && a < count; a++)
        for (Py_ssize_t b = a + 1; ok && b < count && rows[b].start < rows[a].end; b++) {
            const int same = rows[a].rank == rows[b].rank ? 0 : alike(group, rows + a, rows + b);
            ok = same >= 0;
            if (same > 0) {
                double *first = best + a * ranks + rows[b].rank, *second = best + b * ranks + rows[a].rank;
                *first = rows[b].score > *first ? rows[b].score : *first;
                *second = rows[a].score > *second ? rows[a].score : *second;
            }
        }
    ok = ok && (ordered = PyList_New(count)) && (scores = PyList_New(count));
    for (Py_ssize_t i = 0; ok && i < count; i++) {
        double rest = 1.0 - rows[i].score;
        int several = 0;
        for (Py_ssize_t r = 0; r < ranks; r++)
            if (best[i * ranks + r] >= 0.0) {
                rest *= 1.0 - best[i * ranks + r];
                several = 1;
            }
        PyObject *score = several ? PyFloat_FromDouble(1.0 - rest) : attribute(rows[i].span, SCORE);
        PyList_SET_ITEM(ordered, i, Py_NewRef(rows[i].candidate));
        if (score && several && rest != 0.0)
            Py_SETREF(score, PyObject_CallMethod(score, "__round__", "i", 4));
        if (score)
            PyList_SET_ITEM(scores, i, score);
        ok = score != NULL;
    }
    if (ok)
        result = PyTuple_Pack(2, ordered, scores);
    Py_XDECREF(ordered);
    Py_XDECREF(scores);
    free(best);
    release(rows, rows ? count : 0);
    Py_DECREF(candidates);
    return result;
}

/* Whether two spans say the same of the same place, but for how sure they are; -1 with an exception. */
static int same_word(PyObject *traits, Row *a, Row *b)
{
    if (a->unscored != b->unscored)
        return 0;
    int same = a->category == b->category ? 1 : PyObject_RichCompareBool(a->category, b->category, Py_EQ);
    for (int which = ID; same > 0 && which <= MORE; which++) {
        PyObject *one = attribute(a->span, which), *other = one ? attribute(b->span, which) : NULL;
        same = !other ? -1 : one == other ? 1 : PyObject_RichCompareBool(one, other, Py_EQ);
        Py_XDECREF(one);
        Py_XDECREF(other);
    }
    for (int i = 0; same > 0 && i < 2; i++) {
        Row *row = i ? b : a;
        PyObject *source = row->traits ? NULL : attribute(row->span, SOURCE);
        if (source)
            row->traits = PyObject_CallOneArg(traits, source);
        Py_XDECREF(source);
        same = row->traits ? 1 : -1;
    }
    return same > 0 ? PyObject_RichCompareBool(a->traits, b->traits, Py_EQ) : same;
}

/* drop_redundant(candidates, scores, passed, traits) -> the spans, each with its score, without those that are passed over and those
 * that another one, surer or earlier, makes superfluous */
PyObject *py_drop_redundant(PyObject *self, PyObject *args)
{
    (void)self;
    PyObject *candidates, *scores, *traits;
    Py_buffer passed;
    if (!PyArg_ParseTuple(args, "O!O!y*O", &PyList_Type, &candidates, &PyList_Type, &scores, &passed, &traits))
        return NULL;
    PyObject *given = PyList_AsTuple(scores), *result = NULL;
    Row *rows = NULL;
    const Py_ssize_t count = PyList_GET_SIZE(candidates);
    int ok = given != NULL;
    if (ok && (PyTuple_GET_SIZE(given) != count || passed.len != count)) {
        PyErr_SetString(PyExc_ValueError, "a score for each candidate is wanted");
        ok = 0;
    }
    candidates = ok ? PyList_GetSlice(candidates, 0, count) : NULL;
    ok = candidates && (rows = read_candidates(candidates));
    for (Py_ssize_t i = 0; ok && i < count; i++) {
        PyObject *score = PyTuple_GET_ITEM(given, i);
        rows[i].passed = ((const char *)passed.buf)[i] != 0;
        rows[i].score = (rows[i].unscored = score == Py_None) ? 1.0 : PyFloat_AsDouble(score);
        ok = !PyErr_Occurred();
    }
    for (Py_ssize_t i = 0, first = 0; ok && i < count; i++) {
        if (rows[i].start != rows[first].start || rows[i].end != rows[first].end)
            first = i;
        for (Py_ssize_t other = first; ok && other < i && !rows[i].passed; other++) {
            const int same = rows[other].passed ? 0 : same_word(traits, rows + other, rows + i);
            ok = same >= 0;
            if (same > 0)
                rows[rows[i].score > rows[other].score ? other : i].passed = 1;
        }
    }
    ok = ok && (result = PyList_New(0));
    for (Py_ssize_t i = 0; ok && i < count; i++) {
        if (rows[i].passed)
            continue;
        PyObject *score = PyTuple_GET_ITEM(given, i), *own = attribute(rows[i].span, SCORE), *span = NULL;
        if (own)
            span = own == score ? Py_NewRef(rows[i].span) : made_with(rows[i].span, name_of(SCORE), score, "scored");
        ok = span && !PyList_Append(result, span);
        Py_XDECREF(own);
        Py_XDECREF(span);
    }
    if (!ok)
        Py_CLEAR(result);
    release(rows, rows ? count : 0);
    Py_XDECREF(candidates);
    Py_XDECREF(given);
    PyBuffer_Release(&passed);
    return result;
}

/* clusters(spans) -> [(first, stop, best)]: spans that hang together, and which of them covers all and wins; -1: none */
PyObject *py_clusters(PyObject *self, PyObject *spans)
{
    (void)self;
    if (!PyList_Check(spans)) {
        PyErr_SetString(PyExc_TypeError, "a list of spans is wanted");
        return NULL;
    }
    PyObject *result = PyList_New(0);
    Row first = {0}, best = {0}, row;
    Py_ssize_t begin = 0, winner = 0;
    int64_t reach = 0;
    int ok = result != NULL;
    for (Py_ssize_t i = 0; ok; i++) {
        const int more = i < PyList_GET_SIZE(spans);
        if (more) {
            PyObject *span = Py_NewRef(PyList_GET_ITEM(spans, i));
            ok = !read_span(span, &row);
            Py_DECREF(span);
        }
        if (ok && i > begin && (!more || row.start >= reach)) {
            const int covers = best.start == first.start && best.end == reach;
            PyObject *cluster = Py_BuildValue("(nnn)", begin, i, covers ? winner : (Py_ssize_t)-1);
            ok = cluster && !PyList_Append(result, cluster);
            Py_XDECREF(cluster);
            begin = i;
        }
        if (!ok || !more)
            break;
        const int wins = row.score > best.score || (row.score == best.score && row.end - row.start > best.end - best.start);
        if (i == begin || wins) {
            best = row;
            winner = i;
        }
        if (i == begin)
            first = row;
        reach = i == begin || row.end > reach ? row.end : reach;
    }
    if (!ok)
        Py_CLEAR(result);
    return result;
}
