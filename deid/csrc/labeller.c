/* The labeller: tokens, features, scores and the best path of a document in one call; how one is made is in model.c.
 *
 * Its oracle is the NumPy route of deid.labeling.decoder. Rows of scores are kept per token type and offset, in whole
 * numbers for the best path (walk.c) or in double precision for scores; they are built when a type is first met and
 * dropped when there are too many.
 */
#include "labeller.h"

#include <stdlib.h>
#include <string.h>

/* Return the number of the type of a token; those of short ones are found without comparing texts. */
static int32_t type_of(Labeller *self, const uint32_t *text, Py_ssize_t size)
{
    uint64_t letters = 0;
    uint32_t all = 0;
    if (size > 8)
        return labeller_type(self, text, size);
    for (Py_ssize_t i = 0; i < size; i++) {
        letters = letters << 8 | text[i];
        all |= text[i];
    }
    if (all > 0xFF)
        return labeller_type(self, text, size);
    Short *brief = self->brief + ((letters ^ (uint64_t)size) * 0x9E3779B97F4A7C15u >> (64 - BRIEF_BITS));
    if (brief->letters != letters || brief->size != size) {
        const int32_t type = labeller_type(self, text, size);
        if (type < 0)
            return -1;
        *brief = (Short){letters, type, (int32_t)size};
    }
    return brief->type;
}

static int read_tokens(Labeller *self, const uint32_t *text, Py_ssize_t size)
{
    for (Py_ssize_t t = 0; t < self->tokens; t++) /* of the document before */
        self->seen[self->type_of[t]] = 0;
    self->tokens = self->items = self->words_count = 0;
    if (self->types.count > self->most_types)
        labeller_forget(self);
    if (self->old.types.count + self->types.count == 0 && labeller_type(self, text, 0) < 0) /* type 0: beyond the document */
        return -1;
    for (Py_ssize_t at = 0; at < size;) {
        const Py_ssize_t end = token_end(&self->alphabet, self->scheme, text, at, size), token = self->tokens;
        if (grow(&self->type_of, &self->tokens_room, token + 1, sizeof(int32_t)) ||
            grow(&self->start, &self->starts_room, token + 2, sizeof(int64_t)))
            return -1;
        const int32_t type = type_of(self, text + at, end - at);
        if (type < 0)
            return -1;
        self->type_of[token] = type;
        self->start[token] = at;
        self->start[token + 1] = end;
        self->seen[type]++;
        self->tokens++;
        at = end;
    }
    const Py_ssize_t reach = self->reach;
    if (grow(&self->item, &self->items_room, self->tokens + 1, sizeof(int32_t)) ||
        grow(&self->rank, &self->rank_room, self->tokens + 1, sizeof(int32_t)) ||
        grow(&self->counted, &self->words_room, self->tokens + 1, sizeof(int32_t)) ||
        grow(&self->near, &self->near_room, self->tokens + 2 * reach + 1, sizeof(int32_t)))
        return -1;
    int32_t *near = self->near;
    for (Py_ssize_t i = 0; i < reach; i++)
        *near++ = 0;
    Py_ssize_t items = 0, words = 0;
    for (Py_ssize_t token = 0; token < self->tokens; token++) { /* written always, kept when it counts */
        const Type *type = self->type + self->type_of[token];
        self->rank[items] = (int32_t)words;
        self->item[items] = self->counted[words] = (int32_t)token;
        near[words] = self->type_of[token];
        items += self->spaces || !type->blank;
        words += type->counted;
    }
    for (Py_ssize_t i = 0; i < reach; i++)
        near[words + i] = 0;
    self->items = items;
    self->words_count = words;
    return 0;
}

/* score = prior + rows. */
WIDE static void add_rows(double *restrict score, const double *restrict prior, const double *restrict rows,
                          const int32_t *number, int count, Py_ssize_t stride)
{
    for (Py_ssize_t j = 0; j < stride; j++) {
        double sum = prior[j];
        for (int c = 0; c < count; c++)
            sum += rows[number[c] * stride + j];
        score[j] = sum;
    }
}

/* Write the label scores of an item in double precision. */
static void score_item(const Labeller *self, Py_ssize_t item, double *score)
{
    int32_t number[MAX_OFFSETS];
    const int32_t type = self->type_of[self->item[item]];
    for (int k = 0; k < self->offsets; k++) {
        const int offset = self->offset[k];
        const Py_ssize_t at = self->rank[item] + self->reach + offset - (offset > 0 && !self->type[type].counted);
        number[k] = self->row[(Py_ssize_t)(offset ? self->near[at] : type) * self->offsets + k];
    }
    add_rows(score, self->prior, self->exact_rows.at, number, self->offsets, self->stride);
    if (self->position == OCCURRENCE && self->occurrence >= 0)
        labeller_add_weights(self, score, self->occurrence, (double)self->seen[type] / (double)self->tokens);
    if (self->position == PLACE)
        for (int p = 0; p < PLACES; p++)
            if (self->place[item * PLACES + p] >= 0)
                labeller_add_weights(self, score, self->place[item * PLACES + p], 1.0);
    for (int32_t f = self->lists ? self->fired_head[item] : -1; f >= 0; f = self->fired_next[f])
        labeller_add_weights(self, score, self->fired_attribute[f], 1.0);
}

static PyObject *best_path(Labeller *self, int outside, double bias)
{
    PyObject *path = PyBytes_FromStringAndSize(NULL, self->items);
    if (path && labeller_best(self, (uint8_t *)PyBytes_AS_STRING(path), outside, bias))
        Py_CLEAR(path);
    return path;
}

static PyObject *all_scores(Labeller *self, int outside, double bias)
{
    const Py_ssize_t n = self->items, l = self->labels;
    if (!self->exact) {
        PyErr_SetString(PyExc_ValueError, "scores are asked of a labeller that is made exact");
        return NULL;
    }
    if (n > PY_SSIZE_T_MAX / l / 8)
        return PyErr_NoMemory();
    PyObject *scores = PyBytes_FromStringAndSize(NULL, n * l * (Py_ssize_t)sizeof(double));
    double *score = malloc((size_t)self->stride * sizeof(double));
    int failed = !scores || !score;
    if (failed && !PyErr_Occurred())
        PyErr_NoMemory();
    for (Py_ssize_t t = 0; !failed && t < n; t++) {
        if (t % AT_ONCE == 0 && (failed = labeller_ready(self, t, t + AT_ONCE < n ? t + AT_ONCE : n)))
            break;
        score_item(self, t, score);
        if (outside >= 0)
            score[outside] -= bias;
        memcpy(PyBytes_AS_STRING(scores) + t * l * (Py_ssize_t)sizeof(double), score, (size_t)l * sizeof(double));
    }
    free(score);
    if (failed)
        Py_CLEAR(scores);
    return scores;
}

/* Offsets of the items: starts, or ends. */
static PyObject *borders(const Labeller *self, int side)
{
    PyObject *made = PyBytes_FromStringAndSize(NULL, self->items * (Py_ssize_t)sizeof(int64_t));
    for (Py_ssize_t i = 0; made && i < self->items; i++)
        ((int64_t *)PyBytes_AS_STRING(made))[i] = self->start[self->item[i] + side];
    return made;
}

/* Read a text; 0, or -1 with an exception. */
static int read_text(Labeller *self, PyObject *string, int outside)
{
    const Py_ssize_t size = PyUnicode_GET_LENGTH(string);
    Py_CLEAR(self->walked);
    if (outside >= self->labels || size >= INT32_MAX) {
        PyErr_SetString(PyExc_ValueError, "no such label, or the text is too long");
        return -1;
    }
    if (!self->labels) {
        PyErr_SetString(PyExc_RuntimeError, "the labeller is not ready");
        return -1;
    }
    if (grow(&self->text, &self->text_room, size + 1, sizeof(uint32_t)) ||
        !PyUnicode_AsUCS4(string, self->text, size + 1, 1))
        return -1;
    if (alphabet_cover(&self->alphabet, self->text, size) || read_tokens(self, self->text, size) ||
        (self->position == PLACE && labeller_places(self, self->text)) || (self->lists && labeller_phrases(self))) {
        labeller_forget(self); /* whatever is half built */
        return -1;
    }
    return 0;
}

int labeller_walk(Labeller *self, PyObject *string, int outside, double bias)
{
    if (self->walked == string && self->walked_outside == outside && self->walked_bias == bias)
        return 0;
    if (read_text(self, string, outside))
        return -1;
    if (grow(&self->path, &self->path_room, self->items + 1, 1) || labeller_best(self, self->path, outside, bias)) {
        labeller_forget(self);
        return -1;
    }
    self->walked = Py_NewRef(string);
    self->walked_outside = outside;
    self->walked_bias = bias;
    return 0;
}

typedef PyObject *(*Route)(Labeller *, int, double);

static PyObject *work(Labeller *self, PyObject *args, Route route)
{
    PyObject *string;
    int outside;
    double bias;
    if (!PyArg_ParseTuple(args, "Uid", &string, &outside, &bias) || read_text(self, string, outside))
        return NULL;
    PyObject *found = route(self, outside, bias), *starts = NULL, *ends = NULL, *result = NULL;
    if (!found)
        labeller_forget(self);
    starts = found ? borders(self, 0) : NULL;
    ends = starts ? borders(self, 1) : NULL;
    if (ends)
        result = PyTuple_Pack(3, found, starts, ends);
    Py_XDECREF(found);
    Py_XDECREF(starts);
    Py_XDECREF(ends);
    return result;
}

enum { OPENS = 1, CONTINUES = 2, CLOSES = 4 };

/* Append the span of the items first..stop, unless it is white space; 0, or -1 with an exception. */
static int add_span(const Labeller *self, PyObject *found, Py_ssize_t first, Py_ssize_t stop, int group)
{
    const int64_t start = self->start[self->item[first]], end = self->start[self->item[stop - 1] + 1];
    int64_t at = start;
    while (at < end && look(&self->alphabet, self->text[at])->bits & BLANK)
        at++;
    if (at == end)
        return 0;
    PyObject *span = Py_BuildValue("LLi", (long long)start, (long long)end, group);
    const int failed = !span || PyList_Append(found, span);
    Py_XDECREF(span);
    return failed ? -1 : 0;
}

/* Join labels to spans as deid.labeling.schemes.labels_to_spans does. */
static int add_spans(const Labeller *self, PyObject *found, const uint8_t *path, const uint8_t *kind,
                     const uint8_t *group)
{
    Py_ssize_t open = -1;
    for (Py_ssize_t i = 0; i < self->items; i++) {
        const int is = kind[path[i]];
        if (open >= 0 && (!is || is & OPENS || group[path[i]] != group[path[open]])) {
            if (add_span(self, found, open, i, group[path[open]]))
                return -1;
            open = -1;
        }
        if (is && open < 0)
            open = i;
        if (is & CLOSES) {
            if (add_span(self, found, open, i + 1, group[path[open]]))
                return -1;
            open = -1;
        }
    }
    return open >= 0 ? add_span(self, found, open, self->items, group[path[open]]) : 0;
}

static PyObject *labeller_spans(PyObject *object, PyObject *args)
{
    Labeller *self = (Labeller *)object;
    PyObject *string, *found = NULL;
    int outside;
    double bias;
    Py_buffer kind, group;
    if (!PyArg_ParseTuple(args, "Uidy*y*", &string, &outside, &bias, &kind, &group))
        return NULL;
    if (kind.len != self->labels || group.len != self->labels)
        PyErr_SetString(PyExc_ValueError, "each label needs a kind and a group");
    else if (!labeller_walk(self, string, outside, bias)) {
        found = PyList_New(0);
        if (found && add_spans(self, found, self->path, kind.buf, group.buf))
            Py_CLEAR(found);
    }
    PyBuffer_Release(&kind);
    PyBuffer_Release(&group);
    return found;
}

static PyObject *labeller_path(PyObject *self, PyObject *args)
{
    return work((Labeller *)self, args, best_path);
}

static PyObject *labeller_scores(PyObject *self, PyObject *args)
{
    return work((Labeller *)self, args, all_scores);
}

static PyObject *labeller_kept(PyObject *object, PyObject *unused)
{
    (void)unused;
    const Labeller *self = (const Labeller *)object;
    return Py_BuildValue("nn", (Py_ssize_t)self->types.count, self->row_count);
}

static PyMethodDef methods[] = {
    {"path", labeller_path, METH_VARARGS,
     "path(text, outside, bias) -> (labels, starts, ends): the best label ids of the items, one byte each, and where "
     "the items lie (64-bit integers)"},
    {"scores", labeller_scores, METH_VARARGS, "scores(text, outside, bias) -> (doubles, starts, ends): label scores"},
    {"spans", labeller_spans, METH_VARARGS,
     "spans(text, outside, bias, kinds, groups) -> [(start, end, group)]: what the best labels say is marked; kinds, a "
     "byte a label: 1 opens, 2 continues, 4 closes, 0 is outside"},
    {"chances", labeller_chances, METH_VARARGS,
     "chances(text, outside, bias, places) -> [probability]: the least one of the best labels of each place (start, end); "
     "None where scores lie too far apart"},
    {"frozen", labeller_frozen, METH_NOARGS,
     "frozen() -> bytes: the labeller and all that it has met, for the argument `table` of another one of the same model"},
    {"kept", labeller_kept, METH_NOARGS, "kept() -> (types, rows): what is held between documents"},
    {NULL, NULL, 0, NULL}};

static PyType_Slot slots[] = {{Py_tp_doc, "Labels documents; see deid.labeling.decoder."},
                              {Py_tp_new, PyType_GenericNew},
                              {Py_tp_init, labeller_init},
                              {Py_tp_dealloc, labeller_dealloc},
                              {Py_tp_methods, methods},
                              {0, NULL}};

PyType_Spec labeller_spec = {"deid._native.Labeller", sizeof(Labeller), 0, Py_TPFLAGS_DEFAULT, slots};
