/* Objects of frozen data classes, made without their Python initializer, and their fields; see deid.base.compiled.quick.
 *
 * The class stays what it is: only the call of it is answered here, by writing the arguments into the slots, and fields
 * are read from there without asking the class for what describes them. A call that does not fit (an argument missing,
 * unknown or given twice) and any other attribute go the ordinary way, which says what is wrong.
 */
#include "text.h"

#include <structmember.h>

enum { MOST_CLASSES = 32, MOST_FIELDS = 20 };

typedef struct {
    PyTypeObject *type;
    Py_ssize_t fields;
    PyObject *name[MOST_FIELDS], *value[MOST_FIELDS]; /* value: where none is given, NULL when one must be */
    Py_ssize_t offset[MOST_FIELDS];
} Maker;

static Maker makers[MOST_CLASSES];
static const PyTypeObject *types[MOST_CLASSES]; /* of the makers, close together: each attribute looks through them */
static int made;

static PyObject *make_ordinarily(PyObject *type, PyObject *const *given, Py_ssize_t count, PyObject *names)
{
    PyObject *arguments = PyTuple_New(count), *named = names ? PyDict_New() : NULL, *result = NULL;
    int ok = arguments && (!names || named);
    for (Py_ssize_t i = 0; ok && i < count; i++)
        PyTuple_SET_ITEM(arguments, i, Py_NewRef(given[i]));
    for (Py_ssize_t i = 0; ok && names && i < PyTuple_GET_SIZE(names); i++)
        ok = !PyDict_SetItem(named, PyTuple_GET_ITEM(names, i), given[count + i]);
    if (ok)
        result = PyType_Type.tp_call(type, arguments, named);
    Py_XDECREF(arguments);
    Py_XDECREF(named);
    return result;
}

static Py_ssize_t field_of(const Maker *maker, PyObject *name)
{
    for (Py_ssize_t i = 0; i < maker->fields; i++)
        if (maker->name[i] == name) /* both are interned, as names in code are */
            return i;
    return -1;
}

/* What is known of a class, NULL when it is none of those made here. */
static const Maker *maker_of(const PyTypeObject *type)
{
    for (int i = 0; i < made; i++)
        if (types[i] == type)
            return makers + i;
    return NULL;
}

/* Return an attribute of an object; names that are asked for are interned, but for those that are made up. */
static PyObject *attribute_of(PyObject *object, PyObject *name)
{
    const Maker *maker = maker_of(Py_TYPE(object));
    const Py_ssize_t field = maker ? field_of(maker, name) : -1;
    PyObject *held = field < 0 ? NULL : *(PyObject **)((char *)object + maker->offset[field]);
    return held ? Py_NewRef(held) : PyObject_GenericGetAttr(object, name);
}

static PyObject *make(PyObject *type, PyObject *const *given, size_t flags, PyObject *names)
{
    const Py_ssize_t count = PyVectorcall_NARGS(flags);
    const Maker *maker = maker_of((PyTypeObject *)type);
    if (!maker || count > maker->fields)
        return make_ordinarily(type, given, count, names);
    PyObject *value[MOST_FIELDS] = {NULL};
    for (Py_ssize_t i = 0; i < count; i++)
        value[i] = given[i];
    for (Py_ssize_t i = 0; names && i < PyTuple_GET_SIZE(names); i++) {
        const Py_ssize_t field = field_of(maker, PyTuple_GET_ITEM(names, i));
        if (field < 0 || value[field])
            return make_ordinarily(type, given, count, names);
        value[field] = given[count + i];
    }
    for (Py_ssize_t i = 0; i < maker->fields; i++) {
        if (!value[i])
            value[i] = maker->value[i];
        if (!value[i])
            return make_ordinarily(type, given, count, names);
    }
    PyObject *object = maker->type->tp_alloc(maker->type, 0);
    for (Py_ssize_t i = 0; object && i < maker->fields; i++)
        *(PyObject **)((char *)object + maker->offset[i]) = Py_NewRef(value[i]);
    return object;
}

/* changed(object, name, value, ...): the same object with other values of fields, whose names are interned; of an object
 * of a class derived from one of those made here, one of that */
PyObject *py_changed(PyObject *self, PyObject *const *given, Py_ssize_t count)
{
    (void)self;
    const Maker *maker = NULL;
    for (const PyTypeObject *type = count % 2 ? Py_TYPE(given[0]) : NULL; type && !maker; type = type->tp_base)
        maker = maker_of(type);
    PyObject *copy = maker ? maker->type->tp_alloc(maker->type, 0) : NULL;
    if (!maker)
        PyErr_SetString(PyExc_TypeError, "an object of a quick class, names and values are wanted");
    for (Py_ssize_t i = 0; copy && i < maker->fields; i++)
        *(PyObject **)((char *)copy + maker->offset[i]) =
            Py_XNewRef(*(PyObject **)((char *)given[0] + maker->offset[i]));
    for (Py_ssize_t i = 1; copy && i < count; i += 2) {
        const Py_ssize_t field = field_of(maker, given[i]);
        if (field >= 0)
            Py_XSETREF(*(PyObject **)((char *)copy + maker->offset[field]), Py_NewRef(given[i + 1]));
        else
            Py_CLEAR(copy);
    }
    if (maker && !copy && !PyErr_Occurred())
        PyErr_SetString(PyExc_TypeError, "no such field");
    return copy;
}

/* The same object with another value of a field, whose name is interned; a class that is none of those made here is asked
 * to do it itself, by the method that is named. */
PyObject *made_with(PyObject *object, PyObject *name, PyObject *value, const char *method)
{
    PyObject *const given[] = {object, name, value};
    return maker_of(Py_TYPE(object)) ? py_changed(NULL, given, 3) : PyObject_CallMethod(object, method, "O", value);
}

/* quicken(class, fields, values): calls of the class write into its slots; values has those of fields that need not be
 * given */
PyObject *quicken(PyObject *self, PyObject *args)
{
    (void)self;
    PyTypeObject *type;
    PyObject *fields, *values;
    if (!PyArg_ParseTuple(args, "O!O!O!", &PyType_Type, &type, &PyTuple_Type, &fields, &PyDict_Type, &values))
        return NULL;
    Maker maker = {.type = type, .fields = PyTuple_GET_SIZE(fields)};
    int ok = made < MOST_CLASSES && maker.fields <= MOST_FIELDS && type->tp_itemsize == 0 &&
             type->tp_new == PyBaseObject_Type.tp_new && type->tp_getattro == PyObject_GenericGetAttr;
    for (Py_ssize_t i = 0; ok && i < maker.fields; i++) {
        PyObject *name = PyTuple_GET_ITEM(fields, i);
        PyObject *slot = PyUnicode_CheckExact(name) ? PyObject_GetAttr((PyObject *)type, name) : NULL;
        ok = slot && Py_IS_TYPE(slot, &PyMemberDescr_Type) && PyDescr_TYPE(slot) == type &&
             ((PyMemberDescrObject *)slot)->d_member->type == T_OBJECT_EX;
        if (ok) {
            maker.offset[i] = ((PyMemberDescrObject *)slot)->d_member->offset;
            maker.value[i] = Py_XNewRef(PyDict_GetItemWithError(values, name));
            maker.name[i] = Py_NewRef(name);
            PyUnicode_InternInPlace(&maker.name[i]);
        }
        Py_XDECREF(slot);
    }
    if (!ok || PyErr_Occurred()) {
        PyErr_Clear();
        for (Py_ssize_t i = 0; i < MOST_FIELDS; i++) {
            Py_XDECREF(maker.name[i]);
            Py_XDECREF(maker.value[i]);
        }
        PyErr_SetString(PyExc_TypeError, "a class whose fields are all slots of its own is wanted");
        return NULL;
    }
    Py_INCREF(type); /* a maker lives as long as the process */
    types[made] = type;
    makers[made++] = maker;
    type->tp_vectorcall = make;
    type->tp_getattro = attribute_of;
    Py_RETURN_NONE;
}
