#include "targets/nvidia/warp_groups.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

namespace kintsugi::targets {

Value WarpGroups::uniform(Value number) {
  Type i32 = make.builder.getI32Type();
  Value all = make.integer(i32, -1), first = make.integer(i32, 0), last = make.integer(i32, 31);
  return LLVM::CallIntrinsicOp::create(make.builder, make.location, i32,
                                       make.builder.getStringAttr("llvm.nvvm.shfl.sync.idx.i32"),
                                       ValueRange{all, number, first, last})
      .getResults();
}

void WarpGroups::run(const std::string &text) { runOn({}, text, {}); }

void WarpGroups::runOn(MutableArrayRef<Results> sums, const std::string &text,
                       ValueRange operands) {
  std::string constraints;
  SmallVector<Value> inputs;
  for (const Results &each : sums)
    for (Value value : each) {
      constraints += "=f,";
      inputs.push_back(value);
    }
  for (size_t k = 0; k < inputs.size(); ++k)
    constraints += std::to_string(k) + ",";
  SmallVector<Type> types(inputs.size(), make.builder.getF32Type());
  for (Value operand : operands) {
    constraints += "l,";
    inputs.push_back(operand);
  }
  constraints += "~{memory}";
  Type result = types.empty()
                    ? LLVM::LLVMVoidType::get(make.builder.getContext())
                    : Type(LLVM::LLVMStructType::getLiteral(make.builder.getContext(), types));
  auto code = LLVM::InlineAsmOp::create(
      make.builder, make.location, types.empty() ? TypeRange() : TypeRange(result), inputs, text,
      constraints, /*has_side_effects=*/true, /*is_align_stack=*/false, LLVM::TailCallKind::None,
      LLVM::AsmDialectAttr(), ArrayAttr());
  for (auto [number, each] : llvm::enumerate(sums))
    for (unsigned part = 0; part < 4; ++part)
      each[part] = LLVM::ExtractValueOp::create(make.builder, make.location, code.getRes(),
                                                int64_t(number) * 4 + part);
}

void WarpGroups::publish() { run("fence.proxy.async.shared::cta;"); }

Value WarpGroups::operandAt(Value shared, const Layout &layout) {
  int64_t mode = layout.pitch == 128 ? 1 : layout.pitch == 64 ? 2 : 3;
  int64_t eightLines = 8 * layout.pitch / 16, apart = layout.alongDepth ? 1 : layout.apart / 16;
  uint64_t shape = uint64_t(mode) << 62 | uint64_t(eightLines) << 32 | uint64_t(apart) << 16;
  Type i64 = make.builder.getI64Type();
  Value at = LLVM::PtrToIntOp::create(make.builder, make.location, i64, shared);
  at = make.shiftRight(make.bitAnd(at, make.integer(i64, 0x3FFFF)), 4);
  return make.bitOr(at, make.integer(i64, int64_t(shape)));
}

Value WarpGroups::moved(Value operand, Value bytes) {
  Type i64 = make.builder.getI64Type();
  Value units = LLVM::ZExtOp::create(make.builder, make.location, i64, make.shiftRight(bytes, 4));
  return make.add(operand, units);
}

void WarpGroups::multiply(MutableArrayRef<Results> sums, unsigned columns, Value rowsAt,
                          const Layout &ofRows, Value columnsAt, const Layout &ofColumns,
                          ArrayRef<Product> products) {
  std::string type = element.isF16() ? "f16" : "bf16";
  std::string name = "wgmma.mma_async.sync.aligned.m64n" + std::to_string(columns) + "k16.f32." +
                     type + "." + type;
  std::string ways = std::string(", yes, 1, 1, ") + (ofRows.alongDepth ? "0" : "1") + ", " +
                     (ofColumns.alongDepth ? "0" : "1") + ";\n";
  unsigned inBlock = columns / 8 * 4, inputs = 2 * unsigned(sums.size()) * 4;
  auto operand = [&](unsigned number) { return "$" + std::to_string(number); };
  std::string text = "{\n.reg .b64 left, right;\n.reg .pred yes;\nsetp.eq.u32 yes, 0, 0;\n"
                     "wgmma.fence.sync.aligned;\n";
  for (const Product &product : products) {
    text += "add.s64 left, " + operand(inputs) + ", " + std::to_string(product.rowsFurther / 16) +
            ";\nadd.s64 right, " + operand(inputs + 1) + ", " +
            std::to_string(product.columnsFurther / 16) + ";\n" + name + " {";
    for (unsigned k = 0; k < inBlock; ++k)
      text += (k ? ", " : "") + operand(product.block * inBlock + k);
    text += "}, left, right" + ways;
  }
  text += "wgmma.commit_group.sync.aligned;\n}";
  runOn(sums, text, {rowsAt, columnsAt});
}

void WarpGroups::waitForAllBut(unsigned groups) {
  run("wgmma.wait_group.sync.aligned " + std::to_string(groups) + ";");
}

void WarpGroups::finish(MutableArrayRef<Results> sums) {
  runOn(sums, "wgmma.wait_group.sync.aligned 0;", {});
}

} // namespace kintsugi::targets
