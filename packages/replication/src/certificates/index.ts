export {
  type CertificateAndKey,
  clusterOf,
  type IssueOptions,
  issueCertificate,
  makeAuthority,
  type Validity,
  validityOf,
} from './certificates.js';
