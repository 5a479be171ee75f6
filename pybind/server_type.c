/* SPDX-License-Identifier: MIT */
/* server_type.c - Server: the dashboard's HTTP server, whose API requests Python answers. */
#include "lab.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct server {
    PyObject_HEAD
    struct ll_server *server; /* NULL once stopped */
    struct lab_birth birth;
    Py_ssize_t
        users;      /* calls that have left the GIL with `server` in hand; changed under the GIL */
    PyObject *keep; /* what the assets point at; a tuple, which no garbage collection empties */
};

static struct ll_server *checked(struct server *self)
{
    struct mod_state *st = lab_state(Py_TYPE(self));

    if (lab_check_ours(st, self->birth, "server") < 0)
        return NULL;
    if (!self->server)
        lab_fail(st, -ECANCELED, "", "the server is stopped");
    return self->server;
}

/* ---------------------------------------------------------------- start */

struct options {
    struct ll_server_options c;
    struct ll_asset *assets;
    PyObject *keep;
};

static int bytes_of(PyObject *value, const char *field, const void **body, size_t *length)
{
    if (!PyBytes_Check(value)) {
        PyErr_Format(PyExc_TypeError, "%s must be bytes, not %.200s", field,
                     Py_TYPE(value)->tp_name);
        return -1;
    }
    *body = PyBytes_AS_STRING(value);
    *length = (size_t)PyBytes_GET_SIZE(value);
    return 0;
}

/* `item` is (path, type, etag, body, gz or None). */
static int asset_of(struct mod_state *st, PyObject *item, PyObject *keep, struct ll_asset *a)
{
    PyObject *parts = lab_items(item, "each of assets", keep);

    if (!parts)
        return -1;
    if (PyTuple_GET_SIZE(parts) != 5) {
        PyErr_Format(PyExc_TypeError,
                     "each of assets must be (path, type, etag, body, gz), not %zd items",
                     PyTuple_GET_SIZE(parts));
        return -1;
    }
    if (!(a->path = lab_utf8(st, PyTuple_GET_ITEM(parts, 0), "path of an asset")) ||
        !(a->type = lab_utf8(st, PyTuple_GET_ITEM(parts, 1), "type of an asset")) ||
        !(a->etag = lab_utf8(st, PyTuple_GET_ITEM(parts, 2), "etag of an asset")) ||
        bytes_of(PyTuple_GET_ITEM(parts, 3), "body of an asset", &a->body, &a->len) < 0)
        return -1;
    if (PyTuple_GET_ITEM(parts, 4) == Py_None)
        return 0;
    return bytes_of(PyTuple_GET_ITEM(parts, 4), "gz of an asset", &a->gz, &a->gz_len);
}

static int assets_of(struct mod_state *st, struct options *o, PyObject *value)
{
    PyObject *items = lab_items(value, "assets", o->keep);
    Py_ssize_t n = items ? PyTuple_GET_SIZE(items) : 0;

    if (!items)
        return -1;
    o->assets = PyMem_Calloc((size_t)n + 1, sizeof(*o->assets));
    if (!o->assets)
        return PyErr_NoMemory(), -1;
    for (Py_ssize_t i = 0; i < n; i++)
        if (asset_of(st, PyTuple_GET_ITEM(items, i), o->keep, &o->assets[i]) < 0)
            return -1;
    o->c.assets = o->assets;
    o->c.n_assets = (size_t)n;
    return 0;
}

static int set_option(struct mod_state *st, struct options *o, const char *name, PyObject *value)
{
    uint64_t port;

    if (strcmp(name, "host") == 0)
        return (o->c.host = lab_utf8(st, value, name)) ? 0 : -1;
    if (strcmp(name, "port") == 0) {
        if (lab_uint(st, value, name, UINT16_MAX, &port) < 0)
            return -1;
        o->c.port = (uint16_t)port;
        return 0;
    }
    if (strcmp(name, "token") == 0)
        return value == Py_None || (o->c.token = lab_utf8(st, value, name)) ? 0 : -1;
    if (strcmp(name, "rate_hz") == 0)
        return lab_real(st, value, name, &o->c.rate_hz);
    if (strcmp(name, "max_clients") == 0)
        return lab_uint32(st, value, name, &o->c.max_clients);
    return assets_of(st, o, value);
}

/* As with a plan: a copy, because converting a value can run code that changes the dict. */
static int options_init(struct mod_state *st, struct options *o, PyObject *dict)
{
    static const struct {
        const char *name;
        bool required;
    } known[] = {
        {"host", true},    {"port", true},        {"token", false},
        {"rate_hz", true}, {"max_clients", true}, {"assets", false},
    };
    Py_ssize_t used = 0;
    PyObject *copy;

    *o = (struct options){.c = {.size = sizeof(o->c), .version = LL_ABI}};
    if (!PyDict_Check(dict)) {
        PyErr_Format(PyExc_TypeError, "options must be a dict, not %.200s", Py_TYPE(dict)->tp_name);
        return -1;
    }
    copy = PyDict_Copy(dict);
    o->keep = copy ? Py_BuildValue("[N]", copy) : NULL;
    if (!o->keep)
        return -1;
    for (size_t i = 0; i < Py_ARRAY_LENGTH(known); i++) {
        PyObject *value = PyDict_GetItemString(copy, known[i].name);

        if (!value && known[i].required) {
            PyErr_Format(PyExc_TypeError, "the options of a server need the key '%s'",
                         known[i].name);
            return -1;
        }
        if (value && set_option(st, o, known[i].name, value) < 0)
            return -1;
        used += value != NULL;
    }
    if (used == PyDict_GET_SIZE(copy))
        return 0;
    PyErr_SetString(PyExc_TypeError, "the options of a server are host, port, token, rate_hz, "
                                     "max_clients and assets, nothing else");
    return -1;
}

static PyObject *start_server(PyTypeObject *type, const struct options *o)
{
    struct mod_state *st = lab_state(type);
    struct ll_error err = {.text = ""};
    struct ll_server *started = NULL;
    struct server *self = (struct server *)type->tp_alloc(type, 0);
    int code;

    if (!self)
        return NULL;
    self->birth = lab_born(st);
    self->keep = PyList_AsTuple(o->keep);
    if (!self->keep) {
        Py_DECREF(self);
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    code = ll_server_start(&o->c, &started, &err);
    Py_END_ALLOW_THREADS
    if (code < 0) {
        Py_DECREF(self);
        return lab_raise(st, code, &err);
    }
    self->server = started;
    return (PyObject *)self;
}

static PyObject *make(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *keywords[] = {"", NULL};
    struct options options;
    PyObject *dict, *self = NULL;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O:Server", keywords, &dict))
        return NULL;
    if (options_init(lab_state(type), &options, dict) == 0)
        self = start_server(type, &options);
    PyMem_Free(options.assets);
    Py_XDECREF(options.keep);
    return self;
}

/* ---------------------------------------------------------------- requests */

PyDoc_STRVAR(attach_doc, "attach($self, run_id, run)\n--\n\n"
                         "Serve the stream of a Run as /api/v1/runs/RUN_ID/stream.\n\n"
                         "The server keeps the run alive; the newest 64 stay.");

static PyObject *attach(PyObject *object, PyObject *args, PyObject *kwargs)
{
    static char *keywords[] = {"run_id", "run", NULL};
    struct server *self = (struct server *)object;
    struct mod_state *st = lab_state(Py_TYPE(self));
    struct ll_server *server = checked(self);
    PyObject *id, *run;
    struct ll_run *c_run;
    const char *name;
    int code;

    if (!server || !PyArg_ParseTupleAndKeywords(args, kwargs, "OO:attach", keywords, &id, &run))
        return NULL;
    name = lab_utf8(st, id, "run_id");
    c_run = name ? lab_run_of(st, run) : NULL;
    if (!c_run)
        return NULL;
    self->users++;
    Py_BEGIN_ALLOW_THREADS
    code = ll_server_attach(server, name, c_run);
    Py_END_ALLOW_THREADS
    self->users--;
    if (code < 0)
        return lab_raise(st, code, NULL);
    Py_RETURN_NONE;
}

/* A request copied, so that the server may go while it becomes Python objects. */
struct copied {
    uint64_t id;
    char *method, *path, *body;
    size_t body_len;
};

static int copy_request(struct copied *to, const struct ll_request *from)
{
    to->id = from->id;
    to->method = strdup(from->method);
    to->path = strdup(from->path);
    to->body = malloc(from->body_len + 1);
    to->body_len = from->body_len;
    if (!to->method || !to->path || !to->body)
        return -ENOMEM;
    memcpy(to->body, from->body_len ? from->body : "", from->body_len);
    return 0;
}

/* Waits for a request without the GIL: 0, or what ll_server_next says. */
static int next_within(struct server *self, struct ll_server *server, double timeout_s,
                       struct copied *out)
{
    struct ll_request request = {.size = sizeof(request), .version = LL_ABI};
    int code;

    self->users++;
    Py_BEGIN_ALLOW_THREADS
    code = ll_server_next(server, timeout_s, &request);
    if (code == 0)
        code = copy_request(out, &request);
    Py_END_ALLOW_THREADS
    self->users--;
    return code;
}

PyDoc_STRVAR(
    next_request_doc,
    "next_request($self, /, timeout=None)\n--\n\n"
    "The next API request as (id, method, path, body), or None after `timeout` seconds.\n\n"
    "The GIL is released; signal handlers run every 10 ms. RunError (ECANCELED) once the\n"
    "server is stopped.");

static PyObject *next_request(PyObject *object, PyObject *args, PyObject *kwargs)
{
    static char *keywords[] = {"timeout", NULL};
    struct server *self = (struct server *)object;
    struct mod_state *st = lab_state(Py_TYPE(self));
    PyObject *limit = NULL, *request;
    double timeout_s, deadline_s, left_s;
    struct copied got = {.id = 0};
    int code;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O:next_request", keywords, &limit))
        return NULL;
    if (lab_timeout(st, limit, &timeout_s) < 0)
        return NULL;
    deadline_s = lab_now_s() + timeout_s;
    do {
        struct ll_server *server = checked(self);

        if (!server)
            return NULL;
        left_s = fmax(deadline_s - lab_now_s(), 0.0);
        code = next_within(self, server, fmin(left_s, LAB_SLICE_S), &got);
        if (code == -ETIMEDOUT && PyErr_CheckSignals() < 0)
            return NULL;
    } while (code == -ETIMEDOUT && left_s > LAB_SLICE_S);
    if (code == -ETIMEDOUT)
        Py_RETURN_NONE;
    if (code == -ECANCELED)
        request = lab_fail(st, code, "", "the server is stopped");
    else if (code < 0)
        request = lab_raise(st, code, NULL);
    else
        request = Py_BuildValue("(KNNy#)", (unsigned long long)got.id, lab_str(got.method),
                                lab_str(got.path), got.body, (Py_ssize_t)got.body_len);
    free(got.method);
    free(got.path);
    free(got.body);
    return request;
}

PyDoc_STRVAR(answer_doc, "answer($self, id, status, content_type, body, location=None)\n--\n\n"
                         "Answer a request; False if the client has gone.\n\n"
                         "`status` 100 to 599, `body` bytes, `location` the header of that name.");

static PyObject *answer(PyObject *object, PyObject *args, PyObject *kwargs)
{
    static char *keywords[] = {"id", "status", "content_type", "body", "location", NULL};
    struct server *self = (struct server *)object;
    struct mod_state *st = lab_state(Py_TYPE(self));
    PyObject *id, *status, *type, *body, *location = Py_None;
    const char *type_s, *location_s = NULL;
    struct ll_server *server;
    const void *data;
    uint64_t number;
    uint32_t status_n;
    size_t length;
    int code;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OOOO|O:answer", keywords, &id, &status, &type,
                                     &body, &location))
        return NULL;
    if (lab_uint(st, id, "id", UINT64_MAX, &number) < 0 ||
        lab_uint32(st, status, "status", &status_n) < 0 ||
        !(type_s = lab_utf8(st, type, "content_type")) ||
        bytes_of(body, "body", &data, &length) < 0 ||
        (location != Py_None && !(location_s = lab_utf8(st, location, "location"))))
        return NULL;
    if (status_n < 100 || status_n > 599)
        return lab_fail(st, -ERANGE, "status", "status %u asked, 100 to 599 allowed", status_n);
    server = checked(self); /* last: converting the arguments may have run Python code */
    if (!server)
        return NULL;
    self->users++;
    Py_BEGIN_ALLOW_THREADS
    code = ll_server_answer(server, number, status_n, type_s, location_s, data, length);
    Py_END_ALLOW_THREADS
    self->users--;
    if (code < 0 && code != -ENOENT)
        return lab_raise(st, code, NULL);
    return PyBool_FromLong(code == 0);
}

PyDoc_STRVAR(stats_doc, "stats($self, /)\n--\n\n"
                        "Counts since the start: requests, refused, frames_sent, frames_lost,\n"
                        "clients (now), clients_max, cpu_ns (of the server's thread).");

static PyObject *stats(PyObject *object, PyObject *unused)
{
    struct ll_server_stats s = {.size = sizeof(s), .version = LL_ABI};
    struct server *self = (struct server *)object;
    struct ll_server *server = checked(self);

    (void)unused;
    if (!server)
        return NULL;
    self->users++;
    Py_BEGIN_ALLOW_THREADS
    ll_server_get_stats(server, &s);
    Py_END_ALLOW_THREADS
    self->users--;
    return Py_BuildValue(
        "{s:K,s:K,s:K,s:K,s:K,s:K,s:K}", "requests", (unsigned long long)s.requests, "refused",
        (unsigned long long)s.refused, "frames_sent", (unsigned long long)s.frames_sent,
        "frames_lost", (unsigned long long)s.frames_lost, "clients", (unsigned long long)s.clients,
        "clients_max", (unsigned long long)s.clients_max, "cpu_ns", (unsigned long long)s.cpu_ns);
}

/* ---------------------------------------------------------------- stop */

/* From here on no call finds the server; those inside are back within a slice. */
static void stop_server(struct server *self)
{
    const struct timespec nap = {.tv_nsec = 500 * 1000};
    struct ll_server *server = self->server;

    self->server = NULL;
    while (self->users > 0) {
        Py_BEGIN_ALLOW_THREADS
        nanosleep(&nap, NULL);
        Py_END_ALLOW_THREADS
    }
    Py_BEGIN_ALLOW_THREADS
    ll_server_stop(server);
    Py_END_ALLOW_THREADS
}

PyDoc_STRVAR(stop_doc,
             "stop($self, /)\n--\n\n"
             "End all streams and connections and free the port; harmless when repeated.");

static PyObject *stop(PyObject *object, PyObject *unused)
{
    struct server *self = (struct server *)object;

    (void)unused;
    if (lab_check_ours(lab_state(Py_TYPE(self)), self->birth, "server") < 0)
        return NULL;
    if (self->server)
        stop_server(self);
    Py_RETURN_NONE;
}

static PyObject *get_port(PyObject *object, void *unused)
{
    struct ll_server *server = checked((struct server *)object);

    (void)unused;
    return server ? PyLong_FromLong(ll_server_port(server)) : NULL;
}

static int traverse(PyObject *object, visitproc visit, void *arg)
{
    Py_VISIT(((struct server *)object)->keep);
    return lab_traverse_type(object, visit, arg);
}

/* No tp_clear: the server reads what `keep` holds until it is stopped. */
static void dealloc(PyObject *object)
{
    struct server *self = (struct server *)object;

    PyObject_GC_UnTrack(object);
    if (self->server && lab_is_ours(lab_state(Py_TYPE(object)), self->birth))
        stop_server(self);
    Py_CLEAR(self->keep); /* in a forked child the server's thread does not exist */
    lab_free(object);
}

static PyMethodDef methods[] = {
    {"attach", (PyCFunction)(void (*)(void))attach, METH_VARARGS | METH_KEYWORDS, attach_doc},
    {"next_request", (PyCFunction)(void (*)(void))next_request, METH_VARARGS | METH_KEYWORDS,
     next_request_doc},
    {"answer", (PyCFunction)(void (*)(void))answer, METH_VARARGS | METH_KEYWORDS, answer_doc},
    {"stats", stats, METH_NOARGS, stats_doc},
    {"stop", stop, METH_NOARGS, stop_doc},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef getset[] = {
    {"port", get_port, NULL, "The TCP port it listens on.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

PyDoc_STRVAR(
    server_doc,
    "Server(options, /)\n--\n\n"
    "The dashboard's HTTP server, running from now on in a thread of its own.\n\n"
    "`options` is a dict: host, port (0: any), token (None only on loopback), rate_hz (1 to\n"
    "20), max_clients, assets (list of (path, type, etag, body, gzipped body or None)).\n"
    "ConfigError, RunError (EADDRINUSE, EACCES), Unsupported if built without it.");

static PyType_Slot slots[] = {
    {Py_tp_doc, (void *)server_doc},
    {Py_tp_new, make},
    {Py_tp_dealloc, dealloc},
    {Py_tp_traverse, traverse},
    {Py_tp_methods, methods},
    {Py_tp_getset, getset},
    {0, NULL},
};

static PyType_Spec spec = {
    .name = "locklab._core.Server",
    .basicsize = sizeof(struct server),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = slots,
};

int lab_server_add(PyObject *mod, struct mod_state *st)
{
    return lab_type_add(mod, &spec, &st->server_type);
}
