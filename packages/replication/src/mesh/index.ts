export type { Dialer } from './dialer.js';
export { GrpcNetwork, type GrpcNetworkOptions } from './grpc-network.js';
export { Mesh, type MeshEvents, type MeshOptions } from './mesh.js';
export type { DialHandlers, MeshPeer, Network, NetworkListener } from './network.js';
