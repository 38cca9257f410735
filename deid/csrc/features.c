/* Type features of the labeller: what the modules of deid.features compute of a token alone, without making strings for Python.
 *
 * An attribute is written into a scratch buffer and looked up among the attributes that have weights; most are not
 * there. The scores of a token's type are summed once for each offset and kept as a row.
 */
#include "labeller.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- scores in whole numbers -------------------------------------------------------------------------------------- */

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

/* How many rows the types of AT_ONCE items and of all that stands near them may need. */
Py_ssize_t labeller_rows_at_once(const Labeller *self)
{
    return (Py_ssize_t)(2 * AT_ONCE + 2 * self->reach + 1) * self->offsets + 1;
}

/* ---- types --------------------------------------------------------------------------------------------------- */

void labeller_forget_rows(Labeller *self)
{
    const Py_ssize_t types = (Py_ssize_t)self->old.types.count + self->types.count;
    for (Py_ssize_t type = 0; type < types; type++) {
        int32_t *row = self->row + type * self->offsets;
        int kept = 1;
        for (int k = 0; k < self->offsets; k++)
            kept &= row[k] < self->old.row_count;
        for (int k = 0; !kept && k < self->offsets; k++) /* all of them: a type is built at every offset or at none */
            row[k] = NOT_BUILT;
    }
    names_clear(&self->row_names);
    self->row_count = 0;
}

void labeller_forget(Labeller *self)
{
    Py_CLEAR(self->walked);
    labeller_forget_rows(self);
    names_clear(&self->types);
    if (self->brief)
        memset(self->brief, 0, sizeof(Short) << BRIEF_BITS);
}

/* Return the number of a token's type, -1 with an exception. Type 0, of the empty text, is beyond the document. */
int32_t labeller_type(Labeller *self, const uint32_t *text, Py_ssize_t size)
{
    const int32_t old = self->old.types.count, met = old ? names_find(&self->old.types, (const char *)text, 4 * size) : -1;
    if (met >= 0)
        return met;
    const int32_t before = self->types.count, added = names_add(&self->types, (const char *)text, 4 * size);
    if (added < 0)
        return -1;
    const int32_t number = old + added;
    if (added < before)
        return number;
    if (grow(&self->type, &self->type_room, number + 1, sizeof(Type)) ||
        grow(&self->seen, &self->seen_room, number + 1, sizeof(int32_t)) ||
        grow(&self->row, &self->row_ids_room, ((Py_ssize_t)number + 1) * self->offsets, sizeof(int32_t)))
        return -1;
    Type *type = self->type + number;
    *type = (Type){.blank = size > 0, .word = -1, .start = -1};
    self->seen[number] = 0;
    for (int k = 0; k < self->offsets; k++)
        self->row[(Py_ssize_t)number * self->offsets + k] = NOT_BUILT;
    int spoken = 0;
    for (Py_ssize_t i = 0; i < size; i++) {
        const unsigned bits = look(&self->alphabet, text[i])->bits;
        type->blank &= (bits & BLANK) != 0;
        spoken |= (bits & ALNUM) != 0;
        type->newlines += text[i] == '\n';
    }
    type->counted = !type->blank && (spoken || !self->skip_signs);
    if (self->lists && !type->blank) {
        self->scratch.used = 0;
        if (put_folded(&self->scratch, &self->alphabet, text, size))
            return -1;
        type->word = names_find(&self->words, self->scratch.at, self->scratch.used);
        if (type->word >= 0)
            type->start = trie_child(&self->phrases, 0, type->word + 1);
    }
    return number;
}

/* ---- rows of scores ------------------------------------------------------------------------------------------ */

void labeller_add_weights(const Labeller *self, double *sum, int32_t attribute, double value)
{
    for (int32_t k = self->weight_begin[attribute]; k < self->weight_begin[attribute + 1]; k++)
        sum[self->weight_label[k]] += value * self->weight[k];
}

/* One attribute without its prefix; collected in `body`, ends in `cut`. */
typedef struct {
    Bytes *body;
    Py_ssize_t cut[MOST_BODIES + 1];
    int32_t last[MOST_BODIES]; /* attribute, -1: none has the body */
    int count;
} Bodies;

static int end_body(Bodies *bodies)
{
    if (bodies->count < MOST_BODIES)
        bodies->cut[++bodies->count] = bodies->body->used;
    return 0;
}

static int say(Bodies *bodies, const char *name)
{
    return put(bodies->body, name, (Py_ssize_t)strlen(name)) || end_body(bodies);
}

static int is_real_number(const uint32_t *t, Py_ssize_t n)
{
    Py_ssize_t i = n && (t[0] == '-' || t[0] == '+'), first = i;
    int digit = 0;
    for (; i < n && ((t[i] >= '0' && t[i] <= '9') || t[i] == ','); i++)
        digit |= t[i] != ',';
    if (i == first || !digit)
        return 0;
    if (i < n && t[i] == '.')
        for (i++; i < n && t[i] >= '0' && t[i] <= '9';)
            i++;
    if (i < n && t[i] == '%')
        i++;
    return i == n;
}

static int is_sign(uint32_t c)
{
    return (c > 32 && c < 48) || (c > 57 && c < 65) || (c > 90 && c < 97) || (c > 122 && c < 127);
}

/* Table 4.3 of the dissertation (deid.features.patterns); a token of one kind of white space, or without line ends. */
static int patterns(Bodies *out, const Alphabet *alphabet, const uint32_t *t, Py_ssize_t n, int unicode)
{
    Py_ssize_t letters = 0, capitals = 0, digits = 0, commas = 0, signs = 0, roman = 0, spaces = 0, changes = 0;
    int dash = 0, quote = 0, slash = 0, before = -1, first_up = 0, second_low = 0, mixed = 0;
    for (Py_ssize_t i = 0; i < n; i++) {
        const uint32_t c = t[i];
        const unsigned bits = look(alphabet, c)->bits;
        const int small_latin = c >= 'a' && c <= 'z', large_latin = c >= 'A' && c <= 'Z';
        const int letter = unicode ? (bits & LETTER) != 0 : small_latin || large_latin;
        const int up = unicode ? (bits & CAPITAL) != 0 : large_latin, low = unicode ? (bits & SMALL) != 0 : small_latin;
        const int digit = c >= '0' && c <= '9', kind = digit ? 1 : letter ? 2 : 0;
        letters += letter;
        capitals += up;
        digits += digit;
        commas += c == ',';
        signs += is_sign(c);
        roman += c == 'I' || c == 'V' || c == 'X' || c == 'D' || c == 'L' || c == 'C' || c == 'M';
        spaces += (bits & SPACE) != 0;
        changes += kind != before;
        before = kind;
        dash |= c == '-';
        quote |= c == '\'';
        slash |= c == '/';
        if (i == 0)
            first_up = up;
        if (i == 1)
            second_low = low;
        /* MIXEDCAPS: a capital (1), small letters (2), a capital (3), letters */
        if (i == 0)
            mixed = up;
        else if (mixed == 1)
            mixed = low ? 2 : 0;
        else if (mixed == 2)
            mixed = low ? 2 : up ? 3 : 0;
        else if (mixed == 3)
            mixed = letter ? 3 : 0;
    }
    const int first_kind = n && t[0] >= '0' && t[0] <= '9';
    const int two_runs = changes == 2 && digits + letters == n && digits && letters;
    static const char *counted[] = {"SINGLEDIGIT", "DOUBLEDIGIT", "TRIPLEDIGIT", "QUADDIGIT"};
    return (n && letters == n && say(out, "ALPHA")) || (first_up && say(out, "INITCAPS")) ||
           (first_up && second_low && say(out, "UPPER-LOWER")) || (n && capitals == n && say(out, "ALLCAPS")) ||
           (mixed == 3 && say(out, "MIXEDCAPS")) || (n == 1 && letters && say(out, "SINGLECHAR")) ||
           (n && n < 5 && digits == n && say(out, counted[n - 1])) ||
           (digits && digits + commas == n && say(out, "NUMBER")) || (digits && say(out, "HASDIGIT")) ||
           (digits && letters && say(out, "ALPHANUMERIC")) ||
           (two_runs && say(out, first_kind ? "NUMBERS_LETTERS" : "LETTERS_NUMBERS")) || (dash && say(out, "HASDASH")) ||
           (quote && say(out, "HASQUOTE")) || (slash && say(out, "HASSLASH")) ||
           (n && signs == n && say(out, "ISPUNCT")) || (is_real_number(t, n) && say(out, "REALNUMBER")) ||
           (n && t[0] == '-' && say(out, "STARTMINUS")) || (n && t[0] == '+' && say(out, "STARTPLUS")) ||
           (n && t[n - 1] == '%' && say(out, "ENDPERCENT")) || (n && roman == n && say(out, "ROMAN")) ||
           (n && spaces == n && say(out, "ISSPACE"));
}

/* Append the shape of a text: its first `longest` characters by kind, with runs collapsed when `brief`. */
int put_shape(Bytes *out, const Alphabet *alphabet, const uint32_t *t, Py_ssize_t n, int longest, int brief)
{
    uint32_t before = NOTHING_LEFT;
    for (Py_ssize_t i = 0; i <= n && i <= longest; i++) {
        if (i == n)
            break;
        uint32_t kind = '+';
        if (i < longest) {
            const Character *c = look(alphabet, t[i]);
            kind = c->kind ? c->kind : t[i];
        }
        if (!(brief && kind == before) && put_character(out, kind))
            return -1;
        before = kind;
    }
    return 0;
}

static int affixes(Bodies *out, const uint32_t *t, Py_ssize_t size, int longest, int shortest, int compatible)
{
    Py_ssize_t n = size < longest ? size : longest;
    if (compatible && size < 3)
        n = size - 1;
    for (int side = 0; side < 2; side++)
        for (Py_ssize_t k = shortest; k <= n; k++) {
            const char head[] = {side ? 'S' : 'P', side ? 'U' : 'R', side ? 'F' : 'E', (char)('0' + k), '_'};
            if (put(out->body, head, 5) || put_characters(out->body, side ? t + size - k : t, k) || end_body(out))
                return -1;
        }
    return 0;
}

static int bodies_of(Labeller *self, const Family *family, Bodies *out, const uint32_t *t, Py_ssize_t n)
{
    const int *a = family->arguments;
    switch (family->family) {
    case PATTERN:
        return patterns(out, &self->alphabet, t, n, a[0]);
    case SHAPE:
        return put(out->body, "SH_", 3) || put_shape(out->body, &self->alphabet, t, n, a[0], 0) || end_body(out) ||
               put(out->body, "SS_", 3) || put_shape(out->body, &self->alphabet, t, n, a[0], 1) || end_body(out);
    case AFFIX:
        return affixes(out, t, n, a[0], a[1], a[2]);
    case TOKEN:
        return put_characters(out->body, t, n) || end_body(out);
    default:
        return put(out->body, "LW_", 3) || put_lower(out->body, &self->alphabet, t, n) || end_body(out);
    }
}

/* Number of the lowest bit that is set. */
static int lowest(uint64_t bits)
{
    int bit = 0;
    while (!(bits >> bit & 1))
        bit++;
    return bit;
}

static int note(Labeller *self, int32_t attribute)
{
    return self->weight_begin[attribute] < self->weight_begin[attribute + 1] &&
           put(&self->row_name, (const char *)&attribute, sizeof attribute);
}

/* Add a row, of the attributes that were noted; returns its number, -1 with an exception. */
static int32_t add_row(Labeller *self)
{
    memset(self->sum, 0, (size_t)self->stride * sizeof(double));
    for (Py_ssize_t i = 0; i < self->row_name.used; i += (Py_ssize_t)sizeof(int32_t)) {
        int32_t attribute;
        memcpy(&attribute, self->row_name.at + i, sizeof attribute);
        labeller_add_weights(self, self->sum, attribute, 1.0);
    }
    const Py_ssize_t size = self->stride, at = self->row_count * size;
    if (self->exact ? lined_grow(&self->exact_rows, at, at + size, sizeof(double))
                    : lined_grow(&self->rows, at, at + size, sizeof(int32_t)))
        return -1;
    if (self->exact)
        memcpy((double *)self->exact_rows.at + at, self->sum, (size_t)size * sizeof(double));
    else
        labeller_round(self, self->sum, (int32_t *)self->rows.at + at);
    return (int32_t)self->row_count++;
}

/* Give a type the row of the attributes that were noted, which those with the same attributes share. */
static int store(Labeller *self, int32_t type, int k)
{
    const char *name = self->row_name.at;
    const Py_ssize_t size = self->row_name.used;
    int32_t shared = self->old.row_count ? names_find(&self->old.row_names, name, size) : -1;
    if (shared < 0) {
        shared = names_add(&self->row_names, name, size);
        if (shared < 0 || (shared == self->row_count && add_row(self) < 0))
            return -1;
        shared += (int32_t)self->old.row_count;
    }
    self->row[(Py_ssize_t)type * self->offsets + k] = shared;
    return 0;
}

/* Build the rows of a type, at all offsets; t is its text, n is 0 for what is beyond the document. */
int labeller_build(Labeller *self, int32_t type, const uint32_t *t, Py_ssize_t n)
{
    Bodies bodies[FAMILIES + 2];
    self->body.used = 0;
    for (Py_ssize_t f = 0; n && f < self->families; f++) {
        bodies[f] = (Bodies){.body = &self->body, .cut = {self->body.used}};
        if (self->family[f].family != LISTED && bodies_of(self, self->family + f, bodies + f, t, n))
            return -1;
        for (int b = 0; b < bodies[f].count; b++) {
            const Py_ssize_t from = bodies[f].cut[b];
            const int32_t body = names_find(&self->bodies, self->body.at + from, bodies[f].cut[b + 1] - from);
            bodies[f].last[b] = body < 0 ? -1 : self->body_last[body];
        }
    }
    const int32_t word = self->type[type].word;
    for (int k = 0; k < self->offsets; k++) {
        self->row_name.used = 0;
        if (!n && self->edge[k] >= 0 && note(self, self->edge[k]))
            return -1;
        for (Py_ssize_t f = 0; n && f < self->families; f++) {
            const Family *family = self->family + f;
            if (family->side[k] < 0)
                continue;
            for (int b = 0; b < bodies[f].count; b++)
                for (int32_t a = bodies[f].last[b]; a >= 0; a = self->body_before[a])
                    if (self->body_side[a] == family->side[k] && note(self, a))
                        return -1;
            for (Py_ssize_t w = 0; family->family == LISTED && word >= 0 && w < self->mask_words; w++)
                for (uint64_t left = self->single[word * self->mask_words + w]; left; left &= left - 1) {
                    const int32_t attribute = self->list_attribute[(64 * w + lowest(left)) * self->offsets + k];
                    if (attribute >= 0 && note(self, attribute))
                        return -1;
                }
        }
        if (store(self, type, k))
            return -1;
    }
    return 0;
}
