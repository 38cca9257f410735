/* Names of persons in running text, initials, and names behind labels; and the type by which Python asks for these and
 * for what person_words.c tells. The rules are those of deid.rules.names, whose functions are the reference.
 *
 * A run lies on the stack, so that the many that are no names cost nothing but the look at their words. An error (a
 * vocabulary without a list that is asked for) is left set by whoever meets it and noticed at the end.
 */
#include "names.h"

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
    if (run->names < 2 || run->name[0] != run->first || !persons_starts_sentence(n, s, run->first))
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
    return add_post(found, run->first, run->end, persons_is_clinician(n, s, run) ? "DOCTOR" : "PATIENT", source, score);
}

static int find_free(const Persons *n, const Scene *s, double least, PyObject *found)
{
    Run run, inverted;
    Py_ssize_t end = 0;
    for (Py_ssize_t i = 0; i < s->count; i++) {
        if (i < end || !may_start(n, s, i) || !persons_read_run(n, s, i, 0, &run))
            continue;
        if (scene_sign(s, run.end) == ',' && persons_read_last_first(n, s, i, 0, &inverted) &&
            !persons_vetoed(s, &inverted)) {
            const double score = persons_weigh_inverted(n, s, &inverted);
            if (score >= least && post(n, s, &inverted, "name.last_first", score, found))
                return -1;
        }
        trim(n, s, &run);
        const char *source = NULL;
        const double score = persons_weigh(n, s, &run, &source);
        if (score >= least && post(n, s, &run, source ? source : "", score, found))
            return -1;
        end = run.end;
    }
    return PyErr_Occurred() ? -1 : 0;
}

/* Whether a name, initials or a title can stand at a word behind a label. */
static int may_be_value(const Persons *n, const Scene *s, Py_ssize_t i)
{
    if (s->classes_of[i] & (n->title | n->title_doctor | n->particle) || persons_name_word(n, s, i, 1))
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

enum { MOST_INITIALS = 6 }; /* letters and full stops */

static Py_ssize_t initials_at(const Persons *n, const Scene *s, Py_ssize_t i, int *dotted)
{
    const Py_ssize_t length = scene_inside(s, i) && scene_kind(s, i) == UPPER ? scene_length(s, i) : 0;
    *dotted = 0;
    if (length < 1 || length > 3)
        return i;
    if (length > 1)
        return s->classes_of[i] & (n->ordinary | n->credential | n->state_code | n->suffix) ? i : i + 1;
    Py_ssize_t end = i;
    /* no further than what is too long: a chain of thousands is looked at from each of its letters */
    while (end - i <= MOST_INITIALS && is_initial(n, s, end) && scene_sign(s, end + 1) == '.' &&
           (end == i || s->start[end] == s->end[end - 1]))
        end += 2;
    *dotted = end - i >= 4 && end - i <= MOST_INITIALS;
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
    if (persons_credential_follows(n, s, end))
        return 0.8;
    const int near = scene_same_line(s, i);
    const uint64_t lead = near ? scene_classes(s, i - 1) : 0;
    *doctor = 0;
    if (lead & (n->title | n->title_doctor | n->relation))
        return 0.75;
    if (lead & n->patient_word && (dotted || scene_kind(s, i - 1) != UPPER) && !known_letters(s, i, i + 1))
        return dotted ? 0.75 : 0.6;
    if (dotted && persons_verb_follows(n, s, end))
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
    PyObject *inverted = read == persons_read_last_first ? Py_True : Py_False;
    return Py_BuildValue("nnNNO", run.first, run.end, names, initials, inverted);
}

static PyObject *py_run(PyObject *object, PyObject *const *args, Py_ssize_t given)
{
    return py_read(object, args, given, persons_read_run);
}

static PyObject *py_last_first(PyObject *object, PyObject *const *args, Py_ssize_t given)
{
    return py_read(object, args, given, persons_read_last_first);
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
    return py_ask(object, args, given, persons_credential_follows);
}

static PyObject *py_name_word(PyObject *object, PyObject *const *args, Py_ssize_t given)
{
    const Scene *s;
    Py_ssize_t index;
    int relaxed;
    if (!arguments(args, given, 2, 3, &s, &index, &relaxed))
        return NULL;
    const int yes = persons_name_word((const Persons *)object, s, index, relaxed);
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

static PyType_Slot slots[] = {{Py_tp_doc, "Reads and weighs names of persons; see deid.rules.name_classes."},
                              {Py_tp_new, persons_new},
                              {Py_tp_dealloc, persons_dealloc},
                              {Py_tp_methods, methods},
                              {0, NULL}};

PyType_Spec persons_spec = {"deid._native.Persons", sizeof(Persons), 0, Py_TPFLAGS_DEFAULT, slots};
