/* SPDX-License-Identifier: MIT */
/* convert.c - between Python objects and the values of locklab.h. */
#include "lab.h"

#include <float.h>
#include <math.h>
#include <string.h>
#include <time.h>

static int wrong_type(const char *field, const char *wanted, PyObject *value)
{
    PyErr_Format(PyExc_TypeError, "%s must be %s, not %.200s", field, wanted,
                 Py_TYPE(value)->tp_name);
    return -1;
}

/* ---------------------------------------------------------------- Python to C */

const char *lab_utf8(struct mod_state *st, PyObject *value, const char *field)
{
    Py_ssize_t length;
    const char *s;

    if (!PyUnicode_Check(value)) {
        wrong_type(field, "a str", value);
        return NULL;
    }
    s = PyUnicode_AsUTF8AndSize(value, &length);
    if (!s) {
        if (PyErr_ExceptionMatches(PyExc_UnicodeError)) {
            PyErr_Clear();
            lab_fail(st, -EINVAL, field,
                     "%s has a lone surrogate, text that UTF-8 can hold allowed", field);
        }
        return NULL;
    }
    if (strlen(s) != (size_t)length) {
        lab_fail(st, -EINVAL, field, "%s has a NUL character, any other allowed", field);
        return NULL;
    }
    return s;
}

int lab_bool(PyObject *value, const char *field, bool *out)
{
    if (!PyBool_Check(value))
        return wrong_type(field, "a bool", value);
    *out = value == Py_True;
    return 0;
}

int lab_uint(struct mod_state *st, PyObject *value, const char *field, uint64_t max, uint64_t *out)
{
    PyObject *number;
    int overflow;
    long long small;
    unsigned long long large;

    if (PyBool_Check(value) || !PyIndex_Check(value))
        return wrong_type(field, "an int", value);
    number = PyNumber_Index(value);
    if (!number)
        return -1;
    small = PyLong_AsLongLongAndOverflow(number, &overflow);
    large = overflow > 0 ? PyLong_AsUnsignedLongLong(number) : (unsigned long long)small;
    Py_DECREF(number);
    if (overflow < 0 || (overflow > 0 && PyErr_Occurred())) {
        PyErr_Clear();
        lab_fail(st, -ERANGE, field, "%s of more than 64 bits asked, 0 to %llu allowed", field,
                 (unsigned long long)max);
    } else if (overflow == 0 && small < 0) {
        lab_fail(st, -ERANGE, field, "%s %lld asked, 0 to %llu allowed", field, small,
                 (unsigned long long)max);
    } else if (large > max) {
        lab_fail(st, -ERANGE, field, "%s %llu asked, 0 to %llu allowed", field, large,
                 (unsigned long long)max);
    } else {
        *out = large;
        return 0;
    }
    return -1;
}

int lab_uint32(struct mod_state *st, PyObject *value, const char *field, uint32_t *out)
{
    uint64_t wide;

    if (lab_uint(st, value, field, UINT32_MAX, &wide) < 0)
        return -1;
    *out = (uint32_t)wide;
    return 0;
}

int lab_real(struct mod_state *st, PyObject *value, const char *field, double *out)
{
    if (PyBool_Check(value) || !PyNumber_Check(value))
        return wrong_type(field, "a number", value);
    *out = PyFloat_AsDouble(value);
    if (*out != -1.0 || !PyErr_Occurred())
        return 0;
    if (PyErr_ExceptionMatches(PyExc_OverflowError)) {
        PyErr_Clear();
        lab_fail(st, -ERANGE, field, "%s is an int too large for a float, at most %g allowed",
                 field, DBL_MAX);
    }
    return -1;
}

int lab_timeout(struct mod_state *st, PyObject *value, double *out)
{
    *out = INFINITY;
    if (!value || value == Py_None)
        return 0;
    if (lab_real(st, value, "timeout", out) < 0)
        return -1;
    if (!isnan(*out))
        return 0;
    lab_fail(st, -EINVAL, "timeout", "timeout nan asked, any other number of seconds allowed");
    return -1;
}

PyObject *lab_items(PyObject *value, const char *field, PyObject *keep)
{
    PyObject *items;
    int done;

    if (!PyList_Check(value) && !PyTuple_Check(value)) {
        wrong_type(field, "a list or tuple", value);
        return NULL;
    }
    items = PySequence_Tuple(value);
    if (!items)
        return NULL;
    done = PyList_Append(keep, items);
    Py_DECREF(items);
    return done < 0 ? NULL : items;
}

int lab_settings(struct mod_state *st, PyObject *value, PyObject *keep, struct ll_setting **out,
                 size_t *count)
{
    PyObject *items = lab_items(value, "settings", keep);
    Py_ssize_t n = items ? PyTuple_GET_SIZE(items) : 0;
    struct ll_setting *settings;

    if (!items)
        return -1;
    settings = PyMem_Calloc((size_t)n + 1, sizeof(*settings));
    if (!settings)
        return PyErr_NoMemory(), -1;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *pair = lab_items(PyTuple_GET_ITEM(items, i), "each of settings", keep);

        if (pair && PyTuple_GET_SIZE(pair) != 2)
            PyErr_Format(PyExc_TypeError, "each of settings must be (name, value), not %zd items",
                         PyTuple_GET_SIZE(pair));
        else if (pair)
            settings[i].name = lab_utf8(st, PyTuple_GET_ITEM(pair, 0), "name of a setting");
        if (settings[i].name)
            settings[i].value = lab_utf8(st, PyTuple_GET_ITEM(pair, 1), settings[i].name);
        if (!settings[i].value) {
            PyMem_Free(settings);
            return -1;
        }
    }
    *out = settings;
    *count = (size_t)n;
    return 0;
}

/* ---------------------------------------------------------------- C to Python */

int lab_set(PyObject *dict, const char *key, PyObject *value)
{
    int done;

    if (!value)
        return -1;
    done = PyDict_SetItemString(dict, key, value);
    Py_DECREF(value);
    return done;
}

PyObject *lab_str(const char *s)
{
    if (!s)
        Py_RETURN_NONE;
    return PyUnicode_DecodeUTF8(s, (Py_ssize_t)strlen(s), "replace");
}

PyObject *lab_none_or_real(double x)
{
    if (isnan(x))
        Py_RETURN_NONE;
    return PyFloat_FromDouble(x);
}

PyObject *lab_list(struct mod_state *st, size_t n, const void *of,
                   PyObject *(*make)(struct mod_state *st, const void *of, size_t i))
{
    PyObject *list;

    if (!of && n)
        Py_RETURN_NONE;
    list = PyList_New((Py_ssize_t)n);
    for (size_t i = 0; list && i < n; i++) {
        PyObject *item = make(st, of, i);

        if (!item)
            Py_CLEAR(list);
        else
            PyList_SET_ITEM(list, (Py_ssize_t)i, item);
    }
    return list;
}

static PyObject *uint32_at(struct mod_state *st, const void *of, size_t i)
{
    (void)st;
    return PyLong_FromUnsignedLong(((const uint32_t *)of)[i]);
}

static PyObject *uint64_at(struct mod_state *st, const void *of, size_t i)
{
    (void)st;
    return PyLong_FromUnsignedLongLong(((const uint64_t *)of)[i]);
}

PyObject *lab_uint32_list(const uint32_t *v, size_t n)
{
    return lab_list(NULL, n, v, uint32_at);
}

PyObject *lab_uint64_list(const uint64_t *v, size_t n)
{
    return lab_list(NULL, n, v, uint64_at);
}

double lab_now_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}
