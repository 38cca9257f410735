/* The machine that tells where an expression cannot match; see deid/rules/programs.py. */
#ifndef DEID_PROGRAMS_H
#define DEID_PROGRAMS_H

#include "text.h"

/* What a text is made of for programs: ASCII, what is outside of it, what equals an ASCII letter but for case, others. */
enum { OTHER = 128, OUTSIDE = 129, WILD = 130, SYMBOLS = 131 };

static inline uint8_t symbol_of(Py_UCS4 c)
{
    const int wild = c == 0x17F || c == 0x212A || c == 0x130 || c == 0x131;
    return c < 128 ? (uint8_t)c : wild ? WILD : OTHER;
}

/* Write what a text is made of. */
void read_symbols(PyObject *text, uint8_t *symbol);

typedef struct {
    int32_t *code;
    int32_t *start;     /* of each program, and the end of the last */
    uint64_t (*set)[3]; /* a bit for each symbol */
    Py_ssize_t programs, sets;
} Programs;

/* Return a copy of what a buffer holds; NULL with an exception without memory. */
void *copied(const Py_buffer *view);
/* Copy programs and check them; -1 with an exception when that fails. */
int programs_load(Programs *self, const Py_buffer *code, const Py_buffer *start, const Py_buffer *set, Py_ssize_t count);
void programs_free(Programs *self);

/* Tell whether an expression may match at a place of a text of symbols, around which there is one at least that no
 * instruction reads. */
int programs_accept(const Programs *self, Py_ssize_t program, const uint8_t *symbol, int32_t place);

#endif
