export * from './local-issuer.js';
