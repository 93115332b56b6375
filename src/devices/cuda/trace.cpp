//===- trace.cpp - What a run asks a queue for, with less in it -----------===//

#include "devices/cuda/trace.h"

#include "abi/launch.h"

#include <algorithm>
#include <map>

using namespace kintsugi::devices::cuda;

void Trace::addLaunch(uint32_t stage, std::vector<Range> operands, size_t written) {
  steps.push_back({TraceStep::Kind::Launch, stage, std::move(operands), written, {}});
}

void Trace::addCopy(Range from, Range to) {
  steps.push_back({TraceStep::Kind::Copy, 0, {from, to}, 1, {}});
}

void Trace::addSet(Range to, const std::byte *value) {
  steps.push_back({TraceStep::Kind::Set, 0, {to}, 1, {value, value + to.bytes}});
}

void Trace::place(Address memory) {
  for (TraceStep &step : steps)
    for (Range &range : step.operands)
      if (range.begin >= added)
        range.begin = range.begin - added + memory;
}

namespace {

uint64_t aligned(uint64_t bytes) {
  return (bytes + KIN_LAUNCH_ALIGNMENT - 1) / KIN_LAUNCH_ALIGNMENT * KIN_LAUNCH_ALIGNMENT;
}

/// Looking ahead ends here: what is not over by then counts as never over.
constexpr size_t farthest = 4096;

struct Reader {
  size_t step, operand;
};

/// What happens to the bytes that a step leaves in a range, until they are written over.
struct Future {
  std::vector<Reader> readers; ///< Of the whole range.
  /// These are all, and then the bytes are written over as a whole or of no use any more.
  bool isKnown = false;

  size_t lastReader() const { return readers.empty() ? 0 : readers.back().step; }
};

class Shortener {
public:
  explicit Shortener(Trace &trace) : trace(trace), steps(trace.steps) {}

  void run() {
    for (size_t number = 0; number < steps.size(); ++number)
      if (steps[number].kind == TraceStep::Kind::Set)
        readFromTable(number);
    for (size_t number = 0; number < steps.size(); ++number) {
      const TraceStep &step = steps[number];
      if (step.kind == TraceStep::Kind::Copy)
        readSource(number);
      else if (step.kind == TraceStep::Kind::Launch)
        for (size_t operand = step.firstWritten(); operand < step.operands.size(); ++operand)
          writeElsewhere(number, operand);
    }
    std::erase_if(steps, [](const TraceStep &s) { return s.kind == TraceStep::Kind::Nothing; });
  }

private:
  Future futureOf(size_t from, const Range &range) const {
    Future future;
    size_t limit = std::min(steps.size(), from + farthest);
    for (size_t number = from + 1; number < limit; ++number) {
      const TraceStep &step = steps[number];
      for (size_t i = 0; i < step.firstWritten(); ++i) {
        if (step.operands[i] == range)
          future.readers.push_back({number, i});
        else if (step.operands[i].overlaps(range))
          return future;
      }
      if (const Range *written = writtenBy(step, range)) {
        future.isKnown = written->covers(range);
        return future;
      }
    }
    future.isKnown = limit == steps.size() && isForgotten(range);
    return future;
  }

  /// Whether nothing reads a range after the last step.
  bool isForgotten(const Range &range) const {
    return std::ranges::none_of(trace.lasting,
                                [&](const Range &kept) { return kept.overlaps(range); });
  }

  static const Range *writtenBy(const TraceStep &step, const Range &range) {
    for (size_t i = step.firstWritten(); i < step.operands.size(); ++i)
      if (step.operands[i].overlaps(range))
        return &step.operands[i];
    return nullptr;
  }

  /// Whether some step of [first, last] writes into the range.
  bool isWritten(const Range &range, size_t first, size_t last) const {
    return std::any_of(steps.begin() + first, steps.begin() + last + 1,
                       [&](const TraceStep &step) { return writtenBy(step, range); });
  }

  bool isTouched(const Range &range, size_t first, size_t last) const {
    return std::any_of(steps.begin() + first, steps.begin() + last + 1, [&](const TraceStep &s) {
      return std::ranges::any_of(s.operands, [&](const Range &r) { return r.overlaps(range); });
    });
  }

  void redirect(const std::vector<Reader> &readers, Address to) {
    for (Reader reader : readers)
      steps[reader.step].operands[reader.operand].begin = to;
  }

  void drop(size_t number) { steps[number] = TraceStep{}; }

  /// A number that a step sets is read from a table that has it from the start.
  void readFromTable(size_t number) {
    Future future = futureOf(number, steps[number].operands[0]);
    if (!future.readers.empty())
      redirect(future.readers, inTable(steps[number].value));
    if (future.isKnown)
      drop(number);
  }

  Address inTable(const std::vector<std::byte> &value) {
    auto [entry, isNew] = tableEntries.try_emplace(value, trace.table.size());
    if (isNew) {
      trace.table.insert(trace.table.end(), value.begin(), value.end());
      trace.table.resize(aligned(trace.table.size()));
    }
    return Trace::added + entry->second;
  }

  /// What a copy made is read where it came from, as long as that stays what it was.
  void readSource(size_t number) {
    const Range from = steps[number].operands[0], to = steps[number].operands[1];
    Future future = futureOf(number, to);
    bool isSpare = from.begin >= Trace::added + trace.table.size();
    if (!future.isKnown || isSpare || !isPlace(from) ||
        (!future.readers.empty() && isWritten(from, number + 1, future.lastReader())))
      return;
    redirect(future.readers, from.begin);
    drop(number);
  }

  static bool isPlace(const Range &range) { return range.begin % KIN_LAUNCH_ALIGNMENT == 0; }

  struct CopyOfResult {
    size_t step;
    Future future;
  };

  /// A kernel's result that is copied on goes where one of the copies would bring it, or into spare
  /// memory, and is read there by all that read it or the copies that need not be made then.
  void writeElsewhere(size_t number, size_t operand) {
    const Range result = steps[number].operands[operand];
    Future future = futureOf(number, result);
    if (!future.isKnown)
      return;
    size_t last = future.lastReader();
    std::vector<CopyOfResult> copies;
    for (Reader reader : future.readers)
      if (steps[reader.step].kind == TraceStep::Kind::Copy) {
        copies.push_back({reader.step, futureOf(reader.step, steps[reader.step].operands[1])});
        if (copies.back().future.isKnown)
          last = std::max(last, copies.back().future.lastReader());
      }
    auto place = std::ranges::find_if(copies, [&](const CopyOfResult &copy) {
      return !copy.future.isKnown && canTakePlace(number, operand, copy.step, last);
    });
    bool isFreed =
        std::ranges::any_of(copies, [](const CopyOfResult &c) { return c.future.isKnown; });
    if (place == copies.end() && !isFreed)
      return;
    Address to = place != copies.end() ? steps[place->step].operands[1].begin
                                       : spare(result.bytes, number, last);
    steps[number].operands[operand].begin = to;
    redirect(future.readers, to);
    for (const CopyOfResult &copy : copies)
      if (copy.future.isKnown)
        redirect(copy.future.readers, to);
    for (auto copy = copies.begin(); copy != copies.end(); ++copy)
      if (copy->future.isKnown || copy == place)
        drop(copy->step);
  }

  /// Whether a result may lie from the start where a copy brings it, and stays there to be read.
  bool canTakePlace(size_t number, size_t operand, size_t copy, size_t last) const {
    const Range to = steps[copy].operands[1];
    const TraceStep &step = steps[number];
    for (size_t i = 0; i < step.operands.size(); ++i)
      if (i != operand && step.operands[i].overlaps(to))
        return false;
    return isPlace(to) && !isTouched(to, number + 1, copy - 1) &&
           (last <= copy || !isWritten(to, copy + 1, last));
  }

  /// Memory that is read last at step `last`.
  Address spare(uint64_t bytes, size_t number, size_t last) {
    for (Spare &each : spares)
      if (each.bytes == bytes && each.last < number) {
        each.last = last;
        return each.address;
      }
    // The table's size is known by now.
    Address address = Trace::added + trace.table.size() + trace.spareBytes;
    trace.spareBytes += aligned(bytes);
    spares.push_back({bytes, address, last});
    return address;
  }

  struct Spare {
    uint64_t bytes;
    Address address;
    size_t last;
  };

  Trace &trace;
  std::vector<TraceStep> &steps;
  std::map<std::vector<std::byte>, uint64_t> tableEntries;
  std::vector<Spare> spares;
};

} // namespace

void Trace::shorten() { Shortener(*this).run(); }
