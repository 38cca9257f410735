/* Phrases among the words of a text; the oracle is the Python route of deid.dictionaries.PhraseMatcher.
 *
 * The trie is the matcher's own: a dictionary from a word to the lists that end there (a tuple), or, where phrases go
 * on, to a further dictionary, in which None stands for the lists that end there. So it is loaded once and held once.
 */
#include "_text.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    Py_ssize_t first, stop, number;
} Match;

typedef struct {
    PyObject *heads, *words; /* a dictionary and a list */
    const char *joined, *passed; /* a byte a word; passed may be NULL */
    Py_ssize_t count, lists;
    int longest_first;
    Py_ssize_t *longest; /* two a list: where its longest item and exception stop, 0 for none */
    Py_ssize_t *touched; /* entries of longest that are not 0 */
    Py_ssize_t *free;    /* a list: first word at which a further match of it may start */
    Py_ssize_t *shadow;  /* a list: end of its exceptions seen so far */
    Match *match;
    Py_ssize_t matches, room;
} Search;

static PyObject *wrong(const char *what)
{
    PyErr_SetString(PyExc_TypeError, what);
    return NULL;
}

/* Return what a level of the trie holds for a word, borrowed; NULL for nothing or with an exception. */
static PyObject *entry_of(PyObject *level, PyObject *word)
{
    /* with exact texts as keys no code of Python runs in here, so that nothing changes while it is read */
    return PyUnicode_CheckExact(word) ? PyDict_GetItemWithError(level, word) : wrong("words are texts");
}

/* Note the lists that end at a node; return how many entries are touched now, -1 with an exception. */
static Py_ssize_t note_ends(Search *s, PyObject *node, Py_ssize_t stop, Py_ssize_t touched)
{
    PyObject *ends = PyDict_CheckExact(node) ? PyDict_GetItemWithError(node, Py_None) : node;
    if (!ends)
        return PyErr_Occurred() ? -1 : touched;
    if (!PyTuple_CheckExact(ends)) {
        wrong("no trie of phrases");
        return -1;
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(ends); i++) {
        const Py_ssize_t end = PyLong_AsSsize_t(PyTuple_GET_ITEM(ends, i));
        if (end < 0 || end >= 2 * s->lists) {
            if (!PyErr_Occurred())
                PyErr_SetString(PyExc_ValueError, "a phrase of no list");
            return -1;
        }
        if (!s->longest[end])
            s->touched[touched++] = end;
        s->longest[end] = stop;
    }
    return touched;
}

/* Note the lists of the phrases that begin at a word; return how many entries are touched, -1 with an exception. */
static Py_ssize_t walk(Search *s, PyObject *node, Py_ssize_t first)
{
    Py_ssize_t touched = 0;
    for (Py_ssize_t at = first; node;) {
        touched = note_ends(s, node, at + 1, touched);
        if (touched < 0 || !PyDict_CheckExact(node))
            return touched;
        do
            at++;
        while (at < s->count && s->passed && s->passed[at]);
        if (at >= s->count || !s->joined[at])
            return touched;
        node = entry_of(node, PyList_GET_ITEM(s->words, at));
    }
    return PyErr_Occurred() ? -1 : touched;
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
        if (s->passed && s->passed[first])
            continue;
        PyObject *node = entry_of(s->heads, PyList_GET_ITEM(s->words, first));
        if (!node) {
            if (PyErr_Occurred())
                return -1;
            continue;
        }
        const Py_ssize_t touched = walk(s, node, first);
        if (touched < 0 || keep(s, first, touched))
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

/* Return the matches, and the words before and at which the lists from `plain` on were found, by their marks. */
static PyObject *told(const Search *s, PyObject *marks)
{
    const Py_ssize_t plain = s->lists - PyTuple_GET_SIZE(marks);
    PyObject *found = PyList_New(0), *behind = sets_of(marks), *at = sets_of(marks), *result = NULL;
    int failed = !found || !behind || !at;
    for (const Match *match = s->match; !failed && match < s->match + s->matches; match++) {
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

PyObject *py_phrases(PyObject *unused, PyObject *args)
{
    (void)unused;
    Search s = {0};
    PyObject *marks, *result = NULL;
    Py_ssize_t joined, passed;
    if (!PyArg_ParseTuple(args, "O!nO!y#z#pO!", &PyDict_Type, &s.heads, &s.lists, &PyList_Type, &s.words, &s.joined,
                          &joined, &s.passed, &passed, &s.longest_first, &PyTuple_Type, &marks))
        return NULL;
    s.count = PyList_GET_SIZE(s.words);
    if (joined != s.count || (s.passed && passed != s.count) || s.lists < 0 || s.lists < PyTuple_GET_SIZE(marks) ||
        s.lists > PY_SSIZE_T_MAX / 64) {
        PyErr_SetString(PyExc_ValueError, "one byte a word is wanted, and no more marks than lists");
        return NULL;
    }
    s.longest = calloc((size_t)(6 * s.lists + 1), sizeof *s.longest);
    if (s.longest) {
        s.touched = s.longest + 2 * s.lists;
        s.free = s.longest + 4 * s.lists;
        s.shadow = s.longest + 5 * s.lists;
        result = search(&s) ? NULL : told(&s, marks);
    } else
        PyErr_NoMemory();
    free(s.longest);
    free(s.match);
    return result;
}

/* Mark the full stops right behind words of at most so many characters, as in abbreviations. */
PyObject *py_abbreviating(PyObject *unused, PyObject *args)
{
    (void)unused;
    PyObject *folded, *starts, *ends;
    Py_ssize_t longest;
    if (!PyArg_ParseTuple(args, "O!O!O!n", &PyList_Type, &folded, &PyList_Type, &starts, &PyList_Type, &ends, &longest))
        return NULL;
    const Py_ssize_t count = PyList_GET_SIZE(folded);
    if (PyList_GET_SIZE(starts) != count || PyList_GET_SIZE(ends) != count) {
        PyErr_SetString(PyExc_ValueError, "lists of one length are wanted");
        return NULL;
    }
    PyObject *result = PyBytes_FromStringAndSize(NULL, count);
    char *marked = result ? PyBytes_AS_STRING(result) : NULL;
    for (Py_ssize_t i = 0; marked && i < count; i++) {
        PyObject *word = PyList_GET_ITEM(folded, i);
        if (!PyUnicode_Check(word) || PyUnicode_READY(word)) {
            Py_DECREF(result);
            return wrong("words are texts");
        }
        marked[i] = 0;
        if (!i || PyUnicode_GET_LENGTH(word) != 1 || PyUnicode_READ_CHAR(word, 0) != '.')
            continue;
        const Py_ssize_t before = PyLong_AsSsize_t(PyList_GET_ITEM(starts, i - 1)),
                         end = PyLong_AsSsize_t(PyList_GET_ITEM(ends, i - 1)),
                         start = PyLong_AsSsize_t(PyList_GET_ITEM(starts, i));
        if (PyErr_Occurred()) {
            Py_DECREF(result);
            return NULL;
        }
        marked[i] = start == end && end - before <= longest;
    }
    return result;
}
