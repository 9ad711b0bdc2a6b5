/* The report page as src/page/pack.py leaves it: markup, style and script in one piece. */
#ifndef SP_PAGE_PAGE_H
#define SP_PAGE_PAGE_H

extern const char sp_page_html[], sp_page_html_end[];

#endif
