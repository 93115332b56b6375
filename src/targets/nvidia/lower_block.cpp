//===- lower_block.cpp - Entries of blocks of threads ---------------------===//

#include "targets/nvidia/lower_block.h"

#include "abi/launch.h"
#include "abi/tensor_map.h"
#include "machine/machine.h"
#include "targets/lower_kernels.h"
#include "targets/nvidia/block_body.h"
#include "targets/nvidia/grid_wait.h"
#include "targets/nvidia/inline_asm.h"
#include "targets/nvidia/part_clocks.h"
#include "tile/program_impl.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/IR/Function.h"
#include "llvm/Support/MathExtras.h"

#include <cstring>

using namespace mlir;
using kintsugi::tile::ComputeOp;
using kintsugi::tile::KernelOp;
using kintsugi::tile::Launch;

namespace kintsugi::targets {

namespace {

constexpr unsigned sharedSpace = 3;
constexpr int64_t encodedBytes = 128; ///< Of a tensor map as a parameter.
/// What of shared memory is declared with its size fills such pieces: what follows, the scratch
/// whose size the launch says, is aligned as the pieces are, whatever a linker promises.
constexpr int64_t ringAlignment = 1024;
constexpr int64_t mostArrivals = ringAlignment / BulkCopies::arrivalBytes;

/// Parts of a phase that are the same kernel, with its operands in each.
struct Alike {
  KernelOp kernel;
  SmallVector<ArrayRef<unsigned>> operands;
  int64_t firstPart = 0; ///< The number of the first of them; those of the others follow.

  int64_t tiles() { return kernel.numTiles() * int64_t(operands.size()); }
};

/// How many of a launch's blocks a core has at a time, as was thought when its threads were chosen;
/// 0 where nothing was. On other machines than was thought of, single warps take more registers for
/// what four multiply together, and assemblers keep a little more at once: where registers are just
/// enough for many blocks, a few blocks less leave some to spare.
int64_t blocksTogether(KernelOp kernel, int64_t blocks, const machine::Machine &machine,
                       bool isHopper) {
  if (kernel.getRegisters() == 0)
    return 0;
  if (!isHopper && multipliesInFours(kernel))
    return 1;
  constexpr int64_t unit = 8, spare = 2 * unit; // Registers are given out in eights.
  int64_t threads = kernel.getThreads(), registers = kernel.getRegisters();
  auto withRegisters = [&](int64_t each) {
    int64_t fitting = machine.core.registers / (threads * int64_t(llvm::alignTo(each, unit)));
    int64_t wanted = int64_t(llvm::divideCeil(blocks, machine.cores));
    return std::max<int64_t>(1, std::min<int64_t>({wanted, machine.threads / threads, fitting}));
  };
  int64_t most = withRegisters(registers), fewer = withRegisters(registers + spare);
  bool areEnough = withRegisters(registers + unit) == most;
  return isHopper || areEnough || 4 * fewer < 3 * most ? most : fewer;
}

/// The entry of one launch.
class LaunchLowering final : private BulkResources {
public:
  LaunchLowering(OpBuilder &builder, ModuleOp kernels, const Launch &launch,
                 const machine::Machine &plannedFor, bool isHopper, bool waits)
      : builder(builder), launch(launch), plannedFor(plannedFor), waits(waits), make(builder),
        pointer(LLVM::LLVMPointerType::get(builder.getContext())), i64(builder.getI64Type()) {
    frame.isHopper = isHopper;
    frame.bulk = isHopper && launch.phases.size() == 1 ? this : nullptr;
    int64_t parts = 0;
    for (const std::vector<Launch::Part> &phase : launch.phases) {
      phases.push_back(groupedByKernel(kernels, phase));
      for (Alike &alike : phases.back()) {
        alike.firstPart = parts;
        parts += int64_t(alike.operands.size());
      }
    }
  }

  Status lower() {
    for (auto &phase : phases)
      for (Alike &alike : phase)
        KINTSUGI_RETURN_IF_ERROR(checkOperations(alike.kernel));
    Needs needs = measure();
    threads = needs.threads;
    if (Alike &first = phases.front().front(); !isMeeting()) {
      cluster = clusterOf(first.kernel, frame.isHopper);
      if (phases.front().size() == 1)
        together =
            blocksTogether(first.kernel, first.tiles() * cluster, plannedFor, frame.isHopper);
    }
    frame.hasIdle = needs.hasIdle && isMeeting();
    LLVM::GlobalOp scratchMemory, exchangeMemory;
    int64_t exchangeBytes = int64_t(llvm::alignTo(needs.exchangeBytes, needs.alignment));
    frame.scratchBytes = KIN_LAUNCH_SHARED_BYTES - exchangeBytes;
    if (needs.scratch)
      scratchMemory = declareShared("_scratch", 0, LLVM::Linkage::External, needs.alignment);
    if (exchangeBytes)
      exchangeMemory =
          declareShared("_exchange", exchangeBytes, LLVM::Linkage::Internal, needs.alignment);
    function = declare();
    OpBuilder::InsertionGuard guard(builder);
    Block *block = function.addEntryBlock(builder);
    builder.setInsertionPointToStart(block);
    operands.assign(block->args_begin(), block->args_begin() + numAddresses());
    if (launch.isClocked())
      clocks = block->getArguments().back();
    frame.thread = special("llvm.nvvm.read.ptx.sreg.tid.x");
    if (waits) {
      waitForLaunches();
      if (letsNextStart())
        emitAsm(builder, "griddepcontrol.launch_dependents;", "", ValueRange());
    }
    if (scratchMemory)
      frame.scratch = addressOf(scratchMemory);
    if (exchangeMemory)
      frame.exchange = addressOf(exchangeMemory);
    emitPhases(block);
    builder.setInsertionPointToEnd(block);
    LLVM::ReturnOp::create(builder, make.location, ValueRange());
    builder.setInsertionPointAfterValue(frame.thread); // While the launches before are under way.
    startBulk();
    return Status::success();
  }

  int64_t threads = 0, cluster = 1;
  int64_t together = 0;           ///< Blocks that a core has at a time; 0: as it happens.
  std::vector<KinTensorMap> maps; ///< Parameters behind the operands.

private:
  struct Needs {
    int64_t threads = 0, exchangeBytes = 0;
    unsigned alignment = 64;
    bool scratch = false;
    bool hasIdle = false; ///< Some kernel leaves some threads without work.
  };

  static SmallVector<Alike> groupedByKernel(ModuleOp kernels, ArrayRef<Launch::Part> phase) {
    SmallVector<Alike> all;
    for (const Launch::Part &part : phase) {
      auto kernel = kernels.lookupSymbol<KernelOp>(part.kernel);
      auto alike = llvm::find_if(all, [&](const Alike &a) { return a.kernel == kernel; });
      if (alike == all.end())
        alike = all.insert(all.end(), Alike{kernel, {}});
      alike->operands.push_back(part.operands);
    }
    return all;
  }

  /// Whether all its blocks are under way at once and wait for each other.
  bool isMeeting() const { return phases.size() > 1; }

  /// Whether the next launch may have its blocks placed as soon as all of this one's are: they make
  /// ready, and wait for this one's end. They stay where they are placed, so cores have to get as
  /// many of them as if all were free: there is one for each block of both, or none has room for
  /// two of the next launch's.
  bool letsNextStart() {
    if (isMeeting())
      return false;
    int64_t blocks = 0;
    for (Alike &alike : phases.front())
      blocks += alike.tiles() * cluster;
    auto isPlacedEvenly = [&](const std::optional<Launch::Size> &next) {
      return next && (blocks + next->blocks <= plannedFor.cores ||
                      2 * next->scratchBytes > plannedFor.core.ringBytes);
    };
    return !launch.next.empty() && llvm::all_of(launch.next, isPlacedEvenly);
  }

  Needs measure() {
    Needs needs;
    for (auto &phase : phases)
      for (Alike &alike : phase) {
        KernelOp kernel = alike.kernel;
        int64_t own = kernel.getThreads();
        needs.hasIdle |= needs.threads && needs.threads != own;
        needs.threads = std::max(needs.threads, own);
        needs.exchangeBytes = std::max(needs.exchangeBytes, mostExchangeBytes(kernel));
        needs.alignment = std::max(needs.alignment, scratchAlignment(kernel));
        needs.scratch |= kernel.getScratchBytes() > 0;
      }
    return needs;
  }

  Value special(const char *name) {
    return LLVM::CallIntrinsicOp::create(builder, make.location, builder.getI32Type(),
                                         builder.getStringAttr(name), ValueRange())
        .getResults();
  }

  Value wide(Value number) { return arith::ExtUIOp::create(builder, make.location, i64, number); }

  void emitPhases(Block *block) {
    Value first = wide(special("llvm.nvvm.read.ptx.sreg.ctaid.x"));
    if (cluster > 1)
      first = make.shiftRight(first, llvm::Log2_64(cluster));
    if (!isMeeting())
      return emitParts(phases.front(), first, block);
    Value step = wide(special("llvm.nvvm.read.ptx.sreg.nctaid.x"));
    for (auto &phase : phases) {
      builder.setInsertionPointToEnd(block);
      if (&phase != &phases.front()) {
        askForConstants(phase);
        emitGridWait(builder, frame, operands.back());
      }
      int64_t blocks = 0;
      for (Alike &alike : phase)
        blocks += alike.tiles();
      auto loop =
          scf::ForOp::create(builder, make.location, first, make.integer(i64, blocks), step);
      Block *body = loop.getBody();
      body->getTerminator()->erase();
      emitParts(phase, loop.getInductionVar(), body);
      builder.setInsertionPointToEnd(body);
      emitBlockWait(builder); // The next tile's scratch is this one's.
      scf::YieldOp::create(builder, make.location);
    }
  }

  /// The block with a number works on one part's tile.
  void emitParts(MutableArrayRef<Alike> phase, Value number, Block *block) {
    int64_t begin = 0;
    for (Alike &alike : phase) {
      int64_t end = begin + alike.tiles();
      builder.setInsertionPointToEnd(block);
      Value isHere = condition(alike, number, begin, end, phase.size() > 1);
      Block *inner = block;
      if (isHere) {
        inner = scf::IfOp::create(builder, make.location, isHere, false).thenBlock();
        inner->getTerminator()->erase();
        builder.setInsertionPointToEnd(inner);
      }
      emitAlike(alike, begin ? make.sub(number, make.integer(i64, begin)) : number, inner);
      if (isHere) {
        builder.setInsertionPointToEnd(inner);
        scf::YieldOp::create(builder, make.location);
      }
      begin = end;
    }
  }

  /// Whether a block's number is in [begin, end), and the thread one of the kernel's; null: always.
  Value condition(Alike alike, Value number, int64_t begin, int64_t end, bool hasOthers) {
    Value result;
    auto both = [&](Value other) { result = result ? make.bitAnd(result, other) : other; };
    if (hasOthers) {
      Value local = make.sub(number, make.integer(i64, begin));
      both(make.lessUnsigned(local, make.integer(i64, end - begin)));
    }
    if (int64_t own = alike.kernel.getThreads(); own < threads)
      both(make.lessUnsigned(frame.thread, make.integer(builder.getI32Type(), own)));
    return result;
  }

  /// Equal kernels are one body, whose operands are chosen.
  void emitAlike(Alike alike, Value number, Block *block) {
    int64_t tiles = alike.kernel.numTiles();
    Value linear = number; ///< Among the tiles of all its parts.
    underway = alike;
    usedArrivals = 0; // A block has one of these.
    isOfPart.assign(alike.operands.size(), Value());
    for (size_t part = 0; part + 1 < alike.operands.size(); ++part)
      isOfPart[part] = make.lessUnsigned(number, make.integer(i64, tiles * int64_t(part + 1)));
    SmallVector<Value> buffers;
    for (size_t buffer = 0; buffer < alike.operands.front().size(); ++buffer)
      buffers.push_back(
          ofPart([&](size_t part) { return operands[alike.operands[part][buffer]]; }));
    if (alike.operands.size() > 1)
      number = arith::RemUIOp::create(builder, make.location, number, make.integer(i64, tiles));
    auto part = [&, linear]() -> Value {
      Value first = make.integer(i64, alike.firstPart);
      if (alike.operands.size() == 1)
        return first;
      Value local =
          arith::DivUIOp::create(builder, make.location, linear, make.integer(i64, tiles));
      return make.add(first, local);
    };
    if (clocks)
      PartClocks(builder, frame, clocks, part).emitBegin();
    emitBlockBody(builder, alike.kernel, frame, buffers, number, block);
    builder.setInsertionPointToEnd(block);
    if (clocks)
      PartClocks(builder, frame, clocks, part)
          .emitEnd(frame.hasIdle ? alike.kernel.getThreads() : 0);
  }

  /// What a value is in the part that this block works on, of the kernel underway.
  Value ofPart(llvm::function_ref<Value(size_t)> valueIn) {
    Value value = valueIn(isOfPart.size() - 1);
    for (size_t part = isOfPart.size() - 1; part-- > 0;)
      if (Value other = valueIn(part); other != value)
        value = make.select(isOfPart[part], other, value);
    return value;
  }

  SmallVector<Value> mapsOf(ArrayRef<KinTensorMap> wanted) override {
    constexpr int64_t ofNest = 16; // More than a ring has stages.
    std::vector<KinTensorMap> all = maps;
    for (const KinTensorMap &map : wanted) {
      if (isWritten(underway.kernel, map.operand) || usedArrivals + ofNest > mostArrivals)
        return {};
      for (size_t part = 0; part < isOfPart.size(); ++part)
        if (KinTensorMap own = inPart(map, part); numberIn(all, own) == all.size())
          all.push_back(own);
    }
    if (all.size() > KIN_TENSOR_MAX_MAPS)
      return {};
    SmallVector<Value> pointers;
    for (const KinTensorMap &map : wanted)
      pointers.push_back(ofPart([&](size_t part) { return parameterFor(inPart(map, part)); }));
    return pointers;
  }

  /// Of the launch's operand.
  KinTensorMap inPart(KinTensorMap map, size_t part) const {
    map.operand = underway.operands[part][map.operand];
    return map;
  }

  /// As many as there are: it is none of them.
  static size_t numberIn(const std::vector<KinTensorMap> &maps, const KinTensorMap &map) {
    auto isEqual = [&](const KinTensorMap &other) {
      return std::memcmp(&map, &other, sizeof map) == 0;
    };
    return size_t(llvm::find_if(maps, isEqual) - maps.begin());
  }

  Value parameterFor(const KinTensorMap &map) {
    size_t number = numberIn(maps, map);
    if (number == maps.size()) {
      maps.push_back(map);
      addParameter();
    }
    return mapArgument(number);
  }

  /// Addresses of operands, and of the grid's counter.
  size_t numAddresses() const { return launch.constants.size() + isMeeting(); }

  Value mapArgument(size_t number) { return function.getArgument(numAddresses() + number); }

  /// Behind the other maps, of an encoded one as a value.
  void addParameter() {
    size_t place = numAddresses() + maps.size() - 1;
    SmallVector<Type> types(function.getArgumentTypes());
    types.insert(types.begin() + place, pointer);
    function.setFunctionType(
        LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(builder.getContext()), types));
    function.front().insertArgument(place, pointer, make.location);
    auto bytes = LLVM::LLVMArrayType::get(builder.getI8Type(), encodedBytes);
    NamedAttrList attributes;
    attributes.set(LLVM::LLVMDialect::getByValAttrName(), TypeAttr::get(bytes));
    attributes.set(LLVM::LLVMDialect::getAlignAttrName(), builder.getI64IntegerAttr(64));
    SmallVector<Attribute> all(function.getArgAttrsAttr().getValue());
    all.insert(all.begin() + place, attributes.getDictionary(builder.getContext()));
    function.setArgAttrsAttr(builder.getArrayAttr(all));
  }

  /// By the first thread: others look at arrivals behind a wait of all.
  void startBulk() {
    if (maps.empty())
      return;
    Value isFirst = make.equal(frame.thread, make.integer(builder.getI32Type(), 0));
    auto first = scf::IfOp::create(builder, make.location, isFirst, false);
    builder.setInsertionPointToStart(first.thenBlock());
    BulkCopies bulk(builder);
    for (size_t number = 0; number < maps.size(); ++number)
      bulk.askFor(mapArgument(number));
    bulk.start(addressOf(arrivalMemory), mostUsedArrivals, false);
  }

  /// Each nest's follow those of the one before, in memory of its own.
  Value arrivals(int64_t count) override {
    if (!arrivalMemory) {
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPoint(function);
      arrivalMemory =
          declareShared("_arrivals", ringAlignment, LLVM::Linkage::Internal, ringAlignment);
    }
    int64_t begin = usedArrivals * BulkCopies::arrivalBytes;
    usedArrivals += count;
    mostUsedArrivals = std::max(mostUsedArrivals, usedArrivals);
    assert(usedArrivals <= mostArrivals && "mapsOf keeps room");
    return LLVM::GEPOp::create(builder, make.location, pointer, builder.getI8Type(),
                               addressOf(arrivalMemory), ArrayRef<LLVM::GEPArg>(begin));
  }

  int64_t bytesOf(KernelOp kernel, unsigned number) {
    auto type = cast<MemRefType>(kernel.getBody().getArgument(number).getType());
    return type.getNumElements() * int64_t(type.getElementTypeBitWidth()) / 8;
  }

  /// What a phase's kernels read of constants, if that is little: much is quicker read at once.
  void askForConstants(MutableArrayRef<Alike> phase) {
    constexpr int64_t most = 12 << 20;
    llvm::SmallMapVector<unsigned, int64_t, 8> bytes;
    for (Alike &alike : phase)
      for (ArrayRef<unsigned> part : alike.operands)
        for (auto [number, operand] : llvm::enumerate(part))
          if (launch.constants[operand])
            bytes[operand] = bytesOf(alike.kernel, number);
    int64_t all = 0;
    for (auto [operand, its] : bytes)
      all += its;
    if (!frame.isHopper || all > most)
      return;
    for (auto [operand, its] : bytes)
      emitPrefetch(builder, frame, operands[operand], its);
  }

  /// Buffers' addresses come of the wait, so that no read of them may stand ahead of it.
  void waitForLaunches() {
    auto dialect = LLVM::AsmDialectAttr::get(builder.getContext(), LLVM::AsmDialect::AD_ATT);
    auto wait = LLVM::InlineAsmOp::create(
        builder, make.location, i64, ValueRange(), "griddepcontrol.wait;\n\tmov.b64 $0, 0;",
        "=l,~{memory}", /*has_side_effects=*/true, /*is_align_stack=*/false,
        LLVM::tailcallkind::TailCallKind::None, dialect, ArrayAttr());
    for (Value &operand : operands)
      operand = LLVM::GEPOp::create(builder, make.location, pointer, builder.getI8Type(), operand,
                                    ArrayRef<LLVM::GEPArg>(wait.getResult(0)));
  }

  /// No bytes: as many as the launch says.
  LLVM::GlobalOp declareShared(const char *suffix, int64_t bytes, LLVM::Linkage linkage,
                               unsigned alignment) {
    auto type = LLVM::LLVMArrayType::get(builder.getI8Type(), bytes);
    return LLVM::GlobalOp::create(builder, make.location, type, false, linkage,
                                  launch.symbol + suffix, Attribute(), alignment, sharedSpace);
  }

  Value addressOf(LLVM::GlobalOp global) {
    Value address = LLVM::AddressOfOp::create(builder, make.location, global);
    return LLVM::AddrSpaceCastOp::create(builder, make.location, pointer, address);
  }

  static bool isWritten(KernelOp kernel, unsigned number) {
    bool written = false;
    kernel.walk([&](ComputeOp nest) {
      written |= llvm::is_contained(nest.getDestinations(), kernel.getBody().getArgument(number));
    });
    return written;
  }

  SmallVector<bool> writtenOperands() {
    SmallVector<bool> written(launch.constants.size(), false);
    for (auto &phase : phases)
      for (Alike &alike : phase)
        for (unsigned number = 0; number < alike.operands.front().size(); ++number)
          if (isWritten(alike.kernel, number))
            for (ArrayRef<unsigned> part : alike.operands)
              written[part[number]] = true;
    return written;
  }

  /// What a launch writes its threads may read again after a wait, which promises nothing of
  /// operands that no other pointer leads to: only those that are never written are marked so.
  LLVM::LLVMFuncOp declare() {
    SmallVector<Type> parameters(numAddresses(), pointer);
    if (launch.isClocked())
      parameters.push_back(i64);
    auto type =
        LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(builder.getContext()), parameters);
    auto function = LLVM::LLVMFuncOp::create(builder, make.location, launch.symbol, type);
    function.setCConv(LLVM::CConv::PTX_Kernel);
    for (auto [number, written] : llvm::enumerate(writtenOperands())) {
      function.setArgAttr(number, LLVM::LLVMDialect::getAlignAttrName(),
                          builder.getI64IntegerAttr(KIN_LAUNCH_ALIGNMENT));
      if (written)
        continue;
      function.setArgAttr(number, LLVM::LLVMDialect::getNoAliasAttrName(), builder.getUnitAttr());
      function.setArgAttr(number, LLVM::LLVMDialect::getReadonlyAttrName(), builder.getUnitAttr());
    }
    return function;
  }

  OpBuilder &builder;
  const Launch &launch;
  const machine::Machine &plannedFor;
  bool waits;
  Emit make;
  Type pointer, i64;
  SmallVector<SmallVector<Alike>> phases;
  SmallVector<Value> operands; ///< The last one is the grid's counter where there are phases.
  Value clocks;                ///< The last parameter, where parts note when they are under way.
  BlockFrame frame;
  LLVM::LLVMFuncOp function;
  Alike underway;              ///< The kernel whose code is emitted,
  SmallVector<Value> isOfPart; ///< and whether a block's part is that or one before; null: it is.
  LLVM::GlobalOp arrivalMemory;
  int64_t usedArrivals = 0, mostUsedArrivals = 0;
};

/// A kernel that has a launch of its own.
Launch launchOf(KernelOp kernel) {
  Launch::Part part{kernel.getSymName().str(), {}};
  for (unsigned number = 0; number < kernel.numBuffers(); ++number)
    part.operands.push_back(number);
  return {part.kernel, std::vector<bool>(kernel.numBuffers(), false), {{part}}};
}

} // namespace

bool startsEarly(const std::string &level) { return level == "sm_90a"; }

std::vector<Launch> launchesOf(const tile::TileProgram &program) {
  if (!program.launches.empty())
    return program.launches;
  std::vector<Launch> launches;
  for (KernelOp kernel : program.implementation().module->getOps<KernelOp>())
    launches.push_back(launchOf(kernel));
  return launches;
}

Expected<LoweredBlocks> lowerToBlocks(const tile::TileProgram &program, const std::string &level,
                                      llvm::LLVMContext &context) {
  // Whichever level the code is for, its schedules were chosen for this machine.
  KINTSUGI_ASSIGN(machine::Machine plannedFor, machine::Machine::forLevel("sm_90a"));
  const bool hasWarpGroups = machine::BlockCore::of(level).ringBytes > 0;
  LoweredBlocks lowered;
  llvm::StringMap<int64_t> threads, clusters, together;
  auto module = lowerKernels(program, context, [&](OpBuilder &builder, ModuleOp kernels) -> Status {
    for (KernelOp kernel : kernels.getOps<KernelOp>())
      if (kernel.getThreads() == 0)
        return internalError("kernel '" + kernel.getSymName().str() + "' has no threads");
    for (const Launch &launch : launchesOf(program)) {
      LaunchLowering lowering(builder, kernels, launch, plannedFor, hasWarpGroups,
                              startsEarly(level));
      KINTSUGI_RETURN_IF_ERROR(lowering.lower());
      threads[launch.symbol] = lowering.threads;
      clusters[launch.symbol] = lowering.cluster;
      together[launch.symbol] = lowering.together;
      lowered.maps.push_back(std::move(lowering.maps));
    }
    return Status::success();
  });
  if (!module.ok())
    return module.takeError();
  for (llvm::Function &function : **module) {
    if (function.isDeclaration())
      continue;
    function.addFnAttr("nvvm.maxntid", std::to_string(threads.lookup(function.getName())));
    if (int64_t blocks = together.lookup(function.getName()))
      function.addFnAttr("nvvm.minctasm", std::to_string(blocks));
    if (int64_t blocks = clusters.lookup(function.getName()); blocks > 1)
      function.addFnAttr("nvvm.cluster_dim", std::to_string(blocks));
    function.addFnAttr(llvm::Attribute::NoUnwind);
    for (llvm::Argument &argument : function.args())
      if (argument.hasByValAttr()) // Where the device can find it, not each thread's own.
        argument.addAttr(llvm::Attribute::get(context, "nvvm.grid_constant"));
  }
  lowered.module = std::move(*module);
  return lowered;
}

} // namespace kintsugi::targets
