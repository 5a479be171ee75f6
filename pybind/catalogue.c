/* SPDX-License-Identifier: MIT */
/* catalogue.c - locks(), workloads(), clients(), events(): the descriptors as plain dicts. */
#include "lab.h"

struct bit {
    uint32_t bit;
    const char *name;
};

static const struct bit claim_bits[] = {
    {LL_FIFO, "fifo"},
    {LL_STARVATION_FREE, "starvation-free"},
    {LL_PARKS, "parks"},
    {LL_QUEUES, "queues"},
    {LL_BROKEN, "broken"},
    {LL_LIFE_TIME, "life-time"},
    {LL_READ_RECURSIVE, "read-recursive"},
    {0, NULL},
};
static const struct bit engine_bits[] = {
    {LL_ENGINE_NATIVE, "native"},
    {LL_ENGINE_SIM, "sim"},
    {LL_ENGINE_CHECK, "check"},
    {0, NULL},
};

static PyObject *names_of(uint32_t set, const struct bit *bits)
{
    PyObject *list = PyList_New(0);

    for (; list && bits->name; bits++) {
        PyObject *name;

        if (!(set & bits->bit))
            continue;
        name = PyUnicode_FromString(bits->name);
        if (!name || PyList_Append(list, name) < 0)
            Py_CLEAR(list);
        Py_XDECREF(name);
    }
    return list;
}

static PyObject *field_dict(struct mod_state *st, const void *of, size_t i)
{
    const struct ll_field *f = (const struct ll_field *)of + i;

    (void)st;
    return Py_BuildValue("{s:s,s:I,s:I}", "name", f->name, "offset", (unsigned)f->offset, "size",
                         (unsigned)f->size);
}

static PyObject *field_list(const struct ll_field *fields)
{
    size_t n = 0;

    while (fields[n].name)
        n++;
    return lab_list(NULL, n, fields, field_dict);
}

static PyObject *name_at(struct mod_state *st, const void *of, size_t i)
{
    (void)st;
    return lab_str(((const char *const *)of)[i]);
}

static PyObject *enum_names(const char *const *names)
{
    size_t n = 0;

    if (!names)
        Py_RETURN_NONE;
    while (names[n])
        n++;
    return lab_list(NULL, n, names, name_at);
}

/* The type that the parameter has in Python; an ENUM stays the index into its names. */
static PyObject *param_value(const struct ll_param *p, double value)
{
    switch (p->type) {
    case LL_PARAM_BOOL: return PyBool_FromLong(value != 0.0);
    case LL_PARAM_REAL: return PyFloat_FromDouble(value);
    case LL_PARAM_LOCK: return lab_str(p->lock);
    default: return PyLong_FromDouble(value);
    }
}

/* The kinds of lock that a LOCK may name; None for other types. */
static PyObject *param_kinds(const struct ll_param *p)
{
    PyObject *list;

    if (p->type != LL_PARAM_LOCK)
        Py_RETURN_NONE;
    list = PyList_New(0);
    for (int k = 0; list && k < LL_KIND_COUNT; k++) {
        PyObject *name;

        if (p->kinds && !(p->kinds >> k & 1))
            continue;
        name = lab_str(ll_kind_name((enum ll_kind)k));
        if (!name || PyList_Append(list, name) < 0)
            Py_CLEAR(list);
        Py_XDECREF(name);
    }
    return list;
}

static PyObject *param_dict(struct mod_state *st, const void *of, size_t i)
{
    static const char *const types[] = {"uint", "bool", "enum", "real", "lock"};
    const struct ll_param *p = (const struct ll_param *)of + i;
    PyObject *d = PyDict_New();

    (void)st;
    if (!d)
        return NULL;
    if (lab_set(d, "name", lab_str(p->name)) || lab_set(d, "unit", lab_str(p->unit)) ||
        lab_set(d, "help", lab_str(p->help)) || lab_set(d, "type", lab_str(types[p->type])) ||
        lab_set(d, "default", param_value(p, p->def)) ||
        lab_set(d, "min", param_value(p, p->min)) || lab_set(d, "max", param_value(p, p->max)) ||
        lab_set(d, "check", param_value(p, p->check != 0.0 ? p->check : p->def)) ||
        lab_set(d, "names", enum_names(p->type == LL_PARAM_ENUM ? p->names : NULL)) ||
        lab_set(d, "kinds", param_kinds(p)))
        Py_CLEAR(d);
    return d;
}

static PyObject *param_list(const struct ll_param *params)
{
    size_t n = 0;

    while (params[n].name)
        n++;
    return lab_list(NULL, n, params, param_dict);
}

static PyObject *expect_dict(const struct ll_expect *expect)
{
    PyObject *d = PyDict_New();

    for (; d && expect->client; expect++)
        if (!expect->setting && lab_set(d, expect->client, lab_str(expect->verdict)))
            Py_CLEAR(d);
    return d;
}

static PyObject *expect_with(const struct ll_expect *expect)
{
    PyObject *list = PyList_New(0);

    for (; list && expect->client; expect++) {
        PyObject *one;

        if (!expect->setting)
            continue;
        one = Py_BuildValue("{s:N,s:N,s:N}", "client", lab_str(expect->client), "verdict",
                            lab_str(expect->verdict), "setting", lab_str(expect->setting));
        if (!one || PyList_Append(list, one) < 0)
            Py_CLEAR(list);
        Py_XDECREF(one);
    }
    return list;
}

static PyObject *lock_dict(struct mod_state *st, const void *of, size_t i)
{
    struct ll_lock_info info = {.size = sizeof(info), .version = LL_ABI};
    int code = ll_lock_get(i, &info);
    PyObject *d;

    (void)of;
    if (code < 0)
        return lab_raise(st, code, NULL);
    d = PyDict_New();
    if (!d)
        return NULL;
    if (lab_set(d, "id", lab_str(info.id)) || lab_set(d, "name", lab_str(info.name)) ||
        lab_set(d, "family", lab_str(info.family)) ||
        lab_set(d, "kind", lab_str(ll_kind_name(info.kind))) ||
        lab_set(d, "summary", lab_str(info.summary)) ||
        lab_set(d, "origin", lab_str(info.origin)) ||
        lab_set(d, "claims", names_of(info.claims, claim_bits)) ||
        lab_set(d, "engines", names_of(info.engines, engine_bits)) ||
        lab_set(d, "lock_size", PyLong_FromUnsignedLong(info.lock_size)) ||
        lab_set(d, "node_size", PyLong_FromUnsignedLong(info.node_size)) ||
        lab_set(d, "has_try", PyBool_FromLong(info.has_try)) ||
        lab_set(d, "has_until", PyBool_FromLong(info.has_until)) ||
        lab_set(d, "lock_fields", field_list(info.lock_fields)) ||
        lab_set(d, "node_fields", field_list(info.node_fields)) ||
        lab_set(d, "params", param_list(info.params)) ||
        lab_set(d, "expect", expect_dict(info.expect)) ||
        lab_set(d, "expect_with", expect_with(info.expect)))
        Py_CLEAR(d);
    return d;
}

static PyObject *workload_dict(struct mod_state *st, const void *of, size_t i)
{
    struct ll_workload_info info = {.size = sizeof(info), .version = LL_ABI};
    int code = ll_workload_get(i, &info);

    (void)of;
    if (code < 0)
        return lab_raise(st, code, NULL);
    return Py_BuildValue("{s:N,s:N,s:N,s:N}", "id", lab_str(info.id), "summary",
                         lab_str(info.summary), "origin", lab_str(info.origin), "params",
                         param_list(info.params));
}

static PyObject *client_dict(const struct ll_client_info *info)
{
    return Py_BuildValue("{s:N,s:N,s:N,s:N,s:N,s:N}", "id", lab_str(info->id), "summary",
                         lab_str(info->summary), "kind", lab_str(ll_kind_name(info->kind)),
                         "needs_try", PyBool_FromLong(info->needs_try), "needs_until",
                         PyBool_FromLong(info->needs_until), "ends_early",
                         PyBool_FromLong(info->ends_early));
}

static PyObject *event_dict(struct mod_state *st, const void *of, size_t i)
{
    struct ll_event_info info;
    int code = ll_event_get(i, &info);

    (void)of;
    if (code < 0)
        return lab_raise(st, code, NULL);
    return Py_BuildValue("{s:N,s:N,s:N}", "name", lab_str(info.name), "unit", lab_str(info.unit),
                         "help", lab_str(info.help));
}

PyDoc_STRVAR(locks_doc, "locks($module, /)\n--\n\n"
                        "Every lock as a dict, sorted by id.");

static PyObject *locks(PyObject *mod, PyObject *unused)
{
    (void)unused;
    return lab_list(PyModule_GetState(mod), ll_lock_count(), mod, lock_dict);
}

PyDoc_STRVAR(workloads_doc, "workloads($module, /)\n--\n\n"
                            "Every workload as a dict, sorted by id.");

static PyObject *workloads(PyObject *mod, PyObject *unused)
{
    (void)unused;
    return lab_list(PyModule_GetState(mod), ll_workload_count(), mod, workload_dict);
}

PyDoc_STRVAR(clients_doc, "clients($module, /)\n--\n\n"
                          "Every client of the model checker as a dict, sorted by id.");

static PyObject *clients(PyObject *mod, PyObject *unused)
{
    struct ll_client_info info = {.size = sizeof(info), .version = LL_ABI};
    PyObject *list = PyList_New(0);

    (void)mod;
    (void)unused;
    for (size_t i = 0; list && ll_client_get(i, &info) == 0; i++) {
        PyObject *one = client_dict(&info);

        if (!one || PyList_Append(list, one) < 0)
            Py_CLEAR(list);
        Py_XDECREF(one);
    }
    return list;
}

PyDoc_STRVAR(events_doc, "events($module, /)\n--\n\n"
                         "Every event counter as a dict, in the order of results.");

static PyObject *events(PyObject *mod, PyObject *unused)
{
    (void)unused;
    return lab_list(PyModule_GetState(mod), ll_event_count(), mod, event_dict);
}

PyDoc_STRVAR(build_info_doc, "build_info($module, /)\n--\n\n"
                             "How the C core was built: a comma list of name=value.");

static PyObject *build_info(PyObject *mod, PyObject *unused)
{
    (void)mod;
    (void)unused;
    return lab_str(ll_build_info());
}

static PyMethodDef methods[] = {
    {"locks", locks, METH_NOARGS, locks_doc},
    {"workloads", workloads, METH_NOARGS, workloads_doc},
    {"clients", clients, METH_NOARGS, clients_doc},
    {"events", events, METH_NOARGS, events_doc},
    {"build_info", build_info, METH_NOARGS, build_info_doc},
    {NULL, NULL, 0, NULL},
};

int lab_catalogue_add(PyObject *mod, struct mod_state *st)
{
    (void)st;
    return PyModule_AddFunctions(mod, methods);
}
