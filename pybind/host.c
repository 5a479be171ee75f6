/* SPDX-License-Identifier: MIT */
/* host.c - what the machine offers: CPUs, clock, round trips, rseq, perf events. */
#include "lab.h"

PyDoc_STRVAR(cpus_doc,
             "cpus($module, /)\n--\n\n"
             "The CPUs that this process may use, as dicts in topology order.\n\n"
             "``os_index`` is the kernel's number, the others are logical; CPUs of equal\n"
             "``l3`` share their last cache. RunError if the topology cannot be read.");

static PyObject *cpu_dict(struct mod_state *st, const void *of, size_t i)
{
    const struct ll_cpu *c = (const struct ll_cpu *)of + i;

    (void)st;
    return Py_BuildValue("{s:I,s:I,s:I,s:I,s:I}", "os_index", c->os_index, "core", c->core,
                         "package", c->package, "node", c->node, "l3", c->l3);
}

static PyObject *cpus(PyObject *mod, PyObject *unused)
{
    struct mod_state *st = PyModule_GetState(mod);
    struct ll_error err = {.text = ""};
    struct ll_cpu *found = NULL;
    PyObject *list = NULL;
    size_t room = 0;
    int n;

    (void)unused;
    for (;;) {
        Py_BEGIN_ALLOW_THREADS
        n = ll_cpus(found, room, &err);
        Py_END_ALLOW_THREADS
        if (n < 0 || (size_t)n <= room)
            break;
        room = (size_t)n;
        PyMem_Free(found);
        found = PyMem_Calloc(room, sizeof(*found));
        if (!found)
            return PyErr_NoMemory();
    }
    if (n < 0)
        lab_raise(st, n, &err);
    else
        list = lab_list(st, (size_t)n, found, cpu_dict);
    PyMem_Free(found);
    return list;
}

PyDoc_STRVAR(place_doc,
             "place($module, place, threads)\n--\n\n"
             "The CPU (kernel's number) of each of `threads` threads under a placement.\n\n"
             "``compact``, ``scatter``, ``interleave:K``, ``nodes:LIST`` or ``cpus:LIST``;\n"
             "ConfigError otherwise. More threads than CPUs wrap round.");

static PyObject *place(PyObject *mod, PyObject *args, PyObject *kwargs)
{
    static char *keywords[] = {"place", "threads", NULL};
    struct mod_state *st = PyModule_GetState(mod);
    struct ll_error err = {.text = ""};
    PyObject *name, *number, *list = NULL;
    const char *spelled;
    uint32_t threads, *cpu;
    int n;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO:place", keywords, &name, &number))
        return NULL;
    spelled = lab_utf8(st, name, "place");
    if (!spelled || lab_uint32(st, number, "threads", &threads) < 0)
        return NULL;
    if (threads < 1 || threads > LL_MAX_THREADS)
        return lab_fail(st, -ERANGE, "threads", "threads %u asked, 1 to %u allowed", threads,
                        LL_MAX_THREADS);
    cpu = PyMem_Calloc(threads, sizeof(*cpu));
    if (!cpu)
        return PyErr_NoMemory();
    Py_BEGIN_ALLOW_THREADS
    n = ll_place(spelled, threads, cpu, &err);
    Py_END_ALLOW_THREADS
    if (n < 0)
        lab_raise(st, n, &err);
    else
        list = lab_uint32_list(cpu, threads);
    PyMem_Free(cpu);
    return list;
}

PyDoc_STRVAR(clock_doc,
             "clock($module, /)\n--\n\n"
             "The clock that stamps runs: source, ticks_per_s, step_ns, read_cost_ns.\n\n"
             "Calibrated once per process, about 50 ms the first time.");

static PyObject *clock_info(PyObject *mod, PyObject *unused)
{
    struct ll_clock_info info = {.size = sizeof(info), .version = LL_ABI};

    (void)mod;
    (void)unused;
    Py_BEGIN_ALLOW_THREADS
    ll_clock(&info);
    Py_END_ALLOW_THREADS
    return Py_BuildValue("{s:N,s:d,s:K,s:d}", "source", lab_str(info.source), "ticks_per_s",
                         info.ticks_per_s, "step_ns", (unsigned long long)info.step_ns,
                         "read_cost_ns", info.read_cost_ns);
}

PyDoc_STRVAR(regime_doc,
             "regime($module, cpu_a, cpu_b)\n--\n\n"
             "Median round trip of one word between two CPUs in ns, 0 if both are one.\n\n"
             "Takes 1 to 5 ms; RunTimeout after 0.3 s if the machine is too busy. ConfigError or\n"
             "RunError if a CPU cannot be used.");

static PyObject *regime(PyObject *mod, PyObject *args, PyObject *kwargs)
{
    static char *keywords[] = {"cpu_a", "cpu_b", NULL};
    struct mod_state *st = PyModule_GetState(mod);
    PyObject *first, *second;
    uint32_t a, b;
    double round_trip_ns = 0.0;
    int code;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO:regime", keywords, &first, &second))
        return NULL;
    if (lab_uint32(st, first, "cpu_a", &a) < 0 || lab_uint32(st, second, "cpu_b", &b) < 0)
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    code = ll_regime(a, b, &round_trip_ns);
    Py_END_ALLOW_THREADS
    if (code == -ETIMEDOUT)
        return lab_fail(st, code, "", "CPUs %u and %u are too busy to time a round trip", a, b);
    if (code < 0)
        return lab_fail(st, code, "cpu_a", "CPUs %u and %u asked, those that cpus() lists allowed",
                        a, b);
    return PyFloat_FromDouble(round_trip_ns);
}

PyDoc_STRVAR(rseq_selftest_doc,
             "rseq_selftest($module, /)\n--\n\n"
             "0 if the kernel's rseq area can tell that a thread was preempted,\n"
             "else an errno.");

static PyObject *rseq_selftest(PyObject *mod, PyObject *unused)
{
    int code;

    (void)mod;
    (void)unused;
    Py_BEGIN_ALLOW_THREADS
    code = ll_rseq_selftest();
    Py_END_ALLOW_THREADS
    return PyLong_FromLong(-(long)code);
}

PyDoc_STRVAR(
    perf_probe_doc,
    "perf_probe($module, name, /)\n--\n\n"
    "What counting the perf event `name` (libpfm4's spelling) would do on this host.\n\n"
    "``errno`` is 0 if it counts, else `reason` says what would help. UnknownName if there\n"
    "is no such event, Unsupported if built without libpfm4.");

static PyObject *perf_probe(PyObject *mod, PyObject *arg)
{
    struct ll_perf_probe probe = {.size = sizeof(probe), .version = LL_ABI};
    struct mod_state *st = PyModule_GetState(mod);
    const char *name = lab_utf8(st, arg, "perf");
    struct ll_error err = {.text = ""};
    int code;

    if (!name)
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    code = ll_perf_probe(name, &probe, &err);
    Py_END_ALLOW_THREADS
    if (code < 0)
        return lab_raise(st, code, &err);
    return Py_BuildValue("{s:I,s:K,s:N,s:N,s:i,s:N}", "type", probe.type, "config",
                         (unsigned long long)probe.config, "source", lab_str(probe.source), "unit",
                         lab_str(probe.unit), "errno", abs(probe.err), "reason",
                         lab_str(probe.reason));
}

PyDoc_STRVAR(bucket_upper_doc,
             "bucket_upper($module, /)\n--\n\n"
             "Array (``Q``, shape (BUCKETS,)): the largest value of each bucket.\n\n"
             "Larger values than the last one land in the last bucket, too.");

static PyObject *bucket_upper(PyObject *mod, PyObject *unused)
{
    PyObject *memory = PyBytes_FromStringAndSize(NULL, LL_BUCKETS * sizeof(uint64_t)), *array;

    (void)unused;
    if (!memory)
        return NULL;
    for (uint32_t i = 0; i < LL_BUCKETS; i++)
        ((uint64_t *)PyBytes_AS_STRING(memory))[i] = ll_bucket_upper(i);
    array = lab_array(PyModule_GetState(mod), memory, PyBytes_AS_STRING(memory), 'Q', LL_BUCKETS);
    Py_DECREF(memory);
    return array;
}

static PyMethodDef methods[] = {
    {"cpus", cpus, METH_NOARGS, cpus_doc},
    {"place", (PyCFunction)(void (*)(void))place, METH_VARARGS | METH_KEYWORDS, place_doc},
    {"clock", clock_info, METH_NOARGS, clock_doc},
    {"regime", (PyCFunction)(void (*)(void))regime, METH_VARARGS | METH_KEYWORDS, regime_doc},
    {"rseq_selftest", rseq_selftest, METH_NOARGS, rseq_selftest_doc},
    {"perf_probe", perf_probe, METH_O, perf_probe_doc},
    {"bucket_upper", bucket_upper, METH_NOARGS, bucket_upper_doc},
    {NULL, NULL, 0, NULL},
};

int lab_host_add(PyObject *mod, struct mod_state *st)
{
    (void)st;
    return PyModule_AddFunctions(mod, methods);
}
