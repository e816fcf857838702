export { NO_RATES, noRate, type DatedRate, type RateSource } from './rate-source.js';
export { crossRate, readRateDocument } from './rate-document.js';
export { writtenRate } from './written-rate.js';
export { DEMO_RATES } from './demo-rate-source.js';
export { chooseRates } from './choose-rates.js';
export { ratesChannel } from './rates-channel.js';
