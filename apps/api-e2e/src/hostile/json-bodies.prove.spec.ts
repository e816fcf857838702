/** The same test with more random runs. */
import './json-bodies.spec.js';
