/* SPDX-License-Identifier: MIT */
/* check_result.c - progress and result of a check as dicts. */
#include "lab.h"

/* In the order of enum ll_verdict. */
static const char *const verdicts[] = {"none-found", "fault", "vacuous", "inconclusive"};

PyObject *lab_check_progress(const struct ll_check_progress *p)
{
    return Py_BuildValue("{s:N,s:I,s:I,s:K,s:K,s:d,s:d}", "phase", lab_str(p->phase), "n", p->n,
                         "writers", p->writers, "executions", (unsigned long long)p->executions,
                         "faults", (unsigned long long)p->faults, "elapsed_s", p->elapsed_s,
                         "seconds", p->seconds);
}

static PyObject *step_dict(struct mod_state *st, const void *of, size_t i)
{
    const struct ll_check_step *s = (const struct ll_check_step *)of + i;
    PyObject *d = PyDict_New();

    (void)st;
    if (!d)
        return NULL;
    if (lab_set(d, "thread", PyLong_FromUnsignedLong(s->thread)) ||
        lab_set(d, "op", lab_str(s->op)) || lab_set(d, "file", lab_str(s->file)) ||
        lab_set(d, "function", lab_str(s->function)) ||
        lab_set(d, "expression", lab_str(s->expression)) ||
        lab_set(d, "line", PyLong_FromUnsignedLong(s->line)) ||
        lab_set(d, "object", lab_str(s->object)) || lab_set(d, "field", lab_str(s->field)) ||
        lab_set(d, "writes", PyBool_FromLong(s->writes)) ||
        lab_set(d, "old_value", PyLong_FromUnsignedLongLong(s->old_value)) ||
        lab_set(d, "new_value", PyLong_FromUnsignedLongLong(s->new_value)) ||
        lab_set(d, "old_name", lab_str(s->old_name)) ||
        lab_set(d, "new_name", lab_str(s->new_name)) ||
        lab_set(d, "preempts", PyBool_FromLong(s->preempts)) ||
        lab_set(d, "text", lab_str(s->text)))
        Py_CLEAR(d);
    return d;
}

static PyObject *fault_dict(struct mod_state *st, const void *of, size_t i)
{
    const struct ll_check_fault *f = (const struct ll_check_fault *)of + i;
    PyObject *d = PyDict_New();

    if (!d)
        return NULL;
    if (lab_set(d, "kind", lab_str(f->kind)) || lab_set(d, "role", lab_str(f->role)) ||
        lab_set(d, "text", lab_str(f->text)) ||
        lab_set(d, "threads", PyLong_FromUnsignedLong(f->threads)) ||
        lab_set(d, "n", PyLong_FromUnsignedLong(f->n)) ||
        lab_set(d, "writers", PyLong_FromUnsignedLong(f->writers)) ||
        lab_set(d, "orders", lab_str(f->orders)) ||
        lab_set(d, "preemptions", PyLong_FromUnsignedLong(f->preemptions)) ||
        lab_set(d, "schedule", lab_str(f->schedule)) ||
        lab_set(d, "execution", PyLong_FromUnsignedLongLong(f->execution)) ||
        lab_set(d, "seconds", PyFloat_FromDouble(f->seconds)) ||
        lab_set(d, "trace", lab_list(st, f->n_steps, f->step, step_dict)))
        Py_CLEAR(d);
    return d;
}

static PyObject *site_dict(struct mod_state *st, const void *of, size_t i)
{
    const struct ll_check_site *s = (const struct ll_check_site *)of + i;

    (void)st;
    return Py_BuildValue("{s:N,s:N,s:N,s:I,s:K,s:K,s:N}", "file", lab_str(s->file), "function",
                         lab_str(s->function), "expression", lab_str(s->expression), "line",
                         s->line, "executed", (unsigned long long)s->executed, "blocked",
                         (unsigned long long)s->blocked, "waits", PyBool_FromLong(s->waits));
}

static int set_counts(PyObject *d, const struct ll_check_result *r)
{
    const struct {
        const char *name;
        uint64_t value;
    } counts[] = {
        {"n", r->n},
        {"operations", r->operations},
        {"executions", r->executions},
        {"blocked", r->blocked},
        {"redundant", r->redundant},
        {"preliminary", r->preliminary},
        {"waits", r->waits},
        {"memory_bytes", r->memory_bytes},
    };

    for (size_t i = 0; i < Py_ARRAY_LENGTH(counts); i++)
        if (lab_set(d, counts[i].name, PyLong_FromUnsignedLongLong(counts[i].value)))
            return -1;
    return 0;
}

PyObject *lab_check_result(struct mod_state *st, const struct ll_check_result *r)
{
    PyObject *d = PyDict_New();

    if (!d)
        return NULL;
    if (lab_set(d, "verdict", lab_str(verdicts[r->verdict])) ||
        lab_set(d, "reason", lab_str(r->reason)) || lab_set(d, "client", lab_str(r->client)) ||
        lab_set(d, "interrupted", PyBool_FromLong(r->interrupted)) ||
        lab_set(d, "exhaustive", PyBool_FromLong(r->exhaustive)) ||
        lab_set(d, "bound", PyLong_FromLong(r->bound)) ||
        lab_set(d, "giveups", PyLong_FromLong(r->giveups)) || set_counts(d, r) ||
        lab_set(d, "seconds", PyFloat_FromDouble(r->seconds)) ||
        lab_set(d, "faults", lab_list(st, r->n_faults, r->fault, fault_dict)) ||
        lab_set(d, "notes", lab_list(st, r->n_notes, r->note, fault_dict)) ||
        lab_set(d, "sites", lab_list(st, r->n_sites, r->site, site_dict)))
        Py_CLEAR(d);
    return d;
}
