export { makeDemoWorld } from './make-demo-world.js';
export { readDemoBookings, readDemoWorld, type DemoWorld } from './world.js';
