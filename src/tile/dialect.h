//===- dialect.h - The tile dialect in C++ ----------------------------------===//
//
// The classes that tile_ops.td declares. Heavy: only files that build or lower tile programs
// include it; others hold programs through program.h.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_TILE_DIALECT_H
#define KINTSUGI_TILE_DIALECT_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "tile/tile_dialect.h.inc"
#include "tile/tile_enums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "tile/tile_attributes.h.inc"

#define GET_OP_CLASSES
#include "tile/tile_ops.h.inc"

namespace kintsugi::tile {

/// How many results a combiner joins, which is also the number of accumulators but for the arg
/// forms, which carry key and payload and give the payload.
unsigned accumulatorsOf(CombinerKind combiner);
bool isArgForm(CombinerKind combiner);

} // namespace kintsugi::tile

#endif // KINTSUGI_TILE_DIALECT_H
