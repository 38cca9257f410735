/* Keyed numbers and permutations; the oracle is the Python route of deid.replacement.permutation, which has BLAKE2b of
 * hashlib. BLAKE2b as RFC 7693 describes it, with a key and a digest of 64 bytes.
 */
#include "text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 128, DIGEST = 64, SHUFFLED = 32, ROUNDS = 4, MOST_BITS = 62 };

typedef struct {
    PyObject_HEAD
    uint64_t start[8], state[8]; /* before and behind the block of the key */
    uint8_t key[BLOCK];
} Draws;

static const uint64_t IV[8] = {0x6a09e667f3bcc908u, 0xbb67ae8584caa73bu, 0x3c6ef372fe94f82bu, 0xa54ff53a5f1d36f1u,
                               0x510e527fade682d1u, 0x9b05688c2b3e6c1fu, 0x1f83d9abfb41bd6bu, 0x5be0cd19137e2179u};
static const uint8_t SIGMA[10][16] = {
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
    {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4}, {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
    {9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13}, {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
    {12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11}, {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
    {6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5}, {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0}};

static uint64_t little(const uint8_t *p)
{
    return (uint64_t)p[0] | (uint64_t)p[1] << 8 | (uint64_t)p[2] << 16 | (uint64_t)p[3] << 24 | (uint64_t)p[4] << 32 |
           (uint64_t)p[5] << 40 | (uint64_t)p[6] << 48 | (uint64_t)p[7] << 56;
}

static uint64_t turned(uint64_t x, int by) { return x >> by | x << (64 - by); }

#define MIX(a, b, c, d, n)                                                                                           \
    do {                                                                                                             \
        a += b + m[s[2 * (n)]];                                                                                      \
        d = turned(d ^ a, 32);                                                                                       \
        c += d;                                                                                                      \
        b = turned(b ^ c, 24);                                                                                       \
        a += b + m[s[2 * (n) + 1]];                                                                                  \
        d = turned(d ^ a, 16);                                                                                       \
        c += d;                                                                                                      \
        b = turned(b ^ c, 63);                                                                                       \
    } while (0)

static void compress(uint64_t *h, const uint8_t *block, uint64_t count, int last)
{
    uint64_t m[16];
    for (int i = 0; i < 16; i++)
        m[i] = little(block + 8 * i);
    uint64_t a0 = h[0], a1 = h[1], a2 = h[2], a3 = h[3], b0 = h[4], b1 = h[5], b2 = h[6], b3 = h[7];
    uint64_t c0 = IV[0], c1 = IV[1], c2 = IV[2], c3 = IV[3];
    uint64_t d0 = IV[4] ^ count, d1 = IV[5], d2 = last ? ~IV[6] : IV[6], d3 = IV[7];
    for (int round = 0; round < 12; round++) {
        const uint8_t *s = SIGMA[round % 10];
        MIX(a0, b0, c0, d0, 0);
        MIX(a1, b1, c1, d1, 1);
        MIX(a2, b2, c2, d2, 2);
        MIX(a3, b3, c3, d3, 3);
        MIX(a0, b1, c2, d3, 4);
        MIX(a1, b2, c3, d0, 5);
        MIX(a2, b3, c0, d1, 6);
        MIX(a3, b0, c1, d2, 7);
    }
    const uint64_t first[8] = {a0, a1, a2, a3, b0, b1, b2, b3}, second[8] = {c0, c1, c2, c3, d0, d1, d2, d3};
    for (int i = 0; i < 8; i++)
        h[i] ^= first[i] ^ second[i];
}

static void digest(const Draws *self, const uint8_t *message, size_t size, uint8_t *out)
{
    uint64_t h[8], count = BLOCK;
    memcpy(h, size ? self->state : self->start, sizeof h);
    if (!size)
        compress(h, self->key, BLOCK, 1);
    while (size) {
        uint8_t block[BLOCK] = {0};
        const size_t taken = size < BLOCK ? size : BLOCK;
        memcpy(block, message, taken);
        message += taken;
        size -= taken;
        count += taken;
        compress(h, block, count, !size);
    }
    for (int i = 0; i < DIGEST; i++)
        out[i] = (uint8_t)(h[i / 8] >> 8 * (i % 8));
}

static int draws_init(PyObject *object, PyObject *args, PyObject *options)
{
    Draws *self = (Draws *)object;
    static char *names[] = {"seed", NULL};
    Py_buffer seed;
    if (!PyArg_ParseTupleAndKeywords(args, options, "y*", names, &seed))
        return -1;
    const int fits = seed.len >= 1 && seed.len <= DIGEST;
    if (fits) {
        memset(self->key, 0, BLOCK);
        memcpy(self->key, seed.buf, (size_t)seed.len);
        memcpy(self->start, IV, sizeof IV);
        self->start[0] ^= 0x01010000u ^ (uint64_t)seed.len << 8 ^ DIGEST;
        memcpy(self->state, self->start, sizeof IV);
        compress(self->state, self->key, BLOCK, 0);
    } else
        PyErr_SetString(PyExc_ValueError, "a seed of 1 to 64 bytes is wanted");
    PyBuffer_Release(&seed);
    return fits ? 0 : -1;
}

/* A text as UTF-8, lone surrogates as well; behind `used` bytes of a buffer. -1 with an exception. */
typedef struct {
    uint8_t *at, first[256];
    size_t used, room;
} Message;

static int append(Message *message, const void *bytes, size_t size)
{
    if (message->used + size > message->room) {
        const size_t room = 2 * (message->used + size);
        uint8_t *grown = message->at == message->first ? malloc(room) : realloc(message->at, room);
        if (!grown) {
            PyErr_NoMemory();
            return -1;
        }
        if (message->at == message->first)
            memcpy(grown, message->first, message->used);
        message->at = grown;
        message->room = room;
    }
    memcpy(message->at + message->used, bytes, size);
    message->used += size;
    return 0;
}

static int append_text(Message *message, PyObject *text, int with_size)
{
    if (!PyUnicode_Check(text)) {
        PyErr_SetString(PyExc_TypeError, "a text is wanted");
        return -1;
    }
    PyObject *coded = NULL;
    const char *bytes;
    Py_ssize_t size = 0;
    if (PyUnicode_IS_ASCII(text)) {
        bytes = PyUnicode_DATA(text);
        size = PyUnicode_GET_LENGTH(text);
    } else {
        coded = PyUnicode_AsEncodedString(text, "utf-8", "surrogatepass");
        if (!coded)
            return -1;
        bytes = PyBytes_AS_STRING(coded);
        size = PyBytes_GET_SIZE(coded);
    }
    char head[24];
    const int length = with_size ? snprintf(head, sizeof head, "%lld:", (long long)size) : 0;
    const int failed = append(message, head, (size_t)length) || append(message, bytes, (size_t)size);
    Py_XDECREF(coded);
    return failed ? -1 : 0;
}

static void begin(Message *message)
{
    message->at = message->first;
    message->used = 0;
    message->room = sizeof message->first;
}

static void discard(Message *message)
{
    if (message->at != message->first)
        free(message->at);
}

/* number(*parts) -> the digest of the parts, each behind its length */
static PyObject *draws_number(PyObject *object, PyObject *const *parts, Py_ssize_t count)
{
    Message message;
    begin(&message);
    int failed = 0;
    for (Py_ssize_t i = 0; !failed && i < count; i++)
        failed = append_text(&message, parts[i], 1);
    uint8_t out[DIGEST];
    if (!failed)
        digest((Draws *)object, message.at, message.used, out);
    discard(&message);
    return failed ? NULL : PyBytes_FromStringAndSize((char *)out, DIGEST);
}

/* Draws for a shuffle: 32 numbers of 16 bits. */
static int draws_for(PyObject *object, const char *kind, size_t size, PyObject *what, unsigned *draw)
{
    Message message;
    begin(&message);
    const int failed = append(&message, kind, size) || append_text(&message, what, 0);
    uint8_t out[DIGEST];
    if (!failed)
        digest((Draws *)object, message.at, message.used, out);
    discard(&message);
    for (int i = 0; !failed && i < SHUFFLED; i++)
        draw[i] = (unsigned)out[2 * i] << 8 | out[2 * i + 1];
    return failed ? -1 : 0;
}

/* shuffle(what, items): a list of 32 items at most is brought into a keyed order */
static PyObject *draws_shuffle(PyObject *object, PyObject *const *args, Py_ssize_t count)
{
    unsigned draw[SHUFFLED];
    if (count != 2 || !PyList_CheckExact(args[1]) || PyList_GET_SIZE(args[1]) > SHUFFLED) {
        PyErr_SetString(PyExc_TypeError, "a text and a list of 32 items at most are wanted");
        return NULL;
    }
    if (draws_for(object, "shuffle", sizeof "shuffle", args[0], draw))
        return NULL;
    for (Py_ssize_t last = PyList_GET_SIZE(args[1]) - 1, i = 0; last > 0; last--, i++) {
        const Py_ssize_t place = draw[i] % (size_t)(last + 1);
        PyObject *moved = PyList_GET_ITEM(args[1], last);
        PyList_SET_ITEM(args[1], last, PyList_GET_ITEM(args[1], place));
        PyList_SET_ITEM(args[1], place, moved);
    }
    Py_RETURN_NONE;
}

static void swap(uint64_t *index, uint64_t last, unsigned draw)
{
    const uint64_t place = draw % (last + 1);
    if (*index == last)
        *index = place;
    else if (*index == place)
        *index = last;
}

static uint64_t remainder_of(const uint8_t *number, int bytes, uint64_t modulus)
{
    uint64_t rest = 0;
    for (int i = 0; i < bytes; i++)
        rest = (rest << 8 | number[i]) % modulus;
    return rest;
}

static uint64_t root_above(uint64_t size)
{
    uint64_t root = (uint64_t)sqrt((double)(size - 1));
    while (root * root > size - 1)
        root--;
    while ((root + 1) * (root + 1) <= size - 1)
        root++;
    return root + 1;
}

static int feistel(const Draws *self, Message *message, uint64_t *index, uint64_t size, int inverse)
{
    const uint64_t wide = root_above(size), high = (size + wide - 1) / wide;
    char tail[32];
    const int length = snprintf(tail, sizeof tail, "%c%llu%c", 0, (unsigned long long)size, 0);
    if (append(message, tail, (size_t)length))
        return -1;
    int width = 0;
    while (width < 8 && wide >> 8 * width)
        width++;
    const uint8_t room[9] = {0};
    const size_t before = message->used;
    if (append(message, room, (size_t)width + 1))
        return -1;
    do {
        uint64_t left = *index / high, right = *index % high;
        for (int i = 0; i < ROUNDS; i++) {
            const int step = inverse ? ROUNDS - 1 - i : i;
            const uint64_t seen = step & 1 ? left : right, modulus = step & 1 ? high : wide;
            uint8_t *to = message->at + before, out[DIGEST];
            to[0] = (uint8_t)step;
            for (int k = 0; k < width; k++)
                to[1 + k] = (uint8_t)(seen >> 8 * (width - 1 - k));
            digest(self, message->at, message->used, out);
            uint64_t value = remainder_of(out, width + 8, modulus);
            if (inverse && value)
                value = modulus - value;
            if (step & 1)
                right = (right + value) % high;
            else
                left = (left + value) % wide;
        }
        *index = left * high + right;
    } while (*index >= size);
    return 0;
}

/* permute(what, index, size, inverse) -> where a keyed permutation of range(size) sends index; size below 2**62 */
static PyObject *draws_permute(PyObject *object, PyObject *const *args, Py_ssize_t count)
{
    if (count != 4) {
        PyErr_SetString(PyExc_TypeError, "permute(what, index, size, inverse)");
        return NULL;
    }
    const long long given = PyLong_AsLongLong(args[1]), size = PyLong_AsLongLong(args[2]);
    const int inverse = PyObject_IsTrue(args[3]);
    if (PyErr_Occurred())
        return NULL;
    if (size < 1 || size >> MOST_BITS || given < 0 || given >= size) {
        PyErr_SetString(PyExc_ValueError, "no index of a set of less than 2**62");
        return NULL;
    }
    uint64_t index = (uint64_t)given;
    if (size <= SHUFFLED) {
        unsigned draw[SHUFFLED];
        if (draws_for(object, "order", sizeof "order", args[0], draw))
            return NULL;
        for (int i = 0; i < size - 1; i++) {
            const int turn = inverse ? (int)size - 2 - i : i;
            swap(&index, (uint64_t)size - 1 - (uint64_t)turn, draw[turn]);
        }
        return PyLong_FromUnsignedLongLong(index);
    }
    Message message;
    begin(&message);
    const int failed =
        append_text(&message, args[0], 0) || feistel((Draws *)object, &message, &index, (uint64_t)size, inverse);
    discard(&message);
    return failed ? NULL : PyLong_FromUnsignedLongLong(index);
}

/* Codes as numbers in mixed radix; the oracle is deid.replacement.identifiers.encipher. */

enum { CODE = 64 };

typedef struct {
    int count;                       /* letters and digits */
    uint64_t size, rank;
    char form[CODE + 1];             /* the first member of each one's alphabet */
    uint8_t place[CODE], radix[CODE]; /* where each stands in its alphabet, which has so many members */
} Code;

/* 1 when a text is ASCII with less than 64 letters and digits, one at least, of less than 2**62 arrangements. */
static int read_code(PyObject *text, Code *code)
{
    if (!PyUnicode_Check(text) || !PyUnicode_IS_ASCII(text))
        return 0;
    const uint8_t *at = PyUnicode_DATA(text);
    code->count = 0;
    code->size = 1;
    code->rank = 0;
    for (Py_ssize_t i = 0; i < PyUnicode_GET_LENGTH(text); i++) {
        const uint8_t c = at[i];
        const char first = c >= '0' && c <= '9' ? '0' : c >= 'a' && c <= 'z' ? 'a' : c >= 'A' && c <= 'Z' ? 'A' : 0;
        if (!first)
            continue;
        if (code->count == CODE - 1)
            return 0;
        code->form[code->count] = first;
        code->radix[code->count] = first == '0' ? 10 : 26;
        code->place[code->count++] = (uint8_t)(c - first);
    }
    code->form[code->count] = 0;
    if (code->count > 1 && code->form[0] == '0') { /* so that "0123" and "4123" never meet */
        code->form[0] = code->place[0] ? '1' : '0';
        code->radix[0] = code->place[0] ? 9 : 1;
        code->place[0] -= code->place[0] > 0;
    }
    for (int i = 0; i < code->count; i++) {
        if (code->size > ((uint64_t)1 << MOST_BITS) / code->radix[i])
            return 0;
        code->size *= code->radix[i];
        code->rank = code->rank * code->radix[i] + code->place[i];
    }
    return code->count > 0 && code->size < (uint64_t)1 << MOST_BITS;
}

/* arrangement(code) -> (form, rank, size) or None */
PyObject *py_arrangement(PyObject *self, PyObject *text)
{
    (void)self;
    Code code;
    if (!read_code(text, &code))
        Py_RETURN_NONE;
    return Py_BuildValue("sKK", code.form, (unsigned long long)code.rank, (unsigned long long)code.size);
}

/* arranged(code, rank) -> the code of the same form that has this rank */
PyObject *py_arranged(PyObject *self, PyObject *args)
{
    (void)self;
    PyObject *text;
    unsigned long long rank;
    Code code;
    if (!PyArg_ParseTuple(args, "UK", &text, &rank))
        return NULL;
    if (!read_code(text, &code) || rank >= code.size) {
        PyErr_SetString(PyExc_ValueError, "no code that has so many arrangements");
        return NULL;
    }
    const Py_ssize_t length = PyUnicode_GET_LENGTH(text);
    PyObject *result = PyUnicode_New(length, 127);
    if (!result)
        return NULL;
    const uint8_t *old = PyUnicode_DATA(text);
    uint8_t *new = PyUnicode_DATA(result);
    int i = code.count;
    for (Py_ssize_t at = length; at--;) {
        new[at] = old[at];
        if (Py_ISALNUM(old[at])) {
            i--;
            new[at] = (uint8_t)(code.form[i] + (char)(rank % code.radix[i]));
            rank /= code.radix[i];
        }
    }
    return result;
}

static PyMethodDef methods[] = {
    {"number", (PyCFunction)(void (*)(void))draws_number, METH_FASTCALL, "number(*parts) -> 64 bytes"},
    {"permute", (PyCFunction)(void (*)(void))draws_permute, METH_FASTCALL, "permute(what, index, size, inverse) -> place"},
    {"shuffle", (PyCFunction)(void (*)(void))draws_shuffle, METH_FASTCALL, "shuffle(what, list): in place"},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_init, draws_init},
    {Py_tp_new, PyType_GenericNew},
    {Py_tp_methods, methods},
    {Py_tp_doc, "Draws(seed): keyed numbers and permutations."},
    {0, NULL},
};

PyType_Spec draws_spec = {"deid._native.Draws", sizeof(Draws), 0, Py_TPFLAGS_DEFAULT, slots};
