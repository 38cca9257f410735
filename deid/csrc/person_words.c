/* Words of persons' names in running text: which can be parts of one, and how far a name reaches. The rules are those of
 * deid.rules.person_words, whose functions of the same names are the reference; those that all ask are in names.h.
 */
#include "names.h"

enum { MOST_NAMES = 6, MOST_INITIALS = 3 };

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

int persons_name_word(const Persons *n, const Scene *s, Py_ssize_t i, int relaxed)
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
        if (scene_sign(s, end) == close && persons_name_word(n, s, i + 1, 1) &&
            (end == i + 2 || persons_name_word(n, s, i + 2, 1)))
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
    const int follows = at > i && scene_same_line(s, at) && persons_name_word(n, s, at, started || relaxed);
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

int persons_read_run(const Persons *n, const Scene *s, Py_ssize_t i, int relaxed, Run *run)
{
    if (!scene_inside(s, i) ||
        !(s->classes_of[i] & n->particle || persons_name_word(n, s, i, relaxed) || is_initial(n, s, i)))
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
            const int leads = relaxed && scene_same_line(s, at + 1) && persons_name_word(n, s, at + 1, relaxed);
            if ((!dot && !run->names && !leads) || scene_sign(s, at + 1) == '/')
                break;
            run->initial[run->initials++] = at;
            run->end = at += dot ? 2 : 1;
            continue;
        }
        const int lenient = relaxed && run->names < (scene_blind(s, at) ? 1 : 3);
        if (!persons_name_word(n, s, at, lenient) && !closes_blind(n, s, run, at))
            break;
        if (run->names && relaxed && scene_sign(s, at + 1) == ':')
            break;
        run->name[run->names++] = at;
        run->end = ++at;
        behind = nickname(n, s, at);
        if (behind > at && scene_same_line(s, behind) && persons_name_word(n, s, behind, relaxed)) {
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

int persons_credential_follows(const Persons *n, const Scene *s, Py_ssize_t i)
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

int persons_read_last_first(const Persons *n, const Scene *s, Py_ssize_t i, int relaxed, Run *run)
{
    Run first;
    if (!persons_read_run(n, s, i, relaxed, run) || run->names > 3 || run->end >= s->count ||
        scene_sign(s, run->end) != ',')
        return 0;
    if (!scene_same_line(s, run->end) && s->start[run->end] != s->end[run->end - 1])
        return 0;
    const Py_ssize_t start = run->end + 1;
    if (!scene_same_line(s, start) || scene_kind(s, start) <= NUMBER)
        return 0;
    if (!persons_read_run(n, s, start, relaxed, &first)) {
        /* the initial of "Last, F", which no letters follow */
        if (!is_initial(n, s, start) || scene_is_word(s, start + 1) || persons_credential_follows(n, s, start - 1))
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
