//===- equal_parts.h - What equal programs have in common -------------------===//
//
// Rules make whole programs that compute the same in other ways. Most of two such programs is the
// same, and where they differ, what is made there is often the same again: then a kernel of one may
// read what a kernel of the other stored. So the programs are one graph in which a value may have
// several definitions. Here its values (the classes of a value, one for each order of dimensions)
// and its definitions have numbers that hold for all programs.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_SPACE_EQUAL_PARTS_H
#define KINTSUGI_SPACE_EQUAL_PARTS_H

#include "te/program.h"

#include <map>
#include <unordered_map>

namespace kintsugi::space {

class EqualParts {
public:
  /// Takes in a program, whose inputs are those of the others and whose values say what they are
  /// equal to; `number` is the number of programs taken in before. Equal nodes are found by what
  /// they compute of which values, in full.
  void add(const te::Program &program);

  size_t numPrograms() const { return valueNumbers.size(); }
  size_t numValues() const { return values; }
  /// Of the programs together.
  unsigned valueOf(size_t program, te::ValueId id) const {
    return valueNumbers[program][id.number];
  }
  unsigned nodeOf(size_t program, uint32_t node) const { return nodeNumbers[program][node]; }
  /// Whether a program has a node of the programs together.
  bool hasNode(size_t program, unsigned node) const;

private:
  void addConstant(const te::Value &value, unsigned &number);
  unsigned numberOfResult(const te::Value &value);

  unsigned values = 0;
  std::vector<std::vector<unsigned>> valueNumbers, nodeNumbers; ///< By program.
  std::vector<unsigned> inputs;
  std::unordered_map<std::string, unsigned> constants;          ///< By what they hold.
  std::map<const te::ConstantSource *, std::string> identities; ///< Asked once for each.
  std::map<te::Original, unsigned> originals;
  std::unordered_map<std::string, std::pair<unsigned, llvm::SmallVector<unsigned, 2>>>
      nodes; ///< By canonical text: the number and its results.
};

} // namespace kintsugi::space

#endif // KINTSUGI_SPACE_EQUAL_PARTS_H
