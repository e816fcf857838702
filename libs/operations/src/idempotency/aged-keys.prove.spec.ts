/** The same test with more expired records. */
import './aged-keys.spec.js';
