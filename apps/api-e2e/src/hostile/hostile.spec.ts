import { serviceOfTheRun } from '../service.js';
import { refusesHostile } from './refuses-hostile.js';

refusesHostile('hostile requests', serviceOfTheRun);
