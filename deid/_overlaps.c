/* Which spans overlap, and how far they raise each other; the oracle is the Python route of deid.detection.overlaps. */
#include "_labeller.h"

#include <stdlib.h>

typedef struct {
    int64_t start, end;
    double score;
    Py_ssize_t rank;
    PyObject *category, *group; /* group is asked for when it matters */
} Row;

enum { START, END, SCORE, CATEGORY, ATTRIBUTES };

static PyObject *attribute(PyObject *span, int which)
{
    static const char *const written[ATTRIBUTES] = {"start", "end", "score", "category"};
    static PyObject *names[ATTRIBUTES]; /* live as long as the process */
    if (!names[which] && !(names[which] = PyUnicode_InternFromString(written[which])))
        return NULL;
    return PyObject_GetAttr(span, names[which]);
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
        row->score = score == Py_None ? 1.0 : PyFloat_AsDouble(score);
    Py_XDECREF(score);
    return PyErr_Occurred() ? -1 : 0;
}

static void release(Row *rows, Py_ssize_t count)
{
    for (Py_ssize_t i = 0; rows && i < count; i++) {
        Py_XDECREF(rows[i].category);
        Py_XDECREF(rows[i].group);
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

/* raised(posts, group) -> how sure each span is when others speak for it too, None where none does */
PyObject *py_raised(PyObject *self, PyObject *args)
{
    (void)self;
    PyObject *posts, *group, *result = NULL;
    if (!PyArg_ParseTuple(args, "O!O", &PyTuple_Type, &posts, &group))
        return NULL;
    const Py_ssize_t count = PyTuple_GET_SIZE(posts);
    Py_ssize_t ranks = 1;
    Row *rows = calloc((size_t)count + 1, sizeof *rows);
    double *best = NULL; /* of each post, and each recognizer, the most certain span beside it; below 0: none */
    int ok = rows || PyErr_NoMemory();
    for (Py_ssize_t i = 0; ok && i < count; i++) {
        PyObject *post = PyTuple_GET_ITEM(posts, i), *span;
        if (!PyTuple_Check(post)) {
            PyErr_SetString(PyExc_TypeError, "a post is a recognizer's number and a span");
            ok = 0;
            break;
        }
        ok = PyArg_ParseTuple(post, "nO", &rows[i].rank, &span) && !read_span(span, rows + i) &&
             (rows[i].category = attribute(span, CATEGORY));
        if (ok && (rows[i].rank < 0 || rows[i].rank > 1000)) {
            PyErr_SetString(PyExc_ValueError, "there are not so many recognizers");
            ok = 0;
        }
        ranks = ok && rows[i].rank >= ranks ? rows[i].rank + 1 : ranks;
    }
    if (ok && !(best = malloc((size_t)(count * ranks + 1) * sizeof *best))) {
        PyErr_NoMemory();
        ok = 0;
    }
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
    if (ok)
        result = PyList_New(count);
    for (Py_ssize_t i = 0; result && i < count; i++) {
        double rest = 1.0 - rows[i].score;
        int several = 0;
        for (Py_ssize_t r = 0; r < ranks; r++)
            if (best[i * ranks + r] >= 0.0) {
                rest *= 1.0 - best[i * ranks + r];
                several = 1;
            }
        PyObject *score = several ? PyFloat_FromDouble(1.0 - rest) : Py_NewRef(Py_None);
        if (score)
            PyList_SET_ITEM(result, i, score);
        else
            Py_CLEAR(result);
    }
    free(best);
    release(rows, count);
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
