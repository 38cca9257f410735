/* What person_words.c, evidence.c and names.c share: the bits and words that names are told by, and a run of words. */
#ifndef DEID_NAMES_H
#define DEID_NAMES_H

#include "scene.h"

#include <string.h>

enum { ROOM = 16 };

/* Bits that Python names: single classes, joined ones, cues. */
#define CLASSES(X)                                                                                                    \
    X(given) X(last) X(word) X(function) X(suffix) X(relation) X(role) X(credential) X(particle) X(street_prefix)     \
    X(person_verb) X(person_verb_strong) X(patient_word) X(eponym_head) X(title) X(title_doctor) X(state_code)
#define MASKS(X)                                                                                                      \
    X(person) X(mostly) X(popular) X(ordinary) X(ambiguous) X(stop) X(never) X(related) X(eponym) X(heads) X(places)  \
    X(regions)
#define CUES(X) X(naming) X(greeting) X(doctor) X(contact) X(signer) X(closing) X(aged) X(article) X(lives) X(where)
/* Lists of the vocabulary; attributes of labels. */
#define TEXTS(X) X(no_initial) X(possessive) X(indefinite) X(and) X(end) X(field) X(strict)

typedef struct {
    PyObject_HEAD
    PyObject *openers;
#define X(name) uint64_t name;
    CLASSES(X) MASKS(X)
#undef X
#define X(name) uint64_t cue_##name;
    CUES(X)
#undef X
#define X(name) PyObject *name_of_##name;
    TEXTS(X)
#undef X
} Persons;

typedef struct {
    Py_ssize_t first, end; /* one past the last word */
    Py_ssize_t names, initials, name[ROOM], initial[ROOM];
} Run;

static inline int among(uint32_t sign, const char *signs)
{
    return sign && sign < 128 && strchr(signs, (int)sign);
}

static inline int is_apostrophe(uint32_t sign)
{
    return sign == '\'' || sign == 0x2019;
}

/* Asked of most words; the reference is deid.rules.person_words. */

static inline int clear(const Persons *n, const Scene *s, Py_ssize_t i)
{
    const uint64_t classes = scene_classes(s, i);
    return classes & n->person && (classes & n->mostly || !(classes & n->ambiguous));
}

static inline int is_initial(const Persons *n, const Scene *s, Py_ssize_t i)
{
    if (!scene_is_word(s, i) || scene_length(s, i) != 1)
        return 0;
    return scene_kind(s, i) == UPPER || (s->quiet && !scene_says(s, i, n->name_of_no_initial));
}

/* person_words.c; where these find no run, nothing is to be read from it. */
int persons_name_word(const Persons *n, const Scene *s, Py_ssize_t i, int relaxed);
int persons_read_run(const Persons *n, const Scene *s, Py_ssize_t i, int relaxed, Run *run);
int persons_read_last_first(const Persons *n, const Scene *s, Py_ssize_t i, int relaxed, Run *run);
int persons_credential_follows(const Persons *n, const Scene *s, Py_ssize_t i);

/* evidence.c; a vetoed run has no source. */
int persons_starts_sentence(const Persons *n, const Scene *s, Py_ssize_t i);
int persons_vetoed(const Scene *s, const Run *run);
int persons_verb_follows(const Persons *n, const Scene *s, Py_ssize_t i);
double persons_weigh(const Persons *n, const Scene *s, const Run *run, const char **source);
double persons_weigh_inverted(const Persons *n, const Scene *s, const Run *run);
int persons_is_clinician(const Persons *n, const Scene *s, const Run *run);

#endif
