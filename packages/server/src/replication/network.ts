import { type Configuration, hasCertificates, mayReplicateInPlaintext } from '@quotadb/config';
import { loadTlsMaterial, type TlsMaterial, watchTlsMaterial } from '@quotadb/replication/grpc';
import { GrpcNetwork } from '@quotadb/replication/mesh';
import { serverName } from '@quotadb/wire';
import type { Logger } from 'pino';

/** How often the files of the certificates are checked for changes. */
/** New certificates are taken over when the files have stood still for as long. */
const CERTIFICATES_INTERVAL_MS = 1000;

const PLAINTEXT_IS_OFF =
  'this server has credentials, so it replicates with certificates only (--repl-cert, --repl-key, --repl-ca); ' +
  '--repl-plaintext allows replication without';

/**
 * The network of replication. With certificates it uses TLS, and takes new ones while it runs until `close()`;
 * `onMaterial` is called with each.
 */
export async function openNetwork(
  config: Configuration,
  logger: Logger,
  onMaterial: (tls: TlsMaterial) => void,
): Promise<{ readonly network: GrpcNetwork; close(): void }> {
  const options = {
    host: config.replicationHost,
    port: config.replicationPort,
    allowsPlaintext: config.replicationPlaintext,
    refusesPlaintext: () => (mayReplicateInPlaintext(config) ? undefined : PLAINTEXT_IS_OFF),
  };
  if (!hasCertificates(config)) return { network: new GrpcNetwork(options), close: () => {} };
  const files = {
    certFile: config.replicationCertificate,
    keyFile: config.replicationKey,
    caFile: config.replicationAuthority,
  };
  const tls = await loadTlsMaterial(files);
  const { cluster, region } = tls.identity;
  if (cluster !== config.cluster || region !== serverName(config))
    throw new Error(
      `the certificate in ${files.certFile} is for ${cluster}/${region}, and this is ` +
        `${config.cluster}/${serverName(config)}: give --repl-cert the certificate of this server`,
    );
  const network = new GrpcNetwork({ ...options, tls });
  onMaterial(tls);
  const close = watchTlsMaterial(files, tls, {
    intervalMs: CERTIFICATES_INTERVAL_MS,
    onChange: (material) => {
      network.reloadTls(material);
      onMaterial(material);
      logger.info('the certificates for replication were read again');
    },
    onError: (error) =>
      logger.error(
        { err: error },
        'the new certificates for replication cannot be used; the old ones stay: correct the files',
      ),
  });
  return { network, close };
}
