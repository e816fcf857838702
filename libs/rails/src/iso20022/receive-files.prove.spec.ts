/** The same test with more random runs. */
import './receive-files.spec.js';
