/** The same test with more movements. */
import './statement-queries.spec.js';
