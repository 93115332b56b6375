//===- pipeline.h - The compiler, phase by phase ----------------------------===//
//
// One page: from a model file to an artifact, or to the text of any box on the way. The pipeline is
// the composition root: only it knows every layer. It times each phase, verifies after each, and
// reports progress; a callback that returns false stops it at the next phase.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_PIPELINE_PIPELINE_H
#define KINTSUGI_PIPELINE_PIPELINE_H

#include "base/diagnostics.h"
#include "base/precision.h"
#include "explain/log.h"
#include "import/import.h"
#include "orchestrate/orchestrate.h"
#include "pipeline/box.h"
#include "pipeline/switches.h"
#include "runtime/artifact_writer.h"
#include "runtime/device.h"
#include "tune/records.h"

namespace kintsugi::pipeline {

class TriedValues;

struct CompileOptions {
  import::ImportOptions import;
  std::string target = "cpu"; ///< "cpu", "cuda" or "reference".
  Precision precision = Precision::F32;
  orchestrate::PlanMode plan = orchestrate::PlanMode::Search;
  /// What is not done, to see what it brings and that answers don't depend on it.
  Disabled disabled;
  /// Of the target reference: what every f32 value of the model as it is written is rounded to, see
  /// simplify::promoteToDouble.
  std::optional<ElementType> rounding;
  std::string calibration; ///< An .npz file of inputs that a trial run takes; empty: made up.
  /// By how much of its largest magnitude fewer bits may move an output; 0: by whatever they do.
  double maxError = 0;
  bool cubins = false; ///< Machine code for GPUs stands beside their PTX.
  machine::Machine machine;
  /// The artifact is for these too, in order: the same machine with fewer instructions.
  std::vector<machine::Machine> lesser;
  unsigned threads = 0;                        ///< Of the compiler itself; 0: all cores.
  uint64_t constantBudget = uint64_t(8) << 30; ///< Bytes in flight while linking.
  /// What was measured on this machine, which schedules come from and --tune adds to; may be null.
  tune::Records *records = nullptr;
  std::string recordsLevel; ///< They hold for this level of the instruction set.
  double tuneSeconds = 0;   ///< The budget of measuring; 0: nothing is measured.
  /// Where that is done; null: where constants are computed.
  std::shared_ptr<runtime::Device> tuneDevice;
  std::vector<OpenDimension> open; ///< `import` has their greatest sizes.
  /// Of those of several sizes, once the model is imported; see open_model.h.
  std::vector<te::OpenInputs> openInputs;
  /// Groups of plans of other sizes, which are all that is looked at; null: whatever can be fused.
  std::shared_ptr<const space::GroupNames> likely;
  std::shared_ptr<space::GroupNames> chosen; ///< Told those of this plan; may be null.
  /// What runs of other sizes have seen, which are not made again; null: they are.
  std::shared_ptr<const TriedValues> seen;
  std::shared_ptr<TriedValues> tried; ///< Told what runs of this plan see; may be null.
  bool coldConstants = false; ///< The program's come from memory in each run; see ofProgram.
  Progress progress;
  explain::Log *log = nullptr; ///< Told what the phases decided, and why.
  unsigned priced = 0; ///< The log is told of so many kernels what choosing them would have cost.

  /// Null where the machine is another than the records are of.
  tune::Records *recordsInUse() const {
    return machine.level == recordsLevel && target != "reference" ? records : nullptr;
  }
};

struct PhaseTime {
  std::string phase;
  double seconds = 0;
};

/// What a compilation has to say for itself; as JSON it is the artifact's provenance.
struct CompileReport {
  std::string model;
  std::string target;
  Precision precision = Precision::F32;
  /// That there is code for, best first; the rest is of the first of them that this machine runs,
  /// or of the first.
  std::vector<std::string> levels;
  unsigned operators = 0;   ///< ONNX nodes that the program stems from.
  unsigned definitions = 0; ///< After simplification, constants included.
  unsigned candidates = 0;
  unsigned kernels = 0;         ///< Stages of the main program: kernels and calls.
  unsigned distinctKernels = 0; ///< Equal kernels are compiled once.
  unsigned launches = 0;        ///< Of kernels and calls in one run, repeats counted.
  unsigned tunedKernels = 0;    ///< Of the distinct ones.
  double objectiveSeconds = 0;
  double gap = 0;
  uint64_t constantBytes = 0;
  uint64_t arenaBytes = 0;
  Json exactness;                 ///< By output: the "depth" and "coarsest" of verify::Exactness.
  std::vector<std::string> notes; ///< What a user should know of the artifact.
  std::vector<PhaseTime> phases;
  Json tuning; ///< What was measured; null without --tune.

  /// Without notes, phases and tuning: the same for the same model, options and records.
  Json toJson() const;
};

/// Reads a model: ONNX, or the text form where the name ends in ".te".
Expected<te::Program> importModel(const std::string &path, const CompileOptions &options,
                                  Diagnostics &diagnostics);

/// The program whose definitions the kernels of such a compilation compute: simplified, derived,
/// with values in their formats.
Expected<te::Program> kernelProgram(const std::string &path, const CompileOptions &options,
                                    runtime::Device &host, Diagnostics &diagnostics);

/// Compiles into an artifact. `host`, a processor, runs the constant program and trials.
Expected<CompileReport> compile(const std::string &path, const CompileOptions &options,
                                runtime::Device &host, runtime::ArtifactWriter &writer,
                                Diagnostics &diagnostics);

/// The same for a program that is there already.
Expected<CompileReport> compile(const te::Program &program, const CompileOptions &options,
                                runtime::Device &host, runtime::ArtifactWriter &writer);

/// The text of a box.
Expected<std::string> emit(const std::string &path, const CompileOptions &options, Box box,
                           runtime::Device &host, Diagnostics &diagnostics);

} // namespace kintsugi::pipeline

#endif // KINTSUGI_PIPELINE_PIPELINE_H
