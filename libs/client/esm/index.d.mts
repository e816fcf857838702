// One set of declarations for both ways in: declared twice, a MinorUnits that was imported would not be one that was required.
export * from '../dist/index.js';
