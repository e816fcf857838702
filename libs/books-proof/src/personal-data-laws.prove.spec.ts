/** The same law, with three times the runs. */
import './personal-data-laws.spec.js';
