/* SPDX-License-Identifier: MIT */
/* lock_type.c - Lock: one lock of the catalogue for Python threads. */
#include "lab.h"

#include <math.h>

struct lock {
    PyObject_HEAD
    struct ll_lock *lock; /* NULL once closed */
    struct lab_birth birth;
    Py_ssize_t users;  /* calls that have left the GIL with `lock` in hand; changed under the GIL */
    PyObject *watcher; /* a Validator, or NULL */
};

static struct ll_lock *checked(struct lock *self)
{
    struct mod_state *st = lab_state(Py_TYPE(self));

    if (lab_check_ours(st, self->birth, "lock") < 0)
        return NULL;
    if (!self->lock)
        lab_fail(st, -ECANCELED, "", "the lock is closed");
    return self->lock;
}

struct wish { /* what a new lock shall be */
    const char *id;
    struct ll_setting *settings;
    size_t n_settings;
    PyObject *watcher; /* a Validator (borrowed), or NULL; then: */
    struct ll_validator *validator;
    const char *name;
    uint32_t subclass;
};

static PyObject *new_lock(PyTypeObject *type, const struct wish *wish)
{
    struct mod_state *st = lab_state(type);
    struct ll_error err = {.text = ""};
    struct lock *self = (struct lock *)type->tp_alloc(type, 0);
    struct ll_lock *lock = NULL;
    int code;

    if (!self)
        return NULL;
    self->birth = lab_born(st);
    Py_BEGIN_ALLOW_THREADS
    code = ll_lock_create(wish->id, wish->settings, wish->n_settings, &lock, &err);
    if (code == 0 && wish->validator) {
        code = ll_lock_validate(lock, wish->validator, wish->name, wish->subclass, &err);
        if (code < 0)
            ll_lock_destroy(lock);
    }
    Py_END_ALLOW_THREADS
    if (code < 0) {
        Py_DECREF(self);
        return lab_raise(st, code, &err);
    }
    self->lock = lock;
    self->watcher = Py_XNewRef(wish->watcher);
    return (PyObject *)self;
}

/* The Validator is that of locklab, which has the core's as its `core`, or the core's. */
static int wish_for_validator(struct mod_state *st, struct wish *wish, PyObject *validator,
                              PyObject *name, PyObject *subclass, PyObject *keep)
{
    PyObject *core;
    int bad;

    if (!validator || validator == Py_None) {
        if ((!name || name == Py_None) && (!subclass || !PyObject_IsTrue(subclass)))
            return 0;
        lab_fail(st, -EINVAL, "validator", "name and subclass need a validator");
        return -1;
    }
    core = PyObject_HasAttrString(validator, "core") ? PyObject_GetAttrString(validator, "core")
                                                     : Py_NewRef(validator);
    bad = !core || PyList_Append(keep, core) < 0;
    Py_XDECREF(core);
    if (bad || !(wish->validator = lab_validator_of(st, core)))
        return -1;
    wish->watcher = core;
    wish->name = name && name != Py_None ? lab_utf8(st, name, "name") : wish->id;
    if (!wish->name)
        return -1;
    return subclass ? lab_uint32(st, subclass, "subclass", &wish->subclass) : 0;
}

static PyObject *make(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *keywords[] = {"id", "settings", "validator", "name", "subclass", NULL};
    struct mod_state *st = lab_state(type);
    PyObject *id, *pairs = NULL, *validator = NULL, *name = NULL, *subclass = NULL;
    PyObject *keep, *self = NULL;
    struct wish wish = {.id = NULL};

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|O$OOO:Lock", keywords, &id, &pairs,
                                     &validator, &name, &subclass))
        return NULL;
    wish.id = lab_utf8(st, id, "id");
    keep = wish.id ? PyList_New(0) : NULL;
    if (!keep)
        return NULL;
    if ((!pairs || lab_settings(st, pairs, keep, &wish.settings, &wish.n_settings) == 0) &&
        wish_for_validator(st, &wish, validator, name, subclass, keep) == 0)
        self = new_lock(type, &wish);
    PyMem_Free(wish.settings);
    Py_DECREF(keep);
    return self;
}

/* Takes the GIL back for a moment while the C core waits. */
static int poll_signals(void *arg)
{
    PyThreadState **saved = arg;
    int raised;

    PyEval_RestoreThread(*saved);
    raised = PyErr_CheckSignals();
    *saved = PyEval_SaveThread();
    return raised;
}

/* NULL and the exception for a failed acquire or release. */
static PyObject *failed(struct mod_state *st, int code, bool shared, bool timed)
{
    const char *text = NULL;

    switch (code) {
    case -EDEADLK: text = "this thread holds the lock already"; break;
    case -EPERM:
        text = shared ? "this thread does not hold the lock in shared mode"
                      : "this thread does not hold the lock";
        break;
    case -ENOTSUP:
        text = shared && timed ? "this lock has no shared mode, or none with a timeout"
               : shared        ? "this lock has no shared mode"
                               : "this lock has no try_acquire, so it takes no timeout";
        break;
    case -ENOTRECOVERABLE: text = "the lock is broken: a wait for it was given up"; break;
    }
    return text ? lab_fail(st, code, "", "%s", text) : lab_raise(st, code, NULL);
}

/* For the validator; NULL if there is none. */
static const struct ll_site *site_of(struct lock *self)
{
    struct mod_state *st = lab_state(Py_TYPE(self));

    return self->watcher ? lab_site(lab_validator_of(st, self->watcher)) : NULL;
}

/* 1 acquired, 0 timed out, -1 with an exception set. */
static int acquire_within(struct lock *self, bool shared, double timeout_s, struct ll_lock *outer)
{
    struct ll_lock *lock = checked(self);
    struct ll_lock_call call = {.size = sizeof(call),
                                .version = LL_ABI,
                                .shared = shared,
                                .timeout_s = timeout_s,
                                .poll = poll_signals,
                                .outer = outer};
    PyThreadState *saved;
    int code;

    if (!lock)
        return -1;
    call.site = site_of(self);
    call.arg = &saved;
    self->users++;
    saved = PyEval_SaveThread();
    code = ll_lock_acquire_as(lock, &call);
    PyEval_RestoreThread(saved);
    self->users--;
    if (code == 0 || code == -ETIMEDOUT)
        return code == 0;
    if (code != -ECANCELED || !PyErr_Occurred()) /* else the signal handler has raised */
        failed(lab_state(Py_TYPE(self)), code, shared, timeout_s >= 0);
    return -1;
}

PyDoc_STRVAR(
    acquire_doc,
    "acquire($self, /, shared=False, timeout=-1.0, *, outer=None)\n--\n\n"
    "Acquire; False if `timeout` seconds (0: one try; negative: no limit) have passed.\n\n"
    "The GIL is released, signal handlers run every 10 ms: what they raise (Ctrl-C) ends the\n"
    "wait. That breaks a lock whose queue the thread stood in: every later call raises\n"
    "RunError (ENOTRECOVERABLE). A timeout does no harm and takes a lock with ``has_try``.\n"
    "RunError (EDEADLK) if this thread holds the lock; Unsupported if it has no shared mode\n"
    "or takes no timeout. `outer`: for a validator, a Lock that this thread holds, without which\n"
    "nobody takes two locks of this one's class, so that their order does not matter.");

/* The caller's arguments keep it alive. */
static struct ll_lock *outer_of(struct mod_state *st, struct lock *self, PyObject *around)
{
    struct lock *outer = (struct lock *)around;

    if (!PyObject_TypeCheck(around, st->lock_type)) {
        PyErr_Format(PyExc_TypeError, "outer must be a Lock or None, not %.100s",
                     Py_TYPE(around)->tp_name);
        return NULL;
    }
    if (!self->watcher || outer->watcher != self->watcher) {
        lab_fail(st, -EINVAL, "outer", "outer is for locks of one validator");
        return NULL;
    }
    return checked(outer);
}

static PyObject *acquire(PyObject *object, PyObject *args, PyObject *kwargs)
{
    static char *keywords[] = {"shared", "timeout", "outer", NULL};
    struct mod_state *st = lab_state(Py_TYPE(object));
    PyObject *mode = Py_False, *limit = NULL, *around = Py_None;
    struct ll_lock *outer = NULL;
    double timeout_s = -1.0;
    bool shared;
    int got;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|OO$O:acquire", keywords, &mode, &limit,
                                     &around))
        return NULL;
    if (around != Py_None && !(outer = outer_of(st, (struct lock *)object, around)))
        return NULL;
    if (lab_bool(mode, "shared", &shared) < 0)
        return NULL;
    if (limit && lab_real(st, limit, "timeout", &timeout_s) < 0)
        return NULL;
    if (isnan(timeout_s))
        return lab_fail(st, -EINVAL, "timeout", "timeout nan asked, any other number allowed");
    got = acquire_within((struct lock *)object, shared, isinf(timeout_s) ? -1.0 : timeout_s, outer);
    return got < 0 ? NULL : PyBool_FromLong(got);
}

/* Without the GIL: the release of a sleeping lock may wait for its inner spin lock, whose holder may
 * be a thread that polls for signals in its acquire and wants the GIL for that. */
static PyObject *release_mode(PyObject *object, bool shared)
{
    struct mod_state *st = lab_state(Py_TYPE(object));
    struct ll_lock *lock = checked((struct lock *)object);
    const struct ll_site *site = lock ? site_of((struct lock *)object) : NULL;
    int code;

    if (!lock)
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    code = ll_lock_release_at(lock, shared, site);
    Py_END_ALLOW_THREADS
    if (code < 0)
        return failed(st, code, shared, false);
    Py_RETURN_NONE;
}

PyDoc_STRVAR(release_doc,
             "release($self, /, shared=False)\n--\n\n"
             "Release what this thread has acquired in that mode; else RunError (EPERM).");

static PyObject *release(PyObject *object, PyObject *args, PyObject *kwargs)
{
    static char *keywords[] = {"shared", NULL};
    PyObject *mode = Py_False;
    bool shared;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O:release", keywords, &mode))
        return NULL;
    if (lab_bool(mode, "shared", &shared) < 0)
        return NULL;
    return release_mode(object, shared);
}

PyDoc_STRVAR(enter_doc, "__enter__($self, /)\n--\n\n"
                        "acquire() without a time limit; returns the lock.");

static PyObject *enter(PyObject *object, PyObject *unused)
{
    (void)unused;
    return acquire_within((struct lock *)object, false, -1.0, NULL) < 0 ? NULL : Py_NewRef(object);
}

PyDoc_STRVAR(exit_doc, "__exit__($self, exc_type, exc, traceback, /)\n--\n\n"
                       "release().");

static PyObject *leave(PyObject *object, PyObject *const *args, Py_ssize_t n)
{
    (void)args;
    if (n != 3) {
        PyErr_Format(PyExc_TypeError, "__exit__ takes 3 arguments, not %zd", n);
        return NULL;
    }
    return release_mode(object, false);
}

PyDoc_STRVAR(close_doc, "close($self, /)\n--\n\n"
                        "Free the lock; RunError (EBUSY) if a thread holds it or waits for it.");

static PyObject *close_lock(PyObject *object, PyObject *unused)
{
    struct lock *self = (struct lock *)object;
    struct mod_state *st = lab_state(Py_TYPE(self));
    int code = -EBUSY;

    (void)unused;
    if (lab_check_ours(st, self->birth, "lock") < 0)
        return NULL;
    if (!self->lock)
        Py_RETURN_NONE;
    if (self->users == 0)
        code = ll_lock_destroy(self->lock);
    if (code == -EBUSY)
        return lab_fail(st, code, "", "a thread holds the lock or waits for it");
    if (code < 0)
        return lab_raise(st, code, NULL);
    self->lock = NULL;
    Py_RETURN_NONE;
}

static PyObject *get_held(PyObject *object, void *unused)
{
    struct ll_lock *lock = checked((struct lock *)object);

    (void)unused;
    return lock ? PyBool_FromLong(ll_lock_held(lock)) : NULL;
}

/* A lock that is held cannot be freed, its holder may still touch it: leaked, and said. */
static void finalize(PyObject *object)
{
    struct lock *self = (struct lock *)object;
    PyObject *type, *value, *traceback;

    if (!self->lock || !lab_is_ours(lab_state(Py_TYPE(object)), self->birth))
        return;
    if (ll_lock_destroy(self->lock) < 0) {
        PyErr_Fetch(&type, &value, &traceback);
        if (PyErr_ResourceWarning(NULL, 1, "a locklab lock was dropped while held: leaked") < 0)
            PyErr_WriteUnraisable(NULL);
        PyErr_Restore(type, value, traceback);
    }
    self->lock = NULL;
}

static void dealloc(PyObject *object)
{
    PyObject_GC_UnTrack(object);
    finalize(object);
    Py_CLEAR(((struct lock *)object)->watcher);
    lab_free(object);
}

static int traverse(PyObject *object, visitproc visit, void *arg)
{
    Py_VISIT(((struct lock *)object)->watcher);
    return lab_traverse_type(object, visit, arg);
}

static PyMethodDef methods[] = {
    {"acquire", (PyCFunction)(void (*)(void))acquire, METH_VARARGS | METH_KEYWORDS, acquire_doc},
    {"release", (PyCFunction)(void (*)(void))release, METH_VARARGS | METH_KEYWORDS, release_doc},
    {"close", close_lock, METH_NOARGS, close_doc},
    {"__enter__", enter, METH_NOARGS, enter_doc},
    {"__exit__", (PyCFunction)(void (*)(void))leave, METH_FASTCALL, exit_doc},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef getset[] = {
    {"held", get_held, NULL, "Whether any thread holds it, a hint.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

PyDoc_STRVAR(
    lock_doc,
    "Lock(id, settings=(), *, validator=None, name=None, subclass=0)\n--\n\n"
    "The lock `id` of the catalogue, for any number of Python threads.\n\n"
    "`settings` are (name, value) pairs of str. With ``with`` it is held exclusively.\n"
    "With a locklab.Validator, `name` (default: the id) is the class of which it is judged,\n"
    "`subclass` its level in it. UnknownName, ConfigError, Unsupported. Not re-entrant.");

static PyType_Slot slots[] = {
    {Py_tp_doc, (void *)lock_doc},
    {Py_tp_new, make},
    {Py_tp_dealloc, dealloc},
    {Py_tp_traverse, traverse},
    {Py_tp_methods, methods},
    {Py_tp_getset, getset},
    {0, NULL},
};

static PyType_Spec spec = {
    .name = "locklab._core.Lock",
    .basicsize = sizeof(struct lock),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = slots,
};

int lab_lock_add(PyObject *mod, struct mod_state *st)
{
    return lab_type_add(mod, &spec, &st->lock_type);
}
