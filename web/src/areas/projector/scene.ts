/** What the projector shows. */
export type Scene = 'automatic' | 'wall' | 'poll';

export const SCENES: readonly Scene[] = ['automatic', 'wall', 'poll'];
