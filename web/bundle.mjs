// Options of all bundles.

/** Options of style sheets and scripts. */
export const common = {
  bundle: true,
  minify: true,
  charset: "utf8",
  target: ["chrome100", "firefox115", "safari16.4"],
  legalComments: "inline",
  logLevel: "warning",
};

/** Options of scripts: one anonymous function, so that a page that was opened from a file can hold it. */
export const script = { ...common, format: "iife" };
