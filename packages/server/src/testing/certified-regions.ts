import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Batch } from '@quotadb/engine';
import { replicaIdOf } from '@quotadb/replication';
import { AUTHORITY, filesOf, initDirectory, issueInto } from '@quotadb/replication/certificates';
import { loadTlsMaterial } from '@quotadb/replication/grpc';
import { GrpcNetwork } from '@quotadb/replication/mesh';
import { TestClient } from '@quotadb/resp/testing';
import { decodeFrame, encodeFrame, type Frame, FrameKind } from '@quotadb/wire';
import { startTestServer, type TestServer } from './test-server.js';

export interface CertifiedRegion {
  readonly server: TestServer;
  readonly client: TestClient;
  readonly port: number;
}

/** Regions with certificates and data directories, and a hostile one, `evil`, whose certificate does not say relay. */
export class CertifiedRegions {
  static readonly CLUSTER = 'orders';
  readonly directory: string;
  /** The origin of the hostile region. */
  readonly evilOrigin = Buffer.concat([replicaIdOf(CertifiedRegions.CLUSTER, 'evil'), Buffer.alloc(16, 7)]);
  private readonly opened: (() => unknown)[] = [];

  private constructor(directory: string) {
    this.directory = directory;
    this.opened.push(() => rm(directory, { recursive: true }));
  }

  static async make(regions: readonly string[]): Promise<CertifiedRegions> {
    const made = new CertifiedRegions(await mkdtemp(join(tmpdir(), 'quotadb-hostile-')));
    const out = join(made.directory, 'ca');
    await initDirectory(out, CertifiedRegions.CLUSTER, 1);
    for (const region of [...regions, 'evil'])
      await issueInto({ directory: out, out, region, hosts: [], mayRelay: false, days: 1 });
    return made;
  }

  async start(region: string, peers: readonly { region: string; port: number }[] = []): Promise<CertifiedRegion> {
    const { certFile, keyFile, caFile } = this.filesFor(region);
    const server = await startTestServer({
      region,
      cluster: CertifiedRegions.CLUSTER,
      home: 'a',
      dataDirectory: join(this.directory, region),
      replicationPort: 0,
      replicationCertificate: certFile,
      replicationKey: keyFile,
      replicationAuthority: caFile,
      peers: peers.map((peer) => ({ ...peer, host: '127.0.0.1' })),
    });
    this.opened.push(() => server.stop());
    const client = await TestClient.open(server.port);
    this.opened.push(() => client.close());
    return { server, client, port: server.server.state.identity.replicationPort as number };
  }

  /** Greets as region `evil`, and returns a function that sends anything. */
  async greet(region: string, port: number): Promise<(frame: Frame) => void> {
    const network = new GrpcNetwork({
      host: '127.0.0.1',
      port: -1,
      tls: await loadTlsMaterial(this.filesFor('evil')),
      allowsPlaintext: false,
    });
    return new Promise((resolve, reject) => {
      network.dial(
        { region, host: '127.0.0.1', port },
        {
          failed: reject,
          opened: (stream) => {
            this.opened.push(() => stream.close());
            stream.onFrame = (bytes) => {
              const frame = decodeFrame(bytes, new Batch());
              if (frame.kind !== FrameKind.hello) return;
              stream.send(encodeFrame({ ...frame, region: 'evil', origin: this.evilOrigin, keys: 0 }));
              resolve((said) => stream.send(encodeFrame(said)));
            };
          },
        },
      );
    });
  }

  async close(): Promise<void> {
    for (const close of this.opened.splice(0).reverse()) await close();
  }

  private filesFor(region: string) {
    const path = join(this.directory, 'ca');
    return { ...filesOf(path, region), caFile: filesOf(path, AUTHORITY).certFile };
  }
}
