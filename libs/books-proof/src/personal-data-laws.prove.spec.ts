/** The same law, with more runs. */
import './personal-data-laws.spec.js';
