/* SPDX-License-Identifier: MIT */
/* types.h - compiler vocabulary shared by all of clib. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LL_LINE 64u  /* cache line */
#define LL_PAIR 128u /* what adjacent-line prefetch may join: alignment of locks and nodes */

/* Starts a member on a line (pair of lines) of its own. */
#define LL_OWN_LINE _Alignas(LL_PAIR)

/* A template body: always inlined, so that constant policies fold away. */
#define LL_TEMPLATE static inline __attribute__((always_inline, unused))

/* A slow path: out of line, so that the fast path in front of it needs no frame. */
#define LL_SLOW __attribute__((noinline, cold))
/* One of a template, which not every lock that uses the template needs. */
#define LL_TEMPLATE_SLOW static __attribute__((noinline, cold, unused))

/* Built with AddressSanitizer or ThreadSanitizer, which want to see every call and stack. */
#if defined(__SANITIZE_ADDRESS__)
#define LL_SANITIZED_ADDRESS 1
#elif defined(__SANITIZE_THREAD__)
#define LL_SANITIZED_THREAD 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define LL_SANITIZED_ADDRESS 1
#elif __has_feature(thread_sanitizer)
#define LL_SANITIZED_THREAD 1
#endif
#endif
#if defined(LL_SANITIZED_ADDRESS) || defined(LL_SANITIZED_THREAD)
#define LL_SANITIZED 1
#endif

#define LL_UNUSED(x) ((void)(x))
#define LL_LIKELY(x) __builtin_expect(!!(x), 1)
#define LL_UNLIKELY(x) __builtin_expect(!!(x), 0)

/* Pastes the suffix of the engine build that is being compiled (-DLL_BUILD=native ...). */
#define LL_PASTE2(a, b) a##_##b
#define LL_PASTE(a, b) LL_PASTE2(a, b)
#define LL_BUILD_SYMBOL(symbol) LL_PASTE(symbol, LL_BUILD)
