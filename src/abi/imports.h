/*===- imports.h - The table of functions that generated code may call ----===*/
/*
 * A code object has no undefined symbol. What it does not compute in line it calls through this
 * table, which the runtime hands to every stage. The slot of a function is KIN_SLOT_<name>; its
 * pointer lies KIN_IMPORT_OFFSET(slot) bytes into the table. exp, erf and tanh are our own
 * (math.h), so that their bits follow no C library; the others are the C library's.
 */
/*===----------------------------------------------------------------------===*/
#ifndef KINTSUGI_ABI_IMPORTS_H
#define KINTSUGI_ABI_IMPORTS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef double (*KinFunctionF64)(double);
typedef double (*KinFunctionF64F64)(double, double);
typedef float (*KinFunctionF32)(float);
typedef float (*KinFunctionF32F32)(float, float);

enum KinImportSlot {
#define KIN_IMPORT(name, kind) KIN_SLOT_##name,
#include "abi/imports.def"
#undef KIN_IMPORT
  KIN_SLOT_COUNT
};

typedef struct KinImports {
  uint64_t count; /* of the slots below; a stage may use fewer, never more */
#define KIN_IMPORT(name, kind) KinFunction##kind name##_;
#include "abi/imports.def"
#undef KIN_IMPORT
} KinImports;

#define KIN_IMPORT_OFFSET(slot) (sizeof(uint64_t) + (slot) * sizeof(void *))

/* The table of this process. */
extern const KinImports kinImports;

#ifdef __cplusplus
}
#endif

#endif /* KINTSUGI_ABI_IMPORTS_H */
