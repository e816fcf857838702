/** The same test on every operation. */
import './tokens.spec.js';
