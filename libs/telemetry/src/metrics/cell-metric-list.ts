import { gauge } from './metric.js';

/** Metrics of the copies of the directory, which home knows. */
export const CELL_METRICS = {
  banking_directory_copy_connected: gauge(
    'Cells',
    ['cell'],
    '1 while the cell receives changes of the directory from home.',
  ),
  banking_directory_copy_behind_bytes: gauge(
    'Cells',
    ['cell'],
    'Log of home that the copy of the directory in the cell has not confirmed.',
  ),
  banking_directory_slot_retained_bytes: gauge(
    'Cells',
    ['cell'],
    'Log that home keeps for the copy, on the disk of its server.',
  ),
  banking_directory_slot_lost: gauge(
    'Cells',
    ['cell'],
    '1 if the copy cannot continue, because home lacks its slot or removes log that it needs.',
  ),
} as const;
