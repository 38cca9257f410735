/* The labeller: tokens, features, scores and the best path of a document in one call.
 *
 * Its oracle is the NumPy route of deid.labeling.decoder. Rows of scores are kept per token type and offset, in single
 * precision, built when a type is first met and dropped when there are too many; sums run in double precision.
 */
#include "_labeller.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- a document ---------------------------------------------------------------------------------------------- */

static int read_tokens(Labeller *self, const uint32_t *text, Py_ssize_t size)
{
    for (Py_ssize_t t = 0; t < self->tokens; t++) /* of the document before */
        self->type[self->type_of[t]].seen = 0;
    self->tokens = self->items = self->words_count = 0;
    if (self->types.count > self->most_types)
        labeller_forget(self);
    if (self->types.count == 0 && labeller_type(self, text, 0) < 0) /* type 0: beyond the document */
        return -1;
    for (Py_ssize_t at = 0; at < size;) {
        const Py_ssize_t end = token_end(&self->alphabet, self->scheme, text, at, size), token = self->tokens;
        if (grow(&self->type_of, &self->tokens_room, token + 1, sizeof(int32_t)) ||
            grow(&self->start, &self->starts_room, token + 2, sizeof(int64_t)))
            return -1;
        const int32_t type = labeller_type(self, text + at, end - at);
        if (type < 0)
            return -1;
        self->type_of[token] = type;
        self->start[token] = at;
        self->start[token + 1] = end;
        self->type[type].seen++;
        self->tokens++;
        at = end;
    }
    for (Py_ssize_t token = 0; token < self->tokens; token++) {
        const Type *type = self->type + self->type_of[token];
        if (self->spaces || !type->blank) {
            if (grow(&self->item, &self->items_room, self->items + 1, sizeof(int32_t)) ||
                grow(&self->rank, &self->rank_room, self->items + 1, sizeof(int32_t)))
                return -1;
            self->rank[self->items] = (int32_t)self->words_count;
            self->item[self->items++] = (int32_t)token;
        }
        if (type->counted) {
            if (grow(&self->counted, &self->words_room, self->words_count + 1, sizeof(int32_t)))
                return -1;
            self->counted[self->words_count++] = (int32_t)token;
        }
    }
    return 0;
}

enum { LANES = 8, MOST_KEPT = 1 << 24 };

/* score = prior + rows, a block of labels after the other so that sums stay in registers. */
WIDE static void add_rows(double *restrict score, const double *restrict prior, const float *restrict rows,
                          const int32_t *number, int count, Py_ssize_t stride)
{
    for (Py_ssize_t j = 0; j < stride; j += 2 * LANES) {
        double sum[2 * LANES];
        for (int k = 0; k < 2 * LANES; k++)
            sum[k] = prior[j + k];
        for (int c = 0; c < count; c++) {
            const float *row = rows + number[c] * stride + j;
            for (int k = 0; k < 2 * LANES; k++)
                sum[k] += (double)row[k];
        }
        for (int k = 0; k < 2 * LANES; k++)
            score[j + k] = sum[k];
    }
}

WIDE static void add_exact_rows(double *restrict score, const double *restrict prior, const double *restrict rows,
                                const int32_t *number, int count, Py_ssize_t stride)
{
    for (Py_ssize_t j = 0; j < stride; j++) {
        double sum = prior[j];
        for (int c = 0; c < count; c++)
            sum += rows[number[c] * stride + j];
        score[j] = sum;
    }
}

static void add_attribute(const Labeller *self, double *score, int32_t attribute, double value)
{
    for (int32_t k = self->weight_begin[attribute]; k < self->weight_begin[attribute + 1]; k++)
        score[self->weight_label[k]] += value * self->weight[k];
}

/* Write the label scores of an item; 0, or -1 with an exception. */
static int score_item(Labeller *self, const uint32_t *text, Py_ssize_t item, double *score)
{
    int32_t number[MAX_OFFSETS];
    int count;
    const int32_t token = self->item[item];
    long generation;
    do { /* again when building a row made room by dropping others */
        generation = self->generation;
        count = 0;
        for (int k = 0; k < self->offsets; k++) {
            int32_t near = token;
            if (self->offset[k]) {
                Py_ssize_t at = self->rank[item] + self->offset[k];
                if (self->offset[k] > 0)
                    at += self->type[self->type_of[token]].counted - 1;
                near = at < 0 || at >= self->words_count ? -1 : self->counted[at];
            }
            const int32_t type = near < 0 ? 0 : self->type_of[near];
            const int32_t *row = self->row + (Py_ssize_t)type * self->offsets + k;
            if (*row == NOT_BUILT) {
                const Py_ssize_t start = near < 0 ? 0 : self->start[near];
                if (labeller_build(self, type, text + start, near < 0 ? 0 : self->start[near + 1] - start))
                    return -1;
                row = self->row + (Py_ssize_t)type * self->offsets + k;
            }
            if (*row >= 0)
                number[count++] = *row;
        }
    } while (generation != self->generation);
    if (self->exact)
        add_exact_rows(score, self->prior, self->exact_rows, number, count, self->stride);
    else
        add_rows(score, self->prior, self->rows, number, count, self->stride);
    if (self->position == OCCURRENCE && self->occurrence >= 0)
        add_attribute(self, score, self->occurrence,
                      (double)self->type[self->type_of[token]].seen / (double)self->tokens);
    if (self->position == PLACE)
        for (int p = 0; p < PLACES; p++)
            if (self->place[item * PLACES + p] >= 0)
                add_attribute(self, score, self->place[item * PLACES + p], 1.0);
    for (int32_t f = self->lists ? self->fired_head[item] : -1; f >= 0; f = self->fired_next[f])
        add_attribute(self, score, self->fired_attribute[f], 1.0);
    return 0;
}

/* ---- the best path ------------------------------------------------------------------------------------------- */

/* One step of Viterbi. A label whose score lies so far below the best one that no move from it can win is passed over:
 * lag[x][y] is the least by which y may lie above x for that (less than the best move of y over that of x, for any
 * target), and the margin holds all rounding. Most labels are. Ties go to the lower label, as in CRFsuite. Arrays are
 * padded to blocks of LANES; what pads is never the best. Returns the best label when all moves come from it, else -1,
 * and `from` tells. */
WIDE static Py_ssize_t advance(const double *now, double *next, double *from, const double *emission,
                               const double *transition, const double *lag, double slack, Py_ssize_t l,
                               Py_ssize_t stride)
{
    double lane[LANES];
    for (int k = 0; k < LANES; k++)
        lane[k] = now[k];
    for (Py_ssize_t j = LANES; j < stride; j += LANES)
        for (int k = 0; k < LANES; k++)
            lane[k] = now[j + k] > lane[k] ? now[j + k] : lane[k];
    double lead = lane[0];
    for (int k = 1; k < LANES; k++)
        lead = lane[k] > lead ? lane[k] : lead;
    Py_ssize_t best = 0;
    while (best < l - 1 && now[best] != lead)
        best++;
    lead = now[best];
    const double *row = transition + best * stride;
    for (Py_ssize_t j = 0; j < stride; j++)
        next[j] = lead + row[j];
    const double bar = lead - slack - 1e-9 * fabs(lead);
    int others = 0;
    lag += best * stride;
    for (Py_ssize_t block = 0; block < stride; block += LANES) {
        int any = 0;
        for (int k = 0; k < LANES; k++)
            any += !(now[block + k] - bar < lag[block + k]);
        if (any == 0)
            continue;
        for (Py_ssize_t i = block; i < block + LANES && i < l; i++) {
            if (i == best || now[i] - bar < lag[i])
                continue;
            if (!others++)
                for (Py_ssize_t j = 0; j < stride; j++)
                    from[j] = (double)best;
            const double at = now[i], other = (double)i;
            row = transition + i * stride;
            for (Py_ssize_t j = 0; j < stride; j++) {
                const double through = at + row[j];
                const int better = (through > next[j]) | ((through == next[j]) & (other < from[j]));
                next[j] = better ? through : next[j];
                from[j] = better ? other : from[j];
            }
        }
    }
    for (Py_ssize_t j = 0; j < stride; j++)
        next[j] += emission[j];
    return others ? -1 : best;
}

/* lag[x][y] = min over targets z of transition[x][z] - transition[y][z]; infinite for y = x, which is no other label. */
static void measure_lags(const double *transition, double *lag, Py_ssize_t l, Py_ssize_t stride)
{
    for (Py_ssize_t x = 0; x < l; x++)
        for (Py_ssize_t y = 0; y < stride; y++) {
            double least = INFINITY;
            for (Py_ssize_t z = 0; y < l && y != x && z < l; z++) {
                const double apart = transition[x * stride + z] - transition[y * stride + z];
                if (!(apart >= least))
                    least = apart;
            }
            lag[x * stride + y] = least;
        }
}

static PyObject *best_path(Labeller *self, const uint32_t *text, int outside, double bias)
{
    const Py_ssize_t n = self->items, l = self->labels, stride = self->stride;
    PyObject *path = PyBytes_FromStringAndSize(NULL, n);
    const int ready = n < PY_SSIZE_T_MAX / l / 2 && !grow(&self->back, &self->back_room, n * l + 1, 1);
    uint8_t *back = self->back;
    double *scratch = malloc((size_t)(4 * stride) * sizeof(double)), *now = scratch, *next = now ? now + stride : NULL,
           *emission = now ? next + stride : NULL, *from = now ? emission + stride : NULL;
    int failed = !path || !ready || !scratch;
    if (failed && !PyErr_Occurred())
        PyErr_NoMemory();
    for (Py_ssize_t t = 0; !failed && t < n; t++) {
        failed = score_item(self, text, t, t ? emission : now);
        if (outside >= 0)
            (t ? emission : now)[outside] -= bias;
        if (failed || t == 0)
            continue;
        const Py_ssize_t only = advance(now, next, from, emission, self->transition, self->lag, self->slack, l, stride);
        uint8_t *b = back + t * l;
        if (only >= 0)
            memset(b, (int)only, (size_t)l);
        for (Py_ssize_t j = 0; only < 0 && j < l; j++)
            b[j] = (uint8_t)from[j];
        double *swap = now;
        now = next;
        next = swap;
    }
    if (!failed && n) {
        Py_ssize_t best = 0;
        for (Py_ssize_t j = 1; j < l; j++)
            if (now[j] > now[best])
                best = j;
        uint8_t *p = (uint8_t *)PyBytes_AS_STRING(path);
        for (Py_ssize_t t = n - 1; t >= 0; t--) {
            p[t] = (uint8_t)best;
            best = t ? back[t * l + best] : 0;
        }
    }
    if (self->back_room > MOST_KEPT) {
        free(self->back);
        self->back = NULL;
        self->back_room = 0;
    }
    free(scratch);
    if (failed)
        Py_CLEAR(path);
    return path;
}

static PyObject *all_scores(Labeller *self, const uint32_t *text, int outside, double bias)
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
        failed = score_item(self, text, t, score);
        if (outside >= 0)
            score[outside] -= bias;
        if (!failed)
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

typedef PyObject *(*Route)(Labeller *, const uint32_t *, int, double);

static PyObject *work(Labeller *self, PyObject *args, Route route)
{
    PyObject *string;
    int outside;
    double bias;
    if (!PyArg_ParseTuple(args, "Uid", &string, &outside, &bias))
        return NULL;
    const Py_ssize_t size = PyUnicode_GET_LENGTH(string);
    if (outside >= self->labels || size >= INT32_MAX) {
        PyErr_SetString(PyExc_ValueError, "no such label, or the text is too long");
        return NULL;
    }
    if (!self->labels) {
        PyErr_SetString(PyExc_RuntimeError, "the labeller is not ready");
        return NULL;
    }
    uint32_t *text = PyUnicode_AsUCS4Copy(string);
    PyObject *found = NULL, *starts = NULL, *ends = NULL, *result = NULL;
    if (!text)
        return NULL;
    if (alphabet_cover(&self->alphabet, text, size) || read_tokens(self, text, size) ||
        (self->position == PLACE && labeller_places(self, text)) || (self->lists && labeller_phrases(self)))
        labeller_forget(self); /* whatever is half built */
    else
        found = route(self, text, outside, bias);
    starts = found ? borders(self, 0) : NULL;
    ends = starts ? borders(self, 1) : NULL;
    if (ends)
        result = PyTuple_Pack(3, found, starts, ends);
    Py_XDECREF(found);
    Py_XDECREF(starts);
    Py_XDECREF(ends);
    PyMem_Free(text);
    return result;
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
    self->slack = 1e-9;
    double *moves = copied(transition, l * l, sizeof(double)), *start = copied(prior, l, sizeof(double));
    self->transition = malloc((size_t)(l * stride) * sizeof(double));
    self->lag = malloc((size_t)(l * stride) * sizeof(double));
    self->prior = malloc((size_t)stride * sizeof(double));
    self->sum = malloc((size_t)stride * sizeof(double));
    ok = moves && start && self->transition && self->lag && self->prior && self->sum;
    for (Py_ssize_t i = 0; ok && i < l; i++) {
        for (Py_ssize_t j = 0; j < stride; j++) { /* what pads repeats label 0, and is never left */
            const double weight_of = moves[i * l + (j < l ? j : 0)];
            self->transition[i * stride + j] = weight_of;
            if (!(fabs(weight_of) * 1e-9 <= self->slack))
                self->slack = fabs(weight_of) * 1e-9;
        }
    }
    for (Py_ssize_t j = 0; ok && j < stride; j++)
        self->prior[j] = j < l ? start[j] : -INFINITY;
    if (ok)
        measure_lags(self->transition, self->lag, l, stride);
    free(moves);
    free(start);
    if (!ok && !PyErr_Occurred())
        PyErr_NoMemory();
    return ok ? 0 : -1;
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
    int zero = 0;
    for (Py_ssize_t k = 0; k < count; k++) {
        self->offset[k] = (int)PyLong_AsLong(PyTuple_GET_ITEM(offsets, k));
        zero |= self->offset[k] == 0;
        const char *edge = PyUnicode_AsUTF8(PyTuple_GET_ITEM(edges, k));
        if (!edge || PyErr_Occurred())
            return -1;
        self->edge[k] = *edge ? known(self, edge) : -1;
    }
    self->family = calloc((size_t)self->families + 1, sizeof(Family));
    if (!zero || !self->family) {
        PyErr_SetString(PyExc_ValueError, "offset 0 is missing");
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
    Py_ssize_t labels;
    static char *names[] = {"labels", "attributes", "begin", "label", "weight", "transition", "prior", "offsets",
                            "families", "edges", "lists", "describe", "fold", "scheme", "spaces", "skip_signs",
                            "position", "exact", "most_types", "most_rows", NULL};
    if (self->labels) {
        PyErr_SetString(PyExc_RuntimeError, "made already");
        return -1;
    }
    if (!PyArg_ParseTupleAndKeywords(
            args, named, "nO!OOOOOO!O!O!O!OOippipnn", names, &labels, &PyList_Type, &attributes, &begin, &label, &weight,
            &transition, &prior, &PyTuple_Type, &offsets, &PyTuple_Type, &families, &PyTuple_Type, &edges,
            &PyTuple_Type, &lists, &describe, &fold, &self->scheme, &self->spaces, &self->skip_signs, &self->position,
            &self->exact, &self->most_types, &self->most_rows))
        return -1;
    if (labels < 1 || labels > LARGEST_LABELS || self->scheme < DEFAULT_TOKENS || self->scheme > HIDE_TOKENS ||
        self->position < NO_POSITION || self->position > PLACE || self->most_types < 1 ||
        self->most_rows < 4 * MAX_OFFSETS * MAX_OFFSETS || self->alphabet.describe) {
        PyErr_SetString(PyExc_ValueError, "a number is outside its range");
        return -1;
    }
    self->alphabet.describe = Py_NewRef(describe);
    self->alphabet.fold = Py_NewRef(fold);
    self->stride = (labels + 2 * LANES - 1) / (2 * LANES) * 2 * LANES;
    self->labels = labels;
    const uint32_t blank = ' ';
    if (alphabet_cover(&self->alphabet, &blank, 1) || read_attributes(self, attributes) ||
        read_weights(self, begin, label, weight, transition, prior) ||
        read_features(self, offsets, families, edges) || read_lists(self, lists)) {
        self->labels = 0; /* not ready */
        return -1;
    }
    return 0;
}

static void labeller_dealloc(PyObject *object)
{
    Labeller *self = (Labeller *)object;
    PyTypeObject *type = Py_TYPE(object);
    alphabet_free(&self->alphabet);
    names_free(&self->attributes);
    names_free(&self->words);
    names_free(&self->types);
    names_free(&self->row_names);
    trie_free(&self->phrases);
    void *owned[] = {self->weight_begin, self->weight_label, self->weight, self->transition, self->lag, self->prior,
                     self->family, self->single, self->list_attribute, self->type, self->row, self->rows,
                     self->exact_rows, self->sum, self->scratch.at, self->body.at, self->type_of, self->start,
                     self->row_name.at, self->back, self->item, self->counted, self->place, self->fired_head, self->fired_next,
                     self->fired_attribute, self->rank};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++)
        free(owned[i]);
    PyObject_Free(object);
    Py_DECREF(type);
}

static PyMethodDef methods[] = {
    {"path", labeller_path, METH_VARARGS,
     "path(text, outside, bias) -> (labels, starts, ends): the best label ids of the items, one byte each, and where "
     "the items lie (64-bit integers)"},
    {"scores", labeller_scores, METH_VARARGS, "scores(text, outside, bias) -> (doubles, starts, ends): label scores"},
    {"kept", labeller_kept, METH_NOARGS, "kept() -> (types, rows): what is held between documents"},
    {NULL, NULL, 0, NULL}};

static PyType_Slot slots[] = {{Py_tp_doc, "Labels documents; see deid.labeling.decoder."},
                              {Py_tp_new, PyType_GenericNew},
                              {Py_tp_init, labeller_init},
                              {Py_tp_dealloc, labeller_dealloc},
                              {Py_tp_methods, methods},
                              {0, NULL}};

PyType_Spec labeller_spec = {"deid._native.Labeller", sizeof(Labeller), 0, Py_TPFLAGS_DEFAULT, slots};
