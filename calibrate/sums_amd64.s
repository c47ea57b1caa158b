// What one instruction takes at a time: AVX2 with four numbers of float64, eight of float32.

#include "textflag.h"

// Each constant four times.
#define FOUR(at, value) \
	DATA constants<>+(at)(SB)/8, $value; \
	DATA constants<>+(at+8)(SB)/8, $value; \
	DATA constants<>+(at+16)(SB)/8, $value; \
	DATA constants<>+(at+24)(SB)/8, $value

FOUR(0, 1.4426950408889634)       // 1/ln 2
FOUR(32, 6755399441055744.0)      // 1.5·2⁵²: adding it rounds to an integer, in the last bits
FOUR(64, 0.693147180559945286227) // ln 2
FOUR(96, 2.3190468138462996e-17)  // what ln 2 has beyond float64
FOUR(128, 1.6059043836821613e-10)       // 1/13!
FOUR(160, 2.08767569878681e-09)         // 1/12!
FOUR(192, 2.505210838544172e-08)        // 1/11!
FOUR(224, 2.755731922398589e-07)        // 1/10!
FOUR(256, 2.7557319223985893e-06)       // 1/9!
FOUR(288, 2.48015873015873e-05)         // 1/8!
FOUR(320, 0.0001984126984126984)        // 1/7!
FOUR(352, 0.001388888888888889)         // 1/6!
FOUR(384, 0.008333333333333333)         // 1/5!
FOUR(416, 0.041666666666666664)         // 1/4!
FOUR(448, 0.16666666666666666)          // 1/3!
FOUR(480, 0.5)                          // 1/2!
FOUR(512, 1.0)                          // 1/1!
FOUR(544, 1.0)                          // 1/0!
GLOBL constants<>(SB), RODATA|NOPTR, $576

// func sums4(logits *float32, n int, max, lowest, near float64, head *float32, e, xe *[4]float64, count *[4]int64) int
TEXT ·sums4(SB), NOSPLIT, $0-80
	MOVQ logits+0(FP), SI
	MOVQ n+8(FP), CX
	VBROADCASTSD max+16(FP), Y15
	VBROADCASTSD lowest+24(FP), Y14
	VBROADCASTSD near+32(FP), Y13
	MOVQ head+40(FP), DI
	MOVQ DI, BX
	LEAQ constants<>(SB), DX
	VXORPD Y12, Y12, Y12 // Σ exp(x)
	VXORPD Y11, Y11, Y11 // Σ −x·exp(x)
	VPXOR Y10, Y10, Y10  // the number of terms
	LEAQ (SI)(CX*4), CX

next:
	CMPQ SI, CX
	JGE done
	VCVTPS2PD (SI), Y0
	VSUBPD Y15, Y0, Y0         // x
	VCMPPD $0x1E, Y14, Y0, Y1  // x > lowest
	VCMPPD $0x1E, Y13, Y0, Y2  // x > near
	VANDPD Y1, Y2, Y2
	VMOVMSKPD Y2, R8
	VMAXPD Y14, Y0, Y0
	VMULPD (DX), Y0, Y3
	VADDPD 32(DX), Y3, Y3
	VPSLLQ $52, Y3, Y4         // k, where a float64 has its exponent
	VSUBPD 32(DX), Y3, Y3      // k
	VMOVAPD Y0, Y5
	VFNMADD231PD 64(DX), Y3, Y5
	VFNMADD231PD 96(DX), Y3, Y5 // r = x − k·ln 2
	VMOVUPD 128(DX), Y6
	VFMADD213PD 160(DX), Y5, Y6
	VFMADD213PD 192(DX), Y5, Y6
	VFMADD213PD 224(DX), Y5, Y6
	VFMADD213PD 256(DX), Y5, Y6
	VFMADD213PD 288(DX), Y5, Y6
	VFMADD213PD 320(DX), Y5, Y6
	VFMADD213PD 352(DX), Y5, Y6
	VFMADD213PD 384(DX), Y5, Y6
	VFMADD213PD 416(DX), Y5, Y6
	VFMADD213PD 448(DX), Y5, Y6
	VFMADD213PD 480(DX), Y5, Y6
	VFMADD213PD 512(DX), Y5, Y6
	VFMADD213PD 544(DX), Y5, Y6
	VPADDQ Y4, Y6, Y6          // exp(x)
	VANDPD Y1, Y6, Y6
	VADDPD Y6, Y12, Y12
	VFNMADD231PD Y6, Y0, Y11
	VPSUBQ Y1, Y10, Y10
	TESTL R8, R8
	JNZ close

advance:
	ADDQ $16, SI
	JMP next

close: // append those near the largest to the head
	BSFL R8, R9
	MOVL (SI)(R9*4), R10
	MOVL R10, (DI)
	ADDQ $4, DI
	LEAL -1(R8), R9
	ANDL R9, R8
	JNZ close
	JMP advance

done:
	MOVQ e+48(FP), AX
	VMOVUPD Y12, (AX)
	MOVQ xe+56(FP), AX
	VMOVUPD Y11, (AX)
	MOVQ count+64(FP), AX
	VMOVDQU Y10, (AX)
	SUBQ BX, DI
	SHRQ $2, DI
	MOVQ DI, ret+72(FP)
	VZEROUPPER
	RET

// func extremes8(logits *float32, n int, most, least *[8]float32) bool
TEXT ·extremes8(SB), NOSPLIT, $0-33
	MOVQ logits+0(FP), SI
	MOVQ n+8(FP), CX
	LEAQ (SI)(CX*4), CX
	VMOVUPS (SI), Y0
	VMOVAPS Y0, Y1
	VXORPS Y2, Y2, Y2

look:
	CMPQ SI, CX
	JGE looked
	VMOVUPS (SI), Y3
	VMAXPS Y3, Y0, Y0
	VMINPS Y3, Y1, Y1
	VCMPPS $3, Y3, Y3, Y4 // not a number
	VORPS Y4, Y2, Y2
	ADDQ $32, SI
	JMP look

looked:
	MOVQ most+16(FP), AX
	VMOVUPS Y0, (AX)
	MOVQ least+24(FP), AX
	VMOVUPS Y1, (AX)
	VMOVMSKPS Y2, AX
	TESTL AX, AX
	SETEQ ret+32(FP)
	VZEROUPPER
	RET
