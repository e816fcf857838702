/** The same test, in which Ajv compiles every schema. */
import './recipient-schemas-of.spec.js';
