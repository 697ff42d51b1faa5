import { integer, text, yesOrNo } from '../kinds/kinds.js';
import { setting } from './setting.js';

/** Settings of Envoy's rate limit services. */
export const envoySettings = {
  rlsPort: setting({
    flag: 'rls',
    kind: integer('port', -1, 65_535),
    default: -1,
    help: "a port for Envoy's rate limit services (RLS and RLQS) over gRPC; -1 for none, 0 picks a free one",
  }),
  envoyDirectory: setting({
    flag: 'envoy-config',
    kind: text('directory', /^[^\0]*$/, 'the path of a directory'),
    default: '',
    help: 'the directory with the limits of --rls: every *.yaml in it, as envoyproxy/ratelimit reads them; watched',
  }),
  rlsTls: setting({
    flag: 'rls-tls',
    kind: yesOrNo(),
    default: false,
    help: 'serve --rls over TLS, with --tls-cert and --tls-key',
  }),
  rlsHeaders: setting({
    flag: 'rls-headers',
    kind: yesOrNo(),
    default: false,
    help: 'replies of the rate limit service add x-ratelimit-limit, -remaining and -reset to responses of the proxy',
  }),
  rlsMetadata: setting({
    flag: 'rls-metadata',
    kind: yesOrNo(),
    default: false,
    help: 'replies of the rate limit service bring dynamic metadata: the request, and limits in quota mode it is over',
  }),
};
