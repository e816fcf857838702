/** The channels of the apps. Metrics and traces have entry points of their own, so that a process without them loads neither. */

export { keyFetchChannel, responseChannel, type KeyFetchMessage, type ResponseMessage } from './http-channels.js';
export { circuitChannel, upstreamChannel } from './gateway-channels.js';
export type { CircuitMessage, UpstreamMessage } from './gateway-channels.js';
