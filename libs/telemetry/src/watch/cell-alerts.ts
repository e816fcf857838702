import { WORKER, type AlertRule } from './alert-rule.js';

const OF_B = `${WORKER}, cell="b"`;
const CONNECTED = 'banking_directory_copy_connected';
const BEHIND = 'banking_directory_copy_behind_bytes';
const RETAINED = 'banking_directory_slot_retained_bytes';
const LOST = 'banking_directory_slot_lost';

/** Alerts of a deployment with several databases. Without them, none of their series exist. */
export const CELL_ALERTS: readonly AlertRule[] = [
  {
    name: 'CellAway',
    severity: 'critical',
    expr: 'max by (cell) (banking_database_values_up{cell!=""}) == 0',
    for: '1m',
    summary: 'No process reaches one of the databases, whose workspaces are unavailable.',
    test: {
      firing: {
        [`banking_database_values_up{${OF_B}}`]: '1 0x20',
        [`banking_database_values_up{${WORKER}, cell="home"}`]: '1x20',
      },
      quiet: { [`banking_database_values_up{${WORKER}}`]: '0x20', [`banking_database_values_up{${OF_B}}`]: '1x20' },
      at: '10m',
      labels: { cell: 'b' },
    },
  },
  {
    name: 'CopyBehind',
    severity: 'warning',
    expr: `max by (cell) (${CONNECTED}) == 0 or max by (cell) (${BEHIND}) > 64e6`,
    for: '5m',
    summary: 'The copy of the directory in a cell does not follow home.',
    test: {
      firing: { [`${CONNECTED}{${OF_B}}`]: '1x20', [`${BEHIND}{${OF_B}}`]: '0+10000000x20' },
      quiet: { [`${CONNECTED}{${OF_B}}`]: '1 0 1x20', [`${BEHIND}{${OF_B}}`]: '5000x20' },
      at: '15m',
      labels: { cell: 'b' },
    },
  },
  {
    name: 'SlotHoldsLog',
    severity: 'warning',
    expr: `max by (cell) (${RETAINED}) > 2e9`,
    for: '10m',
    summary: 'Home keeps much log for the copy of a cell, and its disk may become full.',
    test: {
      firing: { [`${RETAINED}{${OF_B}}`]: '0+500000000x30' },
      quiet: { [`${RETAINED}{${OF_B}}`]: '500000000x30' },
      at: '25m',
      labels: { cell: 'b' },
    },
  },
  {
    name: 'CopyLost',
    severity: 'critical',
    expr: `max by (cell) (${LOST}) == 1`,
    for: '1m',
    summary: 'The copy of the directory in a cell cannot continue and must be made again.',
    test: {
      firing: { [`${LOST}{${OF_B}}`]: '0 1x10' },
      quiet: { [`${LOST}{${OF_B}}`]: '0x10' },
      at: '5m',
      labels: { cell: 'b' },
    },
  },
];
