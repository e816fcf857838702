/** The same test with more random runs. */
import './key-interleavings.spec.js';
