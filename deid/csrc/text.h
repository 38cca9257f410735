/* Characters, names and tokens for the compiled loops; described in text.c. */
#ifndef DEID_TEXT_H
#define DEID_TEXT_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdint.h>

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && defined(__linux__) && !defined(DEID_NO_CLONES)
#define WIDE __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define WIDE
#endif

/* For loops that are compiled into several functions with WIDE. */
#if defined(__GNUC__)
#define INLINE static inline __attribute__((always_inline))
#else
#define INLINE static inline
#endif

#if defined(__GNUC__)
#define FETCH(address) __builtin_prefetch(address)
#else
#define FETCH(address) ((void)(address))
#endif

/* What deid.reading.alphabet says of a character. */
enum {
    LETTER = 1,   /* \p{L}, \p{M} */
    NUMERAL = 2,  /* \p{N} */
    SPACE = 4,    /* \s of `regex` */
    WORDLY = 8,   /* \w of `re` */
    BLANK = 16,   /* str.isspace */
    CAPITAL = 32, /* \p{Lu} */
    SMALL = 64,   /* \p{Ll} */
    ALNUM = 128,  /* str.isalnum */
    DIGIT = 256,  /* str.isdigit */
    ODD_LOWER = 512, /* lower case is not one character, or depends on its neighbours */
    ODD_FOLD = 1024, /* the same of deid.reading.dictionaries.fold */
    WORDLY_REGEX = 2048 /* \w of `regex` */
};

typedef struct {
    uint16_t bits;
    uint16_t kind; /* letter that stands for it in a shape, 0: itself */
    uint32_t lower;
    uint32_t fold; /* NOTHING when folding drops it */
} Character;

#define NOTHING_LEFT 0xFFFFFFFFu

typedef struct {
    Character *page[0x1100]; /* of 256 characters, filled when first met */
    PyObject *describe;      /* number of a page -> bytes */
    PyObject *fold;          /* deid.reading.dictionaries.fold, for ODD_FOLD */
} Alphabet;

static inline const Character *look(const Alphabet *alphabet, uint32_t c)
{
    return alphabet->page[c >> 8] + (c & 255);
}

/* Load the pages of all characters of a text; -1 with an exception when that fails. */
int alphabet_cover(Alphabet *alphabet, const uint32_t *text, Py_ssize_t size);
void alphabet_free(Alphabet *alphabet);

typedef struct {
    char *at;
    Py_ssize_t used, room;
} Bytes;

int bytes_room(Bytes *bytes, Py_ssize_t more);
int put(Bytes *bytes, const char *what, Py_ssize_t size);
/* Append UTF-8 as `storable` in deid.features writes it: NUL and lone surrogates are replaced. */
int put_character(Bytes *bytes, uint32_t c);
int put_characters(Bytes *bytes, const uint32_t *text, Py_ssize_t size);
int put_lower(Bytes *bytes, const Alphabet *alphabet, const uint32_t *text, Py_ssize_t size);
int put_folded(Bytes *bytes, const Alphabet *alphabet, const uint32_t *text, Py_ssize_t size);

/* Byte strings numbered in the order in which they came. What a search needs lies in two places, a slot and an entry. */
typedef struct {
    uint64_t *slot; /* hash << 32 | place of the entry + 1, 0 when free */
    uint32_t mask;  /* number of slots - 1 */
    int32_t count;
    Bytes arena; /* entries: number, size, the string; each begins at 8 times its place */
} Names;

int32_t names_find(const Names *names, const char *what, Py_ssize_t size);
/* Find or add; -1 without memory. */
int32_t names_add(Names *names, const char *what, Py_ssize_t size);
void names_clear(Names *names);
void names_free(Names *names);

/* Phrases as a trie over word numbers. */
typedef struct {
    uint64_t *key; /* node << 32 | word, 0 when free: node 0 is the root and word 0 stands for no word */
    int32_t *child;
    uint64_t mask;
    int32_t edges, nodes;
    int32_t *first_end; /* of a node, -1: none */
    int32_t node_room;
    int32_t *end, *next_end; /* which lists end at a node */
    int32_t ends, end_room;
} Trie;

int32_t trie_child(const Trie *trie, int32_t node, int32_t word);
int32_t trie_grow(Trie *trie, int32_t node, int32_t word);
int trie_end(Trie *trie, int32_t node, int32_t end);
void trie_free(Trie *trie);

enum { GIVEN_TOKENS = 0, DEFAULT_TOKENS = 1, HIDE_TOKENS = 2 };

/* Return where the token that starts at `start` ends. */
Py_ssize_t token_end(const Alphabet *alphabet, int scheme, const uint32_t *text, Py_ssize_t start, Py_ssize_t size);

/* Arrays whose first entry lies at the start of a cache line. */
typedef struct {
    void *at, *block;
    Py_ssize_t room;
} Lined;

/* Make room for `count` entries of which `used` are kept; -1 with MemoryError. */
int lined_grow(Lined *lined, Py_ssize_t used, Py_ssize_t count, size_t size);
void lined_free(Lined *lined);

/* The words of a text by the numbers that the viewer gave them. A number stands for one word throughout an era; number is
 * NULL where there are none. */
typedef struct {
    int64_t era;
    const int32_t *number;
    int32_t most;
} Numbered;

/* Read what a view has as `ids`: None or (era, numbers); -1 with an exception when that is no such thing. */
int numbered_of(PyObject *ids, Py_ssize_t count, Numbered *numbered);

/* What is known of words, by number: an array of entries that begin as zeros in each era. */
typedef struct {
    int64_t era;
    void *value;
    Py_ssize_t room;
} Remembered;

int remember(Remembered *remembered, const Numbered *numbered, size_t size);

/* Make room for `count` entries of `size` bytes; -1 with MemoryError. */
int grow(void *pointer, Py_ssize_t *room, Py_ssize_t count, size_t size);

/* Return the `count` offsets of a list, to be freed; NULL with an exception when it is something else. */
int64_t *offsets_of(PyObject *list, Py_ssize_t count);

#endif
