// The code of a matrix product: accumulators stay in registers, each row's element is broadcast once
// and meets all columns, and nothing is called.
// RUN: tile-opt asm x86-64-v4 < %s | FileCheck %s
// RUN: tile-opt llvm x86-64-v4 < %s | FileCheck %s --check-prefix=IR

// IR: define internal void @product.tile(ptr noalias %0, ptr noalias %1, ptr noalias %2
// IR: call <16 x float> @llvm.fma.v16f32
// IR: define void @product(ptr %0, i64 %1, i64 %2, ptr %3, ptr %4)

// CHECK-LABEL: product.tile:
// CHECK: vbroadcastss
// CHECK: vmovups {{.*}}, %zmm
// CHECK: vmovups {{.*}}, %zmm
// CHECK-NEXT: vfmadd
// CHECK-NEXT: vfmadd
// CHECK-NEXT: vbroadcastss
// CHECK-NEXT: vfmadd
// CHECK-NEXT: vfmadd
// CHECK-NOT: (%rsp)
// CHECK-NOT: vfmadd
// CHECK-NOT: call
// CHECK: retq
tile.kernel @product over [64] by [64] scratch 0 {
^bb0(%a: memref<1536xf32>, %b: memref<1536xf32>, %c: memref<4096xf32>, %tile: index):
  tile.compute over [64, 64] reduce [24] by sum
      with <vector = 1, lanes = 16, vectors = 2, row = 0, rows = 2, unroll = 0>
      into %c[affine_map<(d0, d1) -> (d0 * 64 + d1)>] () : memref<4096xf32> {
  ^bb0(%i: index, %j: index, %k: index):
    %x = tile.read %a[affine_map<(d0, d1) -> (d0 * 24 + d1)>] (%i, %k) : memref<1536xf32> -> f32
    %y = tile.read %b[affine_map<(d0, d1) -> (d0 * 64 + d1)>] (%k, %j) : memref<1536xf32> -> f32
    %p = arith.mulf %x, %y : f32
    tile.yield %p : f32
  } epilogue {
  ^bb0(%i: index, %j: index, %sum: f32):
    tile.yield %sum : f32
  }
}
