/* The agent's library, carried inside the launcher. */
	.section .rodata
	.global sp_agent_blob, sp_agent_blob_end
	.balign 16
sp_agent_blob:
	.incbin SP_AGENT_PATH
sp_agent_blob_end:
	.section .note.GNU-stack, "", @progbits
