/* The report page: one file that needs nothing else. The page itself is src/page, packed at build
 * time; the writer puts a title, a table of hot methods as text and the data (pagedata.h, deflated,
 * in base64, in two pieces: the script is between them and draws what the first one has) into
 * it. */
#ifndef SP_OUT_HTML_H
#define SP_OUT_HTML_H

#include "out/out.h"

sp_out_fn sp_out_html;

#endif
