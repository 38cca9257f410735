/* Making a labeller of a model: its attributes, weights, features and lists are read, and the scale is chosen by which
 * scores become whole numbers; and what frees one. Its oracle is the NumPy route of deid.labeling.decoder.
 */
#include "labeller.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

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
            count += family->side[k] >= 0 && each[family->family] > 0 ? each[family->family] : 0;
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

/* Number the attributes by what they are without their side, the longest that they begin with: no feature of the token
 * itself, where nothing stands before, begins like one of a neighbour. */
static int read_bodies(Labeller *self, PyObject *list)
{
    const Py_ssize_t count = PyList_GET_SIZE(list);
    self->body_before = malloc(((size_t)count + 1) * sizeof(int32_t));
    self->body_side = malloc(((size_t)count + 1) * sizeof(int32_t));
    if (!self->body_before || !self->body_side) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        Py_ssize_t size;
        const char *name = PyUnicode_AsUTF8AndSize(PyList_GET_ITEM(list, i), &size);
        int side = -1;
        for (int s = 0; name && s < self->sides; s++)
            if (self->side[s].size <= size && !memcmp(name, self->side[s].prefix, (size_t)self->side[s].size) &&
                (side < 0 || self->side[s].size > self->side[side].size))
                side = s;
        const Py_ssize_t cut = side < 0 ? 0 : self->side[side].size;
        const int32_t before = self->bodies.count, body = name ? names_add(&self->bodies, name + cut, size - cut) : -1;
        if (body < 0 || grow(&self->body_last, &self->body_room, body + 1, sizeof(int32_t)))
            return -1;
        self->body_side[i] = side;
        self->body_before[i] = body < before ? self->body_last[body] : -1;
        self->body_last[body] = (int32_t)i;
    }
    return 0;
}

/* Return the number of what attributes begin with, -1 where there are too many. */
static int side_of(Labeller *self, const char *prefix, Py_ssize_t size)
{
    int s = 0;
    while (s < self->sides && (self->side[s].size != size || memcmp(self->side[s].prefix, prefix, (size_t)size)))
        s++;
    if (s < self->sides)
        return s;
    if (s == MAX_SIDES || size > MAX_PREFIX)
        return -1;
    self->side[s].size = (int)size;
    memcpy(self->side[s].prefix, prefix, (size_t)size);
    return self->sides++;
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
        family->side[k] = -1;
        if (!prefix)
            continue;
        Py_ssize_t size;
        const char *bytes = PyUnicode_AsUTF8AndSize(prefix, &size);
        if (!bytes)
            return -1;
        family->side[k] = side_of(self, bytes, size);
        ok &= family->side[k] >= 0;
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

int labeller_init(PyObject *object, PyObject *args, PyObject *named)
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
                 read_bodies(self, attributes) || read_lists(self, lists) ||
                 read_weights(self, begin, label, weight, transition, prior);
    failed = failed || make_room(self);
    if (!failed && self->most_rows < labeller_rows_at_once(self)) {
        PyErr_SetString(PyExc_ValueError, "a number is outside its range");
        failed = 1;
    }
    if (failed)
        self->labels = 0; /* not ready */
    return failed ? -1 : 0;
}

void labeller_dealloc(PyObject *object)
{
    Labeller *self = (Labeller *)object;
    PyTypeObject *type = Py_TYPE(object);
    alphabet_free(&self->alphabet);
    labeller_release(self);
    Py_CLEAR(self->walked);
    names_free(&self->attributes);
    names_free(&self->bodies);
    names_free(&self->words);
    names_free(&self->types);
    names_free(&self->row_names);
    trie_free(&self->phrases);
    void *owned[] = {self->weight_begin, self->weight_label, self->weight, self->prior,
                     self->family, self->body_last, self->body_before, self->body_side, self->single, self->list_attribute, self->type, self->row, self->sum,
                     self->scratch.at, self->body.at, self->type_of, self->start,
                     self->row_name.at, self->item, self->counted, self->place, self->fired_head, self->fired_next,
                     self->fired_attribute, self->rank, self->brief, self->seen, self->single_row, self->text,
                     self->near, self->often, self->path, self->alive, self->alive_from, self->moves,
                     self->chances};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++)
        free(owned[i]);
    Lined *lined[] = {&self->rows, &self->exact_rows, &self->single_rows, &self->often_rows, &self->walk,
                       &self->transition, &self->lag};
    for (size_t i = 0; i < sizeof lined / sizeof *lined; i++)
        lined_free(lined[i]);
    PyObject_Free(object);
    Py_DECREF(type);
}
