import { contract } from './contract/contract.js';
import { serviceOfTheRun } from './service.js';

contract('the service on its own books', serviceOfTheRun);
