/* Evidence for and against a run of words being a person's name. The rules are those of deid.rules.evidence, whose
 * functions of the same names are the reference (`is_clinician` is its category_of; where a sentence starts is told by
 * deid.reading.view).
 */
#include "names.h"

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

int persons_starts_sentence(const Persons *n, const Scene *s, Py_ssize_t i)
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

int persons_vetoed(const Scene *s, const Run *run)
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

int persons_verb_follows(const Persons *n, const Scene *s, Py_ssize_t i)
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
    if (persons_credential_follows(n, s, end))
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
    else if (persons_verb_follows(n, s, end)) {
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

double persons_weigh(const Persons *n, const Scene *s, const Run *run, const char **source)
{
    if (persons_vetoed(s, run))
        return 0.0;
    const int start = persons_starts_sentence(n, s, run->first);
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

double persons_weigh_inverted(const Persons *n, const Scene *s, const Run *run)
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

int persons_is_clinician(const Persons *n, const Scene *s, const Run *run)
{
    Py_ssize_t before = run->first - 1;
    if (among(scene_sign(s, before), ",:(-"))
        before--;
    if (closes(n, s, run) || persons_credential_follows(n, s, run->end) || scene_classes(s, before) & n->role ||
        s->before[run->first] & n->cue_doctor)
        return 1;
    return scene_kind(s, run->first) == UPPER && scene_loud(s, run->first) &&
           scene_classes(s, before) & n->title_doctor;
}
