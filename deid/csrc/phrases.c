/* Phrases among the words of a text; the oracle is the Python route of deid.reading.phrases.PhraseMatcher.
 *
 * The words of phrases are numbered, and the phrases are a trie of these numbers. Which number a word of a text has is
 * remembered by the number that the viewer gave it, so that a text is matched without a look at its characters.
 */
#include "labeller.h"

#include <stdlib.h>
#include <string.h>

enum { SHORT = 64 };

typedef struct {
    PyObject_HEAD
    Py_ssize_t lists;
    Names vocabulary; /* words of phrases; number 0 of the trie stands for all others, so they count from 1 */
    Trie trie;
    int32_t *root; /* word of the trie -> the node that it leads to, 0: no phrase begins with it */
    Py_ssize_t root_room;
    Py_ssize_t longest; /* characters of the longest word */
    Remembered remembered;
} Phrases;

static PyObject *wrong(const char *what)
{
    PyErr_SetString(PyExc_TypeError, what);
    return NULL;
}

/* Look up a word, or add it; its number in the trie, 0 for none, -1 with an exception. */
static int32_t word_number(Phrases *self, PyObject *word, int add)
{
    if (!PyUnicode_Check(word) || PyUnicode_READY(word)) {
        wrong("words are texts");
        return -1;
    }
    const Py_ssize_t size = PyUnicode_GET_LENGTH(word);
    if (!add && size > self->longest)
        return 0;
    Py_UCS4 room[SHORT], *text = size > SHORT ? PyMem_New(Py_UCS4, size) : room;
    int32_t number = -1;
    if (!text)
        PyErr_NoMemory();
    else if (size == 0 || PyUnicode_AsUCS4(word, text, size, 0)) {
        const char *bytes = (const char *)text;
        const Py_ssize_t length = size * (Py_ssize_t)sizeof *text;
        number = add ? names_add(&self->vocabulary, bytes, length) : names_find(&self->vocabulary, bytes, length);
        number = add && number < 0 ? -1 : number + 1;
    }
    if (text != room)
        PyMem_Free(text);
    return number;
}

/* add(words, end): a phrase; end 2n is an item of list n, 2n + 1 an exception of it */
static PyObject *phrases_add(PyObject *object, PyObject *args)
{
    Phrases *self = (Phrases *)object;
    PyObject *words;
    int end;
    if (!PyArg_ParseTuple(args, "O!i", &PyList_Type, &words, &end))
        return NULL;
    if (end < 0 || end >= 2 * self->lists) {
        PyErr_SetString(PyExc_ValueError, "a phrase of no list");
        return NULL;
    }
    int32_t node = 0;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(words); i++) {
        PyObject *word = PyList_GET_ITEM(words, i);
        const int32_t number = word_number(self, word, 1);
        const Py_ssize_t known = self->root_room;
        if (number < 0 || grow(&self->root, &self->root_room, number + 1, sizeof *self->root))
            return NULL;
        memset(self->root + known, 0, (size_t)(self->root_room - known) * sizeof *self->root);
        if (PyUnicode_GET_LENGTH(word) > self->longest)
            self->longest = PyUnicode_GET_LENGTH(word);
        node = trie_grow(&self->trie, node, number);
        if (node < 0)
            return NULL;
        if (i == 0)
            self->root[number] = node;
    }
    if (node && trie_end(&self->trie, node, end))
        return NULL;
    self->remembered.era = 0; /* a word may have become one of a phrase */
    Py_RETURN_NONE;
}

/* ---- searching ----------------------------------------------------------------------------------------------- */

typedef struct {
    Py_ssize_t first, stop, number;
} Match;

typedef struct {
    const Phrases *phrases;
    const char *joined, *passed; /* a byte a word; passed may be NULL */
    Py_ssize_t count;
    int32_t *word; /* of the trie */
    int longest_first;
    Py_ssize_t *longest; /* two a list: where its longest item and exception stop, 0 for none */
    Py_ssize_t *touched; /* entries of longest that are not 0 */
    Py_ssize_t *free;    /* a list: first word at which a further match of it may start */
    Py_ssize_t *shadow;  /* a list: end of its exceptions seen so far */
    Match *match;
    Py_ssize_t matches, room;
} Search;

static int number_words(Phrases *self, PyObject *words, const Numbered *numbered, int32_t *number)
{
    if (remember(&self->remembered, numbered, sizeof(int32_t)))
        return -1;
    int32_t *held = self->remembered.value;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(words); i++) {
        int32_t *known = numbered->number ? held + numbered->number[i] : NULL;
        if (known && *known) {
            number[i] = *known - 1;
            continue;
        }
        if ((number[i] = word_number(self, PyList_GET_ITEM(words, i), 0)) < 0)
            return -1;
        if (known)
            *known = number[i] + 1;
    }
    return 0;
}

/* Note the lists of the phrases that begin at a word; return how many entries of `longest` are touched. */
static Py_ssize_t walk(Search *s, int32_t node, Py_ssize_t first)
{
    const Trie *trie = &s->phrases->trie;
    Py_ssize_t touched = 0;
    for (Py_ssize_t at = first; node > 0;) {
        for (int32_t e = trie->first_end[node]; e >= 0; e = trie->next_end[e]) {
            const int32_t end = trie->end[e];
            if (!s->longest[end])
                s->touched[touched++] = end;
            s->longest[end] = at + 1;
        }
        do
            at++;
        while (at < s->count && s->passed && s->passed[at]);
        node = at < s->count && s->joined[at] && s->word[at] ? trie_child(trie, node, s->word[at]) : 0;
    }
    return touched;
}

static int before(const Search *s, const Match *a, const Match *b)
{
    if (a->stop != b->stop)
        return s->longest_first ? a->stop > b->stop : a->stop < b->stop;
    return a->number < b->number;
}

/* Keep the items that no exception and no match before it stands against, in order. */
static int keep(Search *s, Py_ssize_t first, Py_ssize_t touched)
{
    const Py_ssize_t kept = s->matches;
    for (Py_ssize_t i = 0; i < touched; i++) {
        const Py_ssize_t end = s->touched[i], stop = s->longest[end];
        if (end & 1 && stop > s->shadow[end >> 1])
            s->shadow[end >> 1] = stop;
    }
    if (grow(&s->match, &s->room, s->matches + touched, sizeof(Match)))
        return -1;
    for (Py_ssize_t i = 0; i < touched; i++) {
        const Py_ssize_t end = s->touched[i], number = end >> 1;
        const Match match = {first, s->longest[end], number};
        s->longest[end] = 0;
        if (end & 1 || first < s->free[number] || match.stop <= s->shadow[number])
            continue;
        s->free[number] = match.stop;
        Py_ssize_t place = s->matches++;
        for (; place > kept && before(s, &match, s->match + place - 1); place--)
            s->match[place] = s->match[place - 1];
        s->match[place] = match;
    }
    return 0;
}

static int search(Search *s)
{
    for (Py_ssize_t first = 0; first < s->count; first++) {
        const int32_t node = s->word[first] && !(s->passed && s->passed[first]) ? s->phrases->root[s->word[first]] : 0;
        if (node && keep(s, first, walk(s, node, first)))
            return -1;
    }
    return 0;
}

/* Return a set for each mark, empty. */
static PyObject *sets_of(PyObject *marks)
{
    PyObject *sets = PyDict_New();
    for (Py_ssize_t i = 0; sets && i < PyTuple_GET_SIZE(marks); i++) {
        PyObject *name = PyTuple_GET_ITEM(marks, i);
        PyObject *set = PyUnicode_CheckExact(name) ? PySet_New(NULL) : wrong("marks are texts");
        if (!set || PyDict_SetItem(sets, name, set))
            Py_CLEAR(sets);
        Py_XDECREF(set);
    }
    return sets;
}

static int mark(PyObject *sets, PyObject *name, Py_ssize_t index)
{
    PyObject *key = PyLong_FromSsize_t(index);
    const int failed = !key || PySet_Add(PyDict_GetItem(sets, name), key);
    Py_XDECREF(key);
    return failed ? -1 : 0;
}

static PyObject *triple(const Match *match)
{
    const Py_ssize_t values[3] = {match->first, match->stop, match->number};
    PyObject *made = PyTuple_New(3);
    for (int i = 0; made && i < 3; i++) {
        PyObject *value = PyLong_FromSsize_t(values[i]);
        if (value)
            PyTuple_SET_ITEM(made, i, value);
        else
            Py_CLEAR(made);
    }
    return made;
}

/* Return the matches, and the words before and at which the last lists were found, by their marks. */
static PyObject *told(const Search *s, PyObject *marks)
{
    const Py_ssize_t plain = s->phrases->lists - PyTuple_GET_SIZE(marks);
    PyObject *found = PyList_New(0), *behind = sets_of(marks), *at = sets_of(marks), *result = NULL;
    int failed = !found || !behind || !at;
    for (Py_ssize_t i = 0; !failed && i < s->matches; i++) {
        const Match *match = s->match + i;
        if (match->number >= plain) {
            PyObject *name = PyTuple_GET_ITEM(marks, match->number - plain);
            failed = mark(behind, name, match->stop) || mark(at, name, match->first);
            continue;
        }
        PyObject *made = triple(match);
        failed = !made || PyList_Append(found, made);
        Py_XDECREF(made);
    }
    if (!failed)
        result = PyTuple_Pack(3, found, behind, at);
    Py_XDECREF(found);
    Py_XDECREF(behind);
    Py_XDECREF(at);
    return result;
}

static PyObject *phrases_scan(PyObject *object, PyObject *args)
{
    Phrases *self = (Phrases *)object;
    Search s = {.phrases = self};
    PyObject *words, *ids, *marks, *result = NULL;
    Py_ssize_t joined, passed;
    Numbered numbered;
    if (!PyArg_ParseTuple(args, "O!Oy#z#pO!", &PyList_Type, &words, &ids, &s.joined, &joined, &s.passed, &passed,
                          &s.longest_first, &PyTuple_Type, &marks))
        return NULL;
    s.count = PyList_GET_SIZE(words);
    if (joined != s.count || (s.passed && passed != s.count) || self->lists < PyTuple_GET_SIZE(marks)) {
        PyErr_SetString(PyExc_ValueError, "one byte a word is wanted, and no more marks than lists");
        return NULL;
    }
    if (numbered_of(ids, s.count, &numbered))
        return NULL;
    const size_t lists = (size_t)self->lists;
    s.longest = calloc(6 * lists + 1, sizeof *s.longest);
    s.word = malloc((size_t)(s.count + 1) * sizeof *s.word);
    if (s.longest && s.word) {
        s.touched = s.longest + 2 * lists;
        s.free = s.longest + 4 * lists;
        s.shadow = s.longest + 5 * lists;
        result = number_words(self, words, &numbered, s.word) || search(&s) ? NULL : told(&s, marks);
    } else
        PyErr_NoMemory();
    free(s.word);
    free(s.longest);
    free(s.match);
    return result;
}

/* ---- Python's side ------------------------------------------------------------------------------------------- */

static int phrases_init(PyObject *object, PyObject *args, PyObject *named)
{
    Phrases *self = (Phrases *)object;
    static char *names[] = {"lists", NULL};
    Py_ssize_t lists;
    if (!PyArg_ParseTupleAndKeywords(args, named, "n", names, &lists))
        return -1;
    if (self->lists || lists < 0 || lists > INT32_MAX / 2) {
        PyErr_SetString(PyExc_ValueError, "a number of lists is wanted, once");
        return -1;
    }
    self->lists = lists;
    return 0;
}

static void phrases_dealloc(PyObject *object)
{
    Phrases *self = (Phrases *)object;
    PyTypeObject *type = Py_TYPE(object);
    names_free(&self->vocabulary);
    trie_free(&self->trie);
    free(self->root);
    free(self->remembered.value);
    PyObject_Free(object);
    Py_DECREF(type);
}

static PyMethodDef methods[] = {
    {"add", phrases_add, METH_VARARGS, "add(words, end): a phrase; end 2n is an item of list n, 2n + 1 an exception"},
    {"scan", phrases_scan, METH_VARARGS,
     "scan(words, ids, joined, passed, longest_first, marks) -> (matches, words before which marks end, words at which they start)"},
    {NULL, NULL, 0, NULL}};

static PyType_Slot slots[] = {{Py_tp_doc, "Finds phrases; see deid.reading.phrases."},
                              {Py_tp_new, PyType_GenericNew},
                              {Py_tp_init, phrases_init},
                              {Py_tp_dealloc, phrases_dealloc},
                              {Py_tp_methods, methods},
                              {0, NULL}};

PyType_Spec phrases_spec = {"deid._native.Phrases", sizeof(Phrases), 0, Py_TPFLAGS_DEFAULT, slots};
