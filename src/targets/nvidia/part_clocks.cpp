//===- part_clocks.cpp - When the parts of a launch are under way ---------===//

#include "targets/nvidia/part_clocks.h"

#include "targets/emit.h"
#include "targets/nvidia/inline_asm.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace kintsugi::targets {

/// Of a table, a part and a thread. Addresses are made where they are needed: one that is kept for
/// the end takes registers from all between.
static constexpr const char *begins = "{\n\t"
                                      ".reg .pred notes;\n\t"
                                      ".reg .b64 entry, now;\n\t"
                                      "setp.ne.u64 notes, $0, 0;\n\t"
                                      "setp.eq.and.u32 notes, $2, 0, notes;\n\t"
                                      "@!notes bra begun_${:uid};\n\t"
                                      "mad.wide.u32 entry, $1, 16, $0;\n\t"
                                      "mov.u64 now, %globaltimer;\n\t"
                                      "not.b64 now, now;\n\t"
                                      "red.relaxed.gpu.global.max.u64 [entry], now;\n"
                                      "begun_${:uid}:\n\t"
                                      "}";
static constexpr const char *ends = "{\n\t"
                                    ".reg .pred notes;\n\t"
                                    ".reg .b64 entry, now;\n\t"
                                    "setp.eq.u32 notes, $2, 0;\n\t"
                                    "@!notes bra ended_${:uid};\n\t"
                                    "mad.wide.u32 entry, $1, 16, $0;\n\t"
                                    "mov.u64 now, %globaltimer;\n\t"
                                    "red.relaxed.gpu.global.max.u64 [entry+8], now;\n"
                                    "ended_${:uid}:\n\t"
                                    "}";

void PartClocks::note(const char *text) {
  Value number =
      arith::TruncIOp::create(builder, builder.getUnknownLoc(), builder.getI32Type(), part());
  emitAsm(builder, text, "l,r,r,~{memory}", {table, number, frame.thread});
}

void PartClocks::emitBegin() { note(begins); }

void PartClocks::emitEnd(int64_t count) {
  Emit make(builder);
  Value isAsked = make.lessUnsigned(make.integer(builder.getI64Type(), 0), table);
  auto asked = scf::IfOp::create(builder, make.location, isAsked, false);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(asked.thenBlock());
  emitBlockWait(builder, count);
  note(ends);
}

} // namespace kintsugi::targets
