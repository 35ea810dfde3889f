// What is tested at night only: a variant of something that is tested in every run, or what tests
// of the servers or of the page's parts see already.

/** Whether it is night: `cargo xtask test --nightly` sets the variable. */
export const NIGHTLY = Boolean(process.env.OSTRAKON_NIGHTLY);

const TAG = '@night';

/** The details of such a test. */
export const AT_NIGHT = { tag: TAG };

/** What a run leaves out. */
export const LEFT_OUT = NIGHTLY ? undefined : new RegExp(TAG);
