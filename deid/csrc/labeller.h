/* The labeller: a document's text in, the label scores of its tokens or the best path out; described in labeller.c. */
#ifndef DEID_LABELLER_H
#define DEID_LABELLER_H

#include "text.h"

enum { MAX_OFFSETS = 16, MAX_PREFIX = 16, MAX_SIDES = 64, LARGEST_LABELS = 256, PLACES = 6 };
enum { BLOCK = 16, AT_ONCE = 32, BRIEF_BITS = 13, MOST_BODIES = 39, MOST_PATTERNS = 24, FARTHEST = 1000 };

/* Families of type features; the arguments are those of the functions of deid.features. */
enum { PATTERN = 0, SHAPE = 1, AFFIX = 2, TOKEN = 3, LOWERED = 4, LISTED = 5, FAMILIES = 6 };

typedef struct {
    int family;
    int arguments[3];
    int side[MAX_OFFSETS]; /* per offset: number of what its attributes begin with there, -1 where it is not seen */
} Family;

typedef struct {
    char prefix[MAX_PREFIX];
    int size;
} Side;

enum { NO_POSITION = 0, OCCURRENCE = 1, PLACE = 2 };

typedef struct {
    uint8_t blank, counted; /* white space; counts as a neighbour */
    int32_t newlines;       /* line ends that it holds */
    int32_t word;  /* number in `words`, -1 when no list knows it */
    int32_t start; /* trie node of the phrases that start with it, -1: none */
} Type;

/* A token of up to eight Latin-1 characters and its type; size 0 when free. */
typedef struct {
    uint64_t letters;
    int32_t type, size;
} Short;

/* A label that may lie on the best path, and by how much its score lies below the best one. */
typedef struct {
    int32_t label, below;
} Alive;

typedef struct {
    PyObject_HEAD
    Alphabet alphabet;
    int scheme, spaces, skip_signs, position, exact;
    Py_ssize_t labels, stride; /* stride: labels rounded up, so that loops have no rest */
    double scale;              /* of what is added in whole numbers; see `measure_scale` */
    Names attributes;
    int32_t *weight_begin, *weight_label; /* sparse rows of weights, one an attribute */
    double *weight;
    Lined transition, lag; /* from x to, padded, in whole numbers; see walk.c */
    double *prior;
    int offsets, offset[MAX_OFFSETS], zero, reach; /* which offset is 0; the largest one to either side */
    Family *family;
    Py_ssize_t families;
    Side side[MAX_SIDES];
    int sides;
    /* attributes by what they are without their side: the last one of each such body, and the one before it */
    Names bodies;
    int32_t *body_last, *body_before, *body_side;
    Py_ssize_t body_room;
    int32_t edge[MAX_OFFSETS]; /* attribute of the edge of the document */
    /* lists */
    Py_ssize_t lists, mask_words;
    Names words;
    uint64_t *single; /* per word: of which lists it is an item */
    Py_ssize_t single_room;
    Trie phrases;
    int32_t *list_attribute; /* per list and offset */
    /* position attributes that never change */
    int32_t occurrence, line_place[5], line_end, chunk_place[4];
    /* types that were met, and their rows of scores */
    Names types;
    Short *brief;
    Type *type;
    int32_t *row; /* per type and offset: number of the row, or NOT_BUILT */
    int32_t *seen; /* per type: how often in the present document */
    Py_ssize_t type_room, seen_room, row_ids_room, most_types;
    Lined rows, exact_rows;
    Py_ssize_t row_count, most_rows;
    double *sum; /* of the row that is being built */
    Names row_names; /* attributes of each row: types with the same attributes share it */
    Bytes row_name;
    int32_t *single_row; /* per attribute: row of it alone, for position attributes, or NOT_BUILT */
    Py_buffer table; /* the block that the following and all that never changes lie in; see frozen.c */
    struct {
        Names types, row_names;
        const Type *type;
        const int32_t *row, *rows;
        Py_ssize_t row_count;
    } old; /* numbers of what is met later go on from these */
    Lined single_rows;
    Py_ssize_t single_count;
    Lined walk; /* vectors of the walk */
    Bytes scratch, body;
    /* the present document */
    uint32_t *text;
    Py_ssize_t text_room, tokens, items, tokens_room, starts_room, items_room, words_room, near_room, place_room,
        fired_room;
    int32_t *type_of;
    int64_t *start;
    int32_t *item, *counted; /* tokens that are labelled; tokens that count as neighbours */
    int32_t *near;           /* types of the latter, `reach` times the edge before and after them */
    int32_t *place;          /* PLACES attributes an item, -1: none */
    int32_t *fired_head, *fired_next, *fired_attribute; /* attributes of phrases, a list an item */
    Py_ssize_t fired, fired_list_room, fired_next_room;
    int32_t *rank; /* per item: counted tokens before it */
    Py_ssize_t rank_room, words_count;
    int32_t *often; /* per number of times that a type stands in the document: row of its share, + 1 */
    Lined often_rows;
    Py_ssize_t often_room, often_count;
    uint8_t *path; /* best labels of the items */
    Py_ssize_t path_room;
    Alive *alive;
    Py_ssize_t alive_count, alive_room, alive_from_room;
    int64_t *alive_from; /* per item: where its labels begin in `alive` */
    /* probabilities; see chances.c */
    PyObject *walked; /* the text whose best labels `path` holds, NULL: none */
    int walked_outside;
    double walked_bias;
    double *moves, widest_move; /* exp(transition), to and fro */
    double *chances;
    Py_ssize_t chances_room;
} Labeller;

enum { NOT_BUILT = -1 };

/* features.c, which calls none of the others */
int32_t labeller_whole(const Labeller *self, double score, int32_t most);
void labeller_round(const Labeller *self, const double *score, int32_t *out);
Py_ssize_t labeller_rows_at_once(const Labeller *self);
int32_t labeller_type(Labeller *self, const uint32_t *text, Py_ssize_t size);
int labeller_build(Labeller *self, int32_t type, const uint32_t *edge_or_text, Py_ssize_t size);
int put_shape(Bytes *out, const Alphabet *alphabet, const uint32_t *text, Py_ssize_t size, int longest, int brief);

void labeller_forget_rows(Labeller *self);
void labeller_add_weights(const Labeller *self, double *sum, int32_t attribute, double value);

/* model.c */
int labeller_init(PyObject *object, PyObject *args, PyObject *named);
void labeller_dealloc(PyObject *object);

/* frozen.c */
PyObject *labeller_frozen(PyObject *self, PyObject *unused);
int labeller_thaw(Labeller *self, PyObject *table);
void labeller_release(Labeller *self);

/* walk.c */
int labeller_ready(Labeller *self, Py_ssize_t first, Py_ssize_t last);
int labeller_best(Labeller *self, uint8_t *path, int outside, double bias);

void labeller_sum(const Labeller *self, Py_ssize_t item, int32_t *sum);

/* labeller.c: read a text and walk it, unless that was done last; 0, or -1 with an exception */
int labeller_walk(Labeller *self, PyObject *string, int outside, double bias);

/* chances.c */
PyObject *labeller_chances(PyObject *object, PyObject *args);

/* native.c */
double forward_backward(const double *emissions, const double *moves, Py_ssize_t n, Py_ssize_t l, Py_ssize_t left,
                        Py_ssize_t right, Py_ssize_t first, Py_ssize_t stop, double *weight, double *alpha,
                        double *beta, double *marginal, const double *onto);
void turn(const double *moves, Py_ssize_t l, double *onto);

/* context.c */
int labeller_places(Labeller *self, const uint32_t *text);
int labeller_phrases(Labeller *self);
int labeller_add_list(Labeller *self, Py_ssize_t list, PyObject *items, int exception);
void labeller_forget(Labeller *self);

extern PyType_Spec labeller_spec, sieve_spec, viewer_spec, lookup_spec, phrases_spec, reader_spec, words_spec;
extern PyType_Spec finder_spec, fits_spec;

PyObject *quicken(PyObject *self, PyObject *args);
PyObject *py_changed(PyObject *self, PyObject *const *given, Py_ssize_t count);
PyObject *made_with(PyObject *object, PyObject *name, PyObject *value, const char *method);
PyObject *py_corroborate(PyObject *self, PyObject *args), *py_drop_redundant(PyObject *self, PyObject *args);
PyObject *py_clusters(PyObject *self, PyObject *spans);
PyObject *py_elsewhere(PyObject *unused, PyObject *args);

#endif
