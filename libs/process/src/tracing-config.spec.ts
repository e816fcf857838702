import { readerOf } from './environment-reader.js';
import { readTracing } from './telemetry-config.js';

const ENDPOINT = 'http://collector.example:4318';

describe('the configuration of traces', () => {
  function read(environment: Readonly<Record<string, string>>) {
    const reader = readerOf(environment);
    return { config: readTracing(reader, 'banking-api'), mistakes: reader.mistakes };
  }

  it('is absent without the address of a collector, whatever else is set', () => {
    const environment = { OTEL_TRACES_SAMPLER: 'jaeger_remote', OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' };

    expect(read(environment)).toEqual({ config: undefined, mistakes: [] });
  });

  it('is absent while the SDK is disabled', () => {
    expect(read({ OTEL_EXPORTER_OTLP_ENDPOINT: ENDPOINT, OTEL_SDK_DISABLED: 'true' }).config).toBeUndefined();
  });

  it('follows the sampler of the caller by default, for ten traces a second', () => {
    expect(read({ OTEL_EXPORTER_OTLP_ENDPOINT: ENDPOINT })).toEqual({
      config: { serviceName: 'banking-api', sampler: 'parentbased_always_on', ratio: 1, callersPerSecond: 10 },
      mistakes: [],
    });
  });

  it.each(['0', '1', '0.01', '.5', '1.0'])('accepts the ratio %s', (ratio) => {
    const environment = { OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: ratio };

    const { config, mistakes } = read({ OTEL_EXPORTER_OTLP_ENDPOINT: ENDPOINT, ...environment });

    expect(mistakes).toEqual([]);
    expect(config).toMatchObject({ sampler: 'traceidratio', ratio: Number(ratio) });
  });

  it('reports every mistake', () => {
    const { mistakes } = read({
      OTEL_EXPORTER_OTLP_ENDPOINT: ENDPOINT,
      OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc',
      OTEL_EXPORTER_OTLP_HEADERS: 'api-key=secret',
      OTEL_TRACES_SAMPLER: 'jaeger_remote',
      OTEL_TRACES_SAMPLER_ARG: '1.01',
      TRACE_CALLERS_PER_SECOND: '-1',
    });

    expect(mistakes).toEqual([
      'TRACE_CALLERS_PER_SECOND is "-1". Set a whole number from 0 to 1000.',
      expect.stringMatching(/^OTEL_EXPORTER_OTLP_HEADERS is set, and .* Use https/),
      'OTEL_EXPORTER_OTLP_PROTOCOL is "grpc". Set one of: http/json.',
      expect.stringMatching(/^OTEL_TRACES_SAMPLER is "jaeger_remote"/),
      'OTEL_TRACES_SAMPLER_ARG is "1.01". Set a number from 0 to 1, such as 0.01.',
    ]);
    expect(mistakes.join()).not.toContain('secret');
  });

  it.each([
    ['OTEL_EXPORTER_OTLP_TRACES_HEADERS', { OTEL_EXPORTER_OTLP_ENDPOINT: ENDPOINT }],
    [
      'OTEL_EXPORTER_OTLP_HEADERS',
      {
        OTEL_EXPORTER_OTLP_ENDPOINT: 'https://collector.example',
        OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${ENDPOINT}/v1/traces`,
      },
    ],
  ])('does not send %s unprotected by variables of traces only', (name, addresses) => {
    const { mistakes } = read({ ...addresses, [name]: 'api-key=secret' });

    expect(mistakes).toEqual([expect.stringMatching(new RegExp(`^${name} is set, and .* begins with http://`))]);
    expect(mistakes.join()).not.toContain('secret');
  });

  it('reports mistakes in the variables of traces only', () => {
    const environment = {
      OTEL_EXPORTER_OTLP_ENDPOINT: ENDPOINT,
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'grpc://collector.example',
      OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: 'grpc',
    };

    expect(read(environment).mistakes).toEqual([
      'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT is not a URL that begins with https:// or http://.',
      'OTEL_EXPORTER_OTLP_TRACES_PROTOCOL is "grpc". Set one of: http/json.',
    ]);
  });

  it.each(['Authorization: Bearer secret', '=secret', 'api-key=secret,tenant', 'api-key=%zz-secret'])(
    'refuses headers that the exporter would leave out: %s',
    (headers) => {
      const { mistakes } = read({
        OTEL_EXPORTER_OTLP_ENDPOINT: 'https://collector.example',
        OTEL_EXPORTER_OTLP_HEADERS: headers,
      });

      expect(mistakes).toEqual([
        expect.stringMatching(/^OTEL_EXPORTER_OTLP_HEADERS has an entry that is not name=value/),
      ]);
      expect(mistakes.join()).not.toContain('secret');
    },
  );

  it('refuses a switch that is neither on nor off', () => {
    expect(read({ OTEL_SDK_DISABLED: 'yes' }).mistakes).toEqual([
      'OTEL_SDK_DISABLED is neither true nor false. Set one of them.',
    ]);
  });

  it.each(['https://collector.example', 'http://127.0.0.1:4318'])('sends headers to %s', (endpoint) => {
    const environment = { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_EXPORTER_OTLP_HEADERS: 'api-key=secret' };

    expect(read(environment).mistakes).toEqual([]);
  });
});
