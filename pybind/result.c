/* SPDX-License-Identifier: MIT */
/* result.c - snapshots and results as dicts; the keys are the members' names in locklab.h. */
#include "lab.h"

PyObject *lab_snapshot(struct mod_state *st, const struct ll_snapshot *s)
{
    static const char *const phases[] = {"start", "warmup", "measure", "drain", "overhead", "done"};

    return Py_BuildValue("{s:N,s:I,s:I,s:d,s:d,s:d,s:N,s:K,s:N,s:N}", "phase",
                         lab_str(phases[s->phase]), "threads", s->threads, "repeat", s->repeat,
                         "t_s", s->t_s, "elapsed_s", s->elapsed_s, "expected_s", s->expected_s,
                         "acquisitions", lab_uint64_list(s->acquisitions, s->threads), "overlap",
                         (unsigned long long)s->overlap, "wait", lab_histogram_copy(st, &s->wait),
                         "hold", lab_histogram_copy(st, &s->hold));
}

/* What the parts of a result need to become objects. */
struct source {
    struct mod_state *st;
    PyObject *run; /* owner of all memory of `r` */
    const struct ll_result *r;
};

static PyObject *uints(const struct source *s, const uint64_t *v, size_t n)
{
    return lab_array(s->st, s->run, v, 'Q', n);
}

static PyObject *reals(const struct source *s, const double *v, size_t n)
{
    return lab_array(s->st, s->run, v, 'd', n);
}

/* The `n` objects that a member of the result holds, made by `make(st, source, i)`. */
static PyObject *list(const struct source *s, const void *member, size_t n,
                      PyObject *(*make)(struct mod_state *st, const void *of, size_t i))
{
    return lab_list(s->st, n, member ? s : NULL, make);
}

static PyObject *repeat_at(struct mod_state *st, const void *of, size_t i)
{
    const struct source *s = of;
    const struct ll_repeat *p = &s->r->repeat[i];

    (void)st;
    return Py_BuildValue("{s:d,s:K,s:[N,N],s:N}", "seconds", p->seconds, "acquisitions",
                         (unsigned long long)p->acquisitions, "regime_ns",
                         lab_none_or_real(p->regime_ns[0]), lab_none_or_real(p->regime_ns[1]),
                         "thread_acquisitions", uints(s, p->thread_acquisitions, s->r->threads));
}

static PyObject *perf_at(struct mod_state *st, const void *of, size_t i)
{
    const struct ll_perf_value *p = &((const struct source *)of)->r->perf[i];

    (void)st;
    return Py_BuildValue("{s:N,s:N,s:N,s:O,s:K,s:d,s:i,s:N}", "name", lab_str(p->name), "unit",
                         lab_str(p->unit), "source", lab_str(p->source), "counted",
                         p->counted ? Py_True : Py_False, "value", (unsigned long long)p->value,
                         "running_ratio", p->running_ratio, "err", abs(p->err), "reason",
                         lab_str(p->reason));
}

static PyObject *group_at(struct mod_state *st, const void *of, size_t i)
{
    const struct ll_group *g = &((const struct source *)of)->r->group[i];

    (void)st;
    return Py_BuildValue(
        "{s:N,s:N,s:I,s:N,s:K,s:K,s:K,s:K}", "name", lab_str(g->name), "lock", lab_str(g->lock),
        "count", g->count, "counted", PyBool_FromLong(g->counted), "acquisitions",
        (unsigned long long)g->acquisitions, "wait_ns", (unsigned long long)g->wait_ns, "hold_ns",
        (unsigned long long)g->hold_ns, "wait_max_ns", (unsigned long long)g->wait_max_ns);
}

static PyObject *waiter_at(struct mod_state *st, const void *of, size_t i)
{
    const struct ll_waiter *w = &((const struct source *)of)->r->waiter[i];

    (void)st;
    return Py_BuildValue("{s:I,s:I,s:N,s:N,s:N,s:N,s:I,s:d}", "thread", w->thread, "cpu", w->cpu,
                         "state", lab_str(w->state), "object", lab_str(w->object), "field",
                         lab_str(w->field), "file", lab_str(w->file), "line", w->line, "since_s",
                         w->since_s);
}

static PyObject *matrix_row_at(struct mod_state *st, const void *of, size_t i)
{
    const struct ll_result *r = ((const struct source *)of)->r;

    (void)st;
    return lab_uint64_list(r->matrix + i * r->n_cpus, r->n_cpus);
}

static PyObject *event_dict(const uint64_t *count)
{
    PyObject *d = count ? PyDict_New() : Py_NewRef(Py_None);

    for (size_t i = 0; count && d && i < ll_event_count(); i++) {
        struct ll_event_info info = {.name = ""};

        ll_event_get(i, &info);
        if (lab_set(d, info.name, PyLong_FromUnsignedLongLong(count[i])))
            Py_CLEAR(d);
    }
    return d;
}

static int set_head(PyObject *d, const struct source *s)
{
    static const char *const statuses[] = {"complete", "interrupted", "hung", "failed"};
    const struct ll_result *r = s->r;

    return lab_set(d, "status", lab_str(statuses[r->status])) ||
           lab_set(d, "failure",
                   Py_BuildValue("{s:N,s:N}", "field", lab_str(r->failure.field), "text",
                                 lab_str(r->failure.text))) ||
           lab_set(d, "threads", PyLong_FromUnsignedLong(r->threads)) ||
           lab_set(d, "repeats", PyLong_FromUnsignedLong(r->repeats)) ||
           lab_set(d, "repeat", list(s, r->repeat, r->repeats, repeat_at)) ||
           lab_set(d, "seconds", PyFloat_FromDouble(r->seconds)) ||
           lab_set(d, "drain_s", PyFloat_FromDouble(r->drain_s)) ||
           lab_set(d, "started_ns", PyLong_FromUnsignedLongLong(r->started_ns)) ||
           lab_set(d, "overlap_checked", PyBool_FromLong(r->overlap_checked)) ||
           lab_set(d, "overlap", PyLong_FromUnsignedLongLong(r->overlap)) ||
           lab_set(d, "events", event_dict(r->events)) ||
           lab_set(d, "rseq", PyBool_FromLong(r->rseq));
}

static int set_threads(PyObject *d, const struct source *s)
{
    const struct ll_result *r = s->r;

    return lab_set(d, "acquisitions", uints(s, r->acquisitions, r->threads)) ||
           lab_set(d, "shared_acquisitions", uints(s, r->shared_acquisitions, r->threads)) ||
           lab_set(d, "cpu", lab_uint32_list(r->cpu, r->threads)) ||
           lab_set(d, "wait_max_ns", uints(s, r->wait_max_ns, r->threads)) ||
           lab_set(d, "cpu_ns", uints(s, r->cpu_ns, r->threads)) ||
           lab_set(d, "voluntary", uints(s, r->voluntary, r->threads)) ||
           lab_set(d, "involuntary", uints(s, r->involuntary, r->threads));
}

static int set_histograms(PyObject *d, const struct source *s)
{
    const struct ll_result *r = s->r;

    return lab_set(d, "wait", lab_histogram_view(s->st, s->run, r->wait)) ||
           lab_set(d, "hold", lab_histogram_view(s->st, s->run, r->hold)) ||
           lab_set(d, "handoff", lab_histogram_view(s->st, s->run, r->handoff)) ||
           lab_set(d, "wake", lab_histogram_view(s->st, s->run, r->wake)) ||
           lab_set(d, "backoff_depth", lab_histogram_view(s->st, s->run, r->backoff_depth)) ||
           lab_set(d, "restarts", lab_histogram_view(s->st, s->run, r->restarts)) ||
           lab_set(d, "age", lab_histogram_view(s->st, s->run, r->age)) ||
           lab_set(d, "bypass", lab_histogram_view(s->st, s->run, r->bypass)) ||
           lab_set(d, "run_length", lab_histogram_view(s->st, s->run, r->run_length)) ||
           lab_set(d, "log_pairs", PyLong_FromUnsignedLongLong(r->log_pairs)) ||
           lab_set(d, "bypass_estimated", PyLong_FromUnsignedLongLong(r->bypass_estimated)) ||
           lab_set(d, "bypass_max", PyLong_FromUnsignedLongLong(r->bypass_max)) ||
           lab_set(d, "wait_reason", lab_str(r->wait_reason)) ||
           lab_set(d, "hold_reason", lab_str(r->hold_reason)) ||
           lab_set(d, "handoff_reason", lab_str(r->handoff_reason)) ||
           lab_set(d, "wake_reason", lab_str(r->wake_reason)) ||
           lab_set(d, "handoff_sampled", PyFloat_FromDouble(r->handoff_sampled)) ||
           lab_set(d, "log_dropped", PyLong_FromUnsignedLongLong(r->log_dropped)) ||
           lab_set(d, "n_cpus", PyLong_FromUnsignedLong(r->n_cpus)) ||
           lab_set(d, "matrix_cpus", lab_uint32_list(r->matrix_cpus, r->n_cpus)) ||
           lab_set(d, "matrix", list(s, r->matrix, r->n_cpus, matrix_row_at));
}

static int set_tables(PyObject *d, const struct source *s)
{
    const struct ll_result *r = s->r;

    return lab_set(d, "n_perf", PyLong_FromUnsignedLong(r->n_perf)) ||
           lab_set(d, "perf", list(s, r->perf, r->n_perf, perf_at)) ||
           lab_set(d, "n_series", PyLong_FromUnsignedLong(r->n_series)) ||
           lab_set(d, "series_t_s", reals(s, r->series_t_s, r->n_series)) ||
           lab_set(d, "series_rate",
                   lab_array_2d(s->st, s->run, r->series_rate, 'd', r->n_series, r->threads)) ||
           lab_set(d, "n_groups", PyLong_FromUnsignedLong(r->n_groups)) ||
           lab_set(d, "group", list(s, r->group, r->n_groups, group_at)) ||
           lab_set(d, "n_waiters", PyLong_FromUnsignedLong(r->n_waiters)) ||
           lab_set(d, "waiter", list(s, r->waiter, r->n_waiters, waiter_at)) ||
           lab_set(d, "validation",
                   r->validation ? lab_validation(s->st, r->validation) : Py_NewRef(Py_None)) ||
           lab_set(d, "n_blocks", PyLong_FromUnsignedLong(r->n_blocks)) ||
           lab_set(d, "block_bare", reals(s, r->block_bare, r->n_blocks)) ||
           lab_set(d, "block_instrumented", reals(s, r->block_instrumented, r->n_blocks));
}

PyObject *lab_result(struct mod_state *st, PyObject *run, const struct ll_result *r)
{
    struct source s = {.st = st, .run = run, .r = r};
    PyObject *d = PyDict_New();

    if (d && (set_head(d, &s) || set_threads(d, &s) || set_histograms(d, &s) || set_tables(d, &s)))
        Py_CLEAR(d);
    return d;
}
