#include "block_emulator.h"

#include "targets/link_elf.h"
#include "targets/nvidia/calls/lower_call.h"
#include "targets/x86_codegen.h"

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IntrinsicsNVPTX.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Support/raw_ostream.h"

#include <cstring>
#include <dlfcn.h>
#include <memory>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

namespace kintsugi::test {

namespace {

/// What the code asks for in place of the device's instructions.
struct Services {
  uint32_t (*thread)();
  uint32_t (*block)();
  void (*wait)();
};

/// One block at work.
class Block {
public:
  Block(void (*entry)(void *const *), void *const *operands, uint32_t number, uint32_t threads)
      : entry(entry), operands(operands), number(number), contexts(threads), stacks(threads),
        isOver(threads) {}

  /// Whether all threads came to the same waits.
  bool run() {
    current = this;
    for (uint32_t each = 0; each < contexts.size(); ++each)
      prepare(each);
    for (unsigned phase = 0;; ++phase) {
      size_t over = 0;
      for (uint32_t turn = 0; turn < contexts.size(); ++turn) {
        thread = (phase + number) % 2 ? turn : uint32_t(contexts.size()) - 1 - turn;
        swapcontext(&scheduler, &contexts[thread]);
        over += isOver[thread];
      }
      if (over)
        return over == contexts.size();
    }
  }

  static uint32_t threadNumber() { return current->thread; }
  static uint32_t blockNumber() { return current->number; }
  static void wait() { swapcontext(&current->contexts[current->thread], &current->scheduler); }

private:
  static constexpr size_t stackBytes = 32 << 10;

  void prepare(uint32_t each) {
    stacks[each] = std::make_unique<std::byte[]>(stackBytes);
    getcontext(&contexts[each]);
    contexts[each].uc_stack.ss_sp = stacks[each].get();
    contexts[each].uc_stack.ss_size = stackBytes;
    contexts[each].uc_link = &scheduler;
    makecontext(&contexts[each], &Block::begin, 0);
  }

  static void begin() {
    current->entry(current->operands);
    current->isOver[current->thread] = true;
  }

  static thread_local Block *current;
  void (*entry)(void *const *);
  void *const *operands;
  uint32_t number, thread = 0;
  std::vector<ucontext_t> contexts;
  std::vector<std::unique_ptr<std::byte[]>> stacks;
  std::vector<bool> isOver;
  ucontext_t scheduler;
};

thread_local Block *Block::current = nullptr;

/// The device's module as one for this processor.
class Translation {
public:
  Translation(llvm::Module &module, const calls::DeviceCall &call)
      : module(module), call(call), ir(module.getContext()) {}

  void run() {
    llvm::Type *pointer = ir.getPtrTy();
    auto *type = llvm::ArrayType::get(pointer, 3);
    services = new llvm::GlobalVariable(module, type, false, llvm::GlobalValue::ExternalLinkage,
                                        llvm::ConstantAggregateZero::get(type), "services");
    for (const calls::Launch &launch : call.launches) {
      if (launch.sharedBytes)
        giveMemory(launch);
      translate(*module.getFunction(launch.symbol));
      addEntry(launch);
    }
  }

private:
  void giveMemory(const calls::Launch &launch) {
    llvm::GlobalVariable *asked = module.getNamedGlobal(launch.symbol + "_scratch");
    auto *type = llvm::ArrayType::get(ir.getInt8Ty(), launch.sharedBytes);
    auto *memory = new llvm::GlobalVariable(
        module, type, false, llvm::GlobalValue::InternalLinkage, llvm::UndefValue::get(type), "",
        nullptr, llvm::GlobalValue::NotThreadLocal, asked->getAddressSpace());
    memory->setAlignment(asked->getAlign());
    asked->replaceAllUsesWith(memory);
    asked->eraseFromParent();
  }

  void translate(llvm::Function &function) {
    function.setCallingConv(llvm::CallingConv::C);
    std::vector<llvm::IntrinsicInst *> all;
    for (llvm::BasicBlock &block : function)
      for (llvm::Instruction &each : block)
        if (auto *intrinsic = llvm::dyn_cast<llvm::IntrinsicInst>(&each))
          all.push_back(intrinsic);
    for (llvm::IntrinsicInst *each : all) {
      switch (each->getIntrinsicID()) {
      case llvm::Intrinsic::nvvm_read_ptx_sreg_tid_x:
        replace(each, 0);
        break;
      case llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_x:
        replace(each, 1);
        break;
      case llvm::Intrinsic::nvvm_barrier_cta_sync_aligned_all:
        replace(each, 2);
        break;
      default:
        break;
      }
    }
  }

  void replace(llvm::Instruction *instruction, unsigned service) {
    ir.SetInsertPoint(instruction);
    auto *type = llvm::FunctionType::get(instruction->getType(), false);
    llvm::Value *place =
        ir.CreateConstInBoundsGEP2_32(services->getValueType(), services, 0, service);
    llvm::Value *function = ir.CreateLoad(ir.getPtrTy(), place);
    llvm::Value *result = ir.CreateCall(type, function);
    if (!instruction->getType()->isVoidTy())
      instruction->replaceAllUsesWith(result);
    instruction->eraseFromParent();
  }

  void addEntry(const calls::Launch &launch) {
    llvm::Function *body = module.getFunction(launch.symbol);
    auto *type = llvm::FunctionType::get(ir.getVoidTy(), {ir.getPtrTy()}, false);
    auto *entry = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage,
                                         launch.symbol + "_entry", module);
    ir.SetInsertPoint(llvm::BasicBlock::Create(module.getContext(), "", entry));
    llvm::SmallVector<llvm::Value *> operands;
    for (unsigned number = 0; number < body->arg_size(); ++number)
      operands.push_back(ir.CreateLoad(
          ir.getPtrTy(), ir.CreateConstInBoundsGEP1_32(ir.getPtrTy(), entry->getArg(0), number)));
    ir.CreateCall(body, operands);
    ir.CreateRetVoid();
  }

  llvm::Module &module;
  const calls::DeviceCall &call;
  llvm::IRBuilder<> ir;
  llvm::GlobalVariable *services = nullptr;
};

Expected<std::vector<std::byte>> codeOf(const calls::Site &site, const calls::DeviceCall &call) {
  llvm::LLVMContext context;
  llvm::Module module("call", context);
  targets::emitCall(site, false, module);
  const std::string level = "x86-64-v3";
  Translation(module, call).run();
  KINTSUGI_RETURN_IF_ERROR(targets::prepareForLevel(module, level));
  std::string problem;
  llvm::raw_string_ostream stream(problem);
  if (llvm::verifyModule(module, &stream))
    return internalError(problem);
  KINTSUGI_ASSIGN(std::string object, targets::generateObject(module, level));
  return targets::linkElf({object});
}

/// Memory of undefined content between bytes that nobody may touch.
class Memory {
public:
  explicit Memory(uint64_t bytes) : bytes(bytes), all(bytes + 2 * edge, filling) {}
  std::byte *data() { return all.data() + edge; }
  bool isSound() const {
    for (size_t i = 0; i < edge; ++i)
      if (all[i] != filling || all[edge + bytes + i] != filling)
        return false;
    return true;
  }

private:
  static constexpr size_t edge = 4096;
  static constexpr std::byte filling{0xa5};
  size_t bytes;
  std::vector<std::byte> all;
};

class Library {
public:
  explicit Library(const std::vector<std::byte> &code) {
    int file = memfd_create("call", MFD_CLOEXEC);
    if (write(file, code.data(), code.size()) == ssize_t(code.size()))
      handle = dlopen(("/proc/self/fd/" + std::to_string(file)).c_str(), RTLD_NOW | RTLD_LOCAL);
    close(file);
  }
  ~Library() {
    if (handle)
      dlclose(handle);
  }
  template <typename T> T find(const std::string &name) const {
    return reinterpret_cast<T>(dlsym(handle, name.c_str()));
  }
  void *handle = nullptr;
};

} // namespace

std::string emulateCall(const calls::Site &site, const std::vector<std::byte *> &operands,
                        std::vector<std::byte> *report) {
  calls::DeviceCall call = targets::launchesOfCall(site);
  if (!call.reason.empty())
    return "there is no code: " + call.reason;
  auto code = codeOf(site, call);
  if (!code.ok())
    return code.error().message;
  Library library(*code);
  if (!library.handle)
    return dlerror();
  *library.find<Services *>("services") = {Block::threadNumber, Block::blockNumber, Block::wait};
  std::vector<std::byte *> places = operands;
  std::vector<Memory> memory;
  memory.reserve(call.memory.size());
  for (uint64_t bytes : call.memory)
    places.push_back(memory.emplace_back(bytes).data());
  for (const calls::Launch &launch : call.launches) {
    auto entry = library.find<void (*)(void *const *)>(launch.symbol + "_entry");
    std::vector<void *> arguments;
    for (const auto *some : {&launch.reads, &launch.writes})
      for (unsigned place : *some)
        arguments.push_back(places.at(place));
    for (uint32_t block = 0; block < launch.blocks; ++block)
      if (!Block(entry, arguments.data(), block, launch.threads).run())
        return launch.symbol + ": threads wait for others that are gone";
  }
  for (const Memory &each : memory)
    if (!each.isSound())
      return "memory is written that is not the call's";
  if (report && call.report)
    report->assign(memory[*call.report].data(),
                   memory[*call.report].data() + call.memory[*call.report]);
  return "";
}

} // namespace kintsugi::test
