// Gemma's GELU in float32. The engine's own looks it up in a table, for which what goes in and what comes out are
// rounded to 16 bits: the largest error of a reading in float32, a hundred times all others.
// gelu_linux.go has the linker put __wrap_ggml_geglu_split in the place of the engine's, for graphs that ask for it.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

// Of ggml.h.
struct ggml_context;
struct ggml_tensor;
typedef void (*ggml_custom2_op_t)(struct ggml_tensor *, const struct ggml_tensor *, const struct ggml_tensor *, int, int, void *);
struct ggml_tensor *ggml_map_custom2(struct ggml_context *, struct ggml_tensor *, struct ggml_tensor *, ggml_custom2_op_t, int, void *);
bool ggml_is_contiguous(const struct ggml_tensor *);
float *ggml_get_data_f32(const struct ggml_tensor *);
int64_t ggml_nelements(const struct ggml_tensor *);
struct ggml_tensor *__real_ggml_geglu_split(struct ggml_context *, struct ggml_tensor *, struct ggml_tensor *);

#define INLINE static inline __attribute__((always_inline))

INLINE uint32_t bits(float x) {
	uint32_t out;
	memcpy(&out, &x, sizeof out);
	return out;
}

INLINE float number(uint32_t bits) {
	float out;
	memcpy(&out, &bits, sizeof out);
	return out;
}

// exponential is eˣ to some units of the last place, and e^±87 beyond: 2ⁿ times the series of e^r with |r| ≤ ln 2 / 2.
// Compilers make vectors of it, as they do not of the library's, nor of comparisons of floats.
INLINE float exponential(float x) {
	const float round = 12582912; // 1.5·2²³: added to a number it leaves the nearest integer in the last bits
	const uint32_t sign = 1u << 31, most = 0x42AE0000; // 87
	uint32_t magnitude = bits(x) & ~sign;
	x = number((magnitude < most ? magnitude : most) | (bits(x) & sign));
	float shifted = x * 1.44269504f + round;
	float n = shifted - round;
	float r = x - n * 0.693359375f + n * 2.12194440e-4f; // ln 2 in two parts, the first of few bits
	float p = 1.f / 5040;
	p = p * r + 1.f / 720;
	p = p * r + 1.f / 120;
	p = p * r + 1.f / 24;
	p = p * r + 1.f / 6;
	p = p * r + 0.5f;
	p = p * r + 1;
	p = p * r + 1;
	return p * number((bits(shifted) - bits(round) + 127) << 23);
}

// geglu writes GELU(a)·b with GELU(x) = x/2·(1 + tanh u) = x/(1 + e^(−2u)), u = √(2/π)·(x + 0.044715·x³).
INLINE void geglu(int64_t n, const float *restrict a, const float *restrict b, float *restrict to) {
	for (int64_t i = 0; i < n; i++)
		to[i] = a[i] / (1 + exponential(a[i] * (-1.5957691216f - 0.0713548162726f * a[i] * a[i]))) * b[i];
}

static void geglu_anywhere(int64_t n, const float *a, const float *b, float *to) { geglu(n, a, b, to); }

#ifdef __x86_64__
__attribute__((target("avx2,fma"))) static void geglu_avx2(int64_t n, const float *a, const float *b, float *to) { geglu(n, a, b, to); }
#endif

// compute is called by each of the engine's threads, for its share.
static void compute(struct ggml_tensor *dst, const struct ggml_tensor *a, const struct ggml_tensor *b, int thread, int threads, void *data) {
	int64_t n = ggml_nelements(dst), from = n * thread / threads, to = n * (thread + 1) / threads;
	void (*f)(int64_t, const float *, const float *, float *) = geglu_anywhere;
#ifdef __x86_64__
	if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
		f = geglu_avx2;
#endif
	f(to - from, ggml_get_data_f32(a) + from, ggml_get_data_f32(b) + from, ggml_get_data_f32(dst) + from);
}

static _Thread_local bool exact;

void modellog_exact_gelu(bool yes) { exact = yes; }

struct ggml_tensor *__wrap_ggml_geglu_split(struct ggml_context *ctx, struct ggml_tensor *a, struct ggml_tensor *b) {
	if (!exact || !ggml_is_contiguous(a) || !ggml_is_contiguous(b))
		return __real_ggml_geglu_split(ctx, a, b);
	return ggml_map_custom2(ctx, a, b, compute, -1, NULL); // on as many threads as there are
}
