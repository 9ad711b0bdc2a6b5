/* The packed report page, carried inside the launcher. */
	.section .rodata
	.global sp_page_html, sp_page_html_end
sp_page_html:
	.incbin SP_PAGE_PATH
sp_page_html_end:
	.byte 0
	.section .note.GNU-stack, "", @progbits
