/* A text as words, for the grammars; the oracle is the Python route of deid.reading.view.
 *
 * Strings, folded strings and kinds are made once for each distinct word and shared by all its places. Python says what
 * they are, so that both routes agree.
 */
#include "text.h"

#include <stdlib.h>
#include <string.h>

/* Kinds of words, as in deid.reading.view. */
enum { SIGN, NUMBER, LOWER, TITLE, UPPER, MIXED };
enum { LONG_LINE = 58, ABBREVIATION = 5, LISTS = 4, MARKS = 5, MOST_WORDS = 60000, MOST_BREAKS = 255, OFFSETS = 16384 };

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
    int64_t era; /* of the numbers of words */
    PyObject **offset; /* the first OFFSETS numbers: texts share them, so that they stay near and need not be made */
} Viewer;

static int64_t last_era;

static void forget(Viewer *self)
{
    for (int32_t i = 0; i < self->names.count; i++) {
        Py_CLEAR(self->word[i].string);
        Py_CLEAR(self->word[i].folded);
    }
    names_clear(&self->names);
    self->era = ++last_era;
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
    if (ok) {
        /* words that are written in several ways share what they are folded to, and most are written so */
        Py_INCREF(word->folded);
        PyUnicode_InternInPlace(&word->folded);
        if (PyUnicode_CheckExact(word->folded) && PyUnicode_Compare(word->string, word->folded) == 0)
            Py_SETREF(word->string, Py_NewRef(word->folded));
    } else
        word->folded = NULL;
    word->kind = (uint8_t)kind;
    Py_XDECREF(said);
    return ok ? word : NULL;
}

typedef struct {
    int64_t start, end;
    int32_t word;
} Place;

/* Line ends in the gap before a word, and whether the word only wraps from a long line and is no label. */
static void mark_gap(const uint32_t *t, Py_ssize_t from, const Place *word, Py_ssize_t *line, uint8_t *breaks,
                     uint8_t *wrapped)
{
    const Py_ssize_t start = (Py_ssize_t)word->start;
    const uint32_t *end = t + word->end + (t[word->end] == ' ' || t[word->end] == 0xa0); /* French: "S :" */
    Py_ssize_t count = 0, last = from;
    for (Py_ssize_t i = from; i < start; i++)
        if (t[i] == '\n') {
            count++;
            last = i + 1;
        }
    *breaks = (uint8_t)(count > MOST_BREAKS ? MOST_BREAKS : count);
    *wrapped = 0;
    if (count) {
        const uint32_t c = t[from - 1];
        const int labels = *end == ':' && !Py_UNICODE_ISDECIMAL(end[1]); /* the copy ends with a zero */
        const int stops = labels || c == '.' || c == ':' || c == ';' || c == '!' || c == '?';
        *wrapped = count == 1 && from - *line >= LONG_LINE && last == start && !stops;
        *line = start;
    }
}

static void mark_uppercase_lines(const Word **words, const uint8_t *breaks, Py_ssize_t count, uint8_t *uppercase_line)
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
        memset(uppercase_line + first, upper > 4 * lower, (size_t)(stop - first));
    }
}

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

static PyObject *offset_of(const Viewer *self, Py_ssize_t at)
{
    return at < OFFSETS ? Py_NewRef(self->offset[at]) : PyLong_FromSsize_t(at);
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
    PyObject *result = NULL, *lists[LISTS] = {NULL}, *marks[MARKS] = {NULL}, *numbers = NULL, *ids = NULL;
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
    for (int i = 0; ok && i < LISTS; i++)
        ok = (lists[i] = PyList_New(count)) != NULL;
    for (int i = 0; ok && i < MARKS; i++)
        ok = (marks[i] = PyBytes_FromStringAndSize(NULL, count)) != NULL;
    if (!ok || !(numbers = PyBytes_FromStringAndSize(NULL, count * (Py_ssize_t)sizeof(int32_t))))
        goto done;
    int32_t *number = (int32_t *)PyBytes_AS_STRING(numbers);
    uint8_t *kinds = (uint8_t *)PyBytes_AS_STRING(marks[0]), *breaks = (uint8_t *)PyBytes_AS_STRING(marks[1]),
            *wrapped = (uint8_t *)PyBytes_AS_STRING(marks[2]), *abbreviating = (uint8_t *)PyBytes_AS_STRING(marks[4]);
    Py_ssize_t line = 0;
    for (Py_ssize_t i = 0; i < count; i++) {
        words[i] = self->word + place[i].word;
        number[i] = place[i].word;
        kinds[i] = words[i]->kind;
        abbreviating[i] = kinds[i] == SIGN && i && place[i].start == place[i - 1].end &&
                          place[i - 1].end - place[i - 1].start <= ABBREVIATION &&
                          PyUnicode_GET_LENGTH(words[i]->folded) == 1 && PyUnicode_READ_CHAR(words[i]->folded, 0) == '.';
        if (i)
            mark_gap(t, (Py_ssize_t)place[i - 1].end, place + i, &line, breaks + i, wrapped + i);
        else
            breaks[0] = 2, wrapped[0] = 0;
        PyList_SET_ITEM(lists[0], i, Py_NewRef(words[i]->string));
        PyList_SET_ITEM(lists[1], i, Py_NewRef(words[i]->folded));
        PyObject *start = offset_of(self, place[i].start), *end = offset_of(self, place[i].end);
        PyList_SET_ITEM(lists[2], i, start);
        PyList_SET_ITEM(lists[3], i, end);
        if (!start || !end)
            goto done;
    }
    mark_uppercase_lines(words, breaks, count, (uint8_t *)PyBytes_AS_STRING(marks[3]));
    ids = Py_BuildValue("(LO)", (long long)self->era, numbers);
    if (ids)
        result = PyTuple_Pack(10, lists[0], lists[2], lists[3], lists[1], marks[0], marks[1], marks[2], marks[3],
                              marks[4], ids);
done:
    Py_XDECREF(numbers);
    Py_XDECREF(ids);
    for (int i = 0; i < LISTS; i++)
        Py_XDECREF(lists[i]);
    for (int i = 0; i < MARKS; i++)
        Py_XDECREF(marks[i]);
    free(words);
    free(place);
    PyMem_Free(t);
    return result;
}

static int viewer_init(PyObject *object, PyObject *args, PyObject *named)
{
    Viewer *self = (Viewer *)object;
    PyObject *page, *describe;
    static char *names[] = {"page", "describe", NULL};
    if (!PyArg_ParseTupleAndKeywords(args, named, "OO", names, &page, &describe))
        return -1;
    if (self->offset) {
        PyErr_SetString(PyExc_RuntimeError, "made already");
        return -1;
    }
    if (!(self->offset = PyMem_Calloc(OFFSETS, sizeof *self->offset)))
        return PyErr_NoMemory(), -1;
    for (int i = 0; i < OFFSETS; i++)
        if (!(self->offset[i] = PyLong_FromLong(i)))
            return -1;
    self->alphabet.describe = Py_NewRef(page);
    self->describe = Py_NewRef(describe);
    self->era = ++last_era;
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
    for (int i = 0; self->offset && i < OFFSETS; i++)
        Py_XDECREF(self->offset[i]);
    PyMem_Free(self->offset);
    Py_CLEAR(self->describe);
    PyObject_Free(object);
    Py_DECREF(type);
}

static PyMethodDef methods[] = {
    {"view", viewer_view, METH_O,
     "view(text) -> (strings, starts, ends, folded, kinds, breaks, wrapped, uppercase_line, abbreviating, ids): four lists, "
     "bytes, and the numbers of the words with their era"},
    {NULL, NULL, 0, NULL}};

static PyType_Slot slots[] = {{Py_tp_doc, "Splits texts into words; see deid.reading.view."},
                              {Py_tp_new, PyType_GenericNew},
                              {Py_tp_init, viewer_init},
                              {Py_tp_dealloc, viewer_dealloc},
                              {Py_tp_methods, methods},
                              {0, NULL}};

PyType_Spec viewer_spec = {"deid._native.Viewer", sizeof(Viewer), 0, Py_TPFLAGS_DEFAULT, slots};

/* ---- what a table says of the words of a text --------------------------------------------------------------- */

typedef struct {
    PyObject_HEAD
    PyObject *table;
    Remembered remembered; /* of objects */
} Lookup;

static void lookup_forget(Lookup *self)
{
    PyObject **value = self->remembered.value;
    self->remembered.value = NULL;
    for (Py_ssize_t i = 0; i < self->remembered.room; i++)
        Py_XDECREF(value[i]);
    self->remembered = (Remembered){0, NULL, 0};
    free(value);
}

/* of(folded, kinds, ids) -> [table[word], 0 for signs and numbers] */
static PyObject *lookup_of(PyObject *object, PyObject *args)
{
    Lookup *self = (Lookup *)object;
    PyObject *folded, *ids;
    const char *kinds;
    Py_ssize_t count;
    Numbered numbered;
    if (!PyArg_ParseTuple(args, "O!y#O", &PyList_Type, &folded, &kinds, &count, &ids))
        return NULL;
    if (PyList_GET_SIZE(folded) != count || !self->table) {
        PyErr_SetString(PyExc_ValueError, "a table and as many kinds as words are wanted");
        return NULL;
    }
    if (numbered_of(ids, count, &numbered))
        return NULL;
    if (numbered.number && self->remembered.era != numbered.era)
        lookup_forget(self);
    if (remember(&self->remembered, &numbered, sizeof(PyObject *)))
        return NULL;
    PyObject *none = PyLong_FromLong(0), *found = none ? PyList_New(count) : NULL;
    for (Py_ssize_t i = 0; found && i < count; i++) {
        PyObject **held = self->remembered.value, *classes;
        if (kinds[i] <= NUMBER)
            classes = Py_NewRef(none);
        else if (numbered.number && self->remembered.era == numbered.era && held[numbered.number[i]])
            classes = Py_NewRef(held[numbered.number[i]]);
        else {
            classes = i < PyList_GET_SIZE(folded) ? PyObject_GetItem(self->table, PyList_GET_ITEM(folded, i)) : NULL;
            /* the table may be code of Python, which could have asked for another text in between */
            if (classes && numbered.number && self->remembered.era == numbered.era &&
                numbered.number[i] < self->remembered.room) {
                held = self->remembered.value;
                Py_XSETREF(held[numbered.number[i]], Py_NewRef(classes));
            }
        }
        if (classes)
            PyList_SET_ITEM(found, i, classes);
        else {
            if (!PyErr_Occurred())
                PyErr_SetString(PyExc_RuntimeError, "the words have changed");
            Py_CLEAR(found);
        }
    }
    Py_XDECREF(none);
    return found;
}

static int lookup_init(PyObject *object, PyObject *args, PyObject *named)
{
    Lookup *self = (Lookup *)object;
    PyObject *table;
    static char *names[] = {"table", NULL};
    if (!PyArg_ParseTupleAndKeywords(args, named, "O", names, &table))
        return -1;
    lookup_forget(self);
    Py_XSETREF(self->table, Py_NewRef(table));
    return 0;
}

static int lookup_traverse(PyObject *object, visitproc visit, void *arg)
{
    Lookup *self = (Lookup *)object;
    PyObject **value = self->remembered.value;
    Py_VISIT(Py_TYPE(object));
    Py_VISIT(self->table);
    for (Py_ssize_t i = 0; value && i < self->remembered.room; i++)
        Py_VISIT(value[i]);
    return 0;
}

static int lookup_clear(PyObject *object)
{
    lookup_forget((Lookup *)object);
    Py_CLEAR(((Lookup *)object)->table);
    return 0;
}

static void lookup_dealloc(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    PyObject_GC_UnTrack(object);
    lookup_clear(object);
    PyObject_GC_Del(object);
    Py_DECREF(type);
}

static PyMethodDef lookup_methods[] = {
    {"of", lookup_of, METH_VARARGS, "of(folded, kinds, ids) -> [table[word], 0 for signs and numbers]"},
    {NULL, NULL, 0, NULL}};

static PyType_Slot lookup_slots[] = {{Py_tp_doc, "Looks up the words of texts; see deid.reading.lexicon."},
                                     {Py_tp_new, PyType_GenericNew},
                                     {Py_tp_init, lookup_init},
                                     {Py_tp_dealloc, lookup_dealloc},
                                     {Py_tp_traverse, lookup_traverse},
                                     {Py_tp_clear, lookup_clear},
                                     {Py_tp_methods, lookup_methods},
                                     {0, NULL}};

PyType_Spec lookup_spec = {"deid._native.Lookup", sizeof(Lookup), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
                           lookup_slots};
