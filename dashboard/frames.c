/* SPDX-License-Identifier: MIT */
/* frames.c - the events of a run's stream as bytes.
 *
 *   hello  schema, run, lock, workload, threads, cpus[threads], rate_hz, seconds, repeat, units,
 *          bucket_upper_ns[LL_BUCKETS]: first, always
 *   tick   id = seq, t_s, dt_s (since the tick before), elapsed_s, expected_s, phase, repeat,
 *          acquisitions[threads] of this repetition, rate_per_s[threads] over dt_s, overlap,
 *          lost (ticks that this reader has lost so far, in all): rate_hz times a second
 *   hist   seq, wait and hold, each {i: buckets that are not empty, n: their counts, count, max}, over
 *          all repetitions so far: after hello, every second, before end
 *   end    id = last seq + 1, status, acquisitions, seconds, text (why it failed): last, always
 *
 * A frame is built once a tick and shared by all readers. What differs between them, `lost`, comes
 * last in a tick and is left out here: stream.c writes it and closes the event.
 */
#include "dash.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct dash_frame *dash_frame_ref(struct dash_frame *frame)
{
    frame->refs++;
    return frame;
}

void dash_frame_unref(struct dash_frame *frame)
{
    if (frame && --frame->refs == 0)
        free(frame);
}

static struct dash_frame *take(const struct dash_json *json)
{
    struct dash_frame *frame;

    if (json->failed || json->len > UINT32_MAX)
        return NULL;
    frame = malloc(sizeof(*frame) + json->len);
    if (!frame)
        return NULL;
    frame->refs = 1;
    frame->len = (uint32_t)json->len;
    memcpy(frame->text, json->text, json->len);
    return frame;
}

static void begin(struct dash_json *json, const char *event, const uint64_t *id)
{
    char line[40];

    dash_json_reset(json);
    if (id) {
        snprintf(line, sizeof(line), "id: %" PRIu64 "\n", *id);
        dash_json_raw(json, line);
    }
    dash_json_raw(json, "event: ");
    dash_json_raw(json, event);
    dash_json_raw(json, "\ndata: ");
    dash_json_open(json, '{');
}

static struct dash_frame *finish(struct dash_json *json)
{
    dash_json_close(json, '}');
    dash_json_raw(json, "\n\n");
    return take(json);
}

static void put_u64(struct dash_json *json, const char *key, uint64_t value)
{
    dash_json_key(json, key);
    dash_json_u64(json, value);
}

static void put_f64(struct dash_json *json, const char *key, double value)
{
    dash_json_key(json, key);
    dash_json_f64(json, value);
}

static void put_str(struct dash_json *json, const char *key, const char *value)
{
    dash_json_key(json, key);
    dash_json_str(json, value);
}

struct dash_frame *dash_frame_hello(const struct dash_run *run, double rate_hz)
{
    static const char *const units[][2] = {
        {"t_s", "s"},          {"dt_s", "s"},  {"elapsed_s", "s"}, {"expected_s", "s"},
        {"rate_per_s", "1/s"}, {"wait", "ns"}, {"hold", "ns"},
    };
    const struct ll_run_info *info = &run->info;
    struct dash_json json = {0};
    struct dash_frame *frame;

    dash_json_raw(&json, "retry: 1000\nevent: hello\ndata: ");
    dash_json_open(&json, '{');
    put_str(&json, "schema", "locklab.stream/1");
    put_str(&json, "run", run->id);
    put_str(&json, "lock", info->lock);
    put_str(&json, "workload", info->workload);
    put_u64(&json, "threads", info->threads);
    dash_json_key(&json, "cpus");
    dash_json_open(&json, '[');
    for (uint32_t i = 0; i < info->threads; i++)
        dash_json_u64(&json, info->cpus[i]);
    dash_json_close(&json, ']');
    put_f64(&json, "rate_hz", rate_hz);
    put_f64(&json, "seconds", info->seconds);
    put_u64(&json, "repeat", info->repeat);
    dash_json_key(&json, "units");
    dash_json_open(&json, '{');
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
        put_str(&json, units[i][0], units[i][1]);
    dash_json_close(&json, '}');
    dash_json_key(&json, "bucket_upper_ns");
    dash_json_open(&json, '[');
    for (uint32_t i = 0; i < LL_BUCKETS; i++)
        dash_json_u64(&json, ll_bucket_upper(i));
    dash_json_close(&json, ']');
    frame = finish(&json);
    dash_json_fini(&json);
    return frame;
}

static const char *phase_name(enum ll_phase phase)
{
    switch (phase) {
    case LL_PHASE_START: return "start";
    case LL_PHASE_WARMUP: return "warmup";
    case LL_PHASE_MEASURE: return "measure";
    case LL_PHASE_DRAIN: return "drain";
    case LL_PHASE_OVERHEAD: return "overhead";
    case LL_PHASE_DONE: return "done";
    }
    return NULL;
}

/* What the counter was at the newest tick; 0 if it began again since: with the measured phase, for each
 * thread when it notices that, or with the next repetition. */
static uint64_t counted_before(const struct dash_run *run, const struct ll_snapshot *snap,
                               uint32_t thread)
{
    if (snap->repeat != run->repeat || snap->acquisitions[thread] < run->acquisitions[thread])
        return 0;
    return run->acquisitions[thread];
}

struct dash_frame *dash_frame_tick(struct dash_json *json, struct dash_run *run,
                                   const struct ll_snapshot *snap, uint64_t now_ns)
{
    double dt_s = (double)(now_ns - run->ticked_ns) * 1e-9;

    begin(json, "tick", &run->seq);
    put_u64(json, "seq", run->seq);
    put_f64(json, "t_s", snap->t_s);
    put_f64(json, "dt_s", dt_s);
    put_f64(json, "elapsed_s", snap->elapsed_s);
    put_f64(json, "expected_s", snap->expected_s);
    put_str(json, "phase", phase_name(snap->phase));
    put_u64(json, "repeat", snap->repeat);
    dash_json_key(json, "acquisitions");
    dash_json_open(json, '[');
    for (uint32_t i = 0; i < run->info.threads; i++)
        dash_json_u64(json, snap->acquisitions[i]);
    dash_json_close(json, ']');
    dash_json_key(json, "rate_per_s");
    dash_json_open(json, '[');
    for (uint32_t i = 0; i < run->info.threads; i++) /* no time passed: not finite, so null */
        dash_json_f64(json, (double)(snap->acquisitions[i] - counted_before(run, snap, i)) / dt_s);
    dash_json_close(json, ']');
    put_u64(json, "overlap", snap->overlap);
    dash_json_key(json, "lost");
    return take(json);
}

static void put_histogram(struct dash_json *json, const char *key, const struct ll_histogram *h)
{
    dash_json_key(json, key);
    dash_json_open(json, '{');
    dash_json_key(json, "i");
    dash_json_open(json, '[');
    for (uint32_t i = 0; i < LL_BUCKETS; i++)
        if (h->bucket[i])
            dash_json_u64(json, i);
    dash_json_close(json, ']');
    dash_json_key(json, "n");
    dash_json_open(json, '[');
    for (uint32_t i = 0; i < LL_BUCKETS; i++)
        if (h->bucket[i])
            dash_json_u64(json, h->bucket[i]);
    dash_json_close(json, ']');
    put_u64(json, "count", h->count);
    put_u64(json, "max", h->max);
    dash_json_close(json, '}');
}

struct dash_frame *dash_frame_hist(struct dash_json *json, const struct dash_run *run,
                                   const struct ll_snapshot *snap)
{
    begin(json, "hist", NULL);
    put_u64(json, "seq", run->seq);
    put_histogram(json, "wait", &snap->wait);
    put_histogram(json, "hold", &snap->hold);
    return finish(json);
}

static const char *status_name(enum ll_status status)
{
    switch (status) {
    case LL_STATUS_COMPLETE: return "complete";
    case LL_STATUS_INTERRUPTED: return "interrupted";
    case LL_STATUS_HUNG: return "hung";
    case LL_STATUS_FAILED: return "failed";
    }
    return NULL;
}

struct dash_frame *dash_frame_end(struct dash_json *json, const struct dash_run *run)
{
    uint64_t id = run->seq + 1, acquisitions = 0;
    const struct ll_result *result;

    if (ll_run_result(run->run, &result))
        return NULL;
    for (uint32_t i = 0; i < result->threads; i++)
        acquisitions += result->acquisitions[i];
    begin(json, "end", &id);
    put_str(json, "status", status_name(result->status));
    put_u64(json, "acquisitions", acquisitions);
    put_f64(json, "seconds", result->seconds);
    put_str(json, "text", result->failure.text);
    return finish(json);
}
