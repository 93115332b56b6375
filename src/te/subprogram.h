//===- subprogram.h - Part of a program as a program of its own -------------===//
//
// Whoever looks at some nodes by themselves (what a kernel of them takes, what their elements are)
// cuts them out of their program: nodes are copied one by one, under their names, and what they
// read that was not copied becomes an input, or a constant where the cutter says that it is one.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_TE_SUBPROGRAM_H
#define KINTSUGI_TE_SUBPROGRAM_H

#include "te/program.h"

namespace kintsugi::te {

/// The node over other values; `renamed` is asked for each that it reads.
Node renamedNode(const Node &node, llvm::function_ref<ValueId(ValueId)> renamed);

/// Adds `node`, over values of `to`, in place of a node of another program: its results have the
/// names and types of that one's.
llvm::SmallVector<ValueId> addInPlaceOf(const Program &from, uint32_t number, Node node,
                                        Program &to);

/// Copies a node to the end of another program.
llvm::SmallVector<ValueId> copyNode(const Program &from, uint32_t number, Program &to,
                                    llvm::function_ref<ValueId(ValueId)> renamed);

class Subprogram {
public:
  using IsConstant = std::function<bool(ValueId)>;

  /// `isConstant`: which values become constants where they are read and were not copied, with
  /// their bytes where they have some; null: none does.
  explicit Subprogram(const Program &whole, IsConstant isConstant = nullptr)
      : whole(whole), isConstant(std::move(isConstant)) {}

  /// What stands for a value of the whole: a copied node's result, or else an input or a constant
  /// from the first time on that it is asked for.
  ValueId operator[](ValueId id);
  /// Has a new input of another shape stand for a value, say one in another format.
  ValueId addInput(ValueId id, Shape shape);
  /// The expression over what stands for the values that it reads.
  Expr rename(const Expr &expr);

  /// Copies a node. What it reads and nothing stands for yet comes first, in order of occurrence.
  llvm::SmallVector<ValueId> copy(uint32_t node);
  /// Adds a definition over values of the whole in place of a node.
  llvm::SmallVector<ValueId> define(uint32_t node, Definition definition);
  /// Makes values of the part outputs, under their own names.
  void addOutputs(llvm::ArrayRef<ValueId> values);

  Program program; ///< The part.

private:
  void stand(uint32_t node, llvm::ArrayRef<ValueId> results);

  const Program &whole;
  IsConstant isConstant;
  std::map<uint32_t, ValueId> standsFor; ///< By number of the whole's value.
};

/// A node alone, whose results are the program's outputs.
Program nodeAlone(const Program &whole, uint32_t node, Subprogram::IsConstant isConstant = nullptr);

/// Which nodes the outputs need.
std::vector<bool> neededNodes(const Program &program);

} // namespace kintsugi::te

#endif // KINTSUGI_TE_SUBPROGRAM_H
