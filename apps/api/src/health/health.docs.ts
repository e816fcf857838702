import type { OperationText } from '../access/operation.decorator.js';
import { paragraphs } from '../http/paragraphs.js';

export const getLiveness: OperationText = {
  summary: 'Report whether the process is alive',
  description: 'For a supervisor: restart a process that does not respond. The database is not checked.',
  provenance: 'ours',
  refusals: [],
};

export const getReadiness: OperationText = {
  summary: 'Report whether the service can serve requests',
  description: paragraphs(
    'For a load balancer. The service is not ready while the database is unreachable, and after the process was told to stop.',
    'A gateway is not ready while its upstream is unreachable.',
  ),
  provenance: 'ours',
  refusals: ['unavailable'],
};
