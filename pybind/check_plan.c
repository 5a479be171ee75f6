/* SPDX-License-Identifier: MIT */
/* check_plan.c - from the dict that describes a check to struct ll_check_plan. */
#include "lab.h"

#include <stddef.h>

/* In the order of the enums of locklab.h. */
static const char *const strategy_names[] = {"auto", "dfs", "pct", "random", NULL};
static const char *const memory_names[] = {"tso", "sc", NULL};

static int settings_of(struct lab_record *r, PyObject *value)
{
    struct lab_check_plan *p = (struct lab_check_plan *)r;

    if (lab_settings(r->st, value, r->keep, &p->settings, &p->plan.n_settings) < 0)
        return -1;
    p->plan.settings = p->settings;
    return 0;
}

#define AT(member) offsetof(struct ll_check_plan, member)

static const struct lab_key keys[] = {
    {"lock", LAB_STRING, AT(lock), NULL, NULL},
    {"client", LAB_STRING, AT(client), NULL, NULL},
    {"threads", LAB_UINT32, AT(threads), NULL, NULL},
    {"n", LAB_UINT32, AT(n), NULL, NULL},
    {"writers", LAB_UINT32, AT(writers), NULL, NULL},
    {"orders", LAB_STRING, AT(orders), NULL, NULL},
    {"strategy", LAB_CHOICE, AT(strategy), strategy_names, NULL},
    {"memory", LAB_CHOICE, AT(memory), memory_names, NULL},
    {"bound", LAB_INT32, AT(bound), NULL, NULL},
    {"giveups", LAB_UINT32, AT(giveups), NULL, NULL},
    {"starvation", LAB_BOOLEAN, AT(starvation), NULL, NULL},
    {"first", LAB_BOOLEAN, AT(first), NULL, NULL},
    {"races", LAB_BOOLEAN, AT(races), NULL, NULL},
    {"budget", LAB_UINT64, AT(budget), NULL, NULL},
    {"seconds", LAB_REAL, AT(seconds), NULL, NULL},
    {"seed", LAB_UINT64, AT(seed), NULL, NULL},
    {"settings", LAB_OWN, 0, NULL, settings_of},
    {NULL, LAB_OWN, 0, NULL, NULL},
};

int lab_check_plan_init(struct mod_state *st, struct lab_check_plan *p, PyObject *dict)
{
    *p = (struct lab_check_plan){
        .record = {.st = st, .what = "check plan", .keys = keys, .base = &p->plan, .keep = NULL}};
    ll_check_plan_init(&p->plan);
    if (lab_record_fill(&p->record, dict) < 0)
        return -1;
    if (p->plan.lock)
        return 0;
    PyErr_SetString(PyExc_TypeError, "a check plan needs the key 'lock'");
    return -1;
}

void lab_check_plan_fini(struct lab_check_plan *p)
{
    PyMem_Free(p->settings);
    Py_CLEAR(p->record.keep);
}
