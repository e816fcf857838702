export { NO_RATES, noRate, type DatedRate, type RateSource, DEMO_RATES, ratesChannel } from './rate-source.js';
export { crossRate, readRateDocument, writtenRate } from './http-rate-source.js';
export { chooseRates } from './choose-rates.js';
