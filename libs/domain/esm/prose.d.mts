export * from '../dist/prose.js';
