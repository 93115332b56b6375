#include "targets/nvidia/bulk_copies.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

namespace kintsugi::targets {

void BulkCopies::run(const std::string &text, const char *constraints, ValueRange operands) {
  LLVM::InlineAsmOp::create(make.builder, make.location,
                            LLVM::LLVMVoidType::get(make.builder.getContext()), operands, text,
                            constraints, /*has_side_effects=*/true, /*is_align_stack=*/false,
                            LLVM::TailCallKind::None, LLVM::AsmDialectAttr(), ArrayAttr());
}

Value BulkCopies::address(Value shared) {
  return LLVM::PtrToIntOp::create(make.builder, make.location, make.builder.getI32Type(), shared);
}

void BulkCopies::start(Value arrivals, int64_t count, bool again) {
  std::string text;
  auto each = [&](const std::string &name, const char *rest) {
    for (int64_t number = 0; number < count; ++number)
      text += name + ".shared::cta.b64 [$0 + " + std::to_string(number * arrivalBytes) + "]" + rest;
  };
  if (again)
    each("mbarrier.inval", ";\n");
  each("mbarrier.init", ", 1;\n");
  run(text + "fence.mbarrier_init.release.cluster;\nfence.proxy.async.shared::cta;", "r,~{memory}",
      address(arrivals));
}

void BulkCopies::askFor(Value map) { run("prefetch.tensormap [$0];", "l", map); }

void BulkCopies::expect(Value arrival, int64_t bytes) {
  run("mbarrier.arrive.expect_tx.shared::cta.b64 _, [$0], " + std::to_string(bytes) + ";",
      "r,~{memory}", address(arrival));
}

void BulkCopies::copy(Value shared, Value map, ArrayRef<Value> coordinates, Value arrival) {
  std::string places, constraints = "r,l,r";
  SmallVector<Value> operands{address(shared), map, address(arrival)};
  for (Value coordinate : coordinates) {
    places += (places.empty() ? "$" : ", $") + std::to_string(operands.size());
    constraints += ",r";
    operands.push_back(coordinate);
  }
  constraints += ",~{memory}";
  run("cp.async.bulk.tensor." + std::to_string(coordinates.size()) +
          "d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [$0], [$1, {" + places +
          "}], [$2];",
      constraints.c_str(), operands);
}

void BulkCopies::waitFor(Value arrival, Value parity) {
  run("{\n.reg .pred come;\nagain_${:uid}:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 come, [$0], $1;\n"
      "@!come bra again_${:uid};\n}",
      "r,r,~{memory}", {address(arrival), parity});
}

} // namespace kintsugi::targets
