/* Frozen labellers: all that a labeller's making takes time for, and the rows of the words that its model knows, as one
 * block of bytes. A labeller that is made from such a block points into it and never writes there, so that processes
 * that map the same file share its memory; what they meet beyond it is their own. A block is for the machine and the
 * build that wrote it; who hands it over has to see that it is whole (deid.base.cache does).
 */
#include "labeller.h"

#include <string.h>

enum { SECTIONS = 29, NAMES = 5, OF_NAMES = 2 * NAMES, NUMBERS = 3 * NAMES + 8 };

static const uint64_t MAGIC = UINT64_C(0x32656c6261746564); /* "detable2" */

typedef struct {
    uint64_t magic, layout;
    double scale;
    int64_t number[NUMBERS];
    int64_t size[SECTIONS]; /* of each section in bytes; each begins at a cache line */
} Head;

static uint64_t layout(void)
{
    return sizeof(Head) | (uint64_t)sizeof(Names) << 16 | (uint64_t)sizeof(Type) << 32 | (uint64_t)sizeof(void *) << 48;
}

static void sections_of_names(Names *names, void **at)
{
    at[0] = &names->slot;
    at[1] = &names->arena.at;
}

static Names *names_of(Labeller *self, int number)
{
    Names *names[NAMES] = {&self->attributes, &self->words, &self->old.types, &self->old.row_names, &self->bodies};
    return names[number];
}

/* The addresses of the pointers to what is frozen. */
static void sections_of(Labeller *self, void **at)
{
    for (int i = 0; i < NAMES; i++)
        sections_of_names(names_of(self, i), at + 2 * i);
    void *rest[SECTIONS - OF_NAMES] = {&self->weight_begin, &self->weight_label, &self->weight, &self->transition.at,
                                 &self->lag.at, &self->prior, &self->single, &self->list_attribute,
                                 &self->phrases.key, &self->phrases.child, &self->phrases.first_end,
                                 &self->phrases.end, &self->phrases.next_end, &self->old.type, &self->old.row,
                                 &self->old.rows, &self->body_last, &self->body_before, &self->body_side};
    memcpy(at + OF_NAMES, rest, sizeof rest);
}

static void sizes_of_names(const Names *names, int64_t *size)
{
    size[0] = names->slot ? ((int64_t)names->mask + 1) * (int64_t)sizeof *names->slot : 0;
    size[1] = names->arena.used;
}

static void sizes_of(Labeller *self, int64_t *size)
{
    const Trie *trie = &self->phrases;
    const int64_t cells = self->weight_begin[self->attributes.count], number = sizeof(int32_t),
                  edges = trie->key ? (int64_t)trie->mask + 1 : 0;
    for (int i = 0; i < NAMES; i++)
        sizes_of_names(names_of(self, i), size + 2 * i);
    const int64_t rest[SECTIONS - OF_NAMES] = {(self->attributes.count + 1) * number,
                                         cells * number,
                                         cells * (int64_t)sizeof(double),
                                         self->labels * self->stride * number,
                                         self->labels * self->stride * number,
                                         self->stride * (int64_t)sizeof(double),
                                         self->words.count * self->mask_words * (int64_t)sizeof(uint64_t),
                                         self->lists * self->offsets * number,
                                         edges * (int64_t)sizeof(uint64_t),
                                         edges * number,
                                         trie->key ? (trie->nodes + 1) * number : 0,
                                         trie->ends * number,
                                         trie->ends * number,
                                         self->old.types.count * (int64_t)sizeof(Type),
                                         (int64_t)self->old.types.count * self->offsets * number,
                                         self->old.row_count * self->stride * number,
                                         self->bodies.count * number,
                                         self->attributes.count * number,
                                         self->attributes.count * number};
    memcpy(size + OF_NAMES, rest, sizeof rest);
}

static void numbers_of(Labeller *self, int64_t *number)
{
    for (int i = 0; i < NAMES; i++) {
        const Names *names = names_of(self, i);
        number[3 * i] = names->count;
        number[3 * i + 1] = names->mask;
        number[3 * i + 2] = names->arena.used;
    }
    const int64_t rest[NUMBERS - 3 * NAMES] = {self->labels, self->offsets, self->lists, (int64_t)self->phrases.mask,
                                        self->phrases.edges, self->phrases.nodes, self->phrases.ends,
                                        self->old.row_count};
    memcpy(number + 3 * NAMES, rest, sizeof rest);
}

static int64_t lined_up(int64_t size)
{
    return (size + 63) / 64 * 64;
}

/* Return the bytes of a labeller and of all that it has met. */
PyObject *labeller_frozen(PyObject *object, PyObject *unused)
{
    (void)unused;
    Labeller *self = (Labeller *)object;
    if (!self->labels || self->exact || self->table.obj) {
        PyErr_SetString(PyExc_RuntimeError, "such a labeller cannot be frozen");
        return NULL;
    }
    Labeller whole = *self; /* as if all of it were old */
    whole.old.types = self->types;
    whole.old.row_names = self->row_names;
    whole.old.row_count = self->row_count;
    whole.old.type = self->type;
    whole.old.row = self->row;
    whole.old.rows = self->rows.at;
    Head head = {.magic = MAGIC, .layout = layout(), .scale = self->scale};
    void *at[SECTIONS];
    sections_of(&whole, at);
    sizes_of(&whole, head.size);
    numbers_of(&whole, head.number);
    int64_t size = lined_up(sizeof head);
    for (int i = 0; i < SECTIONS; i++)
        size += lined_up(head.size[i]);
    PyObject *made = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)size);
    if (!made)
        return NULL;
    char *to = PyBytes_AS_STRING(made);
    memset(to, 0, (size_t)size);
    memcpy(to, &head, sizeof head);
    to += lined_up(sizeof head);
    for (int i = 0; i < SECTIONS; i++) {
        if (head.size[i])
            memcpy(to, *(void **)at[i], (size_t)head.size[i]);
        to += lined_up(head.size[i]);
    }
    return made;
}

/* Point into a block that labeller_frozen has made; 0, or -1 with an exception. */
int labeller_thaw(Labeller *self, PyObject *table)
{
    if (PyObject_GetBuffer(table, &self->table, PyBUF_SIMPLE))
        return -1;
    Head head;
    int ok = self->table.len >= (Py_ssize_t)sizeof head && (uintptr_t)self->table.buf % 64 == 0;
    if (ok) {
        memcpy(&head, self->table.buf, sizeof head);
        const int64_t *rest = head.number + 3 * NAMES;
        ok = head.magic == MAGIC && head.layout == layout() && rest[0] == self->labels && rest[1] == self->offsets;
    }
    int64_t left = ok ? self->table.len - lined_up(sizeof head) : 0;
    for (int i = 0; ok && i < SECTIONS; i++) {
        ok = head.size[i] >= 0 && head.size[i] <= left;
        left -= ok ? lined_up(head.size[i]) : 0;
    }
    if (!ok || left != 0) {
        PyErr_SetString(PyExc_ValueError, "no table of this labeller");
        return -1;
    }
    void *at[SECTIONS];
    sections_of(self, at);
    char *from = (char *)self->table.buf + lined_up(sizeof head);
    for (int i = 0; i < SECTIONS; i++) {
        *(void **)at[i] = head.size[i] ? from : NULL;
        from += lined_up(head.size[i]);
    }
    self->scale = head.scale;
    const int64_t *number = head.number;
    for (int i = 0; i < NAMES; i++, number += 3) {
        Names *names = names_of(self, i);
        names->count = (int32_t)number[0];
        names->mask = (uint32_t)number[1];
        names->arena.used = (Py_ssize_t)number[2];
    }
    self->lists = (Py_ssize_t)number[2];
    self->mask_words = self->lists / 64 + 1;
    self->phrases.mask = (uint64_t)number[3];
    self->phrases.edges = (int32_t)number[4];
    self->phrases.nodes = (int32_t)number[5];
    self->phrases.ends = (int32_t)number[6];
    self->old.row_count = (Py_ssize_t)number[7];
    int64_t expected[SECTIONS];
    sizes_of(self, expected);
    if (memcmp(expected, head.size, sizeof expected)) {
        PyErr_SetString(PyExc_ValueError, "no table of this labeller");
        return -1;
    }
    if (self->exact) { /* its rows are others */
        self->old.types = self->old.row_names = (Names){0};
        self->old.row_count = 0;
        return 0;
    }
    const Py_ssize_t types = self->old.types.count;
    if (grow(&self->type, &self->type_room, types + 1, sizeof(Type)) ||
        grow(&self->seen, &self->seen_room, types + 1, sizeof(int32_t)) ||
        grow(&self->row, &self->row_ids_room, (types + 1) * self->offsets, sizeof(int32_t)))
        return -1;
    memcpy(self->type, self->old.type, (size_t)types * sizeof(Type));
    memcpy(self->row, self->old.row, (size_t)(types * self->offsets) * sizeof(int32_t));
    memset(self->seen, 0, (size_t)types * sizeof(int32_t));
    return 0;
}

/* Let go of the block, so that nothing in it is freed. */
void labeller_release(Labeller *self)
{
    void *at[SECTIONS];
    if (!self->table.obj)
        return;
    sections_of(self, at);
    for (int i = 0; i < SECTIONS; i++)
        *(void **)at[i] = NULL;
    PyBuffer_Release(&self->table);
}
