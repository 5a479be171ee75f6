/* SPDX-License-Identifier: MIT */
/* brute_force.c - every lock under every client: the checker against brute force.
 *
 *   brute_force [MOST [LOCK [CLIENT]]]
 *
 * 2 threads x 1 turn, and with MOST given also 2 x 2 and 3 x 1; SC and TSO; every split of readers and
 * writers; 0, 1 and 2 give-ups where the lock asks whether to give up; the parameter values for which
 * a descriptor announces a fault. Where brute force has more than MOST executions (15,000 unless
 * given) those that were run must be among what the checker found; else the sets are equal, also under
 * preemption bounds 0 to 3, and there the number of executions. With MOST one line says each case.
 */
#define ENG_VIRTUAL /* what a thread is, the checker says */
#include "brute.h"

#include "check/program.h"
#include "core/registry.h"

#ifdef LL_SANITIZED
#define USUAL_MOST 3000u
#else
#define USUAL_MOST 8000u
#endif
#define REDUCED_MOST 300000u /* if brute force was not finished */

static uint64_t most = USUAL_MOST;
static bool told;
static unsigned failures, wholly, partly, too_many;

struct instance {
    const char *id;
    struct ll_program_spec spec;
    enum ll_memory memory;
    uint32_t giveups;
};

static void say(const struct instance *c, const char *what, const struct found *all)
{
    uint64_t runs = 0;

    for (uint32_t i = 0; i < FOUND_PREEMPTIONS; i++)
        runs += all->runs[i];
    printf("%s\t%s\t%ux%u\t%u writers\t%s\t%s\t%u give-ups\t%llu executions%s\t%zu classes\t"
           "%zu states\t%zu faults\t%llu aborted\t%s\n",
           c->id, c->spec.client->name, c->spec.threads, c->spec.turns, c->spec.writers,
           c->spec.n_settings ? c->spec.settings->value : "-",
           c->memory == LL_MEMORY_SC ? "sc" : "tso", c->giveups, (unsigned long long)runs,
           all->wholly ? "" : " (part)", all->classes.used, all->states.used, all->faults.used,
           (unsigned long long)all->aborted, what);
    fflush(stdout);
}

/* NULL: the same. */
static const char *compare(const struct brute_program *p, struct ck_options options,
                           const struct found *all, uint64_t *giveups_cut)
{
    struct found found;
    const char *what;

    options.strategy = CK_DFS;
    recorded(p, options, all->wholly ? UINT64_MAX : told ? REDUCED_MOST : most, &found);
    what = found.wholly || all->wholly ? found_same(all, &found) : NULL;
    too_many += !found.wholly && !what;
    *giveups_cut = found.giveups_cut;
    found_empty(&found);
    options.strategy = CK_BOUNDED;
    for (options.bound = 0; all->wholly && options.bound <= 3 && !what; options.bound++) {
        recorded(p, options, UINT64_MAX, &found);
        what = found_same_bounded(all, &found, options.bound);
        found_empty(&found);
    }
    return what;
}

/* Is a higher bound on give-ups another case, and not hopeless? */
static bool run_case(const struct instance *c)
{
    struct ck_options options = {.memory = c->memory,
                                 .giveups = c->giveups,
                                 .races = true,
                                 .first_relax_ends = c->spec.client->first_relax_ends};
    struct ll_program program;
    struct brute_program p = {&program.ck, 0};
    struct found all;
    const char *what;
    uint64_t giveups_cut;
    bool more;

    LL_ASSERT(ll_program_init(&program, &c->spec, NULL) == 0);
    brute_force(&p, options, most, &all);
    what = compare(&p, options, &all, &giveups_cut);
    if (what || told)
        say(c, what ? what : "ok", &all);
    failures += what != NULL;
    wholly += all.wholly;
    partly += !all.wholly;
    more = all.wholly && giveups_cut;
    found_empty(&all);
    ll_program_fini(&program);
    return more;
}

static void run_memories(struct instance c)
{
    for (int m = 0; m < 2; m++) {
        c.memory = m ? LL_MEMORY_TSO : LL_MEMORY_SC;
        for (c.giveups = 0; c.giveups <= 2; c.giveups++)
            if (!run_case(&c))
                break;
    }
}

static void run_settings(struct instance c)
{
    run_memories(c);
    for (const struct ll_expect *e = c.spec.lock->expect; e && e->client; e++)
        if (e->setting && !strcmp(e->client, c.spec.client->name)) {
            char text[64], *value = text;
            struct ll_setting setting;
            snprintf(text, sizeof(text), "%s", e->setting);
            setting.name = strsep(&value, "=");
            setting.value = value;
            c.spec.settings = &setting;
            c.spec.n_settings = 1;
            run_memories(c);
        }
}

static void run_client(struct instance c)
{
    static const uint32_t sizes[][2] = {{2, 1}, {2, 2}, {3, 1}};

    for (uint32_t i = 0; i < (told ? 3u : 1u); i++) {
        bool roles = c.spec.client->kind == LL_KIND_SHARED;
        c.spec.threads = sizes[i][0];
        c.spec.turns = sizes[i][1];
        for (c.spec.writers = 0; c.spec.writers <= (roles ? c.spec.threads : 0); c.spec.writers++)
            run_settings(c);
    }
}

int main(int argc, char **argv)
{
    struct ll_lock_info info;
    struct ll_client_info client;

    told = argc > 1;
    if (told)
        most = strtoull(argv[1], NULL, 10);
    for (size_t i = 0; !ll_lock_get(i, &info); i++) {
        const struct ll_lock_desc *lock = ll_lock_find(info.id, LL_VARIANT_VIRTUAL);
        if (!lock || (argc > 2 && strcmp(argv[2], info.id) != 0))
            continue;
        for (size_t k = 0; !ll_client_get(k, &client); k++) {
            const struct ll_client_desc *desc = ll_client_find(client.id, LL_VARIANT_VIRTUAL);
            if (ll_client_applies(desc, lock) && (argc <= 3 || !strcmp(argv[3], client.id)))
                run_client(
                    (struct instance){.id = info.id, .spec.lock = lock, .spec.client = desc});
        }
    }
    printf(
        "%u searches by brute force to the end, %u in part (%u of them too many for the checker as "
        "well), %u differ\n",
        wholly, partly, too_many, failures);
    return failures || !wholly;
}
