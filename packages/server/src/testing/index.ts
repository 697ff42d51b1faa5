export { LinkProxy } from '../demo/link-proxy.js';
export { CommandRunner } from './command-runner.js';
export { describeWithEpoll } from './epoll.js';
export { HeldDisk } from './held-disk.js';
export { ManualClock } from './manual-clock.js';
export { clientField, eventually, infoNumber } from './questions.js';
export { type Frame, frameBuilder } from './reply-frame.js';
export { QUOTADB_BINARY, type ReadyLine, SpawnedServer, spawnServer } from './spawned-server.js';
export { useProcesses, useTestServers } from './started-for-a-test.js';
export {
  type CertificateFiles,
  certificateFiles,
  createAuthority,
  issueCertificate,
  type TestIdentity,
} from './test-certificates.js';
export { TestClient } from './test-client.js';
export { encodeCommand, TestLane, type TestSession } from './test-lane.js';
export { TestRegions } from './test-regions.js';
export { startTestServer, type TestServer, testTransport } from './test-server.js';
