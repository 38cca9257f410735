/* Tells what cannot stand at places of a text; the programs come from deid.rules.fields. */
#include "labeller.h"
#include "programs.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    PyObject_HEAD
    Programs programs;
} Fits;

static int fits_init(PyObject *object, PyObject *args, PyObject *named)
{
    Fits *self = (Fits *)object;
    static char *names[] = {"code", "starts", "sets", NULL};
    Py_buffer code, starts, sets;
    if (!PyArg_ParseTupleAndKeywords(args, named, "y*y*y*", names, &code, &starts, &sets))
        return -1;
    int failed = self->programs.code != NULL || starts.len < 4;
    if (failed)
        PyErr_SetString(PyExc_ValueError, "programs are wanted, once");
    else
        failed = programs_load(&self->programs, &code, &starts, &sets, starts.len / 4 - 1);
    PyBuffer_Release(&code);
    PyBuffer_Release(&starts);
    PyBuffer_Release(&sets);
    return failed ? -1 : 0;
}

/* may(text, programs, places) -> a byte each: whether the expression of the program may match at the place */
static PyObject *fits_may(PyObject *object, PyObject *args)
{
    Fits *self = (Fits *)object;
    PyObject *text, *programs, *places;
    if (!PyArg_ParseTuple(args, "UO!O!", &text, &PyList_Type, &programs, &PyList_Type, &places))
        return NULL;
    const Py_ssize_t count = PyList_GET_SIZE(programs), size = PyUnicode_GET_LENGTH(text);
    if (PyList_GET_SIZE(places) != count || size >= INT32_MAX) {
        PyErr_SetString(PyExc_ValueError, "a place a program is wanted, and a text that is not too long");
        return NULL;
    }
    PyObject *result = PyBytes_FromStringAndSize(NULL, count);
    uint8_t *symbol = result ? malloc((size_t)size + 2) : NULL;
    if (!symbol) {
        Py_XDECREF(result);
        return result ? PyErr_NoMemory() : NULL;
    }
    symbol[0] = symbol[size + 1] = OUTSIDE;
    read_symbols(text, symbol + 1);
    for (Py_ssize_t i = 0; i < count; i++) {
        const Py_ssize_t program = PyLong_AsSsize_t(PyList_GET_ITEM(programs, i)),
                         place = PyLong_AsSsize_t(PyList_GET_ITEM(places, i));
        if (program < 0 || program >= self->programs.programs || place < 0 || place > size) {
            if (!PyErr_Occurred())
                PyErr_SetString(PyExc_ValueError, "a program or a place that is not there");
            Py_CLEAR(result);
            break;
        }
        PyBytes_AS_STRING(result)[i] = (char)programs_accept(&self->programs, program, symbol + 1, (int32_t)place);
    }
    free(symbol);
    return result;
}

static void fits_dealloc(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    programs_free(&((Fits *)object)->programs);
    PyObject_Free(object);
    Py_DECREF(type);
}

static PyMethodDef methods[] = {
    {"may", fits_may, METH_VARARGS, "may(text, programs, places) -> a byte each: whether its expression may match there"},
    {NULL, NULL, 0, NULL}};

static PyType_Slot slots[] = {{Py_tp_doc, "Tells where expressions cannot match; see deid.rules.programs."},
                              {Py_tp_new, PyType_GenericNew},
                              {Py_tp_init, fits_init},
                              {Py_tp_dealloc, fits_dealloc},
                              {Py_tp_methods, methods},
                              {0, NULL}};

PyType_Spec fits_spec = {"deid._native.Fits", sizeof(Fits), 0, Py_TPFLAGS_DEFAULT, slots};
