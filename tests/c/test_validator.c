/* SPDX-License-Identifier: MIT */
/* test_validator.c - what the order validator says, and what it does not say: the whole table.
 *
 * `test_validator table` prints the table.
 */
#include <ctype.h>

#include "validator_script.h"

static bool prints;

static void expect_found(const char *what, const char *type, const char *text, const char *wanted,
                         const struct script *s)
{
    const char *found = script_found(s);

    if (prints)
        printf("%-34s %-14s %-22s %s\n", what, type, text, *found ? found : "-");
    EXPECT(strcmp(found, wanted) == 0, "%s, %s: %s: found \"%s\", wanted \"%s\"", what, type, text,
           found, wanted);
}

static void try_types(const char *what, const char *label, const enum type types[S_CLASSES],
                      const char *text, const char *wanted)
{
    struct script s;

    script_open(&s, types);
    script_run(&s, text);
    expect_found(what, label, text, wanted, &s);
    script_close(&s);
}

static void try(const char *what, enum type type, const char *text, const char *wanted)
{
    const enum type types[S_CLASSES] = {type, type, type, type, type};

    try_types(what, type_name[type], types, text, wanted);
}

/* ---- the list that every mode of every type must pass ---- */

static const struct {
    const char *what, *text, *wanted;
    const char *wanted_recursive; /* of recursive readers alone */
} orders[] = {
    {"A-A", "AA", "recursion", ""},
    {"A-A, two of the class", "AA'", "same-class", ""},
    {"AB-BA", "AB.BA.", "inversion", ""},
    {"AB-BC-CA", "AB.BC.CA.", "inversion", ""},
    {"AB-CA-BC", "AB.CA.BC.", "inversion", ""},
    {"AB-BC-CD-DA", "AB.BC.CD.DA.", "inversion", ""},
    {"AB-CD-BD-DA", "AB.CD.BD.DA.", "inversion", ""},
    {"AB-CD-BC-DA", "AB.CD.BC.DA.", "inversion", ""},
    {"double unlock", "A-A-A", "not-held", "not-held"},
    {"init while held", "A*A", "reinit-held", "reinit-held"},
    {"AB-AB", "AB.AB.", "", ""},
    {"AB-BC-AC", "AB.BC.AC.", "", ""},
    {"AB-BA by other threads", "1AB.2BA.", "inversion", ""},
    {"A, then A again", "A.A.", "", ""},
    {"a link that closed a cycle is no way", "AB.BA.CB.AC.", "inversion", ""},
    {"given back in the middle", "AB?C-BD.AB?CD.DB.", "inversion", ""},
};

static void try_orders(void)
{
    static const struct {
        enum type type;
        bool shared, recursive;
        const char *label;
    } modes[] = {
        {SPIN, false, false, "spin"},           {RWLOCK, false, false, "rwlock write"},
        {RWLOCK, true, true, "rwlock read"},    {QRWLOCK, false, false, "qrwlock write"},
        {QRWLOCK, true, false, "qrwlock read"}, {MUTEX, false, false, "mutex"},
        {RWSEM, false, false, "rwsem write"},   {RWSEM, true, false, "rwsem read"},
    };

    for (size_t m = 0; m < sizeof(modes) / sizeof(modes[0]); m++)
        for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++) {
            enum type type = modes[m].type;
            const enum type types[S_CLASSES] = {type, type, type, type, type};
            char text[64] = "";

            for (size_t k = 0; orders[i].text[k]; k++) {
                char c = orders[i].text[k];
                text[k] = modes[m].shared ? (char)tolower((unsigned char)c) : c;
                text[k + 1] = 0;
            }
            try_types(orders[i].what, modes[m].label, types, text,
                      modes[m].recursive ? orders[i].wanted_recursive : orders[i].wanted);
        }
}

/* ---- shared and exclusive mixed ---- */

static void try_mixed(void)
{
    static const struct {
        const char *what, *text, *rwlock, *qrwlock, *rwsem;
    } rows[] = {
        {"read-read, same instance", "aa", "", "recursion", "recursion"},
        {"read-read, same class", "aa'", "", "same-class", "same-class"},
        {"read-write, same instance", "aA", "upgrade", "upgrade", "upgrade"},
        {"read-write, same class", "aA'", "same-class", "same-class", "same-class"},
        {"write-read, same instance", "Aa", "recursion", "recursion", "recursion"},
        {"write-read, same class", "Aa'", "same-class", "same-class", "same-class"},
        {"AB-BA, r r - r r", "ab.ba.", "", "inversion", "inversion"},
        {"AB-BA, r w - r w", "aB.bA.", "inversion", "inversion", "inversion"},
        {"AB-BA, w r - w r", "Ab.Ba.", "inversion", "inversion", "inversion"},
        {"AB-BA, w w - r r", "AB.ba.", "inversion", "inversion", "inversion"},
        {"AB-BA, r w - w w", "aB.BA.", "inversion", "inversion", "inversion"},
        /* who asks for B, for A: the reader never waits for a reader */
        {"AB-BA, r w - w r", "aB.Ba.", "", "inversion", "inversion"},
        {"AB-BA, w r - r w", "Ab.bA.", "", "inversion", "inversion"},
        {"AB-BA, w r - r r", "Ab.ba.", "", "inversion", "inversion"},
        {"then with a writer too", "ab.ba.aB.bA.", "inversion", "inversion", "inversion"},
        {"AB-BC-CA, one shared node", "aB.bC.cA.", "inversion", "inversion", "inversion"},
        {"unlock read of a write", "A-a", "wrong-mode", "wrong-mode", "wrong-mode"},
        {"unlock write of a read", "a-A", "wrong-mode", "wrong-mode", "wrong-mode"},
        {"downgrade", "A%A-a", "", "", ""},
        {"downgrade of a read", "a%A-a", "wrong-mode", "wrong-mode", "wrong-mode"},
        {"downgrade of nothing", "%A", "wrong-mode", "wrong-mode", "wrong-mode"},
        {"downgrade, then AB-BA", "A%aB.Ba.", "", "inversion", "inversion"},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        try(rows[i].what, RWLOCK, rows[i].text, rows[i].rwlock);
        try(rows[i].what, QRWLOCK, rows[i].text, rows[i].qrwlock);
        try(rows[i].what, RWSEM, rows[i].text, rows[i].rwsem);
    }
}

/* ---- tries, subclasses, nests, raw ---- */

static void try_annotations(void)
{
    static const struct {
        const char *what, *text, *wanted;
    } rows[] = {
        {"AB, B tries A", "AB.B?A.", ""},
        {"AB, B got by a try, A", "AB.?BA.", "inversion"},
        {"two of a class, second tried", "A?A'.", ""},
        {"two of a class, first tried", "?AA'.", "same-class"},
        {"levels", "AA':1.AA':1.", ""},
        {"levels the other way", "AA':1.A:1A'.", "inversion"},
        {"twice the same level", "A:1A':1.", "same-class"},
        {"nested", "BA^BA'^B.", ""},
        {"nested, one not", "BA^BA'.", "same-class"},
        {"not nested, then nested", "ABA'^B.", "same-class"},
        {"nested in what is not held", "A^B.", "nest-not-held"},
        {"nested, then not", "BA^BA'^B.BAA'.", "same-class"},
        {"nested twice the same", "BA^BA^B.", "recursion, not-held"},
        {"nested, given back in any order", "BA^BA'^B-A-A'-B", ""},
        {"nested, given back twice", "BA^B-A-A", "not-held"},
        {"nested, another in between", "BA^BCA'^B.", "inversion"},
        {"nested, given back by another", "1BA^B2-A", "not-owner"},
        {"unvalidated", "#A#A'-#A-#A'", ""},
        {"unvalidated, then proper", "#BA.AB.-#B", ""},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        try(rows[i].what, SPIN, rows[i].text, rows[i].wanted);
        try(rows[i].what, MUTEX, rows[i].text, rows[i].wanted);
        try(rows[i].what, RWSEM, rows[i].text, rows[i].wanted);
    }
}

/* ---- misuse ---- */

static void try_misuse(void)
{
    static const struct {
        const char *what, *text, *wanted;
    } rows[] = {
        {"given back by another", "1A2-A", "not-owner"},
        {"given back by another, then mine", "1A2-A1-A", "not-owner"},
        {"given back, never taken", "-A", "not-held"},
        {"freed while held", "A!A", "free-held"},
        {"freed while held by another", "1A2!A", "free-held"},
        {"freed, then taken", "!AA", "copied"},
        {"freed twice", "!A!A", "copied"},
        {"a copy", "&A", "copied"},
        {"initialised again, free", "*AA.", ""},
        {"the thread ends, held", "AB$", "exit-held, exit-held"},
        {"the thread ends", "AB.$", ""},
        {"an interrupt leaves it held", "(A)", "irq-leak"},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        try(rows[i].what, SPIN, rows[i].text, rows[i].wanted);
    for (size_t i = 0; i + 1 < sizeof(rows) / sizeof(rows[0]); i++)
        try(rows[i].what, MUTEX, rows[i].text, rows[i].wanted);
}

/* ---- sleep ---- */

static void try_sleep(void)
{
    static const struct {
        const char *what, *text, *wanted;
    } rows[] = {
        /* A spins, B is a mutex, C a rwsem, D a recursive rwlock */
        {"mutex in spin", "AB.", "sleep-in-spin"},
        {"rwsem read in spin", "Ac.", "sleep-in-spin"},
        {"mutex in rwlock read", "dB.", "sleep-in-spin"},
        {"mutex tried in spin", "A?B.", ""},
        {"spin in mutex", "BA.", ""},
        {"mutex after spin", "A-AB.", ""},
        {"sleep in spin", "A~.", "sleep-in-spin"},
        {"sleep in mutex", "B~.", ""},
        {"mutex in unvalidated spin", "#AB.-#A", "sleep-in-spin"},
        {"mutex in an interrupt", "(B.)", "irq-use, irq-use"},
        {"mutex tried in an interrupt", "(?B.)", "irq-use, irq-use"},
        {"sleep in an interrupt", "(~)", "irq-use"},
        {"spin in an interrupt", "(A.)", ""},
        {"unlock of a mutex in an interrupt", "B(-B)A.", "irq-use"},
    };
    static const enum type types[S_CLASSES] = {SPIN, MUTEX, RWSEM, RWLOCK, SPIN};

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        try_types(rows[i].what, "mixed", types, rows[i].text, rows[i].wanted);
}

/* ---- interrupts ---- */

static void try_interrupts(void)
{
    static const struct {
        const char *what, *text, *spin, *rwlock; /* spin: exclusively all along */
    } rows[] = {
        {"in irq, and with irqs on", "(A.)A.", "irq-unsafe", "irq-unsafe"},
        {"with irqs on, and in irq", "A.(A.)", "irq-unsafe", "irq-unsafe"},
        {"in irq, and with irqs off", "(A.)[A.]", "", ""},
        {"irqs come on while held", "(A.)[A].", "irq-unsafe", "irq-unsafe"},
        {"safe -> unsafe, edge last", "(A.)B.[AB.]", "irq-unsafe", "irq-unsafe"},
        {"safe -> unsafe, unsafe last", "(A.)[AB.]B.", "irq-unsafe", "irq-unsafe"},
        {"safe -> unsafe, safe last", "B.[AB.](A.)", "irq-unsafe", "irq-unsafe"},
        {"safe -> unsafe by a third", "(A.)[AB.][BC.]C.", "irq-unsafe", "irq-unsafe"},
        {"unsafe -> safe", "(A.)B[A.]", "", ""},
        {"safe -> safe", "(A.)(B.)[AB.]", "", ""},
        {"read in irq, read with irqs on", "(a.)a.", NULL, ""},
        {"read in irq, write with irqs on", "(a.)A.", NULL, "irq-unsafe"},
        {"write in irq, read with irqs on", "(A.)a.", NULL, "irq-unsafe"},
        {"read in irq, write with irqs off", "(a.)a.[A.]", NULL, ""},
        {"held exclusively -> unsafe", "(a.)B.[AB.]", NULL, "irq-unsafe"},
        {"held shared -> unsafe", "(a.)B.[aB.]", NULL, ""},
        {"read in irq inside its own read", "a(a.).", NULL, ""},
        {"read in irq inside its own write", "[A(a.).]", NULL, "recursion"},
        {"the order across an interrupt", "[A(B.).](B.)[BA.]", "", ""},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (rows[i].spin)
            try(rows[i].what, SPIN, rows[i].text, rows[i].spin);
        try(rows[i].what, RWLOCK, rows[i].text, rows[i].rwlock);
        try(rows[i].what, QRWLOCK, rows[i].text, rows[i].rwlock);
    }
    try("read in irq inside its own read", RWSEM, "a(a.).", "irq-use, recursion, irq-use");
}

int main(int argc, char **argv)
{
    prints = argc > 1 && strcmp(argv[1], "table") == 0;
    try_orders();
    try_mixed();
    try_annotations();
    try_misuse();
    try_sleep();
    try_interrupts();
    DONE();
}
