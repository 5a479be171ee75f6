/* SPDX-License-Identifier: MIT */
/* test_histogram.c - bounds of the buckets, exact sums, quantiles against sorted values. */
#include <pthread.h>
#include <string.h>

#include "core/rng.h"
#include "expect.h"
#include "metrics/histogram.h"

#define N 20000u

static void buckets_tile_the_line(void)
{
    uint64_t lower = 0;

    for (uint32_t i = 0; i < LL_BUCKETS; i++) {
        uint64_t upper = ll_bucket_upper(i);
        EXPECT(upper >= lower, "bucket %u", i);
        EXPECT(ll_bucket_of(lower) == i && ll_bucket_of(upper) == i, "bucket %u: %lu..%lu", i,
               lower, upper);
        EXPECT((upper - lower) * 32 <= lower || upper == lower, "bucket %u is wider than 1/32", i);
        EXPECT(i >= 64 || upper == i, "small values have a bucket each, %u", i);
        lower = upper + 1;
    }
    EXPECT(lower - 1 == LL_HIST_MAX_NS, "the last bucket ends at %lu", lower - 1);
    EXPECT(ll_bucket_of(UINT64_MAX) == LL_BUCKETS - 1, "largest value");
    EXPECT(ll_bucket_upper(LL_BUCKETS) == LL_HIST_MAX_NS, "index beyond the end");
}

static int ascending(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

/* Values of every magnitude: a random number of random bits. */
static uint64_t draw(uint64_t stream)
{
    return ll_rng_seed(11, stream) >> (ll_rng_seed(12, stream) % 64);
}

static void quantiles_lie_in_the_right_bucket(void)
{
    static const double qs[] = {0, 0.001, 0.07, 0.25, 0.5, 0.9, 0.99, 0.999, 1};
    static struct ll_histogram h;
    static uint64_t values[N];
    uint64_t sum = 0, total = 0;

    memset(&h, 0, sizeof(h));
    for (uint32_t i = 0; i < N; i++) {
        values[i] = draw(i);
        sum += values[i];
        ll_histogram_record(&h, values[i]);
    }
    qsort(values, N, sizeof(*values), ascending);
    for (uint32_t i = 0; i < LL_BUCKETS; i++)
        total += h.bucket[i];
    EXPECT(h.count == N && total == N, "count %lu, buckets %lu", h.count, total);
    EXPECT(h.sum == sum && h.max == values[N - 1], "sum and max are exact");
    for (size_t k = 0; k < sizeof(qs) / sizeof(*qs); k++) {
        uint64_t rank = (uint64_t)(qs[k] * N + 0.999999), exact, got;
        exact = values[rank ? rank - 1 : 0];
        got = ll_histogram_quantile(&h, qs[k]);
        EXPECT(ll_bucket_of(got) == ll_bucket_of(exact) && got >= exact, "q %g: %lu for %lu", qs[k],
               got, exact);
        EXPECT(got <= h.max, "q %g above the maximum", qs[k]);
    }
}

static void quantiles_at_the_edges(void)
{
    static struct ll_histogram h;

    memset(&h, 0, sizeof(h));
    EXPECT(ll_histogram_quantile(&h, 0.5) == 0, "empty");
    for (uint64_t v = 1; v <= 100; v++)
        ll_histogram_record(&h, v < 50 ? v : 50);
    EXPECT(ll_histogram_quantile(&h, 0.07) == 7, "0.07 of 100 is the 7th value, not the 8th");
    EXPECT(ll_histogram_quantile(&h, -1) == 1 && ll_histogram_quantile(&h, 2) == 50, "clamped");
    EXPECT(ll_histogram_quantile(&h, 0.0 / 0.0) == 1, "not a number");

    memset(&h, 0, sizeof(h));
    ll_histogram_record(&h, LL_HIST_MAX_NS + 12345);
    EXPECT(ll_histogram_quantile(&h, 0.5) == LL_HIST_MAX_NS + 12345, "the last bucket is open");
    ll_histogram_record(&h, 0);
    EXPECT(ll_histogram_quantile(&h, 0.5) == 0, "zero is a value");
}

static void merging_is_adding(void)
{
    static struct ll_histogram part[2], whole, sum, other;

    for (uint32_t i = 0; i < N; i++) {
        ll_histogram_record(&part[i % 2], draw(i));
        ll_histogram_record(&whole, draw(i));
    }
    for (int i = 0; i < 2; i++) {
        ll_histogram_merge(&sum, &part[i]);
        ll_histogram_merge(&other, &part[1 - i]);
    }
    EXPECT(memcmp(&sum, &whole, sizeof(sum)) == 0, "parts give the whole");
    EXPECT(memcmp(&sum, &other, sizeof(sum)) == 0, "in any order");

    /* as if its writer stood between two steps: the buckets decide */
    part[0].count -= 7;
    memset(&sum, 0, sizeof(sum));
    ll_histogram_merge(&sum, &part[0]);
    EXPECT(sum.count == part[0].count + 7, "count %lu", sum.count);
}

/* A reader of a histogram under way: whole numbers that never go back, buckets equal to count. */
static struct ll_histogram live;
static uint32_t live_done;

static void *write_live(void *arg)
{
    (void)arg;
    for (uint32_t i = 0; i < 10 * N; i++)
        mt_histogram_record(&live, draw(i));
    __atomic_store_n(&live_done, 1, __ATOMIC_RELEASE);
    return NULL;
}

static void snapshots_are_consistent(void)
{
    static struct ll_histogram snapshot;
    uint64_t last = 0;
    pthread_t writer;
    bool done;

    EXPECT(pthread_create(&writer, NULL, write_live, NULL) == 0, "no thread");
    do {
        uint64_t total = 0;
        done = __atomic_load_n(&live_done, __ATOMIC_ACQUIRE);
        memset(&snapshot, 0, sizeof(snapshot));
        ll_histogram_merge(&snapshot, &live);
        for (uint32_t i = 0; i < LL_BUCKETS; i++)
            total += snapshot.bucket[i];
        EXPECT(total == snapshot.count, "%lu in buckets, count %lu", total, snapshot.count);
        EXPECT(snapshot.count >= last, "went back from %lu to %lu", last, snapshot.count);
        last = snapshot.count;
    } while (!done);
    pthread_join(writer, NULL);
    EXPECT(last == 10 * N, "the last snapshot has all, not %lu", last);
    EXPECT(memcmp(&snapshot, &live, sizeof(live)) == 0, "and equals the histogram");
}

int main(void)
{
    buckets_tile_the_line();
    quantiles_lie_in_the_right_bucket();
    quantiles_at_the_edges();
    merging_is_adding();
    snapshots_are_consistent();
    DONE();
}
