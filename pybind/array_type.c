/* SPDX-License-Identifier: MIT */
/* array_type.c - Array: a read-only view on numbers of the C core, by the buffer protocol. */
#include "lab.h"

struct array {
    PyObject_HEAD
    PyObject *owner;  /* keeps `data` alive */
    const void *data; /* C order, 8 bytes an item, never NULL */
    char format[2];   /* "Q" or "d" */
    int ndim;         /* 1 or 2 */
    Py_ssize_t shape[2], strides[2];
};

static const uint64_t nothing = 0; /* what an empty array points at */

static PyObject *new_array(struct mod_state *st, PyObject *owner, const void *data, char format,
                           int ndim, const size_t *shape)
{
    Py_ssize_t stride = 8;
    struct array *a = (struct array *)st->array_type->tp_alloc(st->array_type, 0);

    if (!a)
        return NULL;
    a->owner = Py_NewRef(owner);
    a->data = data ? data : &nothing;
    a->format[0] = format;
    a->ndim = ndim;
    for (int i = ndim - 1; i >= 0; i--) {
        a->shape[i] = (Py_ssize_t)shape[i];
        a->strides[i] = stride;
        stride *= a->shape[i];
    }
    return (PyObject *)a;
}

PyObject *lab_array(struct mod_state *st, PyObject *owner, const void *data, char format, size_t n)
{
    if (!data && n)
        Py_RETURN_NONE;
    return new_array(st, owner, data, format, 1, (size_t[]){n});
}

PyObject *lab_array_2d(struct mod_state *st, PyObject *owner, const void *data, char format,
                       size_t rows, size_t n)
{
    if (!data && rows && n)
        Py_RETURN_NONE;
    return new_array(st, owner, data, format, 2, (size_t[]){rows, n});
}

static Py_ssize_t size_of(const struct array *a)
{
    return a->ndim == 2 ? a->shape[0] * a->shape[1] : a->shape[0];
}

static int get_buffer(PyObject *self, Py_buffer *view, int flags)
{
    struct array *a = (struct array *)self;
    bool is_fortran = a->ndim == 1 || a->shape[0] <= 1 || a->shape[1] <= 1;

    view->obj = NULL;
    if (flags & PyBUF_WRITABLE) {
        PyErr_SetString(PyExc_BufferError, "an Array is read-only");
        return -1;
    }
    if ((flags & PyBUF_F_CONTIGUOUS) == PyBUF_F_CONTIGUOUS && !is_fortran) {
        PyErr_SetString(PyExc_BufferError, "an Array is in C order");
        return -1;
    }
    view->buf = (void *)a->data;
    view->len = 8 * size_of(a);
    view->readonly = 1;
    view->itemsize = 8;
    view->format = flags & PyBUF_FORMAT ? a->format : NULL;
    view->ndim = flags & PyBUF_ND ? a->ndim : 1;
    view->shape = flags & PyBUF_ND ? a->shape : NULL;
    view->strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? a->strides : NULL;
    view->suboffsets = NULL;
    view->internal = NULL;
    view->obj = Py_NewRef(self);
    return 0;
}

static PyObject *item_at(const struct array *a, Py_ssize_t i)
{
    if (a->format[0] == 'd')
        return PyFloat_FromDouble(((const double *)a->data)[i]);
    return PyLong_FromUnsignedLongLong(((const uint64_t *)a->data)[i]);
}

/* The last dimension as a list that starts at item `at`; `of` is the array. */
static PyObject *row_list(const struct array *a, Py_ssize_t at)
{
    Py_ssize_t n = a->shape[a->ndim - 1];
    PyObject *list = PyList_New(n);

    for (Py_ssize_t i = 0; list && i < n; i++) {
        PyObject *item = item_at(a, at + i);

        if (!item)
            Py_CLEAR(list);
        else
            PyList_SET_ITEM(list, i, item);
    }
    return list;
}

static PyObject *row_at(struct mod_state *st, const void *of, size_t i)
{
    const struct array *a = of;

    (void)st;
    return row_list(a, (Py_ssize_t)i * a->shape[1]);
}

PyDoc_STRVAR(tolist_doc, "tolist($self, /)\n--\n\n"
                         "A list of int or float; a list of such lists if there are two axes.");

static PyObject *tolist(PyObject *self, PyObject *unused)
{
    struct array *a = (struct array *)self;

    (void)unused;
    if (a->ndim == 1)
        return row_list(a, 0);
    return lab_list(NULL, (size_t)a->shape[0], a, row_at);
}

static PyObject *get_shape(PyObject *self, void *unused)
{
    struct array *a = (struct array *)self;

    (void)unused;
    return a->ndim == 2 ? Py_BuildValue("(nn)", a->shape[0], a->shape[1])
                        : Py_BuildValue("(n)", a->shape[0]);
}

static PyObject *get_format(PyObject *self, void *unused)
{
    (void)unused;
    return PyUnicode_FromString(((struct array *)self)->format);
}

static Py_ssize_t length(PyObject *self)
{
    return ((struct array *)self)->shape[0];
}

static int traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(((struct array *)self)->owner);
    return lab_traverse_type(self, visit, arg);
}

/* No tp_clear: `owner` must outlive `data`, and an owner never refers back to an array. */
static void dealloc(PyObject *self)
{
    PyObject_GC_UnTrack(self);
    Py_XDECREF(((struct array *)self)->owner);
    lab_free(self);
}

static PyMethodDef methods[] = {
    {"tolist", tolist, METH_NOARGS, tolist_doc},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef getset[] = {
    {"shape", get_shape, NULL, "Length of each axis, one or two.", NULL},
    {"format", get_format, NULL, "\"Q\" for unsigned 64 bit integers, \"d\" for doubles.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

PyDoc_STRVAR(array_doc,
             "Numbers of the C core, read-only, by the buffer protocol.\n\n"
             "numpy.asarray(a) and memoryview(a) copy nothing and keep the memory alive.\n"
             "Format ``Q`` or ``d``, one or two axes, C order.");

static PyType_Slot slots[] = {
    {Py_tp_doc, (void *)array_doc}, {Py_tp_dealloc, dealloc},
    {Py_tp_traverse, traverse},     {Py_tp_methods, methods},
    {Py_tp_getset, getset},         {Py_sq_length, length},
    {Py_bf_getbuffer, get_buffer},  {0, NULL},
};

static PyType_Spec spec = {
    .name = "locklab._core.Array",
    .basicsize = sizeof(struct array),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE |
             Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = slots,
};

int lab_array_add(PyObject *mod, struct mod_state *st)
{
    return lab_type_add(mod, &spec, &st->array_type);
}
