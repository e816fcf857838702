/** The channels of the apps. Metrics and traces have entry points of their own, so that a process without them loads neither. */

export {
  keyFetchChannel,
  responseChannel,
  type KeyFetchMessage,
  type ResponseMessage,
  circuitChannel,
  upstreamChannel,
  type CircuitMessage,
  type UpstreamMessage,
} from './http-channels.js';
