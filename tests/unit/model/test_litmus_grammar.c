/*
 * herd's grammar of litmus tests, form by form, as herdtools7 has it
 * (lib/splitter.mll, lib/stateParser.mly, lib/LISAParser.mly, lib/scopeRules.mly
 * and lib/CParser.mly): what each form is judged as, or the sentence that names
 * what is not read, and says what to write.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "model/memory/language/litmus.h"
#include "model/memory/witness.h"

enum { READ = 118, REFUSED = 55, IN_OTHER_LANGUAGES = 26 };

typedef struct form {
	const char *name, *text;
	/* herd's line "Ok", its observation and the final states with and without; or where and why
	 * it is refused, which begins with a digit */
	const char *answer;
} form_t;

#define MP " w[rlx,system] x 1 | r[acq,system] r0 y ;\n w[rel,system] y 1 | r[rlx,system] r1 x ;\n"
#define TREE "scopes: (system (agent 0) (agent 1))\n"
#define ASK "exists (1:r0=1 /\\ 1:r1=0)"
#define NEVER "No Never 0 3"
#define ALWAYS "Ok Always 1 0"

#define TEST(state, code, question) "LISA T\n{ " state " }\n P0 | P1 ;\n" code TREE question
#define TOP(top) top "{ }\n P0 | P1 ;\n" MP TREE ASK
#define STATE(state, question) TEST(state, "", question)
#define CODE(code, question) TEST("", code, question)
#define ASKED(question) TEST("", MP, question)
#define PLACED(names, tree) "LISA T\n{ }\n" names MP tree ASK

static const form_t frames[] = {
	{"a name", TOP("LISA T\n"), NEVER},
	{"the file's name", TOP("LISA --\n"), NEVER},
	{"a name of odd characters", TOP("LISA 2+MP-rel.acq/x[wg]:a_1\n"), NEVER},
	{"a name for TeX", TOP("LISA T (MP-1)\n"), NEVER},
	{"a sentence behind the name", TOP("LISA T \"a sentence\"\n"), NEVER},
	{"a sentence on a line", TOP("LISA T\n\"a sentence\"\n"), NEVER},
	{"a sentence with a semicolon", TOP("LISA T\n\"a sentence\" ;\n"), NEVER},
	{"a sentence on two lines", TOP("LISA T\n\"a\nsentence\"\n"),
	 "2:1: a sentence ends with '\"' on the line where it begins"},
	{"Key=value", TOP("LISA T\nCom=Rf Fr\nOrig = PodWW Rfe\n"), NEVER},
	{"a key of odd characters", TOP("LISA T\nPre-fetch.1/x=0:x=F,1:y=T\n"), NEVER},
	{"a line of text", TOP("LISA T\nsome words\n"),
	 "2:1: this line is no Key=value, no sentence in quotes and not '{': make it a comment, "
	 "(* ... *)"},
	{"a comment", TOP("(* a (* nested *) one *)\nLISA T (* of\n two lines *)\n"), NEVER},
};

static const form_t states[] = {
	{"x=1", STATE("x=1", "exists x=1"), ALWAYS},
	{"x", STATE("x; y=1", "exists (x=0 /\\ y=1)"), ALWAYS},
	{"[x]=1", STATE("[x]=1", "exists x=1"), ALWAYS},
	{"a semicolon at the end", STATE("x=1;", "exists x=1"), ALWAYS},
	{"a semicolon alone", STATE(";", "exists x=0"), ALWAYS},
	{"a number below zero", STATE("x=-7", "exists x=-7"), ALWAYS},
	{"a hexadecimal number", STATE("x=0x1F", "exists x=31"), ALWAYS},
	{"a name of odd characters",
	 STATE("x.y=1; x-y=2; x/y=3; _x=4", "exists (x.y=1 /\\ x-y=2 /\\ x/y=3/\\_x=4)"), ALWAYS},
	{"0:r0=1", STATE("0:r0=1", "exists 0:r0=1"), ALWAYS},
	{"P0:r0=1", STATE("P0:r0=1", "exists 0:r0=1"), ALWAYS},
	{"0:r0=x", STATE("0:r0=x", "exists 0:r0=x"), ALWAYS},
	{"0:r0=&x", STATE("0:r0=&x", "exists 0:r0=x"), ALWAYS},
	{"0:%a=1", STATE("0:%a=1", "exists 0:%a=1"), ALWAYS},
	{"%a=1", STATE("%a=1", "exists true"),
	 "2:3: a register belongs to a thread, which stands before it, as in 0:%a"},
	{"0:$a=1", STATE("0:$a=1", "exists true"),
	 "2:5: '$' begins no name here: a register is called r0 or %a, and a location x"},
	{"int x", STATE("int x", "exists x=0"), ALWAYS},
	{"int x=1", STATE("int x=1", "exists x=1"), ALWAYS},
	{"int [x]=1", STATE("int [x]=1", "exists x=1"), ALWAYS},
	{"uint64_t x=1", STATE("uint64_t x=1", "exists x=1"), ALWAYS},
	{"int8_t 0:r0=1", STATE("int8_t 0:r0=1", "exists 0:r0=1"), ALWAYS},
	{"_Atomic int x", STATE("_Atomic int x", "exists x=0"), ALWAYS},
	{"_Atomic int x=1", STATE("_Atomic int x=1", "exists x=1"), ALWAYS},
	{"int x=ATOMIC_INIT(1)", STATE("int x = ATOMIC_INIT(1)", "exists x=1"), ALWAYS},
	{"int *p", STATE("int *p", "exists p=0"), ALWAYS},
	{"int *p=x", STATE("int *p=x", "exists p=x"), ALWAYS},
	{"int *p=&x", STATE("int *p=&x", "exists p=x"), ALWAYS},
	{"*p", STATE("*p", "exists p=0"), ALWAYS},
	{"*p=&x", STATE("*p=&x", "exists p=x"), ALWAYS},
	{"int *0:r0=x", STATE("int *0:r0=x", "exists 0:r0=x"), ALWAYS},
	{"int a[2]", STATE("int a[2]", "exists (a[0]=0 /\\ a[1]=0)"), ALWAYS},
	{"int a[2]={1,2}", STATE("int a[2]={1,2}", "exists (a[0]=1 /\\ a[1]=2)"), ALWAYS},
	{"an array of addresses", STATE("long a[2]={x,y}", "exists (a[0]=x /\\ a[1]=y)"), ALWAYS},
	{"0:r0=a[1]", STATE("int a[2]; 0:r0=a[1]", "exists 0:r0=a[1]"), ALWAYS},
	{"int *p=&a[1]", STATE("int a[2]; int *p=&a[1]", "exists p=a[1]"), ALWAYS},
	{"a[1]=1", STATE("a[1]=1", "exists true"),
	 "2:8: the values of an array stand in braces, as in int x[2]={1,2}, not '1'"},
	{"another type", STATE("float x=1", "exists true"),
	 "2:3: the type 'float' is not known: int, long, intN_t and uintN_t are, with 8, 16, 32 "
	 "or 64 for N, and pointers"},
	{"128 bits", STATE("__int128 x=1", "exists true"),
	 "2:3: the type '__int128' is not known: int, long, intN_t and uintN_t are, with 8, 16, "
	 "32 or 64 for N, and pointers"},
	{"a label's address", STATE("0:r0=P0:L", "exists true"),
	 "2:8: a value with ':', such as a label, a tag or a capability, is not known: write a "
	 "number, or a location for its address"},
	{"a label's address by number", STATE("0:r0=0:L", "exists true"),
	 "2:8: a value with ':', such as a label, a tag or a capability, is not known: write a "
	 "number, or a location for its address"},
	{"label:\"P0:L\"", STATE("0:r0=label:\"P0:L\"", "exists true"),
	 "2:8: a value with ':', such as a label, a tag or a capability, is not known: write a "
	 "number, or a location for its address"},
	{"instr:\"NOP\"", STATE("0:r0=instr:\"NOP\"", "exists true"),
	 "2:8: instructions as values are not known: write a number, or a location for its "
	 "address"},
	{"NOP", STATE("0:r0=NOP", "exists true"),
	 "2:8: instructions as values are not known: write a number, or a location for its "
	 "address"},
	{"a capability", STATE("0:r0=0xff:x:1", "exists true"),
	 "2:8: a value with ':', such as a label, a tag or a capability, is not known: write a "
	 "number, or a location for its address"},
	{"a tagged address", STATE("0:r0=x:red", "exists true"),
	 "2:8: a value with ':', such as a label, a tag or a capability, is not known: write a "
	 "number, or a location for its address"},
	{"a tagged location", STATE("x:red=1", "exists true"),
	 "2:3: expected a thread's number before ':', not 'x': memory tags are not known"},
	{"a tag", STATE("tag(x)=1", "exists true"),
	 "2:3: memory tags are not known: name a location, such as x"},
	{"a page table's entry", STATE("[PTE(x)]=(oa:PA(y))", "exists true"),
	 "2:4: page tables are not known: name a location, such as x"},
	{"an entry as a value", STATE("0:r0=(oa:PA(x), valid:0)", "exists true"),
	 "2:8: entries of page tables are not known: write a number, or a location for its "
	 "address"},
	{"a physical address", STATE("0:r0=PA(x)", "exists true"),
	 "2:8: page tables are not known: name a location, such as x"},
	{"a signed pointer", STATE("0:r0=pac(x,da,1)", "exists true"),
	 "2:8: signed pointers are not known: name a location, such as x"},
	{"a shadow stack", STATE("SS(x,2)", "exists true"),
	 "2:3: shadow stacks are not known: name a location, such as x"},
	{"a value in backquotes", STATE("x=`1`", "exists true"),
	 "2:5: values in backquotes are not known: write a number"},
	{"a register of PTX", STATE("0:.reg .s32 r0=1", "exists true"),
	 "2:5: '.' begins no name here: a register is called r0 or %a, and a location x"},
};

#define VALUE(value) CODE(" mov r0 5 | ;\n mov r1 " value " | ;\n", "locations [0:r1;] exists ")
static const form_t codes[] = {
	{"threads in any order",
	 "LISA T\n{ }\n P1 | P0 ;\n r[rlx,system] r0 x | w[rlx,system] x 1 ;\n" TREE
	 "exists 1:r0=1",
	 "Ok Sometimes 1 1"},
	{"a semicolon before the threads", PLACED(" ; P0 | P1 ;\n", TREE), NEVER},
	{"what a thread is", PLACED(" P0:special | P1 ;\n", TREE),
	 "3:4: words about a thread are not known: the tree behind 'scopes:' alone places it"},
	{"a handler of faults", PLACED(" P0 | P0.F ;\n", TREE),
	 "3:7: handlers of faults are not known: leave out 'P0.F' and its column"},
	{"more than ten threads", PLACED(" P0 | P10 ;\n", TREE),
	 "3:7: a test may have at most 8 threads, P0 to P7"},
	{"an empty cell", CODE(" | ;\n", "exists x=0"), ALWAYS},
	{"a label and its instruction",
	 CODE(" b[] L | ;\n w[] x 1 | ;\n L: w[] y 1 | ;\n", "exists (x=0 /\\ y=1)"), ALWAYS},
	{"a label alone", CODE(" b[] L | ;\n w[] x 1 | ;\n L: | ;\n", "exists x=0"), ALWAYS},
	{"two labels", CODE(" b[] M | ;\n w[] x 1 | ;\n L: M: | ;\n", "exists x=0"), ALWAYS},
	{"a label of odd characters",
	 CODE(" b[] L-1/x | ;\n w[] x 1 | ;\n L-1/x: | ;\n", "exists x=0"), ALWAYS},
	{"codevar:x", CODE(" codevar:x | ;\n", "exists true"),
	 "4:2: code that is filled in later is not known: write the instruction for 'codevar'"},
	{"r without brackets", CODE(" w x 1 | ;\n r r0 x | ;\n", "exists 0:r0=1"), ALWAYS},
	{"r[]", CODE(" w[] x 1 | ;\n r[] r0 x | ;\n", "exists 0:r0=1"), ALWAYS},
	{"r[acq,wg]", CODE(" w[rlx,wg] x 1 | ;\n r[acq,wg] r0 x | ;\n", "exists 0:r0=1"), ALWAYS},
	{"r into %a", CODE(" w[] x 1 | ;\n r[] %a x | ;\n", "exists 0:%a=1"), ALWAYS},
	{"r from a register", TEST("0:r1=x; x=1", " r[] r0 r1 | ;\n", "exists 0:r0=1"), ALWAYS},
	{"r from a sum", TEST("x=1", " r[] r0 x+0 | ;\n", "exists 0:r0=1"), ALWAYS},
	{"r from a sum with a register", TEST("x=1", " r[] r0 x+r1 | ;\n", "exists 0:r0=1"),
	 ALWAYS},
	{"w of a register", CODE(" mov r0 3 | ;\n w[] x r0 | ;\n", "exists x=3"), ALWAYS},
	{"w to a register's address", TEST("0:r0=x", " w[] r0 1 | ;\n", "exists x=1"), ALWAYS},
	{"w to a sum", TEST("0:r0=x", " w[] r0+r1 1 | ;\n", "exists x=1"), ALWAYS},
	{"w of a symbol", CODE(" w[] x &y | ;\n", "exists true"),
	 "4:8: a store writes a number or a register, not '&': mov what it shall write into a "
	 "register first"},
	{"w of an operation", CODE(" w[] x (add r0 1) | ;\n", "exists true"),
	 "4:8: a store writes a number or a register, not '(': mov what it shall write into a "
	 "register first"},
	{"f[acqrel,system]", CODE(" f[acqrel,system] | ;\n", "exists x=0"), ALWAYS},
	{"f and sets of labels", CODE(" f[rel,wg] {L,M} {K} | ;\n", "exists x=0"), ALWAYS},
	{"f and empty sets", CODE(" f[rel,wg] {} {} | ;\n", "exists x=0"), ALWAYS},
	{"f and sets in parentheses", CODE(" f[rel,wg] ({L},{}) | ;\n", "exists x=0"), ALWAYS},
	{"f without brackets", CODE(" f | ;\n", "exists true"),
	 "4:4: a fence needs an order and a scope, such as f[acqrel,system]"},
	{"call[f]", CODE(" call[f] | ;\n", "exists true"),
	 "4:2: calls are not known: write the instructions that the function has"},
	{"rmw of a number", CODE(" rmw[rlx,wg] r0 7 x | ;\n", "exists (0:r0=0 /\\ x=7)"), ALWAYS},
	{"rmw of a register", TEST("0:r1=7", " rmw[rlx,wg] r0 r1 x | ;\n", "exists x=7"), ALWAYS},
	{"rmw of an operation",
	 TEST("x=3", " rmw[rlx,wg] r0 (add r0 1) x | ;\n", "exists (0:r0=3 /\\ x=4)"), ALWAYS},
	{"rmw without an order", CODE(" rmw r0 1 x | ;\n", "exists true"),
	 "4:6: a read-modify-write needs an order and a scope, such as rmw[rlx,system]"},
	{"mov of a number", VALUE("-3") "0:r1=-3", ALWAYS},
	{"mov of a register", VALUE("r0") "0:r1=5", ALWAYS},
	{"mov of an address", VALUE("x") "0:r1=x", ALWAYS},
	{"mov of a symbol", VALUE("&x") "0:r1=x", ALWAYS},
	{"r1-1", VALUE("r1-1") "true",
	 "5:9: 'r1-1' is a name, not a difference: add a number below zero, as in (add r1 -1)"},
	{"add", VALUE("(add r0 1)") "0:r1=6", ALWAYS},
	{"xor", VALUE("(xor r0 1)") "0:r1=4", ALWAYS},
	{"and", VALUE("(and r0 4)") "0:r1=4", ALWAYS},
	{"eq", VALUE("(eq r0 5)") "0:r1=1", ALWAYS},
	{"neq", VALUE("(neq r0 5)") "0:r1=0", ALWAYS},
	{"ne", VALUE("(ne r0 4)") "0:r1=1", ALWAYS},
	{"b[] r0 L", CODE(" mov r0 1 | ;\n b[] r0 L | ;\n w[] x 1 | ;\n L: | ;\n", "exists x=0"),
	 ALWAYS},
	{"b r0 L", CODE(" b r0 L | ;\n w[] x 1 | ;\n L: | ;\n", "exists x=1"), ALWAYS},
	{"b of two operands", CODE(" b[eq] r1, 0 L | ;\n L: | ;\n", "exists true"),
	 "4:4: a branch has no order and no scope: compare first, as in mov r9 (eq r1 0), and "
	 "branch by b[] r9 L"},
	{"another model's order", CODE(" r[once] r0 x | ;\n", "exists true"),
	 "4:4: 'once' is called 'rlx' here"},
	{"another model's fence", CODE(" f[hw] | ;\n", "exists true"),
	 "4:4: expected an order (acq, rel, acqrel or sc), not 'hw'"},
	{"C", CODE(" WRITE_ONCE(*x,1) | ;\n", "exists true"),
	 "4:2: 'WRITE_ONCE' is C: in LISA it is w[rlx,system] x 1"},
	{"a loop in C", CODE(" while (1) | ;\n", "exists true"),
	 "4:2: 'while' is C: in LISA it is b[] r0 L, with L: before the loop"},
	{"an assignment in C", CODE(" *x = 1 | ;\n", "exists true"),
	 "4:2: '*' is C: in LISA it is r[na,wi] r0 x, or w[na,wi] x 1"},
};

#define BOTH_AGENTS "(agent 0) (agent 1)"
static const form_t trees[] = {
	{"a tree",
	 PLACED(" P0 | P1 ;\n", "scopes: (system (agent (wg (wave (wi 0)) (wave (wi 1)))))\n"),
	 NEVER},
	{"threads as P0", PLACED(" P0 | P1 ;\n", "scopes: (system (agent P0 P1))\n"), NEVER},
	{"many trees", PLACED(" P0 | P1 ;\n", "scopes: " BOTH_AGENTS "\n"),
	 "6:19: there is one tree: put all of it into (system ...)"},
	{"another model's scope",
	 PLACED(" P0 | P1 ;\n", "scopes: (system (gpu (cta 0) (cta 1)))\n"),
	 "6:18: 'gpu' is called 'agent' here"},
	{"no tree", PLACED(" P0 | P1 ;\n", ""),
	 "6:1: the test does not place its threads: 'scopes: (system (agent (wg (wave (wi 0)) "
	 "...)))' is missing"},
	{"levels", PLACED(" P0 | P1 ;\n", TREE "levels: (0 P0 P1)\n"),
	 "7:1: 'levels:' is not known: the tree behind 'scopes:' alone places threads, so leave it "
	 "out"},
	{"regions before scopes", PLACED(" P0 | P1 ;\n", "regions: x: GLOBAL\n" TREE),
	 "6:1: 'regions:' is not known: the tree behind 'scopes:' alone places threads, so leave "
	 "it "
	 "out"},
};

static const form_t questions[] = {
	{"exists", ASKED("exists (1:r0=1 /\\ 1:r1=1)"), "Ok Sometimes 1 2"},
	{"~exists", ASKED("~exists (1:r0=1 /\\ 1:r1=0)"), "Ok Never 0 3"},
	{"~ exists", ASKED("~ exists 1:r0=0"), "No Sometimes 1 1"},
	{"forall", ASKED("forall (1:r0=0 \\/ 1:r1=1)"), "Ok Always 3 0"},
	{"final", ASKED("final 1:r0=1"), "Ok Sometimes 1 1"},
	{"parentheses alone", ASKED("locations [x;] (1:r0=1)"), "Ok Sometimes 1 1"},
	{"nothing", ASKED(""),
	 "7:1: the test asks nothing: 'exists (...)', '~exists (...)' or 'forall (...)' is "
	 "missing"},
	{"observed", ASKED("observed 1:r0=1; 1:r1=0;"),
	 "7:1: lists of what was observed are not known: ask 'exists (...)'"},
	{"with", ASKED("exists 1:r0=1 with tso: exists"),
	 "7:15: answers behind 'with' are not known: write Expect=Never, Sometimes or Always "
	 "before '{'"},
	{"a semicolon at the end", ASKED("exists 1:r0=1;"), "Ok Sometimes 1 1"},
	{"a comment at the end", ASKED("exists 1:r0=1 (* why *)"), "Ok Sometimes 1 1"},
	{"without blanks", ASKED("exists(1:r0=1/\\1:r1=0)"), NEVER},
	{"locations", ASKED("locations [x; 1:r0; 1:r1] exists true"), "Ok Always 3 0"},
	{"no locations", ASKED("locations [] exists 1:r0=1"), "Ok Sometimes 1 1"},
	{"locations and types", ASKED("locations [x int; p*; q int*; 1:r0 int;] exists 1:r0=1"),
	 "Ok Sometimes 1 1"},
	{"locations and elements", STATE("int a[2]={1,2}", "locations [a[0]; a[1];] exists a[1]=2"),
	 ALWAYS},
	{"locations and another type", ASKED("locations [x float;] exists true"),
	 "7:14: 'float' is no type that is known; what is shown is parted by ';'"},
	{"locations and faults", ASKED("locations [fault(P0,x);] exists true"),
	 "7:12: faults are not known: a test shows registers and locations"},
	{"filter", ASKED("filter 1:r0=1 exists 1:r1=1"), "Ok Always 1 0"},
	{"filter in parentheses", ASKED("filter (1:r0=0) exists 1:r1=1"), "Ok Sometimes 1 1"},
	{"==", ASKED("exists 1:r0==1"), "Ok Sometimes 1 1"},
	{"!=", ASKED("exists 1:r0!=1"), "Ok Sometimes 1 1"},
	{"<>", ASKED("exists (1:r0<>0 /\\ 1:r1<>1)"), NEVER},
	{"[x]=1", ASKED("exists [x]=1"), ALWAYS},
	{"P1:r0=1", ASKED("exists P1:r0=1"), "Ok Sometimes 1 1"},
	{"a number below zero", ASKED("exists 1:r0=-1"), "No Never 0 2"},
	{"a hexadecimal number", ASKED("exists 1:r0=0x1"), "Ok Sometimes 1 1"},
	{"a[1]=2", STATE("int a[2]={1,2}", "exists a[1]=2"), ALWAYS},
	{"a={1,2}", STATE("int a[2]={1,2}", "exists a={1,2}"), ALWAYS},
	{"a={1,3}", STATE("int a[2]={1,2}", "exists a={1,3}"), "No Never 0 1"},
	{"a!={1,2}", STATE("int a[2]={1,2}", "exists a!={1,2}"), "No Never 0 1"},
	{"a register with a location", ASKED("exists 1:r1=[x]"), "Ok Sometimes 1 1"},
	{"a register with *x", ASKED("exists 1:r1=*x"), "Ok Sometimes 1 1"},
	{"a register with *1:r0", ASKED("exists 1:r0=*1:r1"), "Ok Sometimes 2 1"},
	{"registers", ASKED("exists 1:r0=1:r1"), "Ok Sometimes 2 1"},
	{"locations with each other", ASKED("exists [x]=[y]"), ALWAYS},
	{"an address", STATE("0:r0=x", "exists 0:r0=x"), ALWAYS},
	{"true", ASKED("exists true"), ALWAYS},
	{"false", ASKED("exists false"), "No Never 0 1"},
	{"not", ASKED("exists not (1:r0=0)"), "Ok Sometimes 1 1"},
	{"~", ASKED("exists ~1:r0=0"), "Ok Sometimes 1 1"},
	{"/\\ before \\/", ASKED("exists 1:r0=0 \\/ 1:r0=1 /\\ 1:r1=1"), "Ok Always 3 0"},
	{"=>", ASKED("forall 1:r0=1 => 1:r1=1"), "Ok Always 3 0"},
	{"a fault", ASKED("exists fault(P0:L,x)"),
	 "7:8: faults are not known: a test shows registers and locations"},
	{"a tag", ASKED("exists 1:r0=:red"),
	 "7:13: memory tags are not known: write a number, or a "
	 "location for its address"},
	{"an entry of a page table", ASKED("exists 1:r0=(valid:0)"),
	 "7:13: entries of page tables are not known: write a number, or a location for its "
	 "address"},
	{"an instruction", ASKED("exists 1:r0=instr:\"NOP\""),
	 "7:13: instructions as values are not known: write a number, or a location for its "
	 "address"},
	{"tags", ASKED("exists 1:r0={:red}"),
	 "7:13: values in braces are those of an array, which the initial state declares, such as "
	 "int x[2]"},
	{"a label", ASKED("exists 1:r0=P0:L"),
	 "7:16: expected a register, such as r0, not 'L'; labels have no values here"},
};

#define NOT_READ                                                                                  \
	" is not read: write the test in LISA, with scopes, as in w[rel,system] x 1 for a store " \
	"and r[acq,system] r0 x for a load; tessera-litmus(1) has all of it"
#define IN_C(body)                                                            \
	"C T\n{ x=0; }\nP0 (atomic_int* x, volatile int* y) {\n" body "\n}\n" \
	"exists (0:r0=1)",                                                    \
		"1:1: C" NOT_READ
static const form_t others[] = {
	{"a parameter", IN_C("")},
	{"a declaration", IN_C("int r0;")},
	{"a constant", IN_C("int r0 = 1;")},
	{"a plain load", IN_C("int r0 = *y;")},
	{"a plain store", IN_C("*y = 1;")},
	{"a load", IN_C("int r0 = atomic_load_explicit(x, memory_order_acquire);")},
	{"a store", IN_C("atomic_store_explicit(x, 1, memory_order_release);")},
	{"an exchange", IN_C("int r0 = atomic_exchange_explicit(x, 1, memory_order_acq_rel);")},
	{"an add", IN_C("int r0 = atomic_fetch_add_explicit(x, 1, memory_order_relaxed);")},
	{"a compare-and-swap",
	 IN_C("int r0 = atomic_compare_exchange_strong_explicit(x, y, 1, memory_order_seq_cst, "
	      "memory_order_relaxed);")},
	{"a fence", IN_C("atomic_thread_fence(memory_order_seq_cst);")},
	{"READ_ONCE", IN_C("int r0 = READ_ONCE(*x);")},
	{"WRITE_ONCE", IN_C("WRITE_ONCE(*x, 1);")},
	{"smp_mb", IN_C("smp_mb();")},
	{"if", IN_C("if (r0) { *y = 1; }")},
	{"else", IN_C("if (r0 == 1) *y = 1; else *y = 2;")},
	{"while", IN_C("while (r0) { r0 = *y; }")},
	{"a cast", IN_C("int r0 = (int)*y;")},
	{"arithmetic", IN_C("int r0 = (r1 + 1) * 2 - (r2 & 3 | 4 ^ 5) / 6;")},
	{"a comparison", IN_C("int r0 = r1 <= r2;")},
	{"a lock", IN_C("spin_lock(x); spin_unlock(x);")},
	{"a comment", IN_C("/* one */ // and another")},
	{"AArch64", "AArch64 T\n{ }\n P0 ;\n LDR W0,[X1] ;\nexists true", "1:1: AArch64" NOT_READ},
	{"X86_64", "X86_64 T\n{ }\n P0 ;\n movl $1,(x) ;\nexists true", "1:1: X86_64" NOT_READ},
	{"PPC", "PPC T\n{ }\n P0 ;\n li r1,1 ;\nexists true", "1:1: PPC" NOT_READ},
	{"RISCV", "RISCV T\n{ }\n P0 ;\n ori x5,x0,1 ;\nexists true", "1:1: RISCV" NOT_READ},
};

/** "Ok Sometimes 1 2": as herd prints it, the question holds in one final state and not in two. */
static void judge(const litmus_test_t *test, char *answer, size_t size)
{
	static const litmus_options_t once = {.unroll = 1};
	litmus_result_t result = {0};
	int counts[2] = {0, 0};

	cr_assert_eq(litmus_axioms.run(test, &once, &result), TSR_OK, "%s", tsr_last_error());
	for (int i = 0; i < result.count; i++)
		counts[litmus_holds(test, test->question, result.states[i].values)]++;
	litmus_result_free(&result);
	const bool holds = test->quantifier == LITMUS_EXISTS       ? counts[1] > 0
			   : test->quantifier == LITMUS_NOT_EXISTS ? counts[1] == 0
								   : counts[0] == 0;
	snprintf(answer, size, "%s %s %d %d", holds ? "Ok" : "No",
		 counts[1] == 0   ? "Never"
		 : counts[0] == 0 ? "Always"
				  : "Sometimes",
		 counts[1], counts[0]);
}

/** How many of the forms are read; all are as the list says. */
static int read_forms(const form_t *forms, size_t count)
{
	static litmus_test_t test;
	char answer[512];
	int read = 0;

	for (size_t i = 0; i < count; i++) {
		const bool is_test = litmus_parse("", forms[i].text, &test) == TSR_OK;
		if (is_test)
			judge(&test, answer, sizeof answer);
		else
			snprintf(answer, sizeof answer, "%s", tsr_last_error() + 1);
		cr_expect(strcmp(answer, forms[i].answer) == 0, "%s:\n%s\nsays: %s\nnot:  %s",
			  forms[i].name, forms[i].text, answer, forms[i].answer);
		read += is_test;
	}
	return read;
}

#define COUNT(forms) (int)(sizeof(forms) / sizeof *(forms))
#define EACH(forms) forms, sizeof(forms) / sizeof *(forms)

Test(litmus_grammar, is_read_or_refused_by_what_it_is)
{
	const int read = read_forms(EACH(frames)) + read_forms(EACH(states)) +
			 read_forms(EACH(codes)) + read_forms(EACH(trees)) +
			 read_forms(EACH(questions));
	const int all =
		COUNT(frames) + COUNT(states) + COUNT(codes) + COUNT(trees) + COUNT(questions);

	cr_expect_eq(read, READ, "%d of %d forms are read, not %d", read, all, READ);
	cr_expect_eq(all - read, REFUSED, "%d of %d are refused, not %d", all - read, all, REFUSED);
}

Test(litmus_grammar, of_other_languages_is_refused_by_their_names)
{
	cr_expect_eq(read_forms(EACH(others)), 0);
	cr_expect_eq(COUNT(others), IN_OTHER_LANGUAGES);
}

Test(litmus_grammar, names_a_test_by_its_file_and_takes_the_sentence_behind_its_name)
{
	litmus_test_t test;

	cr_assert_eq(litmus_parse("a.b/MP.x.litmus", TOP("LISA -- (TeX) \"why\" ;\n"), &test),
		     TSR_OK, "%s", tsr_last_error());
	cr_expect_str_eq(test.name, "MP.x");
	cr_expect_str_eq(test.sentence, "why");
}
