/* SPDX-License-Identifier: MIT */
/* histogram_type.c - Histogram: counts in log-linear buckets, one's own or a run's. */
#include "lab.h"

struct histogram {
    PyObject_HEAD
    PyObject *owner; /* of `h` if it is somebody else's: then it is read-only */
    const struct ll_histogram *h;
    struct ll_histogram *writable; /* == h if it is ours, else NULL */
};

static PyObject *new_view(PyTypeObject *type, PyObject *owner, const struct ll_histogram *h)
{
    struct histogram *self = (struct histogram *)type->tp_alloc(type, 0);

    if (!self)
        return NULL;
    self->owner = Py_XNewRef(owner);
    self->h = h;
    return (PyObject *)self;
}

static PyObject *new_own(PyTypeObject *type)
{
    struct ll_histogram *h = PyMem_Calloc(1, sizeof(*h));
    PyObject *self;

    if (!h)
        return PyErr_NoMemory();
    self = new_view(type, NULL, h);
    if (self)
        ((struct histogram *)self)->writable = h;
    else
        PyMem_Free(h);
    return self;
}

PyObject *lab_histogram_view(struct mod_state *st, PyObject *owner, const struct ll_histogram *h)
{
    if (!h)
        Py_RETURN_NONE;
    return new_view(st->histogram_type, owner, h);
}

PyObject *lab_histogram_copy(struct mod_state *st, const struct ll_histogram *h)
{
    PyObject *self = new_own(st->histogram_type);

    if (self)
        *((struct histogram *)self)->writable = *h;
    return self;
}

static PyObject *make(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *keywords[] = {NULL};

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, ":Histogram", keywords))
        return NULL;
    return new_own(type);
}

static struct ll_histogram *writable(struct histogram *self)
{
    if (!self->writable)
        PyErr_SetString(PyExc_TypeError, "the histogram of a result is read-only");
    return self->writable;
}

PyDoc_STRVAR(record_doc, "record($self, value, /)\n--\n\n"
                         "Count one value (0 to 2**64 - 1, by convention nanoseconds).");

static PyObject *record(PyObject *self, PyObject *value)
{
    struct ll_histogram *h = writable((struct histogram *)self);
    uint64_t x;

    if (!h || lab_uint(lab_state(Py_TYPE(self)), value, "value", UINT64_MAX, &x) < 0)
        return NULL;
    ll_histogram_record(h, x);
    Py_RETURN_NONE;
}

PyDoc_STRVAR(merge_doc, "merge($self, other, /)\n--\n\n"
                        "Add all counts of another Histogram.");

static PyObject *merge(PyObject *self, PyObject *other)
{
    struct ll_histogram *h = writable((struct histogram *)self);

    if (!h)
        return NULL;
    if (Py_TYPE(other) != Py_TYPE(self)) {
        PyErr_Format(PyExc_TypeError, "other must be a Histogram, not %.200s",
                     Py_TYPE(other)->tp_name);
        return NULL;
    }
    ll_histogram_merge(h, ((struct histogram *)other)->h);
    Py_RETURN_NONE;
}

PyDoc_STRVAR(
    quantile_doc,
    "quantile($self, q, /)\n--\n\n"
    "Largest value of the bucket in which the q-quantile lies, at most max; 0 if empty.\n\n"
    "At most 1/32 above the true quantile. ConfigError unless 0 <= q <= 1.");

static PyObject *quantile(PyObject *self, PyObject *value)
{
    struct mod_state *st = lab_state(Py_TYPE(self));
    double q;

    if (lab_real(st, value, "q", &q) < 0)
        return NULL;
    if (!(q >= 0.0 && q <= 1.0))
        return lab_fail(st, -ERANGE, "q", "q %g asked, 0 to 1 allowed", q);
    return PyLong_FromUnsignedLongLong(ll_histogram_quantile(((struct histogram *)self)->h, q));
}

static PyObject *get_count(PyObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromUnsignedLongLong(((struct histogram *)self)->h->count);
}

static PyObject *get_sum(PyObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromUnsignedLongLong(((struct histogram *)self)->h->sum);
}

static PyObject *get_max(PyObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromUnsignedLongLong(((struct histogram *)self)->h->max);
}

static PyObject *get_buckets(PyObject *self, void *unused)
{
    (void)unused;
    return lab_array(lab_state(Py_TYPE(self)), self, ((struct histogram *)self)->h->bucket, 'Q',
                     LL_BUCKETS);
}

static int traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(((struct histogram *)self)->owner);
    return lab_traverse_type(self, visit, arg);
}

/* No tp_clear: `owner` must outlive `h`, and an owner (a Run) never refers back. */
static void dealloc(PyObject *self)
{
    PyObject_GC_UnTrack(self);
    PyMem_Free(((struct histogram *)self)->writable);
    Py_XDECREF(((struct histogram *)self)->owner);
    lab_free(self);
}

static PyMethodDef methods[] = {
    {"record", record, METH_O, record_doc},
    {"merge", merge, METH_O, merge_doc},
    {"quantile", quantile, METH_O, quantile_doc},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef getset[] = {
    {"count", get_count, NULL, "Number of values.", NULL},
    {"sum", get_sum, NULL, "Exact sum of the values, modulo 2**64.", NULL},
    {"max", get_max, NULL, "Exact largest value, 0 if empty.", NULL},
    {"buckets", get_buckets, NULL,
     "Array (``Q``, shape (BUCKETS,)) of live counts; bucket_upper() has the bounds.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

PyDoc_STRVAR(
    histogram_doc,
    "Histogram()\n--\n\n"
    "Counts of integers in log-linear buckets, at most 1/32 wide relative to their bound.\n\n"
    "Those of a result show the run's memory and are read-only (TypeError).");

static PyType_Slot slots[] = {
    {Py_tp_doc, (void *)histogram_doc},
    {Py_tp_new, make},
    {Py_tp_dealloc, dealloc},
    {Py_tp_traverse, traverse},
    {Py_tp_methods, methods},
    {Py_tp_getset, getset},
    {0, NULL},
};

static PyType_Spec spec = {
    .name = "locklab._core.Histogram",
    .basicsize = sizeof(struct histogram),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = slots,
};

int lab_histogram_add(PyObject *mod, struct mod_state *st)
{
    return lab_type_add(mod, &spec, &st->histogram_type);
}
