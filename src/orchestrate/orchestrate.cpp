#include "orchestrate/orchestrate.h"

#include "base/checked.h"
#include "cost/cost.h"
#include "cost/margins.h"
#include "orchestrate/choice.h"
#include "orchestrate/open_loops.h"
#include "te/check.h"
#include "te/constant.h"
#include "te/constant_nodes.h"
#include "te/count.h"
#include "te/operations.h"
#include "te/printer.h"
#include "llvm/ADT/STLExtras.h"

#include <map>
#include <utility>

namespace kintsugi::orchestrate {

using namespace te;

namespace {

uint64_t bytesOf(const Value &value) {
  uint64_t elements = 1;
  for (Extent extent : value.shape)
    elements *= static_cast<uint64_t>(extent.constant());
  return (elements * bitsOf(value.type) + 7) / 8;
}

/// Whether a node's results have no elements: nothing has to run for them.
bool isEmpty(const Program &program, uint32_t node) {
  return llvm::all_of(program.resultsOf(node),
                      [&](ValueId id) { return bytesOf(program.value(id)) == 0; });
}

/// The type under which elements are moved without a look at them.
ElementType movedAs(ElementType type) {
  return isFloat(type) ? unsignedOfBits(bitsOf(type)).value_or(type) : type;
}

class Planner {
public:
  Planner(const OrchestrateOptions &options, OrchestrateTexts *texts)
      : options(options), constantOptions(options), texts(texts) {
    if (options.constantSpace)
      constantOptions.space = *options.constantSpace;
    constantOptions.mergesLaunches = false; // It runs on the host.
    constantOptions.priced = 0;
    constexpr int64_t fewNodes = 10; // It runs once, while linking: a good choice will do.
    constantOptions.solver.nodes = std::min(constantOptions.solver.nodes, fewNodes);
  }

  Expected<Plan> run(const Program &program) {
    plan.model = program.name;
    Numbers numbers(program.numValues(), ~0u);
    for (auto [port, input] : llvm::enumerate(program.inputs))
      numbers[input.number] = addInput(program, port);
    KINTSUGI_RETURN_IF_ERROR(planProgram(program, numbers, plan.root, true));
    for (const Program::Output &output : program.outputs) {
      unsigned buffer = bufferOf(program, output.value, numbers);
      if (std::optional<Check> check = checkOf(output))
        plan.checks.push_back({buffer, check->node, check->message()});
      else if (std::optional<Count> count = countOf(output))
        outputNamed(count->output).counts.push_back({count->dimension, buffer});
      else
        plan.outputs.push_back({output.name, buffer});
    }
    if (!options.open.empty())
      endLoopsAtSize(plan, options.open);
    assignArena(plan);
    return std::move(plan);
  }

private:
  /// The plan's buffer of each value of one program.
  using Numbers = std::vector<unsigned>;

  /// Counts come behind what they count.
  Plan::Output &outputNamed(llvm::StringRef name) {
    return *llvm::find_if(plan.outputs,
                          [&](const Plan::Output &output) { return output.name == name; });
  }

  unsigned addInput(const Program &program, unsigned port) {
    auto size =
        llvm::find_if(options.open, [&](const te::OpenInputs &open) { return open.size == port; });
    bool isSize = size != options.open.end();
    unsigned number = addBuffer(program.value(program.inputs[port]),
                                isSize ? BufferKind::Size : BufferKind::Input);
    for (const te::OpenInputs &open : options.open)
      plan.buffers.back().validity[open.number] = open.inputs[port];
    plan.buffers.back().port = isSize ? size->number : port;
    if (!isSize)
      plan.inputs.push_back(number);
    return number;
  }

  unsigned addBuffer(const Value &value, BufferKind kind) {
    PlanBuffer buffer{value.name, value.type, value.shape, bytesOf(value), kind};
    buffer.source = value.constant;
    plan.buffers.push_back(std::move(buffer));
    return plan.buffers.size() - 1;
  }

  unsigned bufferOf(const Program &program, ValueId id, Numbers &numbers) {
    unsigned &number = numbers[id.number];
    if (number == ~0u) {
      const Value &value = program.value(id);
      number = addBuffer(value, value.kind == ValueKind::Constant ? BufferKind::Source
                                                                  : BufferKind::Temporary);
      if (auto known = validities.find(&program); known != validities.end())
        for (auto [open, values] : llvm::zip_equal(options.open, known->second))
          plan.buffers[number].validity[open.number] = values[id.number];
    }
    return number;
  }

  /// Appends the stages of a program to `sequence`; those of constant nodes to the constant
  /// program.
  Status planProgram(const Program &program, Numbers &numbers, PlanNode &sequence, bool outermost) {
    findValidity(program, numbers, outermost);
    std::vector<bool> constant = te::constantNodes(program);
    llvm::SmallVector<uint32_t> constantDefinitions, definitions;
    for (uint32_t node = 0; node < program.nodes.size(); ++node)
      if (std::holds_alternative<Definition>(program.nodes[node]) && !isEmpty(program, node))
        (constant[node] ? constantDefinitions : definitions).push_back(node);
    KINTSUGI_ASSIGN(Choice fixed, choose(program, constantDefinitions, constantOptions, nullptr));
    OrchestrateOptions mainOptions = options;
    mainOptions.space.constants = constantValues(program, constant, numbers);
    for (auto [open, values] : llvm::zip_equal(options.open, validities[&program]))
      mainOptions.space.open.push_back({&values, open.served()});
    if (!outermost)
      mainOptions.priced = 0;
    KINTSUGI_ASSIGN(Choice chosen,
                    choose(program, definitions, mainOptions, outermost ? texts : nullptr));
    if (outermost) {
      plan.gap = chosen.gap;
      plan.candidates = chosen.space.candidates.size();
    }
    plan.objectiveSeconds += secondsOf(chosen);
    return emitInOrder(program, constant, fixed, chosen, numbers, sequence);
  }

  void findValidity(const Program &program, const Numbers &numbers, bool outermost) {
    std::vector<std::vector<te::Validity>> &found = validities[&program];
    found.clear();
    for (const te::OpenInputs &ofModel : options.open) {
      te::OpenInputs open{ofModel.dimension, {}};
      for (auto [port, input] : llvm::enumerate(program.inputs)) {
        unsigned number = numbers[input.number]; // A body may not need all of them.
        open.inputs.push_back(number == ~0u ? te::Validity::mixed()
                                            : plan.buffers[number].validity[ofModel.number]);
        if (number != ~0u && plan.buffers[number].kind == BufferKind::Size &&
            plan.buffers[number].port == ofModel.number)
          open.size = port;
      }
      found.push_back(te::validityOf(program, open, {}, !outermost));
    }
  }

  /// In a loop of a processor what is for one worker waits for no other.
  bool isInStep() const { return inLoop && !options.space.schedule.inBlocks(); }

  double secondsOf(const Choice &choice) const {
    if (!isInStep())
      return choice.objective;
    double total = 0;
    for (const ChosenLaunch &launch : choice.launches)
      for (const std::vector<unsigned> &phase : launch.phases)
        for (unsigned number : phase)
          total += cost::predictStepSeconds(*choice.space.candidates[number].kernel,
                                            options.space.schedule.machine);
    return total;
  }

  /// What kernels may have packed: a scan's body may read constants of the outer program.
  std::vector<bool> constantValues(const Program &program, const std::vector<bool> &constantNodes,
                                   const Numbers &numbers) const {
    std::vector<bool> constant(program.numValues(), false);
    for (uint32_t number = 0; number < program.numValues(); ++number) {
      const Value &value = program.values[number];
      if (value.kind == ValueKind::Result)
        constant[number] = constantNodes[value.node];
      else
        constant[number] = value.kind == ValueKind::Constant || isConstant(numbers[number]);
    }
    return constant;
  }

  bool isConstant(unsigned buffer) const {
    return buffer != ~0u && (plan.buffers[buffer].kind == BufferKind::Source ||
                             plan.buffers[buffer].kind == BufferKind::Derived);
  }

  /// Runs whatever has its operands, candidates, calls and scans alike, until nothing is left.
  Status emitInOrder(const Program &program, const std::vector<bool> &constant, const Choice &fixed,
                     const Choice &chosen, Numbers &numbers, PlanNode &sequence) {
    std::vector<bool> available(program.numValues(), false);
    for (uint32_t number = 0; number < program.numValues(); ++number)
      available[number] = program.values[number].kind != ValueKind::Result;
    std::vector<int> launchOf(program.nodes.size(), -1);
    std::vector<std::pair<const Choice *, const ChosenLaunch *>> launches;
    std::vector<llvm::SmallVector<uint32_t, 8>> nodesOf; ///< By launch.
    for (const Choice *choice : {&fixed, &chosen})
      for (const ChosenLaunch &launch : choice->launches) {
        llvm::SmallVector<uint32_t, 8> &nodes = nodesOf.emplace_back();
        for (const std::vector<unsigned> &phase : launch.phases)
          for (unsigned number : phase)
            llvm::append_range(nodes, choice->space.candidates[number].group.nodes);
        for (uint32_t node : nodes)
          launchOf[node] = launches.size();
        launches.push_back({choice, &launch});
      }
    std::vector<bool> done(program.nodes.size(), false);
    auto finish = [&](uint32_t node) {
      done[node] = true;
      for (ValueId result : program.resultsOf(node))
        available[result.number] = true;
    };
    for (bool progress = true; progress;) {
      progress = false;
      llvm::SmallVector<uint32_t> scans;
      for (uint32_t node = 0; node < program.nodes.size(); ++node) {
        if (done[node])
          continue;
        llvm::SmallVector<uint32_t, 8> nodes{node};
        if (launchOf[node] >= 0)
          nodes = nodesOf[launchOf[node]];
        if (!isReady(program, nodes, available))
          continue;
        if (std::holds_alternative<Scan>(program.nodes[node])) {
          scans.push_back(node);
          continue;
        }
        PlanNode &target = constant[node] ? plan.constants : sequence;
        if (launchOf[node] >= 0) {
          auto [choice, launch] = launches[launchOf[node]];
          KINTSUGI_RETURN_IF_ERROR(
              emitLaunch(program, *choice, *launch, constant[node], numbers, target));
        } else if (!isEmpty(program, node))
          emitCall(program, node, constant[node], numbers, target);
        llvm::for_each(nodes, finish);
        progress = true;
      }
      if (progress || scans.empty())
        continue; // Scans come last, so that those that could run side by side meet.
      KINTSUGI_RETURN_IF_ERROR(emitScans(program, scans, numbers, sequence));
      llvm::for_each(scans, finish);
      progress = true;
    }
    if (!llvm::all_of(done, [](bool d) { return d; }))
      return internalError("the chosen kernels wait for each other");
    return Status::success();
  }

  static bool isReady(const Program &program, llvm::ArrayRef<uint32_t> nodes,
                      const std::vector<bool> &available) {
    return llvm::all_of(nodes, [&](uint32_t node) {
      return llvm::all_of(program.operandsOf(node), [&](ValueId id) {
        const Value &value = program.value(id);
        return available[id.number] ||
               (value.kind == ValueKind::Result && llvm::is_contained(nodes, value.node));
      });
    });
  }

  /// Scans that don't wait for each other: a worker each, where that is quicker than all workers at
  /// one after the other.
  Status emitScans(const Program &program, llvm::ArrayRef<uint32_t> scans, Numbers &numbers,
                   PlanNode &sequence) {
    KINTSUGI_RETURN_IF_ERROR(emitBranches(program, scans, numbers, sequence));
    PlanNode lanes;
    lanes.kind = PlanNode::Kind::Lanes;
    double before = plan.objectiveSeconds;
    for (uint32_t node : scans)
      if (!isEmpty(program, node) && !isBranch(program, node))
        KINTSUGI_RETURN_IF_ERROR(emitScan(program, node, numbers, lanes.children.emplace_back()));
    const machine::Machine &machine = options.space.schedule.machine;
    llvm::SmallVector<double> alone;
    double inTurn = 0;
    for (const PlanNode &lane : lanes.children) {
      alone.push_back(secondsOf(lane, cost::predictAloneSeconds));
      inTurn += secondsOf(lane, cost::predictStepSeconds);
    }
    double sideBySide = cost::predictLanesSeconds(alone, machine);
    bool pays = mayHaveLanes(options) && alone.size() > 1 &&
                sideBySide < (1 - cost::Margins().lanes) * inTurn;
    if (alone.size() > 1)
      noteLanes(program, scans, pays, inTurn, sideBySide);
    if (pays) {
      plan.objectiveSeconds = before + sideBySide;
      sequence.children.push_back(std::move(lanes));
      return Status::success();
    }
    for (PlanNode &lane : lanes.children)
      llvm::move(lane.children, std::back_inserter(sequence.children));
    return Status::success();
  }

  double secondsOf(const PlanNode &node,
                   double (*predict)(const loops::KernelShape &, const machine::Machine &)) const {
    if (node.kind == PlanNode::Kind::Stage) {
      const Stage &stage = plan.stages[node.stage];
      return stage.kind == Stage::Kind::Call
                 ? stage.predictedSeconds
                 : predict(*plan.kernels[stage.kernel].shape, options.space.schedule.machine);
    }
    double total = 0;
    for (const PlanNode &child : node.children)
      total += secondsOf(child, predict);
    return total * node.predictedTimes();
  }

  void noteLanes(const Program &program, llvm::ArrayRef<uint32_t> scans, bool pays, double inTurn,
                 double sideBySide) const {
    if (!options.log)
      return;
    std::string names;
    for (uint32_t node : scans)
      names += (names.empty() ? "'" : ", '") + program.value(program.resultsOf(node)[0]).name + "'";
    options.log->add({"orchestrate",
                      "scans " + names,
                      pays ? "side by side, a worker each" : "one after the other",
                      {},
                      {{"in turn", inTurn, "s"}, {"side by side", sideBySide, "s"}}});
  }

  void addStage(Stage stage, PlanNode &sequence) {
    for (unsigned operand : stage.operands)
      stage.movedBytes += plan.buffers[operand].bytes;
    note(stage);
    plan.stages.push_back(std::move(stage));
    PlanNode node;
    node.kind = PlanNode::Kind::Stage;
    node.stage = plan.stages.size() - 1;
    sequence.children.push_back(std::move(node));
  }

  void note(const Stage &stage) const {
    if (!options.log)
      return;
    std::string computes;
    for (unsigned result : llvm::ArrayRef(stage.operands).take_back(stage.results))
      computes += (computes.empty() ? "'" : ", '") + plan.buffers[result].name + "'";
    std::string runs = stage.kind == Stage::Kind::Call
                           ? "call " + stage.callee
                           : "kernel " + plan.kernels[stage.kernel].symbol;
    explain::Record record{"orchestrate",
                           "stage " + std::to_string(plan.stages.size()),
                           runs + " computes " + computes,
                           {},
                           {}};
    for (const std::string &origin : stage.origins)
      record.reasons.push_back("serves " + origin);
    record.numbers = {{"predicted", stage.predictedSeconds, "s"},
                      {"moves", static_cast<double>(stage.movedBytes), "bytes"},
                      {"definitions", static_cast<double>(stage.definitions), ""}};
    options.log->add(std::move(record));
  }

  unsigned resultBuffer(const Program &program, ValueId id, bool isConstant, Numbers &numbers) {
    unsigned number = bufferOf(program, id, numbers);
    if (isConstant)
      plan.buffers[number].kind = BufferKind::Derived;
    return number;
  }

  static std::string describe(const Program &program, llvm::ArrayRef<uint32_t> nodes) {
    std::string text;
    for (uint32_t node : nodes)
      text += printNode(program, node) + "\n";
    return text;
  }

  unsigned kernelOf(const Program &program, const space::Candidate &candidate, bool isConstant) {
    // Equal groups are one kernel, unless they run on different machines.
    bool isForHost = isConstant && options.constantSpace;
    auto [entry, fresh] =
        kernelNumbers.try_emplace({candidate.kernel->key.text, isForHost}, plan.kernels.size());
    const OrchestrateOptions &itsOptions = isConstant ? constantOptions : options;
    if (fresh)
      plan.kernels.push_back(
          {"k" + std::to_string(plan.kernels.size()), candidate.kernel->key.hash(),
           candidate.kernel,
           cost::predictSeconds(*candidate.kernel, itsOptions.space.schedule.machine)});
    orchestrate::Kernel &kernel = plan.kernels[entry->second];
    if (!isConstant && !kernel.program) {
      kernel.program = &program;
      kernel.group = candidate.group;
    }
    return entry->second;
  }

  /// What several nodes became one definition for counts for each of them alike.
  static void addOrigins(const Program &program, llvm::ArrayRef<uint32_t> nodes, Stage &stage) {
    for (uint32_t node : nodes) {
      const auto &origins = program.origins[node];
      double each = te::operationsOf(std::get<te::Definition>(program.nodes[node])) /
                    std::max<double>(1, origins.size());
      for (const std::string &origin : origins)
        stage.addOperations(origin, static_cast<uint64_t>(each));
    }
  }

  /// Kernels that share a launch are one node of the plan.
  Status emitLaunch(const Program &program, const Choice &choice, const ChosenLaunch &launch,
                    bool isConstant, Numbers &numbers, PlanNode &sequence) {
    PlanNode joined;
    joined.kind = PlanNode::Kind::Joined;
    joined.predictedSeconds = launch.seconds;
    for (const std::vector<unsigned> &phase : launch.phases) {
      PlanNode &node = joined.children.emplace_back();
      for (unsigned number : phase)
        KINTSUGI_RETURN_IF_ERROR(
            emitKernel(program, choice.space.candidates[number], isConstant, numbers, node));
      if (phase.size() == 1)
        node = PlanNode(std::move(node.children.front()));
    }
    if (joined.children.size() == 1 && joined.children.front().kind == PlanNode::Kind::Stage)
      joined = PlanNode(std::move(joined.children.front()));
    else
      noteLaunch(joined);
    sequence.children.push_back(std::move(joined));
    return Status::success();
  }

  void noteLaunch(const PlanNode &joined) const {
    if (!options.log)
      return;
    double apart = 0;
    std::string names;
    for (const PlanNode &phase : joined.children) {
      names += names.empty() ? "" : ", then ";
      llvm::ArrayRef<PlanNode> stages =
          phase.children.empty() ? llvm::ArrayRef(phase) : llvm::ArrayRef(phase.children);
      for (const PlanNode &stage : stages) {
        names += (&stage == stages.data() ? "" : ", ") + std::to_string(stage.stage);
        apart += plan.stages[stage.stage].predictedSeconds;
      }
    }
    bool isOnePhase = joined.children.size() == 1;
    options.log->add(
        {"joins",
         "stages " + names,
         isOnePhase ? "side by side in one launch" : "one launch whose blocks wait for each other",
         {"the solver found it quickest"},
         {{"apart", apart, "s"}, {"together", joined.predictedSeconds, "s"}}});
  }

  Status emitKernel(const Program &program, const space::Candidate &candidate, bool isConstant,
                    Numbers &numbers, PlanNode &sequence) {
    if (options.chosen)
      options.chosen->add(program, candidate.group.nodes);
    Stage stage;
    stage.kernel = kernelOf(program, candidate, isConstant);
    stage.predictedSeconds =
        isInStep() && !isConstant
            ? cost::predictStepSeconds(*candidate.kernel, options.space.schedule.machine)
            : plan.kernels[stage.kernel].predictedSeconds;
    stage.results = 0;
    for (auto [operand, buffer] :
         llvm::zip_first(candidate.operands, candidate.kernel->schedule.buffers)) {
      bool written = llvm::is_contained(candidate.group.outputs, operand);
      stage.results += written;
      unsigned number = written ? resultBuffer(program, operand, isConstant, numbers)
                                : bufferOf(program, operand, numbers);
      if (buffer.packing) {
        KINTSUGI_ASSIGN(number, packedBuffer(number, *buffer.packing));
      }
      stage.operands.push_back(number);
    }
    addOrigins(program, candidate.group.nodes, stage);
    stage.definitions = candidate.group.nodes.size();
    stage.expressions = describe(program, candidate.group.nodes);
    addStage(std::move(stage), sequence);
    return Status::success();
  }

  /// A constant in a kernel's order: one more stage of the constant program, shared by all kernels
  /// that want the same.
  Expected<unsigned> packedBuffer(unsigned source, const loops::Packing &packing) {
    auto [entry, fresh] = packed.try_emplace({source, packing.print()}, ~0u);
    if (!fresh)
      return entry->second;
    Program program;
    const Shape shape = plan.buffers[source].shape;
    ElementType type = movedAs(plan.buffers[source].type);
    ValueId input = program.addInput(plan.buffers[source].name, type, shape);
    ValueId result = program.define(plan.buffers[source].name + ".packed", type,
                                    packing.define(input, shape, type));
    program.addOutput(program.value(result).name, result);
    KINTSUGI_ASSIGN(Choice choice, choose(program, {0}, constantOptions, nullptr));
    Numbers numbers(program.numValues(), ~0u);
    numbers[input.number] = source;
    KINTSUGI_RETURN_IF_ERROR(emitKernel(program,
                                        choice.space.candidates[choice.launches[0].phases[0][0]],
                                        true, numbers, plan.constants));
    return packed[{source, packing.print()}] = numbers[result.number];
  }

  void emitCall(const Program &program, uint32_t node, bool isConstant, Numbers &numbers,
                PlanNode &sequence) {
    const auto &call = std::get<Call>(program.nodes[node]);
    Stage stage;
    stage.kind = Stage::Kind::Call;
    stage.callee = call.callee;
    stage.attributes = call.attributes;
    stage.results = call.results.size();
    stage.origins = program.origins[node];
    stage.operations.resize(stage.origins.size());
    for (ValueId operand : call.operands)
      stage.operands.push_back(bufferOf(program, operand, numbers));
    for (ValueId result : call.results)
      stage.operands.push_back(resultBuffer(program, result, isConstant, numbers));
    double bytes = 0;
    for (unsigned operand : stage.operands)
      bytes += static_cast<double>(plan.buffers[operand].bytes);
    stage.predictedSeconds = cost::predictCallSeconds(bytes, options.space.schedule.machine);
    addStage(std::move(stage), sequence);
  }

  double decisionSeconds() const {
    return cost::predictDecisionSeconds(options.space.schedule.machine);
  }

  /// Plans a scan's body, which a run comes to so many times.
  Status planBody(const Program &body, const std::vector<std::string> &origins, double times,
                  Numbers &inner, PlanNode &sequence) {
    size_t firstStage = plan.stages.size();
    double before = plan.objectiveSeconds;
    KINTSUGI_RETURN_IF_ERROR(planProgram(body, inner, sequence, false));
    plan.objectiveSeconds = before + (plan.objectiveSeconds - before) * times;
    for (size_t stage = firstStage; stage < plan.stages.size(); ++stage)
      if (plan.stages[stage].origins.empty()) {
        plan.stages[stage].origins = origins;
        plan.stages[stage].operations.assign(origins.size(), 0);
      }
    return Status::success();
  }

  static bool isBranch(const Program &program, uint32_t node) {
    const auto *scan = std::get_if<Scan>(&program.nodes[node]);
    return scan && scan->isBranch();
  }

  /// The number of a branch's step.
  Expected<unsigned> numberOfStep(const Value &step) {
    KINTSUGI_ASSIGN(Tensor zero, Tensor::create(ElementType::I64, {}));
    unsigned number = addBuffer(step, BufferKind::Source);
    plan.buffers[number].source = std::make_shared<TensorConstant>(std::move(zero));
    return number;
  }

  static bool isUsed(const Program &program, ValueId id) {
    for (uint32_t node = 0; node < program.nodes.size(); ++node)
      if (llvm::is_contained(program.operandsOf(node), id))
        return true;
    return isOutput(program, id);
  }

  static bool isOutput(const Program &program, ValueId id) {
    return llvm::any_of(program.outputs, [&](const auto &output) { return output.value == id; });
  }

  /// Those of the scans that are branches. Neighbours that one boolean decides are one: a model's
  /// two branches of a condition, too.
  Status emitBranches(const Program &program, llvm::ArrayRef<uint32_t> scans, Numbers &numbers,
                      PlanNode &sequence) {
    std::vector<PlanNode> branches;
    for (uint32_t node : scans) {
      if (isEmpty(program, node) || !isBranch(program, node))
        continue;
      PlanNode branch;
      KINTSUGI_RETURN_IF_ERROR(emitBranch(program, node, numbers, branch));
      auto same = llvm::find_if(
          branches, [&](const PlanNode &other) { return other.condition == branch.condition; });
      if (same == branches.end()) {
        plan.objectiveSeconds += decisionSeconds();
        branches.push_back(std::move(branch));
        continue;
      }
      for (auto [arm, more] : llvm::zip_equal(same->children, branch.children))
        llvm::move(more.children, std::back_inserter(arm.children));
    }
    llvm::move(branches, std::back_inserter(sequence.children));
    return Status::success();
  }

  Status emitBranch(const Program &program, uint32_t node, Numbers &numbers, PlanNode &branch) {
    const auto &scan = std::get<Scan>(program.nodes[node]);
    const Program &body = *scan.body;
    size_t carried = scan.initial.size();
    Numbers inner(body.numValues(), ~0u);
    branch.kind = PlanNode::Kind::Branch;
    branch.condition = bufferOf(program, scan.initial[0], numbers);
    branch.children.resize(2);
    if (isUsed(body, body.inputs[0])) {
      KINTSUGI_ASSIGN(inner[body.inputs[0].number], numberOfStep(body.value(body.inputs[0])));
    }
    for (auto [number, id] :
         llvm::enumerate(llvm::concat<const ValueId>(scan.initial, scan.captured)))
      inner[body.inputs[1 + number].number] = bufferOf(program, id, numbers);
    PlanNode &other = branch.children[*scan.goesOnWhile ? 1 : 0];
    PlanNode &taken = branch.children[*scan.goesOnWhile ? 0 : 1].children.emplace_back();
    KINTSUGI_RETURN_IF_ERROR(
        planBody(body, program.origins[node], branch.predictedTimes(), inner, taken));
    PlanNode copies, initial;
    copies.kind = initial.kind = PlanNode::Kind::Copy;
    for (size_t k = 0; k < scan.results.size(); ++k) {
      if (!isUsed(program, scan.results[k]))
        continue;
      ValueId made = body.outputs[k].value;
      unsigned produced = bufferOf(body, made, inner);
      // A stack of one step is what that makes; a port's buffer has the port's shape.
      if (k >= carried && body.value(made).kind == ValueKind::Result &&
          !isOutput(program, scan.results[k])) {
        numbers[scan.results[k].number] = produced;
        continue;
      }
      unsigned result = bufferOf(program, scan.results[k], numbers);
      copies.copies.push_back({produced, result});
      if (k < carried)
        initial.copies.push_back({bufferOf(program, scan.initial[k], numbers), result});
    }
    for (auto [arm, last] : {std::pair(&taken, &copies), std::pair(&other, &initial)})
      if (!last->copies.empty())
        arm->children.push_back(std::move(*last));
    return Status::success();
  }

  Status emitScan(const Program &program, uint32_t node, Numbers &numbers, PlanNode &sequence) {
    const auto &scan = std::get<Scan>(program.nodes[node]);
    const Program &body = *scan.body;
    size_t carried = scan.initial.size();
    Numbers inner(body.numValues(), ~0u);
    PlanNode repeat, start;
    repeat.kind = PlanNode::Kind::Repeat;
    start.kind = PlanNode::Kind::Copy;
    repeat.count = scan.trip.constant();
    if (scan.goesOnWhile)
      repeat.condition = bufferOf(program, scan.results[0], numbers);
    if (isUsed(body, body.inputs[0]))
      repeat.step = inner[body.inputs[0].number] =
          addBuffer(body.value(body.inputs[0]), BufferKind::Temporary);
    // A carried tensor's buffer is the node's result: after the last step it holds the final value.
    for (size_t k = 0; k < carried; ++k) {
      unsigned state = bufferOf(program, scan.results[k], numbers);
      inner[body.inputs[1 + k].number] = state;
      start.copies.push_back({bufferOf(program, scan.initial[k], numbers), state});
    }
    for (size_t k = 0; k < scan.captured.size(); ++k)
      inner[body.inputs[1 + carried + k].number] = bufferOf(program, scan.captured[k], numbers);
    PlanNode sequenceOfBody;
    bool isInner = std::exchange(inLoop, true);
    KINTSUGI_RETURN_IF_ERROR(
        planBody(body, program.origins[node], repeat.predictedTimes(), inner, sequenceOfBody));
    inLoop = isInner;
    if (scan.goesOnWhile)
      plan.objectiveSeconds += (repeat.predictedTimes() + 1) * decisionSeconds();
    for (size_t k = 0; k < scan.results.size(); ++k) {
      unsigned produced = bufferOf(body, body.outputs[k].value, inner);
      unsigned result = bufferOf(program, scan.results[k], numbers);
      if (k >= carried)
        repeat.stacks.push_back({produced, result});
      else if (produced != result)
        carry(repeat, produced, result);
    }
    repeat.children.push_back(std::move(sequenceOfBody));
    sequence.children.push_back(std::move(start));
    sequence.children.push_back(std::move(repeat));
    return Status::success();
  }

  /// Copies a next state over the state. Copies happen one after another, so a state that is the
  /// next value of another one is set aside first.
  void carry(PlanNode &repeat, unsigned produced, unsigned result) {
    bool isState =
        llvm::any_of(repeat.copies, [&](const BufferCopy &copy) { return copy.to == produced; });
    if (isState) {
      PlanBuffer aside = plan.buffers[produced];
      plan.buffers.push_back(std::move(aside));
      unsigned saved = plan.buffers.size() - 1;
      repeat.copies.insert(repeat.copies.begin(), {produced, saved});
      produced = saved;
    }
    repeat.copies.push_back({produced, result});
  }

  const OrchestrateOptions &options;
  OrchestrateOptions constantOptions;
  OrchestrateTexts *texts;
  Plan plan;
  bool inLoop = false; ///< What is planned is a scan's body.
  /// Of the values of each program that is planned, by open dimension.
  std::map<const Program *, std::vector<std::vector<te::Validity>>> validities;
  std::map<std::pair<std::string, bool>, unsigned> kernelNumbers; ///< Whether for the host.
  std::map<std::pair<unsigned, std::string>, unsigned> packed;    ///< Of a constant's buffer.
};

} // namespace

bool mayHaveLanes(const OrchestrateOptions &options) {
  const search::ScheduleOptions &schedule = options.space.schedule;
  return options.lanes && !schedule.inBlocks() && schedule.machine.cores > 1;
}

Expected<Plan> orchestrate(const Program &program, const OrchestrateOptions &options,
                           OrchestrateTexts *texts) {
  return Planner(options, texts).run(program);
}

} // namespace kintsugi::orchestrate
