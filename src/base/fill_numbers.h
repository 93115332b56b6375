//===- fill_numbers.h - Numbers in a message --------------------------------===//
#ifndef KINTSUGI_BASE_FILL_NUMBERS_H
#define KINTSUGI_BASE_FILL_NUMBERS_H

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace kintsugi {

/// A text with a number for each "{}" in it, in order, as long as there are some.
std::string fillNumbers(std::string_view text, std::span<const int64_t> numbers);

} // namespace kintsugi

#endif // KINTSUGI_BASE_FILL_NUMBERS_H
