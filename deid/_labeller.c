/* The labeller: tokens, features, scores and the best path of a document in one call.
 *
 * Its oracle is the NumPy route of deid.labeling.decoder. Rows of scores are kept per token type and offset, in whole
 * numbers for the best path (_walk.c) or in double precision for scores; they are built when a type is first met and
 * dropped when there are too many.
 */
#include "_labeller.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- a document ---------------------------------------------------------------------------------------------- */

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
    else if (!read_text(self, string, outside)) {
        found = PyList_New(0);
        if (!found || grow(&self->path, &self->path_room, self->items + 1, 1) ||
            labeller_best(self, self->path, outside, bias)) {
            Py_CLEAR(found);
            labeller_forget(self);
        } else if (add_spans(self, found, self->path, kind.buf, group.buf))
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

/* ---- making one ---------------------------------------------------------------------------------------------- */

/* Copy a buffer of `count` things of `size` bytes; NULL with an exception when it has another size. */
static void *copied(PyObject *from, Py_ssize_t count, size_t size)
{
    Py_buffer view;
    if (PyObject_GetBuffer(from, &view, PyBUF_C_CONTIGUOUS))
        return NULL;
    void *made = NULL;
    if (view.len != count * (Py_ssize_t)size)
        PyErr_SetString(PyExc_ValueError, "arrays do not have the sizes announced");
    else if (!(made = malloc((size_t)view.len + 1)))
        PyErr_NoMemory();
    else
        memcpy(made, view.buf, (size_t)view.len);
    PyBuffer_Release(&view);
    return made;
}

static int32_t known(const Labeller *self, const char *name)
{
    return names_find(&self->attributes, name, (Py_ssize_t)strlen(name));
}

static int read_attributes(Labeller *self, PyObject *list)
{
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); i++) {
        Py_ssize_t size;
        const char *name = PyUnicode_AsUTF8AndSize(PyList_GET_ITEM(list, i), &size);
        if (!name || names_add(&self->attributes, name, size) < 0)
            return -1;
        if (self->attributes.count != i + 1) {
            PyErr_SetString(PyExc_ValueError, "an attribute is named twice");
            return -1;
        }
    }
    return 0;
}

/* How many attributes an item can have at most. */
static Py_ssize_t most_attributes(const Labeller *self)
{
    Py_ssize_t count = PLACES + self->lists + self->offsets;
    for (Py_ssize_t f = 0; f < self->families; f++) {
        const Family *family = self->family + f;
        const Py_ssize_t each[FAMILIES] = {MOST_PATTERNS, 2, 2 * (family->arguments[0] - family->arguments[1] + 1), 1,
                                           1, self->lists};
        for (int k = 0; k < self->offsets; k++)
            count += family->seen[k] && each[family->family] > 0 ? each[family->family] : 0;
    }
    return count;
}

/* Choose the power of two by which scores are multiplied before they are rounded to whole numbers: as large as can be
 * when the largest weights, as many as an item has attributes, stay below 2^29 together, and transitions below 2^27.
 * Differences of labels then stay below 2^31. */
static int measure_scale(Labeller *self, const double *moves)
{
    enum { LEAST = -60, EXPONENTS = DBL_MAX_EXP - LEAST + 1 };
    const Py_ssize_t cells = self->weight_begin[self->attributes.count];
    Py_ssize_t most = most_attributes(self);
    Py_ssize_t *count = calloc(EXPONENTS, sizeof(Py_ssize_t)); /* of weights, by the power of two above them */
    if (!count) {
        PyErr_NoMemory();
        return -1;
    }
    int bits;
    for (Py_ssize_t k = 0; k < cells; k++)
        if (fabs(self->weight[k]) <= DBL_MAX) {
            frexp(self->weight[k], &bits);
            count[bits < LEAST ? 0 : bits - LEAST]++;
        }
    double widest = 1.0, move = 1.0;
    for (Py_ssize_t j = 0; j < self->labels; j++)
        if (fabs(self->prior[j]) <= DBL_MAX && fabs(self->prior[j]) > widest)
            widest = fabs(self->prior[j]);
    for (int e = EXPONENTS - 1; e >= 0 && most > 0; e--) {
        const Py_ssize_t taken = count[e] < most ? count[e] : most;
        widest += (double)taken * ldexp(1.0, e + LEAST < DBL_MAX_EXP ? e + LEAST : DBL_MAX_EXP - 1);
        most -= taken;
    }
    free(count);
    for (Py_ssize_t k = 0; k < self->labels * self->labels; k++)
        if (fabs(moves[k]) <= DBL_MAX && fabs(moves[k]) > move)
            move = fabs(moves[k]);
    frexp(widest <= DBL_MAX ? widest : DBL_MAX, &bits);
    self->scale = ldexp(1.0, 29 - bits);
    frexp(move, &bits);
    if (ldexp(1.0, 27 - bits) < self->scale)
        self->scale = ldexp(1.0, 27 - bits);
    return 0;
}

/* Round a score to a whole number, `most` at most; this is also what no number becomes. */
int32_t labeller_whole(const Labeller *self, double score, int32_t most)
{
    score *= self->scale;
    score = score < most ? score : most;
    score = score > -most ? score : -most;
    return (int32_t)(score + (score < 0.0 ? -0.5 : 0.5));
}

WIDE void labeller_round(const Labeller *self, const double *restrict score, int32_t *restrict out)
{
    const double scale = self->scale, most = 1 << 29;
    for (Py_ssize_t j = 0; j < self->stride; j++) {
        double x = score[j] * scale; /* what is not below the bound comes of weights that are not finite */
        x = fabs(x) <= most ? x : 0.0;
        out[j] = (int32_t)(x + (x < 0.0 ? -0.5 : 0.5));
    }
}

/* lag[x][y] = min over targets z of transition[x][z] - transition[y][z]; what pads never stays. */
static void measure_lags(const int32_t *transition, int32_t *lag, Py_ssize_t l, Py_ssize_t stride)
{
    for (Py_ssize_t x = 0; x < l; x++)
        for (Py_ssize_t y = 0; y < stride; y++) {
            int32_t least = 1 << 30;
            for (Py_ssize_t z = 0; y < l && z < l; z++) {
                const int32_t apart = transition[x * stride + z] - transition[y * stride + z];
                least = apart < least ? apart : least;
            }
            lag[x * stride + y] = least;
        }
}

static int read_weights(Labeller *self, PyObject *begin, PyObject *label, PyObject *weight, PyObject *transition,
                        PyObject *prior)
{
    const Py_ssize_t rows = self->attributes.count, l = self->labels, stride = self->stride;
    Py_ssize_t cells = -1;
    if (!(self->weight_begin = copied(begin, rows + 1, sizeof(int32_t))))
        return -1;
    int ok = self->weight_begin[0] == 0;
    for (Py_ssize_t i = 0; ok && i < rows; i++)
        ok = self->weight_begin[i] <= self->weight_begin[i + 1];
    cells = self->weight_begin[rows];
    if (ok && (!(self->weight_label = copied(label, cells, sizeof(int32_t))) ||
               !(self->weight = copied(weight, cells, sizeof(double)))))
        return -1;
    for (Py_ssize_t k = 0; ok && k < cells; k++)
        ok = self->weight_label[k] >= 0 && self->weight_label[k] < l;
    if (!ok) {
        PyErr_SetString(PyExc_ValueError, "an index lies outside its array");
        return -1;
    }
    double *moves = copied(transition, l * l, sizeof(double)), *start = copied(prior, l, sizeof(double));
    self->prior = calloc((size_t)stride, sizeof(double));
    ok = moves && start && self->prior && !lined_grow(&self->transition, 0, l * stride, sizeof(int32_t)) &&
         !lined_grow(&self->lag, 0, l * stride, sizeof(int32_t));
    if (ok) {
        memcpy(self->prior, start, (size_t)l * sizeof(double));
        ok = measure_scale(self, moves) == 0;
    }
    for (Py_ssize_t i = 0; ok && i < l; i++)
        for (Py_ssize_t j = 0; j < stride; j++) /* what pads repeats label 0, and is never left */
            ((int32_t *)self->transition.at)[i * stride + j] =
                labeller_whole(self, moves[i * l + (j < l ? j : 0)], 1 << 27);
    if (ok)
        measure_lags(self->transition.at, self->lag.at, l, stride);
    free(moves);
    free(start);
    if (!ok && !PyErr_Occurred())
        PyErr_NoMemory();
    return ok ? 0 : -1;
}

/* Make room for what is always a labeller's own. */
static int make_room(Labeller *self)
{
    self->sum = malloc((size_t)self->stride * sizeof(double));
    self->single_row = malloc(((size_t)self->attributes.count + 1) * sizeof(int32_t));
    self->brief = calloc((size_t)1 << BRIEF_BITS, sizeof(Short));
    if (!self->sum || !self->single_row || !self->brief) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t i = 0; i < self->attributes.count; i++)
        self->single_row[i] = NOT_BUILT;
    return lined_grow(&self->walk, 0, 5 * self->stride, sizeof(int32_t)) || bytes_room(&self->row_name, 1) ? -1 : 0;
}

/* A family: (number, arguments, {offset: prefix}). */
static int read_family(Labeller *self, Family *family, PyObject *said)
{
    PyObject *seen;
    if (!PyArg_ParseTuple(said, "i(iii)O!", &family->family, family->arguments, family->arguments + 1,
                          family->arguments + 2, &PyDict_Type, &seen))
        return -1;
    int ok = family->family >= 0 && family->family < FAMILIES;
    if (family->family == AFFIX)
        ok = family->arguments[0] < 10 && family->arguments[1] > 0;
    for (int k = 0; k < self->offsets; k++) {
        PyObject *offset = PyLong_FromLong(self->offset[k]), *prefix = offset ? PyDict_GetItem(seen, offset) : NULL;
        Py_XDECREF(offset);
        if (!prefix)
            continue;
        Py_ssize_t size;
        const char *bytes = PyUnicode_AsUTF8AndSize(prefix, &size);
        if (!bytes)
            return -1;
        if (size > MAX_PREFIX) {
            ok = 0;
            break;
        }
        family->seen[k] = 1;
        family->prefix_size[k] = (int)size;
        memcpy(family->prefix[k], bytes, (size_t)size);
    }
    if (!ok)
        PyErr_SetString(PyExc_ValueError, "no such family of features");
    return ok ? 0 : -1;
}

static int read_features(Labeller *self, PyObject *offsets, PyObject *families, PyObject *edges)
{
    const Py_ssize_t count = PyTuple_GET_SIZE(offsets);
    self->families = PyTuple_GET_SIZE(families);
    if (count < 1 || count > MAX_OFFSETS || self->families > FAMILIES + 2 || PyTuple_GET_SIZE(edges) != count) {
        PyErr_SetString(PyExc_ValueError, "too many offsets or families");
        return -1;
    }
    self->offsets = (int)count;
    int zero = 0, sorted = 1;
    for (Py_ssize_t k = 0; k < count; k++) {
        self->offset[k] = (int)PyLong_AsLong(PyTuple_GET_ITEM(offsets, k));
        if (self->offset[k] == 0) {
            zero = 1;
            self->zero = (int)k;
        }
        sorted &= k == 0 || self->offset[k - 1] < self->offset[k];
        const int away = self->offset[k] < 0 ? -self->offset[k] : self->offset[k];
        sorted &= self->offset[k] > -FARTHEST && self->offset[k] < FARTHEST;
        self->reach = away > self->reach ? away : self->reach;
        const char *edge = PyUnicode_AsUTF8(PyTuple_GET_ITEM(edges, k));
        if (!edge || PyErr_Occurred())
            return -1;
        self->edge[k] = *edge ? known(self, edge) : -1;
    }
    self->family = calloc((size_t)self->families + 1, sizeof(Family));
    if (!zero || !sorted || !self->family) {
        PyErr_SetString(PyExc_ValueError, "offset 0 is missing, or offsets are not in order");
        return -1;
    }
    for (Py_ssize_t f = 0; f < self->families; f++)
        if (read_family(self, self->family + f, PyTuple_GET_ITEM(families, f)))
            return -1;
    self->occurrence = known(self, "OCC");
    self->line_end = known(self, "LE");
    static const char *places[] = {"LP_0", "LP_1", "LP_2", "LP_3", "LP_6"}, *chunks[] = {"CP_0", "CP_1", "CP_2", "CP_3"};
    for (int i = 0; i < 5; i++)
        self->line_place[i] = known(self, places[i]);
    for (int i = 0; i < 4; i++)
        self->chunk_place[i] = known(self, chunks[i]);
    return 0;
}

/* Lists: (items, exceptions, attribute at each offset, "" where none). */
static int read_lists(Labeller *self, PyObject *lists)
{
    self->lists = PyTuple_GET_SIZE(lists);
    self->mask_words = self->lists / 64 + 1;
    self->list_attribute = malloc((size_t)(self->lists * self->offsets + 1) * sizeof(int32_t));
    if (!self->list_attribute) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t list = 0; list < self->lists; list++) {
        PyObject *items, *exceptions, *names;
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(lists, list), "UUO!", &items, &exceptions, &PyTuple_Type, &names))
            return -1;
        if (PyTuple_GET_SIZE(names) != self->offsets) {
            PyErr_SetString(PyExc_ValueError, "a list needs a name for each offset");
            return -1;
        }
        for (int k = 0; k < self->offsets; k++) {
            const char *name = PyUnicode_AsUTF8(PyTuple_GET_ITEM(names, k));
            if (!name)
                return -1;
            self->list_attribute[list * self->offsets + k] = *name ? known(self, name) : -1;
        }
        if (labeller_add_list(self, list, items, 0) || labeller_add_list(self, list, exceptions, 1))
            return -1;
    }
    return 0;
}

static int labeller_init(PyObject *object, PyObject *args, PyObject *named)
{
    Labeller *self = (Labeller *)object;
    PyObject *attributes, *begin, *label, *weight, *transition, *prior, *offsets, *families, *edges, *lists, *describe,
        *fold;
    PyObject *table = Py_None;
    Py_ssize_t labels;
    static char *names[] = {"labels", "attributes", "begin", "label", "weight", "transition", "prior", "offsets",
                            "families", "edges", "lists", "describe", "fold", "scheme", "spaces", "skip_signs",
                            "position", "exact", "most_types", "most_rows", "table", NULL};
    if (self->labels) {
        PyErr_SetString(PyExc_RuntimeError, "made already");
        return -1;
    }
    if (!PyArg_ParseTupleAndKeywords(
            args, named, "nO!OOOOOO!O!O!O!OOippipnn|O", names, &labels, &PyList_Type, &attributes, &begin, &label, &weight,
            &transition, &prior, &PyTuple_Type, &offsets, &PyTuple_Type, &families, &PyTuple_Type, &edges,
            &PyTuple_Type, &lists, &describe, &fold, &self->scheme, &self->spaces, &self->skip_signs, &self->position,
            &self->exact, &self->most_types, &self->most_rows, &table))
        return -1;
    if (labels < 1 || labels > LARGEST_LABELS || self->scheme < DEFAULT_TOKENS || self->scheme > HIDE_TOKENS ||
        self->position < NO_POSITION || self->position > PLACE || self->most_types < 1 ||
        self->alphabet.describe) {
        PyErr_SetString(PyExc_ValueError, "a number is outside its range");
        return -1;
    }
    self->alphabet.describe = Py_NewRef(describe);
    self->alphabet.fold = Py_NewRef(fold);
    self->stride = (labels + BLOCK - 1) / BLOCK * BLOCK;
    self->labels = labels;
    const uint32_t blank = ' ';
    self->offsets = (int)PyTuple_GET_SIZE(offsets);
    int failed = alphabet_cover(&self->alphabet, &blank, 1);
    if (!failed && table != Py_None)
        failed = labeller_thaw(self, table) || read_features(self, offsets, families, edges);
    else if (!failed)
        failed = read_attributes(self, attributes) || read_features(self, offsets, families, edges) ||
                 read_lists(self, lists) || read_weights(self, begin, label, weight, transition, prior);
    failed = failed || make_room(self);
    if (!failed && self->most_rows < labeller_rows_at_once(self)) {
        PyErr_SetString(PyExc_ValueError, "a number is outside its range");
        failed = 1;
    }
    if (failed)
        self->labels = 0; /* not ready */
    return failed ? -1 : 0;
}

static void labeller_dealloc(PyObject *object)
{
    Labeller *self = (Labeller *)object;
    PyTypeObject *type = Py_TYPE(object);
    alphabet_free(&self->alphabet);
    labeller_release(self);
    names_free(&self->attributes);
    names_free(&self->words);
    names_free(&self->types);
    names_free(&self->row_names);
    trie_free(&self->phrases);
    void *owned[] = {self->weight_begin, self->weight_label, self->weight, self->prior,
                     self->family, self->single, self->list_attribute, self->type, self->row, self->sum,
                     self->scratch.at, self->body.at, self->type_of, self->start,
                     self->row_name.at, self->item, self->counted, self->place, self->fired_head, self->fired_next,
                     self->fired_attribute, self->rank, self->brief, self->seen, self->single_row, self->text,
                     self->near, self->often, self->path, self->alive, self->alive_from};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++)
        free(owned[i]);
    Lined *lined[] = {&self->rows, &self->exact_rows, &self->single_rows, &self->often_rows, &self->walk,
                       &self->transition, &self->lag};
    for (size_t i = 0; i < sizeof lined / sizeof *lined; i++)
        lined_free(lined[i]);
    PyObject_Free(object);
    Py_DECREF(type);
}

static PyMethodDef methods[] = {
    {"path", labeller_path, METH_VARARGS,
     "path(text, outside, bias) -> (labels, starts, ends): the best label ids of the items, one byte each, and where "
     "the items lie (64-bit integers)"},
    {"scores", labeller_scores, METH_VARARGS, "scores(text, outside, bias) -> (doubles, starts, ends): label scores"},
    {"spans", labeller_spans, METH_VARARGS,
     "spans(text, outside, bias, kinds, groups) -> [(start, end, group)]: what the best labels say is marked; kinds, a "
     "byte a label: 1 opens, 2 continues, 4 closes, 0 is outside"},
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
