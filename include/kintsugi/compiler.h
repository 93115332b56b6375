/*===- kintsugi/compiler.h - Compiling models, in plain C -----------------===*/
/*
 * The compiler's interface. What it makes, kintsugi/runtime.h runs:
 *
 *   KinCompilerOptions options = {sizeof(options), "{\"dims\": {\"batch\": 8}}", NULL, NULL};
 *   KinError *error = NULL;
 *   if (kin_compile("model.onnx", "model.kin", &options, NULL, &error) != KIN_OK)
 *     ... kin_error_message(error) ...
 *
 * A model is an ONNX file or, where its name ends in ".te", the compiler's own text form. Options
 * are one JSON object; a key that is not known is a usage error:
 *
 *   "target"          "cpu" (default), "cuda" ("cuda:N": run on device N), or "reference": each
 *                     definition alone, in f64
 *   "precision"       "f32", "f16" or "bf16": what f32 values may be rounded to
 *   "plan"            "search" (default), "greedy", "separate" or "exhaustive"
 *   "disable"         what not to do: names that kin_rules() lists, "fission,winograd"
 *   "dims"            {"NAME": N}: extents of open dimensions
 *   "bind"            {"INPUT": "FILE.npz"}: inputs whose value is known now
 *   "random_weights"  true: weights whose file is missing are made from their names
 *   "cpu_level"       "v3", "v4" or "native": the instructions of the code, by x86-64's levels; by
 *                     default kin_compile() writes code for both, and the rest compile for this
 *                     machine
 *   "threads"         how many threads may work; 0 (default) for one on each core
 *   "tune"            so many seconds may be spent on measuring schedules of kernels; what is found
 *                     is kept in the cache's folder, for all models
 *   "timeout"         how many seconds compiling may take; no limit by default
 *   "max_memory"      how many bytes compiling may take; by default all that the machine has
 *   "cubins"          true: beside its PTX, code for GPUs is there as NVIDIA's ptxas assembles it
 *                     (where it is installed)
 *   "calibrate"       "FEEDS.npz": with "precision" "f16", and with "max_error", the inputs on
 *                     which the model is run while it is compiled; made-up ones otherwise
 *   "max_error"       with "precision" "f16" or "bf16": what would move an output of floats by more
 *                     than this share of its largest number, as a whole or in a slice, is kept in
 *                     f32; more than 0, at most 1
 *   "alternatives"    N: what kin_explain() tells of N kernels that were not chosen is their price,
 *                     which takes a solution of the problem for each; 0 (default) for none
 *   "cache"           false: neither look into the cache of artifacts nor add to it
 *
 * Models are compiled by processes of the program `kintsugi`, which has to be in the folder of the
 * library that holds this interface, or in ../bin from there. So whatever a model does to the
 * compiler, the caller goes on: a crash is KIN_INTERNAL, and the message names a folder with what
 * reproduces it; too little time or memory is KIN_MACHINE. These processes end with their host, and
 * need nothing of its signal handlers, except that somebody who waits for all children of the host
 * keeps it from saying how they ended.
 *
 * Functions here may be called from any thread. Results are JSON objects in UTF-8 unless said
 * otherwise; docs/command-line.md lists their fields.
 */
/*===----------------------------------------------------------------------===*/
#ifndef KINTSUGI_COMPILER_H
#define KINTSUGI_COMPILER_H

#include "kintsugi/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

/* "0.1.0" */
KIN_API const char *kin_compiler_version(void);

/*===- Results ------------------------------------------------------------===*/

typedef struct KinText KinText;

/* Ends in a zero byte; lives as long as the text. */
KIN_API const char *kin_text_data(const KinText *text);
KIN_API void kin_text_free(KinText *text);

/*===- Options ------------------------------------------------------------===*/

/* Told as a phase advances: the step it is at and how many there are (0 where that is not known);
   while a step takes long, again and again. Called from one thread at a time, which may not be the
   caller's. Returns 0 to ask the work to stop, which ends it with KIN_USAGE within a second. */
typedef int (*KinProgress)(void *user, const char *phase, uint64_t step, uint64_t steps);

typedef struct KinCompilerOptions {
  size_t struct_bytes; /* sizeof(KinCompilerOptions) */
  const char *json;    /* as above; NULL for {} */
  KinProgress progress;
  void *user;
} KinCompilerOptions;

/*===- Compiling ----------------------------------------------------------===*/
/* `options` may be NULL everywhere, and so may the address of a result that is not wanted. */

/* Compiles a model into a file, which appears when it is complete. The result reports about it. */
KIN_API KinStatus kin_compile(const char *model, const char *artifact,
                              const KinCompilerOptions *options, KinText **report,
                              KinError **error);

/* The text (no JSON) of a step on the way: "expressions", "derived", "space", "problem", "plan",
   "tile", "llvm" or "asm". */
KIN_API KinStatus kin_emit(const char *model, const char *box, const KinCompilerOptions *options,
                           KinText **text, KinError **error);

/* Makes sure that there is an artifact of the model, compiling it into the cache where it is not
   there yet. The report's "artifact" is its path. An artifact is its own. */
KIN_API KinStatus kin_prepare(const char *model, const KinCompilerOptions *options,
                              KinText **report, KinError **error);

/*===- Looking at models and running them ---------------------------------===*/
/* `model` may be an artifact too, save for kin_inspect and
   kin_survey. */

/* Inputs, outputs and operators, those that are not supported included, the dimensions that are
   open and the inputs whose value must be known ("needed_values"), and the model's size. */
KIN_API KinStatus kin_inspect(const char *model, const KinCompilerOptions *options,
                              KinText **report, KinError **error);

/* What each node of an ONNX file's own graph that the outputs need asks for, in their order:
   "nodes", an array of objects with "node" (its place in the graph, from 0), "name", "op",
   "operations" (of a run, a multiply-add is two), "bytes" (of what it makes), "refused", null
   or why it can't be compiled, and "needs", the inputs whose value it asks for where it is refused
   for that. Nodes behind a refused one are looked at as if what it makes were
   inputs, of the types and shapes that the model says; who reads what it says nothing of is refused
   too. */
KIN_API KinStatus kin_survey(const char *model, const KinCompilerOptions *options, KinText **report,
                             KinError **error);

/* Every kernel with the nodes that it serves, its expressions, and its predicted and measured
   time; and what the compiler decided, and why. */
KIN_API KinStatus kin_explain(const char *model, const KinCompilerOptions *options,
                              KinText **report, KinError **error);

/* Runs the model once. `inputs` is an .npz file with an array for each input, by name. Where it is
   NULL, values that depend on an input's name and shape alone stand in: floats uniform on
   [-1.73, 1.73), integers in [0, 100), booleans even. The outputs go to the .npz file `outputs`, or
   nowhere for NULL; the report summarizes them. Open dimensions that "dims" says nothing of have
   the sizes of these arrays, here and in the functions below that take `inputs`. */
KIN_API KinStatus kin_run_file(const char *model, const char *inputs, const char *outputs,
                               const KinCompilerOptions *options, KinText **report,
                               KinError **error);

/* Runs the model over and over for about so many seconds. */
KIN_API KinStatus kin_bench(const char *model, const char *inputs, double seconds,
                            const KinCompilerOptions *options, KinText **report, KinError **error);

/* Runs the model over and over, half of the seconds with each stage timed alone: where the time
   goes, by stage and by node of the model. One of these runs goes to the file `trace`, in the Trace
   Event Format that Perfetto opens, or nowhere for NULL. */
KIN_API KinStatus kin_profile(const char *model, const char *inputs, double seconds,
                              const char *trace, const KinCompilerOptions *options,
                              KinText **report, KinError **error);

/* Compares the model's outputs with those in the file `expected`, or where that is NULL with those
   of the target "reference". KIN_FAILED_COMPARISON where they differ by more than the error policy
   allows; there is a report then too. */
KIN_API KinStatus kin_compare(const char *model, const char *inputs, const char *expected,
                              const KinCompilerOptions *options, KinText **report,
                              KinError **error);

/* Compares what each generated kernel stored at its first launch with what the target "reference"
   makes of the same inputs of that kernel. KIN_FAILED_COMPARISON as above. */
KIN_API KinStatus kin_compare_kernels(const char *model, const char *inputs,
                                      const KinCompilerOptions *options, KinText **report,
                                      KinError **error);

/*===- Rules --------------------------------------------------------------===*/

/* An array of what the option "disable" names: "name", "kind" ("rule" or "switch"), "what" it does,
   the "targets" that it changes anything on; of a rule also its "exactness" ("bitwise" or
   "reassociates"), what of values it "assumes" to be finite, and its "source". */
KIN_API KinStatus kin_rules(KinText **rules, KinError **error);

/*===- Operators ----------------------------------------------------------===*/

/* What can be imported: an object with the "oldest" and the "newest" version of ONNX's operator set
   that a model may use, and an array "operators" of objects with "domain" ("": ONNX's own), "name",
   and "since": the versions of the set from which there is an entry, in order; each holds until the
   next. */
KIN_API KinStatus kin_operators(KinText **operators, KinError **error);

/*===- The machine and the cache ------------------------------------------===*/

/* The machine at hand, as the compiler sees it. "show" looks at it, "measure" measures for a few
   seconds what it sustains, which compiles use from then on, and "forget" goes back to what its
   processor suggests. */
KIN_API KinStatus kin_machine(const char *action, KinText **description, KinError **error);

/* "ls" lists what is in the cache, "clear" empties it, tuned schedules included, and "gc" removes
   what was not used for longest until at most `max_bytes` are left. */
KIN_API KinStatus kin_cache(const char *action, uint64_t max_bytes, KinText **report,
                            KinError **error);

#ifdef __cplusplus
}
#endif

#endif /* KINTSUGI_COMPILER_H */
