import { EVENT_TYPES } from '@banking/domain';
import { paragraphs } from '../access/operation.decorator.js';

/** The pictures of states, in the order of a payment. `npm run openapi` draws them from the tables of states. */
export const STATE_DIAGRAMS = [
  { name: 'order-states', title: 'States of an order' },
  { name: 'execution-states', title: 'States of an execution' },
  { name: 'transaction-states', title: 'States of a transaction' },
  { name: 'payout-states', title: 'States of a payout' },
] as const;

/** The section of events in the introduction: the diagrams of states, whose steps are events, and all types of events. */
export function eventsSection(): string {
  return paragraphs(
    '`GET /events` lists what happened in a workspace, oldest first. Follow the `Link` with the relation `next`, and store its cursor.',
    'With `wait=20`, the service responds as soon as there is an event.',
    '',
    'Each arrow is a step, with the type of its event. A final state is green after success, and red otherwise. The dot is a resource that is new.',
    '',
    ...STATE_DIAGRAMS.flatMap(({ name, title }) => [`![${title}](docs/${name}.svg)`, '']),
    'A payout ends together with its transaction, whose event tells it. It may end before its submission is known to have succeeded.',
    '',
    '| Type | Meaning |',
    '|---|---|',
    ...EVENT_TYPES.map(({ type, description }) => `| \`${type}\` | ${description} |`),
  );
}
