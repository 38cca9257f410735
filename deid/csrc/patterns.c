/* Words near a match; the oracle is the expression of deid.rules.patterns.holds_word. */
#include "text.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    PyObject_HEAD
    char *letters;         /* of all words, ordered by their first character */
    Py_ssize_t *begin;     /* of each word in letters, and the end of the last */
    Py_ssize_t first[129]; /* words that begin with a character: from first[c] to first[c + 1] */
} Words;

static int wordly(Py_UCS4 c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static Py_UCS4 small(Py_UCS4 c)
{
    return c >= 'A' && c <= 'Z' ? c + 32 : c;
}

/* Tell whether a character is ASCII, or a sign beyond it: a blank, a dash, a quotation mark, a bullet. Of others words
 * may be made, or a letter in another case. */
static int plain(Py_UCS4 c)
{
    return c < 128 || (c >= 0xA0 && c <= 0xA9) || (c >= 0xAB && c <= 0xB1) || (c >= 0x2010 && c <= 0x2027) ||
           (c >= 0x2030 && c <= 0x203E);
}

static int words_init(PyObject *object, PyObject *args, PyObject *named)
{
    Words *self = (Words *)object;
    PyObject *words;
    static char *names[] = {"words", NULL};
    if (!PyArg_ParseTupleAndKeywords(args, named, "O!", names, &PyTuple_Type, &words))
        return -1;
    const Py_ssize_t count = PyTuple_GET_SIZE(words);
    Py_ssize_t size = 0, number = 0;
    if (self->letters) {
        PyErr_SetString(PyExc_RuntimeError, "made already");
        return -1;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *word = PyTuple_GET_ITEM(words, i);
        if (!PyUnicode_Check(word) || !PyUnicode_IS_ASCII(word) || !PyUnicode_GET_LENGTH(word)) {
            PyErr_SetString(PyExc_ValueError, "words are ASCII, and not empty");
            return -1;
        }
        size += PyUnicode_GET_LENGTH(word);
    }
    char *letters = malloc((size_t)size + 1);
    Py_ssize_t *begin = malloc((size_t)(count + 1) * sizeof(Py_ssize_t));
    if (!letters || !begin) {
        free(letters);
        free(begin);
        PyErr_NoMemory();
        return -1;
    }
    self->letters = letters;
    self->begin = begin;
    begin[0] = 0;
    for (int c = 0; c < 128; c++) {
        self->first[c] = number;
        for (Py_ssize_t i = 0; i < count; i++) {
            const char *word = (const char *)PyUnicode_1BYTE_DATA(PyTuple_GET_ITEM(words, i));
            const Py_ssize_t length = PyUnicode_GET_LENGTH(PyTuple_GET_ITEM(words, i));
            if (small((Py_UCS4)word[0]) != (Py_UCS4)c)
                continue;
            for (Py_ssize_t k = 0; k < length; k++)
                letters[begin[number] + k] = (char)small((Py_UCS4)word[k]);
            begin[number + 1] = begin[number] + length;
            number++;
        }
    }
    self->first[128] = number;
    return 0;
}

/* Tell whether a word stands at a place, whole: no letter or digit of it goes on in the text. */
static int stands(const Words *self, Py_ssize_t number, int kind, const void *text, Py_ssize_t at, Py_ssize_t end)
{
    const char *word = self->letters + self->begin[number];
    const Py_ssize_t length = self->begin[number + 1] - self->begin[number];
    if (length > end - at)
        return 0;
    for (Py_ssize_t k = 1; k < length; k++)
        if (small(PyUnicode_READ(kind, text, at + k)) != (Py_UCS4)word[k])
            return 0;
    const char last = word[length - 1];
    if (word[0] != '_' && wordly((Py_UCS4)word[0]) && at > 0 && wordly(PyUnicode_READ(kind, text, at - 1)))
        return 0;
    return last == '_' || !wordly((Py_UCS4)last) || at + length == end ||
           !wordly(PyUnicode_READ(kind, text, at + length));
}

static PyObject *words_hold(PyObject *object, PyObject *const *args, Py_ssize_t count)
{
    const Words *self = (Words *)object;
    if (count != 3 || !PyUnicode_Check(args[0]) || !self->letters)
        return PyErr_Format(PyExc_TypeError, "a text and two places are wanted");
    Py_ssize_t start = PyLong_AsSsize_t(args[1]), end = PyLong_AsSsize_t(args[2]);
    if (PyErr_Occurred())
        return NULL;
    const Py_ssize_t size = PyUnicode_GET_LENGTH(args[0]);
    const int kind = PyUnicode_KIND(args[0]);
    const void *text = PyUnicode_DATA(args[0]);
    start = start < 0 ? 0 : start;
    end = end > size ? size : end;
    if (!PyUnicode_IS_ASCII(args[0]))
        for (Py_ssize_t i = start > 0 ? start - 1 : 0; i < end; i++)
            if (!plain(PyUnicode_READ(kind, text, i)))
                Py_RETURN_NONE;
    for (Py_ssize_t i = start; i < end; i++) {
        const Py_UCS4 c = small(PyUnicode_READ(kind, text, i));
        if (c > 127)
            continue;
        for (Py_ssize_t word = self->first[c]; word < self->first[c + 1]; word++)
            if (stands(self, word, kind, text, i, end))
                Py_RETURN_TRUE;
    }
    Py_RETURN_FALSE;
}

static void words_dealloc(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    free(((Words *)object)->letters);
    free(((Words *)object)->begin);
    PyObject_Free(object);
    Py_DECREF(type);
}

static PyMethodDef methods[] = {
    {"hold", (PyCFunction)(void (*)(void))words_hold, METH_FASTCALL,
     "hold(text, start, end) -> whether one of the words stands there, in any case; None where letters beyond ASCII do"},
    {NULL, NULL, 0, NULL}};

static PyType_Slot slots[] = {{Py_tp_doc, "Looks for words near a place; see deid.rules.patterns."},
                              {Py_tp_new, PyType_GenericNew},
                              {Py_tp_init, words_init},
                              {Py_tp_dealloc, words_dealloc},
                              {Py_tp_methods, methods},
                              {0, NULL}};

PyType_Spec words_spec = {"deid._native.Words", sizeof(Words), 0, Py_TPFLAGS_DEFAULT, slots};
