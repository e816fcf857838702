export { makeDemoData } from './make-demo-data.js';
export { readDemoBookings, readDemoIds, type DemoIds, type DemoCells } from './demo-bank.js';
