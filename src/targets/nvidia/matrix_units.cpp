#include "targets/nvidia/matrix_units.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

namespace kintsugi::targets {

static Type pointerTo(OpBuilder &builder, unsigned space) {
  return LLVM::LLVMPointerType::get(builder.getContext(), space);
}

void MatrixUnits::call(const char *name, ValueRange operands) {
  LLVM::CallIntrinsicOp::create(make.builder, make.location, make.builder.getStringAttr(name),
                                operands);
}

std::array<Value, 4> MatrixUnits::callForFour(const char *name, Type each, ValueRange operands) {
  auto type = LLVM::LLVMStructType::getLiteral(make.builder.getContext(), {each, each, each, each});
  Value all = LLVM::CallIntrinsicOp::create(make.builder, make.location, type,
                                            make.builder.getStringAttr(name), operands)
                  .getResults();
  std::array<Value, 4> values;
  for (unsigned k = 0; k < 4; ++k)
    values[k] = LLVM::ExtractValueOp::create(make.builder, make.location, all, k);
  return values;
}

Value MatrixUnits::sharedPointer(Value generic) {
  return LLVM::AddrSpaceCastOp::create(make.builder, make.location, pointerTo(make.builder, 3),
                                       generic);
}

Value MatrixUnits::atByte(Value pointer, Value offset) {
  return LLVM::GEPOp::create(make.builder, make.location, pointer.getType(),
                             make.builder.getI8Type(), pointer, ArrayRef<LLVM::GEPArg>(offset));
}

Value MatrixUnits::atByte(Value pointer, int64_t offset) {
  return offset == 0 ? pointer : atByte(pointer, make.integer(make.builder.getI32Type(), offset));
}

void MatrixUnits::copy(Value shared, Value memory, Value bytes) {
  memory = LLVM::AddrSpaceCastOp::create(make.builder, make.location, pointerTo(make.builder, 1),
                                         memory);
  if (bytes)
    call("llvm.nvvm.cp.async.cg.shared.global.16.s", {shared, memory, bytes});
  else
    call("llvm.nvvm.cp.async.cg.shared.global.16", {shared, memory});
}

void MatrixUnits::commit() { call("llvm.nvvm.cp.async.commit.group", {}); }

void MatrixUnits::waitForAllBut(unsigned groups) {
  call("llvm.nvvm.cp.async.wait.group", make.integer(make.builder.getI32Type(), groups));
}

MatrixUnits::Fragment MatrixUnits::load(Value shared, bool transposed) {
  return callForFour(transposed ? "llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.trans.b16"
                                : "llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.b16",
                     make.builder.getI32Type(), shared);
}

Value MatrixUnits::fromNeighbour(Value word, int64_t bit) {
  Type i32 = make.builder.getI32Type();
  Value all = make.integer(i32, -1), last = make.integer(i32, 31);
  return LLVM::CallIntrinsicOp::create(make.builder, make.location, i32,
                                       make.builder.getStringAttr("llvm.nvvm.shfl.sync.bfly.i32"),
                                       ValueRange{all, word, make.integer(i32, bit), last})
      .getResults();
}

MatrixUnits::Results MatrixUnits::multiply(const Fragment &rows, const Fragment &columns,
                                           bool second, const Results &results) {
  SmallVector<Value> operands(rows.begin(), rows.end());
  operands.push_back(columns[2 * second]);
  operands.push_back(columns[2 * second + 1]);
  if (element.isF16()) { // As pairs; the other type's are plain bits.
    auto pair = VectorType::get({2}, element);
    for (Value &operand : operands)
      operand = LLVM::BitcastOp::create(make.builder, make.location, pair, operand);
  }
  operands.append(results.begin(), results.end());
  return callForFour(element.isF16() ? "llvm.nvvm.mma.m16n8k16.row.col.f32.f32"
                                     : "llvm.nvvm.mma.m16n8k16.row.col.bf16",
                     make.builder.getF32Type(), operands);
}

} // namespace kintsugi::targets
