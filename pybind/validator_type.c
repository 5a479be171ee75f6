/* SPDX-License-Identifier: MIT */
/* validator_type.c - Validator: the order validator for locks that Python threads take. */
#include "lab.h"

struct validator {
    PyObject_HEAD
    struct ll_validator *validator;
    struct lab_birth birth;
};

struct ll_validator *lab_validator_of(struct mod_state *st, PyObject *object)
{
    struct validator *self = (struct validator *)object;

    if (!PyObject_TypeCheck(object, st->validator_type)) {
        PyErr_Format(PyExc_TypeError, "validator must be a Validator, not %.100s",
                     Py_TYPE(object)->tp_name);
        return NULL;
    }
    return lab_check_ours(st, self->birth, "validator") < 0 ? NULL : self->validator;
}

/* Its file and function as UTF-8 live as long as the code object, which `frame` keeps. */
const struct ll_site *lab_site(struct ll_validator *v)
{
    PyFrameObject *frame = PyEval_GetFrame();
    PyCodeObject *code = frame ? PyFrame_GetCode(frame) : NULL;
    PyObject *file = code ? PyObject_GetAttrString((PyObject *)code, "co_filename") : NULL;
    PyObject *name = code ? PyObject_GetAttrString((PyObject *)code, "co_name") : NULL;
    const char *path = file ? PyUnicode_AsUTF8(file) : NULL;
    const char *function = name ? PyUnicode_AsUTF8(name) : NULL;
    const struct ll_site *site = NULL;

    if (path && function)
        site = ll_validator_site(v, path, function, (uint32_t)PyFrame_GetLineNumber(frame));
    PyErr_Clear(); /* a name that is not UTF-8: no site */
    Py_XDECREF(file);
    Py_XDECREF(name);
    Py_XDECREF(code);
    return site;
}

static PyObject *make(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *keywords[] = {"max_reports", NULL};
    struct mod_state *st = lab_state(type);
    struct ll_validator_options options = {.size = sizeof(options), .version = LL_ABI};
    struct ll_error err = {.text = ""};
    PyObject *max = NULL;
    struct validator *self;
    int code;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O:Validator", keywords, &max))
        return NULL;
    if (max && lab_uint32(st, max, "max_reports", &options.max_reports) < 0)
        return NULL;
    if (max && options.max_reports == 0)
        return lab_fail(st, -ERANGE, "max_reports", "max_reports 0 asked, 1 to 65536 allowed");
    self = (struct validator *)type->tp_alloc(type, 0);
    if (!self)
        return NULL;
    self->birth = lab_born(st);
    code = ll_validator_create(&options, &self->validator, &err);
    if (code < 0) {
        Py_DECREF(self);
        return lab_raise(st, code, &err);
    }
    return (PyObject *)self;
}

PyDoc_STRVAR(found_doc, "found($self, /)\n--\n\n"
                        "What was seen until now: a dict as `validation` of a run's document.");

static PyObject *found(PyObject *object, PyObject *unused)
{
    struct mod_state *st = lab_state(Py_TYPE(object));
    struct ll_validator *v = lab_validator_of(st, object);

    (void)unused;
    return v ? lab_validation(st, v) : NULL;
}

/* Threads may still hold references, which they drop when they end or look for another validator. */
static void dealloc(PyObject *object)
{
    struct validator *self = (struct validator *)object;

    PyObject_GC_UnTrack(object);
    if (self->validator && lab_is_ours(lab_state(Py_TYPE(object)), self->birth)) {
        ll_validator_close(self->validator);
        ll_validator_unref(self->validator);
    }
    lab_free(object);
}

static PyMethodDef methods[] = {
    {"found", found, METH_NOARGS, found_doc},
    {NULL, NULL, 0, NULL},
};

PyDoc_STRVAR(validator_doc, "Validator(max_reports=64)\n--\n\n"
                            "The core of locklab.Validator. ConfigError.");

static PyType_Slot slots[] = {
    {Py_tp_doc, (void *)validator_doc},  {Py_tp_new, make},        {Py_tp_dealloc, dealloc},
    {Py_tp_traverse, lab_traverse_type}, {Py_tp_methods, methods}, {0, NULL},
};

static PyType_Spec spec = {
    .name = "locklab._core.Validator",
    .basicsize = sizeof(struct validator),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = slots,
};

int lab_validator_add(PyObject *mod, struct mod_state *st)
{
    return lab_type_add(mod, &spec, &st->validator_type);
}
