/* SPDX-License-Identifier: MIT */
/* litmus.c - litmus(): the executions of a small program, counted by final state. */
#include "lab.h"

#include <math.h>
#include <string.h>

#define OP_PARTS 10u
#define MANY UINT64_C(4096) /* no list of a program is longer; the core judges the exact bounds */

/* In the order of enum ll_litmus_code. */
static const char *const codes[LL_LITMUS_CODES] = {
    "load", "store", "swap", "fetch_add", "fetch_sub", "fetch_and", "fetch_or", "fetch_xor",
    "cas",  "fence", "move", "add",       "sub",       "and",       "or",       "xor",
    "cmp",  "test",  "inc",  "dec",       "neg",       "not",       "jump",
};

struct lab_litmus { /* a program and what its pointers need */
    struct mod_state *st;
    PyObject *keep;
    struct ll_litmus_program program;
    struct ll_litmus_thread *thread;
    struct ll_litmus_location *location;
    struct ll_litmus_observed *observed;
};

/* A list or tuple of exactly `n` whole numbers, each at most its `max`. */
static int numbers(struct lab_litmus *l, PyObject *value, const char *field, size_t n,
                   const uint64_t *max, uint64_t *out)
{
    PyObject *items = lab_items(value, field, l->keep);

    if (!items)
        return -1;
    if ((size_t)PyTuple_GET_SIZE(items) != n) {
        lab_fail(l->st, -EINVAL, field, "%s has parts of %zu numbers, one of %zd given", field, n,
                 PyTuple_GET_SIZE(items));
        return -1;
    }
    for (size_t i = 0; i < n; i++)
        if (lab_uint(l->st, PyTuple_GET_ITEM(items, (Py_ssize_t)i), field, max[i], &out[i]) < 0)
            return -1;
    return 0;
}

/* The items of a list or tuple, and a zeroed array for what they become. */
static PyObject *items_of(struct lab_litmus *l, PyObject *value, const char *field, size_t size,
                          void **array, uint32_t *n)
{
    PyObject *items = lab_items(value, field, l->keep);

    if (!items)
        return NULL;
    if ((uint64_t)PyTuple_GET_SIZE(items) > MANY) {
        lab_fail(l->st, -ERANGE, field, "%s has %zd parts, 0 to %llu allowed", field,
                 PyTuple_GET_SIZE(items), (unsigned long long)MANY);
        return NULL;
    }
    *n = (uint32_t)PyTuple_GET_SIZE(items);
    *array = PyMem_Calloc(*n + 1, size);
    return *array ? items : PyErr_NoMemory();
}

static int read_op(struct lab_litmus *l, PyObject *value, struct ll_litmus_op *op)
{
    static const uint64_t max[OP_PARTS] = {UINT8_MAX,  UINT8_MAX, UINT8_MAX,  UINT8_MAX,
                                           UINT8_MAX,  UINT8_MAX, UINT16_MAX, UINT16_MAX,
                                           UINT32_MAX, UINT64_MAX};
    uint64_t v[OP_PARTS];

    if (numbers(l, value, "threads", OP_PARTS, max, v) < 0)
        return -1;
    *op = (struct ll_litmus_op){
        .code = (uint8_t)v[0],
        .width = (uint8_t)v[1],
        .dst = (uint8_t)v[2],
        .src = (uint8_t)v[3],
        .base = (uint8_t)v[4],
        .cond = (uint8_t)v[5],
        .location = (uint16_t)v[6],
        .target = (uint16_t)v[7],
        .line = (uint32_t)v[8],
        .value = v[9],
    };
    return 0;
}

static int read_initial(struct lab_litmus *l, PyObject *value, uint64_t *reg)
{
    static const uint64_t max[2] = {LL_LITMUS_REGISTERS - 1, UINT64_MAX};
    PyObject *items = lab_items(value, "threads", l->keep);
    uint64_t v[2];

    if (!items)
        return -1;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(items); i++) {
        if (numbers(l, PyTuple_GET_ITEM(items, i), "threads", 2, max, v) < 0)
            return -1;
        reg[v[0]] = v[1];
    }
    return 0;
}

static int read_thread(struct lab_litmus *l, PyObject *value, struct ll_litmus_thread *thread)
{
    PyObject *pair = lab_items(value, "threads", l->keep), *items;
    void *ops = NULL;

    if (!pair)
        return -1;
    if (PyTuple_GET_SIZE(pair) != 2) {
        lab_fail(l->st, -EINVAL, "threads", "a thread is a pair of registers and operations");
        return -1;
    }
    if (read_initial(l, PyTuple_GET_ITEM(pair, 0), thread->initial) < 0)
        return -1;
    items = items_of(l, PyTuple_GET_ITEM(pair, 1), "threads", sizeof(struct ll_litmus_op), &ops,
                     &thread->n_ops);
    thread->op = ops;
    for (uint32_t i = 0; items && i < thread->n_ops; i++)
        if (read_op(l, PyTuple_GET_ITEM(items, i), (struct ll_litmus_op *)ops + i) < 0)
            return -1;
    return items ? 0 : -1;
}

static int read_threads(struct lab_litmus *l, PyObject *value)
{
    void *array = NULL;
    PyObject *items =
        items_of(l, value, "threads", sizeof(*l->thread), &array, &l->program.threads);

    l->program.thread = l->thread = array;
    for (uint32_t i = 0; items && i < l->program.threads; i++)
        if (read_thread(l, PyTuple_GET_ITEM(items, i), &l->thread[i]) < 0)
            return -1;
    return items ? 0 : -1;
}

static int read_locations(struct lab_litmus *l, PyObject *value)
{
    static const uint64_t max[2] = {UINT32_MAX, UINT64_MAX};
    uint64_t v[2];
    void *array = NULL;
    PyObject *items =
        items_of(l, value, "locations", sizeof(*l->location), &array, &l->program.n_locations);

    l->program.location = l->location = array;
    for (uint32_t i = 0; items && i < l->program.n_locations; i++) {
        if (numbers(l, PyTuple_GET_ITEM(items, i), "locations", 2, max, v) < 0)
            return -1;
        l->location[i] = (struct ll_litmus_location){.width = (uint32_t)v[0], .initial = v[1]};
    }
    return items ? 0 : -1;
}

static int read_observed(struct lab_litmus *l, PyObject *value)
{
    static const uint64_t max[3] = {UINT32_MAX, UINT32_MAX, UINT32_MAX};
    uint64_t v[3];
    void *array = NULL;
    PyObject *items =
        items_of(l, value, "observed", sizeof(*l->observed), &array, &l->program.n_observed);

    l->program.observed = l->observed = array;
    for (uint32_t i = 0; items && i < l->program.n_observed; i++) {
        if (numbers(l, PyTuple_GET_ITEM(items, i), "observed", 3, max, v) < 0)
            return -1;
        l->observed[i] = (struct ll_litmus_observed){
            .thread = (uint32_t)v[0], .index = (uint32_t)v[1], .width = (uint32_t)v[2]};
    }
    return items ? 0 : -1;
}

static int read_memory(struct lab_litmus *l, PyObject *value)
{
    const char *name = lab_utf8(l->st, value, "memory");

    if (!name)
        return -1;
    if (!strcmp(name, "tso") || !strcmp(name, "sc")) {
        l->program.memory = name[0] == 't' ? LL_MEMORY_TSO : LL_MEMORY_SC;
        return 0;
    }
    lab_fail(l->st, -EINVAL, "memory", "memory '%.50s' asked, sc and tso allowed", name);
    return -1;
}

static void litmus_fini(struct lab_litmus *l)
{
    for (uint32_t i = 0; l->thread && i < l->program.threads; i++)
        PyMem_Free((void *)l->thread[i].op);
    PyMem_Free(l->thread);
    PyMem_Free(l->location);
    PyMem_Free(l->observed);
    Py_XDECREF(l->keep);
}

/* Non-zero: a signal handler has raised. */
static int poll_signals(void *arg)
{
    PyGILState_STATE gil = PyGILState_Ensure();
    int raised = PyErr_CheckSignals();

    (void)arg;
    PyGILState_Release(gil);
    return raised;
}

static PyObject *states_list(const struct ll_litmus_result *r, size_t n_observed)
{
    PyObject *list = PyList_New(r->n_states);

    for (uint32_t i = 0; list && i < r->n_states; i++) {
        PyObject *pair = Py_BuildValue("(NK)", lab_uint64_list(r->state[i].value, n_observed),
                                       (unsigned long long)r->state[i].executions);
        if (!pair)
            Py_CLEAR(list);
        else
            PyList_SET_ITEM(list, i, pair);
    }
    return list;
}

static PyObject *result_dict(const struct ll_litmus_result *r, size_t n_observed)
{
    return Py_BuildValue("{s:N,s:K,s:K,s:K,s:K,s:O,s:d}", "states", states_list(r, n_observed),
                         "executions", (unsigned long long)r->executions, "cut",
                         (unsigned long long)r->cut, "idle", (unsigned long long)r->idle,
                         "redundant", (unsigned long long)r->redundant, "wholly",
                         r->wholly ? Py_True : Py_False, "seconds", r->seconds);
}

static int read_seconds(struct lab_litmus *l, PyObject *value)
{
    if (lab_real(l->st, value, "seconds", &l->program.seconds) < 0)
        return -1;
    if (isfinite(l->program.seconds) && l->program.seconds > 0)
        return 0;
    lab_fail(l->st, -ERANGE, "seconds", "seconds %g asked, more than 0 allowed",
             l->program.seconds);
    return -1;
}

static int read_all(struct lab_litmus *l, PyObject *const *argument)
{
    uint64_t turns = l->program.turns;

    l->program.size = sizeof(l->program);
    l->program.version = LL_ABI;
    l->program.poll = poll_signals;
    l->keep = PyList_New(0);
    if (!l->keep || read_threads(l, argument[0]) < 0 || read_locations(l, argument[1]) < 0 ||
        read_observed(l, argument[2]) < 0 || read_memory(l, argument[3]) < 0)
        return -1;
    if (argument[4] && lab_uint(l->st, argument[4], "turns", LL_LITMUS_MAX_TURNS, &turns) < 0)
        return -1;
    l->program.turns = (uint32_t)turns;
    if (argument[5] && lab_uint(l->st, argument[5], "budget", UINT64_MAX, &l->program.budget) < 0)
        return -1;
    return argument[6] ? read_seconds(l, argument[6]) : 0;
}

PyDoc_STRVAR(
    litmus_doc,
    "litmus($module, /, threads, locations, observed, memory, turns=4, budget=0, "
    "seconds=60.0)\n--\n\n"
    "Run every execution of a small program and count them by final state.\n\n"
    "A thread is a pair: (register, value) pairs, and operations of ten numbers: index\n"
    "into LITMUS_CODES, width in bytes, dst, src, base, cond, location, target, line,\n"
    "value (struct ll_litmus_op). A location is (width, value), an observed part of the\n"
    "state (thread or LITMUS_NONE, register or location, width). Returns states (each its\n"
    "values and the number of its executions), executions, cut, idle, redundant, wholly,\n"
    "seconds. ConfigError if it is no such program.");

static PyObject *litmus(PyObject *mod, PyObject *args, PyObject *kwargs)
{
    static char *keywords[] = {"threads", "locations", "observed", "memory",
                               "turns",   "budget",    "seconds",  NULL};
    struct lab_litmus l = {.st = PyModule_GetState(mod), .program = {.turns = 4, .seconds = 60.0}};
    struct ll_litmus_result *result = NULL;
    struct ll_error err = {0};
    PyObject *argument[7] = {NULL}, *dict = NULL;
    int code;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OOOO|OOO:litmus", keywords, &argument[0],
                                     &argument[1], &argument[2], &argument[3], &argument[4],
                                     &argument[5], &argument[6]))
        return NULL;
    if (read_all(&l, argument) < 0)
        goto done;
    Py_BEGIN_ALLOW_THREADS
    code = ll_litmus_run(&l.program, &result, &err);
    Py_END_ALLOW_THREADS
    if (code < 0 && !PyErr_Occurred())
        lab_raise(l.st, code, &err);
    else if (code == 0)
        dict = result_dict(result, l.program.n_observed);
    ll_litmus_free(result);
done:
    litmus_fini(&l);
    return dict;
}

static PyMethodDef methods[] = {
    {"litmus", (PyCFunction)(void (*)(void))litmus, METH_VARARGS | METH_KEYWORDS, litmus_doc},
    {NULL, NULL, 0, NULL},
};

static int add_codes(PyObject *mod)
{
    PyObject *names = PyTuple_New(LL_LITMUS_CODES);
    int done;

    for (Py_ssize_t i = 0; names && i < LL_LITMUS_CODES; i++) {
        PyObject *name = PyUnicode_InternFromString(codes[i]);
        if (!name)
            Py_CLEAR(names);
        else
            PyTuple_SET_ITEM(names, i, name);
    }
    done = names ? PyModule_AddObjectRef(mod, "LITMUS_CODES", names) : -1;
    Py_XDECREF(names);
    return done;
}

int lab_litmus_add(PyObject *mod, struct mod_state *st)
{
    (void)st;
    if (add_codes(mod) < 0 ||
        PyModule_AddIntConstant(mod, "LITMUS_ADDRESS", LL_LITMUS_ADDRESS(0)) < 0 ||
        PyModule_AddIntConstant(mod, "LITMUS_MAX_LOCATIONS", LL_LITMUS_MAX_LOCATIONS) < 0 ||
        PyModule_AddIntConstant(mod, "LITMUS_MAX_THREADS", LL_CHECK_MAX_THREADS) < 0 ||
        PyModule_AddIntConstant(mod, "LITMUS_NONE", LL_LITMUS_NONE) < 0)
        return -1;
    return PyModule_AddFunctions(mod, methods);
}
