//===- program.cpp - Tile programs as text and as handles -----------------===//

#include "tile/program.h"

#include "tile/dialect.h"
#include "tile/program_impl.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace kintsugi::tile {

namespace {

/// Keeps the first error instead of printing it.
class FirstError {
public:
  explicit FirstError(MLIRContext *context)
      : handler(context, [this](Diagnostic &diagnostic) {
          if (message.empty() && diagnostic.getSeverity() == DiagnosticSeverity::Error) {
            message = diagnostic.str();
            location = diagnostic.getLocation();
          }
          return success();
        }) {}

  /// "line:column: " where the location is one of a file, then the message.
  std::string text() const {
    std::string prefix;
    if (auto place = location ? dyn_cast<FileLineColLoc>(*location) : FileLineColLoc())
      prefix = std::to_string(place.getLine()) + ":" + std::to_string(place.getColumn()) + ": ";
    return prefix + (message.empty() ? "it is malformed" : message);
  }

private:
  std::string message;
  std::optional<Location> location;
  ScopedDiagnosticHandler handler;
};

DialectRegistry tileDialects() {
  DialectRegistry registry;
  registry.insert<TileDialect, arith::ArithDialect, math::MathDialect, memref::MemRefDialect>();
  return registry;
}

} // namespace

ProgramImpl::ProgramImpl() : context(tileDialects(), MLIRContext::Threading::DISABLED) {
  context.loadAllAvailableDialects();
  module = ModuleOp::create(UnknownLoc::get(&context));
}

TileProgram::TileProgram() : impl(std::make_unique<ProgramImpl>()) {}
TileProgram::~TileProgram() = default;
TileProgram::TileProgram(TileProgram &&) noexcept = default;
TileProgram &TileProgram::operator=(TileProgram &&) noexcept = default;

std::vector<std::string> TileProgram::kernels() const {
  std::vector<std::string> names;
  for (KernelOp kernel : impl->module->getOps<KernelOp>())
    names.push_back(kernel.getSymName().str());
  return names;
}

std::string TileProgram::print() const {
  std::string text;
  llvm::raw_string_ostream stream(text);
  impl->module->print(stream);
  stream << '\n';
  return text;
}

Status verifyModule(ModuleOp module) {
  FirstError error(module.getContext());
  if (failed(mlir::verify(module)))
    return internalError("a tile program is wrong: " + error.text());
  return Status::success();
}

Status TileProgram::verify() const { return verifyModule(*impl->module); }

Expected<TileProgram> parseTileProgram(std::string_view text, const std::string &where) {
  TileProgram program;
  ProgramImpl &impl = program.implementation();
  FirstError error(&impl.context);
  ParserConfig config(&impl.context);
  impl.module = parseSourceString<ModuleOp>(llvm::StringRef(text.data(), text.size()), config);
  if (!impl.module)
    return inputError(where + ":" + error.text());
  for (Operation &op : impl.module->getBody()->getOperations())
    if (!isa<KernelOp>(op))
      return inputError(where + ": holds '" + op.getName().getStringRef().str() +
                        "'; a tile program holds tile.kernel only");
  return program;
}

} // namespace kintsugi::tile
