/** The same tests with more rows. */
import './aged-verification.spec.js';
