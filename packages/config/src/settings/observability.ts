import { duration } from '../kinds/duration.js';
import { choice, integer, list, text } from '../kinds/kinds.js';
import { MAXIMUM_INT32, setting } from './setting.js';

/** Settings of the slow log, traces and the log. */
export const observabilitySettings = {
  slowlogSlowerThanMicroseconds: setting({
    flag: 'slowlog-log-slower-than',
    kind: duration('microseconds', -1, Number.MAX_SAFE_INTEGER),
    default: 10_000,
    help: 'commands slower than this are kept for SLOWLOG; -1 keeps none',
    parameter: 'slowlog-log-slower-than',
    changeable: true,
  }),
  slowlogMaximumLength: setting({
    flag: 'slowlog-max-len',
    kind: integer('count', 0, 100_000),
    default: 128,
    help: 'maximum of slow commands kept',
    parameter: 'slowlog-max-len',
    changeable: true,
  }),
  latencyThresholdMs: setting({
    flag: 'latency-monitor-threshold',
    kind: duration('milliseconds', 0, MAXIMUM_INT32),
    default: 0,
    help: 'events that take at least this long are kept for LATENCY; 0 keeps none',
    parameter: 'latency-monitor-threshold',
    changeable: true,
  }),
  otlpEndpoint: setting({
    flag: 'otlp-endpoint',
    kind: text('url', /^(?:https?:\/\/\S+)?$/, 'http://… or https://…; empty for none'),
    default: '',
    help: 'send traces to this OpenTelemetry collector, by OTLP over HTTP; also OTEL_EXPORTER_OTLP_ENDPOINT',
    standardVariable: 'OTEL_EXPORTER_OTLP_ENDPOINT',
  }),
  otlpHeaders: setting({
    flag: 'otlp-header',
    kind: list('name=value', 'a header, name=value; may be given several times'),
    default: [] as readonly string[],
    help: 'a header for the collector, such as an API key; also OTEL_EXPORTER_OTLP_HEADERS',
    secret: true,
    standardVariable: 'OTEL_EXPORTER_OTLP_HEADERS',
  }),
  traceEvery: setting({
    flag: 'trace-every',
    kind: integer('count', 1, 1_000_000),
    default: 1,
    help: 'record one of this many traces that begin here; a traceparent of the caller decides for its own trace',
  }),
  logLevel: setting({
    flag: 'log-level',
    kind: choice('level', ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']),
    default: 'info',
    help: 'the lowest level that is logged, on standard error',
  }),
  logFormat: setting({
    flag: 'log-format',
    kind: choice('format', ['auto', 'json', 'pretty']),
    default: 'auto',
    help:
      'how the log is written: pretty for people, json for programs, or auto, which is pretty at a terminal; colours ' +
      'only at a terminal, without NO_COLOR and --no-color',
  }),
};
