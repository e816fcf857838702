/** The same tests with more random runs, and with each forged token at every operation. */
import './fuzz/fuzz.spec.js';
import './gateway/fuzz.spec.js';
import './hostile/tokens.spec.js';
