/** The same test with more random runs. */
import './folder-bank.spec.js';
