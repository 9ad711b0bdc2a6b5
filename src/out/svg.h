/* A flame graph as one SVG file: for viewers, wikis and tickets. It works without script (names
 * are tooltips); opened in a browser, a small script lets it zoom and search. It never grows beyond
 * SP_SVG_MAX bytes: narrow frames are folded, more of them the larger the profile, and the picture
 * says so. Well-formed whatever the names hold. */
#ifndef SP_OUT_SVG_H
#define SP_OUT_SVG_H

#include "out/out.h"

#define SP_SVG_MAX (2u << 20)

sp_out_fn sp_out_svg;

#endif
