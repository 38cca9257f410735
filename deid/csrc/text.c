/* Characters, names, phrases and tokens.
 *
 * What a character is (letter, digit, its lower case) is asked of Python, a page of 256 characters at a time and only
 * once, so that these loops agree with the reference in every Unicode version.
 */
#include "text.h"

#include <stdlib.h>
#include <string.h>

int grow(void *pointer, Py_ssize_t *room, Py_ssize_t count, size_t size)
{
    void **array = pointer;
    if (count <= *room)
        return 0;
    Py_ssize_t wanted = *room < 16 ? 16 : *room + *room / 2;
    if (wanted < count)
        wanted = count;
    void *larger = (size_t)wanted > (size_t)PY_SSIZE_T_MAX / size ? NULL : realloc(*array, (size_t)wanted * size);
    if (!larger) {
        PyErr_NoMemory();
        return -1;
    }
    *array = larger;
    *room = wanted;
    return 0;
}

enum { LINE = 64 };

int lined_grow(Lined *lined, Py_ssize_t used, Py_ssize_t count, size_t size)
{
    if (count <= lined->room)
        return 0;
    Py_ssize_t wanted = lined->room + lined->room / 2;
    if (wanted < count)
        wanted = count;
    char *block = (size_t)wanted > ((size_t)PY_SSIZE_T_MAX - LINE) / size ? NULL : malloc((size_t)wanted * size + LINE);
    if (!block) {
        PyErr_NoMemory();
        return -1;
    }
    char *at = block + (LINE - (uintptr_t)block % LINE) % LINE;
    if (used)
        memcpy(at, lined->at, (size_t)used * size);
    free(lined->block);
    *lined = (Lined){at, block, wanted};
    return 0;
}

void lined_free(Lined *lined)
{
    free(lined->block);
    *lined = (Lined){0};
}

/* ---- characters ---------------------------------------------------------------------------------------------- */

static int load_page(Alphabet *alphabet, uint32_t number)
{
    PyObject *said = PyObject_CallFunction(alphabet->describe, "I", (unsigned)number);
    if (!said)
        return -1;
    int ok = PyBytes_Check(said) && PyBytes_GET_SIZE(said) == 256 * (Py_ssize_t)sizeof(Character);
    Character *page = ok ? malloc(256 * sizeof(Character)) : NULL;
    if (page) {
        memcpy(page, PyBytes_AS_STRING(said), 256 * sizeof(Character));
        alphabet->page[number] = page;
    } else if (ok) {
        PyErr_NoMemory();
    } else {
        PyErr_SetString(PyExc_ValueError, "a page of the alphabet has another size");
    }
    Py_DECREF(said);
    return page ? 0 : -1;
}

int alphabet_cover(Alphabet *alphabet, const uint32_t *text, Py_ssize_t size)
{
    for (Py_ssize_t i = 0; i < size; i++)
        if (!alphabet->page[text[i] >> 8] && load_page(alphabet, text[i] >> 8))
            return -1;
    return 0;
}

void alphabet_free(Alphabet *alphabet)
{
    for (int i = 0; i < 0x1100; i++)
        free(alphabet->page[i]);
    Py_CLEAR(alphabet->describe);
    Py_CLEAR(alphabet->fold);
}

/* ---- bytes --------------------------------------------------------------------------------------------------- */

int bytes_room(Bytes *bytes, Py_ssize_t more)
{
    return grow(&bytes->at, &bytes->room, bytes->used + more, 1);
}

int put(Bytes *bytes, const char *what, Py_ssize_t size)
{
    if (bytes_room(bytes, size))
        return -1;
    if (size)
        memcpy(bytes->at + bytes->used, what, (size_t)size);
    bytes->used += size;
    return 0;
}

int put_character(Bytes *bytes, uint32_t c)
{
    if (bytes->room - bytes->used < 4 && bytes_room(bytes, 4))
        return -1;
    char *to = bytes->at + bytes->used;
    if (c == 0)
        c = 0x2400;
    else if (c >= 0xD800 && c < 0xE000)
        c = '?';
    if (c < 0x80) {
        to[0] = (char)c;
        bytes->used += 1;
    } else if (c < 0x800) {
        to[0] = (char)(0xC0 | c >> 6);
        to[1] = (char)(0x80 | (c & 63));
        bytes->used += 2;
    } else if (c < 0x10000) {
        to[0] = (char)(0xE0 | c >> 12);
        to[1] = (char)(0x80 | (c >> 6 & 63));
        to[2] = (char)(0x80 | (c & 63));
        bytes->used += 3;
    } else {
        to[0] = (char)(0xF0 | c >> 18);
        to[1] = (char)(0x80 | (c >> 12 & 63));
        to[2] = (char)(0x80 | (c >> 6 & 63));
        to[3] = (char)(0x80 | (c & 63));
        bytes->used += 4;
    }
    return 0;
}

int put_characters(Bytes *bytes, const uint32_t *text, Py_ssize_t size)
{
    for (Py_ssize_t i = 0; i < size; i++)
        if (put_character(bytes, text[i]))
            return -1;
    return 0;
}

/* Append what a call of Python makes of a text; takes the reference to `made`. */
static int put_text(Bytes *bytes, PyObject *made)
{
    int failed = made == NULL || !PyUnicode_Check(made);
    for (Py_ssize_t i = 0; !failed && i < PyUnicode_GET_LENGTH(made); i++)
        failed = put_character(bytes, PyUnicode_READ_CHAR(made, i));
    Py_XDECREF(made);
    if (failed && !PyErr_Occurred())
        PyErr_SetString(PyExc_TypeError, "not a text");
    return failed ? -1 : 0;
}

int put_lower(Bytes *bytes, const Alphabet *alphabet, const uint32_t *text, Py_ssize_t size)
{
    Py_ssize_t before = bytes->used;
    for (Py_ssize_t i = 0; i < size; i++) {
        const Character *c = look(alphabet, text[i]);
        if (c->bits & ODD_LOWER) {
            bytes->used = before;
            PyObject *whole = PyUnicode_FromKindAndData(PyUnicode_4BYTE_KIND, text, size);
            PyObject *made = whole ? PyObject_CallMethod(whole, "lower", NULL) : NULL;
            Py_XDECREF(whole);
            return put_text(bytes, made);
        }
        if (put_character(bytes, c->lower))
            return -1;
    }
    return 0;
}

int put_folded(Bytes *bytes, const Alphabet *alphabet, const uint32_t *text, Py_ssize_t size)
{
    Py_ssize_t before = bytes->used;
    for (Py_ssize_t i = 0; i < size; i++) {
        const Character *c = look(alphabet, text[i]);
        if (c->bits & ODD_FOLD) {
            bytes->used = before;
            PyObject *whole = PyUnicode_FromKindAndData(PyUnicode_4BYTE_KIND, text, size);
            PyObject *made = whole ? PyObject_CallOneArg(alphabet->fold, whole) : NULL;
            Py_XDECREF(whole);
            return put_text(bytes, made);
        }
        if (c->fold != NOTHING_LEFT && put_character(bytes, c->fold))
            return -1;
    }
    return 0;
}

/* ---- names --------------------------------------------------------------------------------------------------- */

static uint64_t hash_of(const char *what, Py_ssize_t size)
{
    uint64_t h = 0x9E3779B97F4A7C15u ^ (uint64_t)size, word;
    for (; size >= 8; what += 8, size -= 8) {
        memcpy(&word, what, 8);
        h = (h ^ word) * 0xFF51AFD7ED558CCDu;
        h ^= h >> 32;
    }
    word = 0;
    if (size)
        memcpy(&word, what, (size_t)size);
    h = (h ^ word) * 0xC4CEB9FE1A85EC53u;
    return h ^ h >> 29;
}

typedef struct {
    int32_t number, size;
} Entry;

static const Entry *entry_of(const Names *names, uint64_t slot)
{
    return (const Entry *)(names->arena.at + 8 * ((size_t)(uint32_t)slot - 1));
}

static uint32_t probe(const Names *names, const char *what, Py_ssize_t size, uint32_t hash)
{
    uint32_t at = hash & names->mask;
    for (uint64_t slot; (slot = names->slot[at]); at = (at + 1) & names->mask) {
        if ((uint32_t)(slot >> 32) != hash)
            continue;
        const Entry *entry = entry_of(names, slot);
        if (entry->size == size && memcmp(entry + 1, what, (size_t)size) == 0)
            break;
    }
    return at;
}

int32_t names_find(const Names *names, const char *what, Py_ssize_t size)
{
    const uint64_t slot = names->slot ? names->slot[probe(names, what, size, (uint32_t)(hash_of(what, size) >> 32))] : 0;
    return slot ? entry_of(names, slot)->number : -1;
}

static int more_slots(Names *names)
{
    const uint32_t slots = names->slot ? 2 * (names->mask + 1) : 1024;
    uint64_t *slot = slots && slots < 0x40000000u ? calloc(slots, sizeof *slot) : NULL;
    if (!slot) {
        PyErr_NoMemory();
        return -1;
    }
    for (uint32_t old = 0; names->slot && old <= names->mask; old++) {
        uint32_t at = (uint32_t)(names->slot[old] >> 32) & (slots - 1);
        while (names->slot[old] && slot[at])
            at = (at + 1) & (slots - 1);
        if (names->slot[old])
            slot[at] = names->slot[old];
    }
    free(names->slot);
    names->slot = slot;
    names->mask = slots - 1;
    return 0;
}

int32_t names_add(Names *names, const char *what, Py_ssize_t size)
{
    if ((!names->slot || names->count >= (int32_t)(names->mask / 2)) && more_slots(names))
        return -1;
    const uint32_t hash = (uint32_t)(hash_of(what, size) >> 32), at = probe(names, what, size, hash);
    if (names->slot[at])
        return entry_of(names, names->slot[at])->number;
    static const char padding[8];
    const Entry entry = {names->count, (int32_t)size};
    const Py_ssize_t place = names->arena.used / 8, whole = (Py_ssize_t)sizeof entry + (size + 7) / 8 * 8;
    if (size > INT32_MAX - 8 || place > UINT32_MAX - 1 - whole / 8) {
        PyErr_NoMemory();
        return -1;
    }
    if (bytes_room(&names->arena, whole) || put(&names->arena, (const char *)&entry, sizeof entry) ||
        put(&names->arena, what, size) || put(&names->arena, padding, whole - (Py_ssize_t)sizeof entry - size))
        return -1;
    names->slot[at] = (uint64_t)hash << 32 | (uint32_t)(place + 1);
    return names->count++;
}

void names_clear(Names *names)
{
    if (names->slot)
        memset(names->slot, 0, ((size_t)names->mask + 1) * sizeof *names->slot);
    names->count = 0;
    names->arena.used = 0;
}

void names_free(Names *names)
{
    free(names->slot);
    free(names->arena.at);
    memset(names, 0, sizeof *names);
}

/* ---- phrases ------------------------------------------------------------------------------------------------- */

static uint64_t edge_place(const Trie *trie, uint64_t key)
{
    uint64_t at = (key * 0x9E3779B97F4A7C15u >> 20) & trie->mask;
    while (trie->key[at] && trie->key[at] != key)
        at = (at + 1) & trie->mask;
    return at;
}

int32_t trie_child(const Trie *trie, int32_t node, int32_t word)
{
    if (!trie->key)
        return -1;
    const uint64_t at = edge_place(trie, (uint64_t)node << 32 | (uint32_t)word);
    return trie->key[at] ? trie->child[at] : -1;
}

static int more_edges(Trie *trie)
{
    Trie larger = *trie;
    larger.mask = trie->key ? 2 * trie->mask + 1 : 1023;
    larger.key = calloc((size_t)larger.mask + 1, sizeof(uint64_t));
    larger.child = calloc((size_t)larger.mask + 1, sizeof(int32_t));
    if (!larger.key || !larger.child) {
        free(larger.key);
        free(larger.child);
        PyErr_NoMemory();
        return -1;
    }
    for (uint64_t i = 0; trie->key && i <= trie->mask; i++)
        if (trie->key[i]) {
            const uint64_t at = edge_place(&larger, trie->key[i]);
            larger.key[at] = trie->key[i];
            larger.child[at] = trie->child[i];
        }
    free(trie->key);
    free(trie->child);
    *trie = larger;
    return 0;
}

int32_t trie_grow(Trie *trie, int32_t node, int32_t word)
{
    if ((!trie->key || (uint64_t)trie->edges >= trie->mask / 2) && more_edges(trie))
        return -1;
    const uint64_t key = (uint64_t)node << 32 | (uint32_t)word, at = edge_place(trie, key);
    if (trie->key[at])
        return trie->child[at];
    Py_ssize_t room = trie->node_room;
    if (grow(&trie->first_end, &room, trie->nodes + 2, sizeof(int32_t)))
        return -1;
    trie->node_room = (int32_t)room;
    trie->nodes++; /* the root, node 0, has no ends */
    trie->first_end[trie->nodes] = -1;
    trie->key[at] = key;
    trie->child[at] = trie->nodes;
    trie->edges++;
    return trie->nodes;
}

int trie_end(Trie *trie, int32_t node, int32_t end)
{
    for (int32_t e = trie->first_end[node]; e >= 0; e = trie->next_end[e])
        if (trie->end[e] == end)
            return 0;
    Py_ssize_t room = trie->end_room, same = trie->end_room;
    if (grow(&trie->end, &room, trie->ends + 1, sizeof(int32_t)) ||
        grow(&trie->next_end, &same, trie->ends + 1, sizeof(int32_t)))
        return -1;
    trie->end_room = (int32_t)(room < same ? room : same);
    trie->end[trie->ends] = end;
    trie->next_end[trie->ends] = trie->first_end[node];
    trie->first_end[node] = trie->ends++;
    return 0;
}

void trie_free(Trie *trie)
{
    free(trie->key);
    free(trie->child);
    free(trie->first_end);
    free(trie->end);
    free(trie->next_end);
    memset(trie, 0, sizeof *trie);
}

/* ---- words by number ----------------------------------------------------------------------------------------- */

int numbered_of(PyObject *ids, Py_ssize_t count, Numbered *numbered)
{
    enum { MOST = 1 << 24 };
    *numbered = (Numbered){0, NULL, -1};
    if (ids == Py_None)
        return 0;
    const char *bytes;
    Py_ssize_t size;
    long long era;
    if (!PyTuple_Check(ids)) {
        PyErr_SetString(PyExc_TypeError, "an era and numbers are wanted");
        return -1;
    }
    if (!PyArg_ParseTuple(ids, "Ly#", &era, &bytes, &size))
        return -1;
    const int32_t *number = (const int32_t *)bytes;
    int ok = era > 0 && size == count * (Py_ssize_t)sizeof(int32_t);
    for (Py_ssize_t i = 0; ok && i < count; i++) {
        ok = number[i] >= 0 && number[i] < MOST;
        numbered->most = number[i] > numbered->most ? number[i] : numbered->most;
    }
    if (!ok) {
        PyErr_SetString(PyExc_ValueError, "one number a word is wanted");
        return -1;
    }
    numbered->era = era;
    numbered->number = number;
    return 0;
}

int remember(Remembered *remembered, const Numbered *numbered, size_t size)
{
    if (!numbered->number)
        return 0;
    const Py_ssize_t known = remembered->era == numbered->era ? remembered->room : 0;
    if (grow(&remembered->value, &remembered->room, numbered->most + 1, size))
        return -1;
    if (known < remembered->room)
        memset((char *)remembered->value + known * (Py_ssize_t)size, 0, (size_t)(remembered->room - known) * size);
    remembered->era = numbered->era;
    return 0;
}

/* ---- tokens -------------------------------------------------------------------------------------------------- */

Py_ssize_t token_end(const Alphabet *alphabet, int scheme, const uint32_t *text, Py_ssize_t start, Py_ssize_t size)
{
    const unsigned bits = look(alphabet, text[start])->bits;
    unsigned run;
    if (scheme == HIDE_TOKENS)
        run = bits & WORDLY;
    else
        run = bits & LETTER ? LETTER : bits & NUMERAL ? NUMERAL : bits & SPACE;
    Py_ssize_t end = start + 1;
    if (run)
        while (end < size && look(alphabet, text[end])->bits & run)
            end++;
    return end;
}

int64_t *offsets_of(PyObject *list, Py_ssize_t count)
{
    if (!PyList_Check(list) || PyList_GET_SIZE(list) != count) {
        PyErr_SetString(PyExc_ValueError, "offsets and words are of one length");
        return NULL;
    }
    int64_t *offset = malloc((size_t)(count + 1) * sizeof *offset);
    if (!offset)
        PyErr_NoMemory();
    for (Py_ssize_t i = 0; offset && i < count; i++) {
        offset[i] = PyLong_AsLongLong(PyList_GET_ITEM(list, i));
        if (offset[i] == -1 && PyErr_Occurred()) {
            free(offset);
            return NULL;
        }
    }
    return offset;
}
