/* SPDX-License-Identifier: MIT */
/* lab.h - shared by the files of locklab._core: module state, errors and conversions.
 *
 * The binding converts and nothing else: defaults, policy and pretty printing live in Python. Every
 * function that returns a PyObject * or an int follows CPython's convention: NULL or -1 with an
 * exception set. Whatever may take longer than a conversion runs without the GIL, and whatever may
 * wait comes back every LAB_SLICE_S to let signal handlers run.
 */
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "locklab.h"

#define LAB_SLICE_S 0.01 /* how long Ctrl-C may go unnoticed */

struct mod_state {
    PyTypeObject *array_type, *histogram_type, *run_type, *check_type, *lock_type, *server_type;
    PyTypeObject *validator_type;
    PyObject *config_error, *unknown_name, *unsupported, *run_error, *run_timeout;
    uint64_t forks; /* how often this process was a forked child: objects made before are dead */
};

/* The state behind a type of ours (none can be subclassed). NULL, without an exception, only in a
 * dealloc while the garbage collector takes the module down. */
struct mod_state *lab_state(PyTypeObject *type);

/* One per C file: add its type or functions to the module. */
int lab_array_add(PyObject *mod, struct mod_state *st);
int lab_catalogue_add(PyObject *mod, struct mod_state *st);
int lab_check_add(PyObject *mod, struct mod_state *st);
int lab_errors_add(PyObject *mod, struct mod_state *st);
int lab_histogram_add(PyObject *mod, struct mod_state *st);
int lab_host_add(PyObject *mod, struct mod_state *st);
int lab_litmus_add(PyObject *mod, struct mod_state *st);
int lab_lock_add(PyObject *mod, struct mod_state *st);
int lab_run_add(PyObject *mod, struct mod_state *st);
int lab_server_add(PyObject *mod, struct mod_state *st);
int lab_validator_add(PyObject *mod, struct mod_state *st);
/* Makes the heap type and adds it under its name; *slot owns a reference. */
int lab_type_add(PyObject *mod, PyType_Spec *spec, PyTypeObject **slot);

/* tp_traverse of an instance that refers to nothing but its type. */
int lab_traverse_type(PyObject *self, visitproc visit, void *arg);
/* The last step of every tp_dealloc: the memory, then the reference to the heap type. */
void lab_free(PyObject *self);

/* ---------------------------------------------------------------- errors */

/* Raises what the negative errno `code` stands for; `err` may be NULL. Always NULL. */
PyObject *lab_raise(struct mod_state *st, int code, const struct ll_error *err);
/* The same with a text made here. */
PyObject *lab_fail(struct mod_state *st, int code, const char *field, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* ---------------------------------------------------------------- fork */

struct lab_birth { /* which process an object belongs to */
    pid_t pid;
    uint64_t forks;
};
struct lab_birth lab_born(const struct mod_state *st);
/* False in a forked child, hook or no hook: neither use nor free what C holds there. */
bool lab_is_ours(const struct mod_state *st, struct lab_birth birth);
/* -1 and RunError if it is not ours. */
int lab_check_ours(struct mod_state *st, struct lab_birth birth, const char *what);

/* ---------------------------------------------------------------- Python to C */

/* Each raises TypeError for the wrong type and ConfigError for a value that does not fit; `field`
 * names the argument. bool is not taken for a number. */
const char *lab_utf8(struct mod_state *st, PyObject *value, const char *field);
int lab_bool(PyObject *value, const char *field, bool *out);
int lab_uint(struct mod_state *st, PyObject *value, const char *field, uint64_t max, uint64_t *out);
int lab_uint32(struct mod_state *st, PyObject *value, const char *field, uint32_t *out);
int lab_real(struct mod_state *st, PyObject *value, const char *field, double *out);
/* Seconds, not NaN; None (also NULL) is infinity. */
int lab_timeout(struct mod_state *st, PyObject *value, double *out);
/* A list or tuple as a tuple of its own, which nobody else can change, appended to list `keep`
 * (so the reference is borrowed). */
PyObject *lab_items(PyObject *value, const char *field, PyObject *keep);
/* (name, value) pairs; free *out with PyMem_Free, the strings live as long as `keep`. */
int lab_settings(struct mod_state *st, PyObject *value, PyObject *keep, struct ll_setting **out,
                 size_t *count);

/* ---------------------------------------------------------------- dicts as structs */

struct lab_record;

enum lab_type {
    LAB_STRING,
    LAB_UINT32,
    LAB_INT32, /* not negative */
    LAB_UINT64,
    LAB_REAL,
    LAB_BOOLEAN,
    LAB_CHOICE, /* an enum of locklab.h, by the names of its values */
    LAB_OWN,
};

struct lab_key { /* tables end with name NULL */
    const char *name;
    enum lab_type type;
    size_t offset;
    const char *const *names;                               /* LAB_CHOICE: end-marked by NULL */
    int (*own)(struct lab_record *record, PyObject *value); /* LAB_OWN */
};

struct lab_record { /* a struct under way */
    struct mod_state *st;
    const char *what; /* "plan", for errors */
    const struct lab_key *keys;
    void *base;
    PyObject *keep; /* owned: what the struct's pointers need */
};
/* Sets the members that `dict` has. TypeError for other keys. r->keep is set also after an error. */
int lab_record_fill(struct lab_record *r, PyObject *dict);

/* ---------------------------------------------------------------- C to Python */

/* Steals `value`, which may be NULL with an exception set; chain the calls by ||. */
int lab_set(PyObject *dict, const char *key, PyObject *value);
PyObject *lab_str(const char *s);     /* None for NULL; bytes that are not UTF-8 replaced */
PyObject *lab_none_or_real(double x); /* None for NaN */
PyObject *lab_uint32_list(const uint32_t *v, size_t n); /* None for NULL unless n is 0 */
PyObject *lab_uint64_list(const uint64_t *v, size_t n);
/* A list of `n` objects made by `make(st, of, i)`. */
PyObject *lab_list(struct mod_state *st, size_t n, const void *of,
                   PyObject *(*make)(struct mod_state *st, const void *of, size_t i));

/* A view on `n` (or `rows` times `n`) values of `format` 'Q' or 'd' at `data`, which live as long
 * as `owner`. None for NULL unless it is empty. */
PyObject *lab_array(struct mod_state *st, PyObject *owner, const void *data, char format, size_t n);
PyObject *lab_array_2d(struct mod_state *st, PyObject *owner, const void *data, char format,
                       size_t rows, size_t n);
/* A read-only view that keeps `owner`, None for NULL; a copy of one's own. */
PyObject *lab_histogram_view(struct mod_state *st, PyObject *owner, const struct ll_histogram *h);
PyObject *lab_histogram_copy(struct mod_state *st, const struct ll_histogram *h);

/* ---------------------------------------------------------------- plans, runs, checks, results */

struct lab_plan {             /* a struct ll_plan and what its pointers need */
    struct lab_record record; /* first, so that a key's own conversion finds the whole */
    struct ll_plan plan;
    struct ll_setting *settings;
    const char **perf;
};
int lab_plan_init(struct mod_state *st, struct lab_plan *plan, PyObject *dict);
void lab_plan_fini(struct lab_plan *plan); /* also after a failed init */

PyObject *lab_snapshot(struct mod_state *st, const struct ll_snapshot *s);
PyObject *lab_result(struct mod_state *st, PyObject *run, const struct ll_result *r);
/* The run in a Run of this process (borrowed), or NULL and TypeError or RunError. */
struct ll_run *lab_run_of(struct mod_state *st, PyObject *run);

struct lab_check_plan { /* a struct ll_check_plan and what its pointers need */
    struct lab_record record;
    struct ll_check_plan plan;
    struct ll_setting *settings;
};
int lab_check_plan_init(struct mod_state *st, struct lab_check_plan *plan, PyObject *dict);
void lab_check_plan_fini(struct lab_check_plan *plan); /* also after a failed init */

PyObject *lab_check_progress(const struct ll_check_progress *p);
PyObject *lab_check_result(struct mod_state *st, const struct ll_check_result *r);

PyObject *lab_validation(struct mod_state *st, struct ll_validator *v);
/* The validator in a Validator of this process, or NULL and TypeError or RunError. */
struct ll_validator *lab_validator_of(struct mod_state *st, PyObject *object);
/* Where the running Python code stands; NULL if that cannot be told. */
const struct ll_site *lab_site(struct ll_validator *v);

double lab_now_s(void); /* monotonic */
