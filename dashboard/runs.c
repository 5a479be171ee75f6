/* SPDX-License-Identifier: MIT */
/* runs.c - the table of runs whose stream can be had: the newest DASH_RUNS. */
#include "dash.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void free_run(struct dash_run *run)
{
    for (uint32_t i = 0; i < DASH_RING; i++)
        dash_frame_unref(run->ring[i]);
    dash_frame_unref(run->hello);
    dash_frame_unref(run->hist);
    dash_frame_unref(run->end);
    free(run->acquisitions);
    ll_run_unref(run->run);
    free(run);
}

void dash_run_unref(struct ll_server *server, struct dash_run *run)
{
    bool last;

    pthread_mutex_lock(&server->lock);
    last = --run->refs == 0;
    pthread_mutex_unlock(&server->lock);
    if (last)
        free_run(run);
}

struct dash_run *dash_run_find(struct ll_server *server, const char *id, size_t len)
{
    struct dash_run *found = NULL;

    pthread_mutex_lock(&server->lock);
    for (uint32_t i = 0; i < server->n_runs && !found; i++)
        if (strlen(server->runs[i]->id) == len && memcmp(server->runs[i]->id, id, len) == 0)
            found = server->runs[i];
    if (found)
        found->refs++;
    pthread_mutex_unlock(&server->lock);
    return found;
}

void dash_runs_fini(struct ll_server *server)
{
    for (uint32_t i = 0; i < server->n_runs; i++)
        dash_run_unref(server, server->runs[i]);
    server->n_runs = 0;
}

static bool id_valid(const char *id)
{
    size_t len = id ? strlen(id) : 0;

    return len >= 1 && len < sizeof(((struct dash_run *)0)->id) &&
           strspn(id, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._") == len;
}

static struct dash_run *make_run(const char *id, struct ll_run *of, double rate_hz)
{
    struct dash_run *run = calloc(1, sizeof(*run));

    if (!run)
        return NULL;
    run->refs = 1;
    run->run = ll_run_ref(of);
    memcpy(run->id, id, strlen(id));
    run->info = (struct ll_run_info){.size = sizeof(run->info), .version = LL_ABI};
    ll_run_info(of, &run->info);
    run->acquisitions = calloc(run->info.threads ? run->info.threads : 1, sizeof(uint64_t));
    run->hello = dash_frame_hello(run, rate_hz);
    if (run->acquisitions && run->hello)
        return run;
    free_run(run);
    return NULL;
}

int ll_server_attach(struct ll_server *server, const char *run_id, struct ll_run *run)
{
    struct dash_run *fresh, *unwanted = NULL;
    int result = 0;

    if (dash_is_forked(server))
        return -ECANCELED;
    if (!id_valid(run_id) || !run)
        return -EINVAL;
    fresh = make_run(run_id, run, server->rate_hz);
    if (!fresh)
        return -ENOMEM;
    pthread_mutex_lock(&server->lock);
    for (uint32_t i = 0; i < server->n_runs; i++)
        if (strcmp(server->runs[i]->id, run_id) == 0)
            result = -EINVAL;
    if (server->stopping)
        result = -ECANCELED;
    if (result == 0) {
        if (server->n_runs == DASH_RUNS) {
            unwanted = server->runs[0];
            memmove(server->runs, server->runs + 1, (DASH_RUNS - 1) * sizeof(server->runs[0]));
            server->n_runs--;
        }
        server->runs[server->n_runs++] = fresh;
    } else {
        unwanted = fresh;
    }
    pthread_mutex_unlock(&server->lock);
    if (unwanted) /* outside the lock: the last reference joins the run's threads */
        dash_run_unref(server, unwanted);
    return result;
}
