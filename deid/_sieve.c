/* Places where a match of each of many patterns may begin; the sets come from deid.detection.sieve. */
#include "_programs.h"

#include <stdlib.h>
#include <string.h>

enum { SYMBOLS = 131, BLOCK = 4, MOST_WORDS = 64 };

typedef struct {
    PyObject_HEAD
    uint64_t *allowed; /* per offset and symbol `words` words, whole blocks, one bit a pattern */
    uint64_t *ways;    /* per pattern, offset and symbol one bit for each way in which its matches begin */
    int32_t *digit;    /* per pattern: a digit stands within so many characters; 0: need not */
    Programs programs;
    PyObject *needs;     /* strings of which texts must hold one, for one pattern or some */
    int32_t (*user)[2];  /* number of a string, and of a pattern that needs it, by string */
    int32_t *triple;     /* triples of characters of each string */
    int32_t *triples;    /* where those of a string begin, and the last end */
    Py_ssize_t users;
    Py_ssize_t words, patterns, before, after;
} Sieve;

static void *copied(const Py_buffer *view)
{
    void *made = malloc((size_t)view->len + 1);
    if (made)
        memcpy(made, view->buf, (size_t)view->len);
    else
        PyErr_NoMemory();
    return made;
}

/* A number under 2^16 for three characters; what is not ASCII looks alike. */
static inline uint32_t triple_of(Py_UCS4 a, Py_UCS4 b, Py_UCS4 c)
{
    a = a < 128 ? a : '?';
    b = b < 128 ? b : '?';
    c = c < 128 ? c : '?';
    return (a << 9 ^ b << 5 ^ c) & 0xFFFF;
}

/* Take what patterns need; -1 with an exception when that fails. */
static int take_needs(Sieve *self, PyObject *needs, const Py_buffer *user, Py_ssize_t patterns)
{
    Py_ssize_t count = PyTuple_GET_SIZE(needs), all = 0;
    for (Py_ssize_t n = 0; n < count; n++) {
        if (!PyUnicode_Check(PyTuple_GET_ITEM(needs, n))) {
            PyErr_SetString(PyExc_TypeError, "what is needed is a text");
            return -1;
        }
        all += PyUnicode_GET_LENGTH(PyTuple_GET_ITEM(needs, n));
    }
    self->users = user->len / 8;
    const int32_t(*pair)[2] = user->buf;
    for (Py_ssize_t u = 0; u < self->users; u++)
        if (pair[u][0] < 0 || pair[u][0] >= count || pair[u][1] < 0 || pair[u][1] >= patterns) {
            PyErr_SetString(PyExc_ValueError, "a number that is not there");
            return -1;
        }
    self->user = copied(user);
    self->triples = malloc((size_t)(count + 1) * sizeof(int32_t));
    self->triple = malloc((size_t)(all + 1) * sizeof(int32_t));
    if (!self->user || !self->triples || !self->triple) {
        PyErr_NoMemory();
        return -1;
    }
    int32_t number = 0;
    for (Py_ssize_t n = 0; n < count; n++) {
        PyObject *need = PyTuple_GET_ITEM(needs, n);
        const int kind = PyUnicode_KIND(need);
        const void *data = PyUnicode_DATA(need);
        self->triples[n] = number;
        for (Py_ssize_t i = 0; i + 2 < PyUnicode_GET_LENGTH(need); i++)
            self->triple[number++] = (int32_t)triple_of(PyUnicode_READ(kind, data, i), PyUnicode_READ(kind, data, i + 1),
                                                        PyUnicode_READ(kind, data, i + 2));
    }
    self->triples[count] = number;
    self->needs = Py_NewRef(needs);
    return 0;
}

/* Set a bit for each pattern that does not lack what it needs. A string can be in a text only when all its triples
 * are, which leaves few to look for. -1 with an exception when that fails. */
static int want(const Sieve *self, PyObject *folded, uint64_t *wanted)
{
    uint64_t there[1 << 10] = {0};
    const Py_ssize_t size = PyUnicode_GET_LENGTH(folded);
    const int kind = PyUnicode_KIND(folded);
    const void *data = PyUnicode_DATA(folded);
    Py_UCS4 a = 0, b = 0;
    for (Py_ssize_t i = 0; i < size; i++) {
        const Py_UCS4 c = PyUnicode_READ(kind, data, i);
        const uint32_t triple = triple_of(a, b, c);
        there[triple >> 6] |= UINT64_C(1) << (triple & 63);
        a = b;
        b = c;
    }
    for (Py_ssize_t p = 0; p < self->patterns; p++)
        wanted[p / 64] |= UINT64_C(1) << (p % 64);
    for (Py_ssize_t u = 0; u < self->users; u++)
        wanted[self->user[u][1] / 64] &= ~(UINT64_C(1) << (self->user[u][1] % 64));
    int32_t last = -1;
    int held = 0;
    for (Py_ssize_t u = 0; u < self->users; u++) {
        const int32_t need = self->user[u][0], pattern = self->user[u][1];
        if (wanted[pattern / 64] >> (pattern % 64) & 1)
            continue;
        if (need != last) {
            held = 1;
            for (int32_t t = self->triples[need]; held && t < self->triples[need + 1]; t++)
                held = (int)(there[self->triple[t] >> 6] >> (self->triple[t] & 63) & 1);
            if (held && (held = PyUnicode_Contains(folded, PyTuple_GET_ITEM(self->needs, need))) < 0)
                return -1;
            last = need;
        }
        wanted[pattern / 64] |= (uint64_t)held << (pattern % 64);
    }
    return 0;
}

static int sieve_init(PyObject *object, PyObject *args, PyObject *named)
{
    Sieve *self = (Sieve *)object;
    Py_buffer rows, ways, digit, code, start, set, user;
    PyObject *needs;
    Py_ssize_t before, after;
    static char *names[] = {"rows", "ways", "digits", "code", "starts", "sets", "needs", "users", "before", "after", NULL};
    if (!PyArg_ParseTupleAndKeywords(args, named, "y*y*y*y*y*y*O!y*nn", names, &rows, &ways, &digit, &code, &start, &set,
                                     &PyTuple_Type, &needs, &user, &before, &after))
        return -1;
    const Py_ssize_t patterns = digit.len / 4, words = (patterns + 64 * BLOCK - 1) / (64 * BLOCK) * BLOCK;
    int ok = 0;
    if (self->allowed || self->ways || self->digit)
        PyErr_SetString(PyExc_RuntimeError, "made already");
    else if (patterns < 1 || words > MOST_WORDS || before < 1 || before > 64 || after < 2 || after > 64 ||
             digit.len % 4 || ways.len != (before + after) * SYMBOLS * patterns * 8 || user.len % 8 ||
             rows.len != (before + after) * SYMBOLS * words * 8)
        PyErr_SetString(PyExc_ValueError, "the table does not have the size announced");
    else
        ok = (self->allowed = copied(&rows)) && (self->ways = copied(&ways)) && (self->digit = copied(&digit)) &&
             !programs_load(&self->programs, &code, &start, &set, patterns) && !take_needs(self, needs, &user, patterns);
    if (ok) {
        self->words = words;
        self->patterns = patterns;
        self->before = before;
        self->after = after;
    }
    PyBuffer_Release(&rows);
    PyBuffer_Release(&ways);
    PyBuffer_Release(&digit);
    PyBuffer_Release(&code);
    PyBuffer_Release(&start);
    PyBuffer_Release(&set);
    PyBuffer_Release(&user);
    return ok ? 0 : -1;
}

typedef struct {
    int32_t pattern;
    int32_t place;
} Found;

/* Read a text as symbols with a margin of "outside" on both sides, and where the next digit stands. */
static void read_symbols(const Sieve *self, PyObject *text, uint8_t *symbol, int32_t *next_digit)
{
    const Py_ssize_t size = PyUnicode_GET_LENGTH(text);
    const int kind = PyUnicode_KIND(text);
    const void *data = PyUnicode_DATA(text);
    memset(symbol, OUTSIDE, (size_t)self->before);
    memset(symbol + self->before + size, OUTSIDE, (size_t)self->after);
    symbol += self->before;
    for (Py_ssize_t i = 0; i < size; i++)
        symbol[i] = symbol_of(PyUnicode_READ(kind, data, i));
    int32_t next = INT32_MAX;
    for (Py_ssize_t i = size - 1; i >= 0; i--) {
        if ((symbol[i] >= '0' && symbol[i] <= '9') || symbol[i] == WILD)
            next = (int32_t)i;
        next_digit[i] = next;
    }
}

/* Tell which patterns of a block may match at a place, as far as the sets know; 0 when none. */
static inline uint64_t through(const Sieve *self, const uint64_t *wanted, const uint8_t *here, Py_ssize_t block,
                               uint64_t left[BLOCK])
{
    const Py_ssize_t words = self->words, before = self->before, width = before + self->after;
    const uint64_t *allowed = self->allowed + block;
    /* the place itself and its neighbours settle most */
    const uint64_t *first = allowed + (before * SYMBOLS + here[before]) * words;
    const uint64_t *last = allowed + ((before - 1) * SYMBOLS + here[before - 1]) * words;
    const uint64_t *next = allowed + ((before + 1) * SYMBOLS + here[before + 1]) * words;
    uint64_t any = 0;
    for (int w = 0; w < BLOCK; w++)
        any |= left[w] = wanted[block + w] & first[w] & last[w] & next[w];
    for (Py_ssize_t o = before + 2; any && o < width; o++) {
        const uint64_t *row = allowed + (o * SYMBOLS + here[o]) * words;
        any = 0;
        for (int w = 0; w < BLOCK; w++)
            any |= left[w] &= row[w];
    }
    for (Py_ssize_t o = before - 2; any && o >= 0; o--) {
        const uint64_t *row = allowed + (o * SYMBOLS + here[o]) * words;
        any = 0;
        for (int w = 0; w < BLOCK; w++)
            any |= left[w] &= row[w];
    }
    return any;
}

WIDE static Py_ssize_t sift(const Sieve *self, const uint64_t *wanted, const uint8_t *symbol, const int32_t *next_digit,
                            Py_ssize_t at, Py_ssize_t size, Found *found, Py_ssize_t room, Py_ssize_t *stopped)
{
    const Py_ssize_t width = self->before + self->after;
    Py_ssize_t count = 0;
    for (; at < size && count + self->patterns <= room; at++)
        for (Py_ssize_t block = 0; block < self->words; block += BLOCK) {
            uint64_t left[BLOCK];
            const uint8_t *here = symbol + at;
            if (!through(self, wanted, here, block, left))
                continue;
            for (int w = 0; w < BLOCK; w++)
                for (uint64_t rest = left[w]; rest; rest &= rest - 1) {
                    const Py_ssize_t pattern = 64 * (block + w) + __builtin_ctzll(rest);
                    if (self->digit[pattern] && next_digit[at] - (int32_t)at >= self->digit[pattern])
                        continue;
                    const uint64_t *way = self->ways + pattern * width * SYMBOLS;
                    uint64_t ways = way[here[0]];
                    for (Py_ssize_t o = 1; ways && o < width; o++)
                        ways &= way[o * SYMBOLS + here[o]];
                    if (ways && programs_accept(&self->programs, pattern, symbol + self->before, (int32_t)at))
                        found[count++] = (Found){(int32_t)pattern, (int32_t)at};
                }
        }
    *stopped = at;
    return count;
}

static PyObject *sieve_places(PyObject *object, PyObject *args)
{
    Sieve *self = (Sieve *)object;
    PyObject *text, *folded;
    if (!PyArg_ParseTuple(args, "UU", &text, &folded))
        return NULL;
    if (!self->patterns || PyUnicode_GET_LENGTH(text) >= INT32_MAX) {
        PyErr_SetString(PyExc_ValueError, "a text is wanted that is not too long");
        return NULL;
    }
    uint64_t wanted[MOST_WORDS] = {0};
    if (want(self, folded, wanted))
        return NULL;
    const Py_ssize_t size = PyUnicode_GET_LENGTH(text), room = 4096 + self->patterns;
    uint8_t *symbol = malloc((size_t)(size + self->before + self->after));
    int32_t *next_digit = malloc((size_t)(size + 1) * sizeof(int32_t));
    Found *found = malloc((size_t)room * sizeof(Found));
    PyObject **lists = calloc((size_t)self->patterns, sizeof(PyObject *)), *result = NULL;
    int failed = !symbol || !next_digit || !found || !lists;
    if (failed)
        PyErr_NoMemory();
    else
        read_symbols(self, text, symbol, next_digit);
    for (Py_ssize_t at = 0; !failed && at < size;) {
        const Py_ssize_t count = sift(self, wanted, symbol, next_digit, at, size, found, room, &at);
        for (Py_ssize_t i = 0; !failed && i < count; i++) {
            PyObject **list = lists + found[i].pattern, *place = PyLong_FromLong(found[i].place);
            failed = !place || (!*list && !(*list = PyList_New(0))) || PyList_Append(*list, place);
            Py_XDECREF(place);
        }
    }
    if (!failed)
        result = PyDict_New();
    for (Py_ssize_t p = 0; lists && p < self->patterns; p++) {
        PyObject *number = result && lists[p] ? PyLong_FromSsize_t(p) : NULL;
        if (result && lists[p] && (!number || PyDict_SetItem(result, number, lists[p])))
            Py_CLEAR(result);
        Py_XDECREF(number);
        Py_XDECREF(lists[p]);
    }
    free(lists);
    free(found);
    free(next_digit);
    free(symbol);
    return result;
}

static void sieve_dealloc(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    free(((Sieve *)object)->allowed);
    free(((Sieve *)object)->ways);
    free(((Sieve *)object)->digit);
    programs_free(&((Sieve *)object)->programs);
    Py_XDECREF(((Sieve *)object)->needs);
    free(((Sieve *)object)->user);
    free(((Sieve *)object)->triple);
    free(((Sieve *)object)->triples);
    PyObject_Free(object);
    Py_DECREF(type);
}

static PyMethodDef methods[] = {
    {"places", sieve_places, METH_VARARGS,
     "places(text, text in lower case) -> {pattern: [place, ...]}: where a match may begin"},
    {NULL, NULL, 0, NULL}};

static PyType_Slot slots[] = {{Py_tp_doc, "Finds where matches of many patterns may begin; see deid.detection.sieve."},
                              {Py_tp_new, PyType_GenericNew},
                              {Py_tp_init, sieve_init},
                              {Py_tp_dealloc, sieve_dealloc},
                              {Py_tp_methods, methods},
                              {0, NULL}};

PyType_Spec sieve_spec = {"deid._native.Sieve", sizeof(Sieve), 0, Py_TPFLAGS_DEFAULT, slots};
