/* SPDX-License-Identifier: MIT */
/* build_info.c - how this library was built. */
#include "include/locklab.h"

#if defined(__clang__)
#define COMPILER "clang " __clang_version__
#elif defined(__GNUC__)
#define COMPILER "gcc " __VERSION__
#else
#define COMPILER "unknown"
#endif

#ifdef LL_CFLAGS
#define FLAGS LL_CFLAGS
#else
#define FLAGS "unknown"
#endif

#ifdef HAVE_PFM
#define PFM "yes"
#else
#define PFM "no"
#endif

#ifdef HAVE_CK
#define CK "yes"
#else
#define CK "no"
#endif

/* gcc says it by a macro, clang by a feature */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZER "address"
#elif __has_feature(thread_sanitizer)
#define SANITIZER "thread"
#endif
#endif
#ifndef SANITIZER
#if defined(__SANITIZE_ADDRESS__)
#define SANITIZER "address"
#elif defined(__SANITIZE_THREAD__)
#define SANITIZER "thread"
#else
#define SANITIZER "no"
#endif
#endif

const char *ll_build_info(void)
{
    return "compiler=" COMPILER ",flags=" FLAGS ",pfm=" PFM ",ck=" CK ",sanitizer=" SANITIZER;
}
