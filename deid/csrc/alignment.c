/* Costs of aligning one trajectory with many; see deid.trajectories.kernels for what the arguments are, and
   deid.trajectories.reference for the same in NumPy. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdint.h>
#include <stdlib.h>

typedef struct {
    const int32_t *parent, *depth, *leaves, *table;
    Py_ssize_t size;
} Tree;

/* What generalizing both nodes to their lowest common ancestor costs, in leaves. */
static int64_t pair_cost(const Tree *tree, int32_t a, int32_t b)
{
    if (tree->table)
        return tree->table[(Py_ssize_t)a * tree->size + b];
    int32_t x = a, y = b;
    while (x != y) {
        if (tree->depth[x] >= tree->depth[y])
            x = tree->parent[x];
        else
            y = tree->parent[y];
    }
    return 2 * (int64_t)tree->leaves[x] - tree->leaves[a] - tree->leaves[b];
}

typedef struct {
    int64_t codes, ages, cost;
} Cell;

static int same_size(const Py_buffer *a, Py_ssize_t size) { return a->len == size; }

static int good_tree(Tree *tree, const Py_buffer *parent, const Py_buffer *depth, const Py_buffer *leaves,
                     const Py_buffer *table)
{
    tree->size = parent->len / 4;
    if (parent->len % 4 || !same_size(depth, parent->len) || !same_size(leaves, parent->len) ||
        (table->len && table->len != parent->len * tree->size))
        return 0;
    tree->parent = parent->buf;
    tree->depth = depth->buf;
    tree->leaves = leaves->buf;
    tree->table = table->len ? table->buf : NULL;
    for (Py_ssize_t i = 0; i < tree->size; i++) {
        const int32_t above = tree->parent[i];
        if (above < 0 || above >= tree->size || (above != i && tree->depth[above] != tree->depth[i] - 1) ||
            (above == i && tree->depth[i] != 0))
            return 0;
    }
    return 1;
}

static int inside(const int32_t *nodes, Py_ssize_t count, Py_ssize_t size)
{
    for (Py_ssize_t i = 0; i < count; i++)
        if (nodes[i] < 0 || nodes[i] >= size)
            return 0;
    return 1;
}

static void by_index(const Tree *icd, const Tree *age, const int32_t *xi, const int32_t *xa, Py_ssize_t m,
                     const int32_t *yi, const int32_t *ya, Py_ssize_t n, int64_t root_i, int64_t root_a, Cell *out)
{
    out->codes = out->ages = 0;
    const Py_ssize_t both = m < n ? m : n;
    for (Py_ssize_t p = 0; p < both; p++) {
        out->codes += pair_cost(icd, xi[p], yi[p]);
        out->ages += pair_cost(age, xa[p], ya[p]);
    }
    for (Py_ssize_t p = both; p < m; p++) {
        out->codes += root_i - icd->leaves[xi[p]];
        out->ages += root_a - age->leaves[xa[p]];
    }
    for (Py_ssize_t p = both; p < n; p++) {
        out->codes += root_i - icd->leaves[yi[p]];
        out->ages += root_a - age->leaves[ya[p]];
    }
}

static void align(const Tree *icd, const Tree *age, const int32_t *xi, const int32_t *xa, Py_ssize_t m,
                  const int32_t *yi, const int32_t *ya, Py_ssize_t n, int64_t root_i, int64_t root_a, int64_t weight_i,
                  int64_t weight_a, Cell *row, Cell *out)
{
    row[0] = (Cell){0, 0, 0};
    for (Py_ssize_t j = 1; j <= n; j++) {
        const int64_t i = root_i - icd->leaves[yi[j - 1]], a = root_a - age->leaves[ya[j - 1]];
        row[j] = (Cell){row[j - 1].codes + i, row[j - 1].ages + a, row[j - 1].cost + i * weight_i + a * weight_a};
    }
    for (Py_ssize_t h = 1; h <= m; h++) {
        const int64_t xi_root = root_i - icd->leaves[xi[h - 1]], xa_root = root_a - age->leaves[xa[h - 1]];
        const int64_t x_cost = xi_root * weight_i + xa_root * weight_a;
        Cell corner = row[0];
        row[0] = (Cell){corner.codes + xi_root, corner.ages + xa_root, corner.cost + x_cost};
        for (Py_ssize_t j = 1; j <= n; j++) {
            const Cell above = row[j], left = row[j - 1];
            const int64_t i = pair_cost(icd, xi[h - 1], yi[j - 1]), a = pair_cost(age, xa[h - 1], ya[j - 1]);
            Cell best = {corner.codes + i, corner.ages + a, corner.cost + i * weight_i + a * weight_a};
            const int64_t yi_root = root_i - icd->leaves[yi[j - 1]], ya_root = root_a - age->leaves[ya[j - 1]];
            const int64_t left_cost = left.cost + yi_root * weight_i + ya_root * weight_a;
            if (left_cost < best.cost)
                best = (Cell){left.codes + yi_root, left.ages + ya_root, left_cost};
            if (above.cost + x_cost < best.cost)
                best = (Cell){above.codes + xi_root, above.ages + xa_root, above.cost + x_cost};
            corner = above;
            row[j] = best;
        }
    }
    *out = row[n];
}

PyDoc_STRVAR(costs_doc, "costs(icd_tree..., age_tree..., x_codes, x_ages, codes, ages, bounds, active, weight_i, weight_a,"
                        " by_index, out_codes, out_ages)");

static PyObject *costs(PyObject *module, PyObject *args)
{
    (void)module;
    Py_buffer b[16];
    long long weight_i, weight_a;
    int indexed;
    if (!PyArg_ParseTuple(args, "y*y*y*y*y*y*y*y*y*y*y*y*y*y*LLpw*w*", &b[0], &b[1], &b[2], &b[3], &b[4], &b[5], &b[6],
                          &b[7], &b[8], &b[9], &b[10], &b[11], &b[12], &b[13], &weight_i, &weight_a, &indexed, &b[14],
                          &b[15]))
        return NULL;
    Tree icd, age;
    const Py_ssize_t m = b[8].len / 4, total = b[10].len / 4, count = b[13].len;
    const int64_t *bounds = b[12].buf;
    int ok = good_tree(&icd, &b[0], &b[1], &b[2], &b[3]) && good_tree(&age, &b[4], &b[5], &b[6], &b[7]) &&
             b[8].len % 4 == 0 && same_size(&b[9], b[8].len) && b[10].len % 4 == 0 && same_size(&b[11], b[10].len) &&
             b[12].len == (count + 1) * 8 && b[14].len == count * 8 && b[15].len == count * 8 &&
             inside(b[8].buf, m, icd.size) && inside(b[9].buf, m, age.size) && bounds[0] == 0 && bounds[count] == total;
    Py_ssize_t longest = 0;
    for (Py_ssize_t c = 0; ok && c < count; c++) {
        ok = bounds[c] <= bounds[c + 1] && bounds[c + 1] <= total;
        if (ok && bounds[c + 1] - bounds[c] > longest)
            longest = (Py_ssize_t)(bounds[c + 1] - bounds[c]);
    }
    ok = ok && inside(b[10].buf, total, icd.size) && inside(b[11].buf, total, age.size);
    Cell *row = ok ? malloc((size_t)(longest + 1) * sizeof(Cell)) : NULL;
    if (!ok)
        PyErr_SetString(PyExc_ValueError, "the arrays do not fit each other");
    else if (!row)
        PyErr_NoMemory();
    else {
        const int32_t *codes = b[10].buf, *ages = b[11].buf, *xi = b[8].buf, *xa = b[9].buf;
        const uint8_t *active = b[13].buf;
        int64_t *out_i = b[14].buf, *out_a = b[15].buf, root_i = 0, root_a = 0;
        for (Py_ssize_t k = 0; k < icd.size; k++)
            root_i = icd.leaves[k] > root_i ? icd.leaves[k] : root_i;
        for (Py_ssize_t k = 0; k < age.size; k++)
            root_a = age.leaves[k] > root_a ? age.leaves[k] : root_a;
        Py_BEGIN_ALLOW_THREADS;
        for (Py_ssize_t c = 0; c < count; c++) {
            if (!active[c])
                continue;
            const Py_ssize_t at = (Py_ssize_t)bounds[c], n = (Py_ssize_t)(bounds[c + 1] - bounds[c]);
            Cell found;
            if (indexed)
                by_index(&icd, &age, xi, xa, m, codes + at, ages + at, n, root_i, root_a, &found);
            else
                align(&icd, &age, xi, xa, m, codes + at, ages + at, n, root_i, root_a, weight_i, weight_a, row, &found);
            out_i[c] = found.codes;
            out_a[c] = found.ages;
        }
        Py_END_ALLOW_THREADS;
    }
    free(row);
    for (int k = 0; k < 16; k++)
        PyBuffer_Release(&b[k]);
    if (PyErr_Occurred())
        return NULL;
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {{"costs", costs, METH_VARARGS, costs_doc}, {NULL, NULL, 0, NULL}};
static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_alignment", NULL, 0, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__alignment(void) { return PyModule_Create(&definition); }
