//===- ways.h - What else has to run where a value is made in some way ------===//
//
// An item may be covered in several ways: by the first form's node, or by another form's, which
// often needs further nodes (the transforms of a fast convolution, a scan of several layers). Each
// is an item of its own, a part: kernels that have it cover it, and so do kernels that make the
// value in another way, for which it has not to run. Every part is then covered exactly once
// whatever is chosen, so that the relaxation is as tight as that of one form alone. What several
// values need (a product of several merged) is a part of the first one's way: that and the others
// then go together. What forms need for different values has no such item.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_ORCHESTRATE_WAYS_H
#define KINTSUGI_ORCHESTRATE_WAYS_H

#include "orchestrate/form.h"

#include <map>
#include <set>

namespace kintsugi::orchestrate {

/// Nodes are those of the programs together.
class Ways {
public:
  void add(const Form &form, const space::EqualParts &parts);

  /// What is needed for the same items in all forms.
  bool isPart(unsigned node) const;
  /// Parts that need not run where a node makes an item's value.
  std::vector<unsigned> sparedBy(unsigned node, uint32_t item) const;
  /// Parts of all ways of an item.
  std::vector<unsigned> partsOf(uint32_t item) const;
  std::vector<unsigned> allParts() const;

private:
  void addPart(unsigned part, const std::set<uint32_t> &items, const std::set<unsigned> &ways);

  static constexpr uint32_t unknown = ~0u; ///< Items: not the same in all forms.

  std::map<unsigned, std::set<unsigned>> needs;    ///< By way: parts.
  std::map<unsigned, std::set<uint32_t>> neededBy; ///< By part: items.
  std::map<uint32_t, std::set<unsigned>> byItem;   ///< Parts, by the first item that needs them.
};

} // namespace kintsugi::orchestrate

#endif // KINTSUGI_ORCHESTRATE_WAYS_H
