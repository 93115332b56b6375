#include "tools/kintsugi/arguments.h"

#include "kintsugi/compiler.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <limits>

namespace kintsugi::tool {

namespace {

constexpr const char *footer =
    "Exit codes: 0 success, 1 a comparison failed, 2 usage, 3 the model or the input,\n"
    "4 a fault of kintsugi's own, 5 the machine (disk, memory, device).";

/// "NAME=VALUE" at the given '='.
std::pair<std::string, std::string> split(const std::string &text, size_t at, const char *flag,
                                          const char *form) {
  if (at == std::string::npos || at == 0 || at + 1 == text.size())
    throw CLI::ValidationError(std::string(flag) + " " + text, std::string("must be ") + form);
  return {text.substr(0, at), text.substr(at + 1)};
}

/// A number of at least 0, without anything before it and with the unit 2^shift behind it. `flag`:
/// with its value, for what is wrong; `form`: what it should have been.
template <typename Integer>
Integer wholeNumber(std::string_view text, const std::string &flag, const char *form,
                    std::string_view unit = "", int shift = 0) {
  Integer number = 0;
  const char *end = text.data() + text.size() - unit.size();
  auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error == std::errc::invalid_argument || rest != end || text.starts_with('-'))
    throw CLI::ValidationError(flag, form);
  Integer most = std::numeric_limits<Integer>::max() >> shift;
  if (error != std::errc() || number > most)
    throw CLI::ValidationError(flag, "the number is too large; use at most " +
                                         std::to_string(most) + std::string(unit));
  return number << shift;
}

/// "4GiB", "512MiB", "65536KiB", "1000000": bytes, fewer than 2^64.
uint64_t byteCount(const std::string &text, const std::string &flag) {
  static constexpr std::pair<std::string_view, int> units[] = {
      {"KiB", 10}, {"MiB", 20}, {"GiB", 30}, {"TiB", 40}, {"", 0}};
  auto [unit, shift] =
      *std::ranges::find_if(units, [&](const auto &entry) { return text.ends_with(entry.first); });
  return wholeNumber<uint64_t>(text, flag, "must be a number of bytes, or one like 512MiB or 4GiB",
                               unit, shift);
}

/// Adds the verbs and their flags to an app; they write to `arguments`.
class Grammar {
public:
  Grammar(CLI::App &app, Arguments &arguments) : app(app), arguments(arguments) {
    addCompile();
    addRun();
    addBench();
    addProfile();
    addCompare();
    addInspect();
    addExplain();
    addRules();
    addOperators();
    addDoctor();
    addCache();
  }

private:
  CLI::App &addVerb(const char *name, const char *description) {
    CLI::App *verb = app.add_subcommand(name, description);
    verb->callback([this, name] { arguments.verb = name; });
    verb->add_flag("--quiet", arguments.quiet, "Print nothing but errors and what was asked for");
    return *verb;
  }

  CLI::App &addModelVerb(const char *name, const char *description, const char *model) {
    CLI::App &verb = addVerb(name, description);
    verb.add_option("MODEL", arguments.model, model)->required();
    return verb;
  }

  void addJson(CLI::App &verb) {
    verb.add_flag("--json", arguments.json, "Print the report as a JSON object");
  }

  /// Flags that decide what a model is taken to be.
  void addModelFlags(CLI::App &verb) {
    verb.add_flag_callback(
        "--random-weights", [this] { arguments.options["random_weights"] = true; },
        "Weights whose file is missing are made from their names");
    verb.add_option_function<std::vector<std::string>>(
            "--dim", [this](const std::vector<std::string> &all) { setDims(all); },
            "Binds an open dimension: NAME=N")
        ->allow_extra_args(false)
        ->type_name("NAME=N");
    verb.add_option_function<std::vector<std::string>>(
            "--bind", [this](const std::vector<std::string> &all) { setBindings(all); },
            "Specializes on the value of an input: INPUT=FILE.npz")
        ->allow_extra_args(false)
        ->type_name("INPUT=FILE.npz");
    addLimits(verb);
  }

  /// Limits of the process that looks at a model.
  void addLimits(CLI::App &verb) {
    verb.add_option_function<double>(
            "--timeout", [this](double seconds) { arguments.options["timeout"] = seconds; },
            "Compiling may take so many seconds; no limit by default")
        ->type_name("SECONDS");
    verb.add_option_function<std::string>(
            "--max-memory", [this](const std::string &text) { setMaxMemory(text); },
            "Compiling may take so many bytes, or KiB, MiB, GiB; by default all the machine has")
        ->type_name("BYTES");
  }

  /// Flags that decide how it is compiled.
  void addCompileFlags(CLI::App &verb) {
    addModelFlags(verb);
    addText(verb, "--target", "target", "cpu, cuda (cuda:N: on device N) or reference");
    addText(verb, "--precision", "precision",
            "How f32 may be rounded: f32 (not at all), f16 or bf16");
    addText(verb, "--plan", "plan", "search, greedy, separate or exhaustive");
    verb.add_option_function<std::string>(
        "--disable", [this](const std::string &names) { disable(names); },
        "Rules not to use, and what else not to do; names that `kintsugi rules` lists, with "
        "commas between; derivation stands for all rules");
    verb.add_flag_callback(
        "--no-fission", [this] { disable("fission"); },
        "Kernels have all of an operator or none, to see what fission brings; --disable fission");
    verb.add_option_function<std::string>(
            "--without",
            [](const std::string &) {
              throw CLI::ValidationError(
                  "--without is --disable now, whose names `kintsugi rules` lists");
            })
        ->group(""); // Not in the help.
    verb.add_flag_callback(
        "--cubins", [this] { arguments.options["cubins"] = true; },
        "Machine code for GPUs as well, made by NVIDIA's ptxas where it is installed");
    addText(verb, "--cpu-level", "cpu_level",
            "Instructions: v3 (AVX2), v4 (AVX-512) or native, this machine's");
    verb.add_option_function<unsigned>(
        "--threads", [this](unsigned count) { arguments.options["threads"] = count; },
        "How many threads may work; 0 for one on each core");
    addText(verb, verb.get_name() == "compile" ? "--inputs,--calibrate" : "--calibrate",
            "calibrate",
            "With --precision f16, and with --max-error: an .npz file of inputs on which the model "
            "is run while it is compiled");
    verb.add_option_function<double>(
            "--max-error", [this](double share) { arguments.options["max_error"] = share; },
            "With --precision f16 or bf16: keep in f32 what would move an output of floats by more "
            "than this share of its largest number, as a whole or in a slice")
        ->type_name("SHARE");
    verb.add_option_function<double>(
        "--tune", [this](double seconds) { arguments.options["tune"] = seconds; },
        "Measure schedules of kernels for about so many seconds; what is found is kept");
  }

  void addRunFlags(CLI::App &verb) {
    addCompileFlags(verb);
    verb.add_flag_callback(
        "--no-cache", [this] { arguments.options["cache"] = false; },
        "Neither look into the cache of artifacts nor add to it");
  }

  void addText(CLI::App &verb, const char *flag, const char *key, const char *description) {
    verb.add_option_function<std::string>(
        flag, [this, key](const std::string &value) { arguments.options[key] = value; },
        description);
  }

  /// Besides what is disabled already.
  void disable(const std::string &names) {
    Json &all = arguments.options["disable"];
    all = all.is_null() ? names : all.get<std::string>() + "," + names;
  }

  void addInputs(CLI::App &verb) {
    verb.add_option("--inputs", arguments.inputs,
                    "An .npz file with an array for each input; made-up values otherwise");
  }

  /// CLI11 takes what is negative or too large modulo 2^64.
  void setMaxBytes(const std::string &text) {
    arguments.maxBytes =
        wholeNumber<uint64_t>(text, "--max-bytes " + text, "must be an integer of at least 0");
  }

  void setMaxMemory(const std::string &text) {
    arguments.options["max_memory"] = byteCount(text, "--max-memory " + text);
  }

  void setDims(const std::vector<std::string> &all) {
    for (const std::string &text : all) {
      auto [name, number] = split(text, text.rfind('='), "--dim", "NAME=N");
      auto size = [&](const std::string &digits) {
        return wholeNumber<int64_t>(digits, "--dim " + text, "N must be an integer of at least 0");
      };
      size_t dots = number.find("..");
      if (dots == std::string::npos)
        setOnce("dims", name, size(number), "--dim " + text);
      else
        setOnce("dims", name, Json{size(number.substr(0, dots)), size(number.substr(dots + 2))},
                "--dim " + text);
    }
  }

  void setBindings(const std::vector<std::string> &all) {
    for (const std::string &text : all) {
      auto [input, file] = split(text, text.find('='), "--bind", "INPUT=FILE.npz");
      setOnce("bind", input, file, "--bind " + text);
    }
  }

  /// Of two values for one name neither can be meant more than the other.
  void setOnce(const char *option, const std::string &name, const Json &value,
               const std::string &flag) {
    Json &values = arguments.options[option];
    if (values.contains(name))
      throw CLI::ValidationError(flag, "'" + name + "' is given twice");
    values[name] = value;
  }

  void addCompile() {
    CLI::App &verb =
        addModelVerb("compile", "Compile a model into an artifact", "An ONNX file or a .te file");
    verb.add_option("-o,--output", arguments.output, "The artifact, or with --emit the text file");
    verb.add_option(
        "--emit", arguments.emit,
        "Stop at a step and write its text: expressions, derived, space, problem, plan, tile, "
        "llvm or asm");
    addCompileFlags(verb);
    addJson(verb);
  }

  void addRun() {
    CLI::App &verb =
        addModelVerb("run", "Run a model once", "An ONNX file, a .te file or an artifact");
    addInputs(verb);
    verb.add_option("--outputs", arguments.output, "The .npz file for the outputs");
    addRunFlags(verb);
    addJson(verb);
  }

  void addBench() {
    CLI::App &verb =
        addModelVerb("bench", "Time a model's runs", "An ONNX file, a .te file or an artifact");
    addTiming(verb);
  }

  void addProfile() {
    CLI::App &verb = addModelVerb("profile", "Say where the time of a model's runs goes",
                                  "An ONNX file, a .te file or an artifact");
    addTiming(verb);
    verb.add_option("--trace", arguments.trace,
                    "Write a run to this file, stage by stage; ui.perfetto.dev opens it")
        ->type_name("FILE");
  }

  void addTiming(CLI::App &verb) {
    addInputs(verb);
    verb.add_option("--seconds", arguments.seconds, "How long to run; 3 by default");
    verb.add_option("--json", arguments.output, "Write the report to this file; - for the output")
        ->type_name("FILE");
    addRunFlags(verb);
  }

  void addCompare() {
    CLI::App &verb = addModelVerb("compare", "Compare a model's outputs with right ones",
                                  "An ONNX file, a .te file or an artifact");
    addInputs(verb);
    verb.add_option("--expected", arguments.expected,
                    "An .npz file with the right outputs; those of the target reference otherwise");
    verb.add_flag("--per-kernel", arguments.perKernel,
                  "Compare each kernel on its own inputs with the reference")
        ->excludes("--expected");
    addRunFlags(verb);
    addJson(verb);
  }

  void addInspect() {
    CLI::App &verb = addModelVerb("inspect", "Show a model's inputs, outputs, operators and size",
                                  "An ONNX file or a .te file");
    addModelFlags(verb);
    addJson(verb);
  }

  void addExplain() {
    CLI::App &verb =
        addModelVerb("explain", "Show the kernels that a model became, their times, and why",
                     "An ONNX file, a .te file or an artifact");
    verb.add_flag("--decisions", arguments.decisions,
                  "Show each decision of the compiler, not only what it decided mostly");
    verb.add_option("--html", arguments.html,
                    "Write a page to this file that shows the model, its kernels, their times and "
                    "what else was possible; - for the output")
        ->type_name("FILE");
    verb.add_option_function<unsigned>(
            "--alternatives", [this](unsigned count) { arguments.options["alternatives"] = count; },
            "Of so many kernels that were not chosen, say what choosing them would cost; with "
            "--html 32 by default, else none")
        ->type_name("N");
    addRunFlags(verb);
    addJson(verb);
  }

  void addDoctor() {
    CLI::App &verb = addVerb("doctor", "Describe this machine, as the cost model sees it");
    CLI::Option *measure = verb.add_flag_callback(
        "--measure", [this] { arguments.machineAction = "measure"; },
        "Measure for some seconds what it sustains; compiles use that from then on");
    verb.add_flag_callback(
            "--forget", [this] { arguments.machineAction = "forget"; },
            "Go back to what its processor suggests")
        ->excludes(measure);
    addJson(verb);
  }

  void addRules() {
    CLI::App &verb = addVerb("rules", "List what --disable names: rules and other choices");
    addJson(verb);
  }

  void addOperators() {
    CLI::App &verb = addVerb("operators", "List the ONNX operators that models may have");
    addJson(verb);
  }

  void addCache() {
    CLI::App &verb = addVerb("cache", "List, shrink or empty the cache of artifacts");
    verb.add_option("ACTION", arguments.model, "ls, gc or clear")->required();
    verb.add_option_function<std::string>(
            "--max-bytes", [this](const std::string &text) { setMaxBytes(text); },
            "What gc leaves at most; 10 GiB by default")
        ->type_name("UINT");
    addJson(verb);
  }

  CLI::App &app;
  Arguments &arguments;
};

std::string versionText() { return std::string("kintsugi ") + kin_compiler_version(); }

} // namespace

Parsed parseArguments(int argc, char **argv) {
  Parsed parsed;
  CLI::App app("A deep-learning compiler: ONNX models become artifacts that run on processors "
               "and NVIDIA GPUs.",
               "kintsugi");
  app.footer(footer);
  app.require_subcommand(1);
  app.set_version_flag("--version", versionText);
  Grammar grammar(app, parsed.arguments);
  try {
    app.parse(argc, argv);
    constexpr unsigned shownByPages = 32;
    if (!parsed.arguments.html.empty() && !parsed.arguments.options.contains("alternatives"))
      parsed.arguments.options["alternatives"] = shownByPages;
  } catch (const CLI::Success &success) {
    std::ostringstream out;
    parsed.exitCode = app.exit(success, out, out);
    parsed.message = out.str();
  } catch (const CLI::ParseError &error) {
    parsed.exitCode = KIN_USAGE;
    std::string what = error.what();
    if (argc > 1 && argv[1][0] != '-' && app.get_subcommands().empty())
      what = std::string("there is no verb '") + argv[1] + "'";
    what.erase(what.find_last_not_of('\n') + 1);
    std::replace(what.begin(), what.end(), '\n', ' ');
    parsed.message = what + "; see kintsugi --help";
  }
  return parsed;
}

} // namespace kintsugi::tool
