/* What tells in one pass whether a text must be read a second time; see deid.reading.misreading and casing.
 *
 * Whether a word or a stretch looks misread is asked of Python, a word once.
 */
#include "labeller.h"

#include <stdlib.h>

enum { SHORTEST = 4, LONGEST = 21, MOST_WORDS = 60000 };

typedef struct {
    PyObject_HEAD
    PyObject *misread; /* word -> whether a word of small letters but for the first looks misread */
    Names names;
    uint8_t *known; /* what it said */
    Py_ssize_t room;
} Reader;

/* \s of `regex`: what str.isspace says, without four control characters */
static int is_blank(Py_UCS4 c) { return Py_UNICODE_ISSPACE(c) && !(c >= 0x1C && c <= 0x1F); }
static int is_digit(Py_UCS4 c) { return c >= '0' && c <= '9'; }
static int is_small(Py_UCS4 c) { return c >= 'a' && c <= 'z'; }
static int is_letter(Py_UCS4 c) { return is_small(c) || (c >= 'A' && c <= 'Z'); }

/* What may not stand beside a word: it would be a part of another one. */
static int is_worded(Py_UCS4 c)
{
    return is_letter(c) || is_digit(c) || c == '\'' || c == '-' || c == 0x2019 || (c >= 128 && Py_UNICODE_ISALPHA(c));
}

/* Whether a word looks misread; -1 with an exception. No place in `names` is held while Python runs. */
static int looks_misread(Reader *self, const char *word, Py_ssize_t size)
{
    int32_t number = names_find(&self->names, word, size);
    if (number >= 0)
        return self->known[number];
    PyObject *string = PyUnicode_FromStringAndSize(word, size);
    PyObject *said = string ? PyObject_CallOneArg(self->misread, string) : NULL;
    const int misread = said ? PyObject_IsTrue(said) : -1;
    Py_XDECREF(string);
    Py_XDECREF(said);
    if (misread < 0 || (number = names_add(&self->names, word, size)) < 0)
        return -1;
    if (grow(&self->known, &self->room, number + 1, 1)) {
        names_clear(&self->names);
        return -1;
    }
    self->known[number] = (uint8_t)misread;
    return misread;
}

/* read(text) -> (misread, mixed): how many words that begin with a small letter look misread, and the stretches without
 * white space that hold a digit and a letter */
static PyObject *reader_read(PyObject *object, PyObject *text)
{
    Reader *self = (Reader *)object;
    if (!PyUnicode_Check(text) || !self->misread) {
        PyErr_SetString(PyExc_TypeError, "a text is wanted");
        return NULL;
    }
    if (self->names.count > MOST_WORDS)
        names_clear(&self->names);
    const Py_ssize_t size = PyUnicode_GET_LENGTH(text);
    const int kind = PyUnicode_KIND(text);
    const void *data = PyUnicode_DATA(text);
    PyObject *mixed = PyList_New(0), *result = NULL;
    Py_ssize_t count = 0;
    int failed = !mixed;
    for (Py_ssize_t at = 0; !failed && at < size;) {
        Py_UCS4 c = PyUnicode_READ(kind, data, at);
        if (is_blank(c)) {
            at++;
            continue;
        }
        const Py_ssize_t start = at;
        int digit = 0, letter = 0, worded = 0;
        while (!failed && at < size && !is_blank(c = PyUnicode_READ(kind, data, at))) {
            if (worded || !is_letter(c)) {
                digit |= is_digit(c);
                letter |= is_letter(c) || (c >= 128 && Py_UNICODE_ISALNUM(c) && !Py_UNICODE_ISDECIMAL(c));
                worded = is_worded(c);
                at++;
                continue;
            }
            char word[LONGEST + 1];
            Py_ssize_t length = 0;
            do {
                if (length <= LONGEST)
                    word[length] = (char)c;
                length++;
                c = ++at < size ? PyUnicode_READ(kind, data, at) : 0;
            } while (is_small(c));
            letter = worded = 1;
            if (length < SHORTEST || length > LONGEST || is_worded(c))
                continue;
            const int misread = looks_misread(self, word, length);
            failed = misread < 0;
            count += misread > 0 && is_small((unsigned char)word[0]);
        }
        if (!failed && digit && letter) {
            PyObject *piece = PyUnicode_Substring(text, start, at);
            failed = !piece || PyList_Append(mixed, piece);
            Py_XDECREF(piece);
        }
    }
    if (!failed)
        result = Py_BuildValue("(nO)", count, mixed);
    Py_XDECREF(mixed);
    return result;
}

/* letters(text, stop) -> (letters, small, capitals) among the first characters */
static PyObject *reader_letters(PyObject *unused, PyObject *args)
{
    (void)unused;
    PyObject *text;
    Py_ssize_t stop, letters = 0, small = 0, capitals = 0;
    if (!PyArg_ParseTuple(args, "Un", &text, &stop))
        return NULL;
    const int kind = PyUnicode_KIND(text);
    const void *data = PyUnicode_DATA(text);
    if (stop > PyUnicode_GET_LENGTH(text))
        stop = PyUnicode_GET_LENGTH(text);
    for (Py_ssize_t i = 0; i < stop; i++) {
        const Py_UCS4 c = PyUnicode_READ(kind, data, i);
        if (c < 128) {
            small += is_small(c);
            capitals += is_letter(c) && !is_small(c);
            letters += is_letter(c);
        } else {
            small += Py_UNICODE_ISLOWER(c) != 0;
            capitals += Py_UNICODE_ISUPPER(c) != 0;
            letters += Py_UNICODE_ISALPHA(c) != 0;
        }
    }
    return Py_BuildValue("(nnn)", letters, small, capitals);
}

/* odd(text, ordinary) -> the characters, each once, for which `ordinary`, a byte a character, has 0 or nothing */
static PyObject *reader_odd(PyObject *unused, PyObject *args)
{
    (void)unused;
    PyObject *text;
    const char *ordinary;
    Py_ssize_t known;
    if (!PyArg_ParseTuple(args, "Uy#", &text, &ordinary, &known))
        return NULL;
    const Py_ssize_t size = PyUnicode_GET_LENGTH(text);
    const int kind = PyUnicode_KIND(text);
    const void *data = PyUnicode_DATA(text);
    Py_UCS4 *odd = NULL;
    Py_ssize_t count = 0, room = 0;
    static uint8_t met[0x110000 / 8]; /* a bit for each character, none at the end: nobody else asks meanwhile */
    int failed = 0;
    for (Py_ssize_t i = 0; !failed && i < size; i++) {
        const Py_UCS4 c = PyUnicode_READ(kind, data, i);
        if ((Py_ssize_t)c < known && ordinary[c])
            continue;
        if (met[c >> 3] >> (c & 7) & 1)
            continue;
        failed = grow(&odd, &room, count + 1, sizeof *odd);
        if (!failed) {
            odd[count++] = c;
            met[c >> 3] |= (uint8_t)(1 << (c & 7));
        }
    }
    for (Py_ssize_t i = 0; i < count; i++)
        met[odd[i] >> 3] = 0;
    PyObject *result = failed ? NULL : PyUnicode_FromKindAndData(PyUnicode_4BYTE_KIND, odd, count);
    free(odd);
    return result;
}

static int reader_init(PyObject *object, PyObject *args, PyObject *named)
{
    Reader *self = (Reader *)object;
    PyObject *misread;
    static char *names[] = {"misread", NULL};
    if (!PyArg_ParseTupleAndKeywords(args, named, "O", names, &misread))
        return -1;
    if (self->misread) {
        PyErr_SetString(PyExc_RuntimeError, "made already");
        return -1;
    }
    self->misread = Py_NewRef(misread);
    return 0;
}

static void reader_dealloc(PyObject *object)
{
    Reader *self = (Reader *)object;
    PyTypeObject *type = Py_TYPE(object);
    names_free(&self->names);
    free(self->known);
    Py_CLEAR(self->misread);
    PyObject_Free(object);
    Py_DECREF(type);
}

static PyMethodDef methods[] = {
    {"read", reader_read, METH_O,
     "read(text) -> (misread, mixed): number of words that begin small and look misread, stretches with digit and letter"},
    {"letters", reader_letters, METH_VARARGS | METH_STATIC,
     "letters(text, stop) -> (letters, small, capitals) among the first characters"},
    {"odd", reader_odd, METH_VARARGS | METH_STATIC,
     "odd(text, ordinary) -> the characters, each once, for which ordinary, a byte a character, has 0 or nothing"},
    {NULL, NULL, 0, NULL}};

static PyType_Slot slots[] = {{Py_tp_doc, "Tells what a scanner may have misread; see deid.reading.misreading."},
                              {Py_tp_new, PyType_GenericNew},
                              {Py_tp_init, reader_init},
                              {Py_tp_dealloc, reader_dealloc},
                              {Py_tp_methods, methods},
                              {0, NULL}};

PyType_Spec reader_spec = {"deid._native.Reader", sizeof(Reader), 0, Py_TPFLAGS_DEFAULT, slots};
