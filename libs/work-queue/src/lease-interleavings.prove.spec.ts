/** The same test with more random runs. */
import './lease-interleavings.spec.js';
