/* Which of many strings stand in a text, in one pass; the oracle is the Python route of deid.replacement.containment.
 *
 * Strings are looked up by their first characters, as many as the shortest of them has, eight at most; of each the last
 * eight bits count.
 */
#include "text.h"

#include <stdlib.h>
#include <string.h>

enum { LONGEST_HEAD = 8 };

typedef struct {
    PyObject_HEAD
    PyObject *strings; /* tuple, none empty */
    Py_ssize_t head;   /* characters that are hashed */
    int bits; /* 2**bits buckets */
    int32_t *first, *next; /* a bucket's first string, a string's next one; -1 where there is none */
} Finder;

/* The characters seen last, the newest in the highest byte. */
static uint64_t roll(uint64_t seen, Py_UCS4 c) { return seen >> 8 | (uint64_t)(c & 255) << 56; }

static size_t bucket_of(const Finder *self, uint64_t seen)
{
    return (size_t)((seen >> (64 - 8 * self->head)) * 0x9E3779B97F4A7C15u >> (64 - self->bits));
}

static void finder_clear(Finder *self)
{
    Py_CLEAR(self->strings);
    free(self->first);
    free(self->next);
    self->first = self->next = NULL;
}

static int finder_init(PyObject *object, PyObject *args, PyObject *options)
{
    Finder *self = (Finder *)object;
    static char *names[] = {"strings", NULL};
    PyObject *given;
    if (!PyArg_ParseTupleAndKeywords(args, options, "O", names, &given))
        return -1;
    finder_clear(self);
    PyObject *strings = PySequence_Tuple(given);
    if (!strings)
        return -1;
    const Py_ssize_t count = PyTuple_GET_SIZE(strings);
    self->head = LONGEST_HEAD;
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *string = PyTuple_GET_ITEM(strings, i);
        if (!PyUnicode_Check(string) || !PyUnicode_GET_LENGTH(string) || count > INT32_MAX / 4) {
            Py_DECREF(strings);
            PyErr_SetString(PyExc_TypeError, "strings that are not empty are wanted");
            return -1;
        }
        if (PyUnicode_GET_LENGTH(string) < self->head)
            self->head = PyUnicode_GET_LENGTH(string);
    }
    for (self->bits = 7; (Py_ssize_t)1 << self->bits < 8 * count;)
        self->bits++;
    const size_t buckets = (size_t)1 << self->bits;
    self->first = malloc(buckets * sizeof(int32_t));
    self->next = malloc((size_t)(count + 1) * sizeof(int32_t));
    if (!self->first || !self->next) {
        Py_DECREF(strings);
        finder_clear(self);
        PyErr_NoMemory();
        return -1;
    }
    memset(self->first, 0xFF, buckets * sizeof(int32_t));
    for (Py_ssize_t i = count; i--;) { /* so that a bucket has its strings in order */
        PyObject *string = PyTuple_GET_ITEM(strings, i);
        uint64_t seen = 0;
        for (Py_ssize_t k = 0; k < self->head; k++)
            seen = roll(seen, PyUnicode_READ_CHAR(string, k));
        const size_t bucket = bucket_of(self, seen);
        self->next[i] = self->first[bucket];
        self->first[bucket] = (int32_t)i;
    }
    self->strings = strings;
    return 0;
}

static void finder_free(PyObject *object)
{
    finder_clear((Finder *)object);
    PyTypeObject *type = Py_TYPE(object);
    type->tp_free(object);
    Py_DECREF(type);
}

static int stands(PyObject *string, int kind, const void *data, Py_ssize_t at, Py_ssize_t size)
{
    const Py_ssize_t length = PyUnicode_GET_LENGTH(string);
    if (at + length > size)
        return 0;
    const int other = PyUnicode_KIND(string);
    const void *wanted = PyUnicode_DATA(string);
    for (Py_ssize_t i = 0; i < length; i++)
        if (PyUnicode_READ(other, wanted, i) != PyUnicode_READ(kind, data, at + i))
            return 0;
    return 1;
}

/* places(text) -> [(string, place)] of all places where one stands, in order of place, then of the strings */
static PyObject *finder_places(PyObject *object, PyObject *text)
{
    Finder *self = (Finder *)object;
    if (!PyUnicode_Check(text) || !self->strings) {
        PyErr_SetString(PyExc_TypeError, "a text is wanted");
        return NULL;
    }
    const Py_ssize_t size = PyUnicode_GET_LENGTH(text);
    const int kind = PyUnicode_KIND(text);
    const void *data = PyUnicode_DATA(text);
    PyObject *found = PyList_New(0);
    uint64_t seen = 0;
    for (Py_ssize_t end = 0; found && end < size; end++) {
        seen = roll(seen, PyUnicode_READ(kind, data, end));
        const Py_ssize_t at = end + 1 - self->head;
        for (int32_t i = at < 0 ? -1 : self->first[bucket_of(self, seen)]; found && i >= 0; i = self->next[i]) {
            PyObject *string = PyTuple_GET_ITEM(self->strings, i);
            if (!stands(string, kind, data, at, size))
                continue;
            PyObject *pair = Py_BuildValue("On", string, at);
            if (!pair || PyList_Append(found, pair))
                Py_CLEAR(found);
            Py_XDECREF(pair);
        }
    }
    return found;
}

static PyMethodDef methods[] = {
    {"places", finder_places, METH_O, "places(text) -> [(string, place)]"},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_init, finder_init},
    {Py_tp_new, PyType_GenericNew},
    {Py_tp_dealloc, finder_free},
    {Py_tp_methods, methods},
    {Py_tp_doc, "Finder(strings): tells where strings stand in a text."},
    {0, NULL},
};

PyType_Spec finder_spec = {"deid._native.Finder", sizeof(Finder), 0, Py_TPFLAGS_DEFAULT, slots};
