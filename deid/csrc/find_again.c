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

/* Where a word stands in the table; a text keeps its hash, and has always one. */
static size_t sieve(PyObject *word) { return (size_t)PyObject_Hash(word) % SIEVE; }

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
    Py_buffer taken, first = {0}, last = {0};
    if (!PyArg_ParseTuple(args, "O!OOy*O!", &PyList_Type, &folded, &starts, &ends, &taken, &PyList_Type, &places))
        return NULL;
    const Py_ssize_t count = PyList_GET_SIZE(folded);
    PyObject *outside = PySet_New(NULL), *letters = PySet_New(NULL), *found = PyList_New(0), *result = NULL;
    int failed = !outside || !letters || !found || offsets_of(starts, count, &first) || offsets_of(ends, count, &last);
    const int64_t *start = first.buf, *end = last.buf;
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
    Py_XDECREF(outside);
    Py_XDECREF(letters);
    Py_XDECREF(found);
    PyBuffer_Release(&taken);
    PyBuffer_Release(&first);
    PyBuffer_Release(&last);
    return result;
}

/* Whether the words of a seed stand at a place of a text, at most one line end between two, and not all of it is taken;
 * -1 with an exception. */
static int stands_at(PyObject *seed, PyObject *folded, const uint8_t *breaks, Py_ssize_t at, Py_ssize_t count,
                     const int64_t *start, const int64_t *end, const char *taken)
{
    PyObject *words = PyTuple_Check(seed) && PyTuple_GET_SIZE(seed) > 1 ? PyTuple_GET_ITEM(seed, 1) : NULL;
    if (!words || !PyTuple_Check(words) || !PyTuple_GET_SIZE(words)) {
        wrong("seeds have words");
        return -1;
    }
    const Py_ssize_t size = PyTuple_GET_SIZE(words);
    if (size > count - at)
        return 0;
    for (Py_ssize_t i = 0; i < size; i++) {
        PyObject *wanted = PyTuple_GET_ITEM(words, i), *word = PyList_GET_ITEM(folded, at + i);
        const int same = wanted == word ? 1 : PyObject_RichCompareBool(wanted, word, Py_EQ);
        if (same <= 0 || (i && breaks[at + i] > 1))
            return same < 0 ? -1 : 0;
    }
    return holds_free(taken, start[at], end[at + size - 1]);
}

/* repeated(folded, breaks, starts, ends, taken, seeds) -> [(first word, seed)] where the words of a seed stand and not
 * all is taken; seeds: first word -> second word, empty where there is none -> [(.., words, ..)] */
PyObject *py_repeated(PyObject *unused, PyObject *args)
{
    (void)unused;
    PyObject *given, *starts, *ends, *seeds;
    Py_buffer breaks, taken, first = {0}, last = {0};
    if (!PyArg_ParseTuple(args, "O!y*OOy*O!", &PyList_Type, &given, &breaks, &starts, &ends, &taken, &PyDict_Type, &seeds))
        return NULL;
    PyObject *folded = PyList_GetSlice(given, 0, PyList_GET_SIZE(given)), *alone = PyUnicode_New(0, 0);
    PyObject *found = PyList_New(0);
    const Py_ssize_t count = folded ? PyList_GET_SIZE(folded) : 0;
    int failed = !folded || !alone || !found || all_texts(folded, count) || offsets_of(starts, count, &first) ||
                 offsets_of(ends, count, &last);
    const int64_t *start = first.buf, *end = last.buf;
    if (!failed && (breaks.len != count || !in_order(start, end, count, taken.len))) {
        PyErr_SetString(PyExc_ValueError, "words in order, inside of the text, are wanted");
        failed = 1;
    }
    uint8_t wanted[SIEVE] = {0};
    PyObject *word, *held;
    for (Py_ssize_t at = 0; !failed && PyDict_Next(seeds, &at, &word, &held);) {
        if (PyUnicode_CheckExact(word) && PyDict_Check(held))
            wanted[sieve(word)] = 1;
        else
            failed = !wrong("seeds are told by words");
    }
    for (Py_ssize_t i = 0; !failed && i < count; i++) {
        word = PyList_GET_ITEM(folded, i);
        if (!wanted[sieve(word)])
            continue;
        held = Py_XNewRef(PyDict_GetItemWithError(seeds, word));
        failed = !held && PyErr_Occurred();
        for (int several = 0; held && !failed && several < 2; several++) {
            PyObject *second = several && i + 1 < count ? PyList_GET_ITEM(folded, i + 1) : alone;
            if (several && !PyUnicode_GET_LENGTH(second))
                continue;
            PyObject *list = Py_XNewRef(PyDict_GetItemWithError(held, second));
            failed = list ? !PyList_Check(list) && !wrong("seeds are lists") : PyErr_Occurred() != NULL;
            for (Py_ssize_t k = 0; list && !failed && k < PyList_GET_SIZE(list); k++) {
                PyObject *seed = PyList_GET_ITEM(list, k);
                const int stands = stands_at(seed, folded, breaks.buf, i, count, start, end, taken.buf);
                PyObject *pair = stands > 0 ? Py_BuildValue("nO", i, seed) : NULL;
                failed = stands < 0 || (stands && (!pair || PyList_Append(found, pair)));
                Py_XDECREF(pair);
            }
            Py_XDECREF(list);
        }
        Py_XDECREF(held);
    }
    if (failed)
        Py_CLEAR(found);
    Py_XDECREF(folded);
    Py_XDECREF(alone);
    PyBuffer_Release(&breaks);
    PyBuffer_Release(&taken);
    PyBuffer_Release(&first);
    PyBuffer_Release(&last);
    return found;
}
