/** The same test with more random runs. */
import './session-interleavings.spec.js';
