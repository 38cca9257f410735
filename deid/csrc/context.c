/* Position features of the labeller: phrases of word lists, places in lines and chunks. */
#include "labeller.h"

#include <stdlib.h>
#include <string.h>

/* ---- lists --------------------------------------------------------------------------------------------------- */

/* Return the number of the word in the scratch, which has a mask of lists that it is an item of by itself; -1: failed. */
static int32_t add_word(Labeller *self)
{
    const int32_t before = self->words.count, word = names_add(&self->words, self->scratch.at, self->scratch.used);
    const Py_ssize_t size = self->mask_words;
    if (word < 0 || grow(&self->single, &self->single_room, (Py_ssize_t)self->words.count * size, sizeof(uint64_t)))
        return -1;
    if (word == before)
        memset(self->single + word * size, 0, (size_t)size * sizeof(uint64_t));
    return word;
}

static int add_phrase(Labeller *self, Py_ssize_t list, const uint32_t *t, Py_ssize_t n, int exception)
{
    int whole = 1;
    for (Py_ssize_t i = 0; i < n; i++)
        whole &= t[i] != ' ';
    if (whole && !exception) {
        self->scratch.used = 0;
        if (put_characters(&self->scratch, t, n))
            return -1;
        const int32_t word = add_word(self);
        if (word < 0)
            return -1;
        self->single[word * self->mask_words + list / 64] |= (uint64_t)1 << (list % 64);
    }
    int32_t node = 0;
    for (Py_ssize_t start = 0, end; start < n; start = end) {
        end = token_end(&self->alphabet, self->scheme, t, start, n);
        if (start == 0 && end == n)
            return 0;
        if (look(&self->alphabet, t[start])->bits & BLANK)
            continue;
        self->scratch.used = 0;
        if (put_folded(&self->scratch, &self->alphabet, t + start, end - start))
            return -1;
        const int32_t word = add_word(self);
        if (word < 0)
            return -1;
        node = trie_grow(&self->phrases, node, word + 1);
        if (node < 0)
            return -1;
    }
    return node ? trie_end(&self->phrases, node, (int32_t)(2 * list + exception)) : 0;
}

/* Add the phrases of a list, one a line. */
int labeller_add_list(Labeller *self, Py_ssize_t list, PyObject *items, int exception)
{
    const Py_ssize_t size = PyUnicode_GET_LENGTH(items);
    uint32_t *text = PyUnicode_AsUCS4Copy(items);
    int failed = !text || alphabet_cover(&self->alphabet, text, size);
    for (Py_ssize_t start = 0; !failed && start < size;) {
        Py_ssize_t end = start;
        while (end < size && text[end] != '\n')
            end++;
        failed = add_phrase(self, list, text + start, end - start, exception);
        start = end + 1;
    }
    PyMem_Free(text);
    return failed ? -1 : 0;
}

static int fire(Labeller *self, Py_ssize_t item, int32_t attribute)
{
    for (int32_t f = self->fired_head[item]; f >= 0; f = self->fired_next[f])
        if (self->fired_attribute[f] == attribute)
            return 0;
    if (grow(&self->fired_attribute, &self->fired_list_room, self->fired + 1, sizeof(int32_t)) ||
        grow(&self->fired_next, &self->fired_next_room, self->fired + 1, sizeof(int32_t)))
        return -1;
    self->fired_attribute[self->fired] = attribute;
    self->fired_next[self->fired] = self->fired_head[item];
    self->fired_head[item] = (int32_t)self->fired++;
    return 0;
}

/* Let the tokens from..to of a phrase fire, but those that the list has as single words. */
static int fire_phrase(Labeller *self, int32_t list, int32_t from, int32_t to, Py_ssize_t item)
{
    int zero = 0;
    while (self->offset[zero])
        zero++;
    const int32_t attribute = self->list_attribute[(Py_ssize_t)list * self->offsets + zero];
    for (; attribute >= 0 && item < self->items && self->item[item] <= to; item++) {
        if (self->item[item] < from)
            continue;
        const int32_t word = self->type[self->type_of[self->item[item]]].word;
        if (word >= 0 && self->single[word * self->mask_words + list / 64] >> (list % 64) & 1)
            continue;
        if (fire(self, item, attribute))
            return -1;
    }
    return 0;
}

/* Find phrases of several tokens as deid.reading.dictionaries.PhraseMatcher does. */
int labeller_phrases(Labeller *self)
{
    self->fired = 0;
    if (grow(&self->fired_head, &self->fired_room, self->items + 1, sizeof(int32_t)))
        return -1;
    memset(self->fired_head, 0xFF, (size_t)self->items * sizeof(int32_t));
    if (!self->phrases.edges)
        return 0;
    const Py_ssize_t ends = 2 * self->lists;
    Py_ssize_t *state = calloc((size_t)(3 * ends), sizeof(Py_ssize_t)), *longest = state, *shadow = state + ends,
               *next_free = shadow + ends;
    int32_t *touched = calloc((size_t)ends, sizeof(int32_t));
    int failed = !state || !touched;
    if (failed)
        PyErr_NoMemory();
    Py_ssize_t item = 0;
    for (Py_ssize_t first = 0; !failed && first < self->tokens; first++) {
        const Type *type = self->type + self->type_of[first];
        if (type->start < 0)
            continue;
        while (item < self->items && self->item[item] < first)
            item++;
        Py_ssize_t count = 0, breaks = 0;
        int32_t node = type->start;
        for (Py_ssize_t at = first + 1; at < self->tokens; at++) {
            const Type *next = self->type + self->type_of[at];
            if (next->blank) {
                breaks += next->newlines;
                continue;
            }
            if (breaks > 1 || next->word < 0 || (node = trie_child(&self->phrases, node, next->word + 1)) < 0)
                break;
            breaks = 0;
            for (int32_t e = self->phrases.first_end[node]; e >= 0; e = self->phrases.next_end[e]) {
                const int32_t end = self->phrases.end[e];
                if (!longest[end])
                    touched[count++] = end;
                longest[end] = at + 1;
            }
        }
        for (Py_ssize_t i = 0; i < count; i++)
            if (touched[i] & 1 && longest[touched[i]] > shadow[touched[i] >> 1])
                shadow[touched[i] >> 1] = longest[touched[i]];
        for (Py_ssize_t i = 0; i < count; i++) {
            const int32_t end = touched[i], list = end >> 1;
            const Py_ssize_t stop = longest[end];
            longest[end] = 0;
            if (end & 1 || first < next_free[list] || stop <= shadow[list] || failed)
                continue;
            next_free[list] = stop;
            failed = fire_phrase(self, list, (int32_t)first, (int32_t)(stop - 1), item);
        }
    }
    free(state);
    free(touched);
    return failed ? -1 : 0;
}

/* ---- position ------------------------------------------------------------------------------------------------ */

enum { LINE_PLACE, LINE_END, HEADER, CHUNK_SHAPE, CHUNK_FULL, CHUNK_PLACE };

static const int HEADER_TOKENS = 6, CHUNK_CHARACTERS = 20;

/* Return the attribute of what stands before a colon among the line's first tokens, -1: none, -2: error. */
static int32_t header_of(Labeller *self, const uint32_t *text, Py_ssize_t first, Py_ssize_t stop)
{
    Py_ssize_t colon = first;
    while (colon < stop && colon < first + HEADER_TOKENS) {
        const int32_t token = self->item[colon];
        if (self->start[token + 1] - self->start[token] == 1 && text[self->start[token]] == ':')
            break;
        colon++;
    }
    if (colon == stop || colon == first + HEADER_TOKENS || colon == first)
        return -1;
    self->body.used = 0; /* the words as characters, joined by blanks: lower case may depend on what stands beside */
    const uint32_t blank = ' ';
    for (Py_ssize_t i = first; i < colon; i++) {
        const int32_t token = self->item[i];
        if ((i > first && put(&self->body, (const char *)&blank, 4)) ||
            put(&self->body, (const char *)(text + self->start[token]), 4 * (self->start[token + 1] - self->start[token])))
            return -2;
    }
    self->scratch.used = 0;
    if (alphabet_cover(&self->alphabet, &blank, 1) || put(&self->scratch, "HD_", 3) ||
        put_lower(&self->scratch, &self->alphabet, (const uint32_t *)self->body.at, self->body.used / 4))
        return -2;
    return names_find(&self->attributes, self->scratch.at, self->scratch.used);
}

static int line(Labeller *self, const uint32_t *text, Py_ssize_t first, Py_ssize_t stop)
{
    const int32_t header = header_of(self, text, first, stop);
    if (header < -1)
        return -1;
    for (Py_ssize_t i = first; i < stop; i++) {
        int32_t *place = self->place + i * PLACES;
        const Py_ssize_t k = i - first;
        place[LINE_PLACE] = self->line_place[k < 3 ? k : k < 6 ? 3 : 4];
        place[LINE_END] = i == stop - 1 ? self->line_end : -1;
        place[HEADER] = header;
    }
    return 0;
}

static int is_edge(uint32_t c)
{
    return c == '.' || c == ',' || c == ';' || c == ':' || c == '(' || c == ')' || c == '[' || c == ']';
}

static int chunk(Labeller *self, const uint32_t *text, Py_ssize_t first, Py_ssize_t stop)
{
    Py_ssize_t start = self->start[self->item[first]], end = self->start[self->item[stop - 1] + 1];
    while (start < end && is_edge(text[start]))
        start++;
    while (end > start && is_edge(text[end - 1]))
        end--;
    int digit = 0;
    for (Py_ssize_t i = start; i < end && !digit; i++)
        digit = (look(&self->alphabet, text[i])->bits & DIGIT) != 0;
    int32_t found[2] = {-1, -1};
    for (int full = 0; full <= digit; full++) {
        self->scratch.used = 0;
        if (put(&self->scratch, full ? "CF_" : "CS_", 3) ||
            put_shape(&self->scratch, &self->alphabet, text + start, end - start, CHUNK_CHARACTERS, !full))
            return -1;
        found[full] = names_find(&self->attributes, self->scratch.at, self->scratch.used);
    }
    for (Py_ssize_t i = first; i < stop; i++) {
        int32_t *place = self->place + i * PLACES;
        place[CHUNK_SHAPE] = found[0];
        place[CHUNK_FULL] = found[1];
        place[CHUNK_PLACE] = self->chunk_place[i - first < 3 ? i - first : 3];
    }
    return 0;
}

/* Find the place features of all items (deid.features.position). */
int labeller_places(Labeller *self, const uint32_t *text)
{
    if (grow(&self->place, &self->place_room, self->items * PLACES + 1, sizeof(int32_t)))
        return -1;
    memset(self->place, 0xFF, (size_t)(self->items * PLACES) * sizeof(int32_t));
    Py_ssize_t line_first = 0, chunk_first = 0;
    for (Py_ssize_t i = 1; i <= self->items; i++) {
        int breaks = i == self->items;
        for (int32_t t = self->item[i - 1] + 1; !breaks && t < self->item[i]; t++)
            breaks = self->type[self->type_of[t]].newlines > 0;
        if (i == self->items || self->item[i] != self->item[i - 1] + 1) {
            if (i - chunk_first > 1 && chunk(self, text, chunk_first, i))
                return -1;
            chunk_first = i;
        }
        if (breaks) {
            if (line(self, text, line_first, i))
                return -1;
            line_first = i;
        }
    }
    return 0;
}
