export * from '../dist/proof.js';
