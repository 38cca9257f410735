/* A text as words, for the grammars; the oracle is the Python route of deid.detection.view.
 *
 * Strings, folded strings and kinds are made once for each distinct word and shared by all its places. Python says what
 * they are, so that both routes agree.
 */
#include "_scene.h"
#include "_text.h"

#include <stdlib.h>
#include <string.h>

enum { LONG_LINE = 58, MOST_WORDS = 60000, MOST_BREAKS = 255 };

typedef struct {
    PyObject *string, *folded;
    uint8_t kind;
} Word;

typedef struct {
    PyObject_HEAD
    Alphabet alphabet;
    PyObject *describe; /* word -> (folded, kind) */
    Names names;
    Word *word;
    Py_ssize_t word_room;
} Viewer;

static void forget(Viewer *self)
{
    for (int32_t i = 0; i < self->names.count; i++) {
        Py_CLEAR(self->word[i].string);
        Py_CLEAR(self->word[i].folded);
    }
    names_clear(&self->names);
}

static Py_ssize_t letters_end(const Alphabet *alphabet, const uint32_t *t, Py_ssize_t at, Py_ssize_t size)
{
    while (at < size && look(alphabet, t[at])->bits & LETTER)
        at++;
    return at;
}

/* Whether 're, 've or 'll stands at a place: a verb of its own, no part of a name. */
static int is_short_verb(const Alphabet *alphabet, const uint32_t *t, Py_ssize_t at, Py_ssize_t size)
{
    if (at + 1 >= size)
        return 0;
    const int verb = ((t[at] == 'r' || t[at] == 'v') && t[at + 1] == 'e') || (t[at] == 'l' && t[at + 1] == 'l');
    return verb && (at + 2 == size || !(look(alphabet, t[at + 2])->bits & WORDLY_REGEX));
}

static Py_ssize_t word_end(const Alphabet *alphabet, const uint32_t *t, Py_ssize_t at, Py_ssize_t size)
{
    const unsigned bits = look(alphabet, t[at])->bits;
    if (bits & LETTER) {
        at = letters_end(alphabet, t, at, size);
        while (at < size) {
            Py_ssize_t end = at;
            if (t[at] == '-')
                end = letters_end(alphabet, t, at + 1, size);
            else if ((t[at] == '\'' || t[at] == 0x2019) && !is_short_verb(alphabet, t, at + 1, size)) {
                end = letters_end(alphabet, t, at + 1, size);
                end = end - at > 2 ? end : at;
            }
            if (end <= at + 1)
                break;
            at = end;
        }
        return at;
    }
    if (!(bits & NUMERAL))
        return at + 1;
    while (at < size && look(alphabet, t[at])->bits & NUMERAL)
        at++;
    return at;
}

static const Word *word_of(Viewer *self, const uint32_t *t, Py_ssize_t size)
{
    const int32_t before = self->names.count, number = names_add(&self->names, (const char *)t, 4 * size);
    if (number < 0)
        return NULL;
    if (number < before)
        return self->word + number;
    if (grow(&self->word, &self->word_room, number + 1, sizeof(Word))) {
        self->names.count = before; /* what was added has no word; forget() clears the slot */
        return NULL;
    }
    Word *word = self->word + number;
    *word = (Word){NULL, NULL, 0};
    word->string = PyUnicode_FromKindAndData(PyUnicode_4BYTE_KIND, t, size);
    PyObject *said = word->string ? PyObject_CallOneArg(self->describe, word->string) : NULL;
    int kind = 0;
    const int ok = said && PyArg_ParseTuple(said, "Ui", &word->folded, &kind);
    if (ok)
        Py_INCREF(word->folded);
    else
        word->folded = NULL;
    word->kind = (uint8_t)kind;
    Py_XDECREF(said);
    return ok ? word : NULL;
}

/* Line ends in the gap before a word, and whether the word only wraps from a long line. */
static void mark_gap(const uint32_t *t, Py_ssize_t from, Py_ssize_t start, Py_ssize_t *line, uint8_t *breaks,
                     uint8_t *wrapped)
{
    Py_ssize_t feeds = 0, returns = 0, last = from;
    for (Py_ssize_t i = from; i < start; i++) {
        feeds += t[i] == '\n';
        returns += t[i] == '\r';
        if (t[i] == '\n' || t[i] == '\r')
            last = i + 1;
    }
    const Py_ssize_t count = feeds ? feeds : returns;
    *breaks = (uint8_t)(count > MOST_BREAKS ? MOST_BREAKS : count);
    *wrapped = 0;
    if (count) {
        const uint32_t c = t[from - 1];
        const int stops = c == '.' || c == ':' || c == ';' || c == '!' || c == '?';
        *wrapped = count == 1 && from - *line >= LONG_LINE && last == start && !stops;
        *line = start;
    }
}

static void mark_loud(const Word **words, const uint8_t *breaks, Py_ssize_t count, uint8_t *loud)
{
    for (Py_ssize_t first = 0, stop; first < count; first = stop) {
        Py_ssize_t upper = 0, lower = 0;
        for (stop = first; stop < count && (stop == first || !breaks[stop]); stop++) {
            const Py_ssize_t size = PyUnicode_GET_LENGTH(words[stop]->string);
            if (words[stop]->kind == UPPER && size > 1)
                upper += size;
            else if (words[stop]->kind == LOWER || words[stop]->kind == TITLE || words[stop]->kind == MIXED)
                lower += size;
        }
        memset(loud + first, upper > 4 * lower, (size_t)(stop - first));
    }
}

typedef struct {
    int64_t start, end;
    int32_t word;
} Place;

static Py_ssize_t read_words(Viewer *self, const uint32_t *t, Py_ssize_t size, Place **place)
{
    Py_ssize_t count = 0, room = 0;
    for (Py_ssize_t at = 0; at < size;) {
        if (look(&self->alphabet, t[at])->bits & SPACE && !(look(&self->alphabet, t[at])->bits & (LETTER | NUMERAL))) {
            at++;
            continue;
        }
        const Py_ssize_t end = word_end(&self->alphabet, t, at, size);
        const Word *word = word_of(self, t + at, end - at);
        if (!word || grow(place, &room, count + 1, sizeof(Place)))
            return -1;
        (*place)[count++] = (Place){at, end, (int32_t)(word - self->word)};
        at = end;
    }
    return count;
}

static PyObject *viewer_view(PyObject *object, PyObject *text)
{
    Viewer *self = (Viewer *)object;
    if (!PyUnicode_Check(text) || !self->describe) {
        PyErr_SetString(PyExc_TypeError, "a text is wanted");
        return NULL;
    }
    const Py_ssize_t size = PyUnicode_GET_LENGTH(text);
    uint32_t *t = PyUnicode_AsUCS4Copy(text);
    Place *place = NULL;
    PyObject *result = NULL, *lists[4] = {NULL}, *marks[4] = {NULL};
    const Word **words = NULL;
    if (self->names.count > MOST_WORDS)
        forget(self);
    Py_ssize_t count = !t || alphabet_cover(&self->alphabet, t, size) ? -1 : read_words(self, t, size, &place);
    if (count < 0) {
        forget(self);
        goto done;
    }
    words = malloc((size_t)(count + 1) * sizeof *words);
    int ok = words != NULL;
    if (!ok)
        PyErr_NoMemory();
    for (int i = 0; ok && i < 4; i++)
        ok = (lists[i] = PyList_New(count)) && (marks[i] = PyBytes_FromStringAndSize(NULL, count));
    if (!ok)
        goto done;
    uint8_t *kinds = (uint8_t *)PyBytes_AS_STRING(marks[0]), *breaks = (uint8_t *)PyBytes_AS_STRING(marks[1]),
            *wrapped = (uint8_t *)PyBytes_AS_STRING(marks[2]);
    Py_ssize_t line = 0;
    for (Py_ssize_t i = 0; i < count; i++) {
        words[i] = self->word + place[i].word;
        kinds[i] = words[i]->kind;
        if (i)
            mark_gap(t, (Py_ssize_t)place[i - 1].end, (Py_ssize_t)place[i].start, &line, breaks + i, wrapped + i);
        else
            breaks[0] = 2, wrapped[0] = 0;
        PyObject *start = PyLong_FromLongLong(place[i].start), *end = PyLong_FromLongLong(place[i].end);
        if (!start || !end) {
            Py_XDECREF(start);
            Py_XDECREF(end);
            goto done;
        }
        PyList_SET_ITEM(lists[0], i, Py_NewRef(words[i]->string));
        PyList_SET_ITEM(lists[1], i, start);
        PyList_SET_ITEM(lists[2], i, end);
        PyList_SET_ITEM(lists[3], i, Py_NewRef(words[i]->folded));
    }
    mark_loud(words, breaks, count, (uint8_t *)PyBytes_AS_STRING(marks[3]));
    result = PyTuple_Pack(8, lists[0], lists[1], lists[2], lists[3], marks[0], marks[1], marks[2], marks[3]);
done:
    for (int i = 0; i < 4; i++) {
        Py_XDECREF(lists[i]);
        Py_XDECREF(marks[i]);
    }
    free(words);
    free(place);
    PyMem_Free(t);
    return result;
}

/* classes(folded, kinds, table) -> [table[word], 0 for signs and numbers] */
static PyObject *viewer_classes(PyObject *unused, PyObject *args)
{
    (void)unused;
    PyObject *folded, *table;
    const char *kinds;
    Py_ssize_t count;
    if (!PyArg_ParseTuple(args, "O!y#O", &PyList_Type, &folded, &kinds, &count, &table))
        return NULL;
    if (PyList_GET_SIZE(folded) != count) {
        PyErr_SetString(PyExc_ValueError, "there are not as many kinds as words");
        return NULL;
    }
    PyObject *none = PyLong_FromLong(0), *found = none ? PyList_New(count) : NULL;
    for (Py_ssize_t i = 0; found && i < count; i++) {
        PyObject *word = i < PyList_GET_SIZE(folded) ? PyList_GET_ITEM(folded, i) : none;
        PyObject *classes = kinds[i] > NUMBER ? PyObject_GetItem(table, word) : Py_NewRef(none);
        if (classes)
            PyList_SET_ITEM(found, i, classes);
        else
            Py_CLEAR(found);
    }
    Py_XDECREF(none);
    return found;
}

static int viewer_init(PyObject *object, PyObject *args, PyObject *named)
{
    Viewer *self = (Viewer *)object;
    PyObject *page, *describe;
    static char *names[] = {"page", "describe", NULL};
    if (!PyArg_ParseTupleAndKeywords(args, named, "OO", names, &page, &describe))
        return -1;
    if (self->describe) {
        PyErr_SetString(PyExc_RuntimeError, "made already");
        return -1;
    }
    self->alphabet.describe = Py_NewRef(page);
    self->describe = Py_NewRef(describe);
    return 0;
}

static void viewer_dealloc(PyObject *object)
{
    Viewer *self = (Viewer *)object;
    PyTypeObject *type = Py_TYPE(object);
    forget(self);
    names_free(&self->names);
    free(self->word);
    alphabet_free(&self->alphabet);
    Py_CLEAR(self->describe);
    PyObject_Free(object);
    Py_DECREF(type);
}

static PyMethodDef methods[] = {
    {"view", viewer_view, METH_O,
     "view(text) -> (strings, starts, ends, folded, kinds, breaks, wrapped, loud): four lists and four bytes"},
    {"classes", viewer_classes, METH_VARARGS | METH_STATIC, "classes(folded, kinds, table) -> [classes of each word]"},
    {NULL, NULL, 0, NULL}};

static PyType_Slot slots[] = {{Py_tp_doc, "Splits texts into words; see deid.detection.view."},
                              {Py_tp_new, PyType_GenericNew},
                              {Py_tp_init, viewer_init},
                              {Py_tp_dealloc, viewer_dealloc},
                              {Py_tp_methods, methods},
                              {0, NULL}};

PyType_Spec viewer_spec = {"deid._native.Viewer", sizeof(Viewer), 0, Py_TPFLAGS_DEFAULT, slots};
