/* SPDX-License-Identifier: MIT */
/* pad.c - pushes the code that is linked behind it by PAD bytes. */
__asm__(".text\n.skip " PAD "\n");
