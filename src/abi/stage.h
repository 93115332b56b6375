/*===- stage.h - How the runtime calls a generated kernel -----------------===*/
/*
 * The whole contract between compiled code and the runtime, in plain C. A code object for a CPU is
 * an ELF shared object that exports one KinStageFunction for each stage under the stage's symbol,
 * has no undefined symbol and names no library; what it can't compute in line it calls through
 * KinImports. It holds no state that it writes: any number of threads may be in the same function.
 */
/*===----------------------------------------------------------------------===*/
#ifndef KINTSUGI_ABI_STAGE_H
#define KINTSUGI_ABI_STAGE_H

#include "abi/imports.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Grows with every change that old artifacts or old runtimes would not survive. */
#define KIN_ABI_VERSION 1

/* What constants, arena buffers and scratch are aligned to. The caller's inputs and outputs are
   aligned to their elements only (at most 16 bytes): code uses unaligned vector moves on operands.
 */
#define KIN_BUFFER_ALIGNMENT 64

/*
 * Computes tiles [tile_begin, tile_end) of the stage's linear tile space; the tiles of one stage do
 * not depend on each other, may run in any order and on any thread, and give the same bits whatever
 * the split.
 *
 * buffers[i] is the base address of the i-th operand in the order of the manifest, row-major and
 * dense unless the stage says otherwise; nothing outside its bytes is touched, not even read. A
 * buffer of no bytes may be null. Different operands that are written overlap with no other
 * operand, except where the manifest makes one an alias of the other.
 *
 * scratch holds the stage's scratch_bytes, aligned to KIN_BUFFER_ALIGNMENT, of undefined content,
 * and belongs to the calling thread until the function returns; null where scratch_bytes is 0.
 *
 * The function neither blocks nor allocates nor throws, and can't fail: whatever can is checked
 * ahead.
 */
typedef void (*KinStageFunction)(void *const *buffers, int64_t tile_begin, int64_t tile_end,
                                 void *scratch, const KinImports *imports);

#ifdef __cplusplus
}
#endif

#endif /* KINTSUGI_ABI_STAGE_H */
