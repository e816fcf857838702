import { ACCESS_CONTROLS } from './access-controls.js';
import { BOOKS_CONTROLS } from './books-controls.js';
import { CELL_CONTROLS } from './cell-controls.js';
import type { Control } from './control.js';
import { ORDER_CONTROLS } from './order-controls.js';
import { PAYOUT_CONTROLS } from './payout-controls.js';
import { REPLICA_CONTROLS } from './replica-controls.js';

/** All controls. Control 3 of the promises, a relay that polls by id, waits for webhooks. */
export const CONTROLS: readonly Control[] = [
  ...BOOKS_CONTROLS,
  ...ORDER_CONTROLS,
  ...PAYOUT_CONTROLS,
  ...ACCESS_CONTROLS,
  ...REPLICA_CONTROLS,
  ...CELL_CONTROLS,
];
