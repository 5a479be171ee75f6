/* SPDX-License-Identifier: MIT */
/* validation.c - what the order validator knows and found, as plain dicts. */
#include "lab.h"

static const char *mode(bool shared)
{
    return shared ? "shared" : "exclusive";
}

/* None for no site. */
static PyObject *site(const struct ll_site *s)
{
    if (!*s->file)
        Py_RETURN_NONE;
    return Py_BuildValue("{s:N,s:N,s:I}", "file", lab_str(s->file), "function",
                         lab_str(s->function), "line", s->line);
}

/* None for "". */
static PyObject *name(const char *s)
{
    return *s ? lab_str(s) : Py_NewRef(Py_None);
}

static PyObject *held_at(struct mod_state *st, const void *of, size_t i)
{
    const struct ll_validator_held *h = (const struct ll_validator_held *)of + i;

    (void)st;
    return Py_BuildValue("{s:N,s:N,s:I,s:I,s:s,s:N,s:N,s:N,s:N}", "lock", lab_str(h->lock), "class",
                         lab_str(h->class_name), "subclass", h->subclass, "count", h->refs, "mode",
                         mode(h->shared), "tried", PyBool_FromLong(h->tried), "asked",
                         PyBool_FromLong(h->asked), "outer", name(h->outer), "site",
                         site(&h->site));
}

static PyObject *stack(struct mod_state *st, const struct ll_validator_held *held, uint32_t n)
{
    return lab_list(st, held ? n : 0, held, held_at);
}

static PyObject *edge(const struct ll_validator_link *k)
{
    return Py_BuildValue("{s:N,s:N,s:s,s:s,s:N,s:N}", "from", lab_str(k->from), "to",
                         lab_str(k->to), "from_mode", mode(k->from_shared), "to_mode",
                         mode(k->to_shared), "from_site", site(&k->from_site), "to_site",
                         site(&k->to_site));
}

static PyObject *link_at(struct mod_state *st, const void *of, size_t i)
{
    const struct ll_validator_link *k = (const struct ll_validator_link *)of + i;
    PyObject *d = edge(k);

    if (d && (lab_set(d, "interrupt", PyBool_FromLong(k->interrupt)) ||
              lab_set(d, "thread", name(k->thread)) ||
              lab_set(d, "held", stack(st, k->held, k->n_held))))
        Py_CLEAR(d);
    return d;
}

static PyObject *report(struct mod_state *st, const struct ll_validator_report *r)
{
    return Py_BuildValue(
        "{s:N,s:N,s:N,s:N,s:K,s:N,s:N,s:N,s:N}", "kind", lab_str(r->kind), "text", lab_str(r->text),
        "thread", name(r->thread), "site", site(&r->site), "count", (unsigned long long)r->count,
        "held", stack(st, r->held, r->n_held), "other_thread", name(r->other_thread), "other",
        stack(st, r->other, r->n_other), "cycle", lab_list(st, r->n_links, r->link, link_at));
}

static int add(PyObject *list, PyObject *item)
{
    int ret = item ? PyList_Append(list, item) : -1;

    Py_XDECREF(item);
    return ret;
}

static int fill_classes(PyObject *list, struct ll_validator *v)
{
    const char *class_name;
    uint32_t traits;

    for (size_t i = 0; ll_validator_class_get(v, i, &class_name, &traits) == 0; i++)
        if (add(list, Py_BuildValue("{s:N,s:N,s:N,s:N}", "name", lab_str(class_name), "spins",
                                    PyBool_FromLong(traits & LL_VALIDATOR_SPINS), "read_recursive",
                                    PyBool_FromLong(traits & LL_VALIDATOR_READ_RECURSIVE), "ww",
                                    PyBool_FromLong(traits & LL_VALIDATOR_WW))))
            return -1;
    return 0;
}

static int fill_edges(PyObject *list, struct ll_validator *v)
{
    struct ll_validator_link k;

    for (size_t i = 0; ll_validator_edge_get(v, i, &k) == 0; i++)
        if (add(list, edge(&k)))
            return -1;
    return 0;
}

static int fill_reports(struct mod_state *st, PyObject *list, struct ll_validator *v)
{
    struct ll_validator_report r;

    for (size_t i = 0; ll_validator_report_get(v, i, &r) == 0; i++)
        if (add(list, report(st, &r)))
            return -1;
    return 0;
}

PyObject *lab_validation(struct mod_state *st, struct ll_validator *v)
{
    PyObject *classes = PyList_New(0), *edges = PyList_New(0), *reports = PyList_New(0);
    struct ll_validator_stats stats;
    PyObject *d = NULL;

    if (classes && edges && reports && fill_classes(classes, v) == 0 && fill_edges(edges, v) == 0 &&
        fill_reports(st, reports, v) == 0) {
        ll_validator_get_stats(v, &stats);
        d = Py_BuildValue("{s:O,s:O,s:O,s:K,s:K,s:I,s:K}", "classes", classes, "edges", edges,
                          "reports", reports, "dropped", (unsigned long long)stats.dropped,
                          "restamped", (unsigned long long)stats.restamped, "chains", stats.chains,
                          "most_held", (unsigned long long)stats.most_held);
    }
    Py_XDECREF(classes);
    Py_XDECREF(edges);
    Py_XDECREF(reports);
    return d;
}
