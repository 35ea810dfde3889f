/** Seconds that people may get to answer. */
export const TIMES: readonly number[] = [15, 30, 60, 120, 300];
