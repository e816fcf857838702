/** The same tests with more random runs, and with each forged token, body and header at every operation. */
import './fuzz/fuzz.spec.js';
import './gateway/fuzz.spec.js';
import './hostile/bodies.spec.js';
import './hostile/hostile.spec.js';
import './hostile/log.spec.js';
import './hostile/tokens.spec.js';
import './isolation/isolation.spec.js';
