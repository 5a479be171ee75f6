/* SPDX-License-Identifier: MIT */
/* virtual.c - which engine has the floor. */
#include "engine/virtual.h"

const struct vt_engine *vt_engine;
