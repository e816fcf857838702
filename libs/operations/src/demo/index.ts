export { makeDemoData } from './make-demo-data.js';
export { readDemoBookings, readDemoIds, type DemoIds } from './demo-steps.js';
export type { DemoCells } from './demo-cells.js';
