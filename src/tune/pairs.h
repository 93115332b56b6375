//===- pairs.h - What pairs of runs say ---------------------------------------===//
//
// Machines are never quiet: a time alone says little, times of neighbouring runs compare.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_TUNE_PAIRS_H
#define KINTSUGI_TUNE_PAIRS_H

#include <vector>

namespace kintsugi::tune {

/// The value that a share of the values, from 0 to 1, does not exceed; 0 for no values.
double quantile(std::vector<double> values, double share);

/// What `times` take of `others`, taken pair by pair: the median of their quotients, or the
/// quotient of their lower quartiles where that is more. Both of a length.
double shareOf(const std::vector<double> &times, const std::vector<double> &others);

/// The same where nothing else runs, as far as the times tell: other programs make a run longer and
/// never shorter, so it is the quick ones that compare.
double quietShareOf(const std::vector<double> &times, const std::vector<double> &others);

} // namespace kintsugi::tune

#endif // KINTSUGI_TUNE_PAIRS_H
