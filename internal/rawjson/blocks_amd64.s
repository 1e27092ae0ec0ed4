#include "textflag.h"

// func blocks(data []byte) (n int, high uint64)
//
// 32 bytes a turn, with SSE2, which every amd64 has. A turn ends the loop when one of its bytes is a quote, a backslash or a
// control character (the unsigned minimum with 0x1F is the byte itself).
TEXT ·blocks(SB), NOSPLIT, $0-40
	MOVQ data_base+0(FP), SI
	MOVQ data_len+8(FP), CX
	XORQ AX, AX               // bytes passed over
	PXOR X8, X8               // OR of them

	MOVQ       $0x2222222222222222, DX // quotes
	MOVQ       DX, X5
	PUNPCKLQDQ X5, X5
	MOVQ       $0x5C5C5C5C5C5C5C5C, DX // backslashes
	MOVQ       DX, X6
	PUNPCKLQDQ X6, X6
	MOVQ       $0x1F1F1F1F1F1F1F1F, DX // the highest control character
	MOVQ       DX, X7
	PUNPCKLQDQ X7, X7

	SUBQ $32, CX              // the last index at which a block can start

turn:
	CMPQ AX, CX
	JGT  done
	MOVOU (SI)(AX*1), X0
	MOVOU 16(SI)(AX*1), X1

	MOVO    X0, X2
	MOVO    X1, X3
	PCMPEQB X5, X2
	PCMPEQB X5, X3
	POR     X3, X2            // X2 collects the hits
	MOVO    X0, X3
	MOVO    X1, X4
	PCMPEQB X6, X3
	PCMPEQB X6, X4
	POR     X3, X2
	POR     X4, X2
	MOVO    X0, X3
	MOVO    X1, X4
	PMINUB  X7, X3
	PMINUB  X7, X4
	PCMPEQB X0, X3
	PCMPEQB X1, X4
	POR     X3, X2
	POR     X4, X2

	PMOVMSKB X2, BX
	TESTL    BX, BX
	JNE      done
	POR      X0, X8
	POR      X1, X8
	ADDQ     $32, AX
	JMP      turn

done:
	MOVQ     AX, n+24(FP)
	PMOVMSKB X8, BX
	NEGQ     BX               // any bit becomes the sign bit, none stays 0
	MOVQ     BX, high+32(FP)
	RET
