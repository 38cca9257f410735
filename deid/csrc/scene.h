/* A text as the grammars see it; described in scene.c. */
#ifndef DEID_SCENE_H
#define DEID_SCENE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdint.h>

/* Kinds of words, as in deid.reading.view. */
enum { SIGN, NUMBER, LOWER, TITLE, UPPER, MIXED };

typedef struct {
    uint64_t classes;
    Py_ssize_t end; /* one past the last word */
    int32_t next;   /* the next phrase that starts at the same word, -1: none */
} Phrase;

typedef struct {
    PyObject_HEAD
    Py_ssize_t count;
    char quiet;
    PyObject *view, *text, *strings, *folded, *kinds, *breaks, *wrapped, *loud; /* of the view */
    PyObject *classes, *phrases, *protected, *vocabulary, *words, *letters, *capitals;
    PyObject *cues_before, *cues_at, *bits, *cue_bits; /* the latter two: name of a class, of a cue -> its bit */
    int64_t *start, *end;
    uint64_t *classes_of;
    uint64_t *before, *at; /* cues that end right before a word (or the end), that start with it */
    Phrase *phrase;
    int32_t *phrase_at; /* the first phrase that starts at a word, -1: none */
} Scene;

static inline int scene_inside(const Scene *s, Py_ssize_t i)
{
    return i >= 0 && i < s->count;
}

static inline uint64_t scene_classes(const Scene *s, Py_ssize_t i)
{
    return scene_inside(s, i) ? s->classes_of[i] : 0;
}

/* What is said of a word that exists. */
static inline int scene_kind(const Scene *s, Py_ssize_t i)
{
    return (uint8_t)PyBytes_AS_STRING(s->kinds)[i];
}

static inline int scene_breaks(const Scene *s, Py_ssize_t i)
{
    return (uint8_t)PyBytes_AS_STRING(s->breaks)[i];
}

static inline int scene_loud(const Scene *s, Py_ssize_t i)
{
    return PyBytes_AS_STRING(s->loud)[i];
}

static inline int scene_blind(const Scene *s, Py_ssize_t i)
{
    return s->quiet || scene_loud(s, i);
}

static inline int scene_is_word(const Scene *s, Py_ssize_t i)
{
    return scene_inside(s, i) && scene_kind(s, i) > NUMBER;
}

/* A folded word, NULL outside; the lists are Python's and could have been shortened. */
static inline PyObject *scene_word(const Scene *s, Py_ssize_t i)
{
    return scene_inside(s, i) && i < PyList_GET_SIZE(s->folded) ? PyList_GET_ITEM(s->folded, i) : NULL;
}

/* A word of one character, 0 when there is none or a longer one. */
static inline uint32_t scene_sign(const Scene *s, Py_ssize_t i)
{
    PyObject *word = scene_word(s, i);
    return word && PyUnicode_GET_LENGTH(word) == 1 ? PyUnicode_READ_CHAR(word, 0) : 0;
}

/* Characters of a word as it is written. */
static inline Py_ssize_t scene_length(const Scene *s, Py_ssize_t i)
{
    return i < PyList_GET_SIZE(s->strings) ? PyUnicode_GET_LENGTH(PyList_GET_ITEM(s->strings, i)) : 0;
}

static inline int scene_capital(const Scene *s, Py_ssize_t i)
{
    return scene_inside(s, i) && (scene_kind(s, i) > LOWER || (s->quiet && scene_kind(s, i) == LOWER));
}

int scene_same_line(const Scene *s, Py_ssize_t i);
/* Whether a word stands in a list of the vocabulary; 0 with an exception when that cannot be told. */
int scene_says(const Scene *s, Py_ssize_t i, PyObject *name);

extern PyType_Spec scene_spec, persons_spec;
extern PyTypeObject *scene_type; /* made from its specification */
int scene_ready(void); /* called once, before any scene is made; -1 with an exception when that fails */

#endif
