export type { Dialer } from './dialer.js';
export { GrpcNetwork, type MeshPeer } from './grpc-network.js';
export { Mesh, type MeshEvents } from './mesh.js';
