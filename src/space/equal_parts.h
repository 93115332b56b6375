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
#include <set>
#include <unordered_map>

namespace kintsugi::space {

class EqualParts {
public:
  /// Takes in a program, whose inputs are those of the others and whose values say what they are
  /// equal to; its number is how many were taken in before. Equal nodes are found by what they
  /// compute of which values, in full. Of two equal constants that come from different sources,
  /// large ones stay different, since reading them would take longer than it could save, and so do
  /// those of one program, whose definitions are told apart by them.
  void add(const te::Program &program);

  size_t numPrograms() const { return valueNumbers.size(); }
  size_t numValues() const { return labels.size(); }
  /// Of the programs together.
  unsigned valueOf(size_t program, te::ValueId id) const {
    return valueNumbers[program][id.number];
  }
  unsigned nodeOf(size_t program, uint32_t node) const { return nodeNumbers[program][node]; }
  /// Whether a program has a node of the programs together.
  bool hasNode(size_t program, unsigned node) const { return nodeSets[program].count(node) > 0; }
  /// What some program says that a value of the programs together is equal to.
  const std::optional<te::Original> &originalOf(unsigned value) const { return labels[value]; }

private:
  unsigned addValue();
  /// `taken`: by other constants of the same program.
  unsigned numberOfConstant(const te::Value &value, const std::set<unsigned> &taken);
  unsigned numberOfResult(const te::Value &value);

  std::vector<std::vector<unsigned>> valueNumbers, nodeNumbers; ///< By program.
  std::vector<std::set<unsigned>> nodeSets;                     ///< By program.
  std::vector<std::optional<te::Original>> labels;              ///< By value.
  std::vector<unsigned> inputs;
  /// Large ones by source, small ones by what they hold.
  std::map<std::pair<const te::ConstantSource *, std::string>, std::vector<unsigned>> constants;
  std::map<te::Original, unsigned> originals;
  std::unordered_map<std::string, std::pair<unsigned, llvm::SmallVector<unsigned, 2>>>
      nodes; ///< By canonical text: the number and its results.
};

} // namespace kintsugi::space

#endif // KINTSUGI_SPACE_EQUAL_PARTS_H
