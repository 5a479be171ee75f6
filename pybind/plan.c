/* SPDX-License-Identifier: MIT */
/* plan.c - from the dict that describes a run to struct ll_plan. */
#include "lab.h"

#include <stddef.h>

/* In the order of the enums of locklab.h. */
static const char *const metrics_names[] = {"events", "full", NULL};
static const char *const build_names[] = {"instrumented", "bare", "probed", NULL};
static const char *const owner_names[] = {"coop",       "heartbeat", "always", "never",
                                          "switch-rec", "sample",    NULL};
static const char *const resched_names[] = {"budget", "tick", "never", NULL};

static int perf_names(struct lab_record *r, PyObject *value)
{
    struct lab_plan *p = (struct lab_plan *)r;
    PyObject *items = lab_items(value, "perf", r->keep);
    Py_ssize_t n = items ? PyTuple_GET_SIZE(items) : 0;

    if (!items)
        return -1;
    p->perf = PyMem_Calloc((size_t)n + 1, sizeof(*p->perf));
    if (!p->perf)
        return PyErr_NoMemory(), -1;
    for (Py_ssize_t i = 0; i < n; i++) {
        p->perf[i] = lab_utf8(r->st, PyTuple_GET_ITEM(items, i), "each of perf");
        if (!p->perf[i])
            return -1;
    }
    p->plan.perf = p->perf;
    p->plan.n_perf = (size_t)n;
    return 0;
}

static int settings_of(struct lab_record *r, PyObject *value)
{
    struct lab_plan *p = (struct lab_plan *)r;

    if (lab_settings(r->st, value, r->keep, &p->settings, &p->plan.n_settings) < 0)
        return -1;
    p->plan.settings = p->settings;
    return 0;
}

#define AT(member) offsetof(struct ll_plan, member)

static const struct lab_key keys[] = {
    {"lock", LAB_STRING, AT(lock), NULL, NULL},
    {"workload", LAB_STRING, AT(workload), NULL, NULL},
    {"place", LAB_STRING, AT(place), NULL, NULL},
    {"threads", LAB_UINT32, AT(threads), NULL, NULL},
    {"repeat", LAB_UINT32, AT(repeat), NULL, NULL},
    {"seconds", LAB_REAL, AT(seconds), NULL, NULL},
    {"warmup_s", LAB_REAL, AT(warmup_s), NULL, NULL},
    {"seed", LAB_UINT64, AT(seed), NULL, NULL},
    {"metrics", LAB_CHOICE, AT(metrics), metrics_names, NULL},
    {"build", LAB_CHOICE, AT(build), build_names, NULL},
    {"owner_run", LAB_CHOICE, AT(owner_run), owner_names, NULL},
    {"heartbeat_s", LAB_REAL, AT(heartbeat_s), NULL, NULL},
    {"resched", LAB_CHOICE, AT(resched), resched_names, NULL},
    {"resched_budget_ns", LAB_UINT64, AT(resched_budget_ns), NULL, NULL},
    {"hz", LAB_UINT32, AT(hz), NULL, NULL},
    {"watchdog_s", LAB_REAL, AT(watchdog_s), NULL, NULL},
    {"tick_s", LAB_REAL, AT(tick_s), NULL, NULL},
    {"overhead", LAB_BOOLEAN, AT(overhead), NULL, NULL},
    {"validate", LAB_BOOLEAN, AT(validate), NULL, NULL},
    {"settings", LAB_OWN, 0, NULL, settings_of},
    {"perf", LAB_OWN, 0, NULL, perf_names},
    {NULL, LAB_OWN, 0, NULL, NULL},
};

int lab_plan_init(struct mod_state *st, struct lab_plan *p, PyObject *dict)
{
    *p = (struct lab_plan){
        .record = {.st = st, .what = "plan", .keys = keys, .base = &p->plan, .keep = NULL}};
    ll_plan_init(&p->plan);
    if (lab_record_fill(&p->record, dict) < 0)
        return -1;
    if (p->plan.lock)
        return 0;
    PyErr_SetString(PyExc_TypeError, "a plan needs the key 'lock'");
    return -1;
}

void lab_plan_fini(struct lab_plan *p)
{
    PyMem_Free(p->settings);
    PyMem_Free(p->perf);
    Py_CLEAR(p->record.keep);
}
