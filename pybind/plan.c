/* SPDX-License-Identifier: MIT */
/* plan.c - from the dict that describes a run to struct ll_plan. */
#include "lab.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum plan_type { STRING, UINT32, UINT64, REAL, BOOLEAN, METRICS, BUILD, OWNER_RUN, SETTINGS, PERF };

static const struct plan_key {
    const char *name;
    enum plan_type type;
    size_t offset; /* in struct ll_plan */
} keys[] = {
    {"lock", STRING, offsetof(struct ll_plan, lock)},
    {"workload", STRING, offsetof(struct ll_plan, workload)},
    {"place", STRING, offsetof(struct ll_plan, place)},
    {"threads", UINT32, offsetof(struct ll_plan, threads)},
    {"repeat", UINT32, offsetof(struct ll_plan, repeat)},
    {"seconds", REAL, offsetof(struct ll_plan, seconds)},
    {"warmup_s", REAL, offsetof(struct ll_plan, warmup_s)},
    {"seed", UINT64, offsetof(struct ll_plan, seed)},
    {"metrics", METRICS, 0},
    {"build", BUILD, 0},
    {"owner_run", OWNER_RUN, 0},
    {"heartbeat_s", REAL, offsetof(struct ll_plan, heartbeat_s)},
    {"watchdog_s", REAL, offsetof(struct ll_plan, watchdog_s)},
    {"tick_s", REAL, offsetof(struct ll_plan, tick_s)},
    {"overhead", BOOLEAN, offsetof(struct ll_plan, overhead)},
    {"settings", SETTINGS, 0},
    {"perf", PERF, 0},
};

/* In the order of the enums of locklab.h. */
static const char *const metrics_names[] = {"events", "full", NULL};
static const char *const build_names[] = {"instrumented", "bare", "probed", NULL};
static const char *const owner_names[] = {"coop", "heartbeat", "always", "never", NULL};

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

static int perf_names(struct mod_state *st, struct lab_plan *p, PyObject *value)
{
    PyObject *items = lab_items(value, "perf", p->keep);
    Py_ssize_t n = items ? PyTuple_GET_SIZE(items) : 0;

    if (!items)
        return -1;
    p->perf = PyMem_Calloc((size_t)n + 1, sizeof(*p->perf));
    if (!p->perf)
        return PyErr_NoMemory(), -1;
    for (Py_ssize_t i = 0; i < n; i++) {
        p->perf[i] = lab_utf8(st, PyTuple_GET_ITEM(items, i), "each of perf");
        if (!p->perf[i])
            return -1;
    }
    p->plan.perf = p->perf;
    p->plan.n_perf = (size_t)n;
    return 0;
}

static int settings_of(struct mod_state *st, struct lab_plan *p, PyObject *value)
{
    if (lab_settings(st, value, p->keep, &p->settings, &p->plan.n_settings) < 0)
        return -1;
    p->plan.settings = p->settings;
    return 0;
}

static int set_key(struct mod_state *st, struct lab_plan *p, const struct plan_key *key,
                   PyObject *value)
{
    void *at = (char *)&p->plan + key->offset;
    const char *s;
    int i;

    switch (key->type) {
    case STRING:
        s = lab_utf8(st, value, key->name);
        *(const char **)at = s;
        return s ? 0 : -1;
    case UINT32: return lab_uint32(st, value, key->name, at);
    case UINT64: return lab_uint(st, value, key->name, UINT64_MAX, at);
    case REAL: return lab_real(st, value, key->name, at);
    case BOOLEAN: return lab_bool(value, key->name, at);
    case METRICS:
        i = choice(st, value, key->name, metrics_names);
        p->plan.metrics = (enum ll_metrics)i;
        return i < 0 ? -1 : 0;
    case BUILD:
        i = choice(st, value, key->name, build_names);
        p->plan.build = (enum ll_build)i;
        return i < 0 ? -1 : 0;
    case OWNER_RUN:
        i = choice(st, value, key->name, owner_names);
        p->plan.owner_run = (enum ll_owner_run)i;
        return i < 0 ? -1 : 0;
    case SETTINGS: return settings_of(st, p, value);
    case PERF: return perf_names(st, p, value);
    }
    Py_UNREACHABLE();
}

static const struct plan_key *find_key(PyObject *name)
{
    if (!PyUnicode_Check(name)) {
        PyErr_Format(PyExc_TypeError, "a key of a plan must be a str, not %.200s",
                     Py_TYPE(name)->tp_name);
        return NULL;
    }
    for (size_t i = 0; i < Py_ARRAY_LENGTH(keys); i++)
        if (PyUnicode_CompareWithASCIIString(name, keys[i].name) == 0)
            return &keys[i];
    PyErr_Format(PyExc_TypeError, "a plan has no key %.200R", name);
    return NULL;
}

/* Works on a copy of the dict, because converting a value can run code that changes the dict; the
 * copy in `keep` also holds the strings that the plan points at. */
int lab_plan_init(struct mod_state *st, struct lab_plan *p, PyObject *dict)
{
    PyObject *copy, *name, *value;
    Py_ssize_t position = 0;

    *p = (struct lab_plan){.keep = NULL};
    ll_plan_init(&p->plan);
    if (!PyDict_Check(dict)) {
        PyErr_Format(PyExc_TypeError, "plan must be a dict, not %.200s", Py_TYPE(dict)->tp_name);
        return -1;
    }
    copy = PyDict_Copy(dict);
    if (!copy)
        return -1;
    p->keep = Py_BuildValue("[N]", copy);
    if (!p->keep)
        return -1;
    while (PyDict_Next(copy, &position, &name, &value)) {
        const struct plan_key *key = find_key(name);

        if (!key || set_key(st, p, key, value) < 0)
            return -1;
    }
    if (!p->plan.lock) {
        PyErr_SetString(PyExc_TypeError, "a plan needs the key 'lock'");
        return -1;
    }
    return 0;
}

void lab_plan_fini(struct lab_plan *p)
{
    PyMem_Free(p->settings);
    PyMem_Free(p->perf);
    Py_CLEAR(p->keep);
}
