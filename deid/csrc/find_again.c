/* What is found again in a text; the oracle is the Python route of deid.detection.find_again.
 *
 * Nearly all words of a text are none of those that are looked for: a table of their hashes says so first.
 */
#include "labeller.h"

#include <stdlib.h>
#include <string.h>

enum { SIEVE = 4096 };

static PyObject *wrong(const char *what)
{
    PyErr_SetString(PyExc_TypeError, what);
    return NULL;
}

static int all_texts(PyObject *words, Py_ssize_t count)
{
    for (Py_ssize_t i = 0; i < count; i++)
        if (!PyUnicode_CheckExact(PyList_GET_ITEM(words, i))) {
            wrong("words are texts");
            return -1;
        }
    return 0;
}

/* Where a word stands in the table; a text keeps its hash once it was asked for, and has always one. */
static size_t sieve(PyObject *word)
{
    const Py_hash_t kept = ((PyASCIIObject *)word)->hash;
    return (size_t)(kept == -1 ? PyObject_Hash(word) : kept) % SIEVE;
}

static int holds_free(const char *taken, Py_ssize_t start, Py_ssize_t end)
{
    return start < end && memchr(taken + start, 0, (size_t)(end - start)) != NULL;
}

/* Tell whether words lie in order inside of a text. */
static int in_order(const int64_t *start, const int64_t *end, Py_ssize_t count, Py_ssize_t size)
{
    int64_t last = 0;
    for (Py_ssize_t i = 0; i < count; last = end[i++])
        if (start[i] < last || end[i] < start[i] || end[i] > size)
            return 0;
    return 1;
}

/* The first of the numbers from `low` on that is greater than a place, or, when it may be the place itself, no less. */
static Py_ssize_t first_from(const int64_t *number, Py_ssize_t low, Py_ssize_t count, Py_ssize_t place, int itself)
{
    while (low < count) {
        const Py_ssize_t middle = low + (count - low) / 2;
        if (itself ? number[middle] < place : number[middle] <= place)
            low = middle + 1;
        else
            count = middle;
    }
    return low;
}

/* elsewhere(folded, starts, ends, taken, places) -> ([(first word, one past the last, whether one of them may stand
 * elsewhere)], words of one letter) */
PyObject *py_elsewhere(PyObject *unused, PyObject *args)
{
    (void)unused;
    PyObject *folded, *starts, *ends, *places;
    Py_buffer taken;
    if (!PyArg_ParseTuple(args, "O!OOy*O!", &PyList_Type, &folded, &starts, &ends, &taken, &PyList_Type, &places))
        return NULL;
    const Py_ssize_t count = PyList_GET_SIZE(folded);
    PyObject *outside = PySet_New(NULL), *letters = PySet_New(NULL), *found = PyList_New(0), *result = NULL;
    int64_t *start = offsets_of(starts, count), *end = start ? offsets_of(ends, count) : NULL;
    int failed = !outside || !letters || !found || !end;
    if (!failed && !in_order(start, end, count, taken.len)) {
        PyErr_SetString(PyExc_ValueError, "words in order, inside of the text, are wanted");
        failed = 1;
    }
    const Py_ssize_t asked = PyList_GET_SIZE(places);
    Py_ssize_t *bound = failed ? NULL : malloc((size_t)(2 * asked + 1) * sizeof *bound);
    if (!failed && !bound) {
        PyErr_NoMemory();
        failed = 1;
    }
    failed = failed || all_texts(folded, count);
    uint8_t wanted[SIEVE] = {0}, seen[128] = {0};
    for (Py_ssize_t i = 0; !failed && i < asked; i++) {
        Py_ssize_t from, to;
        PyObject *place = PyList_GET_ITEM(places, i);
        if (!PyTuple_Check(place) || !PyArg_ParseTuple(place, "nn", &from, &to)) {
            if (!PyErr_Occurred())
                wrong("places are pairs");
            failed = 1;
            break;
        }
        const Py_ssize_t begin = first_from(end, 0, count, from, 0), stop = first_from(start, begin, count, to, 1);
        bound[2 * i] = begin;
        bound[2 * i + 1] = stop;
        for (Py_ssize_t w = begin; w < stop; w++)
            wanted[sieve(PyList_GET_ITEM(folded, w))] = 1;
    }
    for (Py_ssize_t i = 0, inside = 0; !failed && i < count; i++) {
        PyObject *word = PyList_GET_ITEM(folded, i);
        const Py_ssize_t held = inside;
        inside = !holds_free(taken.buf, start[i], end[i]);
        if ((!inside || (held && holds_free(taken.buf, end[i - 1], start[i]))) && wanted[sieve(word)])
            failed = PySet_Add(outside, word);
        if (!failed && PyUnicode_GET_LENGTH(word) == 1) {
            const Py_UCS4 letter = PyUnicode_READ_CHAR(word, 0);
            if (letter >= 128 || !seen[letter])
                failed = PySet_Add(letters, word);
            if (letter < 128)
                seen[letter] = 1;
        }
    }
    for (Py_ssize_t i = 0; !failed && i < asked; i++) {
        const Py_ssize_t begin = bound[2 * i], stop = bound[2 * i + 1];
        int other = 0;
        for (Py_ssize_t w = begin; w < stop && !other; w++)
            other = PySet_Contains(outside, PyList_GET_ITEM(folded, w));
        PyObject *told = other < 0 ? NULL : Py_BuildValue("(nnN)", begin, stop, PyBool_FromLong(other));
        failed = !told || PyList_Append(found, told);
        Py_XDECREF(told);
    }
    if (!failed)
        result = PyTuple_Pack(2, found, letters);
    free(bound);
    free(start);
    free(end);
    Py_XDECREF(outside);
    Py_XDECREF(letters);
    Py_XDECREF(found);
    PyBuffer_Release(&taken);
    return result;
}
