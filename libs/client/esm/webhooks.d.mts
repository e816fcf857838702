// One set of declarations for both ways in, as in index.d.mts.
export * from '../dist/webhooks.js';
