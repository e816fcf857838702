import type { CutTime } from '../database-proxy.js';

/** Where a payment between cells is interrupted: a statement of the worker, by the side of the payment whose database gets it. */
export const POINTS = [
  ['kill-worker-at-arrival', 'to', 'insert_arrivals', 'before'],
  ['kill-worker-at-arrival', 'to', 'insert_arrivals', 'after'],
  ['kill-worker-at-outcome', 'from', 'step_crossings', 'before'],
  ['kill-worker-at-outcome', 'from', 'step_crossings', 'after'],
  ['kill-payee-cell', 'to', 'insert_arrivals', 'before'],
  ['kill-payee-cell', 'to', 'insert_arrivals', 'after'],
] as const satisfies readonly (readonly [string, 'from' | 'to', string, CutTime])[];
export type Point = (typeof POINTS)[number];
export type CrossingFault = Point[0];
