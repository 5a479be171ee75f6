/* SPDX-License-Identifier: MIT */
/* check_type.c - Check: a check under way or done; check_start() and check_replay(). */
#include "lab.h"

#include <math.h>
#include <stddef.h>

struct check {
    PyObject_HEAD
    struct ll_check *check;
    struct lab_birth birth;
    PyObject *weakrefs;
};

static struct ll_check *checked(PyObject *object)
{
    struct check *self = (struct check *)object;

    if (lab_check_ours(lab_state(Py_TYPE(object)), self->birth, "check") < 0)
        return NULL;
    return self->check;
}

PyDoc_STRVAR(wait_doc,
             "wait($self, /, timeout=None)\n--\n\n"
             "Wait up to `timeout` seconds (None: for ever) and say whether the check is done.\n\n"
             "The GIL is released; signal handlers run every 10 ms. What they raise (Ctrl-C) goes\n"
             "up and leaves the check as it is: stop() is the caller's decision.");

static PyObject *check_wait(PyObject *self, PyObject *args, PyObject *kwargs)
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
        struct ll_check *check = checked(self);
        double left_s = fmax(deadline_s - lab_now_s(), 0.0);
        int code;

        if (!check)
            return NULL;
        Py_BEGIN_ALLOW_THREADS
        code = ll_check_wait(check, fmin(left_s, LAB_SLICE_S));
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
                       "Ask the check to end now; its result says what was explored until then.\n\n"
                       "Returns at once: wait() for it.");

static PyObject *check_stop(PyObject *self, PyObject *unused)
{
    struct ll_check *check = checked(self);

    (void)unused;
    if (!check)
        return NULL;
    ll_check_stop(check);
    Py_RETURN_NONE;
}

PyDoc_STRVAR(progress_doc,
             "progress($self, /)\n--\n\n"
             "How the check stands, as a dict with the members of struct ll_check_progress.");

static PyObject *check_progress(PyObject *self, PyObject *unused)
{
    struct ll_check_progress progress = {.size = sizeof(progress), .version = LL_ABI};
    struct ll_check *check = checked(self);

    (void)unused;
    if (!check)
        return NULL;
    ll_check_get_progress(check, &progress);
    return lab_check_progress(&progress);
}

PyDoc_STRVAR(settings_doc,
             "settings($self, /)\n--\n\n"
             "The parameters of the check, or of the schedule that is replayed, as a\n"
             "list of (name, value), names and values in full.");

static PyObject *setting_pair(struct mod_state *st, const void *of, size_t i)
{
    const struct ll_setting *s = (const struct ll_setting *)of + i;

    (void)st;
    return Py_BuildValue("(NN)", lab_str(s->name), lab_str(s->value));
}

static PyObject *check_settings(PyObject *self, PyObject *unused)
{
    struct ll_check *check = checked(self);
    const struct ll_setting *settings;
    size_t n;

    (void)unused;
    if (!check)
        return NULL;
    settings = ll_check_settings(check, &n);
    return lab_list(lab_state(Py_TYPE(self)), n, settings, setting_pair);
}

PyDoc_STRVAR(result_doc, "result($self, /)\n--\n\n"
                         "The result of a finished check as a dict with the members of struct\n"
                         "ll_check_result. RunError (EAGAIN) if the check is not done.");

static PyObject *check_result(PyObject *self, PyObject *unused)
{
    struct mod_state *st = lab_state(Py_TYPE(self));
    struct ll_check *check = checked(self);
    const struct ll_check_result *result = NULL;
    int code;

    (void)unused;
    if (!check)
        return NULL;
    code = ll_check_result(check, &result);
    if (code == -EAGAIN)
        return lab_fail(st, code, "", "the check is not done yet, wait() for it");
    if (code < 0)
        return lab_raise(st, code, NULL);
    return lab_check_result(st, result);
}

static void dealloc(PyObject *object)
{
    struct check *self = (struct check *)object;

    PyObject_GC_UnTrack(object);
    if (self->weakrefs)
        PyObject_ClearWeakRefs(object);
    if (lab_is_ours(lab_state(Py_TYPE(object)), self->birth)) {
        Py_BEGIN_ALLOW_THREADS
        ll_check_unref(self->check); /* the last one joins the check's thread */
        Py_END_ALLOW_THREADS
    }
    lab_free(object);
}

static PyMethodDef methods[] = {
    {"wait", (PyCFunction)(void (*)(void))check_wait, METH_VARARGS | METH_KEYWORDS, wait_doc},
    {"stop", check_stop, METH_NOARGS, stop_doc},
    {"progress", check_progress, METH_NOARGS, progress_doc},
    {"settings", check_settings, METH_NOARGS, settings_doc},
    {"result", check_result, METH_NOARGS, result_doc},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(struct check, weakrefs), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

PyDoc_STRVAR(check_doc, "A check that check_start() has started; usable from any thread.\n\n"
                        "Dropping the last reference stops the check and waits for its thread.");

static PyType_Slot slots[] = {
    {Py_tp_doc, (void *)check_doc}, {Py_tp_dealloc, dealloc}, {Py_tp_traverse, lab_traverse_type},
    {Py_tp_methods, methods},       {Py_tp_members, members}, {0, NULL},
};

static PyType_Spec spec = {
    .name = "locklab._core.Check",
    .basicsize = sizeof(struct check),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE |
             Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = slots,
};

/* ---------------------------------------------------------------- start, replay */

/* A Check that takes over the reference on `check`. */
static PyObject *new_check(struct mod_state *st, struct ll_check *check)
{
    struct check *self = (struct check *)st->check_type->tp_alloc(st->check_type, 0);

    if (!self) {
        ll_check_unref(check);
        return NULL;
    }
    self->check = check;
    self->birth = lab_born(st);
    return (PyObject *)self;
}

PyDoc_STRVAR(check_start_doc,
             "check_start($module, plan, /)\n--\n\n"
             "Start a check (a dict with the members of struct ll_check_plan); a Check at once.\n\n"
             "Missing keys have their defaults, `lock` must be there. ConfigError, UnknownName or\n"
             "Unsupported with the field at fault; TypeError for an unknown key or a wrong type.");

static PyObject *check_start(PyObject *mod, PyObject *dict)
{
    struct mod_state *st = PyModule_GetState(mod);
    struct ll_error err = {.text = ""};
    struct ll_check *check = NULL;
    struct lab_check_plan plan;
    PyObject *self = NULL;
    int code;

    if (lab_check_plan_init(st, &plan, dict) == 0) {
        Py_BEGIN_ALLOW_THREADS
        code = ll_check_start(&plan.plan, &check, &err);
        Py_END_ALLOW_THREADS
        self = code < 0 ? lab_raise(st, code, &err) : new_check(st, check);
    }
    lab_check_plan_fini(&plan);
    return self;
}

PyDoc_STRVAR(
    check_replay_doc,
    "check_replay($module, schedule, /)\n--\n\n"
    "Start the one execution that a fault's schedule string stands for; a Check at once.\n\n"
    "ConfigError if it is no schedule, or one of another version of the lock's code;\n"
    "UnknownName or Unsupported if it names what this build does not have.");

static PyObject *check_replay(PyObject *mod, PyObject *value)
{
    struct mod_state *st = PyModule_GetState(mod);
    const char *schedule = lab_utf8(st, value, "schedule");
    struct ll_error err = {.text = ""};
    struct ll_check *check = NULL;
    int code;

    if (!schedule)
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    code = ll_check_replay(schedule, &check, &err);
    Py_END_ALLOW_THREADS
    return code < 0 ? lab_raise(st, code, &err) : new_check(st, check);
}

static PyMethodDef functions[] = {
    {"check_start", check_start, METH_O, check_start_doc},
    {"check_replay", check_replay, METH_O, check_replay_doc},
    {NULL, NULL, 0, NULL},
};

int lab_check_add(PyObject *mod, struct mod_state *st)
{
    if (lab_type_add(mod, &spec, &st->check_type) < 0)
        return -1;
    return PyModule_AddFunctions(mod, functions);
}
