// What is printed parses and prints the same.
// RUN: tile-opt < %s > %t.first && tile-opt < %t.first > %t.second && diff %t.first %t.second
// RUN: FileCheck %s < %t.first

// CHECK: #[[ROW:.*]] = affine_map<(d0, d1) -> (d0 * 8 + d1)>
// CHECK: tile.kernel @softmax_sums over [10, 3] by [4, 3] scratch 64
// CHECK: tile.origin %{{.*}} in 0
// CHECK: tile.scratch at 0 : memref<4xf32, 1>
// CHECK: tile.compute over [4] reduce [8] by softmax_stats
// CHECK-SAME: <vector = 1, lanes = 4, vectors = 2, row = 0, rows = 2, unroll = 0>
// CHECK: tile.read %{{.*}}[#[[ROW]]]
// CHECK: epilogue
// CHECK: tile.index
// CHECK: tile.read {{.*}} if %{{.*}} : memref<80xf32> -> f32
tile.kernel @softmax_sums over [10, 3] by [4, 3] scratch 64 {
^bb0(%x: memref<80xf32>, %y: memref<10xf32>, %tile: index, %other: index):
  %origin = tile.origin %tile in 0
  %sums = tile.scratch at 0 : memref<4xf32, 1>
  tile.compute over [4] reduce [8] by softmax_stats
      with <vector = 1, lanes = 4, vectors = 2, row = 0, rows = 2, unroll = 0>
      into %sums, %y[affine_map<(d0, d1) -> (d0)>] (%origin) : memref<4xf32, 1>, memref<10xf32> {
  ^bb0(%i: index, %k: index):
    %e = tile.read %x[affine_map<(d0, d1) -> (d0 * 8 + d1)>] (%i, %k) : memref<80xf32> -> f32
    tile.yield %e : f32
  } epilogue {
  ^bb0(%i: index, %m: f32, %s: f32):
    tile.yield %m, %s : f32, f32
  }
  tile.compute over [4] reduce []
      with <vector = -1, lanes = 1, vectors = 1, row = -1, rows = 1, unroll = 0>
      into %y[affine_map<(d0, d1) -> (d0 + d1)>] (%origin) : memref<10xf32> {
  ^bb0(%i: index):
    %n = tile.index [affine_map<(d0, d1) -> ((d0 + d1) mod 4)>] (%i, %origin) : i32
    %two = arith.constant 2 : i32
    %mask = arith.cmpi slt, %n, %two : i32
    %e = tile.read %x[affine_map<(d0) -> (d0 floordiv 2)>] (%i) if %mask : memref<80xf32> -> f32
    %p = math.exp %e : f32
    tile.yield %p : f32
  } epilogue {
  }
}

// A nest over blocks that a table lists.
// CHECK: tile.kernel @ragged over [4] by [1]
// CHECK: %[[END:.*]] = tile.read {{.*}} : memref<4xi32> -> i32
// CHECK: tile.compute over [8] reduce [5, 8] by sum
// CHECK-SAME: bounded [1] by %{{.*}}, %[[END]] : i64, i32 {
tile.kernel @ragged over [4] by [1] scratch 0 {
^bb0(%x: memref<1280xf32>, %count: memref<4xi32>, %y: memref<32xf32>, %tile: index):
  %origin = tile.origin %tile in 0
  %zero = arith.constant 0 : i64
  %end = tile.read %count[affine_map<(d0) -> (d0)>] (%origin) : memref<4xi32> -> i32
  tile.compute over [8] reduce [5, 8] by sum
      with <vector = 0, lanes = 8, vectors = 1, row = -1, rows = 1, unroll = 0>
      into %y[affine_map<(d0, d1) -> (d0 + d1 * 8)>] (%origin) : memref<32xf32>
      bounded [1] by %zero, %end : i64, i32 {
  ^bb0(%i: index, %b: index, %c: index):
    %e = tile.read %x[affine_map<(d0, d1, d2, d3) -> (d3 * 320 + d1 * 64 + d2 * 8 + d0)>]
        (%i, %b, %c, %origin) : memref<1280xf32> -> f32
    tile.yield %e : f32
  } epilogue {
  ^bb0(%i: index, %s: f32):
    tile.yield %s : f32
  }
}
