#include "testing.h"

namespace kintsugi::te {
namespace {

struct Case {
  const char *text;
  const char *message; ///< After the file's name.
};

class ParseError : public testing::TestWithParam<Case> {};

TEST_P(ParseError, NamesPlaceReasonAndExpectation) {
  auto program = parseProgram(GetParam().text, "bad.te");
  ASSERT_FALSE(program.ok());
  EXPECT_EQ(program.error().kind, ErrorKind::Input);
  EXPECT_EQ(program.error().message, std::string("bad.te:") + GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    Words, ParseError,
    testing::Values(
        Case{"input x[4] f32\ny[i:4] f32 = ",
             "2:14: unexpected end of the text; expected an expression"},
        Case{"input x[4] f32 $", "1:16: unexpected character '$'"},
        Case{"input x[4] f32 \x01", "1:16: unexpected character '\\x01'"},
        Case{"input \"x[4] f32\n", "1:7: a quoted name is not closed on its line; expected '\"'"},
        Case{"input \"x\\q\"[4] f32\n", "1:9: unknown escape in a quoted name; expected one of "
                                        "\\\" \\\\ \\n \\t or \\x and two hexadecimal digits"},
        Case{"input else[4] f32",
             "1:7: 'else' is a word of the language; expected a statement: input, const, output or "
             "the name of a result (a name of this spelling must be quoted)"},
        Case{"program 7", "1:9: unexpected '7'; expected the program's name"}));
INSTANTIATE_TEST_SUITE_P(
    Heads, ParseError,
    testing::Values(
        Case{"input x[4 f32", "1:11: unexpected 'f32'; expected ','"},
        Case{"input x[4] f33", "1:12: unexpected 'f33'; expected an element type such as f32"},
        Case{"input x[-4] f32", "1:9: unexpected '-'; expected an extent or an iterator"},
        Case{"input x[4.5] f32", "1:9: '4.5' is not usable here; expected an extent, an integer "
                                 "from 0 to 1099511627776"},
        Case{"input x[99999999999999999999] f32",
             "1:9: '99999999999999999999' is not usable here; expected an extent, an integer from "
             "0 to 1099511627776"},
        Case{"input x[1000000000, 1000000000, 1000000000] f32",
             "1:7: 'x' has more elements than memory can ever hold"},
        Case{"input x[] f32 input x[] f32",
             "1:21: 'x' is already defined; expected a name of its own"},
        Case{"input x[] f32 facts(wide)",
             "1:21: unexpected 'wide'; expected a fact: low=, high=, no_nan or finite"},
        Case{"input x[] f32 facts(low=y)", "1:25: unexpected 'y'; expected an element of type f64"},
        Case{"y[4] f32 = 3", "1:3: a definition names its iterators; expected name:extent"},
        Case{"y[i:4, i:4] f32 = 3", "1:8: there are two iterators 'i'; expected different names"},
        Case{"y[i:4] f32 = sum<f32>[i:4] 3",
             "1:23: there are two iterators 'i'; expected different names"},
        Case{"(y[i:4] f32, y[i:4] f32) = softmax_stats<f32>[k:4] 3",
             "1:14: 'y' is already defined; expected a name of its own"},
        Case{"(y[i:4] f32, z[j:4] f32) = softmax_stats<f32>[k:4] 3",
             "1:14: 'z' has other iterators than 'y'; expected the same"},
        Case{"y[i:4] f32 = softmax_stats<f32>[k:4] 3",
             "1:14: the expression gives another number of results than there are names for; "
             "expected as many"},
        Case{"y[i:1000000000] f32 = sum<f32>[j:1000000000, k:1000000000] 3",
             "1:23: the reduction has more steps than can ever be computed"},
        Case{"y[i:4] f32 = sum<bool>[k:4] true",
             "1:1: 'y' reduces in a type that its combiner is not defined for"},
        Case{"y[i:4] f32 = 3 @conv",
             "1:17: unexpected 'conv'; expected the quoted name of an original node"}));
INSTANTIATE_TEST_SUITE_P(
    ConstantsAndOutputs, ParseError,
    testing::Values(
        Case{"const k[2] f32 = 3", "1:18: unexpected '3'; expected weights(\"name\") or [values]"},
        Case{"const k[2] f32 = [3]", "1:18: 1 values are given; expected 2"},
        Case{"const k[2] f32 = [3, 4, 5]", "1:18: 3 values are given; expected 2"},
        Case{"const k[2] i8 = [3, 400]", "1:21: unexpected '400'; expected an element of type i8"},
        Case{"const k[2] i8 = [3, 1.5]", "1:21: unexpected '1.5'; expected an element of type i8"},
        Case{"const k[2] f16 = [3, 1e6]",
             "1:22: unexpected '1e6'; expected an element of type f16"},
        Case{"const k[2] bool = [true, 1]",
             "1:26: unexpected '1'; expected an element of type bool"},
        Case{"const k[1] str = [1]",
             "1:18: values of type str can't be written; expected weights(\"name\")"},
        Case{"const k[2] f32 = weights(name)", "1:26: unexpected 'name'; expected a quoted name"},
        Case{"output y", "1:8: 'y' is not defined; expected a tensor that is defined above"},
        Case{"input x[] f32 output x output x as x",
             "1:36: there is already an output 'x'; expected a name of its own"},
        Case{"input x[] f32 output x as 5", "1:27: unexpected '5'; expected the output's name"}));
INSTANTIATE_TEST_SUITE_P(
    Expressions, ParseError,
    testing::Values(
        Case{"y[i:4] f32 = x[i]",
             "1:14: 'x' is not defined; expected a tensor that is defined above"},
        Case{"y[i:4] f32 = j", "1:14: 'j' is no iterator here; expected one of the definition's "
                               "iterators, or '[' after a tensor's name"},
        Case{"y[i:4] f32 = foo(3)",
             "1:14: 'foo' is no function; expected one such as exp, max or isnan, or a type"},
        Case{"input x[4] f32 y[i:4] f32 = x[i, i]", "1:29: 'x' is read with 2 indices; expected 1"},
        Case{"input x[4] f32 y[i:4] f32 = x[i+1]",
             "1:16: definition of 'y' reads 'x' outside of its extents without a fill"},
        Case{"input x[4] f32 y[i:4] f32 = (x[i+1] | true)",
             "1:39: this has type bool; expected f32 (convert it by f32(...))"},
        Case{"input x[4] f32 y[i:4] f32 = (x[i] + 1 | 0)",
             "1:29: only a read can have a fill; expected (tensor[...] | fill)"},
        Case{"input x[4] f32 y[i:4] i64 = x[i]",
             "1:29: this has type f32; expected i64 (convert it by i64(...))"},
        Case{"input x[4] f32 y[i:4] f32 = x[i] + i64(3)",
             "1:40: this has type i64; expected f32 (convert it by f32(...))"},
        Case{"input x[4] f32 y[i:4] bool = x[i] < 3 < 4",
             "1:39: comparisons don't chain; expected 'and' between them"},
        Case{"y[i:4] i64 = 3.5", "1:14: '3.5' is no i64; expected a number that fits the type"},
        Case{"y[i:4] bool = 3", "1:15: '3' is no bool; expected true or false"},
        Case{"y[i:4] bool = i", "1:15: an index is a number; expected a bool"},
        Case{"y[i:4] f32 = exp(3", "1:19: unexpected end of the text; expected ')'"},
        Case{"y[i:4] f32 = max(3)", "1:19: unexpected ')'; expected ','"},
        Case{"y[i:4] i64 = exp(3)",
             "1:14: 'exp' of i64; expected operands of a type that it is defined for"},
        Case{"y[i:4] bool = true + false",
             "1:20: '+' of bool; expected operands of a type that it is defined for"},
        Case{"y[i:4] f32 = 3 and 4",
             "1:16: 'and' of f32; expected operands of a type that it is defined for"},
        Case{"y[i:4] f32 = cases { else: 3 }",
             "1:14: cases without a case; expected a condition before 'else'"},
        Case{"y[i:4] f32 = cases { i < 3: 3 else: 3 }", "1:31: unexpected 'else'; expected ';'"},
        Case{"y[i:4] f32 = cases { 3: 3; else: 3 }",
             "1:22: '3' is no bool; expected true or false"},
        Case{"input s[] str y[i:4] f32 = f32(s[])",
             "1:28: no conversion from str to f32; expected numbers or booleans"},
        Case{"y[i:4] f32 = 1e999", "1:14: '1e999' is no f32; expected a number that fits the type"},
        Case{"y[i:4] f32 = (3", "1:16: unexpected end of the text; expected ')'"}));
INSTANTIATE_TEST_SUITE_P(
    Indices, ParseError,
    testing::Values(
        Case{"input x[4] f32 y[i:4] f32 = x[i*i]",
             "1:32: an index multiplies two iterators or reads; expected a constant on one side"},
        Case{"input x[4] f32 y[i:4] f32 = x[i//0]",
             "1:34: '0' is not usable here; expected a positive divisor, an integer from 1 to "
             "1099511627776"},
        Case{"input x[4] f32 y[i:4] f32 = x[i%j]",
             "1:33: unexpected 'j'; expected a positive divisor"},
        Case{"input x[4] f32 y[i:4] f32 = x[j]",
             "1:31: 'j' is no iterator here; expected one of the definition's iterators"},
        Case{"input x[4] f32 y[i:4] f32 = x[1.5]", "1:31: '1.5' is not usable here; expected an "
                                                   "index, an integer from 0 to 1099511627776"},
        Case{"input x[4] f32 y[i:4] f32 = x[{x[i]}]",
             "1:31: an index of type f32; expected an integer"},
        Case{"input x[4] f32 y[i:4] f32 = x[x[i]]",
             "1:31: an index of type f32; expected an integer"},
        Case{"input x[4] f32 y[i:4] f32 = x[i*1099511627776*2]",
             "1:46: a number of the index is too large; expected at most 1099511627776"},
        Case{"input x[4] f32 y[i:4] f32 = x[1099511627776*(1099511627776*i)]",
             "1:44: a number of the index is too large; expected at most 1099511627776"},
        Case{"input x[4] f32 y[i:4] f32 = x[i+1099511627776+1]",
             "1:46: a number of the index is too large; expected at most 1099511627776"},
        Case{"input x[4] f32 y[i:4] f32 = x[(i]", "1:33: unexpected ']'; expected ')'"}));
INSTANTIATE_TEST_SUITE_P(
    ScansAndCalls, ParseError,
    testing::Values(
        Case{"y[4] f32 = call (x)", "1:17: unexpected '('; expected the name of an operation"},
        Case{"y[4] f32 = call f(x)",
             "1:19: 'x' is not defined; expected a tensor that is defined above"},
        Case{"y[4] f32 = call f() {\"a\": }",
             "1:21: attributes: not valid JSON at line 1, column 7"},
        Case{"y[4] f32 = call f() {\"a\": ", "1:21: the attributes are not closed; expected '}'"},
        Case{"input x[4] f32 y[4] f32 = call f(x)", "1:16: calls 'f', which is no operation"},
        Case{"input x[4] f32 y[4] f32 = call TopK(x)",
             "1:16: 'TopK': JSON member \"k\" is missing"},
        Case{"input x[4] f32 y[4] f32 = call TopK(x) {\"k\":4}",
             "1:16: 'TopK' gives results of other types or shapes than declared"},
        Case{"y[4] f32 = scan[-1]", "1:17: unexpected '-'; expected how often it runs"},
        Case{"y[4] f32 = scan[2] {", "1:20: unexpected '{'; expected carry(...)"},
        Case{"y[4] f32 = scan[2] carry() {", "1:28: unexpected '{'; expected capture(...)"},
        Case{"y[4] f32 = scan[2] carry() capture() { input s[] i64 a[i:4] f32 = 3 output a",
             "1:77: unexpected end of the text; expected '}'"},
        Case{"y[4] f32 = scan[2] carry() capture() { input s[] i64 a[i:4] f32 = 3 }",
             "1:16: the scan's body has 0 outputs for 1 results; expected one for each, the "
             "carried first"},
        Case{"y[4] f32 = scan[2] carry() capture() { input s[] i64 a[i:4] f32 = 3 output a }",
             "1:1: 'y' is declared as another type or shape than the scan gives; expected f32[2, "
             "4]"},
        Case{"y[2, 4] f32 = scan[2] carry() capture() { input s[] i32 a[i:4] f32 = 3 output a }",
             "1:1: a scan's first input 's' must be an i64 of rank 0"},
        Case{"input h[3] f32 y[4] f32 = scan[2] carry(h) capture() { input s[] i64 input h[3] f32 "
             "a[i:4] f32 = 3 output a }",
             "1:16: a scan carries 'h' on as another type or shape"},
        Case{"input h[4] f32 y[4] f32 = scan[2] carry(h) capture() { input s[] i64 input h[3] f32 "
             "a[i:4] f32 = 3 output a }",
             "1:16: a scan's input 'h' has another type or shape than 'h'"},
        Case{"input h[4] f32 y[4] f32 = scan[2] while 1 carry(h) capture() {",
             "1:41: unexpected '1'; expected true or false"},
        Case{"input h[4] f32 y[4] f32 = scan[2] while true carry(h) capture() {",
             "1:31: what a scan goes on by is no boolean; expected a bool[] as the first that it "
             "carries"},
        Case{"input h[] bool y[] bool = scan[2] while false carry(h) capture() {",
             "1:31: a scan of several steps goes on while true"},
        Case{"}", "1:1: unexpected '}'; expected a statement: input, const, output or the name of "
                  "a result"}));

} // namespace
} // namespace kintsugi::te
