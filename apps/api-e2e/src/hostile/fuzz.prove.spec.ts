/** The same test with more random runs. */
import './fuzz.spec.js';
