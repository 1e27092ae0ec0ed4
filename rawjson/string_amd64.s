#include "textflag.h"

DATA quotes<>+0(SB)/8, $0x2222222222222222
DATA quotes<>+8(SB)/8, $0x2222222222222222
GLOBL quotes<>(SB), RODATA|NOPTR, $16

DATA slants<>+0(SB)/8, $0x5C5C5C5C5C5C5C5C
DATA slants<>+8(SB)/8, $0x5C5C5C5C5C5C5C5C
GLOBL slants<>(SB), RODATA|NOPTR, $16

DATA controls<>+0(SB)/8, $0x1F1F1F1F1F1F1F1F
DATA controls<>+8(SB)/8, $0x1F1F1F1F1F1F1F1F
GLOBL controls<>(SB), RODATA|NOPTR, $16

// HITS sets the bytes of hit for which x has a quote, a backslash or a control character (the unsigned minimum with 0x1F is
// the byte itself).
#define HITS(x, hit) \
	MOVO    x, hit   \
	MOVO    x, X12   \
	PCMPEQB X13, hit \
	PCMPEQB X14, X12 \
	POR     X12, hit \
	MOVO    x, X12   \
	PMINUB  X15, X12 \
	PCMPEQB x, X12   \
	POR     X12, hit

// BITS collects one bit for each byte of four registers in to.
#define BITS(a, b, c, d, to) \
	PMOVMSKB a, to  \
	PMOVMSKB b, CX  \
	SHLQ     $16, CX \
	ORQ      CX, to \
	PMOVMSKB c, CX  \
	SHLQ     $32, CX \
	ORQ      CX, to \
	PMOVMSKB d, CX  \
	SHLQ     $48, CX \
	ORQ      CX, to

// func nextHitsSSE2(data []byte) (n int, before, hits, high uint64)
//
// SSE2 only, which every amd64 has.
TEXT ·nextHitsSSE2(SB), NOSPLIT, $0-56
	MOVQ  data_base+0(FP), SI
	MOVQ  data_len+8(FP), DI
	MOVOU quotes<>(SB), X13
	MOVOU slants<>(SB), X14
	MOVOU controls<>(SB), X15
	PXOR  X8, X8              // OR of the blocks passed over
	XORQ  AX, AX              // bytes passed over
	XORQ  BX, BX              // hits
	XORQ  DX, DX              // high
	SUBQ  $64, DI             // the last index at which a block can start

block:
	CMPQ  AX, DI
	JGT   done
	MOVOU 0(SI)(AX*1), X0
	MOVOU 16(SI)(AX*1), X1
	MOVOU 32(SI)(AX*1), X2
	MOVOU 48(SI)(AX*1), X3
	HITS(X0, X4)
	HITS(X1, X5)
	HITS(X2, X6)
	HITS(X3, X7)
	MOVO  X4, X9
	MOVO  X6, X10
	POR   X5, X9
	POR   X7, X10
	POR   X10, X9
	PMOVMSKB X9, CX
	TESTL CX, CX
	JNE   hit
	POR   X0, X8
	POR   X1, X8
	POR   X2, X8
	POR   X3, X8
	ADDQ  $64, AX
	JMP   block

hit:
	BITS(X4, X5, X6, X7, BX)
	BITS(X0, X1, X2, X3, DX)

done:
	PMOVMSKB X8, CX
	MOVQ AX, n+24(FP)
	MOVQ CX, before+32(FP)
	MOVQ BX, hits+40(FP)
	MOVQ DX, high+48(FP)
	RET

// WIDE is HITS for 32 bytes. Its three-operand instructions need no copies. Together with the width this makes it nearly
// three times as fast.
#define WIDE(x, hit) \
	VPCMPEQB x, Y13, hit    \
	VPCMPEQB x, Y14, Y12    \
	VPOR     Y12, hit, hit  \
	VPMINUB  x, Y15, Y12    \
	VPCMPEQB x, Y12, Y12    \
	VPOR     Y12, hit, hit

// func nextHitsAVX2(data []byte) (n int, before, hits, high uint64)
TEXT ·nextHitsAVX2(SB), NOSPLIT, $0-56
	MOVQ  data_base+0(FP), SI
	MOVQ  data_len+8(FP), DI
	VBROADCASTI128 quotes<>(SB), Y13
	VBROADCASTI128 slants<>(SB), Y14
	VBROADCASTI128 controls<>(SB), Y15
	VPXOR Y8, Y8, Y8          // OR of the blocks passed over
	XORQ  AX, AX              // bytes passed over
	XORQ  BX, BX              // hits
	XORQ  DX, DX              // high
	SUBQ  $64, DI             // the last index at which a block can start

block:
	CMPQ  AX, DI
	JGT   done
	VMOVDQU 0(SI)(AX*1), Y0
	VMOVDQU 32(SI)(AX*1), Y1
	WIDE(Y0, Y4)
	WIDE(Y1, Y5)
	VPOR  Y4, Y5, Y9
	VPTEST Y9, Y9
	JNE   hit
	VPOR  Y0, Y8, Y8
	VPOR  Y1, Y8, Y8
	ADDQ  $64, AX
	JMP   block

hit:
	VPMOVMSKB Y4, BX
	VPMOVMSKB Y5, CX
	SHLQ  $32, CX
	ORQ   CX, BX
	VPMOVMSKB Y0, DX
	VPMOVMSKB Y1, CX
	SHLQ  $32, CX
	ORQ   CX, DX

done:
	VPMOVMSKB Y8, CX
	VZEROUPPER
	MOVQ AX, n+24(FP)
	MOVQ CX, before+32(FP)
	MOVQ BX, hits+40(FP)
	MOVQ DX, high+48(FP)
	RET
