/*
 * The constructors: each is a rule that says what element i becomes. Elements
 * are made on the host, a chunk at a time.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/error.h"
#include "src/tensor/element.h"
#include "src/tensor/random_core.h"
#include "src/tensor/tensor.h"
#include "tessera/random.h"

/* What the rules know. Each uses the part that it needs. */
typedef struct rule {
	/** Writes elements first .. first + count - 1 of the tensor to chunk[0 .. count - 1]. */
	void (*make)(const struct rule *rule, uint64_t first, size_t count, void *chunk);
	tsr_dtype_t dtype;
	int64_t elements;
	double begin, end, step; /* full: begin; uniform: begin .. end */
	int64_t low, high;
	uint64_t seed;
} rule_t;

static tsr_status_t fill_by_rule(tsr_world_t *world, TSR_HEAP void *memory, const void *ctx)
{
	enum { CHUNK_BYTES = 1 << 20 };
	const rule_t *rule = ctx;
	const size_t element = tsr_dtype_bytes(rule->dtype), elements = (size_t)rule->elements;
	const size_t most = elements < CHUNK_BYTES / element ? elements : CHUNK_BYTES / element;
	char *to = tsr_heap_raw(memory), *chunk = malloc(most * element);
	if (!chunk)
		return tsr_error(TSR_ERR_NO_MEMORY,
				 "the host has no memory for a buffer of %s to make the tensor's "
				 "values in; free some",
				 TSR_SIZE(most * element));
	tsr_status_t status = TSR_OK;
	for (size_t first = 0; first < elements && status == TSR_OK; first += most) {
		const size_t count = elements - first < most ? elements - first : most;
		rule->make(rule, first, count, chunk);
		status = world->backend->heap->write(world->device, to + first * element, chunk,
						     count * element);
	}
	free(chunk);
	return status;
}

static tsr_status_t fill_zero(tsr_world_t *world, TSR_HEAP void *memory, const void *ctx)
{
	const rule_t *rule = ctx;
	return world->backend->heap->fill(world->device, tsr_heap_raw(memory), 0,
					  (size_t)rule->elements * tsr_dtype_bytes(rule->dtype));
}

/* Completes the plan: the rule learns the tensor's size from it. Null `make`: zeros. */
static tsr_status_t make_by_rule(tsr_world_t *world, tsr_tensor_plan_t *plan, rule_t *rule,
				 tsr_tensor_t *out)
{
	rule->dtype = plan->dtype;
	if (plan->verdict == TSR_OK)
		plan->verdict = tsr_shape_count(plan->call, plan->dtype, plan->dims, plan->shape,
						&rule->elements);
	plan->fill = rule->make ? fill_by_rule : fill_zero;
	plan->fill_ctx = rule;
	return tsr_tensor_make(world, plan, out);
}

static tsr_status_t check_holds(const tsr_tensor_plan_t *plan, double value)
{
	if (tsr_dtype_bytes(plan->dtype) == 0 ||
	    tsr_dtype_holds(plan->dtype, value)) /* a bad dtype is the shape check's to report */
		return TSR_OK;
	return tsr_error(TSR_ERR_ARGUMENT,
			 "%s: %s cannot hold %.17g; take a wider element type or another value",
			 plan->call, tsr_dtype_name(plan->dtype), value);
}

/* ------------------------------------------------------------------ constants */

static void make_constant(const rule_t *rule, uint64_t first, size_t count, void *chunk)
{
	(void)first;
	for (size_t i = 0; i < count; i++)
		tsr_dtype_set(rule->dtype, chunk, i, rule->begin);
}

tsr_status_t tsr_tensor_zeros(tsr_world_t *world, tsr_dtype_t dtype, int dims, const int64_t *shape,
			      tsr_tensor_t *out)
{
	tsr_tensor_plan_t plan = {
		.call = "tsr_tensor_zeros", .dtype = dtype, .dims = dims, .shape = shape};
	return make_by_rule(world, &plan, &(rule_t){0}, out);
}

tsr_status_t tsr_tensor_zeros_like(tsr_world_t *world, const tsr_tensor_t *like, tsr_tensor_t *out)
{
	tsr_tensor_plan_t plan = {.call = "tsr_tensor_zeros_like"};
	if (like) {
		plan.dtype = like->dtype;
		plan.dims = like->dims;
		plan.shape = like->shape;
	} else {
		plan.verdict = tsr_error(TSR_ERR_ARGUMENT,
					 "%s was given null for the tensor to be like", plan.call);
	}
	return make_by_rule(world, &plan, &(rule_t){0}, out);
}

tsr_status_t tsr_tensor_ones(tsr_world_t *world, tsr_dtype_t dtype, int dims, const int64_t *shape,
			     tsr_tensor_t *out)
{
	tsr_tensor_plan_t plan = {
		.call = "tsr_tensor_ones", .dtype = dtype, .dims = dims, .shape = shape};
	return make_by_rule(world, &plan, &(rule_t){.make = make_constant, .begin = 1}, out);
}

tsr_status_t tsr_tensor_full(tsr_world_t *world, tsr_dtype_t dtype, int dims, const int64_t *shape,
			     double value, tsr_tensor_t *out)
{
	tsr_tensor_plan_t plan = {
		.call = "tsr_tensor_full", .dtype = dtype, .dims = dims, .shape = shape};
	plan.verdict = check_holds(&plan, value);
	return make_by_rule(world, &plan, &(rule_t){.make = make_constant, .begin = value}, out);
}

/* ------------------------------------------------------------------ sequences */

/*
 * begin + i * step, rounded to odd: narrowing it afterwards equals rounding the
 * exact value once.
 * Three numbers are summed without loss (the product's error is an fma away, a
 * sum's error is Knuth's two-sum); what the leading one lacks decides its last
 * bit.
 */
static double step_odd(double begin, double i, double step)
{
	const double product = i * step, product_rest = fma(i, step, -product);
	const double small = begin + product_rest, small_back = small - begin;
	const double small_rest = (begin - (small - small_back)) + (product_rest - small_back);
	const double sum = small + product, sum_back = sum - small;
	const double sum_rest = (small - (sum - sum_back)) + (product - sum_back);
	const double rest = sum_rest != 0 ? sum_rest : small_rest;
	uint64_t bits;
	if (rest == 0 || sum == 0)
		return sum == 0 ? rest : sum;
	memcpy(&bits, &sum, sizeof bits);
	if ((bits & 1) == 0)
		bits += (rest > 0) == (sum > 0) ? 1 : (uint64_t)-1;
	double odd;
	memcpy(&odd, &bits, sizeof odd);
	return odd;
}

static void make_steps(const rule_t *rule, uint64_t first, size_t count, void *chunk)
{
	for (size_t i = 0; i < count; i++) {
		const double at = (double)(first + i);
		const double value = rule->dtype == TSR_F64 ? fma(at, rule->step, rule->begin)
							    : step_odd(rule->begin, at, rule->step);
		tsr_dtype_set(rule->dtype, chunk, i, value);
	}
}

static void make_integer_steps(const rule_t *rule, uint64_t first, size_t count, void *chunk)
{
	const uint64_t begin = (uint64_t)(int64_t)rule->begin,
		       step = (uint64_t)(int64_t)rule->step; /* they wrap, the element does not */
	for (size_t i = 0; i < count; i++)
		tsr_dtype_set_integer(rule->dtype, chunk, i, (int64_t)(begin + (first + i) * step));
}

/*
 * Number of elements before `end`; -1 where that is no number, or more than a
 * double counts. The elements themselves are asked, by bisection: a quotient
 * would be rounded, and could count one too many.
 */
static int64_t count_steps(double begin, double end, double step)
{
	if (!isfinite(end - begin) || !isfinite(step) || step == 0)
		return -1;
	/* the last index that is before the end, and the first that is not */
	int64_t before = -1, past = (int64_t)1 << 53;
	if (step > 0 ? fma((double)past, step, begin) < end : fma((double)past, step, begin) > end)
		return -1;
	while (past - before > 1) {
		const int64_t middle = before + (past - before) / 2;
		const double value = fma((double)middle, step, begin);
		if (step > 0 ? value < end : value > end)
			before = middle;
		else
			past = middle;
	}
	return past;
}

static tsr_status_t check_arange(const tsr_tensor_plan_t *plan, double begin, double end,
				 double step, int64_t *count_out)
{
	const int64_t count = count_steps(begin, end, step);
	if (count < 1)
		return tsr_error(TSR_ERR_ARGUMENT,
				 "%s from %g to %g by %g has %s; begin, end and step must be "
				 "finite, and lead from one to "
				 "the other",
				 plan->call, begin, end, step,
				 count == 0 ? "no elements" : "no countable elements");
	if (!tsr_dtype_is_float(plan->dtype) && (step != rint(step) || fabs(step) >= 0x1p63))
		return tsr_error(
			TSR_ERR_ARGUMENT,
			"%s: steps of %g do not lead from one %s to another; take a whole number",
			plan->call, step, tsr_dtype_name(plan->dtype));
	tsr_status_t status = check_holds(plan, begin);
	if (status == TSR_OK)
		status = check_holds(plan, fma((double)(count - 1), step, begin));
	if (status == TSR_OK)
		*count_out = count;
	return status;
}

tsr_status_t tsr_tensor_arange(tsr_world_t *world, tsr_dtype_t dtype, double begin, double end,
			       double step, tsr_tensor_t *out)
{
	int64_t count = 0;
	tsr_tensor_plan_t plan = {
		.call = "tsr_tensor_arange", .dtype = dtype, .dims = 1, .shape = &count};
	plan.verdict = check_arange(&plan, begin, end, step, &count);
	rule_t rule = {.make = tsr_dtype_is_float(dtype) ? make_steps : make_integer_steps,
		       .begin = begin,
		       .step = step};
	return make_by_rule(world, &plan, &rule, out);
}

static void make_line(const rule_t *rule, uint64_t first, size_t count, void *chunk)
{
	const double low = fmin(rule->begin, rule->end), high = fmax(rule->begin, rule->end);
	for (size_t i = 0; i < count; i++) {
		const bool last = first + i == (uint64_t)rule->elements - 1 && rule->elements > 1;
		const double value = fma((double)(first + i), rule->step, rule->begin);
		tsr_dtype_set(rule->dtype, chunk, i,
			      last ? rule->end : fmin(fmax(value, low), high));
	}
}

tsr_status_t tsr_tensor_linspace(tsr_world_t *world, tsr_dtype_t dtype, double begin, double end,
				 int64_t count, tsr_tensor_t *out)
{
	tsr_tensor_plan_t plan = {
		.call = "tsr_tensor_linspace", .dtype = dtype, .dims = 1, .shape = &count};
	const double span = end - begin;
	if (!isfinite(span))
		plan.verdict =
			tsr_error(TSR_ERR_ARGUMENT,
				  "%s from %g to %g: both ends, and their distance, must be finite",
				  plan.call, begin, end);
	if (plan.verdict == TSR_OK)
		plan.verdict = check_holds(&plan, begin);
	if (plan.verdict == TSR_OK)
		plan.verdict = check_holds(&plan, end);
	rule_t rule = {.make = make_line,
		       .begin = begin,
		       .end = end,
		       .step = count > 1 ? span / (double)(count - 1) : 0};
	return make_by_rule(world, &plan, &rule, out);
}

/* ------------------------------------------------------------------ random numbers */

static tsr_status_t check_float(const tsr_tensor_plan_t *plan)
{
	if (tsr_dtype_bytes(plan->dtype) == 0 || tsr_dtype_is_float(plan->dtype))
		return TSR_OK;
	return tsr_error(TSR_ERR_ARGUMENT,
			 "%s makes fractions, which %s cannot hold; take f64, f32, f16 or bf16, or "
			 "tsr_tensor_randint",
			 plan->call, tsr_dtype_name(plan->dtype));
}

static void make_rand(const rule_t *rule, uint64_t first, size_t count, void *chunk)
{
	for (size_t i = 0; i < count; i++) {
		const uint64_t at = first + i;
		const double value = rule->dtype == TSR_F64 ? tsr_random_f64(rule->seed, at)
							    : tsr_random_f32(rule->seed, at);
		tsr_dtype_set_down(rule->dtype, chunk, i, value);
	}
}

tsr_status_t tsr_tensor_rand(tsr_world_t *world, tsr_dtype_t dtype, int dims, const int64_t *shape,
			     uint64_t seed, tsr_tensor_t *out)
{
	tsr_tensor_plan_t plan = {
		.call = "tsr_tensor_rand", .dtype = dtype, .dims = dims, .shape = shape};
	plan.verdict = check_float(&plan);
	return make_by_rule(world, &plan, &(rule_t){.make = make_rand, .seed = seed}, out);
}

static void make_uniform(const rule_t *rule, uint64_t first, size_t count, void *chunk)
{
	const double below_end = nextafter(rule->end, rule->begin);
	for (size_t i = 0; i < count; i++) {
		double value = rule->begin + tsr_core_mul(rule->end - rule->begin,
							  tsr_random_f64(rule->seed, first + i));
		if (value >= rule->end) /* the sum was rounded up */
			value = below_end;
		tsr_dtype_set_down(rule->dtype, chunk, i, value);
		if (tsr_dtype_get(rule->dtype, chunk, i) < rule->begin)
			tsr_dtype_set_up(rule->dtype, chunk, i, rule->begin);
	}
}

static tsr_status_t check_uniform(const tsr_tensor_plan_t *plan, double low, double high)
{
	tsr_status_t status = check_float(plan);
	if (status != TSR_OK || tsr_dtype_bytes(plan->dtype) == 0)
		return status;
	if (!(low < high) || !isfinite(high - low))
		return tsr_error(
			TSR_ERR_ARGUMENT,
			"%s in [%g, %g): low must be below high, and their distance finite",
			plan->call, low, high);
	status = check_holds(plan, low);
	if (status == TSR_OK)
		status = check_holds(plan, high);
	if (status != TSR_OK)
		return status;
	uint64_t element = 0;
	tsr_dtype_set_up(plan->dtype, &element, 0, low);
	if (!(tsr_dtype_get(plan->dtype, &element, 0) < high))
		return tsr_error(
			TSR_ERR_ARGUMENT,
			"%s: there is no %s in [%.17g, %.17g); take a wider range or element type",
			plan->call, tsr_dtype_name(plan->dtype), low, high);
	return TSR_OK;
}

tsr_status_t tsr_tensor_uniform(tsr_world_t *world, tsr_dtype_t dtype, int dims,
				const int64_t *shape, double low, double high, uint64_t seed,
				tsr_tensor_t *out)
{
	tsr_tensor_plan_t plan = {
		.call = "tsr_tensor_uniform", .dtype = dtype, .dims = dims, .shape = shape};
	plan.verdict = check_uniform(&plan, low, high);
	return make_by_rule(world, &plan,
			    &(rule_t){
				    .make = make_uniform, .begin = low, .end = high, .seed = seed},
			    out);
}

static void make_randn(const rule_t *rule, uint64_t first, size_t count, void *chunk)
{
	for (size_t i = 0; i < count; i++)
		tsr_dtype_set(rule->dtype, chunk, i, tsr_random_normal(rule->seed, first + i));
}

tsr_status_t tsr_tensor_randn(tsr_world_t *world, tsr_dtype_t dtype, int dims, const int64_t *shape,
			      uint64_t seed, tsr_tensor_t *out)
{
	tsr_tensor_plan_t plan = {
		.call = "tsr_tensor_randn", .dtype = dtype, .dims = dims, .shape = shape};
	plan.verdict = check_float(&plan);
	return make_by_rule(world, &plan, &(rule_t){.make = make_randn, .seed = seed}, out);
}

static void make_randint(const rule_t *rule, uint64_t first, size_t count, void *chunk)
{
	for (size_t i = 0; i < count; i++)
		tsr_dtype_set_integer(rule->dtype, chunk, i,
				      tsr_random_int(rule->seed, first + i, rule->low, rule->high));
}

tsr_status_t tsr_tensor_randint(tsr_world_t *world, tsr_dtype_t dtype, int dims,
				const int64_t *shape, int64_t low, int64_t high, uint64_t seed,
				tsr_tensor_t *out)
{
	tsr_tensor_plan_t plan = {
		.call = "tsr_tensor_randint", .dtype = dtype, .dims = dims, .shape = shape};
	if (low >= high)
		plan.verdict = tsr_error(TSR_ERR_ARGUMENT,
					 "%s in [%" PRId64 ", %" PRId64 "): low must be below high",
					 plan.call, low, high);
	else if (tsr_dtype_bytes(dtype) != 0 && !tsr_dtype_holds_integers(dtype, low, high - 1))
		plan.verdict = tsr_error(TSR_ERR_ARGUMENT,
					 "%s: %s cannot hold every integer in [%" PRId64
					 ", %" PRId64 "); narrow the range",
					 plan.call, tsr_dtype_name(dtype), low, high);
	return make_by_rule(world, &plan,
			    &(rule_t){.make = make_randint, .low = low, .high = high, .seed = seed},
			    out);
}
