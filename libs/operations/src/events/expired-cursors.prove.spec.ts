/** The same test with more steps. */
import './expired-cursors.spec.js';
