/*===- tensor_map.h - What of an operand a device brings as boxes ---------===*/
/*
 * Some devices bring a box of an operand to shared memory by themselves (on NVIDIA's from sm_90 on
 * cp.async.bulk.tensor). They want a description of the operand's dimensions made ahead, which
 * follows from this and from the operand's address: a kernel of code that says so takes one for
 * each of its tensor maps, of 128 bytes and as values, behind its operands (abi/launch.h).
 *
 * Elements have 2 bytes. Coordinate 0 of all dimensions is `start` bytes behind the operand's
 * address; dimension d goes on by strides[d] bytes, and has extents[d] coordinates. Others read as
 * zero. A box has those that are multiples of steps[d] of box[d] coordinates in a row, and lies in
 * lines of line_bytes (32, 64 or 128) whose chunks of 16 bytes have turned places.
 */
/*===----------------------------------------------------------------------===*/
#ifndef KINTSUGI_ABI_TENSOR_MAP_H
#define KINTSUGI_ABI_TENSOR_MAP_H

#include <stdint.h>

#define KIN_TENSOR_RANK 5
#define KIN_TENSOR_MAX_BOX 256
#define KIN_TENSOR_MAX_STEP 8
#define KIN_TENSOR_ELEMENT_BYTES 2
#define KIN_TENSOR_ALIGNMENT 16
/* Of a launch: parameters have 4096 bytes in all. */
#define KIN_TENSOR_MAX_MAPS 16

typedef struct KinTensorMap {
  uint32_t operand; /* Of the launch. */
  uint16_t rank;    /* 1 to KIN_TENSOR_RANK; what follows is 0 beyond. */
  uint16_t line_bytes;
  uint64_t start;
  uint64_t extents[KIN_TENSOR_RANK];
  uint64_t strides[KIN_TENSOR_RANK]; /* The first is that of an element. */
  uint32_t box[KIN_TENSOR_RANK];
  uint32_t steps[KIN_TENSOR_RANK];
} KinTensorMap;

#endif /* KINTSUGI_ABI_TENSOR_MAP_H */
