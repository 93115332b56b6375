//===- matrix_nest.h - A nest of products on a block's matrix units ---------===//
//
// A tile.compute with a matrix tile: the block goes over its results in passes of rows x columns,
// and over the sum in steps. Its threads stage both factors for a step in a ring in shared memory,
// several steps ahead: what lies there in the right type, 16 bytes at a time, is copied without the
// thread waiting; all else (padding, other types, arithmetic on the way) is computed and stored.
// The warps multiply what has come and keep their results in registers, which the epilogue
// finishes.
//
// A factor lies in the ring as lines: a point's terms (where those are side by side in memory), or
// a term's points. Lines are 16 bytes longer than their elements, so that the eight that a warp
// reads together are in different banks. Where four warps multiply together, lines have at most 128
// bytes, and what is longer goes on in another block of lines; their chunks of 16 bytes have turned
// places instead, as the units of sm_90a want it. Other devices run the same tiles by mma.sync.
//
// Where both factors are boxes of tensors they come to four warps in bulk: the first thread asks
// for them, and all wait for the bytes (matrix_boxes.cpp).
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_TARGETS_NVIDIA_MATRIX_NEST_H
#define KINTSUGI_TARGETS_NVIDIA_MATRIX_NEST_H

#include "targets/nvidia/block_frame.h"
#include "targets/nvidia/cluster.h"
#include "targets/nvidia/matrix_units.h"
#include "targets/nvidia/point_values.h"
#include "targets/nvidia/tensor_box.h"
#include "targets/nvidia/warp_groups.h"

namespace kintsugi::targets {

/// Those that an expression has, each once.
llvm::SmallVector<tile::ReadOp> readsOf(mlir::Value value);

class MatrixNest {
public:
  static constexpr unsigned numLevels = 5;

  /// Blocks of a cluster that share a tile of `matrix`, on a device of sm_90a or of another.
  static int64_t blocksOf(tile::MatrixAttr matrix, bool isHopper) {
    return isHopper ? matrix.getBlocks() : 1;
  }

  /// Emits where level 0 of `levels` ends. The ring's offset counts from the frame's scratch.
  MatrixNest(KernelScope &scope, tile::ComputeOp nest, const BlockFrame &frame, Levels &levels);
  void emit();

private:
  friend class StreamedSoftmax;

  enum Group : unsigned { Batch, Rows, Columns, Depth };
  struct Operand {
    Group group;
    mlir::Value factor;     ///< In the body, of the units' type or one that is rounded to it.
    tile::ReadOp direct;    ///< Where it is that read, in whole chunks; null: it is computed.
    bool alongDepth = true; ///< Its lines are points.
    bool inChunks = false;  ///< No chunk reaches over the end of an iterator.
    int64_t size = 0;       ///< Points in a pass.
    int64_t offset = 0;     ///< Of a stage, in bytes.
    int64_t pitch = 0;      ///< Bytes from a line to the next.
    /// Bytes from the stage to what this thread tells the units; in turned lines for each sixteen
    /// terms (along the depth) or each block of points.
    llvm::SmallVector<mlir::Value> lanes;
    mlir::Value described; ///< To four warps: the first stage's, from their first point and term.
    int64_t lines, chunks; ///< Chunks of 16 bytes in a line.
    std::optional<TensorBox> box; ///< Of so many lines as fit into `pitch`; none: no box.
    mlir::Value map;              ///< That of the box.

    int64_t apart() const { return lines * pitch; }
    int64_t bytes() const { return apart() * pieces(); }
    /// Blocks of lines.
    int64_t pieces() const { return std::max<int64_t>(1, chunks * 16 / pitch); }
    WarpGroups::Layout layout() const { return {pitch, alongDepth, apart()}; }
  };
  using Sums = llvm::SmallVector<MatrixUnits::Results>;

  /// 16 bytes that this thread stages.
  struct Move {
    mlir::Value line, element; ///< In the stage, as i32: which line, and where in it.
    int64_t further;           ///< Lines.
    mlir::Value step, place;   ///< Of the sum; in shared memory.
    unsigned id, level;
  };

  /// What is staged of an operand: so many of its lines and chunks, from some on.
  struct Window {
    unsigned number; ///< Of those that start from different points or terms.
    int64_t firstLine, lines, firstElement, chunks;
  };
  static Window wholeOf(const Operand &operand) { return {0, 0, operand.lines, 0, operand.chunks}; }
  static constexpr int64_t turnedBytes = 1024; ///< In which lines that turn are all different.

  void group();
  int64_t stagesWithin(int64_t scratchBytes) const;
  void chooseMoves(Operand &operand);
  bool isDirect(const Operand &operand) const;
  void chooseBoxes();
  std::optional<TensorBox> boxOf(const Operand &operand);
  bool addLines(const Operand &operand, llvm::SmallVectorImpl<BoxAxis> &axes);
  bool endsAtZero(const Operand &operand, const Walk &walk, int64_t elements);
  bool hasBoxes() const { return rows.box.has_value(); }
  void findLanes();
  void findSteps();
  void emitPasses();
  bool isFirstNest() const;
  void releaseRing();
  void emitPass();
  void fillRing();
  void commit();
  void stageIf(mlir::Value condition, mlir::Value number, mlir::Value place, unsigned level);
  Sums emitSteps();
  void multiplyStep(mlir::Value offset, Sums &sums);
  /// Of an operand in a stage, 16 of this warp's points by 16 terms.
  MatrixUnits::Fragment load(const Operand &operand, mlir::Value stage, int64_t block,
                             int64_t sixteen);
  void startStep(mlir::Value offset, Sums &sums);
  void describe(Operand &operand, mlir::Value first, mlir::Value firstTerm);
  void findLanesAt(mlir::Value firstRow, mlir::Value firstColumn, mlir::Value firstTerm);
  void findLanesOf(Operand &operand, mlir::Value first, mlir::Value firstTerm, mlir::Value lane);
  mlir::Value placeIn(const Operand &operand, mlir::Value line, mlir::Value element);
  int64_t furtherIn(const Operand &operand, int64_t block, int64_t sixteen) const;
  /// Points from a block of a warp's to the next.
  int64_t blockOf(const Operand &operand) const {
    return matrix.getInFours() && operand.group == Rows ? 64 : 16;
  }

  void stage(mlir::Value step, mlir::Value place, unsigned level);
  void restartArrivals();
  void stageBoxes(mlir::Value step, mlir::Value place, unsigned level);
  mlir::Value coordinateOf(const LinearForm &place, const PointValues::Point &at, unsigned level);
  void copyPiece(const Operand &operand, int64_t piece, mlir::Value step, mlir::Value place,
                 unsigned level);
  mlir::Value arrivalOf(mlir::Value place);
  /// Places in the ring are numbers of stages where boxes come, else bytes.
  int64_t placesApart() const { return hasBoxes() ? 1 : stageBytes; }
  mlir::Value offsetOf(mlir::Value place) {
    return hasBoxes() ? make.mul(place, i32(stageBytes)) : place;
  }
  void stageWindow(Operand &operand, const Window &window, mlir::Value step, mlir::Value offset,
                   unsigned level);
  const Operand &operandOf(Group group) const { return group == Rows ? rows : columns; }
  mlir::Value termNumber(mlir::Value step, mlir::Value within, int64_t further);
  mlir::Value pointNumber(Group group, mlir::Value within, int64_t further);
  Coordinates termAt(mlir::Value step, mlir::Value within, int64_t further, int64_t multiple,
                     unsigned level, unsigned number);
  Coordinates pointAt(Group group, mlir::Value within, int64_t further, int64_t multiple,
                      unsigned number, unsigned level);
  void locate(const Operand &operand, const Move &move, int64_t element, Coordinates &point,
              Coordinates &term);
  mlir::Value isTerm(const Operand &operand, const Move &move, int64_t element);
  mlir::Value isPoint(Group group, mlir::Value within, int64_t further, unsigned level);
  PointValues::Point pointOf(const Operand &operand, const Coordinates &point,
                             const Coordinates &term) const;
  bool copyChunk(const Operand &operand, const Move &move);
  void computeChunk(const Operand &operand, const Move &move);

  void waitForAll();
  int64_t parts() const { return matrix.getWarpsK() * cluster.blocks; }
  void leaveSums(const Sums &sums);
  Sums joinSums(mlir::Value first, int64_t apart);
  void joinParts();
  void storeResults(const Sums &sums);
  using Pair = std::array<mlir::Value, 2>;
  std::array<llvm::SmallVector<mlir::Value>, 2> finishPair(const Coordinates &row, unsigned block,
                                                           const Pair &pair,
                                                           std::array<Coordinates, 2> &column);
  void storePair(const Coordinates &row, mlir::Value isRow, unsigned block, const Pair &pair);
  bool storeFours(const Coordinates &row, mlir::Value isRow, unsigned block,
                  const std::array<Pair, 2> &pairs);
  mlir::Value word(mlir::Value first, mlir::Value second);
  void storeIf(mlir::Value isRow, mlir::Value isColumn, mlir::Value value, mlir::Value place,
               unsigned alignment);
  PointValues::Point resultAt(const Coordinates &row, const Coordinates &column) const;

  mlir::Value i32(int64_t value) { return make.integer(make.builder.getI32Type(), value); }
  mlir::Value least(mlir::Value a, int64_t most);

  KernelScope &scope;
  tile::ComputeOp nest;
  tile::MatrixAttr matrix;
  Emit make;
  Levels &levels;
  MatrixUnits units;
  WarpGroups warps;
  BulkCopies bulk;
  BulkResources *resources;
  Cluster cluster;
  bool inFours;               ///< By those: not only in shape.
  int64_t stages, stepsAhead; ///< Of the ring: as the tile has it, or as many as fit elsewhere.
  llvm::SmallVector<IteratorGroup> groups;
  std::optional<PointValues> values;
  Operand rows, columns;
  Coordinates batch;
  mlir::Value thread, ring, arrivals;
  mlir::Value rowStart, columnStart; ///< Of the pass; null: 0.
  mlir::Value termStart;             ///< Of a step; null: its number times the depth.
  mlir::Value laneRow, laneColumn;   ///< Of this thread's first result.
  mlir::Value laneFour, isOdd;       ///< The first of four that it stores; of neighbours, which.
  mlir::Value share, warpK;          ///< Of this warp: its results' number, and that among theirs.
  mlir::Value firstStep, numSteps;   ///< Of this block; null: 0, and all.
  int64_t threads, steps, stageBytes;
  int64_t mostSteps;                 ///< Of a block.
  mlir::Value ownSums;               ///< Of this thread, the first part of its first four,
  int64_t sumsApart, depthsApart;    ///< and bytes to the next four, and to its next part.
  int64_t resultRows, resultColumns; ///< Of 16 rows and of 8 columns, that this warp finishes.
  unsigned passLevel = 0, resultLevel = 0;
};

} // namespace kintsugi::targets

#endif // KINTSUGI_TARGETS_NVIDIA_MATRIX_NEST_H
