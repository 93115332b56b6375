/*===- launch.h - How the runtime launches a kernel on a GPU --------------===*/
/*
 * What stage.h is for processors. A code object is PTX text (ended by a zero byte, which is part of
 * the section) with one entry for each stage under the stage's symbol. A launch has one block for
 * each tile of the stage's linear tile space, along x, of the threads that the manifest says, along
 * x, and as many bytes of dynamic shared memory as the manifest says for scratch. Code for sm_80
 * needs no more than KIN_LAUNCH_SHARED_BYTES of shared memory, what its entries declare included,
 * and is given no more: any device has those for a block.
 *
 * The parameters are the device addresses of the operands, in the manifest's order and multiples of
 * KIN_LAUNCH_ALIGNMENT, row-major and dense; nothing outside their bytes is touched (but read with
 * the last of them, up to such a multiple). What is written overlaps with no other operand and is
 * not read before: the same launch may write elsewhere in the next run. Blocks are independent.
 *
 * Where the manifest says that a stage's blocks meet, they wait for each other: they are all under
 * way at once, as many as the device has room for, and any number of them does the work of all
 * tiles. Its parameter behind the operands is the address of 4 bytes that no other launch
 * uses while it runs, which were 0 once and since then are only written by such launches. They may
 * read what they have written.
 *
 * A code object may say that a stage takes tensor maps (abi/tensor_map.h): behind the operands and
 * those 4 bytes' address where there is one come the maps, encoded by the driver for this launch's
 * operands, as values of 128 bytes.
 *
 * Where the manifest says that a launch has parts, its last parameter is the address of two
 * 64-bit numbers for each of them in the manifest's order, or 0 where nobody wants to know when
 * they were under way. Each block that works on a part raises the first number to ~t when it
 * begins, t being the device's clock in nanoseconds (%globaltimer), and the second to t when it
 * ends: so both are 0 before the launch. Nothing else depends on that address.
 *
 * A kernel may ask for clusters along x (.reqnctapercluster): each tile then has the blocks of one.
 *
 * A code object may say that its kernels wait: each ends its own wait for the launches before it
 * (griddepcontrol.wait) ahead of all that touches memory, and so may be started while they run: at
 * their end, or from where all their blocks have said so (griddepcontrol.launch_dependents), which
 * each says behind its own wait.
 *
 * A code object may have a second section, with machine code for its own architecture made of the
 * text: a loader takes that where the device runs it and its driver accepts it, and else the text.
 *
 * A variant's code objects hold the same stages for different architectures; each asks for its own
 * as a feature: "sm_80" runs on any device from compute capability 8.0 on, "sm_90a" on 9.0 alone.
 */
/*===----------------------------------------------------------------------===*/
#ifndef KINTSUGI_ABI_LAUNCH_H
#define KINTSUGI_ABI_LAUNCH_H

#define KIN_LAUNCH_ALIGNMENT 16
#define KIN_LAUNCH_MAX_THREADS 1024
#define KIN_LAUNCH_MAX_BLOCKS 0x7fffffff
#define KIN_LAUNCH_SHARED_BYTES 101376

#endif /* KINTSUGI_ABI_LAUNCH_H */
