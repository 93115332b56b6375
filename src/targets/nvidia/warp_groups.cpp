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

void WarpGroups::runOn(MutableArrayRef<Results> sums, const std::string &text, ValueRange operands,
                       bool sets) {
  std::string constraints;
  SmallVector<Value> inputs;
  SmallVector<Type> types(sums.size() * 4, make.builder.getF32Type());
  for (size_t k = 0; k < types.size(); ++k)
    constraints += "=f,";
  if (!sets)
    for (size_t k = 0; k < types.size(); ++k) {
      constraints += std::to_string(k) + ",";
      inputs.push_back(sums[k / 4][k % 4]);
    }
  for (Value operand : operands) {
    constraints += operand.getType().isInteger(32) ? "r," : "l,";
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

std::string WarpGroups::nameOf(unsigned columns) const {
  std::string type = element.isF16() ? "f16" : "bf16";
  return "wgmma.mma_async.sync.aligned.m64n" + std::to_string(columns) + "k16.f32." + type + "." +
         type;
}

void WarpGroups::multiply(MutableArrayRef<Results> sums, unsigned columns, Value rowsAt,
                          const Layout &ofRows, Value columnsAt, const Layout &ofColumns,
                          ArrayRef<Product> products) {
  std::string name = nameOf(columns);
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

/// $first, $first + 1, ..., in braces.
static std::string numbered(size_t first, size_t count) {
  std::string text = "{";
  for (size_t k = first; k < first + count; ++k)
    text += (k > first ? ", $" : "$") + std::to_string(k);
  return text + "}";
}

static std::string moveBy(const char *target, size_t operand, int64_t bytes) {
  return std::string("add.s64 ") + target + ", $" + std::to_string(operand) + ", " +
         std::to_string(bytes / 16) + ";\n";
}

constexpr const char *start = "{\n.reg .b64 left, right;\n.reg .pred yes, adds;\n"
                              "setp.eq.u32 yes, 0, 0;\nsetp.ne.u32 adds, 0, 0;\n"
                              "wgmma.fence.sync.aligned;\n";
constexpr const char *end = "wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n}";

void WarpGroups::multiplyNow(MutableArrayRef<Results> sums, Value rowsAt, const Layout &ofRows,
                             Value columnsAt, const Layout &ofColumns, ArrayRef<Product> products) {
  size_t count = sums.size() * 4;
  std::string text = start, all = numbered(0, count);
  for (const Product &product : products) {
    text += moveBy("left", count, product.rowsFurther);
    text += moveBy("right", count + 1, product.columnsFurther);
    text += nameOf(unsigned(sums.size()) * 8) + " " + all + ", left, right, " +
            (&product == products.begin() ? "adds" : "yes") + ", 1, 1, " +
            (ofRows.alongDepth ? "0, " : "1, ") + (ofColumns.alongDepth ? "0" : "1") + ";\n";
  }
  runOn(sums, text + end, {rowsAt, columnsAt}, true);
}

void WarpGroups::multiplyNow(MutableArrayRef<Results> sums, ArrayRef<MatrixUnits::Fragment> rows,
                             Value columnsAt, const Layout &ofColumns, ArrayRef<Product> products) {
  size_t count = sums.size() * 4, ofRows = 2 * count + 1;
  std::string text = start, all = numbered(0, count);
  SmallVector<Value> operands{columnsAt};
  for (auto [number, product] : llvm::enumerate(products)) {
    llvm::append_range(operands, rows[number]);
    text += moveBy("right", 2 * count, product.columnsFurther);
    text += nameOf(unsigned(sums.size()) * 8) + " " + all + ", " +
            numbered(ofRows + 4 * number, 4) + ", right, yes, 1, 1, " +
            (ofColumns.alongDepth ? "0" : "1") + ";\n";
  }
  runOn(sums, text + end, operands);
}

void WarpGroups::waitForAllBut(unsigned groups) {
  run("wgmma.wait_group.sync.aligned " + std::to_string(groups) + ";");
}

void WarpGroups::finish(MutableArrayRef<Results> sums) {
  runOn(sums, "wgmma.wait_group.sync.aligned 0;", {});
}

} // namespace kintsugi::targets
