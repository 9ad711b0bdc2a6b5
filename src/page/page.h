/* The report page as src/page/pack.py leaves it: markup, style and script in one piece. */
#ifndef SP_PAGE_PAGE_H
#define SP_PAGE_PAGE_H

extern const char sp_page_html[], sp_page_html_end[];

/* The script inside of SVG reports: svg.js as it is. */
extern const char sp_page_svg_script[], sp_page_svg_script_end[];

#endif
