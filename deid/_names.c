/* Names of persons in running text: how far one reaches, and how sure it is. Described, rule by rule, in
 * deid.detection.person_words and deid.detection.evidence, whose functions of the same names are the oracle.
 *
 * A run lies on the stack, so that the many that are no names cost nothing but the look at their words. An error (a
 * vocabulary without a list that is asked for) is left set by whoever meets it and noticed at the end.
 */
#include "_scene.h"

#include <string.h>

enum { MOST_NAMES = 6, MOST_INITIALS = 3, ROOM = 16 };

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

static int among(uint32_t sign, const char *signs)
{
    return sign && sign < 128 && strchr(signs, (int)sign);
}

static int is_apostrophe(uint32_t sign)
{
    return sign == '\'' || sign == 0x2019;
}

/* ---- deid.detection.person_words ------------------------------------------------------------------------------- */

static int clear(const Persons *n, const Scene *s, Py_ssize_t i)
{
    const uint64_t classes = scene_classes(s, i);
    return classes & n->person && (classes & n->mostly || !(classes & n->ambiguous));
}

static int is_initial(const Persons *n, const Scene *s, Py_ssize_t i)
{
    if (!scene_is_word(s, i) || scene_length(s, i) != 1)
        return 0;
    return scene_kind(s, i) == UPPER || (s->quiet && !scene_says(s, i, n->name_of_no_initial));
}

static int paired(const Persons *n, const Scene *s, Py_ssize_t i)
{
    for (int step = 1; step >= -1; step -= 2) {
        Py_ssize_t at = i + step;
        if (scene_sign(s, at) == ',')
            at += step;
        if (scene_is_word(s, at) && scene_kind(s, at) == UPPER && scene_length(s, at) > 2 && clear(n, s, at))
            return 1;
    }
    return 0;
}

static int name_word(const Persons *n, const Scene *s, Py_ssize_t i, int relaxed)
{
    if (!scene_is_word(s, i))
        return 0;
    const uint64_t classes = s->classes_of[i];
    const int kind = scene_kind(s, i);
    const Py_ssize_t length = scene_length(s, i);
    if (length < 2 || (classes & n->related && !relaxed))
        return 0;
    if (classes & n->function && !(relaxed && kind == TITLE && classes & n->person))
        return 0;
    if (kind == UPPER && classes & n->never && !(classes & n->person && length > 3))
        return 0;
    if (scene_blind(s, i)) {
        if (classes & n->person && !(classes & n->ordinary))
            return 1;
        return relaxed && (classes & n->person || (!classes && length > 2));
    }
    if (kind == LOWER)
        return relaxed && classes & n->person && !(classes & (n->ordinary | n->stop));
    if (kind == UPPER) {
        if (classes & n->person && length > 2)
            return relaxed || !(classes & n->ordinary) || (classes & n->popular && length > 3 && paired(n, s, i));
        return relaxed && !classes && length > 3;
    }
    return classes & n->person || !(classes & n->stop);
}

static Py_ssize_t suffix(const Persons *n, const Scene *s, Py_ssize_t i)
{
    const Py_ssize_t at = scene_sign(s, i) == ',' ? i + 1 : i;
    if (!scene_same_line(s, at) || !(s->classes_of[at] & n->suffix) ||
        (scene_kind(s, at) != TITLE && scene_kind(s, at) != UPPER))
        return i;
    return scene_sign(s, at + 1) == '.' && scene_same_line(s, at + 1) ? at + 2 : at + 1;
}

static uint32_t closing_of(uint32_t sign)
{
    switch (sign) {
    case '"': case '\'':
        return sign;
    case 0x201C: case 0x2018:
        return sign + 1;
    case '(':
        return ')';
    default:
        return 0;
    }
}

static Py_ssize_t nickname(const Persons *n, const Scene *s, Py_ssize_t i)
{
    const uint32_t close = closing_of(scene_sign(s, i));
    if (!close || !scene_same_line(s, i) || scene_classes(s, i + 1) & (n->relation | n->role | n->credential))
        return i;
    for (Py_ssize_t end = i + 2; end <= i + 3; end++)
        if (scene_sign(s, end) == close && name_word(n, s, i + 1, 1) && (end == i + 2 || name_word(n, s, i + 2, 1)))
            return end + 1;
    return i;
}

static Py_ssize_t particles(const Persons *n, const Scene *s, Py_ssize_t i, int started, int relaxed)
{
    Py_ssize_t at = i;
    while (at - i < 3 && scene_classes(s, at) & n->particle && (at == i || scene_same_line(s, at))) {
        if (scene_kind(s, at) == LOWER && !(started || relaxed || s->quiet))
            return i;
        at++;
        const uint32_t sign = scene_sign(s, at);
        if ((sign == '.' || is_apostrophe(sign)) && s->start[at] == s->end[at - 1])
            at++;
    }
    const int follows = at > i && scene_same_line(s, at) && name_word(n, s, at, started || relaxed);
    return follows && scene_capital(s, at) ? at : i;
}

static int closes_blind(const Persons *n, const Scene *s, const Run *run, Py_ssize_t i)
{
    if (run->names != 1 || !scene_blind(s, i) || !scene_is_word(s, i))
        return 0;
    const uint64_t classes = s->classes_of[i];
    if (!(classes & n->last) || classes & n->function ||
        !(s->classes_of[run->name[0]] & n->given && clear(n, s, run->name[0])))
        return 0;
    const Py_ssize_t behind = i + 1;
    return behind >= s->count || scene_breaks(s, behind) || among(scene_sign(s, behind), ",().;") ||
           scene_classes(s, behind) & n->person_verb;
}

static int read_run(const Persons *n, const Scene *s, Py_ssize_t i, int relaxed, Run *run)
{
    if (!scene_inside(s, i) ||
        !(s->classes_of[i] & n->particle || name_word(n, s, i, relaxed) || is_initial(n, s, i)))
        return 0;
    run->first = run->end = i;
    run->names = run->initials = 0;
    Py_ssize_t at = i;
    while (at < s->count && run->names < MOST_NAMES && (at == i || scene_same_line(s, at))) {
        Py_ssize_t behind = particles(n, s, at, at > i, relaxed);
        if (behind > at) {
            at = behind;
            continue;
        }
        if (run->names && s->classes_of[at] & n->street_prefix)
            break;
        if (is_initial(n, s, at) && run->initials < MOST_INITIALS) {
            const int dot = scene_sign(s, at + 1) == '.' && s->start[at + 1] == s->end[at];
            const int leads = relaxed && scene_same_line(s, at + 1) && name_word(n, s, at + 1, relaxed);
            if ((!dot && !run->names && !leads) || scene_sign(s, at + 1) == '/')
                break;
            run->initial[run->initials++] = at;
            run->end = at += dot ? 2 : 1;
            continue;
        }
        const int lenient = relaxed && run->names < (scene_blind(s, at) ? 1 : 3);
        if (!name_word(n, s, at, lenient) && !closes_blind(n, s, run, at))
            break;
        if (run->names && relaxed && scene_sign(s, at + 1) == ':')
            break;
        run->name[run->names++] = at;
        run->end = ++at;
        behind = nickname(n, s, at);
        if (behind > at && scene_same_line(s, behind) && name_word(n, s, behind, relaxed)) {
            for (Py_ssize_t k = at + 1; k < behind - 1; k++)
                if (scene_is_word(s, k))
                    run->name[run->names++] = k; /* two at most, behind six names */
            at = run->end = behind;
        }
    }
    if (run->names)
        run->end = suffix(n, s, run->end);
    return run->names > 0;
}

static int credential_follows(const Persons *n, const Scene *s, Py_ssize_t i)
{
    const int comma = among(scene_sign(s, i), ",-(");
    const Py_ssize_t at = i + comma;
    if (!scene_inside(s, at) || scene_breaks(s, at))
        return 0;
    const int kind = scene_kind(s, at);
    if (kind == LOWER && !s->quiet)
        return 0;
    for (int32_t k = s->phrase_at[at]; k >= 0; k = s->phrase[k].next)
        if (s->phrase[k].classes & n->credential)
            return 1;
    return s->classes_of[at] & n->credential && (kind != TITLE || (comma && scene_length(s, at) < 4));
}

static int read_last_first(const Persons *n, const Scene *s, Py_ssize_t i, int relaxed, Run *run)
{
    Run first;
    if (!read_run(n, s, i, relaxed, run) || run->names > 3 || run->end >= s->count || scene_sign(s, run->end) != ',')
        return 0;
    if (!scene_same_line(s, run->end) && s->start[run->end] != s->end[run->end - 1])
        return 0;
    const Py_ssize_t start = run->end + 1;
    if (!scene_same_line(s, start) || scene_kind(s, start) <= NUMBER)
        return 0;
    if (!read_run(n, s, start, relaxed, &first)) {
        /* the initial of "Last, F", which no letters follow */
        if (!is_initial(n, s, start) || scene_is_word(s, start + 1) || credential_follows(n, s, start - 1))
            return 0;
        first = (Run){.first = start, .end = start + 1, .initials = 1, .initial = {start}};
    }
    const int kind = scene_kind(s, start);
    if (first.names > 2 || (kind == MIXED && !relaxed) ||
        (s->classes_of[start] & n->credential && kind == UPPER && !scene_blind(s, start)))
        return 0;
    memcpy(run->name + run->names, first.name, (size_t)first.names * sizeof *first.name);
    memcpy(run->initial + run->initials, first.initial, (size_t)first.initials * sizeof *first.initial);
    run->names += first.names;
    run->initials += first.initials;
    run->end = first.end;
    return 1;
}

/* ---- deid.detection.evidence ----------------------------------------------------------------------------------- */

static double least_of(double a, double b)
{
    return b < a ? b : a;
}

static double strength(const Persons *n, const Scene *s, Py_ssize_t i)
{
    const uint64_t classes = s->classes_of[i];
    const int brief = scene_length(s, i) < 4, popular = (classes & (n->popular | n->mostly)) != 0;
    const int blind = scene_blind(s, i);
    double value = 0.15;
    if (classes & n->given) {
        value = 0.4;
        if (clear(n, s, i)) {
            value = (popular ? 0.85 : !brief ? 0.55 : 0.4) - 0.2 * blind;
            if (classes & n->places && !(classes & n->mostly))
                value = least_of(value, 0.5);
        }
    } else if (classes & n->last && clear(n, s, i)) {
        value = popular ? 0.55 : !brief ? 0.52 : 0.35;
        value *= classes & n->places || blind ? 0.5 : 1.0;
    }
    if (classes & n->eponym)
        value = least_of(value, 0.42);
    PyObject *word = i < PyList_GET_SIZE(s->strings) ? PyList_GET_ITEM(s->strings, i) : NULL;
    if (word && !(classes & n->given) && PyUnicode_FindChar(word, '-', 0, PyUnicode_GET_LENGTH(word), 1) >= 0)
        value = least_of(value, 0.4);
    if (scene_kind(s, i) == UPPER && !blind)
        value *= 0.5;
    return value;
}

static int starts_sentence(const Persons *n, const Scene *s, Py_ssize_t i)
{
    if (i == 0 || scene_breaks(s, i))
        return 1;
    PyObject *before = i <= PyList_GET_SIZE(s->strings) ? PyList_GET_ITEM(s->strings, i - 1) : NULL;
    if (!before || PyUnicode_GET_LENGTH(before) != 1)
        return 0;
    const uint32_t sign = PyUnicode_READ_CHAR(before, 0);
    if (sign == '.')
        return i < 2 || scene_length(s, i - 2) > 3 || scene_kind(s, i - 2) == NUMBER;
    return PyUnicode_FindChar(n->openers, sign, 0, PyUnicode_GET_LENGTH(n->openers), 1) >= 0;
}

static int vetoed(const Scene *s, const Run *run)
{
    for (Py_ssize_t k = 0; k < run->names; k++)
        if (!PyBytes_AS_STRING(s->protected)[run->name[k]])
            return 0;
    return 1;
}

static double weigh_words(const Persons *n, const Scene *s, const Run *run, int start)
{
    const Py_ssize_t first = run->name[0], last = run->name[run->names - 1];
    const int blind = scene_blind(s, first);
    const uint64_t classes = s->classes_of[first];
    if (run->names == 1)
        return clear(n, s, first) ? 0.75 : 0.45;
    if (classes & n->given && clear(n, s, first)) {
        if (blind)
            return clear(n, s, last) ? 0.8 : 0.4;
        return s->classes_of[last] & n->person ? 0.93 : 0.82;
    }
    if (classes & n->given) {
        if (clear(n, s, last))
            return blind ? 0.6 : 0.85;
        return blind ? 0.3 : start ? 0.4 : 0.55;
    }
    if (clear(n, s, first) && clear(n, s, last))
        return blind ? 0.3 : 0.55;
    int given = 0, upper = 0, sure = 0;
    for (Py_ssize_t k = 0; k < run->names; k++) {
        const Py_ssize_t i = run->name[k];
        const int is_clear = clear(n, s, i);
        sure |= is_clear;
        given |= is_clear && s->classes_of[i] & n->given;
        upper |= scene_kind(s, i) == UPPER;
    }
    if (given)
        return blind ? 0.3 : 0.75;
    if (run->initials)
        return 0.5;
    if (blind || upper || !sure)
        return 0.25;
    return 0.58 - 0.15 * start - 0.3 * among(scene_sign(s, run->end), ":#=");
}

static int closes(const Persons *n, const Scene *s, const Run *run)
{
    if (!scene_breaks(s, run->first))
        return 0;
    Py_ssize_t at = run->first;
    while (at > 0 && run->first - at < 3 && among(scene_sign(s, at - 1), ",.-_"))
        at--;
    return (s->before[at] & n->cue_closing) != 0;
}

static int alone(const Scene *s, const Run *run)
{
    return scene_breaks(s, run->first) && (run->end >= s->count || scene_breaks(s, run->end));
}

static int aged_follows(const Persons *n, const Scene *s, Py_ssize_t i)
{
    Py_ssize_t at = scene_sign(s, i) == ',' ? i + 1 : i;
    if (at < s->count && s->at[at] & n->cue_aged)
        at++;
    else if (at == i)
        return 0;
    at += scene_says(s, at, n->name_of_indefinite);
    return at > i + 1 && at < s->count && scene_kind(s, at) == NUMBER && scene_length(s, at) < 4;
}

static int person_verb_follows(const Persons *n, const Scene *s, Py_ssize_t i)
{
    return scene_classes(s, i) & n->person_verb && !scene_breaks(s, i) && scene_kind(s, i) == LOWER;
}

static int possessive(const Persons *n, const Scene *s, Py_ssize_t i)
{
    return is_apostrophe(scene_sign(s, i)) && scene_says(s, i + 1, n->name_of_possessive);
}

typedef struct {
    double rest, best; /* what is left of the doubt; the strongest reason */
    const char *source;
} Reasons;

static void reason(Reasons *reasons, double value, const char *source)
{
    reasons->rest *= 1.0 - value;
    if (!reasons->source || value > reasons->best || (value == reasons->best && strcmp(source, reasons->source) > 0)) {
        reasons->best = value;
        reasons->source = source;
    }
}

static double cues(const Persons *n, const Scene *s, const Run *run, const char **source)
{
    Reasons found = {1.0, 0.0, NULL};
    const Py_ssize_t first = run->first, end = run->end;
    Py_ssize_t before = first - 1;
    const uint32_t sign = scene_sign(s, before);
    if (among(sign, ",:(-/\"") || sign == 0x2013)
        before--;
    const int direct = before == first - 1, same = scene_same_line(s, first);
    const int near = same || (first > 0 && scene_breaks(s, first) == 1 && !scene_loud(s, first));
    const uint64_t lead = near ? scene_classes(s, before) : 0, head = s->classes_of[run->name[0]];
    const uint64_t cued = near ? s->before[first] | s->before[before + 1] : 0;
    if (credential_follows(n, s, end))
        reason(&found, 0.93, "name.credential");
    if (lead & n->relation && (scene_kind(s, before) == LOWER || same)) {
        const int likely = clear(n, s, run->name[0]) || head & n->given;
        reason(&found, direct ? 0.75 : likely ? 0.5 : 0.2, "name.relation");
    }
    if (lead & n->role)
        reason(&found, direct ? 0.6 : 0.4, "name.role");
    if (cued & n->cue_naming)
        reason(&found, 0.75, "name.naming");
    if (cued & n->cue_greeting)
        reason(&found, 0.45, "name.greeting");
    if (cued & n->cue_doctor)
        reason(&found, 0.4, "name.doctor");
    if (cued & n->cue_contact)
        reason(&found, 0.25, "name.contact");
    if (closes(n, s, run))
        reason(&found, 0.75, "name.signature");
    else if (run->names > 1 && alone(s, run))
        reason(&found, 0.4, "name.line");
    if (aged_follows(n, s, end))
        reason(&found, 0.75, "name.aged");
    else if (person_verb_follows(n, s, end)) {
        const int known = run->names > 1 || head & n->person;
        reason(&found, known && s->classes_of[end] & n->person_verb_strong ? 0.55 : 0.35, "name.verb");
    }
    if (run->names > 1 && direct && lead & n->patient_word)
        reason(&found, 0.5, "name.patient");
    const uint64_t second = scene_classes(s, end + 2);
    if (second & n->relation && possessive(n, s, end))
        reason(&found, 0.5, "name.relation");
    const uint32_t behind = scene_sign(s, end);
    if (behind == ')' && scene_sign(s, first - 1) == '(' && clear(n, s, run->name[0]))
        reason(&found, 0.35, "name.brackets");
    if (behind == '(' && scene_classes(s, end + 1) & (n->relation | n->role))
        reason(&found, 0.7, "name.relation");
    if (behind == ',' && scene_classes(s, end + 1) & n->function && second & n->relation)
        reason(&found, 0.5, "name.relation");
    *source = found.source;
    return 1.0 - found.rest;
}

static int eponym_follows(const Persons *n, const Scene *s, const Run *run)
{
    Py_ssize_t at = run->end;
    if (is_apostrophe(scene_sign(s, at)))
        at += scene_says(s, at + 1, n->name_of_possessive) ? 2 : 1;
    else if (scene_sign(s, at) == '-' && scene_is_word(s, at + 1))
        at += 2;
    if (at >= s->count || scene_breaks(s, at))
        return 0;
    return s->classes_of[at] & n->eponym_head && (!(s->classes_of[at] & n->person_verb) || scene_blind(s, at));
}

static int head_at(const Persons *n, const Scene *s, Py_ssize_t i)
{
    if (s->classes_of[i] & n->heads && !(s->classes_of[i] & (n->role | n->credential)))
        return 1;
    for (int32_t k = s->phrase_at[i]; k >= 0; k = s->phrase[k].next)
        if (s->phrase[k].classes & n->heads)
            return 1;
    return 0;
}

static int lists(const Persons *n, const Scene *s, Py_ssize_t i)
{
    return among(scene_sign(s, i), ",/") || scene_says(s, i, n->name_of_and);
}

static int among_eponyms(const Persons *n, const Scene *s, const Run *run)
{
    return (scene_classes(s, run->first - 2) & n->eponym && lists(n, s, run->first - 1)) ||
           (scene_classes(s, run->end + 1) & n->eponym && lists(n, s, run->end));
}

static double against(const Persons *n, const Scene *s, const Run *run)
{
    double factor = 1.0;
    if (eponym_follows(n, s, run))
        factor *= 0.15;
    Py_ssize_t behind = run->end;
    if (possessive(n, s, behind))
        behind += 2;
    if (scene_same_line(s, behind) && scene_capital(s, behind) && !scene_blind(s, behind)) {
        if (head_at(n, s, behind))
            factor *= 0.15;
        else if (scene_kind(s, behind) == TITLE && run->names == 1 && s->classes_of[behind] & n->ordinary)
            factor *= 0.6;
    }
    const uint64_t cued = s->before[run->first];
    if (run->names == 1 && cued & n->cue_article)
        factor *= 0.35;
    if (run->names == 1 && among_eponyms(n, s, run))
        factor *= 0.3;
    int exact = 0, place = 1;
    for (int32_t k = s->phrase_at[run->first]; k >= 0; k = s->phrase[k].next)
        exact |= s->phrase[k].end == run->end && s->phrase[k].classes & n->places;
    for (Py_ssize_t k = 0; k < run->names; k++)
        place &= (s->classes_of[run->name[k]] & n->places) != 0;
    place |= exact;
    if (place && cued & n->cue_lives)
        factor *= 0.2;
    else if (exact || (place && cued & n->cue_where))
        factor *= 0.5;
    if (place && scene_sign(s, run->end) == ',' && scene_classes(s, run->end + 1) & n->regions)
        factor *= 0.2;
    return factor;
}

static double weigh(const Persons *n, const Scene *s, const Run *run, const char **source)
{
    if (vetoed(s, run))
        return 0.0;
    const int start = starts_sentence(n, s, run->first);
    int person = 0;
    for (Py_ssize_t k = 0; k < run->names; k++)
        person |= (s->classes_of[run->name[k]] & n->person) != 0;
    double base = 0.1;
    if (person && run->names == 1 && !run->initials)
        base = strength(n, s, run->name[0]) - (start ? 0.12 : 0.0);
    else if (person || run->names > 1)
        base = weigh_words(n, s, run, start);
    const double cued = cues(n, s, run, source);
    if (!*source)
        *source = run->names > 1 ? "name.full" : "name.word";
    return (1.0 - (1.0 - (base > 0.0 ? base : 0.0)) * (1.0 - cued)) * against(n, s, run);
}

static double weigh_inverted(const Persons *n, const Scene *s, const Run *run)
{
    const Py_ssize_t last = run->name[0], first = run->name[run->names - 1];
    const uint64_t classes = s->classes_of[last];
    if (classes & n->given && !(classes & n->last))
        return 0.0;
    double base = 0.0;
    if (first != last && s->classes_of[first] & n->given) {
        if (clear(n, s, first))
            base = classes & n->last && clear(n, s, last) ? 0.88 : 0.6;
        else
            base = clear(n, s, last) && !(classes & n->given) ? 0.6 : 0.35;
    } else if (clear(n, s, last) && run->initials)
        base = 0.5;
    if (run->initials && first != last)
        base = 1.0 - (1.0 - base) * 0.6;
    if (classes & n->places && !run->initials)
        base *= 0.7;
    if (scene_breaks(s, run->first))
        base = 1.0 - (1.0 - base) * 0.8;
    const char *source;
    return 1.0 - (1.0 - base) * (1.0 - cues(n, s, run, &source));
}

static int is_clinician(const Persons *n, const Scene *s, const Run *run)
{
    Py_ssize_t before = run->first - 1;
    if (among(scene_sign(s, before), ",:(-"))
        before--;
    if (closes(n, s, run) || credential_follows(n, s, run->end) || scene_classes(s, before) & n->role ||
        s->before[run->first] & n->cue_doctor)
        return 1;
    return scene_kind(s, run->first) == UPPER && scene_loud(s, run->first) &&
           scene_classes(s, before) & n->title_doctor;
}

/* ---- deid.detection.names -------------------------------------------------------------------------------------- */

static int may_start(const Persons *n, const Scene *s, Py_ssize_t i)
{
    const uint64_t classes = s->classes_of[i];
    if (!scene_capital(s, i))
        return 0;
    if (classes & n->person || !classes)
        return !(scene_blind(s, i) && !(classes & n->person));
    return classes & n->particle || is_initial(n, s, i);
}

static void trim(const Persons *n, const Scene *s, Run *run)
{
    if (run->names < 2 || run->name[0] != run->first || !starts_sentence(n, s, run->first))
        return;
    const uint64_t first = s->classes_of[run->name[0]];
    const Py_ssize_t second = run->name[1];
    if (!(first & n->word) || first & n->given || !(s->classes_of[second] & n->given) || !clear(n, s, second))
        return;
    run->first = second;
    memmove(run->name, run->name + 1, (size_t)(--run->names) * sizeof *run->name);
    Py_ssize_t kept = 0;
    for (Py_ssize_t k = 0; k < run->initials; k++)
        if (run->initial[k] > second)
            run->initial[kept++] = run->initial[k];
    run->initials = kept;
}

static int add_post(PyObject *found, Py_ssize_t first, Py_ssize_t end, const char *category, const char *source,
                    double score)
{
    PyObject *one = Py_BuildValue("nnssd", first, end, category, source, score);
    const int failed = !one || PyList_Append(found, one);
    Py_XDECREF(one);
    return failed;
}

static int post(const Persons *n, const Scene *s, const Run *run, const char *source, double score, PyObject *found)
{
    return add_post(found, run->first, run->end, is_clinician(n, s, run) ? "DOCTOR" : "PATIENT", source, score);
}

static int find_free(const Persons *n, const Scene *s, double least, PyObject *found)
{
    Run run, inverted;
    Py_ssize_t end = 0;
    for (Py_ssize_t i = 0; i < s->count; i++) {
        if (i < end || !may_start(n, s, i) || !read_run(n, s, i, 0, &run))
            continue;
        if (scene_sign(s, run.end) == ',' && read_last_first(n, s, i, 0, &inverted) && !vetoed(s, &inverted)) {
            const double score = weigh_inverted(n, s, &inverted);
            if (score >= least && post(n, s, &inverted, "name.last_first", score, found))
                return -1;
        }
        trim(n, s, &run);
        const char *source = NULL;
        const double score = weigh(n, s, &run, &source);
        if (score >= least && post(n, s, &run, source ? source : "", score, found))
            return -1;
        end = run.end;
    }
    return PyErr_Occurred() ? -1 : 0;
}

/* Whether a name, initials or a title can stand at a word behind a label. */
static int may_be_value(const Persons *n, const Scene *s, Py_ssize_t i)
{
    if (s->classes_of[i] & (n->title | n->title_doctor | n->particle) || name_word(n, s, i, 1))
        return 1;
    return (scene_kind(s, i) == UPPER && scene_length(s, i) <= 3) || is_initial(n, s, i);
}

static Py_ssize_t value_of(const Persons *n, const Scene *s, Py_ssize_t end, int strictly)
{
    Py_ssize_t at = end;
    int strict = 0, breaks = 0;
    for (; at < s->count && at - end < 4; at++) {
        const uint32_t sign = scene_sign(s, at);
        if (!among(sign, ":#=-|.") && sign != 0x2013)
            break;
        strict |= among(sign, ":#=|");
    }
    if (end < 1 || at >= s->count)
        return -1;
    for (Py_ssize_t i = end; i <= at; i++)
        breaks += scene_breaks(s, i);
    if (breaks > 1 || (breaks && !strict))
        return -1;
    if (strictly && !strict && s->start[at] - s->end[at - 1] <= 2) {
        int tabs = 0;
        for (int64_t i = s->end[at - 1]; i < s->start[at]; i++)
            tabs |= PyUnicode_READ_CHAR(s->text, i) == '\t';
        if (!tabs)
            return -1;
    }
    return may_be_value(n, s, at) ? at : -1;
}

static Py_ssize_t initials_at(const Persons *n, const Scene *s, Py_ssize_t i, int *dotted)
{
    const Py_ssize_t length = scene_inside(s, i) && scene_kind(s, i) == UPPER ? scene_length(s, i) : 0;
    *dotted = 0;
    if (length < 1 || length > 3)
        return i;
    if (length > 1)
        return s->classes_of[i] & (n->ordinary | n->credential | n->state_code | n->suffix) ? i : i + 1;
    Py_ssize_t end = i;
    while (is_initial(n, s, end) && scene_sign(s, end + 1) == '.' && (end == i || s->start[end] == s->end[end - 1]))
        end += 2;
    *dotted = end - i >= 4 && end - i <= 6;
    return *dotted ? end : i;
}

/* Whether the words of a stretch, put together, are a known abbreviation. */
static int known_letters(const Scene *s, Py_ssize_t first, Py_ssize_t end)
{
    PyObject *letters = PyUnicode_FromStringAndSize(NULL, 0);
    for (Py_ssize_t i = first; letters && i < end; i++)
        if (scene_is_word(s, i))
            PyUnicode_Append(&letters, scene_word(s, i));
    const int known = letters ? PySequence_Contains(s->letters, letters) : 0;
    Py_XDECREF(letters);
    return known > 0;
}

static double weigh_initials(const Persons *n, const Scene *s, Py_ssize_t i, Py_ssize_t end, int dotted, int *doctor)
{
    *doctor = 1;
    if (credential_follows(n, s, end))
        return 0.8;
    const int near = scene_same_line(s, i);
    const uint64_t lead = near ? scene_classes(s, i - 1) : 0;
    *doctor = 0;
    if (lead & (n->title | n->title_doctor | n->relation))
        return 0.75;
    if (lead & n->patient_word && (dotted || scene_kind(s, i - 1) != UPPER) && !known_letters(s, i, i + 1))
        return dotted ? 0.75 : 0.6;
    if (dotted && person_verb_follows(n, s, end))
        return 0.75;
    *doctor = 1;
    if (dotted)
        return known_letters(s, i, end) ? 0.0 : 0.6;
    if (lead & (n->role | n->credential) || (near && s->before[i] & n->cue_signer))
        return 0.62;
    const uint32_t before = scene_sign(s, i - 1);
    const int last = end >= s->count || scene_breaks(s, end);
    if (among(before, "-/~") || before == 0x2013 || before == 0x2014) {
        const int apart = s->start[i - 1] > (i > 1 ? s->end[i - 2] : 0);
        if (apart && (last || scene_sign(s, end) == '.'))
            return 0.6;
    }
    const int closed = among(before, ".);") || (i > 0 && scene_kind(s, i - 1) == NUMBER);
    return last && closed && near ? 0.56 : 0.0;
}

static int find_initials(const Persons *n, const Scene *s, double least, double least_loud, PyObject *found)
{
    for (Py_ssize_t i = 0; i < s->count;) {
        int dotted, doctor;
        const Py_ssize_t end = initials_at(n, s, i, &dotted);
        if (end > i) {
            const double score = weigh_initials(n, s, i, end, dotted, &doctor);
            if (score >= (scene_loud(s, i) ? least_loud : least) &&
                add_post(found, i, end, doctor ? "DOCTOR" : "PATIENT", "name.initials", score))
                return -1;
        }
        i = end > i ? end : i + 1;
    }
    return PyErr_Occurred() ? -1 : 0;
}

/* ---- what Python calls ----------------------------------------------------------------------------------------- */

static int arguments(PyObject *const *args, Py_ssize_t given, Py_ssize_t least, Py_ssize_t most, const Scene **s,
                     Py_ssize_t *index, int *relaxed)
{
    if (given < least || given > most || !PyObject_TypeCheck(args[0], scene_type)) {
        PyErr_SetString(PyExc_TypeError, "a scene and a word are wanted");
        return 0;
    }
    *s = (const Scene *)args[0];
    *index = PyLong_AsSsize_t(args[1]);
    if (*index == -1 && PyErr_Occurred())
        return 0;
    *relaxed = given > 2 ? PyObject_IsTrue(args[2]) : 0;
    return *relaxed >= 0;
}

static PyObject *numbers(const Py_ssize_t *number, Py_ssize_t count)
{
    PyObject *list = PyList_New(count);
    for (Py_ssize_t k = 0; list && k < count; k++) {
        PyObject *one = PyLong_FromSsize_t(number[k]);
        if (one)
            PyList_SET_ITEM(list, k, one);
        else
            Py_CLEAR(list);
    }
    return list;
}

typedef int Read(const Persons *, const Scene *, Py_ssize_t, int, Run *);

static PyObject *py_read(PyObject *object, PyObject *const *args, Py_ssize_t given, Read *read)
{
    const Scene *s;
    Py_ssize_t index;
    int relaxed;
    Run run;
    if (!arguments(args, given, 2, 3, &s, &index, &relaxed))
        return NULL;
    const int found = read((const Persons *)object, s, index, relaxed, &run);
    if (PyErr_Occurred())
        return NULL;
    if (!found)
        Py_RETURN_NONE;
    PyObject *names = numbers(run.name, run.names), *initials = names ? numbers(run.initial, run.initials) : NULL;
    if (!initials) {
        Py_XDECREF(names);
        return NULL;
    }
    return Py_BuildValue("nnNNO", run.first, run.end, names, initials, read == read_last_first ? Py_True : Py_False);
}

static PyObject *py_run(PyObject *object, PyObject *const *args, Py_ssize_t given)
{
    return py_read(object, args, given, read_run);
}

static PyObject *py_last_first(PyObject *object, PyObject *const *args, Py_ssize_t given)
{
    return py_read(object, args, given, read_last_first);
}

typedef int Ask(const Persons *, const Scene *, Py_ssize_t);

static PyObject *py_ask(PyObject *object, PyObject *const *args, Py_ssize_t given, Ask *ask)
{
    const Scene *s;
    Py_ssize_t index;
    int relaxed;
    if (!arguments(args, given, 2, 2, &s, &index, &relaxed))
        return NULL;
    const int yes = ask((const Persons *)object, s, index);
    return PyErr_Occurred() ? NULL : PyBool_FromLong(yes);
}

static PyObject *py_clear(PyObject *object, PyObject *const *args, Py_ssize_t given)
{
    return py_ask(object, args, given, clear);
}

static PyObject *py_is_initial(PyObject *object, PyObject *const *args, Py_ssize_t given)
{
    return py_ask(object, args, given, is_initial);
}

static PyObject *py_credential_follows(PyObject *object, PyObject *const *args, Py_ssize_t given)
{
    return py_ask(object, args, given, credential_follows);
}

static PyObject *py_name_word(PyObject *object, PyObject *const *args, Py_ssize_t given)
{
    const Scene *s;
    Py_ssize_t index;
    int relaxed;
    if (!arguments(args, given, 2, 3, &s, &index, &relaxed))
        return NULL;
    const int yes = name_word((const Persons *)object, s, index, relaxed);
    return PyErr_Occurred() ? NULL : PyBool_FromLong(yes);
}

static PyObject *py_free(PyObject *object, PyObject *args)
{
    PyObject *scene;
    double least;
    if (!PyArg_ParseTuple(args, "O!d", scene_type, &scene, &least))
        return NULL;
    PyObject *found = PyList_New(0);
    if (found && find_free((const Persons *)object, (const Scene *)scene, least, found))
        Py_CLEAR(found);
    return found;
}

static PyObject *py_initials(PyObject *object, PyObject *args)
{
    PyObject *scene;
    double least, least_loud;
    if (!PyArg_ParseTuple(args, "O!dd", scene_type, &scene, &least, &least_loud))
        return NULL;
    PyObject *found = PyList_New(0);
    if (found && find_initials((const Persons *)object, (const Scene *)scene, least, least_loud, found))
        Py_CLEAR(found);
    return found;
}

/* The value of a label: an object with `end` and `field.strict`; -1 with an exception when it is something else. */
static Py_ssize_t value_behind(const Persons *n, const Scene *s, PyObject *label)
{
    PyObject *end = PyObject_GetAttr(label, n->name_of_end), *field = PyObject_GetAttr(label, n->name_of_field),
             *strict = field ? PyObject_GetAttr(field, n->name_of_strict) : NULL;
    const Py_ssize_t at = end ? PyLong_AsSsize_t(end) : -1;
    const int strictly = strict ? PyObject_IsTrue(strict) : 0;
    Py_XDECREF(end);
    Py_XDECREF(field);
    Py_XDECREF(strict);
    return PyErr_Occurred() ? -1 : value_of(n, s, at, strictly);
}

static PyObject *py_values(PyObject *object, PyObject *args)
{
    PyObject *scene, *labels;
    if (!PyArg_ParseTuple(args, "O!O!", scene_type, &scene, &PyList_Type, &labels))
        return NULL;
    PyObject *found = PyList_New(0);
    for (Py_ssize_t k = 0; found && k < PyList_GET_SIZE(labels); k++) {
        PyObject *label = Py_NewRef(PyList_GET_ITEM(labels, k));
        const Py_ssize_t at = value_behind((const Persons *)object, (const Scene *)scene, label);
        Py_DECREF(label);
        PyObject *number = PyErr_Occurred() ? NULL : PyLong_FromSsize_t(at);
        if (!number || PyList_Append(found, number))
            Py_CLEAR(found);
        Py_XDECREF(number);
    }
    return found;
}

static int bits_of(PyObject *bits, const char *name, uint64_t *field)
{
    PyObject *value = PyDict_GetItemString(bits, name);
    if (!value) {
        PyErr_Format(PyExc_KeyError, "%s", name);
        return -1;
    }
    *field = PyLong_AsUnsignedLongLong(value);
    return PyErr_Occurred() ? -1 : 0;
}

static int persons_init(PyObject *object, PyObject *args, PyObject *named)
{
    Persons *n = (Persons *)object;
    PyObject *classes, *cue_bits, *masks, *openers;
    if (named && PyDict_GET_SIZE(named)) {
        PyErr_SetString(PyExc_TypeError, "arguments go by their order");
        return -1;
    }
    if (!PyArg_ParseTuple(args, "O!O!O!U", &PyDict_Type, &classes, &PyDict_Type, &cue_bits, &PyDict_Type, &masks, &openers))
        return -1;
#define X(name) || bits_of(classes, #name, &n->name)
    int failed = 0 CLASSES(X);
#undef X
#define X(name) || bits_of(masks, #name, &n->name)
    failed = failed MASKS(X);
#undef X
#define X(name) || bits_of(cue_bits, #name, &n->cue_##name)
    failed = failed CUES(X);
#undef X
#define X(name) || !(n->name_of_##name = PyUnicode_InternFromString(#name))
    failed = failed TEXTS(X);
#undef X
    n->openers = Py_NewRef(openers);
    return failed ? -1 : 0;
}

static void persons_dealloc(PyObject *object)
{
    Persons *n = (Persons *)object;
    PyTypeObject *type = Py_TYPE(object);
    Py_CLEAR(n->openers);
#define X(name) Py_CLEAR(n->name_of_##name);
    TEXTS(X)
#undef X
    PyObject_Free(object);
    Py_DECREF(type);
}

/* One whose lists were never named would ask for nothing. */
static PyObject *persons_new(PyTypeObject *type, PyObject *args, PyObject *named)
{
    PyObject *made = PyType_GenericNew(type, args, named);
    if (made && persons_init(made, args, named))
        Py_CLEAR(made);
    return made;
}

#define FAST(function) (PyCFunction)(void (*)(void))(function), METH_FASTCALL
static PyMethodDef methods[] = {
    {"run", FAST(py_run), "run(scene, index, relaxed) -> the fields of the longest Run, or None"},
    {"last_first", FAST(py_last_first), "last_first(scene, index, relaxed) -> the same of Last, First"},
    {"clear", FAST(py_clear), "clear(scene, index): whether a word is a name and nothing else"},
    {"is_initial", FAST(py_is_initial), "is_initial(scene, index): whether a word is an initial"},
    {"name_word", FAST(py_name_word), "name_word(scene, index, relaxed): whether a word can be a part of a name"},
    {"credential_follows", FAST(py_credential_follows), "credential_follows(scene, index): whether letters stand there"},
    {"values", py_values, METH_VARARGS, "values(scene, labels) -> [the first word of a name behind each label, or -1]"},
    {"initials", py_initials, METH_VARARGS,
     "initials(scene, least, least_loud) -> [(first, end, category, source, score)] of initials of persons"},
    {"free", py_free, METH_VARARGS, "free(scene, least) -> [(first, end, category, source, score)] of names in sentences"},
    {NULL, NULL, 0, NULL}};

static PyType_Slot slots[] = {{Py_tp_doc, "Reads and weighs names of persons; see deid.detection.name_classes."},
                              {Py_tp_new, persons_new},
                              {Py_tp_dealloc, persons_dealloc},
                              {Py_tp_methods, methods},
                              {0, NULL}};

PyType_Spec persons_spec = {"deid._native.Persons", sizeof(Persons), 0, Py_TPFLAGS_DEFAULT, slots};
