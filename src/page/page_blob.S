/* The packed report page and the script of SVG reports, carried inside the launcher. */
	.section .rodata
	.global sp_page_html, sp_page_html_end
sp_page_html:
	.incbin SP_PAGE_PATH
sp_page_html_end:
	.byte 0
	.global sp_page_svg_script, sp_page_svg_script_end
sp_page_svg_script:
	.incbin SP_SVG_SCRIPT_PATH
sp_page_svg_script_end:
	.byte 0
	.section .note.GNU-stack, "", @progbits
