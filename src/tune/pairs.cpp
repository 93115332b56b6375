#include "tune/pairs.h"

#include <algorithm>
#include <cmath>

namespace kintsugi::tune {

double quantile(std::vector<double> values, double share) {
  if (values.empty())
    return 0;
  auto position = static_cast<size_t>(std::floor(share * double(values.size() - 1)));
  std::nth_element(values.begin(), values.begin() + position, values.end());
  return values[position];
}

double shareOf(const std::vector<double> &times, const std::vector<double> &others) {
  std::vector<double> quotients;
  for (size_t i = 0; i < times.size(); ++i)
    quotients.push_back(times[i] / others[i]);
  return std::max(quantile(quotients, 0.5), quantile(times, 0.25) / quantile(others, 0.25));
}

double quietShareOf(const std::vector<double> &times, const std::vector<double> &others) {
  constexpr double undisturbed = 0.1;
  return quantile(times, undisturbed) / quantile(others, undisturbed);
}

} // namespace kintsugi::tune
