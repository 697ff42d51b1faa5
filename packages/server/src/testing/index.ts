export {
  CommandRunner,
  clientField,
  describeWithEpoll,
  encodeCommand,
  eventually,
  type Frame,
  frameBuilder,
  infoNumber,
  ManualClock,
  TestClient,
  TestLane,
  type TestSession,
} from '@quotadb/resp/testing';
export { type CertifiedRegion, CertifiedRegions } from './certified-regions.js';
export { HeldDisk } from './held-disk.js';
export { describeEveryDoor, type RespDoor } from './resp-doors.js';
export { QUOTADB_BINARY, type ReadyLine, SpawnedServer, spawnServer } from './spawned-server.js';
export {
  type CertificateFiles,
  certificateFiles,
  createAuthority,
  issueCertificate,
  type TestIdentity,
} from './test-certificates.js';
export { TestRegions } from './test-regions.js';
export { startTestServer, type TestServer, testTransport } from './test-server.js';
export { useProcesses, useTestServers } from './use-test-servers.js';
