/* The labeller: a document's text in, the label scores of its tokens or the best path out; described in _labeller.c. */
#ifndef DEID_LABELLER_H
#define DEID_LABELLER_H

#include "_text.h"

enum { MAX_OFFSETS = 16, MAX_PREFIX = 16, LARGEST_LABELS = 256, PLACES = 6 };

/* Families of type features; the arguments are those of the functions of deid.features. */
enum { PATTERN = 0, SHAPE = 1, AFFIX = 2, TOKEN = 3, LOWERED = 4, LISTED = 5, FAMILIES = 6 };

typedef struct {
    int family;
    int arguments[3];
    int seen[MAX_OFFSETS]; /* per offset: whether the family is seen there */
    char prefix[MAX_OFFSETS][MAX_PREFIX];
    int prefix_size[MAX_OFFSETS];
} Family;

enum { NO_POSITION = 0, OCCURRENCE = 1, PLACE = 2 };

typedef struct {
    uint8_t blank, counted, breaks; /* white space; counts as a neighbour; holds a line end */
    int32_t newlines;
    int32_t word;  /* number in `words`, -1 when no list knows it */
    int32_t start; /* trie node of the phrases that start with it, -1: none */
    int32_t seen;  /* how often in the present document */
} Type;

typedef struct {
    PyObject_HEAD
    Alphabet alphabet;
    int scheme, spaces, skip_signs, position, exact;
    Py_ssize_t labels, stride; /* stride: labels rounded up, so that loops have no rest */
    Names attributes;
    int32_t *weight_begin, *weight_label; /* sparse rows of weights, one an attribute */
    double *weight;
    double *transition, *lag, slack; /* from x to, padded; see `advance` */
    double *prior;
    int offsets, offset[MAX_OFFSETS];
    Family *family;
    Py_ssize_t families;
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
    Type *type;
    int32_t *row; /* per type and offset: number of the row, NO_SCORES or NOT_BUILT */
    Py_ssize_t type_room, row_ids_room, most_types;
    float *rows;
    double *exact_rows;
    Py_ssize_t row_count, rows_room, most_rows;
    long generation;
    double *sum; /* of the row that is being built */
    Names row_names; /* attributes of each row: types with the same attributes share it */
    Bytes row_name;
    uint8_t *back; /* Viterbi's pointers; kept between documents while small */
    Py_ssize_t back_room;
    Bytes scratch, body;
    /* the present document */
    Py_ssize_t tokens, items, tokens_room, starts_room, items_room, words_room, place_room, fired_room;
    int32_t *type_of;
    int64_t *start;
    int32_t *item, *counted; /* tokens that are labelled; tokens that count as neighbours */
    int32_t *place;          /* PLACES attributes an item, -1: none */
    int32_t *fired_head, *fired_next, *fired_attribute; /* attributes of phrases, a list an item */
    Py_ssize_t fired, fired_list_room, fired_next_room;
    int32_t *rank; /* per item: counted tokens before it */
    Py_ssize_t rank_room, words_count;
} Labeller;

enum { NO_SCORES = -1, NOT_BUILT = -2 };

/* _features.c */
int32_t labeller_type(Labeller *self, const uint32_t *text, Py_ssize_t size);
int labeller_build(Labeller *self, int32_t type, const uint32_t *edge_or_text, Py_ssize_t size);
int put_shape(Bytes *out, const Alphabet *alphabet, const uint32_t *text, Py_ssize_t size, int longest, int brief);

/* _context.c */
int labeller_places(Labeller *self, const uint32_t *text);
int labeller_phrases(Labeller *self);
int labeller_add_list(Labeller *self, Py_ssize_t list, PyObject *items, int exception);
void labeller_forget(Labeller *self);

extern PyType_Spec labeller_spec, sieve_spec, viewer_spec, reader_spec;

PyObject *quicken(PyObject *self, PyObject *args);
PyObject *py_phrases(PyObject *unused, PyObject *args), *py_abbreviating(PyObject *unused, PyObject *args);

#endif
