import { EmbeddedServerError } from '@banking/embedded-postgres';
import { DatabaseSetupError, MigrationError } from '@banking/postgres';
import { DeploymentError } from './deployment-error.js';

const OPERATOR_ERRORS = [DatabaseSetupError, DeploymentError, EmbeddedServerError, MigrationError];

/** Whether the message of an error of a deployment states what an operator can do, so that its stack is not needed. */
export const isOperatorError = (error: unknown): boolean => OPERATOR_ERRORS.some((kind) => error instanceof kind);
