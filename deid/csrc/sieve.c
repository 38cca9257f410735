/* Places where a match of each of many patterns may begin; the sets come from deid.rules.sieve. */
#include "programs.h"

#include <stdlib.h>
#include <string.h>

enum { SYMBOLS = 131, BLOCK = 4, MOST_WORDS = 64, HEADS = 1024, MARKS = 4, DISTANCES = 64, FAR = 16 * (DISTANCES - 31) };

/* As deid.rules.expressions has them. */
static const char *const MARK[MARKS] = {"0123456789", ":", "@[(", ","};

/* The number of a distance: each up to 31 has its own, of longer ones those between two multiples of 16 share one. */
static inline int32_t rank_of(int32_t distance)
{
    const int32_t rank = distance < 32 ? distance : 30 + distance / 16;
    return rank < DISTANCES ? rank : DISTANCES - 1;
}

/* The least distance that has a number. */
static inline int32_t least_of(int32_t rank)
{
    return rank < 32 ? rank : 16 * (rank - 30);
}

typedef struct {
    PyObject_HEAD
    uint64_t *allowed;  /* per offset and symbol `words` words, whole blocks, one bit a line */
    int32_t (*line)[1 + MARKS]; /* its pattern, which has lines beside each other; each mark stands so near, 0: need not */
    uint16_t *pair;     /* for each two symbols a bit for each block that has lines which begin between them */
    uint64_t *near;     /* for each mark and distance of the next one the lines to which that is near enough */
    Programs programs;
    PyObject *needs;     /* strings of which texts must hold one, for one pattern or some */
    int32_t (*user)[2];  /* number of a string, and of a pattern that needs it */
    uint64_t *begins;    /* a bit for each triple of characters that a string begins with */
    int32_t *first;      /* for the lower part of a triple the first such string, -1: none */
    int32_t *following;  /* for each string the next one, -1: none; of shorter ones how they are found */
    int32_t one[128];    /* for a character the string that it is, -1: none */
    uint8_t *two;        /* for two characters a number of the string that they are, 0: none */
    int32_t pair_of[256]; /* for such a number the string */
    Py_ssize_t users;
    Py_ssize_t words, lines, patterns, before, after;
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

enum { MARKED = -2, LOOKED_FOR = -3 }; /* by their characters, in the same pass; one by one */

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
    const Py_ssize_t count = PyTuple_GET_SIZE(needs);
    const int32_t(*pair)[2] = user->buf;
    self->users = user->len / 8;
    for (Py_ssize_t u = 0; u < self->users; u++)
        if (pair[u][0] < 0 || pair[u][0] >= count || pair[u][1] < 0 || pair[u][1] >= patterns) {
            PyErr_SetString(PyExc_ValueError, "a number that is not there");
            return -1;
        }
    self->user = copied(user);
    self->begins = calloc(1 << 10, sizeof(uint64_t));
    self->first = malloc(HEADS * sizeof(int32_t));
    self->following = malloc((size_t)(count + 1) * sizeof(int32_t));
    self->two = calloc(1 << 14, 1);
    if (!self->user || !self->begins || !self->first || !self->following || !self->two) {
        PyErr_NoMemory();
        return -1;
    }
    for (int h = 0; h < HEADS; h++)
        self->first[h] = -1;
    for (int c = 0; c < 128; c++)
        self->one[c] = -1;
    int pairs = 0;
    for (Py_ssize_t n = 0; n < count; n++) {
        PyObject *need = PyTuple_GET_ITEM(needs, n);
        if (!PyUnicode_Check(need)) {
            PyErr_SetString(PyExc_TypeError, "what is needed is a text");
            return -1;
        }
        const Py_ssize_t length = PyUnicode_GET_LENGTH(need);
        if (length < 3) {
            self->following[n] = LOOKED_FOR;
            if (length == 0 || !PyUnicode_IS_ASCII(need) || (length == 2 && pairs == 255))
                continue;
            self->following[n] = MARKED;
            const Py_UCS4 first = PyUnicode_READ_CHAR(need, 0);
            if (length == 1) {
                self->one[first] = (int32_t)n;
            } else {
                self->pair_of[++pairs] = (int32_t)n;
                self->two[first << 7 | PyUnicode_READ_CHAR(need, 1)] = (uint8_t)pairs;
            }
            continue;
        }
        const uint32_t triple = triple_of(PyUnicode_READ_CHAR(need, 0), PyUnicode_READ_CHAR(need, 1),
                                          PyUnicode_READ_CHAR(need, 2));
        self->begins[triple >> 6] |= UINT64_C(1) << (triple & 63);
        self->following[n] = self->first[triple % HEADS];
        self->first[triple % HEADS] = (int32_t)n;
    }
    self->needs = Py_NewRef(needs);
    return 0;
}

/* Tell whether a string stands at a place. */
static int stands(PyObject *need, int kind, const void *data, Py_ssize_t at, Py_ssize_t size)
{
    const Py_ssize_t length = PyUnicode_GET_LENGTH(need);
    const int own = PyUnicode_KIND(need);
    const void *letters = PyUnicode_DATA(need);
    if (length > size - at)
        return 0;
    for (Py_ssize_t k = 0; k < length; k++)
        if (PyUnicode_READ(own, letters, k) != PyUnicode_READ(kind, data, at + k))
            return 0;
    return 1;
}

INLINE void mark(const Sieve *self, int kind, const void *data, Py_ssize_t size, char *held)
{
    char met[129] = {0};
    Py_UCS4 a = 0, b = 0;
    for (Py_ssize_t i = 0; i < size; i++) {
        const Py_UCS4 c = PyUnicode_READ(kind, data, i);
        const uint32_t triple = triple_of(a, b, c);
        met[c < 128 ? c : 128] = 1;
        if (i > 0 && b < 128 && c < 128 && self->two[b << 7 | c])
            held[self->pair_of[self->two[b << 7 | c]]] = 1;
        if (i > 1 && self->begins[triple >> 6] >> (triple & 63) & 1)
            for (int32_t n = self->first[triple % HEADS]; n >= 0; n = self->following[n])
                held[n] = held[n] || stands(PyTuple_GET_ITEM(self->needs, n), kind, data, i - 2, size);
        a = b;
        b = c;
    }
    for (int c = 0; c < 128; c++)
        if (met[c] && self->one[c] >= 0)
            held[self->one[c]] = 1;
}

/* Note which of the strings that patterns need are in a text, nearly all in one pass; -1 with an exception. */
static int find_needs(const Sieve *self, PyObject *folded, char *held)
{
    const Py_ssize_t size = PyUnicode_GET_LENGTH(folded), count = PyTuple_GET_SIZE(self->needs);
    const int kind = PyUnicode_KIND(folded);
    const void *data = PyUnicode_DATA(folded);
    if (kind == PyUnicode_1BYTE_KIND) /* a loop of its own */
        mark(self, PyUnicode_1BYTE_KIND, data, size, held);
    else
        mark(self, kind, data, size, held);
    for (Py_ssize_t n = 0; n < count; n++)
        if (self->following[n] == LOOKED_FOR) {
            const int found = PyUnicode_Contains(folded, PyTuple_GET_ITEM(self->needs, n));
            if (found < 0)
                return -1;
            held[n] = (char)found;
        }
    return 0;
}

/* Set a bit for each line of a pattern that does not lack what it needs; -1 with an exception when that fails. */
static int want(const Sieve *self, PyObject *folded, uint64_t *wanted)
{
    uint64_t met[MOST_WORDS];
    char *held = calloc((size_t)PyTuple_GET_SIZE(self->needs) + 1, 1);
    if (!held) {
        PyErr_NoMemory();
        return -1;
    }
    if (find_needs(self, folded, held)) {
        free(held);
        return -1;
    }
    memset(met, 255, sizeof met);
    for (Py_ssize_t u = 0; u < self->users; u++)
        met[self->user[u][1] / 64] &= ~(UINT64_C(1) << (self->user[u][1] % 64));
    for (Py_ssize_t u = 0; u < self->users; u++)
        met[self->user[u][1] / 64] |= (uint64_t)held[self->user[u][0]] << (self->user[u][1] % 64);
    free(held);
    for (Py_ssize_t l = 0; l < self->lines; l++)
        wanted[l / 64] |= (met[self->line[l][0] / 64] >> (self->line[l][0] % 64) & 1) << (l % 64);
    return 0;
}

/* Tell whether each pattern has lines, all of them beside each other. */
static int lines_sound(int32_t (*line)[1 + MARKS], Py_ssize_t lines, Py_ssize_t patterns)
{
    char *met = calloc((size_t)patterns, 1);
    Py_ssize_t left = patterns;
    for (Py_ssize_t l = 0; met && l < lines; l++) {
        const int32_t pattern = line[l][0];
        if (l && pattern == line[l - 1][0])
            continue;
        if (pattern < 0 || pattern >= patterns || met[pattern]++)
            break;
        left--;
    }
    free(met);
    return left == 0 && line[lines - 1][0] >= 0;
}

/* Note which blocks two neighbours leave something in, and which lines a distance of the next mark; -1 with an
 * exception when that fails. */
static int take_neighbours(Sieve *self)
{
    const Py_ssize_t words = self->words;
    self->pair = calloc(SYMBOLS * SYMBOLS, sizeof(uint16_t));
    self->near = calloc((size_t)(MARKS * DISTANCES * words), sizeof(uint64_t));
    if (!self->pair || !self->near) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t a = 0; a < SYMBOLS; a++)
        for (Py_ssize_t b = 0; b < SYMBOLS; b++) {
            const uint64_t *last = self->allowed + ((self->before - 1) * SYMBOLS + a) * words;
            const uint64_t *first = self->allowed + (self->before * SYMBOLS + b) * words;
            for (Py_ssize_t w = 0; w < words; w++)
                self->pair[a * SYMBOLS + b] |= (uint16_t)((last[w] & first[w]) != 0) << (w / BLOCK);
        }
    for (int32_t n = 0; n < MARKS * DISTANCES; n++)
        for (Py_ssize_t l = 0; l < self->lines; l++) {
            const int32_t within = self->line[l][1 + n / DISTANCES];
            if (!within || within > least_of(n % DISTANCES))
                self->near[n * words + l / 64] |= UINT64_C(1) << (l % 64);
        }
    return 0;
}

static int sieve_init(PyObject *object, PyObject *args, PyObject *named)
{
    Sieve *self = (Sieve *)object;
    Py_buffer rows, line, code, start, set, user;
    PyObject *needs;
    Py_ssize_t before, after;
    static char *names[] = {"rows", "lines", "code", "starts", "sets", "needs", "users", "before", "after", NULL};
    if (!PyArg_ParseTupleAndKeywords(args, named, "y*y*y*y*y*O!y*nn", names, &rows, &line, &code, &start, &set,
                                     &PyTuple_Type, &needs, &user, &before, &after))
        return -1;
    const Py_ssize_t lines = line.len / (4 * (1 + MARKS)), words = (lines + 64 * BLOCK - 1) / (64 * BLOCK) * BLOCK,
                     patterns = start.len / 4 - 1;
    int ok = 0;
    if (self->allowed || self->line)
        PyErr_SetString(PyExc_RuntimeError, "made already");
    else if (lines < 1 || words > MOST_WORDS || patterns < 1 || before < 1 || before > 64 ||
             after < 2 || after > 64 || line.len % (4 * (1 + MARKS)) || user.len % 8 ||
             rows.len != (before + after) * SYMBOLS * words * 8)
        PyErr_SetString(PyExc_ValueError, "the table does not have the size announced");
    else
        ok = (self->allowed = copied(&rows)) && (self->line = copied(&line)) &&
             !programs_load(&self->programs, &code, &start, &set, patterns) &&
             !take_needs(self, needs, &user, patterns);
    if (ok && !(ok = lines_sound(self->line, lines, patterns)))
        PyErr_SetString(PyExc_ValueError, "the lines are not those of the programs");
    if (ok) {
        self->lines = lines;
        self->words = words;
        self->before = before;
        self->after = after;
        ok = !take_neighbours(self);
    }
    if (ok)
        self->patterns = patterns;
    PyBuffer_Release(&rows);
    PyBuffer_Release(&line);
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

/* Write how far the next mark stands from the places up to one, whose distances to it end with those given. */
static inline void write_far(uint8_t *far, Py_ssize_t from, Py_ssize_t to, const uint8_t distances[FAR])
{
    if (from == to) { /* in a number */
        far[to] = distances[FAR - 1];
        return;
    }
    const Py_ssize_t near = to - from + 1 < FAR ? to - from + 1 : FAR;
    memset(far + from, DISTANCES - 1, (size_t)(to + 1 - near - from));
    memcpy(far + to + 1 - near, distances + FAR - near, (size_t)near);
}

/* Read a text as symbols with a margin of "outside" on both sides, and how far the next marks stand: for each of them
 * one byte a place. */
static void read_symbols(const Sieve *self, PyObject *text, uint8_t *symbol, uint8_t *far)
{
    const Py_ssize_t size = PyUnicode_GET_LENGTH(text);
    const int kind = PyUnicode_KIND(text);
    const void *data = PyUnicode_DATA(text);
    memset(symbol, OUTSIDE, (size_t)self->before);
    memset(symbol + self->before + size, OUTSIDE, (size_t)self->after);
    symbol += self->before;
    if (PyUnicode_IS_ASCII(text))
        memcpy(symbol, data, (size_t)size);
    else
        for (Py_ssize_t i = 0; i < size; i++)
            symbol[i] = symbol_of(PyUnicode_READ(kind, data, i));
    uint8_t is[SYMBOLS] = {0}, distances[FAR];
    Py_ssize_t told[MARKS] = {0};
    for (int m = 0; m < MARKS; m++)
        for (const char *c = MARK[m]; *c; c++)
            is[(uint8_t)*c] |= (uint8_t)(1 << m);
    is[WILD] = (1 << MARKS) - 1;
    for (int32_t d = 0; d < FAR; d++)
        distances[FAR - 1 - d] = (uint8_t)rank_of(d);
    for (Py_ssize_t i = 0; i < size; i++)
        for (unsigned marks = is[symbol[i]]; marks; marks &= marks - 1) {
            const int m = __builtin_ctz(marks);
            write_far(far + m * size, told[m], i, distances);
            told[m] = i + 1;
        }
    for (int m = 0; m < MARKS; m++)
        memset(far + m * size + told[m], DISTANCES - 1, (size_t)(size - told[m]));
}

/* Tell which lines of a block may match at a place, as far as the sets know; 0 when none. */
static inline uint64_t through(const Sieve *self, const uint64_t *wanted, const uint8_t *far, Py_ssize_t size,
                               const uint8_t *here, Py_ssize_t block, uint64_t left[BLOCK])
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
    for (Py_ssize_t m = 0; any && m < MARKS; m++) {
        const uint64_t *near = self->near + (m * DISTANCES + far[m * size]) * words + block;
        any = 0;
        for (int w = 0; w < BLOCK; w++)
            any |= left[w] &= near[w];
    }
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

WIDE static Py_ssize_t sift(const Sieve *self, const uint64_t *wanted, const uint8_t *symbol, const uint8_t *far,
                            Py_ssize_t at, Py_ssize_t size, Found *found, Py_ssize_t room, Py_ssize_t *stopped)
{
    Py_ssize_t count = 0;
    for (; at < size && count + self->patterns <= room; at++) {
        const uint8_t *here = symbol + at;
        unsigned blocks = self->pair[here[self->before - 1] * SYMBOLS + here[self->before]];
        int32_t tried = -1;
        for (; blocks; blocks &= blocks - 1) {
            const Py_ssize_t block = BLOCK * __builtin_ctz(blocks);
            uint64_t left[BLOCK];
            if (!through(self, wanted, far + at, size, here, block, left))
                continue;
            for (int w = 0; w < BLOCK; w++)
                for (uint64_t rest = left[w]; rest; rest &= rest - 1) {
                    const int32_t pattern = self->line[64 * (block + w) + __builtin_ctzll(rest)][0];
                    if (pattern == tried)
                        continue;
                    tried = pattern;
                    if (programs_accept(&self->programs, tried, symbol + self->before, (int32_t)at))
                        found[count++] = (Found){tried, (int32_t)at};
                }
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
    uint8_t *far = malloc((size_t)(size + 1) * MARKS);
    Found *found = malloc((size_t)room * sizeof(Found));
    PyObject **lists = calloc((size_t)self->patterns, sizeof(PyObject *)), *result = NULL;
    int failed = !symbol || !far || !found || !lists;
    if (failed)
        PyErr_NoMemory();
    else
        read_symbols(self, text, symbol, far);
    for (Py_ssize_t at = 0; !failed && at < size;) {
        const Py_ssize_t count = sift(self, wanted, symbol, far, at, size, found, room, &at);
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
    free(far);
    free(symbol);
    return result;
}

static void sieve_dealloc(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    free(((Sieve *)object)->allowed);
    free(((Sieve *)object)->line);
    free(((Sieve *)object)->pair);
    free(((Sieve *)object)->near);
    programs_free(&((Sieve *)object)->programs);
    Py_XDECREF(((Sieve *)object)->needs);
    free(((Sieve *)object)->user);
    free(((Sieve *)object)->begins);
    free(((Sieve *)object)->first);
    free(((Sieve *)object)->following);
    free(((Sieve *)object)->two);
    PyObject_Free(object);
    Py_DECREF(type);
}

static PyMethodDef methods[] = {
    {"places", sieve_places, METH_VARARGS,
     "places(text, text in lower case) -> {pattern: [place, ...]}: where a match may begin"},
    {NULL, NULL, 0, NULL}};

static PyType_Slot slots[] = {{Py_tp_doc, "Finds where matches of many patterns may begin; see deid.rules.sieve."},
                              {Py_tp_new, PyType_GenericNew},
                              {Py_tp_init, sieve_init},
                              {Py_tp_dealloc, sieve_dealloc},
                              {Py_tp_methods, methods},
                              {0, NULL}};

PyType_Spec sieve_spec = {"deid._native.Sieve", sizeof(Sieve), 0, Py_TPFLAGS_DEFAULT, slots};
