/* dlsym, exported in both of glibc's versions. The C library decides by the return address which object calls, and with
 * RTLD_NEXT which libraries come next; so unless ways_dlsym() knows the answer, this jumps to the real function with the
 * caller's arguments and return address as they were. */
	.text
	.p2align 4
	.hidden	ways_dlsym
	.hidden	ways_real_dlsym
	.type	gsan_dlsym, @function
gsan_dlsym:
	.cfi_startproc
	pushq	%rdi
	.cfi_adjust_cfa_offset 8
	pushq	%rsi
	.cfi_adjust_cfa_offset 8
	subq	$24, %rsp		/* room for the answer, and the alignment that calls need */
	.cfi_adjust_cfa_offset 24
	leaq	8(%rsp), %rdx
	call	ways_dlsym		/* (handle, name, &answer) -> 1: answered */
	movq	8(%rsp), %rdx
	addq	$24, %rsp
	.cfi_adjust_cfa_offset -24
	popq	%rsi
	.cfi_adjust_cfa_offset -8
	popq	%rdi
	.cfi_adjust_cfa_offset -8
	testl	%eax, %eax
	jz	1f
	movq	%rdx, %rax
	ret
1:	movq	ways_real_dlsym(%rip), %r11
	jmp	*%r11
	.cfi_endproc
	.size	gsan_dlsym, . - gsan_dlsym

	.set	gsan_dlsym_old, gsan_dlsym
	.globl	gsan_dlsym
	.globl	gsan_dlsym_old
	.symver	gsan_dlsym, dlsym@@GLIBC_2.34
	.symver	gsan_dlsym_old, dlsym@GLIBC_2.2.5
	.section .note.GNU-stack, "", @progbits
