/* SPDX-License-Identifier: MIT */
/* stream.c - server-sent events: who gets which frame when.
 *
 * Each reader has a cursor, nobody has a queue: a client that comes too late for a tick finds the newest
 * one and is told how many it lost. A reader without news is suspended until its run's next frame;
 * there is one at least every second, which is the stream's heartbeat and shows who has gone.
 */
#include "dash.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STREAM_BLOCK                                                                               \
    16384u /* what libmicrohttpd asks for at once; longer frames take several turns */

static void new_tick(struct ll_server *server, struct dash_run *run, uint64_t now)
{
    struct dash_frame **slot = &run->ring[++run->seq % DASH_RING];

    dash_frame_unref(*slot);
    *slot = dash_frame_tick(&server->json, run, &server->snapshot, now);
}

static void new_hist(struct ll_server *server, struct dash_run *run, uint64_t now)
{
    struct dash_frame *frame = dash_frame_hist(&server->json, run, &server->snapshot);

    if (!frame)
        return; /* short of memory: the old one stays */
    dash_frame_unref(run->hist);
    run->hist = frame;
    run->n_hist++;
    run->hist_ns = now;
}

/* Reads the run; `ticking`: in the rhythm of the clock, else because its first reader has come. */
static void refresh(struct ll_server *server, struct dash_run *run, bool ticking)
{
    struct ll_snapshot *snap = &server->snapshot;
    bool done =
        ll_run_wait(run->run, 0) == 0; /* first, so that the last picture is the final one */
    uint64_t now;

    snap->size = sizeof(*snap);
    snap->version = LL_ABI;
    ll_run_snapshot(run->run, snap);
    now = dash_now_ns();
    if (ticking)
        new_tick(server, run, now);
    run->ticked_ns = now;
    run->repeat = snap->repeat;
    memcpy(run->acquisitions, snap->acquisitions, run->info.threads * sizeof(uint64_t));
    /* Every second; the tick's own jitter must not make that every second and a tick. */
    if (!ticking || done || now - run->hist_ns > DASH_SECOND_NS - server->period_ns / 2)
        new_hist(server, run, now);
    if (done)
        run->end = dash_frame_end(&server->json, run);
}

static bool tick_waits(const struct dash_stream *stream)
{
    return stream->next <= stream->run->seq;
}

/* Moves on to the frame that this reader gets next; false: none yet. */
static bool next_frame(struct dash_conn *conn)
{
    struct dash_stream *stream = &conn->stream;
    struct dash_run *run = stream->run;
    struct dash_frame *frame = NULL;

    stream->tail_len = 0;
    if (!stream->greeted) {
        frame = run->hello;
        stream->greeted = true;
    } else if (run->hist && stream->hist_seen == 0) {
        frame = run->hist;
        stream->hist_seen = run->n_hist;
    } else if (tick_waits(stream)) {
        uint64_t from = stream->replay ? run->seq - (DASH_RING - 1) : run->seq;
        uint64_t lost = 0;

        if (stream->replay && run->seq < DASH_RING)
            from = 1;
        if (stream->next < from) {
            lost = from - stream->next;
            stream->next = from;
        }
        frame = run->ring[stream->next % DASH_RING];
        lost += !frame;
        stream->lost += lost;
        conn->server->stats.frames_lost += lost;
        stream->next++;
        stream->replay = stream->replay && tick_waits(stream);
        if (!frame)
            return next_frame(conn); /* it could not be made: at most DASH_RING times */
        stream->tail_len = (uint32_t)snprintf(stream->tail, sizeof(stream->tail),
                                              "%" PRIu64 "}\n\n", stream->lost);
    } else if (run->hist && stream->hist_seen < run->n_hist) {
        frame = run->hist;
        stream->hist_seen = run->n_hist;
    } else if (run->end && !stream->ended) {
        frame = run->end;
        stream->ended = true;
    }
    if (!frame)
        return false;
    stream->frame = dash_frame_ref(frame);
    stream->offset = 0;
    return true;
}

/* Copies the next piece of the frame at hand; frees it when all of it is gone. */
static size_t copy_piece(struct dash_conn *conn, char *buf, size_t max)
{
    struct dash_stream *stream = &conn->stream;
    struct dash_frame *frame = stream->frame;
    size_t done = 0;

    if (stream->offset < frame->len) {
        done = frame->len - stream->offset;
        if (done > max)
            done = max;
        memcpy(buf, frame->text + stream->offset, done);
    }
    if (stream->offset + done >= frame->len) {
        size_t at = stream->offset + done - frame->len;
        size_t tail = stream->tail_len - at;

        if (tail > max - done)
            tail = max - done;
        memcpy(buf + done, stream->tail + at, tail);
        done += tail;
    }
    stream->offset += (uint32_t)done;
    if (stream->offset == frame->len + stream->tail_len) {
        dash_frame_unref(frame);
        stream->frame = NULL;
        conn->server->stats.frames_sent++;
    }
    return done;
}

static ssize_t read_stream(void *cls, uint64_t pos, char *buf, size_t max)
{
    struct dash_conn *conn = cls;
    struct dash_stream *stream = &conn->stream;
    size_t done = 0;

    (void)pos;
    if (conn->server->quitting)
        return MHD_CONTENT_READER_END_OF_STREAM;
    while (done < max && (stream->frame || next_frame(conn)))
        done += copy_piece(conn, buf + done, max - done);
    if (done)
        return (ssize_t)done;
    if (stream->ended)
        return MHD_CONTENT_READER_END_OF_STREAM;
    dash_suspend(conn); /* returning 0 without that would be a busy loop */
    return 0;
}

/* Where a reader that comes back goes on. True: it has had everything already. */
static bool resume_from(struct dash_conn *conn, const struct dash_run *run)
{
    const char *last = MHD_lookup_connection_value(conn->mhd, MHD_HEADER_KIND, "Last-Event-ID");
    char *end;
    uint64_t id;

    conn->stream.next = run->seq + 1;
    if (!last || *last < '0' || *last > '9')
        return false;
    id = strtoull(last, &end, 10);
    if (*end)
        return false;
    if (id <= run->seq && run->ring[run->seq % DASH_RING]) {
        conn->stream.next = id + 1;
        conn->stream.replay = true;
    }
    return run->end && id == run->seq + 1;
}

static enum MHD_Result queue_stream(struct dash_conn *conn)
{
    struct MHD_Response *response;
    enum MHD_Result result = MHD_NO;

    /* One for each reader: a response that suspends must not be shared. */
    response =
        MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, STREAM_BLOCK, read_stream, conn, NULL);
    if (!response)
        return MHD_NO;
    if (dash_common_headers(response) &&
        dash_header(response, "Content-Type", "text/event-stream") &&
        dash_header(response, "Cache-Control", "no-store") &&
        dash_header(response, "X-Accel-Buffering", "no"))
        result = MHD_queue_response(conn->mhd, MHD_HTTP_OK, response);
    MHD_destroy_response(response);
    return result;
}

enum MHD_Result dash_stream_open(struct dash_conn *conn, struct dash_run *run)
{
    struct ll_server *server = conn->server;

    if (conn->method == DASH_HEAD) {
        dash_run_unref(server, run);
        return dash_reply(conn, &(struct dash_reply){.status = 200, .type = "text/event-stream"},
                          "", 0, MHD_RESPMEM_PERSISTENT);
    }
    if (run->listeners == 0 && !run->end)
        refresh(server, run, false);
    conn->stream = (struct dash_stream){.run = run};
    run->listeners++;
    server->n_streams++;
    if (resume_from(conn, run)) /* 204 tells an EventSource not to come again */
        return dash_reply(conn, &(struct dash_reply){.status = 204}, "", 0, MHD_RESPMEM_PERSISTENT);
    return queue_stream(conn);
}

void dash_stream_close(struct dash_conn *conn)
{
    struct dash_stream *stream = &conn->stream;
    struct dash_run *run = stream->run;

    if (!run)
        return;
    dash_frame_unref(stream->frame);
    *stream = (struct dash_stream){0};
    conn->server->n_streams--;
    if (--run->listeners == 0 && run->end) /* nothing to replay: the result has it all */
        for (uint32_t i = 0; i < DASH_RING; i++) {
            dash_frame_unref(run->ring[i]);
            run->ring[i] = NULL;
        }
    dash_run_unref(conn->server, run);
}

void dash_streams_tick(struct ll_server *server)
{
    uint64_t begin = dash_now_ns();

    for (uint32_t i = 0; i < server->n_conns; i++) {
        struct dash_conn *conn = &server->conns[i];
        struct dash_run *run = conn->stream.run;

        if (conn->fd < 0 || !run)
            continue;
        /* Once a round; a picture taken just now for a new reader would make a jittery rate. */
        if (!run->end && run->ticked_ns + server->period_ns / 4 < begin)
            refresh(server, run, true);
        dash_resume(conn);
    }
}
