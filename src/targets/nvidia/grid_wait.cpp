//===- grid_wait.cpp - Until all blocks of a launch are here --------------===//

#include "targets/nvidia/grid_wait.h"

#include "targets/nvidia/inline_asm.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace kintsugi::targets {

/// The blocks add up to 2^31, so that the last one turns the highest bit; each goes on when the bit
/// is not what it was when the block came.
static constexpr const char *meeting = "{\n\t"
                                       ".reg .pred last, same;\n\t"
                                       ".reg .b32 block, blocks, part, before, now;\n\t"
                                       "mov.u32 block, %ctaid.x;\n\t"
                                       "mov.u32 blocks, %nctaid.x;\n\t"
                                       "setp.eq.u32 last, block, 0;\n\t"
                                       "sub.u32 part, 0x80000001, blocks;\n\t"
                                       "selp.u32 part, part, 1, last;\n\t"
                                       "atom.add.release.gpu.global.u32 before, [$0], part;\n"
                                       "again_${:uid}:\n\t"
                                       "ld.acquire.gpu.global.u32 now, [$0];\n\t"
                                       "xor.b32 now, now, before;\n\t"
                                       "setp.ge.s32 same, now, 0;\n\t"
                                       "@same bra again_${:uid};\n\t"
                                       "}";

static Value special(OpBuilder &builder, const char *name) {
  Emit make(builder);
  Value number = LLVM::CallIntrinsicOp::create(builder, make.location, builder.getI32Type(),
                                               builder.getStringAttr(name), ValueRange())
                     .getResults();
  return arith::ExtUIOp::create(builder, make.location, builder.getI64Type(), number);
}

void emitPrefetch(OpBuilder &builder, const BlockFrame &frame, Value address, int64_t bytes) {
  constexpr int64_t line = 128, unit = 16;
  bytes = bytes / unit * unit;
  if (bytes == 0)
    return;
  Emit make(builder);
  Type i64 = builder.getI64Type(), i32 = builder.getI32Type();
  auto number = [&](int64_t value) { return make.integer(i64, value); };
  Value blocks = special(builder, "llvm.nvvm.read.ptx.sreg.nctaid.x");
  Value lines = make.add(blocks, number((bytes + line - 1) / line - 1));
  Value part =
      make.mul(arith::DivUIOp::create(builder, make.location, lines, blocks), number(line));
  Value begin = make.mul(special(builder, "llvm.nvvm.read.ptx.sreg.ctaid.x"), part);
  Value asks = make.bitAnd(make.equal(frame.thread, make.integer(i32, 0)),
                           make.lessUnsigned(begin, number(bytes)));
  auto choice = scf::IfOp::create(builder, make.location, asks, false);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(choice.thenBlock());
  Value left = make.sub(number(bytes), begin);
  Value size = make.select(make.lessUnsigned(left, part), left, part);
  Value place = LLVM::GEPOp::create(builder, make.location, address.getType(), builder.getI8Type(),
                                    address, ArrayRef<LLVM::GEPArg>(begin));
  emitAsm(builder, "cp.async.bulk.prefetch.L2.global [$0], $1;", "l,r",
          {place, arith::TruncIOp::create(builder, make.location, i32, size)});
}

void emitGridWait(OpBuilder &builder, const BlockFrame &frame, Value counter) {
  Emit make(builder);
  emitBlockWait(builder);
  Value isFirst = make.equal(frame.thread, make.integer(builder.getI32Type(), 0));
  auto choice = scf::IfOp::create(builder, make.location, isFirst, false);
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(choice.thenBlock());
    emitAsm(builder, meeting, "l,~{memory}", counter);
  }
  emitBlockWait(builder);
}

} // namespace kintsugi::targets
