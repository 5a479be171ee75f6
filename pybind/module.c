/* SPDX-License-Identifier: MIT */
/* module.c - locklab._core itself: its state, and what a fork leaves of it. */
#include "lab.h"

#include <unistd.h>

/* ---------------------------------------------------------------- fork */

struct lab_birth lab_born(const struct mod_state *st)
{
    return (struct lab_birth){.pid = getpid(), .forks = st->forks};
}

/* The pid alone would do but for a descendant that gets an ancestor's number again, the count
 * alone but for a fork that runs no Python hook. */
bool lab_is_ours(const struct mod_state *st, struct lab_birth birth)
{
    return birth.pid == getpid() && (!st || birth.forks == st->forks);
}

int lab_check_ours(struct mod_state *st, struct lab_birth birth, const char *what)
{
    if (lab_is_ours(st, birth))
        return 0;
    lab_fail(st, -EPERM, "", "this %s belongs to the parent process", what);
    return -1;
}

PyDoc_STRVAR(after_fork_child_doc,
             "after_fork_child($module, /)\n--\n\n"
             "Declare every Run, Check, Lock, Validator and Server made so far dead; for "
             "os.register_at_fork.\n\n"
             "Their methods raise RunError (EPERM) from now on, and dropping them frees nothing.\n"
             "Arrays and Histograms stay readable: they show this process' copy of the memory.");

static PyObject *after_fork_child(PyObject *mod, PyObject *unused)
{
    struct mod_state *st = PyModule_GetState(mod);

    (void)unused;
    st->forks++;
    ll_after_fork_child();
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"after_fork_child", after_fork_child, METH_NOARGS, after_fork_child_doc},
    {NULL, NULL, 0, NULL},
};

/* ---------------------------------------------------------------- types */

struct mod_state *lab_state(PyTypeObject *type)
{
    /* Asked first because PyType_GetModuleState raises, and a dealloc must not. */
    return ((PyHeapTypeObject *)type)->ht_module ? PyType_GetModuleState(type) : NULL;
}

int lab_type_add(PyObject *mod, PyType_Spec *spec, PyTypeObject **slot)
{
    *slot = (PyTypeObject *)PyType_FromModuleAndSpec(mod, spec, NULL);
    return *slot ? PyModule_AddType(mod, *slot) : -1;
}

int lab_traverse_type(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    return 0;
}

void lab_free(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);

    type->tp_free(self);
    Py_DECREF(type);
}

/* ---------------------------------------------------------------- module */

static int traverse(PyObject *mod, visitproc visit, void *arg)
{
    struct mod_state *st = PyModule_GetState(mod);

    Py_VISIT(st->array_type);
    Py_VISIT(st->histogram_type);
    Py_VISIT(st->run_type);
    Py_VISIT(st->check_type);
    Py_VISIT(st->lock_type);
    Py_VISIT(st->server_type);
    Py_VISIT(st->validator_type);
    Py_VISIT(st->config_error);
    Py_VISIT(st->unknown_name);
    Py_VISIT(st->unsupported);
    Py_VISIT(st->run_error);
    Py_VISIT(st->run_timeout);
    return 0;
}

static int clear(PyObject *mod)
{
    struct mod_state *st = PyModule_GetState(mod);

    Py_CLEAR(st->array_type);
    Py_CLEAR(st->histogram_type);
    Py_CLEAR(st->run_type);
    Py_CLEAR(st->check_type);
    Py_CLEAR(st->lock_type);
    Py_CLEAR(st->server_type);
    Py_CLEAR(st->validator_type);
    Py_CLEAR(st->config_error);
    Py_CLEAR(st->unknown_name);
    Py_CLEAR(st->unsupported);
    Py_CLEAR(st->run_error);
    Py_CLEAR(st->run_timeout);
    return 0;
}

static void module_free(void *mod)
{
    clear(mod);
}

#ifdef HAVE_MHD
#define HAS_SERVER Py_True
#else
#define HAS_SERVER Py_False
#endif

static int module_exec(PyObject *mod)
{
    struct mod_state *st = PyModule_GetState(mod);

    /* Runs, perf events and the server are the process' own; 3.11 cannot refuse by a slot. */
    if (PyInterpreterState_Get() != PyInterpreterState_Main()) {
        PyErr_SetString(PyExc_ImportError, "locklab works in the main interpreter only");
        return -1;
    }
    if (lab_errors_add(mod, st) < 0)
        goto fail;
    if (lab_array_add(mod, st) < 0 || lab_histogram_add(mod, st) < 0)
        goto fail;
    if (lab_run_add(mod, st) < 0 || lab_check_add(mod, st) < 0)
        goto fail;
    if (lab_lock_add(mod, st) < 0 || lab_validator_add(mod, st) < 0 || lab_server_add(mod, st) < 0)
        goto fail;
    if (lab_catalogue_add(mod, st) < 0 || lab_host_add(mod, st) < 0 || lab_litmus_add(mod, st) < 0)
        goto fail;
    if (PyModule_AddFunctions(mod, methods) < 0)
        goto fail;
    if (PyModule_AddIntConstant(mod, "ABI", LL_ABI) < 0 ||
        PyModule_AddIntConstant(mod, "BUCKETS", LL_BUCKETS) < 0 ||
        PyModule_AddIntConstant(mod, "MAX_THREADS", LL_MAX_THREADS) < 0 ||
        PyModule_AddObjectRef(mod, "HAS_SERVER", HAS_SERVER) < 0)
        goto fail;
    return 0;
fail:
    clear(mod);
    return -1;
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, module_exec},
#ifdef Py_mod_multiple_interpreters
    {Py_mod_multiple_interpreters, Py_MOD_MULTIPLE_INTERPRETERS_NOT_SUPPORTED},
#endif
    {0, NULL},
};

PyDoc_STRVAR(module_doc, "The C core of locklab: catalogue, runs, checks, locks and the server.\n\n"
                         "Not for direct use: the package locklab holds defaults and policy.");

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, .m_name = "locklab._core",
    .m_doc = module_doc,   .m_size = sizeof(struct mod_state),
    .m_slots = slots,      .m_traverse = traverse,
    .m_clear = clear,      .m_free = module_free,
};

PyMODINIT_FUNC PyInit__core(void);

PyMODINIT_FUNC PyInit__core(void)
{
    return PyModuleDef_Init(&definition);
}
