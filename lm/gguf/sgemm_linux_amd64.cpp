// Products of float32 matrices on processors with AVX2 and without AVX-512, where nearly all time of a reading goes.
// The engine's own kernel for them forms sums along the rows of both matrices. This one packs 16 rows of weights, so
// that they stay in the first-level cache while all tokens pass by, and forms sums of outer products.
// sgemm_linux_amd64.go has the linker put it in the other's place.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <immintrin.h>
#include <vector>

extern "C" {

// What the engine passes to each of its threads; more follows.
struct ggml_compute_params {
	int ith, nth; // the thread, of how many
	size_t wsize;
	void *wdata;
	struct ggml_threadpool *threadpool;
};

void ggml_barrier(struct ggml_threadpool *);
void ggml_threadpool_chunk_set(struct ggml_threadpool *, int);
int ggml_threadpool_chunk_add(struct ggml_threadpool *, int);

bool __real_llamafile_sgemm(const ggml_compute_params *params, int64_t m, int64_t n, int64_t k, const void *A, int64_t lda,
	const void *B, int64_t ldb, void *C, int64_t ldc, int a_type, int b_type, int c_type);
}

namespace {

#define AVX2 __attribute__((target("avx2,fma")))
#define INLINE inline __attribute__((always_inline))

const int ROWS = 16;    // of A in a tile: two registers
const int COLUMNS = 6;  // of B in a tile: with them twelve sums
const int DEPTH = 320;  // of a panel at most: its 20 kB and the columns' 8 kB share the first-level cache
const int WIDTH = 252;  // columns of B that a panel meets before the next
const int HEIGHT = 64;  // rows whose sums are finished before the next, away from C: its columns share cache lines' places
const int LINE = 16;    // numbers in a line of the caches
const int FEW = 11;     // tiles of 64 columns, as many as an output head has of a batch
const int STRIDE = HEIGHT + ROWS; // from a column of sums to the next

// transpose writes 4 + MORE rows of 8 numbers as columns of 8, which begin so many numbers APART; what the rows do not
// have is anything.
template <int APART, int MORE> AVX2 INLINE void transpose(const float *a, int64_t lda, float *to) {
	__m256 r0 = _mm256_loadu_ps(a), r1 = _mm256_loadu_ps(a + lda), r2 = _mm256_loadu_ps(a + 2 * lda), r3 = _mm256_loadu_ps(a + 3 * lda);
	__m256 r4 = _mm256_loadu_ps(a + 4 * lda), r5 = _mm256_loadu_ps(a + 5 * lda), r6 = r4, r7 = r5;
	if (MORE == 4)
		r6 = _mm256_loadu_ps(a + 6 * lda), r7 = _mm256_loadu_ps(a + 7 * lda);
	__m256 p0 = _mm256_unpacklo_ps(r0, r1), p1 = _mm256_unpackhi_ps(r0, r1), p2 = _mm256_unpacklo_ps(r2, r3), p3 = _mm256_unpackhi_ps(r2, r3);
	__m256 p4 = _mm256_unpacklo_ps(r4, r5), p5 = _mm256_unpackhi_ps(r4, r5), p6 = _mm256_unpacklo_ps(r6, r7), p7 = _mm256_unpackhi_ps(r6, r7);
	__m256 q0 = _mm256_shuffle_ps(p0, p2, 0x44), q1 = _mm256_shuffle_ps(p0, p2, 0xEE), q2 = _mm256_shuffle_ps(p1, p3, 0x44), q3 = _mm256_shuffle_ps(p1, p3, 0xEE);
	__m256 q4 = _mm256_shuffle_ps(p4, p6, 0x44), q5 = _mm256_shuffle_ps(p4, p6, 0xEE), q6 = _mm256_shuffle_ps(p5, p7, 0x44), q7 = _mm256_shuffle_ps(p5, p7, 0xEE);
	_mm256_storeu_ps(to, _mm256_permute2f128_ps(q0, q4, 0x20));
	_mm256_storeu_ps(to + APART, _mm256_permute2f128_ps(q1, q5, 0x20));
	_mm256_storeu_ps(to + 2 * APART, _mm256_permute2f128_ps(q2, q6, 0x20));
	_mm256_storeu_ps(to + 3 * APART, _mm256_permute2f128_ps(q3, q7, 0x20));
	_mm256_storeu_ps(to + 4 * APART, _mm256_permute2f128_ps(q0, q4, 0x31));
	_mm256_storeu_ps(to + 5 * APART, _mm256_permute2f128_ps(q1, q5, 0x31));
	_mm256_storeu_ps(to + 6 * APART, _mm256_permute2f128_ps(q2, q6, 0x31));
	_mm256_storeu_ps(to + 7 * APART, _mm256_permute2f128_ps(q3, q7, 0x31));
}

// pack writes rows of A, of which some may be lacking, as a panel: one column of ROWS numbers after the other.
AVX2 INLINE void pack(const float *a, int64_t lda, int64_t rows, int64_t depth, float *panel) {
	if (rows >= ROWS) {
		for (int64_t l = 0; l < depth; l += 8) {
			transpose<ROWS, 4>(a + l, lda, panel + l * ROWS);
			transpose<ROWS, 4>(a + 8 * lda + l, lda, panel + l * ROWS + 8);
		}
		return;
	}
	for (int64_t l = 0; l < depth; l++)
		for (int i = 0; i < ROWS; i++)
			panel[l * ROWS + i] = i < rows ? a[i * lda + l] : 0;
}

// tile adds the products of a panel with N columns of B to their sums. These have names here, since compilers
// put an array of them into memory. Meanwhile it fetches as much of so many rows of A, which are next.
template <int N, bool PACKED, bool FETCHES> AVX2 INLINE void tile(int64_t depth, const float *__restrict panel, const float *__restrict b, int64_t ldb, float *sums, bool add, const float *next, int64_t lda, int64_t fetched) {
#define EACH(DO) DO(0) DO(1) DO(2) DO(3) DO(4) DO(5)
#define ZERO(j) __m256 low##j = _mm256_setzero_ps(), high##j = _mm256_setzero_ps();
#define LOAD(j) if (N > j) { low##j = _mm256_load_ps(sums + j * STRIDE); high##j = _mm256_load_ps(sums + j * STRIDE + 8); }
#define SUM(j) if (N > j) { __m256 x = _mm256_broadcast_ss(PACKED ? b + l * N + j : b + j * ldb + l); low##j = _mm256_fmadd_ps(low, x, low##j); high##j = _mm256_fmadd_ps(high, x, high##j); }
#define STEP { __m256 low = _mm256_load_ps(panel + l * ROWS), high = _mm256_load_ps(panel + l * ROWS + 8); EACH(SUM) }
#define STORE(j) if (N > j) { _mm256_store_ps(sums + j * STRIDE, low##j); _mm256_store_ps(sums + j * STRIDE + 8, high##j); }
	EACH(ZERO)
	if (add) {
		EACH(LOAD)
	}
	if (FETCHES) {
		int64_t l = 0;
		while (l + LINE <= depth) {
			for (int64_t row = 0; row < fetched; row++)
				__builtin_prefetch(next + row * lda + l, 0, 2);
			const int64_t until = l + LINE;
#pragma GCC unroll 8
			for (; l < until; l++)
				STEP
		}
		for (; l < depth; l++)
			STEP
	} else {
#pragma GCC unroll 4
		for (int64_t l = 0; l < depth; l++)
			STEP
	}
	EACH(STORE)
#undef EACH
#undef ZERO
#undef LOAD
#undef SUM
#undef STEP
#undef STORE
}

template <bool PACKED, bool FETCHES> AVX2 void columns(int64_t n, int64_t depth, const float *panel, const float *b, int64_t ldb, float *sums, bool add, const float *next, int64_t lda, int64_t fetched) {
	switch (n) {
	case 1: return tile<1, PACKED, FETCHES>(depth, panel, b, ldb, sums, add, next, lda, fetched);
	case 2: return tile<2, PACKED, FETCHES>(depth, panel, b, ldb, sums, add, next, lda, fetched);
	case 3: return tile<3, PACKED, FETCHES>(depth, panel, b, ldb, sums, add, next, lda, fetched);
	case 4: return tile<4, PACKED, FETCHES>(depth, panel, b, ldb, sums, add, next, lda, fetched);
	case 5: return tile<5, PACKED, FETCHES>(depth, panel, b, ldb, sums, add, next, lda, fetched);
	default: return tile<COLUMNS, PACKED, FETCHES>(depth, panel, b, ldb, sums, add, next, lda, fetched);
	}
}

// interleave writes COLUMNS columns of B side by side, one depth after the other, then the next ones. After the last
// depth there must be room for two numbers more.
AVX2 void interleave(int64_t n, int64_t depth, const float *b, int64_t ldb, float *to) {
	for (int64_t j = 0; j < n; j += COLUMNS, b += COLUMNS * ldb) {
		const int64_t columns = std::min<int64_t>(COLUMNS, n - j);
		if (columns == COLUMNS) // of eight columns written the last two are nothing and are written over by the next
			for (int64_t l = 0; l < depth; l += 8)
				transpose<COLUMNS, 2>(b + l, ldb, to + l * COLUMNS);
		else
			for (int64_t l = 0; l < depth; l++)
				for (int64_t i = 0; i < columns; i++)
					to[l * columns + i] = b[i * ldb + l];
		to += depth * columns;
	}
}

AVX2 INLINE void copy(int64_t n, const float *from, float *to) {
	int64_t i = 0;
	for (; i + 8 <= n; i += 8)
		_mm256_storeu_ps(to + i, _mm256_load_ps(from + i));
	for (; i < n; i++)
		to[i] = from[i];
}

// multiply writes C[j][i] = Σ A[i][l]·B[j][l] for rows i that the threads take of each other in turn.
AVX2 void multiply(const ggml_compute_params *params, int64_t m, int64_t n, int64_t k, const float *A, int64_t lda, const float *B, int64_t ldb, float *C, int64_t ldc) {
	static thread_local std::vector<float> interleaved;
	alignas(64) float panel[ROWS * DEPTH];
	alignas(64) float sums[STRIDE * WIDTH];
	const int64_t parts = (k + DEPTH - 1) / DEPTH, most = ((k + parts - 1) / parts + 7) / 8 * 8;
	const int64_t blocks = (n + WIDTH - 1) / WIDTH, width = ((n + blocks - 1) / blocks + COLUMNS - 1) / COLUMNS * COLUMNS;
	const int64_t height = std::clamp<int64_t>(m / (8 * params->nth) / ROWS * ROWS, 2 * ROWS, 16 * HEIGHT); // of what a thread takes at once
	const int64_t shares = (m + height - 1) / height;
	const bool interleaves = n >= 2 * COLUMNS && m >= 512;
	if (interleaves && (int64_t)interleaved.size() < n * k + 2)
		interleaved.resize(n * k + 2);
	if (params->ith == 0)
		ggml_threadpool_chunk_set(params->threadpool, params->nth);
	if (interleaves)
		for (int64_t j0 = 0; j0 < n; j0 += width)
			for (int64_t l = 0, w = std::min(width, n - j0); l < k; l += most)
				interleave(w, std::min(most, k - l), B + j0 * ldb + l, ldb, interleaved.data() + j0 * k + l * w);
	ggml_barrier(params->threadpool);
	for (int64_t share = params->ith; share < shares; share = ggml_threadpool_chunk_add(params->threadpool, 1)) {
		const int64_t begin = share * height, end = std::min(m, begin + height);
		for (int64_t j0 = 0; j0 < n; j0 += width) {
			const int64_t w = std::min(width, n - j0);
			for (int64_t i0 = begin; i0 < end; i0 += HEIGHT) {
				const int64_t i1 = std::min(end, i0 + HEIGHT);
				for (int64_t l = 0; l < k; l += most) {
					const int64_t depth = std::min(most, k - l);
					for (int64_t i = i0; i < i1; i += ROWS) {
						pack(A + i * lda + l, lda, m - i, depth, panel);
						const float *next = i + ROWS < i1 ? A + (i + ROWS) * lda + l : l + most < k ? A + i0 * lda + l + most : A + i1 * lda;
						// It is fetched before it is packed: where there are few tiles whole rows while each is computed,
						// which takes longer than the fetching, and where there are many some lines before each.
						const int64_t ahead = i + 2 * ROWS <= end ? ROWS : 0, tiles = (w + COLUMNS - 1) / COLUMNS;
						const int64_t each = tiles <= FEW ? (ahead + tiles - 1) / tiles : 0;
						const int64_t lines = tiles <= FEW ? 0 : (ahead * ((depth + LINE - 1) / LINE) + tiles - 1) / tiles;
						int64_t row = 0, at = 0;
						for (int64_t j = 0; j < w; j += COLUMNS) {
							for (int64_t p = 0; p < lines && row < ahead; p++) {
								__builtin_prefetch(next + row * lda + at, 0, 3);
								if ((at += LINE) >= depth) at = 0, row++;
							}
							float *to = sums + j * STRIDE + i - i0;
							const float *b = interleaves ? interleaved.data() + j0 * k + l * w + j * depth : B + (j0 + j) * ldb + l, *from = next + row * lda;
							const int64_t fetched = std::min(each, ahead - row);
							row += fetched;
							(interleaves ? fetched ? columns<true, true> : columns<true, false> : fetched ? columns<false, true> : columns<false, false>)
								(w - j, depth, panel, b, ldb, to, l > 0, from, lda, fetched);
						}
					}
				}
				for (int64_t j = 0; j < w; j++)
					copy(i1 - i0, sums + j * STRIDE, C + (j0 + j) * ldc + i0);
			}
		}
	}
	ggml_barrier(params->threadpool);
}

bool fits() {
	static const bool yes = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && !__builtin_cpu_supports("avx512f");
	return yes;
}

} // namespace

// The engine calls it from each of its threads; where it returns false the engine has another way.
extern "C" bool __wrap_llamafile_sgemm(const ggml_compute_params *params, int64_t m, int64_t n, int64_t k, const void *A, int64_t lda,
	const void *B, int64_t ldb, void *C, int64_t ldc, int a_type, int b_type, int c_type) {
	const int f32 = 0; // GGML_TYPE_F32
	if (a_type != f32 || b_type != f32 || c_type != f32 || m < ROWS || n < 4 || k % 8 != 0 || !fits())
		return __real_llamafile_sgemm(params, m, n, k, A, lda, B, ldb, C, ldc, a_type, b_type, c_type);
	multiply(params, m, n, k, static_cast<const float *>(A), lda, static_cast<const float *>(B), ldb, static_cast<float *>(C), ldc);
	return true;
}
