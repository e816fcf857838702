import { ACCESS_CONTROLS } from './access-controls.js';
import { BOOKS_CONTROLS } from './books-controls.js';
import { CELL_CONTROLS } from './cell-controls.js';
import type { Control } from './control.js';
import { EVENT_CONTROLS } from './event-controls.js';
import { ORDER_CONTROLS } from './order-controls.js';
import { PAYOUT_CONTROLS } from './payout-controls.js';
import { REPLICA_CONTROLS } from './replica-controls.js';
import { WEBHOOK_CONTROLS } from './webhook-controls.js';

/** All controls. */
export const CONTROLS: readonly Control[] = [
  ...BOOKS_CONTROLS,
  ...ORDER_CONTROLS,
  ...PAYOUT_CONTROLS,
  ...ACCESS_CONTROLS,
  ...REPLICA_CONTROLS,
  ...CELL_CONTROLS,
  ...EVENT_CONTROLS,
  ...WEBHOOK_CONTROLS,
];
