//===- tile_ops.td - The tile dialect: one kernel language for every target -===//
//
// A kernel is a tile space over flat buffers, and for each tile a sequence of loop nests. It follows
// the graph-level IR of IntelliGen (papers/): data moves between numbered memory levels, arithmetic
// is upstream `arith` and `math` on scalars, and only the register tile of a nest speaks of vectors.
// Memory spaces are levels: 0 is memory, 1 the scratch of one worker.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_TILE_OPS
#define KINTSUGI_TILE_OPS

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/RegionKindInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def TileDialect : Dialect {
  let name = "tile";
  let cppNamespace = "::kintsugi::tile";
  let summary = "Kernels as tile spaces and loop nests over flat buffers";
  let useDefaultAttributePrinterParser = 1;
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
                           "::mlir::memref::MemRefDialect"];
}

class TileOp<string mnemonic, list<Trait> traits = []> : Op<TileDialect, mnemonic, traits>;

def CombinerAttr : I32EnumAttr<"CombinerKind", "how a reduction joins values", [
    I32EnumAttrCase<"Sum", 0, "sum">, I32EnumAttrCase<"Prod", 1, "prod">,
    I32EnumAttrCase<"Max", 2, "max">, I32EnumAttrCase<"Min", 3, "min">,
    I32EnumAttrCase<"UMax", 4, "umax">, I32EnumAttrCase<"UMin", 5, "umin">,
    I32EnumAttrCase<"And", 6, "and">, I32EnumAttrCase<"Or", 7, "or">,
    I32EnumAttrCase<"ArgMax", 8, "argmax">, I32EnumAttrCase<"ArgMin", 9, "argmin">,
    I32EnumAttrCase<"UArgMax", 10, "uargmax">, I32EnumAttrCase<"UArgMin", 11, "uargmin">,
    I32EnumAttrCase<"SoftmaxStats", 12, "softmax_stats">]> {
  let cppNamespace = "::kintsugi::tile";
}

def RegistersAttr : AttrDef<TileDialect, "Registers"> {
  let mnemonic = "registers";
  let summary = "how a nest's innermost loops use registers";
  let description = [{
    Iterators are numbered, parallel ones first, then the reduction's; -1 is none. `lanes`
    consecutive points of iterator `vector` share a vector, `vectors` of them stand side by side,
    `rows` points of the parallel iterator `row` are unrolled besides, and the `unroll` innermost
    reduction loops are unrolled wholly. In a kernel with threads, lanes are threads, each `apart`
    from the next, and only a reduction has several, each with `vectors` terms in turn; then
    `columns` points of the parallel iterator `column` are unrolled as well.
  }];
  let parameters = (ins "int64_t":$vector, "int64_t":$lanes, "int64_t":$vectors, "int64_t":$row,
                        "int64_t":$rows, "int64_t":$unroll,
                        DefaultValuedParameter<"int64_t", "1">:$apart,
                        DefaultValuedParameter<"int64_t", "-1">:$column,
                        DefaultValuedParameter<"int64_t", "1">:$columns);
  let assemblyFormat = "`<` struct(params) `>`";
}

def MatrixAttr : AttrDef<TileDialect, "Matrix"> {
  let mnemonic = "matrix";
  let summary = "how a block's warps sum products on matrix units";
  let description = [{
    The body multiplies two factors, which are rounded to `element`. Parallel iterators that change
    factor `columns_factor` alone number the columns, those that change the other alone the rows. A
    block has `rows` x `columns` results at once, in the registers of `down` x `across` warps, with
    `warps_k` warps for the terms of each, which are joined in their order at the end; it
    brings `depth` terms of both factors at a time through a ring of `stages` in scratch, from byte
    `ring` on. Warps `in_fours` multiply together where the units can: four of those down, in a row,
    have 64 rows by turns of 16. What the machine can bring as boxes then comes `in_bulk`. Where
    there are clusters, as many `blocks` of one share each sum's steps, in their order; elsewhere
    one block does all. The sum's iterators are one, the last the fastest; terms past their end are
    zero.
  }];
  let parameters = (ins "::mlir::Type":$element, "int64_t":$columns_factor, "int64_t":$rows,
                        "int64_t":$columns, "int64_t":$depth, "int64_t":$down, "int64_t":$across,
                        "int64_t":$warps_k, DefaultValuedParameter<"bool", "false">:$in_fours,
                        DefaultValuedParameter<"bool", "false">:$in_bulk,
                        DefaultValuedParameter<"int64_t", "1">:$blocks,
                        "int64_t":$stages, "int64_t":$ring);
  let assemblyFormat = "`<` struct(params) `>`";
}

def KernelOp : TileOp<"kernel", [IsolatedFromAbove, NoTerminator, SingleBlock, Symbol]> {
  let summary = "a kernel: what one tile computes";
  let description = [{
    The block's arguments are the kernel's operands (flat, static memrefs in space 0), then for each
    dimension of the tile space the number of this tile in it. A dimension cuts `extents[d]` into
    tiles of `sizes[d]`. With `threads`, so many of them work on a tile together: on the points of
    each nest, and on a nest when all are done with the one before; each has about so many
    `registers`, or who chose the threads was wrong. Behind the scratch bytes lie
    `stand_in_bytes` that only what works in place of threads needs: see `streamed`.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, DenseI64ArrayAttr:$extents,
                       DenseI64ArrayAttr:$sizes, I64Attr:$scratch_bytes,
                       DefaultValuedAttr<I64Attr, "0">:$threads,
                       DefaultValuedAttr<I64Attr, "0">:$stand_in_bytes,
                       DefaultValuedAttr<I64Attr, "0">:$registers);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $sym_name `over` $extents `by` $sizes `scratch` custom<Integer>($scratch_bytes) $body attr-dict
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    unsigned numBuffers() { return getBody().getNumArguments() - getExtents().size(); }
    int64_t tilesAlong(unsigned dimension) {
      return (getExtents()[dimension] + getSizes()[dimension] - 1) / getSizes()[dimension];
    }
    int64_t numTiles();
  }];
}

def OriginOp : TileOp<"origin", [Pure]> {
  let summary = "where a tile starts in one dimension of the tile space";
  let description = "min(tile * size, extent - size): the last tile overlaps the one before.";
  let arguments = (ins Index:$tile, I64Attr:$dimension);
  let results = (outs Index:$origin);
  let assemblyFormat = "$tile `in` custom<Integer>($dimension) attr-dict";
  let hasVerifier = 1;
}

def ScratchOp : TileOp<"scratch", [Pure]> {
  let summary = "a buffer at an offset in the worker's scratch memory";
  let arguments = (ins I64Attr:$offset);
  let results = (outs AnyMemRef:$buffer);
  let assemblyFormat = "`at` custom<Integer>($offset) attr-dict `:` type($buffer)";
  let hasVerifier = 1;
}

def ComputeOp : TileOp<"compute", [AttrSizedOperandSegments, ParentOneOf<["KernelOp"]>]> {
  let summary = "a loop nest: destinations[map] = epilogue(reduce body)";
  let description = [{
    Over all points of the parallel iterators, outermost first. Without a reduction the body's
    values are stored. With one, they are joined by `combiner` in the accumulators' types over all
    points of the reduction's iterators, in their order (lanes and vectors apart are joined last),
    and the epilogue says what is stored. The map gives the position in all destinations from the
    parallel iterators and `indices`. Tiles that differ in the last `shared` dimensions of the tile
    space alone share what a nest leaves in scratch: it runs for the first of them that a worker
    meets. With `passes`, the outermost reduction loop stands outside of the parallel ones; running
    values wait in the destination, which has their type and whose blocks don't overlap. With
    `past_caches`, whole vectors are stored around the caches where their places are aligned.
    Of an arg form's payload, `payload_order` says whether it grows (1) or falls (-1) from each point
    of the reduction to the next; lanes may share the reduction where it does either.
    With `matrix`, real threads sum products on matrix units; what stands for threads ignores it.
    With `streamed`, those make one loop of a nest of scores and the next three, a softmax's maximum
    and sum, its powers, and their products with values: none of the four leaves anything in scratch
    but the maximum and the sum. With `skips_blocks`, the scores' epilogue selects minus infinity where
    a condition does not hold that is the same for 64 of a tile's rows and the columns that a matrix tile
    has for each of `across`; the loop may leave such blocks out.
    A worker's reduction with one running value may store parts of what it joins, one of each point:
    the body's last values go to the buffers `kept`, whose maps give the position from all iterators
    and `indices`. The nest does not read them. Where it is `running`, it keeps the running value
    instead, each point's own element included, and the body has no value for that.
  }];
  let arguments = (ins DenseI64ArrayAttr:$parallel, DenseI64ArrayAttr:$reduction,
                       OptionalAttr<CombinerAttr>:$combiner, RegistersAttr:$registers,
                       AffineMapAttr:$map, Variadic<AnyMemRef>:$destinations,
                       Variadic<Index>:$indices, OptionalAttr<DenseI64ArrayAttr>:$bounded,
                       Variadic<AnySignlessInteger>:$bounds, DefaultValuedAttr<I64Attr, "0">:$shared,
                       DefaultValuedAttr<BoolAttr, "false">:$passes,
                       DefaultValuedAttr<BoolAttr, "false">:$past_caches,
                       DefaultValuedAttr<I64Attr, "0">:$payload_order,
                       DefaultValuedAttr<BoolAttr, "false">:$running,
                       OptionalAttr<MatrixAttr>:$matrix,
                       DefaultValuedAttr<BoolAttr, "false">:$streamed,
                       DefaultValuedAttr<BoolAttr, "false">:$skips_blocks,
                       Variadic<AnyMemRef>:$kept, OptionalAttr<AffineMapArrayAttr>:$kept_maps);
  let regions = (region SizedRegion<1>:$body, MaxSizedRegion<1>:$epilogue);
  let assemblyFormat = [{
    `over` $parallel `reduce` $reduction (`by` $combiner^)? `with` $registers
    `into` $destinations `[` $map `]` `(` $indices `)` `:` type($destinations)
    (`bounded` $bounded^ `by` $bounds `:` type($bounds))?
    (`keeping` $kept^ `[` $kept_maps `]` `:` type($kept))?
    $body `epilogue` $epilogue attr-dict
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    /// How many nests make one loop, of which the first is `streamed`.
    static constexpr unsigned numStreamed = 4;
    unsigned numParallel() { return getParallel().size(); }
    unsigned numIterators() { return getParallel().size() + getReduction().size(); }
    int64_t extentOf(unsigned iterator) {
      return iterator < numParallel() ? getParallel()[iterator]
                                      : getReduction()[iterator - numParallel()];
    }
    /// The position in `bounded` of an iterator; -1: it runs over its whole extent.
    int boundedPosition(unsigned iterator);
    bool isReduction() { return getCombiner().has_value(); }
    /// What the body gives that is stored or joined, without what is kept.
    ::mlir::OperandRange bodyValues() {
      return getBody().front().getTerminator()->getOperands().drop_back(numKeptValues());
    }
    size_t numKeptValues() { return getRunning() ? 0 : getKept().size(); }
    ::mlir::OperandRange keptValues() {
      return getBody().front().getTerminator()->getOperands().take_back(numKeptValues());
    }
    /// The types of the running values: of the epilogue's last arguments.
    ::mlir::TypeRange accumulatorTypes();
  }];
}

def ReadOp : TileOp<"read", [Pure, AttrSizedOperandSegments]> {
  let summary = "an element of a buffer";
  let description = [{
    The map (one result, one dimension for each operand) gives the position. Where the mask is
    false, nothing is accessed and the value is zero. At the kernel's level it gives a nest's bounds.
    With `ahead` = [elements, nearest, rows, shared], it asks memory for what lies so many elements
    further: for the nearest cache, or else for the next one. Where `rows`, of elements from row to
    row, is not 0, a read that no lane moves asks at each element for the line of another row. Where
    `shared` is not -1, the blocks of the parallel iterators from that number on which the read does
    not use ask for a share each, ahead of their reductions.
  }];
  let arguments = (ins AnyMemRef:$buffer, AffineMapAttr:$map, Variadic<Index>:$indices,
                       Optional<I1>:$mask, OptionalAttr<DenseI64ArrayAttr>:$ahead);
  let results = (outs AnyType:$element);
  let assemblyFormat = [{
    $buffer `[` $map `]` `(` $indices `)` (`if` $mask^)? attr-dict `:` type($buffer) `->`
    type($element)
  }];
  let hasVerifier = 1;
}

def IndexOp : TileOp<"index", [Pure]> {
  let summary = "the value of an index expression as an integer";
  let arguments = (ins AffineMapAttr:$map, Variadic<Index>:$indices);
  let results = (outs AnySignlessInteger:$value);
  let assemblyFormat = "`[` $map `]` `(` $indices `)` attr-dict `:` type($value)";
  let hasVerifier = 1;
}

def YieldOp : TileOp<"yield", [Pure, Terminator, ParentOneOf<["ComputeOp"]>]> {
  let summary = "ends a region of a nest with its values";
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
}

#endif // KINTSUGI_TILE_OPS
