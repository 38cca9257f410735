/* Places where a match of each of many patterns may begin; the sets come from deid.rules.sieve. */
#include "programs.h"

#include <stdlib.h>
#include <string.h>

/* As deid.rules.expressions and deid.rules.sieve have them. */
enum { BEFORE = 6, AFTER = 10, BEHIND = 5, WIDTH = BEFORE + AFTER + BEHIND, BLOCK = 4, MARKS = 4 };
enum { MOST_BLOCKS = 7, DISTANCES = 64, FAR = 16 * (DISTANCES - 31), LONGEST = 64, TRIPLES = 1 << 15, HEADS = 1024 };
static const char *const MARK[MARKS] = {"0123456789", ":", "@[(", ","};

/* Tell whether a symbol is within a word. */
static inline int is_inner(uint8_t symbol)
{
    return (symbol >= '0' && symbol <= '9') || ((symbol | 32) >= 'a' && (symbol | 32) <= 'z' && symbol < OTHER) ||
           symbol == '_' || symbol == '-' || symbol == '\'' || symbol == OTHER || symbol == WILD;
}

/* A block of lines, a bit each. */
typedef uint64_t Lines __attribute__((vector_size(8 * BLOCK), aligned(8), may_alias));

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
    uint64_t (*allowed)[WIDTH][SYMBOLS][BLOCK]; /* for each block, place looked at and symbol the lines */
    uint64_t (*near)[MARKS][DISTANCES][BLOCK]; /* for each mark and distance of the next one those it is near enough to */
    uint64_t always[MOST_BLOCKS * BLOCK];      /* lines of patterns that need nothing */
    int32_t (*line)[1 + MARKS]; /* its pattern, which has lines beside each other; each mark stands so near, 0: need not */
    int32_t *first_line;        /* of a pattern */
    Programs programs;
    PyObject *needs;    /* strings of which texts must hold one, for one pattern or some */
    int32_t (*user)[2]; /* number of a string, and of a pattern that needs it */
    Py_UCS4 odd[128];   /* characters of such strings beyond ASCII, each with a byte of its own: see byte_of */
    uint8_t *letters;   /* the strings in bytes, one behind the other */
    int32_t *begin;     /* of each string in letters, and the end of the last; two times the same for those looked for */
    uint64_t *triples;  /* a bit for each triple of bytes that a string begins with, or that ends with it */
    int32_t *first;     /* for the lower part of a triple the first such string, -1: none */
    int32_t *following; /* for each string the next one, -1: none */
    int32_t one[256];   /* for a byte the string that it is, -1: none */
    Py_ssize_t users, blocks, lines, patterns;
} Sieve;

/* A number for the last three bytes: those before are shifted out. */
static inline uint32_t triple_of(uint32_t before, uint8_t c)
{
    return (before << 5 ^ c) % TRIPLES;
}

static inline uint32_t place_of(Py_UCS4 c)
{
    return (c ^ c >> 7 ^ c >> 14) % 128;
}

/* The byte for a character in lower case: 0 where no string holds it. */
static inline uint8_t byte_of(const Sieve *self, Py_UCS4 c)
{
    return (uint8_t)(c < 128 ? c : self->odd[place_of(c)] == c ? 128u + place_of(c) : 0u);
}

/* Write a string in bytes; return how many, 0 where that cannot be. */
static Py_ssize_t write_need(Sieve *self, PyObject *need, uint8_t *bytes)
{
    for (Py_ssize_t k = 0; k < PyUnicode_GET_LENGTH(need); k++) {
        const Py_UCS4 c = PyUnicode_READ_CHAR(need, k);
        if (c > 127 && !self->odd[place_of(c)])
            self->odd[place_of(c)] = c;
        if (!(bytes[k] = byte_of(self, c)))
            return 0;
    }
    return PyUnicode_GET_LENGTH(need);
}

/* Prepare to find a string. */
static void take_need(Sieve *self, int32_t n, const uint8_t *need, Py_ssize_t length)
{
    uint32_t triple = 0;
    for (Py_ssize_t k = 0; k < length && k < 3; k++)
        triple = triple_of(triple, need[k]);
    if (length == 1)
        self->one[need[0]] = n;
    if (length < 2)
        return;
    /* of what stands before two only five bits are left */
    for (uint32_t c = 0; c < (length == 2 ? 32 : 1); c++)
        self->triples[(triple ^ c << 10) / 64] |= UINT64_C(1) << triple % 64;
    self->following[n] = self->first[triple % HEADS];
    self->first[triple % HEADS] = n;
}

/* Take what patterns need; -1 with an exception when that fails. */
static int take_needs(Sieve *self, PyObject *needs, const Py_buffer *user)
{
    const Py_ssize_t count = PyTuple_GET_SIZE(needs);
    const int32_t(*pair)[2] = user->buf;
    Py_ssize_t size = 0;
    for (Py_ssize_t n = 0; n < count; n++) {
        if (!PyUnicode_Check(PyTuple_GET_ITEM(needs, n))) {
            PyErr_SetString(PyExc_TypeError, "what is needed is a text");
            return -1;
        }
        size += PyUnicode_GET_LENGTH(PyTuple_GET_ITEM(needs, n));
    }
    self->needs = Py_NewRef(needs);
    self->users = user->len / 8;
    self->user = copied(user);
    self->letters = malloc((size_t)size + 1);
    self->begin = calloc((size_t)count + 1, sizeof(int32_t));
    self->triples = calloc(TRIPLES / 64, sizeof(uint64_t));
    self->first = malloc(HEADS * sizeof(int32_t));
    self->following = malloc((size_t)(count + 1) * sizeof(int32_t));
    if (!self->user || !self->letters || !self->begin || !self->triples || !self->first || !self->following) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t l = 0; l < self->lines; l++)
        self->always[l / 64] |= UINT64_C(1) << l % 64;
    for (Py_ssize_t u = 0; u < self->users; u++) {
        if (pair[u][0] < 0 || pair[u][0] >= count || pair[u][1] < 0 || pair[u][1] >= self->patterns) {
            PyErr_SetString(PyExc_ValueError, "a number that is not there");
            return -1;
        }
        for (Py_ssize_t l = self->first_line[pair[u][1]]; l < self->lines && self->line[l][0] == pair[u][1]; l++)
            self->always[l / 64] &= ~(UINT64_C(1) << l % 64);
    }
    memset(self->first, 255, HEADS * sizeof(int32_t));
    memset(self->one, 255, sizeof self->one);
    for (int32_t n = 0; n < count; n++) {
        uint8_t *need = self->letters + self->begin[n];
        const Py_ssize_t length = write_need(self, PyTuple_GET_ITEM(needs, n), need);
        self->begin[n + 1] = self->begin[n] + (int32_t)length;
        take_need(self, n, need, length);
    }
    return 0;
}

/* Note which of the strings that patterns need are in a text of bytes, with two more before it. */
static void mark(const Sieve *self, const uint8_t *text, Py_ssize_t size, char *held)
{
    char met[256] = {0};
    uint32_t triple = 0;
    for (Py_ssize_t i = 0; i < size; i++) {
        met[text[i]] = 1;
        triple = triple_of(triple, text[i]);
        if (!(self->triples[triple / 64] >> triple % 64 & 1))
            continue;
        for (int32_t n = self->first[triple % HEADS]; n >= 0; n = self->following[n]) {
            const uint8_t *need = self->letters + self->begin[n];
            Py_ssize_t k = self->begin[n + 1] - self->begin[n];
            const uint8_t *here = text + i - (k > 2 ? 2 : 1);
            if (held[n] || k > text + size - here)
                continue;
            while (k && need[k - 1] == here[k - 1])
                k--;
            held[n] = !k;
        }
    }
    for (int c = 1; c < 256; c++)
        if (met[c] && self->one[c] >= 0)
            held[self->one[c]] = 1;
}

enum { NO_BLOCK = 1 };

/* What is looked at in one text. */
typedef struct {
    const Sieve *sieve;
    uint64_t wanted[MOST_BLOCKS * BLOCK]; /* lines of patterns that do not lack what they need */
    uint8_t *symbol;                      /* with a margin of "outside" on both sides */
    uint8_t *far;                         /* for each mark how far the next one stands from each place */
    uint8_t *pair; /* for each two symbols a bit for each block that has lines which begin between them, 0: not known */
    Py_ssize_t size;
} Search;

/* Write a text in lower case as bytes, one a character; 0 when it has a letter that is more than one in lower case, or
 * depends on others. */
static int read_small(const Search *s, PyObject *text, uint8_t *small)
{
    const int kind = PyUnicode_KIND(text);
    const void *data = PyUnicode_DATA(text);
    for (Py_ssize_t i = 0; i < s->size; i++) {
        const uint8_t c = s->symbol[BEFORE + i];
        small[i] = c >= 'A' && c <= 'Z' ? c + 32 : c;
    }
    for (Py_ssize_t i = 0; i < s->size && !PyUnicode_IS_ASCII(text); i++)
        if (small[i] > 127) {
            const Py_UCS4 c = PyUnicode_READ(kind, data, i);
            if (c == 0x130 || c == 0x3A3)
                return 0;
            small[i] = byte_of(s->sieve, Py_UNICODE_TOLOWER(c));
        }
    return 1;
}

/* Note which strings that patterns need are in a text; -1 with an exception. */
static int find_needs(const Search *s, PyObject *text, char *held)
{
    const Sieve *self = s->sieve;
    uint8_t *small = calloc((size_t)s->size + 2, 1);
    const int good = small && read_small(s, text, small + 2);
    PyObject *folded = NULL;
    int failed = !small;
    if (failed)
        PyErr_NoMemory();
    else if (good)
        mark(self, small + 2, s->size, held);
    for (Py_ssize_t n = 0; !failed && n < PyTuple_GET_SIZE(self->needs); n++)
        if (!good || self->begin[n] == self->begin[n + 1]) { /* one by one */
            if (!folded && !(folded = PyObject_CallMethod(text, "lower", NULL)))
                failed = 1;
            const int found = failed ? -1 : PyUnicode_Contains(folded, PyTuple_GET_ITEM(self->needs, n));
            failed = found < 0;
            held[n] = (char)found;
        }
    Py_XDECREF(folded);
    free(small);
    return failed ? -1 : 0;
}

/* Note which lines a text may match, by what their patterns need; -1 with an exception when that fails. */
static int want(Search *s, PyObject *text)
{
    const Sieve *self = s->sieve;
    char *held = calloc((size_t)PyTuple_GET_SIZE(self->needs) + 1, 1);
    if (!held)
        PyErr_NoMemory();
    const int failed = !held || find_needs(s, text, held);
    memcpy(s->wanted, self->always, sizeof s->wanted);
    for (Py_ssize_t u = 0; !failed && u < self->users; u++)
        if (held[self->user[u][0]])
            for (Py_ssize_t l = self->first_line[self->user[u][1]];
                 l < self->lines && self->line[l][0] == self->user[u][1]; l++)
                s->wanted[l / 64] |= UINT64_C(1) << l % 64;
    free(held);
    return failed ? -1 : 0;
}

/* Note where the lines of each pattern begin, and which of them a distance of the next mark leaves; -1 with an exception
 * when a pattern has no lines, or they are not beside each other. */
static int take_lines(Sieve *self)
{
    Py_ssize_t left = self->patterns, l = 0;
    self->first_line = malloc((size_t)self->patterns * sizeof(int32_t));
    self->near = calloc((size_t)self->blocks, sizeof *self->near);
    if (!self->first_line || !self->near) {
        PyErr_NoMemory();
        return -1;
    }
    memset(self->first_line, 255, (size_t)self->patterns * sizeof(int32_t));
    for (; l < self->lines; l++) {
        const int32_t pattern = self->line[l][0];
        for (int m = 0; m < MARKS; m++)
            for (int32_t d = 0; d < DISTANCES; d++)
                if (!self->line[l][1 + m] || self->line[l][1 + m] > least_of(d))
                    self->near[l / (64 * BLOCK)][m][d][l / 64 % BLOCK] |= UINT64_C(1) << l % 64;
        if (l && pattern == self->line[l - 1][0])
            continue;
        if (pattern < 0 || pattern >= self->patterns || self->first_line[pattern] >= 0)
            break;
        self->first_line[pattern] = (int32_t)l;
        left--;
    }
    if (left == 0 && l == self->lines)
        return 0;
    PyErr_SetString(PyExc_ValueError, "the lines are not those of the programs");
    return -1;
}

static int sieve_init(PyObject *object, PyObject *args, PyObject *named)
{
    Sieve *self = (Sieve *)object;
    Py_buffer rows, line, code, start, set, user;
    PyObject *needs;
    static char *names[] = {"rows", "lines", "code", "starts", "sets", "needs", "users", NULL};
    if (self->line) {
        PyErr_SetString(PyExc_RuntimeError, "made already");
        return -1;
    }
    if (!PyArg_ParseTupleAndKeywords(args, named, "y*y*y*y*y*O!y*", names, &rows, &line, &code, &start, &set,
                                     &PyTuple_Type, &needs, &user))
        return -1;
    const Py_ssize_t patterns = start.len / 4 - 1;
    int ok = 0;
    self->lines = line.len / (4 * (1 + MARKS));
    self->blocks = (self->lines + 64 * BLOCK - 1) / (64 * BLOCK);
    self->patterns = patterns;
    if (self->lines < 1 || self->blocks > MOST_BLOCKS || patterns < 1 || line.len % (4 * (1 + MARKS)) || user.len % 8 ||
        rows.len != self->blocks * (Py_ssize_t)sizeof *self->allowed)
        PyErr_SetString(PyExc_ValueError, "the table does not have the size announced");
    else
        ok = (self->allowed = copied(&rows)) && (self->line = copied(&line)) &&
             !programs_load(&self->programs, &code, &start, &set, patterns) && !take_lines(self) &&
             !take_needs(self, needs, &user);
    if (!ok)
        self->patterns = 0;
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

/* Note how far the next marks stand: for each of them one byte a place. */
static void measure(Search *s)
{
    const uint8_t *symbol = s->symbol + BEFORE;
    uint8_t is[SYMBOLS] = {0}, distances[FAR];
    Py_ssize_t told[MARKS] = {0};
    for (int m = 0; m < MARKS; m++)
        for (const char *c = MARK[m]; *c; c++)
            is[(uint8_t)*c] |= (uint8_t)(1 << m);
    is[WILD] = (1 << MARKS) - 1;
    for (int32_t d = 0; d < FAR; d++)
        distances[FAR - 1 - d] = (uint8_t)rank_of(d);
    for (Py_ssize_t i = 0; i < s->size; i++)
        for (unsigned marks = is[symbol[i]]; marks; marks &= marks - 1) {
            const int m = __builtin_ctz(marks);
            write_far(s->far + m * s->size, told[m], i, distances);
            told[m] = i + 1;
        }
    for (int m = 0; m < MARKS; m++)
        memset(s->far + m * s->size + told[m], DISTANCES - 1, (size_t)(s->size - told[m]));
}

INLINE int none_of(Lines lines)
{
    return (lines[0] | lines[1] | lines[2] | lines[3]) == 0;
}

/* Tell which blocks have lines that begin between two symbols, a bit each, and one more. */
static uint8_t blocks_between(const Search *s, uint8_t a, uint8_t b)
{
    unsigned blocks = NO_BLOCK;
    for (Py_ssize_t k = 0; k < s->sieve->blocks; k++)
        for (int w = 0; w < BLOCK; w++) {
            const uint64_t left = s->sieve->allowed[k][BEFORE - 1][a][w] & s->sieve->allowed[k][BEFORE][b][w];
            blocks |= (unsigned)((left & s->wanted[BLOCK * k + w]) != 0) << (1 + k);
        }
    return (uint8_t)blocks;
}

#define LEAVE(row) left &= *(const Lines *)(row)

WIDE static Py_ssize_t sift(const Search *s, Py_ssize_t at, Found *found, Py_ssize_t room, Py_ssize_t *stopped)
{
    const Sieve *self = s->sieve;
    const uint8_t *symbol = s->symbol + BEFORE;
    uint8_t inner[SYMBOLS];
    for (int c = 0; c < SYMBOLS; c++)
        inner[c] = (uint8_t)is_inner((uint8_t)c);
    const Py_ssize_t most = room - self->patterns;
    Py_ssize_t count = 0;
    for (uint8_t *row = s->pair + symbol[at - 1] * SYMBOLS; at < s->size && count <= most; at++) {
        const uint8_t *here = symbol + at, *far = s->far + at;
        uint8_t *pair = row + here[0];
        row = s->pair + here[0] * SYMBOLS;
        if (*pair == NO_BLOCK)
            continue;
        if (!*pair)
            *pair = blocks_between(s, here[-1], here[0]);
        int32_t tried = -1;
        int word = -1; /* characters of the word that are left */
        for (unsigned blocks = *pair >> 1; blocks; blocks &= blocks - 1) {
            const int block = __builtin_ctz(blocks);
            const uint64_t(*may)[SYMBOLS][BLOCK] = self->allowed[block] + BEFORE;
            Lines left = *(const Lines *)(s->wanted + BLOCK * block);
            for (int o = -2; o < 3; o++) /* they settle most */
                LEAVE(may[o][here[o]]);
            if (none_of(left))
                continue;
            for (int m = 0; m < MARKS; m++)
                LEAVE(self->near[block][m][far[m * s->size]]);
            for (int o = -BEFORE; o < -2; o++)
                LEAVE(may[o][here[o]]);
            for (int o = 3; o < AFTER; o++)
                LEAVE(may[o][here[o]]);
            if (none_of(left))
                continue;
            if (word < 0)
                for (word = 0; inner[here[word]] && word < LONGEST;)
                    word++;
            for (int o = 0; o < BEHIND && word < LONGEST; o++)
                LEAVE(may[AFTER + o][here[word + o]]);
            for (int w = 0; w < BLOCK; w++)
                for (uint64_t rest = left[w]; rest; rest &= rest - 1) {
                    const int32_t pattern = self->line[64 * (BLOCK * block + w) + __builtin_ctzll(rest)][0];
                    if (pattern == tried)
                        continue;
                    tried = pattern;
                    if (programs_accept(&self->programs, tried, symbol, (int32_t)at))
                        found[count++] = (Found){tried, (int32_t)at};
                }
        }
    }
    *stopped = at;
    return count;
}

/* places(text) -> {pattern: [place, ...]} */
static PyObject *sieve_places(PyObject *object, PyObject *text)
{
    Sieve *self = (Sieve *)object;
    if (!self->patterns || !PyUnicode_Check(text) || PyUnicode_GET_LENGTH(text) >= INT32_MAX) {
        PyErr_SetString(PyExc_ValueError, "a text is wanted that is not too long");
        return NULL;
    }
    Search s = {.sieve = self, .size = PyUnicode_GET_LENGTH(text)};
    const Py_ssize_t room = 4096 + self->patterns;
    s.symbol = malloc((size_t)(s.size + BEFORE + AFTER));
    s.far = malloc((size_t)(s.size + 1) * MARKS);
    s.pair = calloc(SYMBOLS * SYMBOLS, 1);
    Found *found = malloc((size_t)room * sizeof(Found));
    PyObject **lists = calloc((size_t)self->patterns, sizeof(PyObject *)), *result = NULL;
    int failed = !s.symbol || !s.far || !s.pair || !found || !lists;
    if (failed)
        PyErr_NoMemory();
    else {
        memset(s.symbol, OUTSIDE, BEFORE);
        memset(s.symbol + BEFORE + s.size, OUTSIDE, AFTER);
        read_symbols(text, s.symbol + BEFORE);
        failed = want(&s, text);
        measure(&s);
    }
    for (Py_ssize_t at = 0; !failed && at < s.size;) {
        const Py_ssize_t count = sift(&s, at, found, room, &at);
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
    free(s.pair);
    free(s.far);
    free(s.symbol);
    return result;
}

static void sieve_dealloc(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    free(((Sieve *)object)->allowed);
    free(((Sieve *)object)->line);
    free(((Sieve *)object)->first_line);
    free(((Sieve *)object)->near);
    programs_free(&((Sieve *)object)->programs);
    Py_XDECREF(((Sieve *)object)->needs);
    free(((Sieve *)object)->user);
    free(((Sieve *)object)->letters);
    free(((Sieve *)object)->begin);
    free(((Sieve *)object)->triples);
    free(((Sieve *)object)->first);
    free(((Sieve *)object)->following);
    PyObject_Free(object);
    Py_DECREF(type);
}

static PyMethodDef methods[] = {
    {"places", sieve_places, METH_O, "places(text) -> {pattern: [place, ...]}: where a match may begin"},
    {NULL, NULL, 0, NULL}};

static PyType_Slot slots[] = {{Py_tp_doc, "Finds where matches of many patterns may begin; see deid.rules.sieve."},
                              {Py_tp_new, PyType_GenericNew},
                              {Py_tp_init, sieve_init},
                              {Py_tp_dealloc, sieve_dealloc},
                              {Py_tp_methods, methods},
                              {0, NULL}};

PyType_Spec sieve_spec = {"deid._native.Sieve", sizeof(Sieve), 0, Py_TPFLAGS_DEFAULT, slots};
