#include "targets/nvidia/inline_asm.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

namespace kintsugi::targets {

void emitAsm(OpBuilder &builder, const char *text, const char *constraints, ValueRange operands) {
  auto dialect = LLVM::AsmDialectAttr::get(builder.getContext(), LLVM::AsmDialect::AD_ATT);
  LLVM::InlineAsmOp::create(builder, builder.getUnknownLoc(), TypeRange(), operands, text,
                            constraints, /*has_side_effects=*/true, /*is_align_stack=*/false,
                            LLVM::tailcallkind::TailCallKind::None, dialect, ArrayAttr());
}

} // namespace kintsugi::targets
