/** The same tests at every step of a move. */
import './move-interruptions.spec.js';
