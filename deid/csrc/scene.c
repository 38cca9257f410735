/* A text with what is known of its words, for the grammars; the oracle is PlainScene of deid.rules.scene.
 *
 * What the grammars ask of a word lies in plain arrays, so that a question costs a look into one of them. Lists that
 * Python owns are never trusted to have kept their length.
 */
#include "scene.h"
#include "text.h"

#include <stdlib.h>
#include <string.h>
#include <structmember.h>

int scene_same_line(const Scene *s, Py_ssize_t i)
{
    if (i <= 0 || i >= s->count)
        return 0;
    if (scene_breaks(s, i))
        return scene_breaks(s, i) == 1 && PyBytes_AS_STRING(s->wrapped)[i];
    const int64_t width = s->start[i] - s->end[i - 1];
    return width < 1 || (width == 1 && PyUnicode_READ_CHAR(s->text, s->end[i - 1]) != '\t');
}

static int contains(PyObject *words, PyObject *word)
{
    const int found = PyAnySet_CheckExact(words) ? PySet_Contains(words, word) : PySequence_Contains(words, word);
    return found > 0;
}

PyTypeObject *scene_type;
static PyObject *empty_text; /* the word outside of every text */

int scene_says(const Scene *s, Py_ssize_t i, PyObject *name)
{
    PyObject *words = s->words ? PyDict_GetItemWithError(s->words, name) : NULL, *word = scene_word(s, i);
    if (!words && !PyErr_Occurred())
        PyErr_SetObject(PyExc_KeyError, name);
    return words && contains(words, word ? word : empty_text);
}

/* ---- questions of one word ------------------------------------------------------------------------------------- */

static int is_index(PyObject *value, Py_ssize_t *index)
{
    *index = PyLong_AsSsize_t(value);
    return *index != -1 || !PyErr_Occurred();
}

static int wants(Py_ssize_t given, Py_ssize_t count)
{
    if (given != count)
        PyErr_Format(PyExc_TypeError, "%zd arguments are wanted", count);
    return given == count;
}

static PyObject *answer(int yes)
{
    return PyErr_Occurred() ? NULL : PyBool_FromLong(yes);
}

/* Whether one of some bits is set for a word; args: the word, then names of bits. */
static PyObject *py_named(PyObject *const *args, Py_ssize_t given, const uint64_t *array, Py_ssize_t size, PyObject *bits)
{
    Py_ssize_t index;
    if (given < 1 || !is_index(args[0], &index))
        return given < 1 ? (wants(given, 1), NULL) : NULL;
    const uint64_t held = index >= 0 && index < size ? array[index] : 0;
    for (Py_ssize_t k = 1; k < given; k++) {
        PyObject *bit = bits ? PyDict_GetItemWithError(bits, args[k]) : NULL;
        if (!bit && !PyErr_Occurred())
            PyErr_SetObject(PyExc_KeyError, args[k]);
        if (!bit || held & PyLong_AsUnsignedLongLongMask(bit))
            return answer(1);
    }
    return answer(0);
}

static PyObject *py_has(PyObject *object, PyObject *const *args, Py_ssize_t given)
{
    const Scene *s = (Scene *)object;
    return py_named(args, given, s->classes_of, s->count, s->bits);
}

static PyObject *py_cued(PyObject *object, PyObject *const *args, Py_ssize_t given)
{
    const Scene *s = (Scene *)object;
    return py_named(args, given, s->before, s->before ? s->count + 1 : 0, s->cue_bits);
}

static PyObject *py_has_any(PyObject *object, PyObject *const *args, Py_ssize_t given)
{
    Py_ssize_t index;
    if (!wants(given, 2) || !is_index(args[0], &index))
        return NULL;
    const uint64_t bits = PyLong_AsUnsignedLongLong(args[1]);
    return answer((scene_classes((Scene *)object, index) & bits) != 0);
}

static PyObject *py_word(PyObject *object, PyObject *value)
{
    Py_ssize_t index;
    if (!is_index(value, &index))
        return NULL;
    PyObject *word = scene_word((Scene *)object, index);
    return Py_NewRef(word ? word : empty_text);
}

static PyObject *py_says(PyObject *object, PyObject *const *args, Py_ssize_t given)
{
    Py_ssize_t index;
    if (!wants(given, 2) || !is_index(args[0], &index))
        return NULL;
    return answer(scene_says((Scene *)object, index, args[1]));
}

static PyObject *py_is_word(PyObject *object, PyObject *value)
{
    Py_ssize_t index;
    return is_index(value, &index) ? PyBool_FromLong(scene_is_word((Scene *)object, index)) : NULL;
}

static PyObject *py_capital(PyObject *object, PyObject *value)
{
    Py_ssize_t index;
    return is_index(value, &index) ? PyBool_FromLong(scene_capital((Scene *)object, index)) : NULL;
}

static PyObject *py_same_line(PyObject *object, PyObject *value)
{
    Py_ssize_t index;
    return is_index(value, &index) ? PyBool_FromLong(scene_same_line((Scene *)object, index)) : NULL;
}

static PyObject *py_blind(PyObject *object, PyObject *value)
{
    const Scene *s = (Scene *)object;
    Py_ssize_t index;
    if (!is_index(value, &index))
        return NULL;
    if (s->quiet)
        Py_RETURN_TRUE;
    index += index < 0 ? s->count : 0; /* as of a list */
    if (!scene_inside(s, index)) {
        PyErr_SetString(PyExc_IndexError, "there is no such word");
        return NULL;
    }
    return PyBool_FromLong(scene_loud(s, index));
}

/* ---- words of a kind ------------------------------------------------------------------------------------------- */

static int add(PyObject *list, Py_ssize_t index)
{
    PyObject *number = PyLong_FromSsize_t(index);
    const int failed = !number || PyList_Append(list, number);
    Py_XDECREF(number);
    return failed;
}

static PyObject *places(const Scene *s, PyObject *mask, int phrases)
{
    const uint64_t bits = PyLong_AsUnsignedLongLong(mask);
    PyObject *found = PyErr_Occurred() ? NULL : PyList_New(0);
    for (Py_ssize_t i = 0; found && i < s->count; i++) {
        uint64_t held = s->classes_of[i];
        for (int32_t k = phrases ? s->phrase_at[i] : -1; k >= 0; k = s->phrase[k].next)
            held |= s->phrase[k].classes;
        if (held & bits && add(found, i))
            Py_CLEAR(found);
    }
    return found;
}

static PyObject *py_of_class(PyObject *object, PyObject *mask)
{
    return places((Scene *)object, mask, 0);
}

static PyObject *py_of_phrase(PyObject *object, PyObject *mask)
{
    return places((Scene *)object, mask, 1);
}

static PyObject *py_unlisted(PyObject *object, PyObject *value)
{
    const Scene *s = (Scene *)object;
    Py_ssize_t kind;
    PyObject *found = is_index(value, &kind) ? PyList_New(0) : NULL;
    for (Py_ssize_t i = 0; found && i < s->count; i++)
        if (!s->classes_of[i] && scene_kind(s, i) == kind && add(found, i))
            Py_CLEAR(found);
    return found;
}

/* Whether there is one word of one character in a collection. */
static uint32_t only_sign(PyObject *words)
{
    PyObject *word = PyTuple_CheckExact(words) && PyTuple_GET_SIZE(words) == 1 ? PyTuple_GET_ITEM(words, 0) : NULL;
    return word && PyUnicode_CheckExact(word) && PyUnicode_GET_LENGTH(word) == 1 ? PyUnicode_READ_CHAR(word, 0) : 0;
}

static PyObject *py_written(PyObject *object, PyObject *args)
{
    const Scene *s = (Scene *)object;
    PyObject *words;
    int capital = 0;
    if (!PyArg_ParseTuple(args, "O|p", &words, &capital))
        return NULL;
    const uint32_t sign = only_sign(words);
    PyObject *found = PyList_New(0);
    for (Py_ssize_t i = 0; found && i < s->count; i++) {
        if (capital && !scene_capital(s, i))
            continue; /* told before the word itself is looked at, which lies somewhere else */
        PyObject *word = scene_word(s, i);
        const int is = sign ? scene_sign(s, i) == sign : word && contains(words, word);
        if (PyErr_Occurred() || (is && add(found, i)))
            Py_CLEAR(found);
    }
    return found;
}

static PyObject *py_capitals(PyObject *object, PyObject *unused)
{
    (void)unused;
    Scene *s = (Scene *)object;
    PyObject *found = s->capitals ? NULL : PyList_New(0);
    for (Py_ssize_t i = 0; found && i < s->count; i++)
        if (scene_capital(s, i) && add(found, i))
            Py_CLEAR(found);
    s->capitals = s->capitals ? s->capitals : found;
    return Py_XNewRef(s->capitals);
}

/* ---- making one ------------------------------------------------------------------------------------------------ */

static int refuse(const char *message)
{
    if (!PyErr_Occurred())
        PyErr_SetString(PyExc_ValueError, message);
    return -1;
}

/* Take one field of the view; -1 unless it has the type that is wanted and one entry a word. */
static int take(Scene *s, PyObject *view, const char *name, PyTypeObject *type, PyObject **field)
{
    Py_XSETREF(*field, PyObject_GetAttrString(view, name));
    if (!*field || !Py_IS_TYPE(*field, type) || (type != &PyUnicode_Type && Py_SIZE(*field) != s->count))
        return refuse("the view has not one entry for each word");
    return 0;
}

static int take_offsets(Scene *s, PyObject *view, const char *name, int64_t **array)
{
    PyObject *offsets = PyObject_GetAttrString(view, name);
    Py_buffer buffer;
    int failed = !offsets || offsets_of(offsets, s->count, &buffer);
    if (!failed) {
        memcpy(*array, buffer.buf, (size_t)buffer.len);
        PyBuffer_Release(&buffer);
    }
    const Py_ssize_t size = PyUnicode_GET_LENGTH(s->text);
    for (Py_ssize_t i = 0; !failed && i < s->count; i++)
        if ((*array)[i] < 0 || (*array)[i] > size)
            failed = refuse("a word lies outside of its text");
    Py_XDECREF(offsets);
    return failed;
}

static int take_view(Scene *s, PyObject *view)
{
    if (take(s, view, "text", &PyUnicode_Type, &s->text) || take(s, view, "strings", &PyList_Type, &s->strings) ||
        take(s, view, "folded", &PyList_Type, &s->folded) || take(s, view, "kinds", &PyBytes_Type, &s->kinds) ||
        take(s, view, "breaks", &PyBytes_Type, &s->breaks) || take(s, view, "wrapped", &PyBytes_Type, &s->wrapped) ||
        take(s, view, "loud", &PyBytes_Type, &s->loud) || take_offsets(s, view, "starts", &s->start) ||
        take_offsets(s, view, "ends", &s->end))
        return -1;
    for (Py_ssize_t i = 0; i < s->count; i++)
        if (!PyUnicode_Check(PyList_GET_ITEM(s->strings, i)) || !PyUnicode_Check(PyList_GET_ITEM(s->folded, i)))
            return refuse("a word is no text");
        else if (s->start[i] > s->end[i] || (i && s->start[i] < s->end[i - 1]))
            return refuse("words are not in order");
    return 0;
}

/* Enter the phrases that start at one word: [(end, classes), ...]. */
static int take_phrase(Scene *s, PyObject *first, PyObject *found, Py_ssize_t *used, Py_ssize_t *room, uint64_t clinical)
{
    const Py_ssize_t start = PyLong_AsSsize_t(first);
    if (PyErr_Occurred() || start < 0 || start >= s->count || !PyList_Check(found))
        return refuse("a phrase lies outside of its text");
    for (Py_ssize_t k = 0; k < PyList_GET_SIZE(found); k++) {
        Py_ssize_t end;
        unsigned long long bits;
        if (!PyArg_ParseTuple(PyList_GET_ITEM(found, k), "nK", &end, &bits) || end <= start || end > s->count ||
            *used >= INT32_MAX)
            return refuse("a phrase lies outside of its text");
        if (grow(&s->phrase, room, *used + 1, sizeof(Phrase)))
            return -1;
        const int32_t number = (int32_t)(*used)++;
        s->phrase[number] = (Phrase){bits, end, -1};
        if (k)
            s->phrase[number - 1].next = number;
        else
            s->phrase_at[start] = number;
        if (bits & clinical)
            memset(PyBytes_AS_STRING(s->protected) + start, 1, (size_t)(end - start));
    }
    return 0;
}

static int take_phrases(Scene *s, uint64_t clinical)
{
    Py_ssize_t used = 0, room = 0, at = 0;
    PyObject *first, *found;
    s->protected = PyBytes_FromStringAndSize(NULL, s->count);
    if (!s->protected)
        return -1;
    memset(PyBytes_AS_STRING(s->protected), 0, (size_t)s->count);
    memset(s->phrase_at, 0xff, (size_t)s->count * sizeof(int32_t));
    while (PyDict_Next(s->phrases, &at, &first, &found))
        if (take_phrase(s, first, found, &used, &room, clinical))
            return -1;
    return 0;
}

/* Set the bit of each cue at its words, which may be the one past the last too. */
static int take_cues(Scene *s, PyObject *cues, uint64_t *array)
{
    Py_ssize_t at = 0;
    PyObject *name, *words;
    while (PyDict_Next(cues, &at, &name, &words)) {
        PyObject *bit = PyDict_GetItemWithError(s->cue_bits, name), *each = bit ? PyObject_GetIter(words) : NULL, *word;
        if (!bit && !PyErr_Occurred())
            PyErr_SetObject(PyExc_KeyError, name);
        while (each && (word = PyIter_Next(each))) {
            const Py_ssize_t index = PyLong_AsSsize_t(word);
            Py_DECREF(word);
            if (index < 0 || index > s->count)
                refuse("a cue lies outside of its text");
            else
                array[index] |= PyLong_AsUnsignedLongLongMask(bit);
            if (PyErr_Occurred())
                break;
        }
        Py_XDECREF(each);
        if (PyErr_Occurred())
            return -1;
    }
    return 0;
}

static int scene_init(PyObject *object, PyObject *args, PyObject *named)
{
    Scene *s = (Scene *)object;
    PyObject *view, *classes, *phrases, *before, *at, *vocabulary, *letters, *bits, *cue_bits;
    int quiet;
    unsigned long long clinical;
    if (named && PyDict_GET_SIZE(named)) {
        PyErr_SetString(PyExc_TypeError, "arguments go by their order");
        return -1;
    }
    if (!PyArg_ParseTuple(args, "OO!O!O!O!pOOO!O!K", &view, &PyList_Type, &classes, &PyDict_Type, &phrases,
                          &PyDict_Type, &before, &PyDict_Type, &at, &quiet, &vocabulary, &letters, &PyDict_Type, &bits,
                          &PyDict_Type, &cue_bits, &clinical))
        return -1;
    if (s->view) {
        PyErr_SetString(PyExc_RuntimeError, "made already");
        return -1;
    }
    const Py_ssize_t count = PyList_GET_SIZE(classes);
    const size_t room = (size_t)count + 1;
    s->view = Py_NewRef(view);
    s->classes = Py_NewRef(classes);
    s->phrases = Py_NewRef(phrases);
    s->cues_before = Py_NewRef(before);
    s->cues_at = Py_NewRef(at);
    s->vocabulary = Py_NewRef(vocabulary);
    s->letters = Py_NewRef(letters);
    s->bits = Py_NewRef(bits);
    s->cue_bits = Py_NewRef(cue_bits);
    s->quiet = (char)quiet;
    s->start = PyMem_Calloc(room, sizeof(int64_t));
    s->end = PyMem_Calloc(room, sizeof(int64_t));
    s->classes_of = PyMem_Calloc(room, sizeof(uint64_t));
    s->before = PyMem_Calloc(room, sizeof(uint64_t));
    s->at = PyMem_Calloc(room, sizeof(uint64_t));
    s->phrase_at = PyMem_Calloc(room, sizeof(int32_t));
    if (!s->start || !s->end || !s->classes_of || !s->before || !s->at || !s->phrase_at)
        return PyErr_NoMemory(), -1;
    for (Py_ssize_t i = 0; i < count; i++) {
        s->classes_of[i] = PyLong_AsUnsignedLongLong(PyList_GET_ITEM(classes, i));
        if (PyErr_Occurred())
            return -1;
    }
    s->count = count;
    s->words = PyObject_GetAttrString(vocabulary, "words");
    if (!s->words || !PyDict_Check(s->words) || take_view(s, view) || take_phrases(s, clinical) ||
        take_cues(s, before, s->before) || take_cues(s, at, s->at)) {
        s->count = 0; /* nothing to ask of what was not made */
        return refuse("the vocabulary has no words");
    }
    return 0;
}

static void scene_dealloc(PyObject *object)
{
    Scene *s = (Scene *)object;
    PyTypeObject *type = Py_TYPE(object);
    PyObject **const held[] = {&s->view, &s->text, &s->strings, &s->folded, &s->kinds, &s->breaks,
                               &s->wrapped, &s->loud, &s->classes, &s->phrases, &s->cues_before, &s->cues_at, &s->protected,
                               &s->vocabulary, &s->words, &s->letters, &s->capitals, &s->bits, &s->cue_bits};
    void *const arrays[] = {s->start, s->end, s->classes_of, s->before, s->at, s->phrase_at};
    for (size_t i = 0; i < sizeof held / sizeof *held; i++)
        Py_CLEAR(*held[i]);
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        PyMem_Free(arrays[i]);
    free(s->phrase);
    type->tp_free(object);
    Py_DECREF(type);
}

static Py_ssize_t scene_size(PyObject *object)
{
    return ((Scene *)object)->count;
}

#define FAST(function) (PyCFunction)(void (*)(void))(function), METH_FASTCALL
static PyMethodDef methods[] = {
    {"has", FAST(py_has), "has(index, *names): whether a word has one of some classes"},
    {"has_any", FAST(py_has_any), "has_any(index, bits): whether a word has one of some classes"},
    {"cued", FAST(py_cued), "cued(index, *names): whether one of some cues ends right before a word"},
    {"word", py_word, METH_O, "word(index): the folded word, empty outside"},
    {"says", FAST(py_says), "says(index, name): whether a word stands in a list of the vocabulary"},
    {"is_word", py_is_word, METH_O, "is_word(index): whether there are letters"},
    {"capital", py_capital, METH_O, "capital(index): whether a word begins with a capital, or could"},
    {"same_line", py_same_line, METH_O, "same_line(index): whether a word follows the one before it in its line"},
    {"blind", py_blind, METH_O, "blind(index): whether the case of a word says nothing"},
    {"of_class", py_of_class, METH_O, "of_class(bits): the words that have one of some classes"},
    {"of_phrase", py_of_phrase, METH_O, "of_phrase(bits): those and the words with which a phrase begins that has one"},
    {"unlisted", py_unlisted, METH_O, "unlisted(kind): the words of a kind that no list has"},
    {"written", py_written, METH_VARARGS, "written(words, capital=False): the places of some words"},
    {"capitals", py_capitals, METH_NOARGS, "capitals(): the words for which `capital` holds"},
    {NULL, NULL, 0, NULL}};

#define MEMBER(name) {#name, T_OBJECT_EX, offsetof(Scene, name), READONLY, NULL}
static PyMemberDef members[] = {MEMBER(view), MEMBER(classes), MEMBER(phrases), MEMBER(cues_before), MEMBER(cues_at), MEMBER(protected),
                                MEMBER(vocabulary), MEMBER(letters), {"quiet", T_BOOL, offsetof(Scene, quiet), READONLY, NULL},
                                {NULL, 0, 0, 0, NULL}};

static PyType_Slot slots[] = {{Py_tp_doc, "What grammars ask of the words of a text; see deid.rules.scene."},
                              {Py_tp_new, PyType_GenericNew},
                              {Py_tp_init, scene_init},
                              {Py_tp_dealloc, scene_dealloc},
                              {Py_tp_methods, methods},
                              {Py_tp_members, members},
                              {Py_sq_length, scene_size},
                              {0, NULL}};

PyType_Spec scene_spec = {"deid._native.Scene", sizeof(Scene), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};

int scene_ready(void)
{
    if (!empty_text)
        empty_text = PyUnicode_FromStringAndSize(NULL, 0);
    if (!scene_type)
        scene_type = (PyTypeObject *)PyType_FromSpec(&scene_spec);
    return empty_text && scene_type ? 0 : -1;
}
