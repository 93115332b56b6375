//===- streamed_softmax.h - Attention as one loop on matrix units -----------===//
//
// Four nests (loops/streamed_softmax.h) as one loop over blocks of the scores' columns. Each
// warp has 16 rows. A block's columns and values come through a ring as operands of products do
// (matrix_nest.h); its scores are made in registers, where they lie as the units leave them: a
// thread has two neighbours of two rows in each eight columns, which is also how the units want the
// rows of the next product. So powers are rounded and multiplied where they are. A row's maximum
// and sum are joined among the four threads that share it. Where there are few rows, several groups
// of warps share the columns: those of each block, or, where blocks are left out, each has its own
// open ones in turn. Groups that multiply together stage what they have themselves, and wait for
// none of the others. What all have summed is joined at the end.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_TARGETS_NVIDIA_STREAMED_SOFTMAX_H
#define KINTSUGI_TARGETS_NVIDIA_STREAMED_SOFTMAX_H

#include "targets/nvidia/matrix_nest.h"

namespace kintsugi::targets {

/// Whether a value is such a constant.
bool isMinusInfinity(mlir::Value value);
bool isPositiveNumber(mlir::Value value);

class StreamedSoftmax {
public:
  /// `nests`: scores, stats, powers, weighted sum. Emits at the end of `block`.
  StreamedSoftmax(KernelScope &scope, llvm::ArrayRef<tile::ComputeOp> nests,
                  const BlockFrame &frame, mlir::Block *block);
  void emit();

  /// Whether the first blocks may be asked for ahead of the rows, and of nests that write such
  /// buffers: rows that are copied share the wait for them. Then begin() does that, and finish()
  /// all that is left.
  bool fillsFirst(llvm::ArrayRef<mlir::Value> written);
  void begin();
  void finish();

private:
  static constexpr unsigned rowsAThread = 2;
  static constexpr int64_t eight = 8;                    ///< Columns of the units' results.
  static constexpr unsigned statsRow = 0, statsTerm = 1; ///< Groups of the stats' values.
  using PerRow = std::array<mlir::Value, rowsAThread>;
  using Scores = llvm::SmallVector<MatrixUnits::Results>; ///< By eight columns.

  /// One of this thread's columns in a block.
  struct Place {
    Coordinates column, term; ///< In the scores and in the stats.
    mlir::Value isColumn;     ///< Null: it is one.
  };
  using Places = llvm::SmallVector<Place, 0>;

  /// What the loop carries.
  struct Running {
    MatrixNest::Sums sums;
    PerRow maximum, total; ///< The total: of this thread's columns.
  };

  /// Blocks of columns in the order in which the loop takes them: all, or those that are open.
  struct Order {
    mlir::Value count; ///< An i32.
    mlir::Value turns; ///< Of the loop.
    mlir::Value list;  ///< In shared memory, i32 each: blocks, with what is open; null: all.
    mlir::Value first; ///< Of all, in a row; null: 0.
  };
  void findOrder();
  void findTurns();
  mlir::Value entryOf(mlir::Value block, unsigned round);
  mlir::Value entryAt(mlir::Value number);
  mlir::Value blockOf(mlir::Value entry);
  mlir::Value firstColumnOf(mlir::Value block);
  mlir::Value isOpenHere(mlir::Value entry);
  mlir::Value isOpen();
  mlir::Value ballot(mlir::Value bit);
  std::pair<mlir::Value, llvm::SmallVector<mlir::Value>>
  countVotes(mlir::Value votes, llvm::ArrayRef<mlir::Value> ends);
  mlir::Value loadWord(mlir::Value from, mlir::Value number);
  void storeWord(mlir::Value condition, mlir::Value value, mlir::Value to, mlir::Value number);

  /// Terms that are the scores' sums times a positive number, or minus infinity where some
  /// condition does not hold. What is kept of such terms is them over the scale.
  struct Form {
    double scale = 1;
    llvm::SmallVector<mlir::Value, 2> conditions;
    llvm::SmallVector<mlir::Value, 2> words; ///< Of which each is the column's bit, or null.
  };
  void findForm();

  /// Columns that conditions on places and numbers of a run leave open, i32 each; null: from the
  /// first one on, or up to the last.
  struct Range {
    mlir::Value begin, end;                       ///< For some row of the tile.
    mlir::Value everyBegin, everyEnd;             ///< For every one.
    llvm::SmallVector<mlir::Value, 2> conditions; ///< They say no more than that.
  };
  enum class Rows : uint8_t { First, Last };
  void findRange();
  void narrow(mlir::Value condition);
  mlir::Value clamped(mlir::Value number, int64_t low, int64_t high);
  void join(mlir::Value &bound, mlir::Value with, bool isEnd);
  mlir::Value boundAt(mlir::arith::CmpIOp comparison, bool isEnd, Rows row, int64_t unknown);
  bool areTermsHidden();
  llvm::SmallVector<mlir::Value> hidingConditions();
  std::optional<int64_t> slopeAlong(mlir::Value number, MatrixNest::Group group) const;
  std::optional<int64_t> slopeAlong(mlir::arith::CmpIOp comparison, MatrixNest::Group group) const;
  void limitOrder();
  /// Whether there may be no block, and so no turn that waits for what was staged.
  bool mayBeNone() const { return order.list || !range.conditions.empty(); }
  mlir::Value among(mlir::Value block);
  bool isInRange(mlir::Value condition) const;
  mlir::Value isInside();
  bool hasWords() const;
  mlir::Value wordOf(mlir::Value condition);
  bool isBitOf(tile::IndexOp number, tile::ReadOp word);

  void findBytes(const BlockFrame &frame);
  void findGroups();
  void stageRows();
  void startGroups();
  void waitForRows();
  void waitForStaged();
  void findPlaces();
  void findBlocks();
  void fillRing();
  void stageIfThere(mlir::Value turn, mlir::Value offset);
  void stageBlock(mlir::Value block, int64_t part, mlir::Value offset, unsigned level);
  MatrixNest::Window windowOf(const MatrixNest::Operand &operand, bool linesAreColumns,
                              int64_t part) const;
  void stageSteps(MatrixNest &nest, MatrixNest::Operand &operand, const MatrixNest::Window &window,
                  mlir::Value offset, int64_t stepBytes, unsigned level);
  void emitBlocks();
  llvm::SmallVector<mlir::Value> startValues();
  void addTurn(mlir::Value turn, mlir::Value number, mlir::Value readAt, mlir::Value writeAt);
  void addBlock(mlir::Value readAt, const Places &places);
  void addIfOpen(mlir::Value readAt, mlir::Value number);
  llvm::SmallVector<mlir::Value> allOf(const Running &running) const;
  void take(mlir::ValueRange values);
  Scores scoresOf(mlir::Value offset);
  Places placesOf(mlir::Value block);
  PointValues::Point scoreAt(unsigned row, const Place &place) const;
  PointValues::Point termAt(unsigned row, const Place &place) const;
  llvm::SmallVector<mlir::Value> wordsOf(mlir::Value number, unsigned level);
  void finishScores(const Places &places, Scores &scores);
  void hideByWords(Scores &scores);
  void hideByRange(const Places &places, Scores &scores);
  void hideUnless(mlir::Value areShown, Scores &scores,
                  llvm::function_ref<mlir::Value(mlir::Value, unsigned, unsigned)> hide);
  mlir::Value hidden(mlir::Value score, unsigned row, int64_t column);
  void rescale(const Scores &scores, Running &running, PerRow &base);
  void toPowers(Scores &scores, const PerRow &base, Running &running);
  MatrixUnits::Fragment fragmentOf(const Scores &powers, int64_t sixteen);
  void addWeighted(mlir::Value offset, const Scores &powers, Running &running);
  mlir::Value packed(mlir::Value first, mlir::Value second);
  void findLanes();
  void joinGroups();
  void leave();
  void takeFromOthers();
  void leaveRowless();
  mlir::Value joinPlace(mlir::Value from, int64_t slot);
  void storeStats();

  mlir::Value amongFour(mlir::Value value,
                        llvm::function_ref<mlir::Value(mlir::Value, mlir::Value)> join);
  mlir::Value greater(mlir::Value a, mlir::Value b);
  mlir::Value power(mlir::Value x, mlir::Value base);
  mlir::Value baseOf(mlir::Value maximum);
  mlir::Value i32(int64_t value) { return make.integer(make.builder.getI32Type(), value); }
  mlir::Value f32(double value) { return make.number(make.builder.getF32Type(), value); }

  KernelScope &scope;
  tile::ComputeOp statsNest;
  Emit make;
  Levels levels;
  MatrixNest scores, weighted;
  llvm::SmallVector<IteratorGroup> statsGroups;
  std::optional<PointValues> stats;
  std::array<Coordinates, rowsAThread> scoreRows, statsRows;
  Running running;
  Order order;
  std::optional<Form> form;
  Range range;
  double slope;                        ///< Powers of two in one of what is kept of terms.
  llvm::SmallVector<mlir::Value> bits; ///< See wordsOf.
  mlir::Value group, exchange; ///< Of this warp; where this thread's values lie among a group's.
  mlir::Value firstRow;        ///< Of this warp.
  mlir::Value rowGroup;        ///< Of this warp: by its rows.
  unsigned resultLevel = 0;
  unsigned inner = 1;      ///< Where a block's values are found.
  mlir::Value firstColumn; ///< From which lanes count in the block whose places were found.
  int64_t rowStep = 0, columnStep = 0, stageBytes = 0, rowBytes = 0, listAt = 0;
  int64_t across, own;   ///< Groups of warps, and columns that each has in a turn of the loop.
  int64_t blocksInTurn;  ///< One for all groups, or one for each.
  int64_t blockColumns;  ///< Of one of them.
  bool isApart = false;  ///< Whether groups go on by themselves.
  bool isFilled = false; ///< The ring, ahead of the rows.
  int64_t blocks, ahead; ///< Blocks of columns in all; turns that are on their way.
  int64_t rowGroups, rowsOfGroup; ///< What is open is the same for so many rows.
};

} // namespace kintsugi::targets

#endif // KINTSUGI_TARGETS_NVIDIA_STREAMED_SOFTMAX_H
