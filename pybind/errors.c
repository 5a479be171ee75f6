/* SPDX-License-Identifier: MIT */
/* errors.c - from -errno and struct ll_error to the exceptions of locklab/errors.py. */
#include "lab.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static PyObject *class_of(const struct mod_state *st, int code)
{
    switch (code) {
    case -ENOENT: return st->unknown_name;
    case -ENOTSUP: return st->unsupported;
    case -EINVAL:
    case -ERANGE: return st->config_error;
    case -ETIMEDOUT: return st->run_timeout;
    default: return st->run_error;
    }
}

/* "ERANGE" for -ERANGE. The errno module knows them all, but picks one of several names as it
 * likes; we keep to those of core/error.h. */
static PyObject *code_name(int code)
{
    static const struct {
        int number;
        const char *name;
    } aliased[] = {{EAGAIN, "EAGAIN"}, {EDEADLK, "EDEADLK"}, {ENOTSUP, "ENOTSUP"}};
    PyObject *module, *names, *key, *name = NULL;

    for (size_t i = 0; i < Py_ARRAY_LENGTH(aliased); i++)
        if (aliased[i].number == -code)
            return PyUnicode_FromString(aliased[i].name);
    module = PyImport_ImportModule("errno");
    if (!module)
        return NULL;
    names = PyObject_GetAttrString(module, "errorcode");
    Py_DECREF(module);
    key = PyLong_FromLong(-(long)code);
    if (names && key)
        name = PyObject_GetItem(names, key);
    if (!name && PyErr_ExceptionMatches(PyExc_KeyError)) {
        PyErr_Clear();
        name = PyObject_Str(key);
    }
    Py_XDECREF(names);
    Py_XDECREF(key);
    return name;
}

PyObject *lab_raise(struct mod_state *st, int code, const struct ll_error *err)
{
    PyObject *class, *args, *kwargs = NULL, *error = NULL;

    if (code == -ENOMEM)
        return PyErr_NoMemory();
    class = class_of(st, code);
    args = Py_BuildValue("(N)", lab_str(err && err->text[0] ? err->text : strerror(-code)));
    if (args)
        kwargs = Py_BuildValue("{s:N,s:N}", "code", code_name(code), "field",
                               lab_str(err ? err->field : ""));
    if (kwargs)
        error = PyObject_Call(class, args, kwargs);
    if (error)
        PyErr_SetObject(class, error);
    Py_XDECREF(error);
    Py_XDECREF(kwargs);
    Py_XDECREF(args);
    return NULL;
}

PyObject *lab_fail(struct mod_state *st, int code, const char *field, const char *format, ...)
{
    struct ll_error err;
    va_list args;

    snprintf(err.field, sizeof(err.field), "%s", field);
    va_start(args, format);
    vsnprintf(err.text, sizeof(err.text), format, args);
    va_end(args);
    return lab_raise(st, code, &err);
}

int lab_errors_add(PyObject *mod, struct mod_state *st)
{
    const struct {
        const char *name;
        PyObject **slot;
    } classes[] = {
        {"ConfigError", &st->config_error}, {"UnknownName", &st->unknown_name},
        {"Unsupported", &st->unsupported},  {"RunError", &st->run_error},
        {"RunTimeout", &st->run_timeout},
    };
    PyObject *errors = PyImport_ImportModule("locklab.errors");

    (void)mod;
    if (!errors)
        return -1;
    for (size_t i = 0; i < Py_ARRAY_LENGTH(classes); i++) {
        *classes[i].slot = PyObject_GetAttrString(errors, classes[i].name);
        if (!*classes[i].slot)
            break;
    }
    Py_DECREF(errors);
    return PyErr_Occurred() ? -1 : 0;
}
