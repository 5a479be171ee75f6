/* SPDX-License-Identifier: MIT */
/* record.c - from a dict to a struct of locklab.h, by a table of its members. */
#include "lab.h"

#include <stdio.h>
#include <string.h>

/* Index of the word in `names`, or -1. */
static int choice(struct mod_state *st, PyObject *value, const char *field,
                  const char *const *names)
{
    const char *word = lab_utf8(st, value, field);
    char allowed[128] = "";
    size_t used = 0;

    if (!word)
        return -1;
    for (int i = 0; names[i]; i++) {
        if (strcmp(word, names[i]) == 0)
            return i;
        used += (size_t)snprintf(allowed + used, sizeof(allowed) - used, "%s%s", i ? ", " : "",
                                 names[i]);
    }
    lab_fail(st, -EINVAL, field, "%s \"%.100s\" asked, one of %s allowed", field, word, allowed);
    return -1;
}

static int set_key(struct lab_record *r, const struct lab_key *key, PyObject *value)
{
    void *at = (char *)r->base + key->offset;
    const char *s;
    uint64_t wide;
    int i;

    switch (key->type) {
    case LAB_STRING:
        s = lab_utf8(r->st, value, key->name);
        *(const char **)at = s;
        return s ? 0 : -1;
    case LAB_UINT32: return lab_uint32(r->st, value, key->name, at);
    case LAB_INT32:
        if (lab_uint(r->st, value, key->name, INT32_MAX, &wide) < 0)
            return -1;
        *(int32_t *)at = (int32_t)wide;
        return 0;
    case LAB_UINT64: return lab_uint(r->st, value, key->name, UINT64_MAX, at);
    case LAB_REAL: return lab_real(r->st, value, key->name, at);
    case LAB_BOOLEAN: return lab_bool(value, key->name, at);
    case LAB_CHOICE:
        i = choice(r->st, value, key->name, key->names);
        *(unsigned *)at = (unsigned)i;
        return i < 0 ? -1 : 0;
    case LAB_OWN: return key->own(r, value);
    }
    Py_UNREACHABLE();
}

static const struct lab_key *find_key(const struct lab_record *r, PyObject *name)
{
    if (!PyUnicode_Check(name)) {
        PyErr_Format(PyExc_TypeError, "a key of a %s must be a str, not %.200s", r->what,
                     Py_TYPE(name)->tp_name);
        return NULL;
    }
    for (const struct lab_key *key = r->keys; key->name; key++)
        if (PyUnicode_CompareWithASCIIString(name, key->name) == 0)
            return key;
    PyErr_Format(PyExc_TypeError, "a %s has no key %.200R", r->what, name);
    return NULL;
}

/* Works on a copy of the dict, because converting a value can run code that changes the dict; the
 * copy in `keep` also holds the strings that the struct points at. */
int lab_record_fill(struct lab_record *r, PyObject *dict)
{
    PyObject *copy, *name, *value;
    Py_ssize_t position = 0;

    if (!PyDict_Check(dict)) {
        PyErr_Format(PyExc_TypeError, "%s must be a dict, not %.200s", r->what,
                     Py_TYPE(dict)->tp_name);
        return -1;
    }
    copy = PyDict_Copy(dict);
    if (!copy)
        return -1;
    r->keep = Py_BuildValue("[N]", copy);
    if (!r->keep)
        return -1;
    while (PyDict_Next(copy, &position, &name, &value)) {
        const struct lab_key *key = find_key(r, name);

        if (!key || set_key(r, key, value) < 0)
            return -1;
    }
    return 0;
}
