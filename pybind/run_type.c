/* SPDX-License-Identifier: MIT */
/* run_type.c - Run: a run under way or done; start() and validate(). */
#include "lab.h"

#include <math.h>
#include <stddef.h>

struct run {
    PyObject_HEAD
    struct ll_run *run;
    struct lab_birth birth;
    PyObject *weakrefs;
};

static struct ll_run *checked(struct run *self)
{
    if (lab_check_ours(lab_state(Py_TYPE(self)), self->birth, "run") < 0)
        return NULL;
    return self->run;
}

struct ll_run *lab_run_of(struct mod_state *st, PyObject *run)
{
    if (Py_TYPE(run) != st->run_type) {
        PyErr_Format(PyExc_TypeError, "run must be a Run, not %.200s", Py_TYPE(run)->tp_name);
        return NULL;
    }
    return checked((struct run *)run);
}

PyDoc_STRVAR(wait_doc,
             "wait($self, /, timeout=None)\n--\n\n"
             "Wait up to `timeout` seconds (None: for ever) and say whether the run is done.\n\n"
             "The GIL is released; signal handlers run every 10 ms. What they raise (Ctrl-C) goes\n"
             "up and leaves the run as it is: stop() is the caller's decision.");

static PyObject *run_wait(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *keywords[] = {"timeout", NULL};
    struct mod_state *st = lab_state(Py_TYPE(self));
    PyObject *value = NULL;
    double timeout_s, deadline_s;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O:wait", keywords, &value))
        return NULL;
    if (lab_timeout(st, value, &timeout_s) < 0)
        return NULL;
    deadline_s = lab_now_s() + timeout_s;
    for (;;) {
        struct ll_run *run = checked((struct run *)self);
        double left_s = fmax(deadline_s - lab_now_s(), 0.0);
        int code;

        if (!run)
            return NULL;
        Py_BEGIN_ALLOW_THREADS
        code = ll_run_wait(run, fmin(left_s, LAB_SLICE_S));
        Py_END_ALLOW_THREADS
        if (code == 0)
            Py_RETURN_TRUE;
        if (code != -ETIMEDOUT)
            return lab_raise(st, code, NULL);
        if (PyErr_CheckSignals() < 0)
            return NULL;
        if (left_s <= LAB_SLICE_S)
            Py_RETURN_FALSE;
    }
}

PyDoc_STRVAR(stop_doc, "stop($self, /)\n--\n\n"
                       "Ask the run to end now; its result is valid, status ``interrupted``.\n\n"
                       "Returns at once: wait() for it.");

static PyObject *run_stop(PyObject *self, PyObject *unused)
{
    struct ll_run *run = checked((struct run *)self);

    (void)unused;
    if (!run)
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    ll_run_stop(run);
    Py_END_ALLOW_THREADS
    Py_RETURN_NONE;
}

PyDoc_STRVAR(snapshot_doc,
             "snapshot($self, /)\n--\n\n"
             "How the run stands, as a dict; each number is whole, they may be moments apart.\n\n"
             "``acquisitions`` per thread and ``t_s`` belong to the current repetition (index\n"
             "``repeat``), ``wait`` and ``hold`` (Histogram) to all so far.");

static PyObject *run_snapshot(PyObject *self, PyObject *unused)
{
    struct ll_run *run = checked((struct run *)self);
    struct ll_snapshot *s; /* too large for the stack of a small thread */
    PyObject *dict;

    (void)unused;
    if (!run)
        return NULL;
    s = PyMem_Calloc(1, sizeof(*s));
    if (!s)
        return PyErr_NoMemory();
    s->size = sizeof(*s);
    s->version = LL_ABI;
    Py_BEGIN_ALLOW_THREADS
    ll_run_snapshot(run, s);
    Py_END_ALLOW_THREADS
    dict = lab_snapshot(lab_state(Py_TYPE(self)), s);
    PyMem_Free(s);
    return dict;
}

PyDoc_STRVAR(info_doc, "info($self, /)\n--\n\n"
                       "What was started: lock, workload, threads, repeat, cpus, seconds.");

static PyObject *run_info(PyObject *self, PyObject *unused)
{
    struct ll_run_info info = {.size = sizeof(info), .version = LL_ABI};
    struct ll_run *run = checked((struct run *)self);

    (void)unused;
    if (!run)
        return NULL;
    ll_run_info(run, &info);
    return Py_BuildValue("{s:N,s:N,s:I,s:I,s:N,s:d}", "lock", lab_str(info.lock), "workload",
                         lab_str(info.workload), "threads", info.threads, "repeat", info.repeat,
                         "cpus", lab_uint32_list(info.cpus, info.threads), "seconds", info.seconds);
}

PyDoc_STRVAR(result_doc,
             "result($self, /)\n--\n\n"
             "The result of a finished run as a dict with the members of struct ll_result.\n\n"
             "Arrays and Histograms show the run's memory and keep it alive. RunError (EAGAIN) if\n"
             "the run is not done.");

static PyObject *run_result(PyObject *self, PyObject *unused)
{
    struct mod_state *st = lab_state(Py_TYPE(self));
    struct ll_run *run = checked((struct run *)self);
    const struct ll_result *result = NULL;
    int code;

    (void)unused;
    if (!run)
        return NULL;
    code = ll_run_result(run, &result);
    if (code == -EAGAIN)
        return lab_fail(st, code, "", "the run is not done yet, wait() for it");
    if (code < 0)
        return lab_raise(st, code, NULL);
    return lab_result(st, self, result);
}

static void dealloc(PyObject *object)
{
    struct run *self = (struct run *)object;

    PyObject_GC_UnTrack(object);
    if (self->weakrefs)
        PyObject_ClearWeakRefs(object);
    if (lab_is_ours(lab_state(Py_TYPE(object)), self->birth)) {
        Py_BEGIN_ALLOW_THREADS
        ll_run_unref(self->run); /* the last one joins the run's threads */
        Py_END_ALLOW_THREADS
    }
    lab_free(object);
}

static PyMethodDef methods[] = {
    {"wait", (PyCFunction)(void (*)(void))run_wait, METH_VARARGS | METH_KEYWORDS, wait_doc},
    {"stop", run_stop, METH_NOARGS, stop_doc},
    {"snapshot", run_snapshot, METH_NOARGS, snapshot_doc},
    {"info", run_info, METH_NOARGS, info_doc},
    {"result", run_result, METH_NOARGS, result_doc},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(struct run, weakrefs), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

PyDoc_STRVAR(run_doc, "A run that start() has started; usable from any thread.\n\n"
                      "Dropping the last reference stops the run and waits for its threads.");

static PyType_Slot slots[] = {
    {Py_tp_doc, (void *)run_doc}, {Py_tp_dealloc, dealloc}, {Py_tp_traverse, lab_traverse_type},
    {Py_tp_methods, methods},     {Py_tp_members, members}, {0, NULL},
};

static PyType_Spec spec = {
    .name = "locklab._core.Run",
    .basicsize = sizeof(struct run),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE |
             Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = slots,
};

/* ---------------------------------------------------------------- start, validate */

PyDoc_STRVAR(validate_doc,
             "validate($module, plan, /)\n--\n\n"
             "Check a plan (a dict with the members of struct ll_plan) without starting it.\n\n"
             "Missing keys have their defaults, `lock` must be there. ConfigError, UnknownName or\n"
             "Unsupported with the field at fault; TypeError for an unknown key or a wrong type.");

static PyObject *validate(PyObject *mod, PyObject *dict)
{
    struct mod_state *st = PyModule_GetState(mod);
    struct ll_error err = {.text = ""};
    struct lab_plan plan;
    PyObject *done = NULL;
    int code;

    if (lab_plan_init(st, &plan, dict) == 0) {
        Py_BEGIN_ALLOW_THREADS
        code = ll_plan_validate(&plan.plan, &err);
        Py_END_ALLOW_THREADS
        done = code < 0 ? lab_raise(st, code, &err) : Py_NewRef(Py_None);
    }
    lab_plan_fini(&plan);
    return done;
}

PyDoc_STRVAR(start_doc, "start($module, plan, /)\n--\n\n"
                        "Start what validate() accepts and return the Run at once.\n\n"
                        "Errors as validate(), and RunError if threads cannot be made.");

/* A Run that takes over the reference on `run`. */
static PyObject *new_run(struct mod_state *st, struct ll_run *run)
{
    struct run *self = (struct run *)st->run_type->tp_alloc(st->run_type, 0);

    if (!self) {
        ll_run_unref(run);
        return NULL;
    }
    self->run = run;
    self->birth = lab_born(st);
    return (PyObject *)self;
}

static PyObject *start(PyObject *mod, PyObject *dict)
{
    struct mod_state *st = PyModule_GetState(mod);
    struct ll_error err = {.text = ""};
    struct ll_run *run = NULL;
    struct lab_plan plan;
    PyObject *self = NULL;
    int code;

    if (lab_plan_init(st, &plan, dict) == 0) {
        Py_BEGIN_ALLOW_THREADS
        code = ll_run_start(&plan.plan, &run, &err);
        Py_END_ALLOW_THREADS
        self = code < 0 ? lab_raise(st, code, &err) : new_run(st, run);
    }
    lab_plan_fini(&plan);
    return self;
}

static PyMethodDef functions[] = {
    {"validate", validate, METH_O, validate_doc},
    {"start", start, METH_O, start_doc},
    {NULL, NULL, 0, NULL},
};

int lab_run_add(PyObject *mod, struct mod_state *st)
{
    if (lab_type_add(mod, &spec, &st->run_type) < 0)
        return -1;
    return PyModule_AddFunctions(mod, functions);
}
